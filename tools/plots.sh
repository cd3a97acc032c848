#!/bin/sh
# Draws docs/plots/*.svg from results/.
#
#     sh tools/plots.sh            draw every plot anew
#     sh tools/plots.sh --check    draw nothing; name the stale plots, exit 1
set -eu
export LC_ALL=C
fail() { printf '%s\n' "$2" >&2; exit "$1"; }

case $#:${1-} in
0:) check=0 ;;
1:--check) check=1 ;;
*) fail 2 "plots.sh: unknown argument: $* (there is --check)" ;;
esac

new=$(mktemp -d)
svg=''
trap 'rm -rf "$new" ${svg:+"$svg.new"}' EXIT
trap 'exit 1' HUP INT TERM
plots='storm_ratio storm_threads storm_k storm_winners reduce_error'
for plot in $plots; do
    text=$(awk -v plot="$plot" -f tools/csv.awk -f tools/plot.awk \
        -f tools/plots.awk)
    printf '%s\n' "$text" | cat > "$new/$plot.svg" # which names what is wrong
done

# Only now, when all are drawn.
status=0
mkdir -p docs/plots
for plot in $plots; do
    svg=docs/plots/$plot.svg
    if cmp -s "$new/$plot.svg" "$svg"; then
        continue
    elif [ $check = 1 ]; then
        echo "$svg: stale; run make plots" >&2
        status=1
    else
        cat "$new/$plot.svg" > "$svg.new"
        mv -f "$svg.new" "$svg"
        echo "$svg: drawn"
    fi
done
exit $status
