# The tables of the atlas, results/atlas/MAKER.csv: what a call becomes, on each GPU.
# For tools/table.awk, which comes after this.
#
#   atlas         of the 16-bit calls and of float, in each memory
#   atlas_words   of integers, float and double
#   atlas_wide    of PTX, and of more than 4 bytes

function table_atlas(name) {
    if (name == "atlas")
        table_memories()
    else if (name == "atlas_words")
        table_calls("add int,add ulonglong,add float,add double,min int," \
            "max ulonglong,exch ulonglong,cas int,cas ulonglong,cas ushort")
    else if (name == "atlas_wide")
        table_calls("red half,red half2,red bf162,add float2,add float4," \
            "add half4,add half8,add bf168")
    else
        fail("table.awk: there is no table " name)
}

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
function table_memories(    m, where, g, k, cells, bare, alike, label, is) {
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
