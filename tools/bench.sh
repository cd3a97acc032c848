#!/bin/sh
# Measures the lessons on this machine's GPU and keeps what they say: the rows in
# results/GPU.csv, sweeps in results/GPU/lessonK.csv, the reports in
# results/GPU/lessonK.txt. Then prints the table of all GPUs in results/.
#
#     sh tools/bench.sh lesson1 lesson2 …
#
# The files are written only once every lesson has run and was right.
set -eu
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 2; }

[ "${BACKEND:-}" = cuda ] ||
    fail "bench measures a GPU, and BACKEND is ${BACKEND:-unset}; for the times of the CPU emulation: make bench-cpu"

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
for lesson in "$@"; do
    "./$lesson" --csv > "$new/$lesson.csv"
    "./$lesson" > "$new/$lesson.txt"
    cat "$new/$lesson.txt"
done

# Lessons 1 to 3 run the same test case, and their rows go to one file; a sweep
# has other columns and a file of its own.
header=$(sed 1q "$new/$1.csv")
echo 'BEGIN { print csv(ARGV[1], 1, "gpu") }' > "$new/gpu.awk"
gpu=$(awk -f tools/csv.awk -f "$new/gpu.awk" "$new/$1.csv" | tr 'A-Z -' 'a-z__')
mkdir -p "results/$gpu"
printf '%s\n' "$header" > "results/$gpu.csv"
for lesson in "$@"; do
    if [ "$(sed 1q "$new/$lesson.csv")" = "$header" ]; then
        sed 1d "$new/$lesson.csv" >> "results/$gpu.csv"
    else
        cat "$new/$lesson.csv" > "results/$gpu/$lesson.csv"
    fi
    cat "$new/$lesson.txt" > "results/$gpu/$lesson.txt"
done
printf '\nresults/%s.csv and results/%s/ are written.\n\n' "$gpu" "$gpu"
awk -v table=lessons -f tools/csv.awk -f tools/table_peers.awk \
    -f tools/table.awk results/*.csv
