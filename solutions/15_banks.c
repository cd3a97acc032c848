/* Exercise 15, banks: copies of a histogram that keep out of each other's way.
 *
 * Word k of shared memory is in bank k % 32. When a warp counts, each bank
 * serves one word per turn: lanes that want the same word go together,
 * different words of a bank wait for each other. Lesson 8 has a copy for each
 * lane. Here there is room for 16 copies; lanes i and i + 16 share one.
 *
 * Task: say how many turns a warp takes with one copy; then lay out 16 copies
 * so that two turns are always enough; then sum them up in one turn per step.
 * Constraint: the first without running anything; 16 * 256 words, no more.
 * Before you change it, it fails with: lane i counts value 2 * i: not 1 turn
 * Read: lessons/v7_histogram, "A copy per bank". */
#include "exercise.h"

enum { LANES = 32, BANKS = 32, COPIES = 16, VALUES = 256 };
enum { WORDS = COPIES * VALUES, CASES = 6 };

/* TODO: with one copy, value v is counted in word v. How many turns does a warp
 * take whose lane i counts v = 65; i / 2; i; 2 * i; 8 * i; 32 * i % 256? */
/* 65 is one word, and so is each pair of i / 2. 2 * i goes twice around the
 * banks, 8 * i eight times: 2 and 8 words in a bank. 32 * i % 256 is always in
 * bank 0; there are only 8 such words. */
static const int turns_of[CASES] = {1, 1, 1, 2, 8, 8};
/* END TODO */

/* TODO: the word in which copy 0 … 15 counts value 0 … 255. */
/* Two values side by side fill the 32 banks: copy c can only be in banks c and
 * c + 16, whatever the value is. So only lanes i and i + 16 ever meet. */
static int word_of(int value, int copy)
{
    return value * COPIES + copy;
}
/* END TODO */

/* TODO: at the end, each lane sums up one value: 32 lanes, 32 values in a row,
 * the first a multiple of 32. Which copy does a lane read in step 0 … 15? */
/* All lanes in one copy would be in two banks. Two lanes side by side want
 * both banks of a copy; so each such pair begins with another copy. */
static int copy_at(int step, int lane)
{
    return (step + lane / 2) % COPIES;
}
/* END TODO */

/* Turns for the words that 32 lanes want. */
static int count_turns(const int *words)
{
    int most = 0, bank, i, k, turns;

    for (bank = 0; bank < BANKS; bank++) {
        for (turns = i = 0; i < LANES; i++) {
            for (k = 0; k < i && words[k] != words[i]; k++)
                continue;
            turns += words[i] % BANKS == bank && k == i;
        }
        most = turns > most ? turns : most;
    }
    return most;
}

static void check_turns(void)
{
    static const char *const names[CASES] = {"65",    "i / 2", "i",
                                             "2 * i", "8 * i", "32 * i % 256"};
    int words[CASES][LANES], i, k;

    for (i = 0; i < LANES; i++) {
        words[0][i] = 65;
        words[1][i] = i / 2;
        words[2][i] = i;
        words[3][i] = 2 * i;
        words[4][i] = 8 * i;
        words[5][i] = 32 * i % VALUES;
    }
    for (k = 0; k < CASES; k++)
        require(turns_of[k] == count_turns(words[k]), NULL,
                "lane i counts value %s: not %d %s", names[k], turns_of[k],
                turns_of[k] == 1 ? "turn" : "turns");
    require(1, "the turns with one copy", "");
}

/* Each word counts one value in one copy. And no bank may be wanted by three
 * lanes that use different copies or count different values. */
static void check_layout(void)
{
    static int used[WORDS], reach[BANKS][COPIES];
    int value, copy, word, bank, lanes;

    for (value = 0; value < VALUES; value++)
        for (copy = 0; copy < COPIES; copy++) {
            word = word_of(value, copy);
            require(word >= 0 && word < WORDS, NULL,
                    "value %d in copy %d: there is no word %d", value, copy,
                    word);
            require(used[word]++ == 0, NULL,
                    "value %d in copy %d: word %d is taken", value, copy, word);
            reach[word % BANKS][copy] = 1;
        }
    for (bank = 0; bank < BANKS; bank++) {
        for (lanes = copy = 0; copy < COPIES; copy++)
            lanes += 2 * reach[bank][copy];
        require(lanes <= 2, NULL,
                "%d lanes, each with a value of its own, can meet in bank %d",
                lanes, bank);
    }
    require(1, "two turns for any values", "");
}

static void check_merge(void)
{
    int seen[LANES][COPIES] = {{0}}, words[LANES], first, step, lane, copy;

    for (first = 0; first < VALUES; first += LANES)
        for (step = 0; step < COPIES; step++) {
            for (lane = 0; lane < LANES; lane++) {
                copy = copy_at(step, lane);
                require(copy >= 0 && copy < COPIES, NULL,
                        "step %d, lane %d: there is no copy %d", step, lane,
                        copy);
                require(seen[lane][copy]++ == first / LANES, NULL,
                        "lane %d reads copy %d twice", lane, copy);
                words[lane] = word_of(first + lane, copy);
            }
            require(count_turns(words) == 1, NULL,
                    "step %d of the sum takes %d turns", step,
                    count_turns(words));
        }
    require(1, "one turn for each step of the sum", "");
}

int main(void)
{
    exercise_begin(15, "banks");
    check_turns();
    check_layout();
    check_merge();
    return exercise_end();
}
