# Makes a Markdown table of results/GPU/experiments.csv (make experiments).
#
#     awk -v table=experiment_lifetime -f tools/experiments.awk FILE
#
# k is how many tries fail for each add that moves the sum, as a part of the
# threads in flight: (tries - n) / (M R). From 0, M = 2798 adds of 0.00999451
# move a half.
BEGIN {
    FS = ","
    M = 2798
    question = table
    sub(/^experiment_/, "", question)
    if (question == "lifetime") {
        print "| threads in flight | one add a thread: ms | k |" \
              " long-lived: ms | k |"
        print "|---|---|---|---|---|"
    } else if (question == "lanes") {
        print "| lanes that add | threads that add at a time | ms | k |"
        print "|---|---|---|---|"
    } else if (question == "block") {
        print "| threads a block | ms | k |"
        print "|---|---|---|"
    } else if (question == "carveout") {
        print "| shared memory | ms | tries | ns a try |"
        print "|---|---|---|---|"
    } else if (question == "distance") {
        print "| cells apart | 2 bytes: ns an add | tries an add |" \
              " 4 bytes: ns an add | a 4-byte add to each cell |"
        print "|---|---|---|---|---|"
    } else if (question == "price") {
        print "| rows | ns a try, least | most | ns a try, by regression |" \
              " ns an add besides |"
        print "|---|---|---|---|---|"
    } else if (question == "place") {
        print "| places | ms, least | most | tries, least | most |"
        print "|---|---|---|---|---|"
    } else {
        print "experiments.awk: there is no table " table > "/dev/stderr"
        failed = 1
        exit 1
    }
}

FNR == 1 {
    for (i = 1; i <= NF; i++)
        at[$i] = i
    next
}

$at["question"] != question { next }

{
    seen = 1
    setting = $at["setting"]
    in_flight = $at["in_flight"]
    n = $at["n"]
    ms = $at["ms"]
    tries = $at["tries"]
    k = (tries - n) / (M * in_flight)
}

question == "lifetime" && setting == "one add a thread" {
    left = sprintf("| %d | %.1f | %.2f", in_flight, ms, k)
}
question == "lifetime" && setting == "long-lived" {
    printf "%s | %.1f | %.2f |\n", left, ms, k
}
question == "lanes" {
    lanes = setting + 0
    trying = in_flight * lanes / 32
    printf "| %d of 32 | %d | %.1f | %.2f |\n", lanes, trying, ms,
           (tries - n) / (M * trying)
}
question == "block" {
    printf "| %d | %.1f | %.2f |\n", setting + 0, ms, k
}
question == "carveout" {
    printf "| %s | %.1f | %.3g million | %.2f |\n",
           setting == "-1%" ? "the driver's choice" : setting, ms, tries / 1e6,
           ms * 1e6 / tries
}
question == "distance" && /,2 bytes/ {
    sub(/.*cells /, "", setting)
    left = sprintf("| %d bytes | %.2f | %.0f", setting + 0, ms * 1e6 / n,
                   tries / n)
}
question == "distance" && /,4 bytes/ {
    printf "%s | %.3f | %.2f ns |\n", left, ms * 1e6 / n, ms * 1e6 * 16 / n
}

question == "place" {
    rows++
    if (rows == 1 || ms < least_ms)
        least_ms = ms
    if (ms > most_ms)
        most_ms = ms
    if (rows == 1 || tries < least)
        least = tries
    if (tries > most)
        most = tries
}

# Least squares of ns on tries and n, without a constant.
question == "price" {
    rows++
    ns = ms * 1e6
    price = ns / tries
    if (rows == 1 || price < least)
        least = price
    if (price > most)
        most = price
    tt += tries * tries
    tn += tries * n
    nn += n * n
    ty += tries * ns
    ny += n * ns
}

END {
    if (failed)
        exit 1
    if (!seen) {
        print "experiments.awk: no rows for " question > "/dev/stderr"
        exit 1
    }
    if (question == "place")
        printf "| %d | %.1f | %.1f | %.1f million | %.1f million |\n", rows,
               least_ms, most_ms, least / 1e6, most / 1e6
    if (question == "price") {
        determinant = tt * nn - tn * tn
        printf "| %d | %.2f | %.2f | %.2f | %.2f |\n", rows, least, most,
               (ty * nn - ny * tn) / determinant,
               (ny * tt - ty * tn) / determinant
    }
}
