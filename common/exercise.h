/* What the exercises share: saying what holds and what is missing, and inputs
 * that vary. Host code only; C11 and CUDA C++.
 *
 * Exit status of an exercise: 0 when everything holds, 1 when something is
 * missing, 3 on a CUDA error (options.h). */
#ifndef EXERCISE_H
#define EXERCISE_H

#include "device.h"
#include "random.h"

/* Names the exercise; call it first. */
static inline void exercise_begin(int number, const char *name)
{
    lesson.program = name;
    snprintf(lesson.target, sizeof lesson.target, "exercise%d", number);
    atexit(lesson_flush);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a crash loses no line */
    printf("exercise %d  %s\n", number, name);
}

/* Says that `what` holds (nothing where it is NULL: one check of many); or,
 * where it does not, says what is missing and ends the program with status 1.
 * The first failure is the one to work on. */
static inline void require(int holds, const char *what, const char *missing,
                           ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    if (holds && what)
        report("holds", "%s", what);
    if (holds)
        return;
    va_start(arguments, missing);
    vsnprintf(text, sizeof text, missing, arguments);
    va_end(arguments);
    report("missing", "%s", text);
    exit(EXIT_WRONG);
}

/* Says that all is done; returns main's exit status. */
static inline int exercise_end(void)
{
    printf("done      all checks hold\n");
    return 0;
}

/* The next of a fixed sequence of numbers, 1 to 2^32 - 1: varied inputs, the
 * same on every run. */
static inline uint32_t exercise_random(void)
{
    static uint32_t state = 2463534242u;

    return random_next(&state);
}

/* A half between 0.5 and 1.5: varied, and far from overflow and subnormals. */
static inline uint16_t exercise_half(void)
{
    return fp16_from_double(0.5 + exercise_random() * 0x1p-32);
}

#endif
