/* CUDA C on a CPU: half and half2, with the intrinsics that the course uses.
 *
 * half is a struct over 16 bits, so that `a + b` on halves does not compile
 * here; the rounding is always spelled out. Every operation rounds once, to
 * nearest even, keeps subnormals, and gives the NaN 0x7fff, as a GPU does. */
#ifndef CPU_CUDA_FP16_H
#define CPU_CUDA_FP16_H

#include <cuda_runtime.h>

#include "fp16.h"

typedef struct {
    unsigned short __x;
} __align__(2) __half;

typedef struct {
    __half x, y;
} __align__(4) __half2;

typedef __half half;
typedef __half2 half2;

static inline half __ushort_as_half(unsigned short bits)
{
    half h;
    h.__x = bits;
    return h;
}

static inline unsigned short __half_as_ushort(half h)
{
    return h.__x;
}

static inline half __float2half_rn(float f)
{
    return __ushort_as_half(fp16_from_float(f));
}

static inline half __float2half(float f)
{
    return __float2half_rn(f);
}

static inline float __half2float(half h)
{
    return fp16_to_float(h.__x);
}

static inline half __hadd_rn(half a, half b)
{
    return __ushort_as_half(fp16_add(a.__x, b.__x));
}

static inline half __hmul_rn(half a, half b)
{
    return __ushort_as_half(fp16_mul(a.__x, b.__x));
}

static inline half __hfma(half a, half b, half c)
{
    return __ushort_as_half(fp16_fma(a.__x, b.__x, c.__x));
}

static inline half2 __halves2half2(half low, half high)
{
    half2 pair;
    pair.x = low;
    pair.y = high;
    return pair;
}

static inline half __low2half(half2 pair)
{
    return pair.x;
}

static inline half __high2half(half2 pair)
{
    return pair.y;
}

/* In interleaved mode, the loop that a GPU runs: each of its tries waits for
 * its turn. Returns the old bits. */
uint16_t cpu_add_half_in_turns(uint16_t *p, uint16_t v);

/* A sum with the same bits needs no store, so it is done as a load: that keeps
 * the line shared between the pool threads once the sum has frozen. */
static inline half cpu_atomic_add_half(half *p, half v)
{
    uint16_t *word = (uint16_t *)p;
    uint16_t old, sum;

    if (cpu_interleaved)
        return __ushort_as_half(cpu_add_half_in_turns(word, v.__x));
    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        sum = fp16_add(old, v.__x);
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return __ushort_as_half(old);
}

/* CUDA promises each half of its own; here both change together. */
static inline half2 cpu_atomic_add_half2(half2 *p, half2 v)
{
    uint32_t *word = (uint32_t *)p;
    uint32_t old, sum;

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        uint16_t low = fp16_add((uint16_t)(old & 0xffff), v.x.__x);
        uint16_t high = fp16_add((uint16_t)(old >> 16), v.y.__x);
        sum = low | (uint32_t)high << 16;
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return __halves2half2(__ushort_as_half((uint16_t)(old & 0xffff)),
                          __ushort_as_half((uint16_t)(old >> 16)));
}

/* clang-format off */
#undef atomicAdd
#define atomicAdd(p, v)                                                        \
    _Generic((p), CPU_ATOMIC_ADD_TYPES, half *: cpu_atomic_add_half,           \
             half2 *: cpu_atomic_add_half2)((p), (v))
/* clang-format on */

#endif
