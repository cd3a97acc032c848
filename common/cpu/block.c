/* The threads of a block on a pool thread.
 *
 * They run in order, as a loop, on the pool thread's own stack. A thread that
 * has to wait keeps the stack on which it stands, and a fresh fiber takes the
 * loop on; so a kernel in which nobody waits never sees a fiber. Threads that
 * can go on are taken up first, those of a warp before all others, then the
 * threads that have not begun, and last those that gave way. Where there is
 * none of these the block is deadlocked. */
#include "block.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "barrier.h"
#include "device_memory.h"
#include "faults.h"
#include "fiber.h"
#include "interleave.h"
#include "pool.h"

enum { NOBODY = MAX_BLOCK_THREADS };

/* A pool thread's, kept from block to block. */
struct pool_block {
    struct cpu_block threads; /* the first member: see release() */
    uint3 index[MAX_BLOCK_THREADS];
    struct cpu_fiber *fiber[MAX_BLOCK_THREADS]; /* of the threads that wait */
    unsigned ready[MAX_BLOCK_THREADS], ready_first, ready_count;
    unsigned gave_way[MAX_BLOCK_THREADS], gave_first, gave_count;
    unsigned begun;             /* threads */
    unsigned running;           /* the thread that runs, or NOBODY */
    struct cpu_fiber *own, *on; /* the pool thread's stack; the one that runs */
    struct cpu_stacks *stacks;  /* a stack for each of `room` threads */
    struct cpu_fiber *idle[MAX_BLOCK_THREADS];
    unsigned room, idle_count;
    int given_up;
};

static _Thread_local struct pool_block *pool_block;

/* --- two rings --- */

/* A warp goes on at once, while what it touched is near. */
static void release_thread(struct cpu_block *block, unsigned thread)
{
    struct pool_block *b = (struct pool_block *)block;

    b->ready[--b->ready_first % MAX_BLOCK_THREADS] = thread;
    b->ready_count++;
}

static unsigned take_ready(struct pool_block *b)
{
    b->ready_count--;
    return b->ready[b->ready_first++ % MAX_BLOCK_THREADS];
}

static unsigned take_gave_way(struct pool_block *b)
{
    b->gave_count--;
    return b->gave_way[b->gave_first++ % MAX_BLOCK_THREADS];
}

/* --- fibers --- */

static void leave_fiber(struct pool_block *b);

/* A fiber that has nothing to do takes on the loop over the threads. */
static void run_loop(void *argument)
{
    struct pool_block *b = (struct pool_block *)argument;

    for (;;) {
        b->running = NOBODY;
        cpu_self.x_end = 0; /* so that cpu_next_row() is asked at once */
        cpu_job.run_block(cpu_job.args);
        b->idle[b->idle_count++] = b->on;
        leave_fiber(b);
    }
}

static __attribute__((noreturn)) void report_no_stacks(void)
{
    char text[256];

    snprintf(text, sizeof text,
             "no stacks for threads that wait: %s; CPU_THREADS=1 needs the "
             "fewest",
             cpu_memory_limit());
    cpu_fail(cudaErrorLaunchOutOfResources, text);
}

/* The launch before had smaller blocks: all its fibers are idle. */
static void require_room(struct pool_block *b, unsigned threads)
{
    if (threads <= b->room)
        return;
    cpu_stacks_destroy(b->stacks);
    b->idle_count = b->room = 0;
    b->stacks = cpu_stacks_create(threads);
    if (!b->stacks)
        report_no_stacks();
    b->room = threads;
}

static struct cpu_fiber *take_fiber(struct pool_block *b)
{
    struct cpu_fiber *fiber;

    if (b->idle_count > 0)
        return b->idle[--b->idle_count];
    fiber = cpu_fiber_create(b->stacks, run_loop, b);
    if (!fiber)
        report_no_stacks();
    return fiber;
}

static struct cpu_fiber *take_up(struct pool_block *b, unsigned thread)
{
    b->running = thread;
    cpu_self.thread = b->index[thread];
    cpu_self.x_end = cpu_self.thread.x + 1;
    return b->fiber[thread];
}

static void report_deadlock(const struct pool_block *b)
{
    char who[192], text[256];

    cpu_block_describe(&b->threads, who, sizeof who);
    snprintf(text, sizeof text, CPU_DEADLOCK "%s", who);
    cpu_fail(cudaErrorLaunchTimeout, text);
}

static struct cpu_fiber *choose_next(struct pool_block *b)
{
    cpu_leave_if_stopping();
    if (b->threads.live == 0)
        return b->own;
    if (b->ready_count > 0)
        return take_up(b, take_ready(b));
    if (b->begun < b->threads.count)
        return take_fiber(b);
    if (cpu_block_release_active(&b->threads))
        return take_up(b, take_ready(b));
    if (b->gave_count == 0)
        report_deadlock(b);
    sched_yield(); /* what it waits for may be another pool thread's */
    return take_up(b, take_gave_way(b));
}

/* Returns when the fiber that runs now is taken up again. */
static void leave_fiber(struct pool_block *b)
{
    struct cpu_fiber *from = b->on, *to = choose_next(b);

    if (to == from)
        return;
    b->on = to;
    cpu_fiber_switch(from, to);
    if (b->given_up)
        cpu_leave_kernel();
}

/* --- a block in which somebody waits --- */

static unsigned index_in_block(void)
{
    uint3 t = cpu_self.thread;
    dim3 dim = cpu_self.block_dim;

    return t.x + dim.x * (t.y + dim.y * t.z);
}

unsigned cpu_lane(void)
{
    return index_in_block() % LANES;
}

/* Once per block, when the first thread has to wait: those before it are done.
 */
static struct pool_block *begin_waiting(void)
{
    dim3 dim = cpu_self.block_dim;
    struct pool_block *b = pool_block;

    if (!b)
        b = pool_block = (struct pool_block *)calloc(1, sizeof *b);
    if (!b)
        report_no_stacks();
    require_room(b, dim.x * dim.y * dim.z);
    b->threads.release = release_thread;
    b->running = index_in_block();
    b->begun = b->running + 1;
    b->own = b->on = cpu_fiber_of_thread();
    cpu_block_begin(&b->threads, dim.x * dim.y * dim.z, b->running);
    cpu_self.waits = 1;
    return b;
}

static void set_aside(struct pool_block *b, unsigned thread)
{
    b->index[thread] = cpu_self.thread;
    b->fiber[thread] = b->on;
    leave_fiber(b);
}

int cpu_next_waiting(void)
{
    struct pool_block *b = pool_block;
    dim3 dim = cpu_self.block_dim;

    if (b->running != NOBODY)
        cpu_block_leave(&b->threads, b->running);
    b->running = NOBODY;
    if (b->ready_count > 0 || b->begun == b->threads.count)
        return 0;
    b->running = b->begun++;
    cpu_self.thread.x = b->running % dim.x;
    cpu_self.thread.y = b->running / dim.x % dim.y;
    cpu_self.thread.z = b->running / dim.x / dim.y;
    cpu_self.x_end = cpu_self.thread.x + 1;
    return 1;
}

void cpu_finish_waiting(void)
{
    while (pool_block->threads.live > 0)
        leave_fiber(pool_block);
    cpu_self.waits = 0;
}

void cpu_drop_waiting(void)
{
    struct pool_block *b = pool_block;

    if (!b)
        return;
    cpu_stacks_destroy(b->stacks);
    free(b);
    pool_block = NULL;
    cpu_self.waits = 0;
}

void cpu_abandon_waiting(void)
{
    struct pool_block *b = pool_block;

    if (!b || !cpu_self.waits || b->on == b->own)
        return;
    b->given_up = 1;
    cpu_fiber_switch(b->on, b->own);
    abort(); /* a fiber that was left is never taken up again */
}

/* --- what a kernel calls --- */

unsigned cpu_shuffle_source(enum cpu_place place, unsigned by, int width)
{
    unsigned lane = cpu_lane(), segment = (LANES - (unsigned)width) % LANES;
    unsigned first = lane & segment, last = lane | (~segment % LANES);
    unsigned source;

    by %= LANES;
    if (place == CPU_SHFL)
        source = first | (by & ~segment);
    else if (place == CPU_SHFL_XOR)
        source = lane ^ by;
    else if (place == CPU_SHFL_DOWN)
        source = lane + by;
    else
        return lane >= first + by ? lane - by : lane;
    return source <= last ? source : lane;
}

static void require_own_lane(enum cpu_place place, unsigned mask)
{
    if (place != CPU_ACTIVEMASK && !(mask >> cpu_lane() & 1))
        cpu_fail(cudaErrorLaunchFailure,
                 "its own lane is not in the mask that it gives");
}

unsigned long long cpu_meet(enum cpu_place place, unsigned mask,
                            unsigned long long value, unsigned source)
{
    struct cpu_waiter *waiter;
    struct pool_block *b;
    unsigned thread;

    require_own_lane(place, mask);
    if (cpu_interleaved)
        return cpu_meet_in_turns(place, mask, value, source);
    b = cpu_self.waits ? pool_block : begin_waiting();
    thread = b->running;
    waiter = &b->threads.waiter[thread];
    waiter->value = value;
    waiter->mask = mask;
    waiter->source = source;
    if (!cpu_block_arrive(&b->threads, thread, place))
        set_aside(b, thread);
    return waiter->value;
}

void cpu_lose_patience(const void *p)
{
    struct cpu_thread *self = &cpu_self;
    int again = p == self->tried && self->thread.x == self->tried_by;

    self->tries = 0;
    self->tried = p;
    self->tried_by = self->thread.x;
    if (again)
        cpu_give_way();
}

void cpu_give_way(void)
{
    struct pool_block *b;
    unsigned thread;

    if (cpu_interleaved)
        return; /* each atomic waits for its turn anyhow */
    b = cpu_self.waits ? pool_block : begin_waiting();
    thread = b->running;
    b->threads.place[thread] = CPU_GAVE_WAY;
    b->gave_way[(b->gave_first + b->gave_count++) % MAX_BLOCK_THREADS] = thread;
    set_aside(b, thread);
    b->threads.place[thread] = CPU_NOWHERE;
}
