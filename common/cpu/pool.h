/* The launch that runs. */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include <cuda_runtime.h>

struct cpu_job {
    const char *kernel;
    dim3 grid, block;
    size_t shared; /* dynamic, in bytes; only counted */
    void (*run_block)(const void *);
    const void *args;
    unsigned long long blocks;
};

extern struct cpu_job cpu_job;

/* Where block `number` of the grid stands in it. */
uint3 cpu_block_at(unsigned long long number);

#endif
