/* Threads that wait for each other: barriers of the block and of the warp, what
 * is shared between them, locks and flags; and, in cases of their own, what
 * goes wrong there. The same on a GPU of sm_70 or newer, but for the deadlocks,
 * which never end there, and for what a case says on stderr.
 *
 * usage: barriers [SEED [small]]
 *        barriers cases           the names of all cases
 *        barriers CASE [SEED]     one case
 * SEED: in the emulation's interleaved mode, unless it is 0; small: few blocks
 * and small ones, for sanitizers, under which a thread that waits is dear.
 *
 * On the CPU emulation the line that must come on stderr is printed first,
 * after "stderr: ". */
#include <cuda_runtime.h>
#include <inttypes.h>

#include "../tap.h"
#include "device.h"

static const intptr_t FAR = -((intptr_t)1 << 36); /* below all stacks */

static int emulated, small;

/* Device memory, all zero. */
static unsigned *new_cells(size_t count)
{
    unsigned *d_cells;

    CHECK(cudaMalloc((void **)&d_cells, count * sizeof *d_cells));
    CHECK(cudaMemset(d_cells, 0, count * sizeof *d_cells));
    return d_cells;
}

static unsigned take_cell(unsigned *d_cells, size_t number)
{
    unsigned value;

    CHECK(cudaMemcpy(&value, d_cells + number, sizeof value,
                     cudaMemcpyDeviceToHost));
    return value;
}

/* --- the block --- */

/* Round by round everybody passes on what it has to its neighbour: after
 * `rounds` of them the value of thread i has come from thread i - rounds. */
static __global__ void pass_on(unsigned *wrong, unsigned rounds)
{
    __shared__ unsigned cells[1024];
    unsigned i = threadIdx.x + blockDim.x * threadIdx.y;
    unsigned count = blockDim.x * blockDim.y, round, has = i;

    for (round = 0; round < rounds; round++) {
        cells[i] = has;
        __syncthreads();
        has = cells[(i + count - 1) % count];
        __syncthreads();
    }
    if (has != (i + count * rounds - rounds) % count)
        atomicAdd(wrong, 1u);
}

static void check_rounds(unsigned blocks, unsigned x, unsigned y,
                         unsigned rounds)
{
    unsigned *d_wrong = new_cells(1);
    dim3 grid, block;

    grid.x = blocks;
    block.x = x;
    block.y = y;
    grid.y = grid.z = block.z = 1;
    pass_on<<<grid, block>>>(d_wrong, rounds);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    expect(take_cell(d_wrong, 0) == 0, "%u blocks of %u,%u pass on %u times",
           blocks, x, y, rounds);
    CHECK(cudaFree(d_wrong));
}

/* Thread i leaves after i % 7 rounds; who is still there meets at the barrier.
 * Each round the threads there count themselves. */
static __global__ void thin_out(unsigned *wrong)
{
    __shared__ unsigned there[8];
    unsigned i = threadIdx.x, round, k, expected;

    if (i < 8)
        there[i] = 0;
    __syncthreads();
    for (round = 0; round < 7; round++) {
        if (i % 7 < round)
            return;
        atomicAdd(&there[round], 1u);
        __syncthreads();
        for (expected = k = 0; k < blockDim.x; k++)
            expected += k % 7 >= round;
        if (there[round] != expected)
            atomicAdd(wrong, 1u);
    }
}

/* The first lanes exit before anybody waits. */
static __global__ void leave_early(unsigned *wrong)
{
    unsigned i = threadIdx.x;

    if (i < 35)
        return;
    if (__ballot_sync(0xffffffff, 1) != (i < 64 ? 0xfffffff8 : 0xffffffff))
        atomicAdd(wrong, 1u);
    __syncthreads();
}

/* The last lane of each warp exits while all others wait for it, and the last
 * warp while all others wait at the block's barrier. */
static __global__ void leave_late(unsigned *wrong)
{
    unsigned i = threadIdx.x, lane = i % 32, value;

    if (lane == 31)
        return;
    value = __ballot_sync(0xffffffff, 1);
    if (value != 0x7fffffff)
        atomicAdd(wrong, 1u);
    __syncthreads();
    if (i >= blockDim.x - 32)
        return;
    __syncthreads();
    value = __shfl_down_sync(0xffffffff, i, 1);
    if (lane < 30 && value != i + 1)
        atomicAdd(wrong, 1u);
}

/* Two arrays and a single variable; a second kernel has its own. */
static __global__ void sum_block(unsigned *sums, const unsigned *values)
{
    __shared__ unsigned a[256], b[256];
    __shared__ unsigned total;
    unsigned i = threadIdx.x, half;

    if (i == 0)
        total = 0;
    a[i] = values[i];
    b[255 - i] = values[i] + 1;
    __syncthreads();
    for (half = 128; half > 0; half /= 2) {
        if (i < half) {
            a[i] += a[i + half];
            b[i] += b[i + half];
        }
        __syncthreads();
    }
    atomicAdd(&total, values[i] * 3);
    __syncthreads();
    if (i == 255) {
        atomicAdd(&sums[0], a[0]);
        atomicAdd(&sums[1], b[0]);
        atomicAdd(&sums[2], total);
    }
}

static void check_sums(void)
{
    unsigned blocks = small ? 3 : 300;
    unsigned values[256], i, expected = 0, *d_sums = new_cells(3);
    unsigned *d_values = new_cells(256);

    for (i = 0; i < 256; i++) {
        values[i] = i * i * 7 + 3;
        expected += values[i];
    }
    CHECK(cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice));
    sum_block<<<blocks, 256>>>(d_sums, d_values);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    expect(take_cell(d_sums, 0) == expected * blocks &&
               take_cell(d_sums, 1) == (expected + 256) * blocks &&
               take_cell(d_sums, 2) == expected * 3 * blocks,
           "%u blocks sum up two arrays and a variable in shared memory",
           blocks);
    CHECK(cudaFree(d_sums));
    CHECK(cudaFree(d_values));
}

/* --- the warp --- */

/* Lane i makes i % 4 + 1 steps of its own between two barriers of the warp; the
 * upper half of the lanes has barriers of its own beside. */
static __global__ void step_in_warps(unsigned *wrong, unsigned rounds)
{
    __shared__ unsigned steps[1024];
    unsigned i = threadIdx.x, first = i - i % 32, round, k, sum;

    steps[i] = 0;
    for (round = 1; round <= rounds; round++) {
        for (k = 0; k < i % 4 + 1; k++)
            atomicAdd(&steps[i], 1u);
        if (i % 32 >= 16) {
            __syncwarp(0xffff0000);
            if (steps[first + 16 + (i + 1) % 16] != round * ((i + 1) % 4 + 1))
                atomicAdd(wrong, 1u);
        }
        __syncwarp();
        for (sum = k = 0; k < 32; k++)
            sum += steps[first + k];
        if (sum != round * 80)
            atomicAdd(wrong, 1u);
        __syncwarp(0xffffffff);
    }
}

static void check_kernels_that_count(void)
{
    unsigned *d_wrong = new_cells(1);

    leave_early<<<10, 96>>>(d_wrong);
    leave_late<<<10, 96>>>(d_wrong);
    thin_out<<<10, 100>>>(d_wrong);
    thin_out<<<5, small ? 65 : 1024>>>(d_wrong);
    CHECK(cudaDeviceSynchronize());
    expect(take_cell(d_wrong, 0) == 0, "threads that exited do not count");
    step_in_warps<<<8, small ? 64 : 256>>>(d_wrong, 10);
    CHECK(cudaDeviceSynchronize());
    expect(take_cell(d_wrong, 0) == 0, "each warp meets by itself");
    CHECK(cudaFree(d_wrong));
}

/* --- what shared memory holds when a block begins --- */

static __global__ void look_first(unsigned *out)
{
    __shared__ unsigned cells[64];

    out[blockIdx.x * 64 + threadIdx.x] = cells[threadIdx.x];
    __syncthreads();
    cells[threadIdx.x] = 1000 + blockIdx.x;
}

/* Emulation only. On the pool a thread's first block of a launch finds 0xff,
 * any later one what the one before left; in interleaved mode all find 0xff
 * but those that take another's place. */
static void check_first_look(void)
{
    unsigned *d_out = new_cells(64 * 64), i, right = 1, fresh = 0, value;
    int launch;

    for (launch = 0; launch < 2; launch++) {
        look_first<<<64, 64>>>(d_out);
        CHECK(cudaDeviceSynchronize());
        for (i = 0; i < 64 * 64; i += 7) {
            value = take_cell(d_out, i);
            fresh += value == ~0u;
            right &= value == ~0u || (value >= 1000 && value < 1064);
        }
        right &= value != 0 && fresh > 0;
        fresh = 0;
    }
    expect((int)right, "shared memory is filled with 0xff at each launch");
    CHECK(cudaFree(d_out));
}

/* --- locks and flags --- */

/* Each thread, all lanes of a warp among them, takes the lock and counts. */
static __global__ void count_locked(unsigned *lock, volatile unsigned *count,
                                    int wait_first)
{
    if (wait_first)
        __syncthreads();
    while (atomicCAS(lock, 0u, 1u) != 0)
        ;
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0u);
    if (wait_first)
        __syncthreads();
}

/* The same where the owner gives way while it holds the lock. */
static __global__ void count_drowsily(unsigned *lock, volatile unsigned *count,
                                      int by_exchange)
{
    unsigned seen;

    while ((by_exchange ? atomicExch(lock, 1u) : atomicCAS(lock, 0u, 1u)) != 0)
        ;
    __threadfence();
    seen = *count;
    __nanosleep(100);
    *count = seen + 1;
    __threadfence();
    atomicExch(lock, 0u);
}

/* Tickets are served from the last thread of the block to the first. */
static __device__ unsigned look(unsigned *p, int how)
{
    return how == 0   ? atomicAdd(p, 0u)
           : how == 1 ? atomicSub(p, 0u)
           : how == 2 ? atomicCAS(p, 0u, 0u)
           : how == 3 ? atomicOr(p, 0u)
           : how == 4 ? atomicAnd(p, ~0u)
           : how == 5 ? atomicXor(p, 0u)
           : how == 6 ? atomicMax(p, 0u)
                      : atomicMin(p, ~0u);
}

static __global__ void serve_backwards(unsigned *served, unsigned *log, int how)
{
    unsigned *mine = served + blockIdx.x, turn = blockDim.x - 1 - threadIdx.x;

    while (look(mine, how) != turn)
        ;
    log[blockIdx.x * blockDim.x + turn] = threadIdx.x;
    __threadfence();
    atomicAdd(mine, 1u);
}

static void check_locks(void)
{
    enum { BLOCKS = 8, THREADS = 64 };
    unsigned *d_cells = new_cells(4), *d_log = new_cells(BLOCKS * THREADS);
    unsigned *d_served = new_cells(BLOCKS), i, right;
    int how;

    count_locked<<<BLOCKS, THREADS>>>(d_cells, d_cells + 1, 0);
    CHECK(cudaDeviceSynchronize());
    count_locked<<<BLOCKS, THREADS>>>(d_cells, d_cells + 1, 1);
    CHECK(cudaDeviceSynchronize());
    expect(take_cell(d_cells, 1) == 2 * BLOCKS * THREADS,
           "all lanes of %d warps count under one lock", 2 * BLOCKS);
    count_drowsily<<<BLOCKS, THREADS>>>(d_cells + 2, d_cells + 3, 0);
    CHECK(cudaDeviceSynchronize());
    count_drowsily<<<BLOCKS, THREADS>>>(d_cells + 2, d_cells + 3, 1);
    CHECK(cudaDeviceSynchronize());
    expect(take_cell(d_cells, 3) == 2 * BLOCKS * THREADS,
           "and where the owner of the lock sleeps");
    for (how = 0; how < 8; how++) {
        CHECK(cudaMemset(d_served, 0, BLOCKS * sizeof *d_served));
        CHECK(cudaMemset(d_log, 0, BLOCKS * THREADS * sizeof *d_log));
        serve_backwards<<<BLOCKS, THREADS>>>(d_served, d_log, how);
        CHECK(cudaDeviceSynchronize());
        for (right = 1, i = 0; i < BLOCKS * THREADS; i += 5)
            right &= take_cell(d_log, i) == THREADS - 1 - i % THREADS;
        expect((int)right, "threads wait for later ones, way %d", how);
    }
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_log));
    CHECK(cudaFree(d_served));
}

/* --- deadlocks, and lanes that are not in their own mask --- */

enum wrong {
    WARP_AND_BLOCK,
    TWO_MASKS,
    TWO_PLACES,
    NEVER_ALL,
    NOT_IN_MASK,
    NOT_IN_SHUFFLE,
    AFTER_ROUNDS
};

static const struct stuck {
    const char *name;
    enum wrong wrong;
    int error;
    const char *text; /* after the kernel and the block */
} STUCK[] = {
    {"deadlock-warp-and-block", WARP_AND_BLOCK, 702,
     "deadlock, its threads wait for each other: 16 in "
     "__syncwarp(0xffffffff), 48 in __syncthreads"},
    {"deadlock-two-masks", TWO_MASKS, 702,
     "deadlock, its threads wait for each other: 1 in "
     "__syncwarp(0x00000007), 1 in __syncwarp(0x00000003), 62 in "
     "__syncthreads"},
    {"deadlock-two-places", TWO_PLACES, 702,
     "deadlock, its threads wait for each other: 8 in "
     "__ballot_sync(0xffffffff), 24 in __shfl_down_sync(0xffffffff)"},
    {"deadlock-never-all", NEVER_ALL, 702,
     "deadlock, its threads wait for each other: 63 in __syncthreads, 1 in "
     "__syncwarp(0x80000001)"},
    {"not-in-mask", NOT_IN_MASK, 719,
     "its own lane is not in the mask that it gives"},
    {"not-in-shuffle", NOT_IN_SHUFFLE, 719,
     "its own lane is not in the mask that it gives"},
    {"deadlock-after-rounds", AFTER_ROUNDS, 702,
     "deadlock, its threads wait for each other: 63 in __syncthreads, 1 in "
     "__syncwarp(0x00000003)"},
};
enum { STUCKS = sizeof STUCK / sizeof STUCK[0] };

/* In block 3 of 5; the others come to an end, or are stopped. */
static __global__ void get_stuck(unsigned *cells, enum wrong wrong)
{
    unsigned i = threadIdx.x, round;

    for (round = 0; wrong == AFTER_ROUNDS && round < 20; round++)
        __syncthreads();
    if (blockIdx.x != 3)
        return;
    if (wrong == WARP_AND_BLOCK && i < 16)
        __syncwarp();
    else if (wrong == TWO_MASKS && i < 2)
        __syncwarp(i == 0 ? 7 : 3);
    else if (wrong == TWO_PLACES && i < 32 && i % 4 == 0)
        cells[i] = __ballot_sync(0xffffffff, 1);
    else if (wrong == TWO_PLACES && i < 32)
        cells[i] = __shfl_down_sync(0xffffffff, i, 1);
    else if (wrong == NEVER_ALL && i == 32)
        __syncwarp(0x80000001);
    else if (wrong == NOT_IN_MASK && i == 41)
        __syncwarp(0xfffffdff);
    else if (wrong == NOT_IN_SHUFFLE && i == 41)
        cells[i] = __shfl_xor_sync(0xfffffdff, i, 1);
    else if (wrong == AFTER_ROUNDS && i == 1)
        __syncwarp(3);
    else if (wrong == TWO_PLACES && i >= 32)
        return;
    __syncthreads();
}

static int run_stuck(const struct stuck *s)
{
    unsigned *d_cells = new_cells(64);

    printf("stderr: CPU emulation: get_stuck, block (3,0,0)%s: %s (error "
           "%d)\n",
           s->error == 719 ? ", thread (41,0,0)" : "", s->text, s->error);
    fflush(stdout);
    get_stuck<<<5, 64>>>(d_cells, s->wrong);
    expect(cudaGetLastError() == cudaSuccess, "the launch succeeds");
    expect((int)cudaDeviceSynchronize() == s->error, "error %d", s->error);
    expect((int)cudaGetLastError() == s->error, "and it stays");
    return failures ? EXIT_WRONG : 0;
}

/* --- faults while others wait --- */

enum access { ATOMIC_OUTSIDE, ATOMIC_MISALIGNED, LOAD_MISALIGNED, LOAD_FAR };

static const struct fault_case {
    const char *name;
    enum access access;
    unsigned thread, round; /* who does it, and after how many barriers */
    unsigned block;         /* 0: all other blocks would go on for ever */
} FAULTS[] = {
    {"atomic-outside-first", ATOMIC_OUTSIDE, 0, 0, 2},
    {"atomic-outside-first-later", ATOMIC_OUTSIDE, 0, 3, 2},
    {"atomic-outside-last", ATOMIC_OUTSIDE, 63, 0, 2},
    {"atomic-outside-middle", ATOMIC_OUTSIDE, 40, 2, 2},
    {"atomic-misaligned-middle", ATOMIC_MISALIGNED, 40, 1, 2},
    {"load-misaligned-middle", LOAD_MISALIGNED, 40, 1, 2},
    {"load-misaligned-first", LOAD_MISALIGNED, 0, 1, 2},
    {"load-far-middle", LOAD_FAR, 40, 1, 2},
    {"load-far-first", LOAD_FAR, 0, 0, 2},
    {"load-far-last", LOAD_FAR, 63, 9, 2},
    {"load-far-of-many", LOAD_FAR, 40, 1, 0},
};
enum { FAULT_COUNT = sizeof FAULTS / sizeof FAULTS[0] };

static __global__ void go_wrong(char *at, struct fault_case f, unsigned *out)
{
    unsigned round, value;

    while (f.block == 0 && blockIdx.x != 0)
        __syncthreads();
    for (round = 0; round < 10; round++) {
        value = __shfl_xor_sync(0xffffffff, threadIdx.x, 5);
        if (blockIdx.x == f.block && threadIdx.x == f.thread &&
            round == f.round) {
            if (f.access == LOAD_FAR || f.access == LOAD_MISALIGNED)
                value += *(const unsigned *)at;
            else
                atomicAdd((unsigned *)at, 1u);
        }
        out[blockIdx.x * blockDim.x + threadIdx.x] = value;
        __syncthreads();
    }
}

static int run_fault(const struct fault_case *f)
{
    int illegal = f->access == ATOMIC_OUTSIDE || f->access == LOAD_FAR;
    unsigned *d_out = new_cells(5 * 64), *d_place = new_cells(2);
    int error = illegal ? 700 : 716;
    char *at = (char *)d_place, where[40] = "";

    at = (char *)((uintptr_t)at + (illegal ? (uintptr_t)FAR : 2));
    if (f->access != LOAD_MISALIGNED)
        snprintf(where, sizeof where, " at 0x%" PRIxPTR, (uintptr_t)at);
    if (emulated)
        printf("stderr: CPU emulation: go_wrong, block (%u,0,0), thread "
               "(%u,0,0): %s%s is %s (error %d)\n",
               f->block, f->thread,
               f->access == LOAD_FAR || f->access == LOAD_MISALIGNED
                   ? "a plain access"
                   : "a 4-byte atomic",
               where,
               illegal ? "outside every allocation" : "not aligned to its size",
               error);
    fflush(stdout);
    go_wrong<<<5, 64>>>(at, *f, d_out);
    expect(cudaGetLastError() == cudaSuccess, "the launch succeeds");
    expect((int)cudaDeviceSynchronize() == error, "error %d", error);
    go_wrong<<<5, 64>>>(at, *f, d_out);
    expect((int)cudaGetLastError() == error, "and it stays");
    return failures ? EXIT_WRONG : 0;
}

/* --- cases --- */

static void set_seed(const char *text)
{
#ifdef CPU_CUDA_RUNTIME_H
    cpu_interleave(strtoull(text, NULL, 10));
#else
    (void)text;
#endif
}

static void list_cases(void)
{
    int i;

    for (i = 0; i < FAULT_COUNT; i++)
        if (emulated || FAULTS[i].block != 0)
            puts(FAULTS[i].name);
    for (i = 0; emulated && i < STUCKS; i++)
        puts(STUCK[i].name);
}

static int run_case(const char *name)
{
    int i;

    for (i = 0; i < FAULT_COUNT; i++)
        if (strcmp(name, FAULTS[i].name) == 0)
            return run_fault(&FAULTS[i]);
    for (i = 0; i < STUCKS; i++)
        if (strcmp(name, STUCK[i].name) == 0)
            return run_stuck(&STUCK[i]);
    fprintf(stderr, "barriers: there is no case %s\n", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp prop;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
    if (argc > 1 && strcmp(argv[1], "cases") == 0) {
        list_cases();
        return 0;
    }
    if (argc > 1 && (*argv[1] < '0' || *argv[1] > '9')) {
        set_seed(argc > 2 ? argv[2] : "0");
        return run_case(argv[1]);
    }
    set_seed(argc > 1 ? argv[1] : "0");
    small = argc > 2;
    check_rounds(100, 1, 1, 5);
    check_rounds(9, 5, 7, 9);
    if (!small) {
        check_rounds(40, 256, 1, 20);
        check_rounds(3, 1024, 1, 10);
        check_rounds(2, 33, 31, 12);
    }
    check_sums();
    check_kernels_that_count();
    if (emulated)
        check_first_look();
    check_locks();
    return failures ? EXIT_WRONG : 0;
}
