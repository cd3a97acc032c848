/* The calling thread's __shared__ variables. */
#ifndef CPU_SHARED_H
#define CPU_SHARED_H

#include <cuda_runtime.h>

/* Where they all lie; empty before cpu_fill_shared(), and where there are none
 * or nobody can tell (CPU_HAS_SECTIONS). */
extern _Thread_local struct cpu_region cpu_shared;

/* A launch begins: what no thread of it wrote shows up as 0xff. */
void cpu_fill_shared(void);

#endif
