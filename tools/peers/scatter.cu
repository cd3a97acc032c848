/* Lesson 7's kernels for tools/peers/scatter.py: pointers are device pointers,
 * `variant` is one of the lesson's, and `sums` is as long as sums_bytes() says
 * (used by the float variant only). */
#define main lesson_main
#include "../../lessons/v6_scatter/v6_scatter.cu"

extern "C" void v6_scatter(int variant, void *table, long long table_rows,
                           int width, const void *gradient,
                           const long long *index, long long rows, float *sums)
{
    struct scatter s;

    s.table = (half *)table;
    s.gradient = (const half *)gradient;
    s.index = index;
    s.sums = sums;
    s.rows = rows;
    s.table_rows = table_rows;
    s.width = width;
    set_groups(&s);
    launch(variant, s);
}

/* The variant of this name, or -1. */
extern "C" int v6_variant(const char *name)
{
    int k;

    for (k = 0; k < VARIANTS && strcmp(variant_names[k], name) != 0; k++)
        ;
    return k < VARIANTS ? k : -1;
}
