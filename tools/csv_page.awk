# A CSV file of results/ as markdown: what all rows share in a line, the rest
# as a table, and the times as a plot of dots.
#
#     awk -f tools/csv_page.awk -v level='###' results/nvidia_h200.csv
#
# level is that of its heading; empty for none.
# Fields hold no commas. A time is the first of the columns min_ms, median_ms
# and ms; a file without one has no plot.

BEGIN { FS = "," }

FNR == 1 {
    columns = NF
    for (c = 1; c <= NF; c++) name[c] = $c
    next
}

NF != columns {
    print FILENAME ":" FNR ": " NF " fields where " columns " are due" \
        > "/dev/stderr"
    failed = 1
    exit 1
}

{
    rows++
    for (c = 1; c <= columns; c++) {
        field[rows, c] = $c
        if (rows > 1 && $c != field[1, c]) varies[c] = 1
        if ($c !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ && $c != "") is_text[c] = 1
    }
}

END {
    if (failed) exit 1
    if (!rows) {
        print FILENAME ": there are no rows" > "/dev/stderr"
        exit 1
    }
    print_head()
    print_plot()
    print_table()
}

function print_head(    c, title, shared) {
    title = FILENAME
    sub(/.*\//, "", title)
    if (name[1] == "gpu" && !(1 in varies) && level == "###") title = field[1, 1]
    if (level != "") print level " " title "\n"
    for (c = 1; c <= columns; c++)
        if (!(c in varies) && field[1, c] != "" && rows > 1)
            shared = shared (shared == "" ? "" : ", ") \
                ((c in is_text) ? "" : name[c] " ") field[1, c]
    if (shared != "") print "All rows: " shared ".\n"
}

function print_table(    c, r, line, rule) {
    for (c = 1; c <= columns; c++)
        if (rows == 1 || (c in varies)) {
            line = line "| " name[c] " "
            rule = rule ((c in is_text) ? "|---" : "|--:")
        }
    print line "|\n" rule "|"
    for (r = 1; r <= rows; r++) {
        line = ""
        for (c = 1; c <= columns; c++)
            if (rows == 1 || (c in varies)) line = line "| " field[r, c] " "
        print line "|"
    }
    print ""
}

# --- the plot: a row for each name, a dot for each time, on one scale ---

function column_of(n,    c) {
    for (c = 1; c <= columns; c++) if (name[c] == n) return c
    return 0
}

# What tells a row's dot from the others: its varying texts, or its numbers.
function words(r, text,    c, s) {
    for (c = 1; c <= columns; c++)
        if ((c in varies) && (c in is_text) == text && c != time &&
            name[c] !~ /_ms$|^ns_per_add$|^ratio|^result$|^gb_per_s$|^how$/)
            s = s (s == "" ? "" : ", ") (text ? "" : name[c] " ") field[r, c]
    return s
}

function log10(x) { return log(x) / log(10) }

# Where a time stands, in percent of the plot's width.
function at(ms) {
    return sprintf("%.1f%%", 5 + 90 * \
        (is_log ? (log10(ms) - low) / (high - low) : ms / high))
}

function escape(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/"/, "\\&quot;", s)
    return s
}

# Nothing in it but percentages and heights: it fits any width, and each label
# stands above its row's dots.
function print_plot(    r, ms, least, most, s, n, i, x, count, label, place, \
        bottom, step) {
    time = column_of("min_ms")
    if (!time) time = column_of("median_ms")
    if (!time) time = column_of("ms")
    if (!time) return
    for (r = 1; r <= rows; r++) {
        ms = field[r, time] + 0
        if (ms <= 0) continue
        if (!count++ || ms < least) least = ms
        if (ms > most) most = ms
        s = words(r, 1)
        if (!(s in place)) { place[s] = ++n; label[n] = s }
    }
    if (count < 2) return
    is_log = most > 20 * least
    low = is_log ? int(log10(least) + 100) - 100 : 0
    high = is_log ? -int(-log10(most) + 100) + 100 : most * 1.05
    bottom = 20 + 34 * n
    printf "<svg class=\"plot\" width=\"100%%\" height=\"%d\" role=\"img\" " \
        "aria-label=\"Times in ms by %s, from %s to %s; the table below has " \
        "them\">\n", bottom + 44, is_log ? "row, on a logarithmic scale" \
        : "row", least, most
    step = is_log ? 1 : nice(high)
    for (x = low; x <= high; x += step) {
        ms = is_log ? 10 ^ x : x
        printf "<line class=\"grid\" x1=\"%s\" x2=\"%s\" y1=\"16\" y2=\"%d\"/>" \
            "<text class=\"tick\" x=\"%s\" y=\"%d\">%s</text>\n", at(ms), at(ms), \
            bottom, at(ms), bottom + 18, ms
        if (n > 12)
            printf "<text class=\"tick\" x=\"%s\" y=\"11\">%s</text>\n", \
                at(ms), ms
    }
    printf "<text class=\"tick\" x=\"50%%\" y=\"%d\">%s (ms)</text>\n", \
        bottom + 38, name[time]
    for (i = 1; i <= n; i++)
        printf "<text class=\"row\" x=\"0\" y=\"%d\">%s</text>\n", \
            34 * i - 4, escape(label[i])
    for (r = 1; r <= rows; r++)
        if (field[r, time] + 0 > 0)
            printf "<circle cx=\"%s\" cy=\"%d\" r=\"5\"><title>%s</title>" \
                "</circle>\n", at(field[r, time]), 34 * place[words(r, 1)] + 8, \
                escape(words(r, 1) ": " field[r, time] " ms" \
                (words(r, 0) == "" ? "" : " at " words(r, 0)))
    print "</svg>\n"
}

# A round step that divides 0..most into 3 to 8.
function nice(most,    power, i) {
    power = 10 ^ (int(log10(most) + 100) - 100)
    if (most / power > 4) return power
    return most / power > 2 ? power / 2 : power / 5
}
