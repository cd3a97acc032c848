#!/bin/sh
# Refills what the pages quote: code, listings, tables and single figures.
#
#     sh tools/quote.sh            refill every page
#     sh tools/quote.sh --check    change nothing; name the stale pages, exit 1
#
# A page says what it quotes in a comment; tools/quote.awk lists the forms.
set -eu
export LC_ALL=C
check=0
[ "${1:-}" = --check ] && check=1

new=$(mktemp)
trap 'rm -f "$new"' EXIT
status=0
for page in *.md docs/*.md lessons/*/*.md results/*.md; do
    [ -f "$page" ] || continue
    if ! awk -f tools/csv.awk -f tools/table_peers.awk -f tools/table.awk \
        -f tools/quote.awk "$page" > "$new"; then
        status=1
    elif ! cmp -s "$page" "$new"; then
        if [ $check = 1 ]; then
            echo "$page: stale; run make quote" >&2
            status=1
        else
            cat "$new" > "$page"
            echo "$page: refilled"
        fi
    fi
done
exit $status
