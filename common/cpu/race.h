/* Races between blocks. */
#ifndef CPU_RACE_H
#define CPU_RACE_H

#include "fiber.h"

/* After a launch: says that a race was found, and ends the program. */
#ifdef CPU_TSAN
void cpu_say_race(void);
#else
#define cpu_say_race() ((void)0)
#endif

#endif
