/* Adds and compare-and-swaps of all kinds, a kernel for each: what
 * tools/half_cas must tell apart. Only compiled (so no kernel is static); see
 * tests/54_half_cas.t. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/* --- adds by one call --- */

__global__ void add_half(half *p, half v)
{
    atomicAdd(p + threadIdx.x, v);
}

__global__ void add_half_used(half *p, half v, half *old)
{
    old[threadIdx.x] = atomicAdd(p + threadIdx.x, v);
}

__global__ void add_half_many(half *p, half v, int n)
{
    int i;

    for (i = 0; i < n; i++)
        atomicAdd(p + i * (int)threadIdx.x, __hmul_rn(v, v));
}

__global__ void add_half2(half2 *p, half2 v)
{
    atomicAdd(p + threadIdx.x, v);
}

__global__ void add_bf16(__nv_bfloat16 *p, __nv_bfloat16 v)
{
    atomicAdd(p + threadIdx.x, v);
}

__global__ void add_bf162(__nv_bfloat162 *p, __nv_bfloat162 v)
{
    atomicAdd(p + threadIdx.x, v);
}

__global__ void red_half2(half2 *p, unsigned v)
{
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" : : "l"(p), "r"(v));
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
__global__ void red_bf162(__nv_bfloat162 *p, unsigned v)
{
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" : : "l"(p), "r"(v));
}

__global__ void red_half8(uint4 *p, uint4 v)
{
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}

#define TMA(name, add)                                                         \
    __global__ void name(void *p, unsigned shared)                             \
    {                                                                          \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." add \
                     " [%0], [%1], 512;"                                       \
                     :                                                         \
                     : "l"(p), "r"(shared)                                     \
                     : "memory");                                              \
    }
TMA(tma_half, "add.noftz.f16")
TMA(tma_bf16, "add.noftz.bf16")
TMA(none_tma_float, "add.f32")
TMA(none_tma_max, "max.f16")
#endif

/* --- adds by hand --- */

__global__ void hand_half_32(half *p, half v)
{
    unsigned *word = (unsigned *)p, old = *word, seen;

    do {
        half sum = __hadd_rn(__ushort_as_half((unsigned short)old), v);
        seen = old;
        old =
            atomicCAS(word, seen, (seen & 0xffff0000) | __half_as_ushort(sum));
    } while (old != seen);
}

/* A kernel that makes `next` of the half h that it saw: by
 * the value that the swap returned, or by reading anew. */
#define SWAP16(name, next)                                                     \
    __global__ void name(half *p, half v, float f)                             \
    {                                                                          \
        unsigned short *bits = (unsigned short *)p, old = *bits, seen;         \
        half h;                                                                \
                                                                               \
        do {                                                                   \
            h = __ushort_as_half(old);                                         \
            seen = old;                                                        \
            old = atomicCAS(bits, seen, __half_as_ushort(next));               \
        } while (old != seen);                                                 \
    }
#define SWAP16_READ(name, type, bits_of, of_bits, next)                        \
    __global__ void name(type *p, type v, float f)                             \
    {                                                                          \
        unsigned short *bits = (unsigned short *)p, seen;                      \
        type h;                                                                \
                                                                               \
        do {                                                                   \
            seen = *(volatile unsigned short *)bits;                           \
            h = of_bits(seen);                                                 \
        } while (atomicCAS(bits, seen, bits_of(next)) != seen);                \
    }
#define SWAP_HALF(name, next)                                                  \
    SWAP16(name, next)                                                         \
    SWAP16_READ(name##_read, half, __half_as_ushort, __ushort_as_half, next)

SWAP_HALF(hand_half_16, __hadd_rn(h, v))
SWAP_HALF(hand_half_float, __float2half_rn(__half2float(h) + f))
SWAP_HALF(hand_half_fma, __float2half_rn(fmaf(f, 3, __half2float(h))))
SWAP16_READ(hand_bf16_read, __nv_bfloat16, __bfloat16_as_ushort,
            __ushort_as_bfloat16, __hadd_rn(h, v))

__global__ void hand_half2(half2 *p, half2 v)
{
    unsigned *word = (unsigned *)p, old = *word, seen;

    do {
        half2 sum = __hadd2_rn(*(half2 *)&old, v);
        seen = old;
        old = atomicCAS(word, seen, *(unsigned *)&sum);
    } while (old != seen);
}

/* --- in shared memory --- */

__global__ void shared_half2(unsigned *out, unsigned v)
{
    __shared__ unsigned cells[32];

    cells[threadIdx.x] = 0;
    __syncthreads();
    asm volatile("red.shared.add.noftz.f16x2 [%0], %1;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(
                       cells + (threadIdx.x * 5 & 31))),
                   "r"(v)
                 : "memory");
    __syncthreads();
    out[threadIdx.x] = cells[threadIdx.x];
}

__global__ void shared_float(float *out, float v)
{
    __shared__ float cells[32];

    cells[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(cells + (threadIdx.x * 5 & 31), v);
    __syncthreads();
    out[threadIdx.x] = cells[threadIdx.x];
}

/* --- swaps that add no half to what they saw --- */

__global__ void other_float_sum(float *p, float v)
{
    unsigned *word = (unsigned *)p, old = *word, seen;

    do {
        seen = old;
        old = atomicCAS(word, seen, __float_as_uint(__uint_as_float(seen) + v));
    } while (old != seen);
}

__global__ void other_double_product(double *p, double v)
{
    unsigned long long *word = (unsigned long long *)p, old = *word, seen;

    do {
        double next = v * __longlong_as_double((long long)old);
        seen = old;
        old = atomicCAS(word, seen,
                        (unsigned long long)__double_as_longlong(next));
    } while (old != seen);
}

SWAP_HALF(other_half_max, __hmax(h, v))
SWAP_HALF(other_half_product, __hmul_rn(h, v))
SWAP_HALF(other_clamped_product, __hmin(__hmax(__hmul(h, v), __hneg(v)), v))
SWAP_HALF(other_clamped_float,
          __float2half_rn(fminf(fmaxf(__half2float(h) * f, -1), 1)))
SWAP_HALF(other_affine, __float2half_rn(fmaf(__half2float(h), f, 3)))
SWAP_HALF(other_mean, __hadd_rn(h, __hmul_rn(__hsub(v, h), v)))
SWAP_HALF(other_mean_float,
          __float2half_rn(__half2float(h) + (f - __half2float(h)) * 0.1f))
SWAP_HALF(other_mean_of_two, __float2half_rn((__half2float(h) + f) * 0.5f))
SWAP_HALF(other_log_add_exp,
          __float2half_rn(fmaxf(__half2float(h), f) +
                          log1pf(expf(-fabsf(__half2float(h) - f)))))
SWAP16_READ(other_bf16_mean, __nv_bfloat16, __bfloat16_as_ushort,
            __ushort_as_bfloat16, __hadd_rn(h, __hmul_rn(__hsub(v, h), v)))

/* A sum of halves is what is swapped in, but not of what was seen. */
__global__ void other_max_of_sums(unsigned *p, const half *a, half v, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        unsigned sum = __half_as_ushort(__hadd_rn(a[i], v)), old = *p, seen;

        do {
            seen = old;
            old = atomicCAS(p, seen, old > sum ? old : sum);
        } while (old != seen);
    }
}

/* A lock; the sum is made while it is held. */
__global__ void other_lock(int *lock, half *p, half v)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    p[0] = __hadd_rn(p[0], v);
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void none(half *p, half v)
{
    p[threadIdx.x] = __hadd_rn(p[threadIdx.x], v);
}
