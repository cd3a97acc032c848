/* The account in numbers: what it predicts before anything is measured, and how
 * it fits what was. */
#ifndef PREDICTION_H
#define PREDICTION_H

#include "measure.h"

/* v0/v2 for the sources' test case. */
static double ratio_of(double k, double in_flight)
{
    return tries_of(CASE_N, k, MOVING, in_flight) / (CASE_N * PRICES);
}

/* From the threads that the device holds, and the published prices and k. */
static void report_prediction(void)
{
    double r = (double)limit_threads(0), v2_ms = CASE_N * LIKELY_T_ADD * 1e-6;
    double least_ms = CASE_N * LEAST_T_ADD * 1e-6;
    double most_ms = CASE_N * MOST_T_ADD * 1e-6;
    double even = MOVING * r / (PRICES - 1); /* times k: the n of v0 = v2 */

    report("predicted",
           "v0/v2 = %.2f (%.2f to %.2f) for 2^25 adds from 0, "
           "with %.0f threads in flight",
           ratio_of(LIKELY_K, r), ratio_of(LEAST_K, r), ratio_of(MOST_K, r), r);
    report("", "v2 %.1f ms (%.1f to %.1f), v0 %.1f ms (%.1f to %.1f)", v2_ms,
           least_ms, most_ms, v2_ms * ratio_of(LIKELY_K, r),
           least_ms * ratio_of(LEAST_K, r), most_ms * ratio_of(MOST_K, r));
    report("", "the 2-byte version overtakes from n = %.2g (%.2g to %.2g)",
           LIKELY_K * even, LEAST_K * even, MOST_K * even);
}

/* --- what was measured --- */

struct account {
    double t_cas, t_add, k; /* ns, ns, 1 */
    double in_flight;
};

/* The prices from a frozen row, k from a moving one: neither of them is the
 * test case that is then predicted. */
static struct account fit(const struct outcome *frozen,
                          const struct outcome *moving)
{
    struct account a;
    double n = (double)frozen->n, tries;

    a.t_cas = timing_min_ms(&frozen->times[TWO_BYTES]) * 1e6 / n;
    a.t_add = timing_min_ms(&frozen->times[FOUR_BYTES]) * 1e6 / n;
    a.in_flight = (double)moving->in_flight;
    tries = timing_min_ms(&moving->times[TWO_BYTES]) * 1e6 / a.t_cas;
    a.k = (tries - (double)moving->n) / (MOVING * a.in_flight);
    report("account",
           "t_cas %.3f ns and t_add %.3f ns (frozen, n = %.0f), "
           "t_add/t_cas %.3f",
           a.t_cas, a.t_add, n, a.t_add / a.t_cas);
    report("", "k = %.3f (from 0, n = %lld)", a.k, moving->n);
    return a;
}

/* Nothing of a case that was left out. */
static void report_predicted(const struct account *a, const struct outcome *o)
{
    double n = (double)o->n, ms, predicted_ms;

    if (o->times[TWO_BYTES].runs == 0)
        return;
    ms = timing_min_ms(&o->times[TWO_BYTES]);
    predicted_ms = tries_of(n, a->k, MOVING, a->in_flight) * a->t_cas * 1e-6;
    report("", "n = %.4g: v0 predicted %.1f ms, measured %.1f ms (%+.1f%%)", n,
           predicted_ms, ms, 100 * (predicted_ms / ms - 1));
}

/* In the model k is a count: the tries that failed, for each thread in flight
 * and each add that moved the sum. */
static void report_model(const struct outcome *last)
{
    report("account",
           "k = %.2f, from (tries - 1) n / (M R): the model's, not a GPU's",
           (last->tries - 1) * (double)last->n /
               (MOVING * (double)last->in_flight));
    report("",
           "it follows from how long the model lets a thread wait, and from "
           "the seed;");
    report("", "where it is close to a GPU's, that is chance");
}

enum { FIT_ROW = 5, LAST_ROW = 8 }; /* of a sweep from 2^12: 2^22, 2^28 */

/* The account is fitted to the rows for 2^22 adds and then predicts the test
 * case and the last row, which it has not seen. */
static void report_account(const struct outcome *zero, int zeros,
                           const struct outcome *frozen, int frozens,
                           const struct outcome *of_case)
{
    struct account a;

    if (lesson.emulated)
        report_model(&zero[zeros - 1]);
    if (lesson.emulated || zeros <= FIT_ROW || frozens <= FIT_ROW)
        return;
    a = fit(&frozen[FIT_ROW], &zero[FIT_ROW]);
    report_predicted(&a, of_case);
    report_predicted(&a, &zero[LAST_ROW]);
    report("", "v0 overtakes v2 from n = %.3g",
           a.k * MOVING * a.in_flight * a.t_cas / (a.t_add - a.t_cas));
}

#endif
