/* Events: the monotonic clock. */
#include <stdlib.h>
#include <time.h>

#include "status.h"

struct cpu_event {
    struct timespec at;
};

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    return cpu_answer(*event ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return cpu_answer(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cpu_answer_synchronised(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    *ms = (float)((double)(end->at.tv_sec - begin->at.tv_sec) * 1e3 +
                  (double)(end->at.tv_nsec - begin->at.tv_nsec) * 1e-6);
    return cpu_answer_synchronised(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cpu_answer(cudaSuccess);
}
