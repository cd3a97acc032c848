/* A stand-in for MUSA's headers: declarations of what public sources use, and
 * nothing else. tests/72_musa.t compiles the course against it by clang in its
 * CUDA mode; a name that is not here does not compile. Nothing of it can run.
 *
 * Where a name was read: the letter behind it, and the line, or the function or
 * type that it stands in.
 *
 *   L  ggml-org/llama.cpp, ggml/src/ggml-cuda/vendors/musa.h (0cbec770)
 *   C  ggml-org/llama.cpp, ggml/src/ggml-cuda/common.cuh (00108827), which
 *      ggml-musa/CMakeLists.txt compiles for mp_22 and mp_31
 *   O  gumblex/ollama, discover/gpu_info_musa.h (6f1c88ee), which repeats
 *      MUSA's driver_types.h
 *   T  MooreThreads/tutorial_on_musa,
 *      musa_quick_start/4_reduce_demo/reduce_shared_memory.mu (f8a91b88)
 *   M  MooreThreads/torchada, src/torchada/_mapping.py (27582976)
 *   A  MooreThreads/torch_musa, torch_musa/csrc/aten/musa/MUSAAtomic.muh
 *      (192330be)
 *   X  MooreThreads/tilelang_musa, src/tl_templates/musa/atomic.h (e20545f4)
 *   U  MooreThreads/muAlg, cub/util_ptx.cuh (0994f3ec)
 *   R  MooreThreads/muAlg, cub/block/block_radix_rank.cuh (0ce3a167)
 *   P  MooreThreads/paddle_musa, backends/musa/hack/cuda_hack/float16.h
 *      (f6588727)
 *   B  MooreThreads/muAlg, cub/device/dispatch/dispatch_reduce.cuh (0ce3a167)
 *   V  MooreThreads/muAlg, cub/util_type.cuh (0ad572c3)
 *   H  MooreThreads/tilelang_musa, src/tl_templates/musa/common.h (2ca9ae2a)
 *   K  MooreThreads/kineto, libkineto/src/mupti_strings.cpp (3cc16294), the
 *      names of the runtime's functions
 *   E  YeKcaJ/Learning-CUDA, tools/probe_moore.mu (28eac9b7)
 *   D  MooreThreads/muAlg, cub/grid/grid_barrier.cuh (0ce3a167)
 *   N  MooreThreads/muThrust, thrust/system/musa/detail/core/
 *      triple_chevron_launch.h (40b8f3cd)
 *   G  Moore Threads' guide to MUSA's atomic functions, its table */
#ifndef MUSA_RUNTIME_H
#define MUSA_RUNTIME_H

#include <stddef.h>

/* --- the language --- */

#define __global__ __attribute__((global)) /* T 38 */
#define __device__ __attribute__((device)) /* A 98 */
#define __host__ __attribute__((host))     /* P HOSTDEVICE */
#define __shared__ __attribute__((shared)) /* T 42 */
/* U CTA_SYNC */
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n))) /* R _TempStorage */
/* B */
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct uint3 { /* of threadIdx */
    unsigned x, y, z;
};

struct dim3 { /* N triple_chevron */
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
        : x(x), y(y), z(z)
    {
    }
};

struct __align__(16) uint4
{ /* V AlignBytes */
    unsigned x, y, z, w;
};

extern const __device__ uint3 threadIdx; /* T 39 */
extern const __device__ uint3 blockIdx;  /* T 40 */
extern const __device__ dim3 blockDim;   /* T 41 */
extern const __device__ dim3 gridDim;    /* D Sync */

/* --- the runtime --- */

enum musaError {
    musaSuccess = 0,                       /* L 82, O */
    musaErrorMemoryAllocation = 2,         /* O */
    musaErrorInsufficientDriver = 35,      /* O */
    musaErrorInvalidDeviceFunction = 98,   /* L 115, O */
    musaErrorNoDevice = 100,               /* O */
    musaErrorNoKernelImageForDevice = 209, /* O */
    musaErrorUnsupportedPtxVersion = 222,  /* O */
    musaErrorIllegalAddress = 700,         /* O */
    musaErrorMisalignedAddress = 716,      /* O */
    musaErrorLaunchFailure = 719           /* O */
};
typedef enum musaError musaError_t; /* L 37, O */

struct musaDeviceProp { /* L 35, O musaDeviceProp */
    char name[256];     /* O */
    int warpSize;       /* O, E 56 */
    int major, minor;   /* O */
};

/* O musaDeviceAttr */
enum musaDeviceAttr {
    musaDevAttrMultiProcessorCount = 16,
    musaDevAttrKernelExecTimeout = 17,
    musaDevAttrMaxThreadsPerMultiProcessor = 39,
    musaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    musaDevAttrReservedSharedMemoryPerBlock = 111
};

/* L 104 */
enum musaFuncAttribute { musaFuncAttributeMaxDynamicSharedMemorySize = 8 };

enum musaMemcpyKind {
    musaMemcpyHostToDevice = 1,  /* L 67 */
    musaMemcpyDeviceToHost = 2,  /* L 66 */
    musaMemcpyDeviceToDevice = 3 /* L 65 */
};

typedef struct musa_event *musaEvent_t;   /* L 44 */
typedef struct musa_stream *musaStream_t; /* L 81 */

extern "C" {
musaError_t musaDeviceGetAttribute(int *, enum musaDeviceAttr, int); /* K, M */
musaError_t musaEventCreate(musaEvent_t *);                          /* T 119 */
musaError_t musaEventDestroy(musaEvent_t); /* L 45, T 135 */
musaError_t musaEventElapsedTime(float *, musaEvent_t, musaEvent_t); /* T 129 */
musaError_t musaEventRecord(musaEvent_t, musaStream_t = 0); /* L 42, T 121 */
musaError_t musaEventSynchronize(musaEvent_t);              /* L 43, T 127 */
musaError_t musaFree(void *);                               /* L 46, T 34 */
musaError_t musaGetDevice(int *);                           /* L 48, E 49 */
musaError_t musaGetDeviceCount(int *);                      /* L 49 */
musaError_t musaGetDeviceProperties(struct musaDeviceProp *, int); /* L 50 */
const char *musaGetErrorName(musaError_t);           /* H TILELANG_CHECK */
const char *musaGetErrorString(musaError_t);         /* L 51, T 16 */
musaError_t musaGetLastError(void);                  /* L 52, T 16 */
musaError_t musaMalloc(void **, size_t);             /* L 58, T 26 */
musaError_t musaMemcpy(void *, const void *, size_t, /* L 61, T 99 */
                       enum musaMemcpyKind);
musaError_t musaMemGetInfo(size_t *, size_t *); /* L 71 */
musaError_t musaMemset(void *, int, size_t);    /* L 69 */
musaError_t musaRuntimeGetVersion(int *);       /* K */
/* L 105 */
musaError_t musaFuncSetAttribute(const void *, enum musaFuncAttribute, int);
/* K, E */
musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *,
                                                          int, size_t);
}

/* --- in a kernel --- */

__device__ void __syncthreads();      /* T 44, U CTA_SYNC */
__device__ void __syncwarp(unsigned); /* U WARP_SYNC; E 39, without a mask */
__device__ unsigned __ballot_sync(unsigned, int); /* U WARP_BALLOT */
__device__ float __shfl_down_sync(unsigned, float, unsigned, int); /* U */
__device__ int __popc(unsigned); /* R BlockRadixRankMatch::RankKeys */
__device__ void __threadfence(); /* D Sync */
__device__ void __trap();        /* C no_device_code */
extern "C" __device__ int printf(const char *, ...); /* C no_device_code */
__device__ float fmaf(float, float, float);          /* E 40 */

#define MUSA_ATOMIC(name, type) __device__ type name(type *, type);
MUSA_ATOMIC(atomicAdd, int)                 /* G */
MUSA_ATOMIC(atomicAdd, unsigned)            /* G */
MUSA_ATOMIC(atomicAdd, unsigned long long)  /* G */
MUSA_ATOMIC(atomicAdd, float)               /* G, A 99 */
MUSA_ATOMIC(atomicAdd, double)              /* G, A 126 */
MUSA_ATOMIC(atomicSub, int)                 /* G */
MUSA_ATOMIC(atomicSub, unsigned)            /* G */
MUSA_ATOMIC(atomicExch, int)                /* G */
MUSA_ATOMIC(atomicExch, unsigned)           /* G */
MUSA_ATOMIC(atomicExch, unsigned long long) /* G */
MUSA_ATOMIC(atomicExch, float)              /* G */
MUSA_ATOMIC(atomicInc, unsigned)            /* G */
MUSA_ATOMIC(atomicDec, unsigned)            /* G */
MUSA_ATOMIC(atomicAnd, int)                 /* G */
MUSA_ATOMIC(atomicAnd, unsigned)            /* G */
MUSA_ATOMIC(atomicAnd, unsigned long long)  /* G */
MUSA_ATOMIC(atomicOr, int)                  /* G */
MUSA_ATOMIC(atomicOr, unsigned)             /* G */
MUSA_ATOMIC(atomicOr, unsigned long long)   /* G */
MUSA_ATOMIC(atomicXor, int)                 /* G */
MUSA_ATOMIC(atomicXor, unsigned)            /* G */
MUSA_ATOMIC(atomicXor, unsigned long long)  /* G */
#define MUSA_SWAP(type) __device__ type atomicCAS(type *, type, type);
MUSA_SWAP(int)                /* G */
MUSA_SWAP(unsigned)           /* G, A 34 */
MUSA_SWAP(unsigned long long) /* G, A 91 */
#if MUSA_ARCH >= 310
MUSA_SWAP(unsigned short) /* G; torch_musa uses it from 310 on */
#endif

/* --- what clang's CUDA mode makes of a launch; no name of MUSA's --- */

extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, void * = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0,
                                                void * = 0);
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t,
                                void *);

#endif
