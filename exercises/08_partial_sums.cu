/* Exercise 08, partial_sums: a good reduction that ends in a half.
 *
 * Each thread adds up 256 products in float and sends its partial sum to the
 * cell, so the cell gets large addends, and only 4,096 of them. Nothing is lost
 * on the way. But the cell is a half.
 *
 * Task: say where the half stops, for three sizes of partial sums; then make a
 * cell that holds the sum.
 * Constraint: the first without running anything, the second exact.
 * Before you change it, it fails with: a half does not stop at 32
 * Read: lessons/v5_reduce. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "exercise.h"

enum { CASES = 3, BLOCKS = 16, BLOCK_THREADS = 256 };
enum { THREADS = BLOCKS * BLOCK_THREADS, SIZE = 256 * THREADS };
enum { BYTES = SIZE * sizeof(half) };

/* TODO: where does a half stop, if it gets 4,096 partial sums of about 2.625,
 * of about 10.5, and of about 42? (INFINITY is a possible answer.) */
static const double stops_at[CASES] = {32, 32, 32};
/* END TODO */

/* TODO: the type of the cell, the add, and the value of what is in the cell. */
typedef half cell_type;

static __device__ void add_partial(cell_type *cell, float partial)
{
    atomicAdd(cell, __float2half_rn(partial));
}

static double value_of(cell_type cell)
{
    return (double)__half2float(cell);
}
/* END TODO */

static __global__ void dot(const half *a, const half *b, cell_type *cell)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float sum = 0;

    for (; i < SIZE; i += THREADS)
        sum += __half2float(a[i]) * __half2float(b[i]);
    add_partial(cell, sum);
}

static double run(const uint16_t *a, const uint16_t *b)
{
    half *d_a;
    cell_type *d_cell, cell;

    CHECK(cudaMalloc((void **)&d_a, 2 * BYTES)); /* b lies behind a */
    CHECK(cudaMalloc((void **)&d_cell, sizeof cell));
    CHECK(cudaMemcpy(d_a, a, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_a + SIZE, b, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_cell, 0, sizeof cell));
    dot<<<BLOCKS, BLOCK_THREADS>>>(d_a, d_a + SIZE, d_cell);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&cell, d_cell, sizeof cell, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_cell));
    return value_of(cell);
}

/* Products of 4/1024 to 20/1024, times 1, 4 or 16. Their sums are whole
 * multiples of 1/1024 (or 4, or 16 times that) below 2^24 of these: exact in
 * float, in any order. */
static void fill(uint16_t *a, uint16_t *b, int k)
{
    int i;

    for (i = 0; i < SIZE; i++) {
        a[i] = fp16_from_double((2 + exercise_random() % 3) / 32.0 * (1 << k));
        b[i] = fp16_from_double((2 + exercise_random() % 4) / 32.0 * (1 << k));
    }
}

/* The exact sum; *in_half is what a half makes of the same partial sums. */
static double add(const uint16_t *a, const uint16_t *b, double *in_half)
{
    double sum = 0, partial;
    uint16_t half_sum = 0;
    int thread, i;

    for (thread = 0; thread < THREADS; thread++) {
        for (partial = 0, i = thread; i < SIZE; i += THREADS)
            partial += fp16_to_double(a[i]) * fp16_to_double(b[i]);
        half_sum = fp16_add(half_sum, fp16_from_double(partial));
        sum += partial;
    }
    *in_half = fp16_to_double(half_sum);
    return sum;
}

int main(void)
{
    static uint16_t a[CASES][SIZE], b[CASES][SIZE];
    static const double about[CASES] = {2.625, 10.5, 42};
    double exact[CASES], in_half, got;
    int k;

    exercise_begin(8, "partial_sums");
    for (k = 0; k < CASES; k++) {
        fill(a[k], b[k], k);
        exact[k] = add(a[k], b[k], &in_half);
        require(stops_at[k] == in_half, NULL,
                "partial sums of about %g: a half does not stop at %g, it %s",
                about[k], stops_at[k],
                stops_at[k] < in_half ? "goes further" : "stops before");
    }
    require(1, "where the half stops", "");
    for (k = 0; k < CASES; k++) {
        got = run(a[k], b[k]);
        require(got == exact[k], NULL,
                "partial sums of about %g: the cell holds %.10g, expected "
                "%.10g",
                about[k], got, exact[k]);
    }
    require(1, "the cell holds the sum", "");
    return exercise_end();
}
