/* Lesson 10's rows for others: for tools/peers/scatter.py and for PyTorch
 * (examples/pytorch/add_rows.py). Pointers are device pointers. What it starts
 * runs in the default stream, and may go on when it returns. */
#define main lesson_main
#include "../../lessons/v9_rows/v9_rows.cu"

static struct scatter scatter_of(void *table, long long table_rows, int width,
                                 const void *gradient, const long long *index,
                                 long long rows)
{
    struct scatter s;

    memset(&s, 0, sizeof s);
    s.table = (half *)table;
    s.gradient = (const half *)gradient;
    s.index = index;
    s.rows = rows;
    s.table_rows = table_rows;
    s.width = width;
    set_groups(&s);
    return s;
}

/* The scratch of v9_rows(), wherever the table and the gradient start: an odd
 * address needs most. */
extern "C" size_t v9_rows_scratch_bytes(long long rows, long long table_rows,
                                        int width)
{
    void *odd = (void *)sizeof(half);

    return scratch_at(NULL, scatter_of(odd, table_rows, width, odd, NULL, rows))
        .bytes;
}

/* The scratch starts at a multiple of 16 bytes. The caller clears it before the
 * first call, and before one with other sizes or arrays: what is where in it
 * follows from sizes and addresses. */
extern "C" void v9_rows(void *table, long long table_rows, int width,
                        const void *gradient, const long long *index,
                        long long rows, void *scratch)
{
    struct scatter s =
        scatter_of(table, table_rows, width, gradient, index, rows);

    if (rows > 0 && width > 0)
        add_up(s, scratch_at(scratch, s), grid(0));
}
