/* Lesson 6, v5_reduce: how is an inner product done right?
 *
 * Answer: every thread adds its products in float, in a register; then the warp
 * adds, then the block, and one float atomic per block is left. With 16-byte
 * loads, several of them in flight, that takes as long as reading the vectors.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson6 \
 *                      lessons/v5_reduce/v5_reduce.cu
 * It checks the inner product against double, on every alignment, climbs the
 * ladder from lesson 1 to here, and prints the errors of each type of sum.
 * --deterministic adds a version with the same bits on every run. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "bf16_add.h"
#include "device.h"
#include "options.h"
#include "report.h"

enum { BLOCK_THREADS = 256, WARP_THREADS = 32 };
static const unsigned FULL_WARP = 0xffffffff;

/* --- from the threads of a block to one sum --- */

/* The sum of the warp's values, in its first thread. */
static __device__ float warp_sum(float value)
{
    int distance;

    for (distance = WARP_THREADS / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(FULL_WARP, value, distance, WARP_THREADS);
    return value;
}

/* The sum of the block's values, in its first thread. A second call needs a
 * __syncthreads() before it. A warp stays whole, see common/device.h. */
static __device__ float block_sum(float value)
{
    __shared__ float of_warp[WARP_THREADS];
    unsigned warps = blockDim.x / WARP_THREADS;

    value = warp_sum(value);
    if (threadIdx.x % WARP_THREADS == 0)
        of_warp[threadIdx.x / WARP_THREADS] = value;
    __syncthreads();
    if (threadIdx.x >= WARP_WIDTH)
        return 0;
    return warp_sum(threadIdx.x < warps ? of_warp[threadIdx.x] : 0);
}

/* --- the ladder: one element per thread --- */

/* A product of two halves has at most 22 bits: it is exact in float. */
static __device__ float product(half a, half b)
{
    return __half2float(a) * __half2float(b);
}

/* Lesson 1. */
static __global__ void half_a_thread(const half *a, const half *b, half *c,
                                     long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(c, __hmul_rn(a[i], b[i]));
}

static __global__ void bf16_a_thread(const half *a, const half *b,
                                     __nv_bfloat16 *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(c, __float2bfloat16_rn(product(a[i], b[i])));
}

static __global__ void float_a_thread(const half *a, const half *b, float *c,
                                      long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(c, product(a[i], b[i]));
}

static __global__ void half_a_block(const half *a, const half *b, half *c,
                                    long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = block_sum(i < n ? product(a[i], b[i]) : 0);

    if (threadIdx.x == 0)
        atomicAdd(c, __float2half_rn(sum));
}

static __global__ void float_a_block(const half *a, const half *b, float *c,
                                     long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = block_sum(i < n ? product(a[i], b[i]) : 0);

    if (threadIdx.x == 0)
        atomicAdd(c, sum);
}

/* --- the full version --- */

enum { DOT_THREADS = 512, MOST_BLOCKS = 4096 };
enum { VECTOR = 8, TILE = 2 * DOT_THREADS }; /* halves; vectors per turn */

/* The work: the first `head` elements, then `vectors` of eight, then the rest.
 * The address of a + head is a multiple of 16; b + head lies `shift` halves
 * beyond one. Nothing outside of a and b is loaded. */
struct span {
    const half *a, *b;
    long long n, head, vectors;
    int shift;
};

/* What the blocks of a launch share. It is 0 between launches, so that none has
 * to clear it; launches that run at the same time need one each. */
struct scratch {
    float sum;
    unsigned done; /* blocks */
    float parts[MOST_BLOCKS];
};

static __device__ float add_pair(unsigned x, unsigned y, float sum)
{
    half2 a = *(half2 *)&x, b = *(half2 *)&y;

    sum = fmaf(__half2float(__low2half(a)), __half2float(__low2half(b)), sum);
    return fmaf(__half2float(__high2half(a)), __half2float(__high2half(b)),
                sum);
}

static __device__ float add_vector(uint4 x, uint4 y, float sum)
{
    sum = add_pair(x.x, y.x, sum);
    sum = add_pair(x.y, y.y, sum);
    sum = add_pair(x.z, y.z, sum);
    return add_pair(x.w, y.w, sum);
}

/* Eight halves from number `shift`, 1 to 7, of v[0] on. Each vector is loaded
 * by two threads, and the second finds it in the cache. */
static __device__ uint4 load_shifted(const uint4 *v, int shift)
{
    uint4 low = v[0], high = v[1];

    if (shift & 4) {
        low = make_uint4(low.z, low.w, high.x, high.y);
        high = make_uint4(high.z, high.w, 0, 0);
    }
    if (shift & 2) {
        low = make_uint4(low.y, low.z, low.w, high.x);
        high.x = high.y;
    }
    if (shift & 1)
        low = make_uint4(low.x >> 16 | low.y << 16, low.y >> 16 | low.z << 16,
                         low.z >> 16 | low.w << 16, low.w >> 16 | high.x << 16);
    return low;
}

/* This thread's part. Four loads of 16 bytes (six if shifted) are in flight
 * before the first of them is used. */
static __device__ float sum_span(struct span s, int is_shifted)
{
    const uint4 *a = (const uint4 *)(s.a + s.head);
    const uint4 *b = (const uint4 *)(s.b + s.head - s.shift);
    long long tiles = s.vectors / TILE, tile, i;
    float sum0 = 0, sum1 = 0;

    for (tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        long long j = (i = tile * TILE + threadIdx.x) + DOT_THREADS;
        uint4 x0 = a[i], x1 = a[j];
        uint4 y0 = is_shifted ? load_shifted(b + i, s.shift) : b[i];
        uint4 y1 = is_shifted ? load_shifted(b + j, s.shift) : b[j];
        sum0 = add_vector(x0, y0, sum0);
        sum1 = add_vector(x1, y1, sum1);
    }
    i = tiles * TILE + (long long)blockIdx.x * DOT_THREADS + threadIdx.x;
    for (; i < s.vectors; i += (long long)gridDim.x * DOT_THREADS) {
        uint4 y = is_shifted ? load_shifted(b + i, s.shift) : b[i];
        sum0 = add_vector(a[i], y, sum0);
    }
    i = threadIdx.x < s.head ? threadIdx.x : threadIdx.x + s.vectors * VECTOR;
    if (blockIdx.x == 0 && i < s.n)
        sum1 += product(s.a[i], s.b[i]);
    return sum0 + sum1;
}

/* One float atomic per block, in whatever order they come. The block that is
 * done last hands the sum over and leaves the scratch as it was. */
static __device__ void finish(float part, struct scratch *s, float *result)
{
    if (threadIdx.x > 0)
        return;
    atomicAdd(&s->sum, part);
    __threadfence(); /* the sum before the count */
    if (atomicInc(&s->done, gridDim.x - 1) < gridDim.x - 1)
        return;
    __threadfence(); /* the count before the sum */
    *result = atomicExch(&s->sum, 0.0f);
}

/* No float atomic: the block that is done last adds all parts, and always in
 * the same order. */
static __device__ void finish_in_order(float part, struct scratch *s,
                                       float *result)
{
    __shared__ int is_last;
    volatile float *parts = s->parts; /* written by other blocks */
    float sum = 0;
    unsigned i;

    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        __threadfence(); /* the part before the count */
        is_last = atomicInc(&s->done, gridDim.x - 1) == gridDim.x - 1;
        __threadfence(); /* the count before the parts */
    }
    __syncthreads();
    if (!is_last)
        return;
    for (i = threadIdx.x; i < gridDim.x; i += DOT_THREADS)
        sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *result = sum;
}

static __global__ void dot_kernel(struct span s, struct scratch *scratch,
                                  float *result, int in_order)
{
    float part = block_sum(s.shift == 0 ? sum_span(s, 0) : sum_span(s, 1));

    if (in_order)
        finish_in_order(part, scratch, result);
    else
        finish(part, scratch, result);
}

/* As many as run at a time, where there is work for them; and at least one,
 * which writes the result. */
static unsigned dot_blocks(long long vectors)
{
    static long long most; /* asked once */
    long long blocks = blocks_for(vectors, TILE);
    int each; /* multiprocessor */

    if (most == 0) {
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, (const void *)dot_kernel, DOT_THREADS, 0));
        most = (long long)attribute_of(cudaDevAttrMultiProcessorCount) * each;
        if (most > MOST_BLOCKS)
            most = MOST_BLOCKS;
    }
    blocks = blocks < most ? blocks : most;
    return (unsigned)(blocks > 0 ? blocks : 1);
}

static struct span span_of(const half *a, const half *b, long long n)
{
    struct span s = {a, b, n, 0, 0, 0};

    s.head = (long long)((16 - (size_t)a % 16) % 16 / sizeof(half));
    s.shift = (int)((size_t)(b + s.head) % 16 / sizeof(half));
    if (s.head < s.shift)
        s.head += VECTOR; /* or the first load would begin before b */
    if (s.head > n)
        s.head = n;
    n -= s.head + (s.shift ? VECTOR - s.shift : 0); /* or the last end after */
    s.vectors = n > 0 ? n / VECTOR : 0;
    return s;
}

/* Writes the inner product of n >= 0 halves, wherever a and b begin. */
static void dot(const half *d_a, const half *d_b, long long n,
                struct scratch *d_scratch, float *d_result, int in_order)
{
    struct span s = span_of(d_a, d_b, n);
    unsigned blocks = dot_blocks(s.vectors);

    dot_kernel<<<blocks, DOT_THREADS>>>(s, d_scratch, d_result, in_order);
    CHECK(cudaGetLastError());
}

/* --- what it is held against, and the ladder's launch --- */

#include "bound.h"
#include "input.h"
#include "checks.h"
#include "ladder.h"
#include "errors.h"

static void launch(int step, long long n)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);

    if (step == HALF_THREAD)
        half_a_thread<<<blocks, BLOCK_THREADS>>>(d_a, d_b, (half *)d_cell, n);
    else if (step == BF16_THREAD)
        bf16_a_thread<<<blocks, BLOCK_THREADS>>>(d_a, d_b,
                                                 (__nv_bfloat16 *)d_cell, n);
    else if (step == FLOAT_THREAD)
        float_a_thread<<<blocks, BLOCK_THREADS>>>(d_a, d_b, (float *)d_cell, n);
    else if (step == HALF_BLOCK)
        half_a_block<<<blocks, BLOCK_THREADS>>>(d_a, d_b, (half *)d_cell, n);
    else if (step == FLOAT_BLOCK)
        float_a_block<<<blocks, BLOCK_THREADS>>>(d_a, d_b, (float *)d_cell, n);
    else
        dot(d_a, d_b + (step == FULL_SHIFTED), n, d_scratch, (float *)d_cell,
            step == FULL_IN_ORDER);
    CHECK(cudaGetLastError());
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long n = 0, most = 0, deterministic = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &n, 1, LESSON_MAX_N,
         "elements (2^25, errors up to 2^28; in emulation 2^20)"},
        {"--deterministic", "", &deterministic, 0, 0,
         "also the version that gives the same bits on every run"},
    };
    int ok;

    lesson_begin(6, "v5_reduce", "registers, warp, block, then one atomic",
                 argc, argv, options, 2);
    report_device();
    if (n == 0) {
        n = lesson.emulated ? 1 << 20 : 1 << 25;
        most = lesson.emulated ? 1 << 20 : 1 << 28;
    }
    if (lesson.emulated && most > 0)
        report("", "2^20 elements in place of 2^25, and errors up to 2^20");
    allocate(n > most ? n : most);
    if (!check_all(n, (int)deterministic))
        return EXIT_WRONG;
    upload_tenths(n > most ? n : most);
    ok = climb_all(n, deterministic ? STEPS : FULL_IN_ORDER);
    ok &= most == 0 || sweep_errors(most);
    report("result", "%s", ok ? "all sums as expected: ok" : "WRONG");
    release();
    return ok ? 0 : EXIT_WRONG;
}
