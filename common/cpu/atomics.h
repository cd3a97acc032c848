/* CUDA's atomics on integers, float and double; <cuda_fp16.h> and
 * <cuda_bf16.h> add theirs. A part of cuda_runtime.h. */
#ifndef CPU_ATOMICS_H
#define CPU_ATOMICS_H

/* Whatever a thread wrote before is there for whoever sees what it writes
 * after. */
void cpu_fence(void);
#define __threadfence() cpu_fence()

/* --- which place, and whose turn --- */

/* Stops the kernel unless the SIZE bytes at P lie in one allocation or variable
 * and P is a multiple of SIZE: errors 700 and 716. A GPU lets an atomic pass
 * that misses the allocation by a few bytes; compute-sanitizer does not, nor
 * does this. In interleaved mode it waits for its turn. */
void cpu_check_slowly(const void *p, size_t size);

static inline void cpu_check(const void *p, size_t size)
{
    uintptr_t at = (uintptr_t)p;

    if (at < cpu_self.begin || at + size > cpu_self.end || at % size != 0 ||
        __atomic_load_n(&cpu_stopping, __ATOMIC_RELAXED))
        cpu_check_slowly(p, size);
}

/* Counts the atomics that left their word as it was. A thread that has many of
 * them in a row at one place may be waiting for another thread of its block,
 * which has to run for that: a spin lock, a flag. */
enum { CPU_PATIENCE = 64 };
void cpu_lose_patience(const void *p);
void cpu_give_way(void);

static inline void cpu_count_try(const void *p)
{
    if (++cpu_self.tries >= CPU_PATIENCE)
        cpu_lose_patience(p);
}

static inline void __nanosleep(unsigned ns)
{
    (void)ns;
    cpu_give_way();
}

/* --- integers --- */

/* *p becomes `next`, in which `old` is what it held, and
 * that is returned. */
#define CPU_DEFINE_ATOMIC(name, type, next)                                    \
    static inline type cpu_atomic_##name(type *p, type v)                      \
    {                                                                          \
        type old, result;                                                      \
        cpu_check(p, sizeof *p);                                               \
        old = __atomic_load_n(p, __ATOMIC_RELAXED);                            \
        do {                                                                   \
            result = (next);                                                   \
        } while (!__atomic_compare_exchange_n(                                 \
            p, &old, result, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));          \
        if (result == old)                                                     \
            cpu_count_try(p);                                                  \
        return old;                                                            \
    }

/* The most frequent one has an instruction of its own. */
#define CPU_DEFINE_ADD(name, type)                                             \
    static inline type cpu_atomic_##name(type *p, type v)                      \
    {                                                                          \
        type old;                                                              \
        cpu_check(p, sizeof *p);                                               \
        old = __atomic_fetch_add(p, v, __ATOMIC_RELAXED);                      \
        if (v == 0)                                                            \
            cpu_count_try(p);                                                  \
        return old;                                                            \
    }

CPU_DEFINE_ADD(add_int, int)
CPU_DEFINE_ADD(add_unsigned, unsigned)
CPU_DEFINE_ADD(add_ull, unsigned long long)
CPU_DEFINE_ATOMIC(sub_int, int, (int)((unsigned)old - (unsigned)v))
CPU_DEFINE_ATOMIC(sub_unsigned, unsigned, old - v)
CPU_DEFINE_ATOMIC(exch_int, int, v)
CPU_DEFINE_ATOMIC(exch_unsigned, unsigned, v)
CPU_DEFINE_ATOMIC(exch_ull, unsigned long long, v)
CPU_DEFINE_ATOMIC(min_int, int, old < v ? old : v)
CPU_DEFINE_ATOMIC(min_unsigned, unsigned, old < v ? old : v)
CPU_DEFINE_ATOMIC(min_ull, unsigned long long, old < v ? old : v)
CPU_DEFINE_ATOMIC(max_int, int, old > v ? old : v)
CPU_DEFINE_ATOMIC(max_unsigned, unsigned, old > v ? old : v)
CPU_DEFINE_ATOMIC(max_ull, unsigned long long, old > v ? old : v)
CPU_DEFINE_ATOMIC(and_int, int, (old & v))
CPU_DEFINE_ATOMIC(and_unsigned, unsigned, (old & v))
CPU_DEFINE_ATOMIC(and_ull, unsigned long long, (old & v))
CPU_DEFINE_ATOMIC(or_int, int, old | v)
CPU_DEFINE_ATOMIC(or_unsigned, unsigned, old | v)
CPU_DEFINE_ATOMIC(or_ull, unsigned long long, old | v)
CPU_DEFINE_ATOMIC(xor_int, int, old ^ v)
CPU_DEFINE_ATOMIC(xor_unsigned, unsigned, old ^ v)
CPU_DEFINE_ATOMIC(xor_ull, unsigned long long, old ^ v)
CPU_DEFINE_ATOMIC(inc_unsigned, unsigned, old >= v ? 0 : old + 1)
CPU_DEFINE_ATOMIC(dec_unsigned, unsigned, old == 0 || old > v ? v : old - 1)

static inline float cpu_atomic_exch_float(float *p, float v)
{
    unsigned bits;

    memcpy(&bits, &v, sizeof bits);
    bits = cpu_atomic_exch_unsigned((unsigned *)p, bits);
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* *p becomes `next` if it holds `expected`; returns what it held. */
#define CPU_DEFINE_CAS(name, type)                                             \
    static inline type name(type *p, type expected, type next)                 \
    {                                                                          \
        type old = expected;                                                   \
        cpu_check(p, sizeof *p);                                               \
        __atomic_compare_exchange_n(p, &old, next, 0, __ATOMIC_RELAXED,        \
                                    __ATOMIC_RELAXED);                         \
        if (old != expected || next == expected)                               \
            cpu_count_try(p);                                                  \
        return old;                                                            \
    }

CPU_DEFINE_CAS(cpu_atomic_cas_int, int)
CPU_DEFINE_CAS(cpu_atomic_cas_unsigned, unsigned)
CPU_DEFINE_CAS(cpu_atomic_cas_ull, unsigned long long)
CPU_DEFINE_CAS(cpu_swap_ushort, unsigned short)

/* In interleaved mode a swap of 2 bytes is the loop that a GPU runs. */
unsigned short cpu_swap_ushort_in_turns(unsigned short *p,
                                        unsigned short expected,
                                        unsigned short next);

static inline unsigned short cpu_atomic_cas_ushort(unsigned short *p,
                                                   unsigned short expected,
                                                   unsigned short next)
{
    return cpu_interleaved ? cpu_swap_ushort_in_turns(p, expected, next)
                           : cpu_swap_ushort(p, expected, next);
}

/* --- float, double, half --- */

float cpu_atomic_add_float(float *p, float v);
double cpu_atomic_add_double(double *p, double v);

/* In interleaved mode an add of half is the loop that a GPU runs, and each of
 * its tries waits for its turn. Returns the old bits. */
uint16_t cpu_add_half_in_turns(uint16_t *p, uint16_t v);

/* <cuda_fp16.h> and <cuda_bf16.h> put their types here. */
#define CPU_ATOMIC_ADD_FP16
#define CPU_ATOMIC_ADD_BF16

/* --- CUDA's names --- */

/* clang-format off */
#define CPU_ATOMIC_32(name)                                                    \
    int *: cpu_atomic_##name##_int, unsigned *: cpu_atomic_##name##_unsigned
#define CPU_ATOMIC_64(name)                                                    \
    CPU_ATOMIC_32(name), unsigned long long *: cpu_atomic_##name##_ull

#define atomicAdd(p, v)                                                        \
    _Generic((p), CPU_ATOMIC_64(add), float *: cpu_atomic_add_float,           \
             double *: cpu_atomic_add_double CPU_ATOMIC_ADD_FP16               \
             CPU_ATOMIC_ADD_BF16)((p), (v))
#define atomicSub(p, v) _Generic((p), CPU_ATOMIC_32(sub))((p), (v))
#define atomicExch(p, v)                                                       \
    _Generic((p), CPU_ATOMIC_64(exch), float *: cpu_atomic_exch_float)((p), (v))
#define atomicMin(p, v) _Generic((p), CPU_ATOMIC_64(min))((p), (v))
#define atomicMax(p, v) _Generic((p), CPU_ATOMIC_64(max))((p), (v))
#define atomicAnd(p, v) _Generic((p), CPU_ATOMIC_64(and))((p), (v))
#define atomicOr(p, v) _Generic((p), CPU_ATOMIC_64(or))((p), (v))
#define atomicXor(p, v) _Generic((p), CPU_ATOMIC_64(xor))((p), (v))
#define atomicInc(p, v)                                                        \
    _Generic((p), unsigned *: cpu_atomic_inc_unsigned)((p), (v))
#define atomicDec(p, v)                                                        \
    _Generic((p), unsigned *: cpu_atomic_dec_unsigned)((p), (v))
#define atomicCAS(p, expected, next)                                           \
    _Generic((p), CPU_ATOMIC_64(cas),                                          \
             unsigned short *: cpu_atomic_cas_ushort)((p), (expected), (next))
/* clang-format on */

#endif
