/* Exercise 09, cas_loop: an atomic multiply of your own.
 *
 * CUDA can add to a half atomically, but not multiply. Lesson 4 builds the add
 * from compare-and-swap, and anything else can be built in the same way. Here
 * multiply_atomically() reads, multiplies and writes, as if it were alone.
 *
 * Task: let no factor get lost, and return what the cell held just before.
 * Constraint: the product is made by multiply(), which counts the tries.
 * Before you change it, it fails with: factors were lost
 * Read: lessons/v3_cas, "Written by hand" and "What goes wrong". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

/* 39 factors of 2 or -2 take 2^-24, the least subnormal, to 2^15. A try fails
 * only where another one wins: 78 threads need 78 * 79 / 2 tries at most. */
enum { FACTORS = 39, THREADS = 2 * FACTORS, MAX_TRIES = 100000 };

/* In device memory; the halves as bits. */
struct state {
    uint16_t word[2];
    uint16_t beside[2];     /* nobody's: 8 bytes may be swapped, too */
    uint16_t factors[2];    /* for the word's low and its high half */
    uint16_t olds[THREADS]; /* what each thread got back */
    unsigned tries;
};

static __device__ half multiply(half old, half factor, unsigned *tries)
{
    if (atomicAdd(tries, 1u) >= MAX_TRIES)
        __trap(); /* error 719 ends any loop */
    return __hmul_rn(old, factor);
}

static __device__ half multiply_atomically(half *cell, half factor,
                                           unsigned *tries)
{
    /* TODO: others write to the cell, and to the other half of its word. */
    half old = *cell;
    *cell = multiply(old, factor, tries);
    return old;
    /* END TODO */
}

/* Thread i works on half (first + i) % 2 of the word. */
static __global__ void multiply_all(struct state *s, int first)
{
    int i = (int)threadIdx.x, at = (first + i) % 2;
    half *cell = (half *)s->word + at;
    half factor = __ushort_as_half(s->factors[at]);

    s->olds[i] = __half_as_ushort(multiply_atomically(cell, factor, &s->tries));
}

static void run(int threads, struct state *s, int first)
{
    struct state *d_state;
    cudaError_t error;

    CHECK(cudaMalloc((void **)&d_state, sizeof *s));
    CHECK(cudaMemcpy(d_state, s, sizeof *s, cudaMemcpyHostToDevice));
    multiply_all<<<1, threads>>>(d_state, first);
    CHECK(cudaGetLastError());
    error = cudaMemcpy(s, d_state, sizeof *s, cudaMemcpyDeviceToHost);
    require(error != cudaErrorLaunchFailure, NULL,
            "a loop on 0x%04x (%g) has not ended after %d tries",
            s->word[first], fp16_to_double(s->word[first]), MAX_TRIES);
    CHECK(error);
    CHECK(cudaFree(d_state));
    require(s->tries >= (unsigned)threads, NULL,
            "multiply() was called %u times for %d factors", s->tries, threads);
}

/* One factor, in the low or the high half, beside a half that must survive. */
static void check_one(uint16_t value, uint16_t factor, int at, uint16_t other)
{
    struct state s;
    uint16_t product = fp16_mul(value, factor);

    memset(&s, 0, sizeof s);
    s.word[at] = value;
    s.word[!at] = other;
    s.factors[at] = factor;
    run(1, &s, at);
    require(s.word[at] == product && s.word[!at] == other && s.olds[0] == value,
            NULL,
            "0x%04x beside 0x%04x, times 0x%04x: 0x%04x beside 0x%04x, and "
            "0x%04x was returned; expected 0x%04x, 0x%04x and 0x%04x",
            value, other, factor, s.word[at], s.word[!at], s.olds[0], product,
            other, value);
}

/* All at once. The threads of a half return each power on its way once. */
static void check_many(void)
{
    static const uint16_t ends[2] = {0x7800, 0xf800}; /* 2^15, -2^15 */
    struct state s;
    int at, i, count;
    uint16_t power;

    memset(&s, 0, sizeof s);
    s.word[0] = s.word[1] = 0x0001; /* 2^-24 */
    s.factors[0] = 0x4000;          /* 2 */
    s.factors[1] = 0xc000;          /* -2 */
    run(THREADS, &s, 0);
    report("", "multiply() was called %u times for %d factors", s.tries,
           THREADS);
    report("", "(tries inside of a 2-byte swap are not counted)");
    for (at = 0; at < 2; at++) {
        require(s.word[at] == ends[at], NULL,
                "%d at once bring half %d of the word to %g, expected %g: "
                "factors were lost",
                THREADS, at, fp16_to_double(s.word[at]),
                fp16_to_double(ends[at]));
        for (power = 1; power != ends[at];
             power = fp16_mul(power, s.factors[at])) {
            for (count = 0, i = at; i < THREADS; i += 2)
                count += s.olds[i] == power;
            require(count == 1, NULL, "%g was returned %d times, expected once",
                    fp16_to_double(power), count);
        }
    }
    require(1, "78 factors at once, half of them in either half", "");
}

int main(void)
{
    static const uint16_t examples[][2] = {
        {0x3e00, 0x4100}, /* 1.5 * 2.5 */
        {0x7e01, 0x3c00}, /* NaN * 1 */
        {0x7c00, 0x8000}, /* inf * -0: NaN */
        {0x0400, 0x3800}, /* 2^-14 * 0.5: subnormal */
        {0x0003, 0x3800}, /* 3 * 2^-24 * 0.5: a tie */
        {0x0001, 0xb800}, /* 2^-24 * -0.5: -0 */
        {0x7bff, 0xc000}, /* 65504 * -2: -inf */
    };
    static const uint16_t others[] = {0x8000, 0x7e01, 0xffff, 0x1234};
    int e, k;

    exercise_begin(9, "cas_loop");
    model_contention(1);
    for (e = 0; e < 7; e++)
        for (k = 0; k < 8; k++)
            check_one(examples[e][0], examples[e][1], k % 2, others[k / 2]);
    require(1, "one factor, in either half of a word", "");
    check_many();
    return exercise_end();
}
