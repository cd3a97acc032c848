/* Device memory: its alignment and first contents, copies, and the calls that
 * are refused with an error that is forgotten once it was read.
 *
 * usage: memory
 * What only the CPU emulation promises is marked so and not tried on a GPU. */
#include <cuda_runtime.h>

#include "../tap.h"
#include "device.h"

static int emulated;

/* The call returned `error`, and so does the next question, but once only. */
static void expect_error(cudaError_t returned, cudaError_t error,
                         const char *what)
{
    cudaError_t peeked = cudaPeekAtLastError();
    cudaError_t first = cudaGetLastError(), second = cudaGetLastError();
    char text[160];

    snprintf(text, sizeof text, "%s: error %d (returned %d, then %d, %d, %d)",
             what, (int)error, (int)returned, (int)peeked, (int)first,
             (int)second);
    expect(returned == error && peeked == error && first == error &&
               second == cudaSuccess,
           "%s", text);
}

static void check_alignment(void)
{
    static const size_t SIZES[] = {1, 2, 3, 255, 256, 257, 4096, 100001};
    enum { COUNT = sizeof SIZES / sizeof SIZES[0] };
    void *d_memory[COUNT];
    int i, aligned = 1;

    for (i = 0; i < COUNT; i++) {
        CHECK(cudaMalloc(&d_memory[i], SIZES[i]));
        aligned &= (uintptr_t)d_memory[i] % 256 == 0;
    }
    for (i = 0; i < COUNT; i++)
        CHECK(cudaFree(d_memory[i]));
    expect(aligned, "cudaMalloc aligns to 256 bytes");
}

static void check_copies(void)
{
    unsigned char from[1000], to[1000];
    char *d_a, *d_b;
    int i;

    for (i = 0; i < 1000; i++)
        from[i] = (unsigned char)(i * 7);
    CHECK(cudaMalloc((void **)&d_a, sizeof from));
    CHECK(cudaMalloc((void **)&d_b, sizeof from));
    CHECK(cudaMemcpy(d_a, from, sizeof from, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, d_a, sizeof from, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemset(d_b + 100, 0x5a, 50));
    CHECK(cudaMemcpy(to, d_b, sizeof to, cudaMemcpyDeviceToHost));
    memset(from + 100, 0x5a, 50);
    expect(memcmp(from, to, sizeof to) == 0, "what went in comes out");
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
}

/* Emulation only: memory that nobody wrote is NaN, also where older memory was
 * freed. */
static void check_first_contents(void)
{
    enum { COUNT = 5000 };
    static uint16_t halves[COUNT];
    void *d_halves;
    int i, round, nan = 0;

    for (round = 0; round < 3; round++) {
        CHECK(cudaMalloc(&d_halves, sizeof halves));
        CHECK(cudaMemcpy(halves, d_halves, sizeof halves,
                         cudaMemcpyDeviceToHost));
        for (i = 0; i < COUNT; i++)
            nan += (halves[i] & 0x7fff) > 0x7c00;
        CHECK(cudaMemset(d_halves, 0, sizeof halves));
        CHECK(cudaFree(d_halves));
    }
    expect(nan == 3 * COUNT, "memory that nobody wrote is NaN");
}

static void check_limits(void)
{
    char host[200], *d_memory;
    size_t all = (size_t)-1;
    void *d_more;

    CHECK(cudaMalloc((void **)&d_memory, 100));
    CHECK(cudaMemset(d_memory, 0, 100));
    expect_error(cudaMemset(d_memory, 0, 101), cudaErrorInvalidValue,
                 "cudaMemset one byte beyond");
    expect_error(cudaMemset(d_memory + 1, 0, 100), cudaErrorInvalidValue,
                 "cudaMemset from the second byte");
    expect_error(cudaMemcpy(d_memory, host, 101, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue, "cudaMemcpy one byte beyond, in");
    expect_error(cudaMemcpy(host, d_memory, 101, cudaMemcpyDeviceToHost),
                 cudaErrorInvalidValue, "cudaMemcpy one byte beyond, out");
    expect_error(cudaMemcpy(host, d_memory + 1, 100, cudaMemcpyDeviceToHost),
                 cudaErrorInvalidValue, "cudaMemcpy from the second byte");
    if (emulated)
        expect_error(cudaMemcpy(host, host + 100, 50, cudaMemcpyDeviceToHost),
                     cudaErrorInvalidValue, "cudaMemcpy from host memory");
    expect_error(cudaMalloc(&d_more, all), cudaErrorMemoryAllocation,
                 "cudaMalloc of all addresses");
    expect_error(cudaMalloc(&d_more, (size_t)1 << 46),
                 cudaErrorMemoryAllocation, "cudaMalloc of 64 TiB");
    expect_error(cudaFree(d_memory + 1), cudaErrorInvalidValue,
                 "cudaFree of a second byte");
    CHECK(cudaFree(d_memory));
    expect_error(cudaFree(d_memory), cudaErrorInvalidValue, "cudaFree twice");
    expect(cudaFree(NULL) == cudaSuccess, "cudaFree of NULL does nothing");
}

int main(void)
{
    struct cudaDeviceProp prop;

    CHECK(cudaGetDeviceProperties(&prop, 0));
    emulated = prop.major == 0;
    check_alignment();
    check_copies();
    if (emulated)
        check_first_contents();
    check_limits();
    CHECK(cudaDeviceSynchronize());
    return failures ? EXIT_WRONG : 0;
}
