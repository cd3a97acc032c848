/* Whether small scatters are right, bit for bit, before anything is timed. Host
 * code only; C11 and CUDA C++. */
#ifndef CHECKS_H
#define CHECKS_H

#include "problem.h"
#include "report.h"

static void launch(int variant, struct scatter s); /* the lesson's */

/* With whole numbers up to 3 every sum of 150 is exact, in any order. */
static inline int check_one(struct problem *p, int variant, int pattern)
{
    static int told;
    long long cells = p->s.table_rows * p->s.width, i;
    int ok;

    clear_table(p);
    launch(variant, p->s);
    fetch_result(p);
    ok = rest_is_untouched(p);
    for (i = 0; i < cells; i++)
        ok &= fp16_to_double(p->result[p->before + i]) == p->sum[i];
    if (!ok && told++ < 4)
        complain("%s: %s is wrong on %lld rows of %d halves, %s",
                 lesson.program, variant_names[variant], p->s.rows, p->s.width,
                 pattern_names[pattern]);
    return ok;
}

static inline int check_small(void)
{
    static const int widths[] = {1, 2, 3, 7, 8, 9, 24, 264};
    static const int skews[][2] = {{0, 0}, {1, 0}, {0, 1}, {7, 3}, {2, 6}};
    int w, k, pattern, variant, count = 0, ok = 1;

    for (w = 0; w < (int)(sizeof widths / sizeof widths[0]); w++)
        for (k = 0; k < (int)(sizeof skews / sizeof skews[0]); k++) {
            struct problem p;
            create_problem(&p, 150, widths[w], 37, skews[k][0], skews[k][1]);
            fill_gradient(&p, -3, 3, 1);
            for (pattern = 0; pattern < PATTERNS; pattern++) {
                set_indices(&p, pattern, 5);
                for (variant = 0; variant < VARIANTS; variant++, count++)
                    ok &= check_one(&p, variant, pattern);
            }
            destroy_problem(&p);
        }
    report("checks",
           "%d small scatters bit for bit: odd rows, odd addresses, "
           "indices outside the table: %s",
           count, ok ? "ok" : "WRONG");
    return ok;
}

#endif
