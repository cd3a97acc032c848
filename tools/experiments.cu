/* What the storm of lesson 5 depends on: one question after another, as CSV.
 * Needs a GPU; `make experiments` runs it. docs/reading_speedups.md reads the
 * answers.
 *
 * Columns: question, its setting, threads in flight, adds, the smaller ms of
 * two runs after two to warm up, and all tries (0: not counted). */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "options.h"
#include "report.h"
#include "timing.h"

/* --- kernels --- */

static __device__ unsigned add_by_cas(half *target, half value)
{
    unsigned *word = (unsigned *)((size_t)target & ~(size_t)2);
    unsigned shift = ((size_t)target & 2) != 0 ? 16 : 0;
    unsigned old = *(volatile unsigned *)word, seen, tries = 0;

    do {
        half sum =
            __hadd_rn(__ushort_as_half((unsigned short)(old >> shift)), value);
        seen = old;
        old = atomicCAS(word, seen,
                        (old & ~(0xffffu << shift)) |
                            (unsigned)__half_as_ushort(sum) << shift);
        tries++;
    } while (old != seen);
    return tries;
}

/* Thread t of `threads` that take part adds for i = t, t + threads, … below n.
 * Of each warp only the first `lanes` lanes take part. Cells lie `apart` bytes
 * from each other; every second add to a cell takes `odd`. */
static __global__ void add(char *cells, unsigned count, unsigned apart,
                           unsigned lanes, half even, half odd, unsigned n,
                           int by_cas, unsigned long long *tries)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane = thread % 32, t = thread / 32 * lanes + lane;
    unsigned threads = gridDim.x * blockDim.x / 32 * lanes, used = 0, i;

    if (lane >= lanes)
        return;
    for (i = t; i < n; i += threads) {
        half *target = (half *)(cells + (size_t)(i % count) * apart);
        half value = i / count & 1 ? odd : even;
        if (by_cas)
            used += add_by_cas(target, value);
        else
            atomicAdd(target, value);
    }
    if (tries)
        atomicAdd(tries, (unsigned long long)used);
}

static __global__ void add_pairs(char *cells, unsigned count, unsigned apart,
                                 half value, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd((half2 *)(cells + (size_t)(i % count) * apart),
                  __halves2half2(value, value));
}

/* --- one measurement --- */

struct trial {
    const char *question;
    unsigned count, apart, lanes, n;
    int alternate, pairs;
    size_t place;    /* of the first cell, in bytes */
    unsigned blocks; /* of the grid; 0: a thread for each add */
    int block_threads;
    int blocks_each; /* on a multiprocessor; 0: all that fit */
    int carveout;    /* percent; -1: the driver's choice */
};

/* No power of two, so that places differ in all bits of the address; and more
 * than the 16 cells of ask_distance(). */
enum { PLACES = 64, PLACE_BYTES = (4 << 20) + 37 * 4096 + 32 };
static const size_t CELLS_BYTES = (size_t)PLACES * PLACE_BYTES;

static char *d_cells;
static unsigned long long *d_tries;
static int multiprocessors, shared_bytes, reserved_bytes;

static size_t set_limits(const struct trial *t, int *in_flight)
{
    size_t shared = 0;
    int each = 0;

    if (t->blocks_each > 0 && t->blocks_each < 2048 / t->block_threads)
        shared = ((size_t)shared_bytes / (size_t)t->blocks_each -
                  (size_t)reserved_bytes) /
                 128 * 128;
    CHECK(cudaFuncSetAttribute((const void *)add,
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)shared));
    CHECK(cudaFuncSetAttribute((const void *)add,
                               cudaFuncAttributePreferredSharedMemoryCarveout,
                               t->carveout));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &each, (const void *)add, t->block_threads, shared));
    *in_flight = each * multiprocessors * t->block_threads;
    return shared;
}

static void clear(void)
{
    CHECK(cudaMemset(d_cells, 0, CELLS_BYTES));
    CHECK(cudaMemset(d_tries, 0, sizeof *d_tries));
}

static void launch(const struct trial *t, size_t shared, int by_cas)
{
    unsigned one_each = blocks_for(t->n / t->lanes * 32, t->block_threads);
    unsigned blocks = t->blocks ? t->blocks : one_each;
    half even = __float2half_rn(t->alternate ? 1.0f : 0.00999451f);
    half odd = __float2half_rn(t->alternate ? -1.0f : 0.00999451f);
    char *cells = d_cells + t->place;

    if (t->pairs)
        add_pairs<<<blocks, t->block_threads>>>(cells, t->count, t->apart, even,
                                                t->n);
    else
        add<<<blocks, t->block_threads, shared>>>(
            cells, t->count, t->apart, t->lanes, even, odd, t->n, by_cas,
            by_cas ? d_tries : NULL);
    CHECK(cudaGetLastError());
}

/* Prints a row: in the setting, %lld is the value. */
static void measure(const struct trial *t, const char *setting, long long value)
{
    static struct timing timing;
    unsigned long long tries = 0;
    int in_flight;
    size_t shared = set_limits(t, &in_flight);

    timing_create(&timing, 1, TIMING_WARM_UP_RUNS + 2);
    while (timing_next(&timing, 1)) {
        clear();
        timing_begin(&timing);
        launch(t, shared, 0);
        timing_end(&timing);
    }
    if (!t->pairs) {
        clear();
        launch(t, shared, 1);
        CHECK(
            cudaMemcpy(&tries, d_tries, sizeof tries, cudaMemcpyDeviceToHost));
    }
    if (t->blocks && (int)t->blocks * t->block_threads < in_flight)
        in_flight = (int)t->blocks * t->block_threads;
    printf("%s,", t->question);
    printf(setting, value);
    printf(",%d,%u,%.5g,%llu\n", in_flight, t->n, timing_min_ms(&timing),
           tries);
    fflush(stdout);
}

/* --- the questions --- */

static const struct trial plain = {"", 1, 4, 32,  1 << 20, 0,
                                   0,  0, 0, 256, 0,       -1};

/* Do threads that stay and add again make another storm than as many that come
 * and go? */
static void ask_long_lived(void)
{
    struct trial t = plain;
    int b;

    t.question = "lifetime";
    t.carveout = 100;
    for (b = 1; b <= 8; b++) {
        t.blocks_each = b;
        t.blocks = 0;
        measure(&t, "one add a thread", 0);
        t.blocks = (unsigned)(b * multiprocessors);
        measure(&t, "long-lived", 0);
    }
}

/* Does a fail need the same address, or only the same sector or line? */
static void ask_distance(void)
{
    static const unsigned apart[] = {4, 32, 128, 4096};
    struct trial t = plain;
    int k;

    t.question = "distance";
    t.count = 16;
    t.alternate = 1;
    for (k = 0; k < 4; k++) {
        t.apart = apart[k];
        t.pairs = 0;
        t.n = 1 << 18;
        measure(&t, "2 bytes; 16 cells %lld apart", apart[k]);
        t.pairs = 1;
        t.n = 1 << 24;
        measure(&t, "4 bytes; 16 cells %lld apart", apart[k]);
    }
}

/* Is the storm another one where the cell lies elsewhere? */
static void ask_place(void)
{
    struct trial t = plain;
    size_t i;

    t.question = "place";
    t.n = 1 << 16;
    for (i = 0; i < PLACES; i++) {
        t.place = i * PLACE_BYTES;
        measure(&t, "at byte %lld", (long long)t.place);
    }
}

/* A thread whose add has won waits until its warp and its block are done, and
 * only then does another block take their place. Do smaller blocks, whose
 * threads wait less, make a larger storm? */
static void ask_block_size(void)
{
    struct trial t = plain;

    t.question = "block";
    t.carveout = 100;
    for (t.block_threads = 32; t.block_threads <= 1024; t.block_threads *= 2) {
        t.blocks_each = 1024 / t.block_threads;
        measure(&t, "%lld threads a block", t.block_threads);
    }
}

/* The same for a warp, of which only some lanes take part. */
static void ask_lanes(void)
{
    struct trial t = plain;

    t.question = "lanes";
    for (t.lanes = 1; t.lanes <= 32; t.lanes *= 2)
        measure(&t, "%lld of 32 lanes", t.lanes);
}

static void ask_carveout(void)
{
    struct trial t = plain;

    t.question = "carveout";
    t.n = 1 << 22;
    for (t.carveout = -1; t.carveout <= 100;
         t.carveout += t.carveout < 0 ? 1 : 25)
        measure(&t, "%lld%%", t.carveout);
}

/* Rows for a regression of ms on tries, over n and threads in flight. */
static void ask_price(void)
{
    struct trial t = plain;
    int b, k;

    t.question = "price";
    t.carveout = 100;
    for (b = 1; b <= 8; b += b < 2 ? 1 : 2)
        for (k = 14; k <= 24; k += 2) {
            t.blocks_each = b;
            t.n = 1u << k;
            measure(&t, "%lld blocks each", b);
        }
}

int main(int argc, char **argv)
{
    lesson_begin(0, "experiments", "what the storm depends on", argc, argv,
                 NULL, 0);
    lesson.csv = 1;
    report_device();
    multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    shared_bytes = attribute_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    reserved_bytes = attribute_of(cudaDevAttrReservedSharedMemoryPerBlock);
    CHECK(cudaMalloc((void **)&d_cells, CELLS_BYTES));
    CHECK(cudaMalloc((void **)&d_tries, sizeof *d_tries));
    printf("question,setting,in_flight,n,ms,tries\n");
    ask_price();
    ask_carveout();
    ask_block_size();
    ask_lanes();
    ask_long_lived();
    ask_distance();
    ask_place();
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_tries));
    return 0;
}
