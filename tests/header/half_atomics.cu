/* Checks include/half_atomics.h against a host reference, bit by bit: every
 * alignment to 16 bytes, lengths 0 to 20, every position and some outside, on
 * cells and neighbours of all kinds; all neighbours; many sums; allocations
 * that end with the array; and contention. With -DOVERLOADS, which takes C++,
 * all adds by the name atomic_add_at, and those of floats.
 *
 * Prints a line for each; exit status 0 if all are right, else 1, after the
 * first that is not. Run by tests/53_header.t. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "fp16.h"
#include "half_atomics.h"
#include "device.h"

#ifndef HALF_ATOMICS_ARCH
#define HALF_ATOMICS_ARCH 0
#endif
#ifdef OVERLOADS
#define half_atomic_add atomic_add_at
#define half_atomic_add2 atomic_add_at
#define half_atomic_add8 atomic_add_at
#define bf16_atomic_add atomic_add_at
#define bf16_atomic_add2 atomic_add_at
#define bf16_atomic_add8 atomic_add_at
#endif

enum { BLOCK_THREADS = 256 };

/* --- a call of one of the header's functions --- */

enum what {
    ADD,
    ADD2,
    ADD8,
    MAX,
    MIN,
    BF16, /* from here on: the same in bf16 */
    BF16_MAX = BF16 + MAX,
    BF16_MIN = BF16 + MIN,
    WHATS = 2 * BF16
};

static const char *const names[WHATS] = {"half_atomic_add",  "half_atomic_add2",
                                         "half_atomic_add8", "half_atomic_max",
                                         "half_atomic_min",  "bf16_atomic_add",
                                         "bf16_atomic_add2", "bf16_atomic_add8",
                                         "bf16_atomic_max",  "bf16_atomic_min"};
static const int widths[BF16] = {1, 2, 8, 1, 1};

static int width_of(int what)
{
    return widths[what % BF16];
}

/* The array starts at half `base` of all cells; the values are bits. */
struct call {
    long long base;
    size_t index, length;
    int what;
    __align__(4) unsigned short values[8];
};

static __device__ half2 pair_of(const unsigned short *bits)
{
    return __halves2half2(__ushort_as_half(bits[0]), __ushort_as_half(bits[1]));
}

static __device__ void perform_bf16(__nv_bfloat16 *base, const struct call *c)
{
    const __nv_bfloat162 *from = (const __nv_bfloat162 *)c->values;
    __nv_bfloat162 pairs[4] = {from[0], from[1], from[2], from[3]};
    __nv_bfloat16 value = *(const __nv_bfloat16 *)c->values;

    if (c->what == BF16 + ADD)
        bf16_atomic_add(base, c->index, c->length, value);
    else if (c->what == BF16 + ADD2)
        bf16_atomic_add2(base, c->index, c->length, pairs[0]);
    else if (c->what == BF16 + ADD8)
        bf16_atomic_add8(base, c->index, c->length, pairs);
    else if (c->what == BF16_MAX)
        bf16_atomic_max(base, c->index, c->length, value);
    else
        bf16_atomic_min(base, c->index, c->length, value);
}

static __device__ void perform(half *cells, const struct call *c)
{
    half *base = cells + c->base, value = __ushort_as_half(c->values[0]);
    half2 pairs[4];

    if (c->what == ADD) {
        half_atomic_add(base, c->index, c->length, value);
    } else if (c->what == MAX) {
        half_atomic_max(base, c->index, c->length, value);
    } else if (c->what == MIN) {
        half_atomic_min(base, c->index, c->length, value);
    } else if (c->what == ADD2) {
        half_atomic_add2(base, c->index, c->length, pair_of(c->values));
    } else if (c->what == ADD8) {
        pairs[0] = pair_of(c->values);
        pairs[1] = pair_of(c->values + 2);
        pairs[2] = pair_of(c->values + 4);
        pairs[3] = pair_of(c->values + 6);
        half_atomic_add8(base, c->index, c->length, pairs);
    } else {
        perform_bf16((__nv_bfloat16 *)base, c);
    }
}

static __global__ void perform_all(half *cells, const struct call *calls,
                                   int count)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < count)
        perform(cells, &calls[i]);
}

/* One after the other: here they may meet. */
static __global__ void perform_in_turn(half *cells, const struct call *calls,
                                       int count)
{
    int i;

    for (i = 0; i < count; i++)
        perform(cells, &calls[i]);
}

/* `halves` goes to an allocation of just its size, and comes back. */
static void run_calls(uint16_t *halves, size_t bytes, const struct call *calls,
                      int count, int in_turn)
{
    unsigned blocks = (unsigned)((count + BLOCK_THREADS - 1) / BLOCK_THREADS);
    size_t calls_bytes = (size_t)count * sizeof *calls;
    struct call *d_calls;
    half *d_halves;

    CHECK(cudaMalloc((void **)&d_halves, bytes));
    CHECK(cudaMalloc((void **)&d_calls, calls_bytes));
    CHECK(cudaMemcpy(d_halves, halves, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_calls, calls, calls_bytes, cudaMemcpyHostToDevice));
    if (in_turn)
        perform_in_turn<<<1, 1>>>(d_halves, d_calls, count);
    else
        perform_all<<<blocks, BLOCK_THREADS>>>(d_halves, d_calls, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(halves, d_halves, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_calls));
    CHECK(cudaFree(d_halves));
}

/* --- what must come out --- */

static float bf16_to_float(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* By way of a double and of the float nearest to it, whose upper half is
 * rounded to nearest. Where the float stands midway between two bf16 but the
 * double does not, the double decides. The double is the exact sum, unless one
 * number is so much smaller than the other that the result is the other. */
static uint16_t bf16_add(uint16_t a, uint16_t b)
{
    double sum = (double)bf16_to_float(a) + (double)bf16_to_float(b);
    float nearest = (float)sum;
    uint32_t bits, dropped;

    if (sum != sum)
        return 0x7fff;
    memcpy(&bits, &nearest, sizeof bits);
    dropped = bits & 0xffff;
    bits >>= 16;
    if (dropped > 0x8000 ||
        (dropped == 0x8000 &&
         ((double)nearest == sum ? (bits & 1) != 0
                                 : fabs(sum) > fabs((double)nearest))))
        bits++;
    return (uint16_t)bits;
}

static int is_bf16(int what)
{
    return what >= BF16;
}

static int is_nan_as(int what, uint16_t bits)
{
    return (bits & 0x7fff) > (is_bf16(what) ? 0x7f80 : 0x7c00);
}

/* The larger or the smaller: a number before a NaN, -0 before +0. */
static uint16_t choose(int what, uint16_t a, uint16_t b)
{
    double x = is_bf16(what) ? (double)bf16_to_float(a) : fp16_to_double(a);
    double y = is_bf16(what) ? (double)bf16_to_float(b) : fp16_to_double(b);
    int a_is_less = x < y || (x == y && (a & 0x8000) != 0);

    if (is_nan_as(what, a) && is_nan_as(what, b))
        return 0x7fff;
    if (is_nan_as(what, a) || is_nan_as(what, b))
        return is_nan_as(what, a) ? b : a;
    return a_is_less == (what % BF16 == MIN) ? a : b;
}

/* What becomes of a cell that holds a. */
static uint16_t next_of(int what, uint16_t a, uint16_t b)
{
    if (what % BF16 >= MAX)
        return choose(what, a, b);
    return is_bf16(what) ? bf16_add(a, b) : fp16_add(a, b);
}

/* Does to halves[0 … count - 1] what the call must do. A neighbour in the array
 * that shares its 4 bytes with a target gets -0 added, or meets a NaN: if it is
 * a NaN, it becomes 0x7fff. */
static void expect(uint16_t *halves, const struct call *c)
{
    size_t width = (size_t)width_of(c->what), first = c->index, skipped = 0,
           end, i;
    uint16_t *array = halves + c->base;

    if (first > SIZE_MAX - width) { /* begins before the array */
        skipped = SIZE_MAX - first + 1;
        first = 0;
    }
    if (skipped >= width || first >= c->length)
        return;
    end = c->length - first < width - skipped ? c->length
                                              : first + width - skipped;
    for (i = first; i < end; i++)
        array[i] = next_of(c->what, array[i], c->values[i - first + skipped]);
    if (((size_t)c->base + first) % 2 == 1 && first > 0 &&
        is_nan_as(c->what, array[first - 1]))
        array[first - 1] = 0x7fff;
    if (((size_t)c->base + end) % 2 == 1 && end < c->length &&
        is_nan_as(c->what, array[end]))
        array[end] = 0x7fff;
}

/* --- inputs: a fixed sequence (xorshift32) with all kinds of numbers --- */

static uint32_t random_bits(void)
{
    static uint32_t state = 2463534242u;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

enum { KINDS = 9 };

/* 0 to KINDS - 1: -0, +0, a NaN, infinities, subnormals, 1, the largest; then
 * any bits. */
static uint16_t bits_of_kind(int what, unsigned kind)
{
    static const uint16_t of_half[KINDS] = {
        0x8000, 0, 0x7e01, 0x7c00, 0xfc00, 0x0001, 0x83ff, 0x3c00, 0x7bff};
    static const uint16_t of_bf16[KINDS] = {
        0x8000, 0, 0x7f81, 0x7f80, 0xff80, 0x0001, 0x807f, 0x3f80, 0x7f7f};

    if (kind >= KINDS)
        return (uint16_t)(random_bits() >> 16);
    return is_bf16(what) ? of_bf16[kind] : of_half[kind];
}

static void draw_values(struct call *c)
{
    int k;

    for (k = 0; k < 8; k++)
        c->values[k] = bits_of_kind(c->what, random_bits() >> 8 & 15);
}

/* --- comparing --- */

static int wrong; /* how many halves were, so far */

static void compare(const char *what, const uint16_t *got,
                    const uint16_t *expected, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (got[i] == expected[i])
            continue;
        if (wrong++ < 10)
            fprintf(stderr, "%s: half %llu is 0x%04x, expected 0x%04x\n", what,
                    (unsigned long long)i, got[i], expected[i]);
    }
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);

    if (p)
        return p;
    fprintf(stderr, "%s: out of memory\n", lesson.program);
    exit(EXIT_DEVICE);
}

/* Runs the calls on `halves` and compares all of them. */
static void check_calls(const char *what, uint16_t *halves, size_t count,
                        const struct call *calls, int call_count, int in_turn)
{
    uint16_t *expected = (uint16_t *)allocate(count * sizeof *halves);
    int i;

    memcpy(expected, halves, count * sizeof *halves);
    for (i = 0; i < call_count; i++)
        expect(expected, &calls[i]);
    run_calls(halves, count * sizeof *halves, calls, call_count, in_turn);
    compare(what, halves, expected, count);
    free(expected);
}

static void finish(const char *what, long long count, const char *of)
{
    report("checks", "%s: %lld %s: %s", what, count, of,
           wrong == 0 ? "ok" : "WRONG");
    if (wrong > 0)
        exit(EXIT_WRONG);
}

/* --- every alignment, length and position --- */

enum { PHASES = 8, MAX_LENGTH = 20, ARENA = 48, MARGIN = 8, OUTSIDE = 7 };
enum { MAX_CALLS = PHASES * (MAX_LENGTH + 1) * (MAX_LENGTH + OUTSIDE) };

/* Position `place` of an array: each index in it, then some that are not. */
static size_t index_at(size_t place, size_t length)
{
    if (place < length + 2)
        return place;
    return place == length + 2   ? (size_t)-1
           : place == length + 3 ? (size_t)-4
           : place == length + 4 ? (size_t)-7
           : place == length + 5 ? (size_t)-8
                                 : (size_t)1 << 32;
}

/* A call for each, in an arena of its own of which the array is the middle. */
static int make_calls(int what, struct call *calls)
{
    int count = 0, phase;
    size_t length, place;

    for (phase = 0; phase < PHASES; phase++)
        for (length = 0; length <= MAX_LENGTH; length++)
            for (place = 0; place < length + OUTSIDE; place++) {
                struct call *c = &calls[count];
                c->base = (long long)count * ARENA + MARGIN + phase;
                c->index = index_at(place, length);
                c->length = length;
                c->what = what;
                draw_values(c);
                count++;
            }
    return count;
}

/* All cells of one kind, and then any bits. */
static void check_alignments(int what)
{
    struct call *calls = (struct call *)allocate(MAX_CALLS * sizeof *calls);
    uint16_t *halves = (uint16_t *)allocate(sizeof *halves * MAX_CALLS * ARENA);
    long long done = 0;
    unsigned kind;
    int count, i;

    for (kind = 0; kind <= KINDS; kind++) {
        count = make_calls(what, calls);
        for (i = 0; i < count * ARENA; i++)
            halves[i] = bits_of_kind(what, kind);
        check_calls(names[what], halves, (size_t)count * ARENA, calls, count,
                    0);
        done += count;
    }
    finish(names[what], done, "calls, all alignments, lengths, positions");
    free(halves);
    free(calls);
}

/* --- all neighbours; many sums --- */

enum { PATTERNS = 65536 };

/* Arrays of `length` 1 or 2 in 4 bytes each, add to the half `high` of it. The
 * other half has all bit patterns, or with them_too the target has. */
static void check_patterns(int what, size_t length, int high, int target_too)
{
    struct call *calls = (struct call *)allocate(PATTERNS * sizeof *calls);
    uint16_t *halves = (uint16_t *)allocate(2 * PATTERNS * sizeof *halves);
    int i;

    for (i = 0; i < PATTERNS; i++) {
        calls[i].base = 2LL * i + (length == 1 ? high : 0);
        calls[i].index = length == 1 ? 0 : (size_t)high;
        calls[i].length = length;
        calls[i].what = what;
        calls[i].values[0] = target_too ? (uint16_t)(random_bits() >> 16)
                                        : bits_of_kind(what, 7);
        halves[2 * i + !high] = (uint16_t)i;
        halves[2 * i + high] = target_too ? (uint16_t)((unsigned)i * 40503u)
                                          : bits_of_kind(what, 7);
    }
    check_calls(names[what], halves, 2 * PATTERNS, calls, PATTERNS, 0);
    free(halves);
    free(calls);
}

static void check_neighbours(int what)
{
    int high, round;

    for (high = 0; high <= 1; high++) {
        check_patterns(what, 2, high, 0);
        for (round = 0; round < 2; round++) {
            check_patterns(what, 1, high, 1);
            check_patterns(what, 2, high, 1);
        }
    }
    finish(names[what], 10LL * PATTERNS, "neighbours and sums");
}

/* --- nothing outside of the allocation --- */

/* Below sm_70 the loop of a lone half reads 4 bytes, by its contract. */
static void check_allocations(void)
{
    struct call calls[WHATS * MAX_LENGTH];
    uint16_t halves[MAX_LENGTH + 1];
    long long done = 0;
    size_t length, offset, i;
    int what, count;

    for (offset = 0; offset <= 1; offset++)
        for (length = 1; length <= MAX_LENGTH; length++) {
            for (i = 0; i < length + offset; i++)
                halves[i] = bits_of_kind(ADD, 7);
            for (count = 0, what = 0; what < WHATS; what++)
                for (i = 0; i < length; i++, count++) {
                    calls[count].base = (long long)offset;
                    calls[count].index = i;
                    calls[count].length = length;
                    calls[count].what = what;
                    draw_values(&calls[count]);
                }
            check_calls("an allocation", halves, length + offset, calls, count,
                        1);
            done += count;
        }
    finish("all", done, "calls on arrays that end with their memory");
}

/* --- contention --- */

enum { ARRAYS = PHASES * MAX_LENGTH, SPAN = ARRAYS * ARENA };

/* Some array, position and function; adds are of +1 and -1. */
static void draw_call(struct call *c, int first_what, int whats)
{
    uint32_t r = random_bits();
    int array = (int)(r % ARRAYS), k;

    c->base = (long long)array * ARENA + MARGIN + array % PHASES;
    c->length = (size_t)(1 + array / PHASES);
    c->index = (r >> 16) % c->length;
    r = random_bits();
    c->what = first_what + (int)((r >> 8) % (unsigned)whats);
    if (c->what % BF16 >= MAX) {
        draw_values(c);
        return;
    }
    for (k = 0; k < 8; k++) {
        uint16_t one = bits_of_kind(c->what, 7);
        c->values[k] = (uint16_t)(one | (r >> k & 1) << 15);
    }
}

/* In any order the sums of up to `most` numbers +1 and -1 are exact, and the
 * largest is the largest. Counts the adds of each cell, so that `most` is kept
 * to. */
static void check_contention(int first_what, int whats, int count, int most)
{
    static uint16_t halves[SPAN];
    static int adds[SPAN];
    struct call *calls = (struct call *)allocate((size_t)count * sizeof *calls);
    int i, k;

    memset(adds, 0, sizeof adds);
    for (i = 0; i < SPAN; i++)
        halves[i] = bits_of_kind(first_what, 2); /* margins: NaNs */
    for (i = 0; i < count; i++) {
        struct call *c = &calls[i];
        draw_call(c, first_what, whats);
        for (k = 0; k < width_of(c->what); k++)
            if (c->index + (size_t)k < c->length)
                adds[c->base + (long long)c->index + k]++;
        for (k = 0; k < (int)c->length; k++)
            halves[c->base + k] = 0;
    }
    for (i = 0; i < SPAN; i++)
        if (adds[i] > most) {
            fprintf(stderr, "cell %d has %d adds: too many\n", i, adds[i]);
            wrong++;
        }
    check_calls("contention", halves, SPAN, calls, count, 0);
    finish(names[first_what], count, "calls under contention");
    free(calls);
}

/* --- floats --- */

#ifdef OVERLOADS
enum { FLOATS = 5 };

static __global__ void add_floats(float *base)
{
    atomic_add_at(base, (size_t)threadIdx.x - 2, FLOATS, 1.5f);
}

/* Of 32 threads the first two are before the array, the last ones after it. */
static void check_floats(void)
{
    float cells[FLOATS + 4] = {0};
    float *d_cells;
    int i;

    CHECK(cudaMalloc((void **)&d_cells, sizeof cells));
    CHECK(cudaMemset(d_cells, 0, sizeof cells));
    add_floats<<<1, 32>>>(d_cells + 2);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(cells, d_cells, sizeof cells, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_cells));
    for (i = 0; i < FLOATS + 4; i++)
        if (!(cells[i] == (i >= 2 && i < FLOATS + 2 ? 1.5f : 0.0f)))
            wrong++;
    finish("atomic_add_at", 32, "calls with a float");
}
#endif

/* --- main --- */

int main(int argc, char **argv)
{
    int what;

    (void)argc;
    lesson.program = argv[0];
    lesson_find_device();
    report("device", "%s, %s; HALF_ATOMICS_ARCH on the host %d", lesson.gpu,
           lesson.arch, HALF_ATOMICS_ARCH);
    /* First: memcheck sees a wrong bound here alone, and what is wrong ends. */
    if (HALF_ATOMICS_ARCH == 0 || HALF_ATOMICS_ARCH >= 700)
        check_allocations();
    for (what = 0; what < WHATS; what++)
        check_alignments(what);
    for (what = 0; what < WHATS; what++)
        if (width_of(what) == 1)
            check_neighbours(what);
    check_contention(ADD, 3, 1 << 18, 2048);
    check_contention(BF16, 3, 24576, 256);
    check_contention(MAX, 1, 1 << 16, 1 << 16);
    check_contention(BF16_MIN, 1, 1 << 16, 1 << 16);
#ifdef OVERLOADS
    check_floats();
#endif
    report("result", "ok");
    return 0;
}
