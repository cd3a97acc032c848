/* The table of errors against n, for some steps of the ladder. */
#ifndef ERRORS_H
#define ERRORS_H

#include <math.h>

#include "ladder.h"

static int sweep_errors(long long most)
{
    static const int shown[] = {HALF_THREAD, BF16_THREAD, FLOAT_THREAD, FULL};
    double error[4], sum;
    struct range r;
    int k, ok = 1;
    long long n;

    report("errors", "%10s %20s %20s %21s %8s", "n", steps[HALF_THREAD].name,
           steps[BF16_THREAD].name, steps[FLOAT_THREAD].name, "full");
    for (n = 1 << 8; n <= most; n *= 4) {
        set_exact(n);
        for (k = 0; k < 4; k++) {
            CHECK(cudaMemset(d_cell, 0, 4));
            r = expected_sum(shown[k], n);
            launch(shown[k], n);
            sum = read_sum(shown[k]);
            ok &= sum >= r.low && sum <= r.high;
            error[k] = fabs(sum - exact.sum) / exact.sum;
            csv_step(shown[k], n, NULL, 0, sum, error[k]);
        }
        report("", "%10lld %20.2g %20.2g %21.2g %8.2g%s", n, error[0], error[1],
               error[2], error[3], ok ? "" : "  WRONG");
    }
    return ok;
}

#endif
