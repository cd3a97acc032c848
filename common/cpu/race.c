/* What ThreadSanitizer finds in a kernel, in one sentence.
 *
 * Blocks race where one of them writes without an atomic what another one uses
 * in the same launch. That stops the launch and ends the program, with
 * status 1. A plain read of what others change by atomics is left alone: a
 * compare-and-swap loop begins with one. Threads of one block run on one pool
 * thread and cannot race here, nor can they in shared memory. */
#include "race.h"

#ifdef CPU_TSAN
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device_memory.h"
#include "lines.h"
#include "pool.h"

enum { FRAMES = 16, PLACE_BYTES = 256, RACE_STATUS = 1, NOBODY = 2 };

/* ThreadSanitizer's own, of gcc and clang; it has no header for them. */
void __tsan_on_report(void *report);
const char *__tsan_default_options(void);
int __tsan_get_report_data(void *report, const char **description, int *count,
                           int *stacks, int *accesses, int *locations,
                           int *mutexes, int *threads, int *unique_threads,
                           void **sleep_trace, unsigned long trace_size);
int __tsan_get_report_mop(void *report, unsigned long index, int *thread,
                          void **address, int *size, int *write, int *atomic,
                          void **trace, unsigned long trace_size);
void __sanitizer_symbolize_pc(void *pc, const char *format, char *text,
                              size_t size);

struct access {
    void *address, *trace[FRAMES];
    int size, write, atomic;
};

/* The first race; said when its launch is over. */
static struct access accesses[2]; /* the thread's that found it; the other's */
static uint3 block;               /* of the former */
static int guilty = NOBODY;       /* which of the two is the plain write */

/* ThreadSanitizer holds a lock, and this must do nothing that it looks at. */
#if defined(__has_attribute) &&                                                \
    __has_attribute(disable_sanitizer_instrumentation)
#define UNSEEN __attribute__((disable_sanitizer_instrumentation))
#else
#define UNSEEN __attribute__((no_sanitize("thread")))
#endif

/* ThreadSanitizer calls it at each report. */
UNSEEN void __tsan_on_report(void *report)
{
    const char *what;
    void *no_trace[1];
    int n[7], i, k, thread;

    if (guilty != NOBODY ||
        !__tsan_get_report_data(report, &what, &n[0], &n[1], &n[2], &n[3],
                                &n[4], &n[5], &n[6], no_trace, 0) ||
        what[0] != 'd' || n[2] < 2) /* "data-race" */
        return;
    for (i = 0; i < 2; i++) {
        for (k = 0; k < FRAMES; k++)
            *(void *volatile *)&accesses[i].trace[k] = NULL; /* no memset() */
        __tsan_get_report_mop(report, (unsigned long)i, &thread,
                              &accesses[i].address, &accesses[i].size,
                              &accesses[i].write, &accesses[i].atomic,
                              accesses[i].trace, FRAMES);
    }
    for (i = 0; i < 2 && guilty == NOBODY; i++)
        if (accesses[i].write && !accesses[i].atomic)
            guilty = i;
    block = cpu_self.block;
    if (guilty != NOBODY)
        *(volatile int *)&cpu_stopping = 1;
}

/* FILE:LINE of the code that returns to `pc`, without the directory in which
 * the program runs; 0 where it is not known, or part of the emulation. */
static int find_line(void *pc, char *place)
{
    char directory[PLACE_BYTES];
    size_t n;

    if (!pc)
        return 0;
    __sanitizer_symbolize_pc(pc, "%s:%l", place, PLACE_BYTES - 1);
    if (!strchr(place, ':') || place[0] == '<' || strstr(place, "common/cpu/"))
        return 0;
    if (!getcwd(directory, sizeof directory))
        return 1;
    n = strlen(directory);
    if (strncmp(place, directory, n) == 0 && place[n] == '/')
        memmove(place, place + n + 1, strlen(place + n));
    return 1;
}

static void find_place(const struct access *a, char *place)
{
    int i = 0;

    while (i < FRAMES && !find_line(a->trace[i], place))
        i++;
    if (i == FRAMES)
        snprintf(place, PLACE_BYTES, "a line that is not known");
}

/* "byte 4 of the 128 that line 62 allocates" */
static void describe_memory(const void *p, char *text, size_t size)
{
    const struct cpu_region *region = cpu_find_region(p, 1);
    char place[PLACE_BYTES];
    int n;

    if (!region) {
        snprintf(text, size, "address %p", p);
        return;
    }
    n = snprintf(text, size, "byte %zu of the %zu ",
                 (size_t)((const char *)p - region->begin),
                 (size_t)(region->end - region->begin));
    if (!cpu_find_caller(p))
        snprintf(text + n, size - (size_t)n, "of a __device__ variable");
    else if (find_line(cpu_find_caller(p), place))
        snprintf(text + n, size - (size_t)n, "that line %s allocates",
                 strrchr(place, ':') + 1);
    else
        snprintf(text + n, size - (size_t)n, "of an allocation");
}

void cpu_say_race(void)
{
    char place[PLACE_BYTES], memory[PLACE_BYTES], finder[64];

    if (guilty == NOBODY)
        return;
    find_place(&accesses[guilty], place);
    describe_memory(accesses[guilty].address, memory, sizeof memory);
    snprintf(finder, sizeof finder, "block (%u,%u,%u)", block.x, block.y,
             block.z);
    fflush(stdout);
    complain("race      %s: %s of %s writes without an atomic what %s uses in "
             "the same launch (%s): add with atomicAdd(), or change it by "
             "atomicExch() or a loop around atomicCAS()",
             place, guilty == 0 ? finder : "a block", cpu_job.kernel,
             guilty == 0 ? "another block" : finder, memory);
    exit(RACE_STATUS);
}

/* The environment variable TSAN_OPTIONS comes after these. All that a thread
 * has done is remembered; a place that was reported once is reported again, as
 * the first report may have been a read. The emulation leaves its handler of
 * SIGSEGV for good. The status of a program is its own. */
const char *__tsan_default_options(void)
{
    return "history_size=7:suppress_equal_addresses=0:report_signal_unsafe=0:"
           "atexit_sleep_ms=0:exitcode=0";
}
#else
typedef int cpu_no_races; /* C wants something in every file */
#endif
