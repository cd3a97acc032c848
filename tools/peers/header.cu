/* include/half_atomics.h and what people write instead, for
 * tools/peers/header.py. All on the default stream; pointers are device
 * pointers. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "half_atomics.h"

enum { BLOCK_THREADS = 256 };

/* --- the pattern of PyTorch's fastAtomicAdd, written afresh --- */

/* {value, +0} or {+0, value} by atomicAdd(half2 *), which asks for the old
 * value; 2 bytes where there is no neighbour. index < length. */
static __device__ void pattern_add(half *array, size_t index, size_t length,
                                   half value)
{
    half *target = array + index, zero = __float2half_rn(0.0f);
    int is_low = (size_t)target % sizeof(half2) == 0;

    if (is_low && index < length - 1)
        atomicAdd((half2 *)target, __halves2half2(value, zero));
    else if (!is_low && index > 0)
        atomicAdd((half2 *)(target - 1), __halves2half2(zero, value));
    else
        atomicAdd(target, value);
}

static __device__ void pattern_add_bf16(__nv_bfloat16 *array, size_t index,
                                        size_t length, __nv_bfloat16 value)
{
    __nv_bfloat16 *target = array + index, zero = __float2bfloat16_rn(0.0f);
    int is_low = (size_t)target % sizeof(__nv_bfloat162) == 0;

    if (is_low && index < length - 1)
        atomicAdd((__nv_bfloat162 *)target, __halves2bfloat162(value, zero));
    else if (!is_low && index > 0)
        atomicAdd((__nv_bfloat162 *)(target - 1),
                  __halves2bfloat162(zero, value));
    else
        atomicAdd(target, value);
}

/* --- RED by hand, as CUTLASS has it for half2 and CuTe code for eight halves,
 * written afresh: the address must be a multiple of 4 or 16 bytes --- */

static __device__ void red_f16x2(half *target, half2 pair)
{
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(target)),
                   "r"(*(unsigned *)&pair)
                 : "memory");
}

/* These began with sm_90; below, header.py leaves them out. */

static __device__ void red_bf16x2(half *target, __nv_bfloat162 pair)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(target)),
                   "r"(*(unsigned *)&pair)
                 : "memory");
#endif
}

static __device__ void red_v4_f16x2(half *target, const half2 *pairs)
{
#if __CUDA_ARCH__ >= 900
    const unsigned *bits = (const unsigned *)pairs;

    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(target)), "r"(bits[0]),
                   "r"(bits[1]), "r"(bits[2]), "r"(bits[3])
                 : "memory");
#endif
}

static __device__ void red_v4_bf16x2(half *target, const __nv_bfloat162 *pairs)
{
#if __CUDA_ARCH__ >= 900
    const unsigned *bits = (const unsigned *)pairs;

    asm volatile("red.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(target)), "r"(bits[0]),
                   "r"(bits[1]), "r"(bits[2]), "r"(bits[3])
                 : "memory");
#endif
}

/* --- where a thread adds, and what: header.py knows the same --- */

static __device__ unsigned place_of(unsigned i)
{
    i *= 0x9e3779b1u;
    i ^= i >> 15;
    i *= 0x85ebca6bu;
    return i ^ i >> 13;
}

/* A multiple of 1/256 above 0, up to 1. Or, where `every` is not 0: 1 or -1,
 * and 0 where i is no multiple of `every`. */
static __device__ float value_of(unsigned i, unsigned every)
{
    if (every == 0)
        return (float)((place_of(i) >> 24) + 1) / 256;
    return i % every != 0 ? 0.0f : place_of(i) >> 31 ? -1.0f : 1.0f;
}

/* Half k of two or eight is k + 1 times as much. */
static __device__ half2 pair_of(float value, int k)
{
    return __floats2half2_rn(value * (float)(k + 1), value * (float)(k + 2));
}

/* --- kernels: thread i adds to cell place_of(i) & mask --- */

struct cells {
    half *base;
    size_t length;
    unsigned mask, every;
};

static __global__ void add_header(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    half_atomic_add(c.base, place_of(i) & c.mask, c.length,
                    __float2half_rn(value_of(i, c.every)));
}

static __global__ void add_pattern(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    pattern_add(c.base, place_of(i) & c.mask, c.length,
                __float2half_rn(value_of(i, c.every)));
}

/* With no length to ask for: the cells of the whole array are 4-byte words. */
static __global__ void add_red(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = place_of(i) & c.mask;
    half value = __float2half_rn(value_of(i, c.every));
    half none = __ushort_as_half(0x8000); /* -0 */

    red_f16x2(c.base + at / 2 * 2, at % 2 ? __halves2half2(none, value)
                                          : __halves2half2(value, none));
}

/* What this course is about. */
static __global__ void add_plain(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    atomicAdd(c.base + (place_of(i) & c.mask),
              __float2half_rn(value_of(i, c.every)));
}

/* --- the same in bf16 --- */

static __global__ void bf16_header(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    bf16_atomic_add((__nv_bfloat16 *)c.base, place_of(i) & c.mask, c.length,
                    __float2bfloat16_rn(value_of(i, c.every)));
}

static __global__ void bf16_pattern(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    pattern_add_bf16((__nv_bfloat16 *)c.base, place_of(i) & c.mask, c.length,
                     __float2bfloat16_rn(value_of(i, c.every)));
}

static __global__ void bf16_red(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = place_of(i) & c.mask;
    __nv_bfloat16 value = __float2bfloat16_rn(value_of(i, c.every));
    __nv_bfloat16 none = __ushort_as_bfloat16(0x8000); /* -0 */

    red_bf16x2(c.base + at / 2 * 2, at % 2 ? __halves2bfloat162(none, value)
                                           : __halves2bfloat162(value, none));
}

static __global__ void bf16_plain(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    atomicAdd((__nv_bfloat16 *)c.base + (place_of(i) & c.mask),
              __float2bfloat16_rn(value_of(i, c.every)));
}

/* --- two neighbours: the mask is one of pairs --- */

static __global__ void two_header(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    half_atomic_add2(c.base, (size_t)(place_of(i) & c.mask) * 2, c.length,
                     pair_of(value_of(i, c.every), 0));
}

static __global__ void two_pattern(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    size_t first = (size_t)(place_of(i) & c.mask) * 2;
    half2 pair = pair_of(value_of(i, c.every), 0);

    pattern_add(c.base, first, c.length, __low2half(pair));
    pattern_add(c.base, first + 1, c.length, __high2half(pair));
}

/* What to write by hand where the alignment is known. */
static __global__ void two_half2(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    atomicAdd((half2 *)c.base + (place_of(i) & c.mask),
              pair_of(value_of(i, c.every), 0));
}

static __global__ void two_red(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    red_f16x2(c.base + (size_t)(place_of(i) & c.mask) * 2,
              pair_of(value_of(i, c.every), 0));
}

/* --- eight neighbours: the mask is one of groups of eight --- */

static __global__ void eight_header(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = value_of(i, c.every);
    half2 pairs[4] = {pair_of(v, 0), pair_of(v, 2), pair_of(v, 4),
                      pair_of(v, 6)};

    half_atomic_add8(c.base, (size_t)(place_of(i) & c.mask) * 8, c.length,
                     pairs);
}

static __global__ void eight_pattern(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    size_t first = (size_t)(place_of(i) & c.mask) * 8;
    float v = value_of(i, c.every);
    int k;

    for (k = 0; k < 8; k += 2) {
        half2 pair = pair_of(v, k);
        pattern_add(c.base, first + (size_t)k, c.length, __low2half(pair));
        pattern_add(c.base, first + (size_t)k + 1, c.length, __high2half(pair));
    }
}

/* By hand, as above. */
static __global__ void eight_half2(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half2 *first = (half2 *)(c.base + (size_t)(place_of(i) & c.mask) * 8);
    float v = value_of(i, c.every);
    int k;

    for (k = 0; k < 4; k++)
        atomicAdd(first + k, pair_of(v, 2 * k));
}

static __global__ void eight_red(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half *first = c.base + (size_t)(place_of(i) & c.mask) * 8;
    float v = value_of(i, c.every);
    int k;

    for (k = 0; k < 4; k++)
        red_f16x2(first + 2 * k, pair_of(v, 2 * k));
}

static __global__ void eight_v4(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = value_of(i, c.every);
    half2 pairs[4] = {pair_of(v, 0), pair_of(v, 2), pair_of(v, 4),
                      pair_of(v, 6)};

    red_v4_f16x2(c.base + (size_t)(place_of(i) & c.mask) * 8, pairs);
}

static __device__ void bf16_pairs_of(float v, __nv_bfloat162 *pairs)
{
    int k;

    for (k = 0; k < 4; k++)
        pairs[k] = __floats2bfloat162_rn(v * (float)(2 * k + 1),
                                         v * (float)(2 * k + 2));
}

static __global__ void bf16_eight_v4(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_bfloat162 pairs[4];

    bf16_pairs_of(value_of(i, c.every), pairs);
    red_v4_bf16x2(c.base + (size_t)(place_of(i) & c.mask) * 8, pairs);
}

static __global__ void bf16_eight_header(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_bfloat162 pairs[4];

    bf16_pairs_of(value_of(i, c.every), pairs);
    bf16_atomic_add8((__nv_bfloat16 *)c.base,
                     (size_t)(place_of(i) & c.mask) * 8, c.length, pairs);
}

static __global__ void bf16_eight_pattern(struct cells c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    size_t first = (size_t)(place_of(i) & c.mask) * 8;
    float v = value_of(i, c.every);
    int k;

    for (k = 0; k < 8; k++)
        pattern_add_bf16((__nv_bfloat16 *)c.base, first + (size_t)k, c.length,
                         __float2bfloat16_rn(v * (float)(k + 1)));
}

/* --- for header.py --- */

/* Side `kernel` of these, by `threads`, a multiple of 256. */
extern "C" void header_add(int kernel, void *base, size_t length, unsigned mask,
                           unsigned every, unsigned threads)
{
    static void (*const kernels[])(struct cells) = {
        add_header,         add_pattern,   add_red,
        add_plain,          bf16_header,   bf16_pattern,
        bf16_red,           bf16_plain,    two_header,
        two_pattern,        two_red,       two_half2,
        eight_header,       eight_pattern, eight_v4,
        eight_red,          eight_half2,   bf16_eight_header,
        bf16_eight_pattern, bf16_eight_v4};
    struct cells c = {(half *)base, length, mask, every};

    kernels[kernel]<<<threads / BLOCK_THREADS, BLOCK_THREADS>>>(c);
}
