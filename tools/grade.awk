# Puts what a learner wrote into the course's own file: a part of tools/grade.sh.
#
#     awk -v merged=FILE -f tools/grade.awk PRISTINE SUBMITTED
#
# Writes the merged file; prints nothing where it is to be built, or else a
# state and a reason. The TODO regions are the learner's. All other lines are the
# course's. Between these stay lines that the learner added outside of functions,
# such as an #include or a function to help; one added in a check is left out.

# Windows writes lines that end in CR LF, and marks at the beginning.
FNR == 1 {
    file++
    region = 0
    sub(/^\357\273\277/, "")
    sub(/^\377\376|^\376\377/, "")
}
{ sub(/\r$/, "") }

# What a line says, however it is set; lines that say nothing are not compared.
function key(line) {
    gsub(/[ \t]+/, "", line)
    return line
}

/\/\* *TODO/ && !inside {
    inside = 1
    region++
    regions[file] = region
    text[file, region] = says[file, region] = ""
}
/\/\* *END TODO/ {
    if (!inside)
        lost = 1
    text[file, region] = text[file, region] $0 "\n"
    inside = 0
    next
}
inside {
    text[file, region] = text[file, region] $0 "\n"
    says[file, region] = says[file, region] key($0)
    next
}
{ line[file, region, ++lines[file, region]] = $0 }
file == 2 && /^[ \t]*#[ \t]*(define|undef)[ \t]/ &&
    $0 ~ /[ \t](require|exercise_[a-z]*|main)/ {
    anew = 1
}

function as_many(one, other, s) {
    return gsub(one, "&", s) == gsub(other, "&", s)
}

# Whether these lines leave the course's own as they are: nothing is opened that
# is not closed.
function closed(s) {
    return as_many("/[*]", "[*]/", s) && as_many("[{]", "[}]", s) &&
        as_many("\n[ \t]*#[ \t]*if", "\n[ \t]*#[ \t]*endif", "\n" s)
}

# Outside of functions a line of the course begins in its first column.
function may_come_before(l) { return l == "" || l ~ /^[^ \t{}]/ }

function put(s) { printf "%s", s > merged }

# The course's lines before region r + 1, and what was added between them. Where
# one of them is gone, nobody knows what belongs where: only #include is kept.
function segment(r,    i, n, at, of, added, includes, next_line) {
    n = 0
    for (i = 1; i <= lines[1, r]; i++)
        if (key(line[1, r, i]) != "")
            of[++n] = line[1, r, i]
    at = 1
    for (i = 1; i <= lines[2, r]; i++) {
        if (key(line[2, r, i]) == "")
            continue
        if (at <= n && key(line[2, r, i]) == key(of[at])) {
            at++
            continue
        }
        added[at] = added[at] line[2, r, i] "\n"
        if (line[2, r, i] ~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
            includes = includes line[2, r, i] "\n"
    }
    if (at <= n) {
        for (i = 1; i <= n + 1; i++)
            delete added[i]
        for (i = 1; i < n && of[i] !~ /^#include/; )
            i++
        if (of[i] ~ /^#include/)
            added[i] = includes
    }
    at = 1
    for (i = 1; i <= lines[1, r] + 1; i++) {
        next_line = line[1, r, i]
        if (i > lines[1, r]) {
            next_line = text[1, r + 1]
            at = n + 1
        } else if (key(next_line) == "") {
            put(next_line "\n")
            continue
        }
        if (added[at] != "" && may_come_before(next_line) &&
            closed(added[at])) {
            put(added[at])
            more = 1
        }
        at++
        if (i <= lines[1, r])
            put(next_line "\n")
    }
}

END {
    if (file < 2) {
        print "unreadable: it is empty"
        exit
    }
    if (lost || inside || regions[1] != regions[2]) {
        print "unreadable: of the " regions[1] \
            " pairs of lines TODO and END TODO " (regions[2] < regions[1] ? regions[2] + 0 " are left" : \
            "some are gone or doubled")
        exit
    }
    if (anew) {
        print "unreadable: it defines anew what the checks are made of"
        exit
    }
    same = 1
    for (r = 0; r <= regions[1]; r++) {
        if (r) {
            put(text[2, r])
            same = same && says[1, r] == says[2, r]
        }
        segment(r)
    }
    if (same && !more)
        print "unchanged"
}
