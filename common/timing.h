/* How the course times a kernel: CUDA events around it, seven runs, and the
 * smallest of the last five. The first two warm up; the smallest is the run
 * least disturbed. The lesson clears its output before each run, outside the
 * timed part:
 *
 *     timing_create(&t, 1, lesson.runs);
 *     while (timing_next(&t, 1)) {
 *         clear the output
 *         timing_begin(&t);
 *         launch
 *         timing_end(&t);
 *     }
 *     … timing_min_ms(&t) …
 *
 * Several kernels are timed in turns: then t is an array, and each turn of the
 * loop runs all of them. */
#ifndef TIMING_H
#define TIMING_H

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "options.h"
#include "report.h"

enum { TIMING_WARM_UP_RUNS = 2 };

struct timing {
    cudaEvent_t begin, end;
    int runs;   /* done so far */
    int wanted; /* in all; may be lowered on the way */
    float ms[LESSON_MAX_RUNS];
};

/* Prepares t[0] to t[count - 1] for `runs` runs each. */
static inline void timing_create(struct timing *t, int count, int runs)
{
    int k;

    for (k = 0; k < count; k++) {
        t[k].runs = 0;
        t[k].wanted = runs;
        CHECK(cudaEventCreate(&t[k].begin));
        CHECK(cudaEventCreate(&t[k].end));
    }
}

static inline void timing_destroy(struct timing *t)
{
    CHECK(cudaEventDestroy(t->begin));
    CHECK(cudaEventDestroy(t->end));
}

/* Whether there is a run left to be made, by t[0]; shows the progress. After
 * the last run it gives the events back: the times stay. */
static inline int timing_next(struct timing *t, int count)
{
    int k;

    show_progress(t->runs, t->wanted);
    if (t->runs < t->wanted)
        return 1;
    for (k = 0; k < count; k++)
        timing_destroy(&t[k]);
    return 0;
}

static inline void timing_begin(struct timing *t)
{
    CHECK(cudaEventRecord(t->begin, 0));
}

/* Waits for the kernel and notes its time; a fault in the kernel shows here. */
static inline void timing_end(struct timing *t)
{
    CHECK(cudaEventRecord(t->end, 0));
    CHECK(cudaEventSynchronize(t->end));
    CHECK(cudaEventElapsedTime(&t->ms[t->runs], t->begin, t->end));
    t->runs++;
}

/* How many runs count: all but the first two, and at least one. */
static inline int timing_kept(const struct timing *t)
{
    return t->runs > TIMING_WARM_UP_RUNS ? t->runs - TIMING_WARM_UP_RUNS : 1;
}

/* What took the times: cudaEvent, or in emulation the CPU's clock. */
static inline const char *timing_clock(void)
{
    return lesson.emulated ? "CPU clock" : "events";
}

static inline int timing_compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Copies the runs that count to `sorted`, smallest first; their number. */
static inline int timing_sort(const struct timing *t, float *sorted)
{
    int kept = timing_kept(t);

    memcpy(sorted, t->ms + t->runs - kept, (size_t)kept * sizeof *sorted);
    qsort(sorted, (size_t)kept, sizeof *sorted, timing_compare);
    return kept;
}

/* Milliseconds: the smallest of the runs that count. */
static inline double timing_min_ms(const struct timing *t)
{
    float sorted[LESSON_MAX_RUNS];

    timing_sort(t, sorted);
    return (double)sorted[0];
}

/* Milliseconds: their median, the mean of the middle two where they are even.
 */
static inline double timing_median_ms(const struct timing *t)
{
    float sorted[LESSON_MAX_RUNS];
    int kept = timing_sort(t, sorted);

    return ((double)sorted[(kept - 1) / 2] + (double)sorted[kept / 2]) / 2;
}

/* The largest over the smallest, less one: 0.02 says that they lie within 2%.
 */
static inline double timing_spread(const struct timing *t)
{
    float sorted[LESSON_MAX_RUNS];
    int kept = timing_sort(t, sorted);

    return (double)sorted[kept - 1] / (double)sorted[0] - 1;
}

/* The time line: `adds` is the number of atomic adds in one run. */
static inline void report_time(const struct timing *t, long long adds)
{
    double ms = timing_min_ms(t), ns_per_add = ms * 1e6 / (double)adds;

    if (t->runs == 1)
        report("time", "%.4g ms, one run; %.4g ns per add", ms, ns_per_add);
    else
        report("time",
               "%.4g ms, the smallest of the last %d of %d runs (median %.4g, "
               "spread %.1f%%); %.4g ns per add",
               ms, timing_kept(t), t->runs, timing_median_ms(t),
               100 * timing_spread(t), ns_per_add);
}

/* One row for results/, under --csv: gpu, arch, toolkit, lesson and variant;
 * then `columns`, a list of names whose values `format` prints; then how it was
 * measured (t is NULL: one run, not timed) and by whom. The first row prints
 * the header. Columns and units: results/README.md. */
static inline void csv_row(const char *variant, const struct timing *t,
                           const char *columns, const char *format, ...)
{
    static int header_printed;
    va_list values;

    if (!lesson.csv)
        return;
    if (!header_printed++)
        printf("gpu,arch,toolkit,lesson,variant,%s,how,source\n", columns);
    printf("%s,%s,%s,%d,%s,", lesson.gpu, lesson.arch, lesson.toolkit,
           lesson.number, variant);
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    if (t)
        printf(",%s: smallest of the last %d of %d runs", timing_clock(),
               timing_kept(t), t->runs);
    else
        printf(",one run; not timed");
    printf(",this repository\n");
    lesson_flush();
}

/* A row of a sum of n adds: lessons 1 to 3. */
static inline void csv_sum(const char *variant, long long n,
                           const struct timing *t, uint16_t sum)
{
    double ms = timing_min_ms(t);

    csv_row(variant, t, "n,min_ms,median_ms,ns_per_add,result",
            "%lld,%.6g,%.6g,%.4g,%.6g", n, ms, timing_median_ms(t),
            ms * 1e6 / (double)n, fp16_to_double(sum));
}

/* A row of a sweep: what the cells held at first, how many cells and threads in
 * flight there were (0: as many as fit), and the mean tries of an add (0: not
 * counted). */
static inline void csv_sweep(const char *variant, double start, long long cells,
                             long long threads, long long n,
                             const struct timing *t, double tries)
{
    double ms = timing_min_ms(t);

    csv_row(variant, t,
            "start,cells,threads,n,min_ms,median_ms,ns_per_add,tries_per_add",
            "%.6g,%lld,%lld,%lld,%.6g,%.6g,%.4g,%.6g", start, cells, threads, n,
            ms, timing_median_ms(t), ms * 1e6 / (double)n, tries);
}

#endif
