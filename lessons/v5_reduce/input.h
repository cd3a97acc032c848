/* The two vectors, on the host and on the device, and their inner product in
 * double; and the device's memory for results. */
#ifndef INPUT_H
#define INPUT_H

#include <math.h>

#include "fp16.h"
#include "random.h"

enum { PERIOD = 1 << 20 }; /* elements after which the input repeats */

static const uint16_t TENTH = 0x2e66; /* 0.1 as a half */

static uint16_t host_a[PERIOD], host_b[PERIOD];

static struct {
    double sum, size; /* of a b, and of |a b| */
} exact;

/* At random in [-1, 1]. */
static uint16_t draw(uint32_t *state)
{
    return fp16_from_double(2 * random_fraction(state) - 1);
}

/* All 0.1, or at random. */
static void make_input(int is_random)
{
    uint32_t state = 2463534242u;
    int i;

    for (i = 0; i < PERIOD; i++) {
        host_a[i] = is_random ? draw(&state) : TENTH;
        host_b[i] = is_random ? draw(&state) : TENTH;
    }
}

static void add_exactly(long long n, double times)
{
    double sum = 0, size = 0, term;
    long long i;

    for (i = 0; i < n; i++) {
        term = fp16_to_double(host_a[i]) * fp16_to_double(host_b[i]);
        sum += term;
        size += fabs(term);
    }
    exact.sum += times * sum;
    exact.size += times * size;
}

/* Sets `exact` for the first n elements. */
static void set_exact(long long n)
{
    exact.sum = exact.size = 0;
    if (n >= PERIOD)
        add_exactly(PERIOD, (double)(n / PERIOD));
    add_exactly(n % PERIOD, 1);
}

/* --- on the device --- */

static half *d_a, *d_b;
static struct scratch *d_scratch;
static void *d_cell; /* 4 bytes that a kernel adds to or writes */

/* The checks put a copy of the vectors there for each alignment. */
enum { ALIGNMENTS = 8, MOST_CHECKED = 20001 };
enum { SLOT = MOST_CHECKED + 23 }; /* halves; a multiple of eight */

/* Two vectors of n elements, one more in b, and at least the checks' copies. */
static void allocate(long long n)
{
    size_t halves = (size_t)n + 1, slots = (size_t)ALIGNMENTS * SLOT;
    size_t bytes = (halves > slots ? halves : slots) * sizeof(half);

    require_memory(2 * bytes + sizeof *d_scratch + 4, "--n");
    CHECK(cudaMalloc((void **)&d_a, bytes));
    CHECK(cudaMalloc((void **)&d_b, bytes));
    CHECK(cudaMalloc((void **)&d_scratch, sizeof *d_scratch));
    CHECK(cudaMalloc(&d_cell, 4));
    CHECK(cudaMemset(d_scratch, 0, sizeof *d_scratch));
}

static void release(void)
{
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_scratch));
    CHECK(cudaFree(d_cell));
}

static void upload(half *d_to, const uint16_t *input, long long n)
{
    long long i;

    for (i = 0; i < n; i += PERIOD) {
        size_t count = n - i < PERIOD ? (size_t)(n - i) : (size_t)PERIOD;
        CHECK(cudaMemcpy(d_to + i, input, count * sizeof *input,
                         cudaMemcpyHostToDevice));
    }
}

/* 0.1 everywhere: n elements in a, and one more in b. */
static void upload_tenths(long long n)
{
    make_input(0);
    upload(d_a, host_a, n);
    upload(d_b, host_b, n + 1);
}

#endif
