/* How far dot(), which stands in the lesson's file, may be off. */
#ifndef BOUND_H
#define BOUND_H

#include <math.h>

/* A product that passes through k float adds, each of which rounds by a factor
 * of 1 + d, |d| <= u = 2^-24, arrives with a factor of at most (1 + u)^k. So
 *     |sum - exact| <= ((1 + u)^k - 1) S <= k u / (1 - k u) S,
 * where S is the sum of |a b|, and the exact sum itself if all products have
 * one sign. Products are exact and never subnormal; the double reference adds
 * at most 2^20 terms one by one, and is off by less than 2^-14 of this. */
static double bound_of(double adds)
{
    double ku = adds * 0x1p-24;

    return ku < 1 ? ku / (1 - ku) : INFINITY;
}

/* Through how many adds a product passes at most: eight for each turn of its
 * thread, up to two of them for what the tiles leave, one for an odd element,
 * one for the thread's two sums and ten for the block; then one for each block,
 * or in order those of the last block. */
static double dot_bound(long long vectors, int in_order)
{
    long long blocks = dot_blocks(vectors), tiles = vectors / TILE;
    long long turns = (tiles + blocks - 1) / blocks + 2;
    long long last = in_order ? blocks / DOT_THREADS + 1 + 10 : blocks;

    return bound_of((double)(turns * VECTOR + 12 + last));
}

#endif
