#!/bin/sh
# What the Makefile does with the exercises.
#
#     sh tools/exercise.sh exercise3      build the learner's file and check it
#     sh tools/exercise.sh watch3         the same again at every save
#     sh tools/exercise.sh hint3          one more hint of docs/exercises.md
#     sh tools/exercise.sh diff3          the learner's file against the solution
#     sh tools/exercise.sh solution3      the solution's TODO regions
#     sh tools/exercise.sh reset3         back to what git has
#     sh tools/exercise.sh progress
#
# From the Makefile: TASKS, the numbers of all exercises; BUILD, where programs
# go; BUILD_CU and BUILD_C, the commands that make "$program" of "$source".
set -eu
export LC_ALL=C
seconds=10          # the time limit of a program
megabytes=50        # the most it may print
all_hold='done      all checks hold'

# shellcheck source=/dev/null
. tools/exercise_state.sh

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

# Sets what belongs to exercise $1. The solutions say how it is called, since
# the learner's own file may be missing, or have copies beside it.
choose() {
    number=$1
    nn=$(printf '%02d' "$number")
    for solution in "solutions/$nn"_*.cu "solutions/$nn"_*.c \
        "exercises/$nn"_*.cu "exercises/$nn"_*.c; do
        if [ -f "$solution" ]; then break; fi
    done
    file=${solution#*/}
    name=${file%.*}
    source=exercises/$file
    solution=solutions/$file
    program=$BUILD/exercises/$name
    record=build/exercises.done/$nn
}

# --- exercise ---

# $! is what runs, unless it was seen to end. (A variable would be set an instant
# after it began.) timeout leads a group, and for an instant knows nothing of the
# program in it: all are ended.
ended=
stop() {
    [ "${!-}" != "$ended" ] || return 0
    kill -- "-$!" 2> /dev/null || kill "$!" 2> /dev/null || :
}

start() {
    ulimit -f $((megabytes * 2048))
    if command -v timeout > /dev/null; then
        exec timeout "$seconds" "$program"
    elif command -v perl > /dev/null; then
        exec perl -e 'alarm shift; exec @ARGV' "$seconds" "$program"
    fi
    exec "$program"
}

# Runs $program, its output to $program.out; sets status.
run() {
    (start) > "$program.out" 2>&1 < /dev/null &
    status=0
    wait "$!" 2> /dev/null || status=$?
    ended=$!
}

# The output: all of it, or the two ends where it is long.
show() {
    if [ "$(wc -c < "$1")" -le 8192 ]; then
        cat "$1"
    else
        dd bs=4096 count=1 < "$1" 2> /dev/null | sed 50q
        say '…'
        tail -c 2048 "$1" | tail -n 20
        say "(all of it is in $1)"
    fi
}

# Why the program's end is not a success, or nothing.
problem() {
    out=$program.out
    signal=
    if [ "$status" -gt 128 ]; then
        signal=$(kill -l $((status - 128)) 2> /dev/null || say $((status - 128)))
    fi
    case $status:$signal in
    124: | *:ALRM)
        say "it was stopped after $seconds seconds: which loop does not end?" ;;
    *:XFSZ)
        say "it was stopped after printing $megabytes MB: which loop does not end?" ;;
    *:?*)
        say "it crashed (signal $signal)" ;;
    3:)
        say "a CUDA error ended it: the lines above say which, and where" ;;
    [01]:)
        if [ ! -s "$out" ]; then
            say "it printed nothing: main must begin with exercise_begin()"
        elif [ "$status" = 1 ] && grep -q '^missing   ' "$out"; then
            say "not done yet: see the line that begins with missing"
        elif [ "$status" = 1 ]; then
            say "it ended with status 1, and said nothing of what is missing"
        elif ! grep -qx "$all_hold" "$out"; then
            say "it ended too early: main must return exercise_end()"
        fi ;;
    *)
        say "it ended with status $status" ;;
    esac
}

check() {
    if [ ! -f "$source" ]; then
        why="$source is missing; make reset$number brings it back"
    elif ! grep -q '[^[:space:]]' "$source"; then
        why="$source is empty; make reset$number brings it back"
    else
        sum=$(sum_of "$source")
        build_and_run
    fi
    if [ -n "$why" ]; then
        say "exercise $number: $why" >&2
        return 1
    fi
    mkdir -p build/exercises.done
    say "$sum" > "$record"
    say "exercise $number is done; $(next_step "$number")"
}

# Sets why. No program of an earlier build may be left to run.
build_and_run() {
    mkdir -p "$BUILD/exercises"
    rm -f "$program" "$program.c" "$program.out"
    say "build     $source"
    case $source in
    *.cu) command=$BUILD_CU ;;
    *) command=$BUILD_C ;;
    esac
    if ! eval "$command" || [ ! -f "$program" ]; then
        why="it does not compile: begin with the first error above"
        return
    fi
    run
    show "$program.out"
    why=$(problem)
    case $why in ?*) why="$why (a hint: make hint$number)" ;; esac
}

# --- watch ---

nap() { sleep 0.3 2> /dev/null || sleep 1; }

# Whatever way a file is saved, in the end its content is another. It is looked
# at once more a moment later, so that no half-written file is built.
watch() {
    trap 'stop; say; nap; exit 0' INT
    seen=
    while :; do
        now=$(sum_of "$source")
        nap
        if [ "$now" = "$seen" ] || [ "$now" != "$(sum_of "$source")" ] ||
            { [ "$now" = away ] && [ -n "$seen" ]; }; then
            continue
        fi
        seen=$now
        say
        say "--- $(date +%H:%M:%S)"
        check || :
        say "(waiting for you to save $source; Ctrl-C ends)"
    done
}

# --- hint ---

# Hint $1 of this exercise; without $1, how many there are. The page has them as
# list items under <summary>Exercise 3, ….
hints() {
    [ -f docs/exercises.md ] || return 0
    awk -v number="$number" -v want="${1:-0}" '
        /<summary>/ { inside = index($0, "<summary>Exercise " number ",") }
        /<\/details>/ { inside = 0 }
        inside && /^([-*]|[0-9]+[.]) / { n++; sub(/^[^ ]* +/, "") }
        inside && n && n == want {
            sub(/^ +/, "")
            if (NF)
                print "    " $0
        }
        END { if (!want) print n + 0 }
    ' docs/exercises.md
}

hint() {
    count=$(hints)
    [ "${count:-0}" -gt 0 ] ||
        fail "exercise $number: docs/exercises.md has no hints for it"
    shown=build/exercises.hints/$nn
    last=0
    if [ -f "$shown" ]; then last=$(sed -n '1s/^\([0-9][0-9]*\)$/\1/p' "$shown"); fi
    from=$((${last:-0} + 1))
    to=$from
    if [ "$from" -gt "$count" ]; then # all were shown: show them again
        from=1
        to=$count
    fi
    while [ "$from" -le "$to" ]; do
        say "hint $from of $count for exercise $number:"
        hints "$from"
        from=$((from + 1))
    done
    mkdir -p build/exercises.hints
    say "$to" > "$shown"
    if [ "$to" = "$count" ]; then
        say "That was the last hint; make solution$number shows the solution."
    else
        say "One more: make hint$number"
    fi
}

# --- diff, solution ---

need() { [ -f "$1" ] || fail "exercise $number: $1 is missing${2-}"; }

show_diff() {
    need "$solution"
    need "$source" "; make reset$number brings it back"
    if cmp -s "$source" "$solution"; then
        say "$source is the same as $solution."
    else
        diff -u "$source" "$solution" || [ $? = 1 ]
    fi
}

show_solution() {
    need "$solution"
    awk -v file="$solution" '
        /\/\* TODO/ { inside = 1; print file ", from line " FNR ":" }
        inside
        /\/\* END TODO/ { inside = 0; print "" }
    ' "$solution"
    say "To compare with yours: make diff$number"
}

# --- main ---

# The nap lets make hear of Ctrl-C, too, before its child is gone; otherwise it
# may wonder where that went.
trap 'stop; nap; exit 130' INT
trap 'stop; exit 143' HUP TERM
what=${1%%[0-9]*}
if [ "$what" != progress ]; then choose "${1#"$what"}"; fi
case $what in
exercise) check ;;
diff) show_diff ;;
solution) show_solution ;;
*) "$what" ;;
esac
