/* CUDA C on a Moore Threads GPU: all of it stands in one file. */
#include <cuda_runtime.h>
