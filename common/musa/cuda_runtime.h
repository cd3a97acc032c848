/* CUDA C on a Moore Threads GPU: CUDA's names over MUSA's.
 *
 * Nobody has run this on such a GPU for this course: docs/musa.md. What it
 * takes for given is the list in tests/musa/, where each name has a public
 * source; all else is built on those here. MUSA_ARCH (210, 220, 310) comes from
 * make: the compiler's own __MUSA_ARCH__ is unknown where the host is compiled
 * for, and 1 in some versions. */
#ifndef MUSA_CUDA_RUNTIME_H
#define MUSA_CUDA_RUNTIME_H

#include <musa_runtime.h>

#include <math.h>
#include <musa_bf16.h>
#include <musa_fp16.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef MUSA_ARCH
#error "MUSA_ARCH is not defined: build with make BACKEND=musa"
#endif

/* --- what common/device.h says of it --- */

#if MUSA_ARCH <= 220
#define DEVICE_WARP 128
#else
#define DEVICE_WARP 32
#endif
#define DEVICE_ARCH "mp_%d%d"
#define DEVICE_SETTING "BACKEND=musa MUSA_ARCH=" DEVICE_ARCH
#define DEVICE_TOOLKIT(version) "MUSA %d", (version)
#define DEVICE_TOOL "mthreads-gmi"
#define DEVICE_CHECKER ""
#ifdef CAS_ATOMICS
#define DEVICE_NOTE                                                            \
    "adds of half and bf16 by compare-and-swap; never run on this hardware "   \
    "by us"
#else
#define DEVICE_NOTE "never run on this hardware by us"
#endif

/* --- the runtime --- */

#define cudaDeviceAttr musaDeviceAttr
#define cudaDeviceProp musaDeviceProp
#define cudaError_t musaError_t
#define cudaEvent_t musaEvent_t
#define cudaStream_t musaStream_t
#define cudaSuccess musaSuccess
#define cudaErrorIllegalAddress musaErrorIllegalAddress
#define cudaErrorInsufficientDriver musaErrorInsufficientDriver
#define cudaErrorInvalidDeviceFunction musaErrorInvalidDeviceFunction
#define cudaErrorLaunchFailure musaErrorLaunchFailure
#define cudaErrorMemoryAllocation musaErrorMemoryAllocation
#define cudaErrorMisalignedAddress musaErrorMisalignedAddress
#define cudaErrorNoDevice musaErrorNoDevice
#define cudaErrorNoKernelImageForDevice musaErrorNoKernelImageForDevice
#define cudaErrorUnsupportedPtxVersion musaErrorUnsupportedPtxVersion
#define cudaDevAttrKernelExecTimeout musaDevAttrKernelExecTimeout
#define cudaDevAttrMaxSharedMemoryPerMultiprocessor                            \
    musaDevAttrMaxSharedMemoryPerMultiprocessor
#define cudaDevAttrMaxThreadsPerMultiProcessor                                 \
    musaDevAttrMaxThreadsPerMultiProcessor
#define cudaDevAttrMultiProcessorCount musaDevAttrMultiProcessorCount
#define cudaDevAttrReservedSharedMemoryPerBlock                                \
    musaDevAttrReservedSharedMemoryPerBlock
#define cudaDeviceGetAttribute musaDeviceGetAttribute
#define cudaDeviceSynchronize musaDeviceSynchronize
#define cudaEventCreate musaEventCreate
#define cudaEventDestroy musaEventDestroy
#define cudaEventElapsedTime musaEventElapsedTime
#define cudaEventRecord musaEventRecord
#define cudaEventSynchronize musaEventSynchronize
#define cudaFree musaFree
#define cudaGetDevice musaGetDevice
#define cudaGetDeviceCount musaGetDeviceCount
#define cudaGetDeviceProperties musaGetDeviceProperties
#define cudaGetErrorName musaGetErrorName
#define cudaGetErrorString musaGetErrorString
#define cudaGetLastError musaGetLastError
#define cudaMalloc musaMalloc
#define cudaMemcpy musaMemcpy
#define cudaMemcpyDeviceToDevice musaMemcpyDeviceToDevice
#define cudaMemcpyDeviceToHost musaMemcpyDeviceToHost
#define cudaMemcpyHostToDevice musaMemcpyHostToDevice
#define cudaMemGetInfo musaMemGetInfo
#define cudaMemset musaMemset
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor                          \
    musaOccupancyMaxActiveBlocksPerMultiprocessor
#define cudaRuntimeGetVersion musaRuntimeGetVersion

/* The split of the L1 cache that lesson 5 asks for has no name in MUSA that we
 * know. It is left out, and said once. */
#define cudaFuncAttributeMaxDynamicSharedMemorySize                            \
    musaFuncAttributeMaxDynamicSharedMemorySize
enum { cudaFuncAttributePreferredSharedMemoryCarveout = -1 };

static inline musaError_t musa_set_attribute(const void *kernel, int attribute,
                                             int value)
{
    static int said;

    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        if (!said++)
            fprintf(stderr, "shared memory's share of the cache is not set: "
                            "MUSA has no name for it that we know\n");
        return musaSuccess;
    }
    return musaFuncSetAttribute(
        kernel, musaFuncAttributeMaxDynamicSharedMemorySize, value);
}
#define cudaFuncSetAttribute musa_set_attribute

/* --- half: built on the conversions to float and from it --- */

/* Functions that MUSA's headers may have as well, by these names or by others:
 * a macro over one of our own meets none of them. */
#define MUSA_BITS(name, to, from)                                              \
    static __host__ __device__ __forceinline__ to name(from value)             \
    {                                                                          \
        to bits;                                                               \
        __builtin_memcpy(&bits, &value, sizeof bits);                          \
        return bits;                                                           \
    }

MUSA_BITS(musa_ushort_as_half, __half, unsigned short)
MUSA_BITS(musa_half_as_ushort, unsigned short, __half)
MUSA_BITS(musa_ushort_as_bf16, __mt_bfloat16, unsigned short)
MUSA_BITS(musa_bf16_as_ushort, unsigned short, __mt_bfloat16)
MUSA_BITS(musa_uint_as_half2, __half2, unsigned)
MUSA_BITS(musa_uint_as_float, float, unsigned)
MUSA_BITS(musa_float_as_uint, unsigned, float)
MUSA_BITS(musa_longlong_as_double, double, long long)
#define __ushort_as_half musa_ushort_as_half
#define __half_as_ushort musa_half_as_ushort
#define __uint_as_float musa_uint_as_float
#define __longlong_as_double musa_longlong_as_double

#define __float2half_rn __float2half

static __host__ __device__ __forceinline__ __half2
musa_halves2half2(__half low, __half high)
{
    return musa_uint_as_half2((unsigned)musa_half_as_ushort(high) << 16 |
                              musa_half_as_ushort(low));
}
#define __halves2half2 musa_halves2half2
#define __floats2half2_rn(low, high)                                           \
    musa_halves2half2(__float2half(low), __float2half(high))

/* In float a sum or a product of two halves is exact, or its second rounding
 * changes nothing; and no compiler fuses what is converted in between. */
static __device__ __forceinline__ __half musa_hadd(__half a, __half b)
{
    return __float2half(__half2float(a) + __half2float(b));
}

static __device__ __forceinline__ __half musa_hmul(__half a, __half b)
{
    return __float2half(__half2float(a) * __half2float(b));
}
#define __hadd_rn musa_hadd
#define __hmul_rn musa_hmul

/* By a float that is rounded to odd: where it is not exact and its last bit is
 * 0, it becomes its neighbour on the other side of d. Then it is never taken
 * for a tie, and there is one rounding. */
static __device__ __forceinline__ __half musa_double2half(double d)
{
    float f = (float)d;
    unsigned bits = musa_float_as_uint(f);

    if ((double)f != d && d == d && bits % 2 == 0)
        bits += ((double)f < d) == (d > 0) ? 1u : ~0u;
    return __float2half(musa_uint_as_float(bits));
}
#define __double2half musa_double2half

static __host__ __device__ __forceinline__ uint4 musa_make_uint4(unsigned x,
                                                                 unsigned y,
                                                                 unsigned z,
                                                                 unsigned w)
{
    uint4 v;

    v.x = x;
    v.y = y;
    v.z = z;
    v.w = w;
    return v;
}
#define make_uint4 musa_make_uint4

/* The nearest whole number, of two the even one: 2^52 leaves no room for more.
 */
static __host__ __device__ __forceinline__ double musa_rint(double x)
{
    double big = x < 0 ? -0x1p52 : 0x1p52;

    return x > -0x1p52 && x < 0x1p52 ? x + big - big : x;
}
#define rint musa_rint
#define rintf(x) ((float)musa_rint((double)(x)))

/* --- bf16: the upper half of a float, whatever MUSA's header has of it --- */

#define __nv_bfloat16 __mt_bfloat16
#define __nv_bfloat162 __mt_bfloat162

static __host__ __device__ __forceinline__ float
musa_bfloat162float(__mt_bfloat16 h)
{
    return musa_uint_as_float((unsigned)musa_bf16_as_ushort(h) << 16);
}

static __host__ __device__ __forceinline__ __mt_bfloat16
musa_float2bfloat16(float f)
{
    unsigned bits = musa_float_as_uint(f);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return musa_ushort_as_bf16(0x7fff);
    bits += 0x7fff + (bits >> 16 & 1);
    return musa_ushort_as_bf16((unsigned short)(bits >> 16));
}
#define __bfloat162float musa_bfloat162float
#define __float2bfloat16_rn musa_float2bfloat16

/* --- atomics: MUSA's own, but for those that it lacks --- */

#if MUSA_ARCH < 220
#define CAS_ADD_BF16 1
#endif
#if MUSA_ARCH < 310
#define CAS_SWAP_USHORT 1
#else
#define CAS_2_BYTES 1
#endif
#include "cas_atomics.h"

#endif
