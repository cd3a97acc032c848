/* What corrections.cu and corrections_shared.cu have in common: memory, and the
 * times of launches that take turns. */
#ifndef CORRECTIONS_H
#define CORRECTIONS_H

#include <cuda_runtime.h>

#include "device.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { THREADS = 256, MEMORY_BYTES = 1 << 26 };

static void *d_memory; /* 64 MiB, for whatever the claim needs */

static inline void clear(void)
{
    CHECK(cudaMemset(d_memory, 0, MEMORY_BYTES));
}

static inline void read_back(void *to, const void *d_from, size_t bytes)
{
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(to, d_from, bytes, cudaMemcpyDeviceToHost));
}

/* Several launches take turns, in two rounds, of which the second counts. */
static struct timing timing[4];

static inline void end(struct timing *t)
{
    CHECK(cudaGetLastError());
    timing_end(t);
}

static inline double ms_of(int k)
{
    return timing_min_ms(&timing[k]);
}

#endif
