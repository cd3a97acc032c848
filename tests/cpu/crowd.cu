/* As many threads that wait at once as a pool can have: each block keeps its
 * 1024 threads at a barrier until all blocks are there. In emulation only, with
 * a pool thread for each block. With ALLOCATIONS the program first takes so
 * many pieces of memory, or as many as it gets.
 *
 * usage: crowd BLOCKS [ALLOCATIONS] */
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

enum { BLOCK_THREADS = 1024 };

static __global__ void meet(unsigned *arrived)
{
    if (threadIdx.x == BLOCK_THREADS - 1) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x)
            __nanosleep(1000);
    }
    __syncthreads();
}

int main(int argc, char **argv)
{
    unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned *d_arrived;
    int count = argc > 2 ? atoi(argv[2]) : 0;
    void *d_piece;

    lesson.program = "crowd";
    CHECK(cudaMalloc((void **)&d_arrived, sizeof *d_arrived));
    CHECK(cudaMemset(d_arrived, 0, sizeof *d_arrived));
    while (count-- > 0)
        CHECK(cudaMalloc(&d_piece, 1));
    meet<<<blocks, BLOCK_THREADS>>>(d_arrived);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    expect(1, "%u blocks of %d threads wait at once", blocks, BLOCK_THREADS);
    return tap_done();
}
