/* Exercise 14, hot_rows: a scatter-add whose popular rows stop growing.
 *
 * Each thread adds one pair of halves to a row of a table, as the gradient of
 * an embedding does. Rows that few threads want come out right. A row that
 * thousands want stops at 2048, however fast the add is.
 *
 * Task: in each block, add up in float what goes to the same row, and send it
 * to the table once.
 * Constraint: one add for a row that the block has, none for others (add_to_row
 *     counts them).
 * Before you change it, it fails with: row 2, x is 2048, expected 4096
 * Read: lessons/v6_scatter. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BLOCK = 128, BLOCKS = 64, MOST = BLOCK * BLOCKS, ROWS = 512 };
enum { NONE = -1 }; /* padding: goes to no row */

static __device__ void add_to_row(half2 *table, int *adds, int row, half2 value)
{
    atomicAdd(&table[row], value);
    atomicAdd(&adds[row], 1);
}

static __global__ void add_rows(half2 *table, int *adds, const int *targets,
                                const half2 *updates, int count)
{
    __shared__ int target[BLOCK];
    __shared__ half2 update[BLOCK];
    int i = (int)threadIdx.x, at = (int)blockIdx.x * BLOCK + i;

    target[i] = at < count ? targets[at] : NONE;
    update[i] = at < count ? updates[at] : __floats2half2_rn(0, 0);
    __syncthreads();
    /* TODO: who adds up what, and who adds it to the table? */
    if (target[i] != NONE)
        add_to_row(table, adds, target[i], update[i]);
    /* END TODO */
}

static struct {
    int targets[MOST], adds[ROWS];
} ints;
static float updates[MOST][2];

/* What the table must hold, and the adds to each row; the sums below are exact
 * in any order, but for the one rounding of each block's sum. */
static void expect(uint16_t (*table)[2], int *adds, int count)
{
    float sum[ROWS][2];
    int block, row, i, k, in_block[ROWS];

    for (block = 0; block < count; block += BLOCK) {
        memset(sum, 0, sizeof sum);
        memset(in_block, 0, sizeof in_block);
        for (i = block; i < block + BLOCK && i < count; i++)
            if ((row = ints.targets[i]) != NONE)
                for (in_block[row] = 1, k = 0; k < 2; k++)
                    sum[row][k] += updates[i][k];
        for (i = 0; i < ROWS; adds[i] += in_block[i], i++)
            for (k = 0; k < 2 && in_block[i]; k++)
                table[i][k] =
                    fp16_add(table[i][k], fp16_from_double((double)sum[i][k]));
    }
}

/* Rows that hold `start` get `count` updates. */
static void check(uint16_t start, int count, const char *what)
{
    static uint16_t table[ROWS + 2][2], expected[ROWS][2], halves[MOST][2];
    int *d_ints, i, k, adds[ROWS] = {0};
    half2 *d;

    for (i = 0; i < ROWS; i++)
        for (k = 0; k < 2; k++)
            table[i + 1][k] = expected[i][k] = start;
    expect(expected, adds, count);
    memset(ints.adds, 0, sizeof adds);
    for (i = 0; i < count; i++)
        for (k = 0; k < 2; k++)
            halves[i][k] = fp16_from_double((double)updates[i][k]);
    CHECK(cudaMalloc((void **)&d, sizeof table + sizeof halves));
    CHECK(cudaMalloc((void **)&d_ints, sizeof ints));
    CHECK(cudaMemcpy(d, table, sizeof table, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d + ROWS + 2, halves, sizeof halves,
                     cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_ints, &ints, sizeof ints, cudaMemcpyHostToDevice));
    add_rows<<<(count + BLOCK - 1) / BLOCK, BLOCK>>>(
        d + 1, d_ints + MOST, d_ints, d + ROWS + 2, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(table, d, sizeof table, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&ints, d_ints, sizeof ints, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    CHECK(cudaFree(d_ints));
    for (i = 0; i < ROWS; i++)
        for (k = 0; k < 2; k++)
            require(table[i + 1][k] == expected[i][k], NULL,
                    "%s: row %d, %c is %g, expected %g", what, i, "xy"[k],
                    fp16_to_double(table[i + 1][k]),
                    fp16_to_double(expected[i][k]));
    for (i = 0; i < ROWS; i++)
        require(ints.adds[i] == adds[i], NULL,
                "%s: %d adds to row %d, expected %d", what, ints.adds[i], i,
                adds[i]);
    for (k = 0; k < 2; k++)
        require(table[0][k] == 0 && table[ROWS + 1][k] == 0, NULL,
                "%s: something was added outside of the table", what);
    require(1, what, "");
    memset(table, 0, sizeof table);
}

static void set(int i, int target, double x, double y)
{
    ints.targets[i] = target;
    updates[i][0] = (float)x;
    updates[i][1] = (float)y;
}

int main(void)
{
    int i;

    exercise_begin(14, "hot_rows");
    for (i = 0; i < 300; i++)
        set(i, 7 * i % ROWS, 1 + i, 0.25 * i);
    check(0x8000, 300, "300 rows, one update each");
    for (i = 0; i < MOST; i++)
        set(i, 2 + i % 2, 1, 0.25);
    check(0, MOST, "two rows, 4096 updates each");
    for (i = 0; i < BLOCK; i++)
        set(i, 2 + i % 2, i < 2 ? 2000 : 1 / 64.0,
            i < BLOCK - 2 ? 1 / 64.0 : 2000);
    check(0, BLOCK, "small updates beside a large one");
    for (i = 0; i < BLOCK; i++)
        set(i, 2 + i % 2, 5 / 128.0, 5 / 128.0);
    check(0x6800, BLOCK, "small updates to rows that hold 2048");
    for (i = 0; i < 1000; i++)
        set(i, (int)(exercise_random() % 6) - 1, 1 + i % 2, i % 3);
    check(0, 1000, "five rows and padding, in any order");
    return exercise_end();
}
