/* CUDA C on a CPU: device memory, errors, events, and the pool of threads that
 * runs a grid. The interface is cuda_runtime.h beside this file. */
#include <cuda_runtime.h>

#include "block.h"
#include "fiber.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* --- errors --- */

static const struct {
    cudaError_t error;
    const char *name, *text;
} cpu_errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice",
     "invalid device ordinal"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout",
     "the launch timed out and was terminated"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress",
     "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure",
     "unspecified launch failure"},
};

static cudaError_t cpu_last_error; /* what cudaGetLastError() returns */
static cudaError_t cpu_sticky;     /* a kernel's fault, once it has shown */
static cudaError_t cpu_pending;    /* a kernel's fault that has not shown yet */

static size_t find_error(cudaError_t error)
{
    size_t i, count = sizeof cpu_errors / sizeof cpu_errors[0];

    for (i = 0; i < count && cpu_errors[i].error != error; i++)
        ;
    return i < count ? i : count;
}

const char *cudaGetErrorName(cudaError_t error)
{
    size_t i = find_error(error);

    return i < sizeof cpu_errors / sizeof cpu_errors[0]
               ? cpu_errors[i].name
               : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    size_t i = find_error(error);

    return i < sizeof cpu_errors / sizeof cpu_errors[0]
               ? cpu_errors[i].text
               : "unrecognized error code";
}

/* The result of an API call: the sticky error wins over everything. */
static cudaError_t answer(cudaError_t error)
{
    if (cpu_sticky != cudaSuccess)
        error = cpu_sticky;
    if (error != cudaSuccess)
        cpu_last_error = error;
    return error;
}

/* The same for a call that waits for the device: here a fault shows. */
static cudaError_t answer_synchronised(cudaError_t error)
{
    if (cpu_pending != cudaSuccess)
        cpu_sticky = cpu_pending;
    return answer(error);
}

cudaError_t cudaPeekAtLastError(void)
{
    return cpu_sticky != cudaSuccess ? cpu_sticky : cpu_last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();

    cpu_last_error = cudaSuccess;
    return error;
}

/* --- device memory --- */

enum { GUARD_BYTES = 1 << 16 }; /* a multiple of every page size in use */

struct allocation {
    uintptr_t begin, end; /* as the program asked for it, to the byte */
    void *mapping;        /* with the guards */
    size_t mapping_bytes;
    struct allocation *next;
};

static struct allocation *allocations;

/* The allocation in which BYTES bytes at P lie, or NULL. */
static const struct allocation *find_allocation(const void *p, size_t bytes)
{
    uintptr_t at = (uintptr_t)p;
    const struct allocation *a = allocations;

    while (a && !(at >= a->begin && at <= a->end && bytes <= a->end - at))
        a = a->next;
    return a;
}

/* From /proc/meminfo where there is one: free memory there leaves out what the
 * page cache would give back. Units: bytes. */
static size_t available_bytes(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib ? (size_t)kib * 1024
               : (size_t)sysconf(_SC_PHYS_PAGES) *
                     (size_t)sysconf(_SC_PAGESIZE) / 2;
}

static size_t physical_bytes(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = available_bytes();
    *total_bytes = physical_bytes();
    return answer(cudaSuccess);
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    struct allocation *a;
    size_t body;
    char *map;

    if (cpu_sticky != cudaSuccess || !pointer)
        return answer(cudaErrorInvalidValue);
    *pointer = NULL;
    if (bytes == 0)
        return answer(cudaSuccess);
    if (bytes > available_bytes())
        return answer(cudaErrorMemoryAllocation);
    body = (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
    a = (struct allocation *)malloc(sizeof *a);
    map = (char *)mmap(NULL, body + 2 * GUARD_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!a || map == MAP_FAILED ||
        mprotect(map + GUARD_BYTES, body, PROT_READ | PROT_WRITE) != 0) {
        if (map != MAP_FAILED)
            munmap(map, body + 2 * GUARD_BYTES);
        free(a);
        return answer(cudaErrorMemoryAllocation);
    }
    *pointer = map + GUARD_BYTES;
    memset(*pointer, 0xff, bytes); /* NaN: what nobody wrote shows up */
    a->begin = (uintptr_t)*pointer;
    a->end = a->begin + bytes;
    a->mapping = map;
    a->mapping_bytes = body + 2 * GUARD_BYTES;
    a->next = allocations;
    allocations = a;
    return answer(cudaSuccess);
}

/* Gives the memory back but keeps its addresses, so that nothing else gets them
 * and a pointer into freed memory always leads to error 700. */
static void retire(struct allocation *a)
{
    if (mmap(a->mapping, a->mapping_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        munmap(a->mapping, a->mapping_bytes);
    free(a);
}

cudaError_t cudaFree(void *pointer)
{
    struct allocation **link = &allocations, *a;

    if (!pointer)
        return answer_synchronised(cudaSuccess);
    while (*link && (*link)->begin != (uintptr_t)pointer)
        link = &(*link)->next;
    a = *link;
    if (!a)
        return answer_synchronised(cudaErrorInvalidValue);
    *link = a->next;
    retire(a);
    return answer_synchronised(cudaSuccess);
}

cudaError_t cudaMemset(void *pointer, int byte, size_t bytes)
{
    if (cpu_pending != cudaSuccess)
        return answer_synchronised(cudaSuccess);
    if (bytes > 0 && !find_allocation(pointer, bytes))
        return answer(cudaErrorInvalidValue);
    if (bytes > 0)
        memset(pointer, byte, bytes);
    return answer(cudaSuccess);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    int to_device =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

    if (cpu_pending != cudaSuccess || bytes == 0)
        return answer_synchronised(cudaSuccess);
    if ((to_device && !find_allocation(to, bytes)) ||
        (from_device && !find_allocation(from, bytes)))
        return answer(cudaErrorInvalidValue);
    memmove(to, from, bytes);
    return answer_synchronised(cudaSuccess);
}

/* --- the device --- */

enum { MAX_POOL_THREADS = 256 };

/* The multiprocessor that interleaved mode emulates: threads and bytes. */
enum { MULTIPROCESSORS = 1, RESIDENT_THREADS = 1024, SHARED_BYTES = 1 << 16 };

/* CPU_THREADS in the environment, else the processors that are online. */
static int pool_threads(void)
{
    const char *wanted = getenv("CPU_THREADS");
    long count = wanted ? strtol(wanted, NULL, 10) : 0;

    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1)
        count = 1;
    return count < MAX_POOL_THREADS ? (int)count : MAX_POOL_THREADS;
}

/* The processor's name, or its architecture where the system keeps none. */
static void find_processor_name(char *name, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(name, size, "%s",
#if defined(__aarch64__)
             "arm64"
#else
             "x86-64"
#endif
    );
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon[strcspn(colon, "\n,")] = '\0';
        snprintf(name, size, "%s", colon + 2);
        break;
    }
    if (f)
        fclose(f);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return answer(cudaSuccess);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return answer(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    return answer(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    char processor[128];

    if (device != 0)
        return answer(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof *prop);
    find_processor_name(processor, sizeof processor);
    snprintf(prop->name, sizeof prop->name, "CPU emulation (%s; %d thread%s)",
             processor, pool_threads(), pool_threads() == 1 ? "" : "s");
    prop->multiProcessorCount = MULTIPROCESSORS;
    prop->maxThreadsPerMultiProcessor = RESIDENT_THREADS;
    prop->warpSize = 32;
    prop->totalGlobalMem = physical_bytes();
    return answer(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    if (device != 0)
        return answer(cudaErrorInvalidDevice);
    *value = attribute == cudaDevAttrMultiProcessorCount ? MULTIPROCESSORS
             : attribute == cudaDevAttrMaxThreadsPerMultiProcessor
                 ? RESIDENT_THREADS
             : attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor
                 ? SHARED_BYTES
                 : 0;
    return answer(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *kernel,
                                 enum cudaFuncAttribute attribute, int value)
{
    (void)kernel;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
        (value < 0 || value > SHARED_BYTES))
        return answer(cudaErrorInvalidValue);
    return answer(cudaSuccess);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          const void *kernel,
                                                          int block_threads,
                                                          size_t shared)
{
    (void)kernel;
    if (block_threads < 1 || block_threads > RESIDENT_THREADS)
        return answer(cudaErrorInvalidValue);
    *blocks = RESIDENT_THREADS / block_threads;
    if (shared > 0 && SHARED_BYTES / shared < (size_t)*blocks)
        *blocks = (int)(SHARED_BYTES / shared);
    return answer(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 0;
    return answer(cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    return answer_synchronised(cudaSuccess);
}

/* --- events --- */

struct cpu_event {
    struct timespec at;
};

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    return answer(*event ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return answer(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return answer_synchronised(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    *ms = (float)((double)(end->at.tv_sec - begin->at.tv_sec) * 1e3 +
                  (double)(end->at.tv_nsec - begin->at.tv_nsec) * 1e-6);
    return answer_synchronised(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return answer(cudaSuccess);
}

/* --- faults in a kernel --- */

_Thread_local struct cpu_thread cpu_self;
int cpu_stopping;

/* Where a pool thread goes on when its kernel faults, and what it then says.
 * The handler of a signal only notes the fault: printing waits for the jump. */
static _Thread_local sigjmp_buf cpu_exit;
static _Thread_local int cpu_in_kernel;
static _Thread_local cudaError_t cpu_fault_error;
static _Thread_local const void *cpu_fault_address;
static _Thread_local size_t cpu_fault_bytes;   /* 0: not an atomic */
static _Thread_local char cpu_fault_text[256]; /* "": no more than that */
#define UNKNOWN_ADDRESS ((const void *)UINTPTR_MAX)

static __attribute__((noreturn)) void fault(cudaError_t error,
                                            const void *address, size_t bytes)
{
    cpu_fault_error = error;
    cpu_fault_address = address;
    cpu_fault_bytes = bytes;
    if (cpu_interleaved)
        cpu_leave_interleaved();
    cpu_abandon_waiting();
    siglongjmp(cpu_exit, 1);
}

void cpu_leave_kernel(void)
{
    siglongjmp(cpu_exit, 1);
}

void cpu_note_failure(cudaError_t error, const char *text)
{
    cpu_fault_error = error;
    snprintf(cpu_fault_text, sizeof cpu_fault_text, "%s", text);
}

void cpu_fail(cudaError_t error, const char *text)
{
    cpu_note_failure(error, text);
    fault(error, UNKNOWN_ADDRESS, 0);
}

/* Another thread's fault: just leave. */
void cpu_leave_if_stopping(void)
{
    if (__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED))
        fault(cudaSuccess, NULL, 0);
}

/* The calling thread's __shared__ variables. */
static _Thread_local uintptr_t cpu_shared_begin, cpu_shared_end;

static int is_shared(const void *p, size_t bytes)
{
    uintptr_t at = (uintptr_t)p;

    return at >= cpu_shared_begin && at < cpu_shared_end &&
           bytes <= cpu_shared_end - at;
}

/* A launch begins: what no thread of it wrote shows up. */
static void fill_shared(void)
{
    static _Thread_local char *begin;
    static _Thread_local size_t bytes;

    if (!begin)
        cpu_find_shared(&begin, &bytes);
    if (bytes > 0)
        memset(begin, 0xff, bytes);
    cpu_shared_begin = (uintptr_t)begin;
    cpu_shared_end = cpu_shared_begin + bytes;
}

/* Whether the place is __shared__; else it is in *a. */
static int require_place(const void *p, size_t size,
                         const struct allocation **a)
{
    cpu_leave_if_stopping();
    if ((uintptr_t)p % size != 0)
        fault(cudaErrorMisalignedAddress, p, size);
    if (is_shared(p, size))
        return 1;
    *a = find_allocation(p, size);
    if (!*a && SHARED_IS_KNOWN)
        fault(cudaErrorIllegalAddress, p, size);
    return !*a;
}

void cpu_check_place(const void *p, size_t size)
{
    const struct allocation *a;

    require_place(p, size, &a);
}

void cpu_check_slowly(const void *p, size_t size)
{
    const struct allocation *a;
    int shared = require_place(p, size, &a);

    if (cpu_interleaved) {
        cpu_take_turn();
        return;
    }
    cpu_self.begin = shared ? cpu_shared_begin : a->begin;
    cpu_self.end = shared ? cpu_shared_end : a->end;
}

/* ThreadSanitizer knows no fences: there a word that all change stands in. */
void cpu_fence(void)
{
#ifdef CPU_TSAN
    static int word;

    __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Plain accesses: the compiler's alignment check ends in a trap instruction,
 * a far access in a guard page or in nothing. */
static const int cpu_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP};
enum { SIGNALS = sizeof cpu_signals / sizeof cpu_signals[0] };
static struct sigaction cpu_old_actions[SIGNALS];

static void handle_signal(int signal, siginfo_t *info, void *context)
{
    int i;

    (void)context;
    if (cpu_in_kernel) {
        if (signal == SIGILL || signal == SIGTRAP)
            fault(cudaErrorMisalignedAddress, UNKNOWN_ADDRESS, 0);
        if (info->si_code != SEGV_MAPERR && info->si_code != SEGV_ACCERR)
            fault(cudaErrorIllegalAddress, UNKNOWN_ADDRESS, 0);
        fault(cudaErrorIllegalAddress, info->si_addr, 0);
    }
    for (i = 0; i < SIGNALS; i++) /* the host's own crash: as without us */
        if (cpu_signals[i] == signal)
            sigaction(signal, &cpu_old_actions[i], NULL);
    if (info->si_code <= 0)
        raise(signal); /* sent by a process: no instruction to run again */
}

static void install_handlers(void)
{
    struct sigaction action;
    int i;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle_signal;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (i = 0; i < SIGNALS; i++)
        sigaction(cpu_signals[i], &action, &cpu_old_actions[i]);
}

/* --- the pool --- */

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

static void report_failure(void)
{
    const struct cpu_thread *self = &cpu_self;

    fprintf(stderr, "CPU emulation: %s, block (%u,%u,%u)", cpu_job.kernel,
            self->block.x, self->block.y, self->block.z);
    if (cpu_fault_error == cudaErrorLaunchFailure) /* else of the block */
        fprintf(stderr, ", thread (%u,%u,%u)", self->thread.x, self->thread.y,
                self->thread.z);
    fprintf(stderr, ": %s (error %d)\n", cpu_fault_text, (int)cpu_fault_error);
}

static void report_fault(void)
{
    const struct cpu_thread *self = &cpu_self;
    char what[48] = "a plain access", where[32] = "";

    if (cpu_fault_bytes)
        snprintf(what, sizeof what, "%s %zu-byte atomic",
                 cpu_fault_bytes == 8 ? "an" : "a", cpu_fault_bytes);
    if (cpu_fault_address != UNKNOWN_ADDRESS)
        snprintf(where, sizeof where, " at 0x%" PRIxPTR,
                 (uintptr_t)cpu_fault_address);
    fprintf(stderr,
            "CPU emulation: %s, block (%u,%u,%u), thread (%u,%u,%u): %s%s is "
            "%s (error %d)\n",
            cpu_job.kernel, self->block.x, self->block.y, self->block.z,
            self->thread.x, self->thread.y, self->thread.z, what, where,
            cpu_fault_error == cudaErrorMisalignedAddress
                ? "not aligned to its size"
                : "outside every allocation",
            (int)cpu_fault_error);
}

/* The first fault counts and is printed; it stops the other pool threads at
 * their next atomic or block. */
static void end_with_fault(void)
{
    if (cpu_fault_error == cudaSuccess)
        return;
    pthread_mutex_lock(&cpu_lock);
    if (cpu_pending == cudaSuccess) {
        cpu_pending = cpu_fault_error;
        if (cpu_fault_text[0])
            report_failure();
        else
            report_fault();
    }
    pthread_mutex_unlock(&cpu_lock);
    __atomic_store_n(&cpu_stopping, 1, __ATOMIC_RELAXED);
}

/* Takes chunks of blocks until there are none. */
static void work(void)
{
    cpu_self.block_dim = cpu_job.block;
    cpu_self.grid_dim = cpu_job.grid;
    cpu_self.begin = cpu_self.end = 0;
    fill_shared();
    if (sigsetjmp(cpu_exit, 0) == 0) {
        cpu_in_kernel = 1;
        while (!__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED)) {
            unsigned long long first =
                __atomic_fetch_add(&cpu_next, cpu_chunk, __ATOMIC_RELAXED);
            unsigned long long i, last = first + cpu_chunk;
            if (first >= cpu_job.blocks)
                break;
            for (i = first; i < last && i < cpu_job.blocks; i++)
                run_block(i);
        }
        cpu_in_kernel = 0;
    } else {
        cpu_in_kernel = 0;
        end_with_fault();
        cpu_drop_waiting();
    }
}

static void *help(void *unused)
{
    unsigned long seen = 0;

    (void)unused;
    for (;;) {
        pthread_mutex_lock(&cpu_lock);
        while (cpu_job_number == seen)
            pthread_cond_wait(&cpu_start, &cpu_lock);
        seen = cpu_job_number;
        pthread_mutex_unlock(&cpu_lock);
        work();
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
    int i, wanted = pool_threads() - 1;

    for (i = 0; i < wanted; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, NULL) != 0)
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

/* On the calling thread: the counts must not depend on the pool. */
static void launch_interleaved(size_t shared)
{
    int blocks = 0;

    cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, NULL,
        (int)(cpu_job.block.x * cpu_job.block.y * cpu_job.block.z), shared);
    cpu_self.block_dim = cpu_job.block;
    cpu_self.grid_dim = cpu_job.grid;
    cpu_self.begin = cpu_self.end = 0;
    fill_shared();
    cpu_fault_error = cudaSuccess;
    cpu_in_kernel = 1;
    if (cpu_run_interleaved((unsigned)blocks) != 0)
        answer(cudaErrorMemoryAllocation);
    cpu_in_kernel = 0;
    end_with_fault();
}

static void launch_on_pool(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start_pool);
    pthread_mutex_lock(&cpu_lock);
    cpu_chunk = cpu_job.blocks / ((unsigned)cpu_helpers + 1) / 16 + 1;
    cpu_next = 0;
    cpu_busy = cpu_helpers;
    cpu_job_number++;
    pthread_cond_broadcast(&cpu_start);
    pthread_mutex_unlock(&cpu_lock);
    work();
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
    if (cpu_sticky != cudaSuccess || cpu_pending != cudaSuccess)
        return;
    if (!shape_is_legal(grid, block) || shared > SHARED_BYTES) {
        answer(cudaErrorInvalidConfiguration);
        return;
    }
    pthread_once(&once, install_handlers);
    cpu_job.kernel = kernel;
    cpu_job.grid = grid;
    cpu_job.block = block;
    cpu_job.run_block = run;
    cpu_job.args = args;
    cpu_job.blocks = (unsigned long long)grid.x * grid.y * grid.z;
    if (cpu_interleaved)
        launch_interleaved(shared);
    else
        launch_on_pool();
}

/* --- float atomics --- */

/* An atomic add of float in global memory flushes subnormals, before and after,
 * to a zero of the same sign; one in shared memory keeps them (PTX ISA,
 * atom.add.f32). */
static float flush(float f, int shared)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits); /* a CPU under DAZ sees no subnormals */
    return shared || bits & 0x7f800000 ? f : copysignf(0.0f, f);
}

/* The NaN that a GPU's float arithmetic gives. */
static uint32_t float_bits(float f)
{
    uint32_t bits = 0x7fffffff;

    if (f == f)
        memcpy(&bits, &f, sizeof bits);
    return bits;
}

float cpu_atomic_add_float(float *p, float v)
{
    uint32_t *word = (uint32_t *)p;
    uint32_t old, sum;
    float value;
    int shared = is_shared(p, sizeof *p);

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        memcpy(&value, &old, sizeof value);
        sum =
            float_bits(flush(flush(value, shared) + flush(v, shared), shared));
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return value;
}

/* An atomic add of double keeps subnormals, and a NaN as it is, that of v
 * first; in shared memory it is an addition like any other, which makes the NaN
 * a quiet one and takes that of the cell first. Infinities that cancel give the
 * NaN below (all of it: an H200 under CUDA 13.0). */
static uint64_t double_sum_bits(double value, double v, int shared)
{
    double sum = value + v, nan = v;
    uint64_t bits = 0xfff8000000000000;

    if (v == v || (shared && value != value))
        nan = value;
    if (nan != nan) {
        memcpy(&bits, &nan, sizeof bits);
        bits |= shared ? 0x0008000000000000 : 0;
    } else if (sum == sum) {
        memcpy(&bits, &sum, sizeof bits);
    }
    return bits;
}

double cpu_atomic_add_double(double *p, double v)
{
    uint64_t *word = (uint64_t *)p;
    uint64_t old, sum;
    double value;
    int shared = is_shared(p, sizeof *p);

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        memcpy(&value, &old, sizeof value);
        sum = double_sum_bits(value, v, shared);
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return value;
}
