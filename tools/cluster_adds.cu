/* atomicAdd on half2 and __nv_bfloat162 loses adds in another block's shared
 * memory, from sm_90 on. This file needs nothing but the CUDA Toolkit:
 *
 *     nvcc -arch=sm_90 -o cluster_adds cluster_adds.cu && ./cluster_adds
 *
 * Two blocks form a cluster. Each thread of one adds to a cell in the shared
 * memory of the other (map_shared_rank). Expected: all adds arrive. Got: of
 * half2 and bfloat162 one or few, without an error; of other types all. PTX
 * that names the state space, .shared::cluster, does the same.
 *
 * The call becomes atom.add.noftz.f16x2. Its machine code (sm_90, ptxas of CUDA
 * 13.0) tells global memory (ATOM sets P0) and the block's own shared memory
 * (QSPC.E.S), and takes all that is left for the thread's own memory:
 *
 *     ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, desc[UR4][R2.64], R5
 *     @P0 EXIT
 *     QSPC.E.S P0, RZ, [R2]
 *     @!P0 BRA `(.L_x_8)
 *     LDC R0, c[0x0][0x218]
 *     ULDC UR4, c[0x0][0x210]
 *     UMOV UR4, UR4
 *   .L_x_9:
 *     LDS R2, [UR4]
 *     MOV R4, UR4
 *     HFMA2.MMA R3, R2, 1, 1, R0
 *     ATOMS.CAST.SPIN R3, [R4], R2, R3
 *     ISETP.EQ.U32.AND P0, PT, R3, 0x1, PT
 *     @!P0 BRA `(.L_x_9)
 *     EXIT
 *   .L_x_8:
 *     LD.E R0, desc[UR4][R2.64]
 *     ULDC UR6, c[0x0][0x218]
 *     IADD3 R5, R0, UR6, RZ
 *     ST.E desc[UR4][R2.64], R5
 *
 * So for the other block there is no atomic, and not even an add of halves: one
 * thread that adds {1, 2} twice gets 0x40003c00 + 0x40003c00 = 0x80007800,
 * which is {32768, -0}. In the thread's own memory ("local") it is the same;
 * but there PTX allows no atomics.
 *
 * Every ptxas from CUDA 11.8 to 13.5 does so (cluster_ptxas.sh). Of a float it
 * did the like up to 12.2; from 12.3 on its code asks QSPC.E.D next, and has a
 * loop on ATOM.E.CAST.SPIN for the other block. half2 lacks that.
 *
 * Exit status: 0 if all other types arrive, 1 if one does not, 3 without a GPU
 * from sm_90 on, after a CUDA error, or if this cannot be printed. */
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvcc has clusters from sm_90 on. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTER_OF_TWO
#else
#define CLUSTER_OF_TWO __cluster_dims__(2, 1, 1)
#define HAS_CLUSTERS 1
#endif

/* Pairs that are added by PTX with the state space written out. */
struct half2_by_atom {
    half2 v;
};
struct half2_by_red {
    half2 v;
};
struct bf162_by_atom {
    __nv_bfloat162 v;
};

/* A generic address as one of .shared::cluster, and the instruction. */
#define PTX(instruction)                                                       \
    asm volatile("{\n.reg .b64 %%at;\n.reg .b32 %%cell, %%old;\n"              \
                 "cvta.to.shared::cluster.u64 %%at, %0;\n"                     \
                 "cvt.u32.u64 %%cell, %%at;\n" instruction                     \
                 ", %1;\n}" ::"l"(to),                                         \
                 "r"(*(unsigned *)&v)                                          \
                 : "memory")

#if HAS_CLUSTERS
static __device__ void atomicAdd(half2_by_atom *to, half2_by_atom v)
{
    PTX("atom.shared::cluster.add.noftz.f16x2 %%old, [%%cell]");
}

static __device__ void atomicAdd(half2_by_red *to, half2_by_red v)
{
    PTX("red.shared::cluster.add.noftz.f16x2 [%%cell]");
}

static __device__ void atomicAdd(bf162_by_atom *to, bf162_by_atom v)
{
    PTX("atom.shared::cluster.add.noftz.bf16x2 %%old, [%%cell]");
}
#endif

/* Where the cell is: in a block's shared memory, or each thread has one. */
enum place { OWN, OTHER, LOCAL };

/* Each thread adds v to its cell some times. */
template <typename T>
static __global__ void CLUSTER_OF_TWO add(place where, T v, T zero, int times,
                                          T *result)
{
#if HAS_CLUSTERS
    __shared__ T cell;
    T local = zero;
    cooperative_groups::cluster_group cluster =
        cooperative_groups::this_cluster();
    T *to = where == LOCAL
                ? &local
                : cluster.map_shared_rank(&cell, cluster.block_rank() ^ where);

    if (threadIdx.x == 0)
        cell = zero;
    cluster.sync();
    for (; times > 0; times--)
        atomicAdd(to, v);
    cluster.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *result = where == LOCAL ? local : cell;
#endif
}

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "cluster_adds: %s\n", cudaGetErrorString(error));
    exit(3);
}

static void print(char *to, float x)
{
    sprintf(to, "%g", (double)x);
}

static void print(char *to, int x)
{
    sprintf(to, "%d", x);
}

static void print(char *to, half x)
{
    print(to, __half2float(x));
}

static void print(char *to, __nv_bfloat16 x)
{
    print(to, __bfloat162float(x));
}

static void print(char *to, half2 x)
{
    sprintf(to, "{%g, %g}", (double)__low2float(x), (double)__high2float(x));
}

static void print(char *to, __nv_bfloat162 x)
{
    sprintf(to, "{%g, %g}", (double)__low2float(x), (double)__high2float(x));
}

template <typename By> static void print(char *to, By x)
{
    print(to, x.v);
}

static int failed;

/* One line. What is `known` to be lost is no failure. */
template <typename T>
static void show(const char *name, place where, T v, T all, int threads,
                 int times, bool known)
{
    T got, *d_got;
    char expected[32], text[32];
    bool arrives;

    check(cudaMalloc((void **)&d_got, sizeof got));
    add<<<2, threads>>>(where, v, T(), times, d_got);
    check(cudaGetLastError());
    check(cudaMemcpy(&got, d_got, sizeof got, cudaMemcpyDeviceToHost));
    check(cudaFree(d_got));
    print(expected, all);
    print(text, got);
    arrives = strcmp(expected, text) == 0;
    if (!arrives && !known)
        failed = 1;
    printf("          %-35s%-12s%-18s%s\n", name, expected, text,
           arrives ? "ok" : "LOST");
}

int main(void)
{
    struct cudaDeviceProp gpu;
    struct cudaFuncAttributes built = {};
    half2 h = __floats2half2_rn(1, 2), h_all = __floats2half2_rn(256, 512);
    half2 h_twice = __floats2half2_rn(2, 4);
    __nv_bfloat162 b = __floats2bfloat162_rn(1, 2);
    __nv_bfloat162 b_all = __floats2bfloat162_rn(256, 512);
    __nv_bfloat162 b_twice = __floats2bfloat162_rn(2, 4);
    int toolkit;

    check(cudaGetDeviceProperties(&gpu, 0));
    if (gpu.major >= 9)
        check(cudaFuncGetAttributes(&built, add<int>));
    if (built.ptxVersion < 90) {
        fprintf(stderr,
                "cluster_adds: needs a GPU from sm_90 on, and to be compiled "
                "with -arch=sm_90 or newer: this one is sm_%d%d\n",
                gpu.major, gpu.minor);
        return 3;
    }
    check(cudaRuntimeGetVersion(&toolkit));
    printf("cluster   %s, sm_%d%d, CUDA %d.%d\n"
           "          2 blocks, 256 threads each add {1, 2} or 1 to one cell\n"
           "          %-35s%-12s%s\n",
           gpu.name, gpu.major, gpu.minor, toolkit / 1000, toolkit % 1000 / 10,
           "type, in the other block", "expected", "got");
    show("half2", OTHER, h, h_all, 256, 1, true);
    show("half2 by atom.shared::cluster", OTHER, half2_by_atom{h},
         half2_by_atom{h_all}, 256, 1, true);
    show("half2 by red.shared::cluster", OTHER, half2_by_red{h},
         half2_by_red{h_all}, 256, 1, true);
    show("half2, one thread, twice", OTHER, h, h_twice, 1, 2, true);
    show("bfloat162", OTHER, b, b_all, 256, 1, true);
    show("bfloat162 by atom.shared::cluster", OTHER, bf162_by_atom{b},
         bf162_by_atom{b_all}, 256, 1, true);
    show("bfloat162, one thread, twice", OTHER, b, b_twice, 1, 2, true);
    show("half", OTHER, __float2half_rn(1), __float2half_rn(256), 256, 1,
         false);
    show("bfloat16", OTHER, __float2bfloat16_rn(1), __float2bfloat16_rn(256),
         256, 1, false);
    show("float", OTHER, 1.0f, 256.0f, 256, 1, false);
    show("int", OTHER, 1, 256, 256, 1, false);
    printf("          elsewhere\n");
    show("own block: half2", OWN, h, h_all, 256, 1, false);
    show("own block: bfloat162", OWN, b, b_all, 256, 1, false);
    show("local: half2, twice", LOCAL, h, h_twice, 1, 2, true);
    show("local: bfloat162, twice", LOCAL, b, b_twice, 1, 2, true);
    show("local: float, twice", LOCAL, 1.0f, 2.0f, 1, 2, false);
    if (fflush(stdout) != 0) {
        perror("cluster_adds: the output");
        return 3;
    }
    return failed;
}
