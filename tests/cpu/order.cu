/* A sum that passes infinity on its way to 0: the same eight halves, added
 * one by one in two orders. docs/half_precision.md quotes what this prints,
 * results/cpu/order.txt. With BACKEND=cuda tests/30_cpu.t asks a GPU as well.
 */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdio.h>

#include "device.h"
#include "fp16.h"

enum { COUNT = 8 };

static __global__ void add(half *sum, half value)
{
    atomicAdd(sum, value);
}

static void add_in_order(half *d_sum, const float *values)
{
    uint16_t sum;
    int i;

    CHECK(cudaMemset(d_sum, 0, sizeof *d_sum));
    printf("add ");
    for (i = 0; i < COUNT; i++)
        printf("%8g", (double)values[i]);
    printf("\nsum ");
    for (i = 0; i < COUNT; i++) {
        add<<<1, 1>>>(d_sum, __float2half_rn(values[i]));
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
        printf("%8g", fp16_to_double(sum));
    }
    printf("\n");
}

int main(void)
{
    const float a = 32000;
    const float in_turn[COUNT] = {a, -a, a, -a, a, -a, a, -a};
    const float by_sign[COUNT] = {a, a, a, a, -a, -a, -a, -a};
    half *d_sum;

    CHECK(cudaMalloc((void **)&d_sum, sizeof *d_sum));
    add_in_order(d_sum, in_turn);
    printf("\n");
    add_in_order(d_sum, by_sign);
    CHECK(cudaFree(d_sum));
    return 0;
}
