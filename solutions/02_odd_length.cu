/* Exercise 02, odd_length: the last element of a bias vector.
 *
 * A vector, the bias, gets the sum of several rows of its length. Each row has
 * its own blocks, which add it in pairs; they run at the same time, so the adds
 * are atomic. The bias and all rows start at a 4-byte slot. But an odd length
 * is not a whole number of pairs.
 *
 * Task: make it right for every length.
 * Constraint: length / 2 adds by pair for each row, as now (add_pair counts).
 * Before you change it, it fails with: length 3: bias[2] is
 * Read: lessons/v1_pack2, "What alignment promises". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BLOCK_THREADS = 32, SIZE = 72, ROWS = 4 };

struct data {
    uint16_t bias[SIZE], rows[ROWS][SIZE];
    int pairs; /* adds by pair so far */
};

static __device__ void add_pair(half2 *target, half2 value, int *pairs)
{
    atomicAdd(target, value);
    atomicAdd(pairs, 1);
}

static __global__ void add_rows(half *bias, const half *rows, int length,
                                int *pairs)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const half *row = rows + (int)blockIdx.y * SIZE;

    /* TODO: add the last element of an odd length, too. */
    /* Rounding the number of pairs up would add to the half behind the bias,
     * which is not ours. The last element has no partner: it goes alone, once,
     * by the first thread that has no pair. */
    if (i < length / 2)
        add_pair((half2 *)bias + i, ((const half2 *)row)[i], pairs);
    else if (i == length / 2 && length % 2 != 0)
        atomicAdd(bias + length - 1, row[length - 1]);
    /* END TODO */
}

static const uint16_t WITNESS = 0x7e01; /* a NaN; any add makes it 0x7fff */

/* Behind the bias lie witnesses. Small whole numbers: their sums are exact,
 * whatever the order of the adds. */
static void check_length(int length)
{
    static struct data data;
    struct data *d;
    uint16_t expected[SIZE];
    int i, k, pairs = ROWS * (length / 2);

    for (i = 0; i < SIZE; i++) {
        data.bias[i] = fp16_from_double(exercise_random() % 256);
        for (k = 0; k < ROWS; k++)
            data.rows[k][i] = fp16_from_double(exercise_random() % 256);
        expected[i] = data.bias[i];
        for (k = 0; k < ROWS; k++)
            expected[i] = fp16_add(expected[i], data.rows[k][i]);
        if (i >= length)
            data.bias[i] = expected[i] = WITNESS;
    }
    data.pairs = 0;
    CHECK(cudaMalloc((void **)&d, sizeof *d));
    CHECK(cudaMemcpy(d, &data, sizeof *d, cudaMemcpyHostToDevice));
    /* TODO: as many threads as the kernel needs. */
    /* That thread must exist: after a full block of pairs, and for a length of
     * 1, where there are no pairs at all. */
    int threads = length / 2 + length % 2;
    /* END TODO */
    dim3 grid = {(unsigned)(threads + BLOCK_THREADS - 1) / BLOCK_THREADS, ROWS,
                 1};
    if (grid.x > 0)
        add_rows<<<grid, BLOCK_THREADS>>>((half *)d->bias, (half *)d->rows,
                                          length, &d->pairs);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&data, d, sizeof *d, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < SIZE; i++)
        require(data.bias[i] == expected[i], NULL,
                "length %d: bias[%d]%s is 0x%04x, expected 0x%04x", length, i,
                i < length ? "" : " (outside)", data.bias[i], expected[i]);
    require(data.pairs == pairs, NULL,
            "length %d: %d adds by pair, expected %d", length, data.pairs,
            pairs);
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
