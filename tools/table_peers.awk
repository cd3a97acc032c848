# The tables of results/GPU/peers.csv, a part of tools/table.awk:
#
#   fastest   ours and the fastest of the others that sum alike: for each work,
#             the setting in which we gain least, and the one in which we gain
#             most. Not where a time is the launch's.
#   WORK      all sides of one work, its name with _ for blanks: the median in
#             ms, and over the first side that sums alike, in the same round:
#             the median ratio, from the least to the most; then the worst error

function key_of(r) {
    return csv(file, r, "work") SUBSEP csv(file, r, "setting") SUBSEP \
        csv(file, r, "sums")
}
function ratio_in(r) { return csv(file, r, "ratio") + 0 }
function ms_in(r) { return csv(file, r, "median_ms") + 0 }
function is_ours(r) { return csv(file, r, "version") == "this repository" }

# A ratio is over the first that sums alike, so that must be ours.
function table_fastest(    r, key, base, other, work, works, i) {
    split("", ours)
    split("", gain_least)
    split("", gain_most)
    for (r = 1; r <= rows; r++) {
        key = key_of(r)
        if (!(key in base))
            base[key] = r
        if (!is_ours(r) && (!(key in other) || ms_in(r) < ms_in(other[key])))
            other[key] = r
    }
    for (r = 1; r <= rows; r++) {
        key = key_of(r)
        if (base[key] != r || !is_ours(r) || !(key in other) || \
            csv(file, r, "launch_bound") csv(file, other[key], \
                                             "launch_bound") != "")
            continue
        ours[other[key]] = r
        work = csv(file, r, "work") SUBSEP csv(file, r, "sums")
        if (!(work in gain_least))
            work_of[++works] = work
        if (!(work in gain_least) || \
            ratio_in(other[key]) < ratio_in(gain_least[work]))
            gain_least[work] = other[key]
        if (!(work in gain_most) || \
            ratio_in(other[key]) > ratio_in(gain_most[work]))
            gain_most[work] = other[key]
    }
    put("| work | on | ours: ms, worst error |" \
        " the fastest other: ms, worst error | ratio |")
    put("|---|---|---|---|--:|")
    for (i = 1; i <= works; i++) {
        put_gain(gain_least[work_of[i]])
        if (two_digits(gain_most[work_of[i]]) != \
            two_digits(gain_least[work_of[i]]))
            put_gain(gain_most[work_of[i]])
    }
}

function two_digits(r) { return sprintf("%.2f", ratio_in(r)) }

function put_gain(r) {
    put(sprintf("| %s, %s | %s | `%s`: %.4g, off %s | `%s`, %s: %.4g, off %s" \
                " | %s |", csv(file, r, "work"), csv(file, r, "sums"),
                csv(file, r, "setting"), csv(file, ours[r], "side"),
                ms_in(ours[r]), error_in(ours[r]), csv(file, r, "side"),
                csv(file, r, "version"), ms_in(r), error_in(r),
                two_digits(r)))
}

function error_in(r,    error) {
    error = csv(file, r, "worst_error")
    return error !~ /[1-9]/ ? error : error + 0 < 1e-5 ? \
        sprintf("%.1e", error) : sprintf("%.3g%%", 100 * error)
}

# Sides go down and settings across, unless there are more settings. How a side
# sums is said where that sets it apart from others.
function table_work(name,    r, side, setting, sides, settings, line, seen, \
        label, sums, all_sums, ways) {
    gsub(/_/, " ", name)
    for (r = 1; r <= rows; r++) {
        if (csv(file, r, "work") != name)
            continue
        side = csv(file, r, "side")
        setting = csv(file, r, "setting")
        label[setting] = setting
        sums = csv(file, r, "sums")
        if (!(setting in seen))
            setting_of[++settings] = setting
        if (!(side in seen)) {
            side_of[++sides] = side
            all_sums[side] = sums
        } else if (all_sums[side] != sums)
            all_sums[side] = ""
        label[side] = "`" side "`, " csv(file, r, "version")
        ways += !((setting, sums) in seen)
        line = sprintf("%.4g", ms_in(r))
        if (csv(file, r, "launch_bound") != "") {
            line = line "†"
            seen["launch_bound"] = 1
        }
        if ((setting, sums) in seen)
            line = line " (" short(csv(file, r, "ratio")) ", " \
                short(csv(file, r, "ratio_least")) "–" \
                short(csv(file, r, "ratio_most")) ")"
        if (sums != "exact")
            line = line ", off " error_in(r)
        seen[side] = seen[setting] = seen[setting, sums] = 1
        cell[side, setting] = cell[setting, side] = line
    }
    if (!sides)
        fail("there is no table " name)
    for (r = 1; r <= sides && ways > settings; r++)
        if (all_sums[side_of[r]] != "")
            label[side_of[r]] = label[side_of[r]] ", " all_sums[side_of[r]]
    if (settings > sides)
        put_cells(setting_of, settings, side_of, sides, label)
    else
        put_cells(side_of, sides, setting_of, settings, label)
    if ("launch_bound" in seen)
        put("\n†: so short that the launch is what is timed.")
}

function put_cells(down, n_down, across, n_across, label,    i, j, line) {
    line = "| ms (over the first that sums alike: median, least–most), worst" \
        " error |"
    for (j = 1; j <= n_across; j++)
        line = line " " label[across[j]] " |"
    put_head(line)
    for (i = 1; i <= n_down; i++) {
        line = "| " label[down[i]] " |"
        for (j = 1; j <= n_across; j++)
            line = line " " cell[down[i], across[j]] " |"
        put(line)
    }
}

function short(x) { return sprintf(x + 0 < 100 ? "%.2f" : "%.0f", x) }
