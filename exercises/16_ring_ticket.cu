/* Exercise 16, ring_ticket: a ring that stumbles after four billion entries.
 *
 * Threads write to the places of a ring in turn. Each one draws a ticket from a
 * counter, and its place is the ticket modulo the number of places. That works
 * for weeks. Then the counter, which has 32 bits, goes back to 0; 2^32 is no
 * multiple of 10, and the ring goes on at the wrong place.
 *
 * Task: let the counter itself go round with the ring.
 * Constraint: the counter has 32 bits, and only draw_place() changes it.
 * Before you change it, it fails with: place 0 was drawn 2 times, expected 1
 * Read: lessons/v8_atomics, "A counter that wraps". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { PLACES = 10, BLOCK = 64 };

/* TODO: what the counter holds when so many entries have been written, and the
 * place of the next one. */
static unsigned counter_after(long long entries)
{
    return (unsigned)entries;
}

static __device__ unsigned draw_place(unsigned *counter)
{
    return atomicAdd(counter, 1u) % PLACES;
}
/* END TODO */

/* drawn[PLACES] counts the places that do not exist. */
static __global__ void write_entries(unsigned *counter, unsigned *drawn, int n)
{
    unsigned place;

    if ((int)(blockIdx.x * blockDim.x + threadIdx.x) >= n)
        return;
    place = draw_place(counter);
    atomicAdd(&drawn[place < PLACES ? place : PLACES], 1u);
}

/* n entries, after so many others. */
static void check(long long entries, int n)
{
    unsigned memory[PLACES + 2] = {0}, *drawn = memory + 1, expected;
    unsigned *d;
    int i;

    memory[0] = counter_after(entries);
    CHECK(cudaMalloc((void **)&d, sizeof memory));
    CHECK(cudaMemcpy(d, memory, sizeof memory, cudaMemcpyHostToDevice));
    write_entries<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d, d + 1, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(memory, d, sizeof memory, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    require(drawn[PLACES] == 0, NULL,
            "%d entries after %lld: %u of them at a place that does not exist",
            n, entries, drawn[PLACES]);
    for (i = 0; i < PLACES; i++) {
        expected = (unsigned)((entries + n + PLACES - 1 - i) / PLACES -
                              (entries + PLACES - 1 - i) / PLACES);
        require(drawn[i] == expected, NULL,
                "%d entries after %lld: place %d was drawn %u times, expected "
                "%u",
                n, entries, i, drawn[i], expected);
    }
    require(memory[0] == counter_after(entries + n), NULL,
            "%d entries after %lld: the counter holds %u, but counter_after() "
            "says %u",
            n, entries, memory[0], counter_after(entries + n));
}

int main(void)
{
    const long long wrap = 1LL << 32;
    int n;

    exercise_begin(16, "ring_ticket");
    for (n = 1; n < 40; n++)
        check(0, n);
    check(7, 25000);
    require(1, "a new ring", "");
    for (n = 1; n < 40; n++)
        check(wrap - 8, n);
    check(wrap - 12345, 25000);
    require(1, "entries around number 4294967296", "");
    check(1000 * wrap + 3, 77);
    require(1, "an old ring", "");
    return exercise_end();
}
