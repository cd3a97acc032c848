/* Lesson 2, v1_pack2: what changes when the data is seen as pairs of halves and
 * each thread adds a whole pair, with one half2 atomic?
 *
 * Answer: the add is one hardware instruction instead of a loop, but there are
 * as many of them as before: packing does not lower the number of atomics.
 *
 * The work is lesson 1's inner product. Thread i takes pair i: two products,
 * one add of the same sum to both halves of the result. n threads for n / 2
 * pairs: the second half of them adds zero.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson2 \
 *                      lessons/v1_pack2/v1_pack2.cu
 * It prints the device, the work, both sums and whether they are the expected
 * ones, and the time. */
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

/* Two halves in one 4-byte load. The alignment is a promise about every address
 * that is cast to this type; it moves no data. */
typedef struct {
    half x, y;
} __align__(4) pack2;

static __global__ void dot_pack2(const pack2 *a, const pack2 *b, half2 *c,
                                 long long pairs)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long stride = (long long)gridDim.x * blockDim.x;
    half sum = __float2half_rn(0.0f);

    for (; i < pairs; i += stride) {
        pack2 p = a[i], q = b[i];
        sum =
            __hadd_rn(sum, __hadd_rn(__hmul_rn(p.x, q.x), __hmul_rn(p.y, q.y)));
    }
    atomicAdd(c, __halves2half2(sum, sum));
}

/* As many threads as lesson 1, so that both do n atomic adds. */
static void launch_dot(const half *d_a, const half *d_b, half2 *d_c,
                       long long n)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);

    dot_pack2<<<blocks, BLOCK_THREADS>>>((const pack2 *)d_a, (const pack2 *)d_b,
                                         d_c, n / 2);
    CHECK(cudaGetLastError());
}

/* --- what the caller must keep --- */

/* The kernel takes n / 2 pairs: of an odd n it would lose the last element and
 * say nothing. A pair that starts at an odd half lies across two 4-byte slots:
 * the load traps with error 716, long before the atomic. */
static void require_pairs(long long n, long long offset)
{
    if (n % 2 != 0)
        lesson_usage_error("--n must be even: %lld halves are %lld pairs, and "
                           "the last element would be lost",
                           n, n / 2);
    if (offset % 2 != 0)
        lesson_usage_error("--offset must be even: a pair at an odd half is "
                           "not 4-byte aligned, and loading it is error 716");
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long n = DEFAULT_N, offset = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &n, 2, LESSON_MAX_N, "elements, even (default 2^25)"},
        {"--offset", NULL, &offset, 0, 1024,
         "start the vectors N halves into their memory, even (default 0)"},
    };
    uint16_t product = fp16_mul(TENTH, TENTH);
    uint16_t pair = fp16_add(product, product), sums[2], expected;
    half *d_a, *d_b;
    half2 *d_c;
    struct timing t;
    int ok;

    lesson_begin(2, "v1_pack2", "one half2 atomicAdd per thread", argc, argv,
                 options, 2);
    require_pairs(n, offset);
    report_device();
    require_memory(2 * (unsigned long long)(n + offset) * sizeof(half), "--n");
    d_a = (half *)device_halves(n + offset, TENTH);
    d_b = (half *)device_halves(n + offset, TENTH);
    d_c = (half2 *)device_halves(2, 0);
    report("work",
           "%lld adds to one half2: %lld of %.6g to both halves, the "
           "rest of 0",
           n, n / 2, fp16_to_double(pair));

    timing_create(&t, 1, lesson.runs);
    while (timing_next(&t, 1)) {
        CHECK(cudaMemset(d_c, 0, sizeof *d_c));
        timing_begin(&t);
        launch_dot(d_a + offset, d_b + offset, d_c, n);
        timing_end(&t);
    }

    CHECK(cudaMemcpy(sums, d_c, sizeof sums, cudaMemcpyDeviceToHost));
    expected = fp16_add_up(0, pair, n / 2, NULL);
    ok = report_half(sums[0], expected, ", low half");
    ok &= report_half(sums[1], expected, ", high half");
    report_frozen(sums[0], pair, fp16_to_double(product) * (double)n);
    report_time(&t, n);
    csv_sum(lesson.name, n, &t, sums[0]);

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return ok ? 0 : EXIT_WRONG;
}
