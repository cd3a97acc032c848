/* How the course times a kernel: CUDA events around it, seven runs, and the
 * smallest of the last five. The first two warm up; the smallest is the run
 * least disturbed. The lesson clears its output before each run, outside the
 * timed part:
 *
 *     timing_create(&t);
 *     for (run = 0; run < runs; run++) {
 *         clear the output
 *         timing_begin(&t);
 *         launch
 *         timing_end(&t);
 *     }
 *     … timing_min_ms(&t) …
 *     timing_destroy(&t); */
#ifndef TIMING_H
#define TIMING_H

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include "lesson.h"

enum { TIMING_WARM_UP_RUNS = 2 };

struct timing {
    cudaEvent_t begin, end;
    int runs; /* done so far */
    float ms[LESSON_MAX_RUNS];
};

static inline void timing_create(struct timing *t)
{
    t->runs = 0;
    CHECK(cudaEventCreate(&t->begin));
    CHECK(cudaEventCreate(&t->end));
}

static inline void timing_destroy(struct timing *t)
{
    CHECK(cudaEventDestroy(t->begin));
    CHECK(cudaEventDestroy(t->end));
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
        report("time", "%.4g ms, one run; %.4g ns an add", ms, ns_per_add);
    else
        report("time",
               "%.4g ms, the smallest of the last %d of %d runs (median %.4g, "
               "spread %.1f%%); %.4g ns an add",
               ms, timing_kept(t), t->runs, timing_median_ms(t),
               100 * timing_spread(t), ns_per_add);
}

/* One row for results/; the first call prints the header. Columns and units:
 * results/README.md. */
static inline void csv_row(const char *variant, long long n,
                           const struct timing *t, uint16_t sum)
{
    static int header_printed;
    double ms = timing_min_ms(t);

    if (!lesson.csv)
        return;
    if (!header_printed)
        printf("gpu,arch,toolkit,lesson,variant,n,min_ms,median_ms,"
               "ns_per_add,result,how,source\n");
    header_printed = 1;
    printf("%s,%s,%s,%d,%s,%lld,%.6g,%.6g,%.4g,%.6g,"
           "%s: smallest of the last %d of %d runs,this repository\n",
           lesson.gpu, lesson.arch, lesson.toolkit, lesson.number, variant, n,
           ms, timing_median_ms(t), ms * 1e6 / (double)n, fp16_to_double(sum),
           timing_clock(), timing_kept(t), t->runs);
}

/* One row of a sweep: as csv_row(), with what the cells held at first, how many
 * cells and threads in flight there were (0: as many as fit), and the mean
 * tries of an add (0: not counted). */
static inline void csv_sweep_row(const char *variant, double start,
                                 long long cells, long long threads,
                                 long long n, const struct timing *t,
                                 double tries)
{
    static int header_printed;
    double ms = timing_min_ms(t);

    if (!lesson.csv)
        return;
    if (!header_printed)
        printf("gpu,arch,toolkit,lesson,variant,start,cells,threads,n,min_ms,"
               "median_ms,ns_per_add,tries_per_add,how,source\n");
    header_printed = 1;
    printf("%s,%s,%s,%d,%s,%.6g,%lld,%lld,%lld,%.6g,%.6g,%.4g,%.6g,"
           "%s: smallest of the last %d of %d runs,this repository\n",
           lesson.gpu, lesson.arch, lesson.toolkit, lesson.number, variant,
           start, cells, threads, n, ms, timing_median_ms(t),
           ms * 1e6 / (double)n, tries, timing_clock(), timing_kept(t),
           t->runs);
}

#endif
