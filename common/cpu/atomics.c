/* Atomics: which places they may touch, and those on float, double and half. */
#include "device_memory.h"
#include "faults.h"
#include "fiber.h"
#include "fp16.h"
#include "interleave.h"
#include "shared.h"

/* --- places --- */

/* Where the place lies; an empty region where that is not known. */
static const struct cpu_region *require_place(const void *p, size_t size)
{
    const struct cpu_region *region;

    cpu_leave_if_stopping();
    if ((uintptr_t)p % size != 0)
        cpu_fault_at(cudaErrorMisalignedAddress, p, size);
    if (cpu_holds(&cpu_shared, p, size))
        return &cpu_shared;
    region = cpu_find_region(p, size);
    if (!region && CPU_HAS_SECTIONS)
        cpu_fault_at(cudaErrorIllegalAddress, p, size);
    return region ? region : &cpu_shared;
}

void cpu_check_slowly(const void *p, size_t size)
{
    const struct cpu_region *region = require_place(p, size);

    if (cpu_interleaved) {
        cpu_take_turn();
        return;
    }
    cpu_self.begin = (uintptr_t)region->begin;
    cpu_self.end = (uintptr_t)region->end;
}

/* ThreadSanitizer knows no fences: there a word that all change stands in. */
void cpu_fence(void)
{
#ifdef CPU_TSAN
    static int word;

    __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* --- float and double --- */

/* An atomic add of float in global memory flushes subnormals, before and after,
 * to a zero of the same sign; one in shared memory keeps them (PTX ISA,
 * atom.add.f32). */
static float flush(float f, int shared)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits); /* a CPU under DAZ sees no subnormals */
    return shared || bits & 0x7f800000 ? f : copysignf(0.0f, f);
}

/* The NaN that a GPU's float arithmetic gives. */
static uint32_t float_bits(float f)
{
    uint32_t bits = 0x7fffffff;

    if (f == f)
        memcpy(&bits, &f, sizeof bits);
    return bits;
}

float cpu_atomic_add_float(float *p, float v)
{
    uint32_t *word = (uint32_t *)p;
    uint32_t old, sum;
    float value;
    int shared = cpu_holds(&cpu_shared, p, sizeof *p);

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        memcpy(&value, &old, sizeof value);
        sum =
            float_bits(flush(flush(value, shared) + flush(v, shared), shared));
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return value;
}

/* An atomic add of double keeps subnormals, and a NaN as it is, that of v
 * first; in shared memory it is an addition like any other, which makes the NaN
 * a quiet one and takes that of the cell first. Infinities that cancel give the
 * NaN below (all of it: an H200 under CUDA 13.0). */
static uint64_t double_sum_bits(double value, double v, int shared)
{
    double sum = value + v, nan = v;
    uint64_t bits = 0xfff8000000000000;

    if (v == v || (shared && value != value))
        nan = value;
    if (nan != nan) {
        memcpy(&bits, &nan, sizeof bits);
        bits |= shared ? 0x0008000000000000 : 0;
    } else if (sum == sum) {
        memcpy(&bits, &sum, sizeof bits);
    }
    return bits;
}

double cpu_atomic_add_double(double *p, double v)
{
    uint64_t *word = (uint64_t *)p;
    uint64_t old, sum;
    double value;
    int shared = cpu_holds(&cpu_shared, p, sizeof *p);

    cpu_check(p, sizeof *p);
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        memcpy(&value, &old, sizeof value);
        sum = double_sum_bits(value, v, shared);
    } while (sum != old &&
             !__atomic_compare_exchange_n(word, &old, sum, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return value;
}
/* --- half --- */

/* Which may be more than its variable: nothing that AddressSanitizer knows. */
__attribute__((no_sanitize("address"))) static uint32_t
read_word(const uint16_t *half)
{
    return *(const uint32_t *)((uintptr_t)half & ~(uintptr_t)3);
}

/* A GPU has no compare-and-swap of 2 bytes: it swaps the word, and again as
 * long as the other half was in the way (results/sass/lesson4.sm_90.txt). The
 * load before that takes no time here: nothing but an atomic does. */
unsigned short cpu_swap_ushort_in_turns(unsigned short *p,
                                        unsigned short expected,
                                        unsigned short next)
{
    unsigned shift = (uintptr_t)p & 2 ? 16 : 0;
    uint32_t others = 0xffff0000u >> shift, seen, old;

    require_place(p, sizeof *p);
    old = read_word(p);
    do {
        cpu_check(p, sizeof *p); /* waits for its turn */
        seen = old;
        old = read_word(p);
    } while (((old ^ seen) & others) != 0);
    if ((unsigned short)(old >> shift) == expected)
        *p = next;
    return (unsigned short)(old >> shift);
}

/* The GPU swaps the 4-byte word around the half, so a neighbour that changes
 * makes a try fail, too. */
uint16_t cpu_add_half_in_turns(uint16_t *p, uint16_t v)
{
    unsigned shift = (uintptr_t)p & 2 ? 16 : 0;
    uint32_t seen, old;

    require_place(p, sizeof *p);
    for (old = read_word(p);;) {
        uint16_t sum = fp16_add((uint16_t)(old >> shift), v);
        cpu_check(p, sizeof *p); /* waits for its turn */
        seen = old;
        old = read_word(p);
        if (old == seen) {
            *p = sum;
            return (uint16_t)(old >> shift);
        }
    }
}
