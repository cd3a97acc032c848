/* A stand-in: see musa_runtime.h, which has the letters. */
#ifndef MUSA_BF16_H
#define MUSA_BF16_H

#include <musa_runtime.h>

struct __align__(2) __mt_bfloat16
{ /* A 118, M */
    unsigned short __x;
};
struct __align__(4) __mt_bfloat162
{ /* X AtomicAddx2, M */
    __mt_bfloat16 x, y;
};

#if MUSA_ARCH >= 220
MUSA_ATOMIC(atomicAdd, __mt_bfloat16)  /* A 117 */
MUSA_ATOMIC(atomicAdd, __mt_bfloat162) /* X AtomicAddx2 */
#endif

#endif
