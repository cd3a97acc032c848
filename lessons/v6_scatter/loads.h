/* Where a row goes, and loads of it that pad with -0 what is not in the row.
 * CUDA C++, and C11 in the CPU emulation. */
#ifndef LOADS_H
#define LOADS_H

#include <cuda_fp16.h>
#include <stddef.h>

#include "problem.h"

/* The row of the table that row i goes to; -1 where there is none, as i or the
 * index is out of range: then nothing is added. */
static __device__ long long target_row(struct scatter s, long long i)
{
    long long row = i < s.rows ? s.index[i] : -1;

    return row >= 0 && row < s.table_rows ? row : -1;
}

/* How many halves row `row` of the table starts above a multiple of `halves`
 * halves, by its address. */
static __device__ int skew_of(struct scatter s, long long row, int halves)
{
    return (int)((size_t)(s.table + row * s.width) / 2 % (size_t)halves);
}

/* 8 halves, as one load and one vector add take them. */
struct eight {
    half2 pair[4];
};

/* row[column]; -0 where that is not in the row: x + -0 is x, for -0 too. */
static __device__ half load_half(const half *row, int width, int column)
{
    return column >= 0 && column < width ? row[column]
                                         : __ushort_as_half(MINUS_ZERO);
}

/* row[column] and the half behind it. */
static inline __device__ half2 load_pair(const half *row, int width, int column)
{
    if (column >= 0 && column + 1 < width && ((size_t)(row + column) & 3) == 0)
        return *(const half2 *)(row + column);
    return __halves2half2(load_half(row, width, column),
                          load_half(row, width, column + 1));
}

/* Eight halves at a multiple of 16 bytes. A gradient is read once: "cs" tells
 * the L2 cache to keep the table rather than this. */
static __device__ struct eight load_aligned(const half *from)
{
    struct eight value;
#if __CUDA_ARCH__ >= 600
    unsigned *word = (unsigned *)value.pair;

    asm("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
        : "l"(__cvta_generic_to_global(from)));
#else
    value = *(const struct eight *)from;
#endif
    return value;
}

/* Eight halves from row[column] on. Where they do not lie at a multiple of 16
 * bytes, they are loaded one by one, without branches, so that these overlap.
 */
static __device__ struct eight load_eight(const half *row, int width,
                                          int column)
{
    struct eight value;
    int k;

    if (column >= 0 && column + 8 <= width &&
        ((size_t)(row + column) & 15) == 0)
        return load_aligned(row + column);
    for (k = 0; k < 4; k++)
        value.pair[k] =
            __halves2half2(load_half(row, width, column + 2 * k),
                           load_half(row, width, column + 2 * k + 1));
    return value;
}

#endif
