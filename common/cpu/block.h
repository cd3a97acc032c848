/* Between runtime.c and block.c: a block on a pool thread. */
#ifndef CPU_BLOCK_H
#define CPU_BLOCK_H

#include "interleave.h"

/* In cpu_next_row(), once threads of the block have waited: this fiber's thread
 * is done. Returns whether the fiber is to begin another one. */
int cpu_next_waiting(void);

/* After the last thread was begun: returns when all are done. */
void cpu_finish_waiting(void);

/* After a fault, on whatever stack: goes on in the pool thread's own, and there
 * leaves the kernel. Returns where that is the running one. */
void cpu_abandon_waiting(void);

/* After that: forgets the threads that wait. */
void cpu_drop_waiting(void);

/* The region of the calling thread that holds all __shared__ variables; empty
 * where there are none, or where the system keeps no such region (macOS): then
 * they are not filled with 0xff, and whatever is outside every allocation may
 * be one of them. */
#ifdef __ELF__
enum { SHARED_IS_KNOWN = 1 };
#else
enum { SHARED_IS_KNOWN = 0 };
#endif
void cpu_find_shared(char **begin, size_t *bytes);

/* --- runtime.c --- */

/* Ends the kernel with an error of which the line on stderr says `text`. */
void cpu_fail(cudaError_t error, const char *text) __attribute__((noreturn));

/* Ends it without a word if another pool thread's has faulted. */
void cpu_leave_if_stopping(void);

/* Called on the pool thread's own stack: goes on where the kernel was begun. */
void cpu_leave_kernel(void) __attribute__((noreturn));

#endif
