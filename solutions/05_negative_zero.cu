/* Exercise 05, negative_zero: adding nothing.
 *
 * Two threads, of two blocks, each add updates[i] to one half of slot i with a
 * 4-byte add; where the mask is 0 the update does not count. So zeros are
 * added: to the other half always, and to the target where it is masked.
 * Neither may change then, not even from -0 to +0: 1 / x tells them apart, and
 * so does a comparison of two checkpoints bit by bit.
 *
 * Task: leave every number that is not to change as it is, bit for bit.
 * Constraint: an update that counts is added 4 bytes wide, so a NaN beside it
 *     becomes 0x7fff: that is no damage, and tells the check of the width.
 * Before you change it, it fails with: the neighbour 0x8000 became 0x0000
 * Read: lessons/v2_fastadd, "Which zero". */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "exercise.h"

enum { BLOCK_THREADS = 256, COUNT = 65536 };

/* The mask is 1 or 0. */
static __global__ void add_masked(half2 *slots, const half *updates,
                                  const half *mask, int high)
{
    int i = (int)(blockIdx.x / 2 * blockDim.x + threadIdx.x);

    /* TODO: what is added to the target where the mask is 0? */
    /* x + -0 is x for every number x, while -0 + +0 is +0. A product with 0
     * has the sign of the update, so it is +0 for half of them: select. */
    half update =
        __half2float(mask[i]) == 0.0f ? __float2half_rn(-0.0f) : updates[i];
    /* END TODO */

    /* TODO: what is added to the other half? */
    /* -0.0f, with the point: -0 is the integer 0, and becomes +0. */
    half zero = __float2half_rn(-0.0f);
    if (high)
        atomicAdd(slots + i, __halves2half2(zero, update));
    else
        atomicAdd(slots + i, __halves2half2(update, zero));
    /* END TODO */
}

static struct data {
    uint16_t slots[COUNT][2], updates[COUNT], mask[COUNT];
} before, after;

/* Updates of one sign to the low or the high halves. Kept, each has one of the
 * 65,536 possible neighbours; masked, one of the 65,536 targets. */
static void check(int masked, unsigned sign, int high)
{
    int i, varied = masked ? high : !high; /* which half takes all values */
    struct data *d;

    for (i = 0; i < COUNT; i++) {
        before.slots[i][varied] = (uint16_t)i;
        before.slots[i][!varied] = masked ? 0x8000 : exercise_half();
        before.updates[i] = (uint16_t)(exercise_half() | sign);
        before.mask[i] = masked ? 0 : 0x3c00;
    }
    CHECK(cudaMalloc((void **)&d, sizeof *d));
    CHECK(cudaMemcpy(d, &before, sizeof *d, cudaMemcpyHostToDevice));
    add_masked<<<2 * COUNT / BLOCK_THREADS, BLOCK_THREADS>>>(
        (half2 *)d->slots, (half *)d->updates, (half *)d->mask, high);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&after, d, sizeof *d, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    for (i = 0; i < COUNT; i++) {
        uint16_t *old = before.slots[i], *now = after.slots[i];
        uint16_t update = before.updates[i];
        uint16_t one = fp16_add(old[high], update);
        uint16_t sum = masked ? old[high] : fp16_add(one, update);
        uint16_t same = fp16_is_nan(old[!high]) ? FP16_NAN : old[!high];
        int still_nan = fp16_is_nan(sum) && fp16_is_nan(now[high]);
        require(now[!high] == same, NULL,
                "the neighbour 0x%04x became 0x%04x, expected 0x%04x",
                old[!high], now[!high], same);
        require(now[high] == sum || still_nan, NULL,
                "%s update 0x%04x: the target 0x%04x became 0x%04x, expected "
                "0x%04x",
                masked ? "masked" : "kept", update, old[high], now[high], sum);
    }
}

int main(void)
{
    exercise_begin(5, "negative_zero");
    check(0, 0, 0);
    require(1, "updates to the low half, beside every neighbour", "");
    check(0, 0, 1);
    require(1, "updates to the high half, beside every neighbour", "");
    check(1, 0, 0);
    check(1, 0x8000, 1);
    check(1, 0x8000, 0);
    check(1, 0, 1);
    require(1, "masked updates of both signs, to every target", "");
    return exercise_end();
}
