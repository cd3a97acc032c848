/* How long a launch may take, and whether there is time for it: a system that
 * also draws its screen with this GPU may kill a long one. */
#ifndef TIME_LIMITS_H
#define TIME_LIMITS_H

#include "cells.h"

enum { TOTAL_LIMIT_MS = 19000, LAUNCH_LIMIT_MS = 3000, WATCHDOG_MS = 500 };

/* Since the first call. */
static double elapsed_ms(void)
{
    static struct timespec began;
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    if (began.tv_sec == 0)
        began = now;
    return (double)(now.tv_sec - began.tv_sec) * 1e3 +
           (double)(now.tv_nsec - began.tv_nsec) * 1e-6;
}

/* How long the 2-byte launch may take: by the account, with 1 ns per try and
 * the largest k. Where the sum never freezes, the time grows at most with the
 * square of n, from the row before where there is one. */
static double bound_ms(const struct storm *s, long long before_n,
                       double before_ms)
{
    double in_flight = (double)blocks_each() * BLOCK_THREADS *
                       attribute_of(cudaDevAttrMultiProcessorCount);
    double n = (double)s->n;
    long long moving;

    if (s->addends != CONSTANT && before_n > 0)
        return before_ms * (n / (double)before_n) * (n / (double)before_n);
    if (s->addends != CONSTANT)
        return MOST_K * n * fmin(n, in_flight) / (double)s->cells * 1e-6;
    fp16_add_up(s->start, PRODUCT, adds_to(s, 0), &moving);
    return tries_of(n, MOST_K, (double)moving, in_flight) * 1e-6;
}

/* Whether `runs` launches of at most that long may still be made. */
static int is_affordable(double limit_ms, int runs)
{
    return limit_ms <= LAUNCH_LIMIT_MS &&
           !(limit_ms > WATCHDOG_MS &&
             attribute_of(cudaDevAttrKernelExecTimeout)) &&
           elapsed_ms() + limit_ms * runs <= TOTAL_LIMIT_MS;
}

#endif
