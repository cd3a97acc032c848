/* The pool of threads that runs a grid. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>

#include "block.h"
#include "errors.h"
#include "faults.h"
#include "interleave.h"
#include "properties.h"
#include "race.h"
#include "shared.h"

_Thread_local struct cpu_thread cpu_self;

/* One launch at a time. `cpu_next` is handed out in chunks; all else is
 * constant while it runs. */
struct cpu_job cpu_job;
static unsigned long long cpu_chunk, cpu_next; /* blocks */

static pthread_mutex_t cpu_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cpu_start = PTHREAD_COND_INITIALIZER;
static pthread_cond_t cpu_finish = PTHREAD_COND_INITIALIZER;
static unsigned long cpu_job_number; /* counts launches; guarded by cpu_lock */
static int cpu_helpers;              /* pool threads besides the host's */
static int cpu_busy;                 /* helpers still at work on the job */
#ifdef CPU_TSAN
static int cpu_begun; /* threads that are at work, or were */
#endif
static _Thread_local int cpu_number; /* the host's: 0 */

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
/* Under ThreadSanitizer pool thread k takes blocks k, k + N, k + 2 N …, and
 * none begins before all are here: whoever began later would have seen, through
 * cpu_lock, that another one was done, and with that no race between the two.
 */
static void run_blocks(void)
{
    int threads = cpu_helpers + 1;
    unsigned long long i = (unsigned)cpu_number;

    __atomic_fetch_add(&cpu_begun, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&cpu_begun, __ATOMIC_RELAXED) < threads)
        sched_yield();
    for (; i < cpu_job.blocks; i += (unsigned)threads) {
        if (__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED))
            break;
        run_block(i);
    }
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

static void *help(void *number)
{
    unsigned long seen = 0;

    cpu_number = (int)(intptr_t)number;
    for (;;) {
        pthread_mutex_lock(&cpu_lock);
        while (cpu_job_number == seen)
            pthread_cond_wait(&cpu_start, &cpu_lock);
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

/* The host's thread works too, so N processors need N - 1 helpers. Where a
 * thread cannot be had, the pool is that much smaller. */
static void start_pool(void)
{
    int i, wanted = cpu_pool_threads() - 1;

    for (i = 0; i < wanted; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, (void *)(intptr_t)(i + 1)) != 0)
            break;
        pthread_detach(thread);
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
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start_pool);
    pthread_mutex_lock(&cpu_lock);
    cpu_chunk = cpu_job.blocks / ((unsigned)cpu_helpers + 1) / 16 + 1;
    cpu_next = 0;
    cpu_busy = cpu_helpers;
#ifdef CPU_TSAN
    cpu_begun = 0;
#endif
    cpu_job_number++;
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
