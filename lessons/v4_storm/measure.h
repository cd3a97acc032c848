/* Measures one case: its times, its tries, and whether its sums are right. */
#ifndef MEASURE_H
#define MEASURE_H

#include "cells.h"
#include "time_limits.h"

struct outcome {
    struct timing times[2]; /* of FOUR_BYTES and TWO_BYTES */
    double tries;           /* an add, by lesson 4's loop; 0: not counted */
    long long n, in_flight; /* adds, threads */
    int ok;
};

static double mean_tries(const struct storm *s)
{
    unsigned *tries = (unsigned *)host_memory(s->n, sizeof *tries);
    double sum = 0;
    long long i;

    set_cells(s);
    launch(s, COUNTED);
    CHECK(cudaMemcpy(tries, d_tries, (size_t)s->n * sizeof *tries,
                     cudaMemcpyDeviceToHost));
    for (i = 0; i < s->n; i++)
        sum += tries[i];
    free(tries);
    return sum / (double)s->n;
}

static void run_timed(const struct storm *s, int way, struct outcome *o)
{
    set_cells(s);
    timing_begin(&o->times[way]);
    launch(s, way);
    timing_end(&o->times[way]);
    o->ok &= sums_are_right(s, way);
}

/* Measures one case; in the model, only its tries. Returns 0 and does nothing
 * where it would take too long. */
static int measure(const struct storm *s, double limit_ms, struct outcome *o)
{
    int runs = lesson.emulated ? 1 : lesson.runs;
    int long_runs = limit_ms > 20 && runs > 3 ? 3 : runs;

    o->ok = 1;
    o->n = s->n;
    o->in_flight = limit_threads(s->blocks);
    if (o->in_flight > s->n)
        o->in_flight = s->n;
    if (!lesson.emulated && !is_affordable(limit_ms, long_runs + 1))
        return 0;
    timing_create(o->times, 2, s->n <= 1 << 22 ? runs : long_runs);
    while (timing_next(o->times, 2)) {
        if (o->times[TWO_BYTES].runs < long_runs)
            run_timed(s, TWO_BYTES, o);
        run_timed(s, FOUR_BYTES, o);
    }
    o->tries = 0;
    if (s->n <= MOST_COUNTED) {
        o->tries = mean_tries(s);
        o->ok &= sums_are_right(s, COUNTED);
    }
    return 1;
}

#endif
