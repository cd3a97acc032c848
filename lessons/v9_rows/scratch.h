/* The memory that the kernels use between themselves. Host code only; C11 and
 * CUDA C++. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include "../v6_scatter/problem.h"

enum {
    LANES = 32,
    COLD = LANES, /* most rows of a cold target, which one warp adds up */
    PIECE = 128   /* rows of a hot one that one block adds up */
};

/* A row of the table: how many rows go to it, and its first place or piece. */
struct target {
    unsigned rows, at;
};

/* A row of the gradient in its place, or the first one of a piece. */
struct place {
    unsigned row;
    int target;
    unsigned first, rows; /* place or piece, and number, of the target's */
};

/* How many are in use: places of cold rows, and pieces of hot ones. */
enum use { COLD_ROWS, HOT_PIECES, USES };

struct scratch {
    double *sums;           /* of hot targets; 0 between calls */
    struct place *cold;     /* one for each row of the gradient */
    struct place *hot;      /* one for each piece */
    struct target *targets; /* all of the table; `rows` is 0 between calls */
    unsigned *number;       /* of each row, among those of its target */
    unsigned *hot_rows;     /* PIECE for each piece */
    unsigned *done;         /* rows in `sums`, by 8 columns; 0 between calls */
    unsigned *used;         /* USES of them */
    unsigned chunks;        /* of LANES times 8 columns, in a row */
    size_t bytes;           /* of all of this */
};

/* Lays the arrays out from `memory` on, which is `bytes` long and 0 at first,
 * and begins at a multiple of 16 bytes. With NULL it only tells how long. */
static inline struct scratch scratch_at(void *memory, struct scatter s)
{
    size_t rows = (size_t)s.rows, groups = (size_t)s.groups;
    size_t pieces = rows / (COLD + 1) + 1; /* each has more than COLD rows */
    size_t slots = pieces / 2 + 1, at = 0;
    char *from = (char *)memory;
    struct scratch w;

    w.sums = (double *)(from + at);
    at += slots * groups * 16 * sizeof *w.sums;
    w.cold = (struct place *)(from + at);
    at += rows * sizeof *w.cold;
    w.hot = (struct place *)(from + at);
    at += pieces * sizeof *w.hot;
    w.targets = (struct target *)(from + at);
    at += (size_t)s.table_rows * sizeof *w.targets;
    w.number = (unsigned *)(from + at);
    at += rows * sizeof *w.number;
    w.hot_rows = (unsigned *)(from + at);
    at += pieces * PIECE * sizeof *w.hot_rows;
    w.done = (unsigned *)(from + at);
    at += slots * groups * sizeof *w.done;
    w.used = (unsigned *)(from + at);
    w.bytes = at + USES * sizeof *w.used;
    w.chunks = ((unsigned)s.groups + LANES - 1) / LANES;
    return w;
}

static inline struct scratch create_scratch(struct scatter s)
{
    char byte;
    size_t bytes = scratch_at(&byte, s).bytes;
    void *memory;

    require_memory(bytes, "--n, --width or --table");
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 0, bytes));
    return scratch_at(memory, s);
}

static inline void destroy_scratch(struct scratch w)
{
    CHECK(cudaFree(w.sums));
}

#endif
