/* A race between blocks, planted: all add to one cell, by a plain add or by an
 * atomic one. Built with -fsanitize=thread the plain one must be said, in a
 * variable too; the atomic one not, nor a loop that begins with a plain read.
 *
 * usage: races plain|atomic|variable|loop */
#include <cuda_runtime.h>

#include "device.h"

enum { BLOCKS = 8 };

static __global__ void add_plainly(unsigned *cell)
{
    *cell += 1;
}

static __global__ void add_atomically(unsigned *cell)
{
    atomicAdd(cell, 1u);
}

static __device__ unsigned counted[2];

static __global__ void add_to_variable(unsigned *cell)
{
    counted[1] += 1;
    atomicAdd(cell, 1u);
}

static __global__ void add_in_a_loop(unsigned *cell)
{
    unsigned seen, now = *cell;

    do {
        seen = now;
        now = atomicCAS(cell, seen, seen + 1);
    } while (now != seen);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "atomic";
    int plain = strcmp(kind, "plain") == 0;
    unsigned *d_cell, sum;

    CHECK(cudaMalloc((void **)&d_cell, sizeof sum));
    CHECK(cudaMemset(d_cell, 0, sizeof sum));
    if (plain)
        add_plainly<<<BLOCKS, 1>>>(d_cell);
    else if (strcmp(kind, "variable") == 0)
        add_to_variable<<<BLOCKS, 1>>>(d_cell);
    else if (strcmp(kind, "loop") == 0)
        add_in_a_loop<<<BLOCKS, 1>>>(d_cell);
    else
        add_atomically<<<BLOCKS, 1>>>(d_cell);
    CHECK(cudaMemcpy(&sum, d_cell, sizeof sum, cudaMemcpyDeviceToHost));
    printf("%s - %u adds\n", plain || sum == BLOCKS ? "ok" : "not ok", sum);
    return 0;
}
