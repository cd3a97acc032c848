/* Whether all of the table is right, and the table of the times. Host code
 * only; C11 and CUDA C++. */
#ifndef MEASURE_H
#define MEASURE_H

#include <math.h>

#include "report.h"
#include "scratch.h"
#include "timing.h"

enum way { ATOMIC, ROWS, WAYS };

static const char *const way_names[WAYS] = {"atomic", "rows"};

static void launch(int way, struct scatter s, struct scratch w,
                   int blocks); /* the lesson's */

struct findings {
    double worst;    /* error, relative to the exact sum */
    long long wrong; /* halves that are not the exact sum, rounded once */
    int ok;          /* the rest is untouched */
};

/* After a scatter of positive halves into a table of -0. */
static inline struct findings examine(struct problem *p)
{
    struct findings f = {0, 0, 1};
    int width = p->s.width, k;
    long long row;

    fetch_result(p);
    f.ok = rest_is_untouched(p);
    for (row = 0; row < p->s.table_rows; row++)
        for (k = 0; k < width && p->hits[row] > 0; k++) {
            uint16_t got = p->result[p->before + row * width + k];
            double exact = p->sum[row * width + k];
            double error = fabs(fp16_to_double(got) - exact) / exact;
            if (!(error <= f.worst))
                f.worst = error;
            f.wrong += got != fp16_from_double(exact);
        }
    return f;
}

/* Blocks for the sums: as many as keep this GPU busy, or others. */
static inline int grid(int which)
{
    int processors = attribute_of(cudaDevAttrMultiProcessorCount);

    return which == 0 ? 16 * processors : which == 1 ? 1 : 7 * processors + 3;
}

/* Whether `more` runs on three grids give what the right one did that was
 * fetched last. */
static inline int check_again(struct problem *p, struct scratch w,
                              long long more)
{
    size_t bytes = (size_t)p->halves * sizeof *p->result;
    uint16_t *first = (uint16_t *)host_memory(p->halves, sizeof *first);
    long long run, other = 0;

    memcpy(first, p->result, bytes);
    for (run = 0; run < more; run++) {
        clear_table(p);
        launch(ROWS, p->s, w, grid((int)(run % 3)));
        fetch_result(p);
        other += memcmp(first, p->result, bytes) != 0;
    }
    free(first);
    if (more > 0)
        report("", "%lld more run%s%s: %s", more, more > 1 ? "s" : "",
               more > 2 ? ", on three grids" : "",
               other > 0 ? "NOT the same bits" : "the same bits");
    return other == 0;
}

static inline void print_row(const struct problem *p, int pattern, int way,
                             const struct timing *t, const struct findings *f)
{
    double ms = timing_min_ms(t), ns_per_row = ms * 1e6 / (double)p->s.rows;
    char name[24];

    report("", "%-8s %10.4f %10.2f %12.3f%% %10lld", way_names[way], ms,
           ns_per_row, 100 * f->worst, f->wrong);
    snprintf(name, sizeof name, "v9_%s", way_names[way]);
    csv_row(name, t,
            "indices,rows,width,table_rows,min_ms,median_ms,ns_per_row,"
            "worst_error,wrong",
            "%s,%lld,%d,%lld,%.6g,%.6g,%.4g,%.4g,%lld", pattern_names[pattern],
            p->s.rows, p->s.width, p->s.table_rows, ms, timing_median_ms(t),
            ns_per_row, f->worst, f->wrong);
}

/* Times both ways in turns; the first run of each is examined, the right way
 * last. */
static inline int measure(struct problem *p, struct scratch w, int pattern,
                          long long more)
{
    static struct timing t[WAYS];
    static struct findings f[WAYS];
    int way;

    set_indices(p, pattern, 0);
    timing_create(t, WAYS, lesson.runs);
    while (timing_next(t, WAYS))
        for (way = 0; way < WAYS; way++) {
            clear_table(p);
            timing_begin(&t[way]);
            launch(way, p->s, w, grid(0));
            timing_end(&t[way]);
            if (t[way].runs == 1)
                f[way] = examine(p);
        }
    report(pattern_names[pattern],
           "%lld rows of the table are hit, the hottest one %lld times",
           p->touched, p->hits[p->hottest]);
    report("", "%-8s %10s %10s %13s %10s", "", "ms", "ns per row",
           "worst error", "not exact");
    for (way = 0; way < WAYS; way++)
        print_row(p, pattern, way, &t[way], &f[way]);
    if (f[ROWS].wrong > 0 || !f[ROWS].ok || !f[ATOMIC].ok)
        complain("%s: %s is wrong", lesson.program,
                 way_names[f[ATOMIC].ok ? ROWS : ATOMIC]);
    return f[ATOMIC].ok && f[ROWS].ok && f[ROWS].wrong == 0 &&
           check_again(p, w, more);
}

static inline void report_work(struct scatter s, size_t scratch_bytes)
{
    report("work", "%lld rows of %d halves are added to a table of %lld rows",
           s.rows, s.width, s.table_rows);
    report(
        "", "the gradient has %.1f MB, the table %.1f MB, the scratch %.1f MB",
        (double)(s.rows * s.width) * 2e-6,
        (double)(s.table_rows * s.width) * 2e-6, (double)scratch_bytes * 1e-6);
}

#endif
