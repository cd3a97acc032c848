/* What a kernel must not do to memory: which error follows, where it shows and
 * that it stays.
 *
 * usage: faults               print the names of all cases
 *        faults CASE [WAIT [WARM]]
 *                             one case, since a fault ends all CUDA work of its
 *                             process; WAIT names the call that waits; with any
 *                             WARM the thread first adds where it may
 *        faults crash|crash-later|trap-later|raise-later|everyone
 *
 * On the CPU emulation the line that must come on stderr is printed first,
 * after "stderr: ". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <signal.h>

#include "../tap.h"
#include "device.h"

static int emulated;

static void expect_code(cudaError_t got, cudaError_t wanted, const char *what)
{
    char text[120];

    snprintf(text, sizeof text, "%s: %d (expected %d)", what, (int)got,
             (int)wanted);
    expect(got == wanted, "%s", text);
}

/* --- the access --- */

enum operation {
    ADD_HALF,
    ADD_HALF2,
    ADD_INT,
    ADD_UNSIGNED,
    ADD_LONG,
    ADD_FLOAT,
    ADD_DOUBLE,
    LOAD_WORD,
    STORE_WORD,
    LOAD_HALF,
    LOAD_HALF2,
    LOAD_PACK2,
    STORE_HALF2,
    STORE_HALF
};

/* Bytes of an atomic; 0: a plain access. */
static const int ATOMIC_BYTES[] = {2, 4, 4, 4, 8, 4, 8, 0, 0, 0, 0, 0, 0, 0};

typedef struct {
    half x, y;
} __align__(4) pack2;

static __device__ void add(char *at, enum operation operation)
{
    half one = __float2half_rn(1.0f);

    if (operation == ADD_HALF)
        atomicAdd((half *)at, one);
    else if (operation == ADD_HALF2)
        atomicAdd((half2 *)at, __halves2half2(one, one));
    else if (operation == ADD_INT)
        atomicAdd((int *)at, 1);
    else if (operation == ADD_UNSIGNED)
        atomicAdd((unsigned *)at, 1u);
    else if (operation == ADD_LONG)
        atomicAdd((unsigned long long *)at, 1ull);
    else if (operation == ADD_FLOAT)
        atomicAdd((float *)at, 1.0f);
    else if (operation == ADD_DOUBLE)
        atomicAdd((double *)at, 1.0);
}

static __device__ void load_or_store(char *at, enum operation operation,
                                     half *out)
{
    half one = __float2half_rn(1.0f);

    if (operation == LOAD_WORD) {
        *(unsigned *)out = *(const unsigned *)at;
    } else if (operation == STORE_WORD) {
        *(unsigned *)at = 1;
    } else if (operation == LOAD_HALF) {
        out[0] = *(const half *)at;
    } else if (operation == LOAD_HALF2) {
        half2 v = *(const half2 *)at;
        out[0] = __low2half(v);
        out[1] = __high2half(v);
    } else if (operation == LOAD_PACK2) {
        pack2 v = *(const pack2 *)at;
        out[0] = v.x;
        out[1] = v.y;
    } else if (operation == STORE_HALF2) {
        *(half2 *)at = __halves2half2(one, one);
    } else {
        *(half *)at = one;
    }
}

/* One thread of one block does it; the report must find just this one. */
static __global__ void touch(char *at, enum operation operation, half *out,
                             half *warm)
{
    if (blockIdx.x != 2 || blockIdx.y != 1 || blockIdx.z != 1 ||
        threadIdx.x != 5 || threadIdx.y != 3 || threadIdx.z != 1)
        return;
    if (warm)
        atomicAdd(warm, __float2half_rn(0.0f));
    if (operation <= ADD_DOUBLE)
        add(at, operation);
    else
        load_or_store(at, operation, out);
}

static void launch_touch(char *at, enum operation operation, half *d_out,
                         half *warm)
{
    dim3 grid, block;

    grid.x = 4;
    grid.y = 3;
    grid.z = 2;
    block.x = 8;
    block.y = 4;
    block.z = 2;
    touch<<<grid, block>>>(at, operation, d_out, warm);
}

/* --- the cases --- */

/* What a GPU makes of it by itself: the same error; nothing, so that only the
 * emulation and compute-sanitizer tell; or one or the other, by where the
 * memory happens to lie. */
enum on_gpu { SAME, SILENT, UNKNOWN };

enum { MISALIGNED = 716, ILLEGAL = 700, FAR = -(1 << 30), LARGE = 1 << 26 };

static const struct fault {
    const char *name;
    enum operation operation;
    int bytes;  /* of the allocation; 0: none, from NULL on; < 0: freed */
    int offset; /* of the access, in bytes */
    int error;
    enum on_gpu on_gpu;
} FAULTS[] = {
    {"half2-atomic-on-odd-half", ADD_HALF2, 64, 2, MISALIGNED, SAME},
    {"word-load-misaligned", LOAD_WORD, 64, 2, MISALIGNED, SAME},
    {"word-store-misaligned", STORE_WORD, 64, 2, MISALIGNED, SAME},
    {"half2-load-on-odd-half", LOAD_HALF2, 64, 2, MISALIGNED, SAME},
    {"pack2-load-on-odd-half", LOAD_PACK2, 64, 2, MISALIGNED, SAME},
    {"half2-store-on-odd-half", STORE_HALF2, 64, 2, MISALIGNED, SAME},
    {"half-atomic-on-odd-byte", ADD_HALF, 64, 1, MISALIGNED, SAME},
    {"half-load-on-odd-byte", LOAD_HALF, 64, 1, MISALIGNED, SAME},
    {"half-store-on-odd-byte", STORE_HALF, 64, 1, MISALIGNED, SAME},
    {"int-atomic-misaligned", ADD_INT, 64, 2, MISALIGNED, SAME},
    {"unsigned-atomic-misaligned", ADD_UNSIGNED, 64, 6, MISALIGNED, SAME},
    {"long-atomic-misaligned", ADD_LONG, 64, 4, MISALIGNED, SAME},
    {"float-atomic-misaligned", ADD_FLOAT, 64, 1, MISALIGNED, SAME},
    {"double-atomic-misaligned", ADD_DOUBLE, 64, 12, MISALIGNED, SAME},

    {"half-atomic-on-last-half", ADD_HALF, 6, 4, 0, SAME},
    {"half2-atomic-on-last-half", ADD_HALF2, 6, 4, ILLEGAL, SILENT},
    {"half-atomic-past-the-end", ADD_HALF, 6, 6, ILLEGAL, SILENT},
    {"half-atomic-before-the-start", ADD_HALF, 6, -2, ILLEGAL, UNKNOWN},
    {"int-atomic-one-byte-past", ADD_INT, 7, 4, ILLEGAL, SILENT},
    {"int-atomic-at-the-end", ADD_INT, 8, 4, 0, SAME},
    {"long-atomic-one-byte-past", ADD_LONG, 15, 8, ILLEGAL, SILENT},
    {"double-atomic-at-the-end", ADD_DOUBLE, 16, 8, 0, SAME},
    {"float-atomic-one-byte-past", ADD_FLOAT, 11, 8, ILLEGAL, SILENT},

    {"half2-load-far-outside", LOAD_HALF2, 64, FAR, ILLEGAL, SAME},
    {"half-store-far-outside", STORE_HALF, 64, FAR, ILLEGAL, SAME},
    {"half-atomic-far-outside", ADD_HALF, 64, FAR, ILLEGAL, SAME},
    {"half2-load-through-null", LOAD_HALF2, 0, 0, ILLEGAL, SAME},
    {"half-store-through-null", STORE_HALF, 0, 0, ILLEGAL, SAME},
    {"half2-atomic-through-null", ADD_HALF2, 0, 0, ILLEGAL, SAME},
    {"half-load-from-freed", LOAD_HALF, -LARGE, 0, ILLEGAL, SAME},
    {"half-store-to-freed", STORE_HALF, -LARGE, LARGE - 2, ILLEGAL, SAME},
    {"half-atomic-on-freed", ADD_HALF, -LARGE, 0, ILLEGAL, SAME},
    {"small-load-from-freed", LOAD_HALF, -64, 0, ILLEGAL, UNKNOWN},
};
enum { FAULT_COUNT = sizeof FAULTS / sizeof FAULTS[0] };

/* The address that the case is about. */
static char *find_place(const struct fault *f, char **d_memory)
{
    size_t bytes = (size_t)(f->bytes < 0 ? -f->bytes : f->bytes);

    *d_memory = NULL;
    if (bytes == 0)
        return NULL;
    CHECK(cudaMalloc((void **)d_memory, bytes));
    CHECK(cudaMemset(*d_memory, 0, bytes));
    if (f->bytes < 0)
        CHECK(cudaFree(*d_memory));
    return (char *)((uintptr_t)*d_memory + (uintptr_t)(intptr_t)f->offset);
}

/* The emulation cannot tell where a plain misaligned access was: the compiler's
 * check ends in an instruction that traps, and says no more. */
static void print_message(const struct fault *f, const char *at)
{
    int size = ATOMIC_BYTES[f->operation];

    printf("stderr: CPU emulation: touch, block (2,1,1), thread (5,3,1): ");
    if (size > 0)
        printf("%s %d-byte atomic at 0x%llx", size == 8 ? "an" : "a", size,
               (unsigned long long)(uintptr_t)at);
    else if (f->error == ILLEGAL)
        printf("a plain access at 0x%llx", (unsigned long long)(uintptr_t)at);
    else
        printf("a plain access");
    printf(" is %s (error %d)\n",
           f->error == ILLEGAL ? "outside every allocation"
                               : "not aligned to its size",
           f->error);
    fflush(stdout);
}

/* --- after the fault --- */

static cudaEvent_t begin, end;
static half *d_out;

static cudaError_t wait_for(const char *call)
{
    float ms;
    half out;

    if (strcmp(call, "memcpy") == 0)
        return cudaMemcpy(&out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    if (strcmp(call, "event") == 0)
        return cudaEventSynchronize(end);
    if (strcmp(call, "elapsed") == 0) { /* does not wait on a GPU */
        CHECK(cudaEventRecord(begin, 0));
        return cudaEventElapsedTime(&ms, begin, end);
    }
    if (strcmp(call, "free") == 0)
        return cudaFree(d_out);
    return cudaDeviceSynchronize();
}

/* On a GPU as well: these calls, and in this order. */
static void expect_sticky(cudaError_t error)
{
    void *d_more = NULL;
    half out;

    expect_code(cudaPeekAtLastError(), error, "cudaPeekAtLastError");
    expect_code(cudaGetLastError(), error, "cudaGetLastError");
    expect_code(cudaDeviceSynchronize(), error, "cudaDeviceSynchronize");
    expect_code(cudaGetLastError(), error, "cudaGetLastError, later");
    expect_code(cudaMalloc(&d_more, 64), error, "cudaMalloc");
    expect_code(cudaMemset(d_out, 0, sizeof *d_out), error, "cudaMemset");
    expect_code(cudaMemcpy(&out, d_out, sizeof out, cudaMemcpyDeviceToHost),
                error, "cudaMemcpy");
    expect_code(cudaEventRecord(begin, 0), error, "cudaEventRecord");
    expect_code(cudaEventSynchronize(begin), error, "cudaEventSynchronize");
    launch_touch(NULL, STORE_HALF, d_out, NULL);
    expect_code(cudaGetLastError(), error, "a launch");
    expect_code(cudaFree(d_out), error, "cudaFree");
    expect_code(cudaGetLastError(), error, "cudaGetLastError, at the end");
}

/* Emulation only: calls that on a GPU need not ask the device. */
static void expect_sticky_everywhere(cudaError_t error)
{
    struct cudaDeviceProp prop;
    size_t free_bytes, total_bytes;
    cudaEvent_t more;
    int number;
    float ms;

    expect_code(cudaMemGetInfo(&free_bytes, &total_bytes), error,
                "cudaMemGetInfo");
    expect_code(cudaGetDeviceCount(&number), error, "cudaGetDeviceCount");
    expect_code(cudaGetDevice(&number), error, "cudaGetDevice");
    expect_code(cudaSetDevice(0), error, "cudaSetDevice");
    expect_code(cudaGetDeviceProperties(&prop, 0), error,
                "cudaGetDeviceProperties");
    expect_code(cudaEventElapsedTime(&ms, begin, end), error,
                "cudaEventElapsedTime");
    expect_code(cudaEventCreate(&more), error, "cudaEventCreate");
    expect_code(cudaEventDestroy(more), error, "cudaEventDestroy");
    expect_code(cudaFree(NULL), error, "cudaFree(NULL)");
}

/* The first and the last byte that the atomic should have changed. */
static void expect_added(const struct fault *f, const char *d_memory)
{
    static const unsigned char ONES[][8] = {
        {0x00, 0x3c}, {0}, {1}, {1}, {1}, {0}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}};
    unsigned char memory[64], wanted[64] = {0};

    CHECK(
        cudaMemcpy(memory, d_memory, (size_t)f->bytes, cudaMemcpyDeviceToHost));
    memcpy(wanted + f->offset, ONES[f->operation],
           (size_t)ATOMIC_BYTES[f->operation]);
    expect(memcmp(memory, wanted, (size_t)f->bytes) == 0,
           "the atomic added 1 and changed nothing else");
}

static void run_fault(const struct fault *f, const char *wait, int warm)
{
    int reports = emulated || f->on_gpu == SAME;
    cudaError_t error = (cudaError_t)(reports ? f->error : 0), shown;
    char *d_memory, *at;

    CHECK(cudaMalloc((void **)&d_out, 2 * sizeof *d_out));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    at = find_place(f, &d_memory);
    if (emulated && error != cudaSuccess)
        print_message(f, at);
    launch_touch(at, f->operation, d_out,
                 warm && f->bytes > 0 ? (half *)d_memory : NULL);
    if (emulated) /* on a GPU the kernel might be that fast */
        expect_code(cudaGetLastError(), cudaSuccess, "after the launch");
    if (emulated)
        CHECK(cudaEventRecord(end, 0));
    else
        cudaEventRecord(end, 0);
    shown = wait_for(wait);
    if (!emulated && f->on_gpu == UNKNOWN) {
        printf("ok - a GPU gave %d, this time\n", (int)shown);
        return;
    }
    expect_code(shown, error, wait);
    if (f->error == 0) {
        expect_added(f, d_memory);
        CHECK(cudaDeviceSynchronize());
    } else if (error != cudaSuccess) {
        expect_sticky(error);
        if (emulated)
            expect_sticky_everywhere(error);
    }
}

/* --- every thread faults --- */

/* In the emulation an atomicAdd of 0 would look as well, but also leave once
 * another thread has faulted. */
static __device__ unsigned look(const unsigned *p)
{
#ifdef CPU_CUDA_RUNTIME_H
    return __atomic_load_n(p, __ATOMIC_RELAXED);
#else
    return *(const volatile unsigned *)p;
#endif
}

/* Waits a while for a second block, so that two faults meet. */
static __global__ void touch_by_all(half *nowhere, unsigned *arrived)
{
    int k;

    atomicAdd(arrived, 1u);
    for (k = 0; k < 1 << 27 && look(arrived) < 2; k++)
        ;
    nowhere[blockIdx.x] = __float2half_rn(1.0f);
}

static void run_everyone(void)
{
    unsigned *d_arrived;
    uintptr_t far;

    CHECK(cudaMalloc((void **)&d_arrived, sizeof *d_arrived));
    CHECK(cudaMemset(d_arrived, 0, sizeof *d_arrived));
    /* Not FAR: below there lie the stacks of a hundred pool threads. */
    far = (uintptr_t)d_arrived - ((uintptr_t)1 << 36);
    touch_by_all<<<64, 32>>>((half *)far, d_arrived);
    expect_code(cudaDeviceSynchronize(), (cudaError_t)ILLEGAL, "everyone");
}

/* --- the host's own crash --- */

static void launch_nothing(void)
{
    CHECK(cudaMalloc((void **)&d_out, 64));
    launch_touch((char *)d_out, ADD_HALF, d_out, NULL);
    CHECK(cudaDeviceSynchronize());
}

static void crash_host(const char *how)
{
    static int *volatile nowhere;

    if (strcmp(how, "crash") != 0)
        launch_nothing();
    printf("ok - crashing now\n");
    fflush(stdout);
    if (strcmp(how, "trap-later") == 0)
        __builtin_trap();
    if (strcmp(how, "raise-later") == 0)
        raise(SIGSEGV);
    else
        *(volatile int *)nowhere = 1;
    expect(0, "still here");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    struct cudaDeviceProp prop;
    int i;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
    if (strcmp(name, "everyone") == 0)
        run_everyone();
    else if (strncmp(name, "crash", 5) == 0 || strstr(name, "-later"))
        crash_host(name);
    for (i = 0; i < FAULT_COUNT; i++) {
        if (argc == 1)
            printf("%s\n", FAULTS[i].name);
        else if (strcmp(name, FAULTS[i].name) == 0)
            run_fault(&FAULTS[i], argc > 2 ? argv[2] : "sync", argc > 3);
    }
    return failures ? EXIT_WRONG : 0;
}
