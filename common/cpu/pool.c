/* The pool of threads that runs a grid. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "block.h"
#include "faults.h"
#include "interleave.h"
#include "properties.h"
#include "race.h"
#include "shared.h"
#include "status.h"

_Thread_local struct cpu_thread cpu_self;

/* One launch at a time. `cpu_next` is handed out in chunks; all else is
 * constant while it runs. */
struct cpu_job cpu_job;
static unsigned long long cpu_chunk, cpu_next; /* blocks */

static pthread_mutex_t cpu_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cpu_start = PTHREAD_COND_INITIALIZER;
static pthread_cond_t cpu_finish = PTHREAD_COND_INITIALIZER;
static unsigned long cpu_job_number; /* counts launches; guarded by cpu_lock */
static unsigned cpu_helpers;         /* pool threads besides the host's, */
static unsigned cpu_used;            /* those that the job has blocks for, */
static unsigned cpu_busy;            /* and of them those still at work on it */
static unsigned cpu_arrived;         /* pool threads that begin with it */
static volatile unsigned cpu_turn;   /* whose it is, by cpu_number */
static _Thread_local unsigned cpu_number; /* a helper's, from 1; else 0 */

/* Row by row, then plane by plane; cpu_next_thread() does the step in x. */
int cpu_next_row(void)
{
    struct cpu_thread *self = &cpu_self;

    if (cpu_interleaved)
        return 0; /* each thread is run for itself */
    if (self->waits)
        return cpu_next_waiting();
    self->thread.x = 0;
    if (++self->thread.y < self->block_dim.y)
        return 1;
    self->thread.y = 0;
    return ++self->thread.z < self->block_dim.z;
}

uint3 cpu_block_at(unsigned long long number)
{
    uint3 block;

    block.x = (unsigned)(number % cpu_job.grid.x);
    number /= cpu_job.grid.x;
    block.y = (unsigned)(number % cpu_job.grid.y);
    block.z = (unsigned)(number / cpu_job.grid.y);
    return block;
}

static void run_block(unsigned long long number)
{
    struct cpu_thread *self = &cpu_self;

    self->block = cpu_block_at(number);
    self->thread.x = UINT_MAX; /* one before the first */
    self->thread.y = self->thread.z = 0;
    self->x_end = self->block_dim.x;
    cpu_job.run_block(cpu_job.args);
    if (self->waits)
        cpu_finish_waiting();
}

#ifdef CPU_TSAN
/* ThreadSanitizer sees that two pool threads touch a place in no order. So that
 * blocks which do are always found, block i is dealt to thread i mod 8. All
 * begin together: whoever came later would come after, by the pool's lock. Then
 * they take turns, since it overlooks what happens at the very same time; it
 * does not see the turns themselves, which would be an order. As a block may
 * wait for another one's, a turn comes after a second at the latest. */
enum { TURN_US = 1000000, LOOK_US = 50 };

static __attribute__((noinline, no_sanitize("thread"))) void wait_for_turn(void)
{
    unsigned us = 0;

    while (cpu_turn < cpu_number && us < cpu_number * TURN_US &&
           !__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED)) {
        usleep(LOOK_US);
        us += LOOK_US;
    }
}

static __attribute__((noinline, no_sanitize("thread"))) void end_turn(void)
{
    if (cpu_turn <= cpu_number)
        cpu_turn = cpu_number + 1;
}

static void run_blocks(void)
{
    unsigned long long i, threads = cpu_used + 1;

    __atomic_fetch_add(&cpu_arrived, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&cpu_arrived, __ATOMIC_ACQUIRE) < threads)
        sched_yield();
    wait_for_turn();
    for (i = cpu_number; i < cpu_job.blocks; i += threads)
        if (!__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED))
            run_block(i);
    end_turn();
}
#else
/* Takes chunks of blocks until there are none. */
static void run_blocks(void)
{
    unsigned long long first, i;

    while (!__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED)) {
        first = __atomic_fetch_add(&cpu_next, cpu_chunk, __ATOMIC_RELAXED);
        if (first >= cpu_job.blocks)
            break;
        for (i = first; i < first + cpu_chunk && i < cpu_job.blocks; i++)
            run_block(i);
    }
}
#endif

/* The calling thread's part of the job, which run() does. */
static void work(void (*run)(void))
{
    cpu_self.block_dim = cpu_job.block;
    cpu_self.grid_dim = cpu_job.grid;
    cpu_self.begin = cpu_self.end = 0;
    cpu_fill_shared();
    cpu_run_guarded(run);
}

/* A new helper may see the job before it, which has no block for it. */
static void *help(void *number)
{
    unsigned long seen = 0;

    cpu_number = (unsigned)(uintptr_t)number;
    for (;;) {
        pthread_mutex_lock(&cpu_lock);
        while (cpu_job_number == seen || cpu_number > cpu_used) {
            seen = cpu_job_number;
            pthread_cond_wait(&cpu_start, &cpu_lock);
        }
        seen = cpu_job_number;
        pthread_mutex_unlock(&cpu_lock);
        work(run_blocks);
        pthread_mutex_lock(&cpu_lock);
        if (--cpu_busy == 0)
            pthread_cond_signal(&cpu_finish);
        pthread_mutex_unlock(&cpu_lock);
    }
    return NULL;
}

/* As many helpers as there are blocks for, up to the pool's limit. The host's
 * thread works too, so N blocks need N - 1. Where a thread cannot be had, the
 * pool is that much smaller. */
static void grow_pool(void)
{
    static unsigned most;
    pthread_t thread;

    if (most == 0)
        most = (unsigned)cpu_pool_threads();
    while (cpu_helpers + 1 < most && cpu_helpers + 1 < cpu_job.blocks) {
        if (pthread_create(&thread, NULL, help,
                           (void *)(uintptr_t)(cpu_helpers + 1)) != 0)
            most = cpu_helpers + 1;
        else if (pthread_detach(thread) == 0)
            cpu_helpers++;
    }
}

static int shape_is_legal(dim3 grid, dim3 block)
{
    return grid.x >= 1 && grid.x <= 2147483647u && grid.y >= 1 &&
           grid.y <= 65535 && grid.z >= 1 && grid.z <= 65535 && block.x >= 1 &&
           block.x <= 1024 && block.y >= 1 && block.y <= 1024 && block.z >= 1 &&
           block.z <= 64 &&
           (unsigned long long)block.x * block.y * block.z <= 1024;
}

static void launch_on_pool(void)
{
    grow_pool();
    pthread_mutex_lock(&cpu_lock);
    cpu_used = cpu_helpers < cpu_job.blocks ? cpu_helpers
                                            : (unsigned)cpu_job.blocks - 1;
    cpu_chunk = cpu_job.blocks / (cpu_used + 1) / 16 + 1;
    cpu_next = 0;
    cpu_arrived = 0;
    cpu_turn = 0;
    cpu_busy = cpu_used;
    cpu_job_number++;
    if (cpu_used > 0)
        pthread_cond_broadcast(&cpu_start);
    pthread_mutex_unlock(&cpu_lock);
    work(run_blocks);
    pthread_mutex_lock(&cpu_lock);
    while (cpu_busy > 0)
        pthread_cond_wait(&cpu_finish, &cpu_lock);
    pthread_mutex_unlock(&cpu_lock);
}

void cpu_launch(const char *kernel, dim3 grid, dim3 block, size_t shared,
                cudaStream_t stream, void (*run)(const void *),
                const void *args)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)stream;
    if (cpu_has_faulted())
        return;
    if (!shape_is_legal(grid, block) || shared > SHARED_BYTES) {
        cpu_answer(cudaErrorInvalidConfiguration);
        return;
    }
    pthread_once(&once, cpu_install_handlers);
    cpu_job.kernel = kernel;
    cpu_job.grid = grid;
    cpu_job.block = block;
    cpu_job.shared = shared;
    cpu_job.run_block = run;
    cpu_job.args = args;
    cpu_job.blocks = (unsigned long long)grid.x * grid.y * grid.z;
    if (cpu_interleaved) /* by one thread: the counts must not depend on more */
        work(cpu_run_interleaved);
    else
        launch_on_pool();
    cpu_say_race();
}
