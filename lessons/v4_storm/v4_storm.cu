/* Lesson 5, v4_storm: why is lesson 1 three times as slow as lesson 3 on one
 * GPU, and 1.2 times on another, although a try of its loop costs less than
 * lesson 3's add?
 *
 * Answer: its loop has two regimes. While the sum moves, each add that wins
 * makes the others in flight fail and try again: a storm, which grows with the
 * threads in flight. Once the sum is frozen, every try wins at once, and the
 * loop is faster than the real add. The published speedups are a blend of the
 * two, set by n.
 *
 * The account:  v0 = (n + k M R) t_cas,  v2 = n t_add
 *   n      adds                       t_cas  price of a try, ns
 *   M      adds that move the sum     t_add  price of a 4-byte add, ns
 *   R      threads in flight          k      tries that fail for each of the R
 *                                            threads when the sum moves
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson5 \
 *                      lessons/v4_storm/v4_storm.cu
 * With no options it predicts, measures, sweeps n and R, and fits the account.
 * With --n, --start, --addends, --cells, --threads or --neighbour it measures
 * one case. The headers beside this file hold what it only uses. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "account.h"
#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { BLOCK_THREADS = 256 };

static const uint16_t PRODUCT = 0x211e; /* lesson 1's addend, 0.00999451 */
static const uint16_t FROZEN = 0x5000;  /* 32: half a ulp exceeds PRODUCT */

/* --- the kernels: thread i adds once, to cell i % cells --- */

/* Each cell has a 4-byte word to itself. Of the adds to one cell, every second
 * takes `odd`; with neighbour = 1 these go to the other half of the word. */
static __global__ void add_2_bytes(half *cells, unsigned count,
                                   unsigned neighbour, half even, half odd,
                                   unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned turn = i / count & 1;

    if (i < n)
        atomicAdd(cells + 2 * (i % count) + (turn & neighbour),
                  turn ? odd : even);
}

/* The same with lesson 4's loop, which counts its tries. */
static __global__ void add_counted(half *cells, unsigned count,
                                   unsigned neighbour, half even, half odd,
                                   unsigned n, unsigned *tries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned turn = i / count & 1, shift = turn & neighbour ? 16 : 0;
    unsigned *word = (unsigned *)cells + i % count;
    unsigned old, seen, used = 0;

    if (i >= n)
        return;
    old = *word;
    do {
        half sum = __hadd_rn(__ushort_as_half((unsigned short)(old >> shift)),
                             turn ? odd : even);
        unsigned rest = old & ~(0xffffu << shift);
        seen = old;
        old = atomicCAS(word, seen,
                        rest | (unsigned)__half_as_ushort(sum) << shift);
        used++;
    } while (old != seen);
    tries[i] = used;
}

/* The hardware's add. */
static __global__ void add_4_bytes(half2 *cells, unsigned count, half even,
                                   half odd, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half value = i / count & 1 ? odd : even;

    if (i < n)
        atomicAdd(cells + i % count, __halves2half2(value, value));
}

/* A loop whose word never holds the same value twice. Where a sum goes up and
 * down, a try can win although others came between: the old value is back. */
static __global__ void count_up(unsigned *cells, unsigned count, unsigned n,
                                unsigned *tries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *word = cells + i % count;
    unsigned old, seen, used = 0;

    if (i >= n)
        return;
    old = *word;
    do {
        seen = old;
        old = atomicCAS(word, seen, seen + 1);
        used++;
    } while (old != seen);
    if (tries)
        tries[i] = used;
}

/* --- the account --- */

/* How many tries n adds need: each wins once, and each of the `moving` adds
 * that move the sum makes a part k of the threads in flight fail. */
static double tries_of(double n, double k, double moving, double in_flight)
{
    return n + k * moving * fmin(n, in_flight);
}

/* --- one case --- */

/* Lesson 3's add, lesson 1's, and lesson 4's loop, which is not timed. */
enum way { FOUR_BYTES, TWO_BYTES, COUNTED };

enum addends { CONSTANT, ALTERNATE, COUNT };

struct storm {
    int addends;
    uint16_t start; /* what every cell holds at first */
    long long n, cells;
    long long neighbour; /* 1: every second add goes to the word's other half */
    long long blocks;    /* on each multiprocessor at a time; 0: all that fit */
};

enum { CASE_N = 1 << 25 }; /* the sources' test case */
static const struct storm test_case = {CONSTANT, 0, CASE_N, 1, 0, 0};

enum { MOST_COUNTED = 1 << 25 }; /* adds; each has its own counter */
static unsigned *d_tries;
static half *d_cells;

/* --- how many threads are in flight --- */

/* How many blocks a multiprocessor holds. */
static int blocks_each(void)
{
    return attribute_of(cudaDevAttrMaxThreadsPerMultiProcessor) / BLOCK_THREADS;
}

/* Dynamic shared memory that nobody uses, so large that only `blocks` blocks
 * fit on a multiprocessor. */
static size_t shared_bytes_for(long long blocks)
{
    size_t all, reserved; /* of one multiprocessor; of these, of each block */

    if (blocks == 0 || blocks >= blocks_each())
        return 0;
    all = (size_t)attribute_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    reserved = (size_t)attribute_of(cudaDevAttrReservedSharedMemoryPerBlock);
    return (all / (size_t)blocks - reserved) / 128 * 128;
}

/* How many threads are in flight when `blocks` blocks may be on each
 * multiprocessor. Tells the driver about the shared memory, too. */
static long long limit_threads(long long blocks)
{
    static const void *const kernels[] = {
        (const void *)add_2_bytes, (const void *)add_counted,
        (const void *)add_4_bytes, (const void *)count_up};
    size_t shared = shared_bytes_for(blocks), k;
    int resident = 0;

    for (k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        CHECK(cudaFuncSetAttribute(kernels[k],
                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)shared));
        CHECK(cudaFuncSetAttribute(
            kernels[k], cudaFuncAttributePreferredSharedMemoryCarveout,
            blocks ? 100 : -1));
    }
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernels[0],
                                                        BLOCK_THREADS, shared));
    return (long long)resident * BLOCK_THREADS *
           attribute_of(cudaDevAttrMultiProcessorCount);
}

static void launch(const struct storm *s, int way)
{
    unsigned n = (unsigned)s->n, cells = (unsigned)s->cells;
    unsigned blocks = blocks_for(s->n, BLOCK_THREADS);
    unsigned neighbour = (unsigned)s->neighbour;
    size_t shared = shared_bytes_for(s->blocks);
    int alternate = s->addends == ALTERNATE;
    half even = __float2half_rn(alternate ? 1.0f : fp16_to_float(PRODUCT));
    half odd = __float2half_rn(alternate ? -1.0f : fp16_to_float(PRODUCT));

    if (way == FOUR_BYTES)
        add_4_bytes<<<blocks, BLOCK_THREADS, shared>>>((half2 *)d_cells, cells,
                                                       even, odd, n);
    else if (s->addends == COUNT)
        count_up<<<blocks, BLOCK_THREADS, shared>>>(
            (unsigned *)d_cells, cells, n, way == COUNTED ? d_tries : NULL);
    else if (way == TWO_BYTES)
        add_2_bytes<<<blocks, BLOCK_THREADS, shared>>>(d_cells, cells,
                                                       neighbour, even, odd, n);
    else
        add_counted<<<blocks, BLOCK_THREADS, shared>>>(
            d_cells, cells, neighbour, even, odd, n, d_tries);
    CHECK(cudaGetLastError());
}

/* What calls launch(). Each opens with what it does. */
#include "prediction.h"
#include "sweep.h"

/* --- everything, or one case --- */

static int run_everything(void)
{
    static struct outcome zero[MAX_ROWS], frozen[MAX_ROWS], of_case, row;
    struct storm s = test_case;
    int ok = 1, zeros, frozens;

    if (!lesson.emulated)
        report_prediction();
    report_table("moving", "0.00999451 to a sum from 0: 2798 adds move it");
    zeros = sweep(s, "moving", 28, 14, zero, &ok);
    if (!lesson.emulated)
        run_case(&s, "moving", bound_ms(&s, 0, 0), &of_case, &ok);
    s.start = FROZEN;
    report_table("frozen", "0.00999451 to a sum of 32: no add moves it");
    frozens = sweep(s, "frozen", 24, 14, frozen, &ok);
    report_account(zero, zeros, frozen, frozens, &of_case);

    s = test_case;
    s.n = lesson.emulated ? 1 << 14 : CASE_N;
    report_table("threads", "from 0 again, with fewer threads in flight");
    for (s.blocks = 1; s.blocks <= blocks_each(); s.blocks++)
        run_case(&s, "threads", bound_ms(&s, 0, 0), &row, &ok);
    s.blocks = 0;
    s.addends = ALTERNATE;
    report_table("alternate", "+1 and -1 in turn: it never freezes");
    sweep(s, "alternate", 18, 12, zero, &ok);
    s.addends = COUNT;
    report_table("count", "a count by compare-and-swap: it never repeats");
    sweep(s, "count", 18, 12, zero, &ok);
    return ok;
}

static int run_one(struct storm s, long long threads)
{
    static const char *const names[] = {"constant", "alternate", "count"};
    static struct outcome row;
    long long one_each =
        (long long)attribute_of(cudaDevAttrMultiProcessorCount) * BLOCK_THREADS;
    int ok = 1;

    s.blocks = threads > 0 && threads < one_each ? 1 : threads / one_each;
    report_table("case", names[s.addends]);
    run_case(&s, names[s.addends], bound_ms(&s, 0, 0), &row, &ok);
    return ok;
}

int main(int argc, char **argv)
{
    struct storm s = {CONSTANT, 0, 0, 0, 0, 0};
    long long start = -1, addends = -1, threads = 0, seed = 1;
    const struct lesson_option options[] = {
        {"--n", NULL, &s.n, 1, 1LL << 28, "adds (one case: default 2^12)"},
        {"--start", NULL, &start, 0, 65504, "what each cell holds at first"},
        {"--addends", "constant|alternate|count", &addends, 0, 0,
         "0.00999451; +1 and -1 in turn; a count that never repeats"},
        {"--cells", NULL, &s.cells, 1, 1 << 24, "how many cells (default 1)"},
        {"--threads", NULL, &threads, 1, 1LL << 31,
         "threads in flight, in whole blocks (default: all that fit)"},
        {"--neighbour", "", &s.neighbour, 0, 0,
         "every second add goes to the other half of the word, from 0"},
        {"--seed", NULL, &seed, 1, 1000000, "of the emulation (default 1)"},
    };
    int one_case, ok;

    lesson_begin(5, "v4_storm", "keep the sum moving, or let it freeze", argc,
                 argv, options, 7);
    one_case =
        s.n || s.cells || s.neighbour || threads || start >= 0 || addends >= 0;
    s.n = s.n ? s.n : 1 << 12;
    s.cells = s.cells ? s.cells : 1;
    s.start = half_of_start(start > 0 ? start : 0);
    s.addends = addends > 0 ? (int)addends : CONSTANT;
    report_device();
    model_contention((unsigned long long)seed);
    /* 4 bytes for each cell and for each add that is counted */
    require_memory(4 * (size_t)(s.cells + MOST_COUNTED), "--cells");
    d_cells = (half *)device_halves(2 * s.cells, 0);
    CHECK(cudaMalloc((void **)&d_tries, MOST_COUNTED * sizeof *d_tries));
    ok = one_case ? run_one(s, threads) : run_everything();
    report("result", "%s", ok ? "all sums as expected: ok" : "WRONG");
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_tries));
    return ok ? 0 : EXIT_WRONG;
}
