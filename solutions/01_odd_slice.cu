/* Exercise 01, odd_slice: pairs in a slice that starts anywhere.
 *
 * Each block adds 1 to every element of data[first] … data[first + count - 1],
 * two at a time with a half2 atomic. It takes the slice for a row of pairs, and
 * that is right only where the slice starts at a multiple of 4 bytes.
 *
 * Task: make it right for every first and count, wherever data itself starts.
 * Constraint: all elements but the first and the last still go in pairs
 *     (add_pair counts them); two blocks work on the slice at the same time.
 * Before you change it, it fails with: misaligned address
 * Read: lessons/v1_pack2, "What alignment promises". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BLOCKS = 2, SIZE = 64 };

struct data {
    uint16_t halves[SIZE];
    int pairs; /* adds by pair so far */
};

static __device__ void add_pair(half2 *target, half2 value, int *pairs)
{
    atomicAdd(target, value);
    atomicAdd(pairs, 1);
}

/* Each block has count / 2 + 1 threads. */
static __global__ void add_one(half *data, int first, int count, int *pairs)
{
    int thread = (int)threadIdx.x;
    half one = __float2half_rn(1.0f);

    /* TODO: let the pairs start at a multiple of 4 bytes. */
    /* Where the slice starts in the high half of a 4-byte slot, its first
     * element goes alone; the rest then starts at a slot. The address decides,
     * and data itself may start anywhere. */
    int lead = count > 0 && ((size_t)(data + first) & 2) != 0;
    int paired = (count - lead) / 2;
    if (thread < paired)
        add_pair((half2 *)(data + first + lead) + thread,
                 __halves2half2(one, one), pairs);
    if (thread == 0 && lead)
        atomicAdd(data + first, one);
    if (thread == 0 && lead + 2 * paired < count)
        atomicAdd(data + first + count - 1, one);
    /* END TODO */
}

/* Runs the kernel on one slice of data that starts at half number `start`. */
static void check_slice(int start, int first, int count)
{
    struct data before = {{0}, 0}, after, *d;
    int i, begin = start + first, alone = count > 0 && begin % 2 != 0;
    int pairs = BLOCKS * ((count - alone) / 2);

    for (i = 0; i < SIZE; i++)
        before.halves[i] = exercise_half();
    CHECK(cudaMalloc((void **)&d, sizeof *d));
    CHECK(cudaMemcpy(d, &before, sizeof *d, cudaMemcpyHostToDevice));
    add_one<<<BLOCKS, count / 2 + 1>>>((half *)d->halves + start, first, count,
                                       &d->pairs);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&after, d, sizeof *d, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < SIZE; i++) {
        uint16_t one = i >= begin && i < begin + count ? 0x3c00 : 0;
        uint16_t sum = fp16_add(fp16_add(before.halves[i], one), one);
        require(after.halves[i] == sum, NULL,
                "element %d is wrong after adding to %d elements from %d",
                i - start, count, first);
    }
    require(after.pairs == pairs, NULL,
            "%d elements from %d: %d adds by pair, expected %d", count, first,
            after.pairs, pairs);
}

static void check_slices(int start, int parity, const char *what)
{
    int first, count;

    for (first = parity; first < 8; first += 2)
        for (count = 0; count <= 40; count++)
            check_slice(start, first, count);
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
