/* Lesson 1, v0_half: what does the plain 2-byte atomicAdd(half) cost when every
 * thread adds to the same cell?
 *
 * Answer: on an NVIDIA GPU it is a compare-and-swap loop, and the sum it makes
 * freezes at 32, whatever it should have been.
 *
 * The work is an inner product of two vectors of n halves, each element 0.1.
 * Every thread forms one product and adds it to one cell in memory. No real
 * inner product does this; it is the worst case on purpose.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson1 \
 *                      lessons/v0_half/v0_half.cu
 * It prints the device, the work, the sum and whether it is the expected one,
 * and the time. --plain also runs c = c + 1 without an atomic and counts the
 * adds that are lost. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { BLOCK_THREADS = 256 };

static const long long DEFAULT_N = 32LL * 1024 * 1024; /* elements */
static const uint16_t TENTH = 0x2e66;                  /* 0.1 as a half */

/* --- the kernel --- */

/* With one thread for each element the loop takes one turn. */
static __global__ void dot_half(const half *a, const half *b, half *c,
                                long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long stride = (long long)gridDim.x * blockDim.x;
    half sum = __float2half_rn(0.0f);

    for (; i < n; i += stride)
        sum = __hadd_rn(sum, __hmul_rn(a[i], b[i]));
    atomicAdd(c, sum);
}

static void launch_dot(const half *d_a, const half *d_b, half *d_c, long long n)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);

    dot_half<<<blocks, BLOCK_THREADS>>>(d_a, d_b, d_c, n);
    CHECK(cudaGetLastError());
}

/* --- why there are atomics: the same without one --- */

/* Counts in unsigned, which neither rounds nor freezes: the count tells how
 * many of n adds arrived. volatile keeps every load and every store. */
static __global__ void count_plain(volatile unsigned *c, long long n)
{
    if ((long long)blockIdx.x * blockDim.x + threadIdx.x < n)
        *c = *c + 1;
}

static __global__ void count_atomic(unsigned *c, long long n)
{
    if ((long long)blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(c, 1u);
}

static long long run_count(int atomic, unsigned *d_count, long long n)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);
    unsigned count;

    CHECK(cudaMemset(d_count, 0, sizeof *d_count));
    if (atomic)
        count_atomic<<<blocks, BLOCK_THREADS>>>(d_count, n);
    else
        count_plain<<<blocks, BLOCK_THREADS>>>(d_count, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&count, d_count, sizeof count, cudaMemcpyDeviceToHost));
    return (long long)count;
}

/* The counter has 32 bits, so n stays below 2^32. Returns whether the atomic
 * count is right; what the plain one gives is anybody's guess. */
static int compare_with_plain(long long n)
{
    unsigned *d_count;
    long long plain, atomic;

    CHECK(cudaMalloc((void **)&d_count, sizeof *d_count));
    plain = run_count(0, d_count, n);
    atomic = run_count(1, d_count, n);
    CHECK(cudaFree(d_count));
    report("plain",
           "c = c + 1 by %lld threads: %lld arrived, %lld lost "
           "(%.2f%%)",
           n, plain, n - plain, 100.0 * (double)(n - plain) / (double)n);
    report("", "atomicAdd(c, 1): %lld arrived, %lld lost", atomic, n - atomic);
    return atomic == n;
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long n = DEFAULT_N, plain = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &n, 1, LESSON_MAX_N, "elements (default 2^25)"},
        {"--plain", "", &plain, 0, 0,
         "also count the adds lost without atomics"},
    };
    uint16_t product = fp16_mul(TENTH, TENTH), sum;
    half *d_a, *d_b, *d_c;
    struct timing t;
    int ok;

    lesson_begin(1, "v0_half", "one 2-byte atomicAdd per thread", argc, argv,
                 options, 2);
    if (plain && n > 4294967295LL)
        lesson_usage_error("--plain counts in 32 bits: --n below 2^32");
    report_device();
    require_memory(2 * (unsigned long long)n * sizeof(half), "--n");
    d_a = (half *)device_halves(n, TENTH);
    d_b = (half *)device_halves(n, TENTH);
    d_c = (half *)device_halves(1, 0);
    report("work", "%lld adds of %.6g to one half", n, fp16_to_double(product));

    timing_create(&t, 1, lesson.runs);
    while (timing_next(&t, 1)) {
        CHECK(cudaMemset(d_c, 0, sizeof *d_c));
        timing_begin(&t);
        launch_dot(d_a, d_b, d_c, n);
        timing_end(&t);
    }

    CHECK(cudaMemcpy(&sum, d_c, sizeof sum, cudaMemcpyDeviceToHost));
    ok = report_half(sum, fp16_add_up(0, product, n, NULL), "");
    report_frozen(sum, product, fp16_to_double(product) * (double)n);
    report_time(&t, n);
    csv_sum(lesson.name, n, &t, sum);
    if (plain)
        ok &= compare_with_plain(n);

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return ok ? 0 : EXIT_WRONG;
}
