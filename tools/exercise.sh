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
# go; BUILD_CU and BUILD_C, the commands that make "$program" of "$source"; and
# for the CPU BUILD_RACE, which makes "$program.race" of "$program.c".
set -eu
seconds=10          # the time limit of a program
race_seconds=60     # and of one in which races are looked for
megabytes=50        # the most it may print
all_hold='done      all checks hold'

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

# --- done or not: the record holds the checksum of the file that passed ---

sum_of() { { cksum < "$1"; } 2> /dev/null || echo away; }

is_done() {
    choose "$1"
    [ -f "$record" ] && [ "$(cat "$record")" = "$(sum_of "$source")" ]
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
        exec timeout "$@"
    elif command -v perl > /dev/null; then
        exec perl -e 'alarm shift; exec @ARGV' "$@"
    fi
    shift
    exec "$@"
}

# run OUTPUT SECONDS COMMAND…; sets status.
run() {
    out=$1
    shift
    (start "$@") > "$out" 2>&1 < /dev/null &
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
    run "$program.out" "$seconds" "$program"
    show "$out"
    why=$(problem)
    if [ -z "$why" ]; then look_for_races; fi
    case $why in ?*) why="$why (a hint: make hint$number)" ;; esac
    if [ -z "$why" ]; then why=$(changed); fi
}

# Whether a line outside of the TODO regions is gone. All of the solution's must
# be there, in their order; others may be added.
changed() {
    [ ! -f "$solution" ] || awk -v number="$number" '
        { sub(/[ \t\r]+$/, "") }
        FNR == 1 { files++ }
        files == 1 && /\/\* TODO/ { inside = 1 }
        files == 1 && !inside && NF { want[++n] = $0 }
        files == 1 && /\/\* END TODO/ { inside = 0 }
        files == 2 && at < n && $0 == want[at + 1] { at++ }
        END {
            sub(/^ +/, "", want[at + 1])
            if (at < n)
                print "a line outside of the TODO regions is gone or changed: " \
                    want[at + 1] " (see make diff" number ")"
        }
    ' "$solution" "$source"
}

# The same program once more, with ThreadSanitizer: a plain write of what other
# blocks use is a fault that no result has to show. Older ones of its kind want
# addresses that are not drawn by lot. Sets why, and says once if it cannot be.
look_for_races() {
    case $source in *.cu) ;; *) return 0 ;; esac
    away=$BUILD/race/away
    if [ -z "${BUILD_RACE:-}" ] || [ -f "$away" ]; then return 0; fi
    rm -f "$program.race"
    status=1
    if eval "$BUILD_RACE" > "$program.race.out" 2>&1; then
        run "$program.race.out" "$race_seconds" "$program.race"
        if grep -q '^FATAL: ThreadSanitizer' "$out"; then
            run "$out" "$race_seconds" setarch "$(uname -m)" -R "$program.race"
        fi
    fi
    if grep '^race ' "$program.race.out"; then
        why="blocks race: see the line that begins with race; all that is \
known of it is in $program.race.out"
    elif ! grep -q '^exercise ' "$program.race.out"; then
        say "note      races cannot be looked for here: see $program.race.out"
        mkdir -p "${away%/*}" && : > "$away"
    elif [ "$status" = 124 ]; then
        say "note      races were looked for, but not to the end: it takes too long"
    else
        why=$(problem)
        case $why in ?*)
            tail -n 3 "$out"
            why="the second time it was run, to look for races: $why" ;;
        esac
    fi
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

# --- reset ---

# Copies the learner's file to build/kept/, under a number that is free and
# higher than all others; prints the path.
keep() {
    mkdir -p build/kept
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
        fail "reset needs git, which is not here; $nothing"
    git rev-parse --is-inside-work-tree > /dev/null 2>&1 ||
        fail "reset needs a git checkout, and this is none; $nothing"
    git cat-file -e "HEAD:./$source" 2> /dev/null ||
        fail "git has no committed $source to go back to; $nothing"
    if git diff --quiet HEAD -- "$source"; then
        say "$source is as git has it; $nothing."
        return
    fi
    kept=
    if [ -f "$source" ]; then
        kept=$(keep) || fail "your version could not be kept in build/kept/; $nothing"
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
    elif git diff --quiet HEAD -- "$source"; then
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
