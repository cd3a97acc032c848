/* Who waits for whom in a block, without a word on how a thread is set aside:
 * that is block.c's for the pool and interleave.c's for interleaved mode. */
#ifndef CPU_BARRIER_H
#define CPU_BARRIER_H

#include <cuda_runtime.h>

enum { MAX_BLOCK_THREADS = 1024, LANES = 32, WARPS = 32 };

struct cpu_waiter {
    unsigned long long value; /* brought, then taken away */
    unsigned mask, source;
};

/* The threads of a block, counted row by row, then plane by plane; 32 in a row
 * are a warp. */
struct cpu_block {
    unsigned count;        /* threads, */
    unsigned live;         /* those that have not exited, */
    unsigned at_barrier;   /* those that wait in __syncthreads() */
    unsigned lanes[WARPS]; /* that have not exited */
    unsigned char place[MAX_BLOCK_THREADS]; /* an enum cpu_place */
    struct cpu_waiter waiter[MAX_BLOCK_THREADS];
    /* Called for each thread that need not wait any longer, the last first. */
    void (*release)(struct cpu_block *block, unsigned thread);
};

/* The threads before `first` have exited, all others are live. */
void cpu_block_begin(struct cpu_block *block, unsigned count, unsigned first);

/* A thread comes to a place, with its waiter filled in. Returns 1 where it was
 * the last one: the others are released, and it need not wait itself. */
int cpu_block_arrive(struct cpu_block *block, unsigned thread,
                     enum cpu_place place);

/* A thread exits; that may release others. */
void cpu_block_leave(struct cpu_block *block, unsigned thread);

/* Nothing else can go on: releases the threads that wait in __activemask() at
 * one line, of each warp. Returns whether there were any. */
int cpu_block_release_active(struct cpu_block *block);

#define CPU_DEADLOCK "deadlock, its threads wait for each other: "

/* Says who waits where, in words, for a block that cannot go on. */
void cpu_block_describe(const struct cpu_block *block, char *text, size_t size);

#endif
