/* Fibers: stacks that take turns on one pool thread. The CPU backend runs a
 * CUDA thread on a fiber where it may have to wait for others. */
#ifndef CPU_FIBER_H
#define CPU_FIBER_H

/* ThreadSanitizer has to be told what the emulation does. */
#if defined(__SANITIZE_THREAD__)
#define CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CPU_TSAN 1
#endif
#endif

struct cpu_fiber;
struct cpu_stacks;

/* Room for the stacks of `count` fibers, in one map. NULL where there is none.
 */
struct cpu_stacks *cpu_stacks_create(unsigned count);
void cpu_stacks_destroy(struct cpu_stacks *stacks); /* and all fibers there */

/* A fiber that will call run(argument) when it is first switched to; run must
 * not return. NULL where there is no room or no memory for one more. */
struct cpu_fiber *cpu_fiber_create(struct cpu_stacks *stacks,
                                   void (*run)(void *), void *argument);

/* The fiber that stands for the calling pool thread's own stack. */
struct cpu_fiber *cpu_fiber_of_thread(void);

/* Leaves `from`, which must be the one that runs, and goes on in `to`. */
void cpu_fiber_switch(struct cpu_fiber *from, struct cpu_fiber *to);

#endif
