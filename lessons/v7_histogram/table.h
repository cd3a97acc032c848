/* The table: how fast each way counts each kind of data. */
#ifndef TABLE_H
#define TABLE_H

#include "check.h"
#include "timing.h"

enum { LONG_MS = 20, LONG_RUNS = 3 }; /* so long a launch runs three times */

static int measure(const struct variant *v, int kind, struct timing *t,
                   count64 *total)
{
    int ok = 1;

    timing_create(t, 1, lesson.runs);
    while (timing_next(t, 1)) {
        clear_counts(v);
        timing_begin(t);
        launch(v, data[kind].d_bytes);
        timing_end(t);
        ok &= counts_are_right(v, kind, total);
        if (t->ms[0] > LONG_MS && t->wanted > LONG_RUNS)
            t->wanted = LONG_RUNS;
    }
    return ok;
}

static void csv_histogram(const struct variant *v, int kind,
                          const struct timing *t, count64 total)
{
    double ms = timing_min_ms(t);

    csv_row(v->name, t, "data,bins,n,min_ms,median_ms,ns_per_add,counted",
            "%s,%lld,%lld,%.6g,%.6g,%.4g,%llu", kinds[kind], work.bins,
            bytes_of(v), ms, timing_median_ms(t),
            ms * 1e6 / (double)bytes_of(v), total);
}

/* A row of the table: bytes per nanosecond for each kind of data. Returns
 * whether all counts are right. */
static int report_row(const struct variant *v)
{
    static struct timing t;
    double rate[KINDS];
    count64 total;
    int kind, ok = 1;

    for (kind = 0; kind < KINDS; kind++) {
        ok &= measure(v, kind, &t, &total);
        rate[kind] = (double)bytes_of(v) / timing_min_ms(&t) * 1e-6;
        csv_histogram(v, kind, &t, total);
    }
    report("", "%-31s %9lld %9.4g %9.4g %9.4g   %s", v->what, bytes_of(v),
           rate[RANDOM], rate[SKEWED], rate[CONSTANT], ok ? "ok" : "WRONG");
    if (!ok)
        fprintf(stderr, "%s: %s: the counts are not the CPU's\n",
                lesson.program, v->what);
    return ok;
}

#endif
