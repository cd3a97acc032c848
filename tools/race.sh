#!/bin/sh
# Looks for data races in a lesson on the CPU, with ThreadSanitizer.
#
#     sh tools/race.sh 3 build/cpu-…/race/v2_fastadd [OPTION…]
#
# From the Makefile: RACE_MAKE, the make that builds the program.
set -eu
export LC_ALL=C
lesson=$1
program=$2
shift 2
case $lesson in
4 | 5)
    echo "race$lesson: lesson $lesson runs on one thread here, where nothing races"
    exit 0 ;;
6)
    echo "race6: lesson 6 takes too long with ThreadSanitizer"
    exit 0 ;;
esac

cannot() {
    echo "race$lesson: ThreadSanitizer does not $1 here: see $out" >&2
    exit 3
}

out=$program.out
mkdir -p "${program%/*}"
eval "$RACE_MAKE" '"$program"' > "$out" 2>&1 || cannot build

# Little work: the lessons' own options, where they have them.
n=2^16
case $lesson in 7 | 10) n=300 ;; esac # rows
if [ $# = 0 ]; then
    help=$("$program" --help 2> /dev/null) || :
    case $help in *'--runs N'*) set -- --runs 2 ;; esac
    case $help in *'--n N'*) set -- --n "$n" "$@" ;; esac
fi
status=0
"$program" "$@" > "$out" 2>&1 || status=$?
if grep -q '^FATAL: ThreadSanitizer' "$out"; then
    status=0
    setarch "$(uname -m)" -R "$program" "$@" > "$out" 2>&1 || status=$?
fi
if grep '^race ' "$out"; then
    echo "race$lesson: all that is known of it is in $out" >&2
    exit 1
fi
grep -q '^lesson ' "$out" || cannot run
echo "race$lesson: no block writes without an atomic what another uses${*:+ ($*)}"
exit "$status"
