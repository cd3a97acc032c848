/* atomicCAS on int, unsigned, unsigned long long and unsigned short: what it
 * returns and stores, counts under contention, and faults. The same on a GPU,
 * but for the words that a fault prints.
 *
 * usage: cas          values and contention
 *        cas cases    the names of all faults
 *        cas CASE     one fault
 *
 * On the CPU emulation the line that must come on stderr is printed first,
 * after "stderr: ". */
#include <cuda_runtime.h>
#include <inttypes.h>

#include "../tap.h"
#include "device.h"

static int emulated;

enum type { SHORT, INT, UNSIGNED, LONG, TYPES };

static const struct {
    const char *name;
    unsigned bytes;
} types[TYPES] = {{"unsigned short", 2},
                  {"int", 4},
                  {"unsigned", 4},
                  {"unsigned long long", 8}};

typedef unsigned long long word;

/* One compare-and-swap at a place of that type; the old value. */
static __device__ word swap(char *at, int type, word expected, word next)
{
    if (type == SHORT)
        return atomicCAS((unsigned short *)at, (unsigned short)expected,
                         (unsigned short)next);
    if (type == INT)
        return (unsigned)atomicCAS((int *)at, (int)(unsigned)expected,
                                   (int)(unsigned)next);
    if (type == UNSIGNED)
        return atomicCAS((unsigned *)at, (unsigned)expected, (unsigned)next);
    return atomicCAS((unsigned long long *)at, expected, next);
}

static __global__ void swap_once(char *at, int type, word expected, word next,
                                 word *old)
{
    *old = swap(at, type, expected, next);
}

/* --- values --- */

/* All bits of a type of that many bytes. */
static word mask_of(unsigned bytes)
{
    return bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
}

/* The bytes around the cell, which nothing may change. */
static void fill(unsigned char *bytes, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        bytes[i] = (unsigned char)(0xa5 ^ 17 * i);
}

/* In 24 bytes, at `offset`: the cell holds `held`. */
static int swap_is_right(int type, unsigned offset, word held, word expected,
                         word next)
{
    unsigned bytes = types[type].bytes;
    unsigned char around[24], after[24];
    word *d_old, old;
    char *d_cells;

    CHECK(cudaMalloc((void **)&d_cells, sizeof around));
    CHECK(cudaMalloc((void **)&d_old, sizeof *d_old));
    fill(around, sizeof around);
    memcpy(around + offset, &held, bytes); /* little-endian, as all here */
    CHECK(cudaMemcpy(d_cells, around, sizeof around, cudaMemcpyHostToDevice));
    swap_once<<<1, 1>>>(d_cells + offset, type, expected, next, d_old);
    CHECK(cudaMemcpy(after, d_cells, sizeof after, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&old, d_old, sizeof old, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_old));
    if (held == expected)
        memcpy(around + offset, &next, bytes);
    return old == held && memcmp(around, after, sizeof after) == 0;
}

static void check_values(int type)
{
    static const word values[] = {0,
                                  1,
                                  0x7fff,
                                  0x8000,
                                  0xffff,
                                  0x10001,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x100000001,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  0xffffffffffffffff};
    enum { VALUES = sizeof values / sizeof values[0] };
    word mask = mask_of(types[type].bytes);
    unsigned offset, bytes = types[type].bytes, right, total;
    int h, e, n;

    for (offset = 8 - bytes; offset <= 8 + bytes; offset += bytes) {
        right = total = 0;
        for (h = 0; h < VALUES; h++)
            for (e = 0; e < VALUES; e++) {
                n = (h + 3 * e + 5) % VALUES;
                if (values[h] > mask || values[e] > mask)
                    continue;
                total++;
                right += (unsigned)swap_is_right(type, offset, values[h],
                                                 values[e], values[n] & mask);
            }
        expect(right == total && total > 0,
               "%s at byte %u: %u swaps return the old value, store on "
               "equality alone, and spare what is beside",
               types[type].name, offset, total);
    }
}

/* --- contention: each thread counts one cell up --- */

static __global__ void count_up(char *cells, int type, unsigned bytes,
                                unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    char *at = cells + (i & 1) * bytes;
    word old, seen;

    if (i >= n)
        return;
    old = swap(at, type, 0, 0);
    do {
        seen = old;
        old = swap(at, type, seen,
                   type == SHORT ? (seen + 1) & 0xffff : seen + 1);
    } while (old != seen);
}

/* Two neighbouring cells; a carry passes bit 32 of the long ones, and the short
 * ones begin anew at 0. On a GPU the time grows with the square of N where
 * every try finds another value. */
static void check_contention(int type)
{
    enum { N = 1 << 16 };
    unsigned bytes = types[type].bytes;
    word first = type == LONG ? 0xffffff00 : type == SHORT ? 0xff00 : 5;
    word cells[2] = {0, 0};
    word expected = (first + N / 2) & mask_of(bytes);
    char *d_cells;
    int k;

    CHECK(cudaMalloc((void **)&d_cells, 16));
    for (k = 0; k < 2; k++)
        CHECK(cudaMemcpy(d_cells + k * (int)bytes, &first, bytes,
                         cudaMemcpyHostToDevice));
    count_up<<<(N + 255) / 256, 256>>>(d_cells, type, bytes, N);
    CHECK(cudaGetLastError());
    for (k = 0; k < 2; k++)
        CHECK(cudaMemcpy(&cells[k], d_cells + k * (int)bytes, bytes,
                         cudaMemcpyDeviceToHost));
    expect(cells[0] == expected && cells[1] == expected,
           "%s: %d threads count two neighbours up: none is lost",
           types[type].name, N);
    CHECK(cudaFree(d_cells));
}

/* --- faults --- */

static const struct fault_case {
    const char *name;
    int type;
    int null; /* else in an allocation of 10 bytes */
    unsigned offset;
    int error;
    int on_gpu; /* a GPU reports it by itself */
} faults[] = {
    {"short-on-odd-byte", SHORT, 0, 1, 716, 1},
    {"int-on-odd-half", INT, 0, 2, 716, 1},
    {"unsigned-on-odd-half", UNSIGNED, 0, 2, 716, 1},
    {"unsigned-on-odd-byte", UNSIGNED, 0, 3, 716, 1},
    {"long-on-odd-word", LONG, 0, 4, 716, 1},
    {"short-past-the-end", SHORT, 0, 10, 700, 0},
    {"int-half-past-the-end", INT, 0, 8, 700, 0},
    {"unsigned-half-past-the-end", UNSIGNED, 0, 8, 700, 0},
    {"long-half-past-the-end", LONG, 0, 8, 700, 0},
    {"short-through-null", SHORT, 1, 0, 700, 1},
    {"int-through-null", INT, 1, 0, 700, 1},
    {"unsigned-through-null", UNSIGNED, 1, 0, 700, 1},
    {"long-through-null", LONG, 1, 0, 700, 1},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

static __global__ void go_wrong(char *at, int type, word *old)
{
    if (blockIdx.x == 2 && threadIdx.x == 40)
        *old = swap(at, type, 0, 1);
}

static void run_fault(const struct fault_case *f)
{
    unsigned bytes = types[f->type].bytes;
    char *at = NULL;
    cudaError_t error;
    word *d_old;

    CHECK(cudaMalloc((void **)&d_old, sizeof *d_old));
    if (!f->null) {
        CHECK(cudaMalloc((void **)&at, 10));
        at += f->offset;
    }
    if (emulated)
        printf("stderr: CPU emulation: go_wrong, block (2,0,0), thread "
               "(40,0,0): %s %u-byte atomic at 0x%" PRIxPTR
               " is %s (error %d)\n",
               bytes == 8 ? "an" : "a", bytes, (uintptr_t)at,
               f->error == 716 ? "not aligned to its size"
                               : "outside every allocation",
               f->error);
    fflush(stdout);
    go_wrong<<<4, 64>>>(at, f->type, d_old);
    expect(cudaGetLastError() == cudaSuccess, "the launch succeeds");
    error = cudaDeviceSynchronize();
    expect((int)error == f->error, "the wait fails with error %d", (int)error);
    error = cudaMemset(d_old, 0, sizeof *d_old);
    expect((int)error == f->error, "and so does every later call");
}

static int run_case(const char *name)
{
    int k;

    for (k = 0; k < FAULTS; k++)
        if (strcmp(name, faults[k].name) == 0) {
            run_fault(&faults[k]);
            return failures ? EXIT_WRONG : 0;
        }
    fprintf(stderr, "cas: there is no case %s\n", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp prop;
    int k;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
    if (argc > 1 && strcmp(argv[1], "cases") != 0)
        return run_case(argv[1]);
    for (k = 0; argc > 1 && k < FAULTS; k++)
        if (emulated || faults[k].on_gpu)
            puts(faults[k].name);
    if (argc > 1)
        return 0;
    for (k = 0; k < TYPES; k++) {
        check_values(k);
        check_contention(k);
    }
    return failures ? EXIT_WRONG : 0;
}
