#!/bin/sh
# What the Makefile does with the exercises.
#
#     sh tools/exercise.sh exercise3      build the learner's file and check it
#     sh tools/exercise.sh exercise       the same for the next one on the path
#     sh tools/exercise.sh watch3         the same again at every save
#     sh tools/exercise.sh watch          and go on with the next when one is done
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
export LC_ALL=C
seconds=10          # the time limit of a program
race_seconds=60     # and of one in which races are looked for
megabytes=50        # the most it may print
all_hold='done      all checks hold'
withheld=           # where make class has copied the course
[ -d solutions ] || withheld=': your teacher keeps these'

# shellcheck source=/dev/null
. tools/exercise_state.sh

# A terminal may be 80 columns wide.
say() {
    if [ -t 1 ]; then
        printf '%s\n' "$*" | fold -s -w 80
    else
        printf '%s\n' "$*"
    fi
}
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

# $! leads the group of what runs, unless it was seen to end. (A variable would
# be set an instant after it began.) For an instant there is no group yet.
ended=
stop() {
    [ "${!-}" != "$ended" ] || return 0
    kill -KILL "-$!" 2> /dev/null || kill -KILL "$!" 2> /dev/null || :
}

# start SECONDS COMMAND…, as the leader of a group, which is killed then: nobody
# can ignore that. The watch is part of the group, and no child of the command,
# which may wait for its own. Without a group the command's own time is bounded.
start() {
    ulimit -f $((megabytes * 2048))
    # shellcheck disable=SC2016 # for the sh within
    for lead in setsid 'perl -esetpgrp;exec@ARGV'; do
        command -v "${lead%% *}" > /dev/null || continue
        # shellcheck disable=SC2086 # the words of lead
        exec $lead sh -c '({ sleep "$0"; kill -KILL "-$$"; } > /dev/null 2>&1 &)
            exec "$@"' "$@"
    done
    # shellcheck disable=SC3045 # where sh has it
    ulimit -t "$1"
    shift
    exec "$@"
}

# run OUTPUT SECONDS COMMAND…; sets status: 124 where the time was up. Nothing of
# the group is left.
run() {
    out=$1
    shift
    status=0
    began=$(date +%s)
    (start "$@") > "$out" 2>&1 < /dev/null &
    wait "$!" 2> /dev/null || status=$?
    if [ "$status" = 137 ] && [ $(($(date +%s) - began)) -ge "$1" ]; then status=124; fi
    kill -KILL "-$!" 2> /dev/null || :
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
    124: | *:XCPU)
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

# Why the learner's file cannot be read, or nothing.
unfit() {
    if git cat-file -e "HEAD:./$source" 2> /dev/null; then
        back="make reset$number brings it back"
    else
        back="take it from where you got the course"
    fi
    if [ -d "$source" ]; then
        say "$source is a directory; move it away, then $back"
    elif [ ! -e "$source" ] && [ -h "$source" ]; then
        say "$source is a link to a file that is not there; $back"
    elif [ ! -f "$source" ]; then
        say "$source is missing; $back"
    elif [ ! -r "$source" ]; then
        say "$source cannot be read: you have no permission to"
    elif ! grep -q '[^[:space:]]' "$source"; then
        say "$source is empty; $back"
    elif [ "$(tr -d '\000' < "$source" | wc -c)" -lt "$(wc -c < "$source")" ]; then
        say "$source is UTF-16 or the like: it has zero bytes; save it as UTF-8"
    fi
}

check() {
    why=$(unfit)
    if [ -z "$why" ]; then
        sum=$(sum_of "$source")
        build_and_run
    fi
    if [ -n "$why" ]; then
        say "exercise $number: $why" >&2
        return 1
    fi
    note "$record" "$sum" || return 1
    say "exercise $number is done; $(next_step "$number")"
    milestone "$number"
}

# Sets why. No program of an earlier build may be left to run.
build_and_run() {
    if ! { mkdir -p "$BUILD/exercises" && rm -f "$program" "$program.c" "$program.out" &&
        say x > "$program.build"; } 2> /dev/null; then
        why="$BUILD/exercises cannot be written: is the disk full, or not yours?"
        return
    fi
    say "build     $source"
    case $source in
    *.cu) command=$BUILD_CU ;;
    *) command=$BUILD_C ;;
    esac
    status=0
    eval "$command" > "$program.build" 2>&1 || status=$?
    show "$program.build" >&2
    if [ "$status" != 0 ] || [ ! -f "$program" ]; then
        why="it does not compile: begin with the first error above"
        [ -s "$program.build" ] ||
            why="the compiler ended with status $status and said nothing; is the disk full?"
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
        FNR == 1 { files++; sub(/^\357\273\277/, "") }
        { sub(/[ \t\r]+$/, "") }
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
        if check && [ -n "$goes_on" ]; then
            n=$(next_open "$number")
            [ -n "$n" ] || break
            choose "$n"
            seen=
            continue
        fi
        say "(waiting for you to save $source; Ctrl-C ends)"
    done
}

# --- hint ---

# Hint $1 of this exercise; without $1, how many there are. The page has them as
# list items under <summary>Exercise 3, ….
hints() {
    [ -f docs/exercises.md ] || return 0
    awk -v number="$number" -v want="${1:-0}" '
        { sub(/\r$/, "") }
        /<summary>/ { inside = index($0, "<summary>Exercise " number ",") }
        /<\/details>/ { inside = 0 }
        inside && /^([-*]|[0-9]+[.]) / { n++; sub(/^[^ ]* +/, "") }
        inside && n && n == want {
            sub(/^ +/, "")
            if (NF)
                print "  " $0
        }
        END { if (!want) print n + 0 }
    ' docs/exercises.md
}

hint() {
    count=$(hints)
    [ "${count:-0}" -gt 0 ] ||
        fail "exercise $number: docs/exercises.md has no hints for it$withheld"
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
    note "$shown" "$to" || exit 1
    if [ "$to" = "$count" ]; then
        say "That was the last hint; make solution$number shows the solution."
    else
        say "One more: make hint$number"
    fi
}

# --- diff, solution ---

need_solution() {
    [ -f "$solution" ] || fail "exercise $number: $solution is missing$withheld"
}

# Line ends and byte order marks are no difference.
plain() { awk 'NR == 1 { sub(/^\357\273\277/, "") } { sub(/\r$/, ""); print }' "$1"; }

show_diff() (
    need_solution
    why=$(unfit)
    [ -z "$why" ] || fail "exercise $number: $why"
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 130' HUP INT TERM
    mkdir "$dir/exercises" "$dir/solutions"
    plain "$source" > "$dir/$source"
    plain "$solution" > "$dir/$solution"
    cd "$dir"
    if cmp -s "$source" "$solution"; then
        say "$source is the same as $solution."
    else
        diff -u "$source" "$solution" || [ $? = 1 ]
    fi
)

show_solution() {
    need_solution
    plain "$solution" | awk -v file="$solution" '
        /\/\* TODO/ { inside = 1; print file ", from line " FNR ":" }
        inside
        /\/\* END TODO/ { inside = 0; print "" }
    '
    say "To compare with yours: make diff$number"
}

# --- main ---

# The nap lets make hear of Ctrl-C, too, before its child is gone; otherwise it
# may wonder where that went.
trap 'stop; nap; exit 130' INT
trap 'stop; exit 143' HUP QUIT TERM
what=${1%%[0-9]*}
goes_on=
case $1 in
progress) ;;
exercise | watch)
    n=$(next_open 0)
    if [ -z "$n" ]; then
        next_step 0
        milestone 0
        exit
    fi
    goes_on=1
    choose "$n" ;;
*) choose "${1#"$what"}" ;;
esac
case $what in
exercise) check ;;
diff) show_diff ;;
solution) show_solution ;;
*) "$what" ;;
esac
