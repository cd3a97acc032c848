// Lesson 6's inner product and CUB's, for tools/peers/reduce.py.
#define main lesson_main
#include "../../lessons/v5_reduce/v5_reduce.cu"
#undef main

#if !__has_include(<cub/cub.cuh>)
#error "make peers needs CUB, which comes with the CUDA Toolkit from 11.0 on"
#endif
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

extern "C" {

size_t reduce_scratch_bytes(void)
{
    return sizeof(struct scratch);
}

// scratch: all 0 at first.
void reduce_dot(const void *d_a, const void *d_b, long long n, void *d_scratch,
                void *d_result, int in_order)
{
    dot((const half *)d_a, (const half *)d_b, n, (struct scratch *)d_scratch,
        (float *)d_result, in_order);
}

} // extern "C"

// One product of halves.
struct product_at {
    const half *a, *b;

    __device__ float operator()(int i) const
    {
        return __half2float(a[i]) * __half2float(b[i]);
    }
};

// The sum of eight products, by loads of 16 bytes. What is beyond n counts as
// 0.
struct products_at {
    const uint4 *a, *b;
    int n;

    __device__ float operator()(int i) const
    {
        product_at product_of = {(const half *)a, (const half *)b};
        float sum = 0;
        int k;

        if (i < n / 8)
            return add_vector(a[i], b[i], sum);
        for (k = n / 8 * 8; k < n; k++)
            sum += product_of(k);
        return sum;
    }
};

template <class F>
static int sum_of(F value_at, int items, void *d_temporary, size_t *bytes,
                  float *d_result)
{
    auto values = thrust::make_transform_iterator(
        thrust::make_counting_iterator(0), value_at);

    return (int)cub::DeviceReduce::Sum(d_temporary, *bytes, values, d_result,
                                       items);
}

// An item is eight halves where both vectors begin at multiples of 16 bytes and
// are long: up to 2^22, CUB takes less time for single halves. Where
// d_temporary is NULL, *bytes becomes what it must hold. Returns an error code,
// 0 for none.
extern "C" int reduce_cub(const void *d_a, const void *d_b, int n,
                          void *d_temporary, size_t *bytes, float *d_result)
{
    product_at one = {(const half *)d_a, (const half *)d_b};
    products_at eight = {(const uint4 *)d_a, (const uint4 *)d_b, n};

    if (((size_t)d_a | (size_t)d_b) % 16 != 0 || n <= 1 << 22)
        return sum_of(one, n, d_temporary, bytes, d_result);
    return sum_of(eight, n / 8 + (n % 8 > 0), d_temporary, bytes, d_result);
}

extern "C" int cub_version(void)
{
    return CUB_VERSION;
}
