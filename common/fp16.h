/* Halves on the host. A half (IEEE 754 binary16) is kept as its 16 bits in a
 * uint16_t:
 *
 *     bit   15     14 .. 10     9 .. 0
 *           sign   exponent e   mantissa m
 *
 *     e = 1 .. 30   normal          (-1)^sign * (1024 + m) * 2^(e - 25)
 *     e = 0         subnormal, 0    (-1)^sign * m * 2^-24
 *     e = 31        infinity if m is 0, else NaN
 *
 * So every finite half is a whole multiple of 2^-24, at most 65504 in size, and
 * among halves of one sign larger bits mean a larger size.
 *
 * Each operation rounds once, to nearest, ties to even, as a GPU does (and a
 * CPU in its default mode). Subnormals are kept, even by a CPU told to flush
 * them (FTZ, DAZ): no subnormal float or double here could change a result. An
 * operation whose result is NaN gives 0x7fff, as on a GPU.
 *
 * C11, C++17, or host code under nvcc. The conversions use F16C (x86-64,
 * without <immintrin.h>, which is slow to compile) or FCVT (arm64) where the
 * compiler may, else, or with FP16_FORCE_PORTABLE, integer arithmetic. */
#ifndef FP16_H
#define FP16_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined FP16_FORCE_PORTABLE
#define FP16_PATH "portable"
#elif defined __F16C__ && !defined __CUDACC__
#define FP16_USE_F16C 1
#define FP16_PATH "F16C"
#elif defined __aarch64__ && !defined __CUDACC__
#define FP16_USE_FCVT 1
#define FP16_PATH "FCVT"
#else
#define FP16_PATH "portable"
#endif

#define FP16_NAN ((uint16_t)0x7fffu)

/* ---- parts ---- */

/* The sign bit: 1 for negative values, -0 and some NaNs; else 0. */
static inline int fp16_sign(uint16_t bits)
{
    return bits >> 15;
}

/* The ten stored mantissa bits, 0 .. 1023, without the implicit 1. */
static inline int fp16_mantissa(uint16_t bits)
{
    return bits & 0x3ff;
}

/* The exponent that scales the mantissa, without its bias of 15. Normal:
 * -14 .. 15, the largest k with 2^k <= |value|. Zero and subnormal: -14, as
 * they continue the lowest binade downward. Infinity and NaN: 16. */
static inline int fp16_exponent(uint16_t bits)
{
    int field = bits >> 10 & 0x1f;

    return (field == 0 ? 1 : field) - 15;
}

static inline int fp16_is_nan(uint16_t bits)
{
    return (bits & 0x7fff) > 0x7c00;
}

static inline int fp16_is_inf(uint16_t bits)
{
    return (bits & 0x7fff) == 0x7c00;
}

/* ---- conversions ---- */

static inline double fp16_double_of_bits_(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* fp16_to_double for exponent fields 0 and 31. */
static inline double fp16_rare_to_double_(uint16_t bits)
{
    double value = fp16_mantissa(bits) * 0x1p-24;

    if (fp16_is_nan(bits))
        return fp16_double_of_bits_(0x7ff8000000000000u);
    if (fp16_is_inf(bits))
        value = fp16_double_of_bits_(0x7ff0000000000000u);
    return fp16_sign(bits) ? -value : value;
}

/* fp16_from_double outside [2^-14, 65536): sign is 0 or 0x8000, magnitude
 * the double's other bits. */
static inline uint16_t fp16_rare_from_double_(unsigned sign, uint64_t magnitude)
{
    uint64_t mantissa = (magnitude & 0xfffffffffffffu) | 0x10000000000000u;
    int shift = 1051 - (int)(magnitude >> 52);

    if (magnitude > 0x7ff0000000000000u)
        return FP16_NAN;
    if (magnitude >= 0x40f0000000000000u)
        return (uint16_t)(sign | 0x7c00);
    /* In units of 2^-24 the value is mantissa / 2^shift: past 53 that is less
     * than half a unit (and so is every subnormal double). */
    if (shift > 53)
        return (uint16_t)sign;
    mantissa += (1ull << (shift - 1)) - 1 + (mantissa >> shift & 1);
    return (uint16_t)(sign | mantissa >> shift);
}

/* The value of a half, exactly. A NaN gives a NaN. */
static inline double fp16_to_double(uint16_t bits)
{
#if defined FP16_USE_F16C
    __attribute__((vector_size(16))) short eight = {(short)bits};
    return (double)__builtin_ia32_vcvtph2ps(eight)[0];
#elif defined FP16_USE_FCVT
    __fp16 value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
#else
    uint64_t magnitude = bits & 0x7fffu, sign = bits & 0x8000u;

    if (magnitude - 0x400 >= 0x7800)
        return fp16_rare_to_double_(bits);
    /* Same mantissa, at the top of 52 bits; bias 1023 instead of 15. */
    return fp16_double_of_bits_(sign << 48 |
                                ((magnitude << 42) + (1008ull << 52)));
#endif
}

/* The nearest half, ties to even: |x| >= 65520 gives infinity, |x| <= 2^-25
 * a zero with the sign of x, and any NaN 0x7fff. */
static inline uint16_t fp16_from_double(double x)
{
#if defined FP16_USE_FCVT
    __fp16 value = (__fp16)x;
    uint16_t bits;

    memcpy(&bits, &value, sizeof bits);
    return x != x ? FP16_NAN : bits;
#else
    uint64_t bits, magnitude;
    unsigned sign;

    memcpy(&bits, &x, sizeof bits);
    magnitude = bits & 0x7fffffffffffffffu;
    sign = (unsigned)(bits >> 48) & 0x8000;
    if (magnitude - 0x3f10000000000000u >= 0x01e0000000000000u)
        return fp16_rare_from_double_(sign, magnitude);
    /* Drop 42 of the 52 mantissa bits: adding just under half a unit of the
     * last kept bit, or half of it if that bit is odd, carries exactly when
     * the value rounds up. A carry out of the mantissa steps the exponent,
     * and out of the largest half it gives infinity, as it should. */
    magnitude += 0x1ffffffffffu + (magnitude >> 42 & 1);
    return (uint16_t)(sign | ((magnitude >> 42) - (1008 << 10)));
#endif
}

/* As fp16_to_double: every half is a float too. */
static inline float fp16_to_float(uint16_t bits)
{
    return (float)fp16_to_double(bits);
}

/* As fp16_from_double, for a float. */
static inline uint16_t fp16_from_float(float x)
{
#if defined FP16_USE_F16C
    __attribute__((vector_size(16))) float four = {x};
    return x != x ? FP16_NAN : (uint16_t)__builtin_ia32_vcvtps2ph(four, 0)[0];
#else
    return fp16_from_double((double)x);
#endif
}

/* ---- arithmetic ---- */

/* a + b. The double sum is exact: a multiple of 2^-24 below 2^17. The float sum
 * may be rounded, but a float has 2 * 11 + 2 bits, so that to round once more
 * changes nothing (Figueroa, 1995); and none is a subnormal float. */
static inline uint16_t fp16_add(uint16_t a, uint16_t b)
{
#if defined FP16_USE_F16C
    return fp16_from_float(fp16_to_float(a) + fp16_to_float(b));
#else
    return fp16_from_double(fp16_to_double(a) + fp16_to_double(b));
#endif
}

/* a * b. The double product is exact: 11 bits times 11 bits. */
static inline uint16_t fp16_mul(uint16_t a, uint16_t b)
{
    return fp16_from_double(fp16_to_double(a) * fp16_to_double(b));
}

/* a * b + c, rounded once although it passes through a double. The product
 * (22 bits) is exact there, so contracting the line below to a fused
 * multiply-add changes nothing. The sum is exact in 53 bits unless
 * - the product is 2^28 or more: the result is infinite with any c; or
 * - it is below 2^(k-30) where c is 2^k or more: the double is within that
 *   of c, no midpoint of two halves is nearer than 2^(k-12), the result is c.
 */
static inline uint16_t fp16_fma(uint16_t a, uint16_t b, uint16_t c)
{
    return fp16_from_double(fp16_to_double(a) * fp16_to_double(b) +
                            fp16_to_double(c));
}

/* Adds `addend` n times to `sum`, or until that moves it no more: as often as
 * *moving says, where that is not NULL. Equal addends come to this sum in any
 * order. */
static inline uint16_t fp16_add_up(uint16_t sum, uint16_t addend, long long n,
                                   long long *moving)
{
    long long done = 0;

    for (; done < n && fp16_add(sum, addend) != sum; done++)
        sum = fp16_add(sum, addend);
    if (moving)
        *moving = done;
    return sum;
}

/* ---- neighbours ---- */

/* The gap from a half to the next one away from zero if its binade went on:
 * 2^(exponent - 10), so 0.03125 at 32 and 2^-24 for zero and subnormals.
 * NaN for infinity and NaN. */
static inline double fp16_ulp(uint16_t bits)
{
    uint64_t exponent = (uint64_t)(1023 + fp16_exponent(bits) - 10);

    if (fp16_exponent(bits) == 16)
        return fp16_double_of_bits_(0x7ff8000000000000u);
    return fp16_double_of_bits_(exponent << 52);
}

/* The least half above this one (IEEE 754 nextUp). From either zero: 2^-24;
 * from -2^-24: -0; from 65504 and infinity: infinity; from NaN: 0x7fff. */
static inline uint16_t fp16_next_up(uint16_t bits)
{
    if (fp16_is_nan(bits))
        return FP16_NAN;
    if (bits == 0x7c00)
        return bits;
    return (uint16_t)(bits == 0x8000 ? 1 : bits + (bits >> 15 ? -1 : 1));
}

/* The greatest half below this one (nextDown), the mirror of nextUp. */
static inline uint16_t fp16_next_down(uint16_t bits)
{
    if (fp16_is_nan(bits))
        return FP16_NAN;
    return fp16_next_up(bits ^ 0x8000) ^ 0x8000;
}

/* ---- printing ---- */

/* Writes value (up to six digits, as %g has), bits, and sign, exponent and
 * mantissa in binary, such as "32  0x5000  0 10100 0000000000": at most size
 * bytes, the closing 0 included; 48 are enough. Returns the length of the whole
 * text, as snprintf does. */
static inline int fp16_format(char *buffer, size_t size, uint16_t bits)
{
    double value = fp16_to_double(bits);
    char fields[19], *out = fields;

    for (int bit = 15; bit >= 0; bit--) {
        *out++ = (char)('0' + (bits >> bit & 1));
        if (bit == 15 || bit == 10)
            *out++ = ' ';
    }
    *out = 0;
    if (fp16_is_nan(bits)) /* %g may print the sign of a NaN */
        return snprintf(buffer, size, "nan  0x%04x  %s", bits, fields);
    return snprintf(buffer, size, "%g  0x%04x  %s", value, bits, fields);
}

/* Prints fp16_format's text and the ulp, as one line. */
static inline void fp16_print(FILE *file, uint16_t bits)
{
    char text[48];

    fp16_format(text, sizeof text, bits);
    if (fp16_exponent(bits) == 16)
        fprintf(file, "%s\n", text); /* infinity and NaN have no ulp */
    else
        fprintf(file, "%s  ulp %g\n", text, fp16_ulp(bits));
}

#endif
