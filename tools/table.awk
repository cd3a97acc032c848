# Makes the Markdown tables of the pages, from the CSV files of results/.
#
#     awk -v table=NAME -f tools/csv.awk -f tools/table_peers.awk \
#         -f tools/table_storm.awk -f tools/table.awk FILE…
#
#   of results/*.csv:
#     lessons   one row a GPU, one column a lesson; ms for a run, ns for an add
#     model     what the account of lesson 5 predicts from the threads in
#               flight, with constants fitted on an H200, and what was measured
#   of results/sources/pairs.csv:
#     pairs     the sources' other speedups
#   of results/GPU/experiments*.csv: see tools/table_storm.awk
#   of results/GPU/peers.csv: see tools/table_peers.awk
#   of results/atlas/MAKER.csv: what a call becomes, on each GPU
#     atlas     of the 16-bit calls and of float, in each memory
#     atlas_words, atlas_wide   of integers, float and double; of PTX and of
#               more than 4 bytes
#   of any file:
#     rows      what varies in it
#
# What includes this calls make_table().

BEGIN {
    if (table != "") {
        for (i = 1; i < ARGC; i++)
            list = list " " ARGV[i]
        printf "%s", make_table(table, list)
        exit
    }
}

# The table of that name, of the files in a list with blanks between them.
function make_table(name, list) {
    files = split(list, file_of, " ")
    file = file_of[1]
    rows = csv_read(file)
    made = ""
    split("", cell)
    if (name == "lessons")
        table_lessons()
    else if (name == "model")
        table_model()
    else if (name == "pairs")
        table_pairs()
    else if (name == "fastest")
        table_fastest()
    else if (name == "rows")
        table_rows()
    else if (name == "atlas")
        table_atlas()
    else if (name == "atlas_words")
        table_calls("add int,add ulonglong,add float,add double,min int," \
            "max ulonglong,exch ulonglong,cas int,cas ulonglong,cas ushort")
    else if (name == "atlas_wide")
        table_calls("red half,red half2,red bf162,add float2,add float4," \
            "add half4,add half8,add bf168")
    else if (name in HEAD)
        table_storm(name)
    else if (csv_has(file, "work"))
        table_work(name)
    else
        fail("there is no table " name)
    return made
}

function put(line) { made = made line "\n" }

# The first line and the one below it.
function put_head(line) {
    put(line)
    gsub(/[^|]+/, "---", line)
    put(line)
}

# --- the lessons on each GPU ---

function read_lessons(    f, r, from, gpu, variant) {
    gpus = 0
    split("", known)
    split("", ms)
    for (f = 1; f <= files; f++) {
        from = file_of[f]
        for (r = 1; r <= csv_read(from); r++) {
            variant = csv(from, r, "variant")
            if (variant !~ /^(v0_half|v1_pack2|v2_fastadd)$/)
                continue
            gpu = csv(from, r, "gpu")
            if (!(gpu in known))
                gpu_of[++gpus] = gpu
            else if (known[gpu] != from)
                fail(from ":" r + 1 ": " known[gpu] " has the GPU " gpu \
                     ", too; another unit says so in its name")
            if ((gpu, variant) in ms)
                fail(from ":" r + 1 ": " gpu " has a row of " variant " above")
            known[gpu] = from
            n = csv(from, r, "n")
            ms[gpu, variant] = csv(from, r, "min_ms")
            ns[gpu, variant] = csv(from, r, "ns_per_add")
            how[gpu] = csv(from, r, "how") "; " csv(from, r, "source")
        }
    }
}

function time_of(gpu, variant) {
    if (!((gpu, variant) in ms))
        return ""
    return sprintf("%.2f ms (%.2f ns)", ms[gpu, variant], ns[gpu, variant])
}

function ratio_of(gpu,    v2) {
    v2 = ms[gpu, "v2_fastadd"] + 0
    return v2 > 0 ? sprintf("%.2f", ms[gpu, "v0_half"] / v2) : ""
}

function table_lessons(    i, gpu) {
    read_lessons()
    put_head("| GPU | v0_half | v1_pack2 | v2_fastadd | v0/v2 |" \
         " how measured; by whom |")
    for (i = 1; i <= gpus; i++) {
        gpu = gpu_of[i]
        put(sprintf("| %s | %s | %s | %s | %s | %s |", gpu,
                    time_of(gpu, "v0_half"), time_of(gpu, "v1_pack2"),
                    time_of(gpu, "v2_fastadd"), ratio_of(gpu), how[gpu]))
    }
}

function table_model(    i, gpu, chip, part, resident) {
    read_lessons()
    put_head("| GPU | multiprocessors x threads | R | v0/v2 predicted |" \
             " for k from " constant("LEAST_K") " to " constant("MOST_K") \
             " | v0/v2 measured |")
    for (i = 1; i <= gpus; i++) {
        gpu = gpu_of[i]
        chip = chip_of(gpu)
        if (!split(chip, part, " x "))
            continue
        resident = part[1] * part[2]
        put(sprintf("| %s | %s | %d | %.2f | %.2f to %.2f | %s |", gpu, chip,
            resident, predicted(constant("LIKELY_K"), resident),
            predicted(constant("LEAST_K"), resident),
            predicted(constant("MOST_K"), resident), ratio_of(gpu)))
    }
}

# k has a range, so the prediction has one.
function predicted(k, resident) {
    return (1 + k * constant("MOVING") * resident / n) / constant("PRICES")
}

# Multiprocessors, and resident threads of each, from the makers' tables.
function chip_of(gpu) {
    return gpu ~ /A100/ ? "108 x 2048" : gpu ~ /5070/ ? "48 x 1536" : \
        gpu ~ /H200/ ? "132 x 2048" : ""
}

function table_pairs(    r, kernel) {
    put_head("| change | A100 | RTX 5070 |")
    for (r = 1; r <= rows; r++) {
        kernel = csv(file, r, "kernel")
        gsub(/_/, " ", kernel)
        put(sprintf("| %s | %.2f | %.2f |", kernel,
                    csv(file, r, "a100_speedup"),
                    csv(file, r, "rtx_5070_speedup")))
    }
}

# --- the atlas ---

# With what it is sold as, in one line, or with its flag in short.
function sold_as(gpu,    i, part, name) {
    split("sm_60 P100;sm_61 GTX 10;sm_62 Jetson TX2;sm_70 V100;sm_72 Xavier;" \
        "sm_75 T4 and RTX 20;sm_80 A100;sm_86 RTX 30;sm_87 Orin;sm_89 RTX 40;" \
        "sm_90 H100 and H200;sm_100 B200;sm_103 B300;sm_110 Thor;" \
        "sm_120 RTX 50;sm_121 DGX Spark;gfx908 MI100;gfx90a MI200;" \
        "gfx942 MI300;gfx1030 RX 6800;gfx1100 RX 7900;" \
        "gfx1200 RX 9060;mp_21 S80 and S3000;mp_22 S4000;mp_31 S5000", \
        part, ";")
    for (i = 1; i in part; i++)
        if (index(part[i], gpu " ") == 1) {
            name = substr(part[i], length(gpu) + 2)
            if (gpu !~ /^gfx/) # AMD's table has no room for that
                gsub(/ /, "\302\240", name)
            return gpu " (" name ")"
        }
    return sub(/ -munsafe-fp-atomics/, "", gpu) ? gpu ", unsafe" : gpu
}

# Notes the rows by GPU, with its flag, call and memory.
function read_atlas(    r, gpu, known) {
    gpus = 0
    split("", row_of)
    for (r = 1; r <= rows; r++) {
        gpu = csv(file, r, "gpu") " " csv(file, r, "flags")
        sub(/ $/, "", gpu)
        if (!(gpu in known))
            gpu_of[++gpus] = gpu
        known[gpu] = 1
        row_of[gpu, csv(file, r, "operation") " " csv(file, r, "type"), \
               csv(file, r, "memory")] = r
    }
}

# What a call becomes: "-" where there is none, "?" where that is not known.
function atlas_cell(gpu, call, memory,    r, kind, used, unused) {
    if (!((gpu, call, memory) in row_of)) return "?"
    r = row_of[gpu, call, memory]
    kind = csv(file, r, "kind")
    used = csv(file, r, "instruction")
    unused = csv(file, r, "unused")
    if (kind == "does not exist") return "-"
    if (kind == "not known") return "? " bare_name(used)
    if (kind == "instruction if unused")
        return "unused: " bare_name(unused) ", else loop: " bare_name(used)
    if (used == "") used = unused
    return (kind == "loop" ? "loop: " : kind == "loses adds" ? \
        "**loses adds**: " : "") bare_name(used) \
        (csv(file, r, "known") == "executed" ? " †" : "")
}

# A name that may break behind a point; the site breaks long ones behind _.
function bare_name(name) {
    sub(/ *\(.*/, "", name)
    gsub(/[.]/, ".<wbr>", name)
    if (name ~ /^ds_/) gsub(/_/, "_<wbr>", name)
    sub(/^atomic/, "atomic<wbr>", name)
    return name
}

# All cells of a GPU. Maximum and minimum share one, since they are alike.
function atlas_cells(gpu, memory,    text, cells, max, c, columns, call) {
    columns = split("add half,add bf16,add half2,add bf162,add float," \
                    "max half,min half,cas ushort", call, ",")
    for (c = 1; c <= columns; c++) {
        text = atlas_cell(gpu, call[c], memory)
        if (call[c] == "min half") {
            gsub(/MIN/, "MAX", text)
            if (text != max)
                fail(file ": maximum and minimum differ on " gpu)
        } else
            cells = cells " " text " |"
        max = text
    }
    return cells
}

# GPUs that are alike share a row; a flag that changes nothing is left out.
function table_atlas(    m, where, g, k, cells, bare, alike, label, is) {
    read_atlas()
    put_head("| GPU | in | half | bf16 | half2 | bf162 | float |" \
             " max, min of half | CAS on 2 bytes |")
    for (m = split("cluster shared global", where, " "); m; m--) {
        alike = 0
        for (g = 1; g <= gpus; g++) {
            cells = bare = atlas_cells(gpu_of[g], where[m])
            gsub(/ †/, "", bare)
            if (bare !~ /[A-Za-z]/)
                continue
            for (k = 1; k <= alike && is[k] != bare; k++)
                ;
            if (k > alike) {
                is[alike = k] = bare
                text_of[k] = cells
                label[k] = ""
            }
            split(gpu_of[g], base, " ")
            if (index(label[k], base[1] " (") == 0)
                label[k] = label[k] (label[k] == "" ? "" : ", ") \
                    sold_as(gpu_of[g])
            if (cells != bare)
                text_of[k] = cells
        }
        for (k = 1; k <= alike; k++)
            put("| " label[k] " | " (where[m] == "cluster" ? \
                "another block's" : where[m]) " |" text_of[k])
    }
}

# A row for each call and memory, a column for GPUs that are alike in all.
function table_calls(list,    n, call, g, k, m, memory, all, groups, cell_of) {
    read_atlas()
    n = split(list, call, ",")
    head = "| call | memory"
    for (g = 1; g <= gpus; g++) {
        all = ""
        for (k = 1; k <= n; k++)
            for (m = split("shared global", memory, " "); m; m--) {
                cell_of[g, k, m] = both_of(gpu_of[g], call[k], memory[m])
                all = all "|" cell_of[g, k, m]
            }
        if (!groups || all != last) {
            head = head " | " gpu_of[g]
            first_of[++groups] = g
            last = all
        } else
            head = head ", " substr(gpu_of[g], 4)
    }
    put_head(head " |")
    for (k = 1; k <= n; k++)
        for (m = 2; m; m--) {
            all = ""
            for (g = 1; g <= groups; g++)
                all = all " " cell_of[first_of[g], k, m] " |"
            if (all ~ /[A-Z]/)
                put("| `" call_of(call[k]) "` | " memory[m] " |" all)
        }
}

# A call whose old value is used and, if that is another, one whose is not.
function both_of(gpu, call, memory,    r, text, used) {
    text = atlas_cell(gpu, call, memory)
    sub(/ †/, "", text)
    if ((gpu, call, memory) in row_of) {
        r = row_of[gpu, call, memory]
        used = csv(file, r, "instruction")
        if (used != "" && used != csv(file, r, "unused"))
            text = text ", " bare_name(csv(file, r, "unused"))
    }
    return text
}

function call_of(call,    i, part, ptx) {
    split("red half,red half2,red bf162,add half4,add half8,add bf168", \
        part, ",")
    split("red.global.add.noftz.f16,red.global.add.noftz.f16x2," \
        "red.global.add.noftz.bf16x2,atom.global.v2.f16x2.add.noftz," \
        "atom.global.v4.f16x2.add.noftz,atom.global.v4.bf16x2.add.noftz", \
        ptx, ",")
    for (i = 1; i in part; i++)
        if (part[i] == call)
            return ptx[i]
    split(call, part, " ")
    return "atomic" (part[1] == "cas" ? "CAS" : toupper(substr(call, 1, 1)) \
        substr(part[1], 2)) "(" part[2] " *)"
}

# --- any file ---

function table_rows(    c, r, line, rule, name) {
    for (c = 1; c <= csv_columns[file]; c++) {
        name = csv_name[file, c]
        if (rows > 1 && !csv_varies(file, name))
            continue
        line = line "| " name " "
        rule = rule (csv_is_text(file, name) ? "|---" : "|--:")
        for (r = 1; r <= rows; r++)
            cell[r] = cell[r] "| " csv(file, r, name) " "
    }
    put(line "|\n" rule "|")
    for (r = 1; r <= rows; r++)
        put(cell[r] "|")
}
