/* CUDA's errors: names, texts, and which of them a call returns. */
#include "status.h"

static const struct {
    cudaError_t error;
    const char *name, *text;
} cpu_errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice",
     "invalid device ordinal"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout",
     "the launch timed out and was terminated"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress",
     "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure",
     "unspecified launch failure"},
    {cudaSuccess, "unrecognized error code", "unrecognized error code"},
};
enum { ERRORS = sizeof cpu_errors / sizeof cpu_errors[0] };

static cudaError_t cpu_last_error; /* what cudaGetLastError() returns */
static cudaError_t cpu_sticky;     /* a kernel's fault, once it has shown */
static cudaError_t cpu_fault;      /* the same, from when it happened */

/* Its place in the list; the last one stands for all others. */
static int find_error(cudaError_t error)
{
    int i = 0;

    while (i < ERRORS - 1 && cpu_errors[i].error != error)
        i++;
    return i;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return cpu_errors[find_error(error)].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return cpu_errors[find_error(error)].text;
}

cudaError_t cpu_answer(cudaError_t error)
{
    if (cpu_sticky != cudaSuccess)
        error = cpu_sticky;
    if (error != cudaSuccess)
        cpu_last_error = error;
    return error;
}

cudaError_t cpu_answer_synchronised(cudaError_t error)
{
    cpu_sticky = cpu_fault;
    return cpu_answer(error);
}

int cpu_record_fault(cudaError_t error)
{
    if (cpu_fault != cudaSuccess)
        return 0;
    cpu_fault = error;
    return 1;
}

int cpu_has_faulted(void)
{
    return cpu_fault != cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
    return cpu_sticky != cudaSuccess ? cpu_sticky : cpu_last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();

    cpu_last_error = cudaSuccess;
    return error;
}
