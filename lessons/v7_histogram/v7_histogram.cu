/* Lesson 8, v7_histogram: how do many threads count into few cells?
 *
 * Answer: each into a copy that few others use, in shared memory, and the
 * copies are added at the end. What that gains depends on how many bytes a copy
 * takes before it is merged, on the width of the loads, and on how often two
 * lanes of a warp want one cell or one bank. With a copy for each bank they
 * never do, whatever the data.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson8 \
 *                      lessons/v7_histogram/v7_histogram.cu
 * It counts random, skewed and constant bytes, in six ways and in cells of two
 * types, compares every count with the CPU's, and prints how many bytes a
 * nanosecond were counted. A byte that has no bin is counted outside of them.
 */
#include <cuda_runtime.h>

#include "device.h"
#include "options.h"
#include "report.h"

enum {
    VALUES = 256,          /* of a byte */
    BLOCK_THREADS = 256,   /* of a block with one copy */
    COPIES = 32,           /* where there are more */
    COPIES_THREADS = 1024, /* of a block with COPIES copies: COPIES warps */
};

static const long long MOST_IN_FLOAT = 1 << 24; /* a float cell stops there */

typedef unsigned long long count64; /* a bin may take more than 2^32 bytes */

/* Where a value is counted: in its bin, or in the slot behind the last bin. */
static __device__ unsigned slot_of(unsigned value, unsigned bins)
{
    return value < bins ? value : bins;
}

static __device__ long long first_index(void)
{
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ long long grid_stride(void)
{
    return (long long)gridDim.x * blockDim.x;
}

/* --- in global memory --- */

static __global__ void count_global(const unsigned char *data, long long n,
                                    unsigned bins, count64 *counts)
{
    long long i, stride = grid_stride();

    for (i = first_index(); i < n; i += stride)
        atomicAdd(&counts[slot_of(data[i], bins)], 1ULL);
}

static __global__ void count_global_float(const unsigned char *data,
                                          long long n, unsigned bins,
                                          float *counts)
{
    long long i, stride = grid_stride();

    for (i = first_index(); i < n; i += stride)
        atomicAdd(&counts[slot_of(data[i], bins)], 1.0f);
}

/* --- one copy per block, in shared memory --- */

/* The copy has a cell for every byte that there is, bin or not: so the loop
 * needs no guard. The merge has one. */
static __global__ void count_block(const unsigned char *data, long long n,
                                   unsigned bins, count64 *counts)
{
    __shared__ unsigned copy[VALUES];
    long long i, stride = grid_stride();
    unsigned v = threadIdx.x;

    copy[v] = 0;
    __syncthreads();
    for (i = first_index(); i < n; i += stride)
        atomicAdd(&copy[data[i]], 1u);
    __syncthreads();
    atomicAdd(&counts[slot_of(v, bins)], (count64)copy[v]);
}

static __global__ void count_block_float(const unsigned char *data, long long n,
                                         unsigned bins, count64 *counts)
{
    __shared__ float copy[VALUES];
    long long i, stride = grid_stride();
    unsigned v = threadIdx.x;

    copy[v] = 0.0f;
    __syncthreads();
    for (i = first_index(); i < n; i += stride)
        atomicAdd(&copy[data[i]], 1.0f);
    __syncthreads();
    atomicAdd(&counts[slot_of(v, bins)], (count64)copy[v]);
}

/* --- many copies per block --- */

/* Counts 4 bytes; the cell of value v is mine[v * step]. */
static __device__ void count_4(unsigned *mine, unsigned step, unsigned word)
{
    atomicAdd(&mine[(word & 255) * step], 1u);
    atomicAdd(&mine[(word >> 8 & 255) * step], 1u);
    atomicAdd(&mine[(word >> 16 & 255) * step], 1u);
    atomicAdd(&mine[(word >> 24) * step], 1u);
}

static __device__ void count_16(unsigned *mine, unsigned step, uint4 words)
{
    count_4(mine, step, words.x);
    count_4(mine, step, words.y);
    count_4(mine, step, words.z);
    count_4(mine, step, words.w);
}

static __device__ void count_narrow(const unsigned char *data, long long n,
                                    unsigned *mine, unsigned step)
{
    long long i, stride = grid_stride();

    for (i = first_index(); i < n; i += stride)
        atomicAdd(&mine[data[i] * step], 1u);
}

/* The same with 16-byte loads, two of them in flight. These need an address
 * that is a multiple of 16: the bytes before the first such address and behind
 * the last, 15 each at most, are counted one per thread. */
static __device__ void count_wide(const unsigned char *data, long long n,
                                  unsigned *mine, unsigned step)
{
    long long i = first_index(), stride = grid_stride(), k;
    long long odd = (long long)((16 - (size_t)data % 16) % 16);
    long long head = odd < n ? odd : n, words = (n - head) / 16;
    long long tail = head + 16 * words + i;
    const uint4 *wide = (const uint4 *)(data + head);

    for (k = i; k + stride < words; k += 2 * stride) {
        uint4 first = wide[k], second = wide[k + stride];
        count_16(mine, step, first);
        count_16(mine, step, second);
    }
    if (k < words)
        count_16(mine, step, wide[k]);
    if (i < head)
        atomicAdd(&mine[data[i] * step], 1u);
    if (tail < n)
        atomicAdd(&mine[data[tail] * step], 1u);
}

/* A copy per warp: copies follow each other, and the lanes of a warp meet in
 * one. A copy per bank: word k of shared memory is in bank k % 32, so that copy
 * b lies in bank b, and the lanes of a warp, each in a copy of its own, never
 * meet. */
static __global__ void count_copies(const unsigned char *data, long long n,
                                    unsigned bins, count64 *counts, int by_bank,
                                    int wide)
{
    __shared__ unsigned cells[COPIES * VALUES];
    unsigned cell_step = by_bank ? COPIES : 1, copy_step = by_bank ? 1 : VALUES;
    unsigned lane = threadIdx.x % COPIES, v, c, sum = 0;
    unsigned copy = by_bank ? lane : threadIdx.x / WARP_WIDTH;

    for (v = threadIdx.x; v < COPIES * VALUES; v += blockDim.x)
        cells[v] = 0;
    __syncthreads();
    if (wide)
        count_wide(data, n, cells + copy * copy_step, cell_step);
    else
        count_narrow(data, n, cells + copy * copy_step, cell_step);
    __syncthreads();
    v = threadIdx.x;
    if (v >= VALUES)
        return;
    for (c = 0; c < COPIES; c++) /* each lane begins with another bank */
        sum += cells[v * cell_step + (c + lane) % COPIES * copy_step];
    atomicAdd(&counts[slot_of(v, bins)], (count64)sum);
}

/* --- the ways to count --- */

enum type { INT, FLOAT };
enum place { GLOBAL, BLOCK, WARP, BANK };
enum grid { ONE, MANY }; /* one element per thread; as many threads as fit */

static const struct variant {
    const char *name, *what;
    int type, place, wide, grid;
} variants[] = {
    {"global", "global, one element per thread", INT, GLOBAL, 0, ONE},
    {"block_one", "a copy per block, one", INT, BLOCK, 0, ONE},
    {"block", "a copy per block, many elements", INT, BLOCK, 0, MANY},
    {"warp", "a copy per warp, many", INT, WARP, 0, MANY},
    {"warp_wide", "a copy per warp, 16-byte loads", INT, WARP, 1, MANY},
    {"bank_wide", "a copy per bank, 16-byte loads", INT, BANK, 1, MANY},
    {"global_float", "float: global, one", FLOAT, GLOBAL, 0, ONE},
    {"block_float", "float: a copy per block, many", FLOAT, BLOCK, 0, MANY},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static struct {
    long long n, bins, fit; /* fit: threads on the GPU at a time */
    void *d_counts;         /* a cell for each bin, and one outside */
} work;

static long long bytes_of(const struct variant *v)
{
    return v->type == FLOAT && work.n > MOST_IN_FLOAT ? MOST_IN_FLOAT : work.n;
}

static void launch(const struct variant *v, const unsigned char *data)
{
    long long n = bytes_of(v);
    unsigned threads = v->place < WARP ? BLOCK_THREADS : COPIES_THREADS;
    unsigned all = blocks_for(n, (int)threads);
    unsigned fit = (unsigned)(work.fit / threads);
    unsigned blocks = v->grid == MANY && fit < all ? fit : all;
    unsigned bins = (unsigned)work.bins;
    count64 *counts = (count64 *)work.d_counts;

    if (v->place >= WARP)
        count_copies<<<blocks, threads>>>(data, n, bins, counts,
                                          v->place == BANK, v->wide);
    else if (v->type == INT && v->place == GLOBAL)
        count_global<<<blocks, threads>>>(data, n, bins, counts);
    else if (v->type == INT)
        count_block<<<blocks, threads>>>(data, n, bins, counts);
    else if (v->place == GLOBAL)
        count_global_float<<<blocks, threads>>>(data, n, bins, (float *)counts);
    else
        count_block_float<<<blocks, threads>>>(data, n, bins, counts);
    CHECK(cudaGetLastError());
}

/* --- the data, the check and the table --- */

#include "data.h"
#include "check.h"
#include "table.h"

/* --- main --- */

int main(int argc, char **argv)
{
    long long offset = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &work.n, 1, LESSON_MAX_N,
         "bytes (default 2^28; in emulation 2^17)"},
        {"--bins", NULL, &work.bins, 1, VALUES,
         "bytes from there on have no bin (default 256)"},
        {"--offset", NULL, &offset, 0, 1024,
         "bytes from the start of the memory to the data (default 0)"},
    };
    unsigned char *d_memory[KINDS];
    int kind, row, ok = 1;

    work.bins = VALUES;
    lesson_begin(8, "v7_histogram", "contention and privatisation", argc, argv,
                 options, 3);
    report_device();
    if (work.n == 0)
        work.n = lesson.emulated ? 1LL << 17 : 1LL << 28;
    work.fit = (long long)attribute_of(cudaDevAttrMultiProcessorCount) *
               attribute_of(cudaDevAttrMaxThreadsPerMultiProcessor);
    require_memory(KINDS * (unsigned long long)(work.n + offset), "--n");
    CHECK(cudaMalloc(&work.d_counts, SLOTS * sizeof(count64)));
    for (kind = 0; kind < KINDS; kind++) {
        CHECK(cudaMalloc((void **)&d_memory[kind], (size_t)(work.n + offset)));
        make_data(kind, d_memory[kind] + offset);
    }
    report("work",
           "%lld bytes into %lld bins; bytes counted in a nanosecond:", work.n,
           work.bins);
    report("", "%-31s %9s %9s %9s %9s", "", "bytes", "random", "skewed",
           "constant");
    for (row = 0; row < VARIANTS; row++)
        ok &= report_row(&variants[row]);
    report("result", "%s", ok ? "all counts are the CPU's: ok" : "WRONG");

    for (kind = 0; kind < KINDS; kind++)
        CHECK(cudaFree(d_memory[kind]));
    CHECK(cudaFree(work.d_counts));
    return ok ? 0 : EXIT_WRONG;
}
