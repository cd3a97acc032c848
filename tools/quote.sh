#!/bin/sh
# Refills what the pages quote: code, listings, tables and single figures.
#
#     sh tools/quote.sh            refill every page
#     sh tools/quote.sh --check    change nothing; name the stale pages, exit 1
#
# A page says what it quotes in a comment; tools/quote.awk lists the forms.
set -eu
export LC_ALL=C
case $#:${1-} in
0:) check=0 ;;
1:--check) check=1 ;;
*) echo "quote.sh: unknown argument: $* (there is --check)" >&2; exit 2 ;;
esac

new=
trap 'rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM
status=0
for page in *.md docs/*.md examples/*/*.md lessons/*/*.md results/*.md; do
    [ -f "$page" ] || continue
    if ! text=$(awk -f tools/csv.awk -f tools/table_peers.awk \
        -f tools/table_storm.awk -f tools/table_atlas.awk -f tools/table.awk \
        -f tools/quote.awk "$page"); then
        status=1
    elif ! printf '%s\n' "$text" | cmp -s - "$page"; then
        if [ $check = 1 ]; then
            echo "$page: stale; run make quote" >&2
            status=1
        else
            new=$page.new
            printf '%s\n' "$text" | cat > "$new" # which names what is wrong
            mv -f "$new" "$page"
            echo "$page: refilled"
        fi
    fi
done
exit $status
