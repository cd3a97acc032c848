#!/bin/sh
# Draws docs/plots/*.svg from results/, with gnuplot.
#
#     sh tools/plots.sh            draw every plot anew
#     sh tools/plots.sh --check    draw nothing; name the stale plots, exit 1
#
# A plot holds the checksums of its data, of these scripts and of itself.
# --check compares them, without gnuplot.
# shellcheck disable=SC2016 # the programs in quotes are awk's
set -eu
export LC_ALL=C
fail() { printf '%s\n' "$2" >&2; exit "$1"; }

case $#:${1-} in
0:) check=0 ;;
1:--check) check=1 ;;
*) fail 2 "plots.sh: unknown argument: $* (there is --check)" ;;
esac
[ $check = 1 ] || command -v gnuplot > /dev/null ||
    fail 2 'plots need gnuplot: ./setup'

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM
lesson5=results/nvidia_h200/lesson5.csv
experiments=results/nvidia_h200/experiments.csv
lesson6=results/nvidia_h200/lesson6.csv

# --- picking data ---

# In front of every program: col("NAME") is a column of the CSV.
by_name='
function fail(message) {
    print file ":" FNR ": " message > "/dev/stderr"
    exit 1
}
function col(name) {
    if (!(name in at))
        fail("there is no column " name)
    return $at[name]
}
NR == 1 {
    for (columns = 1; columns <= NF; columns++)
        at[$columns] = columns
    columns = NF
    next
}
NF != columns { fail(NF " fields where " columns " are due") }
'

# pick FILE PROGRAM [-v NAME=VALUE]...: what an awk program prints of a CSV goes
# to $new/rows, in the order of its first number.
pick() {
    file=$1 program=$2
    shift 2
    [ -s "$file" ] || fail 1 "$file: missing or empty"
    awk -F, -v file="$file" "$@" "$by_name$program" "$file" > "$new/picked" ||
        exit 1
    sort -n "$new/picked" > "$new/rows"
}

# series NAME: puts $new/rows into the plot's data, if there are any. A series
# has its look by its name, in plots.gp.
series() {
    [ -s "$new/rows" ] || return 0
    { printf '# %s\n' "$1"; cat "$new/rows"; printf '\n\n'; } >> "$data"
}

# sweep NAME VARIANT COLUMN: lesson 5's sweep of n. 0 stands for not measured.
sweep() {
    pick "$lesson5" 'col("variant") == variant && col("cells") == 1 &&
        col(y) > 0 { print col("n"), col(y) }' -v variant="$2" -v y="$3"
    series "$1"
}

# A program: time of 2 bytes over time of 4 bytes against the column x, for one
# n; n = 0: for all.
ratio='
col("variant") ~ "^" variant "_[24]B$" && col("cells") == 1 &&
    (n == 0 || col("n") == n) {
    ms[col(x), substr(col("variant"), length(variant) + 2)] = col("min_ms")
    if (((col(x), "2B") in ms) && ((col(x), "4B") in ms))
        printf "%s %.6g\n", col(x), ms[col(x), "2B"] / ms[col(x), "4B"]
}'

# ratios NAME VARIANT: against n.
ratios() {
    pick "$lesson5" "$ratio" -v variant="$2" -v n=0 -v x=n
    series "$1"
}

# whole NAME THREADS FILE: v0/v2 of lessons 1 and 3 on a GPU that holds THREADS
# threads.
whole() {
    pick "results/$3" '
        col("variant") == "v0_half" { v0 = col("min_ms") }
        col("variant") == "v2_fastadd" { v2 = col("min_ms") }
        v0 && v2 && !done++ { printf "%d %.6g \"%s\"\n", r, v0 / v2, name }
        ' -v name="$1" -v r="$2"
    cat "$new/rows" >> "$new/whole"
}

# lifetimes NAME SETTING: k against threads in flight.
lifetimes() {
    pick "$experiments" 'col("question") == "lifetime" &&
        col("setting") == setting && col("tries") > 0 {
            printf "%s %.6g\n", col("in_flight"),
                (col("tries") - col("n")) / (2798 * col("in_flight"))
        }' -v setting="$2"
    series "$1"
}

# errors NAME VARIANT: lesson 6's relative error against n. What is below 2^-24,
# or 0, is drawn there.
errors() {
    pick "$lesson6" 'col("variant") == variant && col("min_ms") == 0 {
            error = col("error") + 0
            if (error < 5.96e-8)
                error = 5.96e-8
            printf "%d %.3g\n", col("n"), error
        }' -v variant="$2"
    series "$1"
}

# --- the plots: each its title, what to see in it, its data ---

storm_time() {
    title='Time of a run against the number of adds'
    see='From 0, the time grows with n while all adds are in flight at once;
        beyond, most of it passes while the sum still moves, and more adds cost
        little until n is very large. Frozen from the start, 2-byte adds take
        less time than 4-byte adds. A count, which never freezes, takes more
        time for each add as n grows.'
    sweep '2 bytes, from 0' moving_2B min_ms
    sweep '2 bytes, frozen at 32' frozen_2B min_ms
    sweep '4 bytes, from 0' moving_4B min_ms
    sweep 'a count that never repeats' count_2B min_ms
}

storm_ratio() {
    title='Time of 2-byte adds over time of 4-byte adds, against their number'
    see='One GPU has every ratio: from 0 it is far above 1 while all adds are in
        flight at once, then falls as n grows, in the end below 1; frozen from
        the start it is below 1; where the cell keeps changing it grows with
        n.'
    ratios '2 bytes, from 0' moving
    ratios '2 bytes, frozen at 32' frozen
    ratios '2 bytes, +1 and −1 in turn' alternate
    ratios 'a count that never repeats' count
}

storm_threads() {
    title='v0/v2 against threads in flight'
    see='The more threads are in flight, the larger v0/v2, on one GPU as from
        GPU to GPU; lesson 5 accounts for the direction and roughly for the
        size, but not for two units of one model that differ.'
    pick "$lesson5" "$ratio" -v variant=threads -v n=33554432 -v x=threads
    series 'one H200, blocks limited'
    pick "$lesson5" "$ratio" -v variant=moving -v n=33554432 -v x=threads
    series 'the same H200, not limited'
    whole A100 $((108 * 2048)) nvidia_a100_pcie_40gb.csv
    whole 'RTX 5070' $((48 * 1536)) nvidia_geforce_rtx_5070.csv
    whole H200 $((132 * 2048)) nvidia_h200.csv
    whole 'H200, second unit' $((132 * 2048)) nvidia_h200_2.csv
    mv "$new/whole" "$new/rows"
    series 'whole GPUs'
}

storm_tries() {
    title='Tries an add against the number of adds'
    see='A frozen add needs one try; from 0, an add needs many tries on average
        while all adds are in flight at once, and fewer the more adds come after
        the freeze; where the cell keeps changing, the tries grow with n.'
    sweep '2 bytes, from 0' moving_2B tries_per_add
    sweep '2 bytes, frozen at 32' frozen_2B tries_per_add
    sweep '2 bytes, +1 and −1 in turn' alternate_2B tries_per_add
    sweep 'a count that never repeats' count_2B tries_per_add
}

storm_k() {
    title='Failed tries for each moving add and each thread in flight'
    see='At every number of threads in flight, long-lived threads, which add
        again and again, make each other fail more often than threads that add
        once and end.'
    lifetimes 'one add a thread' 'one add a thread'
    lifetimes 'long-lived threads' long-lived
}

reduce_error() {
    title='Relative error of the sum of n products of 0.1 and 0.1'
    see='A sum in half or bf16 is of no use from a few thousand products on, as
        it no longer moves. A sum in float loses digits as it grows and stops in
        the end as well. Block sums in float that are then added stay exact to
        five digits or more for all n shown. Errors below 2^-24 are drawn at
        2^-24.'
    errors 'half' half_a_thread
    errors 'bf16' bf16_a_thread
    errors 'float' float_a_thread
    errors 'block, then float' v5_reduce
}

# --- drawing ---

# The data of a plot in words: all points of a short series, the ends of others.
in_words() {
    awk '
    function finish() {
        if (count > 4)
            text = first " … " last
        if (count)
            print name " (x, y; " count " in all): " text "."
        count = 0
    }
    /^# / { finish(); name = substr($0, 3); next }
    NF {
        last = $0
        gsub(/"/, "", last)
        sub(/ /, ", ", last)
        text = count++ ? text "; " last : last
        if (count == 1)
            first = last
    }
    END { finish() }' "$data"
}

# gnuplot's SVG without its empty groups and its font; with title, description
# and style, and with colours spelled as the style names them.
style='<style>
text{font-family:system-ui,-apple-system,"Segoe UI","Noto Sans",sans-serif}
@media (prefers-color-scheme:dark){
[color="black"]{color:#ddd}[stroke="black"]{stroke:#ddd}
[fill="black"]{fill:#ddd}[fill="#666666"]{fill:#aaa}
[stroke="#dddddd"]{stroke:#3a3a3a}
[color="#0072b2"]{color:#56b4e9}[stroke="#0072b2"]{stroke:#56b4e9}
[color="#007d5a"]{color:#2fbf94}[stroke="#007d5a"]{stroke:#2fbf94}
[color="#666666"]{color:#aaa}[stroke="#666666"]{stroke:#aaa}
[color="#c04a00"]{color:#ff9a52}[stroke="#c04a00"]{stroke:#ff9a52}
[color="#a04a90"]{color:#d98ac4}[stroke="#a04a90"]{stroke:#d98ac4}
}
</style>'
finish() {
    awk '
    NR == FNR { head = head $0 "\n"; next }
    /^<svg/ { $0 = "<svg role=\"img\"" }
    /^<title>/ { printf "%s", head; next }
    /^<desc>/ { next }
    {
        gsub(/ font-family="sans-serif"/, "")
        sub(/<title>.*<\/title>$/, "") # of a series; the legend has it
        while (match($0, /rgb\( *[0-9]+, *[0-9]+, *[0-9]+\)/)) {
            split(substr($0, RSTART + 4, RLENGTH - 5), part, ",")
            $0 = substr($0, 1, RSTART - 1) sprintf("#%02x%02x%02x", part[1],
                part[2], part[3]) substr($0, RSTART + RLENGTH)
        }
    }
    held != "" && $0 == "</g>" { held = ""; next }
    held != "" { print held; held = "" }
    /^<g [^>]*>$/ { held = $0; next }
    /./' "$new/head" "$new/drawn"
}

sum_of() { cksum | tr ' ' -; }
script_sum=$(cat tools/plots.sh tools/plots.gp | sum_of)

is_fresh() {
    [ -f "$svg" ] && sed -n 2p "$svg" | grep -qF \
        "<!-- $sums, drawing $(sed 2d "$svg" | sum_of), "
}

draw() {
    (cd "$new" && gnuplot -d -e "name='$plot'" plots.gp) > "$new/drawn" \
        2> "$new/said" ||
        fail 1 "$svg: gnuplot: $(grep . "$new/said" | tail -n 1)"
    {
        printf '<title>%s</title>\n<desc>' "$title"
        printf '%s\n' "$see" | sed 's/^ *//'
        in_words
        printf '</desc>\n%s\n' "$style"
    } > "$new/head"
    finish > "$new/body"
    {
        sed 1q "$new/body"
        printf '<!-- %s, drawing %s, %s -->\n' "$sums" \
            "$(sum_of < "$new/body")" "$(gnuplot --version)"
        sed 1d "$new/body"
    } > "$new/$plot.svg"
}

plots='storm_time storm_ratio storm_threads storm_tries storm_k reduce_error'
cp tools/plots.gp "$new"
status=0
for plot in $plots; do
    svg=docs/plots/$plot.svg data=$new/$plot.dat
    $plot
    [ -f "$data" ] || fail 1 "$svg: results/ has no data for it"
    sums="data $(sum_of < "$data"), script $script_sum"
    if [ $check = 0 ]; then
        draw
    elif ! is_fresh; then
        echo "$svg: stale; run make plots" >&2
        status=1
    fi
done
[ $check = 0 ] || exit $status

# Only now, when all are drawn.
mkdir -p docs/plots
for plot in $plots; do
    svg=docs/plots/$plot.svg
    if ! cmp -s "$new/$plot.svg" "$svg"; then
        cat "$new/$plot.svg" > "$svg"
        echo "$svg: drawn"
    fi
done
