/* The one device, its name and its limits. */
#include "properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device_memory.h"
#include "fiber.h"
#include "lines.h"
#include "status.h"

/* More processors than USEFUL_THREADS hardly make a lesson faster; each pool
 * thread may need a stack for each of 1024 threads that wait. */
enum { USEFUL_THREADS = 32, MOST_THREADS = 256, STATUS_USAGE = 2 };

#ifndef CPU_TSAN
static int threads_wanted(const char *wanted)
{
    char *end;
    long count = strtol(wanted, &end, 10);

    if (*wanted >= '0' && *wanted <= '9' && *end == '\0' && count >= 1 &&
        count <= MOST_THREADS)
        return (int)count;
    complain("CPU_THREADS takes a whole number from 1 to %d, not \"%s\"",
             MOST_THREADS, wanted);
    exit(STATUS_USAGE);
}
#endif

/* CPU_THREADS in the environment, else the processors that are online; with
 * ThreadSanitizer always 8: see run_blocks(). */
int cpu_pool_threads(void)
{
#ifdef CPU_TSAN
    return 8;
#else
    const char *wanted = getenv("CPU_THREADS");
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    if (wanted && *wanted)
        return threads_wanted(wanted);
    return count < 1 ? 1 : count < USEFUL_THREADS ? (int)count : USEFUL_THREADS;
#endif
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
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    return cpu_answer(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    char processor[128];

    if (device != 0)
        return cpu_answer(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof *prop);
    find_processor_name(processor, sizeof processor);
    snprintf(prop->name, sizeof prop->name, "CPU emulation (%s; %d thread%s)",
             processor, cpu_pool_threads(), cpu_pool_threads() == 1 ? "" : "s");
    prop->multiProcessorCount = MULTIPROCESSORS;
    prop->maxThreadsPerMultiProcessor = RESIDENT_THREADS;
    prop->warpSize = 32;
    prop->totalGlobalMem = cpu_physical_bytes();
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    if (device != 0)
        return cpu_answer(cudaErrorInvalidDevice);
    *value = attribute == cudaDevAttrMultiProcessorCount ? MULTIPROCESSORS
             : attribute == cudaDevAttrMaxThreadsPerMultiProcessor
                 ? RESIDENT_THREADS
             : attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor
                 ? SHARED_BYTES
                 : 0;
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *kernel,
                                 enum cudaFuncAttribute attribute, int value)
{
    (void)kernel;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
        (value < 0 || value > SHARED_BYTES))
        return cpu_answer(cudaErrorInvalidValue);
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          const void *kernel,
                                                          int block_threads,
                                                          size_t shared)
{
    (void)kernel;
    if (block_threads < 1 || block_threads > RESIDENT_THREADS)
        return cpu_answer(cudaErrorInvalidValue);
    *blocks = RESIDENT_THREADS / block_threads;
    if (shared > 0 && SHARED_BYTES / shared < (size_t)*blocks)
        *blocks = (int)(SHARED_BYTES / shared);
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 0;
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cpu_answer_synchronised(cudaSuccess);
}
