/* Where the calling thread's __shared__ variables lie: cuda_runtime.h puts them
 * all into one section of the thread-local storage. */
#define _GNU_SOURCE
#include "shared.h"

_Thread_local struct cpu_region cpu_shared;

#ifdef __ELF__
#include <link.h>

/* The section in the program's file, from the linker; none: NULL. */
extern char __start_cpu_shared_memory[] __attribute__((weak));
extern char __stop_cpu_shared_memory[] __attribute__((weak));

/* The first object is the program itself, with its thread-local storage. */
static int find_program(struct dl_phdr_info *info, size_t size, void *result)
{
    int i;

    (void)size;
    for (i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *(uintptr_t *)result =
                (uintptr_t)info->dlpi_tls_data -
                (uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

static void find_shared(void)
{
    uintptr_t begin = (uintptr_t)__start_cpu_shared_memory, offset = 0;
    uintptr_t end = (uintptr_t)__stop_cpu_shared_memory;

    if (begin == end)
        return;
    dl_iterate_phdr(find_program, &offset);
    cpu_shared.begin = (char *)(begin + offset);
    cpu_shared.end = (char *)(end + offset);
}
#else
static void find_shared(void)
{
}
#endif

void cpu_fill_shared(void)
{
    if (!cpu_shared.begin)
        find_shared();
    if (cpu_shared.begin)
        memset(cpu_shared.begin, 0xff,
               (size_t)(cpu_shared.end - cpu_shared.begin));
}
