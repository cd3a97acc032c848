/* Exercise 12, two_regimes: the price of a try, apart from the storm.
 *
 * Each add pays for the try that wins. While the sum moves, tries fail as well;
 * what they cost, all together, is the storm. A moving run with more adds than
 * threads in flight has the whole of it, whatever its n, and each time a few
 * percent more or less. A launch takes a few us.
 *
 * Task: predict long moving runs from runs of at most 2^22 adds.
 * Constraint: every figure comes from the runs that predict_ms() is given.
 * Before you change it, it fails with: ns per try, as you predict: got
 * Read: lessons/v4_storm, "Two regimes" and "The account". */
#include <math.h>

#include "exercise.h"

enum { ROWS = 128, MOST_GIVEN = 1 << 22 };

struct run {
    double n, in_flight, ms;
};

/* Lesson 5's runs of the 2-byte add, in the order of n. */
struct sweep {
    struct run frozen[ROWS], moving[ROWS];
    int frozens, movings;
};

/* The time of n adds from 0, where n is more than the threads in flight. */
static double predict_ms(const struct sweep *s, double n)
{
    double t_cas_ns, storm_ms;

    /* TODO: which runs show the price alone, and which the whole storm? */
    const struct run *last = &s->moving[s->movings - 1];
    t_cas_ns = last->ms * 1e6 / last->n;
    storm_ms = 0;
    /* END TODO */
    return storm_ms + n * t_cas_ns * 1e-6;
}

static void check(const char *what, double got, double right)
{
    require(fabs(got - right) <= 0.1 * right, NULL,
            "%s: got %.4g, expected %.4g within 10%%", what, got, right);
}

/* Measures a GPU that does not exist as lesson 5 would. */
static void check_made_up(void)
{
    static struct sweep s;
    double t_cas_ns = 0.3 + exercise_random() % 100 / 100.0;
    double storm_ms = 20 + exercise_random() % 400;
    double resident = 50000 + exercise_random() % 300000, n, ms, price_ns;

    s.frozens = s.movings = 0;
    for (n = 1 << 12; n <= MOST_GIVEN; n *= 4) {
        double in_flight = n < resident ? n : resident;
        struct run r = {n, in_flight, 0.005 + n * t_cas_ns * 1e-6};
        s.frozen[s.frozens++] = r;
        r.ms += in_flight / resident * storm_ms * (1.03 - s.movings % 2 * 0.06);
        s.moving[s.movings++] = r;
    }
    ms = predict_ms(&s, n);
    price_ns = (predict_ms(&s, 9 * n) - ms) * 1e6 / (8 * n);
    check("ns per try, as you predict", price_ns, t_cas_ns);
    check("ms for the storm", ms - n * price_ns * 1e-6, storm_ms);
}

/* Hands in the runs of at most 2^22 adds and asks for the longer ones. */
static void check_measured(const char *path)
{
    static struct sweep given, longer;
    char line[512], what[64];
    FILE *file = fopen(path, "r");
    struct run r;
    int i;

    require(file != NULL, NULL, "cannot open %s: wrong directory?", path);
    for (i = 0; i < ROWS && fgets(line, sizeof line, file); i++) {
        const char *moving = strstr(line, ",moving_2B,");
        const char *found = moving ? moving : strstr(line, ",frozen_2B,");
        /* variant,start,cells,threads,n,min_ms */
        if (!found || sscanf(found, ",%*[^,],%*[^,],%*[^,],%lf,%lf,%lf",
                             &r.in_flight, &r.n, &r.ms) != 3)
            continue;
        struct sweep *s = r.n > MOST_GIVEN ? &longer : &given;
        *(moving ? &s->moving[s->movings++] : &s->frozen[s->frozens++]) = r;
    }
    fclose(file);
    require(given.frozens > 1 && given.movings > 1 && longer.movings > 0, NULL,
            "%s has too few runs", path);
    for (i = 0; i < longer.movings; i++) {
        snprintf(what, sizeof what, "ms for %.0f adds", longer.moving[i].n);
        check(what, predict_ms(&given, longer.moving[i].n),
              longer.moving[i].ms);
    }
}

int main(void)
{
    int i;

    exercise_begin(12, "two_regimes");
    for (i = 0; i < 100; i++)
        check_made_up();
    require(1, "the price and the storm of GPUs made up for this check", "");
    check_measured("results/nvidia_h200/lesson5.csv");
    require(1, "runs of an H200 with more than 2^22 adds", "");
    return exercise_end();
}
