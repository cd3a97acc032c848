# Tells compare-and-swap loops that add halves from others: the awk of
# tools/half_cas, which says what the columns are. Reads a listing of cuobjdump.
#
# wanted: the only architecture to look at, or nothing; only: 1 leaves out kernels
# that have native adds; progress: 1 counts kernels on stderr.

# --- reading: the instructions of one kernel at a time, as lines ---

/^[ \t]+\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\/ / {
    line[++lines] = $0
    if ($0 ~ /(ATOM|RED)[GS]?\./)
        atomic[++atomics] = lines
    next
}
/^[ \t]*Function : / { finish(); kernel = $3; next }
/^[ \t]*code for sm_/ { finish(); arch = $3; next } # cubins ignore -arch

END {
    finish()
    if (progress)
        printf "\r%30s\r", "" | "cat 1>&2"
    if (!kernels)
        exit 4
    printf "%s%d kernel%s: %d with half adds in loops", listed ? "\n" : "", \
        kernels, (kernels == 1 ? "" : "s"), with_loops
    if (only) {
        print " and nothing native"
        exit with_loops > 0
    }
    printf ", %d with native ones, ", with_native
    printf "%d with other compare-and-swaps only, %d with none of these\n", \
        with_other, kernels - listed
    exit with_loops > 0
}

function finish() {
    if (lines && (wanted == "" || arch == wanted)) {
        kernels++
        if (progress && kernels % 500 == 0)
            printf "\r%d kernels", kernels | "cat 1>&2"
        if (atomics)
            list_kernel()
    }
    lines = atomics = 0
}

# --- one kernel ---

function list_kernel(    k, i, what, loops, natives, other, name) {
    parsed = 0
    split("", seen)
    for (k = 1; k <= atomics; k++) {
        i = atomic[k]
        if (line[i] ~ /\.CAST?[. ]/) {
            what = loop_of(i)
            if (what == "") other++
            else if (what != "generic") loops = count(loops, what)
        } else if (match(line[i], /\.ADD\.B?F16(x[0-9]+)?/)) {
            name = substr(line[i], RSTART + 5, RLENGTH - 5)
            what = (line[i] ~ /[ \t]ATOM/ ? "ATOM " : "RED ") name
            natives = count(natives, what)
        }
    }
    if (only ? loops == "" || natives != "" : \
        loops == "" && natives == "" && !other)
        return
    if (!listed++)
        row("arch", "loops", "native", "other", "kernel")
    row(arch, loops == "" ? "-" : tally(loops), \
        natives == "" ? "-" : tally(natives), other ? other : "-", kernel)
    if (loops != "") with_loops++
    if (natives != "") with_native++
    if (loops == "" && natives == "") with_other++
}

function row(a, b, c, d, e) { printf "%-7s %-24s %-24s %-6s %s\n", a, b, c, d, e }

# A list of names in the order in which they came, and how often each did.
function count(list, name) {
    if (!(name in seen)) list = list (list == "" ? "" : "|") name
    seen[name]++
    return list
}
function tally(list,    names, n, k, text) {
    n = split(list, names, "|")
    for (k = 1; k <= n; k++)
        text = text (k > 1 ? ", " : "") seen[names[k]] " " names[k]
    return text
}

# --- instructions: guard, opcode, destination register, source registers ---

function parse(    i, text, rest, a, n, k, first) {
    parsed = 1
    split("", place)
    for (i = 1; i <= lines; i++) {
        text = line[i]
        a = index(text, "/*") + 2
        rest = substr(text, a, index(text, "*/") - a)
        sub(/^0+/, "", rest)
        place[rest] = i
        sub(/^[^*]*\*[^*]*\*\/ */, "", text)
        sub(/ *;.*/, "", text)
        guarded[i] = text ~ /^@/
        sub(/^@!?U?P[0-9T]+ +/, "", text)
        a = index(text " ", " ")
        op[i] = substr(text, 1, a - 1)
        operands[i] = substr(text, a + 1)
        n = split(operands[i], part, ", *")
        first = part[1] ~ /^!?U?P[0-9T]+$/ && n > 1 ? 2 : 1
        to[i] = part[first] ~ /^R[0-9]+$/ ? part[first] : ""
        from[i] = ""
        for (k = to[i] != "" || part[first] == "RZ" ? first + 1 : 1; k <= n; k++)
            from[i] = from[i] registers(part[k])
    }
}

function registers(text,    list) {
    gsub(/UR[0-9]+|UP[0-9]+/, "", text)
    while (match(text, /R[0-9]+/)) {
        list = list " " substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
    }
    return list
}

# --- is this compare-and-swap the end of a half add? ---

# Looks at the innermost loop around instruction i. A swap of 2 bytes has a loop
# of its own around the 32-bit swap, which adds nothing: then at the next loop.
function loop_of(i,    what, begin, end, is_shared) {
    if (!parsed) parse()
    is_shared = op[i] ~ /^ATOMS/
    if (op[i] ~ /\.64|\.128/) return ""
    if (!find_loop(i, 0)) return ""
    what = sum_kind(i, loop_begin, loop_end, 1)
    if (what == "" && find_loop(i, loop_end - loop_begin) && \
        loop_end - loop_begin < 100)
        what = sum_kind(i, loop_begin, loop_end, 0)
    if (what == "" || !is_shared) return what
    return asks_for_space(i) ? "generic" : what " shared"
}

# The smallest loop around i that is larger than `above` instructions: from the
# target of a branch backwards to that branch.
function find_loop(i, above,    j, target, size, best) {
    best = 0
    for (j = i + 1; j <= lines; j++) {
        if (op[j] !~ /^(BRA|JMP)/ || !match(operands[j], /0x[0-9a-f]+$/))
            continue
        target = substr(operands[j], RSTART + 2)
        sub(/^0+/, "", target)
        if (!(target in place) || place[target] > i) continue
        size = j - place[target]
        if (size > above && (!best || size < best)) {
            best = size
            loop_begin = place[target]
            loop_end = j
        }
    }
    return best
}

# Follows the new value of the swap back to where it was made. "f16", "f16x2",
# "bf16" or "bf16x2" if it is a sum, and one of the summands is what an earlier
# turn of the loop saw in memory; else "". What is seen comes from the swap, or in
# the innermost loop from a load.
function sum_kind(i, begin, end, innermost,    j, k, n, r, kind, add, merged, \
    to_half, to_bf16, packed, is_seen) {
    split("", turned)  # registers that hold what the swap returned
    split("", need)    # registers looked for: 1 the new value, 2 a summand
    if (to[i] != "") turned[to[i]] = 1
    for (j = i + 1; j <= end; j++)
        if (to[j] != "") {
            if (uses(j, turned)) turned[to[j]] = 1
            else if (!guarded[j]) delete turned[to[j]]
        }
    n = split(operands[i], part, ", *")
    r = registers(part[n])
    sub(/^ /, "", r)
    need[r] = 1
    for (j = i - 1; j >= begin; j--) {
        if (!(to[j] in need)) continue
        k = need[to[j]]
        if (!guarded[j]) delete need[to[j]]
        if (op[j] ~ /^LD/) {
            is_seen = is_seen || (k == 2 && innermost)
            continue
        }
        if (k == 1) {
            add = add_type(j, to_half, to_bf16)
            if (add != "") {
                kind = add
                k = 2
            } else if (op[j] ~ /^F2FP?\..*BF16/) to_bf16 = 1
            else if (op[j] ~ /^F2FP?\..*F16/) to_half = 1
            else if (operands[j] ~ /0x7fff(,|$)/) to_bf16 = 1
            if (op[j] ~ /^F2FP/ && operands[j] !~ /RZ/) packed = 1
            else if (k == 1 && op[j] !~ /MOV/) merged = 1
        }
        n = split(from[j], part, " ")
        for (r = 1; r <= n; r++)
            if (need[part[r]] < k) need[part[r]] = k
    }
    for (r in need)
        if (need[r] == 2 && (r in turned)) is_seen = 1
    if (kind == "" || !is_seen) return ""
    return kind (packed || !merged ? "x2" : "")
}

# An add of halves; or of floats, if the sum is then rounded to a half.
function add_type(j, to_half, to_bf16) {
    if (op[j] ~ /^HADD2/ && op[j] !~ /F32/ || \
        op[j] ~ /^HFMA2/ && operands[j] !~ /(^|[ ,])-?RZ$/ && from[j] != "")
        return op[j] ~ /BF16/ ? "bf16" : "f16"
    if (op[j] ~ /^F(ADD|FMA)/)
        return to_half ? "f16" : to_bf16 ? "bf16" : ""
    return ""
}

function uses(j, set,    n, k, list) {
    n = split(from[j], list, " ")
    for (k = 1; k <= n; k++)
        if (list[k] in set) return 1
    return 0
}

# A pair is added through a generic pointer by the hardware, if it is not one to
# shared memory; the loop that QSPC guards is for those, and seldom run.
function asks_for_space(i,    j) {
    for (j = i - 1; j >= 1 && j > i - 30; j--)
        if (op[j] ~ /^QSPC/) return 1
    return 0
}
