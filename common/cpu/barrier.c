/* Barriers, shuffles and votes: who waits for whom, and what they take away. */
#include "barrier.h"

#include <stdio.h>

static const char *const cpu_place_names[] = {
    "nowhere",        "__syncthreads",    "__syncwarp",      "__shfl_sync",
    "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync",
    "__all_sync",     "__match_any_sync", "__activemask",    "an atomic"};

static unsigned bit(unsigned lane)
{
    return 1u << lane;
}

void cpu_block_begin(struct cpu_block *block, unsigned count, unsigned first)
{
    unsigned warp, end;

    block->count = count;
    block->live = count - first;
    block->at_barrier = 0;
    memset(block->place, CPU_NOWHERE, count);
    for (warp = 0; warp * LANES < count; warp++) {
        end = count - warp * LANES;
        block->lanes[warp] = end >= LANES ? ~0u : bit(end) - 1;
    }
    /* Of a warp that has exited nobody will ask. */
    block->lanes[first / LANES] &= ~(bit(first % LANES) - 1);
}

static void release(struct cpu_block *block, unsigned thread, unsigned self)
{
    block->place[thread] = CPU_NOWHERE;
    if (thread != self)
        block->release(block, thread);
}

/* --- the block --- */

/* Everybody takes away how many brought 1 (high half) and how many met. */
static int complete_block(struct cpu_block *block, unsigned self)
{
    unsigned long long met = block->at_barrier;
    unsigned i;

    if (block->at_barrier != block->live || block->live == 0)
        return 0;
    for (i = 0; i < block->count; i++)
        if (block->place[i] == CPU_SYNCTHREADS)
            met += block->waiter[i].value << 32;
    block->at_barrier = 0;
    for (i = block->count; i-- > 0;)
        if (block->place[i] == CPU_SYNCTHREADS) {
            block->waiter[i].value = met;
            release(block, i, self);
        }
    return 1;
}

/* --- the warp --- */

/* What each lane of the group takes away. */
static void exchange(const struct cpu_waiter *warp, enum cpu_place place,
                     unsigned group, unsigned long long *taken)
{
    unsigned long long ballot = 0;
    unsigned lane, other;

    for (lane = 0; lane < LANES; lane++)
        if (group & bit(lane) && warp[lane].value)
            ballot |= bit(lane);
    for (lane = 0; lane < LANES; lane++) {
        if (!(group & bit(lane)))
            continue;
        taken[lane] = ballot;
        if (place == CPU_ALL)
            taken[lane] = ballot == group;
        else if (place >= CPU_SHFL && place <= CPU_SHFL_XOR)
            taken[lane] = group & bit(warp[lane].source)
                              ? warp[warp[lane].source].value
                              : ~0ull;
        if (place != CPU_MATCH)
            continue;
        taken[lane] = 0;
        for (other = 0; other < LANES; other++)
            if (group & bit(other) && warp[other].value == warp[lane].value)
                taken[lane] |= bit(other);
    }
}

/* Whether all live lanes that the mask of this thread names are at its place
 * with the same mask; then they meet. */
static int complete_warp(struct cpu_block *block, unsigned thread,
                         unsigned self)
{
    unsigned first = thread / LANES * LANES, lane;
    enum cpu_place place = (enum cpu_place)block->place[thread];
    struct cpu_waiter *warp = &block->waiter[first];
    unsigned mask = block->waiter[thread].mask;
    unsigned group = mask & block->lanes[thread / LANES];
    unsigned long long taken[LANES];

    for (lane = LANES; lane-- > 0;) /* the last ones come last */
        if (group & bit(lane) &&
            (block->place[first + lane] != place || warp[lane].mask != mask))
            return 0;
    exchange(warp, place, group, taken);
    for (lane = LANES; lane-- > 0;)
        if (group & bit(lane)) {
            warp[lane].value = taken[lane];
            release(block, first + lane, self);
        }
    return 1;
}

static int is_in_warp(enum cpu_place place)
{
    return place >= CPU_SYNCWARP && place <= CPU_MATCH;
}

/* --- coming and going --- */

int cpu_block_arrive(struct cpu_block *block, unsigned thread,
                     enum cpu_place place)
{
    block->place[thread] = (unsigned char)place;
    if (is_in_warp(place))
        return complete_warp(block, thread, thread);
    if (place != CPU_SYNCTHREADS)
        return 0;
    block->at_barrier++;
    return complete_block(block, thread);
}

void cpu_block_leave(struct cpu_block *block, unsigned thread)
{
    unsigned first = thread / LANES * LANES, i;

    block->live--;
    block->lanes[thread / LANES] &= ~bit(thread % LANES);
    for (i = first; i < first + LANES && i < block->count; i++)
        if (is_in_warp((enum cpu_place)block->place[i]) &&
            block->waiter[i].mask & bit(thread % LANES))
            complete_warp(block, i, MAX_BLOCK_THREADS);
    complete_block(block, MAX_BLOCK_THREADS);
}

int cpu_block_release_active(struct cpu_block *block)
{
    unsigned first, i, line, group, found = 0;

    for (first = 0; first < block->count; first += LANES) {
        line = group = 0;
        for (i = first; i < first + LANES && i < block->count; i++)
            if (block->place[i] == CPU_ACTIVEMASK &&
                (line == 0 || line == block->waiter[i].mask)) {
                line = block->waiter[i].mask;
                group |= bit(i - first);
            }
        for (i = first + LANES; i-- > first;)
            if (group & bit(i - first)) {
                block->waiter[i].value = group;
                release(block, i, MAX_BLOCK_THREADS);
            }
        found |= group;
    }
    return found != 0;
}

/* --- in words --- */

static unsigned is_same(const struct cpu_block *block, unsigned a, unsigned b)
{
    return block->place[a] == block->place[b] &&
           block->waiter[a].mask == block->waiter[b].mask;
}

void cpu_block_describe(const struct cpu_block *block, char *text, size_t size)
{
    unsigned i, k, like, parts = 0;
    size_t used = 0;

    for (i = 0; i < block->count && parts < 3 && used < size; i++) {
        if (block->place[i] == CPU_NOWHERE)
            continue;
        for (k = 0; k < i && !is_same(block, k, i);)
            k++;
        if (k < i)
            continue; /* told already */
        for (like = 0, k = i; k < block->count; k++)
            like += is_same(block, k, i);
        used += (size_t)snprintf(text + used, size - used, "%s%u in %s",
                                 parts++ ? ", " : "", like,
                                 cpu_place_names[block->place[i]]);
        if (is_in_warp((enum cpu_place)block->place[i]) && used < size)
            used += (size_t)snprintf(text + used, size - used, "(0x%08x)",
                                     block->waiter[i].mask);
    }
}
