/* A race between blocks, planted: all add to one cell, by a plain add or by an
 * atomic one. Built with -fsanitize=thread the plain one must be reported, the
 * atomic one not.
 *
 * usage: races plain|atomic */
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

int main(int argc, char **argv)
{
    int plain = argc > 1 && strcmp(argv[1], "plain") == 0;
    unsigned *d_cell, sum;

    CHECK(cudaMalloc((void **)&d_cell, sizeof sum));
    CHECK(cudaMemset(d_cell, 0, sizeof sum));
    if (plain)
        add_plainly<<<BLOCKS, 1>>>(d_cell);
    else
        add_atomically<<<BLOCKS, 1>>>(d_cell);
    CHECK(cudaMemcpy(&sum, d_cell, sizeof sum, cudaMemcpyDeviceToHost));
    printf("%s - %u adds\n", plain || sum == BLOCKS ? "ok" : "not ok", sum);
    return 0;
}
