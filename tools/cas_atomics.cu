/* A GPU's own atomicAdd of 2-byte floats beside those of common/cas_atomics.h,
 * which are built on a 4-byte atomicCAS: the same values, and the times of
 * both, in turns. `make cas-atomics` runs it; docs/musa.md reads the answers.
 *
 * Columns: type, cells, adds, ms of the smallest of five runs of each. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "cas_atomics.h"
#include "device.h"
#include "options.h"
#include "report.h"
#include "timing.h"

enum { THREADS = 256, MANY = 1 << 20 };
enum type { HALF, HALF2, BF16, BF162, TYPES };

static const char *const type_names[TYPES] = {"half", "half2", "bf16", "bf162"};
static const size_t type_bytes[TYPES] = {2, 4, 2, 4};

/* 1 of a type, twice. */
static unsigned one_of(int type)
{
    return type < BF16 ? 0x3c003c00 : 0x3f803f80;
}

/* Each thread adds the value to one cell: the lower half of it, or both. */
static __global__ void add(char *cells, unsigned count, unsigned n,
                           unsigned value, int type, int by_cas)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i % count;
    half *h = (half *)cells + at;
    half2 *p = (half2 *)cells + at;
    __nv_bfloat16 *b = (__nv_bfloat16 *)cells + at;
    __nv_bfloat162 *q = (__nv_bfloat162 *)cells + at;

    if (i >= n)
        return;
    switch (2 * type + by_cas) {
    case 2 * HALF:
        atomicAdd(h, *(half *)&value);
        break;
    case 2 * HALF + 1:
        cas_add_half(h, *(half *)&value);
        break;
    case 2 * HALF2:
        atomicAdd(p, *(half2 *)&value);
        break;
    case 2 * HALF2 + 1:
        cas_add_half2(p, *(half2 *)&value);
        break;
    case 2 * BF16:
        atomicAdd(b, *(__nv_bfloat16 *)&value);
        break;
    case 2 * BF16 + 1:
        cas_add_bf16(b, *(__nv_bfloat16 *)&value);
        break;
    case 2 * BF162:
        atomicAdd(q, *(__nv_bfloat162 *)&value);
        break;
    case 2 * BF162 + 1:
        cas_add_bf162(q, *(__nv_bfloat162 *)&value);
        break;
    }
}

/* One type, so many cells: a row. Returns whether both leave the same bits, and
 * something. */
static int measure(int type, unsigned count, unsigned n, void *d_cells)
{
    static struct timing times[2];
    static unsigned char cells[2][4 * MANY], zero[4 * MANY];
    size_t bytes = count * type_bytes[type];
    double ms[2];
    int by_cas, ok = 1;

    timing_create(times, 2, lesson.runs);
    while (timing_next(times, 2)) {
        for (by_cas = 0; by_cas < 2; by_cas++) {
            CHECK(cudaMemset(d_cells, 0, bytes));
            timing_begin(&times[by_cas]);
            add<<<blocks_for(n, THREADS), THREADS>>>(
                (char *)d_cells, count, n, one_of(type), type, by_cas);
            CHECK(cudaGetLastError());
            timing_end(&times[by_cas]);
            CHECK(cudaMemcpy(cells[by_cas], d_cells, bytes,
                             cudaMemcpyDeviceToHost));
        }
        ok &= memcmp(cells[0], cells[1], bytes) == 0 &&
              memcmp(cells[0], zero, bytes) != 0;
    }
    for (by_cas = 0; by_cas < 2; by_cas++)
        ms[by_cas] = timing_min_ms(&times[by_cas]);
    report("", "%-6s %8u %9u %10.4g %10.4g %8.2f   %s", type_names[type], count,
           n, ms[0], ms[1], ms[1] / ms[0], ok ? "the same" : "DIFFERENT");
    for (by_cas = 0; by_cas < 2; by_cas++)
        csv_row(by_cas ? "cas" : "native", &times[by_cas],
                "type,cells,n,min_ms,median_ms,ns_per_add",
                "%s,%u,%u,%.6g,%.6g,%.4g", type_names[type], count, n,
                ms[by_cas], timing_median_ms(&times[by_cas]),
                ms[by_cas] * 1e6 / (double)n);
    return ok;
}

int main(int argc, char **argv)
{
    void *d_cells;
    int type, ok = 1;

    lesson_begin(4, "cas_atomics", "a GPU's own atomicAdd, and one by swaps",
                 argc, argv, NULL, 0);
    snprintf(lesson.target, sizeof lesson.target, "cas-atomics");
    report_device();
    CHECK(cudaMalloc(&d_cells, 4 * MANY));
    report("", "%-6s %8s %9s %10s %10s %8s   %s", "type", "cells", "adds",
           "own, ms", "swaps, ms", "swaps/own", "values");
    for (type = 0; type < TYPES; type++) {
        unsigned n = lesson.emulated ? 1 << 14 : 1 << 20;
        ok &= measure(type, 1, n, d_cells);
        ok &= measure(type, 4096, lesson.emulated ? n : 16 * n, d_cells);
        ok &= measure(type, MANY, lesson.emulated ? n : 16 * n, d_cells);
    }
    report("result", "%s", ok ? "the same values: ok" : "WRONG");
    CHECK(cudaFree(d_cells));
    return ok ? 0 : EXIT_WRONG;
}
