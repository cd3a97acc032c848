/* A launch in interleaved mode. */
#ifndef CPU_INTERLEAVE_H
#define CPU_INTERLEAVE_H

#include <cuda_runtime.h>

/* Runs the job on the calling thread, with as many blocks in flight as fit. */
void cpu_run_interleaved(void);

/* cpu_meet() in interleaved mode. */
unsigned long long cpu_meet_in_turns(enum cpu_place place, unsigned mask,
                                     unsigned long long value, unsigned source);

/* Called on a thread's fiber: waits until the queue has reached its request. */
void cpu_take_turn(void);

/* Called on a thread's fiber: gives the launch up. */
void cpu_leave_interleaved(void) __attribute__((noreturn));

#endif
