/* Where the cells lie: is the storm another one at another place, and which
 * cells wait for each other? Needs a GPU; `make experiments` runs it.
 * docs/reading_speedups.md reads the answers. experiments.h has the columns. */
#include "experiments.h"

/* No power of two, so that places differ in all bits of the address. */
enum { PLACES = 32, PLACE_BYTES = (4 << 20) + 37 * 4096 + 32 };

static void ask_place(void)
{
    struct trial t = plain;
    size_t i;

    t.question = "place";
    t.n = 1 << 16;
    for (i = 0; i < PLACES; i++) {
        t.place = i * PLACE_BYTES;
        measure(&t, BY_HAND, "at byte %lld", (long long)t.place);
    }
}

/* Two cells, from 4 bytes to 64 KB apart, and one cell to compare with. All
 * tries win, as the sums stand still. Do the lanes of a warp take turns at the
 * cells, or whole warps? */
static void ask_apart(void)
{
    static const char *const settings[] = {"by lane; %lld bytes apart",
                                           "by warp; %lld bytes apart"};
    struct trial t = plain;
    int by_warp;

    t.question = "apart";
    t.start = FROZEN;
    t.n = 1 << 22;
    for (by_warp = 0; by_warp <= 1; by_warp++) {
        t.together = by_warp ? 32 : 1;
        for (t.apart = 0; t.apart <= 1 << 16;
             t.apart = t.apart ? t.apart * 2 : 4) {
            t.count = t.apart ? 2 : 1;
            t.question = "apart_4_bytes";
            measure(&t, FOUR_BYTES, settings[by_warp], t.apart);
            t.question = "apart_2_bytes";
            measure(&t, TWO_BYTES, settings[by_warp], t.apart);
        }
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv, (size_t)PLACES * PLACE_BYTES, NULL, 0);
    ask_apart();
    ask_place();
    CHECK(cudaFree(d_cells));
    CHECK(cudaFree(d_tries));
    return 0;
}
