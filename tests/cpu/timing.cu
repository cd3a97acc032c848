/* What common/timing.h makes of the times of the runs: which of them count, the
 * smallest, the median of an odd and of an even number, the spread. */
#include <cuda_runtime.h>

#include "timing.h"

static void check(const char *what, double got, double expected)
{
    printf("%s - %s: %g, expected %g\n", got == expected ? "ok" : "not ok",
           what, got, expected);
}

/* The times stand in no order, and the first two are the smallest. */
static void check_runs(int runs, double min, double median, double spread)
{
    static const float ms[] = {0.5f, 1, 8, 2, 16, 4, 32};
    static struct timing t;

    t.runs = runs;
    memcpy(t.ms, ms, sizeof ms);
    printf("%d runs\n", runs);
    check("the smallest", timing_min_ms(&t), min);
    check("the median", timing_median_ms(&t), median);
    check("the spread", timing_spread(&t), spread);
}

int main(void)
{
    check_runs(1, 0.5, 0.5, 0);
    check_runs(2, 1, 1, 0);
    check_runs(3, 8, 8, 0);
    check_runs(4, 2, 5, 3);
    check_runs(5, 2, 8, 7);
    check_runs(6, 2, 6, 7);
    check_runs(7, 2, 8, 15);
    return 0;
}
