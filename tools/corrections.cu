/* Shows what docs/corrections.md says of claims that no lesson tests: (2),
 * (10), and those of the MUSA guide, (12) to (17). Needs a GPU; `make
 * corrections` runs it. Each line begins with the number of the claim. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "options.h"
#include "report.h"

enum { THREADS = 256, BINS = 256 };

static void *d_memory; /* 64 MiB, for whatever the claim needs */
enum { MEMORY_BYTES = 1 << 26 };

/* --- timing one launch --- */

static cudaEvent_t begin_event, end_event;

static void begin(void)
{
    CHECK(cudaEventRecord(begin_event, 0));
}

static double end_ms(void)
{
    float ms;

    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end_event, 0));
    CHECK(cudaEventSynchronize(end_event));
    CHECK(cudaEventElapsedTime(&ms, begin_event, end_event));
    return (double)ms;
}

static void clear(void)
{
    CHECK(cudaMemset(d_memory, 0, MEMORY_BYTES));
}

/* --- (2) the width of an add to one address --- */

static __global__ void add_half2(half2 *c, half2 v)
{
    atomicAdd(c, v);
}

static __global__ void add_float(float *c, float v)
{
    atomicAdd(c, v);
}

static __global__ void add_double(double *c, double v)
{
    atomicAdd(c, v);
}

static void show_width(void)
{
    enum { BLOCKS = 1 << 14 };
    double n = (double)BLOCKS * THREADS, ms[3];
    half zero = __float2half_rn(0.0f);
    int k;

    for (k = 0; k < 2; k++) { /* the first round warms up */
        clear();
        begin();
        add_half2<<<BLOCKS, THREADS>>>((half2 *)d_memory,
                                       __halves2half2(zero, zero));
        ms[0] = end_ms();
        begin();
        add_float<<<BLOCKS, THREADS>>>((float *)d_memory, 1.0f);
        ms[1] = end_ms();
        begin();
        add_double<<<BLOCKS, THREADS>>>((double *)d_memory, 1.0);
        ms[2] = end_ms();
    }
    printf("(2)  adds to one address: 4 bytes (half2) %.3f ns, 4 bytes (float) "
           "%.3f ns, 8 bytes (double) %.3f ns\n",
           ms[0] * 1e6 / n, ms[1] * 1e6 / n, ms[2] * 1e6 / n);
}

/* --- (10) one float cell --- */

static void show_float_sum(void)
{
    enum { BLOCKS = 1 << 17 };
    float product = fp16_to_float(0x211e), sum;

    clear();
    add_float<<<BLOCKS, THREADS>>>((float *)d_memory, product);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&sum, d_memory, sizeof sum, cudaMemcpyDeviceToHost));
    printf("(10) 33554432 float adds of %.9g to one cell: %.9g; exact %.9g\n",
           (double)product, (double)sum, (double)product * BLOCKS * THREADS);
}

/* --- (12) the period of atomicInc --- */

static __global__ void increment(unsigned *c, unsigned limit)
{
    atomicInc(c, limit);
}

static void show_inc(void)
{
    unsigned after_100, after_101;

    clear();
    increment<<<1, 100>>>((unsigned *)d_memory, 100);
    CHECK(cudaMemcpy(&after_100, d_memory, 4, cudaMemcpyDeviceToHost));
    increment<<<1, 1>>>((unsigned *)d_memory, 100);
    CHECK(cudaMemcpy(&after_101, d_memory, 4, cudaMemcpyDeviceToHost));
    printf("(12) atomicInc(c, 100) from 0: %u after 100 calls, %u after 101\n",
           after_100, after_101);
}

/* --- (13) a lock without fences --- */

/* One thread of each block takes the lock and adds 1 to a plain counter. */
static __global__ void count_locked(int *lock, unsigned *counter, int fenced)
{
    if (threadIdx.x != 0)
        return;
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    if (fenced)
        __threadfence();
    *counter = *counter + 1;
    if (fenced)
        __threadfence();
    atomicExch(lock, 0);
}

static unsigned run_locked(int fenced)
{
    enum { BLOCKS = 4096 };
    unsigned *d_counter = (unsigned *)d_memory + 1024, counter;

    clear();
    count_locked<<<BLOCKS, 32>>>((int *)d_memory, d_counter, fenced);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&counter, d_counter, 4, cudaMemcpyDeviceToHost));
    return counter;
}

static void show_lock(void)
{
    unsigned with = run_locked(1), without = run_locked(0);

    printf("(13) 4096 increments under a lock: %u arrive with fences, %u "
           "without\n",
           with, without);
}

/* --- (15) a shared histogram at one element per thread --- */

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
    double ms[3];
    int k;

    clear();
    scatter_bytes<<<N / THREADS, THREADS>>>(data, N);
    for (k = 0; k < 2; k++) { /* the first round warms up */
        begin();
        histogram_global<<<N / THREADS, THREADS>>>(data, N, bins);
        ms[0] = end_ms();
        CHECK(cudaMemset(adds, 0, sizeof *adds));
        begin();
        histogram<<<N / THREADS, THREADS>>>(data, N, bins, adds);
        ms[1] = end_ms();
        CHECK(cudaMemcpy(&count[0], adds, 8, cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(adds, 0, sizeof *adds));
        begin();
        histogram<<<N / THREADS / 64, THREADS>>>(data, N, bins, adds);
        ms[2] = end_ms();
        CHECK(cudaMemcpy(&count[1], adds, 8, cudaMemcpyDeviceToHost));
    }
    printf("(15) %d bytes, 256 bins: global %.3f ms; shared, 1 element per "
           "thread: %llu global adds, %.3f ms; 64 elements: %llu, %.3f ms\n",
           N, ms[0], count[0], ms[1], count[1], ms[2]);
}

/* --- (16) a block reduction that halves from blockDim.x / 2 --- */

/* Where an odd number of terms is left, the last has no partner and is lost.
 * More than MOST_TERMS threads would write outside of the array. */
enum { MOST_TERMS = 256 };

static __global__ void reduce_by_halves(float *sum)
{
    __shared__ float part[MOST_TERMS];
    unsigned stride;

    part[threadIdx.x] = 1.0f;
    __syncthreads();
    for (stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            part[threadIdx.x] += part[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, part[0]);
}

static void show_reduction(void)
{
    static const unsigned threads[] = {256, 64, 192, 100, 96};
    float sum;
    int k;

    printf("(16) the sum of a 1 from each thread of a block:");
    for (k = 0; k < 5; k++) {
        clear();
        reduce_by_halves<<<1, threads[k]>>>((float *)d_memory);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&sum, d_memory, sizeof sum, cudaMemcpyDeviceToHost));
        printf("%s %g from %u", k > 0 ? "," : "", (double)sum, threads[k]);
    }
    printf("\n");
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
    double ms[4] = {0, 0, 0, 0};
    int k, round;

    for (k = 0; k < 3; k++) {
        for (round = 0; round < 2; round++) {
            clear();
            begin();
            add_shared_float<<<BLOCKS, THREADS>>>(cells[k], TURNS);
            ms[0] = end_ms();
            begin();
            add_global_float<<<BLOCKS, THREADS>>>((float *)d_memory, cells[k],
                                                  TURNS);
            ms[1] = end_ms();
            begin();
            add_shared_int<<<BLOCKS, THREADS>>>(cells[k], TURNS);
            ms[2] = end_ms();
            begin();
            add_global_int<<<BLOCKS, THREADS>>>((unsigned *)d_memory, cells[k],
                                                TURNS);
            ms[3] = end_ms();
        }
        printf(
            "(17) %3u cells per block: float shared %.3f ms, global %.3f ms; "
            "int shared %.3f ms, global %.3f ms\n",
            cells[k], ms[0], ms[1], ms[2], ms[3]);
    }
}

int main(int argc, char **argv)
{
    lesson_begin(0, "corrections", "what holds instead", argc, argv, NULL, 0);
    report_device();
    CHECK(cudaMalloc(&d_memory, MEMORY_BYTES));
    CHECK(cudaEventCreate(&begin_event));
    CHECK(cudaEventCreate(&end_event));
    show_width();
    show_float_sum();
    show_inc();
    show_lock();
    show_histogram();
    show_reduction();
    show_shared();
    CHECK(cudaEventDestroy(begin_event));
    CHECK(cudaEventDestroy(end_event));
    CHECK(cudaFree(d_memory));
    return 0;
}
