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
 * It counts random, skewed and constant bytes, in six ways and in cells of
 * three types, compares every count with the CPU's, and prints how many bytes a
 * nanosecond were counted. A byte that has no bin is counted outside of them.
 */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum {
    VALUES = 256,          /* of a byte */
    BLOCK_THREADS = 256,   /* of a block with one copy */
    COPIES = 32,           /* where there are more */
    WARP_THREADS = 32,     /* these share a copy, or each has another one */
    COPIES_THREADS = 1024, /* of a block with COPIES copies: COPIES warps */
};

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

static __global__ void count_global_half(const unsigned char *data, long long n,
                                         unsigned bins, half *counts)
{
    long long i, stride = grid_stride();

    for (i = first_index(); i < n; i += stride)
        atomicAdd(&counts[slot_of(data[i], bins)], __float2half_rn(1.0f));
}

/* --- one copy a block, in shared memory --- */

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

static __global__ void count_block_half(const unsigned char *data, long long n,
                                        unsigned bins, count64 *counts)
{
    __shared__ half copy[VALUES];
    long long i, stride = grid_stride();
    unsigned v = threadIdx.x;

    copy[v] = __float2half_rn(0.0f);
    __syncthreads();
    for (i = first_index(); i < n; i += stride)
        atomicAdd(&copy[data[i]], __float2half_rn(1.0f));
    __syncthreads();
    atomicAdd(&counts[slot_of(v, bins)], (count64)__half2float(copy[v]));
}

/* --- many copies a block --- */

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
 * the last, 15 each at most, are counted one a thread. */
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

/* A copy a warp: copies follow each other, and the lanes of a warp meet in one.
 * A copy a bank: word k of shared memory is in bank k % 32, so that copy b lies
 * in bank b, and the lanes of a warp, each in a copy of its own, never meet. */
static __global__ void count_copies(const unsigned char *data, long long n,
                                    unsigned bins, count64 *counts, int by_bank,
                                    int wide)
{
    __shared__ unsigned cells[COPIES * VALUES];
    unsigned cell_step = by_bank ? COPIES : 1, copy_step = by_bank ? 1 : VALUES;
    unsigned lane = threadIdx.x % WARP_THREADS, v, c, sum = 0;
    unsigned copy = by_bank ? lane : threadIdx.x / WARP_THREADS;

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

/* --- the variants --- */

enum type { INT, FLOAT, HALF };
enum place { GLOBAL, BLOCK, WARP, BANK };
enum grid { ONE, MANY, ALONE }; /* an element a thread; all that fit; 1 block */

enum { CUTS = 3 };
static const long long cuts[CUTS] = {1LL << 20, 1LL << 24, 1LL << 62};

static const struct variant {
    const char *name, *what;
    int type, place, wide, grid;
    int cut; /* counts the first cuts[cut] bytes at most */
} variants[] = {
    {"global", "global, one element a thread", INT, GLOBAL, 0, ONE, 2},
    {"block_one", "a copy a block, one", INT, BLOCK, 0, ONE, 2},
    {"block", "a copy a block, many elements", INT, BLOCK, 0, MANY, 2},
    {"warp", "a copy a warp, many", INT, WARP, 0, MANY, 2},
    {"warp_wide", "a copy a warp, 16 bytes a load", INT, WARP, 1, MANY, 2},
    {"bank_wide", "a copy a bank, 16 bytes a load", INT, BANK, 1, MANY, 2},
    {"global_float", "float: global, one", FLOAT, GLOBAL, 0, ONE, 1},
    {"block_float", "float: a copy a block, many", FLOAT, BLOCK, 0, MANY, 1},
    {"alone_global", "1 block: int, global", INT, GLOBAL, 0, ALONE, 0},
    {"alone_block", "1 block: int, shared", INT, BLOCK, 0, ALONE, 0},
    {"alone_global_float", "1 block: float, global", FLOAT, GLOBAL, 0, ALONE,
     0},
    {"alone_block_float", "1 block: float, shared", FLOAT, BLOCK, 0, ALONE, 0},
    {"alone_global_half", "1 block: half, global", HALF, GLOBAL, 0, ALONE, 0},
    {"alone_block_half", "1 block: half, shared", HALF, BLOCK, 0, ALONE, 0},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* The kinds of data: all values alike; a half of the bytes 0, a quarter 1, an
 * eighth 2 …; all 7. */
enum { RANDOM, SKEWED, CONSTANT, KINDS };
static const char *const kinds[KINDS] = {"random", "skewed", "constant"};

enum { SLOTS = VALUES + 2, GUARD = 0x5a }; /* bins, outside, and a guard */

static struct {
    long long n, bins, fit; /* fit: threads on the GPU at a time */
    unsigned char *d_data[KINDS];
    void *d_counts;                     /* SLOTS of them */
    count64 tally[KINDS][CUTS][VALUES]; /* the CPU's counts */
} work;

static long long bytes_of(const struct variant *v)
{
    return work.n < cuts[v->cut] ? work.n : cuts[v->cut];
}

static void launch(const struct variant *v, const unsigned char *data)
{
    long long n = bytes_of(v);
    long long threads = v->place < WARP ? BLOCK_THREADS : COPIES_THREADS;
    long long all = (n + threads - 1) / threads, fit = work.fit / threads;
    unsigned blocks = (unsigned)(v->grid == ALONE               ? 1
                                 : v->grid == MANY && fit < all ? fit
                                                                : all);
    unsigned block = (unsigned)threads, bins = (unsigned)work.bins;
    count64 *counts = (count64 *)work.d_counts;

    if (v->place >= WARP)
        count_copies<<<blocks, block>>>(data, n, bins, counts, v->place == BANK,
                                        v->wide);
    else if (v->type == INT && v->place == GLOBAL)
        count_global<<<blocks, block>>>(data, n, bins, counts);
    else if (v->type == INT)
        count_block<<<blocks, block>>>(data, n, bins, counts);
    else if (v->type == FLOAT && v->place == GLOBAL)
        count_global_float<<<blocks, block>>>(data, n, bins, (float *)counts);
    else if (v->type == FLOAT)
        count_block_float<<<blocks, block>>>(data, n, bins, counts);
    else if (v->place == GLOBAL)
        count_global_half<<<blocks, block>>>(data, n, bins, (half *)counts);
    else
        count_block_half<<<blocks, block>>>(data, n, bins, counts);
    CHECK(cudaGetLastError());
}

/* --- the data, and the CPU's counts of it --- */

/* Marsaglia's xorshift with 13, 17 and 5. */
static unsigned char next_byte(int kind, unsigned *x)
{
    unsigned bit = 1u << 31, zeros = 0;

    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    if (kind == RANDOM)
        return (unsigned char)(*x >> 24);
    for (; kind == SKEWED && !(*x & bit); bit >>= 1)
        zeros++;
    return (unsigned char)(kind == SKEWED ? zeros : 7);
}

static void make_data(int kind)
{
    enum { CHUNK = 1 << 20 }; /* every cut is at the end of one */
    static unsigned char chunk[CHUNK];
    count64 *counts = work.tally[kind][CUTS - 1];
    unsigned x = 2463534242u;
    long long i, k;
    int cut;

    for (i = 0; i < work.n; i += CHUNK) {
        long long count = work.n - i < CHUNK ? work.n - i : (long long)CHUNK;
        for (k = 0; k < count; k++)
            counts[chunk[k] = next_byte(kind, &x)]++;
        for (cut = 0; cut < CUTS - 1; cut++)
            if (i + count <= cuts[cut])
                memcpy(work.tally[kind][cut], counts, VALUES * sizeof *counts);
        CHECK(cudaMemcpy(work.d_data[kind] + i, chunk, (size_t)count,
                         cudaMemcpyHostToDevice));
    }
}

/* --- the check --- */

/* A sum of ones stops where 1 is half a ulp: half has 11 bits, float 24, which
 * no cut exceeds. The order of equal addends does not matter. */
static count64 stop(int type, count64 count)
{
    return type == HALF && count > 1 << 11 ? 1 << 11 : count;
}

static size_t cell_size(const struct variant *v)
{
    return v->place != GLOBAL || v->type == INT ? sizeof(count64)
           : v->type == FLOAT                   ? sizeof(float)
                                                : sizeof(half);
}

static void clear_counts(const struct variant *v)
{
    unsigned char image[SLOTS * sizeof(count64)];

    memset(image, GUARD, sizeof image);
    memset(image, 0, (size_t)(work.bins + 1) * cell_size(v));
    CHECK(
        cudaMemcpy(work.d_counts, image, sizeof image, cudaMemcpyHostToDevice));
}

static count64 read_cell(const unsigned char *cell, size_t size)
{
    count64 count;
    float number;
    uint16_t bits;

    memcpy(&count, cell, sizeof count);
    memcpy(&number, cell, sizeof number);
    memcpy(&bits, cell, sizeof bits);
    return size == sizeof count    ? count
           : size == sizeof number ? (count64)number
                                   : (count64)fp16_to_double(bits);
}

/* Whether each slot holds what it should, and nothing behind them was written.
 * A shared cell stops by itself, before it is merged. */
static int counts_are_right(const struct variant *v, int kind, count64 *total)
{
    unsigned char image[SLOTS * sizeof(count64)];
    count64 expected[SLOTS] = {0}, *tally = work.tally[kind][v->cut];
    size_t size = cell_size(v), bins = (size_t)work.bins, k;
    int ok = 1;

    for (k = 0; k < VALUES; k++)
        expected[k < bins ? k : bins] +=
            v->place == GLOBAL ? tally[k] : stop(v->type, tally[k]);
    CHECK(
        cudaMemcpy(image, work.d_counts, sizeof image, cudaMemcpyDeviceToHost));
    for (*total = 0, k = 0; k <= bins; k++) {
        count64 count = read_cell(image + k * size, size);
        ok &= count == stop(v->place == GLOBAL ? v->type : INT, expected[k]);
        *total += count;
    }
    for (k *= size; k < sizeof image; k++)
        ok &= image[k] == GUARD;
    return ok && (v->type == HALF || *total == (count64)bytes_of(v));
}

/* --- the measurement --- */

enum { LONG_MS = 20, LONG_RUNS = 3 }; /* so long a launch runs three times */

static int measure(const struct variant *v, int kind, struct timing *t,
                   count64 *total)
{
    int run, runs = lesson.runs, ok = 1;

    timing_create(t, 1, lesson.runs);
    for (run = 0; run < runs; run++) {
        show_progress(run, runs);
        clear_counts(v);
        timing_begin(t);
        launch(v, work.d_data[kind]);
        timing_end(t);
        ok &= counts_are_right(v, kind, total);
        if (t->ms[0] > LONG_MS && runs > LONG_RUNS)
            runs = LONG_RUNS;
    }
    show_progress(run, run);
    timing_destroy(t);
    return ok;
}

static void csv_histogram(const struct variant *v, int kind,
                          const struct timing *t, count64 total)
{
    static int header_printed;
    double ms = timing_min_ms(t);

    if (!lesson.csv)
        return;
    if (!header_printed)
        printf("gpu,arch,toolkit,lesson,variant,data,bins,n,min_ms,median_ms,"
               "ns_per_add,counted,how,source\n");
    header_printed = 1;
    printf("%s,%s,%s,%d,%s,%s,%lld,%lld,%.6g,%.6g,%.4g,%llu,"
           "%s: smallest of the last %d of %d runs,this repository\n",
           lesson.gpu, lesson.arch, lesson.toolkit, lesson.number, v->name,
           kinds[kind], work.bins, bytes_of(v), ms, timing_median_ms(t),
           ms * 1e6 / (double)bytes_of(v), total, timing_clock(),
           timing_kept(t), t->runs);
}

/* A row of the table: bytes a nanosecond for each kind of data. */
static int report_row(const struct variant *v)
{
    static struct timing t;
    double rate[KINDS];
    count64 total;
    int kind, ok = 1;

    for (kind = 0; kind < KINDS; kind++) {
        ok &= measure(v, kind, &t, &total);
        rate[kind] = (double)bytes_of(v) / timing_min_ms(&t) * 1e-6;
        csv_histogram(v, kind, &t, total);
    }
    report("", "%-31s %9lld %9.4g %9.4g %9.4g   %s", v->what, bytes_of(v),
           rate[RANDOM], rate[SKEWED], rate[CONSTANT], ok ? "ok" : "WRONG");
    if (v->type == HALF && total < (count64)bytes_of(v))
        report("",
               "  a half stops at 2048: %llu of %lld constant bytes counted",
               total, bytes_of(v));
    if (!ok)
        fprintf(stderr, "%s: %s: the counts are not the CPU's\n",
                lesson.program, v->what);
    return ok;
}

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
    require_memory(KINDS * (unsigned long long)(work.n + offset));
    CHECK(cudaMalloc(&work.d_counts, SLOTS * sizeof(count64)));
    for (kind = 0; kind < KINDS; kind++) {
        CHECK(cudaMalloc((void **)&d_memory[kind], (size_t)(work.n + offset)));
        work.d_data[kind] = d_memory[kind] + offset;
        make_data(kind);
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
