/* What pairs of halves cost in another block's shared memory, added in ways
 * that are right; cluster_adds.cu shows that atomicAdd(half2 *) is none. Needs
 * a GPU from sm_90 on; `make corrections` runs it. */
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "corrections.h"

/* One cluster, of the largest size that all these GPUs take. All of its threads
 * add to cells in the first block. */
enum { BLOCKS = 8, MOST_CELLS = THREADS };

enum way { CAS_LOOP, TWO_FLOATS, COLLECT, GLOBAL, WAYS };

static const char *const way_name[WAYS] = {
    "compare-and-swap loop on the pair",
    "two float adds for the pair",
    "each block its own, one collects",
    "atomicAdd(half2 *) on global memory",
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTER /* nvcc has none there */
#else
#define CLUSTER __cluster_dims__(BLOCKS, 1, 1)
#define HAS_CLUSTERS 1
#endif

#if HAS_CLUSTERS
namespace cg = cooperative_groups;

static __device__ void add_by_cas(half2 *cell, half2 v)
{
    unsigned *word = (unsigned *)cell;
    unsigned seen = *(volatile unsigned *)word, old;
    half2 sum;

    do {
        old = seen;
        sum = __hadd2_rn(*(half2 *)&old, v);
        seen = atomicCAS(word, old, *(unsigned *)&sum);
    } while (seen != old);
}

/* The sum of all blocks' own cells. */
static __device__ half2 collect(cg::cluster_group cluster, half2 *cell)
{
    float2 sum = make_float2(0, 0);
    unsigned block;

    for (block = 0; block < BLOCKS; block++) {
        half2 part = *cluster.map_shared_rank(cell, block);
        sum.x += __low2float(part);
        sum.y += __high2float(part);
    }
    return __float22half2_rn(sum);
}
#endif

/* Each thread adds {1, -1} and {-1, 1} in turn, so that the cells always move;
 * `turns` is odd, and the first is left over. `global` holds zeros. */
static __global__ void CLUSTER add_all(enum way way, unsigned cells, int turns,
                                       half2 *global, half2 *result)
{
#if HAS_CLUSTERS
    __shared__ half2 pairs[MOST_CELLS];
    __shared__ float2 sums[MOST_CELLS];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned t = threadIdx.x, k = t % cells;
    half2 *pair = cluster.map_shared_rank(pairs, 0) + k;
    float2 *sum = cluster.map_shared_rank(sums, 0) + k;
    float sign = 1;

    pairs[t] = __float2half2_rn(0);
    sums[t] = make_float2(0, 0);
    cluster.sync();
    for (; turns > 0; turns--, sign = -sign) {
        half2 v = __floats2half2_rn(sign, -sign);
        if (way == CAS_LOOP) {
            add_by_cas(pair, v);
        } else if (way == TWO_FLOATS) {
            atomicAdd(&sum->x, sign);
            atomicAdd(&sum->y, -sign);
        } else {
            atomicAdd(way == COLLECT ? &pairs[k] : &global[k], v);
        }
    }
    cluster.sync();
    if (blockIdx.x == 0 && t < cells)
        result[t] = way == COLLECT      ? collect(cluster, &pairs[t])
                    : way == TWO_FLOATS ? __float22half2_rn(sums[t])
                    : way == GLOBAL     ? global[t]
                                        : pairs[t];
    cluster.sync(); /* a block's memory is there as long as it runs */
#endif
}

/* Whether each cell has what is left over from all threads that add to it. */
static int is_right(unsigned cells, const half2 *d_result)
{
    half2 result[MOST_CELLS];
    float left = (float)(BLOCKS * THREADS / cells); /* 2,048 at most: exact */
    unsigned k;

    read_back(result, d_result, cells * sizeof *result);
    for (k = 0; k < cells; k++)
        if (!(__low2float(result[k]) == left &&
              __high2float(result[k]) == -left))
            return 0;
    return 1;
}

/* ns[way]: nanoseconds per pair added. Returns whether all sums are right. */
static int measure(unsigned cells, int turns, double *ns)
{
    half2 *d_global = (half2 *)d_memory, *d_result = d_global + MOST_CELLS;
    int way, right = 1;

    timing_create(timing, WAYS, 7);
    while (timing_next(timing, WAYS))
        for (way = 0; way < WAYS; way++) {
            clear();
            timing_begin(&timing[way]);
            add_all<<<BLOCKS, THREADS>>>((enum way)way, cells, turns, d_global,
                                         d_result);
            end(&timing[way]);
            right &= is_right(cells, d_result);
        }
    for (way = 0; way < WAYS; way++)
        ns[way] = ms_of(way) * 1e6 / ((double)BLOCKS * THREADS * turns);
    return right;
}

int main(int argc, char **argv)
{
    double hot[WAYS], spread[WAYS];
    struct cudaFuncAttributes built = {};
    int major, way, right;

    lesson_begin(0, "cluster_ways", "half2 in another block", argc, argv, NULL,
                 0);
    major = attribute_of(cudaDevAttrComputeCapabilityMajor);
    if (major >= 9)
        CHECK(cudaFuncGetAttributes(&built, add_all));
    if (built.ptxVersion < 90) {
        complain("cluster_ways: needs a GPU from sm_90 on, and to be compiled "
                 "with -arch=sm_90 or newer: this one is sm_%d%d",
                 major, attribute_of(cudaDevAttrComputeCapabilityMinor));
        return EXIT_DEVICE;
    }
    CHECK(cudaMalloc(&d_memory, MEMORY_BYTES));
    right = measure(1, 63, hot);
    right &= measure(MOST_CELLS, 4095, spread);
    CHECK(cudaFree(d_memory));
    report("ways",
           "%d blocks of %d threads add pairs to the first block: ns "
           "per pair",
           BLOCKS, THREADS);
    report("", "%-38s %8s %12s", "", "one cell", "256 cells");
    for (way = 0; way < WAYS; way++)
        report("", "%-38s %8.2f %12.4f", way_name[way], hot[way], spread[way]);
    report("result", right ? "all sums are exact: ok" : "a sum is WRONG");
    return !right;
}
