/* Exercise 17, side_by_side: sums that are right, without an atomic add.
 *
 * Each half has a target: the place in a table that it is added to. Many may
 * have the same one. count_halves() gives each half its number among those of
 * its target. Once they stand next to each other, one thread can add them all.
 *
 * Task: find the first place of each target, then make its sum.
 * Constraint: each half of the table becomes the exact sum of what it held and
 *     of what goes to it, rounded once. Where nothing goes, no bit changes.
 * Before you change it, it fails with: half 0 stands in 0 places, not 1
 * Read: lessons/v9_rows. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BLOCK = 128, BLOCKS = 2, TARGETS = 200, MOST = 5000 };
enum { NONE = -1 }; /* the target of a half that goes nowhere */

struct work {
    half table[TARGETS], value[MOST]; /* what is added to, and what to add */
    int target[MOST];                 /* of each half */
    unsigned number[MOST];            /* of each, among those of its target */
    unsigned halves[TARGETS];         /* how many go to each target */
    unsigned first[TARGETS];          /* the place of its half number 0 */
    unsigned used;                    /* 0 at first; yours */
    int order[MOST];                  /* which half stands in each place */
    int count;
};

static __global__ void count_halves(struct work *w)
{
    int i = (int)(blockIdx.x * BLOCK + threadIdx.x);

    if (i < w->count && w->target[i] != NONE)
        w->number[i] = atomicAdd(&w->halves[w->target[i]], 1u);
}

/* A thread for each target. */
static __global__ void find_first(struct work *w)
{
    int t = (int)(blockIdx.x * BLOCK + threadIdx.x);

    if (t >= TARGETS)
        return;
    /* TODO: where do the halves of target t begin? */
    w->first[t] = 0;
    /* END TODO */
}

static __global__ void place_halves(struct work *w)
{
    int i = (int)(blockIdx.x * BLOCK + threadIdx.x);
    unsigned place = MOST;

    if (i < w->count && w->target[i] != NONE)
        place = w->first[w->target[i]] + w->number[i];
    if (place < MOST)
        atomicExch(&w->order[place], i);
}

/* A thread for each target. */
static __global__ void add_up(struct work *w)
{
    int t = (int)(blockIdx.x * BLOCK + threadIdx.x);
    double sum;
    unsigned k;

    if (t >= TARGETS)
        return;
    /* TODO: what does w->table[t] become? */
    sum = 0;
    for (k = 0; k < w->halves[t]; k++)
        sum += (double)__half2float(w->value[k]);
    w->table[t] = __hadd_rn(w->table[t], __double2half(sum));
    /* END TODO */
}

static struct work w;

/* Adds `count` halves to a table that holds `start` everywhere. */
static void check(uint16_t start, int count, const char *what)
{
    static int places[MOST];
    double sum[TARGETS];
    struct work *d;
    int i, grid = (count + BLOCK - 1) / BLOCK;

    w.count = count;
    for (i = 0; i < TARGETS; i++) {
        w.table[i] = __ushort_as_half(start);
        sum[i] = fp16_to_double(start);
    }
    for (i = 0; i < count; i++)
        if (w.target[i] != NONE)
            sum[w.target[i]] += (double)__half2float(w.value[i]);
    w.used = 0;
    memset(w.halves, 0, sizeof w.halves);
    memset(w.order, -1, sizeof w.order);
    memset(places, 0, sizeof places);
    CHECK(cudaMalloc((void **)&d, sizeof w));
    CHECK(cudaMemcpy(d, &w, sizeof w, cudaMemcpyHostToDevice));
    count_halves<<<grid, BLOCK>>>(d);
    find_first<<<BLOCKS, BLOCK>>>(d);
    place_halves<<<grid, BLOCK>>>(d);
    add_up<<<BLOCKS, BLOCK>>>(d);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&w, d, sizeof w, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < MOST; i++)
        if (w.order[i] >= 0)
            places[w.order[i]]++;
    for (i = 0; i < count; i++)
        require(places[i] == (w.target[i] != NONE), NULL,
                "%s: half %d stands in %d places, not %d", what, i, places[i],
                w.target[i] != NONE);
    for (i = 0; i < TARGETS; i++) {
        double got = (double)__half2float(w.table[i]);
        uint16_t want = fp16_from_double(sum[i]); /* exact, and rounded once */
        require(__half_as_ushort(w.table[i]) == want, NULL,
                "%s: target %d is %g, expected %g", what, i, got,
                fp16_to_double(want));
    }
    require(1, what, "");
}

static void set(int i, int target, double value)
{
    w.target[i] = target;
    w.value[i] = __ushort_as_half(fp16_from_double(value));
}

int main(void)
{
    int i;

    exercise_begin(17, "side_by_side");
    for (i = 0; i < 1000; i++)
        set(i, (int)(exercise_random() % TARGETS), i % 64 - 20.5);
    check(0x8000, 1000, "random targets, a table of -0");
    for (i = 0; i < MOST; i++)
        set(i, i % 9 == 1 ? NONE : i % 9 == 5 ? i % TARGETS : 150, 0.8125);
    check(0x3c00, MOST, "one hot target, and halves that go nowhere");
    for (i = 0; i < 3 * TARGETS; i++)
        set(i, i * 7 % TARGETS, i < TARGETS ? 1 : i % 2 ? 0x1p-24 : 0x1p-23);
    check(0x6800, 3 * TARGETS, "1 and very little, to 2048");
    return exercise_end();
}
