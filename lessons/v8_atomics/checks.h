/* Whether a counter, a ring, a lock and an add to a double did what they
 * should, from what the threads left. Host code only; C11 and CUDA C++. */
#ifndef CHECKS_H
#define CHECKS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "device.h"
#include "report.h"

/* --- to the device and back --- */

static inline void *to_device(const void *data, size_t bytes)
{
    void *d_data;

    CHECK(cudaMalloc(&d_data, bytes));
    CHECK(cudaMemcpy(d_data, data, bytes, cudaMemcpyHostToDevice));
    return d_data;
}

/* After a launch: fetches what it left, and frees it on the device. */
static inline void from_device(void *data, void *d_data, size_t bytes)
{
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(data, d_data, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_data));
}

/* --- counters --- */

/* Whether each number below `count` is there once. */
static inline int are_all_there(const unsigned *numbers, unsigned count)
{
    char *there = (char *)host_memory(count, 1);
    unsigned i;
    int ok = 1;

    for (i = 0; i < count; i++)
        ok &= numbers[i] < count && !there[numbers[i]]++;
    free(there);
    return ok;
}

static inline int report_counter(unsigned counter, const unsigned *taken,
                                 unsigned threads)
{
    int ok = counter == threads && are_all_there(taken, threads);

    report("counter", "atomicAdd(c, 1): %u threads drew each ticket once: %s",
           threads, ok ? "ok" : "WRONG");
    return ok;
}

/* seen[0 .. count - 1]: how often the counter had each value. */
static inline int report_wrap(unsigned counter, unsigned limit, unsigned rounds,
                              const unsigned *seen, unsigned count)
{
    unsigned i;
    int ok = counter == 0;

    for (i = 0; i < count; i++)
        ok &= seen[i] == (i <= limit ? rounds : 0);
    report("wrap",
           "atomicInc(c, %u) takes 0 to %u, a period of %u: %u calls, %u of "
           "each: %s",
           limit, limit, limit + 1, rounds * (limit + 1), rounds,
           ok ? "ok" : "WRONG");
    return ok;
}

/* --- the log behind the lock --- */

/* Each thread is in it once, and each sum is that of the entries so far. */
static inline int report_lock(unsigned lock, unsigned count,
                              const unsigned *entries, const unsigned *sums,
                              unsigned threads)
{
    unsigned sum = 0, i;
    int ok = lock == 0 && count == threads && are_all_there(entries, threads);

    for (i = 0; i < threads; i++) {
        sum += entries[i];
        ok &= sums[i] == sum;
    }
    report("lock",
           "%u threads entered a log, one at a time, each sum in it "
           "right: %s",
           threads, ok ? "ok" : "WRONG");
    return ok;
}

/* --- the add to a double --- */

/* Cells and values. For a cell each (stride 1), every pair of these; for one
 * cell (stride 0), whole numbers, so that the order does not matter. */
static inline void set_doubles(double *cells, double *values, int count,
                               unsigned stride)
{
    enum { SORTS = 9 };
    const double sorts[SORTS] = {0,      -0.0,    1,         -1.5, 0.1,
                                 0x1p53, DBL_MAX, -INFINITY, NAN};
    int i;

    for (i = 0; i < count; i++) {
        cells[i] = stride ? sorts[i % SORTS] : 0;
        values[i] = stride ? sorts[i / SORTS % SORTS] : i;
    }
}

/* Whether both have the same bits, but for NaNs, and on one cell the sum of 0
 * to count - 1. */
static inline int are_doubles_right(const double *by_hardware,
                                    const double *by_cas, int count,
                                    unsigned stride)
{
    int i, ok = 1;

    for (i = 0; i < count; i++)
        ok &= (by_hardware[i] != by_hardware[i] && by_cas[i] != by_cas[i]) ||
              memcmp(by_hardware + i, by_cas + i, sizeof *by_cas) == 0;
    return ok && (stride || by_hardware[0] == count / 2 * (count - 1));
}

#endif
