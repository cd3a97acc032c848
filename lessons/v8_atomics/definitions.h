/* What each atomic does, in plain C; and arguments that would show it if one
 * did something else. Host code only; C11 and CUDA C++. */
#ifndef DEFINITIONS_H
#define DEFINITIONS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "table.h"

enum {
    BLOCKS = 4,
    BLOCK_THREADS = 256,
    THREADS = BLOCKS * BLOCK_THREADS, /* that meet at one cell */
    EDGES = 8,                        /* values that examples are made of */
    EXAMPLES = EDGES * EDGES,
    LIMIT = 100 /* what Inc and Dec wrap at */
};

typedef unsigned long long u64; /* the bits of a value of any type */

/* What the threads of a launch read and leave. A value takes the first bytes of
 * its u64. */
typedef struct trial {
    u64 start[THREADS];                   /* what the cells hold first */
    u64 value[THREADS], compare[THREADS]; /* the arguments */
    u64 cells[THREADS], shared_cells[THREADS];
    u64 old[THREADS], shared_old[THREADS]; /* what the calls returned */
    unsigned stride;                       /* 1: a cell for each thread; 0: one
                                              for all, per block if shared */
} trial;

/* --- the definitions --- */

static inline u64 mask_of(int type)
{
    return type == U16                  ? 0xffff
           : type == U64 || type == F64 ? ~0ULL
                                        : 0xffffffff;
}

static inline u64 bits_of(int type, double x)
{
    float f = (float)x;
    u64 bits = 0;

    if (type == F32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &x, sizeof x);
    return bits;
}

static inline double value_of(int type, u64 bits)
{
    double x;
    float f;

    memcpy(&x, &bits, sizeof x);
    memcpy(&f, &bits, sizeof f);
    return type == F32 ? (double)f : x;
}

/* What a cell holds after one call, by the definition. A float sum is rounded
 * twice here, first to double, and that is as good as once: 53 bits are more
 * than twice 24, and one. */
static inline u64 defined(int op, int type, u64 old, u64 v, u64 c)
{
    u64 next = op == ADD    ? old + v
               : op == SUB  ? old - v
               : op == EXCH ? v
               : op == INC  ? (old >= v ? 0 : old + 1)
               : op == DEC  ? (old == 0 || old > v ? v : old - 1)
               : op == CAS  ? (old == c ? v : old)
               : op == AND  ? (old & v)
               : op == OR   ? (old | v)
                            : (old ^ v);

    if (op == ADD && (type == F32 || type == F64))
        return bits_of(type, value_of(type, old) + value_of(type, v));
    return next & mask_of(type);
}

/* Whether there is an order in which `count` calls, one after the other, take a
 * cell from `start` to `end` and return just these old values. A call that left
 * the cell as it was comes first among those that saw the same value. The
 * search is greedy: enough where all calls that see a value lead to the same
 * next one, or to a place of their own, as with set_crowd()'s arguments. */
static inline int has_an_order(int op, int type, u64 start, const u64 *value,
                               const u64 *compare, const u64 *old, int count,
                               u64 end)
{
    char done[THREADS] = {0};
    int left, i, next;

    for (left = count; left > 0; left--) {
        next = -1;
        for (i = 0; i < count; i++)
            if (!done[i] && old[i] == start) {
                next = i;
                if (defined(op, type, start, value[i], compare[i]) == start)
                    break;
            }
        if (next < 0)
            return 0;
        done[next] = 1;
        start = defined(op, type, start, value[next], compare[next]);
    }
    return start == end;
}

/* --- the arguments --- */

/* The values of a type at which something could go wrong. */
static inline u64 edge(int type, int i)
{
    u64 all = mask_of(type);
    const u64 whole[EDGES] = {0,        1,           LIMIT,   all / 3,
                              all >> 1, all / 2 + 1, all - 1, all};
    const double real[EDGES] = {0,
                                -0.0,
                                1,
                                -1.5,
                                0.1,
                                9007199254740992.0,
                                type == F32 ? FLT_MAX : DBL_MAX,
                                -INFINITY};

    return type == F32 || type == F64 ? bits_of(type, real[i]) : whole[i];
}

/* Each thread has a cell of its own: every edge meets every other. */
static inline void set_examples(int type, trial *t)
{
    int i;

    t->stride = 1;
    for (i = 0; i < EXAMPLES; i++) {
        t->start[i] = edge(type, i / EDGES);
        t->value[i] = edge(type, i % EDGES);
        t->compare[i] = i % 3 ? t->start[i] : edge(type, i % EDGES);
    }
}

/* All threads meet at one cell, each with an argument that would show if a call
 * was lost or came between the reading and the writing of another. And, Or and
 * Xor: every fourth thread has a bit of its own, while there are bits. CAS: the
 * threads pass the cell round from 0 to 1, 2, 3 and 0. */
static inline void set_crowd(int op, int type, trial *t)
{
    int k;
    u64 all = mask_of(type), start = op == SUB   ? 1000
                                     : op == AND ? all
                                     : op == XOR ? all / 3
                                                 : 0;

    t->stride = 0;
    for (k = 0; k < THREADS; k++) {
        u64 own = (u64)k + 1, bit = k % 4 ? 0 : k < 256 ? 1ULL << k / 4 : 0;
        t->start[k] = start;
        t->compare[k] = (u64)k % 4;
        t->value[k] = op == ADD || op == SUB   ? 1
                      : op == INC || op == DEC ? (u64)LIMIT
                      : op == CAS              ? own % 4
                      : op == AND              ? all & ~bit
                      : op == OR || op == XOR  ? all & bit
                                               : own;
        if (type == F32 || type == F64)
            t->value[k] = bits_of(type, (double)t->value[k]);
    }
}

#endif
