# A CSV file of results/ as markdown: what all rows share in a line, on a page of
# its own a summary, the times as a plot of dots, and the rest as a table. Comes
# after tools/csv.awk, table_*.awk, table.awk and plot.awk.
#
#     awk … -f tools/csv_page.awk -v level='###' results/nvidia_h200.csv
#
# level is that of its heading; empty for none. A time is the first of the
# columns min_ms, median_ms and ms; a file without one has no plot.

BEGIN {
    page = ARGV[1]
    csv_read(page)
    for (c = 1; c <= csv_columns[page]; c++) {
        varies[c] = csv_varies(page, csv_name[page, c])
        is_text[c] = csv_is_text(page, csv_name[page, c])
    }
    page_table = make_table("rows", page)
    print_head()
    if (level == "" && csv_read(page) > 3) print_summary()
    print_dots()
    print page_table
    exit
}

function print_head(    c, title, shared) {
    title = page
    sub(/.*\//, "", title)
    if (csv_name[page, 1] == "gpu" && !varies[1] && level == "###")
        title = csv(page, 1, "gpu")
    if (level != "") print level " " title "\n"
    for (c = 1; c <= csv_columns[page]; c++)
        if (!varies[c] && in_row(1, c) != "" && csv_read(page) > 1)
            shared = shared (shared == "" ? "" : ", ") \
                (is_text[c] ? "" : csv_name[page, c] " ") in_row(1, c)
    if (shared != "") print "All rows: " shared ".\n"
}

# What differs between the rows, and for each group of them the least and the
# most of the main column. What was measured begins with a time, else with the
# first numbers that vary; the main one of it is a ratio, if there is one.
function print_summary(    c, r, g, n, name, main, by, count, key, measured, \
        settings, seen, rows_of, least_of, most_of, name_of) {
    for (c = 1; c <= csv_columns[page]; c++) {
        name = csv_name[page, c]
        if (!first && (name == time_column() || \
                time_column() == "" && varies[c] && !is_text[c]))
            first = c
        if (!varies[c] || first && is_text[c]) continue
        if (first) {
            measured = measured (measured == "" ? "" : ", ") name
            if (c == first || name == "ratio") main = name
            continue
        }
        count = 0
        for (r = 1; r <= csv_read(page); r++)
            if (in_row(r, c) != "" && !((c, in_row(r, c)) in seen)) {
                seen[c, in_row(r, c)] = 1
                count++
            }
        settings = settings (settings == "" ? "" : ", ") name " (" count ")"
        if (by == "" && is_text[c] && count > 1 && count < csv_read(page))
            by = name
    }
    if (main == "" || by == "") return
    print "**" csv_read(page) " rows.** They differ in: " settings \
        ". Measured: " measured ".\n"
    for (r = 1; r <= csv_read(page); r++) {
        key = csv(page, r, by)
        if (!rows_of[key]++) name_of[++n] = key
        if (csv(page, r, main) + 0 <= 0) continue
        if (!(key in least_of)) least_of[key] = most_of[key] = r
        if (csv(page, r, main) + 0 < csv(page, least_of[key], main) + 0)
            least_of[key] = r
        if (csv(page, r, main) + 0 > csv(page, most_of[key], main) + 0)
            most_of[key] = r
    }
    print "| " by " | rows | least " main " | of | most " main " | of |\n" \
        "|---|--:|--:|---|--:|---|"
    for (g = 1; g <= n; g++) {
        key = name_of[g]
        if (key in least_of)
            print "| " key " | " rows_of[key] " | " \
                csv(page, least_of[key], main) " | " \
                case_of(least_of[key], by) " | " \
                csv(page, most_of[key], main) " | " \
                case_of(most_of[key], by) " |"
    }
    print ""
}

# What a row is of, but for its group.
function case_of(r, by,    c, name, s) {
    for (c = 1; c < first; c++) {
        name = csv_name[page, c]
        if (varies[c] && name != by && in_row(r, c) != "")
            s = s (s == "" ? "" : ", ") (is_text[c] ? "" : name " ") \
                in_row(r, c)
    }
    return s
}

function time_column() {
    return csv_has(page, "min_ms") ? "min_ms" : \
        csv_has(page, "median_ms") ? "median_ms" : \
        csv_has(page, "gpu_ms") ? "gpu_ms" : csv_has(page, "ms") ? "ms" : ""
}

function in_row(r, c) { return csv(page, r, csv_name[page, c]) }

# What tells a row's dot from the others: its varying texts, or its numbers.
function words_of(r, text,    c, name, s) {
    for (c = 1; c <= csv_columns[page]; c++) {
        name = csv_name[page, c]
        if (varies[c] && is_text[c] == text && name != time &&
            name !~ /_ms$|^ns_per_add$|^ratio|^result$|^gb_per_s$|^how$/ &&
            name !~ /_error$|^version$|^sums$|^launch_bound$/)
            s = s (s == "" ? "" : ", ") (text ? "" : name " ") in_row(r, c)
    }
    return s
}

# A line for each text, and on it a dot for each time, all on one scale. Nothing
# in it but heights and percentages of the width: so it fits any width, and each
# text stands above its dots.
function print_dots(    r, ms, least, most, s, n, i, e, count, label, line_of, \
        is_log, bottom, step) {
    time = time_column()
    if (time == "") return
    for (r = 1; r <= csv_read(page); r++) {
        ms = csv(page, r, time) + 0
        if (ms <= 0) continue
        if (!count++ || ms < least) least = ms
        if (ms > most) most = ms
        s = words_of(r, 1)
        if (!(s in line_of)) { line_of[s] = ++n; label[n] = s }
    }
    if (count < 2) return
    begin["x"] = 6
    end["x"] = 94
    is_log = most > 20 * least
    if (is_log)
        scale("x", 10, power(10, floor(log10(least))),
              power(10, -floor(-log10(most))))
    else
        scale("x", 0, 0, most * 1.05)
    bottom = 20 + 34 * n
    printf "<svg class=\"plot\" width=\"100%%\" height=\"%d\" role=\"img\" " \
        "aria-label=\"Times in ms by %s, from %s to %s; the table below has " \
        "them\">\n", bottom + 44, is_log ? "row, on a logarithmic scale" \
        : "row", least, most
    step = is_log ? 1 : nice(high["x"])
    for (e = floor(low["x"] + 0.5); e <= high["x"] + 1e-9; e += step) {
        ms = is_log ? power(10, e) : e
        printf "<line class=\"grid\" x1=\"%.1f%%\" x2=\"%.1f%%\" y1=\"16\" " \
            "y2=\"%d\"/><text class=\"tick\" x=\"%.1f%%\" y=\"%d\">%s</text>\n", \
            at_x(ms), at_x(ms), bottom, at_x(ms), bottom + 18, ms
        if (n > 12)
            printf "<text class=\"tick\" x=\"%.1f%%\" y=\"11\">%s</text>\n", \
                at_x(ms), ms
    }
    printf "<text class=\"tick\" x=\"50%%\" y=\"%d\">%s (ms)</text>\n", \
        bottom + 38, time
    for (i = 1; i <= n; i++)
        printf "<text class=\"row\" x=\"0\" y=\"%d\">%s</text>\n", \
            34 * i - 4, escape(label[i])
    for (r = 1; r <= csv_read(page); r++) {
        ms = csv(page, r, time)
        s = words_of(r, 1)
        if (ms + 0 > 0)
            printf "<circle cx=\"%.1f%%\" cy=\"%d\" r=\"5\"><title>%s</title>" \
                "</circle>\n", at_x(ms + 0), 34 * line_of[s] + 8, \
                escape(s ": " ms " ms" (words_of(r, 0) == "" ? "" : " at " \
                words_of(r, 0)))
    }
    print "</svg>\n"
}
