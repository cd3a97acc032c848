/* Every atomic of CUDA on integers, float and double, and on half in shared
 * memory: the old value and the new one against the definition, in global and
 * in shared memory; counts under contention; faults. The same on a GPU, but for
 * the faults that only the emulation reports.
 *
 * usage: atomics [SEED [small]]
 *        atomics cases           the names of all faults
 *        atomics CASE            one fault
 * SEED: in the emulation's interleaved mode, unless it is 0; small: small
 * crowds, for sanitizers, under which a thread that waits is dear.
 *
 * On the CPU emulation the line that must come on stderr is printed first,
 * after "stderr: ", with ADDRESS for what only the kernel knows. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

typedef unsigned long long word;

static int emulated, small;

/* --- one operation on one cell --- */

enum operation { ADD, SUB, EXCH, MIN, MAX, INC, DEC, AND, OR, XOR, OPERATIONS };
static const char *const OPERATION_NAMES[] = {
    "atomicAdd", "atomicSub", "atomicExch", "atomicMin", "atomicMax",
    "atomicInc", "atomicDec", "atomicAnd",  "atomicOr",  "atomicXor"};

enum type { INT, UNSIGNED, LONG, FLOAT, DOUBLE, HALF, HALF2, TYPES };
static const struct {
    const char *name;
    unsigned bytes;
} TYPE[TYPES] = {{"int", 4},   {"unsigned", 4}, {"unsigned long long", 8},
                 {"float", 4}, {"double", 8},   {"half", 2},
                 {"half2", 4}};

static int exists(int operation, int type)
{
    if (type == INT || type == UNSIGNED)
        return type == UNSIGNED || (operation != INC && operation != DEC);
    if (type == LONG)
        return operation != SUB && operation != INC && operation != DEC;
    return operation == ADD || (operation == EXCH && type == FLOAT);
}

static __device__ word on_int(int *p, int operation, int v)
{
    int old = operation == ADD    ? atomicAdd(p, v)
              : operation == SUB  ? atomicSub(p, v)
              : operation == EXCH ? atomicExch(p, v)
              : operation == MIN  ? atomicMin(p, v)
              : operation == MAX  ? atomicMax(p, v)
              : operation == AND  ? atomicAnd(p, v)
              : operation == OR   ? atomicOr(p, v)
                                  : atomicXor(p, v);
    return (unsigned)old;
}

static __device__ word on_unsigned(unsigned *p, int operation, unsigned v)
{
    return operation == ADD    ? atomicAdd(p, v)
           : operation == SUB  ? atomicSub(p, v)
           : operation == EXCH ? atomicExch(p, v)
           : operation == MIN  ? atomicMin(p, v)
           : operation == MAX  ? atomicMax(p, v)
           : operation == INC  ? atomicInc(p, v)
           : operation == DEC  ? atomicDec(p, v)
           : operation == AND  ? atomicAnd(p, v)
           : operation == OR   ? atomicOr(p, v)
                               : atomicXor(p, v);
}

static __device__ word on_long(word *p, int operation, word v)
{
    return operation == ADD    ? atomicAdd(p, v)
           : operation == EXCH ? atomicExch(p, v)
           : operation == MIN  ? atomicMin(p, v)
           : operation == MAX  ? atomicMax(p, v)
           : operation == AND  ? atomicAnd(p, v)
           : operation == OR   ? atomicOr(p, v)
                               : atomicXor(p, v);
}

/* What is not an integer travels as its bits. */
static __device__ word on_other(word *p, int operation, int type, word bits)
{
    float f, old_f;
    double d, old_d;
    half h, old_h;
    half2 pair, old_pair;
    word old = 0;

    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    memcpy(&h, &bits, sizeof h);
    memcpy(&pair, &bits, sizeof pair);
    if (type == FLOAT) {
        old_f = operation == ADD ? atomicAdd((float *)p, f)
                                 : atomicExch((float *)p, f);
        memcpy(&old, &old_f, sizeof old_f);
    } else if (type == DOUBLE) {
        old_d = atomicAdd((double *)p, d);
        memcpy(&old, &old_d, sizeof old_d);
    } else if (type == HALF) {
        old_h = atomicAdd((half *)p, h);
        memcpy(&old, &old_h, sizeof old_h);
    } else {
        old_pair = atomicAdd((half2 *)p, pair);
        memcpy(&old, &old_pair, sizeof old_pair);
    }
    return old;
}

static __device__ word operate(word *p, int operation, int type, word v)
{
    return type == INT ? on_int((int *)p, operation, (int)(unsigned)v)
           : type == UNSIGNED
               ? on_unsigned((unsigned *)p, operation, (unsigned)v)
           : type == LONG ? on_long(p, operation, v)
                          : on_other(p, operation, type, v);
}

/* Cell i is thread i's: in global memory, or for a while in shared memory. */
static __global__ void operate_on_cells(word *cells, word *old, const word *v,
                                        int n, int operation, int type,
                                        int in_shared)
{
    __shared__ word copies[256];
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    word *cell = &cells[i];

    if (i >= n)
        return;
    if (in_shared) {
        cell = &copies[threadIdx.x];
        *cell = cells[i];
    }
    old[i] = operate(cell, operation, type, v[i]);
    cells[i] = *cell;
}

/* --- the definitions --- */

static word reference_float(word a, word b, int in_shared)
{
    unsigned ua = (unsigned)a, ub = (unsigned)b, us;
    float x, y, sum;

    if (!in_shared) { /* flushes subnormals */
        ua = ua & 0x7f800000 ? ua : ua & 0x80000000;
        ub = ub & 0x7f800000 ? ub : ub & 0x80000000;
    }
    memcpy(&x, &ua, sizeof x);
    memcpy(&y, &ub, sizeof y);
    sum = x + y;
    memcpy(&us, &sum, sizeof us);
    if (sum != sum)
        return 0x7fffffff;
    if (!in_shared && !(us & 0x7f800000))
        us &= 0x80000000;
    return us;
}

/* Of two NaN in global memory b's stays as it is, in shared memory a's becomes
 * a quiet one. */
static word reference_double(word a, word b, int in_shared)
{
    double x, y, sum;
    word bits;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    sum = x + y;
    memcpy(&bits, &sum, sizeof bits);
    if (sum == sum)
        return bits;
    if (x == x && y == y)
        return 0xfff8000000000000;
    if (in_shared)
        return (x != x ? a : b) | 0x0008000000000000;
    return y != y ? b : a;
}

/* In units of 2^-24, in which every finite half is a whole number. */
static word reference_half(word a, word b)
{
    word parts[2] = {a & 0xffff, b & 0xffff}, size, kept;
    long long sum = 0;
    int i, infinite = 0, shift = 0;

    for (i = 0; i < 2; i++) {
        word exponent = parts[i] >> 10 & 31, bits = parts[i] & 0x3ff;
        if (exponent == 31 && bits)
            return 0x7fff;
        if (exponent == 31)
            infinite |= parts[i] & 0x8000 ? 2 : 1;
        bits = exponent ? (bits + 1024) << (exponent - 1) : bits;
        sum += parts[i] & 0x8000 ? -(long long)bits : (long long)bits;
    }
    if (infinite)
        return infinite == 3 ? 0x7fff : infinite == 2 ? 0xfc00 : 0x7c00;
    if (sum == 0)
        return parts[0] == 0x8000 && parts[1] == 0x8000 ? 0x8000 : 0;
    size = (word)(sum < 0 ? -sum : sum);
    while (size >> shift >= 2048)
        shift++;
    kept = size >> shift;
    if (shift > 0) {
        word rest = size - (kept << shift), middle = 1ull << (shift - 1);
        kept += rest > middle || (rest == middle && kept % 2);
    }
    kept += (word)shift << 10;
    return (kept < 0x7c00 ? kept : 0x7c00) | (sum < 0 ? 0x8000 : 0);
}

static word reference(int operation, int type, word old, word v, int in_shared)
{
    long long a = (int)(unsigned)old, b = (int)(unsigned)v;

    if (operation == EXCH)
        return v;
    if (type == FLOAT)
        return reference_float(old, v, in_shared);
    if (type == DOUBLE)
        return reference_double(old, v, in_shared);
    if (type == HALF)
        return reference_half(old, v);
    if (type == HALF2)
        return reference_half(old, v) | reference_half(old >> 16, v >> 16)
                                            << 16;
    if (operation == AND || operation == OR || operation == XOR)
        return operation == AND ? old & v : operation == OR ? old | v : old ^ v;
    if (operation == INC)
        return old >= v ? 0 : old + 1;
    if (operation == DEC)
        return old == 0 || old > v ? v : old - 1;
    if (operation == ADD || operation == SUB)
        return operation == ADD ? old + v : old - v;
    if (type == INT)
        return (word)(operation == MIN ? (a < b ? a : b) : (a > b ? a : b));
    return operation == MIN ? (old < v ? old : v) : (old > v ? old : v);
}

/* --- values --- */

static const word INTEGERS[] = {0,
                                1,
                                2,
                                41,
                                0x7ffffffe,
                                0x7fffffff,
                                0x80000000,
                                0x80000001,
                                0xfffffffe,
                                0xffffffff,
                                0x100000000,
                                0x123456789abcdef0,
                                0x7fffffffffffffff,
                                0x8000000000000000,
                                0xffffffffffffffff};
static const word FLOATS[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
    0x00800000, 0x80800000, 0x00800001, 0x3f800000, 0xbf800000, 0x33800000,
    0x34000000, 0x4b800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7f800001, 0x7fc01234, 0xffc00000};
static const word DOUBLES[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001,
    0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
    0x8010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3ca0000000000000, 0x3cb0000000000000, 0x7fefffffffffffff,
    0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000123, 0xfff8000000000456, 0x7ff0000000000789};
static const word HALVES[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400,
                              0x8400, 0x2e66, 0x3c00, 0xbc00, 0x3c01, 0x6800,
                              0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0xfe01};

static word random_bits(void)
{
    static word state = 88172645463325252ull;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) ^ (state << 19);
}

#define COUNT(array) ((int)(sizeof array / sizeof array[0]))

/* Every pair of special values, then random ones; the bits that the type does
 * not have are random, so that what spares them is seen. */
static word pick(int type, int i, int second)
{
    const word *table = type == FLOAT    ? FLOATS
                        : type == DOUBLE ? DOUBLES
                        : type >= HALF   ? HALVES
                                         : INTEGERS;
    int count = type == FLOAT    ? COUNT(FLOATS)
                : type == DOUBLE ? COUNT(DOUBLES)
                : type >= HALF   ? COUNT(HALVES)
                                 : COUNT(INTEGERS);
    word random = random_bits(),
         mask =
             TYPE[type].bytes == 8 ? ~0ull : (1ull << 8 * TYPE[type].bytes) - 1;
    word value = table[(second ? i / count : i) % count];

    if (type == HALF2)
        value |= table[(i * 7 + second) % count] << 16;
    if (i >= count * count)
        return type == DOUBLE && (random >> 52 & 0x7ff) == 0x7ff ? 1 : random;
    return (value & mask) | (random & ~mask);
}

enum { N = 4096 };

static word *to_device(const word *from)
{
    word *d_copy;

    CHECK(cudaMalloc((void **)&d_copy, N * sizeof *d_copy));
    CHECK(cudaMemcpy(d_copy, from, N * sizeof *d_copy, cudaMemcpyHostToDevice));
    return d_copy;
}

static void check_values(int operation, int type, int in_shared)
{
    static word start[N], v[N], cells[N], old[N];
    word mask =
        TYPE[type].bytes == 8 ? ~0ull : (1ull << 8 * TYPE[type].bytes) - 1;
    word *d_cells, *d_v, *d_old, digest = 0, expected;
    int i, wrong = 0;

    for (i = 0; i < N; i++) {
        start[i] = pick(type, i, 0);
        v[i] = pick(type, i, 1);
    }
    d_cells = to_device(start);
    d_v = to_device(v);
    d_old = to_device(v);
    operate_on_cells<<<N / 256, 256>>>(d_cells, d_old, d_v, N, operation, type,
                                       in_shared);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(cells, d_cells, sizeof cells, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(old, d_old, sizeof old, cudaMemcpyDeviceToHost));
    for (i = 0; i < N; i++) {
        expected =
            reference(operation, type, start[i] & mask, v[i] & mask, in_shared);
        expected = (expected & mask) | (start[i] & ~mask);
        digest = (digest ^ cells[i] ^ old[i] << 1) * 1099511628211ull;
        if ((cells[i] != expected || (old[i] & mask) != (start[i] & mask)) &&
            wrong++ < 3)
            printf("# %016llx with %016llx: %016llx, expected %016llx; old "
                   "%016llx\n",
                   start[i], v[i], cells[i], expected, old[i]);
    }
    expect_digest(wrong == 0, digest, "%s of %s in %s memory: %d values",
                  OPERATION_NAMES[operation], TYPE[type].name,
                  in_shared ? "shared" : "global", N);
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_v));
    CHECK(cudaFree(d_old));
}

/* --- contention --- */

enum { CROWD = 1 << 14, CROWD_BLOCK = 256, ONE_BLOCK = 1000 };

/* Everybody works on one cell, in global memory or in the block's own; sums[0]
 * adds up the old values, sums[1] what the cells hold in the end. */
static __global__ void work_on_one_cell(word *cell, word *sums, int operation,
                                        int type, word start, int in_shared)
{
    __shared__ word own;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    word v = operation == INC || operation == DEC ? 99
             : operation >= AND                   ? ~(1ull << i % 31)
                                                  : i + 1ull;
    word old;

    if (operation == OR)
        v = ~v;
    if (threadIdx.x == 0)
        own = start;
    __syncthreads();
    old = operate(in_shared ? &own : cell, operation, type, v);
    atomicAdd(&sums[0], type == LONG ? old : old & 0xffffffff);
    __syncthreads();
    if (in_shared && threadIdx.x == 0)
        atomicAdd(&sums[1], own);
}

/* What must hold for any order. The old values of an exchange are all the new
 * ones but the last; Inc and Dec go round and round; the others end alike. */
static int is_sound(int operation, word n, word start, word old, word last)
{
    word all = 0, flips = 0, sum = 0, rest = n % 100, i;

    for (i = 0; i < n; i++) {
        all += i + 1;
        flips ^= ~(1ull << i % 31);
    }
    for (i = 0; i < rest; i++)
        sum += operation == INC ? i : (100 - i) % 100;
    sum += n / 100 * 4950;
    return operation == EXCH  ? old + last == all + start
           : operation == ADD ? last == start + all
           : operation == SUB ? last == start - all
           : operation == MAX ? last == n
           : operation == MIN ? last == 1
           : operation == INC ? last == rest && old == sum
           : operation == DEC ? last == (100 - rest) % 100 && old == sum
           : operation == XOR ? last == (start ^ flips)
           : operation == AND ? last == 0
                              : last == 0x7fffffff;
}

static void check_contention(int operation, int type, int in_shared)
{
    word start = operation == SUB   ? 1ull << 31
                 : operation == MIN ? 0x7fffffff
                 : operation == AND ? 0x7fffffff
                                    : 0;
    word sums[2] = {0, 0}, last = 0, *d_cell, *d_sums;
    int right, threads = in_shared ? ONE_BLOCK : CROWD_BLOCK;
    int blocks = in_shared || small ? 1 : CROWD / CROWD_BLOCK;

    if (small)
        threads = 56;
    CHECK(cudaMalloc((void **)&d_cell, sizeof last));
    CHECK(cudaMalloc((void **)&d_sums, sizeof sums));
    CHECK(cudaMemset(d_sums, 0, sizeof sums));
    CHECK(cudaMemcpy(d_cell, &start, sizeof start, cudaMemcpyHostToDevice));
    work_on_one_cell<<<blocks, threads>>>(d_cell, d_sums, operation, type,
                                          start, in_shared);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&last, d_cell, sizeof last, cudaMemcpyDeviceToHost));
    last = in_shared ? sums[1] : last;
    last &= type == LONG ? ~0ull : 0xffffffff;
    right =
        is_sound(operation, (word)blocks * (word)threads, start, sums[0], last);
    expect_digest(right, operation == EXCH ? 0 : last,
                  "%s of %s in %s memory: %d threads, one cell",
                  OPERATION_NAMES[operation], TYPE[type].name,
                  in_shared ? "shared" : "global", blocks * threads);
    CHECK(cudaFree(d_cell));
    CHECK(cudaFree(d_sums));
}

/* --- faults --- */

enum place { LOCAL, SHARED_MISALIGNED, FAR_FROM_SHARED, NOWHERE };

static const struct fault_case {
    const char *name;
    int operation, type;
    enum place place;
    int error, on_gpu; /* on_gpu: it reports it by itself */
} FAULTS[] = {
    {"add-on-local", ADD, UNSIGNED, LOCAL, 700, 0},
    {"exch-on-local", EXCH, INT, LOCAL, 700, 0},
    {"add-far-from-shared", ADD, LONG, FAR_FROM_SHARED, 700, 0},
    {"half-far-from-shared", ADD, HALF, FAR_FROM_SHARED, 700, 0},
    {"add-misaligned-in-shared", ADD, UNSIGNED, SHARED_MISALIGNED, 716, 1},
    {"max-misaligned-in-shared", MAX, LONG, SHARED_MISALIGNED, 716, 1},
    {"half2-misaligned-in-shared", ADD, HALF2, SHARED_MISALIGNED, 716, 1},
    {"sub-nowhere", SUB, INT, NOWHERE, 700, 1},
    {"inc-nowhere", INC, UNSIGNED, NOWHERE, 700, 1},
    {"dec-nowhere", DEC, UNSIGNED, NOWHERE, 700, 1},
    {"and-nowhere", AND, LONG, NOWHERE, 700, 1},
    {"or-nowhere", OR, INT, NOWHERE, 700, 1},
    {"xor-nowhere", XOR, UNSIGNED, NOWHERE, 700, 1},
    {"min-nowhere", MIN, LONG, NOWHERE, 700, 1},
    {"max-nowhere", MAX, INT, NOWHERE, 700, 1},
    {"exch-float-nowhere", EXCH, FLOAT, NOWHERE, 700, 1},
};
enum { FAULT_COUNT = sizeof FAULTS / sizeof FAULTS[0] };

static __global__ void go_wrong(word *warm, struct fault_case f)
{
    __shared__ word cells[32];
    word local = 0, *at = NULL;

    cells[threadIdx.x] = 0;
    atomicAdd(warm, 1ull);
    atomicAdd(&cells[threadIdx.x], 1ull);
    if (blockIdx.x != 2 || threadIdx.x != 11)
        return;
    if (f.place == LOCAL)
        at = &local;
    else if (f.place == SHARED_MISALIGNED)
        at = (word *)((char *)cells + 2);
    else if (f.place == FAR_FROM_SHARED)
        at = (word *)((uintptr_t)cells + (1 << 20));
    *warm = operate(at, f.operation, f.type, 1) + local;
}

static int run_fault(const struct fault_case *f)
{
    unsigned bytes = TYPE[f->type].bytes;
    word *d_warm;

    CHECK(cudaMalloc((void **)&d_warm, sizeof *d_warm));
    if (emulated)
        printf("stderr: CPU emulation: go_wrong, block (2,0,0), thread "
               "(11,0,0): %s %u-byte atomic at %s is %s (error %d)\n",
               bytes == 8 ? "an" : "a", bytes,
               f->place == NOWHERE ? "0x0" : "ADDRESS",
               f->error == 716 ? "not aligned to its size"
                               : "outside every allocation",
               f->error);
    fflush(stdout);
    go_wrong<<<4, 32>>>(d_warm, *f);
    expect_digest(cudaGetLastError() == cudaSuccess, 0, "the launch succeeds");
    expect_digest((int)cudaDeviceSynchronize() == f->error, 0, "error %d",
                  f->error);
    return failures ? EXIT_WRONG : 0;
}

static int run_case(const char *name)
{
    int i;

    for (i = 0; i < FAULT_COUNT; i++)
        if (strcmp(name, FAULTS[i].name) == 0)
            return run_fault(&FAULTS[i]);
    fprintf(stderr, "atomics: there is no case %s\n", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp prop;
    int operation, type, in_shared, i;

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
    small = argc > 2;
    for (operation = 0; operation < OPERATIONS; operation++)
        for (type = 0; type < TYPES; type++)
            for (in_shared = 0; in_shared < 2; in_shared++) {
                if (!exists(operation, type))
                    continue;
                check_values(operation, type, in_shared);
                if (type < FLOAT)
                    check_contention(operation, type, in_shared);
            }
    return failures ? EXIT_WRONG : 0;
}
