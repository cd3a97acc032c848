/* Lesson 5, v4_storm: why is lesson 1 three times as slow as lesson 3 on one
 * GPU, and 1.2 times on another, although a try of its loop costs less than
 * lesson 3's add?
 *
 * Answer: its loop has two regimes. While the sum moves, each add that wins
 * makes the others in flight fail and try again: a storm, which grows with the
 * threads in flight. Once the sum is frozen, every try wins at once, and the
 * loop is faster than the real add. The published speedups are a blend of the
 * two, set by n.
 *
 * The account:  v0 = (n + k M R) t_cas,  v2 = n t_add
 *   n      adds                       t_cas  price of a try, ns
 *   M      adds that move the sum     t_add  price of a 4-byte add, ns
 *   R      threads in flight          k      tries that fail for each of the R
 *                                            threads when the sum moves
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson5 \
 *                      lessons/v4_storm/v4_storm.cu
 * With no options it predicts, measures, sweeps n and R, and fits the account.
 * With --n, --start, --addends, --cells, --threads or --neighbour it measures
 * one case. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"
#include "fp16.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { BLOCK_THREADS = 256 };

static const uint16_t PRODUCT = 0x211e; /* lesson 1's addend, 0.00999451 */
static const uint16_t ONE = 0x3c00, MINUS_ONE = 0xbc00;
static const uint16_t FROZEN = 0x5000; /* 32: half a ulp exceeds PRODUCT */

/* --- the kernels: thread i adds once, to cell i % cells --- */

/* Each cell has a 4-byte word to itself. Of the adds to one cell, every second
 * takes `odd`; with neighbour = 1 these go to the other half of the word. */
static __global__ void add_2_bytes(half *cells, unsigned count,
                                   unsigned neighbour, half even, half odd,
                                   unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned turn = i / count & 1;

    if (i < n)
        atomicAdd(cells + 2 * (i % count) + (turn & neighbour),
                  turn ? odd : even);
}

/* The same with lesson 4's loop, which counts its tries. */
static __global__ void add_counted(half *cells, unsigned count,
                                   unsigned neighbour, half even, half odd,
                                   unsigned n, unsigned *tries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned turn = i / count & 1, shift = turn & neighbour ? 16 : 0;
    unsigned *word = (unsigned *)cells + i % count;
    unsigned old, seen, used = 0;

    if (i >= n)
        return;
    old = *word;
    do {
        half sum = __hadd_rn(__ushort_as_half((unsigned short)(old >> shift)),
                             turn ? odd : even);
        unsigned rest = old & ~(0xffffu << shift);
        seen = old;
        old = atomicCAS(word, seen,
                        rest | (unsigned)__half_as_ushort(sum) << shift);
        used++;
    } while (old != seen);
    tries[i] = used;
}

/* The hardware's add. */
static __global__ void add_4_bytes(half2 *cells, unsigned count, half even,
                                   half odd, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half value = i / count & 1 ? odd : even;

    if (i < n)
        atomicAdd(cells + i % count, __halves2half2(value, value));
}

/* A loop whose word never holds the same value twice. Where a sum goes up and
 * down, a try can win although others came between: the old value is back. */
static __global__ void count_up(unsigned *cells, unsigned count, unsigned n,
                                unsigned *tries)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *word = cells + i % count;
    unsigned old, seen, used = 0;

    if (i >= n)
        return;
    old = *word;
    do {
        seen = old;
        old = atomicCAS(word, seen, seen + 1);
        used++;
    } while (old != seen);
    if (tries)
        tries[i] = used;
}

/* --- one case --- */

enum addends { CONSTANT, ALTERNATE, COUNT };

struct storm {
    int addends;
    uint16_t start; /* what every cell holds at first */
    long long n, cells;
    long long neighbour; /* 1: every second add goes to the word's other half */
    long long blocks;    /* on each multiprocessor at a time; 0: all that fit */
};

struct outcome {
    struct timing two, four; /* lesson 1's add and lesson 3's */
    double tries;            /* an add, by lesson 4's loop */
    long long in_flight;     /* threads */
    int ok;
};

/* The device, as far as the storm knows it. */
static struct {
    int multiprocessors, blocks_each; /* of BLOCK_THREADS threads */
    int shared_bytes;                 /* of one multiprocessor */
    int reserved_bytes;               /* of these, what a block takes unasked */
    int has_watchdog;
} device;

enum { MOST_COUNTED = 1 << 25 }; /* adds; each has its own counter */

static void *d_cells;
static unsigned *d_tries; /* MOST_COUNTED of them */

static const void *const kernels[] = {
    (const void *)add_2_bytes,
    (const void *)add_counted,
    (const void *)add_4_bytes,
    (const void *)count_up,
};

/* Dynamic shared memory that nobody uses, so large that only `blocks` blocks
 * fit on a multiprocessor. */
static size_t shared_bytes_for(long long blocks)
{
    size_t each;

    if (blocks == 0 || blocks >= device.blocks_each)
        return 0;
    each = (size_t)device.shared_bytes / (size_t)blocks -
           (size_t)device.reserved_bytes;
    return each / 128 * 128;
}

/* How many threads are in flight when `blocks` blocks may be on each
 * multiprocessor. Tells the driver about the shared memory, too. */
static long long limit_threads(long long blocks)
{
    size_t shared = shared_bytes_for(blocks), k;
    int resident = 0;

    for (k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        CHECK(cudaFuncSetAttribute(kernels[k],
                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)shared));
        CHECK(cudaFuncSetAttribute(
            kernels[k], cudaFuncAttributePreferredSharedMemoryCarveout,
            blocks ? 100 : -1));
    }
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernels[0],
                                                        BLOCK_THREADS, shared));
    return (long long)resident * device.multiprocessors * BLOCK_THREADS;
}

static half half_of(uint16_t bits)
{
    return __float2half_rn(fp16_to_float(bits));
}

/* bytes: 2 or 4; 0 is the 2-byte add, counted. */
static void launch(const struct storm *s, int bytes)
{
    unsigned n = (unsigned)s->n, cells = (unsigned)s->cells;
    unsigned blocks = blocks_for(s->n, BLOCK_THREADS);
    unsigned neighbour = (unsigned)s->neighbour;
    size_t shared = shared_bytes_for(s->blocks);
    int alternate = s->addends == ALTERNATE;
    half even = half_of(alternate ? ONE : PRODUCT);
    half odd = half_of(alternate ? MINUS_ONE : PRODUCT);

    if (bytes == 4)
        add_4_bytes<<<blocks, BLOCK_THREADS, shared>>>((half2 *)d_cells, cells,
                                                       even, odd, n);
    else if (s->addends == COUNT)
        count_up<<<blocks, BLOCK_THREADS, shared>>>(
            (unsigned *)d_cells, cells, n, bytes == 2 ? NULL : d_tries);
    else if (bytes == 2)
        add_2_bytes<<<blocks, BLOCK_THREADS, shared>>>((half *)d_cells, cells,
                                                       neighbour, even, odd, n);
    else
        add_counted<<<blocks, BLOCK_THREADS, shared>>>(
            (half *)d_cells, cells, neighbour, even, odd, n, d_tries);
    CHECK(cudaGetLastError());
}

/* Adds PRODUCT `adds` times in half. *moving: how many of these move the sum.
 */
static uint16_t add_in_half(uint16_t sum, long long adds, long long *moving)
{
    for (*moving = 0; *moving < adds; ++*moving) {
        if (fp16_add(sum, PRODUCT) == sum)
            break;
        sum = fp16_add(sum, PRODUCT);
    }
    return sum;
}

/* How many adds go to a cell: i = cell, cell + cells … below n. */
static long long adds_to(const struct storm *s, long long cell)
{
    return cell < s->n ? (s->n - cell - 1) / s->cells + 1 : 0;
}

/* Whether both halves of `word` are what so many adds make. All addends of one
 * case are equal, so their order does not matter. But +1 and -1 in any order
 * keep a sum of integers between -2048 and 2048, or within 2 of a larger start:
 * beyond 2048, 1 is at most half a ulp, which rounds to the even one of two
 * neighbours and then stays. So much can be said of it, and no more. */
static int word_is_right(const struct storm *s, const uint16_t *word,
                         long long adds, int bytes)
{
    uint16_t start = s->addends == COUNT ? 0 : s->start;
    long long beside = bytes == 4 ? adds : s->neighbour ? adds / 2 : 0;
    long long here = bytes == 2 ? adds - beside : adds, moving;
    double sum = fp16_to_double(word[0]);
    unsigned count;

    memcpy(&count, word, sizeof count);
    if (s->addends == ALTERNATE)
        return fabs(sum) <= fmax(2048, fp16_to_double(start) + 2) &&
               sum == floor(sum);
    if (s->addends == COUNT && bytes == 2)
        return count == (unsigned)adds;
    return word[0] == add_in_half(start, here, &moving) &&
           word[1] == add_in_half(0, beside, &moving);
}

static int sums_are_right(const struct storm *s, int bytes)
{
    size_t size = 2 * sizeof(uint16_t) * (size_t)s->cells;
    uint16_t *words = (uint16_t *)malloc(size);
    long long cell;
    int ok = words != NULL;

    if (ok)
        CHECK(cudaMemcpy(words, d_cells, size, cudaMemcpyDeviceToHost));
    for (cell = 0; ok && cell < s->cells; cell++)
        ok = word_is_right(s, words + 2 * cell, adds_to(s, cell), bytes);
    free(words);
    return ok;
}

static void set_cells(const struct storm *s)
{
    enum { CHUNK = 4096 };
    uint16_t words[2 * CHUNK];
    long long i;

    for (i = 0; i < CHUNK; i++) {
        words[2 * i] = s->addends == COUNT ? 0 : s->start;
        words[2 * i + 1] = 0;
    }
    for (i = 0; i < s->cells; i += CHUNK) {
        size_t count =
            s->cells - i < CHUNK ? (size_t)(s->cells - i) : (size_t)CHUNK;
        CHECK(cudaMemcpy((char *)d_cells + 4 * i, words, 4 * count,
                         cudaMemcpyHostToDevice));
    }
}

static double mean_tries(const struct storm *s)
{
    unsigned *tries = (unsigned *)malloc((size_t)s->n * sizeof *tries);
    double sum = 0;
    long long i;

    if (!tries) {
        fprintf(stderr, "%s: out of memory; try a smaller --n\n",
                lesson.program);
        exit(EXIT_DEVICE);
    }
    set_cells(s);
    launch(s, 0);
    CHECK(cudaMemcpy(tries, d_tries, (size_t)s->n * sizeof *tries,
                     cudaMemcpyDeviceToHost));
    for (i = 0; i < s->n; i++)
        sum += tries[i];
    free(tries);
    return sum / (double)s->n;
}

/* --- measuring one case, within a time limit --- */

enum { TOTAL_LIMIT_MS = 19000, LAUNCH_LIMIT_MS = 3000, WATCHDOG_MS = 500 };

static double elapsed_ms(void)
{
    static struct timespec began;
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    if (began.tv_sec == 0)
        began = now;
    return (double)(now.tv_sec - began.tv_sec) * 1e3 +
           (double)(now.tv_nsec - began.tv_nsec) * 1e-6;
}

/* How long the 2-byte launch may take: by the account, with 1 ns a try and the
 * largest k. Where the sum never freezes, the time grows at most with the
 * square of n, from the row before where there is one. */
static double bound_ms(const struct storm *s, long long before_n,
                       double before_ms)
{
    double in_flight =
        (double)device.blocks_each * device.multiprocessors * BLOCK_THREADS;
    double n = (double)s->n, threads = n < in_flight ? n : in_flight;
    long long moving;

    if (s->addends != CONSTANT && before_n > 0)
        return before_ms * (n / (double)before_n) * (n / (double)before_n);
    if (s->addends != CONSTANT)
        return 0.43 * n * threads / (double)s->cells * 1e-6;
    add_in_half(s->start, adds_to(s, 0), &moving);
    return (n + 0.43 * (double)moving * threads) * 1e-6;
}

/* Whether `runs` launches of at most that long may still be made. */
static int is_affordable(double limit_ms, int runs)
{
    return limit_ms <= LAUNCH_LIMIT_MS &&
           !(device.has_watchdog && limit_ms > WATCHDOG_MS) &&
           elapsed_ms() + limit_ms * runs <= TOTAL_LIMIT_MS;
}

static void run_timed(const struct storm *s, int bytes, struct timing *t)
{
    set_cells(s);
    timing_begin(t);
    launch(s, bytes);
    timing_end(t);
}

/* Measures one case; in the model, only its tries. Returns 0 and does nothing
 * where it would take too long. */
static int measure(const struct storm *s, double limit_ms, struct outcome *o)
{
    int runs = lesson.emulated ? 1 : lesson.runs, run;
    int long_runs = limit_ms > 20 && runs > 3 ? 3 : runs;

    o->ok = 1;
    o->in_flight = limit_threads(s->blocks);
    if (o->in_flight > s->n)
        o->in_flight = s->n;
    if (!lesson.emulated && !is_affordable(limit_ms, long_runs + 1))
        return 0;
    timing_create(&o->two, 1, lesson.runs);
    timing_create(&o->four, 1, lesson.runs);
    for (run = 0; run < runs; run++) {
        show_progress(run, runs);
        if (run < long_runs) {
            run_timed(s, 2, &o->two);
            o->ok &= sums_are_right(s, 2);
        }
        if (run < long_runs || s->n <= 1 << 22) {
            run_timed(s, 4, &o->four);
            o->ok &= sums_are_right(s, 4);
        }
    }
    show_progress(run, runs);
    o->tries = 0;
    if (s->n <= MOST_COUNTED) {
        o->tries = mean_tries(s);
        o->ok &= sums_are_right(s, 2);
    }
    timing_destroy(&o->two);
    timing_destroy(&o->four);
    return 1;
}

/* --- the report --- */

/* A table begins: what the sums start from and what is added. */
static void report_table(const char *label, const char *title)
{
    report(label, "%s", title);
    if (lesson.emulated)
        report("", "%10s %10s %14s", "adds", "in flight", "tries an add");
    else
        report("", "%10s %10s %12s %12s %9s %14s", "adds", "in flight",
               "2 bytes ms", "4 bytes ms", "2B/4B", "tries an add");
}

static void format_n(char *text, size_t size, long long n)
{
    int power = 0;

    while (1LL << power < n)
        power++;
    if (1LL << power == n)
        snprintf(text, size, "2^%d", power);
    else
        snprintf(text, size, "%lld", n);
}

static void report_row(const struct storm *s, const char *name,
                       const struct outcome *o)
{
    double start = fp16_to_double(s->start);
    char n[24], tries[24] = "-", variant[48];

    format_n(n, sizeof n, s->n);
    if (o->tries > 0)
        snprintf(tries, sizeof tries, "%.2f", o->tries);
    if (lesson.emulated)
        report("", "%10s %10lld %14s%s", n, o->in_flight, tries,
               o->ok ? "" : "   WRONG");
    else
        report("", "%10s %10lld %12.4g %12.4g %9.3g %14s%s", n, o->in_flight,
               timing_min_ms(&o->two), timing_min_ms(&o->four),
               timing_min_ms(&o->two) / timing_min_ms(&o->four), tries,
               o->ok ? "" : "   WRONG");
    snprintf(variant, sizeof variant, "%s_2B", name);
    csv_sweep(variant, start, s->cells, o->in_flight, s->n, &o->two, o->tries);
    snprintf(variant, sizeof variant, "%s_4B", name);
    csv_sweep(variant, start, s->cells, o->in_flight, s->n, &o->four, 0);
}

/* Measures and reports one case. *all_ok &= its sum is right. Returns 0 where
 * it was left out for its time, which it says. */
static int run_case(const struct storm *s, const char *name, double limit_ms,
                    struct outcome *o, int *all_ok)
{
    char n[24];
    int done = measure(s, limit_ms, o);

    format_n(n, sizeof n, s->n);
    if (done)
        report_row(s, name, o);
    else
        report("", "%10s %10lld left out: up to %.0f ms a launch", n,
               o->in_flight, limit_ms);
    *all_ok &= o->ok;
    return done;
}

/* Rows for n = first, 4 first, … last; their outcomes go to o[0], o[1] …
 * Returns how many there are. */
static int sweep(struct storm s, const char *name, long long first,
                 long long last, struct outcome *o, int *all_ok)
{
    double before_ms = 0;
    long long before_n = 0;
    int count = 0;

    for (s.n = first; s.n <= last; s.n *= 4) {
        if (!run_case(&s, name, bound_ms(&s, before_n, before_ms), &o[count],
                      all_ok))
            break;
        before_n = s.n;
        before_ms = timing_min_ms(&o[count++].two);
    }
    return count;
}

/* --- the account --- */

/* k and the prices, published (results/): k as measured on two H200s and with
 * fewer threads in flight; t_add as measured on three GPUs. */
static const double K = 0.31, K_LEAST = 0.16, K_MOST = 0.43;
static const double T_ADD = 1.756, T_ADD_LEAST = 1.18, T_ADD_MOST = 4.08;
static const double T_ADD_OVER_T_CAS = 2.375;

enum { CASE_N = 1 << 25 }; /* the sources' test case */

/* v0/v2 = (n + k M R) t_cas / (n t_add) */
static double ratio_of(double k, double n, double moving, double in_flight)
{
    double threads = n < in_flight ? n : in_flight;

    return (1 + k * moving * threads / n) / T_ADD_OVER_T_CAS;
}

static void report_prediction(double moving)
{
    double r = (double)limit_threads(0), n = CASE_N;
    double ratio = ratio_of(K, n, moving, r);

    report("predicted",
           "v0/v2 = %.2f (%.2f to %.2f) for 2^25 adds from 0, "
           "with %.0f threads in flight",
           ratio, ratio_of(K_LEAST, n, moving, r),
           ratio_of(K_MOST, n, moving, r), r);
    report("", "v2 %.1f ms (%.1f to %.1f), v0 %.1f ms (%.1f to %.1f)",
           n * T_ADD * 1e-6, n * T_ADD_LEAST * 1e-6, n * T_ADD_MOST * 1e-6,
           n * T_ADD * 1e-6 * ratio,
           n * T_ADD_LEAST * 1e-6 * ratio_of(K_LEAST, n, moving, r),
           n * T_ADD_MOST * 1e-6 * ratio_of(K_MOST, n, moving, r));
    report("", "the 2-byte version overtakes from n = %.2g (%.2g to %.2g)",
           K * moving * r / (T_ADD_OVER_T_CAS - 1),
           K_LEAST * moving * r / (T_ADD_OVER_T_CAS - 1),
           K_MOST * moving * r / (T_ADD_OVER_T_CAS - 1));
}

struct account {
    double t_cas, t_add, k; /* ns, ns, 1 */
    double moving, in_flight;
};

static double predict_ms(const struct account *a, double n)
{
    double threads = n < a->in_flight ? n : a->in_flight;

    return (n + a->k * a->moving * threads) * a->t_cas * 1e-6;
}

static void report_predicted(const struct account *a, double n, double ms)
{
    report("", "n = %.4g: v0 predicted %.1f ms, measured %.1f ms (%+.1f%%)", n,
           predict_ms(a, n), ms, 100 * (predict_ms(a, n) / ms - 1));
}

/* The prices from a frozen row, k from a moving one: neither of them is the
 * test case that is then predicted. */
static struct account fit(const struct outcome *frozen,
                          const struct outcome *moving_row, double n,
                          double moving)
{
    struct account a;
    double tries;

    a.t_cas = timing_min_ms(&frozen->two) * 1e6 / n;
    a.t_add = timing_min_ms(&frozen->four) * 1e6 / n;
    a.moving = moving;
    a.in_flight = (double)moving_row->in_flight;
    tries = timing_min_ms(&moving_row->two) * 1e6 / a.t_cas;
    a.k = (tries - n) / (moving * a.in_flight);
    report("account",
           "t_cas %.3f ns and t_add %.3f ns (frozen, n = %.0f), "
           "t_add/t_cas %.3f",
           a.t_cas, a.t_add, n, a.t_add / a.t_cas);
    report("", "k = %.3f (from 0, n = %.0f)", a.k, n);
    return a;
}

/* --- everything, or one case --- */

enum { MAX_ROWS = 12, FIT_ROW = 5 }; /* row 5 of a sweep from 2^12: 2^22 */

static const struct storm test_case = {CONSTANT, 0, CASE_N, 1, 0, 0};

/* The account is fitted to the rows for 2^22 adds and then predicts the test
 * case and the last row, which it has not seen. */
static void report_account(const struct outcome *zero, int zeros,
                           const struct outcome *frozen, int frozens,
                           const struct outcome *of_case)
{
    struct account a;
    long long moving;
    double n = 1 << 22;

    add_in_half(0, CASE_N, &moving);
    if (zeros <= FIT_ROW || frozens <= FIT_ROW)
        return;
    a = fit(&frozen[FIT_ROW], &zero[FIT_ROW], n, (double)moving);
    report_predicted(&a, CASE_N, timing_min_ms(&of_case->two));
    if (zeros > FIT_ROW + 3)
        report_predicted(&a, 1 << 28, timing_min_ms(&zero[FIT_ROW + 3].two));
    report("", "v0 overtakes v2 from n = %.3g",
           a.k * a.moving * a.in_flight * a.t_cas / (a.t_add - a.t_cas));
}

/* In the model k is a count: the tries that failed, for each thread in flight
 * and each add that moved the sum. */
static void report_model(const struct outcome *last, double n)
{
    long long moving;

    add_in_half(0, CASE_N, &moving);
    report("account", "k = %.2f, from (tries - 1) n / (M R)",
           (last->tries - 1) * n / ((double)moving * (double)last->in_flight));
    report("", "a model of one queue: these are counts, and no GPU's times");
}

static int run_everything(void)
{
    static struct outcome zero[MAX_ROWS], frozen[MAX_ROWS], of_case, row;
    struct storm s = test_case;
    long long first = lesson.emulated ? 1 << 8 : 1 << 12, moving;
    long long last = lesson.emulated ? 1 << 14 : 1 << 28;
    long long last_frozen = lesson.emulated ? 1 << 14 : 1 << 24;
    long long last_endless = lesson.emulated ? 1 << 12 : 1 << 18;
    int ok = 1, zeros, frozens;

    add_in_half(0, CASE_N, &moving);
    if (!lesson.emulated)
        report_prediction((double)moving);
    report_table("moving", "0.00999451 to a sum from 0: 2798 adds move it");
    zeros = sweep(s, "moving", first, last, zero, &ok);
    if (!lesson.emulated)
        run_case(&s, "moving", bound_ms(&s, 0, 0), &of_case, &ok);
    s.start = FROZEN;
    report_table("frozen", "0.00999451 to a sum of 32: no add moves it");
    frozens = sweep(s, "frozen", first, last_frozen, frozen, &ok);
    if (lesson.emulated)
        report_model(&zero[zeros - 1], (double)last);
    else
        report_account(zero, zeros, frozen, frozens, &of_case);

    s = test_case;
    s.n = lesson.emulated ? last : test_case.n;
    report_table("threads", "from 0 again, with fewer threads in flight");
    for (s.blocks = 1; s.blocks <= device.blocks_each; s.blocks++)
        run_case(&s, "threads", bound_ms(&s, 0, 0), &row, &ok);
    s.blocks = 0;
    s.addends = ALTERNATE;
    report_table("alternate", "+1 and -1 in turn: it never freezes");
    sweep(s, "alternate", first, last_endless, zero, &ok);
    s.addends = COUNT;
    report_table("count", "a count by compare-and-swap: it never repeats");
    sweep(s, "count", first, last_endless, zero, &ok);
    return ok;
}

static int run_one(struct storm s, long long threads)
{
    static const char *const names[] = {"constant", "alternate", "count"};
    static struct outcome row;
    int ok = 1;

    if (threads > 0) {
        long long each = (long long)device.multiprocessors * BLOCK_THREADS;
        s.blocks = threads < each ? 1 : threads / each;
    }
    report_table("case", names[s.addends]);
    run_case(&s, names[s.addends], bound_ms(&s, 0, 0), &row, &ok);
    return ok;
}

static void find_device(void)
{
    device.multiprocessors = attribute_of(cudaDevAttrMultiProcessorCount);
    device.shared_bytes =
        attribute_of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    device.reserved_bytes =
        attribute_of(cudaDevAttrReservedSharedMemoryPerBlock);
    device.has_watchdog = attribute_of(cudaDevAttrKernelExecTimeout);
    device.blocks_each =
        attribute_of(cudaDevAttrMaxThreadsPerMultiProcessor) / BLOCK_THREADS;
}

int main(int argc, char **argv)
{
    long long n = 0, start = -1, addends = -1, cells = 0, threads = 0;
    long long neighbour = 0, seed = 1, cell_bytes;
    const struct lesson_option options[] = {
        {"--n", NULL, &n, 1, 1LL << 28, "adds (one case: default 2^12)"},
        {"--start", NULL, &start, 0, 65504, "what each cell holds at first"},
        {"--addends", "constant|alternate|count", &addends, 0, 0,
         "0.00999451; +1 and -1 in turn; a count that never repeats"},
        {"--cells", NULL, &cells, 1, 1 << 24, "how many cells (default 1)"},
        {"--threads", NULL, &threads, 1, 1LL << 31,
         "threads in flight, in whole blocks (default: all that fit)"},
        {"--neighbour", "", &neighbour, 0, 0,
         "every second add goes to the other half of the word, from 0"},
        {"--seed", NULL, &seed, 1, 1000000, "of the emulation (default 1)"},
    };
    struct storm s = test_case;
    int one_case, ok;

    lesson_begin(5, "v4_storm", "keep the sum moving, or let it freeze", argc,
                 argv, options, 7);
    one_case = n || start >= 0 || addends >= 0 || cells || threads || neighbour;
    s.n = n ? n : 1 << 12;
    s.start = fp16_from_double(start > 0 ? (double)start : 0);
    s.addends = addends > 0 ? (int)addends : CONSTANT;
    s.cells = cells ? cells : 1;
    s.neighbour = neighbour;
    report_device();
    model_contention((unsigned long long)seed);
    find_device();
    cell_bytes = 4 * s.cells;
    require_memory((unsigned long long)cell_bytes +
                   (MOST_COUNTED * sizeof *d_tries));
    CHECK(cudaMalloc(&d_cells, (size_t)cell_bytes));
    CHECK(cudaMalloc((void **)&d_tries, MOST_COUNTED * sizeof *d_tries));
    elapsed_ms();
    ok = one_case ? run_one(s, threads) : run_everything();
    report("result", "%s", ok ? "all sums as expected: ok" : "WRONG");
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_tries));
    return ok ? 0 : EXIT_WRONG;
}
