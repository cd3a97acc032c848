/* What a storm of experiments_winners.cu shows, when it has run: who won, in
 * rows of CSV.
 *
 * Columns, empty where they do not apply:
 *   question, setting
 *   in_flight, n, moving  threads, adds, and those that move the sum
 *   ms, tries             until the last of these, and all tries
 *   sm, wins              the multiprocessor that won most, and how often
 *   sms                   how many won at all
 *   next_sm, next_warp    part of the wins after which it, its warp, won again
 *   still                 part of its threads that try, mean of its wins
 *   rounds                its tries per win and thread that tries
 *   served                its tries over those of the mean multiprocessor
 *   equals                how many are served as often, within 5%, itself too
 *   nearer, earlier       how many of these are nearer to the cell; began
 * before first, us             order: the run's first win, and when; pace:
 * between two wins; share: a lone swap */
#ifndef EXPERIMENTS_WINNERS_H
#define EXPERIMENTS_WINNERS_H

#include <stdio.h>
#include <string.h>

#include "account.h"
#include "device.h"
#include "fp16.h"
#include "report.h"

typedef unsigned long long u64;

enum { BLOCK = 256, MOST_WINS = 4096, MOST_SMS = 256 };

struct win {
    u64 ns, trying; /* how many threads tried there, the winner too */
    unsigned thread, sm;
};

/* A multiprocessor: when it began, its tries, how many ns 64 lone swaps take
 * it, and how many of its threads try now. */
struct share {
    u64 began, tries, swaps_ns, trying;
};

struct trial {
    int long_lived, lock, blocks_each, carveout;
    unsigned n;
    unsigned ahead; /* this multiprocessor begins `late` ns before the others */
    u64 late;
    unsigned muted; /* this one and its neighbour wait for the freeze */
    size_t place;   /* of the cell, in words */
};

enum { NONE = 1 << 30 };

enum { PRODUCT = 0x211e, FROZEN = 0x5000 }; /* 0.00999451 and 32, lesson 5's */

static struct win wins[65536]; /* under the old value; the lock's in order */
static struct win order[MOST_WINS];
static struct share shares[MOST_SMS];
static int multiprocessors, won; /* won: how many wins are in order[] */

/* Puts the wins into order[]. */
static void put_in_order(int lock)
{
    uint16_t sum = 0, next;

    for (won = 0; won < (int)MOVING; won++) {
        next = fp16_add(sum, PRODUCT);
        order[won] = wins[lock ? won : sum];
        if (order[won].ns == 0 || next == sum) {
            complain("experiments: win %d was not noted", won + 1);
            exit(EXIT_WRONG);
        }
        sum = next;
    }
}

/* The multiprocessor that won most often; of[sm]: how often each did. */
static unsigned find_top(int *of)
{
    unsigned top = 0, sm;
    int k;

    memset(of, 0, MOST_SMS * sizeof *of);
    for (k = 0; k < won; k++)
        of[order[k].sm]++;
    for (sm = 0; sm < (unsigned)multiprocessors; sm++)
        if (of[sm] > of[top])
            top = sm;
    return top;
}

static u64 begin_of_all(void)
{
    u64 least = ~0ull;
    int sm;

    for (sm = 0; sm < multiprocessors; sm++)
        if (shares[sm].began < least)
            least = shares[sm].began;
    return least;
}

static int takes_part(const struct trial *t, int sm)
{
    return (unsigned)sm / 2 != t->muted / 2;
}

/* A multiprocessor's tries over those of the mean one. */
static double served(const struct trial *t, unsigned sm)
{
    double tries = 0;
    int part = 0, k;

    for (k = 0; k < multiprocessors; k++)
        if (takes_part(t, k)) {
            tries += (double)shares[k].tries;
            part++;
        }
    return (double)shares[sm].tries * part / tries;
}

/* A row of a storm, or of the lock. */
static void print_storm(const char *question, const char *setting,
                        long long value, const struct trial *t)
{
    int of[MOST_SMS], sms = 0, next_sm = 0, next_warp = 0, part = 0, k;
    int equals = 0, nearer = 0, earlier = 0, each = t->blocks_each * BLOCK;
    unsigned top = find_top(of);
    double tries = 0, trying = 0, of_top = served(t, top);

    for (k = 0; k < multiprocessors; k++) {
        double to_top = served(t, (unsigned)k) / of_top;
        sms += of[k] > 0;
        part += takes_part(t, k);
        tries += (double)shares[k].tries;
        if (to_top < 0.95 || to_top > 1.05)
            continue;
        equals++;
        nearer += shares[k].swaps_ns < shares[top].swaps_ns;
        earlier += shares[k].began < shares[top].began;
    }
    for (k = 1; k < won; k++) {
        next_sm += order[k].sm == order[k - 1].sm;
        next_warp += order[k].thread / 32 == order[k - 1].thread / 32;
    }
    for (k = 0; k < won; k++)
        if (order[k].sm == top)
            trying += (double)order[k].trying;
    printf("%s,", question);
    printf(setting, value);
    printf(",%d,%u,%d,%.5g,%.0f,%u,%d,%d,%.4f,%.4f,%.3f,%.3f,%.3f,%d,%d,%d,,\n",
           each * part, t->lock ? (unsigned)won : t->n, won,
           (double)(order[won - 1].ns - begin_of_all()) / 1e6, tries, top,
           of[top], sms, next_sm / (won - 1.0), next_warp / (won - 1.0),
           trying / of[top] / each,
           trying > 0 ? (double)shares[top].tries / trying : 0, of_top, equals,
           nearer, earlier);
    fflush(stdout);
}

/* Rows of a storm, win after win: a run is of one multiprocessor. */
static void print_order(int place)
{
    u64 begin = begin_of_all();
    int k, first = 0;

    for (k = 1; k <= won; k++)
        if (k == won || order[k].sm != order[first].sm) {
            printf("order,place %d,,,,,,%u,%d,,,,,,,,,,%d,%.0f\n", place,
                   order[first].sm, k - first, first + 1,
                   (double)(order[first].ns - begin) / 1e3);
            first = k;
        }
}

/* Rows of a storm, a multiprocessor each. */
static void print_shares(const struct trial *t)
{
    int of[MOST_SMS], sm;

    find_top(of);
    for (sm = 0; sm < multiprocessors; sm++)
        printf("share,place 0,,,,,%llu,%d,%d,,,,,,%.3f,,,,,%.3f\n",
               shares[sm].tries, sm, of[sm], served(t, (unsigned)sm),
               (double)shares[sm].swaps_ns / 64e3);
}

/* How long it takes until the next win of the same multiprocessor, by how many
 * of its threads still try. */
static struct {
    double us;
    int wins;
} pace[2048 / BLOCK];

static void add_to_pace(void)
{
    int k;

    for (k = 1; k < won; k++)
        if (order[k].sm == order[k - 1].sm && order[k].trying > 0 &&
            order[k].trying <= 2048) {
            int bin = (int)(order[k].trying - 1) / BLOCK;
            pace[bin].us += (double)(order[k].ns - order[k - 1].ns) / 1e3;
            pace[bin].wins++;
        }
}

static void print_pace(const char *question)
{
    int bin;

    for (bin = 0; bin < 2048 / BLOCK; bin++)
        if (pace[bin].wins > 0)
            printf("%s,%d to %d threads,,,,,,,%d,,,,,,,,,,,%.2f\n", question,
                   bin * BLOCK + 1, (bin + 1) * BLOCK, pace[bin].wins,
                   pace[bin].us / pace[bin].wins);
    memset(pace, 0, sizeof pace);
}

#endif
