#!/bin/sh
# Grades a class: each folder in DIR is one submission. What the learners wrote
# is put into the course's own exercises, built for the CPU and run within limits.
# These are for mistakes, and no wall against malice: it all runs as you.
#
#     DIR=submissions sh tools/grade.sh --look     whether DIR can be graded
#     DIR=submissions sh tools/grade.sh            from the Makefile
#     … sh tools/grade.sh --one ROW                one submission (for xargs)
#
# From the Makefile: GRADED, the files of all exercises; LIMITS, the program
# of tools/limits.c; BUILD_CU and BUILD_C, as tools/exercise.sh has them, and
# LINK_RACE, which makes "$program.race" of "$program.c".
#
# build/grade/grades.csv is the result. build/grade/ROW/ keeps what was built, and
# what it printed. Nothing is written in DIR.
set -eu
export LC_ALL=C
seconds=10          # of a program's own work
race_seconds=60     # and of one in which races are looked for
megabytes=10        # the most it may print
built_megabytes=500 # and the most that a compiler may write
home=build/grade
fail() { printf '%s\n' "make grade: $*" >&2; exit 2; }

case ${DIR-} in \~/*) DIR=$HOME/${DIR#??} ;; esac
case ${DIR-} in -*) DIR=./$DIR ;; esac

# --- one exercise of one submission ---

# Sets found: the submitted file, beside others or in exercises/, in $folder or
# one folder deeper. What comes from Windows may be called .txt as well. Links are
# not followed. Fails where there are two.
find_file() {
    found=
    for place in "$folder" "$folder/exercises"; do
        in_place "$place" && return
    done
    for deeper in "$folder"/*; do
        case ${deeper##*/} in solutions | tests | build | __MACOSX) continue ;; esac
        for place in "$deeper" "$deeper/exercises"; do
            before=$found
            if [ ! -h "$deeper" ] && in_place "$place" && [ -n "$before" ]; then
                return 1
            fi
        done
    done
}
in_place() {
    if [ -h "$1" ]; then return 1; fi
    for name in "$1/$file" "$1/$file.txt"; do
        if [ -e "$name" ] || [ -h "$name" ]; then
            found=$name
            return
        fi
    done
    return 1
}

# Makes $source of it. Prints a state and a reason, or nothing: then it is built.
take() {
    if ! find_file; then
        echo "unreadable: there are two of it, in two folders"
    elif [ -z "$found" ]; then
        echo missing
    elif [ -h "$found" ]; then
        echo "unreadable: it is a link, which is not followed"
    elif [ ! -f "$found" ]; then
        echo "unreadable: it is no file"
    elif [ ! -r "$found" ]; then
        echo "unreadable: there is no permission to read it"
    elif [ "$(wc -c < "$found")" -gt 262144 ]; then
        echo "unreadable: it is larger than 256 KB"
    else # UTF-16 is ASCII with zero bytes between
        tr -d '\000' < "$found" > "$source.sent"
        awk -v merged="$source" -f tools/grade.awk "$home/course/$file" "$source.sent"
        rm -f "$source.sent"
    fi
}

# run OUTPUT SECONDS kill|refuse PROGRAM…, in a folder of its own that has what
# programs of the course read. Sets status and signal. Blocks run one after the
# other: what races gives the same result each time, until it is looked for.
run() {
    out=$1
    limit=$2
    shift 2
    status=0 signal=
    mkdir -p "$work/run"
    ln -sfn "$root/results" "$work/run/results"
    (cd "$work/run" && CPU_THREADS=1 exec "$root/$LIMITS" "$limit" "$megabytes" "$@") \
        > "$out" 2>&1 < /dev/null || status=$?
    rm -rf "$work/run"
    if [ "$status" -gt 128 ]; then
        signal=$(kill -l $((status - 128)) 2> /dev/null || echo $((status - 128)))
    fi
}

# The state and the reason, or nothing where all checks hold.
verdict() {
    case $status:$signal in
    124: | *:XCPU) echo "timed out: after $limit seconds of work" ;;
    *:XFSZ) echo "too much output: more than $megabytes MB" ;;
    *:SYS) echo "processes: it starts another one, which no exercise needs" ;;
    *:?*) echo "failed: it crashed (signal $signal)" ;;
    3:)
        text=$(sed -n '/^CPU emulation: /{s///p;q;}' "$out")
        printf '%s\n' "failed: ${text:-a CUDA error ended it}" ;;
    0: | 1:)
        text=$(sed -n '/^missing   /{s/^missing  *//p;q;}' "$out")
        if [ "$status" = 1 ] && [ -n "$text" ]; then
            printf '%s\n' "failed: $text"
        elif [ "$status" = 1 ] || ! grep -qx 'done      all checks hold' "$out"; then
            echo "failed: it ended before all checks were made"
        fi ;;
    *) echo "failed: it ended with status $status" ;;
    esac
}

grade() {
    rm -f "$source"
    state=$(take)
    if [ -n "$state" ]; then
        printf '%s\n' "$state"
        return
    fi
    case $file in *.cu) command=$BUILD_CU ;; *) command=$BUILD_C ;; esac
    "$LIMITS" "$race_seconds" "$built_megabytes" allow sh -c "$command" \
        > "$program.txt" 2>&1 < /dev/null || rm -f "$program"
    if [ ! -f "$program" ]; then
        text=$(sed -n '/error[: ]/{p;q;}' "$program.txt")
        printf '%s\n' "does not compile: ${text##*"$work/"}"
        return
    fi
    run "$program.txt" "$seconds" kill "$root/$program"
    state=$(verdict)
    if [ -z "$state" ]; then state=$(look_for_races); fi
    printf '%s\n' "${state:-passed}"
}

# As tools/exercise.sh does, once all checks hold.
look_for_races() {
    case $file:$races in *.cu:yes) ;; *) return 0 ;; esac
    "$LIMITS" "$race_seconds" "$built_megabytes" allow sh -c "$LINK_RACE" \
        > "$program.race.txt" 2>&1 < /dev/null || return 0
    run "$program.race.txt" "$race_seconds" refuse "$root/$program.race"
    if grep -q '^FATAL: ThreadSanitizer' "$out"; then
        run "$out" "$race_seconds" refuse setarch "$(uname -m)" -R "$root/$program.race"
    fi
    text=$(sed -n '/^race /{s/^race  *//p;q;}' "$out")
    if [ -n "$text" ]; then
        printf '%s\n' "race: ${text#"$work/"}"
    elif grep -q '^exercise ' "$out" && [ "$status:$signal" != 124: ] &&
        [ "$signal" != XCPU ]; then
        verdict
    else
        echo "passed: races were not looked for to the end"
    fi
}

# One submission: build/grade/ROW/folder names it. A line for each exercise.
one() {
    row=$1
    root=$PWD
    work=$home/$row
    folder=$(cat "$work/folder"; echo x)
    folder=${folder%x}
    races=$(cat "$home/races")
    for file in $GRADED; do
        source=$work/$file
        program=$work/${file%.*}
        export source program
        case $folder in
        /*) ;;
        *) folder=./$folder ;;
        esac
        if [ -h "$folder" ]; then
            echo "unreadable: a link, which is not followed"
        elif [ ! -d "$folder" ]; then
            echo "unreadable: no folder; an archive has to be unpacked"
        elif ! ls "$folder" > /dev/null 2>&1; then
            echo "unreadable: there is no permission to read the submission"
        else
            grade
        fi
        rm -f "$program" "$program.c" "$program.race"
        for text in "$program.txt" "$program.race.txt"; do # a flood is not kept
            [ ! -f "$text" ] || [ "$(wc -c < "$text")" -le 65536 ] || {
                dd bs=65536 count=1 < "$text" > "$text.new" 2> /dev/null
                mv "$text.new" "$text"
            }
        done
    done > "$work/states.new"
    mv "$work/states.new" "$work/states"
    if [ -t 2 ]; then echo "graded: row $row of $(cat "$home/rows")" >&2; fi
}

# --- all of them ---

look() {
    case ${DIR-} in
    '') fail 'say where the submissions are: make grade DIR=submissions' ;;
    esac
    [ -e "$DIR" ] || fail "there is no $DIR"
    [ -d "$DIR" ] || fail "$DIR is no folder; each submission is a folder in DIR"
    ls "$DIR" > /dev/null 2>&1 || fail "there is no permission to read $DIR"
    for file in $GRADED; do
        if [ -e "$DIR/$file" ]; then
            fail "$DIR holds $file itself: is it one submission?" \
                "Name the folder that it lies in"
        fi
    done
    set -- "$DIR"/*
    [ -e "$1" ] || [ -h "$1" ] || fail "$DIR is empty: each submission is a folder in it"
}

# Whether a program with ThreadSanitizer can be built and started here; and
# whether a program is kept from starting another.
try() {
    work=$home/try
    root=$PWD
    mkdir -p "$work"
    source=$work/try.c program=$work/try file=try.cu races=yes
    export source program
    printf '%s\n' '#include "exercise.h"' \
        'int main(void) { exercise_begin(1, "try"); return exercise_end(); }' > "$source"
    cp "$source" "$program.c.new" && mv "$program.c.new" "$program.c"
    races=yes
    case $(look_for_races; [ -s "$program.race.txt" ] && [ -x "$program.race" ] || echo no) in
    '') echo yes > "$home/races" ;;
    *) echo no > "$home/races"
        echo "note: races cannot be looked for here: see $program.race.txt" >&2 ;;
    esac
    if "$LIMITS" 5 1 kill sh -c '(:) & wait $!' > /dev/null 2>&1; then
        echo 'note: this system lets a submission start processes that stay behind' >&2
    fi
}

all() {
    look
    rm -rf "$home/try" "$home/course" "$home"/[1-9]*
    mkdir -p "$home/course"
    for file in $GRADED; do # a teacher may have solved his own
        git show "HEAD:./exercises/$file" > "$home/course/$file" 2> /dev/null ||
            cp "exercises/$file" "$home/course/$file"
    done
    try
    rows=0
    for folder in "$DIR"/*; do
        case ${folder##*/} in __MACOSX) continue ;; esac
        rows=$((rows + 1))
        mkdir "$home/$rows"
        printf '%s' "$folder" > "$home/$rows/folder"
    done
    echo "$rows" > "$home/rows"
    at_once=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)
    [ "$at_once" -le 8 ] || at_once=8
    i=0
    while [ "$i" -lt "$rows" ]; do
        i=$((i + 1))
        echo "$i"
    done | xargs -n 1 -P "$at_once" sh tools/grade.sh --one
    tell
}

# The table, and the CSV file: a row for each submission.
tell() {
    i=0
    while [ "$i" -lt "$rows" ]; do
        i=$((i + 1))
        folder=$(tr '[:cntrl:]' '?' < "$home/$i/folder")
        printf '%s\n' "${folder##*/}"
        cat "$home/$i/states"
    done | awk -v files="$GRADED" -v csv="$home/grades.csv.new" '
        # Programs for tables take a text that begins with one of these as a
        # formula.
        function field(s) {
            if (s ~ /^[-=+@]/)
                s = "\047" s
            if (s ~ /[",\r]/) {
                gsub(/"/, "\"\"", s)
                s = "\"" s "\""
            }
            return s
        }
        BEGIN {
            n = split(files, file, " ")
            line = "row,submission,passed"
            head = "row  "
            for (i = 1; i <= n; i++) {
                stem = file[i]
                sub(/[.].*/, "", stem)
                line = line "," stem
                head = head sprintf("%3d", substr(stem, 1, 2))
            }
            print line > csv
            print head "  passed  submission"
            split("passed P,failed F,race R,does not compile C,timed out T," \
                "too much output O,processes S,unchanged =,missing -,unreadable ?", all, ",")
            for (i in all)
                letter[substr(all[i], 1, length(all[i]) - 2)] = \
                    substr(all[i], length(all[i]))
        }
        NR % (n + 1) == 1 {
            name = $0
            cells = marks = ""
            passed = 0
            next
        }
        {
            gsub(/[\001-\037]/, " ")
            cells = cells "," field($0)
            state = $0
            sub(/:.*/, "", state)
            passed += state == "passed"
            marks = marks "  " letter[state]
        }
        NR % (n + 1) == 0 {
            print ++row "," field(name) "," passed cells > csv
            printf "%3d  %s  %6d  %s\n", row, marks, passed, name
        }
    '
    mv "$home/grades.csv.new" "$home/grades.csv"
    echo
    echo 'P passed, F failed, R race, C does not compile, T timed out, O too much output,'
    echo 'S starts processes, = unchanged, - missing, ? cannot be read'
    echo "why: $home/grades.csv; what was built and printed: $home/ROW/"
}

case $#:${1-} in
0:) all ;;
1:--look) look ;;
2:--one) one "$2" ;;
*) fail "grade.sh: unknown argument: $*" ;;
esac
