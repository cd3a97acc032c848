/* Lesson 3, v2_fastadd: can one half be added as fast as a pair, without asking
 * the caller to change the data?
 *
 * Answer: yes, if the call looks at the address. Wherever the other half of the
 * target's 4-byte slot belongs to the array, add {value, 0} or {0, value} with
 * one half2 atomic; only a half that is alone in its slot takes the loop.
 *
 * The idea is PyTorch's fastAtomicAdd, which pads with +0. Here the padding is
 * -0 unless --pad plus is given, because x + -0 is x for every number x, while
 * -0 + +0 is +0. The work is lesson 1's inner product.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson3 \
 *                      lessons/v2_fastadd/v2_fastadd.cu
 * It first checks the add on every kind of target and on every neighbour, then
 * prints the sum, what became of its neighbour, and the time. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { BLOCK_THREADS = 256 };

static const long long DEFAULT_N = 32LL * 1024 * 1024; /* elements */
static const uint16_t TENTH = 0x2e66;                  /* 0.1 as a half */
static const uint16_t MINUS_ZERO = 0x8000;

/* --- the fast add --- */

/* Adds value to array[index], index < length. The address decides, not the
 * index: array itself may start at an odd half. `index + 1 < length` does not
 * wrap at length 0, as `index < length - 1` would in unsigned. */
static __device__ void fast_add(half *array, long long length, long long index,
                                half value, half pad)
{
    half *target = array + index;
    int is_high = ((size_t)target & 2) != 0;

    if (!is_high && index + 1 < length)
        atomicAdd((half2 *)target, __halves2half2(value, pad));
    else if (is_high && index > 0)
        atomicAdd((half2 *)(target - 1), __halves2half2(pad, value));
    else
        atomicAdd(target, value);
}

/* --- the kernel --- */

static __global__ void dot_fast(const half *a, const half *b, half *c,
                                long long c_length, half pad, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long stride = (long long)gridDim.x * blockDim.x;
    half sum = __float2half_rn(0.0f);

    for (; i < n; i += stride)
        sum = __hadd_rn(sum, __hmul_rn(a[i], b[i]));
    fast_add(c, c_length, 0, sum, pad);
}

static void launch_dot(const half *d_a, const half *d_b, half *d_c, half pad,
                       long long n)
{
    unsigned blocks = blocks_for(n, BLOCK_THREADS);

    dot_fast<<<blocks, BLOCK_THREADS>>>(d_a, d_b, d_c, 2, pad, n);
    CHECK(cudaGetLastError());
}

/* --- the check of the three branches --- */

/* One add: to array[index], where the array starts at half `base` of d_halves
 * and has `length` elements. */
struct target {
    long long base, length, index;
};

static __global__ void add_to_targets(half *halves,
                                      const struct target *targets, int count,
                                      half value, half pad)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < count)
        fast_add(halves + targets[i].base, targets[i].length, targets[i].index,
                 value, pad);
}

/* Adds 1 to each target. `halves` goes to the device and back. */
static void run_targets(uint16_t *halves, size_t bytes,
                        const struct target *targets, int count, half pad)
{
    unsigned blocks = blocks_for(count, BLOCK_THREADS);
    size_t target_bytes = (size_t)count * sizeof *targets;
    struct target *d_targets;
    half *d_halves;

    CHECK(cudaMalloc((void **)&d_halves, bytes));
    CHECK(cudaMalloc((void **)&d_targets, target_bytes));
    CHECK(cudaMemcpy(d_halves, halves, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_targets, targets, target_bytes, cudaMemcpyHostToDevice));
    add_to_targets<<<blocks, BLOCK_THREADS>>>(d_halves, d_targets, count,
                                              __float2half_rn(1.0f), pad);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(halves, d_halves, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_targets));
    CHECK(cudaFree(d_halves));
}

enum { SLOTS = 16, FIRST = 4, MAX_LENGTH = 9, MAX_TARGETS = 128 };

static const uint16_t ONE = 0x3c00, TWO = 0x4000;
static const uint16_t WITNESS = 0x7e01; /* a NaN; any add makes it 0x7fff */
static const uint16_t NAN_AFTER_ADD = 0x7fff;

/* Every index of arrays of 0 to 9 halves on an even and an odd base, each in
 * 16 halves of its own; length 0 stands for a wrong call, which must not reach
 * a neighbour. All halves but the targets are witnesses: one that has become
 * 0x7fff tells that the add was 4 bytes wide. Returns whether each add reached
 * what it should, and nothing else. */
static int check_branches(half pad)
{
    static uint16_t halves[MAX_TARGETS * SLOTS];
    struct target targets[MAX_TARGETS];
    int count = 0, wide = 0, ok = 1, i, k;
    long long odd, length, index;

    for (i = 0; i < MAX_TARGETS * SLOTS; i++)
        halves[i] = WITNESS;
    for (odd = 0; odd <= 1; odd++)
        for (length = 0; length <= MAX_LENGTH; length++)
            for (index = 0; index == 0 || index < length; index++) {
                struct target *t = &targets[count];
                t->base = (long long)count * SLOTS + FIRST + odd;
                t->length = length;
                t->index = index;
                halves[t->base + index] = ONE;
                count++;
            }
    run_targets(halves, sizeof halves, targets, count, pad);
    for (i = 0; i < count; i++) {
        long long at = targets[i].base + targets[i].index;
        long long other = at ^ 1; /* the other half of its 4-byte slot */
        int inside = other >= targets[i].base &&
                     other < targets[i].base + targets[i].length;
        for (k = i * SLOTS; k < (i + 1) * SLOTS; k++) {
            uint16_t expected = k == at                ? TWO
                                : k == other && inside ? NAN_AFTER_ADD
                                                       : WITNESS;
            ok &= halves[k] == expected;
        }
        wide += inside;
    }
    report("checks", "%d targets, %d by half2 and %d alone in their slot: %s",
           count, wide, count - wide, ok ? "ok" : "WRONG");
    return ok;
}

/* All 65,536 neighbours, of a target in the low and in the high half. With -0
 * a NaN may lose its payload, and nothing else may change; with +0 a -0
 * becomes +0 as well. */
static int check_neighbours(half pad, int pad_is_plus)
{
    enum { NEIGHBOURS = 65536, COUNT = 2 * NEIGHBOURS };
    uint16_t *halves = (uint16_t *)host_memory(COUNT * 2, sizeof *halves);
    struct target *targets =
        (struct target *)host_memory(COUNT, sizeof *targets);
    int i, changed = 0, ok = 1;

    for (i = 0; i < COUNT; i++) {
        int high = i >= NEIGHBOURS;
        targets[i].base = 2LL * i;
        targets[i].length = 2;
        targets[i].index = high;
        halves[2 * i + high] = ONE;
        halves[2 * i + !high] = (uint16_t)(i % NEIGHBOURS);
    }
    run_targets(halves, COUNT * 2 * sizeof *halves, targets, COUNT, pad);
    for (i = 0; i < COUNT; i++) {
        int high = i >= NEIGHBOURS;
        uint16_t before = (uint16_t)(i % NEIGHBOURS);
        uint16_t after = halves[2 * i + !high];
        uint16_t expected = fp16_is_nan(before) ? NAN_AFTER_ADD
                            : pad_is_plus && before == MINUS_ZERO ? 0
                                                                  : before;
        ok &= after == expected && halves[2 * i + high] == TWO;
        changed += after != before;
    }
    report("", "%d neighbours, %d of them changed (NaN payloads%s): %s", COUNT,
           changed, pad_is_plus ? ", and -0 to +0" : "", ok ? "ok" : "WRONG");
    free(targets);
    free(halves);
    return ok;
}

static int report_neighbour(uint16_t after, int pad_is_plus)
{
    uint16_t expected = pad_is_plus ? 0 : MINUS_ZERO;

    report("neighbour", "-0 before, %s after adding {sum, %s0}: %s",
           after == MINUS_ZERO ? "-0" : "no longer -0", pad_is_plus ? "+" : "-",
           after != expected ? "WRONG"
           : pad_is_plus     ? "damaged"
                             : "ok");
    return after == expected;
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long n = DEFAULT_N, plus = 0;
    const struct lesson_option options[] = {
        {"--n", NULL, &n, 1, LESSON_MAX_N, "elements (default 2^25)"},
        {"--pad", "minus|plus", &plus, 0, 0,
         "what is added to the neighbour: -0 (default) or +0"},
    };
    uint16_t product = fp16_mul(TENTH, TENTH), c[2];
    half *d_a, *d_b, *d_c, pad;
    struct timing t;
    int ok;

    lesson_begin(3, "v2_fastadd", "one fast add per thread", argc, argv,
                 options, 2);
    report_device();
    require_memory(2 * (unsigned long long)n * sizeof(half), "--n");
    pad = __float2half_rn(plus ? 0.0f : -0.0f);
    if (!(check_branches(pad) & check_neighbours(pad, (int)plus))) {
        fprintf(stderr, "%s: the fast add is wrong; not timed\n",
                lesson.program);
        return EXIT_WRONG;
    }
    d_a = (half *)device_halves(n, TENTH);
    d_b = (half *)device_halves(n, TENTH);
    d_c = (half *)device_halves(2, 0);
    report("work", "%lld adds of %.6g to the first of two halves", n,
           fp16_to_double(product));

    timing_create(&t, 1, lesson.runs);
    while (timing_next(&t, 1)) {
        c[0] = 0;
        c[1] = MINUS_ZERO;
        CHECK(cudaMemcpy(d_c, c, sizeof c, cudaMemcpyHostToDevice));
        timing_begin(&t);
        launch_dot(d_a, d_b, d_c, pad, n);
        timing_end(&t);
    }

    CHECK(cudaMemcpy(c, d_c, sizeof c, cudaMemcpyDeviceToHost));
    ok = report_half(c[0], fp16_add_up(0, product, n, NULL), "");
    report_frozen(c[0], product, fp16_to_double(product) * (double)n);
    ok &= report_neighbour(c[1], (int)plus);
    report_time(&t, n);
    csv_sum(plus ? "v2_fastadd_plus" : lesson.name, n, &t, c[0]);

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return ok ? 0 : EXIT_WRONG;
}
