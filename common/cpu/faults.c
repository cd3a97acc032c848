/* Faults in a kernel: how a thread leaves it, and the line that says why. */
#include "faults.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "block.h"
#include "interleave.h"
#include "lines.h"
#include "pool.h"
#include "status.h"

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

/* --- leaving --- */

void cpu_fault_at(cudaError_t error, const void *address, size_t bytes)
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
    cpu_fault_at(error, UNKNOWN_ADDRESS, 0);
}

void cpu_trap(void)
{
    cpu_fail(cudaErrorLaunchFailure, "it called __trap()");
}

void cpu_leave_if_stopping(void)
{
    if (__atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED))
        cpu_fault_at(cudaSuccess, NULL, 0);
}

/* --- signals --- */

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
            cpu_fault_at(cudaErrorMisalignedAddress, UNKNOWN_ADDRESS, 0);
        if (info->si_code != SEGV_MAPERR && info->si_code != SEGV_ACCERR)
            cpu_fault_at(cudaErrorIllegalAddress, UNKNOWN_ADDRESS, 0);
        cpu_fault_at(cudaErrorIllegalAddress, info->si_addr, 0);
    }
    for (i = 0; i < SIGNALS; i++) /* the host's own crash: as without us */
        if (cpu_signals[i] == signal)
            sigaction(signal, &cpu_old_actions[i], NULL);
    if (info->si_code <= 0)
        raise(signal); /* sent by a process: no instruction to run again */
}

void cpu_install_handlers(void)
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

/* --- in words --- */

static void report_failure(void)
{
    const struct cpu_thread *self = &cpu_self;
    char thread[48] = "";

    if (cpu_fault_error == cudaErrorLaunchFailure) /* else of the block */
        snprintf(thread, sizeof thread, ", thread (%u,%u,%u)", self->thread.x,
                 self->thread.y, self->thread.z);
    complain("CPU emulation: %s, block (%u,%u,%u)%s: %s (error %d)",
             cpu_job.kernel, self->block.x, self->block.y, self->block.z,
             thread, cpu_fault_text, (int)cpu_fault_error);
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
    complain("CPU emulation: %s, block (%u,%u,%u), thread (%u,%u,%u): %s%s is "
             "%s (error %d)",
             cpu_job.kernel, self->block.x, self->block.y, self->block.z,
             self->thread.x, self->thread.y, self->thread.z, what, where,
             cpu_fault_error == cudaErrorMisalignedAddress
                 ? "not aligned to its size"
                 : "outside every allocation",
             (int)cpu_fault_error);
}

/* --- around a kernel --- */

/* The first fault counts and is printed; it stops the other pool threads at
 * their next atomic or block. */
static void end_with_fault(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    if (cpu_fault_error == cudaSuccess)
        return;
    pthread_mutex_lock(&lock);
    if (cpu_record_fault(cpu_fault_error)) {
        if (cpu_fault_text[0])
            report_failure();
        else
            report_fault();
    }
    pthread_mutex_unlock(&lock);
    __atomic_store_n(&cpu_stopping, 1, __ATOMIC_RELAXED);
}

void cpu_run_guarded(void (*run)(void))
{
    cpu_fault_error = cudaSuccess;
    cpu_fault_text[0] = '\0';
    cpu_in_kernel = 1;
    if (sigsetjmp(cpu_exit, 0) == 0)
        run();
    else
        cpu_drop_waiting();
    cpu_in_kernel = 0;
    end_with_fault();
}
