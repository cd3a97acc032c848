#!/bin/sh
# Holds common/cas_atomics.h against a GPU's own atomics, with the programs that
# make cas-programs has put into the directory $1: the sums of
# tests/musa/cas_atomics.cu by both; lessons 1 to 4 by both, whose results must be
# the same; and tools/cas_atomics.cu, which times them. Writes
# results/GPU/cas_atomics.csv and .txt once all was right. Needs no compiler.
set -eu
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 2; }

programs=$1
[ -x "$programs/cas_atomics" ] || fail "$programs: no programs are here; make cas-programs builds them"
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM

for name in sums sums_cas; do
    "$programs/$name" > "$new/$name" ||
        fail "$name: it ended with status $?; $(grep '^not ok' "$new/$name" || :)"
    echo "$name: $(grep -c '^ok' "$new/$name") checks hold" >> "$new/cas_atomics.txt"
done

for lesson in v0_half v1_pack2 v2_fastadd v3_cas; do
    for way in own cas; do
        "$programs/$way/$lesson" > "$new/report" ||
            fail "$way/$lesson: it ended with status $?"
        grep '^result' "$new/report" > "$new/$way"
        printf '%-10s  %s  %s\n' "$lesson" "$way" \
            "$(grep '^time' "$new/report" || cat "$new/$way")" >> "$new/cas_atomics.txt"
    done
    cmp -s "$new/own" "$new/cas" || fail "$lesson: another result by compare-and-swap"
done

"$programs/cas_atomics" --csv > "$new/cas_atomics.csv"
"$programs/cas_atomics" >> "$new/cas_atomics.txt"
cat "$new/cas_atomics.txt"

gpu=$(sed -n '2s/,.*//p' "$new/cas_atomics.csv" | tr 'A-Z /-' 'a-z___')
mkdir -p "results/$gpu"
cp "$new/cas_atomics.csv" "$new/cas_atomics.txt" "results/$gpu/"
echo "results/$gpu/cas_atomics.csv and .txt are written"
