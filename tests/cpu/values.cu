/* What half arithmetic and atomicAdd give, bit for bit. The reference for half
 * is integer arithmetic and shares nothing with common/fp16.h.
 *
 * usage: values N [MODE]
 * N random inputs besides the special ones; N threads add to the same cells.
 * MODE, for the CPU emulation only: bits for the CPU's control register, set
 * in the host's thread and by each emulated thread. 0x8000 is FTZ and 0x0040
 * DAZ on x86-64; on arm64 any bit stands for FZ. A GPU has no such register. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

enum { BLOCK_THREADS = 256 };

/* --- the flush modes of a CPU --- */

#if defined CPU_CUDA_RUNTIME_H && defined __x86_64__
#include <immintrin.h>
static void set_mode(unsigned mode)
{
    _mm_setcsr((_mm_getcsr() & ~0x8040u) | mode);
}
#elif defined CPU_CUDA_RUNTIME_H && defined __aarch64__
static void set_mode(unsigned mode)
{
    unsigned long long fpcr;

    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = mode ? fpcr | 1ull << 24 : fpcr & ~(1ull << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
#else
static __host__ __device__ void set_mode(unsigned mode)
{
    (void)mode;
}
#endif

/* --- the reference --- */

typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;

static int is_nan(uint16_t h)
{
    return (h & 0x7fff) > 0x7c00;
}

static int is_inf(uint16_t h)
{
    return (h & 0x7fff) == 0x7c00;
}

/* A finite half in units of 2^-24. */
static wide to_units(uint16_t h)
{
    int exponent = h >> 10 & 31;
    wide size = h & 0x3ff;

    if (exponent > 0)
        size = (size + 1024) << (exponent - 1);
    return h & 0x8000 ? -size : size;
}

/* The half nearest to SIZE units of 2^-48, ties to even. */
static uint16_t round_units(unsigned_wide size)
{
    int shift = 24; /* a subnormal's last bit is 2^-24 */
    unsigned_wide kept, rest, middle;
    int bits;

    while (size >> shift >= 2048)
        shift++;
    kept = size >> shift;
    rest = size - (kept << shift);
    middle = (unsigned_wide)1 << (shift - 1);
    if (rest > middle || (rest == middle && kept % 2 == 1))
        kept++;
    /* The leading 1 of a normal number counts the exponent up by one. */
    bits = ((shift - 24) << 10) + (int)kept;
    return (uint16_t)(bits < 0x7c00 ? bits : 0x7c00);
}

static uint16_t reference_fma(uint16_t a, uint16_t b, uint16_t c)
{
    uint16_t sign = (a ^ b) & 0x8000;
    wide product, sum;

    if (is_nan(a) || is_nan(b) || is_nan(c))
        return 0x7fff;
    if (is_inf(a) || is_inf(b)) {
        if ((a & 0x7fff) == 0 || (b & 0x7fff) == 0)
            return 0x7fff;
        if (is_inf(c) && (c & 0x8000) != sign)
            return 0x7fff;
        return sign | 0x7c00;
    }
    if (is_inf(c))
        return c;
    product = to_units(a) * to_units(b);
    sum = product + to_units(c) * (1 << 24);
    if (sum == 0)
        return product == 0 && sign == (c & 0x8000) ? sign : 0;
    sign = (uint16_t)(sum < 0 ? 0x8000 : 0);
    return sign | round_units((unsigned_wide)(sum < 0 ? -sum : sum));
}

static uint16_t reference_add(uint16_t a, uint16_t b)
{
    return reference_fma(a, 0x3c00, b);
}

/* A product rounds alone; -0 is what changes no sum, not even -0. */
static uint16_t reference_mul(uint16_t a, uint16_t b)
{
    return reference_fma(a, b, 0x8000);
}

/* --- inputs --- */

static const uint16_t SPECIAL[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x0002, 0x03ff, 0x83ff, 0x0400,
    0x8400, 0x0401, 0x07ff, 0x1000, 0x2e66, 0x3800, 0x3bff, 0x3c00,
    0xbc00, 0x3c01, 0x4000, 0x5000, 0x6800, 0x7bff, 0xfbff, 0x7c00,
    0xfc00, 0x7c01, 0x7e00, 0xfe01, 0x7fff, 0xffff};
enum { SPECIALS = sizeof SPECIAL / sizeof SPECIAL[0] };

static uint64_t random_bits(void)
{
    static uint64_t state = 20240229;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) ^ (state << 19);
}

/* Every triple of special values, then random ones; of these every second
 * nearly cancels, so that the sum has few bits or is subnormal. */
static void fill_halves(uint16_t *a, uint16_t *b, uint16_t *c, int count)
{
    int i;

    for (i = 0; i < count; i++) {
        uint64_t r = random_bits();
        a[i] = (uint16_t)r;
        b[i] = (uint16_t)(r >> 16);
        c[i] = (uint16_t)random_bits();
        if (i % 2 == 1)
            b[i] = (uint16_t)((a[i] ^ 0x8000) + (r >> 16 & 7) - 3);
        if (i < SPECIALS * SPECIALS * SPECIALS) {
            a[i] = SPECIAL[i % SPECIALS];
            b[i] = SPECIAL[i / SPECIALS % SPECIALS];
            c[i] = SPECIAL[i / SPECIALS / SPECIALS];
        }
    }
}

static void *to_device(const void *from, size_t bytes)
{
    void *d_copy;

    CHECK(cudaMalloc(&d_copy, bytes));
    CHECK(cudaMemcpy(d_copy, from, bytes, cudaMemcpyHostToDevice));
    return d_copy;
}

static void *to_host(void *d_from, size_t bytes)
{
    void *copy = malloc(bytes);

    CHECK(cudaMemcpy(copy, d_from, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_from));
    return copy;
}

/* --- half: one operation a thread --- */

enum { SUM, PRODUCT, FMA, CELL, OLD, PAIR_CELL, PAIR_OLD, RESULTS };

static const char *const RESULT_NAMES[] = {"__hadd_rn",
                                           "__hmul_rn",
                                           "__hfma",
                                           "atomicAdd(half *): the sum",
                                           "atomicAdd(half *): the old value",
                                           "atomicAdd(half2 *): both sums",
                                           "atomicAdd(half2 *): both old"};

/* results holds RESULTS rows of n halves; cells start as a. */
static __global__ void operate(const half *a, const half *b, const half *c,
                               half *results, int n, unsigned mode)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    half *row = results + i;

    set_mode(mode);
    if (i >= n)
        return;
    row[SUM * n] = __hadd_rn(a[i], b[i]);
    row[PRODUCT * n] = __hmul_rn(a[i], b[i]);
    row[FMA * n] = __hfma(a[i], b[i], c[i]);
    row[CELL * n] = a[i];
    row[OLD * n] = atomicAdd(&row[CELL * n], b[i]);
}

static __global__ void operate_on_pairs(const half2 *a, const half2 *b,
                                        half2 *cells, half2 *old, int pairs,
                                        unsigned mode)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    set_mode(mode);
    if (i >= pairs)
        return;
    cells[i] = a[i];
    old[i] = atomicAdd(&cells[i], b[i]);
}

static void compare_halves(const uint16_t *a, const uint16_t *b,
                           const uint16_t *c, const uint16_t *results, int n)
{
    int wrong[RESULTS] = {0}, i, k;

    for (i = 0; i < n; i++) {
        uint16_t sum = reference_add(a[i], b[i]);
        uint16_t expected[RESULTS];
        expected[SUM] = expected[CELL] = expected[PAIR_CELL] = sum;
        expected[PRODUCT] = reference_mul(a[i], b[i]);
        expected[FMA] = reference_fma(a[i], b[i], c[i]);
        expected[OLD] = expected[PAIR_OLD] = a[i];
        for (k = 0; k < RESULTS; k++) {
            uint16_t got = results[(size_t)k * (size_t)n + (size_t)i];
            if (got != expected[k] && wrong[k]++ == 0)
                printf("# %s of %04x %04x %04x: %04x, expected %04x\n",
                       RESULT_NAMES[k], a[i], b[i], c[i], got, expected[k]);
        }
    }
    for (k = 0; k < RESULTS; k++)
        expect(wrong[k] == 0, "%s", RESULT_NAMES[k]);
}

static void check_halves(int random_count, unsigned mode)
{
    int n = SPECIALS * SPECIALS * SPECIALS + random_count / 2 * 2;
    size_t bytes = (size_t)n * sizeof(uint16_t);
    uint16_t *a = (uint16_t *)malloc(bytes), *b = (uint16_t *)malloc(bytes);
    uint16_t *c = (uint16_t *)malloc(bytes), *results;
    half *d_a, *d_b, *d_c, *d_results;

    fill_halves(a, b, c, n);
    d_a = (half *)to_device(a, bytes);
    d_b = (half *)to_device(b, bytes);
    d_c = (half *)to_device(c, bytes);
    CHECK(cudaMalloc((void **)&d_results, RESULTS * bytes));
    operate<<<blocks_for(n, BLOCK_THREADS), BLOCK_THREADS>>>(
        d_a, d_b, d_c, d_results, n, mode);
    CHECK(cudaGetLastError());
    operate_on_pairs<<<blocks_for(n / 2, BLOCK_THREADS), BLOCK_THREADS>>>(
        (const half2 *)d_a, (const half2 *)d_b,
        (half2 *)(d_results + (size_t)PAIR_CELL * (size_t)n),
        (half2 *)(d_results + (size_t)PAIR_OLD * (size_t)n), n / 2, mode);
    CHECK(cudaGetLastError());
    results = (uint16_t *)to_host(d_results, RESULTS * bytes);
    compare_halves(a, b, c, results, n);
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    free(a);
    free(b);
    free(c);
    free(results);
}

/* --- the other types: one atomicAdd a thread --- */

struct words {
    unsigned long long l;
    double d;
    int i;
    unsigned u;
    float f;
};

static __global__ void add_words(struct words *cells, const struct words *v,
                                 struct words *old, int n, unsigned mode)
{
    int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    set_mode(mode);
    if (k >= n)
        return;
    old[k].l = atomicAdd(&cells[k].l, v[k].l);
    old[k].d = atomicAdd(&cells[k].d, v[k].d);
    old[k].i = atomicAdd(&cells[k].i, v[k].i);
    old[k].u = atomicAdd(&cells[k].u, v[k].u);
    old[k].f = atomicAdd(&cells[k].f, v[k].f);
}

static uint32_t bits_of_float(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint64_t bits_of_double(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static double double_of_bits(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Exponents that meet often: subnormal, small, around 1, large, inf and NaN;
 * every eighth mantissa is 0. */
static struct words random_words(void)
{
    static const uint32_t FLOAT_EXPONENTS[] = {0, 1, 2, 24, 127, 128, 254, 255};
    static const uint64_t DOUBLE_EXPONENTS[] = {0,    1,    2,    53,
                                                1023, 1024, 2046, 2047};
    uint64_t r = random_bits(), s = random_bits();
    uint64_t mantissa = r % 8 ? random_bits() ^ random_bits() << 32 : 0;
    struct words w;

    w.l = random_bits() ^ random_bits() << 32;
    w.i = (int)(s % 2 ? INT_MAX - (int)(s % 64) : (int)(s >> 8 & 0xffffff));
    w.u = (unsigned)random_bits();
    w.f = float_of_bits((uint32_t)(r >> 3 & 1) << 31 |
                        FLOAT_EXPONENTS[r >> 4 & 7] << 23 |
                        (uint32_t)(mantissa & 0x7fffff));
    w.d =
        double_of_bits((r >> 8 & 1) << 63 | DOUBLE_EXPONENTS[r >> 9 & 7] << 52 |
                       (mantissa & 0xfffffffffffff));
    return w;
}

static uint32_t flush(uint32_t bits)
{
    return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

/* In global memory subnormals become zeros, before and after. The sum of two
 * floats in double and then in float is rounded as if once (53 >= 2 * 24 + 2).
 */
static uint32_t reference_float(float a, float b)
{
    double sum = (double)float_of_bits(flush(bits_of_float(a))) +
                 (double)float_of_bits(flush(bits_of_float(b)));

    return sum != sum ? 0x7fffffff : flush(bits_of_float((float)sum));
}

/* A NaN passes as it is, b's first; that of inf - inf is a given one. */
static uint64_t reference_double(double a, double b)
{
    double sum = a + b;

    if (b != b || a != a)
        return bits_of_double(b != b ? b : a);
    return sum != sum ? 0xfff8000000000000 : bits_of_double(sum);
}

static void compare_words(const struct words *a, const struct words *b,
                          const struct words *sum, const struct words *old,
                          int n, unsigned mode)
{
    int k, l = 0, d = 0, i = 0, u = 0, f = 0;

    for (k = 0; k < n; k++) {
        uint32_t float_sum = reference_float(a[k].f, b[k].f);
        uint64_t double_sum = reference_double(a[k].d, b[k].d);
        int wrong = bits_of_float(sum[k].f) != float_sum ||
                    bits_of_float(old[k].f) != bits_of_float(a[k].f);
        if (wrong && f++ == 0)
            printf("# float %08x + %08x: %08x, expected %08x\n",
                   bits_of_float(a[k].f), bits_of_float(b[k].f),
                   bits_of_float(sum[k].f), float_sum);
        wrong = bits_of_double(sum[k].d) != double_sum ||
                bits_of_double(old[k].d) != bits_of_double(a[k].d);
        if (wrong && d++ == 0)
            printf("# double %016llx + %016llx: %016llx, expected %016llx\n",
                   (unsigned long long)bits_of_double(a[k].d),
                   (unsigned long long)bits_of_double(b[k].d),
                   (unsigned long long)bits_of_double(sum[k].d),
                   (unsigned long long)double_sum);
        l += sum[k].l != a[k].l + b[k].l || old[k].l != a[k].l;
        u += sum[k].u != a[k].u + b[k].u || old[k].u != a[k].u;
        i += (unsigned)sum[k].i != (unsigned)a[k].i + (unsigned)b[k].i ||
             old[k].i != a[k].i;
    }
    expect(i == 0, "atomicAdd(int *): the sum and the old value");
    expect(u == 0, "atomicAdd(unsigned *): the sum and the old value");
    expect(l == 0, "atomicAdd(unsigned long long *): likewise");
    expect(f == 0, "atomicAdd(float *): likewise, subnormals flushed");
    if (mode == 0) /* a mode that flushes doubles reaches the double add */
        expect(d == 0, "atomicAdd(double *): likewise, subnormals kept");
}

static void check_words(int n, unsigned mode)
{
    size_t bytes = (size_t)n * sizeof(struct words);
    struct words *a = (struct words *)malloc(bytes);
    struct words *b = (struct words *)malloc(bytes), *sum, *old;
    struct words *d_cells, *d_b, *d_old;
    int k;

    for (k = 0; k < n; k++) {
        a[k] = random_words();
        b[k] = random_words();
    }
    d_cells = (struct words *)to_device(a, bytes);
    d_b = (struct words *)to_device(b, bytes);
    CHECK(cudaMalloc((void **)&d_old, bytes));
    add_words<<<blocks_for(n, BLOCK_THREADS), BLOCK_THREADS>>>(d_cells, d_b,
                                                               d_old, n, mode);
    CHECK(cudaGetLastError());
    sum = (struct words *)to_host(d_cells, bytes);
    old = (struct words *)to_host(d_old, bytes);
    compare_words(a, b, sum, old, n, mode);
    CHECK(cudaFree(d_b));
    free(a);
    free(b);
    free(sum);
    free(old);
}

/* --- all threads on the same cells --- */

struct cells {
    struct words words;
    half2 pair;
    half one;
};

/* The old values of an exact counter are 0 to n - 1, each once. Halves go up
 * and down in turn, so that no partial sum needs more than 11 bits. */
static __global__ void crowd(struct cells *c, unsigned *seen, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float sign = i % 2 == 0 ? 1.0f : -1.0f;
    unsigned old;

    if (i >= n)
        return;
    old = atomicAdd(&c->words.u, 1u);
    if (old < (unsigned)n)
        atomicAdd(&seen[old], 1u);
    atomicAdd(&c->words.i, -1);
    atomicAdd(&c->words.l, 1ull << 33);
    atomicAdd(&c->words.f, 1.0f);
    atomicAdd(&c->words.d, 0.5);
    atomicAdd(&c->one, __float2half_rn(sign));
    atomicAdd(&c->pair, __halves2half2(__float2half_rn(sign),
                                       __float2half_rn(-2.0f * sign)));
}

static void check_crowd(int n)
{
    size_t bytes = (size_t)n * sizeof(unsigned);
    struct cells *d_cells, *c;
    unsigned *d_seen, *seen;
    int i, once = 0;

    CHECK(cudaMalloc((void **)&d_cells, sizeof *d_cells));
    CHECK(cudaMalloc((void **)&d_seen, bytes));
    CHECK(cudaMemset(d_cells, 0, sizeof *d_cells));
    CHECK(cudaMemset(d_seen, 0, bytes));
    crowd<<<blocks_for(n, BLOCK_THREADS), BLOCK_THREADS>>>(d_cells, d_seen, n);
    CHECK(cudaGetLastError());
    c = (struct cells *)to_host(d_cells, sizeof *c);
    seen = (unsigned *)to_host(d_seen, bytes);
    for (i = 0; i < n; i++)
        once += seen[i] == 1;
    expect(c->words.u == (unsigned)n, "crowd: the count in unsigned");
    expect(once == n, "crowd: each old value once");
    expect(c->words.i == -n, "crowd: the count in int");
    expect(c->words.l == (unsigned long long)n << 33, "crowd: in 64 bits");
    expect(c->words.f == (float)n, "crowd: in float");
    expect(c->words.d == 0.5 * n, "crowd: in double");
    /* n is odd: one step up remains. */
    expect(__half2float(c->one) == 1.0f, "crowd: in half");
    expect(__half2float(__low2half(c->pair)) == 1.0f, "crowd: in the low half");
    expect(__half2float(__high2half(c->pair)) == -2.0f,
           "crowd: in the high half");
    free(c);
    free(seen);
}

/* --- the same cell again and again --- */

enum { HAMMER_BLOCKS = 8, HALF_ROUNDS = 128, HAMMER_ROUNDS = 512 };

/* With nothing between two adds to a cell, an add that is not atomic loses some
 * to the other threads for certain. At most 2048 threads are up at a time. */
static __global__ void hammer(struct cells *c)
{
    half up = __float2half_rn(1.0f), down = __float2half_rn(-1.0f);
    int k;

    for (k = 0; k < HALF_ROUNDS; k++) {
        atomicAdd(&c->one, up);
        atomicAdd(&c->one, down);
    }
    for (k = 0; k < HALF_ROUNDS; k++) {
        atomicAdd(&c->pair, __halves2half2(up, down));
        atomicAdd(&c->pair, __halves2half2(down, up));
    }
    for (k = 0; k < HAMMER_ROUNDS; k++)
        atomicAdd(&c->words.u, 1u);
    for (k = 0; k < HAMMER_ROUNDS; k++)
        atomicAdd(&c->words.i, -1);
    for (k = 0; k < HAMMER_ROUNDS; k++)
        atomicAdd(&c->words.l, 1ull << 33);
    for (k = 0; k < HAMMER_ROUNDS; k++)
        atomicAdd(&c->words.f, 1.0f);
    for (k = 0; k < HAMMER_ROUNDS; k++)
        atomicAdd(&c->words.d, 0.5);
}

static void check_hammer(void)
{
    int n = HAMMER_BLOCKS * BLOCK_THREADS * HAMMER_ROUNDS;
    struct cells *d_cells, *c;

    CHECK(cudaMalloc((void **)&d_cells, sizeof *d_cells));
    CHECK(cudaMemset(d_cells, 0, sizeof *d_cells));
    hammer<<<HAMMER_BLOCKS, BLOCK_THREADS>>>(d_cells);
    CHECK(cudaGetLastError());
    c = (struct cells *)to_host(d_cells, sizeof *c);
    expect(__half2float(c->one) == 0.0f, "hammer: half");
    expect(__half2float(__low2half(c->pair)) == 0.0f, "hammer: the low half");
    expect(__half2float(__high2half(c->pair)) == 0.0f, "hammer: the high half");
    expect(c->words.u == (unsigned)n, "hammer: unsigned");
    expect(c->words.i == -n, "hammer: int");
    expect(c->words.l == (unsigned long long)n << 33, "hammer: 64 bits");
    expect(c->words.f == (float)n, "hammer: float");
    expect(c->words.d == 0.5 * n, "hammer: double");
    free(c);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 0) : 0;
    unsigned mode = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;

    if (n < 2 || n > 1 << 20) {
        fprintf(stderr, "usage: values N [MODE], N from 2 to 2^20\n");
        return EXIT_USAGE;
    }
    set_mode(mode);
    check_halves(n, mode);
    check_words(n, mode);
    check_crowd(n | 1);
    check_hammer();
    return failures ? EXIT_WRONG : 0;
}
