/*
 * fp16_test.c: checks common/fp16.h against integer arithmetic.
 *
 *     cc -std=c11 -O2 -o fp16_test fp16_test.c -lm && ./fp16_test [quick|full]
 *
 * The references share nothing with the header. A finite half is a multiple
 * of 2^-24, so sums and products of halves are exact integers, and one routine
 * (round_units) rounds an integer to a half; it is itself checked against a
 * search through the table of all halves for the nearest one. "quick" takes
 * fewer samples (sanitizers, emulators); "full", two minutes, takes all 2^32
 * pairs of halves. Also compiles as C++.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/fp16.h"
#include "tap.h"

#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

__extension__ typedef unsigned __int128 wide; /* magnitudes */
__extension__ typedef __int128 wide_signed;

enum { QUICK, NORMAL, FULL };
static int mode = NORMAL;

static int64_t units[65536]; /* each finite half in units of 2^-24 */

/* ---- references ---- */

static void fill_units(void)
{
    for (int h = 0; h < 65536; h++) {
        int e = h / 1024 % 32, m = h % 1024;
        int64_t u = e == 0 ? m : (int64_t)(1024 + m) << (e - 1);
        units[h] = e == 31 ? 0 : h < 32768 ? u : -u;
    }
}

static int special(unsigned h)
{
    return (h & 0x7c00) == 0x7c00;
}

static int nan_bits(unsigned h)
{
    return special(h) && (h & 0x3ff) != 0;
}

static int bit_length(wide n)
{
    uint64_t high = (uint64_t)(n >> 64), low = (uint64_t)n;

    if (high != 0)
        return 128 - __builtin_clzll(high);
    return low != 0 ? 64 - __builtin_clzll(low) : 0;
}

/* Rounds n * 2^-scale, scale >= 24, to the nearest half, ties to even. Below
 * 2^11 units of 2^-24 a half's bits are its number of units; each binade
 * above drops one more bit and counts one more in the exponent field. */
static unsigned round_units(int negative, wide n, int scale)
{
    int drop = bit_length(n) - 11, least = scale - 24;
    unsigned kept;
    wide rest;

    if (drop < least)
        drop = least;
    if (drop == 0)
        return (unsigned)n | (negative ? 0x8000u : 0);
    kept = (unsigned)(n >> drop);
    rest = n - ((wide)kept << drop);
    if (2 * rest > (wide)1 << drop ||
        (2 * rest == (wide)1 << drop && kept % 2 == 1))
        kept++;
    kept += (unsigned)(drop - least) << 10;
    if (kept > 0x7c00)
        kept = 0x7c00;
    return kept | (negative ? 0x8000u : 0);
}

/* The same by its definition: the nearest entry of the table (with 65536 for
 * infinity), and of two equally near ones that with the even bits. */
static unsigned search_nearest(int negative, wide n, int scale)
{
    int low = 0, high = 0x7c00;
    wide below, above;

    while (high - low > 1) { /* value(low) <= n, and n < value(high) or inf */
        int middle = (low + high) / 2;
        if ((wide)units[middle] << (scale - 24) <= n)
            low = middle;
        else
            high = middle;
    }
    below = (wide)units[low] << (scale - 24);
    above = (high == 0x7c00 ? (wide)1 << 40 : (wide)units[high])
            << (scale - 24);
    if (n >= above || above - n < n - below ||
        (above - n == n - below && low % 2 == 1))
        low = high;
    return (unsigned)low | (negative ? 0x8000u : 0);
}

typedef unsigned rounder(int negative, wide n, int scale);

/* A double through either of the two: exact in units of 2^-80 if it is not
 * so small, or so large, that the result needs no rounding. */
static unsigned round_double(rounder *round, double x)
{
    int negative = signbit(x) != 0;
    double size = fabs(x);

    if (x != x)
        return 0x7fff;
    if (size >= 0x1p17)
        return negative ? 0xfc00 : 0x7c00;
    if (size < 0x1p-26)
        return negative ? 0x8000 : 0;
    return round(negative, (wide)(size * 0x1p80), 80);
}

static unsigned want_add(unsigned a, unsigned b)
{
    int64_t sum = units[a] + units[b];

    if (nan_bits(a) || nan_bits(b))
        return 0x7fff;
    if (special(a))
        return special(b) && a != b ? 0x7fff : a;
    if (special(b))
        return b;
    if (sum == 0) /* x + -x is +0; only -0 + -0 is -0 */
        return a == 0x8000 && b == 0x8000 ? 0x8000 : 0;
    return round_units(sum < 0, (wide)(sum < 0 ? -sum : sum), 24);
}

static unsigned want_mul(unsigned a, unsigned b)
{
    int negative = (a ^ b) >> 15 != 0;
    wide_signed product = (wide_signed)units[a] * units[b];

    if (nan_bits(a) || nan_bits(b))
        return 0x7fff;
    if (special(a) || special(b)) /* infinity times zero is NaN */
        return (a & 0x7fff) == 0 || (b & 0x7fff) == 0 ? 0x7fff
               : negative                             ? 0xfc00
                                                      : 0x7c00;
    return round_units(negative, (wide)(product < 0 ? -product : product), 48);
}

static unsigned want_fma(unsigned a, unsigned b, unsigned c)
{
    wide_signed sum =
        (wide_signed)units[a] * units[b] + ((wide_signed)units[c] * (1 << 24));
    unsigned product;

    if (special(a) || special(b) || special(c)) {
        product = want_mul(a, b);
        if (!special(a) && !special(b))
            product = 0; /* finite, whatever it rounds to */
        return want_add(product, c);
    }
    if (sum == 0) { /* the terms cancel, or are zeros with a sign each */
        product = (a ^ b) & 0x8000;
        return units[c] == 0 && product != 0 && c == 0x8000 ? 0x8000 : 0;
    }
    return round_units(sum < 0, (wide)(sum < 0 ? -sum : sum), 48);
}

/* ---- helpers ---- */

static uint64_t random_state;

/* xorshift64*, seeded anew by each check so that failures repeat */
static uint64_t next_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}

static void seed_random(void)
{
    random_state = 0x9e3779b97f4a7c15u;
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of_float(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A double of any bits, or three times in four one near the halves' range. */
static double random_double(void)
{
    uint64_t r = next_random(), exponent = 996 + next_random() % 46;

    if (r % 4 == 0)
        return double_of(next_random());
    return double_of((r & 0x800fffffffffffffu) | exponent << 52);
}

static float random_float(void)
{
    uint32_t r = (uint32_t)(next_random() >> 32);
    uint32_t exponent = 100 + (uint32_t)(next_random() >> 32) % 46;

    if (r % 4 == 0)
        return float_of((uint32_t)(next_random() >> 32));
    return float_of((r & 0x807fffffu) | exponent << 23);
}

/* One comparison; at a check's first difference it says which. */
static int same(unsigned got, unsigned want, const char *what, double x)
{
    if (got != want)
        printf("# %s(%.17g = %a): got 0x%04x, expected 0x%04x\n", what, x, x,
               got, want);
    return got == want;
}

/* ---- checks: each returns 1 if all is well ---- */

static int check_round_trips(void)
{
    for (int i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i;
        double d = fp16_to_double(h);
        float f = fp16_to_float(h);
        unsigned want = nan_bits(h) ? 0x7fff : h;

        if (nan_bits(h) ? d == d || f == f
                        : (double)f != d || !signbit(d) != !(h & 0x8000)) {
            printf("# 0x%04x: double %a, float %a\n", h, d, (double)f);
            return 0;
        }
        if (!same(fp16_from_double(d), want, "fp16_from_double", d) ||
            !same(fp16_from_float(f), want, "fp16_from_float", d))
            return 0;
    }
    return 1;
}

static int check_decode(void)
{
    for (int i = 0; i < 65536; i++) {
        int s = i / 32768, e = i / 1024 % 32, m = i % 1024;
        double want = e == 0    ? ldexp(m, -24)
                      : e == 31 ? (double)INFINITY
                                : ldexp(1 + m / 1024.0, e - 15);
        double got = fp16_to_double((uint16_t)i);
        int nan = e == 31 && m != 0;

        want = s ? -want : want;
        if (nan ? got == got : bits_of(got) != bits_of(want)) {
            printf("# 0x%04x: got %a, expected %a\n", (unsigned)i, got, want);
            return 0;
        }
    }
    return 1;
}

static int check_parts(void)
{
    for (int i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i;
        int e = i / 1024 % 32;
        int want = e == 0 ? -14 : e == 31 ? 16 : ilogb(fp16_to_double(h));

        if (fp16_sign(h) != i / 32768 || fp16_mantissa(h) != i % 1024 ||
            fp16_exponent(h) != want || fp16_is_nan(h) != nan_bits(h) ||
            fp16_is_inf(h) != (special(h) && i % 1024 == 0)) {
            printf("# 0x%04x: sign %d, exponent %d, mantissa %d, nan %d, "
                   "inf %d\n",
                   h, fp16_sign(h), fp16_exponent(h), fp16_mantissa(h),
                   fp16_is_nan(h), fp16_is_inf(h));
            return 0;
        }
    }
    return 1;
}

/* Walk the line of numbers from -inf to inf, where -0 and 0 share a place:
 * up from -2^-24 is -0, down from 2^-24 is 0. */
static int check_neighbours(void)
{
    int ok = 1;

    for (int i = 0; i < 65536 && ok; i++) {
        uint16_t h = (uint16_t)i;
        int negative = i >= 0x8000, size = i % 0x8000;
        int place = negative ? -size : size;
        int up = place + 1, down = place - 1;
        unsigned want_up, want_down;

        up = up > 0x7c00 ? 0x7c00 : up;
        down = down < -0x7c00 ? -0x7c00 : down;
        want_up = up > 0 ? (unsigned)up : 0x8000u | (unsigned)-up;
        want_down = down >= 0 ? (unsigned)down : 0x8000u | (unsigned)-down;
        if (nan_bits(h))
            want_up = want_down = 0x7fff;
        ok = same(fp16_next_up(h), want_up, "next_up of", h) &&
             same(fp16_next_down(h), want_down, "next_down of", h);
    }
    return ok;
}

static int check_ulp(void)
{
    for (int i = 0; i < 65536; i++) {
        int last_of_binade = i % 1024 == 1023; /* its next gap is double */
        int h = i % 0x8000 - last_of_binade;
        double got = fp16_ulp((uint16_t)i), want;

        if (special((unsigned)i)) {
            if (got != got)
                continue;
            want = (double)NAN;
        } else {
            want = ldexp((double)(units[h + 1] - units[h]), -24);
        }
        if (got != want) {
            printf("# ulp of 0x%04x: got %a, expected %a\n", (unsigned)i, got,
                   want);
            return 0;
        }
    }
    return 1;
}

static int same_both_signs(double x, unsigned want)
{
    int ok = same(fp16_from_double(x), want, "fp16_from_double", x) &&
             same(fp16_from_double(-x), want | 0x8000, "fp16_from_double", -x);

    if ((double)(float)x != x)
        return ok;
    return ok && same(fp16_from_float((float)x), want, "fp16_from_float", x) &&
           same(fp16_from_float(-(float)x), want | 0x8000, "fp16_from_float",
                -x);
}

/* The value one float or double step above (+1) or below (-1) x > 0. */
static double float_step(double x, int step)
{
    return (double)float_of(bits_of_float((float)x) + (uint32_t)step);
}

static double double_step(double x, int step)
{
    return double_of(bits_of(x) + (uint64_t)(int64_t)step);
}

/* Every half, every midpoint (65520 the last), one step to either side. */
static int check_boundaries(void)
{
    int ok = 1;

    for (unsigned h = 0; h < 0x7c00 && ok; h++) {
        int64_t next = h == 0x7bff ? (int64_t)1 << 40 : units[h + 1];
        double value = ldexp((double)units[h], -24);
        double middle = ldexp((double)(units[h] + next), -25);

        ok = same_both_signs(value, h) &&
             same_both_signs(float_step(value, 1), h) &&
             same_both_signs(double_step(value, 1), h) &&
             same_both_signs(float_step(middle, -1), h) &&
             same_both_signs(double_step(middle, -1), h) &&
             same_both_signs(middle, h + h % 2) &&
             same_both_signs(float_step(middle, 1), h + 1) &&
             same_both_signs(double_step(middle, 1), h + 1);
        if (ok && h > 0)
            ok = same_both_signs(float_step(value, -1), h) &&
                 same_both_signs(double_step(value, -1), h);
    }
    return ok;
}

static int check_extremes(void)
{
    static const uint64_t nans[] = {0x7ff0000000000001u, 0xfff0000000000001u,
                                    0x7ff8000000000000u, 0xfff8000000000000u,
                                    0x7fffffffffffffffu, 0xffffffffffffffffu};
    static const uint32_t float_nans[] = {0x7f800001u, 0xff800001u,
                                          0x7fc00000u, 0xffc00000u,
                                          0x7fffffffu, 0xffffffffu};
    static const double large[] = {65520, 65536, 0x1p17, 0x1p127, 0x1p1000};
    int ok = 1;

    for (int i = 0; i < 6; i++) {
        double d = double_of(nans[i]);
        float f = float_of(float_nans[i]);
        ok &= same(fp16_from_double(d), 0x7fff, "fp16_from_double", d);
        ok &= same(fp16_from_float(f), 0x7fff, "fp16_from_float", (double)f);
    }
    for (int i = 0; i < 5; i++)
        ok = ok && same_both_signs(large[i], 0x7c00);
    return ok && same_both_signs((double)INFINITY, 0x7c00) &&
           same_both_signs(0x1p-149, 0) && same_both_signs(0x1p-1074, 0) &&
           same_both_signs(0x1p-26, 0) && same_both_signs(0x1p-60, 0);
}

/* The two references agree: on midpoints and their neighbours, on samples. */
static int check_reference(int count)
{
    int ok = 1;

    seed_random();
    for (unsigned h = 0; h < 0x7c00 && ok; h++) {
        int64_t next = h == 0x7bff ? (int64_t)1 << 40 : units[h + 1];
        wide middle = (wide)(units[h] + next) << 23; /* in 2^-48 */

        for (wide n = middle - 1; n <= middle + 1 && ok; n++)
            ok = same(round_units(0, n, 48), search_nearest(0, n, 48),
                      "the midpoint after bits", h);
    }
    for (int i = 0; i < count && ok; i++) {
        double x = random_double();
        ok = same(round_double(round_units, x), round_double(search_nearest, x),
                  "round_units", x);
    }
    return ok;
}

static int check_random_doubles(int count)
{
    int ok = 1;

    seed_random();
    for (int i = 0; i < count && ok; i++) {
        double x = random_double();
        ok = same(fp16_from_double(x), round_double(round_units, x),
                  "fp16_from_double", x);
    }
    return ok;
}

static int check_random_floats(int count)
{
    int ok = 1;

    seed_random();
    for (int i = 0; i < count && ok; i++) {
        float x = random_float();
        ok = same(fp16_from_float(x), round_double(round_units, (double)x),
                  "fp16_from_float", (double)x);
    }
    return ok;
}

/* The compiler's own _Float16, where it is sure to have one. */
#if defined __FLT16_MAX__ && !defined __cplusplus && !defined __clang__ &&     \
    __GNUC__ >= 12
#define HAVE_FLOAT16 1
__extension__ typedef _Float16 float16;

static unsigned float16_bits(float16 h)
{
    uint16_t bits;

    memcpy(&bits, &h, sizeof bits);
    return nan_bits(bits) ? 0x7fff : bits;
}

static int check_float16(int count)
{
    int ok = 1;

    seed_random();
    for (int i = 0; i < count && ok; i++) {
        double d = random_double();
        float f = random_float();
        ok = same(fp16_from_double(d), float16_bits((float16)d),
                  "fp16_from_double", d) &&
             same(fp16_from_float(f), float16_bits((float16)f),
                  "fp16_from_float", (double)f);
    }
    return ok;
}
#endif

/* The CPU's own conversion, whichever the header was compiled to use. */
#if defined __x86_64__
static int cpu_has_f16c(void)
{
    unsigned a, b, c, d;

    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) &&
           (c >> 29 & 1);
}

__attribute__((target("f16c"))) static int check_f16c(int count)
{
    int ok = 1;

    seed_random();
    for (int i = 0; i < count && ok; i++) {
        float f = random_float();
        unsigned want = _cvtss_sh(f, 0);
        uint16_t h = (uint16_t)i;

        ok = same(fp16_from_float(f), nan_bits(want) ? 0x7fff : want,
                  "fp16_from_float", (double)f) &&
             (nan_bits(h) ||
              same(bits_of_float(fp16_to_float(h)), bits_of_float(_cvtsh_ss(h)),
                   "bits of fp16_to_float of", h));
    }
    return ok;
}
#endif

static int same_pair(unsigned got, unsigned want, const char *what, unsigned a,
                     unsigned b)
{
    if (got != want)
        printf("# %s(0x%04x, 0x%04x): got 0x%04x, expected 0x%04x\n", what, a,
               b, got, want);
    return got == want;
}

static int check_pair(uint16_t a, uint16_t b)
{
    return same_pair(fp16_add(a, b), want_add(a, b), "fp16_add", a, b) &&
           same_pair(fp16_mul(a, b), want_mul(a, b), "fp16_mul", a, b);
}

/* Every half with one random partner from each run of `stride` halves (a power
 * of two), so that all signs and exponents meet. */
static int check_pairs(unsigned stride)
{
    seed_random();
    for (unsigned a = 0; a < 65536; a++)
        for (unsigned b = 0; b < 65536; b += stride) {
            unsigned offset = (unsigned)(next_random() >> 32) & (stride - 1);
            if (!check_pair((uint16_t)a, (uint16_t)(b + offset)))
                return 0;
        }
    return 1;
}

/* Each half with its own neighbourhood: cancellation, ties, zeros. */
static int check_near_pairs(int reach)
{
    for (int a = 0; a < 65536; a++)
        for (int step = -reach; step <= reach; step++)
            if (!check_pair((uint16_t)a, (uint16_t)(a + step)) ||
                !check_pair((uint16_t)a, (uint16_t)((a ^ 0x8000) + step)))
                return 0;
    return 1;
}

static int check_special_pairs(void)
{
    static const uint16_t specials[] = {
        0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0x7bff,
        0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe00, 0x7fff, 0xffff};
    for (unsigned a = 0; a < 65536; a++)
        for (int i = 0; i < 16; i++)
            if (!check_pair((uint16_t)a, specials[i]) ||
                !check_pair(specials[i], (uint16_t)a))
                return 0;
    return 1;
}

/* Half the triples have a c that nearly cancels the product; half of all have
 * factors of few bits, for products that are ties. */
static int check_fma(int count)
{
    seed_random();
    for (int i = 0; i < count; i++) {
        uint64_t r = next_random();
        unsigned a = r & 0xffff, b = r >> 16 & 0xffff, c = r >> 32 & 0xffff;
        unsigned got, want;

        if (r >> 62 & 1)
            a &= 0xffc0, b &= 0xffc0;
        if (r >> 63)
            c = want_mul(a, b) ^ 0x8000 ^ (c & 3);
        got = fp16_fma((uint16_t)a, (uint16_t)b, (uint16_t)c);
        want = want_fma(a, b, c);
        if (got != want) {
            printf("# fp16_fma(0x%04x, 0x%04x, 0x%04x): got 0x%04x, expected "
                   "0x%04x\n",
                   a, b, c, got, want);
            return 0;
        }
    }
    return 1;
}

/* All triples of values at the edges: zeros, infinities, NaN, least, most. */
static int check_fma_specials(void)
{
    static const uint16_t edges[] = {
        0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3c00, 0xbc00,
        0x3c01, 0x5000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7fff};
    enum { EDGES = sizeof edges / sizeof edges[0] };

    for (int i = 0; i < EDGES * EDGES * EDGES; i++) {
        uint16_t a = edges[i % EDGES], b = edges[i / EDGES % EDGES];
        uint16_t c = edges[i / EDGES / EDGES];
        unsigned got = fp16_fma(a, b, c), want = want_fma(a, b, c);

        if (got != want) {
            printf("# fp16_fma(0x%04x, 0x%04x, 0x%04x): got 0x%04x, expected "
                   "0x%04x\n",
                   a, b, c, got, want);
            return 0;
        }
    }
    return 1;
}

/* ---- printing ---- */

static int check_format_of(uint16_t h, const char *want)
{
    char text[48];
    int length = fp16_format(text, sizeof text, h);

    if (strcmp(text, want) != 0 || length != (int)strlen(want))
        printf("# 0x%04x: got \"%s\" (%d), expected \"%s\"\n", h, text, length,
               want);
    return strcmp(text, want) == 0 && length == (int)strlen(want);
}

static int check_format_samples(void)
{
    return check_format_of(0x5000, "32  0x5000  0 10100 0000000000") &&
           check_format_of(0x2e66, "0.0999756  0x2e66  0 01011 1001100110") &&
           check_format_of(0x211e, "0.00999451  0x211e  0 01000 0100011110") &&
           check_format_of(0x7bff, "65504  0x7bff  0 11110 1111111111") &&
           check_format_of(0x8000, "-0  0x8000  1 00000 0000000000") &&
           check_format_of(0x0001, "5.96046e-08  0x0001  0 00000 0000000001") &&
           check_format_of(0x7c00, "inf  0x7c00  0 11111 0000000000") &&
           check_format_of(0xfc00, "-inf  0xfc00  1 11111 0000000000") &&
           check_format_of(0x7fff, "nan  0x7fff  0 11111 1111111111") &&
           check_format_of(0xfe00, "nan  0xfe00  1 11111 1000000000");
}

/* The text of every half reads back as that half: value, hex, and fields. */
static int check_format_all(void)
{
    for (int i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i;
        char text[48], *rest;
        int length = fp16_format(text, sizeof text, h);
        uint16_t value = fp16_from_double(strtod(text, &rest));
        unsigned hex = (unsigned)strtoul(rest, &rest, 16);
        unsigned fields = (unsigned)strtoul(rest, &rest, 2);

        fields = fields << 5 | (unsigned)strtoul(rest, &rest, 2);
        fields = fields << 10 | (unsigned)strtoul(rest, &rest, 2);
        if (length >= (int)sizeof text || *rest != 0 || hex != h ||
            fields != h || value != (nan_bits(h) ? 0x7fff : h)) {
            printf("# 0x%04x: \"%s\"\n", h, text);
            return 0;
        }
    }
    return 1;
}

static int check_format_truncates(void)
{
    char text[8] = "#######";

    return fp16_format(NULL, 0, 0x5000) == 30 &&
           fp16_format(text, 5, 0x5000) == 30 && strcmp(text, "32  ") == 0 &&
           text[5] == '#' && text[6] == '#';
}

static int check_print(void)
{
    char text[256];
    size_t length;
    FILE *file = tmpfile();

    if (file == NULL) {
        printf("# no temporary file\n");
        return 0;
    }
    fp16_print(file, 0x5000);
    fp16_print(file, 0x8000);
    fp16_print(file, 0x7c00);
    rewind(file);
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    return strcmp(text, "32  0x5000  0 10100 0000000000  ulp 0.03125\n"
                        "-0  0x8000  1 00000 0000000000  ulp 5.96046e-08\n"
                        "inf  0x7c00  0 11111 0000000000\n") == 0;
}

/* ---- flush modes ---- */

#if defined __x86_64__
#define HAVE_FLUSH "FTZ and DAZ"
static void set_flush(int on)
{
    unsigned mxcsr = _mm_getcsr();

    _mm_setcsr(on ? mxcsr | 0x8040u : mxcsr & ~0x8040u);
}
#elif defined __aarch64__
#define HAVE_FLUSH "FPCR.FZ and FZ16"
static void set_flush(int on)
{
    uint64_t fpcr, flags = (uint64_t)1 << 24 | (uint64_t)1 << 19;

    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = on ? fpcr | flags : fpcr & ~flags;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr) : "memory");
}
#endif

#if defined HAVE_FLUSH
static int check_flushed(int count)
{
    volatile float least = 0x1p-126f; /* halved, it is flushed or it is not */
    int flushes, ok;

    set_flush(1);
    flushes = least * 0.5f == 0;
    ok = check_round_trips() && check_decode() && check_ulp() &&
         check_boundaries() && check_random_doubles(count) &&
         check_random_floats(count) && check_special_pairs() &&
         check_pairs(mode == QUICK ? 16384 : 512) && check_fma(count) &&
         check_fma_specials() && check_format_all();
    set_flush(0);
    if (!flushes)
        printf("# the flush mode could not be switched on\n");
    return flushes && ok;
}
#endif

/* ---- main ---- */

static void test_conversions(int count)
{
    expect(check_decode(), "all halves decode as their fields say");
    expect(check_round_trips(), "all halves: to float and double and back");
    expect(check_parts(), "all halves: sign, exponent, mantissa, nan, inf");
    expect(check_neighbours(), "all halves: next up and next down");
    expect(check_ulp(), "all halves: ulp");
    expect(check_reference(count / 10),
           "the rounding reference finds the "
           "nearest half: all midpoints, %d doubles",
           count / 10);
    expect(check_boundaries(), "to half: all halves and midpoints, and one "
                               "step beside");
    expect(check_extremes(), "to half: NaN, infinity, overflow, underflow");
    expect(check_random_doubles(count), "to half: %d doubles", count);
    expect(check_random_floats(count), "to half: %d floats", count);
#if defined HAVE_FLOAT16
    expect(check_float16(count), "to half: as _Float16, %d each", count);
#endif
#if defined __x86_64__
    if (cpu_has_f16c())
        expect(check_f16c(count), "to half and back: as F16C, %d", count);
#endif
}

static void test_arithmetic(int count)
{
    unsigned stride = mode == FULL ? 1 : mode == NORMAL ? 64 : 4096;
    unsigned long long pairs = 65536ull * (65536 / stride);

    expect(check_special_pairs(), "add, mul: all halves with 16 special ones");
    expect(check_near_pairs(mode == QUICK ? 2 : 40),
           "add, mul: all halves with their neighbours");
    expect(check_pairs(stride), "add, mul: %llu pairs each", pairs);
    expect(check_fma_specials(), "fma: all triples of 18 special halves");
    expect(check_fma(count), "fma: %d triples", count);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "normal";
    int count;

    mode = !strcmp(name, "quick") ? QUICK : !strcmp(name, "full") ? FULL : mode;
    if (argc > 2 || (argc == 2 && mode == NORMAL)) {
        fprintf(stderr, "usage: %s [quick|full]\n", argv[0]);
        return 2;
    }
    count = mode == QUICK ? 200000 : mode == NORMAL ? 4000000 : 20000000;
    printf("# fp16.h by %s\n", FP16_PATH);
    fill_units();
    test_conversions(count);
    test_arithmetic(count);
    expect(check_format_samples(), "format: ten samples");
    expect(check_format_all(), "format: the text of all halves reads back");
    expect(check_format_truncates(), "format: a short buffer");
    expect(check_print(), "print: a line");
#if defined HAVE_FLUSH
    expect(check_flushed(count / 10), "most of it again with %s", HAVE_FLUSH);
#endif
    return tap_done();
}
