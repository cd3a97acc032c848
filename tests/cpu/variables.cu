/* __device__ variables: atomics on all types of them, alone, in arrays and in
 * structs; that they keep their values from launch to launch; and what goes
 * wrong beside them. The same on a GPU, but for the faults that only the
 * emulation reports.
 *
 * usage: variables [SEED [small]]
 *        variables cases           the names of all faults
 *        variables CASE            one fault
 * SEED: in the emulation's interleaved mode, unless it is 0; small: the same as
 * without.
 *
 * On the CPU emulation the line that must come on stderr is printed first,
 * after "stderr: ", with ADDRESS for what only the kernel knows. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"

typedef unsigned long long word;

static int failures, emulated;

static void expect(int right, const char *what)
{
    printf("%s - %s\n", right ? "ok" : "not ok", what);
    fflush(stdout);
    failures += !right;
}

/* --- the variables, in all ways in which they may be declared --- */

static __device__ unsigned lock;
static __device__ unsigned guarded;
static __device__ int count = 40, low, high = -(1 << 20);
static __device__ unsigned long long wide = 0xffffff00;
__device__ static float total = 0.5f, parts[2][3] = {{1, 2, 3}, {4, 5, 6}};
static volatile __device__ int seen;
static __device__ double precise;
static __device__ half single;
static __device__ half2 pair;
static __device__ __nv_bfloat16 brief;
static __device__ unsigned short tickets[3] = {1, 2, 3}; // an odd number
static __device__ __align__(8) struct {
    char odd;
    unsigned number;
} record;
static __device__ unsigned *chosen;
static __device__ const float scale[2] = {2.0f, 0.25f}; /* read only */
static __device__ __align__(8) half edge[3];
#if 1
static __device__ unsigned branch;
#else
static __device__ float branch;
#endif
__device__ unsigned global_one; /* not static */

static __device__ unsigned *own_count(void)
{
    static __device__ unsigned calls;

    return &calls;
}

/* --- values --- */

enum { BLOCKS = 6, THREADS = 64, N = BLOCKS * THREADS, RESULTS = 26 };

static __device__ void count_under_lock(void)
{
    int done = 0;

    while (!done)
        if (atomicCAS(&lock, 0u, 1u) == 0) {
            __threadfence();
            guarded++;
            __threadfence();
            atomicExch(&lock, 0u);
            done = 1;
        }
}

static __global__ void work_on_variables(void)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half one = __float2half_rn(1.0f), two = __float2half_rn(2.0f);
    unsigned short old;

    if (threadIdx.x == 0)
        count_under_lock();
    atomicAdd(&count, 1);
    atomicMin(&low, -(int)i);
    atomicMax(&high, (int)i);
    atomicAdd(&wide, 1ull);
    atomicAdd(&total, scale[1]);
    atomicAdd(&parts[i % 2][i % 3], scale[0]);
    atomicAdd(&precise, 0.5);
    atomicAdd(&single, one);
    atomicAdd(&pair, __halves2half2(one, two));
    atomicAdd(&brief, __float2bfloat16_rn(1.0f));
    atomicAdd(&edge[i % 3], one);
    atomicOr(&record.number, 1u << i % 32);
    atomicXor(&branch, i);
    atomicAdd(&global_one, 3u);
    atomicAdd(own_count(), 1u);
    if (i == 5) {
        chosen = &record.number;
        seen = 17;
    }
    do
        old = atomicCAS(&tickets[1], (unsigned short)0, (unsigned short)0);
    while (atomicCAS(&tickets[1], old, (unsigned short)(old + 1)) != old);
}

static __global__ void read_variables(double *results)
{
    int k = 0, i;

    results[k++] = lock;
    results[k++] = guarded;
    results[k++] = count;
    results[k++] = low;
    results[k++] = high;
    results[k++] = (double)wide;
    results[k++] = (double)total;
    for (i = 0; i < 6; i++)
        results[k++] = (double)parts[i / 3][i % 3];
    results[k++] = precise;
    results[k++] = (double)__half2float(single);
    results[k++] = (double)__low2float(pair);
    results[k++] = (double)__high2float(pair);
    results[k++] = (double)__bfloat162float(brief);
    for (i = 0; i < 3; i++)
        results[k++] = tickets[i];
    results[k++] = (double)__half2float(edge[2]);
    results[k++] = *chosen;
    results[k++] = branch;
    results[k++] = global_one;
    results[k++] = *own_count() + (unsigned)seen;
}

/* After `launches` of them. */
static void expect_results(const double *results, int launches)
{
    double n = (double)(N * launches), sixth = n / 6;
    double expected[RESULTS] = {0,
                                (double)(BLOCKS * launches),
                                40 + n,
                                -(N - 1),
                                N - 1,
                                0xffffff00 + n,
                                0.5 + n / 4,
                                1 + 2 * sixth,
                                2 + 2 * sixth,
                                3 + 2 * sixth,
                                4 + 2 * sixth,
                                5 + 2 * sixth,
                                6 + 2 * sixth,
                                n / 2,
                                n,
                                n,
                                2 * n,
                                256, /* where bfloat16 freezes */
                                1,
                                2 + n,
                                3,
                                n / 3,
                                0xffffffff,
                                0, /* N is a multiple of 4 */
                                3 * n,
                                n + 17};
    char text[80];
    int k;

    for (k = 0; k < RESULTS; k++) {
        snprintf(text, sizeof text, "launch %d, result %d: %.10g (%.10g)",
                 launches, k, results[k], expected[k]);
        expect(results[k] == expected[k], text);
    }
}

static void check_values(void)
{
    double results[RESULTS], *d_results;
    int launches;

    CHECK(cudaMalloc((void **)&d_results, sizeof results));
    for (launches = 1; launches <= 2; launches++) {
        work_on_variables<<<BLOCKS, THREADS>>>();
        CHECK(cudaGetLastError());
        read_variables<<<1, 1>>>(d_results);
        CHECK(cudaMemcpy(results, d_results, sizeof results,
                         cudaMemcpyDeviceToHost));
        expect_results(results, launches);
    }
    CHECK(cudaFree(d_results));
}

/* --- faults --- */

enum place { IN_EDGE, IN_TICKETS, BESIDE, ON_HEAP, ON_STACK, IN_KERNEL, FAR };

static unsigned beside; /* the host's */

static const struct fault_case {
    const char *name;
    enum place place;
    int offset, bytes; /* of the atomic */
    int error, on_gpu; /* on_gpu: it reports it by itself */
} FAULTS[] = {
    {"word-over-the-end", IN_EDGE, 4, 4, 700, 0},
    {"long-over-the-end", IN_EDGE, 0, 8, 700, 0},
    {"word-on-odd-half", IN_EDGE, 2, 4, 716, 1},
    {"long-on-odd-word", IN_EDGE, 4, 8, 716, 1},
    {"half-on-odd-byte", IN_TICKETS, 3, 2, 716, 1},
    {"variable-of-the-host", BESIDE, 0, 4, 700, 0},
    {"heap-of-the-host", ON_HEAP, 0, 4, 700, 0},
    {"stack-of-the-host", ON_STACK, 0, 8, 700, 0},
    {"variable-of-the-thread", IN_KERNEL, 0, 4, 700, 0},
    {"far-from-variables", FAR, 1 << 30, 4, 700, 0},
};
enum { FAULT_COUNT = sizeof FAULTS / sizeof FAULTS[0] };

static __global__ void go_wrong(struct fault_case f, char *host)
{
    unsigned local[2] = {0, 0};
    char *at = f.place == IN_EDGE      ? (char *)edge
               : f.place == IN_TICKETS ? (char *)tickets
               : f.place == IN_KERNEL  ? (char *)local
               : f.place == FAR        ? (char *)&lock
                                       : host;

    atomicAdd(&count, 1); /* which is sound */
    if (blockIdx.x != 2 || threadIdx.x != 11)
        return;
    at = (char *)((uintptr_t)at + (uintptr_t)f.offset);
    if (f.bytes == 2)
        atomicCAS((unsigned short *)at, (unsigned short)0, (unsigned short)1);
    else if (f.bytes == 4)
        atomicAdd((unsigned *)at, 1u);
    else
        atomicAdd((word *)at, 1ull);
    seen = (int)local[0];
}

static int run_fault(const struct fault_case *f)
{
    unsigned *heap = (unsigned *)calloc(2, sizeof *heap);
    word stack = 0;
    char *host = f->place == BESIDE    ? (char *)&beside
                 : f->place == ON_HEAP ? (char *)heap
                                       : (char *)&stack;
    char text[40];

    if (emulated)
        printf("stderr: CPU emulation: go_wrong, block (2,0,0), thread "
               "(11,0,0): %s %d-byte atomic at ADDRESS is %s (error %d)\n",
               f->bytes == 8 ? "an" : "a", f->bytes,
               f->error == 716 ? "not aligned to its size"
                               : "outside every allocation",
               f->error);
    fflush(stdout);
    go_wrong<<<4, 32>>>(*f, host);
    expect(cudaGetLastError() == cudaSuccess, "the launch succeeds");
    snprintf(text, sizeof text, "error %d", f->error);
    expect((int)cudaDeviceSynchronize() == f->error, text);
    expect(heap[0] == 0 && stack == 0 && beside == 0, "and nothing was added");
    free(heap);
    return failures ? EXIT_WRONG : 0;
}

static int run_case(const char *name)
{
    int i;

    for (i = 0; i < FAULT_COUNT; i++)
        if (strcmp(name, FAULTS[i].name) == 0)
            return run_fault(&FAULTS[i]);
    fprintf(stderr, "variables: there is no case %s\n", name);
    return EXIT_USAGE;
}

/* What cudaMemcpy() gets is an address of the host's. */
static void check_copies(void)
{
    unsigned copy;

    expect(cudaMemcpy(&copy, &guarded, sizeof copy, cudaMemcpyDeviceToHost) ==
               cudaErrorInvalidValue,
           "cudaMemcpy refuses a variable");
    cudaGetLastError();
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp prop;
    int i;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
    if (argc > 1 && strcmp(argv[1], "cases") == 0) {
        for (i = 0; i < FAULT_COUNT; i++)
            if (emulated || FAULTS[i].on_gpu)
                puts(FAULTS[i].name);
        return 0;
    }
    if (argc > 1 && (*argv[1] < '0' || *argv[1] > '9'))
        return run_case(argv[1]);
#ifdef CPU_CUDA_RUNTIME_H
    if (argc > 1)
        cpu_interleave(strtoull(argv[1], NULL, 10));
#endif
    check_values();
    if (emulated)
        check_copies();
    return failures ? EXIT_WRONG : 0;
}
