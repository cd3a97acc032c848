/* The device: checked CUDA calls, what it is called, its memory. Host code
 * only; C11 and CUDA C++. */
#ifndef DEVICE_H
#define DEVICE_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "options.h"
#include "report.h"

/* --- what differs by the GPU's maker: common/musa/ says so before --- */

#ifndef DEVICE_ARCH
#define DEVICE_ARCH "sm_%d%d"
#define DEVICE_SETTING "ARCH=" DEVICE_ARCH
#define DEVICE_TOOLKIT(version)                                                \
    "CUDA %d.%d", (version) / 1000, (version) % 1000 / 10
#define DEVICE_TOOL "nvidia-smi"
#define DEVICE_CHECKER "compute-sanitizer, or "
#define DEVICE_NOTE ""
#endif
#ifndef DEVICE_WARP
#define DEVICE_WARP 32
#endif

/* The threads of a warp, which lesson_find_device() holds against the GPU's.
 * Where they are 128, a shuffle is still among 32 of them; whoever leaves a
 * warp's work to some of its threads takes all of them along. */
enum { WARP_WIDTH = DEVICE_WARP };

/* --- errors --- */

/* Whether the device is the CPU backend: its runtime has no version. May be
 * asked after a fault, too. */
static inline int is_emulated(void)
{
    int version = 0;

    cudaRuntimeGetVersion(&version);
    return version == 0;
}

/* The error of a program that holds no code for this GPU. */
static inline int lesson_is_wrong_arch(cudaError_t error)
{
    return error == cudaErrorNoKernelImageForDevice ||
           error == cudaErrorInvalidDeviceFunction ||
           error == cudaErrorUnsupportedPtxVersion;
}

/* Says what the reader can do about an error, if anything comes to mind. */
static inline void lesson_advise(cudaError_t error)
{
    /* A program of the reader's own has told no name. */
    const char *target = lesson.target[0] != '\0' ? lesson.target : "my.cu";
    struct cudaDeviceProp prop;

    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
        complain(
            "try: `make BACKEND=cpu %s` for the CPU emulation, or " DEVICE_TOOL
            " to see what is wrong with the GPU's driver",
            target);
    else if (lesson_is_wrong_arch(error) &&
             cudaGetDeviceProperties(&prop, 0) == cudaSuccess)
        complain("try: `make " DEVICE_SETTING
                 " %s`; this program was built for "
                 "another architecture than this GPU's",
                 prop.major, prop.minor, target);
    else if (error == cudaErrorMemoryAllocation && lesson.smaller)
        complain("try: a smaller %s", lesson.smaller);
    else if ((error == cudaErrorMisalignedAddress ||
              error == cudaErrorIllegalAddress) &&
             !is_emulated()) /* the emulation has named them */
        complain("try: " DEVICE_CHECKER "`make BACKEND=cpu %s`; "
                 "it names the thread and the address",
                 target);
}

/* Says what failed, where, and what to try; ends the program with status 3. */
static inline void lesson_fail(cudaError_t error, const char *call,
                               const char *file, int line)
{
    complain("%s:%d: %s: %s (error %d, %s)", file, line, call,
             cudaGetErrorString(error), (int)error, cudaGetErrorName(error));
    lesson_advise(error);
    exit(EXIT_DEVICE);
}

/* Around every CUDA call. After a launch: CHECK(cudaGetLastError()), and once
 * more at the call that waits for it. */
#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t check_error = (call);                                      \
        if (check_error != cudaSuccess)                                        \
            lesson_fail(check_error, #call, __FILE__, __LINE__);               \
    } while (0)

/* --- which device --- */

/* Fills in the device: its name, architecture and toolkit. Ends the program
 * with status 3 where its warps are not those that this was built for. */
static inline void lesson_find_device(void)
{
    struct cudaDeviceProp prop;
    int version, count, device;

    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&prop, device));
    CHECK(cudaRuntimeGetVersion(&version));
    snprintf(lesson.gpu, sizeof lesson.gpu, "%s", prop.name);
    lesson.emulated = is_emulated();
    if (lesson.emulated) {
        snprintf(lesson.arch, sizeof lesson.arch, "cpu");
        snprintf(lesson.toolkit, sizeof lesson.toolkit, "cc");
    } else {
        snprintf(lesson.arch, sizeof lesson.arch, DEVICE_ARCH, prop.major,
                 prop.minor);
        snprintf(lesson.toolkit, sizeof lesson.toolkit,
                 DEVICE_TOOLKIT(version));
    }
    if (prop.warpSize == WARP_WIDTH)
        return;
    complain(
        "%s: built for warps of %d threads, and those of the %s, " DEVICE_ARCH
        ", have %d; build it for that one: make " DEVICE_SETTING,
        lesson.program, WARP_WIDTH, prop.name, prop.major, prop.minor,
        prop.warpSize, prop.major, prop.minor);
    exit(EXIT_DEVICE);
}

/* Finds the device and prints the first two lines of the report. Ends the
 * program with status 3 where there is no usable device. */
static inline void report_device(void)
{
    lesson_find_device();
    if (!lesson.csv)
        printf("lesson %d  %s: %s\n", lesson.number, lesson.name, lesson.title);
    if (lesson.emulated)
        report("device", "%s: the times are this CPU's, not a GPU's",
               lesson.gpu);
    else
        report("device", "%s, %s, %s", lesson.gpu, lesson.arch, lesson.toolkit);
    if (DEVICE_NOTE[0] != '\0')
        report("", "%s", DEVICE_NOTE);
}

/* The emulation's; other backends have none, and then its address is NULL. */
extern void cpu_interleave(unsigned long long seed) __attribute__((weak));

/* In the CPU emulation, lets the threads in flight take turns at each atomic,
 * as a model of the contention on a GPU; on a GPU it does nothing. The seed
 * decides who comes first: the same one gives the same counts. */
static inline void model_contention(unsigned long long seed)
{
    if (!cpu_interleave)
        return;
    cpu_interleave(seed);
    report("",
           "the counts below come from a model of one queue (seed %llu), "
           "not from a GPU",
           seed);
}

/* An attribute of the device: how many of what, see CUDA's list. */
static inline int attribute_of(enum cudaDeviceAttr attribute)
{
    int value;

    CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
    return value;
}

/* How many blocks of `threads` threads it takes for n of them; n below
 * 2^31 * threads. */
static inline unsigned blocks_for(long long n, int threads)
{
    return (unsigned)((n + threads - 1) / threads);
}

/* --- memory --- */

/* Ends the program with status 3 unless `bytes` of device memory are free.
 * `options` are those with which less would do, as in "--n". */
static inline void require_memory(unsigned long long bytes, const char *options)
{
    size_t free_bytes, total_bytes;

    lesson.smaller = options;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (bytes <= free_bytes)
        return;
    complain("%s: this needs %.1f GiB of device memory, and %.1f GiB are free; "
             "try a smaller %s",
             lesson.program, (double)bytes / 1073741824.0,
             (double)free_bytes / 1073741824.0, options);
    exit(EXIT_DEVICE);
}

/* `n` halves of device memory that all hold `bits`. Free with cudaFree(). */
static inline void *device_halves(long long n, uint16_t bits)
{
    enum { CHUNK = 1 << 20 };
    static uint16_t chunk[CHUNK];
    char *d_halves;
    long long i;

    for (i = 0; i < CHUNK; i++)
        chunk[i] = bits;
    CHECK(cudaMalloc((void **)&d_halves, (size_t)n * sizeof bits));
    for (i = 0; i < n; i += CHUNK) {
        size_t count = n - i < CHUNK ? (size_t)(n - i) : (size_t)CHUNK;
        CHECK(cudaMemcpy(d_halves + (size_t)i * sizeof bits, chunk,
                         count * sizeof bits, cudaMemcpyHostToDevice));
    }
    return d_halves;
}

/* `count` elements of `size` bytes of the host's memory, all 0. Ends the
 * program with status 3 where it has not so much. Free with free(). */
static inline void *host_memory(long long count, size_t size)
{
    void *memory = calloc((size_t)count, size);

    if (memory)
        return memory;
    complain("%s: out of memory on the host%s%s", lesson.program,
             lesson.smaller ? "; try a smaller " : "",
             lesson.smaller ? lesson.smaller : "");
    exit(EXIT_DEVICE);
}

#endif
