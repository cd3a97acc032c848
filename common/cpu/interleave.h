/* Between runtime.c and interleave.c: a launch in interleaved mode. */
#ifndef CPU_INTERLEAVE_H
#define CPU_INTERLEAVE_H

#include <cuda_runtime.h>

/* One launch: what to run and on how many blocks. */
struct cpu_job {
    const char *kernel;
    dim3 grid, block;
    void (*run_block)(const void *);
    const void *args;
    unsigned long long blocks;
};

extern struct cpu_job cpu_job; /* the launch that runs */

/* Where block `number` of the grid stands in it. */
uint3 cpu_block_at(unsigned long long number);

/* Runs the job with `resident` blocks in flight, on the calling thread. Returns
 * when all are done or a thread has faulted; -1 where memory runs out. */
int cpu_run_interleaved(unsigned resident);

/* cpu_meet() in interleaved mode. */
unsigned long long cpu_meet_in_turns(enum cpu_place place, unsigned mask,
                                     unsigned long long value, unsigned source);

/* Notes why the launch has failed; cpu_launch() says it. */
void cpu_note_failure(cudaError_t error, const char *text);

/* As cpu_check(), but takes no turn: for what an operation reads before its
 * first request. */
void cpu_check_place(const void *p, size_t size);

/* Called on a thread's fiber: waits until the queue has reached its request. */
void cpu_take_turn(void);

/* Called on a thread's fiber: gives the launch up. */
void cpu_leave_interleaved(void) __attribute__((noreturn));

#endif
