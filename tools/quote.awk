# Copies a page and refills what it quotes, so that no page owns code or figures:
#
#   <!-- quote FILE NAME -->           the definition of NAME, with its comment
#   <!-- quote FILE "from" "to" -->    the lines from the first that contains
#                                      from, to the next that contains to
#   <!-- quote FILE -->                the whole file
#   <!-- table NAME -->                what tools/table.awk makes of results/, or
#                                      for experiment_… tools/experiments.awk,
#                                      and for peers… tools/peers.awk
#   …each alone on its line, the block, and then <!-- /quote --> or /table
#
#   <!-- value FILE key=word,key=word COLUMN FORMAT -->197.5<!-- /value -->
#   <!-- ratio FILE key=word FILE key=word COLUMN FORMAT -->3.35<!-- /ratio -->
#                                      one cell of results/FILE, or one such
#                                      cell over another
#
# Every form must match exactly once, or this stops with an error and the page
# stays as it is.

function fail(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    failed = 1
    exit 1
}

# --- files ---

# Reads FILE into text[1..count], once.
function load(file,    line, n) {
    if (file == loaded)
        return
    n = 0
    while ((getline line < file) > 0)
        text[++n] = line
    close(file)
    if (n == 0)
        fail("cannot read " file)
    count = n
    loaded = file
}

function language(file) {
    return file ~ /\.(cu|c|h)$/ ? "c" : file ~ /Makefile$/ ? "make" : "text"
}

function print_lines(file, from, to) {
    print "```" language(file)
    for (; from <= to; from++)
        print text[from]
    print "```"
}

# --- definitions: from a line that starts in column 1 to } in column 1 ---

function word_in(word, string) {
    return (" " string " ") ~ ("[^A-Za-z0-9_]" word "[^A-Za-z0-9_]")
}

# The last line of the definition that starts at FROM.
function end_of(from,    i, opened) {
    for (i = from; i <= count; i++) {
        if (text[i] ~ /^[}]/)
            return i
        if (text[i] ~ /[{]/)
            opened = 1
        if ((!opened || i == from) && text[i] ~ /; *(\/\*.*\*\/)?$/)
            return i
    }
    return count
}

# Whether the definition from FROM to LAST is the one of NAME: the word stands
# before the body as a function's, type's or constant's name, or behind it.
function defines(name, from, last,    head, i) {
    head = ""
    for (i = from; i <= last; i++) {
        head = head " " text[i]
        if (text[i] ~ /[{]/)
            break
    }
    sub(/[{].*/, "", head)
    sub(/=.*/, "", head)
    if (head ~ /\(/ && head !~ /__align__/)
        sub(/\(.*/, "", head)
    return word_in(name, head) || (last > i && word_in(name, text[last]))
}

function print_definition(file, name,    i, last, found, first, end) {
    load(file)
    for (i = 1; i <= count; i = last + 1) {
        last = i
        if (text[i] ~ /^\/\*/) {
            while (last < count && text[last] !~ /\*\//)
                last++
            continue
        }
        if (text[i] !~ /^[A-Za-z_]/)
            continue
        last = end_of(i)
        if (!defines(name, i, last))
            continue
        found++
        first = i
        end = last
    }
    if (found != 1)
        fail(found + 0 " definitions of " name " in " file)
    if (text[first - 1] ~ /\*\/$/)
        do first--
        while (first > 1 && text[first] !~ /^\/\*/)
    print_lines(file, first, end)
}

# --- ranges ---

function print_range(file, from, to,    i, first) {
    load(file)
    for (i = 1; i <= count && !index(text[i], from); i++)
        ;
    first = i
    for (; i <= count && !index(text[i], to); i++)
        ;
    if (i > count)
        fail("no lines from \"" from "\" to \"" to "\" in " file)
    print_lines(file, first, i)
}

# --- results ---

# Reads results/FILE into cell[row, column]; the header names the columns.
function load_csv(file,    line, n, i, parts) {
    if (file == loaded_csv)
        return
    rows = -1
    split("", cell) # nothing stays from a file read before
    split("", column)
    while ((getline line < ("results/" file)) > 0) {
        rows++
        n = split(line, parts, ",")
        for (i = 1; i <= n; i++)
            if (rows == 0)
                column[i] = parts[i]
            else
                cell[rows, column[i]] = parts[i]
    }
    close("results/" file)
    if (rows < 1)
        fail("no rows in results/" file)
    loaded_csv = file
}

# The row that has word in column key, for each key=word.
function find_row(file, keys,    pairs, n, i, row, found, matches, pair) {
    load_csv(file)
    n = split(keys, pairs, ",")
    for (row = 1; row <= rows; row++) {
        matches = 1
        for (i = 1; i <= n; i++) {
            split(pairs[i], pair, "=")
            if (cell[row, pair[1]] != pair[2])
                matches = 0
        }
        if (matches) {
            if (found)
                fail("more than one row " keys " in results/" file)
            found = row
        }
    }
    if (!found)
        fail("no row " keys " in results/" file)
    return found
}

function look_up(file, keys, name,    row) {
    row = find_row(file, keys)
    if (cell[row, name] == "")
        fail("no " name " in the row " keys " of results/" file)
    return cell[row, name]
}

function quotient(file, keys, file2, keys2, name,    above, below) {
    above = look_up(file, keys, name)
    below = look_up(file2, keys2, name)
    if (below + 0 == 0)
        fail(name " is " below " in the row " keys2 " of results/" file2)
    return above / below
}

# --- the markers ---

# Refills each <!-- value … -->…<!-- /value --> and ratio of a line.
function refill_figures(line,    out, kind, end, words, n, figure) {
    if (line ~ /^ *<!-- (value|ratio) /)
        fail("a figure begins its line, which ends the paragraph: put it " \
             "behind a word")
    out = ""
    while (match(line, /<!-- (value|ratio) [^>]* -->/)) {
        n = split(substr(line, RSTART + 5, RLENGTH - 9), words, " ")
        kind = words[1]
        if (n != (kind == "value" ? 5 : 7))
            fail("a " kind " needs " (kind == "value" ? "" : "twice ") \
                "FILE and key=word, then COLUMN and FORMAT")
        out = out substr(line, 1, RSTART + RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        end = index(line, "<!-- /" kind " -->")
        if (!end)
            fail("a " kind " without <!-- /" kind " --> on its line")
        if (kind == "value")
            figure = sprintf(words[5], look_up(words[2], words[3], words[4]))
        else
            figure = sprintf(words[7], quotient(words[2], words[3], words[4],
                                                words[5], words[6]))
        out = out figure
        line = substr(line, end)
    }
    return out line
}

function refill_quote(marker,    rest, file, words) {
    rest = marker
    sub(/^<!-- quote /, "", rest)
    sub(/ -->$/, "", rest)
    file = rest
    sub(/ .*/, "", file)
    if (rest == file) {
        load(file)
        print_lines(file, 1, count)
    } else if (split(rest, words, "\"") == 5)
        print_range(file, words[2], words[4])
    else {
        sub(/^[^ ]* /, "", rest)
        print_definition(file, rest)
    }
}

function refill_table(marker,    words, command, line, n) {
    split(marker, words, " ")
    command = "awk -v table=" words[3]
    if (words[3] ~ /^experiment_/)
        command = command " -f tools/experiments.awk" \
                          " results/nvidia_h200/experiments.csv"
    else if (words[3] ~ /^peers/)
        command = command " -f tools/peers.awk results/nvidia_h200/peers.csv"
    else if (words[3] == "pairs")
        command = command " -f tools/table.awk results/sources/pairs.csv"
    else
        command = command " -f tools/table.awk results/*.csv"
    while ((command | getline line) > 0) {
        print line
        n++
    }
    if (close(command) != 0 || n == 0)
        fail("no table " words[3])
}

closing != "" {
    if ($0 == closing) {
        closing = ""
        print
    } else if (/^<!-- (quote|table) .* -->$/)
        fail("the quote of line " opened_at " has no " closing)
    next
}

/^<!-- quote .* -->$/ {
    print
    refill_quote($0)
    closing = "<!-- /quote -->"
    opened_at = FNR
    next
}

/^<!-- table .* -->$/ {
    print
    refill_table($0)
    closing = "<!-- /table -->"
    opened_at = FNR
    next
}

{ print refill_figures($0) }

END {
    if (!failed && closing != "")
        fail("the quote of line " opened_at " has no " closing)
    if (failed)
        exit 1
}
