/* bfloat16: conversions, arithmetic and atomicAdd, bit for bit. The reference
 * rounds by search among all bfloat16 and adds in integers; it shares nothing
 * with common/cpu. The same on a GPU of sm_90 or newer, line by line.
 *
 * usage: bfloat [N]   N random inputs besides the special ones */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "../tap.h"
#include "device.h"

typedef unsigned long long word;
typedef unsigned __int128 wide;

static word random_bits(void)
{
    static word state = 88172645463325252ull;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) ^ (state << 19);
}

/* --- the reference: conversions --- */

/* Size bits 0 .. 0x7f7f; 0x7f80 stands for 2^128, where infinity begins to be
 * nearer. */
static double size_to_double(unsigned size)
{
    unsigned exponent = size >> 7, mantissa = size & 127;

    return exponent ? ldexp(mantissa + 128.0, (int)exponent - 134)
                    : ldexp(mantissa, -133);
}

/* The nearest of all bfloat16, by bisection; ties to the even bits. */
static unsigned reference_round(double x)
{
    unsigned low = 0, high = 0x7f80, sign = signbit(x) ? 0x8000 : 0;
    double size = fabs(x), below, above;

    if (x != x)
        return 0x7fff;
    if (size >= size_to_double(high))
        return sign | high;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (size_to_double(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    below = size - size_to_double(low);
    above = size_to_double(high) - size;
    if (above < below || (above == below && low % 2 == 1))
        low = high;
    return sign | low;
}

/* --- the reference: a * b + c in integers --- */

struct number {
    int negative, exponent; /* of the last bit */
    wide size;
};

static struct number to_number(unsigned bits)
{
    struct number n;
    unsigned exponent = bits >> 7 & 255;

    n.negative = bits >> 15 & 1;
    n.size = (bits & 127) + (exponent ? 128 : 0);
    n.exponent = (int)(exponent ? exponent : 1) - 134;
    return n;
}

/* Shifted by `by`; what falls off at the right sets the last bit. */
static wide shift_sticky(wide size, int by)
{
    wide shifted;

    if (by <= 0)
        return size << -by;
    if (by > 120)
        return size != 0;
    shifted = size >> by;
    return shifted << by == size ? shifted : shifted | 1;
}

static unsigned round_number(struct number n)
{
    unsigned sign = n.negative ? 0x8000 : 0, bits;
    int top = 0, last, shift;
    wide kept, rest, middle;

    while (n.size >> top > 1)
        top++;
    last = top + n.exponent - 7;
    if (last < -133)
        last = -133;
    shift = last - n.exponent;
    if (shift > 120)
        return sign;
    kept = shift > 0 ? n.size >> shift : n.size << -shift;
    rest = shift > 0 ? n.size - (kept << shift) : 0;
    middle = shift > 0 ? (wide)1 << (shift - 1) : 1;
    if (rest > middle || (rest == middle && kept % 2 == 1))
        kept++;
    bits = ((unsigned)(last + 133) << 7) + (unsigned)kept;
    return sign | (bits < 0x7f80 ? bits : 0x7f80);
}

/* Both as multiples of the unit 64 bits below the larger last bit: enough that
 * what is lost beyond it only has to be known to be there. */
static unsigned add_numbers(struct number p, struct number c)
{
    int last = p.exponent > c.exponent ? p.exponent : c.exponent;
    wide a = shift_sticky(p.size << 64, last - p.exponent);
    wide b = shift_sticky(c.size << 64, last - c.exponent);
    struct number sum;

    sum.exponent = last - 64;
    sum.negative = a >= b ? p.negative : c.negative;
    sum.size = p.negative == c.negative ? a + b : a >= b ? a - b : b - a;
    if (sum.size == 0)
        return p.negative && c.negative ? 0x8000 : 0;
    return round_number(sum);
}

static unsigned reference_fma(unsigned a, unsigned b, unsigned c)
{
    unsigned sign = (a ^ b) & 0x8000, size_a = a & 0x7fff, size_b = b & 0x7fff;
    struct number p, q = to_number(b);

    if (size_a > 0x7f80 || size_b > 0x7f80 || (c & 0x7fff) > 0x7f80)
        return 0x7fff;
    if (size_a == 0x7f80 || size_b == 0x7f80) {
        if (size_a == 0 || size_b == 0)
            return 0x7fff;
        if ((c & 0x7fff) == 0x7f80 && (c & 0x8000) != sign)
            return 0x7fff;
        return sign | 0x7f80;
    }
    if ((c & 0x7fff) == 0x7f80)
        return c;
    p = to_number(a);
    p.negative = sign != 0;
    p.exponent += q.exponent;
    p.size *= q.size;
    if (p.size == 0)
        p.exponent = to_number(c).exponent;
    return add_numbers(p, to_number(c));
}

/* --- conversions --- */

static __global__ void convert(const float *f, const double *d,
                               unsigned short *from_f, unsigned short *from_d,
                               float *back, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i >= n)
        return;
    from_f[i] = __bfloat16_as_ushort(__float2bfloat16_rn(f[i]));
    from_d[i] = __bfloat16_as_ushort(__double2bfloat16(d[i]));
    back[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
}

enum { CHUNK = 1 << 16 };

/* Doubles near a float, near the middle of two bfloat16, and anywhere. */
static double pick_double(float f, int i)
{
    double d = f, step = 0;
    word r = random_bits();

    if (i % 4 == 0)
        memcpy(&d, &r, sizeof d);
    else if (i % 4 == 1)
        d = size_to_double((unsigned)r & 0x7fff) / 2 +
            size_to_double(((unsigned)r & 0x7fff) + 1) / 2;
    if (i % 4 != 3 && d == d)
        step = r >> 60 < 5 ? 0 : r >> 60 < 10 ? 0x1p-52 : -0x1p-52;
    if (d != d) /* what a GPU makes of a NaN depends on its architecture */
        d = 1;
    return (r >> 59 & 1 ? -d : d) * (1 + step);
}

/* CHUNK floats with these lower bits; the upper ones are all there are. */
static void check_chunk(unsigned lower, int *wrong, word *digest)
{
    static float f[CHUNK], back[CHUNK];
    static double d[CHUNK];
    static unsigned short from_f[CHUNK], from_d[CHUNK];
    static float *d_f, *d_back;
    static double *d_d;
    static unsigned short *d_from_f, *d_from_d;
    unsigned i, bits;

    for (i = 0; i < CHUNK; i++) {
        bits = i << 16 | lower;
        memcpy(&f[i], &bits, sizeof bits);
        d[i] = pick_double(f[i], (int)i);
    }
    if (!d_f) {
        CHECK(cudaMalloc((void **)&d_f, sizeof f));
        CHECK(cudaMalloc((void **)&d_d, sizeof d));
        CHECK(cudaMalloc((void **)&d_from_f, sizeof from_f));
        CHECK(cudaMalloc((void **)&d_from_d, sizeof from_d));
        CHECK(cudaMalloc((void **)&d_back, sizeof back));
    }
    CHECK(cudaMemcpy(d_f, f, sizeof f, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_d, d, sizeof d, cudaMemcpyHostToDevice));
    convert<<<CHUNK / 256, 256>>>(d_f, d_d, d_from_f, d_from_d, d_back, CHUNK);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(from_f, d_from_f, sizeof from_f, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(from_d, d_from_d, sizeof from_d, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(back, d_back, sizeof back, cudaMemcpyDeviceToHost));
    for (i = 0; i < CHUNK; i++) {
        double value = size_to_double(i & 0x7fff) * (i & 0x8000 ? -1 : 1);
        wrong[0] += from_f[i] != reference_round(f[i]);
        wrong[1] += from_d[i] != reference_round(d[i]);
        memcpy(&bits, &back[i], sizeof bits);
        wrong[2] += bits != i << 16 ||
                    ((i & 0x7fff) < 0x7f80 && (double)back[i] != value);
        digest[0] = digest[0] * 31 + from_f[i];
        digest[1] = digest[1] * 31 + from_d[i];
        digest[2] = digest[2] * 31 + bits;
    }
}

static void check_conversions(void)
{
    static const unsigned lowers[] = {0,      1,      0x7fff, 0x8000,
                                      0x8001, 0xffff, 0x4000, 0xc000};
    enum { CHUNKS = 16 };
    int wrong[3] = {0}, k;
    word digest[3] = {0};

    for (k = 0; k < CHUNKS; k++)
        check_chunk(k < 8 ? lowers[k] : (unsigned)random_bits() & 0xffff, wrong,
                    digest);
    expect_digest(wrong[0] == 0, digest[0],
                  "__float2bfloat16_rn of %d x 2^16 floats", CHUNKS);
    expect_digest(wrong[1] == 0, digest[1],
                  "__double2bfloat16 of as many doubles that are numbers");
    expect_digest(wrong[2] == 0, digest[2], "__bfloat162float of all 2^16");
}

/* --- arithmetic and atomics --- */

enum {
    SUM,
    PRODUCT,
    FMA,
    CELL,
    OLD,
    SHARED_CELL,
    PAIR_SUM,
    PAIR_PRODUCT,
    PAIR_FMA,
    PAIR_CELL,
    PAIR_OLD,
    RESULTS
};
static const char *const RESULT_NAMES[] = {"__hadd_rn",
                                           "__hmul_rn",
                                           "__hfma",
                                           "atomicAdd: the sum",
                                           "atomicAdd: the old value",
                                           "atomicAdd in shared memory",
                                           "__hadd2_rn",
                                           "__hmul2_rn",
                                           "__hfma2",
                                           "atomicAdd of pairs: the sums",
                                           "atomicAdd of pairs: the old ones"};

/* results holds RESULTS rows of n; thread i has a pair of each. */
static __global__ void operate(const __nv_bfloat162 *a, const __nv_bfloat162 *b,
                               const __nv_bfloat162 *c, __nv_bfloat162 *results,
                               int pairs)
{
    __shared__ __nv_bfloat16 cells[256];
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    __nv_bfloat162 *row = results + i;
    __nv_bfloat16 low_a, low_b, low_c, high_a, high_b, high_c, old_low, old;
    __nv_bfloat16 *cell = &cells[threadIdx.x];

    if (i >= pairs)
        return;
    low_a = __low2bfloat16(a[i]);
    low_b = __low2bfloat16(b[i]);
    low_c = __low2bfloat16(c[i]);
    high_a = __high2bfloat16(a[i]);
    high_b = __high2bfloat16(b[i]);
    high_c = __high2bfloat16(c[i]);
    row[SUM * pairs] =
        __halves2bfloat162(__hadd_rn(low_a, low_b), __hadd_rn(high_a, high_b));
    row[PRODUCT * pairs] =
        __halves2bfloat162(__hmul_rn(low_a, low_b), __hmul_rn(high_a, high_b));
    row[FMA * pairs] = __halves2bfloat162(__hfma(low_a, low_b, low_c),
                                          __hfma(high_a, high_b, high_c));
    row[CELL * pairs] = a[i];
    old_low = atomicAdd((__nv_bfloat16 *)&row[CELL * pairs], low_b);
    old = atomicAdd((__nv_bfloat16 *)&row[CELL * pairs] + 1, high_b);
    row[OLD * pairs] = __halves2bfloat162(old_low, old);
    *cell = low_a;
    atomicAdd(cell, low_b);
    old_low = *cell;
    *cell = high_a;
    atomicAdd(cell, high_b);
    row[SHARED_CELL * pairs] = __halves2bfloat162(old_low, *cell);
    row[PAIR_SUM * pairs] = __hadd2_rn(a[i], b[i]);
    row[PAIR_PRODUCT * pairs] = __hmul2_rn(a[i], b[i]);
    row[PAIR_FMA * pairs] = __hfma2(a[i], b[i], c[i]);
    row[PAIR_CELL * pairs] = a[i];
    row[PAIR_OLD * pairs] = atomicAdd(&row[PAIR_CELL * pairs], b[i]);
}

static const unsigned short SPECIAL[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x0002, 0x007f, 0x807f, 0x0080,
    0x8080, 0x0081, 0x00ff, 0x3c24, 0x3f00, 0x3f7f, 0x3f80, 0xbf80,
    0x3f81, 0x4080, 0x4300, 0x7eff, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
    0x7f81, 0x7fc0, 0xffc1, 0x7fff, 0xffff, 0x1f80, 0x2000, 0x5f80};
enum { SPECIALS = sizeof SPECIAL / sizeof SPECIAL[0] };

/* The products of a and b that lie on a tie, with a c that decides; sums that
 * nearly cancel; anything. */
static void fill(unsigned short *a, unsigned short *b, unsigned short *c, int n)
{
    int i, s = SPECIALS;

    for (i = 0; i < n; i++) {
        word r = random_bits();
        a[i] = (unsigned short)r;
        b[i] = (unsigned short)(r >> 16);
        c[i] = (unsigned short)random_bits();
        if (i % 4 == 1)
            b[i] = (unsigned short)((a[i] ^ 0x8000) + (r >> 16 & 7) - 3);
        if (i % 4 == 2) { /* 1.5 * 1.0078125 and its like */
            a[i] = (unsigned short)((a[i] & 0xff80) | 0x40);
            b[i] = (unsigned short)((b[i] & 0x8000) | 0x3f81);
            c[i] = (unsigned short)((c[i] & 0x8000) | (r >> 40 & 0xff));
        }
        if (i % 4 == 3)
            c[i] = (unsigned short)(reference_fma(a[i], b[i], 0x8000) ^ 0x8000);
        if (i < s * s * s) {
            a[i] = SPECIAL[i % s];
            b[i] = SPECIAL[i / s % s];
            c[i] = SPECIAL[i / s / s];
        } else if (i < s * s * s + s * 65536) {
            a[i] = (unsigned short)(i - s * s * s);
            b[i] = SPECIAL[(i - s * s * s) / 65536];
        }
    }
}

static void compare(const unsigned short *a, const unsigned short *b,
                    const unsigned short *c, const unsigned short *results,
                    int n)
{
    int wrong[RESULTS] = {0}, i, k;
    word digest[RESULTS] = {0};

    for (i = 0; i < n; i++) {
        unsigned sum = reference_fma(a[i], 0x3f80, b[i]);
        unsigned product = reference_fma(a[i], b[i], 0x8000);
        unsigned fma_bits = reference_fma(a[i], b[i], c[i]);
        const unsigned expected[RESULTS] = {
            sum, product, fma_bits, sum, a[i], sum,
            sum, product, fma_bits, sum, a[i]};
        for (k = 0; k < RESULTS; k++) {
            unsigned got = results[(size_t)k * (size_t)n + (size_t)i];
            digest[k] = digest[k] * 31 + got;
            if (got != expected[k] && wrong[k]++ < 3)
                printf("# %s of %04x %04x %04x: %04x, expected %04x\n",
                       RESULT_NAMES[k], a[i], b[i], c[i], got, expected[k]);
        }
    }
    for (k = 0; k < RESULTS; k++)
        expect_digest(wrong[k] == 0, digest[k], "%s: %d inputs",
                      RESULT_NAMES[k], n);
}

static void check_arithmetic(int random_count)
{
    int n = SPECIALS * SPECIALS * SPECIALS + SPECIALS * 65536 +
            random_count / 2 * 2;
    size_t bytes = (size_t)n * 2, k;
    unsigned short *inputs[3], *results;
    void *d_inputs[3], *d_results;

    for (k = 0; k < 3; k++)
        inputs[k] = (unsigned short *)malloc(bytes);
    results = (unsigned short *)malloc(RESULTS * bytes);
    fill(inputs[0], inputs[1], inputs[2], n);
    for (k = 0; k < 3; k++) {
        CHECK(cudaMalloc(&d_inputs[k], bytes));
        CHECK(
            cudaMemcpy(d_inputs[k], inputs[k], bytes, cudaMemcpyHostToDevice));
    }
    CHECK(cudaMalloc(&d_results, RESULTS * bytes));
    operate<<<(n / 2 + 255) / 256, 256>>>((const __nv_bfloat162 *)d_inputs[0],
                                          (const __nv_bfloat162 *)d_inputs[1],
                                          (const __nv_bfloat162 *)d_inputs[2],
                                          (__nv_bfloat162 *)d_results, n / 2);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(results, d_results, RESULTS * bytes,
                     cudaMemcpyDeviceToHost));
    compare(inputs[0], inputs[1], inputs[2], results, n);
    for (k = 0; k < 3; k++) {
        free(inputs[k]);
        CHECK(cudaFree(d_inputs[k]));
    }
    free(results);
    CHECK(cudaFree(d_results));
}

/* --- contention --- */

/* Up to 240 threads count one cell up and down again, so that every sum is
 * exact; then each counts it up once for good. */
static __global__ void count(__nv_bfloat162 *cells, int each, int pairs)
{
    __nv_bfloat16 one = __float2bfloat16_rn(1.0f);
    __nv_bfloat16 minus = __float2bfloat16_rn(-1.0f);
    __nv_bfloat16 *half = (__nv_bfloat16 *)&cells[0] + threadIdx.x % 2;
    int i;

    for (i = 0; i <= 2 * each; i++)
        if (pairs)
            atomicAdd(&cells[1], i % 2 == 0 ? __halves2bfloat162(one, minus)
                                            : __halves2bfloat162(minus, one));
        else
            atomicAdd(half, i % 2 == 0 ? one : minus);
}

static void check_contention(void)
{
    unsigned cells[2] = {0, 0};
    __nv_bfloat162 *d_cells;

    CHECK(cudaMalloc((void **)&d_cells, sizeof cells));
    CHECK(cudaMemset(d_cells, 0, sizeof cells));
    count<<<60, 4>>>(d_cells, 5000, 0);
    CHECK(cudaDeviceSynchronize());
    count<<<60, 4>>>(d_cells, 5000, 1);
    CHECK(cudaMemcpy(cells, d_cells, sizeof cells, cudaMemcpyDeviceToHost));
    expect_digest(cells[0] == 0x42f042f0, cells[0], /* 120, twice */
                  "all threads count two neighbours up and down: none is lost");
    expect_digest(cells[1] == 0xc3704370, cells[1], /* 240 and -240 */
                  "all threads count a pair up and down: none is lost");
    CHECK(cudaFree(d_cells));
}

/* --- pairs from and to floats --- */

static __global__ void take_apart(const float2 *in, __nv_bfloat162 *pairs,
                                  float *floats, int *flags, int n)
{
    int i = (int)threadIdx.x;
    __nv_bfloat162 pair = __float22bfloat162_rn(in[i]);
    float2 back = __bfloat1622float2(pair);

    pairs[i] = pair;
    pairs[n + i] = __floats2bfloat162_rn(in[i].x, in[i].y);
    pairs[2 * n + i] = __bfloat162bfloat162(__float2bfloat16(in[i].x));
    pairs[3 * n + i] = __float2bfloat162_rn(in[i].x);
    floats[i] = back.x;
    floats[n + i] = back.y;
    floats[2 * n + i] = __low2float(pair);
    floats[3 * n + i] = __high2float(pair);
    flags[i] = (__hisnan(__low2bfloat16(pair)) != 0) * 2 +
               (__hisnan(__high2bfloat16(pair)) != 0);
}

static void check_pairs(void)
{
    enum { PAIRS = 256 };
    static float2 in[PAIRS];
    static unsigned pairs[4 * PAIRS], floats[4 * PAIRS];
    static int flags[PAIRS];
    void *d_in, *d_pairs, *d_floats, *d_flags;
    int i, right = 1;

    for (i = 0; i < PAIRS; i++) {
        word r = i == 3   ? 0x7fc00000
                 : i == 4 ? 0xff800001ull << 32
                          : random_bits();
        memcpy(&in[i], &r, sizeof r);
    }
    CHECK(cudaMalloc(&d_in, sizeof in));
    CHECK(cudaMalloc(&d_pairs, sizeof pairs));
    CHECK(cudaMalloc(&d_floats, sizeof floats));
    CHECK(cudaMalloc(&d_flags, sizeof flags));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    take_apart<<<1, PAIRS>>>((const float2 *)d_in, (__nv_bfloat162 *)d_pairs,
                             (float *)d_floats, (int *)d_flags, PAIRS);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(pairs, d_pairs, sizeof pairs, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(floats, d_floats, sizeof floats, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(flags, d_flags, sizeof flags, cudaMemcpyDeviceToHost));
    for (i = 0; i < PAIRS; i++) {
        unsigned low = reference_round(in[i].x);
        unsigned high = reference_round(in[i].y);
        right &= pairs[i] == (low | high << 16) &&
                 pairs[PAIRS + i] == (low | high << 16) &&
                 pairs[2 * PAIRS + i] == (low | low << 16) &&
                 pairs[3 * PAIRS + i] == (low | low << 16) &&
                 floats[i] == low << 16 && floats[PAIRS + i] == high << 16 &&
                 floats[2 * PAIRS + i] == low << 16 &&
                 floats[3 * PAIRS + i] == high << 16 &&
                 flags[i] == (in[i].x != in[i].x) * 2 + (in[i].y != in[i].y);
    }
    expect_digest(right, 0, "pairs are put together and taken apart");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_pairs));
    CHECK(cudaFree(d_floats));
    CHECK(cudaFree(d_flags));
}

int main(int argc, char **argv)
{
    check_conversions();
    check_arithmetic(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1 << 20);
    check_contention();
    check_pairs();
    return failures ? EXIT_WRONG : 0;
}
