/* Exercise 13, whose_speedup: what a speedup says, and of whom.
 *
 * Task: give the model's v0/v2; judge six claims by the numbers in brackets:
 *  1 Elementwise now takes the A100 less than half as long. [new time over old]
 *  2 Reduce's two speedups have the ratio of elementwise's, to 10%. [what
 *    reduce's would be on the RTX 5070, from its own on the A100]
 *  3 The RTX 5070's v0 is faster than the A100's v2. [v2's time over v0's]
 *  4 At 2^25 adds k's range allows for the RTX 5070's v0/v2. [the likely one]
 *  5 On the A100 v0 beats v2 at 2^27 adds. [from which n on, for the least k]
 *  6 Two H200s take as long for v0, to 10%. [H200's time over OTHER's]
 * Constraint: numbers to 1%; OPEN only where a part of k's range says HOLDS.
 * Before you change it, it fails with: predict() gives the v0/v2 of k =
 * Read: docs/reading_speedups.md, from "Predict your GPU" on. */
#include <math.h>

#include "account.h"
#include "exercise.h"

#define PAIRS "results/sources/pairs.csv"
#define A100 "results/nvidia_a100_pcie_40gb.csv"
#define RTX_5070 "results/nvidia_geforce_rtx_5070.csv"
#define H200 "results/nvidia_h200.csv"
#define OTHER "results/nvidia_h200_2.csv"

enum { A100_THREADS = 108 * 2048, RTX_THREADS = 48 * 1536 };
enum verdict { HOLDS, FAILS, OPEN };

/* v0/v2 for n adds on a GPU that holds up to `resident` threads. In account.h,
 * MOVING is M and PRICES is t_add / t_cas. */
static double predict(double k, double resident, double n)
{
    /* TODO: how often do tries fail? Never more than n are in flight. */
    return (n + k * resident) / n / PRICES;
    /* END TODO */
}

/* From the word's row: n (1), ms (2); of PAIRS: A100's (1), RTX 5070's (2). */
static double figure(const char *path, const char *word, int place)
{
    char line[512], *found = NULL;
    double first, second;
    FILE *file = fopen(path, "r");

    require(file != NULL, NULL, "cannot open %s: wrong directory?", path);
    while (!found && fgets(line, sizeof line, file))
        found = strstr(line, word);
    fclose(file);
    require(found && sscanf(found, "%*[^,],%lf,%lf", &first, &second) == 2,
            NULL, "%s has no %s", path, word);
    return place == 1 ? first : second;
}

/* The verdict on a claim. The number that decides it goes to *number. */
static enum verdict judge(int claim, double *number)
{
    /* TODO: such as figure(PAIRS, "reduce", 1), figure(A100, "v0_half", 2). */
    *number = claim;
    return HOLDS;
    /* END TODO */
}

/* Does the claim hold for the least k, and for the most? */
static void check_claim(int claim, double right, int least, int most)
{
    enum verdict expected = least != most ? OPEN : least ? HOLDS : FAILS;
    double number = NAN;
    enum verdict verdict = judge(claim, &number);

    require(fabs(number / right - 1) <= 0.01, NULL,
            "claim %d: %g is not the number asked for", claim, number);
    require(verdict == expected, NULL,
            "claim %d: %g is right, the verdict is not", claim, number);
}

static void check_claims(void)
{
    double a100 = figure(PAIRS, "elementwise", 1);
    double rtx_5070 = figure(PAIRS, "elementwise", 2);
    double reduce = figure(PAIRS, "reduce", 1) / a100 * rtx_5070;
    double off = fabs(reduce / figure(PAIRS, "reduce", 2) - 1);
    double race = figure(A100, "v2_fast", 2) / figure(RTX_5070, "v0_half", 2);
    double unit = figure(H200, "v0_half", 2) / figure(OTHER, "v0_half", 2);
    double even = MOVING * A100_THREADS / (PRICES - 1), n = 1 << 27;
    double found = figure(PAIRS, "v0_over_v2", 2);
    int in = predict(LEAST_K, RTX_THREADS, 1 << 25) <= found &&
             predict(MOST_K, RTX_THREADS, 1 << 25) >= found;

    check_claim(1, 1 / a100, a100 > 2, a100 > 2);
    check_claim(2, reduce, off <= 0.1, off <= 0.1);
    check_claim(3, race, race > 1, race > 1);
    check_claim(4, predict(LIKELY_K, RTX_THREADS, 1 << 25), in, in);
    check_claim(5, LEAST_K * even, LEAST_K * even < n, MOST_K * even < n);
    check_claim(6, unit, fabs(unit - 1) <= 0.1, fabs(unit - 1) <= 0.1);
}

int main(void)
{
    exercise_begin(13, "whose_speedup");
    for (int i = 0; i < 100; i++) {
        double k = exercise_random() / 4294967296.0;
        double r = 50000 + exercise_random() % 300000;
        double n = r / 16 * (1 + exercise_random() % 256);
        double got = (predict(k, r, n) * PRICES - 1) * n / MOVING / fmin(n, r);
        require(fabs(got - k) <= 1e-9, NULL,
                "predict() gives the v0/v2 of k = %g for k = %g", got, k);
    }
    require(1, "v0/v2 for any k, threads and n", "");
    check_claims();
    return exercise_end();
}
