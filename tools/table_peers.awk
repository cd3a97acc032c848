# The tables of results/GPU/peers.csv, a part of tools/table.awk:
#
#   fastest   ours and the fastest of the others: for each work, the setting in
#             which we gain least, and the one in which we gain most
#   WORK      all sides of one work, its name with _ for blanks: the median in
#             ms, and over the first side's in the same round: the median ratio,
#             from the least to the most

function key_of(r) { return csv(file, r, "work") SUBSEP csv(file, r, "setting") }
function ratio_in(r) { return csv(file, r, "ratio") + 0 }
function ms_in(r) { return csv(file, r, "median_ms") + 0 }

# The first side of a work is ours, and so are those that begin alike:
# v5_reduce-in-order, half_atomics_add8. Works without one of ours are left out.
function table_fastest(    r, key, best, work, works, i) {
    split("", ours)
    split("", other)
    split("", gain_least)
    split("", gain_most)
    for (r = 1; r <= rows; r++) {
        key = key_of(r)
        if (csv(file, r, "side") !~ /^(v[0-9]+|half_atomics|bf16_atomics)_/) {
            if (!(key in other) || ms_in(r) < ms_in(other[key]))
                other[key] = r
        } else if (!(key in ours))
            ours[key] = r
    }
    for (r = 1; r <= rows; r++) {
        key = key_of(r)
        if (ours[key] != r || !(key in other))
            continue
        best = other[key]
        work = csv(file, r, "work")
        if (!(work in gain_least))
            work_of[++works] = work
        if (!(work in gain_least) || ratio_in(best) < ratio_in(gain_least[work]))
            gain_least[work] = best
        if (!(work in gain_most) || ratio_in(best) > ratio_in(gain_most[work]))
            gain_most[work] = best
    }
    put("| work | on | ours, ms | the fastest other | its ms | ratio |")
    put("|---|---|--:|---|--:|--:|")
    for (i = 1; i <= works; i++) {
        put_gain(gain_least[work_of[i]])
        if (gain_most[work_of[i]] != gain_least[work_of[i]])
            put_gain(gain_most[work_of[i]])
    }
}

function put_gain(r) {
    put(sprintf("| %s | %s | %.4g | `%s` | %.4g | %.2f |", csv(file, r, "work"),
                csv(file, r, "setting"), ms_in(ours[key_of(r)]),
                csv(file, r, "side"), ms_in(r), ratio_in(r)))
}

# Sides go down and settings across, unless there are more settings.
function table_work(name,    r, side, setting, sides, settings, line) {
    gsub(/_/, " ", name)
    split("", seen)
    for (r = 1; r <= rows; r++) {
        if (csv(file, r, "work") != name)
            continue
        side = "`" csv(file, r, "side") "`"
        setting = csv(file, r, "setting")
        line = sprintf("%.4g", ms_in(r))
        if (setting in seen)
            line = line " (" short(csv(file, r, "ratio")) ", " \
                short(csv(file, r, "ratio_least")) "–" \
                short(csv(file, r, "ratio_most")) ")"
        else
            setting_of[++settings] = setting
        if (!(side in seen))
            side_of[++sides] = side
        seen[side] = seen[setting] = 1
        cell[side, setting] = cell[setting, side] = line
    }
    if (!sides)
        fail("there is no table " name)
    if (settings > sides)
        put_cells(setting_of, settings, side_of, sides)
    else
        put_cells(side_of, sides, setting_of, settings)
}

function put_cells(down, n_down, across, n_across,    i, j, line) {
    line = "| ms (over the first: median, least–most) |"
    for (j = 1; j <= n_across; j++)
        line = line " " across[j] " |"
    put_head(line)
    for (i = 1; i <= n_down; i++) {
        line = "| " down[i] " |"
        for (j = 1; j <= n_across; j++)
            line = line " " cell[down[i], across[j]] " |"
        put(line)
    }
}

function short(x) { return sprintf(x + 0 < 100 ? "%.2f" : "%.0f", x) }
