/* Exercise 01, odd_slice: pairs in a slice that starts anywhere.
 *
 * The kernel adds 1 to every element of data[first] … data[first + count - 1],
 * two at a time with a half2 atomic. It takes the slice for a row of pairs, and
 * that is right only where the slice starts at a multiple of 4 bytes.
 *
 * Task: make it right for every first and count, wherever data itself starts.
 * Constraint: all elements but the first and the last still go in pairs.
 * Untouched, it ends with: misaligned address
 * Read: lessons/v1_pack2, "What alignment does and does not do". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { SIZE = 64 };

/* Launched with count / 2 + 1 threads. */
static __global__ void add_one(half *data, int first, int count)
{
    int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    half one = __float2half_rn(1.0f);

    /* TODO: let the pairs start at a multiple of 4 bytes. */
    half2 *pairs = (half2 *)(data + first);
    if (thread < count / 2)
        atomicAdd(pairs + thread, __halves2half2(one, one));
    if (thread == 0 && count % 2 != 0)
        atomicAdd(data + first + count - 1, one);
    /* END TODO */
}

/* Runs the kernel on one slice of data that starts at half number `start`.
 * Returns the first element of data that is not as it must be, or SIZE. */
static int find_wrong(int start, int first, int count)
{
    uint16_t before[SIZE], after[SIZE];
    half *d_data;
    int i;

    for (i = 0; i < SIZE; i++)
        before[i] = exercise_half();
    CHECK(cudaMalloc((void **)&d_data, sizeof before));
    CHECK(cudaMemcpy(d_data, before, sizeof before, cudaMemcpyHostToDevice));
    add_one<<<1, count / 2 + 1>>>(d_data + start, first, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(after, d_data, sizeof after, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_data));
    for (i = 0; i < SIZE; i++) {
        int inside = i >= start + first && i < start + first + count;
        uint16_t one = inside ? 0x3c00 : 0;
        if (after[i] != fp16_add(before[i], one))
            return i - start;
    }
    return SIZE;
}

static void check_slices(int start, int parity, const char *what)
{
    int first, count;

    for (first = parity; first < 8; first += 2)
        for (count = 0; count <= 40; count++) {
            int wrong = find_wrong(start, first, count);
            require(wrong == SIZE, NULL,
                    "element %d is wrong after adding to %d elements from %d",
                    wrong, count, first);
        }
    require(1, what, "");
}

int main(void)
{
    exercise_begin(1, "odd_slice");
    check_slices(0, 0, "slices that start at an even half, of any length");
    check_slices(0, 1, "slices that start at an odd half, of any length");
    check_slices(1, 0, "the same where data starts at an odd half");
    check_slices(1, 1, "the same again, and the slice at an odd index");
    return exercise_end();
}
