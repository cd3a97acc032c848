/* Atomic adds of 2-byte floats, built on the 4-byte atomicCAS alone: what
 * lesson 4 writes by hand, for half, half2, bf16 and bf162, with the old value.
 * For a toolkit that lacks its own, and to hold them against a GPU's. CUDA C++,
 * MUSA and C11.
 *
 * With CAS_ATOMICS (make MUSA_ATOMICS=cas) atomicAdd is these, on every
 * backend: the compiler is told to include this file first. */
#ifndef CAS_ATOMICS_H
#define CAS_ATOMICS_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/* CAS_2_BYTES, 1 where atomicCAS takes 2 bytes: then one half is swapped alone.
 * On an NVIDIA GPU that is a loop of its own, on the 4 bytes (lesson 4). */
#ifndef CAS_2_BYTES
#define CAS_2_BYTES 0
#endif

/* The first look at a word. A GPU reads it as it is; the emulation's threads
 * are a C program's, in which that would be a race. */
#ifdef CUDA_ON_CPU
#define CAS_LOOK(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#else
#define CAS_LOOK(p) (*(volatile const __typeof__(*(p)) *)(p))
#endif

/* The sum of two halves, or of two bf16, as bits. A float has twice the bits of
 * a bf16 and two more, so that rounding it to bf16 is the only rounding. */
static __device__ __forceinline__ unsigned short
cas_sum(unsigned short a, unsigned short b, int is_bf16)
{
    if (is_bf16) {
        __nv_bfloat16 sum =
            __float2bfloat16_rn(__bfloat162float(*(__nv_bfloat16 *)&a) +
                                __bfloat162float(*(__nv_bfloat16 *)&b));
        return *(unsigned short *)&sum;
    }
    return __half_as_ushort(
        __hadd_rn(__ushort_as_half(a), __ushort_as_half(b)));
}

/* Adds two, at a multiple of 4 bytes. It compares bits, so that a NaN ends the
 * loop as well. Returns the old ones. */
static __device__ __forceinline__ unsigned
cas_add_word(unsigned *word, unsigned pair, int is_bf16)
{
    unsigned old = CAS_LOOK(word), seen, low, high;

    do {
        seen = old;
        low = cas_sum((unsigned short)seen, (unsigned short)pair, is_bf16);
        high = cas_sum((unsigned short)(seen >> 16),
                       (unsigned short)(pair >> 16), is_bf16);
        old = atomicCAS(word, seen, low | high << 16);
    } while (old != seen);
    return old;
}

/* Adds one; the other half of its word stays as it is. */
static __device__ __forceinline__ unsigned short
cas_add_bits(unsigned short *cell, unsigned short value, int is_bf16)
{
#if CAS_2_BYTES
    unsigned short old = CAS_LOOK(cell), seen;

    do {
        seen = old;
        old = atomicCAS(cell, seen, cas_sum(seen, value, is_bf16));
    } while (old != seen);
    return old;
#else
    unsigned *word = (unsigned *)((size_t)cell & ~(size_t)2);
    unsigned shift = ((size_t)cell & 2) != 0 ? 16 : 0;
    unsigned old = CAS_LOOK(word), seen, sum;

    do {
        seen = old;
        sum = cas_sum((unsigned short)(seen >> shift), value, is_bf16);
        old =
            atomicCAS(word, seen, (seen & 0xffff0000u >> shift) | sum << shift);
    } while (old != seen);
    return (unsigned short)(old >> shift);
#endif
}

/* The 2-byte atomicCAS: done if the half is as expected, whatever the other
 * half of its word does meanwhile. */
static __device__ __forceinline__ unsigned short
cas_swap_ushort(unsigned short *cell, unsigned short expected,
                unsigned short next)
{
    unsigned *word = (unsigned *)((size_t)cell & ~(size_t)2);
    unsigned shift = ((size_t)cell & 2) != 0 ? 16 : 0;
    unsigned old = CAS_LOOK(word), seen;

    do {
        seen = old;
        if ((unsigned short)(seen >> shift) != expected)
            return (unsigned short)(seen >> shift);
        old =
            atomicCAS(word, seen,
                      (seen & 0xffff0000u >> shift) | (unsigned)next << shift);
    } while (old != seen);
    return expected;
}

/* --- what to call --- */

static __device__ __forceinline__ __half cas_add_half(__half *cell,
                                                      __half value)
{
    return __ushort_as_half(
        cas_add_bits((unsigned short *)cell, __half_as_ushort(value), 0));
}

static __device__ __forceinline__ __half2 cas_add_half2(__half2 *cell,
                                                        __half2 value)
{
    unsigned old = cas_add_word((unsigned *)cell, *(const unsigned *)&value, 0);

    return *(__half2 *)&old;
}

static __device__ __forceinline__ __nv_bfloat16
cas_add_bf16(__nv_bfloat16 *cell, __nv_bfloat16 value)
{
    unsigned short old = cas_add_bits((unsigned short *)cell,
                                      *(const unsigned short *)&value, 1);

    return *(__nv_bfloat16 *)&old;
}

static __device__ __forceinline__ __nv_bfloat162
cas_add_bf162(__nv_bfloat162 *cell, __nv_bfloat162 value)
{
    unsigned old = cas_add_word((unsigned *)cell, *(const unsigned *)&value, 1);

    return *(__nv_bfloat162 *)&old;
}

/* --- under CUDA's name --- */

/* CAS_ADD_BF16 and CAS_SWAP_USHORT, 1 on a GPU whose toolkit lacks these two,
 * even where the others are its own. */
#ifdef CAS_ATOMICS
#define CAS_ADD_HALF 1
#undef CAS_ADD_BF16
#define CAS_ADD_BF16 1
#endif

#ifdef CUDA_ON_CPU
#if CAS_SWAP_USHORT
#define cpu_atomic_cas_ushort cas_swap_ushort
#endif
#if CAS_ADD_HALF
/* clang-format off */
#undef CPU_ATOMIC_ADD_FP16
#define CPU_ATOMIC_ADD_FP16                                                    \
    , __half *: cas_add_half, __half2 *: cas_add_half2
#undef CPU_ATOMIC_ADD_BF16
#define CPU_ATOMIC_ADD_BF16                                                    \
    , __nv_bfloat16 *: cas_add_bf16, __nv_bfloat162 *: cas_add_bf162
/* clang-format on */
#endif
#elif CAS_ADD_HALF || CAS_ADD_BF16
/* By the type: an overload of each, since the toolkit has the name already. */
#define CAS_OVERLOAD(type, function)                                           \
    static __device__ __forceinline__ type cas_or_native_add(type *cell,       \
                                                             type value)       \
    {                                                                          \
        return function(cell, value);                                          \
    }
CAS_OVERLOAD(int, atomicAdd)
CAS_OVERLOAD(unsigned, atomicAdd)
CAS_OVERLOAD(unsigned long long, atomicAdd)
CAS_OVERLOAD(float, atomicAdd)
CAS_OVERLOAD(double, atomicAdd)
#if CAS_ADD_HALF
CAS_OVERLOAD(__half, cas_add_half)
CAS_OVERLOAD(__half2, cas_add_half2)
#else
CAS_OVERLOAD(__half, atomicAdd)
CAS_OVERLOAD(__half2, atomicAdd)
#endif
CAS_OVERLOAD(__nv_bfloat16, cas_add_bf16)
CAS_OVERLOAD(__nv_bfloat162, cas_add_bf162)
#define atomicAdd cas_or_native_add
#endif

#if CAS_SWAP_USHORT && !defined CUDA_ON_CPU
#define CAS_OVERLOAD_SWAP(type, function)                                      \
    static __device__ __forceinline__ type cas_or_native_swap(                 \
        type *cell, type expected, type next)                                  \
    {                                                                          \
        return function(cell, expected, next);                                 \
    }
CAS_OVERLOAD_SWAP(int, atomicCAS)
CAS_OVERLOAD_SWAP(unsigned, atomicCAS)
CAS_OVERLOAD_SWAP(unsigned long long, atomicCAS)
CAS_OVERLOAD_SWAP(unsigned short, cas_swap_ushort)
#define atomicCAS cas_or_native_swap
#endif

#endif
