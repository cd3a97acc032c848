/* Lesson 9, conformance: do all atomics do what they should?
 *
 * Answer: yes, in global memory and in shared, whether a call is one
 * instruction or a loop.
 *
 * Build it alone:  nvcc -arch=native -Icommon -o conformance \
 *                      lessons/v8_atomics/conformance.cu
 * It runs every function on every type, in both memories, on examples and with
 * many threads at one cell, and holds each old value and each result against
 * the definition. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "definitions.h"
#include "device.h"
#include "options.h"
#include "report.h"
#include "table.h"

typedef unsigned short u16;

static const u64 FILLER = 0xa5a5a5a5a5a5a5a5; /* beside a short cell */

/* --- every function on every type: the kernels --- */

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

/* --- and the checks --- */

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

/* A row of the table: op's. */
static int check_row(int op, trial *t, trial *d_t)
{
    const char *said[TYPES];
    int type, right, ok = 1;

    for (type = 0; type < TYPES; type++) {
        right = !built[op][type] || check(op, type, t, d_t);
        said[type] = !built[op][type] ? NULL : right ? "ok" : "WRONG";
        ok &= right;
    }
    print_row(op_names[op], said);
    return ok;
}

static int check_all(trial *t, trial *d_t)
{
    int op, ok = 1;

    report("table", "each in global and in shared memory");
    print_row("function", type_names);
    for (op = 0; op < OPS; op++)
        ok &= check_row(op, t, d_t);
    report("checks",
           "each: %d examples, and %d threads at one cell, in both memories: "
           "%s",
           EXAMPLES, THREADS, ok ? "ok" : "WRONG");
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

/* --- main --- */

int main(int argc, char **argv)
{
    static const struct lesson_option none = {NULL, NULL, NULL, 0, 0, NULL};
    static trial t;
    trial *d_t;
    int ok;

    lesson_begin(9, "conformance", "every atomic, held against its definition",
                 argc, argv, &none, 0);
    snprintf(lesson.target, sizeof lesson.target, "conformance");
    report_device();
    CHECK(cudaMalloc((void **)&d_t, sizeof t));
    ok = check_all(&t, d_t);
    show_subnormal(&t, d_t);
    CHECK(cudaFree(d_t));
    report("result", "%s", ok ? "all as defined: ok" : "WRONG");
    return ok ? 0 : EXIT_WRONG;
}
