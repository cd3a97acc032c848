# The plots of docs/plots/, each with its title, what to see in it, its data and
# its axes. tools/plots.sh runs this after tools/csv.awk and plot.awk, with
# -v plot=NAME.

BEGIN {
    # Lesson 5's account: v0/v2 = (1 + k moving R / n) / price.
    n = 33554432 # adds
    moving = constant("MOVING")
    price = constant("PRICES")
    k = constant("LIKELY_K")
    k_least = constant("LEAST_K")
    k_most = constant("MOST_K")

    svg = "docs/plots/" plot ".svg"
    if (plot == "storm_ratio") storm_ratio()
    else if (plot == "storm_threads") storm_threads()
    else if (plot == "storm_k") storm_k()
    else if (plot == "storm_winners") storm_winners()
    else if (plot == "reduce_error") reduce_error()
    else fail("plots.awk: there is no plot " plot)
    print_plot(title, see, from)
    exit
}

function account(k, threads) { return (1 + k * moving * threads / n) / price }

# --- picking data ---

# The rows of a file that have `value` in a column: row[1] to row[the result].
function pick(name, column, value,    r, count) {
    file = "results/" name
    if (index(from ", ", file ", ") == 0)
        from = from (from == "" ? "" : ", ") file
    for (r = 1; r <= csv_read(file); r++)
        if (csv(file, r, column) == value)
            row[++count] = r
    return count
}

function number(i, column) { return csv(file, row[i], column) + 0 }
function digits(format, value) { return sprintf(format, value) + 0 }

# Time of 2 bytes over time of 4 bytes, against a column; only of n adds, or of
# any where n is 0.
function ratios(variant, column, n,    i, bytes, count, x, ms) {
    for (bytes = 2; bytes <= 4; bytes += 2) {
        count = pick("nvidia_h200/lesson5.csv", "variant",
                     variant "_" bytes "B")
        for (i = 1; i <= count; i++) {
            x = number(i, column)
            if (number(i, "cells") != 1 || (n && number(i, "n") != n))
                continue
            if (bytes == 2)
                ms[x] = number(i, "min_ms")
            else if (x in ms)
                point(x, digits("%.6g", ms[x] / number(i, "min_ms")))
        }
    }
}

# v0/v2 of lessons 1 and 3 on a GPU that holds so many threads.
function whole(name, threads, gpu,    v0) {
    if (!pick(gpu ".csv", "variant", "v0_half"))
        return
    v0 = number(1, "min_ms")
    if (!pick(gpu ".csv", "variant", "v2_fastadd"))
        return
    gpu_name[++gpus] = name
    gpu_x[gpus] = threads
    gpu_y[gpus] = digits("%.6g", v0 / number(1, "min_ms"))
    point(threads, gpu_y[gpus], name)
}

# k against threads in flight.
function lifetimes(name, look, column, value,    i, count, threads) {
    series(name, look)
    count = pick("nvidia_h200/experiments.csv", column, value)
    for (i = 1; i <= count; i++) {
        threads = number(i, "in_flight")
        if (number(i, "tries") > 0)
            point(threads, digits("%.6g", (number(i, "tries") - \
                number(i, "n")) / (moving * threads)))
    }
}

# Which multiprocessor wins, win after win; a row has a run of one's wins.
function winners(name, look, cell,    i, count, first) {
    series(name, look, "line")
    count = pick("nvidia_h200/experiments_winners.csv", "question", "order")
    for (i = 1; i <= count; i++) {
        if (csv(file, row[i], "setting") != cell)
            continue
        first = number(i, "first")
        point(first, number(i, "sm"))
        point(first + number(i, "wins") - 1, number(i, "sm"))
    }
}

# Lesson 6's relative error against n. What is below 2^-24, or 0, is drawn
# there.
function errors(name, look, variant,    i, count, error) {
    series(name, look)
    count = pick("nvidia_h200/lesson6.csv", "variant", variant)
    for (i = 1; i <= count; i++) {
        error = number(i, "error")
        if (number(i, "min_ms") == 0)
            point(number(i, "n"),
                  digits("%.3g", error < 5.96e-8 ? 5.96e-8 : error))
    }
}

# --- axes ---

function need_points() {
    if (!("x" in most))
        fail(svg ": results/ has no data for it")
}

# Adds from 2^12, and decades that begin at `from` or below.
function adds_axis() {
    need_points()
    draw_axis("x", 2, 2896, most["x"] * 1.4142, 4, "n, adds to one cell", 1)
}

function decades(from, label) {
    if (least["y"] <= from)
        from = power(10, floor(log10(least["y"])))
    draw_axis("y", 10, from, power(10, -floor(-log10(most["y"]))), 1, label)
}

# Threads, in thousands, and from 0 to a round number.
function threads_axes(most_x, most_y, label,    step) {
    unit["x"] = 1000
    draw_axis("x", 0, 0, most_x, nice(most_x), "threads in flight (thousands)")
    step = nice(most_y)
    draw_axis("y", 0, 0, -floor(-most_y / step) * step, step, label)
}

# --- the plots ---

function storm_ratio() {
    title = "Time of 2-byte adds over time of 4-byte adds, against their number"
    see = "One GPU has every ratio: from 0 it is far above 1 while all adds" \
        " are in flight at once, then falls as n grows, in the end below 1;" \
        " frozen from the start it is below 1; where the cell keeps changing" \
        " it grows with n."
    series("2 bytes, from 0", 1)
    ratios("moving", "n")
    series("2 bytes, frozen at 32", 2)
    ratios("frozen", "n")
    series("a count that never repeats", 4)
    ratios("count", "n")
    series("+1 and −1 in turn", 5)
    ratios("alternate", "n")
    end["x"] = 462
    adds_axis()
    decades(0.1, "2-byte time / 4-byte time")
    mark(sprintf("<path class=\"axes\" d=\"M%.1f %.1fH%.1f\"/>", begin["x"],
                 at_y(1), end["x"]))
    mark(text_at(470, at_y(1) - 37, "2 bytes") \
        text_at(470, at_y(1) - 13, "slower ↑") \
        text_at(470, at_y(1) + 27, "2 bytes") \
        text_at(470, at_y(1) + 51, "faster ↓"))
    mark_equal()
}

# Where the first series falls through 1, on a straight line between two points
# in these axes.
function mark_equal(    i, y, next_y, x, from, to, e) {
    for (i = 1; i < points[1]; i++) {
        y = log10(py[1, i])
        next_y = log10(py[1, i + 1])
        if (y <= 0 || next_y > 0)
            continue
        x = at_x(px[1, i]) + y / (y - next_y) * \
            (at_x(px[1, i + 1]) - at_x(px[1, i]))
        from = px[1, i]
        to = px[1, i + 1]
    }
    if (!x)
        return
    while (to - from > 1e-6 * to) # the value that stands there
        if (at_x((from + to) / 2) < x)
            from = (from + to) / 2
        else
            to = (from + to) / 2
    e = floor(log10(to))
    mark(sprintf("<path class=\"axes\" stroke-dasharray=\"6 4\" " \
                 "d=\"M%.1f %.1fV%.1f\"/><circle class=\"axes\" cx=\"%.1f\" " \
                 "cy=\"%.1f\" r=\"10\"/>", x, at_y(1), begin["y"], x, at_y(1)))
    mark(text_at(x - 8, begin["y"] - 10, sprintf("equal at n = %.1f × 10", \
                 to / power(10, e)) raised(e), "end"))
}

function storm_threads() {
    title = "v0/v2 against threads in flight"
    see = "The more threads are in flight, the larger v0/v2, on one GPU as" \
        " from GPU to GPU; lesson 5 accounts for the direction and roughly for" \
        " the size, but not for two units of one model that differ."
    series("H200, blocks limited", 1)
    ratios("threads", "threads", n)
    series("the same, not limited", 1, "rings")
    ratios("moving", "threads", n)
    series("whole GPUs", 4, "points")
    whole("A100", 108 * 2048, "nvidia_a100_pcie_40gb")
    whole("RTX 5070", 48 * 1536, "nvidia_geforce_rtx_5070")
    whole("H200", 132 * 2048, "nvidia_h200")
    whole("H200, second unit", 132 * 2048, "nvidia_h200_2")
    need_points()
    edge = most["x"] * 1.08
    series(sprintf("account, k = %.2f (%.2f–%.2f)", k, k_least, k_most), 3,
           "line")
    point(0, account(k, 0))
    point(edge, account(k, edge))
    threads_axes(edge, account(k_most, edge), "v0/v2")
    mark(sprintf("<path class=\"band\" d=\"M%.1f %.1fL%.1f %.1fV%.1fz\"/>",
                 at_x(0), at_y(account(k, 0)), at_x(edge),
                 at_y(account(k_least, edge)), at_y(account(k_most, edge))))
    for (i = 1; i <= gpus; i++)
        mark_gpu(gpu_name[i], gpu_x[i], gpu_y[i])
}

# A name stands left of its point, above or below; right of it in the left half.
function mark_gpu(name, x, y) {
    if (x <= edge / 2)
        mark(text_at(at_x(x) + 10, at_y(y) + 26, name))
    else
        mark(text_at(at_x(x) - 12, at_y(y) + (y > 0.8 * account(k, x) ? -10 : 26),
                     name, "end"))
}

function storm_k() {
    title = "Failed tries for each moving add and each thread in flight"
    see = "At every number of threads in flight, long-lived threads, which add" \
        " again and again, make each other fail more often than threads that" \
        " add once and end. Of those, fewer fail where shared memory holds" \
        " down their number than where blocks that wait do."
    lifetimes("one add per thread", 1, "setting", "one add per thread")
    lifetimes("long-lived threads", 4, "setting", "long-lived")
    lifetimes("one add, and blocks that wait", 2, "question", "waiting")
    need_points()
    threads_axes(most["x"] * 1.08, most["y"],
                 "k, failed tries for each\nmoving add and thread")
}

function storm_winners() {
    title = "Which multiprocessor wins, in four storms"
    see = "In each storm many multiprocessors try, and after a few wins a" \
        " single one wins nearly all that is left: a level line. It need not" \
        " be the same one in the next storm."
    winners("one storm", 1, "place 0")
    winners("the next", 2, "place 1")
    winners("a third", 4, "place 2")
    winners("a fourth", 5, "place 3")
    need_points()
    draw_axis("x", 2, 1, most["x"] * 1.1, 2, "wins, in their order")
    draw_axis("y", 0, 0, 140, 20, "multiprocessor (number)")
}

function reduce_error() {
    title = "Relative error of the sum of n products of 0.1 and 0.1"
    see = "A sum in half or bf16 is of no use from a few thousand products on," \
        " as it no longer moves. A sum in float loses digits as it grows and" \
        " stops in the end as well. Block sums in float that are then added" \
        " stay exact to five digits or more for all n shown. Errors below 2^-24" \
        " are drawn at 2^-24."
    errors("half", 1, "half_a_thread")
    errors("bf16", 2, "bf16_a_thread")
    errors("float", 3, "float_a_thread")
    errors("block, then float", 4, "v5_reduce")
    need_points()
    draw_axis("x", 2, 181, most["x"] * 1.4142, 4, "n, products", 1)
    draw_axis("y", 10, 3e-8, 3, 1, "relative error", 1)
}
