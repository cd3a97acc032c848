/* Fibers. The switch itself is a few lines of assembly for x86-64 and arm64:
 * ucontext makes a system call each time, and longjmp to another stack is
 * refused under _FORTIFY_SOURCE. */
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define CPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CPU_ASAN 1
#endif
#endif

#ifdef CPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CPU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Kernels are small; a page that is never touched costs nothing. */
enum {
    STACK_BYTES = 1 << 16,
    GUARD_BYTES = 1 << 16, /* below each stack */
    SLOT_BYTES = GUARD_BYTES + STACK_BYTES
};

/* A guard makes two maps of one, and Linux gives a process 65,530 of them
 * (vm.max_map_count). Past this many guards, their places belong to the stacks
 * above them: what overruns these comes upon other stacks, and then upon a
 * guard, since the first stack of a map always has one. */
enum { MOST_GUARDS = 24 * 1024 };
static int cpu_guards;

struct cpu_fiber {
    void *stack_pointer; /* while it does not run */
    void (*run)(void *); /* NULL for a thread's own */
    void *argument;
    void *asan_stack; /* ASan's note of a stack that is left */
    const void *stack_bottom;
    size_t stack_bytes;
    void *tsan;
};

struct cpu_stacks {
    char *map;
    unsigned count, used;
    int guards;
    struct cpu_fiber fibers[]; /* of those in use */
};

/* Saves what the ABI says a call keeps, stores the stack pointer in *save, and
 * takes up the registers and the stack of `load`. */
void cpu_fiber_swap(void **save, void *load) __asm__("cpu_fiber_swap");

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl cpu_fiber_swap\n"
        "cpu_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n");
enum { SAVED_WORDS = 7, RETURN_WORD = 6 };
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl cpu_fiber_swap\n"
        "cpu_fiber_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n");
enum { SAVED_WORDS = 20, RETURN_WORD = 11 };
#else
#error "the CPU backend has fibers for x86-64 and arm64 only"
#endif

/* The fiber being entered; a new one has no argument but this. */
static _Thread_local struct cpu_fiber *cpu_entered;
static _Thread_local struct cpu_fiber *cpu_left;

static void finish_switch(struct cpu_fiber *fiber)
{
#ifdef CPU_ASAN
    const void *bottom;
    size_t bytes;

    __sanitizer_finish_switch_fiber(fiber->asan_stack, &bottom, &bytes);
    if (cpu_left && !cpu_left->run) { /* learns a thread's own stack */
        cpu_left->stack_bottom = bottom;
        cpu_left->stack_bytes = bytes;
    }
#else
    (void)fiber;
#endif
}

static void enter_fiber(void)
{
    struct cpu_fiber *fiber = cpu_entered;

    finish_switch(fiber);
    fiber->run(fiber->argument);
    abort(); /* run returned */
}

/* --- stacks --- */

struct cpu_stacks *cpu_stacks_create(unsigned count)
{
    size_t bytes = (size_t)count * SLOT_BYTES;
    struct cpu_stacks *stacks = (struct cpu_stacks *)calloc(
        1, sizeof *stacks + count * sizeof stacks->fibers[0]);
    void *map =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!stacks || map == MAP_FAILED) {
        if (map != MAP_FAILED)
            munmap(map, bytes);
        free(stacks);
        return NULL;
    }
#ifdef MADV_NOHUGEPAGE
    madvise(map, bytes, MADV_NOHUGEPAGE); /* each touches a page or two */
#endif
    stacks->map = (char *)map;
    stacks->count = count;
    return stacks;
}

static int allow(char *begin, size_t bytes)
{
    return mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0;
}

/* Makes the stack in the next slot usable, with a guard where that fits. */
static int open_slot(struct cpu_stacks *stacks, char *slot)
{
    int guarded =
        __atomic_fetch_add(&cpu_guards, 1, __ATOMIC_RELAXED) < MOST_GUARDS ||
        stacks->used == 0;

    if (guarded && allow(slot + GUARD_BYTES, STACK_BYTES)) {
        stacks->guards++;
        return 1;
    }
    __atomic_fetch_sub(&cpu_guards, 1, __ATOMIC_RELAXED);
    return stacks->used > 0 && allow(slot, SLOT_BYTES);
}

struct cpu_fiber *cpu_fiber_create(struct cpu_stacks *stacks,
                                   void (*run)(void *), void *argument)
{
    struct cpu_fiber *fiber = &stacks->fibers[stacks->used];
    char *slot = stacks->map + (size_t)stacks->used * SLOT_BYTES;
    void **top;

    if (stacks->used == stacks->count || !open_slot(stacks, slot))
        return NULL;
    stacks->used++;
    fiber->run = run;
    fiber->argument = argument;
    fiber->stack_bottom = slot + GUARD_BYTES;
    fiber->stack_bytes = STACK_BYTES;
    /* x86-64 wants the stack 16 bytes aligned before a call, so 8 bytes off
     * when a function begins: one word more than the saved ones. */
    top = (void **)(void *)(slot + SLOT_BYTES);
    top -= SAVED_WORDS + (SAVED_WORDS % 2 ? 1 : 0);
    top[RETURN_WORD] = (void *)(uintptr_t)enter_fiber;
    fiber->stack_pointer = top;
#ifdef CPU_TSAN
    fiber->tsan = __tsan_create_fiber(0);
#endif
    return fiber;
}

void cpu_stacks_destroy(struct cpu_stacks *stacks)
{
    if (!stacks)
        return;
#ifdef CPU_TSAN
    for (unsigned i = 0; i < stacks->used; i++)
        __tsan_destroy_fiber(stacks->fibers[i].tsan);
#endif
#ifdef CPU_ASAN
    __asan_unpoison_memory_region(stacks->map,
                                  (size_t)stacks->count * SLOT_BYTES);
#endif
    __atomic_fetch_sub(&cpu_guards, stacks->guards, __ATOMIC_RELAXED);
    munmap(stacks->map, (size_t)stacks->count * SLOT_BYTES);
    free(stacks);
}

struct cpu_fiber *cpu_fiber_of_thread(void)
{
    static _Thread_local struct cpu_fiber own;

#ifdef CPU_TSAN
    if (!own.tsan)
        own.tsan = __tsan_get_current_fiber();
#endif
    return &own;
}

void cpu_fiber_switch(struct cpu_fiber *from, struct cpu_fiber *to)
{
    cpu_left = from;
    cpu_entered = to;
#ifdef CPU_ASAN
    __sanitizer_start_switch_fiber(&from->asan_stack, to->stack_bottom,
                                   to->stack_bytes);
#endif
#ifdef CPU_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    cpu_fiber_swap(&from->stack_pointer, to->stack_pointer);
    finish_switch(from);
}
