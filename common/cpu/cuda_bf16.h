/* CUDA C on a CPU: bfloat16 and its pairs, with the intrinsics that the course
 * uses.
 *
 * A bfloat16 is the upper half of a float: sign, 8 bits of exponent, 7 of
 * mantissa. As with half, each operation rounds once, to nearest even, keeps
 * subnormals and gives the NaN 0x7fff; and there are no operators. */
#ifndef CPU_CUDA_BF16_H
#define CPU_CUDA_BF16_H

#include <cuda_fp16.h>

typedef struct {
    unsigned short __x;
} __align__(2) __nv_bfloat16;

typedef struct {
    __nv_bfloat16 x, y;
} __align__(4) __nv_bfloat162;

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

/* --- conversions --- */

static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 h;
    h.__x = bits;
    return h;
}

static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h)
{
    return h.__x;
}

/* Bits as they are: a NaN keeps its own. */
static inline float __bfloat162float(__nv_bfloat16 h)
{
    uint32_t bits = (uint32_t)h.__x << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Of a float's bits the lower half goes: just under half a unit of the last
 * bit that stays is added, or half of it where that bit is odd, which carries
 * exactly when the value rounds up. */
static inline __nv_bfloat16 __float2bfloat16_rn(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return __ushort_as_bfloat16(0x7fff);
    bits += 0x7fff + (bits >> 16 & 1);
    return __ushort_as_bfloat16((unsigned short)(bits >> 16));
}

static inline __nv_bfloat16 __float2bfloat16(float f)
{
    return __float2bfloat16_rn(f);
}

/* A NaN becomes 0x7fff, as on a GPU below sm_90; from there on the hardware
 * keeps its sign and upper bits.
 *
 * By way of a float that is rounded to odd: toward zero, and then the last bit
 * is set where something was lost. So it is never mistaken for a tie. */
static inline __nv_bfloat16 __double2bfloat16(double d)
{
    uint64_t bits, size, mantissa;
    uint32_t sign, odd;
    int shift = 29; /* of 52 bits 23 stay */

    memcpy(&bits, &d, sizeof bits);
    sign = (uint32_t)(bits >> 32) & 0x80000000;
    size = bits & 0x7fffffffffffffff;
    mantissa = (size & 0xfffffffffffff) | 0x10000000000000;
    if (size > 0x7ff0000000000000)
        return __ushort_as_bfloat16(0x7fff);
    if (size >= 0x47f0000000000000) { /* 2^128 */
        odd = 0x7f800000;
    } else if (size >= 0x3810000000000000) { /* 2^-126 */
        odd = (uint32_t)((size - 0x3800000000000000) >> shift);
    } else if (size >= 0x3690000000000000) { /* 2^-150 */
        shift += 897 - (int)(size >> 52);
        odd = (uint32_t)(mantissa >> shift);
    } else {
        odd = 0;
        shift = 0;
    }
    odd |= sign | ((mantissa & ((1ull << shift) - 1)) != 0);
    odd += 0x7fff + (odd >> 16 & 1);
    return __ushort_as_bfloat16((unsigned short)(odd >> 16));
}

/* --- arithmetic --- */

static inline double cpu_bfloat16_to_double(__nv_bfloat16 h)
{
    uint64_t sign = (uint64_t)(h.__x & 0x8000) << 48;
    uint64_t size = h.__x & 0x7fff;
    double d;

    if (size >= 0x7f80) { /* infinity, NaN */
        size = size << 45 | 0x7ff0000000000000;
    } else if (size >= 0x80) {
        size = (size << 45) + (896ull << 52);
    } else { /* a subnormal, which no CPU's flush mode must see as a float */
        d = (double)size * 0x1p-133;
        memcpy(&size, &d, sizeof size);
    }
    size |= sign;
    memcpy(&d, &size, sizeof d);
    return d;
}

/* Exact but for a sum of two that are more than 45 binades apart, where what is
 * lost cannot reach a tie: the larger one is a bfloat16 itself. */
static inline __nv_bfloat16 cpu_hadd_bfloat16(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __double2bfloat16(cpu_bfloat16_to_double(a) +
                             cpu_bfloat16_to_double(b));
}

/* Exact in double: 8 bits times 8 bits. */
static inline __nv_bfloat16 cpu_hmul_bfloat16(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __double2bfloat16(cpu_bfloat16_to_double(a) *
                             cpu_bfloat16_to_double(b));
}

/* The product is exact and may lie on a tie; what the sum loses decides it. So
 * the sum is rounded to odd (Boldo and Melquiond, 2008): where it is not exact
 * and its last bit is 0, it moves to the neighbour toward what was lost. */
static inline __nv_bfloat16 cpu_hfma_bfloat16(__nv_bfloat16 a, __nv_bfloat16 b,
                                              __nv_bfloat16 c)
{
    double p = cpu_bfloat16_to_double(a) * cpu_bfloat16_to_double(b);
    double q = cpu_bfloat16_to_double(c), sum = p + q;
    double part = sum - p, lost = (p - (sum - part)) + (q - part);
    uint64_t bits;

    memcpy(&bits, &sum, sizeof bits);
    if (lost != 0 && lost - lost == 0 && bits % 2 == 0) {
        bits += (lost > 0) == (sum > 0) ? 1 : (uint64_t)-1;
        memcpy(&sum, &bits, sizeof sum);
    }
    return __double2bfloat16(sum);
}

/* CUDA gives the functions on both types one name. */
/* clang-format off */
#define CPU_ONE_OF(a, half_s, bfloat16_s)                                      \
    _Generic((a), __half: half_s, __nv_bfloat16: bfloat16_s)
#define CPU_PAIR_OF(a, half_s, bfloat16_s)                                     \
    _Generic((a), __half2: half_s, __nv_bfloat162: bfloat16_s)
#define __hadd_rn(a, b) CPU_ONE_OF(a, __hadd_rn, cpu_hadd_bfloat16)((a), (b))
#define __hmul_rn(a, b) CPU_ONE_OF(a, __hmul_rn, cpu_hmul_bfloat16)((a), (b))
#define __hfma(a, b, c)                                                        \
    CPU_ONE_OF(a, __hfma, cpu_hfma_bfloat16)((a), (b), (c))
#define __hisnan(a) CPU_ONE_OF(a, __hisnan, cpu_hisnan_bfloat16)(a)
#define __low2float(a) CPU_PAIR_OF(a, __low2float, cpu_low2float_bfloat162)(a)
#define __high2float(a)                                                        \
    CPU_PAIR_OF(a, __high2float, cpu_high2float_bfloat162)(a)
#define __hadd2_rn(a, b)                                                       \
    CPU_PAIR_OF(a, __hadd2_rn, cpu_hadd2_bfloat162)((a), (b))
#define __hmul2_rn(a, b)                                                       \
    CPU_PAIR_OF(a, __hmul2_rn, cpu_hmul2_bfloat162)((a), (b))
#define __hfma2(a, b, c)                                                       \
    CPU_PAIR_OF(a, __hfma2, cpu_hfma2_bfloat162)((a), (b), (c))
/* clang-format on */

static inline int cpu_hisnan_bfloat16(__nv_bfloat16 h)
{
    return (h.__x & 0x7fff) > 0x7f80;
}

/* --- pairs --- */

static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low,
                                                __nv_bfloat16 high)
{
    __nv_bfloat162 pair;
    pair.x = low;
    pair.y = high;
    return pair;
}

static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 pair)
{
    return pair.x;
}

static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 pair)
{
    return pair.y;
}

static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 h)
{
    return __halves2bfloat162(h, h);
}

static inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high)
{
    return __halves2bfloat162(__float2bfloat16_rn(low),
                              __float2bfloat16_rn(high));
}

static inline __nv_bfloat162 __float2bfloat162_rn(float f)
{
    return __floats2bfloat162_rn(f, f);
}

static inline __nv_bfloat162 __float22bfloat162_rn(float2 f)
{
    return __floats2bfloat162_rn(f.x, f.y);
}

static inline float cpu_low2float_bfloat162(__nv_bfloat162 pair)
{
    return __bfloat162float(pair.x);
}

static inline float cpu_high2float_bfloat162(__nv_bfloat162 pair)
{
    return __bfloat162float(pair.y);
}

static inline float2 __bfloat1622float2(__nv_bfloat162 pair)
{
    return make_float2(__bfloat162float(pair.x), __bfloat162float(pair.y));
}

static inline __nv_bfloat162 cpu_hadd2_bfloat162(__nv_bfloat162 a,
                                                 __nv_bfloat162 b)
{
    return __halves2bfloat162(cpu_hadd_bfloat16(a.x, b.x),
                              cpu_hadd_bfloat16(a.y, b.y));
}

static inline __nv_bfloat162 cpu_hmul2_bfloat162(__nv_bfloat162 a,
                                                 __nv_bfloat162 b)
{
    return __halves2bfloat162(cpu_hmul_bfloat16(a.x, b.x),
                              cpu_hmul_bfloat16(a.y, b.y));
}

static inline __nv_bfloat162
cpu_hfma2_bfloat162(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c)
{
    return __halves2bfloat162(cpu_hfma_bfloat16(a.x, b.x, c.x),
                              cpu_hfma_bfloat16(a.y, b.y, c.y));
}

/* --- atomics and shuffles --- */

/* A sum with the same bits needs no store, as with half. */
static inline __nv_bfloat16 cpu_atomic_add_bfloat16(__nv_bfloat16 *p,
                                                    __nv_bfloat16 v)
{
    uint16_t *word = (uint16_t *)p;
    uint16_t old, sum;

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        sum = cpu_hadd_bfloat16(__ushort_as_bfloat16(old), v).__x;
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return __ushort_as_bfloat16(old);
}

static inline __nv_bfloat162 cpu_atomic_add_bfloat162(__nv_bfloat162 *p,
                                                      __nv_bfloat162 v)
{
    uint32_t *word = (uint32_t *)p;
    uint32_t old, sum;
    __nv_bfloat162 pair, next;

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        memcpy(&pair, &old, sizeof pair);
        next = cpu_hadd2_bfloat162(pair, v);
        memcpy(&sum, &next, sizeof sum);
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return pair;
}

/* clang-format off */
#undef CPU_ATOMIC_ADD_BF16
#define CPU_ATOMIC_ADD_BF16                                                    \
    , __nv_bfloat16 *: cpu_atomic_add_bfloat16,                                \
    __nv_bfloat162 *: cpu_atomic_add_bfloat162
/* clang-format on */

CPU_DEFINE_SHUFFLE(bfloat16, __nv_bfloat16)
CPU_DEFINE_SHUFFLE(bfloat162, __nv_bfloat162)

/* clang-format off */
#undef CPU_SHUFFLE_BF16
#define CPU_SHUFFLE_BF16                                                       \
    , __nv_bfloat16: cpu_shuffle_bfloat16,                                     \
    __nv_bfloat162: cpu_shuffle_bfloat162
/* clang-format on */

#endif
