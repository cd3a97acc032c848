/* What ThreadSanitizer finds in a kernel, in one sentence.
 *
 * Blocks race where one of them writes without an atomic what another one uses
 * in the same launch. That ends the program, with status 1. A plain read of
 * what others change by atomics is left alone: a compare-and-swap loop begins
 * with one. Threads of one block run on one pool thread and cannot race here,
 * nor can they in shared memory. */
#include "fiber.h"

#ifdef CPU_TSAN
#include <stdio.h>
#include <unistd.h>

#include "device_memory.h"
#include "pool.h"

enum { FRAMES = 16, PLACE_BYTES = 256, RACE_STATUS = 1 };

/* ThreadSanitizer's own, of gcc and clang; it has no header for them. */
void __tsan_on_report(void *report);
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

static int get_access(void *report, unsigned long index, struct access *a)
{
    int thread;

    memset(a, 0, sizeof *a);
    return __tsan_get_report_mop(report, index, &thread, &a->address, &a->size,
                                 &a->write, &a->atomic, a->trace, FRAMES);
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

static void say(const struct access *write_access, int is_own)
{
    const struct cpu_thread *self = &cpu_self;
    char place[PLACE_BYTES], memory[PLACE_BYTES], block[64], text[1024];
    ssize_t written;

    find_place(write_access, place);
    describe_memory(write_access->address, memory, sizeof memory);
    snprintf(block, sizeof block, "block (%u,%u,%u)", self->block.x,
             self->block.y, self->block.z);
    snprintf(text, sizeof text,
             "race      %s: %s of %s writes without an atomic what %s uses in "
             "the same launch (%s): add with atomicAdd(), or change it by "
             "atomicExch() or a loop around atomicCAS()\n",
             place, is_own ? block : "a block", cpu_job.kernel,
             is_own ? "another block" : block, memory);
    written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

/* Called for each report, by the thread that has just come to know of a race:
 * the first access is its own. */
void __tsan_on_report(void *report)
{
    struct access own, other;
    const char *what;
    void *no_trace[1];
    int n[7];

    if (!__tsan_get_report_data(report, &what, &n[0], &n[1], &n[2], &n[3],
                                &n[4], &n[5], &n[6], no_trace, 0) ||
        strcmp(what, "data-race") != 0 || !get_access(report, 0, &own) ||
        !get_access(report, 1, &other))
        return;
    if (own.write && !own.atomic)
        say(&own, 1);
    else if (other.write && !other.atomic)
        say(&other, 0);
    else
        return;
    _exit(RACE_STATUS);
}
#else
typedef int cpu_no_races; /* C wants something in every file */
#endif
