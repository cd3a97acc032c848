/* Shuffles, votes, matches and the block's own votes: what each lane takes
 * away, against the manual's definitions on the host, in blocks of many shapes.
 * The same on a GPU, line by line, but for what a GPU leaves undefined.
 *
 * usage: warps [SEED [small]]
 * SEED: in the CPU emulation's interleaved mode, unless it is 0; small: without
 * the large blocks, each thread of which is dear under a sanitizer. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

enum { MAX_THREADS = 1024 };

typedef unsigned long long word;

static int emulated;

static word digest_of(const word *words, size_t count)
{
    word digest = 14695981039346656037ull;
    size_t i;

    for (i = 0; i < count; i++)
        digest = (digest ^ words[i]) * 1099511628211ull;
    return digest;
}

static word random_bits(void)
{
    static word state = 88172645463325252ull;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) ^ (state << 19);
}

static dim3 shape(unsigned x, unsigned y, unsigned z)
{
    dim3 d;

    d.x = x;
    d.y = y;
    d.z = z;
    return d;
}

static __device__ unsigned my_thread(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* --- shuffles --- */

enum kind { INDEX, UP, DOWN, XOR, KINDS };
static const char *const KIND_NAMES[] = {"__shfl_sync", "__shfl_up_sync",
                                         "__shfl_down_sync", "__shfl_xor_sync"};

enum type {
    INT,
    UNSIGNED,
    LONG,
    UNSIGNED_LONG,
    LONG_LONG,
    UNSIGNED_LONG_LONG,
    FLOAT,
    DOUBLE,
    HALF,
    HALF2,
    BF16,
    BF162,
    TYPES
};
static const struct {
    const char *name;
    unsigned bytes;
} TYPE[TYPES] = {
    {"int", 4},           {"unsigned", 4},      {"long", 8},
    {"unsigned long", 8}, {"long long", 8},     {"unsigned long long", 8},
    {"float", 4},         {"double", 8},        {"half", 2},
    {"half2", 4},         {"__nv_bfloat16", 2}, {"__nv_bfloat162", 4}};

struct shuffle {
    int type, kind, by, step, width; /* width 0: the call names none */
    unsigned mask;                   /* of the lanes that take part */
};

/* A lane's own argument: shuffles by index may differ from lane to lane. */
static __host__ __device__ int by_of(const struct shuffle *s, unsigned lane)
{
    return s->by + s->step * (int)lane;
}

#define SHUFFLE_AS(type)                                                       \
    static __device__ word shuffle_##type(struct shuffle s, int by, word in)   \
    {                                                                          \
        type v;                                                                \
        word out = 0;                                                          \
        memcpy(&v, &in, sizeof v);                                             \
        if (s.width == 0)                                                      \
            v = s.kind == INDEX  ? __shfl_sync(s.mask, v, by)                  \
                : s.kind == UP   ? __shfl_up_sync(s.mask, v, (unsigned)by)     \
                : s.kind == DOWN ? __shfl_down_sync(s.mask, v, (unsigned)by)   \
                                 : __shfl_xor_sync(s.mask, v, by);             \
        else                                                                   \
            v = s.kind == INDEX ? __shfl_sync(s.mask, v, by, s.width)          \
                : s.kind == UP                                                 \
                    ? __shfl_up_sync(s.mask, v, (unsigned)by, s.width)         \
                : s.kind == DOWN                                               \
                    ? __shfl_down_sync(s.mask, v, (unsigned)by, s.width)       \
                    : __shfl_xor_sync(s.mask, v, by, s.width);                 \
        memcpy(&out, &v, sizeof v);                                            \
        return out;                                                            \
    }

typedef unsigned long unsigned_long;
typedef long long long_long;

SHUFFLE_AS(int)
SHUFFLE_AS(unsigned)
SHUFFLE_AS(long)
SHUFFLE_AS(unsigned_long)
SHUFFLE_AS(long_long)
SHUFFLE_AS(word)
SHUFFLE_AS(float)
SHUFFLE_AS(double)
SHUFFLE_AS(half)
SHUFFLE_AS(half2)
SHUFFLE_AS(__nv_bfloat16)
SHUFFLE_AS(__nv_bfloat162)

static __device__ word shuffle_any(struct shuffle s, int by, word in)
{
    return s.type == INT                  ? shuffle_int(s, by, in)
           : s.type == UNSIGNED           ? shuffle_unsigned(s, by, in)
           : s.type == LONG               ? shuffle_long(s, by, in)
           : s.type == UNSIGNED_LONG      ? shuffle_unsigned_long(s, by, in)
           : s.type == LONG_LONG          ? shuffle_long_long(s, by, in)
           : s.type == UNSIGNED_LONG_LONG ? shuffle_word(s, by, in)
           : s.type == FLOAT              ? shuffle_float(s, by, in)
           : s.type == DOUBLE             ? shuffle_double(s, by, in)
           : s.type == HALF               ? shuffle_half(s, by, in)
           : s.type == HALF2              ? shuffle_half2(s, by, in)
           : s.type == BF16               ? shuffle___nv_bfloat16(s, by, in)
                                          : shuffle___nv_bfloat162(s, by, in);
}

/* Lanes that the mask leaves out do something else meanwhile. */
static __global__ void shuffle(word *out, const word *in, struct shuffle s)
{
    unsigned i = my_thread(), lane = i % 32;

    if (s.mask >> lane & 1)
        out[i] = shuffle_any(s, by_of(&s, lane), in[i]);
    else
        out[i] = lane;
}

/* The source by the manual: the warp is cut into segments of `width` lanes. */
static int source_of(const struct shuffle *s, int lane)
{
    int width = s->width ? s->width : 32, first = lane / width * width;
    int by = by_of(s, (unsigned)lane), source;

    if (s->kind == INDEX)
        return first + ((by % width) + width) % width;
    source = s->kind == UP     ? lane - by
             : s->kind == DOWN ? lane + by
                               : lane ^ by;
    if (s->kind == UP && source < first)
        return lane;
    return source >= first + width ? lane : source;
}

static word cut(word value, int type)
{
    return TYPE[type].bytes == 8 ? value
                                 : value & ((1ull << 8 * TYPE[type].bytes) - 1);
}

/* Returns how many lanes are wrong. Where the source takes no part, the result
 * is undefined on a GPU, and all ones in the emulation; it becomes 0 here. */
static int count_wrong(word *out, const word *in, const struct shuffle *s,
                       unsigned threads)
{
    unsigned i, source;
    int wrong = 0;

    for (i = 0; i < threads; i++) {
        word expected = i % 32;
        if (s->mask >> i % 32 & 1) {
            source = i - i % 32 + (unsigned)source_of(s, (int)i % 32);
            expected = cut(in[source], s->type);
            if (source >= threads || !(s->mask >> source % 32 & 1)) {
                wrong += emulated && out[i] != cut(~0ull, s->type);
                out[i] = expected = 0;
            }
        }
        wrong += out[i] != expected;
    }
    return wrong;
}

static int run_shuffle(const struct shuffle *s, dim3 block, word *digest)
{
    static word in[MAX_THREADS + 32], out[MAX_THREADS];
    unsigned threads = block.x * block.y * block.z, i;
    word *d_in, *d_out;
    int wrong;

    for (i = 0; i < threads; i++)
        in[i] = random_bits();
    CHECK(cudaMalloc((void **)&d_in, sizeof in));
    CHECK(cudaMalloc((void **)&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    shuffle<<<1, block>>>(d_out, d_in, *s);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    wrong = count_wrong(out, in, s, threads);
    *digest = *digest * 31 + digest_of(out, threads);
    return wrong;
}

/* Every kind with every width, by many distances, in some shape each. */
static void check_shuffles(int type)
{
    static const int distances[] = {0, 1, 2, 3, 5, 8, 13, 16, 17, 24, 31};
    enum { DISTANCES = sizeof distances / sizeof distances[0] };
    const unsigned masks[] = {0xffffffff, 0x0000ffff, 0x5a5ac33c, 0x80000001};
    const dim3 blocks[] = {shape(32, 1, 1), shape(48, 1, 1), shape(7, 1, 1),
                           shape(8, 8, 2), shape(5, 3, 11)};
    struct shuffle s;
    int d, width, number = 0, wrong;
    word digest;

    s.type = type;
    for (s.kind = 0; s.kind < KINDS; s.kind++) {
        wrong = 0;
        digest = 0;
        for (width = 0; width <= 32; width = width ? 2 * width : 1)
            for (d = 0; d < DISTANCES; d++, number++) {
                s.by = distances[d] - (s.kind == INDEX ? 9 : 0);
                s.step = s.kind == INDEX ? d : 0;
                s.width = width;
                s.mask = masks[(number + number / 4) % 4];
                wrong += run_shuffle(&s, blocks[number % 5], &digest);
            }
        expect_digest(wrong == 0, digest, "%s of %s", KIND_NAMES[s.kind],
                      TYPE[type].name);
    }
}

/* --- votes, in two groups of lanes that vote apart --- */

enum { BALLOT, ANY, EVERY, MATCH, MATCH_LONG, MATCH_FLOAT, POPULATION, VOTES };
static const char *const VOTE_NAMES[] = {"__ballot_sync",
                                         "__any_sync",
                                         "__all_sync",
                                         "__match_any_sync of unsigned",
                                         "__match_any_sync of long long",
                                         "__match_any_sync of float",
                                         "__popc, __ffs, __clz"};

static __device__ void vote(unsigned *out, unsigned threads, unsigned mask,
                            unsigned in)
{
    unsigned ballot = __ballot_sync(mask, (int)(in & 6));

    out[BALLOT * threads] = ballot;
    out[ANY * threads] = __any_sync(mask, (in & 0xf0) == 0) != 0;
    out[EVERY * threads] = __all_sync(mask, (in & 0x700) != 0) != 0;
    out[MATCH * threads] = __match_any_sync(mask, in % 5);
    out[MATCH_LONG * threads] =
        __match_any_sync(mask, ((long long)(in % 3) << 40) - 1);
    out[MATCH_FLOAT * threads] = __match_any_sync(mask, (float)(in % 4));
    out[POPULATION * threads] = (unsigned)__popc(ballot) * 10000 +
                                (unsigned)__ffs((int)ballot) * 100 +
                                (unsigned)__clz((int)ballot);
}

static __global__ void vote_apart(unsigned *out, const unsigned *in,
                                  unsigned mask, unsigned threads)
{
    unsigned i = my_thread();

    if (mask >> (i % (unsigned)warpSize) & 1)
        vote(out + i, threads, mask, in[i]);
    else
        vote(out + i, threads, ~mask, in[i]);
}

static unsigned count_bits(unsigned mask)
{
    unsigned count = 0;

    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

/* What thread i must find, from the votes of all who vote with it. */
static void expect_votes(unsigned *expected, const unsigned *in, unsigned i,
                         unsigned threads, unsigned mask)
{
    unsigned k, ballot = 0, lowest = 0, highest = 0;

    memset(expected, 0, VOTES * sizeof *expected);
    expected[EVERY] = 1;
    for (k = i - i % 32; k < i - i % 32 + 32 && k < threads; k++) {
        if ((mask >> k % 32 & 1) != (mask >> i % 32 & 1))
            continue;
        ballot |= (unsigned)((in[k] & 6) != 0) << k % 32;
        expected[ANY] |= (in[k] & 0xf0) == 0;
        expected[EVERY] &= (in[k] & 0x700) != 0;
        expected[MATCH] |= (unsigned)(in[k] % 5 == in[i] % 5) << k % 32;
        expected[MATCH_LONG] |= (unsigned)(in[k] % 3 == in[i] % 3) << k % 32;
        expected[MATCH_FLOAT] |= (unsigned)(in[k] % 4 == in[i] % 4) << k % 32;
    }
    for (k = 0; k < 32; k++)
        if (ballot >> k & 1) {
            lowest = lowest ? lowest : k + 1;
            highest = k + 1;
        }
    expected[BALLOT] = ballot;
    expected[POPULATION] =
        count_bits(ballot) * 10000 + lowest * 100 + 32 - highest;
}

static void check_votes(dim3 block, unsigned mask)
{
    static unsigned in[MAX_THREADS], out[VOTES * MAX_THREADS];
    unsigned threads = block.x * block.y * block.z, i, *d_in, *d_out;
    unsigned expected[VOTES], wrong[VOTES] = {0};
    word digest[VOTES] = {0};
    int k;

    for (i = 0; i < threads; i++)
        in[i] = (unsigned)random_bits() & (i % 64 < 32 ? ~0u : ~6u);
    CHECK(cudaMalloc((void **)&d_in, sizeof in));
    CHECK(cudaMalloc((void **)&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    vote_apart<<<1, block>>>(d_out, d_in, mask, threads);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (i = 0; i < threads; i++) {
        expect_votes(expected, in, i, threads, mask);
        for (k = 0; k < VOTES; k++) {
            wrong[k] += out[(unsigned)k * threads + i] != expected[k];
            digest[k] = digest[k] * 31 + out[(unsigned)k * threads + i];
        }
    }
    for (k = 0; k < VOTES; k++)
        expect_digest(wrong[k] == 0, digest[k],
                      "%s, %u,%u,%u threads, mask %08x", VOTE_NAMES[k], block.x,
                      block.y, block.z, mask);
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

/* --- the block's votes --- */

/* In round r thread i votes for `r & i`, whether it is `threads` or not. */
static __global__ void vote_in_block(int *out, int threads)
{
    int i = (int)my_thread(), round, count, some, every;

    for (round = 0; round < 4; round++) {
        count = __syncthreads_count(round & i);
        some = __syncthreads_or(i == threads - round);
        every = __syncthreads_and(i < threads - round);
        if (i == threads - 1)
            out[round] = count * 100 + (some != 0) * 10 + (every != 0);
    }
}

static void check_block_votes(int threads)
{
    int out[4], right = 1, round, i, count, *d_out;

    CHECK(cudaMalloc((void **)&d_out, sizeof out));
    vote_in_block<<<1, threads>>>(d_out, threads);
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (round = 0; round < 4; round++) {
        for (i = count = 0; i < threads; i++)
            count += (round & i) != 0;
        right &= out[round] == count * 100 +
                                   (round > 0 && round <= threads) * 10 +
                                   (round == 0);
    }
    expect_digest(right, (word)out[3],
                  "__syncthreads_count, _or, _and: %d threads", threads);
    CHECK(cudaFree(d_out));
}

/* --- __activemask --- */

/* In the emulation the lanes of each branch find each other. A GPU may have
 * split them, or its compiler joined the branches. */
static __global__ void look_around(unsigned *out, unsigned apart)
{
    unsigned i = threadIdx.x, mask;

    if (i == 40)
        return;
    if (apart >> i % 32 & 1)
        mask = __activemask();
    else
        mask = __activemask();
    out[i] = mask;
}

static void check_activemask(unsigned apart)
{
    unsigned out[80], i, expected, right = 1, *d_out;

    CHECK(cudaMalloc((void **)&d_out, sizeof out));
    look_around<<<1, 80>>>(d_out, apart);
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (i = 0; i < 80; i++) {
        expected = apart >> i % 32 & 1 ? apart : ~apart;
        expected &= i < 32 ? ~0u : i < 64 ? ~(1u << 8) : 0xffff;
        if (i != 40 && emulated)
            right &= out[i] == expected;
        else if (i != 40)
            right &= out[i] >> i % 32 & 1;
    }
    expect_digest((int)right, 0, "__activemask, apart by %08x", apart);
    CHECK(cudaFree(d_out));
}

/* --- distances of 32 and more: only their low five bits count --- */

static void check_far(void)
{
    static const int distances[] = {32, 33, 63, 64, 95};
    struct shuffle s = {INT, UP, 0, 0, 0, 0xffffffff}, near;
    word in[32], out[32], wrong = 0, *d_in, *d_out;
    int d, i;

    CHECK(cudaMalloc((void **)&d_in, sizeof in));
    CHECK(cudaMalloc((void **)&d_out, sizeof out));
    for (i = 0; i < 32; i++)
        in[i] = (word)(1000 + i);
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    for (s.kind = UP; s.kind < KINDS; s.kind++)
        for (d = 0; d < 5; d++) {
            s.by = distances[d];
            near = s;
            near.by %= 32;
            shuffle<<<1, 32>>>(d_out, d_in, s);
            CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
            for (i = 0; i < 32; i++)
                wrong += out[i] != in[source_of(&near, i)];
        }
    expect_digest(wrong == 0, wrong, "of a distance the low five bits count");
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp prop;
    int small = argc > 2, type;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
#ifdef CPU_CUDA_RUNTIME_H
    if (argc > 1)
        cpu_interleave(strtoull(argv[1], NULL, 10));
#else
    (void)argv;
#endif
    for (type = 0; type < TYPES; type++)
        check_shuffles(type);
    check_votes(shape(32, 1, 1), 0xffffffff);
    check_votes(shape(17, 3, 2), 0xaaaaaaaa);
    check_votes(shape(small ? 50 : 1000, 1, 1), 0x7ff00fff);
    check_votes(shape(1, 1, 1), 0xffffffff);
    for (type = 1; type <= (small ? 64 : 1024); type *= 4)
        check_block_votes(type);
    check_block_votes(small ? 100 : 1000);
    check_activemask(0xffffffff);
    check_activemask(0x0000ffff);
    check_activemask(0x12345678);
    check_far();
    return failures ? EXIT_WRONG : 0;
}
