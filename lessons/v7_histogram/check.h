/* The check: whether the cells hold the CPU's counts, and nothing else was
 * written. */
#ifndef CHECK_H
#define CHECK_H

#include <string.h>

#include "data.h"

enum { SLOTS = VALUES + 2, GUARD = 0x5a }; /* bins, outside, and a guard */

static size_t cell_size(const struct variant *v)
{
    return v->type == FLOAT && v->place == GLOBAL ? sizeof(float)
                                                  : sizeof(count64);
}

static void clear_counts(const struct variant *v)
{
    unsigned char image[SLOTS * sizeof(count64)];

    memset(image, GUARD, sizeof image);
    memset(image, 0, (size_t)(work.bins + 1) * cell_size(v));
    CHECK(
        cudaMemcpy(work.d_counts, image, sizeof image, cudaMemcpyHostToDevice));
}

static count64 read_cell(const unsigned char *cell, size_t size)
{
    count64 count;
    float number;

    memcpy(&count, cell, sizeof count);
    memcpy(&number, cell, sizeof number);
    return size == sizeof count ? count : (count64)number;
}

/* Whether each slot holds what it should, and nothing behind them was written.
 */
static int counts_are_right(const struct variant *v, int kind, count64 *total)
{
    unsigned char image[SLOTS * sizeof(count64)];
    const count64 *tally =
        v->type == FLOAT ? data[kind].first : data[kind].counts;
    count64 expected[SLOTS] = {0};
    size_t size = cell_size(v), bins = (size_t)work.bins, k;
    int ok = 1;

    for (k = 0; k < VALUES; k++)
        expected[k < bins ? k : bins] += tally[k];
    CHECK(
        cudaMemcpy(image, work.d_counts, sizeof image, cudaMemcpyDeviceToHost));
    for (*total = 0, k = 0; k <= bins; k++) {
        count64 count = read_cell(image + k * size, size);
        ok &= count == expected[k];
        *total += count;
    }
    for (k *= size; k < sizeof image; k++)
        ok &= image[k] == GUARD;
    return ok && *total == (count64)bytes_of(v);
}

#endif
