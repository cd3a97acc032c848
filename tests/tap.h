/*
 * tap.h: a C test program's results in TAP, the Test Anything Protocol that
 * prove reads: one "ok N - name" or "not ok N - name" a check, then the plan.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tap_count, tap_failures;

#if defined __GNUC__
#define TAP_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define TAP_PRINTF
#endif

/* Reports one check; fmt and what follows name it, as for printf. */
TAP_PRINTF static inline void tap_ok(int pass, const char *fmt, ...)
{
    va_list arguments;

    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    va_start(arguments, fmt);
    vprintf(fmt, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    tap_failures += !pass;
}

/* Prints the plan; returns main's exit status, 1 if any check failed. */
static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}

#endif
