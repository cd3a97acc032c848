/* Interleaved mode of the CPU emulation, operation by operation: how many
 * requests each takes, and what a fault does to the threads in flight. All that
 * is printed but addresses must be the same for any CPU_THREADS, compiler and
 * processor.
 *
 * usage: turn_faults          what each operation asks of the queue
 *        turn_faults cases    the names of all faults
 *        turn_faults CASE     one fault
 *
 * A fault first prints what must come on stderr, after "stderr: ". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <inttypes.h>

#include "../tap.h"
#include "device.h"

enum { THREADS = 16, RESIDENT = 4 }; /* in a block; blocks in flight */

static int shared_bytes; /* of the multiprocessor */

static void *allocate(size_t bytes)
{
    void *p;

    CHECK(cudaMalloc(&p, bytes));
    CHECK(cudaMemset(p, 0, bytes));
    return p;
}

/* Dynamic shared memory with which only `resident` blocks are in flight. */
static size_t shared_for(unsigned resident)
{
    return (size_t)shared_bytes / resident;
}

/* --- what an operation asks of the queue --- */

enum operation {
    ADD_HALF,
    ADD_HALF2,
    ADD_INT,
    ADD_UNSIGNED,
    ADD_LONG,
    ADD_FLOAT,
    ADD_DOUBLE,
    CAS_SHORT,
    CAS_INT,
    CAS_UNSIGNED,
    CAS_LONG,
    PLAIN_LOAD,
    PLAIN_STORE,
    OPERATIONS
};

static const struct {
    const char *name;
    size_t bytes; /* of an atomic; 0: a plain access */
} operations[OPERATIONS] = {
    {"half add", 2},     {"half2 add", 4},          {"int add", 4},
    {"unsigned add", 4}, {"long add", 8},           {"float add", 4},
    {"double add", 8},   {"unsigned short cas", 2}, {"int cas", 4},
    {"unsigned cas", 4}, {"long cas", 8},           {"plain load", 0},
    {"plain store", 0},
};

static __device__ unsigned operate(char *at, int operation)
{
    half one = __float2half_rn(1.0f);

    if (operation == ADD_HALF)
        atomicAdd((half *)at, one);
    else if (operation == ADD_HALF2)
        atomicAdd((half2 *)at, __halves2half2(one, one));
    else if (operation == ADD_INT)
        atomicAdd((int *)at, 1);
    else if (operation == ADD_UNSIGNED)
        atomicAdd((unsigned *)at, 1u);
    else if (operation == ADD_LONG)
        atomicAdd((unsigned long long *)at, 1ull);
    else if (operation == ADD_FLOAT)
        atomicAdd((float *)at, 1.0f);
    else if (operation == ADD_DOUBLE)
        atomicAdd((double *)at, 1.0);
    else if (operation == CAS_SHORT)
        atomicCAS((unsigned short *)at, 0, 1);
    else if (operation == CAS_INT)
        atomicCAS((int *)at, 0, 1);
    else if (operation == CAS_UNSIGNED)
        atomicCAS((unsigned *)at, 0u, 1u);
    else if (operation == CAS_LONG)
        atomicCAS((unsigned long long *)at, 0ull, 1ull);
    else if (operation == PLAIN_LOAD)
        return *(const unsigned *)at;
    else
        *(unsigned *)at = 1;
    return 0;
}

static __global__ void operate_once(char *at, int operation, unsigned n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
        operate(at, operation);
}

/* What the cell must hold after n of them from 0, as bytes. */
static void expected_cell(int operation, unsigned n, char *cell)
{
    uint16_t halves[2];
    unsigned long long count = n;
    float f = (float)n;
    double d = n;

    halves[0] = halves[1] = fp16_from_double(n);
    if (operation >= CAS_SHORT)
        count = 1;
    memset(cell, 0, 8);
    if (operation == ADD_HALF2)
        memcpy(cell, halves, sizeof halves);
    else if (operation == ADD_FLOAT)
        memcpy(cell, &f, sizeof f);
    else if (operation == ADD_DOUBLE)
        memcpy(cell, &d, sizeof d);
    else
        memcpy(cell, &count, sizeof count);
}

static void check_operations(void)
{
    enum { N = 500 };
    char *d_cell = (char *)allocate(8), cell[8], expected[8];
    int k;

    for (k = ADD_HALF2; k <= CAS_LONG; k++) {
        CHECK(cudaMemset(d_cell, 0, 8));
        cpu_interleave(3);
        operate_once<<<(N + THREADS - 1) / THREADS, THREADS,
                       shared_for(RESIDENT)>>>(d_cell, k, N);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(cell, d_cell, 8, cudaMemcpyDeviceToHost));
        expected_cell(k, N, expected);
        expect(cpu_requests == N && memcmp(cell, expected, 8) == 0,
               "%s: %d of them are %llu requests, the result is right",
               operations[k].name, N, cpu_requests);
        cpu_interleave(0);
    }
    CHECK(cudaFree(d_cell));
}

/* --- atomicCAS in turns --- */

/* Each thread counts cell `i % 2` up by one. */
static __global__ void count_up(unsigned short *cells, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned short *cell = cells + i % 2, old, seen;

    if (i >= n)
        return;
    old = *cell;
    do {
        seen = old;
        old = atomicCAS(cell, seen, (unsigned short)(seen + 1));
    } while (old != seen);
}

static void check_counting(void)
{
    enum { N = 1000 };
    unsigned short *d_counts = (unsigned short *)allocate(4), counts[2];

    cpu_interleave(5);
    count_up<<<(N + THREADS - 1) / THREADS, THREADS, shared_for(RESIDENT)>>>(
        d_counts, N);
    CHECK(cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost));
    expect(counts[0] == N / 2 && counts[1] == N / 2,
           "two counts of 2 bytes in a word: %u and %u", counts[0], counts[1]);
    expect(cpu_requests > N, "and tries failed: %llu requests", cpu_requests);
    cpu_interleave(0);
    CHECK(cudaFree(d_counts));
}

/* --- faults --- */

static const struct fault_case {
    const char *name;
    int operation;
    int from; /* 'a': an allocation of 6 bytes, 'f': it is freed, '0': NULL */
    size_t offset;
    int error;
} faults[] = {
    {"half-on-odd-byte", ADD_HALF, 'a', 1, 716},
    {"half2-on-odd-half", ADD_HALF2, 'a', 2, 716},
    {"float-on-odd-half", ADD_FLOAT, 'a', 2, 716},
    {"double-on-odd-word", ADD_DOUBLE, 'a', 4, 716},
    {"cas-short-on-odd-byte", CAS_SHORT, 'a', 1, 716},
    {"cas-int-on-odd-half", CAS_INT, 'a', 2, 716},
    {"cas-unsigned-on-odd-half", CAS_UNSIGNED, 'a', 2, 716},
    {"cas-long-on-odd-word", CAS_LONG, 'a', 4, 716},
    {"half-past-the-end", ADD_HALF, 'a', 6, 700},
    {"half2-half-past-the-end", ADD_HALF2, 'a', 4, 700},
    {"cas-short-past-the-end", CAS_SHORT, 'a', 6, 700},
    {"cas-int-half-past-the-end", CAS_INT, 'a', 4, 700},
    {"cas-unsigned-half-past-the-end", CAS_UNSIGNED, 'a', 4, 700},
    {"cas-long-half-past-the-end", CAS_LONG, 'a', 0, 700},
    {"half-through-null", ADD_HALF, '0', 0, 700},
    {"half-freed", ADD_HALF, 'f', 2, 700},
    {"cas-short-through-null", CAS_SHORT, '0', 0, 700},
    {"cas-unsigned-freed", CAS_UNSIGNED, 'f', 0, 700},
    {"load-on-odd-half", PLAIN_LOAD, 'a', 2, 716},
    {"load-freed", PLAIN_LOAD, 'f', 0, 700},
    {"store-through-null", PLAIN_STORE, '0', 0, 700},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };
enum { BLOCKS = 6, TURNS = 8 * 4 * 2 * 4 }; /* of a block */

/* Four turns of each thread; one of them goes wrong between. */
static __global__ void go_wrong(unsigned *turns, char *at, int operation)
{
    atomicAdd(turns, 1u);
    atomicAdd(turns, 1u);
    if (blockIdx.x == 3 && threadIdx.x == 5 && threadIdx.y == 3 &&
        threadIdx.z == 1)
        turns[1] = operate(at, operation);
    atomicAdd(turns, 1u);
    atomicAdd(turns, 1u);
}

static void print_expected_line(const struct fault_case *f, const char *at)
{
    size_t bytes = operations[f->operation].bytes;
    char what[40] = "a plain access", where[32] = "";

    if (bytes)
        snprintf(what, sizeof what, "%s %zu-byte atomic",
                 bytes == 8 ? "an" : "a", bytes);
    if (bytes || f->error == 700)
        snprintf(where, sizeof where, " at 0x%" PRIxPTR, (uintptr_t)at);
    printf("stderr: CPU emulation: go_wrong, block (3,0,0), thread (5,3,1): "
           "%s%s is %s (error %d)\n",
           what, where,
           f->error == 716 ? "not aligned to its size"
                           : "outside every allocation",
           f->error);
    fflush(stdout);
}

static void run_fault(const struct fault_case *f)
{
    unsigned *turns = (unsigned *)allocate(8), done;
    char *at = f->from == '0' ? NULL : (char *)allocate(6) + f->offset;
    dim3 block;
    cudaError_t error;

    block.x = 8;
    block.y = 4;
    block.z = 2;
    if (f->from == 'f')
        CHECK(cudaFree(at - f->offset));
    cpu_interleave(11);
    print_expected_line(f, at);
    go_wrong<<<BLOCKS, block, shared_for(1)>>>(turns, at, f->operation);
    expect(cudaPeekAtLastError() == cudaSuccess, "the launch succeeds");
    error = cudaDeviceSynchronize();
    expect((int)error == f->error, "the wait fails with error %d", (int)error);
    error = cudaGetLastError();
    expect((int)error == f->error, "so does the next question");
    done = turns[0]; /* device memory is the host's here */
    expect(done > 3 * TURNS && done < BLOCKS * TURNS,
           "the others were stopped: %u turns of %d", done, BLOCKS * TURNS);
    cpu_interleave(0);
    go_wrong<<<1, block>>>(turns, at, ADD_HALF);
    error = cudaMemset(turns, 0, 4);
    expect((int)error == f->error && turns[0] == done,
           "no launch and no call works any more");
}

static int run_case(const char *name)
{
    int k;

    for (k = 0; k < FAULTS; k++)
        if (strcmp(name, faults[k].name) == 0) {
            run_fault(&faults[k]);
            return failures ? EXIT_WRONG : 0;
        }
    fprintf(stderr, "turn_faults: there is no case %s\n", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    int k;

    CHECK(cudaDeviceGetAttribute(
        &shared_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    if (argc > 1 && strcmp(argv[1], "cases") != 0)
        return run_case(argv[1]);
    for (k = 0; argc > 1 && k < FAULTS; k++)
        puts(faults[k].name);
    if (argc > 1)
        return 0;
    check_operations();
    check_counting();
    return failures ? EXIT_WRONG : 0;
}
