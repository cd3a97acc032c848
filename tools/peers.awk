# What `make peers` measured, as tables of markdown.
#
#     awk -v table=peers -f tools/peers.awk results/nvidia_h200/peers.csv
#
# peers          ours and the fastest of the others: for each work, the setting
#                in which we gain least, and the one in which we gain most
# peers_WORK     all sides of one work, its name with _ for blanks: the median
#                in ms, and over the first side's in the same round: the median
#                ratio, from the least to the most

BEGIN {
    FS = ","
    wanted = substr(table, 7)
    gsub(/_/, " ", wanted)
}

FNR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    next
}

{
    work = $at["work"]
    setting = $at["setting"]
    side = $at["side"]
    ms = $at["median_ms"] + 0
    if (table == "peers") compare()
    else if (work == wanted) collect()
}

END {
    if (table == "peers") print_best()
    else print_work()
}

# --- the fastest of the others ---

# The first side of a comparison is ours, and so are those that begin alike:
# v5_reduce-in-order, half_atomics_add8.
function compare(    key, start) {
    key = work "," setting
    if (!(key in our_ms)) {
        keys[++n] = key
        ours[key] = side
        our_ms[key] = ms
        return
    }
    start = ours[key]
    sub(/_[^_]*$/, "", start)
    if (index(side, start) != 1 && (!(key in their_ms) || ms < their_ms[key])) {
        theirs[key] = side
        their_ms[key] = ms
        ratio[key] = $at["ratio"]
    }
}

function print_best(    i, key, part, least, most, works, order) {
    for (i = 1; i <= n; i++) {
        key = keys[i]
        if (!(key in theirs)) continue
        split(key, part, ",")
        work = part[1]
        if (!(work in least)) {
            order[++works] = work
            least[work] = most[work] = key
        }
        if (ratio[key] < ratio[least[work]]) least[work] = key
        if (ratio[key] > ratio[most[work]]) most[work] = key
    }
    print "| work | on | ours, ms | the fastest other | its ms | ratio |"
    print "|---|---|--:|---|--:|--:|"
    for (i = 1; i <= works; i++) {
        print_row(least[order[i]])
        if (most[order[i]] != least[order[i]]) print_row(most[order[i]])
    }
}

function print_row(key,    part) {
    split(key, part, ",")
    printf "| %s | %s | %.4g | `%s` | %.4g | %.2f |\n", part[1], part[2], \
        our_ms[key], theirs[key], their_ms[key], ratio[key]
}

# --- one work ---

function collect() {
    if (!(setting in seen)) {
        settings[++n_settings] = setting
        first[setting] = side
    }
    if (!(side in seen)) sides[++n_sides] = side
    seen[setting] = seen[side] = 1
    cell[setting, side] = sprintf("%.4g", ms)
    if (side != first[setting])
        cell[setting, side] = cell[setting, side] " (" show($at["ratio"]) ", " \
            show($at["ratio_least"]) "–" show($at["ratio_most"]) ")"
}

function show(x) { return sprintf(x < 100 ? "%.2f" : "%.0f", x) }

function print_work(    i, j, line, rule) {
    if (!n_sides) exit 1
    line = "| ms (over the first: median, least–most) |"
    rule = "|---|"
    if (n_settings > n_sides) {
        for (j = 1; j <= n_sides; j++) {
            line = line " `" sides[j] "` |"
            rule = rule "---|"
        }
        print line "\n" rule
        for (i = 1; i <= n_settings; i++) {
            line = "| " settings[i] " |"
            for (j = 1; j <= n_sides; j++)
                line = line " " cell[settings[i], sides[j]] " |"
            print line
        }
        return
    }
    for (j = 1; j <= n_settings; j++) {
        line = line " " settings[j] " |"
        rule = rule "---|"
    }
    print line "\n" rule
    for (i = 1; i <= n_sides; i++) {
        line = "| `" sides[i] "` |"
        for (j = 1; j <= n_settings; j++)
            line = line " " cell[settings[j], sides[i]] " |"
        print line
    }
}
