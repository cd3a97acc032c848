/* Who wins the storm of lesson 5? Each add that moves the sum notes, under the
 * old value that it saw, its multiprocessor, warp, lane and time: until the
 * freeze no value comes twice. Needs a GPU; `make experiments` runs it.
 * docs/reading_speedups.md reads the answers; experiments_winners.h has
 * the columns. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "options.h"
#include "report.h"
#include "experiments_winners.h"

enum { PLACES = 12, PLACE_WORDS = (4 << 18) + 37 * 1024 + 8 };

/* --- the kernels --- */

static __device__ u64 now(void)
{
    u64 ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

static __device__ unsigned here(void)
{
    unsigned sm;

    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* Notes the time, and how many threads tried until now; then one fewer does. In
 * PTX, or the compiler puts it behind the loop, where a lane waits for its
 * warp. */
static __device__ void note_if(int has_won, struct win *win, u64 *trying)
{
    asm volatile("{\n\t"
                 ".reg .pred won;\n\t"
                 "setp.ne.s32 won, %3, 0;\n\t"
                 "@won mov.u64 %0, %%globaltimer;\n\t"
                 "@won atom.global.add.u64 %1, [%2], -1;\n\t"
                 "}"
                 : "+l"(win->ns), "+l"(win->trying)
                 : "l"(trying), "r"(has_won)
                 : "memory");
}

/* Lesson 4's loop, one cell. */
static __global__ void storm(unsigned *word, half addend, struct trial t,
                             struct win *wins, struct share *shares)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, i;
    struct share *share = &shares[here()];
    u64 first = now(), tries = 0;

    while (here() != t.ahead && now() - first < t.late)
        ;
    while (here() / 2 == t.muted / 2 && *(volatile unsigned *)word != FROZEN)
        __nanosleep(50000);
    atomicMin(&share->began, now());
    for (i = thread; i < t.n; i += gridDim.x * blockDim.x) {
        unsigned old = *(volatile unsigned *)word, seen, next;
        struct win win = {0, 0, thread, here()};
        atomicAdd(&share->trying, 1ull);
        do {
            half sum = __hadd_rn(__ushort_as_half((unsigned short)old), addend);
            seen = old;
            next = __half_as_ushort(sum);
            old = atomicCAS(word, seen, next);
            tries++;
            note_if(old == seen, &win, &share->trying);
        } while (old != seen);
        if (next != seen)
            wins[seen] = win;
    }
    atomicAdd(&share->tries, tries);
}

/* Lesson 9's lock: the first `most` threads that get it sign a list. 2 is a
 * lock that stays shut. */
static __global__ void take_lock(unsigned *lock, volatile unsigned *count,
                                 unsigned most, struct win *wins,
                                 struct share *shares)
{
    unsigned was;
    u64 tries = 0;

    atomicMin(&shares[here()].began, now());
    do {
        was = atomicCAS(lock, 0, 1);
        tries++;
        if (was == 0) {
            unsigned place;
            struct win win = {now(), 0, blockIdx.x * blockDim.x + threadIdx.x,
                              here()};
            __threadfence();
            place = *count;
            wins[place] = win;
            *count = place + 1;
            __threadfence();
            atomicExch(lock, place + 1 < most ? 0 : 2);
        }
    } while (was == 1);
    atomicAdd(&shares[here()].tries, tries);
}

/* How long swaps take from multiprocessor `sm` when no other is at work, each
 * of which needs the one before. */
static __global__ void reach(unsigned *word, unsigned sm, struct share *shares)
{
    unsigned k, old = 0;
    u64 begin = now();

    if (here() != sm || threadIdx.x > 0)
        return;
    for (k = 0; k < 64; k++)
        old = atomicCAS(word, old + 1, old);
    if (old == 0) /* which waits for the last of them */
        shares[sm].swaps_ns = now() - begin;
}

/* --- one storm --- */

static unsigned *d_words, *d_count;
static struct win *d_wins;
static struct share *d_shares;

static const struct trial plain = {0, 0, 8, -1, 1 << 20, NONE, 0, NONE, 0};

/* Shared memory that nobody uses, so that so many blocks fit. */
static int limit(const void *kernel, int blocks_each, int carveout)
{
    int all = attribute_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    int reserved = attribute_of(cudaDevAttrReservedSharedMemoryPerBlock);
    int shared =
        blocks_each < 8 ? (all / blocks_each - reserved) / 128 * 128 : 0;

    CHECK(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CHECK(cudaFuncSetAttribute(
        kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout));
    return shared;
}

static void clear(size_t place)
{
    struct share none = {~0ull, 0, 0, 0};
    int i;

    for (i = 0; i < multiprocessors; i++)
        shares[i] = none;
    CHECK(cudaMemcpy(d_shares, shares, sizeof shares, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_wins, 0, sizeof wins));
    CHECK(cudaMemset(d_words + place, 0, sizeof *d_words));
    CHECK(cudaMemset(d_count, 0, sizeof *d_count));
}

static void measure_reach(size_t place)
{
    int shared = limit((const void *)reach, 1, -1);
    int sm;

    for (sm = 0; sm < multiprocessors; sm++)
        do {
            reach<<<(unsigned)multiprocessors, 32, (size_t)shared>>>(
                d_words + place, (unsigned)sm, d_shares);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpy(&shares[sm], d_shares + sm, sizeof shares[sm],
                             cudaMemcpyDeviceToHost));
        } while (shares[sm].swaps_ns == 0); /* none of its blocks was there */
}

/* Runs it; the wins are in order[] then, and the shares in shares[]. */
static void run(const struct trial *t)
{
    const void *kernel =
        t->lock ? (const void *)take_lock : (const void *)storm;
    int shared = limit(kernel, t->blocks_each, t->carveout);
    unsigned full = (unsigned)(t->blocks_each * multiprocessors);
    unsigned blocks = t->long_lived || t->lock ? full : t->n / BLOCK;

    clear(t->place);
    measure_reach(t->place);
    if (t->lock)
        take_lock<<<blocks, BLOCK, (size_t)shared>>>(
            d_words + t->place, d_count, (unsigned)MOVING, d_wins, d_shares);
    else
        storm<<<blocks, BLOCK, (size_t)shared>>>(d_words + t->place,
                                                 __ushort_as_half(PRODUCT), *t,
                                                 d_wins, d_shares);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(wins, d_wins, sizeof wins, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(shares, d_shares, sizeof shares, cudaMemcpyDeviceToHost));
    put_in_order(t->lock);
}

/* --- the questions --- */

static int often[MOST_SMS]; /* served much more than the mean one */

static void ask_who(void)
{
    struct trial t = plain;
    int k, sm;

    for (k = 0; k < 2 * PLACES; k++) {
        t.place = (size_t)(k % PLACES) * PLACE_WORDS;
        run(&t);
        print_storm("place", "place %lld", k % PLACES, &t);
        add_to_pace();
        if (k < 4)
            print_order(k);
        if (k > 0)
            continue;
        print_shares(&t);
        for (sm = 0; sm < multiprocessors; sm++)
            often[sm] = served(&t, (unsigned)sm) > 1.2;
    }
    print_pace("pace");
}

/* Other launches: fewer blocks on a multiprocessor, the largest share for
 * shared memory, threads that stay, and the lock. */
static void ask_kinds(void)
{
    static const struct {
        const char *question;
        int long_lived, lock, blocks_each, carveout;
    } kinds[] = {{"one_add", 0, 0, 8, -1},    {"full_carveout", 0, 0, 8, 100},
                 {"one_add", 0, 0, 4, -1},    {"one_add", 0, 0, 1, -1},
                 {"long_lived", 1, 0, 8, -1}, {"long_lived", 1, 0, 4, -1},
                 {"long_lived", 1, 0, 1, -1}, {"lock", 0, 1, 8, -1},
                 {"lock", 0, 1, 1, -1}};
    struct trial t = plain;
    int k;

    for (k = 0; k < 18; k++) {
        t.long_lived = kinds[k / 2].long_lived;
        t.lock = kinds[k / 2].lock;
        t.blocks_each = kinds[k / 2].blocks_each;
        t.carveout = kinds[k / 2].carveout;
        run(&t);
        print_storm(kinds[k / 2].question, "%lld blocks each", t.blocks_each,
                    &t);
        if (t.carveout == 100)
            add_to_pace();
    }
    print_pace("pace_full_carveout");
}

/* Does a multiprocessor keep winning that began first? */
static void ask_ahead(void)
{
    struct trial t = plain;

    t.late = 100000;
    for (t.ahead = 0; t.ahead < (unsigned)multiprocessors; t.ahead += 6) {
        run(&t);
        print_storm("ahead", "%lld", t.ahead, &t);
    }
}

/* If two of those that are served often keep quiet, are others served more? */
static void ask_muted(void)
{
    struct trial t = plain;

    for (t.muted = 0; t.muted < (unsigned)multiprocessors; t.muted += 2)
        if (often[t.muted]) {
            run(&t);
            print_storm("muted", "%lld", t.muted, &t);
        }
}

int main(int argc, char **argv)
{
    lesson_begin(0, "experiments", "who wins the storm", argc, argv, NULL, 0);
    lesson.csv = 1;
    report_device();
    multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    CHECK(cudaMalloc((void **)&d_words,
                     (size_t)PLACES * PLACE_WORDS * sizeof *d_words));
    CHECK(cudaMalloc((void **)&d_count, sizeof *d_count));
    CHECK(cudaMalloc((void **)&d_wins, sizeof wins));
    CHECK(cudaMalloc((void **)&d_shares, sizeof shares));
    printf("question,setting,in_flight,n,moving,ms,tries,sm,wins,sms,next_sm,"
           "next_warp,still,rounds,served,equals,nearer,earlier,first,us\n");
    ask_who();
    ask_kinds();
    ask_ahead();
    ask_muted();
    CHECK(cudaFree(d_words));
    CHECK(cudaFree(d_count));
    CHECK(cudaFree(d_wins));
    CHECK(cudaFree(d_shares));
    return 0;
}
