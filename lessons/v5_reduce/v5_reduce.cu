/* Lesson 6, v5_reduce: how is an inner product done right?
 *
 * Answer: every thread adds its products in float, in a register; then the warp
 * adds, then the block, and one float atomic a block is left. With 16-byte
 * loads, several of them in flight, that takes as long as reading the vectors.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson6 \
 *                      lessons/v5_reduce/v5_reduce.cu
 * It first checks the inner product against double, on every alignment of both
 * vectors. Then it climbs the ladder from lesson 1 to here, with times and
 * errors, and prints the error of each type of sum against n. --deterministic
 * adds a version that gives the same bits on every run. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { BLOCK_THREADS = 256, WARP_THREADS = 32 };

static const unsigned FULL_WARP = 0xffffffff;
static const uint16_t TENTH = 0x2e66; /* 0.1 as a half */

/* --- from the threads of a block to one sum --- */

/* The sum of the warp's values, in its first thread. */
static __device__ float warp_sum(float value)
{
    int distance;

    for (distance = WARP_THREADS / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(FULL_WARP, value, distance);
    return value;
}

/* The sum of the block's values, in its first thread. A second call needs a
 * __syncthreads() before it. */
static __device__ float block_sum(float value)
{
    __shared__ float of_warp[WARP_THREADS];
    unsigned warps = blockDim.x / WARP_THREADS;

    value = warp_sum(value);
    if (threadIdx.x % WARP_THREADS == 0)
        of_warp[threadIdx.x / WARP_THREADS] = value;
    __syncthreads();
    if (threadIdx.x >= WARP_THREADS)
        return 0;
    return warp_sum(threadIdx.x < warps ? of_warp[threadIdx.x] : 0);
}

/* --- the ladder: one element a thread --- */

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

enum { DOT_THREADS = 512, VECTOR = 8 }; /* threads a block; halves */
enum { TILE = 2 * DOT_THREADS };        /* vectors a block and turn */
enum { MOST_BLOCKS = 4096 };

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

/* One float atomic a block, in whatever order they come. The block that is done
 * last hands the sum over and leaves the scratch as it was. */
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

/* How many blocks run at a time; asked once. */
static long long blocks_at_a_time(void)
{
    static long long blocks;
    int multiprocessors, each;

    if (blocks > 0)
        return blocks;
    CHECK(cudaDeviceGetAttribute(&multiprocessors,
                                 cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &each, (const void *)dot_kernel, DOT_THREADS, 0));
    blocks = (long long)multiprocessors * each;
    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS;
    return blocks;
}

/* No more than these, and at least one, which writes the result. */
static unsigned dot_blocks(long long vectors)
{
    long long blocks = (vectors + TILE - 1) / TILE, most = blocks_at_a_time();

    if (blocks > most)
        blocks = most;
    return (unsigned)(blocks < 1 ? 1 : blocks);
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

/* *d_result = the inner product of n >= 0 halves, wherever a and b begin. It
 * need not be cleared. */
static void dot(const half *d_a, const half *d_b, long long n,
                struct scratch *d_scratch, float *d_result, int in_order)
{
    struct span s = span_of(d_a, d_b, n);
    unsigned blocks = dot_blocks(s.vectors);

    dot_kernel<<<blocks, DOT_THREADS>>>(s, d_scratch, d_result, in_order);
    CHECK(cudaGetLastError());
}

/* --- how far it may be off --- */

/* A product that passes through k float adds, each of which rounds by a factor
 * of 1 + d, |d| <= u = 2^-24, arrives with a factor of at most (1 + u)^k. So
 *     |sum - exact| <= ((1 + u)^k - 1) S <= k u / (1 - k u) S,
 * where S is the sum of |a b|, and the exact sum itself if all products have
 * one sign. Products are exact and never subnormal; the double reference adds
 * at most 2^20 terms one by one, and is off by less than 2^-14 of this. */
static double bound_of(double adds)
{
    double ku = adds * 0x1p-24;

    return ku < 1 ? ku / (1 - ku) : INFINITY;
}

/* Through how many adds a product passes at most: eight for each turn of its
 * thread, up to two of them for what the tiles leave, one for an odd element,
 * one for the thread's two sums and ten for the block; then one for each block,
 * or in order those of the last block. */
static double dot_bound(long long vectors, int in_order)
{
    long long blocks = dot_blocks(vectors), tiles = vectors / TILE;
    long long turns = (tiles + blocks - 1) / blocks + 2;
    long long last = in_order ? blocks / DOT_THREADS + 1 + 10 : blocks;

    return bound_of((double)(turns * VECTOR + 12 + last));
}

/* --- the input, and its inner product in double --- */

enum { PERIOD = 1 << 20 }; /* elements after which the input repeats */

static uint16_t host_a[PERIOD], host_b[PERIOD];

static struct {
    double sum, size; /* of a b, and of |a b| */
} exact;

/* The next number of a fixed sequence, about uniform in [-1, 1). */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) * 0x1p-31;
}

/* All 0.1, or at random in [-1, 1]. */
static void make_input(int is_random)
{
    uint64_t state = 1;
    int i;

    for (i = 0; i < PERIOD; i++) {
        host_a[i] = is_random ? fp16_from_double(draw(&state)) : TENTH;
        host_b[i] = is_random ? fp16_from_double(draw(&state)) : TENTH;
    }
}

static void add_exactly(long long n, double times)
{
    double sum = 0, size = 0, term;
    long long i;

    for (i = 0; i < n; i++) {
        term = fp16_to_double(host_a[i]) * fp16_to_double(host_b[i]);
        sum += term;
        size += fabs(term);
    }
    exact.sum += times * sum;
    exact.size += times * size;
}

static void set_exact(long long n)
{
    exact.sum = exact.size = 0;
    if (n >= PERIOD)
        add_exactly(PERIOD, (double)(n / PERIOD));
    add_exactly(n % PERIOD, 1);
}

static void upload(half *d_to, const uint16_t *input, long long n)
{
    long long i;

    for (i = 0; i < n; i += PERIOD) {
        size_t count = n - i < PERIOD ? (size_t)(n - i) : (size_t)PERIOD;
        CHECK(cudaMemcpy(d_to + i, input, count * sizeof *input,
                         cudaMemcpyHostToDevice));
    }
}

/* --- the checks --- */

enum { ALIGNMENTS = 8, MOST_CHECKED = 20001 };
enum { SLOT = MOST_CHECKED + 23 }; /* halves; a multiple of eight */

static half *d_a, *d_b;
static struct scratch *d_scratch;
static void *d_cell; /* 4 bytes that a kernel adds to or writes */

static float dot_now(const half *a, const half *b, long long n, int in_order)
{
    float sum;

    CHECK(cudaMemset(d_cell, 0xff, sizeof sum)); /* NaN */
    dot(a, b, n, d_scratch, (float *)d_cell, in_order);
    CHECK(cudaMemcpy(&sum, d_cell, sizeof sum, cudaMemcpyDeviceToHost));
    return sum;
}

/* The error of a sum as a share of its bound: above 1 it is wrong. Says so of
 * the first one that is. */
static double check_one(const half *a, const half *b, long long n, int in_order)
{
    static int said;
    double sum = (double)dot_now(a, b, n, in_order);
    double error = fabs(sum - exact.sum);
    double bound = exact.size * dot_bound(span_of(a, b, n).vectors, in_order);

    if (error <= bound)
        return error > 0 ? error / bound : 0;
    if (said++)
        return INFINITY;
    fprintf(stderr,
            "%s: n = %lld, a and b %d and %d bytes beyond 16, %s order: %.9g, "
            "expected %.9g within %.2g\n",
            lesson.program, n, (int)((size_t)a % 16), (int)((size_t)b % 16),
            in_order ? "one" : "any", sum, exact.sum, bound);
    return INFINITY;
}

/* Eight copies of the first n elements, one for each alignment, with NaN on
 * both sides: an element too many makes the sum NaN. */
static void upload_aligned(half *d_slots, const uint16_t *input, long long n)
{
    static uint16_t slot[SLOT];
    int k;

    for (k = 0; k < ALIGNMENTS; k++) {
        memset(slot, 0xff, sizeof slot);
        memcpy(slot + ALIGNMENTS + k, input, (size_t)n * sizeof *input);
        upload(d_slots + (size_t)k * SLOT, slot, SLOT);
    }
}

/* Both orders on all alignments of n elements; the worst error. */
static double check_alignments(long long n)
{
    double worst = 0;
    size_t i, j;

    upload_aligned(d_a, host_a, n);
    upload_aligned(d_b, host_b, n);
    set_exact(n);
    for (i = 0; i < ALIGNMENTS; i++)
        for (j = 0; j < ALIGNMENTS; j++) {
            const half *a = d_a + i * SLOT + ALIGNMENTS + i;
            const half *b = d_b + j * SLOT + ALIGNMENTS + j;
            worst = fmax(worst, check_one(a, b, n, 0));
            worst = fmax(worst, check_one(a, b, n, 1));
        }
    return worst;
}

/* All 0.1 and random, each n; ends where one is wrong. */
static int check_small(void)
{
    static const int sizes[] = {0,    1,    2,    7,    8,
                                15,   16,   17,   31,   100,
                                1000, 8191, 8192, 8230, MOST_CHECKED};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    double worst = 0;
    int k;

    for (k = 0; k < 2 * SIZES && worst <= 1; k++) {
        if (k % SIZES == 0)
            make_input(k / SIZES);
        worst = fmax(worst, check_alignments(sizes[k % SIZES]));
    }
    report("checks",
           "%d sums of 0 to %d products, on all alignments of a and b",
           k * 2 * ALIGNMENTS * ALIGNMENTS, MOST_CHECKED);
    report("", "the largest error is %.2g of its bound: %s", worst,
           worst <= 1 ? "ok" : "WRONG");
    return worst <= 1;
}

/* Leaves the last random input in d_a and d_b. */
static int check_large(long long n)
{
    double worst = 0;
    int shift;

    make_input(1);
    upload(d_a, host_a, n);
    set_exact(n);
    for (shift = 1; shift >= 0; shift--) {
        upload(d_b + shift, host_b, n);
        worst = fmax(worst, check_one(d_a, d_b + shift, n, 0));
        worst = fmax(worst, check_one(d_a, d_b + shift, n, 1));
    }
    report("",
           "%lld products of random numbers: %.2g of the bound, which is %.2g "
           "of the sum of |a b|: %s",
           n, worst, dot_bound(n / VECTOR, 0), worst <= 1 ? "ok" : "WRONG");
    return worst <= 1;
}

/* --- the same bits on every run? --- */

static int compare_bits(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(float));
}

/* How many different sums 50 runs make of what d_a and d_b hold. */
static int count_sums(long long n, int in_order)
{
    enum { RUNS = 50 };
    float sums[RUNS];
    int run, different = 1;

    for (run = 0; run < RUNS; run++)
        sums[run] = dot_now(d_a, d_b, n, in_order);
    qsort(sums, RUNS, sizeof sums[0], compare_bits);
    for (run = 1; run < RUNS; run++)
        different += compare_bits(&sums[run - 1], &sums[run]) != 0;
    return different;
}

static int check_bits(long long n)
{
    int any = count_sums(n, 0), one = count_sums(n, 1);

    report("bits", "50 runs give %d %s; in order, %d: %s", any,
           any == 1 ? "sum" : "different sums", one, one == 1 ? "ok" : "WRONG");
    return one == 1;
}

/* --- the ladder, on elements that are all 0.1 --- */

enum type { HALF, BF16, FLOAT };
enum step {
    HALF_THREAD,
    BF16_THREAD,
    FLOAT_THREAD,
    HALF_BLOCK,
    FLOAT_BLOCK,
    FULL,
    FULL_SHIFTED,
    FULL_IN_ORDER,
    STEPS
};

/* What each adds to: a cell of `type`, in parts of `products` products. */
static const struct {
    const char *variant, *name;
    int type, products;
} steps[STEPS] = {
    {"half_a_thread", "half, one a thread", HALF, 1},
    {"bf16_a_thread", "bf16, one a thread", BF16, 1},
    {"float_a_thread", "float, one a thread", FLOAT, 1},
    {"half_a_block", "half, one a block", HALF, BLOCK_THREADS},
    {"float_a_block", "float, one a block", FLOAT, BLOCK_THREADS},
    {"v5_reduce", "full", FLOAT, 0},
    {"v5_reduce_shifted", "full, b 2 bytes off", FLOAT, 0},
    {"v5_reduce_in_order", "full, in order", FLOAT, 0},
};

static void launch(int step, long long n)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);
    half *c = (half *)d_cell;
    float *sum = (float *)d_cell;

    if (step >= FULL)
        dot(d_a, d_b + (step == FULL_SHIFTED), n, d_scratch, sum,
            step == FULL_IN_ORDER);
    else if (step == HALF_THREAD)
        half_a_thread<<<blocks, BLOCK_THREADS>>>(d_a, d_b, c, n);
    else if (step == BF16_THREAD)
        bf16_a_thread<<<blocks, BLOCK_THREADS>>>(d_a, d_b,
                                                 (__nv_bfloat16 *)d_cell, n);
    else if (step == FLOAT_THREAD)
        float_a_thread<<<blocks, BLOCK_THREADS>>>(d_a, d_b, sum, n);
    else if (step == HALF_BLOCK)
        half_a_block<<<blocks, BLOCK_THREADS>>>(d_a, d_b, c, n);
    else
        float_a_block<<<blocks, BLOCK_THREADS>>>(d_a, d_b, sum, n);
    CHECK(cudaGetLastError());
}

/* The sum of one launch. */
static double read_sum(int step)
{
    uint16_t bits[2];
    float sum;

    CHECK(cudaMemcpy(bits, d_cell, sizeof bits, cudaMemcpyDeviceToHost));
    memcpy(&sum, bits, sizeof sum);
    return steps[step].type == HALF ? fp16_to_double(bits[0])
           : steps[step].type == BF16
               ? (double)__bfloat162float(__ushort_as_bfloat16(bits[0]))
               : (double)sum;
}

static double round_to(int type, double value)
{
    return type == HALF ? fp16_to_double(fp16_from_double(value))
           : type == BF16
               ? (double)__bfloat162float(__float2bfloat16_rn((float)value))
               : (double)(float)value;
}

/* The sum after one add more of a whole part. */
static double add_part(int step, double sum)
{
    double tenth = fp16_to_double(TENTH);
    double part = tenth * tenth * steps[step].products;

    return round_to(steps[step].type, sum + round_to(steps[step].type, part));
}

/* All parts are equal, so their order does not matter: add until `parts` are
 * added or the sum stops moving. */
static double add_up(int step, long long parts)
{
    double sum = 0, next;

    for (; parts > 0 && (next = add_part(step, sum)) != sum; parts--)
        sum = next;
    return sum;
}

struct range {
    double low, high;
};

/* What this step must make of n products, right or wrong. The last part may be
 * a smaller one, at any turn: then the sum lies between the one without it and
 * the one with a whole part instead, since rounding keeps the order. */
static struct range expected_sum(int step, long long n)
{
    int products = steps[step].products;
    double bound = exact.size * dot_bound(n / VECTOR, step == FULL_IN_ORDER);
    struct range r = {exact.sum - bound, exact.sum + bound};

    if (products > 0) {
        r.low = r.high = add_up(step, n / products);
        if (n % products != 0)
            r.high = add_up(step, n / products + 1);
    }
    return r;
}

/* One row for results/; the first call prints the header. Columns and units:
 * results/README.md. */
static void csv_step(int step, long long n, const struct timing *t,
                     double copy_ms, double sum, double error)
{
    static int header_printed;
    double ms = t ? timing_min_ms(t) : 0;

    if (!lesson.csv)
        return;
    if (!header_printed)
        printf("gpu,arch,toolkit,lesson,variant,n,min_ms,median_ms,gb_per_s,"
               "of_copy,result,error,how,source\n");
    header_printed = 1;
    printf("%s,%s,%s,%d,%s,%lld,%.6g,%.6g,%.5g,%.4g,%.9g,%.3g,", lesson.gpu,
           lesson.arch, lesson.toolkit, lesson.number, steps[step].variant, n,
           ms, t ? timing_median_ms(t) : 0, t ? 4e-6 * (double)n / ms : 0,
           t ? copy_ms / ms : 0, sum, error);
    if (t)
        printf("%s: smallest of the last %d of %d runs,", timing_clock(),
               timing_kept(t), t->runs);
    else
        printf("one run; not timed,");
    printf("this repository\n");
}

/* A copy of a vector moves as many bytes as an inner product reads. */
static double time_copy(long long n)
{
    static struct timing t;
    int run;

    timing_create(&t, 1, lesson.runs);
    for (run = 0; run < lesson.runs; run++) {
        timing_begin(&t);
        CHECK(cudaMemcpy(d_b, d_a, (size_t)n * sizeof(half),
                         cudaMemcpyDeviceToDevice));
        timing_end(&t);
    }
    timing_destroy(&t);
    report("copy", "%lld bytes read and as many written: %.4g ms, %.0f GB/s",
           2 * n, timing_min_ms(&t), 4e-6 * (double)n / timing_min_ms(&t));
    return timing_min_ms(&t);
}

/* Times one step and prints its row. Returns whether all sums are as expected.
 */
static int climb(int step, long long n, double copy_ms)
{
    static struct timing t;
    struct range r = expected_sum(step, n);
    int runs = lesson.emulated ? 1 : lesson.runs; /* its times mean nothing */
    int run, ok = 1;
    double sum = 0, ms, error;

    timing_create(&t, 1, lesson.runs);
    for (run = 0; run < runs; run++) {
        show_progress(run, runs);
        CHECK(cudaMemset(d_cell, 0, 4));
        timing_begin(&t);
        launch(step, n);
        timing_end(&t);
        sum = read_sum(step);
        ok &= sum >= r.low && sum <= r.high;
    }
    show_progress(run, runs);
    timing_destroy(&t);
    ms = timing_min_ms(&t);
    error = fabs(sum - exact.sum) / exact.sum;
    report("", "%-20s %9.4g %8.4g %8.3g%% %12.9g %9.2g%s", steps[step].name, ms,
           4e-6 * (double)n / ms, 100 * copy_ms / ms, sum, error,
           !ok                                                      ? "  WRONG"
           : steps[step].products > 0 && add_part(step, sum) == sum ? "  frozen"
                                                                    : "");
    csv_step(step, n, &t, copy_ms, sum, error);
    return ok;
}

/* d_a and d_b hold 0.1 in all of their elements. */
static int climb_all(long long n, int steps_to_climb)
{
    double copy_ms = time_copy(n);
    int step, ok = 1;

    set_exact(n);
    report("work", "%lld products of 0.1 and 0.1 in half; their sum is %.9g", n,
           exact.sum);
    report("", "%-20s %9s %8s %9s %12s %9s", "", "ms", "GB/s", "of copy", "sum",
           "error");
    for (step = 0; step < steps_to_climb; step++)
        if (step != BF16_THREAD)
            ok &= climb(step, n, copy_ms);
    return ok;
}

/* --- the error against n --- */

static int sweep_errors(long long most)
{
    static const int shown[] = {HALF_THREAD, BF16_THREAD, FLOAT_THREAD, FULL};
    double error[4], sum;
    struct range r;
    int k, ok = 1;
    long long n;

    report("errors", "%10s %20s %20s %20s %9s", "n", steps[HALF_THREAD].name,
           steps[BF16_THREAD].name, steps[FLOAT_THREAD].name, "full");
    for (n = 1 << 8; n <= most; n *= 4) {
        set_exact(n);
        for (k = 0; k < 4; k++) {
            CHECK(cudaMemset(d_cell, 0, 4));
            r = expected_sum(shown[k], n);
            launch(shown[k], n);
            sum = read_sum(shown[k]);
            ok &= sum >= r.low && sum <= r.high;
            error[k] = fabs(sum - exact.sum) / exact.sum;
            csv_step(shown[k], n, NULL, 0, sum, error[k]);
        }
        report("", "%10lld %20.2g %20.2g %20.2g %9.2g%s", n, error[0], error[1],
               error[2], error[3], ok ? "" : "  WRONG");
    }
    return ok;
}

/* --- main --- */

/* Two vectors of n elements, one more in b, and at least the checks' copies. */
static void allocate(long long n)
{
    size_t halves = (size_t)n + 1, slots = (size_t)ALIGNMENTS * SLOT;
    size_t bytes = (halves > slots ? halves : slots) * sizeof(half);

    require_memory(2 * bytes + sizeof *d_scratch + 4);
    CHECK(cudaMalloc((void **)&d_a, bytes));
    CHECK(cudaMalloc((void **)&d_b, bytes));
    CHECK(cudaMalloc((void **)&d_scratch, sizeof *d_scratch));
    CHECK(cudaMalloc(&d_cell, 4));
    CHECK(cudaMemset(d_scratch, 0, sizeof *d_scratch));
}

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
    if (!check_small() || !check_large(n) ||
        (deterministic && !check_bits(n))) {
        fprintf(stderr, "%s: the inner product is wrong; not timed\n",
                lesson.program);
        return EXIT_WRONG;
    }
    make_input(0);
    upload(d_a, host_a, n > most ? n : most);
    upload(d_b, host_b, (n > most ? n : most) + 1);
    ok = climb_all(n, deterministic ? STEPS : FULL_IN_ORDER);
    if (most > 0)
        ok &= sweep_errors(most);
    report("result", "%s", ok ? "all sums as expected: ok" : "WRONG");

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_scratch));
    CHECK(cudaFree(d_cell));
    return ok ? 0 : EXIT_WRONG;
}
