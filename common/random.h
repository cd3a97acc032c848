/* Inputs that vary and are the same on every run. Plain C; knows no CUDA. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* The next number of the sequence, 1 to 2^32 - 1; *state is any but 0 at first
 * (xorshift32: Marsaglia, Xorshift RNGs, 2003). */
static inline uint32_t random_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The same as a fraction, from 0 to 1, without 1. */
static inline double random_fraction(uint32_t *state)
{
    return random_next(state) * 0x1p-32;
}

#endif
