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

# The first exercise after $1 that is not done, else the first of all, else
# nothing.
next_open() (
    for after in "$1" 0; do
        for n in $TASKS; do
            if [ "$n" -gt "$after" ] && ! is_done "$n"; then
                say "$n"
                return
            fi
        done
    done
)

next_step() (
    n=$(next_open "$1")
    if [ -n "$n" ]; then
        choose "$n"
        say "next: open $source, then make exercise$n"
    else
        say "all exercises are done"
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

progress() {
    all=0 done=0 bar=
    for n in $TASKS; do
        choose "$n"
        state=$(state "$n")
        printf '%2d  %-20s %s\n' "$n" "${name#*_}" "$state"
        all=$((all + 1))
        if [ "$state" = 'done' ]; then done=$((done + 1)); fi
    done
    for n in $TASKS; do
        if [ ${#bar} -lt "$done" ]; then bar=$bar#; else bar=$bar-; fi
    done
    say "[$bar] $done of $all done"
    next_step 0
}
