/* Lesson 7, v6_scatter: rows of halves are added into a table at given indices,
 * as the gradient of an embedding is. How fast can it be, and is it right?
 *
 * Answer: 16 bytes an add, and one add for many rows where rows meet. Grouping
 * the rows of a block by their index does both, and sums in float on the way;
 * what is then added in half still rounds, so only a float table is right.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson7 \
 *                      lessons/v6_scatter/v6_scatter.cu
 * It first checks six variants bit for bit on small tables. Then it times them
 * on uniform indices, on Zipf's and on all rows into one, and prints the worst
 * error of each beside the bound that it must keep. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum {
    TEAM = 32, /* threads that share a row */
    TEAMS = 8, /* rows in a block */
    GROUP_TEAMS = 4,
    GROUP_ROWS = GROUP_TEAMS * TEAM,  /* one for each thread of the block */
    SLICE = GROUP_ROWS / GROUP_TEAMS, /* of the sorted rows, for each team */
    AHEAD = 8,                        /* loads in flight for each thread */
    MINUS_ZERO = 0x8000               /* x + -0 is x, for -0 too */
};

/* What a kernel is given. Row i of the gradient is added to row index[i] of the
 * table. Both arrays may start at any half. */
struct scatter {
    half *table;
    const half *gradient;
    const long long *index;
    float *sums; /* of the float variant, as the table is laid out; or NULL */
    long long rows, table_rows;
    int width;   /* halves in a row */
    int groups;  /* 16-byte groups that a row of the table can touch */
    int aligned; /* every row of both arrays starts at a multiple of 16 bytes */
};

/* 8 halves, as one load and one vector add take them. */
struct eight {
    unsigned pair[4];
};

/* --- adds that return nothing: one RED instruction each --- */

/* Adds two halves to the 4-byte slot at `target`. */
static __device__ void red_pair(half *target, unsigned pair)
{
#if __CUDA_ARCH__ >= 600
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(target)), "r"(pair)
                 : "memory");
#else
    half low = __ushort_as_half((unsigned short)(pair & 0xffff));
    half high = __ushort_as_half((unsigned short)(pair >> 16));

    atomicAdd((half2 *)target, __halves2half2(low, high));
#endif
}

/* Adds eight halves to the 16 bytes at `target`, each half by itself. */
static __device__ void red_eight(half *target, struct eight value)
{
#if __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(target)), "r"(value.pair[0]),
                   "r"(value.pair[1]), "r"(value.pair[2]), "r"(value.pair[3])
                 : "memory");
#else
    int k;

    for (k = 0; k < 4; k++)
        red_pair(target + 2 * k, value.pair[k]);
#endif
}

/* Adds four floats to the 16 bytes at `target`. */
static __device__ void red_four(float *target, const float *value)
{
#if __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(target)), "f"(value[0]),
                   "f"(value[1]), "f"(value[2]), "f"(value[3])
                 : "memory");
#else
    int k;

    for (k = 0; k < 4; k++)
        atomicAdd(target + k, value[k]);
#endif
}

/* --- pairs and eights at the edges of rows and tables --- */

/* The bits of row[column]; -0 where that is not in the row. */
static __device__ unsigned load_half(const half *row, int width, int column)
{
    return column >= 0 && column < width ? __half_as_ushort(row[column])
                                         : MINUS_ZERO;
}

/* row[column] and the half behind it. */
static __device__ unsigned load_pair(const half *row, int width, int column)
{
    if (column >= 0 && column + 1 < width && ((size_t)(row + column) & 3) == 0)
        return *(const unsigned *)(row + column);
    return load_half(row, width, column) | load_half(row, width, column + 1)
                                               << 16;
}

/* Eight halves at a multiple of 16 bytes. A gradient is read once: "cs" tells
 * the L2 cache to keep the table rather than this. */
static __device__ struct eight load_aligned(const half *from)
{
    struct eight value;
#if __CUDA_ARCH__ >= 600
    asm("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value.pair[0]), "=r"(value.pair[1]), "=r"(value.pair[2]),
          "=r"(value.pair[3])
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
        value.pair[k] = load_half(row, width, column + 2 * k) |
                        load_half(row, width, column + 2 * k + 1) << 16;
    return value;
}

/* Adds a pair to table[at] and table[at + 1], of which one may lie outside of
 * the table; table + at is a multiple of 4 bytes. */
static __device__ void add_pair(half *table, long long length, long long at,
                                unsigned pair)
{
    if (at >= 0 && at + 1 < length)
        red_pair(table + at, pair);
    else if (at >= 0 && at < length)
        atomicAdd(table + at,
                  __ushort_as_half((unsigned short)(pair & 0xffff)));
    else if (at == -1 && length > 0)
        atomicAdd(table, __ushort_as_half((unsigned short)(pair >> 16)));
}

/* The same for eight halves, where some are outside; table + at is a multiple
 * of 16 bytes. Rare and long: it stays out of the loops that call it. */
static __device__ __attribute__((noinline)) void
add_at_edge(half *table, long long length, long long at, struct eight value)
{
    int k;

    for (k = 0; k < 4; k++)
        add_pair(table, length, at + 2 * k, value.pair[k]);
}

static __device__ void add_eight(half *table, long long length, long long at,
                                 struct eight value)
{
    if (at >= 0 && at + 8 <= length)
        red_eight(table + at, value);
    else
        add_at_edge(table, length, at, value);
}

/* Lesson 3's add of one half. */
static __device__ void fast_add(half *array, long long length, long long index,
                                half value)
{
    half *target = array + index;
    half pad = __ushort_as_half(MINUS_ZERO);
    int is_high = ((size_t)target & 2) != 0;

    if (!is_high && index + 1 < length)
        atomicAdd((half2 *)target, __halves2half2(value, pad));
    else if (is_high && index > 0)
        atomicAdd((half2 *)(target - 1), __halves2half2(pad, value));
    else
        atomicAdd(target, value);
}

/* --- the kernels --- */

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

static __global__ void scatter_2byte(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    for (column = (int)threadIdx.x; column < s.width; column += TEAM)
        atomicAdd(s.table + row * s.width + column,
                  s.gradient[i * s.width + column]);
}

static __global__ void scatter_fast(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    for (column = (int)threadIdx.x; column < s.width; column += TEAM)
        fast_add(s.table, s.table_rows * s.width, row * s.width + column,
                 s.gradient[i * s.width + column]);
}

static __global__ void scatter_half2(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    column = 2 * (int)threadIdx.x - skew_of(s, row, 2);
    for (; column < s.width; column += 2 * TEAM)
        add_pair(s.table, s.table_rows * s.width, row * s.width + column,
                 load_pair(s.gradient + i * s.width, s.width, column));
}

static __global__ void scatter_vector(struct scatter s)
{
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int column;

    if (row < 0)
        return;
    column = 8 * (int)threadIdx.x - skew_of(s, row, 8);
    for (; column < s.width; column += 8 * TEAM)
        add_eight(s.table, s.table_rows * s.width, row * s.width + column,
                  load_eight(s.gradient + i * s.width, s.width, column));
}

/* The rows of a block in the order of their targets. */
struct sorted_rows {
    int target[GROUP_ROWS]; /* rows of the table, or -1 */
    int place[GROUP_ROWS]; /* of each in the gradient, from the block's first */
};

/* Each thread finds the place of one row, by counting those before it. */
static __device__ void sort_rows(const int *target, struct sorted_rows *sorted,
                                 int me)
{
    int k, before = 0;

    for (k = 0; k < GROUP_ROWS; k++)
        before += target[k] < target[me] + (k < me);
    sorted->target[before] = target[me];
    sorted->place[before] = me;
}

/* Adds the sums to group `group` of row `row`, and clears them. */
static __device__ void flush_sums(struct scatter s, int row, int group,
                                  float *sum)
{
    int column = 8 * group - skew_of(s, row, 8), k;
    long long at = (long long)row * s.width + column;
    struct eight value;

    for (k = 0; k < 4; k++) {
        unsigned low = __half_as_ushort(__float2half_rn(sum[2 * k]));
        unsigned high = __half_as_ushort(__float2half_rn(sum[2 * k + 1]));
        value.pair[k] = low | high << 16;
    }
    if (s.sums) {
        if (column < s.width) {
            red_four(s.sums + skew_of(s, 0, 8) + at, sum);
            red_four(s.sums + skew_of(s, 0, 8) + at + 4, sum + 4);
        }
    } else if (column < s.width)
        add_eight(s.table, s.table_rows * s.width, at, value);
    for (k = 0; k < 8; k++)
        sum[k] = -0.0f; /* as the padding: x + -0 is x */
}

/* Loads what a thread adds of the next AHEAD rows: all of it before any of it
 * is used, so that the loads overlap. */
static __device__ void load_ahead(struct scatter s, const half *gradient,
                                  const struct sorted_rows *sorted, int from,
                                  int group, struct eight *ahead)
{
    int a;

    for (a = 0; a < AHEAD && s.aligned; a++)
        if (sorted->target[from + a] >= 0)
            ahead[a] = load_aligned(
                gradient + sorted->place[from + a] * s.width + 8 * group);
    for (a = 0; a < AHEAD && !s.aligned; a++)
        if (sorted->target[from + a] >= 0)
            ahead[a] = load_eight(
                gradient + sorted->place[from + a] * s.width, s.width,
                8 * group - skew_of(s, sorted->target[from + a], 8));
}

static __device__ void add_to_sums(float *sum, struct eight value)
{
    int k;

    for (k = 0; k < 4; k++) {
        unsigned short low = (unsigned short)(value.pair[k] & 0xffff);
        unsigned short high = (unsigned short)(value.pair[k] >> 16);
        sum[2 * k] += __half2float(__ushort_as_half(low));
        sum[2 * k + 1] += __half2float(__ushort_as_half(high));
    }
}

/* One thread's part: 8 columns of a slice of the sorted rows. Those of one
 * target follow each other; they are summed in float, and added once. */
static __device__ void sum_slice(struct scatter s, const half *gradient,
                                 const struct sorted_rows *sorted, int from,
                                 int group)
{
    float sum[8] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
    struct eight ahead[AHEAD];
    int row = -1, end = from + SLICE, a;

    for (; from < end; from += AHEAD) {
        load_ahead(s, gradient, sorted, from, group, ahead);
        for (a = 0; a < AHEAD; a++) {
            int next = sorted->target[from + a];
            if (next != row && row >= 0)
                flush_sums(s, row, group, sum);
            row = next;
            if (row >= 0)
                add_to_sums(sum, ahead[a]);
        }
    }
    if (row >= 0)
        flush_sums(s, row, group, sum);
}

static __global__ void scatter_grouped(struct scatter s)
{
    __shared__ int target[GROUP_ROWS];
    __shared__ struct sorted_rows sorted;
    long long first = (long long)blockIdx.x * GROUP_ROWS;
    int me = (int)(threadIdx.y * TEAM + threadIdx.x);
    int group;

    target[me] = (int)target_row(s, first + me);
    __syncthreads();
    sort_rows(target, &sorted, me);
    __syncthreads();
    for (group = (int)threadIdx.x; group < s.groups; group += TEAM)
        sum_slice(s, s.gradient + first * s.width, &sorted,
                  (int)threadIdx.y * SLICE, group);
}

/* The float variant: the grouped kernel adds to a table of floats, and this
 * converts each sum once. */
static __global__ void convert_sums(struct scatter s)
{
    long long row = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long at = row * s.width + threadIdx.x;

    for (; row < s.table_rows && at < (row + 1) * s.width; at += TEAM) {
        float sum = s.sums[skew_of(s, 0, 8) + at];
        if (sum != 0)
            s.table[at] = __float2half_rn(__half2float(s.table[at]) + sum);
    }
}

/* Floats of s.sums: as many as the table has halves, and whole groups. */
static size_t sums_bytes(struct scatter s)
{
    return (size_t)(s.table_rows * s.width + 16) * sizeof(float);
}

enum variant { BY_2BYTE, FAST, HALF2, VECTOR, GROUPED, FLOAT, VARIANTS };

static const char *const variant_names[VARIANTS] = {
    "2byte", "fast", "half2", "vector", "grouped", "float"};

/* What the kernels need to know of the addresses. */
static void set_groups(struct scatter *s)
{
    s->aligned =
        ((size_t)s->table | (size_t)s->gradient) % 16 == 0 && s->width % 8 == 0;
    s->groups = s->aligned ? s->width / 8 : (s->width + 14) / 8;
}

static void launch(int variant, struct scatter s)
{
    unsigned blocks = (unsigned)((s.rows + TEAMS - 1) / TEAMS);
    unsigned groups = (unsigned)((s.rows + GROUP_ROWS - 1) / GROUP_ROWS);
    unsigned table_blocks = (unsigned)((s.table_rows + TEAMS - 1) / TEAMS);
    dim3 block = {TEAM, TEAMS, 1}, group_block = {TEAM, GROUP_TEAMS, 1};

    if (variant != FLOAT)
        s.sums = NULL;
    else
        CHECK(cudaMemset(s.sums, 0, sums_bytes(s)));
    if (variant == BY_2BYTE)
        scatter_2byte<<<blocks, block>>>(s);
    else if (variant == FAST)
        scatter_fast<<<blocks, block>>>(s);
    else if (variant == HALF2)
        scatter_half2<<<blocks, block>>>(s);
    else if (variant == VECTOR)
        scatter_vector<<<blocks, block>>>(s);
    else
        scatter_grouped<<<groups, group_block>>>(s);
    CHECK(cudaGetLastError());
    if (variant == FLOAT) {
        convert_sums<<<table_blocks, block>>>(s);
        CHECK(cudaGetLastError());
    }
}

/* --- one problem: its arrays, its indices, its exact sums --- */

enum pattern { UNIFORM, ZIPF, ONE, PATTERNS };

static const char *const pattern_names[PATTERNS] = {"uniform", "zipf", "one"};

enum {
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
    double *sum;    /* what each half of the table should hold */
    double largest; /* of the gradient */
};

static void *allocate(long long count, size_t bytes)
{
    void *memory = calloc((size_t)count, bytes);

    if (memory)
        return memory;
    fprintf(stderr, "%s: out of memory; try a smaller --n or --table\n",
            lesson.program);
    exit(EXIT_DEVICE);
}

/* What the host keeps for the checks; in emulation it is the same memory. */
static unsigned long long host_bytes(struct scatter s)
{
    long long cells = s.table_rows * s.width;

    return (unsigned long long)(cells * 10 + s.table_rows * 16 +
                                s.rows * (s.width * 2 + 8));
}

/* `skew` and `gradient_skew`: how many halves the table and the gradient start
 * behind a multiple of 16 bytes. The table holds -0 at first, so that padding
 * with +0 would show. */
static void create_problem(struct problem *p, long long rows, int width,
                           long long table_rows, int skew, int gradient_skew)
{
    struct scatter *s = &p->s;
    long long cells = table_rows * width, i;

    s->rows = rows;
    s->table_rows = table_rows;
    s->width = width;
    p->before = GUARD + skew;
    p->halves = p->before + cells + GUARD;
    require_memory(
        (unsigned long long)(p->halves * 4 + rows * (width * 2 + 8)) +
        sums_bytes(*s) + (lesson.emulated ? host_bytes(*s) : 0));
    p->gradient = (uint16_t *)allocate(rows * width, sizeof(uint16_t));
    p->index = (long long *)allocate(rows, sizeof(long long));
    p->hits = (long long *)allocate(table_rows, sizeof(long long));
    p->sum = (double *)allocate(cells, sizeof(double));
    p->result = (uint16_t *)allocate(p->halves, sizeof(uint16_t));
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
    CHECK(cudaMalloc((void **)&s->sums, sums_bytes(*s)));
    s->table = p->d_halves + p->before;
    s->gradient = p->d_gradient + gradient_skew;
    set_groups(s);
}

static void destroy_problem(struct problem *p)
{
    CHECK(cudaFree(p->d_halves));
    CHECK(cudaFree(p->d_start));
    CHECK(cudaFree(p->d_gradient));
    CHECK(cudaFree((void *)p->s.index));
    CHECK(cudaFree(p->s.sums));
    free(p->gradient);
    free(p->index);
    free(p->hits);
    free(p->sum);
    free(p->result);
}

/* xorshift64 (Marsaglia, 2003): the same numbers in every run. */
static unsigned long long draw(void)
{
    static unsigned long long state = 88172645463325252ULL;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Whole multiples of `unit`, from least to most of them. */
static void fill_gradient(struct problem *p, int least, int most, double unit)
{
    long long count = p->s.rows * p->s.width, i;
    unsigned range = (unsigned)(most - least + 1);

    for (i = 0; i < count; i++) {
        int multiple = least + (int)((draw() >> 33) % range);
        p->gradient[i] = fp16_from_double(multiple * unit);
    }
    p->largest = most * unit;
    CHECK(cudaMemcpy((void *)p->s.gradient, p->gradient,
                     (size_t)count * sizeof *p->gradient,
                     cudaMemcpyHostToDevice));
}

/* The first of total[0 .. count), which grows, that exceeds x. */
static long long find_above(const double *total, long long count, double x)
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
static void fill_index(struct problem *p, int pattern, int bad)
{
    long long table_rows = p->s.table_rows, i;
    double *total = (double *)allocate(table_rows, sizeof *total);
    enum { OUTSIDE = 6 }; /* as they are, or cut to an int */
    long long outside[OUTSIDE] = {
        -1, table_rows, 0x100000001, -0x80000001LL, 1LL << 62, -(1LL << 62)};

    for (i = 0; i < table_rows; i++)
        total[i] = (i > 0 ? total[i - 1] : 0) +
                   (pattern == UNIFORM ? 1 : 1 / (double)(i + 1));
    for (i = 0; i < p->s.rows; i++) {
        double x = (double)(draw() >> 11) * 0x1p-53 * total[table_rows - 1];
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
static void sum_on_host(struct problem *p)
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

static void clear_table(struct problem *p)
{
    CHECK(cudaMemcpy(p->d_halves, p->d_start, (size_t)p->halves * sizeof(half),
                     cudaMemcpyDeviceToDevice));
}

static void fetch_result(struct problem *p)
{
    CHECK(cudaMemcpy(p->result, p->d_halves, (size_t)p->halves * sizeof(half),
                     cudaMemcpyDeviceToHost));
}

/* Whether the guards, and the rows that no index names, are as they were. */
static int rest_is_untouched(const struct problem *p)
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

/* --- the check: small problems, bit for bit --- */

/* With whole numbers up to 3 every sum of 150 is exact, in any order. */
static int check_one(struct problem *p, int variant, int pattern)
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
        fprintf(stderr, "%s: %s is wrong on %lld rows of %d halves, %s\n",
                lesson.program, variant_names[variant], p->s.rows, p->s.width,
                pattern_names[pattern]);
    return ok;
}

static int check_small(void)
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
                fill_index(&p, pattern, 5);
                sum_on_host(&p);
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

/* --- the measurement --- */

/* How far a sum of m positive halves may be off, relative to the exact sum. A
 * rounding to half is off by 2^-11 of its result at most, to float by 2^-24;
 * a term passes through m - 1 of the one, as the first add, to -0, is exact,
 * and m of the other (Higham, 1993). But no add in half is off by more than
 * what it adds, so the sum itself is a bound, too, and 0.1% for rounded group
 * sums. */
static double bound_of(int variant, double m)
{
    double halves = variant == FLOAT ? 1 : m - 1;
    double bound = expm1(halves * log1p(0x1p-11) + m * log1p(0x1p-24));

    return bound < 1.001 ? bound : 1.001;
}

struct findings {
    double worst;     /* error, relative to the exact sum */
    double bound;     /* for the row that is hit most */
    double hottest;   /* the first half of that row */
    int frozen;       /* halves of that row that no add would move any more */
    double frozen_at; /* what one of them holds */
    int ok;
};

static struct findings examine(struct problem *p, int variant,
                               long long hottest)
{
    struct findings f = {0, 0, 0, 0, 0, 1};
    int width = p->s.width, k;
    long long row;

    fetch_result(p);
    f.ok = rest_is_untouched(p);
    for (row = 0; row < p->s.table_rows; row++) {
        const uint16_t *got = p->result + p->before + row * width;
        double bound = bound_of(variant, (double)p->hits[row]);
        for (k = 0; k < width && p->hits[row] > 0; k++) {
            double exact = p->sum[row * width + k];
            double error = fabs(fp16_to_double(got[k]) - exact) / exact;
            f.ok &= error <= bound;
            if (!(error <= f.worst))
                f.worst = error;
            if (row == hottest &&
                fp16_add(got[k], fp16_from_double(p->largest)) == got[k]) {
                f.frozen++;
                f.frozen_at = fp16_to_double(got[k]);
            }
        }
    }
    if (!f.ok)
        fprintf(stderr, "%s: %s is wrong\n", lesson.program,
                variant_names[variant]);
    f.bound = bound_of(variant, (double)p->hits[hottest]);
    f.hottest = fp16_to_double(p->result[p->before + hottest * width]);
    return f;
}

static void print_row(const struct problem *p, int pattern, int variant,
                      const struct timing *t, const struct findings *f)
{
    static int header_printed;
    double ms = timing_min_ms(t);

    report("", "%-8s %10.4f %10.2f %10.6g %11.3f%% %8.2f%%   %s",
           variant_names[variant], ms, ms * 1e6 / (double)p->s.rows, f->hottest,
           100 * f->worst, 100 * f->bound, f->ok ? "ok" : "WRONG");
    if (!lesson.csv)
        return;
    if (!header_printed)
        printf("gpu,arch,toolkit,lesson,variant,indices,rows,width,table_rows,"
               "min_ms,median_ms,ns_per_row,worst_error,bound,how,source\n");
    header_printed = 1;
    printf("%s,%s,%s,%d,v6_%s,%s,%lld,%d,%lld,%.6g,%.6g,%.4g,%.4g,%.4g,"
           "%s: smallest of the last %d of %d runs,this repository\n",
           lesson.gpu, lesson.arch, lesson.toolkit, lesson.number,
           variant_names[variant], pattern_names[pattern], p->s.rows,
           p->s.width, p->s.table_rows, ms, timing_median_ms(t),
           ms * 1e6 / (double)p->s.rows, f->worst, f->bound, timing_clock(),
           timing_kept(t), t->runs);
}

/* The row that is hit most; how many are hit at all. */
static long long find_hottest(const struct problem *p, long long *touched)
{
    long long row, hottest = 0;

    *touched = 0;
    for (row = 0; row < p->s.table_rows; row++) {
        *touched += p->hits[row] > 0;
        if (p->hits[row] > p->hits[hottest])
            hottest = row;
    }
    return hottest;
}

/* Times the variants, interleaved; the first run of each is examined. */
static void run_variants(struct problem *p, long long hottest, struct timing *t,
                         struct findings *f)
{
    int run, v;

    for (run = 0; run < lesson.runs; run++)
        for (v = 0; v < VARIANTS; v++) {
            show_progress(run, lesson.runs);
            clear_table(p);
            timing_begin(&t[v]);
            launch(v, p->s);
            timing_end(&t[v]);
            if (run == 0)
                f[v] = examine(p, v, hottest);
        }
    show_progress(run, lesson.runs);
}

/* One kind of indices: a row for each variant. Returns whether all are right.
 */
static int measure(struct problem *p, int pattern)
{
    static struct timing t[VARIANTS];
    struct findings f[VARIANTS];
    long long hottest, touched;
    int v, ok = 1;

    fill_index(p, pattern, 0);
    sum_on_host(p);
    hottest = find_hottest(p, &touched);
    for (v = 0; v < VARIANTS; v++)
        timing_create(&t[v], 1, lesson.runs);
    run_variants(p, hottest, t, f);
    report(pattern_names[pattern],
           "%lld rows of the table are hit, the hottest one %lld times; its "
           "first half should be %.6g",
           touched, p->hits[hottest], p->sum[hottest * p->s.width]);
    report("", "%-8s %10s %10s %10s %12s %9s", "", "ms", "ns a row",
           "first half", "worst error", "bound");
    for (v = 0; v < VARIANTS; v++) {
        print_row(p, pattern, v, &t[v], &f[v]);
        timing_destroy(&t[v]);
        ok &= f[v].ok;
    }
    if (f[VECTOR].frozen > 0)
        report("",
               "frozen, without grouping: adding %.6g to %.6g rounds back, in "
               "%d of %d halves of that row",
               p->largest, f[VECTOR].frozen_at, f[VECTOR].frozen, p->s.width);
    return ok;
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long rows = 0, width = 0, table_rows = 0, skew = 0, only = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &rows, 1, 1LL << 29,
         "rows to add (65536; in emulation 8192)"},
        {"--width", NULL, &width, 1, 1LL << 20, "halves in a row (768; 96)"},
        {"--table", NULL, &table_rows, 1, (1LL << 31) - 1,
         "rows of the table (50257; 6282)"},
        {"--offset", NULL, &skew, 0, 1024,
         "start both arrays N halves later (0)"},
        {"--index", "all|uniform|zipf|one", &only, 0, 0,
         "where the rows go (all)"},
    };
    double unit = 0x1p-11;
    struct problem p;
    int pattern, ok = 1;

    lesson_begin(7, "v6_scatter", "the gradient of an embedding, row by row",
                 argc, argv, options, 5);
    report_device();
    if (rows == 0)
        rows = lesson.emulated ? 8192 : 65536;
    if (width == 0)
        width = lesson.emulated ? 96 : 768;
    if (table_rows == 0)
        table_rows = lesson.emulated ? 6282 : 50257;
    if (!check_small()) {
        fprintf(stderr, "%s: not timed\n", lesson.program);
        return EXIT_WRONG;
    }
    create_problem(&p, rows, (int)width, table_rows, (int)skew, (int)skew);
    report("work", "%lld rows of %lld halves are added to a table of %lld rows",
           rows, width, table_rows);
    while (unit * 1024 * (double)rows > 40000) /* all in one row: no overflow */
        unit /= 2;
    fill_gradient(&p, 1, 2047, unit);
    for (pattern = 0; pattern < PATTERNS; pattern++)
        if (only == 0 || only == pattern + 1)
            ok &= measure(&p, pattern);
    report("result", "%s",
           ok ? "all sums within their bounds, nothing else touched: ok"
              : "WRONG");
    destroy_problem(&p);
    return ok ? 0 : EXIT_WRONG;
}
