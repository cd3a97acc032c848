/* Exercise 03, last_half: a fast add that is told the wrong length.
 *
 * fast_add is lesson 3's. The kernel adds a batch of updates to `sums` with it,
 * and passes the length of a batch; the last one may be shorter. Then a half
 * behind the sums is written. No sum is wrong, and a GPU reports nothing.
 *
 * Task: call fast_add so that it stays inside sums[0] … sums[count - 1].
 * Constraint: where a whole slot belongs to the sums, the add is 4 bytes wide.
 * Before you change it, it fails with: sums[1] (outside) is 0x7fff
 * Read: lessons/v2_fastadd, "The three branches". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BATCH = 8, MAX_COUNT = 24, BASE = 4, SIZE = 36 };

static const uint16_t WITNESS = 0x7e01; /* a NaN; any add makes it 0x7fff */

static __device__ void fast_add(half *array, int length, int index, half value)
{
    half *target = array + index, zero = __float2half_rn(-0.0f);
    int is_high = ((size_t)target & 2) != 0;

    if (!is_high && index + 1 < length)
        atomicAdd((half2 *)target, __halves2half2(value, zero));
    else if (is_high && index > 0)
        atomicAdd((half2 *)(target - 1), __halves2half2(zero, value));
    else
        atomicAdd(target, value);
}

/* Each block adds one batch of updates, and the next block adds the same batch
 * once more. Zeros are skipped. */
static __global__ void add_batch(half *sums, int count, const half *updates)
{
    int first = (int)blockIdx.x / 2 * BATCH, i = (int)threadIdx.x;

    if (first + i >= count || __half2float(updates[first + i]) == 0.0f)
        return;
    /* TODO: pass an array, a length and an index that belong together. */
    fast_add(sums + first, BATCH, i, updates[first + i]);
    /* END TODO */
}

/* An update to sums[target], where the sums start at half `base` of memory[0].
 * All other halves there are witnesses. */
static void check_target(int base, int count, int target)
{
    uint16_t memory[2][SIZE] = {{0}, {0}}, expected[SIZE];
    int at = base + target, other = at ^ 1, i;
    int blocks = (count + BATCH - 1) / BATCH * 2;
    half *d;

    for (i = 0; i < SIZE; i++)
        memory[0][i] = expected[i] = WITNESS;
    memory[0][at] = exercise_half();
    memory[1][target] = exercise_half(); /* the updates */
    for (expected[at] = memory[0][at], i = 0; i < 2; i++)
        expected[at] = fp16_add(expected[at], memory[1][target]);
    if (other >= base && other < base + count)
        expected[other] = FP16_NAN;
    CHECK(cudaMalloc((void **)&d, sizeof memory));
    CHECK(cudaMemcpy(d, memory, sizeof memory, cudaMemcpyHostToDevice));
    add_batch<<<blocks, BATCH>>>(d + base, count, d + SIZE);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(memory, d, sizeof memory, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < SIZE; i++)
        require(memory[0][i] == expected[i], NULL,
                "count %d, add to sums[%d]: sums[%d]%s is 0x%04x, expected "
                "0x%04x",
                count, target, i - base,
                i < base || i >= base + count ? " (outside)"
                : i == other ? " (a 4-byte add makes it 0x7fff)"
                             : "",
                memory[0][i], expected[i]);
}

static void check_sums(int base, int least, int step, const char *what)
{
    int count, target;

    for (count = least; count <= MAX_COUNT; count += step)
        for (target = 0; target < count; target++)
            check_target(base, count, target);
    require(1, what, "");
}

int main(void)
{
    exercise_begin(3, "last_half");
    check_sums(BASE, BATCH, BATCH, "whole batches");
    check_sums(BASE, 1, 1, "batches that end anywhere");
    check_sums(BASE + 1, 1, 1, "sums that start at an odd half");
    return exercise_end();
}
