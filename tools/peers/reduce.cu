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

struct product_at {
    const half *a, *b;

    __host__ __device__ float operator()(long long i) const
    {
        return __half2float(a[i]) * __half2float(b[i]);
    }
};

// Where d_temporary is NULL, *bytes becomes what it must hold. Returns an error
// code, 0 for none.
extern "C" int reduce_cub(const void *d_a, const void *d_b, long long n,
                          void *d_temporary, size_t *bytes, void *d_result)
{
    product_at product_of = {(const half *)d_a, (const half *)d_b};
    auto products = thrust::make_transform_iterator(
        thrust::make_counting_iterator(0LL), product_of);

    return (int)cub::DeviceReduce::Sum(d_temporary, *bytes, products,
                                       (float *)d_result, n);
}
