# Copies a page and refills what it quotes, so that no page owns code or figures.
# It needs tools/csv.awk, table_*.awk and table.awk.
#
#   <!-- quote FILE NAME -->           the definition of NAME, with its comment
#   <!-- quote FILE "from" "to" -->    the lines from the first that contains
#                                      from, to the next that contains to;
#                                      more such pairs may follow
#   <!-- quote FILE -->                the whole file
#   <!-- table FILE NAME -->           what tools/table.awk makes of a CSV file;
#                                      FILE may be results/*.csv
#   …each alone on its line, the block, and then <!-- /quote --> or /table
#
#   <!-- value FILE key=word,key=word COLUMN FORMAT -->197.5<!-- /value -->
#   <!-- ratio FILE key=word FILE key=word COLUMN FORMAT -->3.35<!-- /ratio -->
#                                      one cell of results/FILE, or one such
#                                      cell over another
#
# Every form must match exactly once, or this stops with an error and the page
# stays as it is.

# --- files ---

# Reads FILE into text[1..count], once.
function load(file,    line, n) {
    if (file == loaded)
        return
    n = 0
    while ((getline line < file) > 0) {
        sub(/\r$/, "", line)
        text[++n] = line
    }
    close(file)
    if (n == 0)
        fail("cannot read " file)
    count = n
    loaded = file
}

function language(file) {
    return file ~ /\.(cu|c|h)$/ ? "c" : file ~ /\.py$/ ? "python" : \
           file ~ /Makefile$/ ? "make" : "text"
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

# words[2] and [4], [6] and [8], …: each range begins behind the one before it.
function print_ranges(file, words, n,    w, i, first) {
    load(file)
    print "```" language(file)
    i = 1
    for (w = 2; w < n; w += 4) {
        for (; i <= count && !index(text[i], words[w]); i++)
            ;
        first = i
        for (; i <= count && !index(text[i], words[w + 2]); i++)
            ;
        if (i > count)
            fail("no lines from \"" words[w] "\" to \"" words[w + 2] "\" in " file)
        for (; first <= i; first++)
            print text[first]
        i = first
    }
    print "```"
}

# --- results ---

# The row that has word in column key, for each key=word.
function find_row(file, keys,    pairs, n, i, row, found, matches, pair) {
    n = split(keys, pairs, ",")
    for (row = 1; row <= csv_read(file); row++) {
        matches = 1
        for (i = 1; i <= n; i++) {
            split(pairs[i], pair, "=")
            if (csv(file, row, pair[1]) != pair[2])
                matches = 0
        }
        if (matches && found)
            fail("more than one row " keys " in " file)
        if (matches)
            found = row
    }
    if (!found)
        fail("no row " keys " in " file)
    return found
}

function look_up(name, keys, column,    file, row) {
    file = "results/" name
    row = find_row(file, keys)
    if (csv(file, row, column) == "")
        fail("no " column " in the row " keys " of " file)
    return csv(file, row, column)
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

function refill_quote(marker,    rest, file, words, n) {
    rest = marker
    sub(/^<!-- quote /, "", rest)
    sub(/ -->$/, "", rest)
    file = rest
    sub(/ .*/, "", file)
    if (rest == file) {
        load(file)
        print_lines(file, 1, count)
    } else if ((n = split(rest, words, "\"")) > 4 && n % 4 == 1)
        print_ranges(file, words, n)
    else {
        sub(/^[^ ]* /, "", rest)
        print_definition(file, rest)
    }
}

function refill_table(marker,    words, command, file, list) {
    if (split(marker, words, " ") != 5)
        fail("a table needs FILE and NAME")
    list = words[3]
    if (list ~ /[*]/) {
        command = "printf '%s\\n' " list
        list = ""
        while ((command | getline file) > 0)
            list = list " " file
        close(command)
    }
    printf "%s", make_table(words[4], list)
}

{ at = FILENAME ":" FNR ": " }

{ sub(/\r$/, "") } # an editor on Windows

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
