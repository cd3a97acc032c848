/* Shows what docs/corrections.md says of the MUSA guide's claims about shared
 * memory, (15) to (17). Needs a GPU; `make corrections` runs it after
 * corrections.cu. Each line begins with the number of the claim. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "corrections.h"

enum { BINS = 256 };

/* --- (15) a shared histogram at one element a thread --- */

/* Returns through *global_adds how many adds to global memory it made. */
static __global__ void histogram(const unsigned char *data, unsigned n,
                                 unsigned *bins,
                                 unsigned long long *global_adds)
{
    __shared__ unsigned mine[BINS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned stride = gridDim.x * blockDim.x;

    mine[threadIdx.x] = 0;
    __syncthreads();
    for (; i < n; i += stride)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
    if (threadIdx.x == 0)
        atomicAdd(global_adds, (unsigned long long)BINS);
}

static __global__ void histogram_global(const unsigned char *data, unsigned n,
                                        unsigned *bins)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(&bins[data[i]], 1u);
}

static __global__ void scatter_bytes(unsigned char *data, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
}

static void show_histogram(void)
{
    enum { N = 1 << 24 };
    unsigned char *data = (unsigned char *)d_memory;
    unsigned *bins = (unsigned *)(data + N);
    unsigned long long *adds = (unsigned long long *)(bins + BINS), count[2];
    int k;

    clear();
    scatter_bytes<<<N / THREADS, THREADS>>>(data, N);
    timing_create(timing, 3, 2);
    while (timing_next(timing, 3)) {
        timing_begin(&timing[0]);
        histogram_global<<<N / THREADS, THREADS>>>(data, N, bins);
        end(&timing[0]);
        for (k = 0; k < 2; k++) { /* 1 element a thread, 64 */
            CHECK(cudaMemset(adds, 0, sizeof *adds));
            timing_begin(&timing[1 + k]);
            histogram<<<N / THREADS / (k ? 64 : 1), THREADS>>>(data, N, bins,
                                                               adds);
            end(&timing[1 + k]);
            read_back(&count[k], adds, sizeof count[k]);
        }
    }
    printf("(15) %d bytes, 256 bins: global %.3f ms; shared, 1 element a "
           "thread: %llu global adds, %.3f ms; 64 elements: %llu, %.3f ms\n",
           N, ms_of(0), count[0], ms_of(1), count[1], ms_of(2));
}

/* --- (16) a block reduction that wants exactly 256 threads --- */

/* Halving from 128, as for a block of 256. */
static __global__ void reduce_256(float *sum)
{
    __shared__ float part[256];
    unsigned step;

    part[threadIdx.x] = 1.0f;
    __syncthreads();
    for (step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, part[0]);
}

static void show_reduction(void)
{
    static const unsigned threads[] = {256, 192};
    float sum[2];
    int k;

    for (k = 0; k < 2; k++) {
        clear();
        reduce_256<<<1, 256>>>((float *)d_memory + 64); /* known contents */
        reduce_256<<<1, threads[k]>>>((float *)d_memory);
        read_back(&sum[k], d_memory, sizeof sum[k]);
    }
    printf("(16) the sum of a 1 from each thread: %g from 256 threads, %g from "
           "192\n",
           (double)sum[0], (double)sum[1]);
}

/* --- (17) adds in shared and in global memory --- */

/* Each block adds to `cells` cells of its own, in shared or in global memory.
 */
static __global__ void add_shared_float(unsigned cells, int turns)
{
    __shared__ float mine[BINS];

    mine[threadIdx.x] = 0.0f;
    __syncthreads();
    for (; turns > 0; turns--)
        atomicAdd(&mine[threadIdx.x % cells], 1.0f);
}

static __global__ void add_global_float(float *all, unsigned cells, int turns)
{
    float *mine = all + (size_t)blockIdx.x * BINS;

    for (; turns > 0; turns--)
        atomicAdd(&mine[threadIdx.x % cells], 1.0f);
}

static __global__ void add_shared_int(unsigned cells, int turns)
{
    __shared__ unsigned mine[BINS];

    mine[threadIdx.x] = 0;
    __syncthreads();
    for (; turns > 0; turns--)
        atomicAdd(&mine[threadIdx.x % cells], threadIdx.x);
}

static __global__ void add_global_int(unsigned *all, unsigned cells, int turns)
{
    unsigned *mine = all + (size_t)blockIdx.x * BINS;

    for (; turns > 0; turns--)
        atomicAdd(&mine[threadIdx.x % cells], threadIdx.x);
}

static void show_shared(void)
{
    static const unsigned cells[] = {1, 16, 256};
    enum { BLOCKS = 1024, TURNS = 64 };
    int k;

    for (k = 0; k < 3; k++) {
        timing_create(timing, 4, 2);
        while (timing_next(timing, 4)) {
            clear();
            timing_begin(&timing[0]);
            add_shared_float<<<BLOCKS, THREADS>>>(cells[k], TURNS);
            end(&timing[0]);
            timing_begin(&timing[1]);
            add_global_float<<<BLOCKS, THREADS>>>((float *)d_memory, cells[k],
                                                  TURNS);
            end(&timing[1]);
            timing_begin(&timing[2]);
            add_shared_int<<<BLOCKS, THREADS>>>(cells[k], TURNS);
            end(&timing[2]);
            timing_begin(&timing[3]);
            add_global_int<<<BLOCKS, THREADS>>>((unsigned *)d_memory, cells[k],
                                                TURNS);
            end(&timing[3]);
        }
        printf("(17) %3u cells a block: float shared %.3f ms, global %.3f ms; "
               "int shared %.3f ms, global %.3f ms\n",
               cells[k], ms_of(0), ms_of(1), ms_of(2), ms_of(3));
    }
}

int main(int argc, char **argv)
{
    lesson_begin(0, "corrections", "what holds instead", argc, argv, NULL, 0);
    CHECK(cudaMalloc(&d_memory, MEMORY_BYTES));
    show_histogram();
    show_reduction();
    show_shared();
    CHECK(cudaFree(d_memory));
    return 0;
}
