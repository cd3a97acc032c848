/* The checks of dot(): against double, on every alignment, and whether it gives
 * the same bits on every run. */
#ifndef CHECKS_H
#define CHECKS_H

#include <math.h>
#include <string.h>

#include "bound.h"
#include "input.h"

/* --- against double --- */

static float dot_now(const half *a, const half *b, long long n, int in_order)
{
    float sum;

    CHECK(cudaMemset(d_cell, 0xff, sizeof sum)); /* NaN */
    dot(a, b, n, d_scratch, (float *)d_cell, in_order);
    CHECK(cudaMemcpy(&sum, d_cell, sizeof sum, cudaMemcpyDeviceToHost));
    return sum;
}

/* The error of a sum as a share of its bound: above 1 it is wrong. Says so of
 * the first one that is. */
static double check_one(const half *a, const half *b, long long n, int in_order)
{
    static int said;
    double sum = (double)dot_now(a, b, n, in_order);
    double error = fabs(sum - exact.sum);
    double bound = exact.size * dot_bound(span_of(a, b, n).vectors, in_order);

    if (error <= bound)
        return error > 0 ? error / bound : 0;
    if (said++)
        return INFINITY;
    complain("%s: n = %lld, a and b %d and %d bytes beyond 16, %s order: %.9g, "
             "expected %.9g within %.2g",
             lesson.program, n, (int)((size_t)a % 16), (int)((size_t)b % 16),
             in_order ? "one" : "any", sum, exact.sum, bound);
    return INFINITY;
}

/* Eight copies of the first n elements, one for each alignment, with NaN on
 * both sides: an element too many makes the sum NaN. */
static void upload_aligned(half *d_slots, const uint16_t *input, long long n)
{
    static uint16_t slot[SLOT];
    int k;

    for (k = 0; k < ALIGNMENTS; k++) {
        memset(slot, 0xff, sizeof slot);
        memcpy(slot + ALIGNMENTS + k, input, (size_t)n * sizeof *input);
        upload(d_slots + (size_t)k * SLOT, slot, SLOT);
    }
}

/* Both orders on all alignments of n elements; the worst error. */
static double check_alignments(long long n)
{
    double worst = 0;
    size_t i, j;

    upload_aligned(d_a, host_a, n);
    upload_aligned(d_b, host_b, n);
    set_exact(n);
    for (i = 0; i < ALIGNMENTS; i++)
        for (j = 0; j < ALIGNMENTS; j++) {
            const half *a = d_a + i * SLOT + ALIGNMENTS + i;
            const half *b = d_b + j * SLOT + ALIGNMENTS + j;
            worst = fmax(worst, check_one(a, b, n, 0));
            worst = fmax(worst, check_one(a, b, n, 1));
        }
    return worst;
}

/* All 0.1 and random, each n; ends where one is wrong. */
static int check_small(void)
{
    static const int sizes[] = {0,    1,    2,    7,    8,
                                15,   16,   17,   31,   100,
                                1000, 8191, 8192, 8230, MOST_CHECKED};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    double worst = 0;
    int k;

    for (k = 0; k < 2 * SIZES && worst <= 1; k++) {
        if (k % SIZES == 0)
            make_input(k / SIZES);
        worst = fmax(worst, check_alignments(sizes[k % SIZES]));
    }
    report("checks",
           "%d sums of 0 to %d products, on all alignments of a and b",
           k * 2 * ALIGNMENTS * ALIGNMENTS, MOST_CHECKED);
    report("", "the largest error is %.2g of its bound: %s", worst,
           worst <= 1 ? "ok" : "WRONG");
    return worst <= 1;
}

/* n random products, b aligned as a and not. */
static int check_large(long long n)
{
    double worst = 0;
    int shift;

    make_input(1);
    upload(d_a, host_a, n);
    set_exact(n);
    for (shift = 1; shift >= 0; shift--) {
        upload(d_b + shift, host_b, n);
        worst = fmax(worst, check_one(d_a, d_b + shift, n, 0));
        worst = fmax(worst, check_one(d_a, d_b + shift, n, 1));
    }
    report("",
           "%lld products of random numbers: %.2g of the bound, which is %.2g "
           "of the sum of |a b|: %s",
           n, worst, dot_bound(n / VECTOR, 0), worst <= 1 ? "ok" : "WRONG");
    return worst <= 1;
}

/* --- the same bits on every run? --- */

static int compare_bits(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(float));
}

/* How many different sums 50 runs make of what d_a and d_b hold. */
static int count_sums(long long n, int in_order)
{
    enum { RUNS = 50 };
    float sums[RUNS];
    int run, different = 1;

    for (run = 0; run < RUNS; run++)
        sums[run] = dot_now(d_a, d_b, n, in_order);
    qsort(sums, RUNS, sizeof sums[0], compare_bits);
    for (run = 1; run < RUNS; run++)
        different += compare_bits(&sums[run - 1], &sums[run]) != 0;
    return different;
}

static int check_bits(long long n)
{
    int any = count_sums(n, 0), one = count_sums(n, 1);

    report("bits", "50 runs give %d %s; in order, %d: %s", any,
           any == 1 ? "sum" : "different sums", one, one == 1 ? "ok" : "WRONG");
    return one == 1;
}

/* --- all of them --- */

/* Whether all hold. Leaves random numbers in d_a and d_b. */
static int check_all(long long n, int deterministic)
{
    if (check_small() && check_large(n) && (!deterministic || check_bits(n)))
        return 1;
    complain("%s: the inner product is wrong; not timed", lesson.program);
    return 0;
}

#endif
