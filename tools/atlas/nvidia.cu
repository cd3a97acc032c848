/* The atomics of the atlas on NVIDIA's GPUs: a kernel for each operation, type
 * and memory, OP_TYPE_MEMORY, and OP_TYPE_MEMORY_unused, which does not use the
 * old value. One without an atomic: there is no such call. tools/atlas.sh
 * compiles it and reads the machine code. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef __nv_bfloat16 bf16;
typedef __nv_bfloat162 bf162;
typedef unsigned long long ulonglong;
typedef unsigned short ushort;
struct __align__(8) half4 { unsigned pair[2]; };
struct __align__(16) half8 { unsigned pair[4]; };
typedef half8 bf168;

#define ALWAYS(...) __VA_ARGS__
/* PTX of which ptxas says that it needs sm_70 or sm_90, and clusters. */
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 700
#define FROM_70(...) __VA_ARGS__
#else
#define FROM_70(...)
#endif
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
#define FROM_90(...) __VA_ARGS__
#else
#define FROM_90(...)
#endif

/* The call, where CUDA declares it for the architecture; else v. */
#define OPERATION(op, call)                                                  \
    template <class T>                                                       \
    static __device__ auto try_##op(T *p, T c, T v, int)->decltype(call)     \
    {                                                                        \
        return call;                                                         \
    }                                                                        \
    template <class T> static __device__ T try_##op(T *, T, T v, long)       \
    {                                                                        \
        return v;                                                            \
    }
OPERATION(add, atomicAdd(p, v))
OPERATION(min, atomicMin(p, v))
OPERATION(max, atomicMax(p, v))
OPERATION(exch, atomicExch(p, v))
OPERATION(cas, atomicCAS(p, c, v))

#define KERNEL(name, type, ...)                                              \
    extern "C" __global__ void name(type *g, type *old, type c, type v)      \
    {                                                                        \
        __VA_ARGS__;                                                         \
    }
#define GLOBAL(op, type)                                                     \
    KERNEL(op##_##type##_global, type,                                       \
           old[threadIdx.x] = try_##op(g + threadIdx.x, c, v, 0))            \
    KERNEL(op##_##type##_global_unused, type,                                \
           try_##op(g + threadIdx.x, c, v, 0))

#define FILL(type)                                                           \
    __shared__ type s[1024];                                                 \
    s[threadIdx.x] = g[threadIdx.x];                                         \
    __syncthreads()
#define SHOW                                                                 \
    __syncthreads();                                                         \
    g[threadIdx.x] = s[threadIdx.x]
#define SHARED(op, type)                                                     \
    KERNEL(op##_##type##_shared, type, FILL(type);                           \
           old[threadIdx.x] = try_##op(s + threadIdx.x, c, v, 0); SHOW)      \
    KERNEL(op##_##type##_shared_unused, type, FILL(type);                    \
           try_##op(s + threadIdx.x, c, v, 0); SHOW)

/* Of another block, whose address is asked for. */
#define THERE(type) ((type *)__cluster_map_shared_rank(s + threadIdx.x, 1))
#define CLUSTER(op, type)                                                    \
    KERNEL(op##_##type##_cluster, type, FILL(type);                          \
           FROM_90(old[threadIdx.x] = try_##op(THERE(type), c, v, 0)); SHOW) \
    KERNEL(op##_##type##_cluster_unused, type, FILL(type);                   \
           FROM_90(try_##op(THERE(type), c, v, 0)); SHOW)

GLOBAL(add, int) SHARED(add, int)
GLOBAL(add, ulonglong) SHARED(add, ulonglong)
GLOBAL(add, float) SHARED(add, float) CLUSTER(add, float)
GLOBAL(add, double) SHARED(add, double)
GLOBAL(min, int) SHARED(min, int)
GLOBAL(max, ulonglong) SHARED(max, ulonglong)
GLOBAL(exch, ulonglong) SHARED(exch, ulonglong)
GLOBAL(cas, int) SHARED(cas, int)
GLOBAL(cas, ulonglong) SHARED(cas, ulonglong)
GLOBAL(cas, ushort) SHARED(cas, ushort) CLUSTER(cas, ushort)
GLOBAL(add, half) SHARED(add, half) CLUSTER(add, half)
GLOBAL(add, half2) SHARED(add, half2) CLUSTER(add, half2)
GLOBAL(add, bf16) SHARED(add, bf16) CLUSTER(add, bf16)
GLOBAL(add, bf162) SHARED(add, bf162) CLUSTER(add, bf162)
GLOBAL(add, float2)
GLOBAL(add, float4)
SHARED(max, half) CLUSTER(max, half)
SHARED(min, half) CLUSTER(min, half)

/* PTX: a half with a neutral neighbour, and 4 and 8 at once. */
#define TWO(op, what, neutral)                                               \
    KERNEL(op##_half_global, half, FROM_90(                                  \
        unsigned short got, beside;                                          \
        (void)beside;                                                        \
        asm volatile("atom.global." what " {%0, %1}, [%2], {%3, %4};"        \
                     : "=h"(got), "=h"(beside)                               \
                     : "l"(g + 2 * threadIdx.x), "h"(__half_as_ushort(v)),   \
                       "h"(neutral) : "memory");                             \
        old[threadIdx.x] = __ushort_as_half(got)))                           \
    KERNEL(op##_half_global_unused, half, FROM_90(                           \
        asm volatile("red.global." what " [%0], {%1, %2};" ::                \
                     "l"(g + 2 * threadIdx.x), "h"(__half_as_ushort(v)),     \
                     "h"(neutral) : "memory")))
TWO(max, "max.noftz.v2.f16", (unsigned short)0xfc00)
TWO(min, "min.noftz.v2.f16", (unsigned short)0x7c00)

KERNEL(add_half4_global, half4, FROM_90(
    asm volatile("atom.global.v2.f16x2.add.noftz {%0, %1}, [%2], {%3, %4};"
                 : "=r"(c.pair[0]), "=r"(c.pair[1])
                 : "l"(g + threadIdx.x), "r"(v.pair[0]), "r"(v.pair[1])
                 : "memory");
    old[threadIdx.x] = c))
KERNEL(add_half4_global_unused, half4, FROM_90(
    asm volatile("red.global.v2.f16x2.add.noftz [%0], {%1, %2};" ::
                 "l"(g + threadIdx.x), "r"(v.pair[0]), "r"(v.pair[1])
                 : "memory")))
#define EIGHT(type, kind)                                                    \
    KERNEL(add_##type##_global, type, FROM_90(                               \
        asm volatile("atom.global.v4." kind ".add.noftz {%0, %1, %2, %3}, "  \
                     "[%4], {%5, %6, %7, %8};"                               \
                     : "=r"(c.pair[0]), "=r"(c.pair[1]),                     \
                       "=r"(c.pair[2]), "=r"(c.pair[3])                      \
                     : "l"(g + threadIdx.x), "r"(v.pair[0]),                 \
                       "r"(v.pair[1]), "r"(v.pair[2]), "r"(v.pair[3])        \
                     : "memory");                                            \
        old[threadIdx.x] = c))                                               \
    KERNEL(add_##type##_global_unused, type, FROM_90(                        \
        asm volatile("red.global.v4." kind ".add.noftz [%0], "               \
                     "{%1, %2, %3, %4};" ::                                  \
                     "l"(g + threadIdx.x), "r"(v.pair[0]), "r"(v.pair[1]),   \
                     "r"(v.pair[2]), "r"(v.pair[3]) : "memory")))
EIGHT(half8, "f16x2")
EIGHT(bf168, "bf16x2")

/* PTX that names the memory, and returns nothing. */
#define RED(from, type, what, letter, bits)                                  \
    KERNEL(red_##type##_global_unused, type, from(                           \
        asm volatile("red.global.add.noftz." what " [%0], %1;" ::            \
                     "l"(g + threadIdx.x), letter(*(bits *)&v) : "memory")))
RED(FROM_70, half, "f16", "h", unsigned short)
RED(ALWAYS, half2, "f16x2", "r", unsigned)
RED(FROM_90, bf162, "bf16x2", "r", unsigned)
