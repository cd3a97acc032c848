/* The bytes to count, of three kinds, and the CPU's counts of them. */
#ifndef DATA_H
#define DATA_H

#include <string.h>

#include "random.h"

/* All values alike; a half of the bytes 0, a quarter 1, an eighth 2 …; all 7.
 */
enum { RANDOM, SKEWED, CONSTANT, KINDS };
static const char *const kinds[KINDS] = {"random", "skewed", "constant"};

static struct {
    const unsigned char *d_bytes;
    count64 counts[VALUES];
    count64 first[VALUES]; /* of the first MOST_IN_FLOAT bytes */
} data[KINDS];

static unsigned char next_byte(int kind, uint32_t *state)
{
    uint32_t x = random_next(state), bit = 1u << 31;
    unsigned char zeros = 0;

    if (kind != SKEWED)
        return (unsigned char)(kind == RANDOM ? x >> 24 : 7);
    for (; !(x & bit); bit >>= 1)
        zeros++;
    return zeros;
}

/* Makes work.n bytes at d_bytes, and counts them. */
static void make_data(int kind, unsigned char *d_bytes)
{
    enum { CHUNK = 1 << 20 }; /* MOST_IN_FLOAT is at the end of one */
    static unsigned char chunk[CHUNK];
    count64 *counts = data[kind].counts;
    uint32_t state = 2463534242u;
    long long i, k;

    data[kind].d_bytes = d_bytes;
    for (i = 0; i < work.n; i += CHUNK) {
        long long count = work.n - i < CHUNK ? work.n - i : (long long)CHUNK;
        for (k = 0; k < count; k++)
            counts[chunk[k] = next_byte(kind, &state)]++;
        if (i + count <= MOST_IN_FLOAT)
            memcpy(data[kind].first, counts, VALUES * sizeof *counts);
        CHECK(cudaMemcpy(d_bytes + i, chunk, (size_t)count,
                         cudaMemcpyHostToDevice));
    }
}

#endif
