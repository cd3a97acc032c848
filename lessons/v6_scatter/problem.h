/* One problem: its arrays, its indices, its exact sums. Host code only; C11 and
 * CUDA C++. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <cuda_fp16.h>
#include <string.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "random.h"

/* What a kernel is given. Row i of the gradient is added to row index[i] of the
 * table. Both arrays may start at any half. */
struct scatter {
    half *table;
    const half *gradient;
    const long long *index;
    long long rows, table_rows;
    int width;   /* halves in a row */
    int groups;  /* 16-byte groups that a row of the table can touch */
    int aligned; /* every row of both arrays starts at a multiple of 16 bytes */
};

enum variant { BY_2BYTE, FAST, HALF2, VECTOR, GROUPED, VARIANTS };

static const char *const variant_names[VARIANTS] = {"2byte", "fast", "half2",
                                                    "vector", "grouped"};

/* What the kernels need to know of the addresses. */
static inline void set_groups(struct scatter *s)
{
    s->aligned =
        ((size_t)s->table | (size_t)s->gradient) % 16 == 0 && s->width % 8 == 0;
    s->groups = s->aligned ? s->width / 8 : (s->width + 14) / 8;
}

/* --- the arrays --- */

enum pattern { UNIFORM, ZIPF, ONE, PATTERNS };

static const char *const pattern_names[PATTERNS] = {"uniform", "zipf", "one"};

enum {
    MINUS_ZERO = 0x8000, /* x + -0 is x, for -0 too */
    GUARD = 16, /* halves before and behind the table that must not change */
    WITNESS = 0x7e01 /* in them: a NaN that any add would make 0x7fff */
};

struct problem {
    struct scatter s; /* its pointers are device pointers */
    half *d_gradient, *d_halves, *d_start; /* guard, table, guard: now, first */
    long long before, halves; /* halves before the table, and in all */
    uint16_t *gradient;       /* on the host, as all below */
    long long *index, *hits;  /* hits: how many rows go to each of the table */
    uint16_t *result;
    double *sum;                /* what each half of the table should hold */
    double largest;             /* of the gradient */
    uint32_t random;            /* random.h's state */
    long long touched, hottest; /* rows of the table: that are hit, hit most */
};

/* What the host keeps for the checks; in emulation it is the same memory. */
static inline unsigned long long host_bytes(struct scatter s)
{
    long long cells = s.table_rows * s.width;

    return (unsigned long long)(cells * 10 + s.table_rows * 16 +
                                s.rows * (s.width * 2 + 8));
}

/* `skew` and `gradient_skew`: how many halves the table and the gradient start
 * behind a multiple of 16 bytes. The table holds -0 at first, so that padding
 * with +0 would show. */
static inline void create_problem(struct problem *p, long long rows, int width,
                                  long long table_rows, int skew,
                                  int gradient_skew)
{
    struct scatter *s = &p->s;
    long long cells = table_rows * width, i;

    s->rows = rows;
    s->table_rows = table_rows;
    s->width = width;
    p->random = 2463534242;
    p->before = GUARD + skew;
    p->halves = p->before + cells + GUARD;
    require_memory(
        (unsigned long long)(p->halves * 4 + rows * (width * 2 + 8)) +
            (lesson.emulated ? host_bytes(*s) : 0),
        "--n, --width or --table");
    p->gradient = (uint16_t *)host_memory(rows * width, sizeof(uint16_t));
    p->index = (long long *)host_memory(rows, sizeof(long long));
    p->hits = (long long *)host_memory(table_rows, sizeof(long long));
    p->sum = (double *)host_memory(cells, sizeof(double));
    p->result = (uint16_t *)host_memory(p->halves, sizeof(uint16_t));
    for (i = 0; i < p->halves; i++)
        p->result[i] = WITNESS;
    for (i = 0; i < cells; i++)
        p->result[p->before + i] = MINUS_ZERO;
    p->d_halves = (half *)device_halves(p->halves, 0);
    p->d_start = (half *)device_halves(p->halves, 0);
    p->d_gradient = (half *)device_halves(rows * width + gradient_skew, 0);
    CHECK(cudaMemcpy(p->d_start, p->result, (size_t)p->halves * sizeof(half),
                     cudaMemcpyHostToDevice));
    CHECK(cudaMalloc((void **)&s->index, (size_t)rows * sizeof(long long)));
    s->table = p->d_halves + p->before;
    s->gradient = p->d_gradient + gradient_skew;
    set_groups(s);
}

static inline void destroy_problem(struct problem *p)
{
    CHECK(cudaFree(p->d_halves));
    CHECK(cudaFree(p->d_start));
    CHECK(cudaFree(p->d_gradient));
    CHECK(cudaFree((void *)p->s.index));
    free(p->gradient);
    free(p->index);
    free(p->hits);
    free(p->sum);
    free(p->result);
}

/* --- what is in them --- */

/* Whole multiples of `unit`, from least to most of them. */
static inline void fill_gradient(struct problem *p, int least, int most,
                                 double unit)
{
    long long count = p->s.rows * p->s.width, i;
    unsigned range = (unsigned)(most - least + 1);

    for (i = 0; i < count; i++) {
        int multiple = least + (int)(random_next(&p->random) % range);
        p->gradient[i] = fp16_from_double(multiple * unit);
    }
    p->largest = most * unit;
    CHECK(cudaMemcpy((void *)p->s.gradient, p->gradient,
                     (size_t)count * sizeof *p->gradient,
                     cudaMemcpyHostToDevice));
}

/* Fractions above 0 and below 1, in units so small that the sum of all rows is
 * a half. */
static inline void fill_fractions(struct problem *p)
{
    double unit = 0x1p-11;

    while (unit * 1024 * (double)p->s.rows > 40000)
        unit /= 2;
    fill_gradient(p, 1, 2047, unit);
}

/* The first of total[0 .. count), which grows, that exceeds x. */
static inline long long find_above(const double *total, long long count,
                                   double x)
{
    long long low = 0, high = count - 1;

    while (low < high) {
        long long middle = (low + high) / 2;
        if (total[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Zipf: the k-th most frequent row has 1/k of the first one's share. The ranks
 * begin at row 1, not 0. One in `bad` lies outside the table; 0: none. */
static inline void fill_index(struct problem *p, int pattern, int bad)
{
    long long table_rows = p->s.table_rows, i;
    double *total = (double *)host_memory(table_rows, sizeof *total);
    enum { OUTSIDE = 6 }; /* as they are, or cut to an int */
    long long outside[OUTSIDE] = {
        -1, table_rows, 0x100000001, -0x80000001LL, 1LL << 62, -(1LL << 62)};

    for (i = 0; i < table_rows; i++)
        total[i] = (i > 0 ? total[i - 1] : 0) +
                   (pattern == UNIFORM ? 1 : 1 / (double)(i + 1));
    for (i = 0; i < p->s.rows; i++) {
        double x = random_fraction(&p->random) * total[table_rows - 1];
        long long rank = pattern == ONE ? 0 : find_above(total, table_rows, x);
        p->index[i] = (rank + 1) % table_rows;
        if (bad > 0 && i % bad == 1)
            p->index[i] = outside[i / bad % OUTSIDE];
    }
    free(total);
    CHECK(cudaMemcpy((void *)p->s.index, p->index,
                     (size_t)p->s.rows * sizeof *p->index,
                     cudaMemcpyHostToDevice));
}

/* The sums in double: the reference for all variants. */
static inline void sum_on_host(struct problem *p)
{
    long long cells = p->s.table_rows * p->s.width, i;
    int width = p->s.width, k;

    memset(p->hits, 0, (size_t)p->s.table_rows * sizeof *p->hits);
    memset(p->sum, 0, (size_t)cells * sizeof *p->sum);
    for (i = 0; i < p->s.rows; i++) {
        if (p->index[i] < 0 || p->index[i] >= p->s.table_rows)
            continue;
        p->hits[p->index[i]]++;
        for (k = 0; k < width; k++)
            p->sum[p->index[i] * width + k] +=
                fp16_to_double(p->gradient[i * width + k]);
    }
}

/* Finds the row that is hit most, and how many are hit at all. */
static inline void count_hits(struct problem *p)
{
    long long row;

    p->touched = p->hottest = 0;
    for (row = 0; row < p->s.table_rows; row++) {
        p->touched += p->hits[row] > 0;
        if (p->hits[row] > p->hits[p->hottest])
            p->hottest = row;
    }
}

/* New indices, and all that follows from them. */
static inline void set_indices(struct problem *p, int pattern, int bad)
{
    fill_index(p, pattern, bad);
    sum_on_host(p);
    count_hits(p);
}

/* --- the table --- */

static inline void clear_table(struct problem *p)
{
    CHECK(cudaMemcpy(p->d_halves, p->d_start, (size_t)p->halves * sizeof(half),
                     cudaMemcpyDeviceToDevice));
}

static inline void fetch_result(struct problem *p)
{
    CHECK(cudaMemcpy(p->result, p->d_halves, (size_t)p->halves * sizeof(half),
                     cudaMemcpyDeviceToHost));
}

/* Whether the guards, and the rows that no index names, are as they were. */
static inline int rest_is_untouched(const struct problem *p)
{
    long long cells = p->s.table_rows * p->s.width, row, i;
    int k, ok = 1;

    for (i = 0; i < p->before; i++)
        ok &= p->result[i] == WITNESS;
    for (i = p->before + cells; i < p->halves; i++)
        ok &= p->result[i] == WITNESS;
    for (row = 0; row < p->s.table_rows; row++)
        for (k = 0; k < p->s.width && p->hits[row] == 0; k++)
            ok &= p->result[p->before + row * p->s.width + k] == MINUS_ZERO;
    return ok;
}

#endif
