/* The memory of the device, to the byte: what cudaMalloc() gave, and the
 * __device__ variables. */
#ifndef CPU_DEVICE_MEMORY_H
#define CPU_DEVICE_MEMORY_H

#include <cuda_runtime.h>

/* Whether BYTES bytes at P lie in the region. */
static inline int cpu_holds(const struct cpu_region *region, const void *p,
                            size_t bytes)
{
    uintptr_t at = (uintptr_t)p, end = (uintptr_t)region->end;

    return at >= (uintptr_t)region->begin && at <= end && bytes <= end - at;
}

/* The allocation or the variable in which they lie, or NULL. */
const struct cpu_region *cpu_find_region(const void *p, size_t bytes);

/* Where the cudaMalloc() that gave it returned to; NULL for a variable. */
void *cpu_find_caller(const void *p);

size_t cpu_physical_bytes(void);

/* After the system has refused memory: which limit that was, in words. */
const char *cpu_memory_limit(void);

#endif
