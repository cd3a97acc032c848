/* Exercise 11, ns_per_add: what a row says, and what two rows say together.
 *
 * Two runs can differ in their code, GPU and number of adds, and in how they
 * were timed. Their ratio speaks of what differs; if several things differ,
 * it tells none of them from the others.
 *
 * Task: turn a row into nanoseconds per add, two rows into a speedup, and say
 * what that speaks of.
 * Constraint: a speedup compares adds, whatever the two n are.
 * Before you change it, it fails with: ns per add: got
 * Read: results/README.md, "Columns". */
#include <math.h>

#include "exercise.h"

enum { SIZE = 128 };
enum subject { SEVERAL, NOTHING, CODE, GPU, TIMING, NUMBER };

/* One run: n adds took so many ms; `how` they were timed. */
struct row {
    char variant[SIZE], gpu[SIZE], how[SIZE];
    double n, ms;
};

static double ns_per_add(const struct row *row)
{
    /* TODO: how many ns is a ms? */
    /* A ms is 1,000,000 ns, and each row has its own n. */
    return row->ms * 1e6 / row->n;
    /* END TODO */
}

/* How many times as fast an add is in `after` as in `before`. */
static double speedup(const struct row *before, const struct row *after)
{
    /* TODO: what of the two rows can be compared? */
    /* The old time over the new one. Of ms, that would compare the two n, too;
     * per add, it does not. */
    return ns_per_add(before) / ns_per_add(after);
    /* END TODO */
}

/* What their speedup speaks of: the variant (CODE), the GPU, the way of TIMING,
 * the NUMBER of adds; NOTHING if none of these differs. */
static enum subject subject(const struct row *a, const struct row *b)
{
    /* TODO: what is different, and is anything else? */
    /* Each difference is enough to explain a ratio, so one alone gets it. The n
     * is one of them: v0's storm is a fixed cost, and its ns per add fall as n
     * grows. The second unit of a GPU is another GPU. */
    int code = strcmp(a->variant, b->variant) != 0;
    int gpu = strcmp(a->gpu, b->gpu) != 0;
    int timing = strcmp(a->how, b->how) != 0;
    int number = a->n < b->n || a->n > b->n;
    int differences = code + gpu + timing + number;

    if (differences != 1)
        return differences == 0 ? NOTHING : SEVERAL;
    return code ? CODE : gpu ? GPU : timing ? TIMING : NUMBER;
    /* END TODO */
}

static void check_number(const struct row *row, const char *what, double got,
                         double expected, double error)
{
    require(fabs(got - expected) <= error * expected, NULL,
            "%s, n = %.0f, %g ms: %s: got %g, expected %g", row->variant,
            row->n, row->ms, what, got, expected);
}

static void check_subject(const struct row *a, const struct row *b,
                          enum subject expected)
{
    static const char *const names[] = {"SEVERAL", "NOTHING", "CODE",
                                        "GPU",     "TIMING",  "NUMBER"};

    require(subject(a, b) == expected, NULL,
            "a speedup speaks of %s, and you say otherwise:\n"
            "          %s, %s, n = %.0f, %s\n          %s, %s, n = %.0f, %s",
            names[expected], a->variant, a->gpu, a->n, a->how, b->variant,
            b->gpu, b->n, b->how);
}

/* Two rows that differ where `differs` has a bit. */
static void check_made_up(unsigned differs)
{
    static const char *const variants[] = {"v0_half", "v1_pack2", "v2_fastadd"};
    static const char *const gpus[] = {"H200", "H200 (second unit)", "A100"};
    static const char *const hows[] = {"events", "events, 3 runs", "profiler"};
    static const enum subject subjects[16] = {
        NOTHING, CODE, GPU, SEVERAL, TIMING, SEVERAL, SEVERAL, SEVERAL, NUMBER};
    unsigned n = 1000 + exercise_random() % 1000000, other;
    struct row rows[2];
    double ns[2];

    for (unsigned i = 0; i < 2; i++) {
        other = i * differs;
        strcpy(rows[i].variant, variants[(n + (other & 1)) % 3]);
        strcpy(rows[i].gpu, gpus[(n + (other >> 1 & 1)) % 3]);
        strcpy(rows[i].how, hows[(n + (other >> 2 & 1)) % 3]);
        rows[i].n = n * (other >> 3 & 1 ? 7.0 : 1.0);
        ns[i] = 0.5 + exercise_random() % 20000 * 1e-3;
        rows[i].ms = ns[i] * rows[i].n / 1e6;
        check_number(&rows[i], "ns per add", ns_per_add(&rows[i]), ns[i], 1e-9);
    }
    check_number(&rows[0], "speedup", speedup(&rows[0], &rows[1]),
                 ns[0] / ns[1], 1e-9);
    check_subject(&rows[0], &rows[1], subjects[differs]);
}

/* Published rows, of results/nvidia_a100_pcie_40gb.csv and
 * results/nvidia_geforce_rtx_5070.csv. Their figures have three digits. */
static void check_published(void)
{
    static const struct row rows[] = {
        {"v0_half", "A100", "Nsight Compute", 33554432, 422.36},
        {"v2_fastadd", "A100", "Nsight Compute", 33554432, 137.01},
        {"v0_half", "RTX 5070", "events", 33554432, 48.074},
        {"v2_fastadd", "RTX 5070", "events", 33554432, 39.456},
    };
    static const double ns[] = {12.59, 4.08, 1.43, 1.18};
    static const double ratios[] = {3.08, 0, 1.22};

    for (int i = 0; i < 4; i++)
        check_number(&rows[i], "ns per add", ns_per_add(&rows[i]), ns[i],
                     0.005);
    for (int i = 0; i < 4; i += 2) {
        check_number(&rows[i], "speedup", speedup(&rows[i], &rows[i + 1]),
                     ratios[i], 0.005);
        check_subject(&rows[i], &rows[i + 1], CODE);
    }
    check_subject(&rows[0], &rows[2], SEVERAL);
}

int main(void)
{
    exercise_begin(11, "ns_per_add");
    for (unsigned i = 0; i < 160; i++)
        check_made_up(i % 16);
    require(1, "rows made up for this check", "");
    check_published();
    require(1, "published rows of two GPUs", "");
    return exercise_end();
}
