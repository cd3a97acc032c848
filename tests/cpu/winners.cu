/* What tools/experiments_winners.h prints of a storm that is made up: four
 * multiprocessors, of which 0 and 1 win once and 3 from then on. With an
 * argument, one win is missing. */
#include <cuda_runtime.h>

#include "../../tools/experiments_winners.h"

int main(int argc, char **argv)
{
    const struct trial t = {0, 0, 8, -1, 1 << 20, NONE, 0, NONE, 0};
    const u64 tries =
        2796 * 1024; /* of the one that is served twice as often */
    uint16_t sum = 0;
    unsigned k;

    (void)argv;
    multiprocessors = 4;
    for (k = 0; k < 4; k++) {
        shares[k].began = 1000 + k;
        shares[k].tries = tries * (k == 3 ? 2 : 1);
        shares[k].swaps_ns = 6400 * (4 - k);
    }
    for (k = 0; k < 2798; k++) {
        wins[sum].ns = argc > 1 && k == 99 ? 0 : 2000 + 1000 * k;
        wins[sum].trying = 1024;
        wins[sum].thread = k;
        wins[sum].sm = k < 2 ? k : 3;
        sum = fp16_add(sum, PRODUCT);
    }
    put_in_order(0);
    print_storm("place", "place %lld", 0, &t);
    print_order(0);
    print_shares(&t);
    add_to_pace();
    print_pace("pace");
    return 0;
}
