/* Grids and blocks: each thread runs exactly once and sees the right indices,
 * and a shape that CUDA does not allow is refused with an error that is
 * forgotten once it was read: 9 in the CPU emulation, as CUDA's manual has it;
 * a GPU may also say 1 (an H200 under CUDA 13.0 does). All else is the same on
 * a GPU.
 *
 * usage: shapes */
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

enum { BLOCK_THREADS = 256 };

static int emulated;

static void expect_of(int right, const char *what, dim3 grid, dim3 block)
{
    expect(right, "grid %u,%u,%u of blocks %u,%u,%u: %s", grid.x, grid.y,
           grid.z, block.x, block.y, block.z, what);
}

static int is_refusal(cudaError_t error)
{
    return error == cudaErrorInvalidConfiguration ||
           (!emulated && error == cudaErrorInvalidValue);
}

static dim3 triple(unsigned x, unsigned y, unsigned z)
{
    dim3 d;

    d.x = x;
    d.y = y;
    d.z = z;
    return d;
}

/* --- shapes that run --- */

/* Counts the visit at the thread's place in the whole grid, x fastest, and in
 * `strange` each index or size that does not belong to this shape. */
static __global__ void visit(unsigned *visits, unsigned *strange, dim3 grid,
                             dim3 block)
{
    unsigned long long thread =
        threadIdx.x +
        (unsigned long long)block.x * (threadIdx.y + block.y * threadIdx.z);
    unsigned long long number =
        blockIdx.x +
        (unsigned long long)grid.x * (blockIdx.y + grid.y * blockIdx.z);

    if (gridDim.x != grid.x || gridDim.y != grid.y || gridDim.z != grid.z ||
        blockDim.x != block.x || blockDim.y != block.y ||
        blockDim.z != block.z || threadIdx.x >= block.x ||
        threadIdx.y >= block.y || threadIdx.z >= block.z ||
        blockIdx.x >= grid.x || blockIdx.y >= grid.y || blockIdx.z >= grid.z)
        atomicAdd(strange, 1u);
    else
        atomicAdd(&visits[number * (block.x * block.y * block.z) + thread], 1u);
}

static void run_shape(dim3 grid, dim3 block)
{
    size_t count =
        (size_t)grid.x * grid.y * grid.z * block.x * block.y * block.z;
    unsigned *visits = (unsigned *)malloc(count * sizeof *visits);
    unsigned *d_visits, *d_strange, strange;
    size_t i, once = 0;

    CHECK(cudaMalloc((void **)&d_visits, count * sizeof *visits));
    CHECK(cudaMalloc((void **)&d_strange, sizeof strange));
    CHECK(cudaMemset(d_visits, 0, count * sizeof *visits));
    CHECK(cudaMemset(d_strange, 0, sizeof strange));
    visit<<<grid, block>>>(d_visits, d_strange, grid, block);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(visits, d_visits, count * sizeof *visits,
                     cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&strange, d_strange, sizeof strange,
                     cudaMemcpyDeviceToHost));
    for (i = 0; i < count; i++)
        once += visits[i] == 1;
    expect_of(once == count && strange == 0, "each thread once", grid, block);
    CHECK(cudaFree(d_visits));
    CHECK(cudaFree(d_strange));
    free(visits);
}

/* --- one thread for each of n elements --- */

static __global__ void visit_element(unsigned *visits, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < n)
        visits[i] += 1;
}

/* As the lessons launch: a number of blocks and a number of threads. */
static void run_elements(int n)
{
    enum { ROOM = 1 << 17 };
    static unsigned visits[ROOM];
    int blocks = (n + BLOCK_THREADS - 1) / BLOCK_THREADS;
    unsigned *d_visits;
    int i, right = 1;

    CHECK(cudaMalloc((void **)&d_visits, sizeof visits));
    CHECK(cudaMemset(d_visits, 0, sizeof visits));
    visit_element<<<blocks, BLOCK_THREADS>>>(d_visits, n);
    if (n == 0)
        expect_of(is_refusal(cudaGetLastError()), "no elements, refused",
                  triple(0, 1, 1), triple(BLOCK_THREADS, 1, 1));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(visits, d_visits, sizeof visits, cudaMemcpyDeviceToHost));
    for (i = 0; i < ROOM; i++)
        right &= visits[i] == (i < n);
    expect_of(right, n % 2 ? "an odd number of elements" : "an even number",
              triple((unsigned)blocks, 1, 1), triple(BLOCK_THREADS, 1, 1));
    CHECK(cudaFree(d_visits));
}

/* --- shapes that are refused --- */

static __global__ void count_run(unsigned *runs)
{
    atomicAdd(runs, 1u);
}

static void refuse_shape(dim3 grid, dim3 block)
{
    unsigned *d_runs, runs;
    cudaError_t peeked, first, second;
    char text[64];

    CHECK(cudaMalloc((void **)&d_runs, sizeof runs));
    CHECK(cudaMemset(d_runs, 0, sizeof runs));
    count_run<<<grid, block>>>(d_runs);
    peeked = cudaPeekAtLastError();
    first = cudaGetLastError();
    second = cudaGetLastError();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&runs, d_runs, sizeof runs, cudaMemcpyDeviceToHost));
    snprintf(text, sizeof text, "refused with error 9 (peeked %d, got %d)",
             (int)peeked, (int)first);
    expect_of(is_refusal(peeked) && first == peeked, text, grid, block);
    expect_of(second == cudaSuccess, "the error was forgotten", grid, block);
    expect_of(runs == 0, "nothing ran", grid, block);
    CHECK(cudaFree(d_runs));
}

int main(void)
{
    struct cudaDeviceProp prop;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
    run_shape(triple(1, 1, 1), triple(1, 1, 1));
    run_shape(triple(1, 1, 1), triple(1024, 1, 1));
    run_shape(triple(3, 1, 1), triple(7, 1, 1));
    run_shape(triple(1 << 20, 1, 1), triple(1, 1, 1));
    run_shape(triple(1, 65535, 1), triple(1, 1, 1));
    run_shape(triple(1, 1, 65535), triple(1, 1, 1));
    run_shape(triple(5, 3, 1), triple(9, 4, 1));
    run_shape(triple(4, 3, 5), triple(7, 5, 3));
    run_shape(triple(2, 7, 3), triple(1, 2, 64));
    run_shape(triple(3, 1, 2), triple(1, 1024, 1));
    run_shape(triple(2, 5, 1), triple(2, 8, 64));

    run_elements(0);
    run_elements(1);
    run_elements(255);
    run_elements(256);
    run_elements(257);
    run_elements(65537);

    refuse_shape(triple(0, 1, 1), triple(1, 1, 1));
    refuse_shape(triple(1, 0, 1), triple(1, 1, 1));
    refuse_shape(triple(1, 1, 0), triple(1, 1, 1));
    refuse_shape(triple(1, 1, 1), triple(0, 1, 1));
    refuse_shape(triple(1, 1, 1), triple(1, 0, 1));
    refuse_shape(triple(1, 1, 1), triple(1, 1, 0));
    refuse_shape(triple(1, 1, 1), triple(1025, 1, 1));
    refuse_shape(triple(1, 1, 1), triple(1, 1025, 1));
    refuse_shape(triple(1, 1, 1), triple(1, 1, 65));
    refuse_shape(triple(1, 1, 1), triple(32, 33, 1));
    refuse_shape(triple(2147483648u, 1, 1), triple(1, 1, 1));
    refuse_shape(triple(1, 65536, 1), triple(1, 1, 1));
    refuse_shape(triple(1, 1, 65536), triple(1, 1, 1));
    run_shape(triple(2, 2, 2), triple(2, 2, 2)); /* as if nothing had been */
    return failures ? EXIT_WRONG : 0;
}
