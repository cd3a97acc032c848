/* Where the calling thread's __shared__ variables lie: cuda_runtime.h puts them
 * all into one section of the thread-local storage. */
#define _GNU_SOURCE
#include "block.h"

#ifdef __ELF__
#include <link.h>

/* The section in the program's file, from the linker; none: NULL. */
extern char __start_cpu_shared[] __attribute__((weak));
extern char __stop_cpu_shared[] __attribute__((weak));

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

void cpu_find_shared(char **begin, size_t *bytes)
{
    uintptr_t offset = 0;

    *begin = NULL;
    *bytes =
        (size_t)((uintptr_t)__stop_cpu_shared - (uintptr_t)__start_cpu_shared);
    if (*bytes == 0)
        return;
    dl_iterate_phdr(find_program, &offset);
    *begin = (char *)((uintptr_t)__start_cpu_shared + offset);
}
#else
void cpu_find_shared(char **begin, size_t *bytes)
{
    *begin = NULL;
    *bytes = 0;
}
#endif
