/* Lines that fit a narrow terminal. Plain C; knows no CUDA. */
#ifndef LINES_H
#define LINES_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

enum { WIDE_COLUMNS = 100, NARROW_COLUMNS = 80, LINE_BYTES = 1024 };

/* How wide a line may be. In a file, a pipe or a wide terminal a line stays
 * one, so that scripts may rely on it. */
static inline size_t most_columns(FILE *to)
{
    struct winsize size;
    size_t columns = NARROW_COLUMNS;

    if (ioctl(fileno(to), TIOCGWINSZ, &size) != 0 ||
        size.ws_col >= WIDE_COLUMNS)
        return SIZE_MAX;
    if (size.ws_col >= NARROW_COLUMNS / 2 && size.ws_col < NARROW_COLUMNS)
        columns = size.ws_col;
    return columns;
}

/* Prints a line, broken at spaces where it is too wide; what follows begins
 * `indent` columns further in. A word that is too wide itself, as a path may
 * be, stays whole, so that it can be copied. */
static inline void print_line(FILE *to, const char *text, int indent)
{
    size_t most = most_columns(to), room = most, end;

    while (strlen(text) > room) {
        for (end = room; end > 0 && text[end] != ' ';)
            end--;
        if (end == 0)
            end = strcspn(text, " ");
        if (text[end] == '\0')
            break;
        fprintf(to, "%.*s\n%*s", (int)end, text, indent, "");
        text += end + strspn(text + end, " ");
        room = most - (size_t)indent;
    }
    fprintf(to, "%s\n", text);
}

/* A message on stderr. */
static inline void complain(const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_line(stderr, text, 4);
}

#endif
