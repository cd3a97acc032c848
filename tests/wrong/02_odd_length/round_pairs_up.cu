/* Exercise 02, odd_length: the last element of a bias vector.
 *
 * The gradient of a bias is the sum of the rows of a batch. Each launch adds
 * one row, in pairs; launches may overlap, so the adds are atomic. Both arrays
 * start at a 4-byte slot. But an odd length is not a whole number of pairs.
 *
 * Task: make it right for every length.
 * Constraint: length / 2 adds by pair, as now (add_pair counts them).
 * Untouched, it ends with: length 3: bias[2] is
 * Read: lessons/v1_pack2, "What alignment does and does not do". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BLOCK_THREADS = 32, SIZE = 72 };

struct data {
    uint16_t bias[SIZE], row[SIZE];
    int pairs; /* adds by pair so far */
};

static __device__ void add_pair(half2 *target, half2 value, int *pairs)
{
    atomicAdd(target, value);
    atomicAdd(pairs, 1);
}

static __global__ void add_row(half *bias, const half *row, int length,
                               int *pairs)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    /* TODO: add the last element of an odd length, too. */
    if (i < (length + 1) / 2)
        add_pair((half2 *)bias + i, ((const half2 *)row)[i], pairs);
    /* END TODO */
}

static const uint16_t WITNESS = 0x7e01; /* a NaN; any add makes it 0x7fff */

/* Behind the bias lie witnesses. */
static void check_length(int length)
{
    static struct data before, after;
    struct data *d;
    int i;

    for (i = 0; i < SIZE; i++) {
        before.bias[i] = i < length ? exercise_half() : WITNESS;
        before.row[i] = exercise_half();
    }
    CHECK(cudaMalloc((void **)&d, sizeof *d));
    CHECK(cudaMemcpy(d, &before, sizeof *d, cudaMemcpyHostToDevice));
    /* TODO: as many threads as the kernel needs. */
    int threads = (length + 1) / 2;
    /* END TODO */
    int blocks = (threads + BLOCK_THREADS - 1) / BLOCK_THREADS;
    if (blocks > 0)
        add_row<<<blocks, BLOCK_THREADS>>>((half *)d->bias, (half *)d->row,
                                           length, &d->pairs);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&after, d, sizeof *d, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < SIZE; i++) {
        uint16_t sum = fp16_add(before.bias[i], before.row[i]);
        uint16_t expected = i < length ? sum : WITNESS;
        require(after.bias[i] == expected, NULL,
                "length %d: bias[%d]%s is 0x%04x, expected 0x%04x", length, i,
                i < length ? "" : " (outside)", after.bias[i], expected);
    }
    require(after.pairs == length / 2, NULL,
            "length %d: %d adds by pair, expected %d", length, after.pairs,
            length / 2);
}

int main(void)
{
    int length;

    exercise_begin(2, "odd_length");
    for (length = 0; length < SIZE; length += 2)
        check_length(length);
    require(1, "even lengths", "");
    for (length = 3; length < SIZE; length += 2)
        check_length(length);
    require(1, "odd lengths from 3 on", "");
    check_length(1);
    require(1, "a bias of one element", "");
    return exercise_end();
}
