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

/* A NaN becomes 0x7fffffff. */
static inline float __half2float(half h)
{
    return fp16_is_nan(h.__x) ? __uint_as_float(0x7fffffff)
                              : fp16_to_float(h.__x);
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

static inline half __hsub_rn(half a, half b)
{
    return __hadd_rn(a, __ushort_as_half(b.__x ^ 0x8000));
}

static inline half __double2half(double d)
{
    return __ushort_as_half(fp16_from_double(d));
}

static inline int __hisnan(half h)
{
    return fp16_is_nan(h.__x);
}

/* -1 and 1 for the infinities, else 0. */
static inline int __hisinf(half h)
{
    return !fp16_is_inf(h.__x) ? 0 : fp16_sign(h.__x) ? -1 : 1;
}

/* A NaN becomes 0x7fff here as well (an H200 under CUDA 13.0). */
static inline half __hneg(half h)
{
    return __ushort_as_half(fp16_is_nan(h.__x) ? FP16_NAN : h.__x ^ 0x8000);
}

static inline half __habs(half h)
{
    return __ushort_as_half(fp16_is_nan(h.__x) ? FP16_NAN : h.__x & 0x7fff);
}

#define CPU_DEFINE_HALF_COMPARISON(name, operator)                             \
    static inline int name(half a, half b)                                     \
    {                                                                          \
        return fp16_to_double(a.__x) operator fp16_to_double(b.__x);           \
    }

CPU_DEFINE_HALF_COMPARISON(__heq, ==)
CPU_DEFINE_HALF_COMPARISON(__hlt, <)
CPU_DEFINE_HALF_COMPARISON(__hle, <=)
CPU_DEFINE_HALF_COMPARISON(__hgt, >)
CPU_DEFINE_HALF_COMPARISON(__hge, >=)

/* --- pairs --- */

static inline half2 __half2half2(half h)
{
    return __halves2half2(h, h);
}

static inline half2 __float2half2_rn(float f)
{
    return __half2half2(__float2half_rn(f));
}

static inline half2 __floats2half2_rn(float low, float high)
{
    return __halves2half2(__float2half_rn(low), __float2half_rn(high));
}

static inline half2 __float22half2_rn(float2 f)
{
    return __floats2half2_rn(f.x, f.y);
}

static inline float __low2float(half2 pair)
{
    return __half2float(pair.x);
}

static inline float __high2float(half2 pair)
{
    return __half2float(pair.y);
}

static inline float2 __half22float2(half2 pair)
{
    return make_float2(__low2float(pair), __high2float(pair));
}

static inline half2 __hadd2_rn(half2 a, half2 b)
{
    return __halves2half2(__hadd_rn(a.x, b.x), __hadd_rn(a.y, b.y));
}

static inline half2 __hsub2_rn(half2 a, half2 b)
{
    return __halves2half2(__hsub_rn(a.x, b.x), __hsub_rn(a.y, b.y));
}

static inline half2 __hmul2_rn(half2 a, half2 b)
{
    return __halves2half2(__hmul_rn(a.x, b.x), __hmul_rn(a.y, b.y));
}

static inline half2 __hfma2(half2 a, half2 b, half2 c)
{
    return __halves2half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}

/* --- atomics --- */

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

/* __half, since a program may well have a variable with the name half. */
/* clang-format off */
#undef CPU_ATOMIC_ADD_FP16
#define CPU_ATOMIC_ADD_FP16                                                    \
    , __half *: cpu_atomic_add_half, __half2 *: cpu_atomic_add_half2
/* clang-format on */

/* --- shuffles --- */

CPU_DEFINE_SHUFFLE(half, half)
CPU_DEFINE_SHUFFLE(half2, half2)

/* clang-format off */
#undef CPU_SHUFFLE_FP16
#define CPU_SHUFFLE_FP16                                                       \
    , __half: cpu_shuffle_half, __half2: cpu_shuffle_half2
/* clang-format on */

/* --- what CUDA has and this has not --- */

/* A call does not compile, and the message says what to write: no name has two
 * meanings here, as __hadd() has under nvcc, which may fuse it, and hexp() on a
 * GPU, whose last bit is its own; all else is one line of what is above. */
#ifdef __clang__
#define CPU_REFUSED unavailable /* clang has the other from 14 on */
#else
#define CPU_REFUSED error
#endif
/* clang-format off */
#define CPU_LACKS(function, instead)                                           \
    function __attribute__((                                                   \
        CPU_REFUSED("the CPU emulation lacks it: write " instead)));
#define CPU_LACKS_FUSED(name, type)                                            \
    CPU_LACKS(type name(type a, type b),                                       \
              #name "_rn(), which nvcc does not fuse with another operation")
#define CPU_LACKS_UNARY(name, call)                                            \
    CPU_LACKS(half name(half x), "__float2half_rn(" call ")")
#define CPU_LACKS_BINARY(name, instead)                                        \
    CPU_LACKS(half name(half a, half b), instead)
#define CPU_LACKS_FROM(name, type)                                             \
    CPU_LACKS(half name(type i), "__float2half_rn((float)i)")
#define CPU_LACKS_TO(name, type)                                               \
    CPU_LACKS(type name##_rn(half h), "(" #type ")rintf(__half2float(h))")     \
    CPU_LACKS(type name##_rz(half h), "(" #type ")__half2float(h)")
#define CPU_LACKS_PAIR(name)                                                   \
    CPU_LACKS(half2 name(half2 a, half2 b),                                    \
              "it for each half: __halves2half2(), __low2half(), __high2half()")

CPU_LACKS_FUSED(__hadd, half)
CPU_LACKS_FUSED(__hsub, half)
CPU_LACKS_FUSED(__hmul, half)
CPU_LACKS_FUSED(__hadd2, half2)
CPU_LACKS_FUSED(__hsub2, half2)
CPU_LACKS_FUSED(__hmul2, half2)
CPU_LACKS_BINARY(__hdiv, "__float2half_rn(__half2float(a) / __half2float(b))")
CPU_LACKS_BINARY(__hmax, "__hgt(a, b) ? a : b, where neither is a NaN")
CPU_LACKS_BINARY(__hmin, "__hlt(a, b) ? a : b, where neither is a NaN")
CPU_LACKS(int __hne(half a, half b), "__hlt(a, b) || __hgt(a, b)")
CPU_LACKS_UNARY(hexp, "expf(__half2float(x))")
CPU_LACKS_UNARY(hexp2, "exp2f(__half2float(x))")
CPU_LACKS_UNARY(hlog, "logf(__half2float(x))")
CPU_LACKS_UNARY(hlog2, "log2f(__half2float(x))")
CPU_LACKS_UNARY(hlog10, "log10f(__half2float(x))")
CPU_LACKS_UNARY(hsin, "sinf(__half2float(x))")
CPU_LACKS_UNARY(hcos, "cosf(__half2float(x))")
CPU_LACKS_UNARY(htanh, "tanhf(__half2float(x))")
CPU_LACKS_UNARY(hsqrt, "sqrtf(__half2float(x))")
CPU_LACKS_UNARY(hrsqrt, "1 / sqrtf(__half2float(x))")
CPU_LACKS_UNARY(hrcp, "1 / __half2float(x)")
CPU_LACKS_UNARY(hrint, "rintf(__half2float(x))")
CPU_LACKS_UNARY(hfloor, "floorf(__half2float(x))")
CPU_LACKS_UNARY(hceil, "ceilf(__half2float(x))")
CPU_LACKS_UNARY(htrunc, "truncf(__half2float(x))")
CPU_LACKS_FROM(__int2half_rn, int)
CPU_LACKS_FROM(__uint2half_rn, unsigned)
CPU_LACKS_FROM(__short2half_rn, short)
CPU_LACKS_FROM(__ushort2half_rn, unsigned short)
CPU_LACKS_FROM(__ll2half_rn, long long)
CPU_LACKS_FROM(__ull2half_rn, unsigned long long)
CPU_LACKS_TO(__half2int, int)
CPU_LACKS_TO(__half2uint, unsigned)
CPU_LACKS_TO(__half2short, short)
CPU_LACKS_TO(__half2ushort, unsigned short)
CPU_LACKS_TO(__half2ll, long long)
CPU_LACKS_TO(__half2ull, unsigned long long)
CPU_LACKS(half __float2half_rz(float f), "__float2half_rn(), to nearest")
CPU_LACKS(half __float2half_rd(float f), "__float2half_rn(), to nearest")
CPU_LACKS(half __float2half_ru(float f), "__float2half_rn(), to nearest")
CPU_LACKS(half __short_as_half(short bits), "__ushort_as_half()")
CPU_LACKS(short __half_as_short(half h), "__half_as_ushort()")
CPU_LACKS(half2 make_half2(half x, half y), "__halves2half2(x, y)")
CPU_LACKS_PAIR(__h2div)
CPU_LACKS_PAIR(__hmax2)
CPU_LACKS_PAIR(__hmin2)
CPU_LACKS_PAIR(__heq2)
CPU_LACKS_PAIR(__hne2)
CPU_LACKS_PAIR(__hlt2)
CPU_LACKS_PAIR(__hle2)
CPU_LACKS_PAIR(__hgt2)
CPU_LACKS_PAIR(__hge2)
CPU_LACKS_PAIR(__lows2half2)
CPU_LACKS_PAIR(__highs2half2)
CPU_LACKS(half2 __hneg2(half2 p), "__hneg() of each half")
CPU_LACKS(half2 __habs2(half2 p), "__habs() of each half")
CPU_LACKS(half2 __low2half2(half2 p), "__half2half2(__low2half(p))")
CPU_LACKS(half2 __high2half2(half2 p), "__half2half2(__high2half(p))")
CPU_LACKS(half2 __lowhigh2highlow(half2 p),
          "__halves2half2(__high2half(p), __low2half(p))")
/* clang-format on */

#endif
