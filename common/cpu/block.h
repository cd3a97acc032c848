/* The threads of a block on a pool thread, once one of them had to wait. */
#ifndef CPU_BLOCK_H
#define CPU_BLOCK_H

/* In cpu_next_row(): this fiber's thread is done. Returns whether the fiber is
 * to begin another one. */
int cpu_next_waiting(void);

/* After the last thread was begun: returns when all are done. */
void cpu_finish_waiting(void);

/* After a fault, on whatever stack: goes on in the pool thread's own, and there
 * leaves the kernel. Returns where that is the running one. */
void cpu_abandon_waiting(void);

/* After that: forgets the threads that wait. */
void cpu_drop_waiting(void);

#endif
