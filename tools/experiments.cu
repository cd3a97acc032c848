/* What the storm of lesson 5 depends on: one question after another, as CSV.
 * Needs a GPU; `make experiments` runs it. docs/reading_speedups.md reads the
 * answers. experiments.h has the columns. */
#include "experiments.h"

/* --- blocks that wait --- */

static unsigned *d_go;      /* not 0: they may end */
static unsigned *d_arrived; /* on each multiprocessor */
static cudaStream_t beside; /* of the waiting blocks */

/* Takes a block's place until it is told to go, or for some seconds. */
static __global__ void wait_for(const unsigned *go, unsigned *arrived)
{
    long long begin = clock64();
    unsigned here;

    asm("mov.u32 %0, %%smid;" : "=r"(here));
    if (threadIdx.x == 0) {
        atomicAdd(arrived + here, 1);
        while (*(const volatile unsigned *)go == 0 &&
               clock64() - begin < 10000000000)
            __nanosleep(20000);
    }
    __syncthreads();
}

/* Puts `each` blocks that wait on every multiprocessor. Returns 0 if they do
 * not spread so. */
static int put_waiting(int each)
{
    static unsigned arrived[1024];
    size_t bytes = (size_t)multiprocessors * sizeof arrived[0];
    int sum = 0, even = 1, i;

    CHECK(cudaMemset(d_go, 0, sizeof *d_go));
    CHECK(cudaMemset(d_arrived, 0, bytes));
    CHECK(cudaDeviceSynchronize()); /* the other stream does not wait for it */
    wait_for<<<(unsigned)(each * multiprocessors), 256, 0, beside>>>(d_go,
                                                                     d_arrived);
    CHECK(cudaGetLastError());
    while (sum < each * multiprocessors) {
        CHECK(cudaMemcpy(arrived, d_arrived, bytes, cudaMemcpyDeviceToHost));
        for (sum = 0, even = 1, i = 0; i < multiprocessors; i++) {
            sum += (int)arrived[i];
            even &= (int)arrived[i] == each;
        }
    }
    return even;
}

/* Returns 0 if they have not waited so long. */
static int let_go(void)
{
    int waited = cudaStreamQuery(beside) == cudaErrorNotReady, one = 1;

    (void)cudaGetLastError(); /* that they are not ready is no error */
    CHECK(cudaMemcpy(d_go, &one, sizeof one, cudaMemcpyHostToDevice));
    CHECK(cudaStreamSynchronize(beside));
    return waited;
}

/* Fewer threads in flight by blocks that wait, with the split between L1 and
 * shared memory as it is without them. */
static int ask_waiting(void)
{
    struct trial t = plain;
    int ok = 1;

    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&d_go, sizeof *d_go));
    CHECK(cudaMalloc((void **)&d_arrived, 1024 * sizeof *d_arrived));
    t.question = "waiting";
    measure(&t, BY_HAND, "0 blocks wait", 0);
    for (t.waiting = 1; ok && t.waiting < 8; t.waiting++) {
        ok = put_waiting(t.waiting);
        measure(&t, BY_HAND, "%lld blocks wait", t.waiting);
        ok &= let_go();
    }
    if (!ok)
        complain("experiments: the blocks that wait did not spread evenly, or "
                 "did not wait long enough: the last row does not hold");
    CHECK(cudaFree(d_go));
    CHECK(cudaFree(d_arrived));
    CHECK(cudaStreamDestroy(beside));
    return ok;
}

/* --- the questions --- */

/* Do threads that stay and add again make another storm than as many that come
 * and go? */
static void ask_long_lived(void)
{
    struct trial t = plain;
    int b;

    t.question = "lifetime";
    t.carveout = 100;
    for (b = 1; b <= 8; b++) {
        t.blocks_each = b;
        t.blocks = 0;
        measure(&t, BY_HAND, "one add per thread", 0);
        t.blocks = (unsigned)(b * multiprocessors);
        measure(&t, BY_HAND, "long-lived", 0);
    }
}

/* A thread whose add has won waits until its warp and its block are done, and
 * only then does another block take their place. Do smaller blocks, whose
 * threads wait less, make a larger storm? */
static void ask_block_size(void)
{
    struct trial t = plain;

    t.question = "block";
    t.carveout = 100;
    for (t.block_threads = 32; t.block_threads <= 1024; t.block_threads *= 2) {
        t.blocks_each = 1024 / t.block_threads;
        measure(&t, BY_HAND, "%lld threads a block", t.block_threads);
    }
}

/* The same for a warp, of which only some lanes take part. */
static void ask_lanes(void)
{
    struct trial t = plain;

    t.question = "lanes";
    for (t.lanes = 1; t.lanes <= 32; t.lanes *= 2)
        measure(&t, BY_HAND, "%lld", t.lanes);
}

static void ask_carveout(void)
{
    struct trial t = plain;

    t.question = "carveout";
    t.n = 1 << 22;
    for (t.carveout = -1; t.carveout <= 100;
         t.carveout += t.carveout < 0 ? 1 : 25)
        measure(&t, BY_HAND, "%lld%%", t.carveout);
}

/* Rows for a regression of ms on tries, over n and threads in flight. */
static void ask_price(void)
{
    struct trial t = plain;
    int b, k;

    t.question = "price";
    t.carveout = 100;
    for (b = 1; b <= 8; b += b < 2 ? 1 : 2)
        for (k = 14; k <= 24; k += 2) {
            t.blocks_each = b;
            t.n = 1u << k;
            measure(&t, BY_HAND, "%lld blocks each", b);
        }
}

/* Is the storm linear in the adds that move the sum? The start sets how many
 * these are, and so does the addend. */
static void ask_moving(void)
{
    static const float starts[] = {31, 30, 28, 24, 16, 8, 0, -16, -32};
    static const float addends[] = {1 / 64.f, 1 / 96.f, 1 / 80.f, 1 / 127.f};
    struct trial t = plain;
    unsigned k;

    t.question = "moving";
    for (k = 0; k < sizeof starts / sizeof starts[0]; k++) {
        t.start = fp16_from_float(starts[k]);
        measure(&t, BY_HAND, "start %lld", (long long)starts[k]);
    }
    t.start = 0;
    for (k = 0; k < sizeof addends / sizeof addends[0]; k++) {
        t.addend = fp16_from_float(addends[k]);
        measure(&t, BY_HAND, "addend 1/%lld", (long long)(1 / addends[k]));
    }
}

/* Rows for a profiler: storms of which time and tries, taken in two runs, once
 * gave the price of a try as 0.46, 0.53 and 0.95 ns. */
static void ask_profile(void)
{
    static const char *const settings[] = {"long-lived", "carve-out 75%%",
                                           "3 blocks each"};
    struct trial t[3] = {plain, plain, plain};
    int k;

    t[0].carveout = t[2].carveout = 100;
    t[0].blocks = (unsigned)(8 * multiprocessors);
    t[1].carveout = 75;
    t[1].n = 1 << 22;
    t[2].blocks_each = 3;
    t[2].n = 1 << 25;
    for (k = 0; k < 3; k++) {
        t[k].question = "profile";
        measure(&t[k], TWO_BYTES, settings[k], 0);
    }
}

int main(int argc, char **argv)
{
    long long profile = 0;
    const struct lesson_option options[] = {
        {"--profile", "", &profile, 0, 0,
         "three storms for a profiler, and nothing else"}};
    int ok = 1;

    begin(argc, argv, 4, options, 1);
    if (profile)
        ask_profile();
    else {
        ask_price();
        ask_carveout();
        ask_block_size();
        ask_lanes();
        ask_long_lived();
        ask_moving();
        ok = ask_waiting();
    }
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_tries));
    return ok ? 0 : EXIT_WRONG;
}
