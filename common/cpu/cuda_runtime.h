/* CUDA C on a CPU: the part of <cuda_runtime.h> that the course uses.
 *
 * A lesson is compiled as C11 against this header after launch.awk has turned
 * its launches into plain C. Values are the GPU's; times are the CPU's. What is
 * not here does not compile, so nothing is emulated by halves.
 *
 * How it runs: a launch hands its blocks to a pool of POSIX threads. One pool
 * thread runs the threads of a block in order, through cpu_next_thread(). A
 * thread that has to wait for others of its block is set aside on a fiber, see
 * block.c. */
#ifndef CPU_CUDA_RUNTIME_H
#define CPU_CUDA_RUNTIME_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#error "the CPU backend is C11: compile with cc -x c, or use nvcc for a GPU"
#endif

/* --- the language --- */

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* A pool thread runs one block at a time, so that what the threads of a block
 * share is the pool thread's own. All of it is kept together, for cpu_check()
 * and to be filled with 0xff as a launch begins: a block finds there what an
 * earlier block left. Arrays of fixed size only. */
#define __shared__ static _Thread_local CPU_SECTION(cpu_shared_memory)

/* Sections of which the linker tells begin and end. Where there are none
 * (macOS) the emulation does not know these variables: it lets an atomic touch
 * whatever cudaMalloc() did not give. */
#ifdef __ELF__
enum { CPU_HAS_SECTIONS = 1 };
#define CPU_SECTION(name) __attribute__((section(#name)))
#else
enum { CPU_HAS_SECTIONS = 0 };
#define CPU_SECTION(name)
#endif

struct cpu_region {
    char *begin, *end;
};

/* After each __device__ variable, by launch.awk: atomics may work there. */
#define CPU_DEVICE_VARIABLE(number, name)                                      \
    static const struct cpu_region cpu_variable_##number                       \
        __attribute__((used, aligned(sizeof(char *))))                         \
        CPU_SECTION(cpu_variables) = {(char *)&(name), (char *)(&(name) + 1)}

typedef struct {
    unsigned x, y, z;
} uint3;

typedef struct {
    unsigned x, y, z;
} dim3;

typedef struct {
    float x, y;
} __align__(8) float2;

typedef struct {
    float x, y, z, w;
} __align__(16) float4;

typedef struct {
    int x, y;
} __align__(8) int2;

typedef struct {
    int x, y, z, w;
} __align__(16) int4;

typedef struct {
    unsigned x, y;
} __align__(8) uint2;

typedef struct {
    unsigned x, y, z, w;
} __align__(16) uint4;

typedef struct {
    unsigned long long x, y;
} __align__(16) ulonglong2;

#define CPU_DEFINE_MAKE_2(type, part)                                          \
    static inline type make_##type(part x, part y)                             \
    {                                                                          \
        type v = {x, y};                                                       \
        return v;                                                              \
    }

#define CPU_DEFINE_MAKE_4(type, part)                                          \
    static inline type make_##type(part x, part y, part z, part w)             \
    {                                                                          \
        type v = {x, y, z, w};                                                 \
        return v;                                                              \
    }

CPU_DEFINE_MAKE_2(float2, float)
CPU_DEFINE_MAKE_4(float4, float)
CPU_DEFINE_MAKE_2(int2, int)
CPU_DEFINE_MAKE_4(int4, int)
CPU_DEFINE_MAKE_2(uint2, unsigned)
CPU_DEFINE_MAKE_4(uint4, unsigned)
CPU_DEFINE_MAKE_2(ulonglong2, unsigned long long)

static inline dim3 cpu_dim3_from_count(long long x)
{
    /* A count that does not fit becomes 0, which no launch accepts. */
    dim3 d = {x > 0 && x <= UINT_MAX ? (unsigned)x : 0, 1, 1};
    return d;
}

static inline dim3 cpu_dim3_same(dim3 d)
{
    return d;
}

/* clang-format off */
#define cpu_dim3(x)                                                            \
    _Generic((x), dim3: cpu_dim3_same, default: cpu_dim3_from_count)(x)
/* clang-format on */

/* --- errors: CUDA's numbers, so that a report reads the same --- */

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701, /* here: no stacks for its threads */
    cudaErrorLaunchTimeout = 702, /* here: the threads of a block deadlocked */
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719
} cudaError_t;

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* The last error, which is then forgotten unless it is sticky. After a fault
 * in a kernel (700, 702, 716, 719) every later call returns that fault, as on a
 * GPU. */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

/* --- the device --- */

struct cudaDeviceProp {
    char name[256];
    int major, minor; /* 0.0: no NVIDIA architecture */
    int multiProcessorCount;
    int maxThreadsPerMultiProcessor;
    int warpSize;
    size_t totalGlobalMem; /* bytes */
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaRuntimeGetVersion(int *version); /* 0: there is no toolkit */

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrKernelExecTimeout = 17,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrReservedSharedMemoryPerBlock = 111
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device);
cudaError_t cudaFuncSetAttribute(const void *kernel,
                                 enum cudaFuncAttribute attribute, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          const void *kernel,
                                                          int block_threads,
                                                          size_t shared);
cudaError_t cudaDeviceSynchronize(void);

/* --- memory: aligned to 256 bytes, guard pages around, filled with 0xff --- */

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};

cudaError_t cudaMalloc(void **pointer, size_t bytes);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMemset(void *pointer, int byte, size_t bytes);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);

/* --- events: the monotonic clock --- */

typedef struct cpu_event *cudaEvent_t;
typedef struct cpu_stream *cudaStream_t;

cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

/* --- launches --- */

/* What one pool thread knows of the thread it runs. */
struct cpu_thread {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
    unsigned x_end;       /* the row ends here */
    uintptr_t begin, end; /* the allocation that the last atomic fell into */
    int waits;         /* threads of this block have waited: block.c runs it */
    unsigned tries;    /* atomics that changed nothing */
    const void *tried; /* where the last many of them were, */
    unsigned tried_by; /* and in which thread */
};

extern _Thread_local struct cpu_thread cpu_self;
extern int cpu_stopping; /* non-zero once a kernel has faulted */

#define threadIdx (cpu_self.thread)
#define blockIdx (cpu_self.block)
#define blockDim (cpu_self.block_dim)
#define gridDim (cpu_self.grid_dim)

/* What launch.awk makes of kernel<<<grid, block, shared, stream>>>(…). Runs the
 * whole grid before it returns. Errors: a bad shape is
 * cudaErrorInvalidConfiguration at cudaGetLastError(); a fault in the kernel
 * shows at the next call that synchronises. */
void cpu_launch(const char *kernel, dim3 grid, dim3 block, size_t shared,
                cudaStream_t stream, void (*run_block)(const void *),
                const void *args);

/* Ends the kernel with error 719. */
void cpu_trap(void) __attribute__((noreturn));
#define __trap() cpu_trap()

int cpu_next_row(void);

/* Steps to the block's next thread; 0 when there is none left. */
static inline int cpu_next_thread(void)
{
    return ++cpu_self.thread.x < cpu_self.x_end || cpu_next_row();
}

static const int warpSize = 32;

/* --- barriers, shuffles, votes: block.c --- */

/* What a thread waits at for others of its warp or block. */
enum cpu_place {
    CPU_NOWHERE,
    CPU_SYNCTHREADS,
    CPU_SYNCWARP,
    CPU_SHFL,
    CPU_SHFL_UP,
    CPU_SHFL_DOWN,
    CPU_SHFL_XOR,
    CPU_BALLOT,
    CPU_ALL,
    CPU_MATCH,
    CPU_ACTIVEMASK,
    CPU_GAVE_WAY
};

/* Brings `value` to the place and takes away what the place makes of the values
 * of all who meet there: the unexited threads of the block, or those lanes of
 * the warp that the mask names. `source` is the lane whose value a shuffle
 * takes; where that lane does not take part all bits are 1, which is a NaN. */
unsigned long long cpu_meet(enum cpu_place place, unsigned mask,
                            unsigned long long value, unsigned source);

unsigned cpu_lane(void);

/* The lane that a shuffle reads, by the rules of PTX's shfl: only the low five
 * bits of `by` count, and a lane beyond the segment means the caller's own. */
unsigned cpu_shuffle_source(enum cpu_place place, unsigned by, int width);

static inline void __syncthreads(void)
{
    cpu_meet(CPU_SYNCTHREADS, ~0u, 0, 0);
}

static inline int __syncthreads_count(int predicate)
{
    return (int)(cpu_meet(CPU_SYNCTHREADS, ~0u, predicate != 0, 0) >> 32);
}

static inline int __syncthreads_or(int predicate)
{
    return __syncthreads_count(predicate) > 0;
}

/* The low half of what cpu_meet() returns counts the threads that met. */
static inline int __syncthreads_and(int predicate)
{
    unsigned long long met = cpu_meet(CPU_SYNCTHREADS, ~0u, predicate != 0, 0);
    return met >> 32 == (met & 0xffffffff);
}

static inline void cpu_syncwarp(unsigned mask)
{
    cpu_meet(CPU_SYNCWARP, mask, 0, 0);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)cpu_meet(CPU_BALLOT, mask, predicate != 0, 0);
}

static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

static inline int __all_sync(unsigned mask, int predicate)
{
    return (int)cpu_meet(CPU_ALL, mask, predicate != 0, 0);
}

/* Without an argument the whole warp: then sizeof finds no more than the 1. */
#define __syncwarp(...)                                                        \
    cpu_syncwarp(sizeof #__VA_ARGS__ == 1 ? ~0u : (__VA_ARGS__ + 0u))

/* The lanes that stand at this line of the program once no thread of the block
 * can go on but through here. A GPU may report fewer lanes at any time. */
#define __activemask() ((unsigned)cpu_meet(CPU_ACTIVEMASK, __LINE__, 0, 0))

/* Values travel as 64 bits. */
#define CPU_DEFINE_SHUFFLE(name, type)                                         \
    static inline type cpu_shuffle_##name(enum cpu_place place, unsigned mask, \
                                          type value, unsigned by, int width)  \
    {                                                                          \
        unsigned long long bits = 0;                                           \
        memcpy(&bits, &value, sizeof value);                                   \
        bits =                                                                 \
            cpu_meet(place, mask, bits, cpu_shuffle_source(place, by, width)); \
        memcpy(&value, &bits, sizeof value);                                   \
        return value;                                                          \
    }                                                                          \
    static inline unsigned cpu_match_##name(unsigned mask, type value)         \
    {                                                                          \
        unsigned long long bits = 0;                                           \
        memcpy(&bits, &value, sizeof value);                                   \
        return (unsigned)cpu_meet(CPU_MATCH, mask, bits, 0);                   \
    }

CPU_DEFINE_SHUFFLE(int, int)
CPU_DEFINE_SHUFFLE(unsigned, unsigned)
CPU_DEFINE_SHUFFLE(long, long)
CPU_DEFINE_SHUFFLE(ulong, unsigned long)
CPU_DEFINE_SHUFFLE(ll, long long)
CPU_DEFINE_SHUFFLE(ull, unsigned long long)
CPU_DEFINE_SHUFFLE(float, float)
CPU_DEFINE_SHUFFLE(double, double)

/* <cuda_fp16.h> and <cuda_bf16.h> put their types here. */
#define CPU_SHUFFLE_FP16
#define CPU_SHUFFLE_BF16

/* clang-format off */
#define CPU_BY_TYPE(name)                                               \
    int: cpu_##name##_int, unsigned: cpu_##name##_unsigned,                    \
    long: cpu_##name##_long, unsigned long: cpu_##name##_ulong,                \
    long long: cpu_##name##_ll, unsigned long long: cpu_##name##_ull,          \
    float: cpu_##name##_float, double: cpu_##name##_double

/* The width is 32 where the call names none. */
#define CPU_SHUFFLE(place, mask, value, by, width, ...)                        \
    _Generic((value), CPU_BY_TYPE(shuffle) CPU_SHUFFLE_FP16             \
             CPU_SHUFFLE_BF16)                                                 \
        (place, (mask), (value), (unsigned)(by), (width))
#define __shfl_sync(mask, value, ...)                                          \
    CPU_SHUFFLE(CPU_SHFL, mask, value, __VA_ARGS__, 32, 0)
#define __shfl_up_sync(mask, value, ...)                                       \
    CPU_SHUFFLE(CPU_SHFL_UP, mask, value, __VA_ARGS__, 32, 0)
#define __shfl_down_sync(mask, value, ...)                                     \
    CPU_SHUFFLE(CPU_SHFL_DOWN, mask, value, __VA_ARGS__, 32, 0)
#define __shfl_xor_sync(mask, value, ...)                                      \
    CPU_SHUFFLE(CPU_SHFL_XOR, mask, value, __VA_ARGS__, 32, 0)
#define __match_any_sync(mask, value)                                          \
    _Generic((value), CPU_BY_TYPE(match))((mask), (value))
/* clang-format on */

/* --- small things --- */

#define __ldg(p) (*(p))

#define CPU_DEFINE_BITS(name, to, from)                                        \
    static inline to name(from value)                                          \
    {                                                                          \
        to bits;                                                               \
        memcpy(&bits, &value, sizeof bits);                                    \
        return bits;                                                           \
    }

CPU_DEFINE_BITS(__float_as_int, int, float)
CPU_DEFINE_BITS(__float_as_uint, unsigned, float)
CPU_DEFINE_BITS(__int_as_float, float, int)
CPU_DEFINE_BITS(__uint_as_float, float, unsigned)
CPU_DEFINE_BITS(__double_as_longlong, long long, double)
CPU_DEFINE_BITS(__longlong_as_double, double, long long)

/* Never fused with what is around them. */
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}

static inline float __fmul_rn(float a, float b)
{
    return a * b;
}

static inline double __dadd_rn(double a, double b)
{
    return a + b;
}

static inline int __ffs(int v)
{
    return __builtin_ffs(v);
}

static inline int __popc(unsigned v)
{
    return __builtin_popcount(v);
}

static inline int __clz(int v)
{
    return v == 0 ? 32 : __builtin_clz((unsigned)v);
}

/* Interleaved mode, see interleave.c: from here on the threads in flight take
 * turns at each atomic, one request at a time, in an order drawn from `seed`;
 * 0 ends it. Launches then run on the calling thread. */
void cpu_interleave(unsigned long long seed);
extern unsigned long long cpu_interleaved; /* the seed; 0: off */
extern unsigned long long cpu_requests;    /* served since then */

#include "atomics.h"

#endif
