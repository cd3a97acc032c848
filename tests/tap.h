/* What a test program of C or CUDA C prints: TAP, the Test Anything Protocol,
 * which prove reads. A line "ok - name" or "not ok - name" for each check; then
 * the plan, where main ends with tap_done(). */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>

static int checks, failures;

#if defined __GNUC__
#define TAP_PRINTF(n) __attribute__((format(printf, n, (n) + 1)))
#else
#define TAP_PRINTF(n)
#endif

static inline void tap_line(int right, const char *format, va_list arguments,
                            const char *more)
{
    printf("%s - ", right ? "ok" : "not ok");
    vprintf(format, arguments);
    puts(more);
    fflush(stdout);
    checks++;
    failures += !right;
}

/* Reports one check; the format and what follows name it, as for printf. */
TAP_PRINTF(2) static inline void expect(int right, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tap_line(right, format, arguments, "");
    va_end(arguments);
}

/* The same with a digest of what was seen: it tells two machines apart that are
 * both content. */
TAP_PRINTF(3)
static inline void expect_digest(int right, unsigned long long digest,
                                 const char *format, ...)
{
    va_list arguments;
    char more[24];

    snprintf(more, sizeof more, " [%016llx]", digest);
    va_start(arguments, format);
    tap_line(right, format, arguments, more);
    va_end(arguments);
}

/* Prints the plan; returns main's exit status, 1 if any check failed. */
static inline int tap_done(void)
{
    printf("1..%d\n", checks);
    return failures != 0 || fflush(stdout) != 0 || ferror(stdout);
}

#endif
