/* SPDX-License-Identifier: MIT
 *
 * half_atomics.h 1.0: atomic adds, maxima and minima of half and bf16 in global
 * memory, where nobody asks for the old value. It needs no other file of this
 * repository: copy it.
 *
 *   half_atomic_add(base, index, length, value)    base[index] += value
 *   half_atomic_add2(base, index, length, pair)    two halves, a half2
 *   half_atomic_add8(base, index, length, pairs)   eight, four half2
 *   half_atomic_max(base, index, length, value)    the larger one stays
 *   half_atomic_min(base, index, length, value)    the smaller one
 *   bf16_atomic_add, _add2, _add8, _max, _min      the same in bf16
 *   atomic_add_at(base, index, length, value)      C++: the adds, by the type;
 *                                                  one float, too
 *
 * A 2-byte add compiles to a compare-and-swap loop (sm_75 to sm_121 were looked
 * at). A pair has an instruction of its own. So a single half is added as a
 * pair with -0 in its neighbour's place: x + -0 is x for every number x, -0 as
 * well. The idea is PyTorch's fastAtomicAdd, which pads with +0. It drops the
 * old value, but CUDA's header makes an ATOM of its add all the same. In a
 * maximum or minimum the neighbour meets a NaN, which counts for nothing there.
 *
 * Asked of the caller
 *   - base points into global memory, at a multiple of 2 bytes (float: 4).
 *   - base[0 ... length - 1] is the array: its true length, in elements.
 *   - While kernels add, others change the array by atomics only: an add to one
 *     half is one of -0 to the half beside it.
 *   Any index will do. What lies before base (a negative index), at `length` or
 *   beyond is not added and not touched: length 0 adds nothing, and the ends of
 *   an array need no care.
 *   HALF_ATOMICS_CHECK, defined as 1, ends the kernel with a message where all
 *   of a call lies outside of the array, or base is in shared or local memory.
 *
 * Promised
 *   - Atomic for each half by itself, with every other atomic on it. Two or
 *     eight halves are not one step: others may see a part of them added.
 *   - Relaxed (no fence), at the scope of the device, as atomicAdd() is.
 *   - Each add rounds once, to nearest even, and keeps subnormals, whatever
 *     -ftz says. Past the largest number it gives infinity; a NaN, 0x7fff.
 *     A float is added as atomicAdd() does it, which flushes subnormals.
 *   - Maximum and minimum: of a number and a NaN, the number; of two NaNs,
 *     0x7fff. -0 is less than +0.
 *   - Nothing outside of the array changes. Inside it, the half that shares
 *     the 4 bytes with a target keeps its bits, but for a NaN: that stays a
 *     NaN and may become 0x7fff.
 *
 * What is executed
 *   half       sm_60 on: one RED if the other half of its 4 bytes is in the
 *              array. Else: a compare-and-swap loop.
 *   2 halves   sm_60 on: one RED at a multiple of 4 bytes, else two.
 *   8 halves   sm_90 and CUDA 12.1 on: one RED at a multiple of 16 bytes, two
 *              at one of 8. Else, sm_60 on: four at one of 4, or five.
 *   max, min   sm_90 and CUDA 12.1 on: as a half is added. Else: a loop, which
 *              swaps nothing if the cell stays as it is.
 *   bf16       the same from sm_90 on. Below, each RED is a loop.
 *   float      one RED.
 *   A half that is left alone at an end of the array takes the loop. That one
 *   swaps all of its 4 bytes, on every architecture: it writes the other half,
 *   outside of the array, back as it was.
 *
 * No function returns the old value: RED is the cheaper instruction because it
 * brings none back. Where you need it, call atomicAdd().
 *
 * For CUDA C++: nvcc and NVRTC from 11.8 on, clang from 19 on. Where no CUDA
 * compiler includes it, it declares nothing; CUDA_ON_CPU says that kernels are
 * compiled as C11, as this repository's CPU emulation does. */
#ifndef HALF_ATOMICS_H
#define HALF_ATOMICS_H

#define HALF_ATOMICS_VERSION 10000 /* 1.0.0 */

#if defined __CUDACC__ || defined __MUSACC__ || defined CUDA_ON_CPU

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef __CUDACC_RTC__ /* which has size_t and printf, and no headers */
#include <stddef.h>
#include <stdio.h>
#endif

/* The architecture whose instructions may be used; 0: none is known, which is
 * so where the host is compiled for. Define HALF_ATOMICS_ARCH to try an older
 * one's path. */
#ifdef HALF_ATOMICS_ARCH
#define HALF_ATOMICS_SM HALF_ATOMICS_ARCH
#elif defined __MUSACC__
#define HALF_ATOMICS_SM 1 /* none of these: loops, on 4 bytes */
#elif defined __CUDA_ARCH__
#define HALF_ATOMICS_SM __CUDA_ARCH__
#else
#define HALF_ATOMICS_SM 0
#endif

/* red.….v2 and v4 came with PTX 8.1: CUDA 12.1, clang 17. */
#if HALF_ATOMICS_SM >= 900
#ifdef __CUDACC_VER_MAJOR__
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201
#define HALF_ATOMICS_VECTORS
#endif
#elif __clang_major__ >= 17 && CUDA_VERSION >= 12010
#define HALF_ATOMICS_VECTORS
#endif
#endif

/* The first look at a word. In a C program, the emulation, it must not race. */
#ifdef CUDA_ON_CPU
#define HALF_ATOMICS_AT(type, p) __atomic_load_n((type *)(p), __ATOMIC_RELAXED)
#else
#define HALF_ATOMICS_AT(type, p) (*(volatile type *)(p))
#endif

/* What is done; odd: to a bf16. */
enum {
    HALF_ATOMICS_ADD,
    HALF_ATOMICS_BF16_ADD,
    HALF_ATOMICS_MAX,
    HALF_ATOMICS_BF16_MAX,
    HALF_ATOMICS_MIN,
    HALF_ATOMICS_BF16_MIN
};

/* What a neighbour meets: -0 in an add, a NaN in the others. */
enum { HALF_ATOMICS_MINUS_ZERO = 0x8000, HALF_ATOMICS_NAN = 0x7fff };

/* ---- loops ---- */

/* add.rn.f32 is never flushed or fused. */
static __device__ __forceinline__ float half_atomics_add_float(float a, float b)
{
#ifdef __CUDA_ARCH__
    float sum;

    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
#else
    return a + b;
#endif
}

/* The sum of two halves or bf16, given and returned as bits. By float, since
 * older GPUs have no other way. The second rounding changes nothing: a float
 * has twice the bits of a half and two more, which is enough for any sum. */
static __device__ __forceinline__ unsigned
half_atomics_sum(unsigned short a, unsigned short b, int what)
{
    if (what % 2) {
        __nv_bfloat16 sum = __float2bfloat16_rn(
            half_atomics_add_float(__bfloat162float(*(__nv_bfloat16 *)&a),
                                   __bfloat162float(*(__nv_bfloat16 *)&b)));
        return *(unsigned short *)&sum;
    } else {
        __half sum = __float2half_rn(half_atomics_add_float(
            __half2float(*(__half *)&a), __half2float(*(__half *)&b)));
        return *(unsigned short *)&sum;
    }
}

/* What becomes of a cell that holds `a`. Numbers are compared as integers:
 * negative ones with all bits turned over, below all others. */
static __device__ __forceinline__ unsigned
half_atomics_next(unsigned a, unsigned b, int what)
{
    unsigned infinity = what % 2 ? 0x7f80 : 0x7c00;
    unsigned a_key, b_key;

    if (what < HALF_ATOMICS_MAX)
        return half_atomics_sum((unsigned short)a, (unsigned short)b, what);
    if ((a & 0x7fff) > infinity)
        return (b & 0x7fff) > infinity ? (unsigned)HALF_ATOMICS_NAN : b;
    if ((b & 0x7fff) > infinity)
        return a;
    a_key = a & 0x8000 ? a ^ 0xffff : a | 0x8000;
    b_key = b & 0x8000 ? b ^ 0xffff : b | 0x8000;
    return (a_key > b_key) == (what < HALF_ATOMICS_MIN) ? a : b;
}

/* Does it to the pair in the aligned 4 bytes at word; bits under `keep` stay.
 * Comparing bits, not values, lets it end on a NaN. */
static __device__ __forceinline__ void
half_atomics_loop32(void *word, unsigned pair, unsigned keep, int what)
{
    unsigned old = HALF_ATOMICS_AT(unsigned, word), seen, next;

    do {
        seen = old;
        next = half_atomics_next(seen & 0xffff, pair & 0xffff, what) |
               half_atomics_next(seen >> 16, pair >> 16, what) << 16;
        next = (seen & keep) | (next & ~keep);
        if (what >= HALF_ATOMICS_MAX && next == seen)
            return;
        old = atomicCAS((unsigned *)word, seen, next);
    } while (old != seen);
}

#if HALF_ATOMICS_SM == 0 || HALF_ATOMICS_SM >= 700
/* The same on the 2 bytes at target by a compare-and-swap of 2 bytes, of which
 * the compiler makes one of the 4 around them. In PTX, as clang 19 lacks the
 * function. */
static __device__ __forceinline__ void
half_atomics_loop16(void *target, unsigned value, int what)
{
    unsigned short old = HALF_ATOMICS_AT(unsigned short, target), seen, next;

    do {
        seen = old;
        next = (unsigned short)half_atomics_next(seen, value, what);
        if (what >= HALF_ATOMICS_MAX && next == seen)
            return;
#ifdef __CUDA_ARCH__
        asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %1;"
                     "  atom.global.cas.b16 %0, [at], %2, %3; }"
                     : "=h"(old)
                     : "l"(target), "h"(seen), "h"(next)
                     : "memory");
#else
        old = atomicCAS((unsigned short *)target, seen, next);
#endif
    } while (old != seen);
}
#endif

/* ---- one request ---- */

#define HALF_ATOMICS_ASM(target, instruction, ...)                             \
    asm volatile("{ .reg .u64 at; .reg .b16 low, high;"                        \
                 "  cvta.to.global.u64 at, %0; " instruction "; }"             \
                 :                                                             \
                 : "l"(target), __VA_ARGS__                                    \
                 : "memory")

#define HALF_ATOMICS_CASE(of, instruction)                                     \
    case of:                                                                   \
        HALF_ATOMICS_ASM(word, instruction, "r"(pair));                        \
        return;

/* A pair of max or min has only the form of two registers. */
#define HALF_ATOMICS_SPLIT(red)                                                \
    "mov.b32 {low, high}, %1; " red " [at], {low, high}"

/* Two at a multiple of 4 bytes. */
static __device__ __forceinline__ void
half_atomics_pair(void *word, unsigned pair, int what)
{
    switch (what) {
#if HALF_ATOMICS_SM >= 600
        HALF_ATOMICS_CASE(HALF_ATOMICS_ADD,
                          "red.global.add.noftz.f16x2 [at], %1")
#endif
#if HALF_ATOMICS_SM >= 900
        HALF_ATOMICS_CASE(HALF_ATOMICS_BF16_ADD,
                          "red.global.add.noftz.bf16x2 [at], %1")
#endif
#ifdef HALF_ATOMICS_VECTORS
        HALF_ATOMICS_CASE(HALF_ATOMICS_MAX,
                          HALF_ATOMICS_SPLIT("red.global.max.noftz.v2.f16"))
        HALF_ATOMICS_CASE(HALF_ATOMICS_MIN,
                          HALF_ATOMICS_SPLIT("red.global.min.noftz.v2.f16"))
        HALF_ATOMICS_CASE(HALF_ATOMICS_BF16_MAX,
                          HALF_ATOMICS_SPLIT("red.global.max.noftz.v2.bf16"))
        HALF_ATOMICS_CASE(HALF_ATOMICS_BF16_MIN,
                          HALF_ATOMICS_SPLIT("red.global.min.noftz.v2.bf16"))
#endif
    default:
        half_atomics_loop32(word, pair, 0, what);
    }
}

#ifdef HALF_ATOMICS_VECTORS
/* Four at a multiple of 8 bytes. */
static __device__ __forceinline__ void
half_atomics_four(void *target, const unsigned *w, int what)
{
    if (what % 2)
        HALF_ATOMICS_ASM(target,
                         "red.global.add.noftz.v2.bf16x2 [at], {%1, %2}",
                         "r"(w[0]), "r"(w[1]));
    else
        HALF_ATOMICS_ASM(target, "red.global.add.noftz.v2.f16x2 [at], {%1, %2}",
                         "r"(w[0]), "r"(w[1]));
}

/* Eight at a multiple of 16 bytes. */
static __device__ __forceinline__ void
half_atomics_eight(void *target, const unsigned *w, int what)
{
    if (what % 2)
        HALF_ATOMICS_ASM(
            target, "red.global.add.noftz.v4.bf16x2 [at], {%1, %2, %3, %4}",
            "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]));
    else
        HALF_ATOMICS_ASM(target,
                         "red.global.add.noftz.v4.f16x2 [at], {%1, %2, %3, %4}",
                         "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]));
}
#endif

/* One that is alone in its 4 bytes. Below sm_70 there is nothing that swaps or
 * adds 2 bytes: what else is in the 4 bytes is kept. A bf16 is added by an ATOM
 * whose result is a variable: without one, as with a RED, ptxas (12.4 to 13.5)
 * dies under -G. */
static __device__ __forceinline__ void
half_atomics_alone(void *target, unsigned value, int is_high, int what)
{
#if HALF_ATOMICS_SM > 0 && HALF_ATOMICS_SM < 700
    half_atomics_loop32((char *)target - 2 * is_high,
                        is_high ? value << 16 : value,
                        is_high ? 0xffffu : 0xffff0000u, what);
#else
    unsigned short bits = (unsigned short)value;

    (void)is_high;
    if (what == HALF_ATOMICS_ADD) {
        atomicAdd((__half *)target, *(__half *)&bits);
        return;
    }
#if HALF_ATOMICS_SM >= 900
    if (what == HALF_ATOMICS_BF16_ADD) {
        asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %1;"
                     "  atom.global.add.noftz.bf16 %0, [at], %0; }"
                     : "+h"(bits)
                     : "l"(target)
                     : "memory");
        return;
    }
#endif
    half_atomics_loop16(target, bits, what);
#endif
}

/* ---- one, two and eight, given as bits ---- */

/* With HALF_ATOMICS_CHECK: whether a call for `count` elements is in order. */
static __device__ __forceinline__ void
half_atomics_check(const void *base, size_t index, size_t length, size_t count)
{
#if defined HALF_ATOMICS_CHECK && HALF_ATOMICS_CHECK
    unsigned is_global = 1;

#ifdef __CUDA_ARCH__
    asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }"
        : "=r"(is_global)
        : "l"(base));
#endif
    if (!is_global)
        printf("half_atomics.h: base %p is not in global memory: index %lld;"
               " block %u, thread %u\n",
               base, (long long)index, blockIdx.x, threadIdx.x);
    else if (index >= length && (index + (count - 1) >= index || length == 0))
        printf("half_atomics.h: index %lld is outside of the array: base %p,"
               " length %llu; block %u, thread %u\n",
               (long long)index, base, (unsigned long long)length, blockIdx.x,
               threadIdx.x);
    else
        return;
    __trap();
#else
    (void)base, (void)index, (void)length, (void)count;
#endif
}

/* The address decides which half of its 4 bytes the target is, not the index:
 * base itself may be either. */
static __device__ __forceinline__ int half_atomics_is_high(const void *target)
{
    return ((size_t)target & 2) != 0;
}

/* Whether the other half of those 4 bytes is in the array; index < length. */
static __device__ __forceinline__ int
half_atomics_has_other(int is_high, size_t index, size_t length)
{
    return is_high ? index > 0 : index + 1 < length;
}

/* {value, -0}, or {-0, value} where the target is the high half. */
static __device__ __forceinline__ unsigned
half_atomics_padded(unsigned value, int is_high, int what)
{
    unsigned pad = what < HALF_ATOMICS_MAX ? (unsigned)HALF_ATOMICS_MINUS_ZERO
                                           : (unsigned)HALF_ATOMICS_NAN;

    return is_high ? value << 16 | pad : value | pad << 16;
}

static __device__ __forceinline__ void
half_atomics_one(unsigned short *base, size_t index, size_t length,
                 unsigned value, int what)
{
    unsigned short *target;
    int is_high;

    if (index >= length)
        return;
    target = base + index;
    is_high = half_atomics_is_high(target);
    if (half_atomics_has_other(is_high, index, length))
        half_atomics_pair(target - is_high,
                          half_atomics_padded(value, is_high, what), what);
    else
        half_atomics_alone(target, value, is_high, what);
}

/* Whether two from index on are in the array, in 4 bytes of their own. */
static __device__ __forceinline__ int
half_atomics_is_pair(const unsigned short *base, size_t index, size_t length)
{
    return index < length && length - index >= 2 &&
           !half_atomics_is_high(base + index);
}

static __device__ __forceinline__ void half_atomics_two(unsigned short *base,
                                                        size_t index,
                                                        size_t length,
                                                        unsigned pair, int what)
{
    if (half_atomics_is_pair(base, index, length)) {
        half_atomics_pair(base + index, pair, what);
        return;
    }
    half_atomics_one(base, index, length, pair & 0xffff, what);
    half_atomics_one(base, index + 1, length, pair >> 16, what);
}

static __device__ __forceinline__ void half_atomics_all(unsigned short *base,
                                                        size_t index,
                                                        size_t length,
                                                        unsigned *w, int what)
{
    /* It may begin before the array, where C knows no pointer. */
    unsigned short *target =
        (unsigned short *)((size_t)base + index * sizeof *base);
    int is_whole = index < length && length - index >= 8, left, k, step;

#ifdef HALF_ATOMICS_VECTORS
    if (is_whole && ((size_t)target & 15) == 0) {
        half_atomics_eight(target, w, what);
        return;
    }
    if (is_whole && ((size_t)target & 7) == 0) {
        half_atomics_four(target, w, what);
        half_atomics_four(target + 4, w + 2, what);
        return;
    }
#endif
    if (is_whole && !half_atomics_is_high(target)) {
        for (k = 0; k < 4; k++)
            half_atomics_pair(target + 2 * k, w[k], what);
        return;
    }
    if (index >= length && index < (size_t)-7) /* nothing is there */
        return;
    /* Across the 4 bytes, or not all there: pairs where they fit, else one. */
    for (left = 8; left > 0; left -= step) {
        step = left >= 2 && half_atomics_is_pair(base, index, length) ? 2 : 1;
        if (step == 2)
            half_atomics_pair(base + index, w[0], what);
        else
            half_atomics_one(base, index, length, w[0] & 0xffff, what);
        for (k = 0; k < 3; k++)
            w[k] = step == 2 ? w[k + 1] : w[k] >> 16 | w[k + 1] << 16;
        w[3] >>= 16;
        index += (size_t)step;
    }
}

/* `count` halves or bf16 at values: 1, 2 or 8. */
static __device__ __forceinline__ void
half_atomics_call(void *base, size_t index, size_t length, const void *values,
                  int count, int what)
{
    const unsigned short *v = (const unsigned short *)values;
    unsigned w[4];
    int k;

    half_atomics_check(base, index, length, (size_t)count);
    for (k = 0; k < 4 && count > 1; k++)
        w[k] = k < count / 2 ? v[2 * k] | (unsigned)v[2 * k + 1] << 16 : 0;
    if (count == 1)
        half_atomics_one((unsigned short *)base, index, length, v[0], what);
    else if (count == 2)
        half_atomics_two((unsigned short *)base, index, length, w[0], what);
    else
        half_atomics_all((unsigned short *)base, index, length, w, what);
}

/* ---- what to call ---- */

#define HALF_ATOMICS_FUNCTION(name, type, value)                               \
    static __device__ __forceinline__ void name(type *base, size_t index,      \
                                                size_t length, value)
/* clang-format off */

/* base[index] += value, if index < length. */
HALF_ATOMICS_FUNCTION(half_atomic_add, __half, __half value)
{ half_atomics_call(base, index, length, &value, 1, HALF_ATOMICS_ADD); }
HALF_ATOMICS_FUNCTION(bf16_atomic_add, __nv_bfloat16, __nv_bfloat16 value)
{ half_atomics_call(base, index, length, &value, 1, HALF_ATOMICS_BF16_ADD); }

/* base[index] += pair.x and base[index + 1] += pair.y, each if it is there. */
HALF_ATOMICS_FUNCTION(half_atomic_add2, __half, __half2 pair)
{ half_atomics_call(base, index, length, &pair, 2, HALF_ATOMICS_ADD); }
HALF_ATOMICS_FUNCTION(bf16_atomic_add2, __nv_bfloat16, __nv_bfloat162 pair)
{ half_atomics_call(base, index, length, &pair, 2, HALF_ATOMICS_BF16_ADD); }

/* base[index + k] += half k of the eight in pairs[4], each if it is there. Keep
 * pairs in a local array: once inlined, it is four registers. */
HALF_ATOMICS_FUNCTION(half_atomic_add8, __half, const __half2 *pairs)
{ half_atomics_call(base, index, length, pairs, 8, HALF_ATOMICS_ADD); }
HALF_ATOMICS_FUNCTION(bf16_atomic_add8, __nv_bfloat16,
                      const __nv_bfloat162 *pairs)
{ half_atomics_call(base, index, length, pairs, 8, HALF_ATOMICS_BF16_ADD); }

/* base[index] becomes the larger or the smaller of itself and value. */
HALF_ATOMICS_FUNCTION(half_atomic_max, __half, __half value)
{ half_atomics_call(base, index, length, &value, 1, HALF_ATOMICS_MAX); }
HALF_ATOMICS_FUNCTION(half_atomic_min, __half, __half value)
{ half_atomics_call(base, index, length, &value, 1, HALF_ATOMICS_MIN); }
HALF_ATOMICS_FUNCTION(bf16_atomic_max, __nv_bfloat16, __nv_bfloat16 value)
{ half_atomics_call(base, index, length, &value, 1, HALF_ATOMICS_BF16_MAX); }
HALF_ATOMICS_FUNCTION(bf16_atomic_min, __nv_bfloat16, __nv_bfloat16 value)
{ half_atomics_call(base, index, length, &value, 1, HALF_ATOMICS_BF16_MIN); }

#ifdef __cplusplus
/* The adds by one name, and one of a float. */
HALF_ATOMICS_FUNCTION(atomic_add_at, __half, __half value)
{ half_atomic_add(base, index, length, value); }
HALF_ATOMICS_FUNCTION(atomic_add_at, __half, __half2 pair)
{ half_atomic_add2(base, index, length, pair); }
HALF_ATOMICS_FUNCTION(atomic_add_at, __half, const __half2 *pairs)
{ half_atomic_add8(base, index, length, pairs); }
HALF_ATOMICS_FUNCTION(atomic_add_at, __nv_bfloat16, __nv_bfloat16 value)
{ bf16_atomic_add(base, index, length, value); }
HALF_ATOMICS_FUNCTION(atomic_add_at, __nv_bfloat16, __nv_bfloat162 pair)
{ bf16_atomic_add2(base, index, length, pair); }
HALF_ATOMICS_FUNCTION(atomic_add_at, __nv_bfloat16, const __nv_bfloat162 *pairs)
{ bf16_atomic_add8(base, index, length, pairs); }
HALF_ATOMICS_FUNCTION(atomic_add_at, float, float value)
{
    half_atomics_check(base, index, length, 1);
    if (index < length)
#ifdef __MUSACC__
        atomicAdd(base + index, value);
#else
        HALF_ATOMICS_ASM(base + index, "red.global.add.f32 [at], %1",
                         "f"(value));
#endif
}
#endif
/* clang-format on */

#undef HALF_ATOMICS_SM
#undef HALF_ATOMICS_AT
#undef HALF_ATOMICS_VECTORS
#undef HALF_ATOMICS_ASM
#undef HALF_ATOMICS_CASE
#undef HALF_ATOMICS_SPLIT
#undef HALF_ATOMICS_FUNCTION

#endif
#endif
