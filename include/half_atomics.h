/* half_atomics.h: atomic adds of half and bf16 to global memory, where nobody
 * asks for the old value. It needs no other file of this repository: copy it.
 *
 *   half_atomic_add(base, index, length, value)    base[index] += value
 *   half_atomic_add2(base, index, length, pair)    two halves, a half2
 *   half_atomic_add8(base, index, length, pairs)   eight, four half2
 *   bf16_atomic_add, bf16_atomic_add2, bf16_atomic_add8: the same in bf16
 *
 * A 2-byte add compiles to a compare-and-swap loop (sm_75 to sm_120 were looked
 * at). A pair has an instruction of its own. So a single half is added as a
 * pair with -0 in its neighbour's place: x + -0 is x for every number x, -0 as
 * well. The idea is PyTorch's fastAtomicAdd, which pads with +0. It drops the
 * old value, but CUDA's header makes an ATOM of its add all the same.
 *
 * Asked of the caller
 *   - base points into global memory, at a multiple of 2 bytes.
 *   - base[0 ... length - 1] is the array: its true length, in elements.
 *   - While kernels add, others change the array by atomics only: an add to one
 *     half is one of -0 to the half beside it.
 *   Any index will do. What lies before base (a negative index), at `length` or
 *   beyond is not added and not touched: length 0 adds nothing, and the ends of
 *   an array need no care.
 *
 * Promised
 *   - Atomic for each half by itself, with every other atomic on it. Two or
 *     eight halves are not one step: others may see a part of them added.
 *   - Relaxed (no fence), at the scope of the device, as atomicAdd() is.
 *   - Each add rounds once, to nearest even, and keeps subnormals, whatever
 *     -ftz says. Past the largest number it gives infinity; a NaN, 0x7fff.
 *   - Nothing outside of the array changes. Inside it, the half that shares
 *     the 4 bytes with a target keeps its bits, but for a NaN: that stays a
 *     NaN and may become 0x7fff.
 *
 * What is executed
 *   half       sm_60 on: one RED if the other half of its 4 bytes is in the
 *              array. Else: a compare-and-swap loop.
 *   2 halves   sm_60 on: one RED at a multiple of 4 bytes, else two.
 *   8 halves   sm_90 and CUDA 12.1 on: one RED at a multiple of 16 bytes.
 *              Else, sm_60 on: four at a multiple of 4 bytes, or five.
 *   bf16       the same from sm_90 on. Below, each RED is a loop.
 *   A half that is left alone at an end of the array takes the loop. That one
 *   swaps all of its 4 bytes, on every architecture: it writes the other half,
 *   outside of the array, back as it was.
 *
 * No function returns the old value: RED is the cheaper instruction because it
 * brings none back. Where you need it, call atomicAdd().
 *
 * For CUDA C++ (11.8 to 13), NVRTC too, and for C11 where something compiles
 * kernels as C, as this repository's CPU emulation does. Where a C++ compiler
 * for the host alone includes this file, it declares nothing. */
#ifndef HALF_ATOMICS_H
#define HALF_ATOMICS_H

#if defined __CUDACC__ || !defined __cplusplus

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef __CUDACC_RTC__ /* which has size_t, and no headers */
#include <stddef.h>
#endif

/* The architecture whose instructions may be used; 0: none is known, which is
 * so where the host is compiled for. Set it to try an older one's path. */
#ifndef HALF_ATOMICS_ARCH
#ifdef __CUDA_ARCH__
#define HALF_ATOMICS_ARCH __CUDA_ARCH__
#else
#define HALF_ATOMICS_ARCH 0
#endif
#endif

/* red…v4 came with PTX 8.1. */
#if HALF_ATOMICS_ARCH >= 900 && defined __CUDACC_VER_MAJOR__
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201
#define HALF_ATOMICS_V4 1
#endif
#endif

/* ---- bits ---- */

/* The two types, which have the same -0. */
enum { HALF_ATOMICS_HALF, HALF_ATOMICS_BF16, HALF_ATOMICS_MINUS_ZERO = 0x8000 };

static __device__ __forceinline__ unsigned half_atomics_bits(__half value)
{
    return __half_as_ushort(value);
}

static __device__ __forceinline__ unsigned half_atomics_bits2(__half2 pair)
{
    return half_atomics_bits(__low2half(pair)) |
           half_atomics_bits(__high2half(pair)) << 16;
}

/* In CUDA 11.8 the functions for this begin at sm_80. */
static __device__ __forceinline__ unsigned
half_atomics_bits_bf16(__nv_bfloat16 value)
{
    return *(const unsigned short *)&value;
}

static __device__ __forceinline__ unsigned
half_atomics_bits2_bf16(__nv_bfloat162 pair)
{
    return *(const unsigned *)&pair;
}

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
half_atomics_sum(unsigned a_bits, unsigned b_bits, int type)
{
    unsigned short a = (unsigned short)a_bits, b = (unsigned short)b_bits;

    if (type == HALF_ATOMICS_BF16)
        return half_atomics_bits_bf16(__float2bfloat16_rn(
            half_atomics_add_float(__bfloat162float(*(__nv_bfloat16 *)&a),
                                   __bfloat162float(*(__nv_bfloat16 *)&b))));
    return half_atomics_bits(__float2half_rn(half_atomics_add_float(
        __half2float(__ushort_as_half(a)), __half2float(__ushort_as_half(b)))));
}

/* Adds a pair to the aligned 4 bytes at word; bits under `keep` stay. Comparing
 * bits, not values, lets it end on a NaN. */
static __device__ __forceinline__ void
half_atomics_loop32(void *word, unsigned pair, unsigned keep, int type)
{
    unsigned old = *(volatile unsigned *)word, seen, sum;

    do {
        seen = old;
        sum = half_atomics_sum(seen & 0xffff, pair & 0xffff, type) |
              half_atomics_sum(seen >> 16, pair >> 16, type) << 16;
        old = atomicCAS((unsigned *)word, seen, (seen & keep) | (sum & ~keep));
    } while (old != seen);
}

#if HALF_ATOMICS_ARCH == 0 || HALF_ATOMICS_ARCH >= 700
/* Adds to the 2 bytes at target by a compare-and-swap of 2 bytes, of which the
 * compiler makes one of the 4 around them. */
static __device__ __forceinline__ void
half_atomics_loop16(void *target, unsigned value, int type)
{
    unsigned short old = *(volatile unsigned short *)target, seen;

    do {
        seen = old;
        old = atomicCAS((unsigned short *)target, seen,
                        (unsigned short)half_atomics_sum(seen, value, type));
    } while (old != seen);
}
#endif

/* ---- one request ---- */

/* Two at a multiple of 4 bytes. */
static __device__ __forceinline__ void
half_atomics_pair(void *word, unsigned pair, int type)
{
#if HALF_ATOMICS_ARCH >= 900
    if (type == HALF_ATOMICS_BF16) {
        asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %0;"
                     "  red.global.add.noftz.bf16x2 [at], %1; }"
                     :
                     : "l"(word), "r"(pair)
                     : "memory");
        return;
    }
#endif
#if HALF_ATOMICS_ARCH >= 600
    if (type == HALF_ATOMICS_HALF) {
        asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %0;"
                     "  red.global.add.noftz.f16x2 [at], %1; }"
                     :
                     : "l"(word), "r"(pair)
                     : "memory");
        return;
    }
#endif
    half_atomics_loop32(word, pair, 0, type);
}

#ifdef HALF_ATOMICS_V4
/* Eight at a multiple of 16 bytes. */
static __device__ __forceinline__ void
half_atomics_eight(void *target, const unsigned *w, int type)
{
    if (type == HALF_ATOMICS_BF16)
        asm volatile(
            "{ .reg .u64 at; cvta.to.global.u64 at, %0;"
            "  red.global.add.noftz.v4.bf16x2 [at], {%1, %2, %3, %4}; }"
            :
            : "l"(target), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
            : "memory");
    else
        asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %0;"
                     "  red.global.add.noftz.v4.f16x2 [at], {%1, %2, %3, %4}; }"
                     :
                     : "l"(target), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                     : "memory");
}
#endif

/* One that is alone in its 4 bytes. Below sm_70 there is nothing that swaps or
 * adds 2 bytes: what else is in the 4 bytes is kept. */
static __device__ __forceinline__ void
half_atomics_alone(void *target, unsigned value, int is_high, int type)
{
#if HALF_ATOMICS_ARCH > 0 && HALF_ATOMICS_ARCH < 700
    half_atomics_loop32((char *)target - 2 * is_high,
                        is_high ? value << 16 : value,
                        is_high ? 0xffffu : 0xffff0000u, type);
#else
    (void)is_high;
    if (type == HALF_ATOMICS_HALF) {
        atomicAdd((__half *)target, __ushort_as_half((unsigned short)value));
        return;
    }
#if HALF_ATOMICS_ARCH >= 900
    asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %0;"
                 "  red.global.add.noftz.bf16 [at], %1; }"
                 :
                 : "l"(target), "h"((unsigned short)value)
                 : "memory");
#else
    half_atomics_loop16(target, value, type);
#endif
#endif
}

/* ---- one, two and eight, given as bits ---- */

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
static __device__ __forceinline__ unsigned half_atomics_padded(unsigned value,
                                                               int is_high)
{
    return is_high ? value << 16 | HALF_ATOMICS_MINUS_ZERO
                   : value | (unsigned)HALF_ATOMICS_MINUS_ZERO << 16;
}

static __device__ __forceinline__ void
half_atomics_one(unsigned short *base, size_t index, size_t length,
                 unsigned value, int type)
{
    unsigned short *target;
    int is_high;

    if (index >= length)
        return;
    target = base + index;
    is_high = half_atomics_is_high(target);
    if (half_atomics_has_other(is_high, index, length))
        half_atomics_pair(target - is_high, half_atomics_padded(value, is_high),
                          type);
    else
        half_atomics_alone(target, value, is_high, type);
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
                                                        unsigned pair, int type)
{
    if (half_atomics_is_pair(base, index, length)) {
        half_atomics_pair(base + index, pair, type);
        return;
    }
    half_atomics_one(base, index, length, pair & 0xffff, type);
    half_atomics_one(base, index + 1, length, pair >> 16, type);
}

static __device__ __forceinline__ void half_atomics_all(unsigned short *base,
                                                        size_t index,
                                                        size_t length,
                                                        unsigned *w, int type)
{
    /* It may begin before the array, where C knows no pointer. */
    unsigned short *target =
        (unsigned short *)((size_t)base + index * sizeof *base);
    int is_whole = index < length && length - index >= 8, left, k, step;

#ifdef HALF_ATOMICS_V4
    if (is_whole && ((size_t)target & 15) == 0) {
        half_atomics_eight(target, w, type);
        return;
    }
#endif
    if (is_whole && !half_atomics_is_high(target)) {
        for (k = 0; k < 4; k++)
            half_atomics_pair(target + 2 * k, w[k], type);
        return;
    }
    if (index >= length && index < (size_t)-7) /* nothing is there */
        return;
    /* Across the 4 bytes, or not all there: pairs where they fit, else one. */
    for (left = 8; left > 0; left -= step) {
        step = left >= 2 && half_atomics_is_pair(base, index, length) ? 2 : 1;
        if (step == 2)
            half_atomics_pair(base + index, w[0], type);
        else
            half_atomics_one(base, index, length, w[0] & 0xffff, type);
        for (k = 0; k < 3; k++)
            w[k] = step == 2 ? w[k + 1] : w[k] >> 16 | w[k + 1] << 16;
        w[3] >>= 16;
        index += (size_t)step;
    }
}

/* ---- what to call ---- */

/* base[index] += value, if index < length. */
static __device__ __forceinline__ void
half_atomic_add(__half *base, size_t index, size_t length, __half value)
{
    half_atomics_one((unsigned short *)base, index, length,
                     half_atomics_bits(value), HALF_ATOMICS_HALF);
}

static __device__ __forceinline__ void bf16_atomic_add(__nv_bfloat16 *base,
                                                       size_t index,
                                                       size_t length,
                                                       __nv_bfloat16 value)
{
    half_atomics_one((unsigned short *)base, index, length,
                     half_atomics_bits_bf16(value), HALF_ATOMICS_BF16);
}

/* base[index] += pair.x and base[index + 1] += pair.y, each if it is there. */
static __device__ __forceinline__ void
half_atomic_add2(__half *base, size_t index, size_t length, __half2 pair)
{
    half_atomics_two((unsigned short *)base, index, length,
                     half_atomics_bits2(pair), HALF_ATOMICS_HALF);
}

static __device__ __forceinline__ void bf16_atomic_add2(__nv_bfloat16 *base,
                                                        size_t index,
                                                        size_t length,
                                                        __nv_bfloat162 pair)
{
    half_atomics_two((unsigned short *)base, index, length,
                     half_atomics_bits2_bf16(pair), HALF_ATOMICS_BF16);
}

/* base[index + k] += half k of the eight in pairs[4], each if it is there. Keep
 * pairs in a local array: once inlined, it is four registers. */
static __device__ __forceinline__ void half_atomic_add8(__half *base,
                                                        size_t index,
                                                        size_t length,
                                                        const __half2 *pairs)
{
    unsigned w[4] = {half_atomics_bits2(pairs[0]), half_atomics_bits2(pairs[1]),
                     half_atomics_bits2(pairs[2]),
                     half_atomics_bits2(pairs[3])};

    half_atomics_all((unsigned short *)base, index, length, w,
                     HALF_ATOMICS_HALF);
}

static __device__ __forceinline__ void
bf16_atomic_add8(__nv_bfloat16 *base, size_t index, size_t length,
                 const __nv_bfloat162 *pairs)
{
    unsigned w[4] = {
        half_atomics_bits2_bf16(pairs[0]), half_atomics_bits2_bf16(pairs[1]),
        half_atomics_bits2_bf16(pairs[2]), half_atomics_bits2_bf16(pairs[3])};

    half_atomics_all((unsigned short *)base, index, length, w,
                     HALF_ATOMICS_BF16);
}

#endif
#endif
