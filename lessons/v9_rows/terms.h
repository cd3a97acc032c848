/* What is added: lists of rows, eight halves of one as doubles, and back. CUDA
 * C++, and C11 in the CPU emulation. */
#ifndef TERMS_H
#define TERMS_H

#include "../v6_scatter/loads.h"
#include "scratch.h"

/* A row of the gradient or of the table. */
struct term {
    const half *row;
    int skew;   /* of the target's row: see skew_of() */
    int target; /* where the sum goes that ends here, or -1 */
};

static __device__ struct term term_of(struct scatter s, const half *array,
                                      long long row, int target, int is_last)
{
    struct term t;

    t.row = array + row * s.width;
    t.skew = skew_of(s, target, 8);
    t.target = is_last ? target : -1;
    return t;
}

/* Lists what is to be added for the targets that begin in COLD places from
 * `first` on: their rows of the table, each with its rows of the gradient. All
 * lanes come here. Returns how many terms there are. */
static __device__ int list_terms(struct scatter s, struct scratch w,
                                 unsigned first, struct term *list)
{
    unsigned lane = threadIdx.x, below = (1u << lane) - 1, j;
    int terms = 0;

    for (j = 0; j < 2; j++) { /* the last may end in the next COLD */
        unsigned at = first + j * COLD + lane, mine, starts;
        struct place p = {0, 0, 0, 0};
        int n, is_mine = 0;
        if (at < w.used[COLD_ROWS]) {
            p = w.cold[at];
            is_mine = p.first >= first && p.first < first + COLD;
        }
        mine = __ballot_sync(0xffffffff, is_mine);
        starts = __ballot_sync(0xffffffff, is_mine && at == p.first);
        n = terms + __popc(mine & below) + __popc(starts & below);
        terms += __popc(mine) + __popc(starts);
        if (is_mine && at == p.first)
            list[n++] = term_of(s, s.table, p.target, p.target, 0);
        if (is_mine)
            list[n] = term_of(s, s.gradient, p.row, p.target,
                              at + 1 == p.first + p.rows);
    }
    __syncwarp(0xffffffff);
    return terms;
}

/* Group `group` of the eights that the target's row can touch. */
static __device__ struct eight load_term(struct scatter s, struct term t,
                                         int group)
{
    return s.aligned ? load_aligned(t.row + 8 * group)
                     : load_eight(t.row, s.width, 8 * group - t.skew);
}

static __device__ void add_eight(double *sum, struct eight value)
{
    int k;

    for (k = 0; k < 4; k++) {
        sum[2 * k] += (double)__half2float(__low2half(value.pair[k]));
        sum[2 * k + 1] += (double)__half2float(__high2half(value.pair[k]));
    }
}

/* Rounds the sums to row[column] and the seven behind it; none outside of the
 * row is written. */
static __device__ void store_eight(half *row, int width, int column,
                                   const double *sum)
{
    struct eight value;
    int k;

    for (k = 0; k < 4; k++)
        value.pair[k] = __halves2half2(__double2half(sum[2 * k]),
                                       __double2half(sum[2 * k + 1]));
    if (column >= 0 && column + 8 <= width &&
        ((size_t)(row + column) & 15) == 0) {
        *(uint4 *)(row + column) = *(const uint4 *)value.pair;
        return;
    }
    for (k = 0; k < 8; k++)
        if (column + k >= 0 && column + k < width)
            row[column + k] = __double2half(sum[k]);
}

/* What is at `sum`, which becomes 0. */
static __device__ double take_double(double *sum)
{
    return __longlong_as_double(
        (long long)atomicExch((unsigned long long *)sum, 0ULL));
}

#endif
