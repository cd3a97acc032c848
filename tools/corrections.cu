/* Shows what docs/corrections.md says of claims that no lesson tests: (2),
 * (10), and those of the MUSA guide, (12) and (13). Needs a GPU; `make
 * corrections` runs it, and after it corrections_shared.cu, for shared memory.
 * Each line begins with the number of the claim. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "corrections.h"

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
    double ns = 1e6 / ((double)BLOCKS * THREADS);
    half zero = __float2half_rn(0.0f);

    timing_create(timing, 3, 2);
    while (timing_next(timing, 3)) {
        clear();
        timing_begin(&timing[0]);
        add_half2<<<BLOCKS, THREADS>>>((half2 *)d_memory,
                                       __halves2half2(zero, zero));
        end(&timing[0]);
        timing_begin(&timing[1]);
        add_float<<<BLOCKS, THREADS>>>((float *)d_memory, 1.0f);
        end(&timing[1]);
        timing_begin(&timing[2]);
        add_double<<<BLOCKS, THREADS>>>((double *)d_memory, 1.0);
        end(&timing[2]);
    }
    printf("(2)  adds to one address: 4 bytes (half2) %.3f ns, 4 bytes (float) "
           "%.3f ns, 8 bytes (double) %.3f ns\n",
           ms_of(0) * ns, ms_of(1) * ns, ms_of(2) * ns);
}

/* --- (10) one float cell --- */

static void show_float_sum(void)
{
    enum { BLOCKS = 1 << 17 };
    float product = fp16_to_float(0x211e), sum;

    clear();
    add_float<<<BLOCKS, THREADS>>>((float *)d_memory, product);
    read_back(&sum, d_memory, sizeof sum);
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
    read_back(&after_100, d_memory, sizeof after_100);
    increment<<<1, 1>>>((unsigned *)d_memory, 100);
    read_back(&after_101, d_memory, sizeof after_101);
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

static void show_lock(void)
{
    enum { BLOCKS = 4096 };
    unsigned *d_counter = (unsigned *)d_memory + 1024, count[2];
    int fenced;

    for (fenced = 0; fenced < 2; fenced++) {
        clear();
        count_locked<<<BLOCKS, 32>>>((int *)d_memory, d_counter, fenced);
        read_back(&count[fenced], d_counter, sizeof count[fenced]);
    }
    printf("(13) 4096 increments under a lock: %u arrive with fences, %u "
           "without\n",
           count[1], count[0]);
}

int main(int argc, char **argv)
{
    lesson_begin(0, "corrections", "what holds instead", argc, argv, NULL, 0);
    report_device();
    CHECK(cudaMalloc(&d_memory, MEMORY_BYTES));
    show_width();
    show_float_sum();
    show_inc();
    show_lock();
    CHECK(cudaFree(d_memory));
    return 0;
}
