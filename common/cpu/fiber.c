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
enum { STACK_BYTES = 1 << 16, STACK_GUARD_BYTES = 1 << 16 };

struct cpu_fiber {
    void *stack_pointer; /* while it does not run */
    void *mapping;       /* guard and stack; NULL for a thread's own */
    void (*run)(void *);
    void *argument;
    void *asan_stack; /* ASan's note of a stack that is left */
    const void *stack_bottom;
    size_t stack_bytes;
    void *tsan;
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
    if (cpu_left && !cpu_left->mapping) { /* learns a thread's own stack */
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

struct cpu_fiber *cpu_fiber_create(void (*run)(void *), void *argument)
{
    struct cpu_fiber *fiber = (struct cpu_fiber *)calloc(1, sizeof *fiber);
    size_t bytes = STACK_GUARD_BYTES + STACK_BYTES;
    void **top;
    char *map;

    map = (char *)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    if (!fiber || map == MAP_FAILED ||
        mprotect(map + STACK_GUARD_BYTES, STACK_BYTES,
                 PROT_READ | PROT_WRITE) != 0) {
        if (map != MAP_FAILED)
            munmap(map, bytes);
        free(fiber);
        return NULL;
    }
    fiber->mapping = map;
    fiber->run = run;
    fiber->argument = argument;
    fiber->stack_bottom = map + STACK_GUARD_BYTES;
    fiber->stack_bytes = STACK_BYTES;
    /* x86-64 wants the stack 16 bytes aligned before a call, so 8 bytes off
     * when a function begins: one word more than the saved ones. */
    top = (void **)(void *)(map + bytes);
    top -= SAVED_WORDS + (SAVED_WORDS % 2 ? 1 : 0);
    top[RETURN_WORD] = (void *)(uintptr_t)enter_fiber;
    fiber->stack_pointer = top;
#ifdef CPU_TSAN
    fiber->tsan = __tsan_create_fiber(0);
#endif
    return fiber;
}

void cpu_fiber_destroy(struct cpu_fiber *fiber)
{
    if (!fiber)
        return;
#ifdef CPU_TSAN
    __tsan_destroy_fiber(fiber->tsan);
#endif
#ifdef CPU_ASAN
    __asan_unpoison_memory_region(fiber->stack_bottom, fiber->stack_bytes);
#endif
    munmap(fiber->mapping, STACK_GUARD_BYTES + STACK_BYTES);
    free(fiber);
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
