/* The ladder's table, for elements of 0.1: what the sum of each step must be,
 * and how long it takes. */
#ifndef LADDER_H
#define LADDER_H

#include <math.h>
#include <string.h>

#include "bound.h"
#include "input.h"
#include "timing.h"

enum type { HALF, BF16, FLOAT };
enum step {
    HALF_THREAD,
    BF16_THREAD,
    FLOAT_THREAD,
    HALF_BLOCK,
    FLOAT_BLOCK,
    FULL,
    FULL_SHIFTED,
    FULL_IN_ORDER,
    STEPS
};

/* What each adds to: a cell of `type`, in parts of `products` products. */
static const struct {
    const char *variant, *name;
    int type, products;
} steps[STEPS] = {
    {"half_a_thread", "half, one per thread", HALF, 1},
    {"bf16_a_thread", "bf16, one per thread", BF16, 1},
    {"float_a_thread", "float, one per thread", FLOAT, 1},
    {"half_a_block", "half, one per block", HALF, BLOCK_THREADS},
    {"float_a_block", "float, one per block", FLOAT, BLOCK_THREADS},
    {"v5_reduce", "full", FLOAT, 0},
    {"v5_reduce_shifted", "full, b 2 bytes off", FLOAT, 0},
    {"v5_reduce_in_order", "full, in order", FLOAT, 0},
};

/* Adds n products in this step's way to d_cell; stands in the lesson's file. */
static void launch(int step, long long n);

/* The sum of one launch. */
static double read_sum(int step)
{
    uint32_t bits;
    float sum;

    CHECK(cudaMemcpy(&bits, d_cell, sizeof bits, cudaMemcpyDeviceToHost));
    if (steps[step].type == HALF)
        return fp16_to_double((uint16_t)bits);
    if (steps[step].type == BF16) /* the upper half of a float */
        bits <<= 16;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static double round_to(int type, double value)
{
    return type == HALF ? fp16_to_double(fp16_from_double(value))
           : type == BF16
               ? (double)__bfloat162float(__float2bfloat16_rn((float)value))
               : (double)(float)value;
}

/* The sum after one add more of a whole part. */
static double add_part(int step, double sum)
{
    double tenth = fp16_to_double(TENTH);
    double part = tenth * tenth * steps[step].products;

    return round_to(steps[step].type, sum + round_to(steps[step].type, part));
}

/* All parts are equal, so their order does not matter: add until `parts` are
 * added or the sum stops moving. */
static double add_up(int step, long long parts)
{
    double sum = 0, next;

    for (; parts > 0 && (next = add_part(step, sum)) != sum; parts--)
        sum = next;
    return sum;
}

struct range {
    double low, high;
};

/* What this step must make of n products, right or wrong. The last part may be
 * a smaller one, at any turn: then the sum lies between the one without it and
 * the one with a whole part instead, since rounding keeps the order. */
static struct range expected_sum(int step, long long n)
{
    int products = steps[step].products;
    double bound = exact.size * dot_bound(n / VECTOR, step == FULL_IN_ORDER);
    struct range r = {exact.sum - bound, exact.sum + bound};

    if (products > 0) {
        r.low = r.high = add_up(step, n / products);
        if (n % products != 0)
            r.high = add_up(step, n / products + 1);
    }
    return r;
}

/* One row for results/, where t is NULL without times. */
static void csv_step(int step, long long n, const struct timing *t,
                     double copy_ms, double sum, double error)
{
    double ms = t ? timing_min_ms(t) : 0;

    csv_row(steps[step].variant, t,
            "n,min_ms,median_ms,gb_per_s,of_copy,result,error",
            "%lld,%.6g,%.6g,%.5g,%.4g,%.9g,%.3g", n, ms,
            t ? timing_median_ms(t) : 0, t ? 4e-6 * (double)n / ms : 0,
            t ? copy_ms / ms : 0, sum, error);
}

/* A copy of a vector moves as many bytes as an inner product reads. */
static double time_copy(long long n)
{
    static struct timing t;

    timing_create(&t, 1, lesson.runs);
    while (timing_next(&t, 1)) {
        timing_begin(&t);
        CHECK(cudaMemcpy(d_b, d_a, (size_t)n * sizeof(half),
                         cudaMemcpyDeviceToDevice));
        timing_end(&t);
    }
    report("copy", "%lld bytes read and as many written: %.4g ms, %.0f GB/s",
           2 * n, timing_min_ms(&t), 4e-6 * (double)n / timing_min_ms(&t));
    return timing_min_ms(&t);
}

/* Times one step and prints its row. Returns whether all sums are as expected.
 */
static int climb(int step, long long n, double copy_ms)
{
    static struct timing t;
    struct range r = expected_sum(step, n);
    int runs = lesson.emulated ? 1 : lesson.runs; /* its times mean nothing */
    int ok = 1;
    double sum = 0, ms, error;

    timing_create(&t, 1, runs);
    while (timing_next(&t, 1)) {
        CHECK(cudaMemset(d_cell, 0, 4));
        timing_begin(&t);
        launch(step, n);
        timing_end(&t);
        sum = read_sum(step);
        ok &= sum >= r.low && sum <= r.high;
    }
    ms = timing_min_ms(&t);
    error = fabs(sum - exact.sum) / exact.sum;
    report("", "%-21s %8.4g %8.4g %8.3g%% %12.9g %9.2g%s", steps[step].name, ms,
           4e-6 * (double)n / ms, 100 * copy_ms / ms, sum, error,
           !ok                                                      ? "  WRONG"
           : steps[step].products > 0 && add_part(step, sum) == sum ? "  frozen"
                                                                    : "");
    csv_step(step, n, &t, copy_ms, sum, error);
    return ok;
}

/* d_a and d_b hold 0.1 in all of their elements. */
static int climb_all(long long n, int steps_to_climb)
{
    double copy_ms = time_copy(n);
    int step, ok = 1;

    set_exact(n);
    report("work", "%lld products of 0.1 and 0.1 in half; their sum is %.9g", n,
           exact.sum);
    report("", "%-21s %8s %8s %9s %12s %9s", "", "ms", "GB/s", "of copy", "sum",
           "error");
    for (step = 0; step < steps_to_climb; step++)
        if (step != BF16_THREAD)
            ok &= climb(step, n, copy_ms);
    return ok;
}

#endif
