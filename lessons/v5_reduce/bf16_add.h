/* atomicAdd of a bf16, also where the toolkit has none: CUDA 11 below sm_80. */
#ifndef BF16_ADD_H
#define BF16_ADD_H

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800 && CUDART_VERSION < 12000
/* As in lesson 4. */
static __device__ void atomicAdd(__nv_bfloat16 *c, __nv_bfloat16 value)
{
    unsigned short *at = (unsigned short *)c, seen, old = *at;
    __nv_bfloat16 sum;

    do {
        seen = old;
        sum = __float2bfloat16_rn(__uint_as_float((unsigned)seen << 16) +
                                  __bfloat162float(value));
        old = atomicCAS(at, seen, *(unsigned short *)&sum);
    } while (old != seen);
}
#endif

#endif
