#!/bin/sh
# Measures the lessons on this machine's GPU and keeps what they say: the rows in
# results/GPU.csv, sweeps in results/GPU/lessonK.csv, the reports in
# results/GPU/lessonK.txt. Then prints the table of all GPUs in results/.
#
#     sh tools/bench.sh lesson1 lesson2 …
#
# The files are written only once every lesson has run and was right. Two units
# of one model have one name: with UNIT=2 it is "NVIDIA H200 (unit 2)" and the
# files are results/nvidia_h200_2…. Files that are there stay unless UNIT is set.
set -eu
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 2; }

[ "${BACKEND:-}" = cuda ] || [ "${BACKEND:-}" = musa ] ||
    fail "bench measures a GPU, and BACKEND is ${BACKEND:-unset}; for the times of the CPU emulation: make bench-cpu"
unit=${UNIT:-}
case $unit in 0* | *[!0-9]*) fail "UNIT=$unit: expected a number from 1" ;; esac
number='' says=''
if [ "${unit:-1}" != 1 ]; then number=_$unit says=" (unit $unit)"; fi

new=$(mktemp -d)
files=''
trap 'rm -rf "$new"; for file in $files; do rm -f "$file.new"; done' EXIT
trap 'exit 1' HUP INT TERM

tools=$PWD/tools
lf='
'

# Lays out in $new what results/ will be with these lessons. Lessons 1 to 3 run
# the same test case, and their rows go to one file; a sweep has other columns
# and a file of its own. Sets gpu, files and table.
lay_out() {
    header=$(sed 1q "$new/$1.csv")
    echo 'BEGIN { for (i = 1; i < ARGC; i++) csv_read(ARGV[i])
        print csv(ARGV[1], 1, "gpu"); exit }' > "$new/read.awk"
    name=$(cd "$new" && awk -f "$tools/csv.awk" -f read.awk lesson*.csv)
    gpu=$(printf '%s' "$name" | tr 'A-Z /-' 'a-z___')
    stop_if_there
    gpu=$gpu$number
    rm -rf "$new/results"
    mkdir -p "$new/results/$gpu"
    printf '%s\n' "$header" > "$new/results/$gpu.csv"
    for lesson in "$@"; do
        rows=$(sed "2,\$s/^[^,]*/&$says/" "$new/$lesson.csv")
        if [ "${rows%%"$lf"*}" = "$header" ]; then
            printf '%s\n' "${rows#*"$lf"}" >> "$new/results/$gpu.csv"
        else
            printf '%s\n' "$rows" > "$new/results/$gpu/$lesson.csv"
        fi
        cat "$new/$lesson.txt" > "$new/results/$gpu/$lesson.txt"
    done
    files=$(cd "$new" && echo results/*.csv results/*/*)
    for old in results/*.csv; do
        [ -e "$new/$old" ] || [ ! -e "$old" ] || cp "$old" "$new/$old"
    done
    table=$(cd "$new" && awk -v table=lessons -f "$tools/csv.awk" \
        -f "$tools/table_peers.awk" -f "$tools/table_storm.awk" \
        -f "$tools/table_atlas.awk" -f "$tools/table.awk" results/*.csv)
}

# Two units of one model have one name.
stop_if_there() {
    for old in "results/$gpu.csv" "results/$gpu"/lesson*; do
        if [ -n "$unit" ] || [ ! -e "$old" ]; then continue; fi
        free=2
        while [ -e "results/${gpu}_$free.csv" ]; do free=$((free + 1)); done
        fail "bench: $old is there, of this $name or of another one. make bench UNIT=$free keeps it and writes results/${gpu}_$free.csv; make bench UNIT=1 replaces it"
    done
}

for lesson in "$@"; do
    "./$lesson" --csv > "$new/$lesson.csv"
    "./$lesson" > "$new/$lesson.txt"
    cat "$new/$lesson.txt"
    [ "$lesson" != "$1" ] || lay_out "$1" # what is wrong is said before the rest
done
lay_out "$@"

mkdir -p "results/$gpu"
for file in $files; do cp "$new/$file" "$file.new"; done
for file in $files; do mv -f "$file.new" "$file"; done
printf '\nresults/%s.csv and results/%s/ are written.\n\n%s\n' "$gpu" "$gpu" "$table"
