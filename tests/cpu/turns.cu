/* Interleaved mode of the CPU emulation (common/cpu/interleave.c): the threads
 * in flight take turns at each atomic. All that is printed must be the same for
 * any CPU_THREADS, compiler and processor.
 *
 * usage: turns [MOST]    the checks, with at most MOST threads in flight
 *                        (a multiple of 4, at most 1024, the default)
 *        turns tries SEED THREADS RESIDENT N
 *        turns order SEED THREADS RESIDENT N
 *                        a number for each add of N threads, in blocks of
 *                        THREADS of which RESIDENT are in flight: its tries; or
 *                        the order in which their two adds were served */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

enum { MOST_ADDS = 1 << 14 };

static const uint16_t ADDEND = 0x211e, FROZEN = 0x5000; /* as in lesson 4 */

static unsigned most = 1024; /* threads in flight */
static int shared_bytes;     /* of the multiprocessor */

static dim3 triple(unsigned x, unsigned y, unsigned z)
{
    dim3 d;

    d.x = x;
    d.y = y;
    d.z = z;
    return d;
}

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

static int occupancy(unsigned block_threads, size_t shared)
{
    int blocks = -1;

    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, NULL, (int)block_threads, shared));
    return blocks;
}

/* --- storms: thread i adds once --- */

static __global__ void add_by_hand(half *cells, unsigned neighbour, half value,
                                   unsigned n, unsigned *tries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    unsigned shift = i & neighbour ? 16 : 0;
    unsigned *word = (unsigned *)cells;
    unsigned old, seen;

    if (i >= n)
        return;
    old = *word;
    do {
        half sum =
            __hadd_rn(__ushort_as_half((unsigned short)(old >> shift)), value);
        seen = old;
        old = atomicCAS(word, seen,
                        (seen & ~(0xffffu << shift)) |
                            (unsigned)__half_as_ushort(sum) << shift);
        count++;
    } while (old != seen);
    tries[i] = count;
}

static __global__ void add_built_in(half *cells, unsigned neighbour, half value,
                                    unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(cells + (i & neighbour), value);
}

struct storm {
    int by_hand;
    uint16_t start;
    unsigned n, block_threads, resident;
    unsigned neighbour; /* 1: every second add goes to the high half, from 0 */
    unsigned long long seed;
};

struct counts {
    unsigned long long requests, tries;
    unsigned digest; /* of the tries in the threads' order */
    uint16_t low, high;
};

static half *d_cells;
static unsigned *d_tries;
static unsigned tries[MOST_ADDS];

static void launch_storm(const struct storm *s)
{
    unsigned blocks = (s->n + s->block_threads - 1) / s->block_threads;
    uint16_t word[2];
    half value = __ushort_as_half(ADDEND);

    word[0] = s->start;
    word[1] = 0;
    CHECK(cudaMemcpy(d_cells, word, sizeof word, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_tries, 0, sizeof tries));
    if (s->by_hand)
        add_by_hand<<<blocks, s->block_threads, shared_for(s->resident)>>>(
            d_cells, s->neighbour, value, s->n, d_tries);
    else
        add_built_in<<<blocks, s->block_threads, shared_for(s->resident)>>>(
            d_cells, s->neighbour, value, s->n);
    CHECK(cudaGetLastError());
}

static struct counts read_counts(const struct storm *s)
{
    struct counts c;
    uint16_t word[2];
    unsigned i;

    c.requests = cpu_requests;
    CHECK(cudaMemcpy(word, d_cells, sizeof word, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(tries, d_tries, sizeof tries, cudaMemcpyDeviceToHost));
    c.low = word[0];
    c.high = word[1];
    c.tries = 0;
    c.digest = 2166136261u; /* FNV-1a, a number at a time */
    for (i = 0; i < s->n; i++) {
        c.tries += tries[i];
        c.digest = (c.digest ^ tries[i]) * 16777619u;
    }
    return c;
}

static struct counts run_storm(struct storm s)
{
    struct counts c;

    cpu_interleave(s.seed);
    launch_storm(&s);
    c = read_counts(&s);
    cpu_interleave(0);
    return c;
}

static uint16_t sum_of(uint16_t sum, unsigned adds)
{
    for (; adds > 0; adds--)
        sum = fp16_add(sum, ADDEND);
    return sum;
}

static int same_counts(const struct counts *a, const struct counts *b)
{
    return a->requests == b->requests && a->tries == b->tries &&
           a->digest == b->digest && a->low == b->low && a->high == b->high;
}

/* Four blocks in flight, of `most` threads in all. */
static struct storm usual_storm(void)
{
    struct storm s = {1, 0, 4000, 0, 4, 0, 1};

    s.block_threads = most / 4;
    return s;
}

static void check_seeds(void)
{
    struct counts c[6], again;
    struct storm s = usual_storm();
    unsigned i, k, differ = 1, right = 1;

    for (i = 1; i < 6; i++) {
        s.seed = i;
        c[i] = run_storm(s);
        right &= c[i].low == sum_of(0, s.n) && c[i].high == 0;
        printf("seed %u: %llu tries, %llu requests, digest %08x\n", i,
               c[i].tries, c[i].requests, c[i].digest);
        for (k = 1; k < i; k++)
            differ &= c[k].digest != c[i].digest;
    }
    expect(right, "five seeds: the same sum, that of adding in any order");
    expect(differ, "five seeds: other counts for each");
    for (i = 1, right = 1; i < 6; i++) {
        s.seed = i;
        again = run_storm(s);
        right &= same_counts(&c[i], &again);
    }
    expect(right, "the same seeds again: the same counts for each thread");
}

static void check_requests(void)
{
    struct storm s = usual_storm();
    struct counts by_hand = run_storm(s), built_in;

    expect(by_hand.requests == by_hand.tries && by_hand.tries > s.n,
           "by hand: as many requests as tries, %llu", by_hand.requests);
    s.by_hand = 0;
    built_in = run_storm(s);
    expect(built_in.requests == by_hand.requests &&
               built_in.low == by_hand.low && built_in.high == by_hand.high,
           "half atomicAdd: the same storm, %llu requests", built_in.requests);
    s.neighbour = 1;
    built_in = run_storm(s);
    s.by_hand = 1;
    by_hand = run_storm(s);
    expect(built_in.requests == by_hand.requests,
           "half atomicAdd on both halves: the same storm, %llu requests",
           built_in.requests);
    expect(built_in.low == sum_of(0, s.n / 2) &&
               built_in.high == sum_of(0, s.n / 2) &&
               by_hand.low == built_in.low && by_hand.high == built_in.high,
           "both halves: both sums are right");
}

static void check_frozen(void)
{
    struct storm s = usual_storm();
    struct counts c;
    int by_hand;

    s.start = FROZEN;
    for (by_hand = 0; by_hand < 2; by_hand++)
        for (s.resident = 1; s.resident <= 4; s.resident++) {
            s.by_hand = by_hand;
            c = run_storm(s);
            expect(c.requests == s.n && c.low == FROZEN &&
                       (!by_hand || c.tries == s.n),
                   "frozen, %s, %u in flight: one try an add",
                   by_hand ? "by hand" : "half atomicAdd",
                   s.resident * s.block_threads);
        }
    s.by_hand = 1;
    s.neighbour = 1;
    c = run_storm(s);
    expect(c.tries > 2ull * s.n && c.requests == c.tries && c.low == FROZEN &&
               c.high == sum_of(0, s.n / 2),
           "frozen beside a half that moves: %llu tries for %u adds", c.tries,
           s.n);
}

static void check_growth(void)
{
    static const unsigned sizes[] = {256, 512, 1024, 2048, 2798};
    struct storm s = usual_storm();
    unsigned long long before = 0, fails;
    struct counts c;
    unsigned k;

    for (s.resident = 1; s.resident <= 4; s.resident++) {
        s.n = MOST_ADDS;
        c = run_storm(s);
        expect(c.tries > before, "%u in flight: %llu tries, more than before",
               s.resident * s.block_threads, c.tries);
        before = c.tries;
    }
    s.resident = 1;
    for (k = 0, before = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        s.n = sizes[k];
        fails = run_storm(s).tries - s.n;
        expect(fails > before, "%u adds: %llu tries fail, more than before",
               s.n, fails);
        before = fails;
    }
    s.n = 4096;
    before = run_storm(s).tries - s.n;
    s.n = 8192;
    fails = run_storm(s).tries - s.n;
    expect(fails == before, "8192 adds fail as often as 4096: %llu and %llu",
           fails, before);
}

/* --- shapes: each thread once, and how many at a time --- */

struct flight {
    unsigned now, most, strange;
};

static __device__ int is_strange(dim3 grid, dim3 block, dim3 thread)
{
    return gridDim.x != grid.x || gridDim.y != grid.y || gridDim.z != grid.z ||
           blockDim.x != block.x || blockDim.y != block.y ||
           blockDim.z != block.z || threadIdx.x >= block.x ||
           threadIdx.y >= block.y || threadIdx.z >= block.z ||
           blockIdx.x >= grid.x || blockIdx.y >= grid.y ||
           blockIdx.z >= grid.z || threadIdx.x != thread.x ||
           threadIdx.y != thread.y || threadIdx.z != thread.z;
}

/* Visits its place in the grid 1 + turns times. Other threads run only while it
 * waits for its turn. */
static __global__ void visit(unsigned *visits, struct flight *flight, dim3 grid,
                             dim3 block, unsigned turns)
{
    size_t thread =
        threadIdx.x + (size_t)block.x * (threadIdx.y + block.y * threadIdx.z);
    size_t number =
        blockIdx.x + (size_t)grid.x * (blockIdx.y + grid.y * blockIdx.z);
    unsigned *place = visits + number * (block.x * block.y * block.z) + thread;
    dim3 self;

    self.x = threadIdx.x;
    self.y = threadIdx.y;
    self.z = threadIdx.z;
    if (is_strange(grid, block, self)) {
        flight->strange++;
        return;
    }
    *place += 1;
    flight->now++;
    if (flight->now > flight->most)
        flight->most = flight->now;
    for (; turns > 0; turns--) {
        atomicAdd(place, 1u);
        flight->strange += (unsigned)is_strange(grid, block, self);
    }
    flight->now--;
}

static void run_shape(dim3 grid, dim3 block, size_t shared, unsigned turns)
{
    unsigned threads = block.x * block.y * block.z;
    size_t blocks = (size_t)grid.x * grid.y * grid.z, i, right = 0;
    size_t resident = (size_t)occupancy(threads, shared);
    size_t bytes = blocks * threads * sizeof(unsigned);
    unsigned *d_visits = (unsigned *)allocate(bytes);
    struct flight *d_flight = (struct flight *)allocate(sizeof *d_flight), f;
    unsigned *visits = (unsigned *)malloc(bytes);

    visit<<<grid, block, shared>>>(d_visits, d_flight, grid, block, turns);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(visits, d_visits, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&f, d_flight, sizeof f, cudaMemcpyDeviceToHost));
    for (i = 0; i < blocks * threads; i++)
        right += visits[i] == 1 + turns;
    if (resident > blocks)
        resident = blocks;
    expect(right == blocks * threads && f.strange == 0,
           "grid %u,%u,%u of %u,%u,%u, %u turns: each thread once", grid.x,
           grid.y, grid.z, block.x, block.y, block.z, turns);
    expect(f.most == (turns ? resident * threads : 1),
           "and %u threads at a time, %u blocks", f.most, f.most / threads);
    free(visits);
    CHECK(cudaFree(d_visits));
    CHECK(cudaFree(d_flight));
}

static void check_shapes(void)
{
    static const unsigned shapes[][6] = {
        {1, 1, 1, 1, 1, 1},    {3000, 1, 1, 1, 1, 1}, {1, 70, 50, 1, 1, 1},
        {100, 1, 1, 33, 1, 1}, {1, 1, 1, 1024, 1, 1}, {5, 1, 1, 1024, 1, 1},
        {9, 1, 1, 256, 1, 1},  {4, 3, 5, 7, 5, 3},    {3, 2, 2, 2, 8, 64},
        {5, 3, 1, 1, 1, 64},   {7, 1, 1, 1, 33, 1},   {64, 1, 1, 64, 1, 1},
    };
    size_t k;
    unsigned turns;

    for (k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        const unsigned *s = shapes[k];
        unsigned threads = s[3] * s[4] * s[5];
        for (turns = 0; turns < 3 && threads <= most; turns++) {
            cpu_interleave(k + 1);
            run_shape(triple(s[0], s[1], s[2]), triple(s[3], s[4], s[5]),
                      most == 1024 ? 0 : shared_for(most / threads), turns);
            expect(cpu_requests ==
                       (unsigned long long)s[0] * s[1] * s[2] * threads * turns,
                   "and %llu requests", cpu_requests);
            cpu_interleave(0);
        }
    }
}

/* --- shared memory and residence --- */

static void check_residence(void)
{
    static const struct {
        unsigned threads, shared;
        int blocks;
    } cases[] = {
        {1, 0, 1024},    {1, 65, 1008},   {33, 0, 31},     {100, 0, 10},
        {256, 0, 4},     {256, 1, 4},     {256, 16384, 4}, {256, 16385, 3},
        {256, 21845, 3}, {256, 21846, 2}, {256, 32768, 2}, {256, 32769, 1},
        {256, 65536, 1}, {512, 0, 2},     {513, 0, 1},     {1024, 0, 1},
        {64, 10000, 6},  {16, 16384, 4},  {16, 21845, 3},  {8, 8192, 8},
        {1, 65536, 1},   {60, 65536, 1},
    };
    size_t k;

    cpu_interleave(9);
    for (k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        int blocks = occupancy(cases[k].threads, cases[k].shared);
        expect(blocks == cases[k].blocks,
               "%u threads, %u bytes of shared memory: %d blocks fit",
               cases[k].threads, cases[k].shared, blocks);
        if (cases[k].threads * (unsigned)cases[k].blocks <= most)
            run_shape(triple(2 * (unsigned)cases[k].blocks + 1, 1, 1),
                      triple(cases[k].threads, 1, 1), cases[k].shared, 1);
    }
    cpu_interleave(0);
}

static void check_refusals(void)
{
    struct flight *d_flight = (struct flight *)allocate(sizeof *d_flight), f;
    unsigned *d_visits = (unsigned *)allocate(4096);
    size_t too_much = (size_t)shared_bytes + 1;
    unsigned long long seed;
    cudaError_t first, second;

    for (seed = 0; seed < 2; seed++) {
        cpu_interleave(seed);
        visit<<<1, 1, too_much>>>(d_visits, d_flight, triple(1, 1, 1),
                                  triple(1, 1, 1), 1);
        first = cudaGetLastError();
        second = cudaGetLastError();
        expect(first == 9 && second == 0,
               "%s, too much shared memory: error %d, then %d",
               seed ? "in turns" : "on the pool", (int)first, (int)second);
        visit<<<1, 1025>>>(d_visits, d_flight, triple(1, 1, 1),
                           triple(1025, 1, 1), 1);
        first = cudaGetLastError();
        visit<<<0, 1>>>(d_visits, d_flight, triple(0, 1, 1), triple(1, 1, 1),
                        1);
        second = cudaGetLastError();
        expect(first == 9 && second == 9,
               "too many threads, no blocks: errors %d and %d", (int)first,
               (int)second);
        CHECK(cudaMemcpy(&f, d_flight, sizeof f, cudaMemcpyDeviceToHost));
        expect(f.most == 0 && f.strange == 0, "nothing ran");
    }
    run_shape(triple(3, 1, 1), triple(4, 1, 1), 0, 1); /* as if nothing were */
    cpu_interleave(0);
    CHECK(cudaFree(d_flight));
    CHECK(cudaFree(d_visits));
}

/* --- launches in a row, the mode on and off --- */

static void check_rows(void)
{
    static const unsigned threads[] = {33, 1, 64, 1024, 256, 7};
    struct storm s = usual_storm(), other;
    struct counts first = run_storm(s), c;
    unsigned k;

    for (k = 0; k < sizeof threads / sizeof threads[0]; k++) {
        if (threads[k] > most)
            continue;
        other = s;
        other.n = 300;
        other.block_threads = threads[k];
        other.resident = most / threads[k] < 4 ? most / threads[k] : 4;
        c = run_storm(other);
        expect(c.low == sum_of(0, other.n) && c.requests == c.tries,
               "then blocks of %u: the sum and the count are right",
               threads[k]);
    }
    c = run_storm(s);
    expect(same_counts(&first, &c), "then the first again: as at first");

    cpu_interleave(s.seed);
    launch_storm(&s);
    launch_storm(&s);
    c = read_counts(&s);
    expect(c.requests == 2 * first.requests && c.digest == first.digest,
           "two launches under one seed: the same counts twice");
    cpu_interleave(0);
    expect(cpu_requests == 0 && cpu_interleaved == 0, "the mode is off");
    s.by_hand = 0;
    launch_storm(&s);
    c = read_counts(&s);
    expect(c.requests == 0 && c.low == first.low,
           "off: no requests are counted, and the sum is right");
    s.by_hand = 1;
    c = run_storm(s);
    expect(same_counts(&first, &c), "on again: as at first");
}

/* --- attributes --- */

static int attribute_is(enum cudaDeviceAttr attribute, int expected)
{
    int value = -1;
    cudaError_t error = cudaDeviceGetAttribute(&value, attribute, 0);

    return error == cudaSuccess && value == expected;
}

static void check_attributes(void)
{
    const void *kernel = (const void *)visit;
    struct cudaDeviceProp prop;
    int value = -1, blocks = -1;
    cudaError_t error;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    expect(attribute_is(cudaDevAttrMultiProcessorCount, 1) &&
               prop.multiProcessorCount == 1,
           "one multiprocessor");
    expect(attribute_is(cudaDevAttrMaxThreadsPerMultiProcessor, 1024) &&
               prop.maxThreadsPerMultiProcessor == 1024,
           "1024 threads on it");
    expect(attribute_is(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 65536),
           "64 KiB of shared memory");
    expect(attribute_is(cudaDevAttrReservedSharedMemoryPerBlock, 0),
           "of which none is reserved");
    expect(attribute_is(cudaDevAttrKernelExecTimeout, 0), "no watchdog");
    error = cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1);
    expect(error == 101 && value == -1 && cudaGetLastError() == 101,
           "no second device: error %d", (int)error);

    for (value = 0; value <= 65536; value += 32768)
        expect(cudaFuncSetAttribute(kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    value) == cudaSuccess,
               "a kernel may take %d bytes of shared memory", value);
    error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65537);
    expect(error == 1 && cudaGetLastError() == 1, "65537 are too many: %d",
           (int)error);
    error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -1);
    expect(error == 1 && cudaGetLastError() == 1, "-1 is no size: %d",
           (int)error);
    for (value = -1; value <= 100; value += 101)
        expect(cudaFuncSetAttribute(
                   kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                   value) == cudaSuccess,
               "a carveout of %d", value);

    for (value = 0; value <= 1025; value += 1025) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel,
                                                              value, 0);
        expect(error == 1 && blocks == -1 && cudaGetLastError() == 1,
               "the occupancy of blocks of %d threads: error %d", value,
               (int)error);
    }
    expect(occupancy(1, 65537) == 0, "65537 bytes of shared memory: no block");
    expect(cudaGetLastError() == cudaSuccess, "and no error");
}

/* --- the model, number by number --- */

/* Each thread adds to the counter twice and notes which adds were its own. */
static __global__ void note_order(unsigned *counter, unsigned *order,
                                  unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    order[atomicAdd(counter, 1u)] = i;
    order[atomicAdd(counter, 1u)] = i;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

static void print_numbers(const char *what, char **argv)
{
    struct storm s = {1, 0, 0, 0, 0, 0, 0};
    unsigned *d_order, i;

    s.seed = number(argv[0]);
    s.block_threads = number(argv[1]);
    s.resident = number(argv[2]);
    s.n = number(argv[3]);
    if (strcmp(what, "tries") == 0) {
        run_storm(s);
        for (i = 0; i < s.n; i++)
            printf("%u\n", tries[i]);
        return;
    }
    d_order = (unsigned *)allocate((2 * s.n + 1) * sizeof *d_order);
    cpu_interleave(s.seed);
    note_order<<<(s.n + s.block_threads - 1) / s.block_threads, s.block_threads,
                 shared_for(s.resident)>>>(d_order, d_order + 1, s.n);
    CHECK(cudaDeviceSynchronize());
    for (i = 1; i <= 2 * s.n; i++) /* device memory is the host's here */
        printf("%u\n", d_order[i]);
}

int main(int argc, char **argv)
{
    CHECK(cudaDeviceGetAttribute(
        &shared_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    d_cells = (half *)allocate(4);
    d_tries = (unsigned *)allocate(sizeof tries);
    if (argc == 6) {
        print_numbers(argv[1], argv + 2);
        return 0;
    }
    if (argc > 1)
        most = number(argv[1]);
    check_attributes();
    check_seeds();
    check_requests();
    check_frozen();
    check_growth();
    check_shapes();
    check_residence();
    check_refusals();
    check_rows();
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_tries));
    return failures ? EXIT_WRONG : 0;
}
