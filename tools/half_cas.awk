# Tells compare-and-swap loops that add halves from others: the awk of
# tools/half_cas, which says what the columns are. Reads listings of cuobjdump.
#
# wanted: the only architecture to look at, or nothing; only: 1 leaves out kernels
# that have native adds; progress: 1 counts kernels on stderr; notes: the file for
# what was left out. The command in CALLS prints which function calls which.

# --- reading: the instructions of one function at a time, as lines ---

/^[ \t]+\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\/ / {
    line[++lines] = $0
    if ($0 ~ /(ATOM|RED)[GS]?\./)
        atomic[++atomics] = lines
    else if ($0 ~ /[ \t]EXIT/)
        exits = 1
    else if ($0 ~ /[ \t]RET\./)
        returns = 1
    next
}
/^[ \t]*Function : / { finish(); kernel = $3; next }
/^[ \t]*code for sm_/ { finish(); arch = $3; next } # cubins ignore -arch
/^arch = / { there[$3] = 1 }
/^half_cas: only / { finish(); wanted = $3 }
/^half_cas: left out / { # ARCH WORDS...: there cuobjdump stopped
    finish()
    name = $4
    sub(/^half_cas: left out [^ ]* /, "")
    if (!(name in there)) next
    if (name in read_some) {
        print name ": " $0 > notes
        exit broken = 5
    }
    if (!($0 in without)) words[++refusals] = $0
    without[$0] = without[$0] name " "
}

END {
    if (broken) exit broken
    finish()
    if (progress)
        printf "\r%30s\r", "" | "cat 1>&2"
    for (k = 1; k <= refusals; k++)
        print without[words[k]] "left out: " words[k] > notes
    if (!functions)
        exit 4
    name_kernels()
    for (k = 1; k <= functions; k++)
        if (is_kernel[k])
            list_kernel(k)
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

# Notes what is in a function. One that returns and never exits is no kernel.
function finish(    i, k, what) {
    if (lines && (wanted == "" || arch == wanted)) {
        read_some[arch] = 1
        functions++
        name_of[functions] = kernel
        arch_of[functions] = arch
        is_kernel[functions] = exits || !returns
        if (progress && functions % 500 == 0)
            printf "\r%d kernels", functions | "cat 1>&2"
        parsed = 0
        for (k = 1; k <= atomics; k++) {
            i = atomic[k]
            if (line[i] ~ /\.CAST?[. ]/) {
                what = loop_of(i)
                if (what == "")
                    others[functions]++
                else if (what != "generic")
                    loops[functions] = loops[functions] what "|"
            } else if (match(line[i], /\.ADD\.B?F16(x[0-9]+)?/)) {
                what = substr(line[i], RSTART + 5, RLENGTH - 5)
                natives[functions] = natives[functions] (line[i] ~ /UBLKRED/ ? \
                    "TMA " : line[i] ~ /[ \t]ATOM/ ? "ATOM " : "RED ") what "|"
            }
        }
    }
    lines = atomics = exits = returns = 0
}

# --- what functions hold is listed under the kernels that call them ---

# In a -G build atomicAdd is a function; its name says nothing to the reader.
function name_kernels(    k, n, i, j, at, caller, callers, called, todo, done) {
    for (k = 1; k <= functions; k++)
        if (!is_kernel[k] && loops[k] natives[k] others[k] != "") break
    if (k > functions) return
    at = arch
    while ((ENVIRON["CALLS"] | getline) > 0)
        if (/^arch = /) at = $3
        else if (/^\.section/) {
            caller = $2
            if (!sub(/^\.rela?\.text\./, "", caller)) caller = ""
        } else if (caller != "" && $3 ~ /^R_CUDA/ && $2 != caller)
            callers[at, $2] = callers[at, $2] " " caller
    for (k = 1; k <= functions; k++)
        if (is_kernel[k])
            called[arch_of[k], name_of[k]] = k
    for (k = 1; k <= functions; k++) {
        if (is_kernel[k] || loops[k] natives[k] others[k] == "") continue
        split("", done)
        n = split(callers[arch_of[k], name_of[k]], todo, " ")
        is_kernel[k] = 1 # unless a kernel calls it
        for (i = 1; i <= n; i++) {
            if (todo[i] in done) continue
            done[todo[i]] = 1
            caller = arch_of[k] SUBSEP todo[i]
            if (caller in called) {
                j = called[caller]
                loops[j] = loops[j] loops[k]
                natives[j] = natives[j] natives[k]
                others[j] += others[k]
                is_kernel[k] = 0
            } else {
                at = split(callers[caller], part, " ")
                for (j = 1; j <= at; j++) todo[++n] = part[j]
            }
        }
    }
}

function list_kernel(k) {
    kernels++
    if (only ? loops[k] == "" || natives[k] != "" : \
        loops[k] natives[k] others[k] == "")
        return
    if (!listed++)
        row("arch", "loops", "native", "other", "kernel")
    # "": gawk 5.2 breaks down where an element that is not there is handed on.
    row(arch_of[k], tally(loops[k] ""), tally(natives[k] ""), \
        others[k] ? others[k] : "-", name_of[k])
    if (loops[k] != "") with_loops++
    if (natives[k] != "") with_native++
    if (loops[k] natives[k] == "") with_other++
}

function row(a, b, c, d, e) { printf "%-7s %-24s %-24s %-6s %s\n", a, b, c, d, e }

# "f16|bf16|f16|": 2 f16, 1 bf16.
function tally(list,    names, n, k, number, text) {
    n = split(list, names, "|") - 1
    for (k = 1; k <= n; k++) number[names[k]]++
    for (k = 1; k <= n; k++)
        if (names[k] in number) {
            text = text (k > 1 ? ", " : "") number[names[k]] " " names[k]
            delete number[names[k]]
        }
    return n < 1 ? "-" : text
}

# --- instructions: guard, opcode, operands, destination; what comes before ---

function parse(    i, text, rest, a, n) {
    parsed = 1
    split("", place)
    split("", before)
    split("", after)
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
        a = part[1] ~ /^!?U?P[0-9T]+$/ && n > 1 ? 2 : 1
        to[i] = op[i] !~ /^(ST|RED|CALL|RET)/ && part[a] ~ /^U?R[0-9]+$/ ? \
            part[a] : ""
        inputs[i] = ""
        while (++a <= n) inputs[i] = inputs[i] part[a] (a < n ? ", " : "")
        gsub(/UR/, "u", to[i]) # uniform registers are not looked for
        gsub(/UR/, "u", inputs[i])
    }
    for (i = 1; i <= lines; i++) {
        if (op[i] ~ /^(BRA|JMP)/ && match(operands[i], /0x[0-9a-f]+$/)) {
            rest = substr(operands[i], RSTART + 2)
            sub(/^0+/, "", rest)
            if (rest in place) edge(i, place[rest])
        }
        # A branch with another operand than its target has a condition.
        if (guarded[i] || op[i] !~ /^(BRA|JMP|EXIT|RET|BRX|JMX)/ || \
            op[i] ~ /^(BRA|JMP)/ && operands[i] ~ /,/)
            edge(i, i + 1)
    }
}
function edge(i, j) {
    after[i] = after[i] " " j
    before[j] = before[j] " " i
}

# --- is this compare-and-swap the end of a half add? ---

# What a register holds, as far as it depends on what was seen in memory: nothing
# of it (0), its bits, its sum with something that does not depend on it, or what
# is no sum. A float sum becomes a half sum when it is rounded. Where two ways
# meet, the larger one counts.
BEGIN { BITS = 1; FLOAT_SUM = 2; SUM = 3; OTHER = 4; FAR = 200 }

# "f16", "f16x2", "bf16" or "bf16x2" if instruction i swaps in a sum, else "".
# Looks at the smallest loop around it, and at larger ones while nothing is made
# there of what was seen: a swap of 2 bytes has a loop of its own.
function loop_of(i,    n, k, part, size, v) {
    if (!parsed) parse()
    if (op[i] ~ /\.64|\.128/ || !(size = shortest_way(i))) return ""
    n = split(operands[i], part, ", *")
    for (; v <= BITS && size < 2 * FAR; size *= 2) {
        split("", near)
        for (k in ahead)
            if (k in behind && ahead[k] + behind[k] <= size) near[k] = 1
        v = swapped(i, part[n - 1], part[n])
    }
    if (v != SUM) return ""
    if (!single) kind = kind "x2"
    if (op[i] !~ /^ATOMS/) return kind
    return asks_for_space(i) ? "generic" : kind " shared"
}

# What swap i makes of what it compares with: its operands old and new.
function swapped(i, old, new,    n, k, changed, v) {
    split("", is_seen)
    for (k = slice(i, old); k; k--)
        if (loads(made_by[k])) is_seen[made_by[k]] = 1
    n = slice(i, new)
    split("", makes)
    kind = ""
    single = 0
    do
        for (k = n + (changed = 0); k; k--) {
            v = loads(made_by[k]) ? made_by[k] in is_seen : made(made_by[k])
            if (v > makes[made_by[k]]) changed = 1
            makes[made_by[k]] = v
        }
    while (changed)
    return holds(i, new)
}
function loads(i) { return op[i] ~ /^(LD|ATOM)/ }

# How many instructions it takes from i back to it, at most FAR; 0: no loop.
function shortest_way(i,    k, n, part, least) {
    reach(i, ahead, after)
    reach(i, behind, before)
    n = split(before[i], part, " ")
    for (k = 1; k <= n; k++)
        if (part[k] in ahead && (!least || ahead[part[k]] + 1 < least))
            least = ahead[part[k]] + 1
    return least
}
function reach(i, steps, next_of,    n, k, j, m, queue, list) {
    split("", steps)
    steps[i] = 0
    queue[n = 1] = i
    for (k = 1; k <= n && steps[queue[k]] < FAR; k++) {
        m = split(next_of[queue[k]], list, " ")
        for (j = 1; j <= m; j++)
            if (!(list[j] in steps)) {
                steps[list[j]] = steps[queue[k]] + 1
                queue[++n] = list[j]
            }
    }
}

# Lists in made_by the instructions of the loop from which register r before
# instruction i is made; returns how many.
function slice(i, r,    k, p, rest) {
    split("", makers)
    split("", met)
    slices = 0
    find_makers(i, r)
    for (k = 1; k <= slices; k++) {
        p = made_by[k]
        for (rest = loads(p) ? "" : inputs[p]; match(rest, /R[0-9]+/);
            rest = substr(rest, RSTART + RLENGTH))
            find_makers(p, substr(rest, RSTART, RLENGTH))
    }
    return slices
}
function find_makers(i, r,    n, k, m, p, todo, list, been) {
    if ((i, r) in makers) return
    makers[i, r] = ""
    todo[n = 1] = i
    while (n) {
        m = split(before[todo[n--]], list, " ")
        for (k = 1; k <= m; k++) {
            p = list[k]
            if (p in been || !(p in near)) continue
            been[p] = 1
            if (to[p] == r) {
                makers[i, r] = makers[i, r] " " p
                if (!(p in met)) made_by[++slices] = p
                met[p] = 1
            }
            if (to[p] != r || guarded[p]) todo[++n] = p
        }
    }
}

# What register r holds before instruction i.
function holds(i, r,    n, list, v) {
    for (n = split(makers[i, r], list, " "); n; n--)
        if (makes[list[n]] > v) v = makes[list[n]]
    return v + 0
}

# What instruction i makes of its operands.
function made(i,    n, k, m, part, text, v, top, merged, rest, now) {
    n = split(inputs[i], part, ", *")
    for (k = 1; k <= 3; k++) text[k] = v[k] = 0
    for (k = 1; k <= n; k++) {
        if (m && is_number(part[k]) && is_number(text[m])) continue # of two halves
        v[++m] = 0
        text[m] = part[k]
        for (rest = part[k]; match(rest, /R[0-9]+/);
            rest = substr(rest, RSTART + RLENGTH)) {
            now = holds(i, substr(rest, RSTART, RLENGTH))
            if (now > v[m]) v[m] = now
        }
        merged = merged || v[m] == BITS
        if (v[m] > top) top = v[m]
    }
    return top ? combined(i, text, v, top, merged) : 0
}

function combined(i, text, v, top, merged,    o) {
    o = op[i]
    if (top == OTHER || o ~ /\.(SAT|RELU)/) return OTHER
    if (o ~ /^(HADD2|FADD)/) return sum(o, text[1], v[1], text[2], v[2])
    if (o ~ /^(HFMA2|FFMA)/) {
        if (is_one(i, text[1])) return sum(o, text[2], v[2], text[3], v[3])
        if (is_one(i, text[2])) return sum(o, text[1], v[1], text[3], v[3])
        if (v[1] || v[2]) return OTHER
        return sum(o, is_zero(text[1]) ? text[1] : text[2], 0, text[3], v[3])
    }
    if (o ~ /^F2F/) {
        if (top != FLOAT_SUM || o !~ /^F2FP|^F2F\.B?F16/) return top
        kind = o ~ /BF16/ ? "bf16" : "f16"
        return SUM
    }
    if (o ~ /^([FHD]|MUFU|I2F|POPC)|MNMX/ && o !~ /^FSEL/) return OTHER
    if (top == FLOAT_SUM && operands[i] ~ /0x7fff(,|$)/) {
        kind = "bf16" # rounded by hand, where there is no instruction
        return SUM
    }
    if (top == SUM && merged) single = 1
    return top
}

# The sum of a and b, of which at least one depends on what was seen.
function sum(o, a, va, b, vb) {
    if (va && vb) return OTHER
    if (vb) return sum(o, b, vb, a, va)
    if (a ~ /[-|]/) return OTHER
    if (is_zero(b)) return va
    if (o !~ /^H/ || o ~ /F32/) return FLOAT_SUM
    kind = o ~ /BF16/ ? "bf16" : "f16"
    return SUM
}
# A factor that is 1, as it stands or in a register: on sm_80 and 86 a bf16 add is
# a product with it. There 1 reads 0x3f80, or 1.875 as f16.
function is_one(i, text,    j, bf16) {
    if (text == "1") return 1
    bf16 = op[i] ~ /BF16/
    while (match(text, /[Ru][0-9]+/)) {
        text = substr(text, RSTART, RLENGTH)
        for (j = i - 1; j && to[j] != text; j--) ;
        if (op[i = j] !~ /MOV|^PRMT|^HFMA2/) return 0
        text = inputs[i]
        if (!sub(/^-?RZ, RZ, /, "", text) && op[i] ~ /^HFMA2/) return 0
    }
    return bf16 ? text ~ /0x3f80|1\.875$/ : text ~ /0x3c00|(^|, )1$/
}
function is_zero(text) { return text ~ /^-?(RZ|0(\.0*)?)$/ }
function is_number(text) { return text ~ /^[-+]?([0-9.]+(e[-+]?[0-9]+)?|INF|QNAN)$/ }

# A pair is added through a generic pointer by the hardware, if it is not one to
# shared memory; the loop that QSPC guards is for those, and seldom run.
function asks_for_space(i,    j) {
    for (j = i - 1; j >= 1 && j > i - 30; j--)
        if (op[j] ~ /^QSPC/) return 1
    return 0
}
