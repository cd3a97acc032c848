/* A stand-in: see musa_runtime.h, which has the letters. */
#ifndef MUSA_FP16_H
#define MUSA_FP16_H

#include <musa_runtime.h>

struct __align__(2) __half
{ /* A 11 */
    unsigned short __x;
};
struct __align__(4) __half2
{ /* C warp_reduce_sum */
    __half x, y;
};
typedef __half half;   /* P, X normalize_atomic_type */
typedef __half2 half2; /* X AtomicAddx2 */

__host__ __device__ __half __float2half(float);  /* P float16(float), E 43 */
__host__ __device__ float __half2float(__half);  /* P operator float, E 43 */
__host__ __device__ __half __low2half(__half2);  /* C __hgt2_mask */
__host__ __device__ __half __high2half(__half2); /* C __hgt2_mask */
__host__ __device__ float __low2float(__half2);  /* C ggml_cuda_hmax2 */
__host__ __device__ float __high2float(__half2); /* C ggml_cuda_hmax2 */

MUSA_ATOMIC(atomicAdd, __half)  /* A 104, X AtomicAdd */
MUSA_ATOMIC(atomicAdd, __half2) /* X AtomicAddx2 */

#endif
