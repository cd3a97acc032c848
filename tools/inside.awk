# Reads a PTX file or the listing of nvdisasm or cuobjdump, and prints, for each
# kernel, its atomic instructions (marked with >) and the lines around them.
BEGIN {
    BEFORE = 9
    AFTER = 6
}

# _Z8dot_halfPK6__half… is dot_half: the name follows its length.
function plain_name(mangled,    digits) {
    if (!match(mangled, /_Z[A-Z]*[0-9]+/))
        return mangled
    mangled = substr(mangled, RSTART + 2)
    sub(/^[A-Z]*/, "", mangled)
    digits = mangled
    sub(/[^0-9].*/, "", digits)
    return substr(mangled, length(digits) + 1, digits)
}

function print_kernel(    i, k, last) {
    last = 0
    while (lines > 0 && line[lines] ~ /^\.L_x/)
        lines--
    for (i = 1; i <= lines; i++) {
        if (!is_atomic[i])
            continue
        if (last == 0)
            printf "\n%s\n", kernel
        k = i - BEFORE > last ? i - BEFORE : last + 1
        if (last > 0 && k > last + 1)
            print "      ..."
        for (; k <= i + AFTER && k <= lines; k++) {
            printf "%s %s\n", is_atomic[k] ? ">" : " ", line[k]
            last = k
        }
    }
    if (last == 0 && lines > 0)
        printf "\n%s: no atomics\n", kernel
    lines = 0
}

function begin_kernel(name) {
    print_kernel()
    kernel = plain_name(name)
    inside = 1
}

function keep(text, atomic) {
    # A hash of the path would make the listing another one in each directory.
    gsub(/_INTERNAL_[0-9a-f]+_/, "_INTERNAL_", text)
    line[++lines] = text
    is_atomic[lines] = atomic
}

# PTX
/^(\.visible |\.weak )*\.entry / {
    ptx = 1
    begin_kernel($0)
    next
}
ptx && inside {
    text = $0
    gsub(/\t/, "    ", text)
    if (text ~ /^ *$/ || text ~ /^ *\/\// || text ~ /^[(){}]*$/ ||
        text ~ /^ *\.(param|reg|loc|file)/ || text ~ /_param_/)
        next
    keep(text, text ~ /(^|[^a-z.])(atom|red)\.[a-z]/)
    next
}

# SASS: a kernel begins at its label. After the last EXIT stands a branch to
# itself and padding, which nobody runs.
/^\.text\.|^\t\tFunction : / {
    begin_kernel($0)
    next
}
/^\.L_x_[0-9]+:/ && inside {
    label = $1
    sub(/:$/, "", label)
    keep(label ":", 0)
    next
}
inside && /\/\*[0-9a-f]+\*\/ / && !/ NOP *;/ {
    text = $0
    sub(/^[ \t]*\/\*[0-9a-f]*\*\/ */, "", text)
    sub(/ *;.*/, "", text)
    if (text == "BRA `(" label ")")
        lines--
    else
        keep((text ~ /^@/ ? "    " : "        ") text, text ~ /(ATOM|RED)[GS]?\./)
}

END { print_kernel() }
