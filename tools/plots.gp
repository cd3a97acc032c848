# One plot of docs/plots/, as SVG on standard output. tools/plots.sh sets `name`
# and runs this in the directory that holds name.dat: series, each with its name
# in a comment above it. A series that is not there is not drawn.

# Lesson 5's account: v0/v2 = (1 + k moving R / n) / price.
n = 2.0**25     # adds
moving = 2798.0 # of them move the sum
price = 2.375   # of a 4-byte add, in tries of a 2-byte add
k = 0.31        # failed tries for each moving add and each thread in flight
k_least = 0.16
k_most = 0.43
account(k, thousands) = (1 + k * moving * 1000 * thousands / n) / price

set encoding utf8
set terminal svg size 800,480 dynamic enhanced font "sans-serif,20"
data = name.".dat"
stats data using 1:2 name "all" nooutput

# A series differs from the others by colour, point and dash. tools/plots.sh has
# the same colours for a dark page.
set linetype 1 lc rgb "#0072b2" lw 2.5 pt 7 ps 0.8 dt 1
set linetype 2 lc rgb "#007d5a" lw 2.5 pt 5 ps 0.7 dt (12,5)
set linetype 3 lc rgb "#666666" lw 2.5 pt 11 ps 0.8 dt (2,4)
set linetype 4 lc rgb "#c04a00" lw 2.5 pt 9 ps 0.85 dt (12,4,2,4)
set linetype 5 lc rgb "#a04a90" lw 2.5 pt 13 ps 0.85 dt (6,3)
array series[11]
array look[11]
series[1] = "2 bytes, from 0";             look[1] = 1
series[2] = "2 bytes, frozen at 32";       look[2] = 2
series[3] = "4 bytes, from 0";             look[3] = 3
series[4] = "a count that never repeats";  look[4] = 4
series[5] = "2 bytes, +1 and −1 in turn";  look[5] = 5
series[6] = "one add a thread";            look[6] = 1
series[7] = "long-lived threads";          look[7] = 4
series[8] = "half";                        look[8] = 1
series[9] = "bf16";                        look[9] = 2
series[10] = "float";                      look[10] = 3
series[11] = "block, then float";          look[11] = 4

# The legend stands above the data.
set lmargin at screen 0.15
set rmargin at screen 0.975
set tmargin at screen 0.82
set bmargin at screen 0.18
set key at screen 0.02,0.99 left top vertical maxrows 2 Left reverse \
    samplen 2.5 width -3 spacing 1.2
set border 3
set tics nomirror scale 0.5,0
set grid lt 1 lc rgb "#dddddd" lw 1 dt solid
set xlabel offset 0,0.3
set ylabel offset 0.8,0

if (name eq "storm_threads" || name eq "storm_k") {
    set xlabel "threads in flight (thousands)"
    set xrange [0:all_max_x / 1000 * 1.08]
    set yrange [0:*]
} else {
    set xlabel "n, adds to one cell"
    set logscale x 2
    set logscale y 10
    set xrange [2**11.5:all_max_x * 2**0.5]
    set xtics 2**12,4 format "2^{%L}"
    set format y "%g"
}

if (name eq "reduce_error") {
    set xlabel "n, products"
    set ylabel "relative error"
    set xrange [2**7.5:all_max_x * 2**0.5]
    set xtics 2**8,16 format "2^{%L}"
    set yrange [2**-25:3]
    set ytics 1e-7,10 format "10^{%L}"
    plot for [i = 8:11] data index series[i] using 1:2 with linespoints \
        lt look[i] title series[i]
}

if (name eq "storm_time") {
    set ylabel "time of a run (ms)"
    plot for [i = 1:7] data index series[i] using 1:2 with linespoints \
        lt look[i] title series[i]
}

if (name eq "storm_tries") {
    set ylabel "tries an add"
    set yrange [0.5:*]
    plot for [i = 1:7] data index series[i] using 1:2 with linespoints \
        lt look[i] title series[i]
}

if (name eq "storm_ratio") {
    set ylabel "2-byte time / 4-byte time"
    set rmargin at screen 0.86
    set yrange [*<0.1:*]
    set arrow from graph 0, first 1 to graph 1, first 1 nohead lw 1.5 lc black
    set label "2 bytes\nslower ↑" at graph 1.02, first 1 offset 0, 1.8
    set label "2 bytes\nfaster ↓" at graph 1.02, first 1 offset 0, -0.8

    # Where the first series falls through 1, on a straight line between two
    # points in these axes.
    equal = last_x = last_y = 0
    next_point(x, y) = (equal = last_y > 1 && y <= 1 ? \
        exp(log(last_x) + log(last_y) / log(last_y / y) * log(x / last_x)) : \
        equal, last_x = x, last_y = y)
    stats data index series[1] using (next_point($1, $2)) nooutput
    if (equal > 0) {
        power = floor(log10(equal))
        set arrow from equal, 1 to first equal, graph 0 nohead lw 1.5 dt (4,4) \
            lc black
        set label "" at equal, 1 point pt 6 ps 1.6 lw 2.5 lc black
        set label sprintf("equal at n = %.1f × 10^{%d}", \
            equal / 10**power, power) \
            at equal, 0.15 right offset -0.7,0.2
    }
    plot for [i = 1:7] data index series[i] using 1:2 with linespoints \
        lt look[i] title series[i]
}

if (name eq "storm_threads") {
    set ylabel "v0/v2"
    set samples 2
    # A name stands left of its point, above or below; right of it in the left
    # half.
    is_left(x) = x > all_max_x / 2000
    is_high(x, y) = y > 0.8 * account(k, x)
    plot "+" using 1:(account(k_least, $1)):(account(k_most, $1)) \
            with filledcurves lc rgb "#666666" fs transparent solid 0.2 \
            noborder notitle, \
        "+" using 1:(account(k, $1)) with lines lt 3 \
            title sprintf("account, k = %.2f (%.2f–%.2f)", \
            k, k_least, k_most), \
        data index "one H200, blocks limited" using ($1 / 1000):2 \
            with linespoints lt 1 title "one H200, blocks limited", \
        data index "the same H200, not limited" using ($1 / 1000):2 \
            with points lt 1 pt 6 ps 1.8 title "the same, not limited", \
        data index "whole GPUs" using ($1 / 1000):2 \
            with points lt 4 ps 1 title "whole GPUs", \
        "" index "whole GPUs" using (x = $1 / 1000):(is_left(x) && \
            is_high(x, $2) ? $2 : NaN):3 with labels right offset -0.9,0.6 \
            notitle, \
        "" index "whole GPUs" using (x = $1 / 1000):(is_left(x) && \
            !is_high(x, $2) ? $2 : NaN):3 with labels right offset -0.7,-0.6 \
            notitle, \
        "" index "whole GPUs" using (x = $1 / 1000):(is_left(x) ? NaN : $2):3 \
            with labels left offset 0.7,-0.6 notitle
}

if (name eq "storm_k") {
    set ylabel "k, failed tries for each\nmoving add and thread"
    plot for [i = 1:7] data index series[i] using ($1 / 1000):2 \
        with linespoints lt look[i] title series[i]
}
