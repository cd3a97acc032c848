# The tables of results/GPU/experiments*.csv, a part of tools/table.awk. Most are
# named after a question of tools/experiments*.cu:
#
#   moving, lifetime (with the rows of waiting), price (of all storms but those
#   of single lanes, which launch many threads more)
#   apart, place      of experiments_place.csv
#   winners, pace     of experiments_winners.csv: a row for each kind of storm;
#   served            the time between two wins; the tries of the multiprocessors
#   profile           of experiments_profile.csv
#
# k is how many tries fail for each add that moves the sum, as a part of the
# threads in flight.

BEGIN {
    HEAD["moving"] = "| start or addend | adds that move it | ms | k |"
    HEAD["lifetime"] = "| threads in flight | one add per thread: ms | k |" \
        " and blocks that wait: ms | k | long-lived: ms | k |"
    HEAD["price"] = "| storms | ns per try, least | median | most |"
    HEAD["apart"] = "| cells apart | 4 bytes, by lane | by warp |" \
        " 2 bytes, by lane | by warp |"
    HEAD["place"] = "| places | ms, least | most | tries, least | most |"
    HEAD["winners"] = "| storm | threads in flight | wins of one" \
        " multiprocessor | the next win there, too | threads of it that try |" \
        " tries of each per win | served | k |"
    HEAD["pace"] = "| threads of it that try | ms until its next win |" \
        " largest share for shared memory: ms |"
    HEAD["served"] = "| multiprocessors | tries over the mean one's |" \
        " wins of all |"
    HEAD["profile"] = "| storm | ms | requests | ns per request |"
    NAME["one_add"] = "one add per thread"
    NAME["full_carveout"] = "the largest share for shared memory"
    NAME["long_lived"] = "long-lived"
    NAME["muted"] = "two wait"
    NAME["lock"] = "the lock"
}

function table_storm(name,    r, count) {
    put_head(HEAD[name])
    split("", left)
    split("", kept)
    kinds = 0
    for (r = 1; r <= rows; r++)
        count += add_row(name, r, csv(file, r, "question"),
                         csv(file, r, "setting"))
    if (!count)
        fail(file ": no rows for " name)
    if (name == "place")
        put("| " count " | " range("ms", "%.1f | %.1f") " | " \
            range("tries", "%.1f million | %.1f million") " |")
    if (name == "price")
        put(sprintf("| %d | %.3f | %.3f | %.3f |", count, nth("price", 1),
                    median("price"), nth("price", count)))
    for (r = 1; name == "apart" && r <= kinds; r++)
        put(row_of[r])
    if (name == "winners")
        put_winners()
    if (name == "served")
        put_served(count)
}

function in_file(r, column) { return csv(file, r, column) + 0 }

function k_of(r) {
    return (in_file(r, "tries") - in_file(r, "n")) / \
        in_file(r, "moving") / in_file(r, "in_flight")
}

# Puts the row of a question, or keeps it; returns whether it belongs to the
# table.
function add_row(name, r, question, setting,    ms) {
    ms = in_file(r, "ms")
    if (name == "winners")
        return add_winner(r, question)
    if (name == "pace")
        return add_pace(question, setting, in_file(r, "us"))
    if (name == "price") {
        if (question != "lanes")
            keep("price", ms * 1e6 / in_file(r, "tries"))
        return question != "lanes"
    }
    if (name == "apart")
        return add_apart(question, setting, ms * 1e6 / in_file(r, "n"))
    if (name == "lifetime")
        return add_lifetime(question, setting, in_file(r, "in_flight"),
                            sprintf(" | %.1f | %.2f", ms, k_of(r)))
    if (question != (name == "served" ? "share" : name))
        return 0
    if (name == "place") {
        keep("ms", ms)
        keep("tries", in_file(r, "tries") / 1e6)
    } else if (name == "served") {
        keep("served", in_file(r, "served"))
        left[in_file(r, "served")] += in_file(r, "wins")
    } else if (name == "moving")
        put(sprintf("| %s | %d | %.1f | %.2f |", setting,
                    in_file(r, "moving"), ms, k_of(r)))
    else
        put(sprintf("| %s | %.1f | %d million | %.3f |", setting, ms,
                    in_file(r, "requests") / 1e6,
                    ms * 1e6 / in_file(r, "requests")))
    return 1
}

# The rows of `waiting` go the other way, and come last.
function add_lifetime(question, setting, in_flight, figures,    line) {
    if (question == "lifetime")
        left[in_flight, setting] = figures
    if (question == "lifetime" && setting == "long-lived")
        row_of[++kinds] = in_flight
    if (question != "waiting")
        return 0
    left[in_flight, "waiting"] = figures
    if (in_flight != row_of[1])
        return 0
    for (line = 1; line <= kinds; line++)
        put("| " row_of[line] left[row_of[line], "one add per thread"] \
            left[row_of[line], "waiting"] left[row_of[line], "long-lived"] " |")
    return 1
}

# By lane, then by warp; 4 bytes, then 2. Rows that are alike are one.
function add_apart(question, setting, ns,    apart, figures, i, part, last) {
    if (question !~ /^apart_/)
        return 0
    apart = setting
    sub(/.*; /, "", apart)
    apart += 0
    left[question, setting ~ /lane/, apart] = ns
    if (question != "apart_2_bytes" || setting !~ /warp/)
        return 0
    figures = sprintf("| %.3f | %.3f | %.3f | %.3f |",
        left["apart_4_bytes", 1, apart], left["apart_4_bytes", 0, apart],
        left["apart_2_bytes", 1, apart], ns)
    split(figures, part, "|")
    split(row_of[kinds], last, "|")
    for (i = 3; i <= 6 && kinds; i++)
        if (part[i - 1] > 1.02 * last[i] || part[i - 1] < 0.98 * last[i])
            break
    if (i <= 6)
        row_of[++kinds] = "| " (apart ? apart " bytes " : "one cell ") figures
    else
        sub(/[| ](to [0-9]* )?bytes/, " to " apart " bytes", row_of[kinds])
    return 1
}

function add_pace(question, setting, us) {
    if (question == "pace")
        left[setting] = sprintf("| %s | %.3f", setting, us / 1e3)
    if (question == "pace_full_carveout")
        put(sprintf("%s | %.3f |", left[setting], us / 1e3))
    return question ~ /^pace/
}

# --- who wins ---

function add_winner(r, question,    kind) {
    if (question == "place")
        question = "one_add"
    if (!(question in NAME))
        return 0
    kind = question " " csv(file, r, "in_flight")
    if (!(("share " kind) in kept))
        row_of[++kinds] = kind
    keep("share " kind, 100 * in_file(r, "wins") / in_file(r, "moving"))
    keep("next " kind, 100 * in_file(r, "next_sm"))
    keep("still " kind, 100 * in_file(r, "still"))
    keep("rounds " kind, in_file(r, "rounds"))
    keep("served " kind, in_file(r, "served"))
    keep("k " kind, k_of(r))
    return 1
}

function put_winners(    i, kind, part, line) {
    for (i = 1; i <= kinds; i++) {
        kind = row_of[i]
        split(kind, part, " ")
        line = sprintf("| %s | %d | %s | %.1f%% |", NAME[part[1]], part[2],
                       range("share " kind, "%.1f to %.1f%%"),
                       median("next " kind))
        if (part[1] == "lock")
            put(sprintf("%s - | - | %.2f | - |", line, median("served " kind)))
        else
            put(sprintf("%s %.0f%% | %.2f | %.2f | %.2f |", line,
                        median("still " kind), median("rounds " kind),
                        median("served " kind), median("k " kind)))
    }
}

# Those that are served alike, within 5%, in one row.
function put_served(count,    i, first, wins) {
    first = 1
    for (i = 1; i <= count; i++) {
        if (nth("served", i) != nth("served", i - 1))
            wins += left[nth("served", i)]
        if (i < count && nth("served", i + 1) < 1.05 * nth("served", first))
            continue
        put(sprintf("| %d | %.2f to %.2f | %d |", i - first + 1,
                    nth("served", first), nth("served", i), wins))
        first = i + 1
        wins = 0
    }
}

# --- many values of one thing, in their order ---

function keep(what, value,    i) {
    for (i = ++kept[what]; i > 1 && value < kept[what, i - 1]; i--)
        kept[what, i] = kept[what, i - 1]
    kept[what, i] = value
}

function nth(what, i) { return kept[what, i] }

function median(what) { return nth(what, int((kept[what] + 1) / 2)) }

function range(what, format) {
    return sprintf(format, nth(what, 1), nth(what, kept[what]))
}
