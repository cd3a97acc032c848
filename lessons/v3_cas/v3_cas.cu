/* Lesson 4, v3_cas: what does lesson 1's atomicAdd do, once the compiler is
 * through with it?
 *
 * Answer: it reads the 4-byte word around the half, adds, and tries to swap the
 * new word in; if another thread was faster it tries again. Written by hand,
 * the same loop takes the same time, and can count its tries.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson4 \
 *                      lessons/v3_cas/v3_cas.cu
 * It first checks three ways to add to a half on cells where a loop could go
 * wrong. Then it times them side by side, on a sum that moves (from 0) and on
 * one that is frozen (from 32), and prints how many tries an add took. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { BLOCK_THREADS = 256 };

static const uint16_t ADDEND = 0x211e; /* lesson 1's product, 0.00999451 */
static const uint16_t FROZEN = 0x5000; /* 32: half a ulp exceeds ADDEND */

/* --- the loop, by hand --- */

/* Adds with a compare-and-swap on the 4-byte word that holds the half; the
 * other half of the word goes along unchanged. It compares bits, not values: a
 * NaN differs from itself, and would be tried for ever. */
static __device__ void add_by_cas32(half *address, half value, unsigned *tries)
{
    unsigned *word = (unsigned *)((size_t)address & ~(size_t)2);
    unsigned shift = ((size_t)address & 2) != 0 ? 16 : 0;
    unsigned old = *word, seen;

    do {
        unsigned short bits = (unsigned short)(old >> shift);
        half sum = __hadd_rn(__ushort_as_half(bits), value);
        unsigned rest = old & ~(0xffffu << shift);
        seen = old;
        old = atomicCAS(word, seen,
                        rest | (unsigned)__half_as_ushort(sum) << shift);
        ++*tries;
    } while (old != seen);
}

/* The same on the half alone, with the 2-byte compare-and-swap of sm_70. */
static __device__ void add_by_cas16(half *address, half value, unsigned *tries)
{
    unsigned short *bits = (unsigned short *)address;
    unsigned short old = *bits, seen;

    do {
        half sum = __hadd_rn(__ushort_as_half(old), value);
        seen = old;
        old = atomicCAS(bits, seen, __half_as_ushort(sum));
        ++*tries;
    } while (old != seen);
}

/* --- three kernels: each thread adds value once --- */

static __global__ void add_compiled(half *c, half value, long long n)
{
    if ((long long)blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(c, value);
}

/* Where tries is not NULL, tries[i] is how many thread i needed. */
static __global__ void add_cas32(half *c, half value, long long n,
                                 unsigned *tries)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned count = 0;

    if (i >= n)
        return;
    add_by_cas32(c, value, &count);
    if (tries)
        tries[i] = count;
}

static __global__ void add_cas16(half *c, half value, long long n,
                                 unsigned *tries)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned count = 0;

    if (i >= n)
        return;
    add_by_cas16(c, value, &count);
    if (tries)
        tries[i] = count;
}

enum way { COMPILED, CAS32, CAS16, WAYS };

static const char *const way_names[WAYS] = {"v3_compiled", "v3_cas32",
                                            "v3_cas16"};

static void launch(int way, half *d_c, half value, long long n,
                   unsigned *d_tries)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);

    if (way == COMPILED)
        add_compiled<<<blocks, BLOCK_THREADS>>>(d_c, value, n);
    else if (way == CAS32)
        add_cas32<<<blocks, BLOCK_THREADS>>>(d_c, value, n, d_tries);
    else
        add_cas16<<<blocks, BLOCK_THREADS>>>(d_c, value, n, d_tries);
    CHECK(cudaGetLastError());
}

static half half_of(uint16_t bits)
{
    return __float2half_rn(fp16_to_float(bits));
}

/* --- the check: cells on which a loop could go wrong --- */

struct example {
    uint16_t cell, addend;
    const char *what;
};

static const struct example examples[] = {
    {0x3c00, 0x3c00, "1 + 1"},
    {0x7e01, 0x3c00, "NaN + 1: the loop must end"},
    {0x3c00, 0x7e01, "1 + NaN"},
    {0x0001, 0x0001, "subnormal + subnormal: kept, not flushed"},
    {0x03ff, 0x0001, "subnormal + subnormal: the least normal"},
    {0x7bff, 0x3c00, "65504 + 1: stays"},
    {0x7bff, 0x4c00, "65504 + 16: overflows to inf"},
    {0x7c00, 0xfc00, "inf - inf: NaN"},
    {0x8000, 0x8000, "-0 + -0: stays -0"},
    {0x3c00, 0xbc00, "1 - 1: +0"},
};
enum { EXAMPLES = sizeof examples / sizeof examples[0] };

/* What the word's other half holds: none of it may change. */
static const uint16_t neighbours[] = {0x0000, 0x8000, 0x7e01, 0xffff, 0x1234};
enum { NEIGHBOURS = sizeof neighbours / sizeof neighbours[0] };

/* One thread adds one example's addend, in the low or the high half of a word.
 * Returns whether the sum is right and the other half is as it was. */
static int check_one(int way, const struct example *e, uint16_t neighbour,
                     int high, uint16_t *d_word, unsigned *d_tries)
{
    uint16_t word[2], expected = fp16_add(e->cell, e->addend);

    word[high] = e->cell;
    word[!high] = neighbour;
    CHECK(cudaMemcpy(d_word, word, sizeof word, cudaMemcpyHostToDevice));
    launch(way, (half *)d_word + high, half_of(e->addend), 1, d_tries);
    CHECK(cudaMemcpy(word, d_word, sizeof word, cudaMemcpyDeviceToHost));
    if (word[high] == expected && word[!high] == neighbour)
        return 1;
    complain("%s: %s, %s, beside 0x%04x: 0x%04x and 0x%04x, expected 0x%04x",
             lesson.program, way_names[way], e->what, neighbour, word[high],
             word[!high], expected);
    return 0;
}

static int check_examples(uint16_t *d_word, unsigned *d_tries)
{
    int way, e, k, high, ok = 1;

    for (way = 0; way < WAYS; way++)
        for (e = 0; e < EXAMPLES; e++)
            for (k = 0; k < NEIGHBOURS; k++)
                for (high = 0; high <= 1; high++)
                    ok &= check_one(way, &examples[e], neighbours[k], high,
                                    d_word, d_tries);
    report("checks",
           "%d adds: NaN ends, subnormals stay, 65504 + 16 is inf, "
           "the other half survives: %s",
           WAYS * EXAMPLES * NEIGHBOURS * 2, ok ? "ok" : "WRONG");
    return ok;
}

/* --- the measurement --- */

static void clear_word(uint16_t *d_word, uint16_t start)
{
    uint16_t word[2];

    word[0] = start;
    word[1] = 0;
    CHECK(cudaMemcpy(d_word, word, sizeof word, cudaMemcpyHostToDevice));
}

/* Runs one way once more with counting; the mean tries of an add. */
static double count_tries(int way, uint16_t *d_word, uint16_t start,
                          long long n, unsigned *d_tries)
{
    unsigned *tries = (unsigned *)host_memory(n, sizeof *tries);
    double sum = 0;
    long long i;

    clear_word(d_word, start);
    launch(way, (half *)d_word, half_of(ADDEND), n, d_tries);
    CHECK(cudaMemcpy(tries, d_tries, (size_t)n * sizeof *tries,
                     cudaMemcpyDeviceToHost));
    for (i = 0; i < n; i++)
        sum += tries[i];
    free(tries);
    return sum / (double)n;
}

/* Times the three ways for one start and n, interleaved, and prints a row.
 * Returns whether all sums are right. */
static int measure(uint16_t start, long long n, uint16_t *d_word,
                   unsigned *d_tries)
{
    static struct timing t[WAYS];
    double tries[WAYS] = {0, 0, 0};
    uint16_t sum, expected = fp16_add_up(start, ADDEND, n, NULL);
    int runs = lesson.emulated ? 1 : lesson.runs; /* its times mean nothing */
    int way, ok = 1;

    timing_create(t, WAYS, runs);
    while (timing_next(t, WAYS))
        for (way = 0; way < WAYS; way++) {
            clear_word(d_word, start);
            timing_begin(&t[way]);
            launch(way, (half *)d_word, half_of(ADDEND), n, NULL);
            timing_end(&t[way]);
            CHECK(cudaMemcpy(&sum, d_word, sizeof sum, cudaMemcpyDeviceToHost));
            ok &= sum == expected;
        }
    for (way = CAS32; way < (lesson.emulated ? CAS16 : WAYS); way++)
        tries[way] = count_tries(way, d_word, start, n, d_tries);
    if (lesson.emulated)
        report("", "%5g %9lld %15.2f   %s", fp16_to_double(start), n,
               tries[CAS32], ok ? "ok" : "WRONG");
    else
        report("", "%5g %9lld %9.4g %9.4g %9.4g %9.3f %9.2f %9.2f   %s",
               fp16_to_double(start), n, timing_min_ms(&t[COMPILED]),
               timing_min_ms(&t[CAS32]), timing_min_ms(&t[CAS16]),
               timing_min_ms(&t[CAS32]) / timing_min_ms(&t[COMPILED]),
               tries[CAS32], tries[CAS16], ok ? "ok" : "WRONG");
    for (way = 0; way < WAYS; way++)
        csv_sweep(way_names[way], fp16_to_double(start), 1, 0, n, &t[way],
                  tries[way]);
    return ok;
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long n = 0, seed = 1, sizes[3], largest;
    const struct lesson_option options[] = {
        {"--n", NULL, &n, 1, 1LL << 31, "adds (default: three sizes)"},
        {"--seed", NULL, &seed, 1, 1000000, "of the emulation (default 1)"},
    };
    uint16_t *d_word;
    unsigned *d_tries;
    int i, count = 3, ok;

    lesson_begin(4, "v3_cas", "the loop behind lesson 1, written by hand", argc,
                 argv, options, 2);
    report_device();
    model_contention((unsigned long long)seed);
    for (i = 0; i < 3; i++) /* what the model gets through in a second */
        sizes[i] = 1LL << ((lesson.emulated ? 10 : 16) + 2 * i);
    if (n > 0) {
        sizes[0] = n;
        count = 1;
    }
    largest = sizes[count - 1];
    require_memory((unsigned long long)largest * sizeof *d_tries, "--n");
    d_word = (uint16_t *)device_halves(2, 0);
    CHECK(cudaMalloc((void **)&d_tries, (size_t)largest * sizeof *d_tries));

    ok = check_examples(d_word, d_tries);
    report("work", "adds of %.6g to one half, one per thread",
           fp16_to_double(ADDEND));
    if (lesson.emulated) {
        report("", "CAS 16 not counted: its loads take no time in the model");
        report("", "start      adds   tries per add   sum");
    } else {
        report("", "                     ms                            by "
                   "hand/   tries per add");
        report("", "start      adds  compiled    CAS 32    CAS 16  compiled "
                   "   CAS 32    CAS 16   sum");
    }
    for (i = 0; i < 2 * count; i++)
        ok &=
            measure(i < count ? 0 : FROZEN, sizes[i % count], d_word, d_tries);
    report("result", "%s", ok ? "all sums as expected: ok" : "WRONG");

    CHECK(cudaFree(d_word));
    CHECK(cudaFree(d_tries));
    return ok ? 0 : EXIT_WRONG;
}
