/* The device that the emulation says it is. */
#ifndef CPU_PROPERTIES_H
#define CPU_PROPERTIES_H

/* The multiprocessor of interleaved mode: threads, and bytes of __shared__. */
enum { MULTIPROCESSORS = 1, RESIDENT_THREADS = 1024, SHARED_BYTES = 1 << 16 };

/* How many threads run a grid. */
int cpu_pool_threads(void);

#endif
