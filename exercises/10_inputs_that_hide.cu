/* Exercise 10, inputs_that_hide: a verifier that lets everything pass.
 *
 * A kernel subtracts two arrays. There is the sound kernel, and there are eight
 * faulty ones. verify() runs one of them, without knowing which, and says
 * whether the results are right. So far it says so of all nine.
 *
 * Task: repair the verifier: the inputs first, then the comparison.
 * Constraint: verify() cannot know which kernel is planted; it works out on the
 *     host what it expects.
 * Before you change it, it fails with: the verifier lets it pass
 * Read: lessons/v0_half, "What goes wrong". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include "exercise.h"

enum { BLOCK_THREADS = 64, MAX_N = 1000 };

/* clang-format off */
enum { SOUND, FIRST_BLOCK, TURNED, MAKES_NAN, TAIL_LOST, DOUBLED, SWAPPED,
       NOT_WRITTEN, ROUNDED, KERNELS };
/* clang-format on */

static const char *const names[KERNELS] = {
    "",
    "all blocks read the elements of the first one",
    "each result is written one place too far",
    "one result is NaN",
    "the last element of an odd length is left out",
    "some results are doubled",
    "b - a instead of a - b",
    "no result is written",
    "the results are rounded to multiples of 1/512",
};

/* out[i] = a[i] - b[i], for i < n. For halves from 0.5 to 1.5 that is exact. */
static __global__ void subtract(const half *a, const half *b, float *out, int n,
                                int fault)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int from = fault == FIRST_BLOCK ? (int)threadIdx.x : i;
    int to = fault == TURNED ? (i + 1) % n : i;
    float difference;

    if (i >= n || fault == NOT_WRITTEN)
        return;
    if (fault == TAIL_LOST && n % 2 != 0 && i == n - 1)
        return;
    difference = __half2float(a[from]) - __half2float(b[from]);
    if (fault == MAKES_NAN && i == n / 3)
        difference = __half2float(__ushort_as_half(0x7e00));
    if (fault == DOUBLED && i % 16 == 3)
        difference *= 2;
    if (fault == SWAPPED)
        difference = -difference;
    if (fault == ROUNDED)
        difference = rintf(difference * 512) / 512;
    out[to] = difference;
}

/* Runs the planted kernel on n elements. Where it writes nothing, out stays as
 * it is. */
static void run(const uint16_t *a, const uint16_t *b, float *out, int n);

/* Returns 1 if the planted kernel is right, else 0. */
static int verify(void)
{
    static uint16_t a[MAX_N], b[MAX_N];
    static float out[MAX_N];
    int i, n;

    /* TODO: inputs on which every fault shows. exercise_half() gives a half
     * from 0.5 to 1.5, another one at each call. */
    n = 256;
    for (i = 0; i < n; i++)
        a[i] = b[i] = 0x3c00;
    /* END TODO */

    run(a, b, out, n);

    /* TODO: a comparison that no wrong result passes. */
    float error, largest = 0;
    for (i = 0; i < n; i++) {
        error = fabsf(out[i] - (fp16_to_float(a[i]) - fp16_to_float(b[i])));
        if (error > largest)
            largest = error;
    }
    return largest > 0.01f ? 0 : 1;
    /* END TODO */
}

static int planted; /* the kernel that run() launches */

static void run(const uint16_t *a, const uint16_t *b, float *out, int n)
{
    size_t bytes = (size_t)n * sizeof *a, out_bytes = (size_t)n * sizeof *out;
    half *d_a, *d_b;
    float *d_out;

    require(n > 0 && n <= MAX_N, NULL, "run() takes 1 to %d elements, not %d",
            MAX_N, n);
    CHECK(cudaMalloc((void **)&d_a, bytes));
    CHECK(cudaMalloc((void **)&d_b, bytes));
    CHECK(cudaMalloc((void **)&d_out, out_bytes));
    CHECK(cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_out, out, out_bytes, cudaMemcpyHostToDevice));
    subtract<<<(n + BLOCK_THREADS - 1) / BLOCK_THREADS, BLOCK_THREADS>>>(
        d_a, d_b, d_out, n, planted);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, out_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_out));
}

int main(void)
{
    int k;

    exercise_begin(10, "inputs_that_hide");
    for (k = 0; k < 3 * KERNELS; k++) { /* three times, and SOUND in between */
        planted = k % KERNELS;
        require(planted == SOUND || !verify(), NULL,
                "%s: the verifier lets it pass", names[planted]);
        planted = SOUND;
        require(verify(), NULL, "the verifier rejects the sound kernel");
    }
    require(1, "the sound kernel passes, and the eight faults are caught", "");
    return exercise_end();
}
