/* Device memory: allocations between guard pages, __device__ variables, copies.
 */
#include "device_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lines.h"
#include "status.h"

enum { GUARD_BYTES = 1 << 16 }; /* a multiple of every page size in use */

struct allocation {
    struct cpu_region region; /* as the program asked for it */
    void *caller;             /* of cudaMalloc(): where that returned to */
    void *mapping;            /* with the guards */
    size_t mapping_bytes;
    struct allocation *next;
};

static struct allocation *allocations;

/* --- what lies where --- */

static const struct allocation *search(const void *p, size_t bytes)
{
    const struct allocation *a = allocations;

    while (a && !cpu_holds(&a->region, p, bytes))
        a = a->next;
    return a;
}

static const struct cpu_region *find_allocation(const void *p, size_t bytes)
{
    const struct allocation *a = search(p, bytes);

    return a ? &a->region : NULL;
}

void *cpu_find_caller(const void *p)
{
    const struct allocation *a = search(p, 1);

    return a ? a->caller : NULL;
}

/* The list that CPU_DEVICE_VARIABLE() makes, from the linker; none: NULL. */
#ifdef __ELF__
extern const struct cpu_region __start_cpu_variables[] __attribute__((weak));
extern const struct cpu_region __stop_cpu_variables[] __attribute__((weak));
#else
#define __start_cpu_variables ((const struct cpu_region *)NULL)
#define __stop_cpu_variables ((const struct cpu_region *)NULL)
#endif

static const struct cpu_region *find_variable(const void *p, size_t bytes)
{
    const struct cpu_region *v = __start_cpu_variables;

    while (v != __stop_cpu_variables && !cpu_holds(v, p, bytes))
        v++;
    return v != __stop_cpu_variables ? v : NULL;
}

const struct cpu_region *cpu_find_region(const void *p, size_t bytes)
{
    const struct cpu_region *region = find_allocation(p, bytes);

    return region ? region : find_variable(p, bytes);
}

/* --- how much there is --- */

size_t cpu_physical_bytes(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* From /proc/meminfo where there is one: free memory there leaves out what the
 * page cache would give back. */
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
    return kib ? (size_t)kib * 1024 : cpu_physical_bytes() / 2;
}

/* The first number in a file of the system; 0 where there is none. */
static unsigned long read_number(const char *path)
{
    FILE *f = fopen(path, "r");
    unsigned long number = 0;

    if (f && fscanf(f, "%lu", &number) != 1)
        number = 0;
    if (f)
        fclose(f);
    return number;
}

static unsigned long count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long lines = 0;
    int c;

    while (f && (c = getc(f)) != EOF)
        lines += c == '\n';
    if (f)
        fclose(f);
    return lines;
}

const char *cpu_memory_limit(void)
{
    enum { NEARLY = 8 }; /* what one more request may need */
    static _Thread_local char text[128];
    unsigned long maps = count_maps();
    unsigned long most = read_number("/proc/sys/vm/max_map_count");
    struct rlimit space;

    if (most > 0 && maps + NEARLY >= most)
        snprintf(text, sizeof text, "vm.max_map_count allows %lu memory maps",
                 most);
    else if (getrlimit(RLIMIT_AS, &space) == 0 &&
             space.rlim_cur != RLIM_INFINITY)
        snprintf(text, sizeof text, "ulimit -v allows %llu KiB",
                 (unsigned long long)space.rlim_cur / 1024);
    else
        return "the system has no more memory";
    return text;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = available_bytes();
    *total_bytes = cpu_physical_bytes();
    return cpu_answer(cudaSuccess);
}

/* --- allocations --- */

/* A mapping with guards around BODY bytes, or NULL. */
static char *map_between_guards(size_t body)
{
    char *map = (char *)mmap(NULL, body + 2 * GUARD_BYTES, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map + GUARD_BYTES, body, PROT_READ | PROT_WRITE) == 0)
        return map;
    munmap(map, body + 2 * GUARD_BYTES);
    return NULL;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    struct allocation *a;
    size_t body;

    if (!pointer || cpu_answer(cudaSuccess) != cudaSuccess)
        return cpu_answer(cudaErrorInvalidValue);
    *pointer = NULL;
    if (bytes == 0)
        return cpu_answer(cudaSuccess);
    if (bytes > available_bytes())
        return cpu_answer(cudaErrorMemoryAllocation);
    body = (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
    a = (struct allocation *)malloc(sizeof *a);
    if (!a || !(a->mapping = map_between_guards(body))) {
        free(a);
        complain("CPU emulation: no %zu bytes for cudaMalloc: %s", bytes,
                 cpu_memory_limit());
        return cpu_answer(cudaErrorMemoryAllocation);
    }
    *pointer = (char *)a->mapping + GUARD_BYTES;
    memset(*pointer, 0xff, bytes); /* NaN: what nobody wrote shows up */
    a->region.begin = (char *)*pointer;
#ifdef CAS_ATOMICS /* these swap the 4 bytes around the last half, too */
    a->region.end = a->region.begin + (bytes + 3) / 4 * 4;
#else
    a->region.end = a->region.begin + bytes;
#endif
    a->mapping_bytes = body + 2 * GUARD_BYTES;
    a->caller = __builtin_return_address(0);
    a->next = allocations;
    allocations = a;
    return cpu_answer(cudaSuccess);
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
        return cpu_answer_synchronised(cudaSuccess);
    while (*link && (*link)->region.begin != (char *)pointer)
        link = &(*link)->next;
    a = *link;
    if (!a)
        return cpu_answer_synchronised(cudaErrorInvalidValue);
    *link = a->next;
    retire(a);
    return cpu_answer_synchronised(cudaSuccess);
}

/* --- filling and copying --- */

cudaError_t cudaMemset(void *pointer, int byte, size_t bytes)
{
    if (cpu_has_faulted())
        return cpu_answer_synchronised(cudaSuccess);
    if (bytes > 0 && !find_allocation(pointer, bytes))
        return cpu_answer(cudaErrorInvalidValue);
    if (bytes > 0)
        memset(pointer, byte, bytes);
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    int to_device =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

    if (cpu_has_faulted() || bytes == 0)
        return cpu_answer_synchronised(cudaSuccess);
    if ((to_device && !find_allocation(to, bytes)) ||
        (from_device && !find_allocation(from, bytes)))
        return cpu_answer(cudaErrorInvalidValue);
    memmove(to, from, bytes);
    return cpu_answer_synchronised(cudaSuccess);
}
