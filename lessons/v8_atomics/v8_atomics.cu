/* Lesson 9, v8_atomics: which atomics are there, which of them are one
 * instruction, what can be built from them, and what does each cost?
 *
 * Answer: the guide's nine functions on six types are 26 pairs. In global
 * memory all but one are a single instruction. In shared memory seven are
 * loops, among them each add to a float, a double or a 64-bit integer.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson9 \
 *                      lessons/v8_atomics/v8_atomics.cu
 * It prints the table of them. Then come four things that are built from them:
 * a counter, a counter that wraps, a lock, and an add to a double. On a GPU it
 * times calls last. Whether each atomic does what it should is the question of
 * conformance.cu, beside it. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "checks.h"
#include "costs.h"
#include "device.h"
#include "options.h"
#include "report.h"
#include "table.h"
#include "timing.h"

enum {
    BLOCKS = 4,
    BLOCK_THREADS = 256,
    THREADS = BLOCKS * BLOCK_THREADS,
    LIMIT = 100, /* what Inc wraps at */
    ROUNDS = 10  /* that a wrapping counter makes */
};

typedef unsigned long long u64;

/* --- a counter --- */

/* A counter: each thread draws a number that no other thread gets, and with it
 * a place in `taken`. */
static __global__ void draw_tickets(unsigned *counter, unsigned *taken)
{
    unsigned ticket = atomicAdd(counter, 1);

    taken[ticket] = blockIdx.x * blockDim.x + threadIdx.x;
}

static int check_counter(void)
{
    unsigned taken[1 + THREADS] = {0}; /* the counter is first */
    unsigned *d_taken = (unsigned *)to_device(taken, sizeof taken);

    draw_tickets<<<BLOCKS, BLOCK_THREADS>>>(d_taken, d_taken + 1);
    from_device(taken, d_taken, sizeof taken);
    return report_counter(taken[0], taken + 1, THREADS);
}

/* --- a counter that wraps --- */

/* A counter that wraps. atomicInc compares before it counts: it takes the
 * values from 0 to `limit`, limit + 1 in all. */
static __global__ void count_round(unsigned *counter, unsigned limit,
                                   unsigned *seen)
{
    atomicAdd(&seen[atomicInc(counter, limit)], 1);
}

static int check_round(unsigned limit)
{
    unsigned seen[2 + BLOCK_THREADS] = {0}; /* the counter, then its values */
    unsigned *d_seen = (unsigned *)to_device(seen, sizeof seen);

    count_round<<<ROUNDS, limit + 1>>>(d_seen, limit, d_seen + 1);
    from_device(seen, d_seen, sizeof seen);
    return report_wrap(seen[0], limit, ROUNDS, seen + 1, BLOCK_THREADS + 1);
}

/* --- a lock --- */

/* More than one atomic could change at once. sums[k] is the sum of the first
 * k + 1 entries. */
struct log {
    unsigned lock, count, sum; /* lock 0: free, 1: taken */
    unsigned entries[THREADS], sums[THREADS];
};

static __device__ void enter(struct log *log, unsigned entry)
{
    log->sum += entry;
    log->entries[log->count] = entry;
    log->sums[log->count] = log->sum;
    log->count++;
}

/* A spin lock. Whoever takes it gives it back in the same turn of the loop. In
 * the form `wait until it is free; enter; give it back`, lanes that run in
 * lockstep meet at the end of the waiting, and the lane that has the lock would
 * wait there for those that want it. The first fence keeps what follows from
 * being read before the lock is taken, the second makes it visible before the
 * lock is free. */
static __global__ void enter_one_by_one(struct log *log)
{
    int entered = 0;

    while (!entered)
        if (atomicCAS(&log->lock, 0, 1) == 0) {
            __threadfence();
            enter(log, blockIdx.x * blockDim.x + threadIdx.x);
            __threadfence();
            atomicExch(&log->lock, 0);
            entered = 1;
        }
}

static int check_lock(void)
{
    static struct log log;
    struct log *d_log = (struct log *)to_device(&log, sizeof log);

    enter_one_by_one<<<BLOCKS, BLOCK_THREADS>>>(d_log);
    from_device(&log, d_log, sizeof log);
    return report_lock(log.lock, log.count, log.entries, log.sums, THREADS);
}

/* --- an add to a double --- */

/* An add to a double for GPUs that have none (before sm_60). It compares bits:
 * a NaN differs from itself, and would be tried for ever. It begins with a
 * guess: a plain read of what others change atomically would be a race, and a
 * wrong guess costs one try. Not called atomicAdd: newer GPUs have that, and
 * two of one name and type do not compile. */
static __device__ double add_double(double *address, double value)
{
    u64 *bits = (u64 *)address;
    union {
        double value;
        u64 bits;
    } old, sum;
    u64 seen;

    old.value = 0;
    do {
        seen = old.bits;
        sum.value = old.value + value;
        old.bits = atomicCAS(bits, seen, sum.bits);
    } while (old.bits != seen);
    return old.value;
}

static __global__ void add_both_ways(double *by_hardware, double *by_cas,
                                     const double *value, unsigned stride)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    atomicAdd(by_hardware + i * stride, value[i]);
    add_double(by_cas + i * stride, value[i]);
}

/* A cell for each thread (stride 1), or one for all (0). */
static int add_doubles(unsigned stride)
{
    static double a[3 * THREADS]; /* cells, the same again, values */
    double *d_a;

    set_doubles(a, a + 2 * THREADS, THREADS, stride);
    memcpy(a + THREADS, a, THREADS * sizeof *a);
    d_a = (double *)to_device(a, sizeof a);
    add_both_ways<<<BLOCKS, BLOCK_THREADS>>>(d_a, d_a + THREADS,
                                             d_a + 2 * THREADS, stride);
    from_device(a, d_a, sizeof a);
    return are_doubles_right(a, a + THREADS, THREADS, stride);
}

static int check_double(void)
{
    int ok = add_doubles(1) & add_doubles(0);

    report("double",
           "add by atomicCAS: the bits of atomicAdd on %d cells, NaN among "
           "them, and on one: %s",
           THREADS, ok ? "ok" : "WRONG");
    return ok;
}

/* --- what a call costs --- */

/* The call again and again, with the first value and the second in turn. */
/* clang-format off */
static __global__ void cost_int(struct cost c)
    { ADD_MANY(int, 1, -1, atomicAdd(p, v)); }
static __global__ void cost_merged(struct cost c)
    { atomicAdd((int *)c.cells, 1); }
static __global__ void cost_u64(struct cost c)
    { ADD_MANY(u64, 1ULL, ~0ULL, atomicAdd(p, v)); }
static __global__ void cost_float(struct cost c)
    { ADD_MANY(float, 1.0f, -1.0f, atomicAdd(p, v)); }
static __global__ void cost_double(struct cost c)
    { ADD_MANY(double, 1.0, -1.0, atomicAdd(p, v)); }
static __global__ void cost_half2(struct cost c)
    { ADD_MANY(half2, ONES, MINUS_ONES, atomicAdd(p, v)); }
static __global__ void cost_half(struct cost c)
    { ADD_MANY(half, ONE, MINUS_ONE, atomicAdd(p, v)); }
static __global__ void cost_add_double(struct cost c)
    { ADD_MANY(double, 1.0, -1.0, add_double(p, v)); }
static __global__ void cost_cas(struct cost c)
    { ADD_MANY(unsigned, 1, 2, atomicCAS(p, v, v)); }
static __global__ void cost_exch(struct cost c)
    { ADD_MANY(unsigned, 0, 0, atomicExch(p, v)); }
static __global__ void cost_inc(struct cost c)
    { ADD_MANY(unsigned, 0, 0, atomicInc(p, v)); }
static __global__ void cost_and(struct cost c)
    { ADD_MANY(unsigned, 1, 2, atomicAnd(p, v)); }

static void launch_cost(int way, unsigned blocks, struct cost c)
{
    switch (way) {
    case COST_INT: cost_int<<<blocks, COST_THREADS>>>(c); break;
    case COST_MERGED: cost_merged<<<blocks, COST_THREADS>>>(c); break;
    case COST_U64: cost_u64<<<blocks, COST_THREADS>>>(c); break;
    case COST_FLOAT: cost_float<<<blocks, COST_THREADS>>>(c); break;
    case COST_DOUBLE: cost_double<<<blocks, COST_THREADS>>>(c); break;
    case COST_HALF2: cost_half2<<<blocks, COST_THREADS>>>(c); break;
    case COST_HALF: cost_half<<<blocks, COST_THREADS>>>(c); break;
    case COST_ADD_DOUBLE: cost_add_double<<<blocks, COST_THREADS>>>(c); break;
    case COST_CAS: cost_cas<<<blocks, COST_THREADS>>>(c); break;
    case COST_EXCH: cost_exch<<<blocks, COST_THREADS>>>(c); break;
    case COST_INC: cost_inc<<<blocks, COST_THREADS>>>(c); break;
    case COST_AND: cost_and<<<blocks, COST_THREADS>>>(c); break;
    }
    CHECK(cudaGetLastError());
}
/* clang-format on */

/* Times one way in one place; ns per call, or 0 where the sum is wrong. */
static double measure(int way, int place, void *d_cells)
{
    static struct timing t;
    long long n = choose_n(way, place);
    unsigned blocks = is_shared(place) ? 1 : blocks_for(n, COST_THREADS);
    struct cost c;
    int ok = 1;

    c.cells = d_cells;
    c.log2_cells = log2_cells_of(place);
    c.repeats = is_shared(place) ? (int)(n / COST_THREADS) : 0;
    timing_create(&t, 1, lesson.runs);
    while (timing_next(&t, 1)) {
        CHECK(cudaMemset(d_cells, 0, sizeof(u64) << FAR_LOG2));
        timing_begin(&t);
        launch_cost(way, blocks, c);
        timing_end(&t);
        ok &= is_sum_right(way, n, d_cells);
    }
    return cost_of(way, place, n, &t, ok);
}

static int measure_all(void)
{
    void *d_cells;
    int way, place, ok = 1;

    CHECK(cudaMalloc(&d_cells, sizeof(u64) << FAR_LOG2));
    print_cost_heading();
    for (way = 0; way < WAYS; way++) {
        double ns[PLACES] = {0};
        for (place = 0; place < (way == COST_MERGED ? 1 : PLACES); place++) {
            ns[place] = measure(way, place, d_cells);
            ok &= ns[place] > 0;
        }
        print_costs(way, ns);
    }
    CHECK(cudaFree(d_cells));
    return ok;
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long limit = LIMIT;
    const struct lesson_option options[] = {
        {"--limit", NULL, &limit, 1, BLOCK_THREADS - 1,
         "what the wrapping counter is given (default 100)"},
    };
    int ok;

    lesson_begin(9, "v8_atomics",
                 "every atomic, how it is built, what it costs", argc, argv,
                 options, 1);
    report_device();
    print_table();
    ok = check_counter();
    ok &= check_round((unsigned)limit);
    ok &= check_lock();
    ok &= check_double();
    if (!ok)
        fprintf(stderr, "%s: a check failed; not timed\n", lesson.program);
    else if (!lesson.emulated || lesson.csv) /* its times mean nothing */
        ok = measure_all();
    report("result", "%s", ok ? "all as it should be: ok" : "WRONG");
    return ok ? 0 : EXIT_WRONG;
}
