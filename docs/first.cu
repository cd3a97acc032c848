/* A first kernel: 256 threads each add one to a counter. */
#include <cuda_runtime.h>
#include <stdio.h>

#include "device.h" /* CHECK */

__global__ void count(int *counter)
{
    atomicAdd(counter, 1);
}

int main(void)
{
    int *counter;
    int result;
    CHECK(cudaMalloc((void **)&counter, sizeof(int)));
    CHECK(cudaMemset(counter, 0, sizeof(int)));
    count<<<2, 128>>>(counter); /* two blocks of 128 threads */
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&result, counter, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d adds\n", result);
    CHECK(cudaFree(counter));
    return 0;
}
