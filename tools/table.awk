# Makes the Markdown tables of the pages, from the CSV files of results/.
#
#     awk -v table=NAME -f tools/csv.awk -f tools/table_peers.awk \
#         -f tools/table_storm.awk -f tools/table_atlas.awk -f tools/table.awk FILE…
#
#   of results/*.csv:
#     lessons   one row a GPU, one column a lesson; ms for a run, ns for an add
#     model     what the account of lesson 5 predicts from the threads in
#               flight, with constants fitted on an H200, and what was measured
#   of results/sources/pairs.csv:
#     pairs     the sources' other speedups
#   of results/GPU/experiments*.csv: see tools/table_storm.awk
#   of results/GPU/peers.csv: see tools/table_peers.awk
#   of results/atlas/MAKER.csv: see tools/table_atlas.awk
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
    else if (name ~ /^atlas/)
        table_atlas(name)
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
