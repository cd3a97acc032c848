/* The small things of common/cpu: vector types, bit casts, and the functions on
 * half and half2 that tests/cpu/values.cu leaves out. The same on a GPU, line
 * by line.
 *
 * usage: small */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "../tap.h"
#include "device.h"

typedef unsigned long long word;

static word random_bits(void)
{
    static word state = 88172645463325252ull;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) ^ (state << 19);
}

/* --- half: every one, against its fields --- */

/* NaN where it is one. */
static double value_of(unsigned h)
{
    int exponent = h >> 10 & 31;
    double size = exponent == 0    ? ldexp(h & 1023, -24)
                  : exponent == 31 ? (h & 1023 ? (double)NAN : HUGE_VAL)
                                   : ldexp((h & 1023) + 1024.0, exponent - 25);

    return h & 0x8000 ? -size : size;
}

/* The half that is nearest to x, by bisection; ties to the even bits. 0x7c00
 * stands for 65536, where infinity begins to be nearer. */
static unsigned nearest(double x)
{
    unsigned low = 0, high = 0x7c00, sign = signbit(x) ? 0x8000 : 0;
    double size = fabs(x), below, above;

    if (x != x)
        return 0x7fff;
    if (size >= 65536)
        return sign | high;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (value_of(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    below = size - value_of(low);
    above = (high == 0x7c00 ? 65536 : value_of(high)) - size;
    return sign | (above < below || (above == below && low % 2) ? high : low);
}

enum { HALVES = 65536, UNARY = 8 };

static __global__ void look_at(unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half h = __ushort_as_half((unsigned short)i);

    out[i] = (unsigned)(__hisnan(h) != 0);
    out[HALVES + i] = (unsigned)__hisinf(h);
    out[2 * HALVES + i] = __half_as_ushort(__hneg(h));
    out[3 * HALVES + i] = __half_as_ushort(__habs(h));
    out[4 * HALVES + i] = __float_as_uint(__half2float(h));
    out[5 * HALVES + i] = __half_as_ushort(__low2half(__half2half2(h)));
    out[6 * HALVES + i] = __half_as_ushort(__high2half(__half2half2(h)));
    out[7 * HALVES + i] = (unsigned)__float_as_int(
        __low2float(__halves2half2(h, __ushort_as_half(0))));
}

static unsigned expect_unary(int k, unsigned h)
{
    double value = value_of(h);
    float f = (float)value;
    unsigned bits;

    memcpy(&bits, &f, sizeof bits);
    if (k == 0)
        return value != value;
    if (k == 1)
        return value == HUGE_VAL ? 1 : value == -HUGE_VAL ? ~0u : 0;
    if (k == 2)
        return value != value ? 0x7fff : h ^ 0x8000;
    if (k == 3)
        return value != value ? 0x7fff : h & 0x7fff;
    if (k == 4 || k == 7)
        return value != value ? 0x7fffffff : bits;
    return h;
}

static const char *const UNARY_NAMES[UNARY] = {"__hisnan",
                                               "__hisinf",
                                               "__hneg",
                                               "__habs",
                                               "__half2float",
                                               "__half2half2, low",
                                               "__half2half2, high",
                                               "__low2float"};

static void check_unary(void)
{
    unsigned *out = (unsigned *)malloc(UNARY * HALVES * sizeof *out), *d_out, i;
    int k, wrong;
    word digest;

    CHECK(cudaMalloc((void **)&d_out, UNARY * HALVES * sizeof *out));
    look_at<<<HALVES / 256, 256>>>(d_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, UNARY * HALVES * sizeof *out,
                     cudaMemcpyDeviceToHost));
    for (k = 0; k < UNARY; k++) {
        wrong = 0;
        digest = 0;
        for (i = 0; i < HALVES; i++) {
            unsigned got = out[(unsigned)k * HALVES + i];
            digest = digest * 31 + got;
            if (got != expect_unary(k, i) && wrong++ < 2)
                printf("# %s of %04x: %08x, expected %08x\n", UNARY_NAMES[k], i,
                       got, expect_unary(k, i));
        }
        expect_digest(wrong == 0, digest, "%s", UNARY_NAMES[k]);
    }
    free(out);
    CHECK(cudaFree(d_out));
}

/* --- half2: pairs of random halves, and floats near the middle of two --- */

struct input {
    half2 a, b, c;
    float2 f;
    double d;
};

enum { COUNT = 1 << 16, ROWS = 15 };

static __global__ void work_on_pairs(const struct input *in, half2 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    struct input v = in[i];
    half low = __low2half(v.a), other = __low2half(v.b);
    float2 back = __half22float2(v.a);

    out[i] = __hadd2_rn(v.a, v.b);
    out[COUNT + i] = __hsub2_rn(v.a, v.b);
    out[2 * COUNT + i] = __hmul2_rn(v.a, v.b);
    out[3 * COUNT + i] = __hfma2(v.a, v.b, v.c);
    out[4 * COUNT + i] = __halves2half2(__hsub_rn(low, other), low);
    out[5 * COUNT + i] = __floats2half2_rn(v.f.x, v.f.y);
    out[6 * COUNT + i] = __float22half2_rn(v.f);
    out[7 * COUNT + i] = __float2half2_rn(v.f.x);
    out[8 * COUNT + i] = __half2half2(__double2half(v.d));
    out[9 * COUNT + i] = __floats2half2_rn(__low2float(v.a), __high2float(v.a));
    out[10 * COUNT + i] = __floats2half2_rn(back.x, back.y);
    out[11 * COUNT + i] = __floats2half2_rn((float)(__heq(low, other) != 0),
                                            (float)(__hlt(low, other) != 0));
    out[12 * COUNT + i] = __floats2half2_rn((float)(__hle(low, other) != 0),
                                            (float)(__hgt(low, other) != 0));
    out[13 * COUNT + i] = __floats2half2_rn((float)(__hge(low, other) != 0),
                                            __fadd_rn(v.f.x, v.f.y));
    out[14 * COUNT + i] = __float2half2_rn(__fmul_rn(v.f.x, v.f.y));
}

static const char *const ROW_NAMES[ROWS] = {
    "__hadd2_rn",        "__hsub2_rn",
    "__hmul2_rn",        "__hfma2",
    "__hsub_rn",         "__floats2half2_rn",
    "__float22half2_rn", "__float2half2_rn",
    "__double2half",     "__low2float, __high2float",
    "__half22float2",    "__heq, __hlt",
    "__hle, __hgt",      "__hge, __fadd_rn",
    "__fmul_rn"};

static unsigned pair_of(unsigned low, unsigned high)
{
    return low | high << 16;
}

/* One as a half, if it is so. */
static unsigned truth(int condition)
{
    return condition ? 0x3c00 : 0;
}

static unsigned canonical(unsigned h)
{
    return (h & 0x7fff) > 0x7c00 ? 0x7fff : h;
}

/* Sums and products of halves are exact in double. Of the fused ones
 * tests/cpu/values.cu has an exact reference. */
static unsigned expect_row(int k, const struct input *v)
{
    unsigned a, b, c;
    double x[2], y[2], z[2];
    int i;

    memcpy(&a, &v->a, sizeof a);
    memcpy(&b, &v->b, sizeof b);
    memcpy(&c, &v->c, sizeof c);
    for (i = 0; i < 2; i++) {
        x[i] = value_of(a >> 16 * i & 0xffff);
        y[i] = value_of(b >> 16 * i & 0xffff);
        z[i] = value_of(c >> 16 * i & 0xffff);
    }
    switch (k) {
    case 0:
        return pair_of(nearest(x[0] + y[0]), nearest(x[1] + y[1]));
    case 1:
        return pair_of(nearest(x[0] - y[0]), nearest(x[1] - y[1]));
    case 2:
        return pair_of(nearest(x[0] * y[0]), nearest(x[1] * y[1]));
    case 3:
        return pair_of(nearest(x[0] * y[0] + z[0]),
                       nearest(x[1] * y[1] + z[1]));
    case 4:
        return pair_of(nearest(x[0] - y[0]), a & 0xffff);
    case 5:
    case 6:
        return pair_of(nearest(v->f.x), nearest(v->f.y));
    case 7:
        return pair_of(nearest(v->f.x), nearest(v->f.x));
    case 8:
        return pair_of(nearest(v->d), nearest(v->d));
    case 9:
    case 10:
        return pair_of(canonical(a & 0xffff), canonical(a >> 16));
    case 11:
        return pair_of(truth(x[0] == y[0]), truth(x[0] < y[0]));
    case 12:
        return pair_of(truth(x[0] <= y[0]), truth(x[0] > y[0]));
    case 13:
        return pair_of(truth(x[0] >= y[0]), nearest(v->f.x + v->f.y));
    default:
        return pair_of(nearest(v->f.x * v->f.y), nearest(v->f.x * v->f.y));
    }
}

static void fill_input(struct input *v, int i)
{
    word r = random_bits(), q = random_bits();
    unsigned a = (unsigned)r, b = (unsigned)(r >> 32), c = (unsigned)q;
    double middle = (value_of((unsigned)(q >> 32) & 0x7bfe) +
                     value_of(((unsigned)(q >> 32) & 0x7bfe) + 1)) /
                    2;

    if (i % 3 == 0)
        b = (b & 0xfff8fff8) | (a & 0x00070007); /* near one another */
    if (i % 5 == 0)
        b = a;
    memcpy(&v->a, &a, sizeof a);
    memcpy(&v->b, &b, sizeof b);
    memcpy(&v->c, &c, sizeof c);
    v->f.x = (float)(i % 2 ? middle : middle * (1 + 0x1p-20));
    v->f.y = i % 7 ? -v->f.x * 0.75f : (float)(q % 100000) - 50000;
    v->d = i % 2 ? middle : middle * (1 - 0x1p-50);
}

static void check_pairs(void)
{
    struct input *in = (struct input *)malloc(COUNT * sizeof *in), *d_in;
    unsigned *out = (unsigned *)malloc(ROWS * COUNT * sizeof *out);
    half2 *d_out;
    int k, i, wrong;
    word digest;

    for (i = 0; i < COUNT; i++)
        fill_input(&in[i], i);
    CHECK(cudaMalloc((void **)&d_in, COUNT * sizeof *in));
    CHECK(cudaMalloc((void **)&d_out, ROWS * COUNT * sizeof *out));
    CHECK(cudaMemcpy(d_in, in, COUNT * sizeof *in, cudaMemcpyHostToDevice));
    work_on_pairs<<<COUNT / 256, 256>>>(d_in, d_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, ROWS * COUNT * sizeof *out,
                     cudaMemcpyDeviceToHost));
    for (k = 0; k < ROWS; k++) {
        wrong = 0;
        digest = 0;
        for (i = 0; i < COUNT; i++) {
            unsigned got = out[k * COUNT + i];
            digest = digest * 31 + got;
            if (got != expect_row(k, &in[i]) && wrong++ < 2)
                printf("# %s, input %d: %08x, expected %08x\n", ROW_NAMES[k], i,
                       got, expect_row(k, &in[i]));
        }
        expect_digest(wrong == 0, digest, "%s", ROW_NAMES[k]);
    }
    free(in);
    free(out);
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

/* --- vector types --- */

struct all_types {
    char odd;
    float2 f2;
    float4 f4;
    int2 i2;
    int4 i4;
    uint2 u2;
    uint4 u4;
    ulonglong2 l2;
};

/* From `in` to `out` by the widest loads, the parts in reverse. */
static __global__ void turn_around(const struct all_types *in,
                                   struct all_types *out)
{
    float4 f = __ldg(&in->f4);
    uint4 u = __ldg(&in->u4);

    out->f2 = make_float2(in->f2.y, in->f2.x);
    out->f4 = make_float4(f.w, f.z, f.y, f.x);
    out->i2 = make_int2(in->i2.y, in->i2.x);
    out->i4 = make_int4(in->i4.w, in->i4.z, in->i4.y, in->i4.x);
    out->u2 = make_uint2(in->u2.y, in->u2.x);
    out->u4 = make_uint4(u.w, u.z, u.y, u.x);
    out->l2.x = in->l2.y;
    out->l2.y = __ldg(&in->l2.x);
    out->f2.x = __uint_as_float(__float_as_uint(out->f2.x) + 1);
    out->f2.y = __int_as_float(__float_as_int(out->f2.y) + 1);
    out->l2.x = (word)__double_as_longlong(
        __dadd_rn(__longlong_as_double((long long)out->l2.x), 1.0));
}

static void check_vectors(void)
{
    struct all_types in, out, *d_in, *d_out;
    int right;

    memset(&in, 0, sizeof in);
    in.f2 = make_float2(1, 2);
    in.f4 = make_float4(1, 2, 3, 4);
    in.i2 = make_int2(-1, 2);
    in.i4 = make_int4(-1, 2, -3, 4);
    in.u2 = make_uint2(1, 0xffffffff);
    in.u4 = make_uint4(1, 2, 3, 0x80000000);
    in.l2 = make_ulonglong2(~0ull, 0x4000000000000000); /* the second: 2.0 */
    CHECK(cudaMalloc((void **)&d_in, sizeof in));
    CHECK(cudaMalloc((void **)&d_out, sizeof in));
    CHECK(cudaMemcpy(d_in, &in, sizeof in, cudaMemcpyHostToDevice));
    turn_around<<<1, 1>>>(d_in, d_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    right = out.f2.x == 2 + 0x1p-22f && out.f2.y == 1 + 0x1p-23f;
    right &= out.f4.x == 4 && out.f4.y == 3 && out.f4.z == 2 && out.f4.w == 1;
    right &= out.i2.x == 2 && out.i2.y == -1;
    right &= out.i4.x == 4 && out.i4.y == -3 && out.i4.z == 2 && out.i4.w == -1;
    right &= out.u2.x == 0xffffffff && out.u2.y == 1;
    right &= out.u4.x == 0x80000000 && out.u4.y == 3 && out.u4.z == 2 &&
             out.u4.w == 1;
    right &= out.l2.x == 0x4008000000000000 && out.l2.y == ~0ull;
    expect_digest(right, out.l2.x, "vector types and bit casts");
    expect_digest(__alignof__(float2) == 8 && __alignof__(float4) == 16 &&
                      __alignof__(int2) == 8 && __alignof__(int4) == 16 &&
                      __alignof__(uint2) == 8 && __alignof__(uint4) == 16 &&
                      __alignof__(ulonglong2) == 16 && __alignof__(half2) == 4,
                  sizeof(struct all_types), "and their alignment");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

/* Bits of a float, read as a pair: nothing is converted. */
static void check_box(void)
{
    float f = 1.0f;
    uint16_t pair[2];

    memcpy(pair, &f, sizeof pair);
    expect(value_of(pair[0]) == 0 && value_of(pair[1]) == 1.875,
           "the bits of 1.0f are those of a 0 and a 1.875");
}

int main(void)
{
    check_unary();
    check_box();
    check_pairs();
    check_vectors();
    return failures ? EXIT_WRONG : 0;
}
