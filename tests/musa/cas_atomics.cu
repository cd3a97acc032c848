/* common/cas_atomics.h, under CUDA's name: sums of many threads, the half
 * beside a cell, the old value, and cells on which a loop could go wrong.
 * Beside them a GPU's own atomicAdd gives the same: tools/cas_atomics.cu. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "random.h"

enum { THREADS = 256, CELLS = 6 };

static int wrong;

static void check(int holds, const char *what)
{
    printf("%s - %s\n", holds ? "ok" : "not ok", what);
    wrong += !holds;
}

/* Each thread adds 1 to a half of one of 16 words, {1, 1} to a word, 1/8 to a
 * bf16, {1/8, 1/8} to a pair, and 1 to a counter, by a swap of 2 bytes. */
static __global__ void add_ones(half *h, half2 *p, __nv_bfloat16 *b,
                                __nv_bfloat162 *q, unsigned short *counter)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i % 16;
    half one = __float2half_rn(1);
    __nv_bfloat16 part = __float2bfloat16_rn(0.125f);
    __nv_bfloat162 parts;
    unsigned short seen, old;

    ((__nv_bfloat16 *)&parts)[0] = ((__nv_bfloat16 *)&parts)[1] = part;
    atomicAdd(&h[2 * at + i / 16 % 2], one);
    atomicAdd(&p[at], __halves2half2(one, one));
    atomicAdd(&b[2 * at + i / 16 % 2], part);
    atomicAdd(&q[at], parts);
    old = counter[at];
    do {
        seen = old;
        old = atomicCAS(&counter[at], seen, (unsigned short)(seen + 1));
    } while (old != seen);
}

/* cell += value by one thread; what it returned. */
static __global__ void add_one(half *cell, half value, half *old)
{
    *old = atomicAdd(cell, value);
}

static __global__ void add_one_bf16(__nv_bfloat16 *cell, __nv_bfloat16 value,
                                    __nv_bfloat16 *old)
{
    *old = atomicAdd(cell, value);
}

/* By so many blocks; in `where`. */
static void check_sums(int blocks, const char *where)
{
    static unsigned short zero[CELLS][32], now[CELLS][32];
    const size_t row = sizeof zero[0];
    int each = blocks * THREADS / 16, i, ok = 1; /* adds to a word */
    uint32_t eighths;
    float sum;
    char *d;

    printf("%s: %d adds to each of 16 words\n", where, each);
    CHECK(cudaMalloc((void **)&d, sizeof zero));
    CHECK(cudaMemcpy(d, zero, sizeof zero, cudaMemcpyHostToDevice));
    add_ones<<<blocks, THREADS>>>(
        (half *)d, (half2 *)(d + row), (__nv_bfloat16 *)(d + 2 * row),
        (__nv_bfloat162 *)(d + 3 * row), (unsigned short *)(d + 4 * row));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(now, d, sizeof now, cudaMemcpyDeviceToHost));
    for (i = 0; i < 32; i++)
        ok &= fp16_to_double(now[0][i]) == each / 2;
    check(ok, "halves, both of a word");
    for (i = 0, ok = 1; i < 32; i++)
        ok &= fp16_to_double(now[1][i]) == each;
    check(ok, "half2");
    for (i = 0, ok = 1; i < 64; i++) {
        eighths = (uint32_t)now[2 + i / 32][i % 32] << 16;
        memcpy(&sum, &eighths, sizeof sum);
        ok &= 8 * (double)sum == (i < 32 ? each / 2 : each);
    }
    check(ok, "bf16 and pairs of them");
    for (i = 0, ok = 1; i < 64; i++)
        ok &= now[4 + i / 32][i % 32] == (i < 16 ? each : 0);
    check(ok, "swaps of 2 bytes, and nothing else is touched");
    CHECK(cudaFree(d));
}

/* Random bits, the neighbour too: NaN, infinities, subnormals among them. */
static void check_cells(void)
{
    uint32_t state = 2463534242u;
    uint16_t word[4], now[4];
    int i, sums = 1, olds = 1, neighbours = 1, ends = 1;
    char *d;

    CHECK(cudaMalloc((void **)&d, sizeof word));
    for (i = 0; i < 4000; i++) {
        int high = i & 1;
        uint16_t value = (uint16_t)random_next(&state), expected;
        half v;

        word[0] = (uint16_t)random_next(&state);
        word[1] = (uint16_t)random_next(&state);
        word[2] = word[3] = 0x1234;
        if (i % 8 == 0)
            value = (uint16_t)(word[high] ^ 0x8000); /* cancels; inf - inf */
        expected = fp16_add(word[high], value);
        memcpy(&v, &value, sizeof v);
        CHECK(cudaMemcpy(d, word, sizeof word, cudaMemcpyHostToDevice));
        add_one<<<1, 1>>>((half *)d + high, v, (half *)d + 2);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(now, d, sizeof now, cudaMemcpyDeviceToHost));
        sums &= now[high] == expected;
        neighbours &= now[!high] == word[!high];
        olds &= now[2] == word[high];
        ends &= now[3] == 0x1234;
    }
    check(sums, "sums of any two halves, rounded once");
    check(olds, "the old value is returned, bit for bit");
    check(neighbours, "the other half of the word stays, bit for bit");
    check(ends, "and so does what lies behind it");
    CHECK(cudaFree(d));
}

static void check_bf16(void)
{
    static const uint16_t cases[][3] = {
        {0x3f80, 0x3f80, 0x4000}, /* 1 + 1 */
        {0x3f80, 0x3b80, 0x3f80}, /* 1 + 2^-8: a tie, to even */
        {0x3f81, 0x3b80, 0x3f82}, /* the next one, to even above */
        {0x0001, 0x0001, 0x0002}, /* subnormals stay */
        {0x7f80, 0xff80, 0x7fff}, /* inf - inf */
        {0x7f7f, 0x7b00, 0x7f80}, /* overflows */
        {0x8000, 0x8000, 0x8000}, /* -0 */
    };
    size_t i, high, ok = 1;
    uint16_t word[4], now[4];
    __nv_bfloat16 v;
    char *d;

    CHECK(cudaMalloc((void **)&d, sizeof word));
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (high = 0; high < 2; high++) {
            word[high] = cases[i][0];
            word[!high] = 0x7f81;
            word[2] = word[3] = 0;
            memcpy(&v, &cases[i][1], sizeof v);
            CHECK(cudaMemcpy(d, word, sizeof word, cudaMemcpyHostToDevice));
            add_one_bf16<<<1, 1>>>((__nv_bfloat16 *)d + high, v,
                                   (__nv_bfloat16 *)d + 2);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpy(now, d, sizeof now, cudaMemcpyDeviceToHost));
            ok &= now[high] == cases[i][2] && now[!high] == 0x7f81 &&
                  now[2] == cases[i][0];
        }
    check((int)ok, "bf16: ties, subnormals, overflow, -0, the neighbour");
    CHECK(cudaFree(d));
}

int main(void)
{
    check_sums(16, "at once");
    if (is_emulated()) {
        model_contention(1);
        check_sums(4, "in turns, as a model of contention");
        cpu_interleave(0);
    }
    check_cells();
    check_bf16();
    return wrong != 0;
}
