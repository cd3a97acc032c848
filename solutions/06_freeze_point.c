/* Exercise 06, freeze_point: where a sum stops, worked out from the format.
 *
 * Add one value again and again, from 0. The sum is rounded at every add, and
 * in the end it does not move any more. find_freeze() finds where, and after
 * how many adds, by doing them all: for lesson 1's product in float that is 23
 * million.
 *
 * Task: let it take many adds at a time, with the same answer to the last bit.
 * Constraint: a few steps for each binade (the numbers from 2^k to 2^(k+1)).
 * Before you change it, it fails with: take many adds at a time
 * Read: lessons/v0_half, "Why 32"; docs/half_precision.md, "Rounding". */
#include "exercise.h"

/* All numbers are positive and count in units of 2^-24, the least half: 1.0 is
 * 16777216. Infinity stands at the power of two where it begins. */
struct format {
    int digits;         /* significant bits: 11 in half, 24 in float */
    long long infinity; /* 65536 in half */
};

struct freeze {
    long long sum;
    long long adds; /* that moved it */
};

/* The gap between the format's numbers from x to the end of x's binade, which
 * is at ulp_of(x, f) << f->digits. */
static long long ulp_of(long long x, const struct format *f)
{
    long long ulp = 1;

    while (x >= ulp << f->digits)
        ulp *= 2;
    return ulp;
}

/* sum + addend, rounded to nearest, ties to even. */
static long long add(long long sum, long long addend, const struct format *f)
{
    long long exact = sum + addend, ulp = ulp_of(exact, f);
    long long low = exact / ulp, rest = exact % ulp;
    int up = 2 * rest > ulp || (2 * rest == ulp && low % 2 != 0);
    long long rounded = (low + up) * ulp;

    return rounded < f->infinity ? rounded : f->infinity;
}

static struct freeze find_freeze(long long addend, const struct format *f)
{
    struct freeze at = {0, 0};

    /* TODO: how far does the next step carry? */
    /* The ulp is the same all over a binade. So adds that stay in it move the
     * sum by one step, and the count up to the binade's end is a division. Two
     * adds disturb this. One that leaves the binade is rounded to the coarser
     * ulp beyond; one from an odd multiple of the ulp may break a tie the
     * other way than those that follow. Hence one real add wherever two in a
     * row differ; there are only a few for each binade. */
    long long once, twice, end, times;

    while ((once = add(at.sum, addend, f)) != at.sum) {
        twice = add(once, addend, f);
        end = ulp_of(at.sum, f) << f->digits;
        times = 1;
        if (twice <= end && twice - once == once - at.sum)
            times = (end - at.sum) / (once - at.sum);
        at.sum += times * (once - at.sum);
        at.adds += times;
    }
    /* END TODO */
    return at;
}

static void check(long long addend, const struct format *f, long long sum,
                  long long adds)
{
    clock_t begin = clock();
    struct freeze at = find_freeze(addend, f);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;

    require(at.sum >= 0 && at.sum <= f->infinity &&
                add(at.sum, addend, f) == at.sum,
            NULL, "%d digits, adding %lld units: it does not stop at %lld",
            f->digits, addend, at.sum);
    require(at.sum == sum && at.adds == adds, NULL,
            "%d digits, adding %lld units: stops at %lld after %lld adds, "
            "expected %lld after %lld",
            f->digits, addend, at.sum, at.adds, sum, adds);
    require(seconds < 0.2, NULL,
            "%d digits took %.1f s, and each digit more takes twice as long: "
            "take many adds at a time",
            f->digits, seconds);
}

/* In a format of d digits the least addend moves the sum 2^d times. One add at
 * a time takes longer and longer. */
static void check_digits(void)
{
    struct format f = {2, 1LL << 60};

    for (; f.digits <= 40; f.digits++)
        check(1, &f, 1LL << f.digits, 1LL << f.digits);
    require(1, "the least addend, in formats of 2 to 40 digits", "");
}

static long long units_of(double value)
{
    return (long long)(value * 0x1p24);
}

static void check_half(uint16_t addend)
{
    const struct format half = {11, 65536LL << 24};
    uint16_t sum = 0;
    long long adds = 0;

    for (; fp16_add(sum, addend) != sum; adds++)
        sum = fp16_add(sum, addend);
    check(units_of(fp16_to_double(addend)), &half,
          fp16_is_inf(sum) ? half.infinity : units_of(fp16_to_double(sum)),
          adds);
}

static void check_float(float addend)
{
    const struct format f = {24, 1LL << 60};
    float sum = 0;
    long long adds = 0;

    for (; sum + addend != sum; adds++)
        sum += addend;
    check(units_of((double)addend), &f, units_of((double)sum), adds);
}

int main(void)
{
    uint16_t addend;

    exercise_begin(6, "freeze_point");
    check_digits();
    for (addend = 0x0001; addend < 0x7c00; addend++)
        check_half(addend);
    require(1, "each of the 31743 positive halves", "");
    check_float(fp16_to_float(0x211e));
    require(1, "lesson 1's product in float, which stops at 262144", "");
    return exercise_end();
}
