/* CUDA C on a CPU: the part of <cuda_runtime.h> that the course uses.
 *
 * A lesson is compiled as C11 against this header after launch.awk has turned
 * its launches into plain C. Values are the GPU's; times are the CPU's. What is
 * not here does not compile, so nothing is emulated by halves.
 *
 * How it runs: a launch hands its blocks to a pool of POSIX threads. One pool
 * thread runs the threads of a block in order, through cpu_next_thread(). */
#ifndef CPU_CUDA_RUNTIME_H
#define CPU_CUDA_RUNTIME_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

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

typedef struct {
    unsigned x, y, z;
} uint3;

typedef struct {
    unsigned x, y, z;
} dim3;

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
    cudaErrorMisalignedAddress = 716
} cudaError_t;

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* The last error, which is then forgotten unless it is sticky. After a fault
 * in a kernel (700, 716) every later call returns that fault, as on a GPU. */
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

int cpu_next_row(void);

/* Steps to the block's next thread; 0 when there is none left. */
static inline int cpu_next_thread(void)
{
    return ++cpu_self.thread.x < cpu_self.x_end || cpu_next_row();
}

/* Interleaved mode, see interleave.c: from here on the threads in flight take
 * turns at each atomic, one request at a time, in an order drawn from `seed`;
 * 0 ends it. Launches then run on the calling thread. */
void cpu_interleave(unsigned long long seed);
extern unsigned long long cpu_interleaved; /* the seed; 0: off */
extern unsigned long long cpu_requests;    /* served since then */

/* --- atomics --- */

/* Stops the kernel unless the SIZE bytes at P lie in one allocation and P is a
 * multiple of SIZE: errors 700 and 716. A GPU lets an atomic pass that misses
 * the allocation by a few bytes; compute-sanitizer does not, nor does this. */
void cpu_check_slowly(const void *p, size_t size);

static inline void cpu_check(const void *p, size_t size)
{
    uintptr_t at = (uintptr_t)p;

    if (at < cpu_self.begin || at + size > cpu_self.end || at % size != 0 ||
        __atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED))
        cpu_check_slowly(p, size);
}

static inline int cpu_atomic_add_int(int *p, int v)
{
    cpu_check(p, sizeof *p);
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

static inline unsigned cpu_atomic_add_unsigned(unsigned *p, unsigned v)
{
    cpu_check(p, sizeof *p);
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

static inline unsigned long long cpu_atomic_add_ull(unsigned long long *p,
                                                    unsigned long long v)
{
    cpu_check(p, sizeof *p);
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

/* *p becomes `next` if it holds `expected`; returns what it held. */
#define CPU_DEFINE_CAS(name, type)                                             \
    static inline type name(type *p, type expected, type next)                 \
    {                                                                          \
        cpu_check(p, sizeof *p);                                               \
        __atomic_compare_exchange_n(p, &expected, next, 0, __ATOMIC_RELAXED,   \
                                    __ATOMIC_RELAXED);                         \
        return expected;                                                       \
    }

CPU_DEFINE_CAS(cpu_atomic_cas_int, int)
CPU_DEFINE_CAS(cpu_atomic_cas_unsigned, unsigned)
CPU_DEFINE_CAS(cpu_atomic_cas_ull, unsigned long long)
CPU_DEFINE_CAS(cpu_atomic_cas_ushort, unsigned short)

float cpu_atomic_add_float(float *p, float v);
double cpu_atomic_add_double(double *p, double v);

/* clang-format off */
#define CPU_ATOMIC_ADD_TYPES                                                   \
    int *: cpu_atomic_add_int, unsigned *: cpu_atomic_add_unsigned,            \
    unsigned long long *: cpu_atomic_add_ull, float *: cpu_atomic_add_float,   \
    double *: cpu_atomic_add_double
/* clang-format on */

/* <cuda_fp16.h> adds half and half2. */
#define atomicAdd(p, v) _Generic((p), CPU_ATOMIC_ADD_TYPES)((p), (v))

/* clang-format off */
#define atomicCAS(p, expected, next)                                           \
    _Generic((p), int *: cpu_atomic_cas_int,                                   \
             unsigned *: cpu_atomic_cas_unsigned,                              \
             unsigned long long *: cpu_atomic_cas_ull,                         \
             unsigned short *: cpu_atomic_cas_ushort)((p), (expected), (next))
/* clang-format on */

#endif
