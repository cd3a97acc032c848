/* Calls that HALF_ATOMICS_CHECK must stop, and some that it must let pass: one
 * kernel for each argument of the program. Prints what came of it; run by
 * tests/53_header.t. */
#define HALF_ATOMICS_CHECK 1
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "half_atomics.h"

enum { LENGTH = 10 };

static __device__ half value_of(int bits)
{
    return __ushort_as_half((unsigned short)bits);
}

static __global__ void use(half *base, long long index, size_t length,
                           int width, int in_shared)
{
    __shared__ half cells[LENGTH];
    half2 pairs[4];
    int k;

    for (k = 0; k < 4; k++)
        pairs[k] = __halves2half2(value_of(0x3c00), value_of(0x3c00));
    if (in_shared)
        base = cells;
    if (width == 8)
        half_atomic_add8(base, (size_t)index, length, pairs);
    else if (width == 2)
        half_atomic_add2(base, (size_t)index, length, pairs[0]);
    else
        half_atomic_max(base, (size_t)index, length, value_of(0x3c00));
}

/* WIDTH INDEX LENGTH [shared] */
int main(int argc, char **argv)
{
    half *cells;

    if (argc < 4 || cudaMalloc((void **)&cells, LENGTH * sizeof *cells) ||
        cudaMemset(cells, 0, LENGTH * sizeof *cells))
        return 3;
    use<<<1, 1>>>(cells, atoll(argv[2]), (size_t)atoll(argv[3]), atoi(argv[1]),
                  argc > 4 && strcmp(argv[4], "shared") == 0);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
