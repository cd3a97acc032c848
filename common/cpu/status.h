/* What a CUDA call answers: an error that is forgotten once it was asked for,
 * or a kernel's fault, which stays. */
#ifndef CPU_STATUS_H
#define CPU_STATUS_H

#include <cuda_runtime.h>

/* The result of a call that ended with `error`: a fault that has shown wins
 * over everything. */
cudaError_t cpu_answer(cudaError_t error);

/* The same for a call that waits for the device: here a fault shows. */
cudaError_t cpu_answer_synchronised(cudaError_t error);

/* A kernel has faulted. The first fault counts: returns whether this is it. */
int cpu_record_fault(cudaError_t error);

/* Whether one has, shown or not. */
int cpu_has_faulted(void);

#endif
