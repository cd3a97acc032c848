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

__global__ void hand_half_16(half *p, half v)
{
    unsigned short *bits = (unsigned short *)p, old = *bits, seen;

    do {
        half sum = __hadd_rn(__ushort_as_half(old), v);
        seen = old;
        old = atomicCAS(bits, seen, __half_as_ushort(sum));
    } while (old != seen);
}

__global__ void hand_half_float(half *p, half v)
{
    unsigned short *bits = (unsigned short *)p, old = *bits, seen;

    do {
        float sum = __half2float(__ushort_as_half(old)) + __half2float(v);
        seen = old;
        old = atomicCAS(bits, seen, __half_as_ushort(__float2half_rn(sum)));
    } while (old != seen);
}

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

__global__ void other_half_max(half *p, half v)
{
    unsigned short *bits = (unsigned short *)p, old = *bits, seen;

    do {
        half next = __hmax(__ushort_as_half(old), v);
        seen = old;
        old = atomicCAS(bits, seen, __half_as_ushort(next));
    } while (old != seen);
}

__global__ void other_half_product(half *p, half v)
{
    unsigned short *bits = (unsigned short *)p, old = *bits, seen;

    do {
        half next = __hmul_rn(__ushort_as_half(old), v);
        seen = old;
        old = atomicCAS(bits, seen, __half_as_ushort(next));
    } while (old != seen);
}

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
