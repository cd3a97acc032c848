/* What a call costs: which calls are timed, where, how often, and the table of
 * their times. */
#ifndef COSTS_H
#define COSTS_H

#include "device.h"
#include "report.h"
#include "timing.h"

enum {
    COST_THREADS = 1024, /* per block */
    FAR_LOG2 = 20,       /* cells in global memory, where they are many */
    NEAR_LOG2 = 10       /* and in shared: one for each thread */
};

enum way {
    COST_INT,
    COST_MERGED,
    COST_U64,
    COST_FLOAT,
    COST_DOUBLE,
    COST_HALF2,
    COST_HALF,
    COST_ADD_DOUBLE,
    COST_CAS,
    COST_EXCH,
    COST_INC,
    COST_AND,
    WAYS
};

static const char *const way_names[WAYS] = {
    "int",  "int_merged", "ulonglong", "float", "double", "half2",
    "half", "add_double", "cas",       "exch",  "inc",    "and"};

/* In global memory or in shared; to one cell or to many. */
enum place { GLOBAL_ONE, GLOBAL_MANY, SHARED_ONE, SHARED_MANY, PLACES };

/* --- the kernels --- */

struct cost {
    void *cells; /* all zero */
    int log2_cells;
    int repeats; /* adds per thread in shared memory; 0: one in global */
};

/* The body of a kernel that is timed: adds `up` and `down` in turn, so that the
 * sums move but end at 0. */
#define ADD_MANY(type, up, down, call)                                         \
    do {                                                                       \
        __shared__ type near[COST_THREADS];                                    \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                    \
        unsigned cell = i & ((1u << c.log2_cells) - 1), turn, end;             \
        if (c.repeats == 0) {                                                  \
            type *p = (type *)c.cells + cell;                                  \
            type v = i >> c.log2_cells & 1 ? down : up;                        \
            call;                                                              \
            return;                                                            \
        }                                                                      \
        near[i] = ((type *)c.cells)[i];                                        \
        __syncthreads();                                                       \
        turn = i >> c.log2_cells;                                              \
        for (end = turn + (unsigned)c.repeats; turn != end; turn++) {          \
            type *p = near + cell;                                             \
            type v = turn & 1 ? down : up;                                     \
            call;                                                              \
        }                                                                      \
        __syncthreads();                                                       \
        ((type *)c.cells)[i] = near[i];                                        \
    } while (0)

#define ONE __float2half_rn(1.0f)
#define MINUS_ONE __float2half_rn(-1.0f)
#define ONES __halves2half2(ONE, ONE)
#define MINUS_ONES __halves2half2(MINUS_ONE, MINUS_ONE)

/* --- the measurement --- */

static inline int is_shared(int place)
{
    return place == SHARED_ONE || place == SHARED_MANY;
}

static inline int log2_cells_of(int place)
{
    return place == GLOBAL_ONE || place == SHARED_ONE ? 0
           : place == SHARED_MANY || lesson.emulated  ? NEAR_LOG2
                                                      : FAR_LOG2;
}

/* How many calls one run makes; in shared memory each thread repeats them. */
static inline long long choose_n(int way, int place)
{
    if (lesson.emulated)
        return 4LL * COST_THREADS;
    if (way == COST_MERGED)
        return 1LL << 24;
    if (log2_cells_of(place) == 0)
        return 1LL << (is_shared(place) ? 16 : 18);
    return 1LL << (is_shared(place) ? 20 : 24);
}

/* The sums end at 0. A half is exact only while no more than 2048 adds of one
 * sign are ahead of the others, which nothing promises. */
static inline int is_sum_right(int way, long long n, const void *d_cells)
{
    unsigned long long sum;

    CHECK(cudaMemcpy(&sum, d_cells, sizeof sum, cudaMemcpyDeviceToHost));
    return way == COST_HALF || way == COST_HALF2 ||
           sum == (way == COST_MERGED ? (unsigned long long)n : 0);
}

/* Prints the CSV row of one way in one place; ns per call, of one
 * multiprocessor where it is in shared memory, or 0 where the sum is wrong. */
static inline double cost_of(int way, int place, long long n,
                             const struct timing *t, int ok)
{
    int cells = 1 << log2_cells_of(place);
    char name[40];

    snprintf(name, sizeof name, "%s_%s", is_shared(place) ? "shared" : "global",
             way_names[way]);
    csv_sweep(name, 0, cells, is_shared(place) ? COST_THREADS : 0, n, t, 0);
    if (!ok)
        fprintf(stderr, "%s: %s, %d cells: the sum is wrong\n", lesson.program,
                name, cells);
    return ok ? timing_min_ms(t) * 1e6 / (double)n : 0;
}

static inline void print_cost_heading(void)
{
    report("costs", "%11s %22s %24s", "ns per call", "global memory",
           "shared memory, 1 block");
    report("", "%11s %10s %11s %12s %11s", "", "1 cell", "2^20 cells", "1 cell",
           "1024 cells");
}

/* ns[]: one for each place, of which int_merged has the first alone. */
static inline void print_costs(int way, const double *ns)
{
    if (way == COST_MERGED)
        report("", "%-11s %10.4g", way_names[way], ns[GLOBAL_ONE]);
    else
        report("", "%-11s %10.4g %11.4g %12.4g %11.4g", way_names[way],
               ns[GLOBAL_ONE], ns[GLOBAL_MANY], ns[SHARED_ONE],
               ns[SHARED_MANY]);
}

#endif
