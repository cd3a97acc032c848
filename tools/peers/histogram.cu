/* Histograms of bytes into 256 bins, for tools/peers/histogram.py: lesson 8's,
 * and CUB's DeviceHistogram. All on the default stream. */
#define main lesson_main
#include "../../lessons/v7_histogram/v7_histogram.cu"
#undef main

#if !__has_include(<cub/cub.cuh>)
#error "make peers needs CUB, which comes with the CUDA Toolkit from 11.0 on"
#endif
#include <cub/device/device_histogram.cuh>
#include <cub/version.cuh>

/* Lesson 8's variant of this name, with its own grid; d_counts holds SLOTS
 * 64-bit counts, which it clears. Returns 0 where there is none of that name.
 */
extern "C" int lesson_histogram(const char *name, const unsigned char *d_data,
                                long long n, void *d_counts)
{
    int row;

    for (row = 0; row < VARIANTS; row++)
        if (strcmp(variants[row].name, name) == 0)
            break;
    if (row == VARIANTS)
        return 0;
    work.n = n;
    work.bins = VALUES;
    work.d_counts = d_counts;
    if (work.fit == 0)
        work.fit = (long long)attribute_of(cudaDevAttrMultiProcessorCount) *
                   attribute_of(cudaDevAttrMaxThreadsPerMultiProcessor);
    CHECK(cudaMemsetAsync(d_counts, 0, SLOTS * sizeof(count64), 0));
    launch(&variants[row], d_data);
    return 1;
}

/* CUB's, into 256 32-bit counts, which it clears. With d_temp NULL it does
 * nothing but return the size of that buffer. */
extern "C" size_t cub_histogram(void *d_temp, size_t temp_bytes,
                                const unsigned char *d_data, int n,
                                unsigned *d_counts)
{
    CHECK(cub::DeviceHistogram::HistogramEven(
        d_temp, temp_bytes, d_data, d_counts, VALUES + 1, 0, (int)VALUES, n));
    return temp_bytes;
}

extern "C" int cub_version(void)
{
    return CUB_VERSION;
}
