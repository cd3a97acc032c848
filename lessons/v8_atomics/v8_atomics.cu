/* Lesson 9, v8_atomics: which atomics are there, do they do what they should,
 * and which of them are one instruction?
 *
 * Answer: the guide's nine functions on six types are 26 pairs. In global
 * memory all but one are a single instruction. In shared memory seven are
 * loops, among them each add to a float, a double or a 64-bit integer.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o lesson9 \
 *                      lessons/v8_atomics/v8_atomics.cu
 * It runs every function on every type, in global and in shared memory, on
 * examples and with many threads at one cell, and holds each old value and each
 * result against the definition. Then come four things that are built from
 * them: a counter, a counter that wraps, a lock, and an add to a double. On a
 * GPU it times adds last. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <float.h>

#include "device.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum {
    BLOCKS = 4,
    BLOCK_THREADS = 256,
    THREADS = BLOCKS * BLOCK_THREADS, /* that meet at one cell */
    EDGES = 8,                        /* values that examples are made of */
    EXAMPLES = EDGES * EDGES,
    LIMIT = 100, /* what Inc and Dec wrap at */
    ROUNDS = 10  /* that a wrapping counter makes */
};

typedef unsigned short u16;
typedef unsigned long long u64; /* the bits of a value of any type */

static const u64 FILLER = 0xa5a5a5a5a5a5a5a5; /* beside a short cell */

/* --- every function on every type: the kernels --- */

enum op { ADD, SUB, EXCH, INC, DEC, CAS, AND, OR, XOR, OPS };
enum type { INT, U32, U64, F32, F64, U16, TYPES };

/* What the threads of a launch read and leave. A value takes the first bytes of
 * its u64. */
typedef struct trial {
    u64 start[THREADS];                   /* what the cells hold first */
    u64 value[THREADS], compare[THREADS]; /* the arguments */
    u64 cells[THREADS], shared_cells[THREADS];
    u64 old[THREADS], shared_old[THREADS]; /* what the calls returned */
    unsigned stride;                       /* 1: a cell for each thread; 0: one
                                              for all, one a block if shared */
} trial;

/* Each thread makes the call once in global and once in shared memory. Threads
 * of all blocks take turns in k, so that neighbours in k come from different
 * blocks. The two calls are written apart: through one pointer for both, the
 * compiler could not tell which memory it points to. */
#define TRY_WITH(type, call, compare_argument)                                 \
    do {                                                                       \
        __shared__ type shared_cells[BLOCK_THREADS];                           \
        unsigned i = threadIdx.x, at = blockIdx.x * blockDim.x + i;            \
        unsigned k = i * gridDim.x + blockIdx.x;                               \
        shared_cells[i] = *(type *)&t->start[i];                               \
        __syncthreads();                                                       \
        {                                                                      \
            type *p = (type *)&t->cells[k * t->stride];                        \
            type v = *(type *)&t->value[k];                                    \
            compare_argument(type, k);                                         \
            *(type *)&t->old[k] = call;                                        \
        }                                                                      \
        {                                                                      \
            type *p = &shared_cells[i * t->stride];                            \
            type v = *(type *)&t->value[i];                                    \
            compare_argument(type, i);                                         \
            *(type *)&t->shared_old[at] = call;                                \
        }                                                                      \
        __syncthreads();                                                       \
        *(type *)&t->shared_cells[at] = shared_cells[i];                       \
    } while (0)
#define NO_COMPARE(type, k) (void)0
#define COMPARE(type, k) type c = *(type *)&t->compare[k]
#define TRY(type, call) TRY_WITH(type, call, NO_COMPARE)
#define TRY_CAS(type) TRY_WITH(type, atomicCAS(p, c, v), COMPARE)

/* clang-format off */
static __global__ void add_int(trial *t) { TRY(int, atomicAdd(p, v)); }
static __global__ void add_u32(trial *t) { TRY(unsigned, atomicAdd(p, v)); }
static __global__ void add_u64(trial *t) { TRY(u64, atomicAdd(p, v)); }
static __global__ void add_f32(trial *t) { TRY(float, atomicAdd(p, v)); }
static __global__ void add_f64(trial *t) { TRY(double, atomicAdd(p, v)); }
static __global__ void sub_int(trial *t) { TRY(int, atomicSub(p, v)); }
static __global__ void sub_u32(trial *t) { TRY(unsigned, atomicSub(p, v)); }
static __global__ void exch_int(trial *t) { TRY(int, atomicExch(p, v)); }
static __global__ void exch_u32(trial *t) { TRY(unsigned, atomicExch(p, v)); }
static __global__ void exch_u64(trial *t) { TRY(u64, atomicExch(p, v)); }
static __global__ void exch_f32(trial *t) { TRY(float, atomicExch(p, v)); }
static __global__ void inc_u32(trial *t) { TRY(unsigned, atomicInc(p, v)); }
static __global__ void dec_u32(trial *t) { TRY(unsigned, atomicDec(p, v)); }
static __global__ void cas_int(trial *t) { TRY_CAS(int); }
static __global__ void cas_u32(trial *t) { TRY_CAS(unsigned); }
static __global__ void cas_u64(trial *t) { TRY_CAS(u64); }
static __global__ void cas_u16(trial *t) { TRY_CAS(u16); }
static __global__ void and_int(trial *t) { TRY(int, atomicAnd(p, v)); }
static __global__ void and_u32(trial *t) { TRY(unsigned, atomicAnd(p, v)); }
static __global__ void and_u64(trial *t) { TRY(u64, atomicAnd(p, v)); }
static __global__ void or_int(trial *t) { TRY(int, atomicOr(p, v)); }
static __global__ void or_u32(trial *t) { TRY(unsigned, atomicOr(p, v)); }
static __global__ void or_u64(trial *t) { TRY(u64, atomicOr(p, v)); }
static __global__ void xor_int(trial *t) { TRY(int, atomicXor(p, v)); }
static __global__ void xor_u32(trial *t) { TRY(unsigned, atomicXor(p, v)); }
static __global__ void xor_u64(trial *t) { TRY(u64, atomicXor(p, v)); }

static void launch(int op, int type, unsigned b, unsigned n, trial *d_t)
{
    switch (op * TYPES + type) {
    case ADD * TYPES + INT: add_int<<<b, n>>>(d_t); break;
    case ADD * TYPES + U32: add_u32<<<b, n>>>(d_t); break;
    case ADD * TYPES + U64: add_u64<<<b, n>>>(d_t); break;
    case ADD * TYPES + F32: add_f32<<<b, n>>>(d_t); break;
    case ADD * TYPES + F64: add_f64<<<b, n>>>(d_t); break;
    case SUB * TYPES + INT: sub_int<<<b, n>>>(d_t); break;
    case SUB * TYPES + U32: sub_u32<<<b, n>>>(d_t); break;
    case EXCH * TYPES + INT: exch_int<<<b, n>>>(d_t); break;
    case EXCH * TYPES + U32: exch_u32<<<b, n>>>(d_t); break;
    case EXCH * TYPES + U64: exch_u64<<<b, n>>>(d_t); break;
    case EXCH * TYPES + F32: exch_f32<<<b, n>>>(d_t); break;
    case INC * TYPES + U32: inc_u32<<<b, n>>>(d_t); break;
    case DEC * TYPES + U32: dec_u32<<<b, n>>>(d_t); break;
    case CAS * TYPES + INT: cas_int<<<b, n>>>(d_t); break;
    case CAS * TYPES + U32: cas_u32<<<b, n>>>(d_t); break;
    case CAS * TYPES + U64: cas_u64<<<b, n>>>(d_t); break;
    case CAS * TYPES + U16: cas_u16<<<b, n>>>(d_t); break;
    case AND * TYPES + INT: and_int<<<b, n>>>(d_t); break;
    case AND * TYPES + U32: and_u32<<<b, n>>>(d_t); break;
    case AND * TYPES + U64: and_u64<<<b, n>>>(d_t); break;
    case OR * TYPES + INT: or_int<<<b, n>>>(d_t); break;
    case OR * TYPES + U32: or_u32<<<b, n>>>(d_t); break;
    case OR * TYPES + U64: or_u64<<<b, n>>>(d_t); break;
    case XOR * TYPES + INT: xor_int<<<b, n>>>(d_t); break;
    case XOR * TYPES + U32: xor_u32<<<b, n>>>(d_t); break;
    case XOR * TYPES + U64: xor_u64<<<b, n>>>(d_t); break;
    default: return;
    }
    CHECK(cudaGetLastError());
}
/* clang-format on */

static const char *const op_names[OPS] = {
    "atomicAdd", "atomicSub", "atomicExch", "atomicInc", "atomicDec",
    "atomicCAS", "atomicAnd", "atomicOr",   "atomicXor"};
static const char *const type_names[TYPES] = {"int",   "unsigned", "ulonglong",
                                              "float", "double",   "ushort"};

/* How each is built, in global/shared memory: 1 is one instruction, L a loop
 * around a compare-and-swap; NULL: there is no such function. Read off SASS
 * (results/sass/lesson9.sm_90.txt); sm_75 to sm_120 are alike in this. */
static const char *const built[OPS][TYPES] = {
    /*         int    unsig. u64    float  double ushort */
    /* Add  */ {"1/1", "1/1", "1/L", "1/L", "1/L", NULL},
    /* Sub  */ {"1/1", "1/1", NULL, NULL, NULL, NULL},
    /* Exch */ {"1/1", "1/1", "1/1", "1/1", NULL, NULL},
    /* Inc  */ {NULL, "1/1", NULL, NULL, NULL, NULL},
    /* Dec  */ {NULL, "1/1", NULL, NULL, NULL, NULL},
    /* CAS  */ {"1/1", "1/1", "1/1", NULL, NULL, "L/L"},
    /* And  */ {"1/1", "1/1", "1/L", NULL, NULL, NULL},
    /* Or   */ {"1/1", "1/1", "1/L", NULL, NULL, NULL},
    /* Xor  */ {"1/1", "1/1", "1/L", NULL, NULL, NULL},
};

/* --- the definitions --- */

static u64 mask_of(int type)
{
    return type == U16                  ? 0xffff
           : type == U64 || type == F64 ? ~0ULL
                                        : 0xffffffff;
}

static u64 bits_of(int type, double x)
{
    float f = (float)x;
    u64 bits = 0;

    if (type == F32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &x, sizeof x);
    return bits;
}

static double value_of(int type, u64 bits)
{
    double x;
    float f;

    memcpy(&x, &bits, sizeof x);
    memcpy(&f, &bits, sizeof f);
    return type == F32 ? (double)f : x;
}

/* What a cell holds after one call, by the definition. A float sum is rounded
 * twice here, first to double, and that is as good as once: 53 bits are more
 * than twice 24, and one. */
static u64 defined(int op, int type, u64 old, u64 v, u64 c)
{
    u64 next = op == ADD    ? old + v
               : op == SUB  ? old - v
               : op == EXCH ? v
               : op == INC  ? (old >= v ? 0 : old + 1)
               : op == DEC  ? (old == 0 || old > v ? v : old - 1)
               : op == CAS  ? (old == c ? v : old)
               : op == AND  ? (old & v)
               : op == OR   ? (old | v)
                            : (old ^ v);

    if (op == ADD && (type == F32 || type == F64))
        return bits_of(type, value_of(type, old) + value_of(type, v));
    return next & mask_of(type);
}

/* Whether there is an order in which `count` calls, one after the other, take a
 * cell from `start` to `end` and return just these old values. A call that left
 * the cell as it was comes first among those that saw the same value. The
 * search is greedy: enough where all calls that see a value lead to the same
 * next one, or to a place of their own, as with set_crowd()'s arguments. */
static int has_an_order(int op, int type, u64 start, const u64 *value,
                        const u64 *compare, const u64 *old, int count, u64 end)
{
    char done[THREADS] = {0};
    int left, i, next;

    for (left = count; left > 0; left--) {
        next = -1;
        for (i = 0; i < count; i++)
            if (!done[i] && old[i] == start) {
                next = i;
                if (defined(op, type, start, value[i], compare[i]) == start)
                    break;
            }
        if (next < 0)
            return 0;
        done[next] = 1;
        start = defined(op, type, start, value[next], compare[next]);
    }
    return start == end;
}

/* --- every function on every type: the checks --- */

/* The values of a type at which something could go wrong. */
static u64 edge(int type, int i)
{
    u64 all = mask_of(type);
    const u64 whole[EDGES] = {0,        1,           LIMIT,   all / 3,
                              all >> 1, all / 2 + 1, all - 1, all};
    const double real[EDGES] = {0,
                                -0.0,
                                1,
                                -1.5,
                                0.1,
                                9007199254740992.0,
                                type == F32 ? FLT_MAX : DBL_MAX,
                                -INFINITY};

    return type == F32 || type == F64 ? bits_of(type, real[i]) : whole[i];
}

/* Each thread has a cell of its own: every edge meets every other. */
static void set_examples(int type, trial *t)
{
    int i;

    t->stride = 1;
    for (i = 0; i < EXAMPLES; i++) {
        t->start[i] = edge(type, i / EDGES);
        t->value[i] = edge(type, i % EDGES);
        t->compare[i] = i % 3 ? t->start[i] : edge(type, i % EDGES);
    }
}

/* All threads meet at one cell, each with an argument that would show if a call
 * was lost or came between the reading and the writing of another. And, Or and
 * Xor: every fourth thread has a bit of its own, while there are bits. CAS: the
 * threads pass the cell round from 0 to 1, 2, 3 and 0. */
static void set_crowd(int op, int type, trial *t)
{
    int k;
    u64 all = mask_of(type), start = op == SUB   ? 1000
                                     : op == AND ? all
                                     : op == XOR ? all / 3
                                                 : 0;

    t->stride = 0;
    for (k = 0; k < THREADS; k++) {
        u64 own = (u64)k + 1, bit = k % 4 ? 0 : k < 256 ? 1ULL << k / 4 : 0;
        t->start[k] = start;
        t->compare[k] = (u64)k % 4;
        t->value[k] = op == ADD || op == SUB   ? 1
                      : op == INC || op == DEC ? (u64)LIMIT
                      : op == CAS              ? own % 4
                      : op == AND              ? all & ~bit
                      : op == OR || op == XOR  ? all & bit
                                               : own;
        if (type == F32 || type == F64)
            t->value[k] = bits_of(type, (double)t->value[k]);
    }
}

static void run_trial(int op, int type, trial *t, trial *d_t)
{
    u64 mask = mask_of(type);
    int i;

    for (i = 0; i < THREADS; i++) {
        t->start[i] = (t->start[i] & mask) | (FILLER & ~mask);
        t->cells[i] = t->start[i];
    }
    CHECK(cudaMemcpy(d_t, t, sizeof *t, cudaMemcpyHostToDevice));
    launch(op, type, t->stride ? 1 : BLOCKS,
           t->stride ? EXAMPLES : BLOCK_THREADS, d_t);
    CHECK(cudaMemcpy(t, d_t, sizeof *t, cudaMemcpyDeviceToHost));
    for (i = 0; i < THREADS; i++) {
        t->start[i] &= mask;
        t->old[i] &= mask;
        t->shared_old[i] &= mask;
        t->shared_cells[i] &= mask;
    }
}

/* Whether the old values and the cells are as defined, in global memory or in
 * shared, where each block has its own; and whether the bytes beside a short
 * cell are as they were. */
static int is_right(int op, int type, int shared, const trial *t)
{
    const u64 *old = shared ? t->shared_old : t->old;
    const u64 *cells = shared ? t->shared_cells : t->cells;
    u64 filler = shared ? 0 : FILLER & ~mask_of(type);
    int count = t->stride ? 1 : shared ? BLOCK_THREADS : THREADS;
    int groups = t->stride ? EXAMPLES : THREADS / count, g, ok = 1;

    for (g = 0; g < groups; g++) {
        int first = t->stride ? g : 0, at = g * count;
        ok &= has_an_order(op, type, t->start[first], t->value + first,
                           t->compare + first, old + at, count,
                           cells[at] ^ filler);
    }
    return ok;
}

/* One function on one type, alone and in a crowd. */
static int check(int op, int type, trial *t, trial *d_t)
{
    int crowd, shared, ok = 1;

    for (crowd = 0; crowd <= 1; crowd++) {
        memset(t, 0, sizeof *t);
        if (crowd)
            set_crowd(op, type, t);
        else
            set_examples(type, t);
        run_trial(op, type, t, d_t);
        for (shared = 0; shared <= 1; shared++)
            if (!is_right(op, type, shared, t)) {
                fprintf(stderr, "%s: %s on %s in %s memory, %s: wrong\n",
                        lesson.program, op_names[op], type_names[type],
                        shared ? "shared" : "global",
                        crowd ? "many threads at one cell" : "alone");
                ok = 0;
            }
    }
    return ok;
}

/* A row of the table: op's, or for OPS the heading. */
static int check_row(int op, trial *t, trial *d_t)
{
    char row[100];
    int length = snprintf(row, sizeof row, "%-11s",
                          op == OPS ? "function" : op_names[op]);
    int type, ok = 1;

    for (type = 0; type < TYPES; type++) {
        const char *text = op == OPS ? type_names[type] : built[op][type];
        if (op != OPS && text && !check(op, type, t, d_t)) {
            text = "WRONG";
            ok = 0;
        }
        length +=
            snprintf(row + length, sizeof row - (size_t)length, "%*s",
                     (int)strlen(type_names[type]) + 2, text ? text : ".");
    }
    report("", "%s", row);
    return ok;
}

/* Checks them all and prints the table. */
static int check_all(trial *t, trial *d_t)
{
    int op, ok = 1;

    report("table",
           "global/shared memory; 1: one instruction, L: a loop around "
           "a compare-and-swap");
    check_row(OPS, t, d_t);
    for (op = 0; op < OPS; op++)
        ok &= check_row(op, t, d_t);
    report("checks",
           "each: %d examples, and %d threads at one cell, in both memories: "
           "%s",
           EXAMPLES, THREADS, ok ? "ok" : "WRONG");
    return ok;
}

/* --- what is built from them --- */

/* A counter: each thread draws a number that no other thread gets, and with it
 * a place in `taken`. */
static __global__ void draw_tickets(unsigned *counter, unsigned *taken)
{
    unsigned ticket = atomicAdd(counter, 1);

    taken[ticket] = blockIdx.x * blockDim.x + threadIdx.x;
}

/* A counter that wraps. atomicInc compares before it counts: it takes the
 * values from 0 to `limit`, limit + 1 in all. */
static __global__ void count_round(unsigned *counter, unsigned limit,
                                   unsigned *seen)
{
    atomicAdd(&seen[atomicInc(counter, limit)], 1);
}

/* More than one atomic could change at once. sums[k] is the sum of the first
 * k + 1 entries. */
struct log {
    unsigned lock, count, sum; /* lock 0: free, 1: taken */
    unsigned entries[THREADS], sums[THREADS];
};

static __device__ void enter(struct log *log, unsigned entry)
{
    log->sum += entry;
    log->entries[log->count] = entry;
    log->sums[log->count] = log->sum;
    log->count++;
}

/* A spin lock. Whoever takes it gives it back in the same turn of the loop. In
 * the form `wait until it is free; enter; give it back`, lanes that run in
 * lockstep meet at the end of the waiting, and the lane that has the lock would
 * wait there for those that want it. The first fence keeps what follows from
 * being read before the lock is taken, the second makes it visible before the
 * lock is free. */
static __global__ void enter_one_by_one(struct log *log)
{
    int entered = 0;

    while (!entered)
        if (atomicCAS(&log->lock, 0, 1) == 0) {
            __threadfence();
            enter(log, blockIdx.x * blockDim.x + threadIdx.x);
            __threadfence();
            atomicExch(&log->lock, 0);
            entered = 1;
        }
}

/* An add to a double for GPUs that have none (before sm_60). It compares bits:
 * a NaN differs from itself, and would be tried for ever. It begins with a
 * guess: a plain read of what others change atomically would be a race, and a
 * wrong guess costs one try. Not called atomicAdd: newer GPUs have that, and
 * two of one name and type do not compile. */
static __device__ double add_double(double *address, double value)
{
    u64 *bits = (u64 *)address;
    union {
        double value;
        u64 bits;
    } old, sum;
    u64 seen;

    old.value = 0;
    do {
        seen = old.bits;
        sum.value = old.value + value;
        old.bits = atomicCAS(bits, seen, sum.bits);
    } while (old.bits != seen);
    return old.value;
}

static __global__ void add_both_ways(double *by_hardware, double *by_cas,
                                     const double *value, unsigned stride)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    atomicAdd(by_hardware + i * stride, value[i]);
    add_double(by_cas + i * stride, value[i]);
}

/* --- and checked --- */

static void *to_device(const void *data, size_t bytes)
{
    void *d_data;

    CHECK(cudaMalloc(&d_data, bytes));
    CHECK(cudaMemcpy(d_data, data, bytes, cudaMemcpyHostToDevice));
    return d_data;
}

/* After a launch: fetches what it left, and frees it on the device. */
static void from_device(void *data, void *d_data, size_t bytes)
{
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(data, d_data, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_data));
}

static int check_counter(void)
{
    unsigned taken[1 + THREADS] = {0}, *d_taken, i; /* the counter is first */
    char drawn[THREADS] = {0};
    int ok;

    d_taken = (unsigned *)to_device(taken, sizeof taken);
    draw_tickets<<<BLOCKS, BLOCK_THREADS>>>(d_taken, d_taken + 1);
    from_device(taken, d_taken, sizeof taken);
    ok = taken[0] == THREADS;
    for (i = 1; i <= THREADS; i++)
        ok &= taken[i] < THREADS && !drawn[taken[i]]++;
    report("counter", "atomicAdd(c, 1): %d threads drew each ticket once: %s",
           THREADS, ok ? "ok" : "WRONG");
    return ok;
}

static int check_round(unsigned limit)
{
    unsigned seen[2 + BLOCK_THREADS] = {0}; /* the counter, then its values */
    unsigned *d_seen = (unsigned *)to_device(seen, sizeof seen), i;
    int ok;

    count_round<<<ROUNDS, limit + 1>>>(d_seen, limit, d_seen + 1);
    from_device(seen, d_seen, sizeof seen);
    ok = seen[0] == 0;
    for (i = 0; i <= BLOCK_THREADS; i++)
        ok &= seen[1 + i] == (i <= limit ? (unsigned)ROUNDS : 0);
    report("wrap",
           "atomicInc(c, %u) takes 0 to %u, a period of %u: %u calls, %d of "
           "each: %s",
           limit, limit, limit + 1, ROUNDS * (limit + 1), ROUNDS,
           ok ? "ok" : "WRONG");
    return ok;
}

static int check_lock(void)
{
    static struct log log;
    struct log *d_log = (struct log *)to_device(&log, sizeof log);
    char entered[THREADS] = {0};
    unsigned sum = 0, i;
    int ok;

    enter_one_by_one<<<BLOCKS, BLOCK_THREADS>>>(d_log);
    from_device(&log, d_log, sizeof log);
    ok = log.lock == 0 && log.count == THREADS;
    for (i = 0; i < THREADS; i++) {
        sum += log.entries[i];
        ok &= log.entries[i] < THREADS && !entered[log.entries[i]]++;
        ok &= log.sums[i] == sum;
    }
    report("lock",
           "%d threads entered a log, one at a time, each sum in it "
           "right: %s",
           THREADS, ok ? "ok" : "WRONG");
    return ok;
}

/* A cell for each thread (stride 1), or one for all (0), where the values are
 * whole numbers, so that the order does not matter. */
static int is_double_right(unsigned stride)
{
    static double a[3 * THREADS], b[3 * THREADS]; /* two cells and a value */
    double *d_a;
    int i, ok = 1;

    for (i = 0; i < THREADS; i++) {
        double start = value_of(F64, edge(F64, i % EDGES));
        double value = value_of(F64, edge(F64, i / EDGES % EDGES));
        a[i] = !stride ? 0 : i % 100 == 0 ? (double)NAN : start;
        a[2 * THREADS + i] = !stride ? i : i % 99 == 0 ? (double)NAN : value;
        a[THREADS + i] = a[i];
    }
    d_a = (double *)to_device(a, sizeof a);
    add_both_ways<<<BLOCKS, BLOCK_THREADS>>>(d_a, d_a + THREADS,
                                             d_a + 2 * THREADS, stride);
    from_device(b, d_a, sizeof b);
    for (i = 0; i < THREADS; i++) {
        double one = b[i], other = b[THREADS + i];
        ok &= (one != one && other != other) ||
              memcmp(&one, &other, sizeof one) == 0;
    }
    return ok && (stride || b[0] == THREADS / 2 * (THREADS - 1));
}

static int check_double(void)
{
    int ok = is_double_right(1) & is_double_right(0);

    report("double",
           "add by atomicCAS: the bits of atomicAdd on %d cells, NaN among "
           "them, and on one: %s",
           THREADS, ok ? "ok" : "WRONG");
    return ok;
}

/* What becomes of subnormal floats: shown, not checked. */
static void show_subnormal(trial *t, trial *d_t)
{
    memset(t, 0, sizeof *t);
    set_examples(F32, t);
    t->start[0] = t->value[0] = 1; /* 2^-149, the least float above 0 */
    run_trial(ADD, F32, t, d_t);
    report("subnormal",
           "atomicAdd(float): 2^-149 + 2^-149 is %.3g in global "
           "memory, %.3g in shared",
           value_of(F32, t->cells[0]), value_of(F32, t->shared_cells[0]));
}

/* --- what an add costs --- */

enum {
    COST_THREADS = 1024, /* a block */
    FAR_LOG2 = 20,       /* cells in global memory, where they are many */
    NEAR_LOG2 = 10       /* and in shared: one for each thread */
};

struct cost {
    void *cells; /* all zero */
    int log2_cells;
    int repeats; /* adds a thread in shared memory; 0: one in global */
};

/* Adds 1 and -1 in turn, so that the sums move but end at 0. */
#define ADD_MANY(type, up, down, call)                                         \
    do {                                                                       \
        __shared__ type near[COST_THREADS];                                    \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                    \
        unsigned cell = i & ((1u << c.log2_cells) - 1), turn, end;             \
        if (c.repeats == 0) {                                                  \
            type *p = (type *)c.cells + cell;                                  \
            type v = i >> c.log2_cells & 1 ? down : up;                        \
            call;                                                              \
            return;                                                            \
        }                                                                      \
        near[i] = ((type *)c.cells)[i];                                        \
        __syncthreads();                                                       \
        turn = i >> c.log2_cells;                                              \
        for (end = turn + (unsigned)c.repeats; turn != end; turn++) {          \
            type *p = near + cell;                                             \
            type v = turn & 1 ? down : up;                                     \
            call;                                                              \
        }                                                                      \
        __syncthreads();                                                       \
        ((type *)c.cells)[i] = near[i];                                        \
    } while (0)

#define ONE __float2half_rn(1.0f)
#define MINUS_ONE __float2half_rn(-1.0f)
#define ONES __halves2half2(ONE, ONE)
#define MINUS_ONES __halves2half2(MINUS_ONE, MINUS_ONE)

enum way {
    COST_INT,
    COST_MERGED,
    COST_U64,
    COST_FLOAT,
    COST_DOUBLE,
    COST_HALF2,
    COST_HALF,
    COST_ADD_DOUBLE,
    COST_CAS,
    COST_EXCH,
    COST_INC,
    COST_AND,
    WAYS
};

static const char *const way_names[WAYS] = {
    "int",  "int_merged", "ulonglong", "float", "double", "half2",
    "half", "add_double", "cas",       "exch",  "inc",    "and"};

/* clang-format off */
static __global__ void cost_int(struct cost c)
    { ADD_MANY(int, 1, -1, atomicAdd(p, v)); }
static __global__ void cost_merged(struct cost c)
    { atomicAdd((int *)c.cells, 1); }
static __global__ void cost_u64(struct cost c)
    { ADD_MANY(u64, 1ULL, ~0ULL, atomicAdd(p, v)); }
static __global__ void cost_float(struct cost c)
    { ADD_MANY(float, 1.0f, -1.0f, atomicAdd(p, v)); }
static __global__ void cost_double(struct cost c)
    { ADD_MANY(double, 1.0, -1.0, atomicAdd(p, v)); }
static __global__ void cost_half2(struct cost c)
    { ADD_MANY(half2, ONES, MINUS_ONES, atomicAdd(p, v)); }
static __global__ void cost_half(struct cost c)
    { ADD_MANY(half, ONE, MINUS_ONE, atomicAdd(p, v)); }
static __global__ void cost_add_double(struct cost c)
    { ADD_MANY(double, 1.0, -1.0, add_double(p, v)); }
static __global__ void cost_cas(struct cost c)
    { ADD_MANY(unsigned, 1, 2, atomicCAS(p, v, v)); }
static __global__ void cost_exch(struct cost c)
    { ADD_MANY(unsigned, 0, 0, atomicExch(p, v)); }
static __global__ void cost_inc(struct cost c)
    { ADD_MANY(unsigned, 0, 0, atomicInc(p, v)); }
static __global__ void cost_and(struct cost c)
    { ADD_MANY(unsigned, 1, 2, atomicAnd(p, v)); }

static void launch_cost(int way, unsigned blocks, struct cost c)
{
    switch (way) {
    case COST_INT: cost_int<<<blocks, COST_THREADS>>>(c); break;
    case COST_MERGED: cost_merged<<<blocks, COST_THREADS>>>(c); break;
    case COST_U64: cost_u64<<<blocks, COST_THREADS>>>(c); break;
    case COST_FLOAT: cost_float<<<blocks, COST_THREADS>>>(c); break;
    case COST_DOUBLE: cost_double<<<blocks, COST_THREADS>>>(c); break;
    case COST_HALF2: cost_half2<<<blocks, COST_THREADS>>>(c); break;
    case COST_HALF: cost_half<<<blocks, COST_THREADS>>>(c); break;
    case COST_ADD_DOUBLE: cost_add_double<<<blocks, COST_THREADS>>>(c); break;
    case COST_CAS: cost_cas<<<blocks, COST_THREADS>>>(c); break;
    case COST_EXCH: cost_exch<<<blocks, COST_THREADS>>>(c); break;
    case COST_INC: cost_inc<<<blocks, COST_THREADS>>>(c); break;
    case COST_AND: cost_and<<<blocks, COST_THREADS>>>(c); break;
    }
    CHECK(cudaGetLastError());
}
/* clang-format on */

/* How many adds one run makes; in shared memory each thread repeats them. */
static long long choose_n(int way, int shared, int log2_cells)
{
    if (lesson.emulated)
        return 4LL * COST_THREADS;
    if (way == COST_MERGED)
        return 1LL << 24;
    if (log2_cells == 0)
        return 1LL << (shared ? 16 : 18);
    return 1LL << (shared ? 20 : 24);
}

/* Times one way in one place and prints its CSV row; ns an add, of one
 * multiprocessor where it is in shared memory, or 0 where the sum is wrong. */
static double measure(int way, int shared, int log2_cells, void *d_cells)
{
    static struct timing t;
    static u64 cells[COST_THREADS];
    long long n = choose_n(way, shared, log2_cells);
    unsigned blocks = shared ? 1 : (unsigned)(n / COST_THREADS);
    struct cost c;
    char name[40];
    int run, ok = 1;

    c.cells = d_cells;
    c.log2_cells = log2_cells;
    c.repeats = shared ? (int)(n / COST_THREADS) : 0;
    snprintf(name, sizeof name, "%s_%s", shared ? "shared" : "global",
             way_names[way]);
    timing_create(&t, 1, lesson.runs);
    for (run = 0; run < lesson.runs; run++) {
        show_progress(run, lesson.runs);
        CHECK(cudaMemset(d_cells, 0, sizeof(u64) << FAR_LOG2));
        timing_begin(&t);
        launch_cost(way, blocks, c);
        timing_end(&t);
        CHECK(cudaMemcpy(cells, d_cells, sizeof cells, cudaMemcpyDeviceToHost));
        /* A half is exact only while no more than 2048 adds of one sign are
         * ahead of the others, which nothing promises. */
        if (way != COST_HALF && way != COST_HALF2)
            ok &= cells[0] == (way == COST_MERGED ? (u64)n : 0);
    }
    show_progress(run, lesson.runs);
    csv_sweep(name, 0, 1LL << log2_cells, shared ? COST_THREADS : 0, n, &t, 0);
    timing_destroy(&t);
    if (!ok)
        fprintf(stderr, "%s: %s, %d cells: the sum is wrong\n", lesson.program,
                name, 1 << log2_cells);
    return ok ? timing_min_ms(&t) * 1e6 / (double)n : 0;
}

static int measure_all(void)
{
    int far_log2 = lesson.emulated ? NEAR_LOG2 : FAR_LOG2, way, ok = 1;
    void *d_cells;

    CHECK(cudaMalloc(&d_cells, sizeof(u64) << FAR_LOG2));
    report("costs", "%11s %22s %24s", "ns a call", "global memory",
           "shared memory, 1 block");
    report("", "%11s %10s %11s %12s %11s", "", "1 cell", "2^20 cells", "1 cell",
           "1024 cells");
    for (way = 0; way < WAYS; way++) {
        double far_one = measure(way, 0, 0, d_cells), far, one, many;
        if (way == COST_MERGED) {
            report("", "%-11s %10.4g", way_names[way], far_one);
            ok &= far_one > 0;
            continue;
        }
        far = measure(way, 0, far_log2, d_cells);
        one = measure(way, 1, 0, d_cells);
        many = measure(way, 1, NEAR_LOG2, d_cells);
        report("", "%-11s %10.4g %11.4g %12.4g %11.4g", way_names[way], far_one,
               far, one, many);
        ok &= far_one > 0 && far > 0 && one > 0 && many > 0;
    }
    CHECK(cudaFree(d_cells));
    return ok;
}

/* --- main --- */

int main(int argc, char **argv)
{
    long long limit = LIMIT;
    const struct lesson_option options[] = {
        {"--limit", NULL, &limit, 1, BLOCK_THREADS - 1,
         "what the wrapping counter is given (default 100)"},
    };
    static trial t;
    trial *d_t;
    int ok;

    lesson_begin(9, "v8_atomics", "every atomic, held against its definition",
                 argc, argv, options, 1);
    report_device();
    CHECK(cudaMalloc((void **)&d_t, sizeof t));
    ok = check_all(&t, d_t);
    ok &= check_counter();
    ok &= check_round((unsigned)limit);
    ok &= check_lock();
    ok &= check_double();
    show_subnormal(&t, d_t);
    CHECK(cudaFree(d_t));
    if (!ok)
        fprintf(stderr, "%s: not as defined; not timed\n", lesson.program);
    else if (!lesson.emulated || lesson.csv) /* its times mean nothing */
        ok = measure_all();
    report("result", "%s", ok ? "all as defined: ok" : "WRONG");
    return ok ? 0 : EXIT_WRONG;
}
