/* Interleaved mode: a model of many threads that send atomic requests to one
 * memory. It shows how often a compare-and-swap fails; it knows nothing of time
 * on a GPU.
 *
 * All requests go through one queue, which serves one request per tick, in the
 * order of their arrival. A thread waits for the answer and then sends its next
 * request, which arrives LATENCY ticks later, and up to JITTER more, drawn by a
 * generator with a seed. Between its requests a thread takes no time. R threads
 * are in flight: when a block is done, the next one takes its place.
 *
 * What it leaves out: warps, caches, several memory slices, the cost of
 * anything but an atomic. */
#include "interleave.h"

#include <stdio.h>
#include <stdlib.h>

#include "barrier.h"
#include "device_memory.h"
#include "faults.h"
#include "fiber.h"
#include "pool.h"
#include "shared.h"
#include "status.h"

enum { LATENCY = 8, JITTER = 8 }; /* ticks */

/* PARKED: waits for others of its block; RELEASED: no longer. */
enum state { STARTING, WAITING, PARKED, RELEASED, DONE };

/* A thread in flight. */
struct slot {
    struct cpu_fiber *fiber;
    enum state state;
    unsigned resident; /* which of the blocks in flight it belongs to */
    uint3 thread;
    unsigned long long due;   /* the tick at which its request arrives */
    unsigned long long order; /* breaks ties: first sent, first served */
};

struct resident {
    struct cpu_block threads; /* the first member: see release_slot() */
    uint3 block;
    unsigned unfinished; /* threads */
    unsigned place;      /* among the residents */
    char *shared;        /* its __shared__ variables while others run */
};

unsigned long long cpu_interleaved; /* the seed; 0: off */
unsigned long long cpu_requests;

static struct cpu_fiber *cpu_scheduler;
static struct cpu_stacks *cpu_slot_stacks;
static struct slot *cpu_slots;  /* kept from launch to launch */
static unsigned cpu_slot_count; /* of which this many exist */
static struct slot **cpu_heap;  /* by (due, order); the least first */
static unsigned cpu_heap_count;
static struct slot *cpu_running; /* the thread whose fiber runs */
static struct resident *cpu_residents;
static struct resident *cpu_shown; /* whose __shared__ variables are there */
static size_t cpu_shared_bytes;
static int cpu_faulted;
static unsigned long long cpu_now, cpu_order, cpu_random, cpu_next_block;

void cpu_interleave(unsigned long long seed)
{
    cpu_interleaved = seed;
    cpu_requests = 0;
}

/* xorshift64 (Marsaglia, 2003): never 0 when it does not start there. */
static unsigned jitter(void)
{
    cpu_random ^= cpu_random << 13;
    cpu_random ^= cpu_random >> 7;
    cpu_random ^= cpu_random << 17;
    return (unsigned)(cpu_random % (JITTER + 1));
}

/* --- the queue: a binary heap --- */

static int is_before(const struct slot *a, const struct slot *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void push(struct slot *slot, unsigned long long due)
{
    unsigned at = cpu_heap_count++;

    slot->due = due;
    slot->order = cpu_order++;
    for (; at > 0 && is_before(slot, cpu_heap[(at - 1) / 2]); at = (at - 1) / 2)
        cpu_heap[at] = cpu_heap[(at - 1) / 2];
    cpu_heap[at] = slot;
}

static struct slot *pop(void)
{
    struct slot *first = cpu_heap[0];
    struct slot *last = cpu_heap[--cpu_heap_count];
    unsigned at = 0, child;

    while ((child = 2 * at + 1) < cpu_heap_count) {
        if (child + 1 < cpu_heap_count &&
            is_before(cpu_heap[child + 1], cpu_heap[child]))
            child++;
        if (is_before(last, cpu_heap[child]))
            break;
        cpu_heap[at] = cpu_heap[child];
        at = child;
    }
    cpu_heap[at] = last;
    return first;
}

/* --- threads --- */

/* A fiber runs one thread after another. */
static void run_threads(void *argument)
{
    struct slot *slot = (struct slot *)argument;

    for (;;) {
        cpu_job.run_block(cpu_job.args);
        slot->state = DONE;
        cpu_fiber_switch(slot->fiber, cpu_scheduler);
    }
}

void cpu_take_turn(void)
{
    cpu_running->state = WAITING;
    cpu_fiber_switch(cpu_running->fiber, cpu_scheduler);
    cpu_requests++;
}

/* A barrier takes no time. */
unsigned long long cpu_meet_in_turns(enum cpu_place place, unsigned mask,
                                     unsigned long long value, unsigned source)
{
    struct cpu_block *block = &cpu_residents[cpu_running->resident].threads;
    dim3 dim = cpu_self.block_dim;
    uint3 at = cpu_self.thread;
    unsigned thread = at.x + dim.x * (at.y + dim.y * at.z);
    struct cpu_waiter *waiter = &block->waiter[thread];

    waiter->value = value;
    waiter->mask = mask;
    waiter->source = source;
    if (!cpu_block_arrive(block, thread, place)) {
        cpu_running->state = PARKED;
        cpu_fiber_switch(cpu_running->fiber, cpu_scheduler);
    }
    return waiter->value;
}

static void release_slot(struct cpu_block *block, unsigned thread)
{
    struct resident *resident = (struct resident *)block;
    struct slot *slot = &cpu_slots[resident->place * block->count + thread];

    slot->state = RELEASED;
    push(slot, cpu_now);
}

void cpu_leave_interleaved(void)
{
    cpu_faulted = 1;
    cpu_fiber_switch(cpu_running->fiber, cpu_scheduler);
    abort(); /* a fiber that was left is never taken up again */
}

/* All blocks in flight use the calling thread's __shared__ variables. */
static void show_shared(struct resident *resident)
{
    if (cpu_shown && cpu_shown != resident)
        memcpy(cpu_shown->shared, cpu_shared.begin, cpu_shared_bytes);
    if (cpu_shown != resident && cpu_shared_bytes > 0)
        memcpy(cpu_shared.begin, resident->shared, cpu_shared_bytes);
    cpu_shown = cpu_shared_bytes > 0 ? resident : NULL;
}

/* Lets a thread run until it sends a request, waits or is done. */
static void resume(struct slot *slot, struct resident *resident)
{
    show_shared(resident);
    cpu_self.block = resident->block;
    cpu_self.thread = slot->thread;
    cpu_self.x_end = slot->thread.x + 1;
    if (slot->state == STARTING)
        cpu_self.thread.x--; /* cpu_next_thread() steps to it */
    cpu_running = slot;
    cpu_fiber_switch(cpu_scheduler, slot->fiber);
}

/* Puts the grid's next block in the place of a resident one. */
static void start_block(struct resident *resident, unsigned place)
{
    dim3 dim = cpu_job.block;
    unsigned count = dim.x * dim.y * dim.z, i;

    resident->block = cpu_block_at(cpu_next_block++);
    resident->unfinished = count;
    resident->place = place;
    resident->threads.release = release_slot;
    cpu_block_begin(&resident->threads, count, 0);
    for (i = 0; i < count; i++) {
        struct slot *slot = &cpu_slots[place * count + i];
        slot->state = STARTING;
        slot->resident = place;
        slot->thread.x = i % dim.x;
        slot->thread.y = i / dim.x % dim.y;
        slot->thread.z = i / dim.x / dim.y;
        push(slot, cpu_now + jitter());
    }
}

/* Fibers that a fault left in the middle of a kernel are of no more use. */
static void drop_slots(void)
{
    cpu_stacks_destroy(cpu_slot_stacks);
    free(cpu_slots);
    free(cpu_heap);
    cpu_slot_stacks = NULL;
    cpu_slots = NULL;
    cpu_heap = NULL;
    cpu_slot_count = 0;
}

static int require_slots(unsigned count)
{
    if (count <= cpu_slot_count)
        return 0;
    drop_slots();
    cpu_slots = (struct slot *)calloc(count, sizeof *cpu_slots);
    cpu_heap = (struct slot **)calloc(count, sizeof *cpu_heap);
    cpu_slot_stacks = cpu_stacks_create(count);
    for (; cpu_slots && cpu_heap && cpu_slot_stacks && cpu_slot_count < count;
         cpu_slot_count++) {
        struct slot *slot = &cpu_slots[cpu_slot_count];
        slot->fiber = cpu_fiber_create(cpu_slot_stacks, run_threads, slot);
        if (!slot->fiber)
            break;
    }
    if (cpu_slot_count == count)
        return 0;
    drop_slots();
    return -1;
}

static void end_thread(const struct slot *slot, struct resident *resident)
{
    dim3 dim = cpu_job.block;
    uint3 at = slot->thread;

    cpu_block_leave(&resident->threads, at.x + dim.x * (at.y + dim.y * at.z));
    if (--resident->unfinished == 0 && cpu_next_block < cpu_job.blocks)
        start_block(resident, slot->resident);
}

static void serve(struct resident *residents)
{
    while (cpu_heap_count > 0 && !cpu_faulted) {
        struct slot *slot = pop();
        struct resident *resident = &residents[slot->resident];
        if (slot->state == WAITING)
            cpu_now++; /* the queue serves one request per tick */
        if (cpu_now < slot->due)
            cpu_now = slot->due;
        resume(slot, resident);
        if (slot->state == WAITING)
            push(slot, cpu_now + LATENCY + jitter());
        else if (slot->state == DONE)
            end_thread(slot, resident);
    }
}

/* Nobody sends a request any more, but some wait. Returns whether they can go
 * on. */
static int release_waiting(struct resident *residents, unsigned count)
{
    char who[192], text[256];
    unsigned i;

    for (i = 0; i < count; i++)
        if (cpu_block_release_active(&residents[i].threads))
            return 1;
    for (i = 0; i < count && residents[i].unfinished == 0; i++)
        ;
    if (i == count)
        return 0;
    cpu_self.block = residents[i].block;
    cpu_block_describe(&residents[i].threads, who, sizeof who);
    snprintf(text, sizeof text, CPU_DEADLOCK "%s", who);
    cpu_note_failure(cudaErrorLaunchTimeout, text);
    cpu_faulted = 1;
    return 0;
}

static void drop_residents(unsigned count)
{
    unsigned i;

    for (i = 0; cpu_residents && i < count; i++)
        free(cpu_residents[i].shared);
    free(cpu_residents);
    cpu_residents = NULL;
}

static int require_residents(unsigned count)
{
    unsigned i;

    cpu_shared_bytes = (size_t)(cpu_shared.end - cpu_shared.begin);
    cpu_shown = NULL;
    cpu_residents = (struct resident *)calloc(count, sizeof *cpu_residents);
    for (i = 0; cpu_residents && i < count; i++) {
        cpu_residents[i].shared = (char *)malloc(cpu_shared_bytes + 1);
        if (!cpu_residents[i].shared)
            break;
        memset(cpu_residents[i].shared, 0xff, cpu_shared_bytes);
    }
    return cpu_residents && i == count ? 0 : -1;
}

static unsigned fitting_blocks(unsigned threads)
{
    int blocks = 0;

    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, (int)threads,
                                                  cpu_job.shared);
    return (unsigned)blocks < cpu_job.blocks ? (unsigned)blocks
                                             : (unsigned)cpu_job.blocks;
}

void cpu_run_interleaved(void)
{
    unsigned threads = cpu_job.block.x * cpu_job.block.y * cpu_job.block.z, i;
    unsigned resident = fitting_blocks(threads);
    char text[256];

    if (require_residents(resident) != 0 ||
        require_slots(resident * threads) != 0) {
        drop_residents(resident);
        snprintf(text, sizeof text, "no stacks for %u threads in flight: %s",
                 resident * threads, cpu_memory_limit());
        cpu_note_failure(cudaErrorLaunchOutOfResources, text);
        return;
    }
    cpu_scheduler = cpu_fiber_of_thread();
    cpu_heap_count = 0;
    cpu_faulted = 0;
    cpu_now = cpu_order = cpu_next_block = 0;
    cpu_random = cpu_interleaved;
    for (i = 0; i < resident; i++)
        start_block(&cpu_residents[i], i);
    do
        serve(cpu_residents);
    while (!cpu_faulted && release_waiting(cpu_residents, resident));
    drop_residents(resident);
    if (cpu_faulted)
        drop_slots();
}
