/* Measures case after case, and prints a row for each. */
#ifndef SWEEP_H
#define SWEEP_H

#include "measure.h"

enum { MAX_ROWS = 12 };

/* A table begins: what the sums start from and what is added. */
static void report_table(const char *label, const char *title)
{
    report(label, "%s", title);
    if (lesson.emulated)
        report("", "%10s %10s %14s", "adds", "in flight", "tries per add");
    else
        report("", "%10s %10s %12s %12s %9s %14s", "adds", "in flight",
               "2 bytes ms", "4 bytes ms", "2B/4B", "tries per add");
}

static void format_n(char *text, size_t size, long long n)
{
    int power = 0;

    while (1LL << power < n)
        power++;
    if (1LL << power == n)
        snprintf(text, size, "2^%d", power);
    else
        snprintf(text, size, "%lld", n);
}

static void report_row(const struct storm *s, const char *name,
                       const struct outcome *o)
{
    const struct timing *two = &o->times[TWO_BYTES];
    const struct timing *four = &o->times[FOUR_BYTES];
    double start = fp16_to_double(s->start);
    char n[24], tries[24] = "-", variant[48];

    format_n(n, sizeof n, s->n);
    if (o->tries > 0)
        snprintf(tries, sizeof tries, "%.2f", o->tries);
    if (lesson.emulated)
        report("", "%10s %10lld %14s%s", n, o->in_flight, tries,
               o->ok ? "" : "   WRONG");
    else
        report("", "%10s %10lld %12.4g %12.4g %9.3g %14s%s", n, o->in_flight,
               timing_min_ms(two), timing_min_ms(four),
               timing_min_ms(two) / timing_min_ms(four), tries,
               o->ok ? "" : "   WRONG");
    snprintf(variant, sizeof variant, "%s_2B", name);
    csv_sweep(variant, start, s->cells, o->in_flight, s->n, two, o->tries);
    snprintf(variant, sizeof variant, "%s_4B", name);
    csv_sweep(variant, start, s->cells, o->in_flight, s->n, four, 0);
}

/* Measures and reports one case. *all_ok &= its sum is right. Returns 0 where
 * it was left out for its time, which it says. */
static int run_case(const struct storm *s, const char *name, double limit_ms,
                    struct outcome *o, int *all_ok)
{
    char n[24];
    int done = measure(s, limit_ms, o);

    format_n(n, sizeof n, s->n);
    if (done)
        report_row(s, name, o);
    else
        report("", "%10s %10lld left out: up to %.0f ms per launch", n,
               o->in_flight, limit_ms);
    *all_ok &= o->ok;
    return done;
}

/* Rows for n = 2^12, 2^14 … 2^last, or in the model 2^8 … 2^last_modelled;
 * their outcomes go to o[0], o[1] … Returns how many there are. */
static int sweep(struct storm s, const char *name, int last, int last_modelled,
                 struct outcome *o, int *all_ok)
{
    double before_ms = 0;
    long long before_n = 0;
    int count = 0, power = lesson.emulated ? 8 : 12;

    if (lesson.emulated)
        last = last_modelled;
    for (; power <= last; power += 2) {
        s.n = 1LL << power;
        if (!run_case(&s, name, bound_ms(&s, before_n, before_ms), &o[count],
                      all_ok))
            break;
        before_n = s.n;
        before_ms = timing_min_ms(&o[count++].times[TWO_BYTES]);
    }
    return count;
}

#endif
