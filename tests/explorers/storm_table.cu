/* What the explorer `storm` must show: the tries of lesson 4's loop in the
 * interleaved mode of the CPU emulation, for a table of seeds, blocks, blocks
 * in flight, adds and starts. Prints a JSON list. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"

enum { MOST_ADDS = 16384 };

static const uint16_t ADDEND = 0x211e; /* lesson 1's product */

static __global__ void add_counted(half *cell, half value, unsigned n,
                                   unsigned *tries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *word = (unsigned *)cell, old, seen, used = 0;

    if (i >= n)
        return;
    old = *word;
    do {
        half sum = __hadd_rn(__ushort_as_half((unsigned short)old), value);
        seen = old;
        old = atomicCAS(word, seen,
                        (old & ~0xffffu) | (unsigned)__half_as_ushort(sum));
        used++;
    } while (old != seen);
    tries[i] = used;
}

static __global__ void add_pairs(half2 *cell, half value, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(cell, __halves2half2(value, value));
}

static int shared_bytes;

/* Runs one case twice: with the loop, and with the 4-byte add. */
static void print_case(unsigned seed, unsigned threads, unsigned resident,
                       unsigned n, uint16_t start, half *d_cell,
                       unsigned *d_tries)
{
    static unsigned tries[MOST_ADDS];
    static const char *separator = "";
    unsigned blocks = (n + threads - 1) / threads, digest = 0, most = 0, i;
    unsigned long long total = 0, requests;
    size_t shared = (size_t)shared_bytes / resident;
    half value = __ushort_as_half(ADDEND);
    uint16_t word[2], sum;

    word[0] = start;
    word[1] = 0;
    CHECK(cudaMemcpy(d_cell, word, sizeof word, cudaMemcpyHostToDevice));
    cpu_interleave(seed);
    add_counted<<<blocks, threads, shared>>>(d_cell, value, n, d_tries);
    CHECK(cudaMemcpy(&sum, d_cell, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(
        cudaMemcpy(tries, d_tries, n * sizeof *tries, cudaMemcpyDeviceToHost));
    for (i = 0; i < n; i++) {
        total += tries[i];
        digest = digest * 31 + tries[i];
        most = tries[i] > most ? tries[i] : most;
    }
    CHECK(cudaMemcpy(d_cell, word, sizeof word, cudaMemcpyHostToDevice));
    cpu_interleave(seed);
    add_pairs<<<blocks, threads, shared>>>((half2 *)d_cell, value, n);
    CHECK(cudaDeviceSynchronize());
    requests = cpu_requests;
    printf("%s\n{\"seed\":%u,\"threads\":%u,\"resident\":%u,\"n\":%u,"
           "\"start\":%u,\"tries\":%llu,\"most\":%u,\"digest\":%u,\"sum\":%u,"
           "\"requests\":%llu}",
           separator, seed, threads, resident, n, start, total, most, digest,
           sum, requests);
    separator = ",";
}

int main(void)
{
    /* seed, threads per block, blocks in flight, adds */
    static const unsigned cases[][4] = {
        {1, 1, 1, 1},         {1, 1, 1, 40},
        {1, 2, 1, 64},        {1, 4, 1, 64},
        {1, 8, 1, 64},        {7, 8, 1, 64},
        {1, 16, 1, 128},      {123456, 16, 1, 128},
        {1, 32, 1, 100},      {2, 32, 2, 500},
        {3, 16, 4, 1000},     {4, 33, 3, 700},
        {5, 7, 5, 100},       {1, 1, 64, 300},
        {999999, 64, 1, 200}, {1000000, 128, 1, 4096},
        {1, 256, 1, 1024},    {1, 256, 2, 4096},
        {9, 256, 3, 5000},    {1, 256, 4, 1024},
        {1, 256, 4, 4096},    {42, 256, 4, 16384},
    };
    static const uint16_t starts[] = {0, 0x5000, 0x4880};
    half *d_cell;
    unsigned *d_tries;
    size_t i, k;

    CHECK(cudaDeviceGetAttribute(
        &shared_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    CHECK(cudaMalloc((void **)&d_cell, 4));
    CHECK(cudaMalloc((void **)&d_tries, MOST_ADDS * sizeof *d_tries));
    printf("[");
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (k = 0; k < sizeof starts / sizeof starts[0]; k++)
            print_case(cases[i][0], cases[i][1], cases[i][2], cases[i][3],
                       starts[k], d_cell, d_tries);
    printf("]\n");
    CHECK(cudaFree(d_cell));
    CHECK(cudaFree(d_tries));
    return 0;
}
