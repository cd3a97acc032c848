/* Exercise 04, index_parity: the rows of a table, in pairs.
 *
 * Rows of one array are added to rows of another, the table: columns 0 and 1
 * as a pair, 2 and 3, and so on. With an odd width every other row starts in
 * the middle of a 4-byte slot; and either array may start at an odd half.
 *
 * Task: make it right for every width, wherever the two arrays start.
 * Constraint: columns that share a slot of the table go as a pair.
 * Before you change it, it fails with: misaligned address
 * Read: lessons/v2_fastadd, "The three branches". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { TOKENS = 7, MAX_WIDTH = 9, BASE = 2, SIZE = 72 };

struct data {
    uint16_t table[SIZE], grads[SIZE];
    int rows[TOKENS], pairs; /* each token's row; adds by pair so far */
};

/* Two halves with one 4-byte load. */
static inline __device__ half2 load_pair(const half *from)
{
    unsigned bits = *(const unsigned *)from;

    return *(half2 *)&bits;
}

static __device__ void add_pair(half *target, half2 value, int *pairs)
{
    atomicAdd((half2 *)target, value);
    atomicAdd(pairs, 1);
}

/* One block a token, one thread a column. */
static __global__ void add_rows(half *table, const half *grads, const int *rows,
                                int width, int *pairs)
{
    int column = (int)threadIdx.x;
    half *to = table + rows[blockIdx.x] * width + column;
    const half *from = grads + (int)blockIdx.x * width + column;

    /* TODO: which threads add a pair, which one half, which nothing? */
    /* A slot is a matter of the address: neither the column nor the place in
     * the table knows where the table starts. A high half goes with the column
     * before it, unless that belongs to another row. The gradients have a
     * parity of their own, and it only matters for the load. */
    int is_high = ((size_t)to & 2) != 0;
    if (!is_high && column + 1 < width) {
        int is_apart = ((size_t)from & 2) != 0;
        half2 value =
            is_apart ? __halves2half2(*from, from[1]) : load_pair(from);
        add_pair(to, value, pairs);
    } else if (!is_high || column == 0)
        atomicAdd(to, *from);
    /* END TODO */
}

/* The table starts at half t of its memory, the gradients at half g. Small
 * whole numbers: their sums are exact, whatever the order of the adds. */
static void check_table(int width, int t, int g)
{
    struct data data = {{0}, {0}, {3, 0, 4, 1, 3, 2, 1}, 0}, *d;
    uint16_t sums[SIZE];
    int i, column, pairs = 0;

    for (i = 0; i < SIZE; i++) {
        sums[i] = data.table[i] = fp16_from_double(exercise_random() % 256);
        data.grads[i] = fp16_from_double(exercise_random() % 256);
    }
    for (i = 0; i < TOKENS; i++) {
        int to = t + data.rows[i] * width, from = g + i * width;
        pairs += (width - to % 2) / 2;
        for (column = 0; column < width; column++, to++, from++)
            sums[to] = fp16_add(sums[to], data.grads[from]);
    }
    CHECK(cudaMalloc((void **)&d, sizeof *d));
    CHECK(cudaMemcpy(d, &data, sizeof *d, cudaMemcpyHostToDevice));
    add_rows<<<TOKENS, width>>>((half *)d->table + t, (half *)d->grads + g,
                                d->rows, width, &d->pairs);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&data, d, sizeof *d, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < SIZE; i++)
        require(data.table[i] == sums[i], NULL,
                "width %d, table from half %d: half %d is 0x%04x, expected "
                "0x%04x",
                width, t, i, data.table[i], sums[i]);
    require(data.pairs == pairs, NULL,
            "width %d, table from half %d: %d pairs, expected %d", width, t,
            data.pairs, pairs);
}

int main(void)
{
    int width, k;

    exercise_begin(4, "index_parity");
    for (width = 2; width <= MAX_WIDTH; width += 2)
        check_table(width, BASE, BASE);
    require(1, "even widths", "");
    for (width = 1; width <= MAX_WIDTH; width += 2)
        check_table(width, BASE, BASE);
    require(1, "odd widths", "");
    for (width = 1; width <= MAX_WIDTH; width++)
        for (k = 1; k < 4; k++)
            check_table(width, BASE + k % 2, BASE + k / 2);
    require(1, "arrays that start at an odd half", "");
    return exercise_end();
}
