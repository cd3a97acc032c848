/* Exercise 07, float_sum: the rest of lesson 1's inner product, in float.
 *
 * A half cell freezes at 32, so let the cell be a float. It goes a long way:
 * one product at a time, it takes 22.9 million of them. Then it stands at
 * 262,144, and ten million products are still to come. This exercise starts
 * there, with products that differ. Each thread has 4,096 of them, and so far
 * adds them to the cell one by one.
 *
 * Task: bring the sum to where it belongs.
 * Constraint: the cell stays a float.
 * Before you change it, it fails with: the cell still holds 262144
 * Read: lessons/v5_reduce; docs/corrections.md, claim 10. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "exercise.h"

enum { BLOCKS = 4, BLOCK_THREADS = 32, THREADS = BLOCKS * BLOCK_THREADS };
enum { SIZE = 4096 * THREADS };

static const float START = 262144, LARGEST = 1.0f / 64; /* product */

/* A product of two halves is exact in float. */
static __device__ float multiply(half a, half b)
{
    return __half2float(a) * __half2float(b);
}

static __global__ void dot(const half *a, const half *b, float *cell, int n)
{
    int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int stride = (int)(gridDim.x * blockDim.x), i;

    /* TODO: what does the cell do to an addend of 0.01? */
    for (i = thread; i < n; i += stride)
        atomicAdd(cell, multiply(a[i], b[i]));
    /* END TODO */
}

/* Adds the products of n elements to a cell that holds `cell`. */
static float run(const uint16_t *a, const uint16_t *b, int n, float cell)
{
    size_t bytes = SIZE * sizeof *a;
    half *d_a, *d_b;
    float *d_cell;

    CHECK(cudaMalloc((void **)&d_a, bytes));
    CHECK(cudaMalloc((void **)&d_b, bytes));
    CHECK(cudaMalloc((void **)&d_cell, sizeof cell));
    CHECK(cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_cell, &cell, sizeof cell, cudaMemcpyHostToDevice));
    dot<<<BLOCKS, BLOCK_THREADS>>>(d_a, d_b, d_cell, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&cell, d_cell, sizeof cell, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_cell));
    return cell;
}

static void check_sum(const uint16_t *a, const uint16_t *b, int n, float start)
{
    /* An add is off by 2^-24 of its sum at most. 128 times that is the cell,
     * n times it is a thread's own sum. */
    double exact = (double)start, got, most = n * (double)LARGEST;
    double bound = 0x1p-24 * (THREADS * (exact + most) +
                              n * (most / THREADS + (double)LARGEST));
    int i;

    for (i = 0; i < n; i++)
        exact += fp16_to_double(a[i]) * fp16_to_double(b[i]);
    got = (double)run(a, b, n, start);
    require(n == 0 || got != (double)start, NULL,
            "%d products, and the cell still holds %g: expected %.1f", n, got,
            exact);
    require(fabs(got - exact) <= bound, NULL,
            "%d products: the cell holds %.3f, expected %.3f, give or take %g",
            n, got, exact, bound);
}

int main(void)
{
    static uint16_t a[SIZE], b[SIZE];
    int i;

    exercise_begin(7, "float_sum");
    /* From 0.04 to 0.12: every product is less than 1/64. */
    for (i = 0; i < SIZE; i++) {
        a[i] = fp16_mul(exercise_half(), 0x2d00);
        b[i] = fp16_mul(exercise_half(), 0x2d00);
    }
    check_sum(a, b, SIZE, START);
    check_sum(a, b, SIZE - 77777, START);
    require(1, "the cell goes on from 262144", "");
    for (i = 0; i < 1000; i += i < 3 ? 1 : 71) /* the bound: below a product */
        check_sum(a, b, i, 0);
    require(1, "with any number of products", "");
    return exercise_end();
}
