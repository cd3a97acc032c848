/* Whether small scatters are right, bit for bit, before anything is timed. Host
 * code only; C11 and CUDA C++. */
#ifndef CHECKS_H
#define CHECKS_H

#include "report.h"
#include "scratch.h"

static void add_up(struct scatter s, struct scratch w,
                   int blocks); /* the lesson's */

/* Halves of all sizes; where `special` is set NaN and infinities as well. */
static inline uint16_t any_half(uint32_t *state, int special)
{
    uint16_t bits = (uint16_t)(random_next(state) >> 8);

    if ((bits & 0x7c00) == 0x7c00 && (!special || random_next(state) % 8 > 0))
        bits ^= 0x4000;
    return bits;
}

/* New halves in the gradient and, instead of -0, in the table. */
static inline void fill_halves(struct problem *p, uint16_t *table, int special)
{
    long long cells = p->s.table_rows * p->s.width;
    long long count = p->s.rows * p->s.width, i;

    for (i = 0; i < count; i++)
        p->gradient[i] = any_half(&p->random, special);
    for (i = 0; i < cells; i++)
        table[i] = any_half(&p->random, special);
    CHECK(cudaMemcpy((void *)p->s.gradient, p->gradient,
                     (size_t)count * sizeof *table, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(p->d_start + p->before, table,
                     (size_t)cells * sizeof *table, cudaMemcpyHostToDevice));
}

/* One scatter. The sum, in double, is exact: rounding it is the only rounding.
 * A row that no index names keeps its bits; a sum of 0 is +0. */
static inline int check_one(struct problem *p, struct scratch w, int blocks,
                            const uint16_t *table)
{
    long long cells = p->s.table_rows * p->s.width, i;
    int ok = 1;

    clear_table(p);
    add_up(p->s, w, blocks);
    fetch_result(p);
    for (i = 0; i < p->halves; i++) {
        long long cell = i - p->before;
        uint16_t want = WITNESS;
        if (cell >= 0 && cell < cells)
            want = p->hits[cell / p->s.width] == 0
                       ? table[cell]
                       : fp16_from_double(p->sum[cell] +
                                          fp16_to_double(table[cell]));
        ok &= p->result[i] == want;
    }
    return ok;
}

/* 330 rows: some targets are cold, some hot, and one has three pieces. */
static inline int check_small(void)
{
    static const int widths[] = {1, 2, 3, 7, 8, 9, 24, 264};
    static const int skews[][2] = {{0, 0}, {1, 0}, {0, 1}, {7, 3}, {2, 6}};
    static const int blocks[] = {1, 3, 40};
    enum { ROWS_SMALL = 330, TABLE_SMALL = 37, MOST_WIDTH = 264 };
    static uint16_t table[TABLE_SMALL * MOST_WIDTH];
    int n, k, pattern, count = 0, right = 0;

    for (n = 0; n < (int)(sizeof widths / sizeof widths[0]); n++)
        for (k = 0; k < (int)(sizeof skews / sizeof skews[0]); k++) {
            struct problem p;
            struct scratch w;
            create_problem(&p, ROWS_SMALL, widths[n], TABLE_SMALL, skews[k][0],
                           skews[k][1]);
            w = create_scratch(p.s);
            fill_halves(&p, table, k % 2);
            for (pattern = 0; pattern < PATTERNS; pattern++, count++) {
                int ok;
                set_indices(&p, pattern, 5);
                ok = check_one(&p, w, blocks[(n + k) % 3], table);
                right += ok;
                if (!ok && count - right < 4)
                    complain("%s: wrong on rows of %d halves, %s",
                             lesson.program, widths[n], pattern_names[pattern]);
            }
            destroy_scratch(w);
            destroy_problem(&p);
        }
    report("checks",
           "%d small scatters bit for bit: odd rows, odd addresses, NaN, "
           "infinities, indices outside the table: %s",
           count, right == count ? "ok" : "WRONG");
    if (right < count)
        complain("%s: not timed", lesson.program);
    return right == count;
}

#endif
