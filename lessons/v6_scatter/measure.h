/* How far the sums are off, how far they may be, and the table of the times.
 * Host code only; C11 and CUDA C++. */
#ifndef MEASURE_H
#define MEASURE_H

#include <math.h>

#include "problem.h"
#include "report.h"
#include "timing.h"

/* --- errors --- */

/* How far a sum of m positive halves may be off, relative to the exact sum. A
 * rounding to half is off by 2^-11 of its result at most, to float by 2^-24;
 * a term passes through m - 1 of the one, as the first add, to -0, is exact,
 * and m of the other (Higham, 1993). But no add in half is off by more than
 * what it adds, so the sum itself is a bound, too, and 0.1% for rounded group
 * sums. */
static inline double bound_of(double m)
{
    double bound = expm1((m - 1) * log1p(0x1p-11) + m * log1p(0x1p-24));

    return bound < 1.001 ? bound : 1.001;
}

struct findings {
    double worst;     /* error, relative to the exact sum */
    double bound;     /* for the row that is hit most */
    double hottest;   /* the first half of that row */
    int frozen;       /* halves of that row that no add moves any more */
    double frozen_at; /* what one of them holds */
    int ok;
};

static inline struct findings examine(struct problem *p, int variant)
{
    struct findings f = {0, 0, 0, 0, 0, 1};
    int width = p->s.width, k;
    long long row;

    fetch_result(p);
    f.ok = rest_is_untouched(p);
    for (row = 0; row < p->s.table_rows; row++) {
        const uint16_t *got = p->result + p->before + row * width;
        double bound = bound_of((double)p->hits[row]);
        for (k = 0; k < width && p->hits[row] > 0; k++) {
            double exact = p->sum[row * width + k];
            double error = fabs(fp16_to_double(got[k]) - exact) / exact;
            f.ok &= error <= bound;
            if (!(error <= f.worst))
                f.worst = error;
            if (row == p->hottest && variant < GROUPED &&
                fp16_add(got[k], fp16_from_double(p->largest)) == got[k]) {
                f.frozen++;
                f.frozen_at = fp16_to_double(got[k]);
            }
        }
    }
    if (!f.ok)
        fprintf(stderr, "%s: %s is wrong\n", lesson.program,
                variant_names[variant]);
    f.bound = bound_of((double)p->hits[p->hottest]);
    f.hottest = fp16_to_double(p->result[p->before + p->hottest * width]);
    return f;
}

/* --- the table --- */

static struct {
    int rows, frozen, unbounded;
} printed;

/* "ok" would say too much of a sum that no add moves any more, or where the
 * bound allows any error. */
static inline const char *verdict_of(const struct findings *f)
{
    int frozen = f->frozen > 0, unbounded = !frozen && f->bound >= 1;

    printed.rows++;
    printed.frozen += frozen;
    printed.unbounded += unbounded;
    return !f->ok ? "WRONG" : frozen ? "frozen" : unbounded ? "no bound" : "ok";
}

static inline void print_row(const struct problem *p, int pattern, int variant,
                             const struct timing *t, const struct findings *f)
{
    double ms = timing_min_ms(t), ns_per_row = ms * 1e6 / (double)p->s.rows;
    char name[24];

    report("", "%-8s %10.4f %10.2f %10.6g %11.3f%% %8.2f%%   %s",
           variant_names[variant], ms, ns_per_row, f->hottest, 100 * f->worst,
           100 * f->bound, verdict_of(f));
    snprintf(name, sizeof name, "v6_%s", variant_names[variant]);
    csv_row(name, t,
            "indices,rows,width,table_rows,min_ms,median_ms,ns_per_row,"
            "worst_error,bound",
            "%s,%lld,%d,%lld,%.6g,%.6g,%.4g,%.4g,%.4g", pattern_names[pattern],
            p->s.rows, p->s.width, p->s.table_rows, ms, timing_median_ms(t),
            ns_per_row, f->worst, f->bound);
}

/* One kind of indices: a row for each variant. Returns whether all are right.
 */
static inline int report_variants(const struct problem *p, int pattern,
                                  const struct timing *t,
                                  const struct findings *f)
{
    int v, ok = 1;

    report(pattern_names[pattern],
           "%lld rows of the table are hit, the hottest one %lld times; its "
           "first half should be %.6g",
           p->touched, p->hits[p->hottest], p->sum[p->hottest * p->s.width]);
    report("", "%-8s %10s %10s %10s %12s %9s", "", "ms", "ns per row",
           "first half", "worst error", "bound");
    for (v = 0; v < VARIANTS; v++) {
        print_row(p, pattern, v, &t[v], &f[v]);
        ok &= f[v].ok;
    }
    if (f[VECTOR].frozen > 0)
        report("",
               "frozen, without grouping: adding %.6g to %.6g rounds back, in "
               "%d of %d halves of that row",
               p->largest, f[VECTOR].frozen_at, f[VECTOR].frozen, p->s.width);
    return ok;
}

static inline void report_result(int ok)
{
    char notes[64] = "";

    if (printed.frozen + printed.unbounded > 0)
        snprintf(notes, sizeof notes,
                 "; of %d rows, %d froze and %d have no bound", printed.rows,
                 printed.frozen, printed.unbounded);
    report("result", "%s%s",
           ok ? "all sums within their bounds, nothing else touched: ok"
              : "WRONG",
           ok ? notes : "");
}

#endif
