/* What experiments.cu and experiments_place.cu have in common: a storm, what it
 * is made of, and how it is measured.
 *
 * Columns: question, its setting, threads in flight, adds, those that move the
 * sum, ms of the last of three runs, and the tries of that same run (0: not
 * counted). */
#ifndef EXPERIMENTS_H
#define EXPERIMENTS_H

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

/* --- the kernel --- */

/* Lesson 1's add, lesson 3's, and lesson 4's loop, which counts its tries. */
enum way { TWO_BYTES, FOUR_BYTES, BY_HAND };

enum { COUNTERS = 4096 }; /* so that nobody waits for one */

static __device__ unsigned add_by_cas(half *target, half value)
{
    unsigned *word = (unsigned *)target;
    unsigned old = *(volatile unsigned *)word, seen, tries = 0;

    do {
        half sum =
            __hadd_rn(__ushort_as_half((unsigned short)(old & 0xffff)), value);
        seen = old;
        old =
            atomicCAS(word, seen, (old & 0xffff0000u) | __half_as_ushort(sum));
        tries++;
    } while (old != seen);
    return tries;
}

/* Thread t of `threads` that take part adds for i = t, t + threads, … below n.
 * Of each warp only the first `lanes` lanes take part. Cells lie `apart` bytes
 * from each other, and `together` threads in a row take the same one. */
static __global__ void add(char *cells, unsigned count, unsigned apart,
                           unsigned together, unsigned lanes, half value,
                           unsigned n, int way, unsigned long long *tries)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane = thread % 32, t = thread / 32 * lanes + lane;
    unsigned threads = gridDim.x * blockDim.x / 32 * lanes, used = 0, i;

    if (lane >= lanes)
        return;
    for (i = t; i < n; i += threads) {
        char *target = cells + (size_t)(i / together % count) * apart;
        if (way == BY_HAND)
            used += add_by_cas((half *)target, value);
        else if (way == TWO_BYTES)
            atomicAdd((half *)target, value);
        else
            atomicAdd((half2 *)target, __halves2half2(value, value));
    }
    if (used)
        atomicAdd(tries + blockIdx.x % COUNTERS, (unsigned long long)used);
}

/* --- one measurement --- */

struct trial {
    const char *question;
    unsigned count, apart, together, lanes, n;
    uint16_t start, addend; /* bits */
    size_t place;           /* of the first cell, in bytes */
    unsigned blocks;        /* of the grid; 0: a thread for each add */
    int block_threads;
    int blocks_each; /* on a multiprocessor; 0: all that fit */
    int waiting;     /* of these, blocks that only wait */
    int carveout;    /* percent; -1: the driver's choice */
};

enum { PRODUCT = 0x211e, FROZEN = 0x5000 }; /* 0.00999451; 32, as in lesson 5 */

static const struct trial plain = {"",      1, 4, 1,   32, 1 << 20, 0,
                                   PRODUCT, 0, 0, 256, 0,  0,       -1};

static char *d_cells;
static unsigned long long *d_tries;
static int multiprocessors, shared_bytes, reserved_bytes;

static void begin(int argc, char **argv, size_t cells_bytes,
                  const struct lesson_option *options, int count)
{
    lesson_begin(0, "experiments", "what the storm depends on", argc, argv,
                 options, count);
    lesson.csv = 1;
    report_device();
    multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    shared_bytes = attribute_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    reserved_bytes = attribute_of(cudaDevAttrReservedSharedMemoryPerBlock);
    CHECK(cudaMalloc((void **)&d_cells, cells_bytes));
    CHECK(cudaMalloc((void **)&d_tries, COUNTERS * sizeof *d_tries));
    printf("question,setting,in_flight,n,moving,ms,tries\n");
}

/* Shared memory that nobody uses holds down the blocks of a multiprocessor. */
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
    *in_flight = (each - t->waiting) * multiprocessors * t->block_threads;
    if (t->blocks && (int)t->blocks * t->block_threads < *in_flight)
        *in_flight = (int)t->blocks * t->block_threads;
    return shared;
}

/* Each cell has a 4-byte word to itself, with the start in both halves. By
 * copies: cudaMemset() may need more threads than blocks that wait leave. */
static void clear(const struct trial *t)
{
    static unsigned long long zeros[COUNTERS];
    uint32_t word = t->start * 0x10001u;
    unsigned k;

    for (k = 0; k < t->count; k++)
        CHECK(cudaMemcpy(d_cells + t->place + (size_t)k * t->apart, &word,
                         sizeof word, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_tries, zeros, sizeof zeros, cudaMemcpyHostToDevice));
}

/* How many adds to one cell move it. */
static unsigned moving(const struct trial *t)
{
    uint16_t sum = t->start, next;
    unsigned count = 0;

    while ((next = fp16_add(sum, t->addend)) != sum) {
        sum = next;
        count++;
    }
    return count;
}

/* Milliseconds of the last of three runs, whose tries stay in d_tries[]. */
static double time_of(const struct trial *t, size_t shared, int way)
{
    static struct timing timing;
    unsigned one_each = blocks_for(t->n / t->lanes * 32, t->block_threads);
    half value = __ushort_as_half(t->addend);

    timing_create(&timing, 1, 3);
    while (timing_next(&timing, 1)) {
        clear(t);
        timing_begin(&timing);
        add<<<t->blocks ? t->blocks : one_each, t->block_threads, shared>>>(
            d_cells + t->place, t->count, t->apart, t->together, t->lanes,
            value, t->n, way, d_tries);
        CHECK(cudaGetLastError());
        timing_end(&timing);
    }
    return timing_min_ms(&timing);
}

static unsigned long long count_tries(void)
{
    static unsigned long long tries[COUNTERS];
    unsigned long long sum = 0;
    int k;

    CHECK(cudaMemcpy(tries, d_tries, sizeof tries, cudaMemcpyDeviceToHost));
    for (k = 0; k < COUNTERS; k++)
        sum += tries[k];
    return sum;
}

/* Prints a row: in the setting, %lld is the value. */
static void measure(const struct trial *t, int way, const char *setting,
                    long long value)
{
    int in_flight;
    size_t shared = set_limits(t, &in_flight);
    double ms = time_of(t, shared, way);

    printf("%s,", t->question);
    printf(setting, value);
    printf(",%d,%u,%u,%.5g,%llu\n", in_flight, t->n, moving(t), ms,
           count_tries());
    fflush(stdout);
}

#endif
