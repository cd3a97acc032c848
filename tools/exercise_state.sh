#!/bin/sh
# Which exercises are done, and how one gets back to what git has: a part of
# tools/exercise.sh.
# shellcheck disable=SC2154 # choose, in there, sets what belongs to an exercise

# --- done or not: the record holds the checksum of the file that passed ---

# (busybox may have no cksum.)
sum_of() { { cksum < "$1" || md5sum < "$1"; } 2> /dev/null || echo away; }

# Keeps $2 in the file $1, which is whole at any time.
note() {
    { mkdir -p "${1%/*}" && say "$2" > "$1.new" && mv -f "$1.new" "$1"; } 2> /dev/null ||
        { say "$1 cannot be written: is the disk full, or not yours?" >&2; return 1; }
}

is_done() {
    choose "$1"
    [ -f "$record" ] && [ "$(cat "$record" 2> /dev/null)" = "$(sum_of "$source")" ]
}

# --- the path: the order of the tables of docs/exercises.md ---

# A line for each exercise: its number, short (if it is one of the short path) or
# long, and the page that prepares it. What the tables lack comes last.
path() {
    { cat docs/exercises.md 2> /dev/null || :; } |
        awk -F "|" -v tasks="$TASKS" '
            BEGIN {
                count = split(tasks, task, " ")
                for (i = 1; i <= count; i++)
                    left[task[i]] = 1
            }
            /^## / { part = /short path/ ? "short" : "long" }
            /^\|/ && ($2 + 0) in left {
                page = $(NF - 1)
                gsub(/^ *\[|\].*$/, "", page)
                print $2 + 0, part, page
                delete left[$2 + 0]
            }
            END {
                for (i = 1; i <= count; i++)
                    if (task[i] in left)
                        print task[i], "long "
            }'
}

numbers() { path | sed 's/ .*//'; }
part_of() { path | sed -n "s/^$1 \([a-z]*\) .*/\1/p"; }
page_of() { path | sed -n "s/^$1 [a-z]* //p"; }

# The first exercise behind $1 on the path that is not done, else the first of
# all, else nothing. With $2, of that part only.
next_open() (
    behind=
    order=$(numbers)
    [ "$1" != 0 ] || behind=1
    for n in $order $order; do
        if [ -n "$behind" ] && { [ -z "${2-}" ] || [ "$(part_of "$n")" = "$2" ]; } &&
            ! is_done "$n"; then
            say "$n"
            return
        fi
        if [ "$n" = "$1" ]; then behind=1; fi
    done
)

next_step() (
    n=$(next_open "$1")
    if [ -n "$n" ]; then
        page=$(page_of "$n")
        choose "$n"
        say "next${page:+, after $page}: open $source, then make exercise$n"
    else
        say "all exercises are done"
    fi
)

# What the reader can do who has come to an end with exercise $1.
milestone() (
    if [ -z "$(next_open 0)" ]; then
        say "You can write sums, histograms and scatter-adds of halves that are right and \
fast, and say what a published speedup is worth. For your own kernel: \
docs/choosing.md says which add to write, and tools/half_cas finds the slow loop \
in a compiled program."
    elif [ "$(part_of "$1")" = short ] && [ -z "$(next_open 0 short)" ]; then
        say "The short path is done. You can say where a sum in half stops, which adds of \
halves are one instruction, and what a loop costs. Lesson 5 goes on: \
lessons/v4_storm/README.md"
    fi
)

# --- reset ---

# Copies the learner's file to build/kept/, under a number that is free and
# higher than all others; prints the path.
keep() {
    mkdir -p build/kept || return
    n=1
    for old in "build/kept/$name"-*."${file##*.}"; do
        old=${old%.*}
        old=${old##*-}
        case $old in *[!0-9]* | ????????*) continue ;; esac
        if [ "$old" -ge "$n" ]; then n=$((old + 1)); fi
    done
    kept=build/kept/$name-$n.${file##*.}
    (set -C && cat "$source" > "$kept") && cmp -s "$source" "$kept" && say "$kept"
}

reset() {
    nothing='nothing was changed'
    command -v git > /dev/null ||
        fail "reset needs git, which is not here (docs/running.md, In an archive); $nothing"
    why=$(git rev-parse --git-dir 2>&1) || case $why in
    *'not a git repository'*)
        fail "reset needs a git checkout, and this is none (docs/running.md, In an archive); $nothing" ;;
    *) fail "$why
$nothing" ;; # safe.directory
    esac
    [ ! -d "$source" ] || fail "$(unfit); $nothing"
    git cat-file -e "HEAD:./$source" 2> /dev/null ||
        fail "git has no committed $source to go back to; $nothing"
    if git -c core.safecrlf=false diff --quiet HEAD -- "$source"; then
        say "$source is as git has it; $nothing."
        return
    fi
    kept=
    if [ -f "$source" ]; then
        kept=$(keep 2> /dev/null) || fail "your version could not be kept in build/kept/; $nothing"
    fi
    git checkout -q HEAD -- "$source" || fail "git could not put $source back"
    say "$source is as git has it${kept:+; your version is in $kept}."
}

# --- progress ---

state() {
    if is_done "$1"; then
        say 'done'
    elif ! git cat-file -e "HEAD:./$source" > /dev/null 2>&1; then
        say 'not done' # and no git to say more
    elif git -c core.safecrlf=false diff --quiet --ignore-cr-at-eol HEAD -- "$source"; then
        say 'untouched'
    else
        say 'started'
    fi
}

# "[##----] 2 of 6 done"
bar() {
    bar=
    while [ ${#bar} -lt "$1" ]; do bar=$bar#; done
    while [ ${#bar} -lt "$2" ]; do bar=$bar-; done
    say "[$bar] $1 of $2 done$3"
}

progress() {
    all=0 done=0
    for n in $(numbers); do
        part=$(part_of "$n")
        if [ "$part" = long ] && [ "${last-}" = short ]; then
            bar "$done" "$all" ': the short path'
        fi
        last=$part
        choose "$n"
        state=$(state "$n")
        printf '%2d  %-18s %-22s %s\n' "$n" "${name#*_}" "$(page_of "$n")" "$state"
        all=$((all + 1))
        if [ "$state" = 'done' ]; then done=$((done + 1)); fi
    done
    bar "$done" "$all" ''
    next_step 0
    milestone 0
}
