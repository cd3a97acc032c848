/* What a kernel must not do. */
#ifndef CPU_FAULTS_H
#define CPU_FAULTS_H

#include <cuda_runtime.h>

/* Calls run(), in which kernels may fault, on a pool thread; a fault is printed
 * and recorded, and stops all threads. */
void cpu_run_guarded(void (*run)(void));

/* Makes faults of the signals that plain accesses end in. Once per program. */
void cpu_install_handlers(void);

/* Ends the kernel: an access of BYTES bytes, or a plain one where that is 0. */
void cpu_fault_at(cudaError_t error, const void *address, size_t bytes)
    __attribute__((noreturn));

/* Ends it with an error of which the line on stderr says `text`. */
void cpu_fail(cudaError_t error, const char *text) __attribute__((noreturn));

/* Notes that the launch has failed so; cpu_run_guarded() says it. */
void cpu_note_failure(cudaError_t error, const char *text);

/* Ends the kernel without a word if another pool thread's has faulted. */
void cpu_leave_if_stopping(void);

/* Called on the pool thread's own stack: goes on where the kernel was begun. */
void cpu_leave_kernel(void) __attribute__((noreturn));

#endif
