/* What the cells hold before a launch, and whether they hold the right sums
 * after it. */
#ifndef CELLS_H
#define CELLS_H

/* Bits of what --start asks for. Halves past 2048 are not all whole numbers. */
static uint16_t half_of_start(long long start)
{
    uint16_t bits = fp16_from_double((double)start);
    double value = fp16_to_double(bits);

    if (value != (double)start)
        lesson_usage_error("--start %lld is not a half; the nearest one is %g",
                           start, value);
    return bits;
}

static void set_cells(const struct storm *s)
{
    enum { CHUNK = 4096 };
    uint16_t words[2 * CHUNK];
    long long i;

    for (i = 0; i < CHUNK; i++) {
        words[2 * i] = s->addends == COUNT ? 0 : s->start;
        words[2 * i + 1] = 0;
    }
    for (i = 0; i < s->cells; i += CHUNK) {
        size_t count =
            s->cells - i < CHUNK ? (size_t)(s->cells - i) : (size_t)CHUNK;
        CHECK(cudaMemcpy(d_cells + 2 * i, words, 4 * count,
                         cudaMemcpyHostToDevice));
    }
}

/* How many adds go to a cell: i = cell, cell + cells … below n. */
static long long adds_to(const struct storm *s, long long cell)
{
    return cell < s->n ? (s->n - cell - 1) / s->cells + 1 : 0;
}

/* Whether both halves of `word` are what so many adds make. All addends of one
 * case are equal, so their order does not matter. But +1 and -1 in any order
 * keep a sum of integers between -2048 and 2048, or within 2 of a larger start:
 * beyond 2048, 1 is at most half a ulp, which rounds to the even one of two
 * neighbours and then stays. So much can be said of it, and no more. */
static int word_is_right(const struct storm *s, const uint16_t *word,
                         long long adds, int way)
{
    uint16_t start = s->addends == COUNT ? 0 : s->start;
    long long beside = way == FOUR_BYTES ? adds : s->neighbour ? adds / 2 : 0;
    long long here = way == FOUR_BYTES ? adds : adds - beside;
    double sum = fp16_to_double(word[0]);
    unsigned count;

    memcpy(&count, word, sizeof count);
    if (s->addends == ALTERNATE)
        return fabs(sum) <= fmax(2048, fp16_to_double(start) + 2) &&
               sum == floor(sum);
    if (s->addends == COUNT && way != FOUR_BYTES)
        return count == (unsigned)adds;
    return word[0] == fp16_add_up(start, PRODUCT, here, NULL) &&
           word[1] == fp16_add_up(0, PRODUCT, beside, NULL);
}

static int sums_are_right(const struct storm *s, int way)
{
    uint16_t *words = (uint16_t *)host_memory(2 * s->cells, sizeof *words);
    long long cell;
    int ok = 1;

    CHECK(cudaMemcpy(words, d_cells, 4 * (size_t)s->cells,
                     cudaMemcpyDeviceToHost));
    for (cell = 0; ok && cell < s->cells; cell++)
        ok = word_is_right(s, words + 2 * cell, adds_to(s, cell), way);
    free(words);
    return ok;
}

#endif
