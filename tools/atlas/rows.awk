# Makes rows of the atlas from a listing of tools/atlas.sh: kernels, whose names
# begin a line, then labels and instructions. An atomic is a loop where a later
# branch goes back before it. Needs gpu, flags and by, and the file `executed`.
#
# Where an address may lie in several memories, the code has a way for each: an
# atomic for global memory, ATOMS for the block's own shared memory, and what is
# left, for another block's.

BEGIN {
    while ((getline line < executed) > 0)
        if (split(line, part, " ") == 5 && part[1] == gpu)
            ran[part[2] "," part[3] "," part[4]] = part[5]
}

/^[a-z]/ { finish(); kernel = $1; next }
/^  \./ { label = $1; sub(/:$/, "", label); place[label] = n + 1; next }
NF {
    text = $0
    sub(/^ *(@!?U?P[0-9T]+ +)?/, "", text)
    op[++n] = text
    sub(/ .*/, "", op[n])
    # NVIDIA: BRA `(.L_x_1); AMD: s_cbranch_execnz .LBB0_1
    if (op[n] ~ /^(BRA|s_c?branch)/ && match(text, /\.L[A-Za-z0-9_]+/)) {
        target = substr(text, RSTART, RLENGTH)
        if (target in place) {
            loops++
            first[loops] = place[target]
            last[loops] = n
        }
    }
}

END {
    if (!failed) finish()
    if (!failed) put_rows()
    exit failed
}

function fail(text) {
    printf "atlas: %s, %s: %s; look at --listing\n", gpu, kernel, text | \
        "cat 1>&2"
    close("cat 1>&2")
    failed = 2
    exit 2
}

function is_atomic(name) {
    return name ~ /^(ATOM[GS]?|REDG?)\./ || name ~ /^(global|flat)_atomic_/ || \
        name ~ /^ds_(pk_)?(add|max|min|cmpst)/
}
function in_loop(i,    k) {
    for (k = 1; k <= loops; k++)
        if (first[k] <= i && i <= last[k]) return 1
    return 0
}

# The one atomic of instructions from a to b that is, or is no ATOMS; its
# .STRONG.GPU is left out. "" where there is none.
function only(shared, a, b,    i, name, found) {
    for (i = a; i <= b; i++) {
        if (!is_atomic(op[i]) || (op[i] ~ /^ATOMS/) != shared) continue
        name = op[i]
        sub(/\.STRONG\.(GPU|SYS)$/, "", name)
        name = name (in_loop(i) ? " loop" : "")
        if (found != "" && found != name)
            fail(found " and " name)
        found = name
    }
    return found
}

# What the kernel's memory makes of it: NAME, NAME loop, LD IADD ST lost, or "".
function verdict(memory,    i, own, other, end, found) {
    for (i = 1; i <= n; i++) {
        if (op[i] == "QSPC.E.S") own = i
        if (op[i] == "QSPC.E.D") other = i
    }
    end = own ? own : n # before it, the add in global memory
    if (memory == "shared") {
        found = only(1, 1, n)
        return found != "" ? found : only(0, 1, end)
    }
    if (memory == "global" || !own)
        return only(0, 1, end)
    if (other)
        return only(0, other, n)
    for (i = own; i <= n; i++) # all that is left, from the first LD
        if (op[i] ~ /^LD\./) found = "LD"
        else if (found == "LD" && match(op[i], /[IFH]ADD/))
            found = "LD " substr(op[i], RSTART, 4)
        else if (found ~ /ADD$/ && op[i] ~ /^ST\./)
            return found " ST lost"
    fail("code of a new kind")
}

function finish(    name, part, use, is) {
    if (kernel != "") {
        name = kernel
        use = sub(/_unused$/, "", name) ? "unused" : "used"
        split(name, part, "_")
        is = verdict(part[3])
        name = part[1] "," part[2] "," part[3]
        if ((name, use) in found_in && found_in[name, use] != is)
            fail(found_in[name, use] " before, now " is)
        found_in[name, use] = is
        names[name] = 1
    }
    kernel = ""
    n = loops = 0
    split("", place)
}

function put_rows(    both, used, unused, kind, made) {
    for (kernel in names) {
        both = (kernel, "used") in found_in && (kernel, "unused") in found_in
        used = found_in[kernel, "used"] "" # see tools/half_cas.awk, "gawk 5.2"
        unused = found_in[kernel, "unused"] ""
        if (both && (used == "") != (unused == ""))
            fail("one of two is no atomic")
        if (used unused == "") kind = "does not exist"
        else if (used unused ~ /lost/) kind = "loses adds"
        else if (used ~ /loop/ && unused != "" && unused !~ /loop/)
            kind = "instruction if unused"
        else kind = used unused ~ /loop/ ? "loop" : "instruction"
        made = made gpu "," kernel "," flags "," kind "," bare(used) "," \
            bare(unused) "," (kernel in ran ? "executed" : "compiled") "," by \
            (kernel in ran ? "; results/" ran[kernel] : "") "\n"
    }
    printf "%s", made | "sort"
    close("sort")
}
function bare(text) { sub(/ (loop|lost)$/, "", text); return text }
