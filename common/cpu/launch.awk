# launch.awk: turns a CUDA C file into plain C11 for the CPU emulation.
#
#     LC_ALL=C awk -f common/cpu/launch.awk v0_half/v0_half.cu > v0_half.c
#
# (LC_ALL=C lets gawk pass on bytes that are not UTF-8, all else works without.)
#
# C has no <<<...>>> and no closures. So each kernel gets a struct that holds
# its arguments and a runner that calls it for every thread of a block, and
# each launch becomes a statement that fills the struct and passes both on.
# Before:
#
#     static __global__ void scale(float *a, int n) { ... }
#     scale<<<blocks, 256>>>(d_a, 64);
#
# After, on the same two lines (broken here to be read):
#
#     struct cpu_args_scale { float *a; int n; };
#     static __global__ void scale(float *a, int n);
#     static __attribute__((unused)) void cpu_run_scale(const void *cpu_args)
#     { const struct cpu_args_scale *cpu_a =
#         (const struct cpu_args_scale *)cpu_args; (void)cpu_a;
#       while (cpu_next_thread()) scale(cpu_a->a, cpu_a->n); }
#     static __global__ void scale(float *a, int n) { ... }
#     do { struct cpu_args_scale cpu_args = { d_a, 64 };
#       if (0) { scale(d_a, 64); }
#       (void)cpu_args; cpu_launch("scale", cpu_dim3((blocks)),
#         cpu_dim3((256)), (0), (0), cpu_run_scale, &cpu_args); } while (0);
#
# After a __device__ variable comes CPU_DEVICE_VARIABLE(NUMBER, NAME);, which
# tells the emulation where atomics may work; functions are left as they are.
#
# The call under if (0) never runs: through it the compiler reports a wrong
# argument as one of scale. Line numbers stay: one #line comes first, and a
# launch over several lines is followed by as many newlines. What is not
# understood, and names of clusters, which the emulation lacks, end with
# FILE:LINE: error: ..., status 1 and no output. Limits: a backslash at a line's
# end must not split a name, and what is rewritten must stand in this file, not
# in a header or a macro. Of __shared__ variables only those are looked at that
# C takes and CUDA does not; of halves, those that begin with a number.
#
# The file is cut into tokens: text[i] is token i, line[i] its line, blank[i]
# marks space, newlines and comments, on[i] is the preprocessor line it is part
# of ("#define") or "", within[i] the #if branches around it. code[1..ncode]
# are the indices of all other tokens, and kernels and launches are read there.

BEGIN {
    if (ARGC != 2) {
        ARGV[1] = "launch.awk"
        fail(1, "expected one file: awk -f launch.awk FILE > FILE.c")
    }
    read_tokens(ARGV[1])
    for (c = 1; c <= ncode; c++) {
        if (tok(c) == "__global__") c = rewrite_kernel(c)
        else if (tok(c) == "<<<") c = rewrite_launch(c)
        else if (tok(c) == "__device__") c = note_variables(c)
        else if (tok(c) == "__shared__") check_shared(c)
        else if (tok(c) ~ /^(__)?half2?$/) check_half(c)
    }
    name = ARGV[1]
    gsub(/[\\"]/, "\\\\&", name)
    print "#line 1 \"" name "\""
    ORS = ""
    for (i = 1; i <= ntok; i++) print before[i] text[i]
}

# Through cat, because opening /dev/stderr anew would truncate a log file.
function fail(at, message) {
    print ARGV[1] ":" at ": error: " message | "cat 1>&2"
    close("cat 1>&2")
    exit 1
}

# ---- Cutting the file into tokens ----

# Lines joined by a backslash are cut as one, as the preprocessor does. gcc and
# clang skip a byte order mark only at the very start, where #line goes.
function read_tokens(file,    s, mark, joined, status) {
    mark = "\357\273\277"
    quoted = "^(\"([^\"\\\\]|\\\\(.|\n))*\"|'([^'\\\\]|\\\\(.|\n))*')"
    clusters = "^(cooperative_groups$|__cluster|cuda[A-Za-z]*Cluster|" \
        "cudaLaunch(Kernel(Ex|ExC)|Attribute[A-Za-z]*|Config_t)$)"
    now = fresh = 1
    branch = "0"
    while ((status = (getline s < file)) > 0) {
        if (now == 1 && index(s, mark) == 1) s = substr(s, length(mark) + 1)
        sub(/\r$/, "", s)
        joined = joined s "\n"
        if (s ~ /\\[ \t]*$/) continue
        cut_line(substr(joined, 1, length(joined) - 1))
        joined = ""
    }
    if (status < 0) fail(1, "cannot read this file")
    if (joined != "") cut_line(substr(joined, 1, length(joined) - 1))
    if (comment) fail(comment, "unterminated comment: expected */")
}

function cut_line(s,    n, c, is_blank) {
    for (; s != ""; s = substr(s, n + 1)) {
        c = substr(s, 1, 1)
        is_blank = 1
        if (comment) n = comment_length(s)
        else if (match(s, /^([ \t\r\f\v]|\\[ \t]*\n)+/)) n = RLENGTH
        else if (s ~ /^\/\//) n = length(s)
        else if (s ~ /^\/\*/) { comment = now; n = 2 }
        else {
            is_blank = 0
            n = 1
            if (match(s, /^([A-Za-z0-9_$]+|<<<|>>>)/) || match(s, quoted))
                n = RLENGTH
            else if (index("\"'", c) && directive == "")  # not: #error don't
                fail(now, "unterminated string or character: expected " c)
        }
        add_token(substr(s, 1, n), is_blank)
    }
    add_token("\n", 1)
    if (!comment) { fresh = 1; directive = "" }
}

function comment_length(s,    n) {
    n = index(s, "*/")
    if (n) comment = 0
    return n ? n + 1 : length(s)
}

function add_token(s, is_blank) {
    ntok++
    if (!is_blank) {
        if (fresh && s == "#") directive = s
        else if (directive == "#") enter_directive(s)
        else if (s == "<<<" && directive == "#define")
            fail(now, "a launch inside a #define: expected it in a function")
        fresh = 0
        if (directive == "") code[++ncode] = ntok
        if (s ~ clusters && branch == "0" && directive ~ /^(#include)?$/)
            fail(now, "'" s "': the CPU emulation has no clusters of blocks " \
                "and no cooperative groups: expected <<<GRID, BLOCK>>> and " \
                "blocks that use their own __shared__ memory")
    }
    text[ntok] = s
    line[ntok] = now
    blank[ntok] = is_blank
    on[ntok] = directive
    within[ntok] = branch
    if (index(s, "\n")) now += gsub(/\n/, "", s)
}

# branch lists the open #if, as "0 NUMBER:ALTERNATIVE NUMBER:ALTERNATIVE".
function enter_directive(word) {
    directive = "#" word
    if (word ~ /^if/) branch = branch " " ++conditionals ":0"
    else if (word ~ /^el/ && match(branch, /[0-9]+$/))
        branch = substr(branch, 1, RSTART - 1) (substr(branch, RSTART) + 1)
    else if (word == "endif") sub(/ [^ ]*$/, "", branch)
}

# ---- Looking at code tokens ----

function tok(c) { return text[code[c]] }

function line_of(c) { return line[code[c > ncode ? ncode : c]] }

# The first token WANT from c on that is in no bracket opened since; 0 if a
# closing bracket, a semicolon or another launch comes first.
function find(c, want,    t, depth) {
    for (; c <= ncode; c++) {
        t = tok(c)
        if (t == want && !depth) return c
        if (index("([{", t)) depth++
        else if (index(")]}", t)) depth--
        if (depth < 0 || t == ";" || t == "<<<") return 0
    }
    return 0
}

# Cuts the tokens from..to at their commas into from_[1..n] and to_[1..n].
function split_list(from, to,    n, comma) {
    for (n = 1; (comma = find(from, ",")) && comma <= to; n++) {
        from_[n] = from
        to_[n] = comma - 1
        from = comma + 1
    }
    from_[n] = from
    to_[n] = to
    return n
}

# Stops at a preprocessor line: joined with its neighbours it would be lost.
function check_plain(from, to,    i) {
    for (i = code[from]; i <= code[to]; i++)
        if (on[i] != "" && !blank[i])
            fail(line[i], "a preprocessor line inside a launch or the head " \
                "of a kernel: expected it before or after")
}

# The text of the code tokens from..to on one line, without comments.
function join(from, to,    i, s, out) {
    for (i = code[from]; from <= to && i <= code[to]; i++) {
        s = text[i]
        gsub(/\\[ \t]*\n/, "", s)
        out = out (!blank[i] ? s : blank[i - 1] ? "" : " ")
    }
    return out
}

# ---- Kernels ----

function rewrite_kernel(c,    first, name, shut, type) {
    first = declaration_start(c)
    c = name_position(first)
    name = tok(c)
    shut = find(c + 2, ")")
    if (!shut)
        fail(line_of(c), "kernel '" name "': expected ) after PARAMETERS")
    check_plain(first, shut)
    read_parameters(name, c + 2, shut - 1)
    if (!is_first(name, within[code[first]])) return shut
    type = "struct cpu_args_" name
    before[code[first]] = before[code[first]] type " { " members "}; " join(first, shut) "; " \
        "static __attribute__((unused)) void cpu_run_" name \
        "(const void *cpu_args) { const " type " *cpu_a = (const " type \
        " *)cpu_args; (void)cpu_a; while (cpu_next_thread()) " name "(" \
        values "); } "
    return shut
}

# From __global__ back to the end of what stands before the declaration.
function declaration_start(c,    d, depth) {
    while (c > 1 && !index(";{}", tok(c - 1))) {
        d = c - 1
        if (tok(d) == ")") {
            for (depth = 1; depth && d > 1; )
                depth += (tok(--d) == ")") - (tok(d) == "(")
            if (tok(--d) != "__launch_bounds__") break
        }
        c = d
    }
    return c
}

function name_position(c,    t, is_void, specifier) {
    specifier = "^(static|extern|void|__global__|__launch_bounds__)$"
    for (; (t = tok(c)) ~ specifier; c++) {
        if (t == "void") is_void = 1
        if (t == "__launch_bounds__" && find(c + 2, ")")) c = find(c + 2, ")")
    }
    if (!is_void || t !~ /^[A-Za-z_$]/ || tok(c + 1) != "(")
        fail(line_of(c), "a kernel returns void: expected [static] " \
            "__global__ [__launch_bounds__(N)] void NAME(PARAMETERS), found '" \
            t "'")
    return c
}

# Sets members ("float *a; int n; ") and values ("cpu_a->a, cpu_a->n").
function read_parameters(name, from, to,    i, n) {
    members = "char cpu_none; "
    values = ""
    if (from > to || (from == to && tok(from) == "void")) return
    members = ""
    n = split_list(from, to)
    for (i = 1; i <= n; i++) {
        check_parameter(name, from_[i], to_[i])
        members = members join(from_[i], to_[i]) "; "
        values = values (i > 1 ? ", " : "") "cpu_a->" tok(to_[i])
    }
}

# A parameter is made of words and stars: a type and then its name.
function check_parameter(name, from, to,    c, t, words, why, no_type, type) {
    no_type = "^(const|volatile|struct|union|enum|(__)?restrict(__)?|[*])$"
    type = "^(void|char|short|int|long|float|double|(un)?signed|_Bool|bool)$"
    for (c = from; c <= to && why == ""; c++) {
        t = tok(c)
        if (t == "[") why = "is an array"
        else if (t == "=") why = "has a default argument"
        else if (t == "(") why = "is a function pointer or a macro"
        else if (t !~ /^([A-Za-z0-9_$]+|[*])$/) why = "has '" t "'"
        else words += t !~ no_type
    }
    t = tok(to)
    if (why == "" && (words < 2 || t ~ no_type || t ~ type))
        why = "has no name"
    if (why != "")
        fail(line_of(from), "kernel '" name "': parameter '" \
            join(from, to) "' " why ": expected TYPE NAME or TYPE *NAME")
}

# One of the same or of an enclosing #if branch is no longer the first; one in
# another branch (#else) may be compiled instead, so that both are first ones.
function is_first(name, place,    i, n, old) {
    n = split(declared[name], old, ",")
    for (i = 1; i <= n; i++)
        if (index(place " ", old[i] " ") == 1) return 0
    declared[name] = declared[name] place ","
    return 1
}

# ---- Variables in device memory ----

# What comes first, a ( or one of = , ; tells a function from variables, but for
# attributes and the body of a struct.
function note_variables(c,    d, t, name, in_value, notes) {
    for (d = declaration_start(c); d < c; d++)
        if (tok(d) == "extern") return c
    for (; c <= ncode; c++) {
        t = tok(c)
        if (index("[{", t) || (t == "(" && (in_value || tok(c - 1) ~ \
            /^(__attribute__|__align__|_Alignas|__typeof__)$/)))
            c = closing(c)
        else if (t == "(" || t == "extern") return c
        else if (t == "=") in_value = 1
        else if (t == "," || t == ";") {
            notes = notes " CPU_DEVICE_VARIABLE(" c ", " name ");"
            in_value = 0
            if (t == ";") break
        } else if (!in_value && (index("[=,;", tok(c + 1)) || \
            tok(c + 1) ~ /^__a.*__$/))
            name = t
    }
    if (notes != "") before[code[c] + 1] = notes
    return c
}

# From an opening bracket to the one that closes it.
function closing(c,    depth) {
    for (; c <= ncode; c++) {
        depth += (index("([{", tok(c)) > 0) - (index(")]}", tok(c)) > 0)
        if (!depth) break
    }
    return c
}

# ---- Variables in shared memory ----

# C would take what CUDA does not, and the other way round.
function check_shared(c) {
    if (tok(c - 1) == "extern" || tok(c + 1) == "extern")
        fail(line_of(c), "extern __shared__: the CPU emulation has arrays " \
            "of fixed size only: expected __shared__ TYPE NAME[SIZE];")
    if (find(c, "="))
        fail(line_of(c), "a __shared__ variable has no initial value: " \
            "expected a thread to set it before a __syncthreads()")
}

# ---- Halves ----

# half x = 1: of a struct that begins with a number compilers say little.
function check_half(c,    value) {
    value = c + 3 + (tok(c + 3) ~ /^[-+]$/)
    if (tok(c + 1) ~ /^[A-Za-z_]/ && tok(c + 2) == "=" &&
        (tok(value) tok(value + 1)) ~ /^\.?[0-9]/ && within[code[c]] == "0")
        fail(line_of(c), "a half is not a number in C: expected " tok(c) " " \
            tok(c + 1) " = __float2half" (tok(c) ~ /2$/ ? "2" : "") \
            "_rn(NUMBER)")
}

# ---- Launches ----

function rewrite_launch(c,    name, end, shut, n, i, part, args, taken) {
    name = tok(c - 1)
    if (name == ">")
        fail(line_of(c), "template arguments before <<<: " \
            "expected NAME<<<GRID, BLOCK>>>(ARGUMENTS)")
    if (!(name in declared))
        launch_fail(c, name, "the name of a __global__ function declared above")
    end = find(c + 1, ">>>")
    if (!end) launch_fail(c, name, ">>> after <<<GRID, BLOCK")
    n = split_list(c + 1, end - 1)
    for (i = 1; i <= n && from_[i] <= to_[i]; i++)
        part[i] = join(from_[i], to_[i])
    if (n < 2 || n > 4 || i <= n)
        launch_fail(c, name, "<<<GRID, BLOCK[, SHARED[, STREAM]]>>>, " \
            (i <= n ? "but part " i " is empty" : "found " n " parts"))
    if (tok(end + 1) != "(") launch_fail(end, name, "(ARGUMENTS) after >>>")
    shut = find(end + 2, ")")
    if (!shut) launch_fail(end, name, ") after ARGUMENTS")
    check_plain(c - 1, shut)
    args = join(end + 2, shut - 1)
    for (i = code[c - 1]; i <= code[shut]; i++) {
        taken = taken text[i]
        text[i] = ""
    }
    gsub(/[^\n]/, "", taken)
    text[code[c - 1]] = "do { struct cpu_args_" name " cpu_args = { " \
        (args == "" ? "0" : args) " }; if (0) { " name "(" args "); } " \
        "(void)cpu_args; cpu_launch(\"" name "\", cpu_dim3((" part[1] \
        ")), cpu_dim3((" part[2] ")), (" (n > 2 ? part[3] : 0) "), (" \
        (n > 3 ? part[4] : 0) "), cpu_run_" name ", &cpu_args); } while (0)" \
        taken
    return shut
}

function launch_fail(c, name, wanted) {
    fail(line_of(c), "launch of '" name "': expected " wanted)
}
