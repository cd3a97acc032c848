# Makes a Markdown table of results/*.csv, or of results/sources/pairs.csv.
#
#     awk -v table=lessons -f tools/table.awk results/*.csv
#
# lessons  one row a GPU, one column a lesson; ms for a run, ns for an add
# model    what the account of lesson 5 predicts from the threads in flight,
#          with constants fitted on an H200, and what was measured
# pairs    the sources' other speedups
BEGIN {
    FS = ","
    K = 0.31
    PRICES = 2.375 # t_add / t_cas
    MOVING = 2798  # adds that move the sum
    # multiprocessors and resident threads of each, from the makers' tables
    split("108 2048", A100, " ")
    split("48 1536", RTX5070, " ")
    split("132 2048", H200, " ")
    if (table == "lessons") {
        print "| GPU | v0_half | v1_pack2 | v2_fastadd | v0/v2 |" \
              " how measured; by whom |"
        print "|---|---|---|---|---|---|"
    } else if (table == "model") {
        print "| GPU | multiprocessors x threads | R | v0/v2 predicted |" \
              " v0/v2 measured |"
        print "|---|---|---|---|---|"
    } else if (table == "pairs") {
        print "| change | A100 | RTX 5070 |"
        print "|---|---|---|"
    } else {
        print "table.awk: there is no table " table > "/dev/stderr"
        failed = 1
        exit 1
    }
}

FNR == 1 {
    split("", at) # nothing stays from the file before
    for (i = 1; i <= NF; i++)
        at[$i] = i
    has_times = ("variant" in at) && ("min_ms" in at)
    next
}

table == "pairs" {
    kernel = $at["kernel"]
    gsub(/_/, " ", kernel)
    printf "| %s | %.2f | %.2f |\n", kernel, $at["a100_speedup"],
           $at["rtx_5070_speedup"]
    next
}

has_times && $at["variant"] ~ /^(v0_half|v1_pack2|v2_fastadd)$/ {
    gpu = $at["gpu"]
    if (!(gpu in known)) {
        known[gpu] = 1
        gpus[++count] = gpu
    }
    variant = $at["variant"]
    n = $at["n"]
    ms[gpu, variant] = $at["min_ms"]
    ns[gpu, variant] = $at["ns_per_add"]
    how[gpu] = $at["how"] "; " $at["source"]
}

function time_of(gpu, variant) {
    if (!((gpu, variant) in ms))
        return ""
    return sprintf("%.2f ms (%.2f ns)", ms[gpu, variant], ns[gpu, variant])
}

function ratio_of(gpu,    v2) {
    v2 = ms[gpu, "v2_fastadd"]
    return v2 > 0 ? sprintf("%.2f", ms[gpu, "v0_half"] / v2) : ""
}

function print_model(gpu, chip,    resident) {
    resident = chip[1] * chip[2]
    printf "| %s | %d x %d | %d | %.2f | %s |\n", gpu, chip[1], chip[2],
           resident, (1 + K * MOVING * resident / n) / PRICES, ratio_of(gpu)
}

END {
    if (failed)
        exit 1
    for (i = 1; i <= count; i++) {
        gpu = gpus[i]
        if (table == "lessons")
            printf "| %s | %s | %s | %s | %s | %s |\n", gpu,
                   time_of(gpu, "v0_half"), time_of(gpu, "v1_pack2"),
                   time_of(gpu, "v2_fastadd"), ratio_of(gpu), how[gpu]
        else if (gpu ~ /A100/)
            print_model(gpu, A100)
        else if (gpu ~ /5070/)
            print_model(gpu, RTX5070)
        else if (gpu ~ /H200/)
            print_model(gpu, H200)
    }
}
