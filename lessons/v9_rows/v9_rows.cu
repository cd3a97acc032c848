/* Lesson 10, v9_rows: rows are added to a table, as in lesson 7. Can the sums
 * be right, and fast as well?
 *
 * Answer: yes, without an atomic add to the table. Rows that go to the same
 * target are put next to each other, by counting. One warp adds them up in
 * double, where sums of halves are exact, in any order, and rounds once.
 *
 * Build it alone:  nvcc -arch=native -Icommon -Iinclude -o lesson10 \
 *                      lessons/v9_rows/v9_rows.cu
 * It first checks small scatters, bit for bit. Then it times a large one beside
 * lesson 7's atomic adds, holds every half of the table against the exact sum,
 * rounded once, and compares the bits of more runs, on other grids. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "checks.h"
#include "half_atomics.h"
#include "measure.h"
#include "options.h"
#include "scratch.h"
#include "terms.h"

enum {
    COUNT_THREADS = 1024, /* of a block that looks at indices */
    PLACE_THREADS = 256,
    SLOTS = 2048,          /* targets that such a block can count by itself */
    WARPS = PIECE / LANES, /* of a block that adds up */
    AHEAD = 8              /* loads in flight for each thread */
};

/* --- which rows go together; struct scratch stands in scratch.h --- */

/* Counts the rows of each target, and gives each row its number among them, in
 * whatever order they come. Where many rows go to one target, its counter would
 * be a hot cell, as lesson 1's. So a block first counts in shared memory: each
 * target has a slot there, and one of those with the same slot gets it. */
static __global__ void count_rows(struct scatter s, struct scratch w)
{
    __shared__ int owner[SLOTS];
    __shared__ unsigned count[SLOTS];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int target = (int)target_row(s, i), slot = target & (SLOTS - 1), k, owns;
    unsigned number = 0;

    for (k = (int)threadIdx.x; k < SLOTS; k += COUNT_THREADS)
        count[k] = 0;
    if (target >= 0)
        atomicExch(&owner[slot], target);
    if (i < USES)
        w.used[i] = 0;
    __syncthreads();
    owns = target >= 0 && owner[slot] == target;
    if (owns)
        number = atomicAdd(&count[slot], 1u);
    __syncthreads();
    if (owns && number == 0)
        count[slot] = atomicAdd(&w.targets[target].rows, count[slot]);
    else if (target >= 0 && !owns)
        w.number[i] = atomicAdd(&w.targets[target].rows, 1u);
    __syncthreads();
    if (owns)
        w.number[i] = count[slot] + number;
}

/* The first row of each target finds places for all of its rows, behind those
 * of other targets, which come in any order. A target of more than COLD rows is
 * hot: its places are whole pieces, and apart. */
static __global__ void find_places(struct scatter s, struct scratch w)
{
    __shared__ unsigned taken[USES]; /* by the block; then, what is before it */
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int target = (int)target_row(s, i), me = (int)threadIdx.x;
    int is_first = target >= 0 && w.number[i] == 0;
    unsigned rows = is_first ? w.targets[target].rows : 0, at = 0;
    unsigned places = rows > COLD ? (rows - 1) / PIECE + 1 : rows;
    int use = rows > COLD ? HOT_PIECES : COLD_ROWS;

    if (me < USES)
        taken[me] = 0;
    __syncthreads();
    if (is_first)
        at = atomicAdd(&taken[use], places);
    __syncthreads();
    if (me < USES)
        taken[me] = atomicAdd(&w.used[me], taken[me]);
    __syncthreads();
    if (is_first)
        w.targets[target].at = at + taken[use];
}

/* Puts each row in its place, and says whose each piece of a hot target is. */
static __global__ void place_rows(struct scatter s, struct scratch w)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int target = (int)target_row(s, i);

    if (target >= 0) {
        struct target t = w.targets[target];
        struct place p = {(unsigned)i, target, t.at, t.rows};
        unsigned number = w.number[i];
        if (t.rows <= COLD)
            w.cold[t.at + number] = p;
        else
            w.hot_rows[(long long)t.at * PIECE + number] = p.row;
        if (t.rows > COLD && number % PIECE == 0)
            w.hot[t.at + number / PIECE] = p;
    }
}

/* --- their sums --- */

/* Writes the sum of eight columns, the only rounding, and begins a new one. */
static __device__ void finish_sum(struct scatter s, struct scratch w,
                                  int target, int group, double *sum)
{
    int k;

    store_eight(s.table + (long long)target * s.width, s.width,
                8 * group - skew_of(s, target, 8), sum);
    for (k = 0; k < 8; k++)
        sum[k] = 0;
    if (group == 0)
        w.targets[target].rows = 0; /* for the next call */
}

/* Adds eight columns of the terms: all loads before the first add. A half is a
 * whole number of 2^-24, below 2^40, and a double holds every whole number up
 * to 2^53. So 2^13 halves are added exactly, in any order. */
static __device__ void add_terms(struct scatter s, struct scratch w,
                                 const struct term *list, int terms, int group,
                                 double *sum)
{
    struct eight value[AHEAD];
    int t, a;

    for (t = 0; t < terms; t += AHEAD) {
        for (a = 0; a < AHEAD; a++)
            if (t + a < terms)
                value[a] = load_term(s, list[t + a], group);
        for (a = 0; a < AHEAD; a++) {
            if (t + a >= terms)
                continue;
            add_eight(sum, value[a]);
            if (list[t + a].target >= 0)
                finish_sum(s, w, list[t + a].target, group, sum);
        }
    }
}

/* A warp for each COLD places and 8 columns for each lane. */
static __global__ void __launch_bounds__(PIECE, 6)
    add_cold(struct scatter s, struct scratch w)
{
    __shared__ struct term lists[WARPS][3 * COLD];
    struct term *list = lists[threadIdx.y];
    unsigned n = blockIdx.x * WARPS + threadIdx.y;

    for (; n / w.chunks * COLD < w.used[COLD_ROWS]; n += gridDim.x * WARPS) {
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        int group = (int)(n % w.chunks * LANES + threadIdx.x);
        int terms = list_terms(s, w, n / w.chunks * COLD, list);
        if (group < s.groups)
            add_terms(s, w, list, terms, group, sum);
        __syncwarp(0xffffffff);
    }
}

/* Adds the sums of a piece to those of its target: multiples of 256, and the
 * rest apart, so that both are exact for up to 2^29 rows. Whoever comes last
 * gets them, and leaves 0: then this returns 1. */
static __device__ int merge(struct scatter s, struct scratch w, struct place p,
                            unsigned rows, int group, double *sum)
{
    long long slot = p.first / 2; /* it has at least two pieces */
    double *low = w.sums + slot * 16 * s.groups + group;
    double *high = low + 8 * s.groups;
    unsigned *done = w.done + slot * s.groups + group;
    int k;

    for (k = 0; k < 8; k++) {
        double coarse = 256 * rint(sum[k] / 256);
        int is_finite = coarse - coarse == 0;
        atomicAdd(&low[k * s.groups], is_finite ? sum[k] - coarse : 0);
        if (coarse != 0)
            atomicAdd(&high[k * s.groups], coarse);
    }
    __threadfence(); /* the sums before the count */
    if (atomicAdd(done, rows) + rows < p.rows)
        return 0;
    __threadfence(); /* the count before the sums */
    atomicExch(done, 0u);
    for (k = 0; k < 8; k++)
        sum[k] =
            take_double(&low[k * s.groups]) + take_double(&high[k * s.groups]);
    return 1;
}

/* A block for each piece and 8 columns for each lane; a warp for each LANES
 * rows of it. */
static __global__ void __launch_bounds__(PIECE, 6)
    add_hot(struct scatter s, struct scratch w)
{
    __shared__ struct term lists[WARPS][LANES];
    __shared__ double sums[WARPS][8][LANES];
    unsigned n = blockIdx.x;
    int lane = (int)threadIdx.x, warp = (int)threadIdx.y, other, k;
    int mine = warp * LANES; /* the first of this warp's rows in the piece */

    for (; n / w.chunks < w.used[HOT_PIECES]; n += gridDim.x) {
        unsigned piece = n / w.chunks;
        struct place p = w.hot[piece];
        unsigned left = p.rows - (piece - p.first) * PIECE;
        const unsigned *row = w.hot_rows + (long long)piece * PIECE + mine;
        int rows = (int)(left < PIECE ? left : PIECE);
        int group = (int)(n % w.chunks) * LANES + lane;
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (mine + lane < rows)
            lists[warp][lane] = term_of(s, s.gradient, row[lane], p.target, 0);
        __syncwarp(0xffffffff);
        if (group < s.groups)
            add_terms(s, w, lists[warp],
                      rows - mine < LANES ? rows - mine : LANES, group, sum);
        for (k = 0; k < 8; k++)
            sums[warp][k][lane] = sum[k];
        __syncthreads();
        for (other = 1; other < WARPS && warp == 0; other++)
            for (k = 0; k < 8; k++)
                sum[k] += sums[other][k][lane];
        if (warp == 0 && group < s.groups &&
            (p.rows <= PIECE || merge(s, w, p, (unsigned)rows, group, sum))) {
            struct term table = term_of(s, s.table, p.target, p.target, 0);
            add_eight(sum, load_term(s, table, group));
            finish_sum(s, w, p.target, group, sum);
        }
        __syncthreads();
    }
}

/* Adds the rows to the table; `blocks`, from 1 on, how many blocks do the sums.
 * The scratch is ready for the next call when this ends. */
static void add_up(struct scatter s, struct scratch w, int blocks)
{
    unsigned count = blocks_for(s.rows, COUNT_THREADS);
    unsigned place = blocks_for(s.rows, PLACE_THREADS);
    dim3 block = {LANES, WARPS, 1};

    count_rows<<<count, COUNT_THREADS>>>(s, w);
    find_places<<<count, COUNT_THREADS>>>(s, w);
    place_rows<<<place, PLACE_THREADS>>>(s, w);
    add_hot<<<blocks, block>>>(s, w);
    add_cold<<<blocks, block>>>(s, w);
    CHECK(cudaGetLastError());
}

/* Lesson 7's way, for comparison: an atomic add for each eight halves. */
static __global__ void add_atomically(struct scatter s)
{
    long long i = (long long)blockIdx.x * WARPS + threadIdx.y;
    long long row = target_row(s, i);
    int group = (int)threadIdx.x;

    for (; row >= 0 && group < s.groups; group += LANES) {
        int column = 8 * group - skew_of(s, row, 8);
        struct eight value =
            load_eight(s.gradient + i * s.width, s.width, column);
        half_atomic_add8(s.table, (size_t)(row * s.width + column),
                         (size_t)(s.table_rows * s.width), value.pair);
    }
}

static void launch(int way, struct scatter s, struct scratch w, int blocks)
{
    dim3 block = {LANES, WARPS, 1};

    if (way == ROWS)
        add_up(s, w, blocks);
    else
        add_atomically<<<blocks_for(s.rows, WARPS), block>>>(s);
    CHECK(cudaGetLastError());
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long rows = 0, width = 0, table_rows = 0, skew = 0, only = 0, more = 6;
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
        {"--again", NULL, &more, 0, 1000000,
         "more runs, on three grids, that must give the same bits (6)"},
    };
    struct problem p;
    struct scratch w;
    int pattern, ok = 1;

    lesson_begin(10, "v9_rows", "the table of lesson 7, rounded once", argc,
                 argv, options, 6);
    report_device();
    rows = rows ? rows : lesson.emulated ? 8192 : 65536;
    width = width ? width : lesson.emulated ? 96 : 768;
    table_rows = table_rows ? table_rows : lesson.emulated ? 6282 : 50257;
    if (!check_small())
        return EXIT_WRONG;
    create_problem(&p, rows, (int)width, table_rows, (int)skew, (int)skew);
    w = create_scratch(p.s);
    report_work(p.s, w.bytes);
    fill_fractions(&p);
    for (pattern = 0; pattern < PATTERNS; pattern++)
        if (only == 0 || only == pattern + 1)
            ok &= measure(&p, w, pattern, more);
    report("result", "%s",
           ok ? "every sum exact, rounded once, nothing else touched: ok"
              : "WRONG");
    destroy_scratch(w);
    destroy_problem(&p);
    return ok ? 0 : EXIT_WRONG;
}
