#!/bin/sh
# Renders the course to build/site/ with pandoc: the pages that docs/site/order
# names, and the files that they link to. Only what has changed is made anew.
#
#     sh tools/site.sh               from the root of the course
#     sh tools/site.sh --page FILE   one page or file (for xargs, below)
#     sh tools/site.sh --archive     all anew, and as one file in build/
#
# EDIT is where a page can be edited, with %s for its name. Without it, the
# web address of the git remote serves, or else the page's source.
# shellcheck disable=SC3013 # every sh that we know has -nt, though POSIX has not
set -eu
export LC_ALL=C.UTF-8
site=build/site
work=build/site.work
export site work
style=docs/site
tab=$(printf '\t')
made=${made:-docs}
fail() { printf '%s\n' "make $made: $*" >&2; exit 2; }

put() { # put FILE COPY: files that are read-only can be copied again
    mkdir -p "${2%/*}"
    cp "$1" "$2.$$"
    mv -f "$2.$$" "$2"
}

# --- one page ---

# A file or a folder as a page: its text as code, its tables as tables.
show() {
    printf '# %s\n\n' "$1"
    # Which pages lead here.
    from=$(grep -lFx -- "$1" "$work"/links/* | while read -r page; do
        page=$(printf '%s' "${page##*/}" | tr % /)
        name=$(title_of "$page") # as an argument, a failure would not count
        printf '; [%s](/%s)' "$name" "$page"
    done)
    [ -z "$from" ] || printf '%s: %s\n\n' "$used" "${from#; }"
    if [ -d "$1" ]; then
        for file in "$1"/*; do
            case $file in
            *.csv) printf '## %s\n\n[%s](/%s)\n\n' "${file##*/}" "$table" "$file" ;;
            *.md) ;;
            *) printf '## %s\n\n' "${file##*/}"; fence "$file" ;;
            esac
        done
    else
        case $1 in
        *.csv) csv_page '' "$1" ;;
        *) fence "$1" ;;
        esac
    fi
}
csv_page() { # its heading's level, the file
    csv_text=$(awk -v level="$1" -f tools/csv.awk -f tools/table_peers.awk \
        -f tools/table_storm.awk -f tools/table_atlas.awk -f tools/table.awk \
        -f tools/plot.awk -f tools/csv_page.awk "$2")
    printf '%s\n\n' "$csv_text"
}
fence() {
    case $1 in
    *.c | *.cu | *.h) kind=c ;;
    *.sh) kind="sh" ;;
    *.py) kind=python ;;
    *) kind=text ;;
    esac
    printf '~~~~~~~~ %s\n' "$kind"
    cat "$1"
    printf '~~~~~~~~\n\n'
}
title_of() { # a page's title, a file's name
    awk -F "$tab" -v s="$1" '$2 == s { title = $5 }
        END { print (title == "" ? s : title) }' "$work/pages"
}
string() { sed -n "s/^$1: \"\(.*\)\"$/\1/p" "$style/strings.$2.yaml"; }

markdown() { # markdown FILE: what pandoc reads
    case $1 in
    results/README*.md) # the measurements follow the text
        cat "$1"
        printf '\n## %s\n\n' "$(string measured "$lang")"
        for csv in results/*.csv results/sources/*.csv; do
            [ ! -e "$csv" ] || csv_page '###' "$csv"
        done ;;
    *.md) cat "$1" ;;
    *) show "$1" ;;
    esac
}

page() {
    entry=$(awk -F "$tab" -v s="$1" '$2 == s { print $3, $1 }' "$work/pages")
    url=${entry% *} lang=${entry#* }
    case $1 in *.md) ;; *)
        lang=en url=$1.html
        [ ! -d "$1" ] || url=$1/index.html ;;
    esac
    used=$(string back "$lang") table=$(string as_table "$lang")
    source=$1
    [ ! -d "$1" ] || source=results/README.md # it says what the folder holds
    if [ -z "$EDIT" ]; then # the source lies beside its page
        EDIT=$(printf '%s' "$url" | sed 's|[^/]*/|../|g; s|[^/]*$||')%s
        put "$source" "$site/$source"
    fi
    mkdir -p "$(dirname "$site/$url")"
    markdown "$1" > "$work/text.$$"
    pandoc -f gfm+tex_math_dollars -t html5 --wrap=none --mathml \
        --template "$style/template.html" --lua-filter "$style/page.lua" \
        --metadata-file "$style/strings.$lang.yaml" -M page="$1" \
        -M work="$work" -M edit_at="$EDIT" -M edit_name="$edit_in$source" \
        -o "$work/html.$$" "$work/text.$$" ||
        { rm -f "$work/text.$$" "$work/html.$$"; exit 255; }
    rm "$work/text.$$"
    mv "$work/html.$$" "$site/$url"
}

# --- all of them ---

find_pages() { # a line for each: language, source, address, group, title
    named=$(sed '/^[[#]/d; /[*]/d; /^$/d' "$style/order")
    group=
    while read -r line; do
        case $line in
        '' | '#'*) continue ;;
        '['*']') group=${line#[}; group=${group%]}; continue ;;
        esac
        for source in $line; do
            [ -f "$source" ] || { [ "$source" != "$line" ] ||
                case $line in *'*'*) ;; *) fail "$style/order: there is no $line" ;; esac
                continue; }
            case $line in *'*'*)
                ! printf '%s\n' "$named" | grep -qFx -- "$source" || continue
            esac
            case ${source##*/} in *.*.md) continue ;; esac # a translation
            for strings in "$style"/strings.*.yaml; do
                lang=${strings#*strings.}; lang=${lang%.yaml}
                text=$source
                [ "$lang" = en ] || text=${source%.md}.$lang.md
                [ -f "$text" ] || continue
                title=$(tr -d '\r' < "$text" | sed -n 's/^# //p' | head -n 1)
                [ -n "$title" ] || fail "$text: it has no title (# …)"
                url=$(printf '%s' "${text%.md}.html" | sed 's|README|index|')
                printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$lang" "$text" "$url" \
                    "$group" "$title" "$(string language "$lang")"
            done
        done
    done < "$style/order"
}

same_or_move() { # keeps the older file where nothing has changed
    if cmp -s "$1" "$2"; then rm "$1"; else mv "$1" "$2"; fi
}

# Lines PAGE tab OUTPUT on standard input: those whose output is out of date.
stale() {
    while IFS=$tab read -r source out; do
        for input in "$source" $always; do
            [ ! "$input" -nt "$site/$out" ] || break
        done
        if [ ! -e "$site/$out" ] || [ "$input" -nt "$site/$out" ]; then
            printf '%s\n' "$source"
        elif [ -d "$source" ] || [ "${source#results/README}" != "$source" ]; then
            [ -z "$(find results -newer "$site/$out" -type f | head -n 1)" ] ||
                printf '%s\n' "$source"
        fi
    done
}

render() { # the pages on standard input, as many at once as there are cores
    tr '\n' '\0' | xargs -0 -r -n 1 -P "$(getconf _NPROCESSORS_ONLN)" \
        sh tools/site.sh --page || exit 2
}

# Sets EDIT and edit_in to where git's remote has the pages: of its address, which
# may hold a password, host and path alone.
ask_git() {
    command -v git > /dev/null || return 0
    if ! prefix=$(LC_ALL=C git rev-parse --show-prefix 2> "$work/git"); then
        grep -q 'not a git repository' "$work/git" || {
            echo 'make docs: no page can link to where it is edited, as git says:'
            cat "$work/git"
        } >&2
        return 0
    fi
    # An archive may have been unpacked in another repository.
    git ls-files --error-unmatch "$style/order" > /dev/null 2>&1 || return 0
    remote=$(git config --get remote.origin.url | sed -n '
        s|[?#].*||; s|/*$||; s|\.git$||
        \|://|!s|^\([^/]*@\)\{0,1\}\([^/:@]*\.[^/:@]*\):/*|https://\2/|
        s|^\([a-z]*://\)[^/]*@|\1|
        s|^ssh://\([^/:]*\)[:0-9]*/|https://\1/|
        \|^https\{0,1\}://[A-Za-z0-9.-]*\(:[0-9]*\)\{0,1\}/[A-Za-z0-9._~%/+-]*$|p')
    branch=$(git symbolic-ref -q --short refs/remotes/origin/HEAD ||
        git symbolic-ref -q --short HEAD || echo main)
    if [ -n "$remote" ]; then EDIT=$remote/edit/%s edit_in=${branch#origin/}/$prefix; fi
}

all() {
    command -v pandoc > /dev/null || fail 'pandoc is missing: ./setup'
    pandoc --version | awk 'NR == 1 { split($2, v, "."); exit !(v[1] > 2 ||
        v[1] == 2 && v[2] >= 17) }' || fail "$(pandoc --version | sed q) is too old: 2.17 or later"
    { mkdir -p "$site" "$work" && [ -w "$site" ] && [ -w "$work" ]; } 2> /dev/null ||
        fail "$PWD or its build/ cannot be written: copy the course elsewhere"
    [ "$made" = docs ] || rm -rf "$site" "$work" # nothing old goes to others
    mkdir -p "$site" "$work"
    edit_in=
    if [ -z "${EDIT:=}" ]; then
        ask_git
    elif ! expr "x$EDIT" : 'x[a-z][a-z0-9+.-]*://[A-Za-z0-9.:-]*/[^[:space:]]*$' ||
        ! expr "x$EDIT" : '.*%s'; then
        fail 'EDIT must be an address with %s, as https://example.org/edit/%s, and without a password'
    fi > /dev/null
    export EDIT edit_in

    printf '%s\n' "$EDIT" "$edit_in" > "$work/edit.new"
    same_or_move "$work/edit.new" "$work/edit"
    find_pages > "$work/pages.new"
    if ! cmp -s "$work/pages.new" "$work/pages"; then # the navigation changes
        rm -rf "$site" "$work/links" "$work/search"
        mv "$work/pages.new" "$work/pages"
    fi
    mkdir -p "$site" "$work/links" "$work/search"
    always="$work/edit $style/template.html $style/page.lua tools/site.sh
        $(echo tools/*.awk "$style"/strings.*.yaml)"

    cut -f 2,3 "$work/pages" | stale | render
    render_linked # what the pages link to
    render_linked # what folders link to
    copy_rest
    count=$(find "$site" -name '*.html' | wc -l)
    echo "$site/index.html: $((count)) pages"
}

render_linked() {
    cat "$work"/links/* | sort -u > "$work/linked"
    grep -v '^image ' "$work/linked" | while read -r file; do
        if [ -d "$file" ]; then out=$file/index.html; else out=$file.html; fi
        printf '%s\t%s\n' "$file" "$out"
    done | stale | render
}

copy_rest() { # images, style, scripts, the index of the search
    sed -n 's/^image //p' "$work/linked" | while read -r image; do
        put "$image" "$site/$image"
    done
    for file in "$style"/*.css "$style"/*.js "$style"/*.svg "$style"/explorers/*; do
        put "$file" "$site/${file#"$style"/}"
    done
    for strings in "$style"/strings.*.yaml; do
        lang=${strings#*strings.}; lang=${lang%.yaml}
        {
            echo 'window.course_index = ['
            parts=$(awk -F "$tab" -v l="$lang" '$1 == l { print $2 }' "$work/pages")
            { printf '%s\n' "$parts"; grep '\.c$\|\.cu$\|\.h$' "$work/linked"; } |
                tr / % | while read -r part; do
                    cat "$work/search/$part"
                    echo ,
                done
            echo '];'
        } > "$site/search.$lang.js"
    done
    {
        echo 'window.course_results = {'
        for csv in results/*/lesson4.csv results/*/lesson5.csv; do
            [ -e "$csv" ] || continue
            printf '"%s": "' "${csv#results/}"
            awk '{ gsub(/[\\"]/, "\\\\&"); printf "%s\\n", $0 }' "$csv"
            echo '",'
        done
        echo '};'
    } > "$site/measured.js"
}

# A ZIP, as it opens by itself on Windows, too.
archive() {
    made='site-archive'
    top='half-atomics-site'
    command -v python3 > /dev/null || fail 'python3 is missing: install it'
    all
    cp -R "$site" "$work/$top"
    { (cd "$work" && python3 -m zipfile -c "$top.zip" "$top") &&
        mv "$work/$top.zip" build/; } || fail "build/$top.zip cannot be written"
    rm -r "${work:?}/$top"
    echo "build/$top.zip: unpack it anywhere, and open $top/index.html"
}

case $#:${1-} in
0:) all ;;
1:--archive) archive ;;
2:--page) page "$2" ;;
*) fail "site.sh: unknown argument: $*" ;;
esac
