/* What a program prints: the report, its progress, and rows of CSV. Host code
 * only; C11 and CUDA C++. */
#ifndef REPORT_H
#define REPORT_H

#include <time.h>
#include <unistd.h>

#include "fp16.h"
#include "options.h"

/* One line: the label at the left, then the text; in a narrow terminal more.
 * Nothing under --csv. */
static inline void report(const char *label, const char *format, ...)
{
    char line[LINE_BYTES];
    int begin = snprintf(line, sizeof line, "%-10s", label);
    va_list arguments;

    if (lesson.csv)
        return;
    va_start(arguments, format);
    vsnprintf(line + begin, sizeof line - (size_t)begin, format, arguments);
    va_end(arguments);
    print_line(stdout, line, begin);
    lesson_flush();
}

/* `result    32  0x5000  (ulp 0.03125)   expected 32: ok`, with what it is when
 * there is more than one. Returns 1 if the bits are the expected ones, else 0.
 */
static inline int report_half(uint16_t sum, uint16_t expected, const char *of)
{
    report("result", "%.6g  0x%04x  (ulp %g)   expected %.6g: %s%s",
           fp16_to_double(sum), sum, fp16_ulp(sum), fp16_to_double(expected),
           sum == expected ? "ok" : "WRONG", of);
    if (sum != expected)
        complain("%s: the sum is 0x%04x, expected 0x%04x%s", lesson.program,
                 sum, expected, of);
    return sum == expected;
}

/* Says that the sum no longer moves, if that is so. */
static inline void report_frozen(uint16_t sum, uint16_t addend, double exact)
{
    double value = fp16_to_double(sum), added = fp16_to_double(addend);

    if (fp16_add(sum, addend) == sum)
        report("",
               "frozen: adding %.6g to %.6g rounds back to %.6g; the exact "
               "sum is %.10g",
               added, value, value, exact);
    else
        report("", "not frozen yet; the exact sum is %.10g", exact);
}

/* "run 3 of 7" on stderr once a second has passed, if that is a terminal that
 * can wipe it again; the call with run == runs does. */
static inline void show_progress(int run, int runs)
{
    static time_t began;
    static int shown;
    const char *terminal = getenv("TERM");

    if (began == 0)
        began = time(NULL);
    if (!isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0)
        return;
    if (run < runs && time(NULL) - began >= 1) {
        fprintf(stderr, "\rrun %d of %d", run + 1, runs);
        shown = 1;
    } else if (run == runs && shown) {
        fprintf(stderr, "\r\033[K");
        shown = 0;
    }
    fflush(stderr);
}

#endif
