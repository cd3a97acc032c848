/* Lesson 7's kernels, and rows by TMA, for tools/peers/scatter.py: pointers are
 * device pointers, `variant` is one of the lesson's. */
#define main lesson_main
#include "../../lessons/v6_scatter/v6_scatter.cu"
#undef main

extern "C" void v6_scatter(int variant, void *table, long long table_rows,
                           int width, const void *gradient,
                           const long long *index, long long rows)
{
    struct scatter s;

    s.table = (half *)table;
    s.gradient = (const half *)gradient;
    s.index = index;
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

/* --- rows by TMA, as PyTorch's scatter_add does it on sm_90 since mid-2026
 * (its pull request 182675), written afresh --- */

enum { STAGED = 1024 }; /* halves of a row that a warp stages at a time */

/* A warp copies a row to shared memory, and one of its threads has it added to
 * the table from there. Rows are a multiple of 16 bytes long and begin at one.
 */
static __global__ void add_rows_by_tma(struct scatter s)
{
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(16) half staged[TEAMS][STAGED];
    half *stage = staged[threadIdx.y];
    long long i = (long long)blockIdx.x * TEAMS + threadIdx.y;
    long long row = target_row(s, i);
    int from, k;

    for (from = 0; row >= 0 && from < s.width; from += STAGED) {
        int length = s.width - from < STAGED ? s.width - from : STAGED;
        const uint4 *source = (const uint4 *)(s.gradient + i * s.width + from);
        for (k = (int)threadIdx.x; k < length / 8; k += TEAM)
            ((uint4 *)stage)[k] = source[k];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (threadIdx.x == 0)
            asm volatile(
                "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz"
                ".f16 [%0], [%1], %2;\n\t"
                "cp.async.bulk.commit_group;\n\t"
                "cp.async.bulk.wait_group.read 0;" /* the stage is free */
                :
                : "l"(__cvta_generic_to_global(s.table + row * s.width + from)),
                  "r"((unsigned)__cvta_generic_to_shared(stage)),
                  "r"(length * 2)
                : "memory");
        __syncwarp();
    }
#endif
}

extern "C" void tma_rows(void *table, long long table_rows, int width,
                         const void *gradient, const long long *index,
                         long long rows)
{
    struct scatter s = {};
    dim3 block = {TEAM, TEAMS, 1};

    s.table = (half *)table;
    s.gradient = (const half *)gradient;
    s.index = index;
    s.rows = rows;
    s.table_rows = table_rows;
    s.width = width;
    add_rows_by_tma<<<blocks_for(rows, TEAMS), block>>>(s);
    CHECK(cudaGetLastError());
}
