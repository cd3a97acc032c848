# Reads CSV files by the names of their columns, and the constants of lesson 5's
# account by theirs. A library: the program that uses it follows it,
#
#     awk -f tools/csv.awk -f tools/table.awk …
#
#   csv_read(file)             how many rows it has; each file is read once
#   csv(file, row, name)       the cell of a row, from 1, in the column `name`;
#                              add 0 before a number is compared
#   csv_has(file, name)        whether there is such a column
#   csv_columns[file]          how many columns there are …
#   csv_name[file, c]          … and the name of each
#   constant(name)             a constant of common/account.h
#
# Fields hold no commas. Whatever is wrong with a file ends the program with
# status 1 and one line that names file and line. So that nothing half done
# comes out, programs read first and print last. Scripts set LC_ALL=C before they
# run one: with a decimal comma, mawk reads 195.50 as 195.
#
# gawk that ends by `exit`, and busybox, say nothing of a full disk. So scripts
# take what awk prints as $(awk …), and print that.

BEGIN { CSV_NUMBER = "^(-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?)?$" }

# `at` is for a program that knows where the reader should look: a page's line.
# Through cat, as busybox would empty a file that stderr goes to.
function fail(text) {
    print at text | "cat 1>&2"
    close("cat 1>&2")
    failed = 1 # for an END rule
    exit 1
}

function csv_read(file,    line, part, n, rows, c, status) {
    if (file in csv_rows)
        return csv_rows[file]
    rows = -1
    while ((status = (getline line < file)) > 0) {
        rows++
        need_lf(line, file ":" rows + 1)
        n = split(line, part, ",")
        if (rows == 0)
            csv_head(file, part, n)
        else if (n != csv_columns[file])
            fail(file ":" rows + 1 ": " n " fields where " \
                 csv_columns[file] " are due" (n > csv_columns[file] ? \
                 "; decimals have a point, and no field a comma" : ""))
        for (c = 1; c <= n && rows > 0; c++)
            csv_keep(file, rows, csv_name[file, c], part[c])
    }
    close(file)
    if (status < 0)
        fail(file ": cannot be read")
    if (rows < 0)
        fail(file ":1: the file is empty")
    if (rows == 0)
        fail(file ":1: no rows follow")
    return csv_rows[file] = rows
}

function need_lf(line, where) {
    if (line ~ /\r$/)
        fail(where ": the line ends with CR LF, as on Windows, not with LF")
}

# Times and what is worked out of them are numbers, or left out.
function csv_keep(file, row, name, cell) {
    if (name ~ /^n$|(^|_)ms$|_per_|^ratio/ && cell !~ CSV_NUMBER)
        fail(file ":" row + 1 ": " name " is no number: " cell)
    csv_cell[file, row, name] = cell
}

function csv_head(file, part, n,    c) {
    csv_columns[file] = n
    if (index(part[1], "\357\273\277") == 1)
        fail(file ":1: a byte order mark stands before the first column")
    for (c = 1; c <= n; c++) {
        if (part[c] == "")
            fail(file ":1: column " c " has no name")
        if (part[c] !~ /^[A-Za-z0-9_]+$/)
            fail(file ":1: \"" part[c] "\" is no name of a column; these have" \
                 " letters, digits and _, and commas between them")
        if ((file, part[c]) in csv_place)
            fail(file ":1: there are two columns " part[c])
        csv_place[file, part[c]] = c
        csv_name[file, c] = part[c]
    }
}

function csv_has(file, name) {
    csv_read(file)
    return (file, name) in csv_place
}

function csv(file, row, name) {
    if (!csv_has(file, name))
        fail(file ":1: there is no column " name)
    return csv_cell[file, row, name]
}

# Whether not all rows have the same there.
function csv_varies(file, name,    r) {
    for (r = 2; r <= csv_read(file); r++)
        if (csv(file, r, name) "" != csv(file, 1, name) "")
            return 1
    return 0
}

# Whether a row has something there that is no number.
function csv_is_text(file, name,    r) {
    for (r = 1; r <= csv_read(file); r++)
        if (csv(file, r, name) !~ CSV_NUMBER)
            return 1
    return 0
}

function constant(name,    line, part) {
    while (!(name in constants) && (getline line < "common/account.h") > 0) {
        split(line, part, /[ =;]+/) # static const double NAME = VALUE;
        if (line ~ /^static const double /)
            constants[part[4]] = part[5] + 0
    }
    if (!(name in constants))
        fail("common/account.h: there is no " name)
    return constants[name]
}
