#!/bin/sh
# Copies the course to DIR (build/class) for learners, without what a teacher may
# want to keep: solutions, answers, hints, the page for teachers, and the tests,
# which hold right and wrong answers.
#
#     DIR=copy sh tools/class.sh     from the root of the course
set -eu
export LC_ALL=C
fail() { printf '%s\n' "make class: $*" >&2; exit 2; }

to=${DIR:-build/class}
case $to in \~/*) to=$HOME/${to#??} ;; -*) to=./$to ;; esac
if [ -e "$to" ] || [ -h "$to" ]; then
    fail "$to is there already: name a new folder, as in make class DIR=copy"
fi
[ -d solutions ] || fail "this copy has no solutions: it was made by make class"
new=build/class.new
rm -rf "$new"
mkdir -p "$new/exercises" 2> /dev/null || fail "build/ cannot be written"
trap 'rm -rf "$new"' EXIT
trap 'exit 130' HUP INT TERM

for part in Makefile README.md CONTRIBUTING.md LICENSE setup .clang-format \
    .gitattributes .gitignore common docs examples include lessons results tools; do
    [ ! -e "$part" ] || cp -R "$part" "$new/"
done
for file in exercises/*.c exercises/*.cu; do # a teacher may have solved his own
    git show "HEAD:./$file" > "$new/$file" 2> /dev/null || cp "$file" "$new/$file"
    ! cmp -s "$new/$file" "solutions/${file#*/}" ||
        fail "$file is solved, and there is no git to put it back"
done
(
    cd "$new"
    rm -rf docs/answers.md docs/teaching.md results/*/try_next.txt \
        tools/class.* tools/grade.* tools/limits.c
    grep -vx -e docs/answers.md -e docs/teaching.md docs/site/order > order.new
    mv order.new docs/site/order
)

# Links to what is gone become text, and hints a sentence.
find "$new" -name '*.md' -type f | while read -r page; do
    awk '
        /^<details><summary>Exercise [0-9]+,/ {
            inside = 1
            if (!said++)
                text = text "Your teacher keeps the hints.\n"
        }
        !inside { text = text $0 "\n" }
        /^<\/details>/ { inside = 0 }
        END {
            gone = "[[][^][]*[]][(][^() ]*(solutions/|answers[.]md|" \
                "teaching[.]md|tests/|try_next[.]txt)[^() ]*[)]"
            while (match(text, gone)) {
                link = substr(text, RSTART, RLENGTH)
                sub(/[]][(].*/, "", link)
                printf "%s%s (kept by your teacher)", \
                    substr(text, 1, RSTART - 1), substr(link, 2)
                text = substr(text, RSTART + RLENGTH)
            }
            printf "%s", text
        }
    ' "$page" > "$page.new"
    cat "$page.new" > "$page"
    rm "$page.new"
done

# A history of its own, so that make resetK works.
if command -v git > /dev/null; then
    (cd "$new" && git init -q && git add -A && git -c commit.gpgsign=false \
        -c user.name=me -c user.email=me@localhost commit -qm 'The course') ||
        fail 'git could not make a repository of the copy'
fi
case $to in */*) mkdir -p "${to%/*}" ;; esac
mv "$new" "$to" || fail "$to cannot be written"
printf '%s\n' "$to: the course without solutions, answers, hints and tests"
