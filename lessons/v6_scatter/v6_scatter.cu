/* Lesson 7, v6_scatter: rows of halves are added into a table at given indices,
 * as the gradient of an embedding is. How fast can it be, and is it right?
 *
 * Answer: 16 bytes per add, and one add for many rows where rows meet. Grouping
 * the rows of a block by their index does both, and sums in float on the way.
 * What is then added in half still rounds: lesson 10 mends that.
 *
 * Build it alone:  nvcc -arch=native -Icommon -Iinclude -o lesson7 \
 *                      lessons/v6_scatter/v6_scatter.cu
 * It first checks five variants bit for bit on small tables. Then it times them
 * on uniform indices, on Zipf's and on all rows into one, and prints the worst
 * error of each beside the bound that it must keep, and which sums froze. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "checks.h"
#include "device.h"
#include "half_atomics.h"
#include "loads.h"
#include "measure.h"
#include "options.h"
#include "problem.h"
#include "report.h"
#include "timing.h"

enum {
    TEAM = 32, /* threads that share a row */
    TEAMS = 8, /* rows in a block */
    GROUP_TEAMS = 4,
    GROUP_ROWS = GROUP_TEAMS * TEAM,  /* one for each thread of the block */
    SLICE = GROUP_ROWS / GROUP_TEAMS, /* of the sorted rows, for each team */
    AHEAD = 8                         /* loads in flight for each thread */
};

/* --- the kernels; struct scatter stands in problem.h --- */

static __device__ size_t length_of(struct scatter s)
{
    return (size_t)(s.table_rows * s.width);
}

static __global__ void scatter_2byte(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    for (column = (int)threadIdx.x; column < s.width; column += TEAM)
        atomicAdd(s.table + row * s.width + column,
                  s.gradient[i * s.width + column]);
}

static __global__ void scatter_fast(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    for (column = (int)threadIdx.x; column < s.width; column += TEAM)
        half_atomic_add(s.table, (size_t)(row * s.width + column), length_of(s),
                        s.gradient[i * s.width + column]);
}

static __global__ void scatter_half2(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    column = 2 * (int)threadIdx.x - skew_of(s, row, 2);
#pragma unroll 1 /* 28 registers, not 51: more threads in flight */
    for (; column < s.width; column += 2 * TEAM)
        half_atomic_add2(s.table, (size_t)(row * s.width + column),
                         length_of(s),
                         load_pair(s.gradient + i * s.width, s.width, column));
}

static __global__ void scatter_vector(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    column = 8 * (int)threadIdx.x - skew_of(s, row, 8);
    for (; column < s.width; column += 8 * TEAM) {
        struct eight value =
            load_eight(s.gradient + i * s.width, s.width, column);
        half_atomic_add8(s.table, (size_t)(row * s.width + column),
                         length_of(s), value.pair);
    }
}

/* The rows of a block in the order of their targets. */
struct sorted_rows {
    int target[GROUP_ROWS]; /* rows of the table, or -1 */
    int place[GROUP_ROWS]; /* of each in the gradient, from the block's first */
};

/* Each thread finds the place of one row, by counting those before it. */
static __device__ void sort_rows(const int *target, struct sorted_rows *sorted,
                                 int me)
{
    int k, before = 0;

    for (k = 0; k < GROUP_ROWS; k++)
        before += target[k] < target[me] + (k < me);
    sorted->target[before] = target[me];
    sorted->place[before] = me;
}

/* Adds the sums to group `group` of row `row`, and clears them. */
static __device__ void flush_sums(struct scatter s, int row, int group,
                                  float *sum)
{
    int column = 8 * group - skew_of(s, row, 8), k;
    long long at = (long long)row * s.width + column;
    struct eight value;

    for (k = 0; k < 4; k++)
        value.pair[k] = __halves2half2(__float2half_rn(sum[2 * k]),
                                       __float2half_rn(sum[2 * k + 1]));
    if (column < s.width)
        half_atomic_add8(s.table, (size_t)at, length_of(s), value.pair);
    for (k = 0; k < 8; k++)
        sum[k] = -0.0f; /* as the padding: x + -0 is x */
}

/* Loads what a thread adds of the next AHEAD rows: all of it before any of it
 * is used, so that the loads overlap. */
static __device__ void load_ahead(struct scatter s, const half *gradient,
                                  const struct sorted_rows *sorted, int from,
                                  int group, struct eight *ahead)
{
    int a;

    for (a = 0; a < AHEAD && s.aligned; a++)
        if (sorted->target[from + a] >= 0)
            ahead[a] = load_aligned(
                gradient + sorted->place[from + a] * s.width + 8 * group);
    for (a = 0; a < AHEAD && !s.aligned; a++)
        if (sorted->target[from + a] >= 0)
            ahead[a] = load_eight(
                gradient + sorted->place[from + a] * s.width, s.width,
                8 * group - skew_of(s, sorted->target[from + a], 8));
}

static __device__ void add_to_sums(float *sum, struct eight value)
{
    int k;

    for (k = 0; k < 4; k++) {
        sum[2 * k] += __half2float(__low2half(value.pair[k]));
        sum[2 * k + 1] += __half2float(__high2half(value.pair[k]));
    }
}

/* One thread's part: 8 columns of a slice of the sorted rows. Those of one
 * target follow each other; they are summed in float, and added once. */
static __device__ void sum_slice(struct scatter s, const half *gradient,
                                 const struct sorted_rows *sorted, int from,
                                 int group)
{
    float sum[8] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
    struct eight ahead[AHEAD];
    int row = -1, end = from + SLICE, a;

    for (; from < end; from += AHEAD) {
        load_ahead(s, gradient, sorted, from, group, ahead);
        for (a = 0; a < AHEAD; a++) {
            int next = sorted->target[from + a];
            if (next != row && row >= 0)
                flush_sums(s, row, group, sum);
            row = next;
            if (row >= 0)
                add_to_sums(sum, ahead[a]);
        }
    }
    if (row >= 0)
        flush_sums(s, row, group, sum);
}

static __global__ void scatter_grouped(struct scatter s)
{
    __shared__ int target[GROUP_ROWS];
    __shared__ struct sorted_rows sorted;
    long long first = (long long)blockIdx.x * GROUP_ROWS;
    int me = (int)(threadIdx.y * TEAM + threadIdx.x);
    int group;

    target[me] = (int)target_row(s, first + me);
    __syncthreads();
    sort_rows(target, &sorted, me);
    __syncthreads();
    for (group = (int)threadIdx.x; group < s.groups; group += TEAM)
        sum_slice(s, s.gradient + first * s.width, &sorted,
                  (int)threadIdx.y * SLICE, group);
}

static void launch(int variant, struct scatter s)
{
    unsigned blocks = blocks_for(s.rows, TEAMS);
    unsigned groups = blocks_for(s.rows, GROUP_ROWS);
    dim3 block = {TEAM, TEAMS, 1}, group_block = {TEAM, GROUP_TEAMS, 1};

    if (variant == BY_2BYTE)
        scatter_2byte<<<blocks, block>>>(s);
    else if (variant == FAST)
        scatter_fast<<<blocks, block>>>(s);
    else if (variant == HALF2)
        scatter_half2<<<blocks, block>>>(s);
    else if (variant == VECTOR)
        scatter_vector<<<blocks, block>>>(s);
    else
        scatter_grouped<<<groups, group_block>>>(s);
    CHECK(cudaGetLastError());
}

/* --- the measurement --- */

/* Times the variants in turns; the first run of each is examined. */
static int measure(struct problem *p, int pattern)
{
    static struct timing t[VARIANTS];
    static struct findings f[VARIANTS];
    int v;

    set_indices(p, pattern, 0);
    timing_create(t, VARIANTS, lesson.runs);
    while (timing_next(t, VARIANTS))
        for (v = 0; v < VARIANTS; v++) {
            clear_table(p);
            timing_begin(&t[v]);
            launch(v, p->s);
            timing_end(&t[v]);
            if (t[v].runs == 1)
                f[v] = examine(p, v);
        }
    return report_variants(p, pattern, t, f);
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long rows = 0, width = 0, table_rows = 0, skew = 0, only = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &rows, 1, 1LL << 29,
         "rows to add (65536; in emulation 8192)"},
        {"--width", NULL, &width, 1, 1LL << 20, "halves in a row (768; 96)"},
        {"--table", NULL, &table_rows, 1, (1LL << 31) - 1,
         "rows of the table (50257; 6282)"},
        {"--offset", NULL, &skew, 0, 1024,
         "start both arrays N halves later (0)"},
        {"--index", "all|uniform|zipf|one", &only, 0, 0,
         "where the rows go (all)"},
    };
    struct problem p;
    int pattern, ok = 1;

    lesson_begin(7, "v6_scatter", "the gradient of an embedding, row by row",
                 argc, argv, options, 5);
    report_device();
    rows = rows ? rows : lesson.emulated ? 8192 : 65536;
    width = width ? width : lesson.emulated ? 96 : 768;
    table_rows = table_rows ? table_rows : lesson.emulated ? 6282 : 50257;
    if (!check_small()) {
        fprintf(stderr, "%s: not timed\n", lesson.program);
        return EXIT_WRONG;
    }
    create_problem(&p, rows, (int)width, table_rows, (int)skew, (int)skew);
    report("work", "%lld rows of %lld halves are added to a table of %lld rows",
           rows, width, table_rows);
    fill_fractions(&p);
    for (pattern = 0; pattern < PATTERNS; pattern++)
        if (only == 0 || only == pattern + 1)
            ok &= measure(&p, pattern);
    report_result(ok);
    destroy_problem(&p);
    return ok ? 0 : EXIT_WRONG;
}
