/* What a program was asked to do: its name, its options, its exit status. Host
 * code only; C11 and CUDA C++.
 *
 * Exit status of every program: 0 as expected, 1 the result is wrong, 2 bad
 * options, 3 no usable device, a CUDA error, or output that cannot be written.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_DEVICE = 3 };

/* This run: set by lesson_begin() and, for the device, by report_device(). */
static struct {
    const char *program; /* the name it was called by */
    int number;
    const char *name, *title;
    char target[24];     /* what make calls it: "lesson1" */
    char gpu[256];       /* "NVIDIA H200" */
    char arch[16];       /* "sm_90", or "cpu" */
    char toolkit[24];    /* "CUDA 13.0", or "cc" */
    int emulated;        /* the device is the CPU backend */
    int runs;            /* --runs */
    int csv;             /* --csv: rows in place of the report */
    const char *smaller; /* the options that save memory; or NULL */
} lesson;

/* One option. `values` says what it takes: NULL, a whole number from min to
 * max; "", nothing (*value becomes 1); "a|b", one of these words (*value
 * becomes its place, from 0). */
struct lesson_option {
    const char *name, *values;
    long long *value;
    long long min, max;
    const char *help;
};

enum { LESSON_MAX_RUNS = 1000 };

/* The largest --n: the grid of 256-thread blocks still fits. */
static const long long LESSON_MAX_N = 256LL * 2147483647LL;

/* Ends the program with status 3 where what it printed cannot be written: the
 * disk is full, or there is no standard output. */
static inline void lesson_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    complain("%s: standard output: %s", lesson.program, strerror(errno));
    _Exit(EXIT_DEVICE);
}

static inline void lesson_usage_error(const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    complain("%s: %s (--help lists the options)", lesson.program, text);
    exit(EXIT_USAGE);
}

/* A whole number, or 2^K; returns 0 where the text is neither. */
static inline int lesson_parse_number(const char *text, long long *number)
{
    int power = strncmp(text, "2^", 2) == 0;
    char *end;
    long long value;

    if (power)
        text += 2;
    if (*text < '0' || *text > '9')
        return 0;
    value = strtoll(text, &end, 10); /* LLONG_MAX where it does not fit */
    if (*end != '\0' || (power && value > 62))
        return 0;
    *number = power ? 1LL << value : value;
    return 1;
}

static inline void lesson_set_number(const struct lesson_option *o,
                                     const char *text)
{
    long long number;

    if (!lesson_parse_number(text, &number) || number < o->min ||
        number > o->max)
        lesson_usage_error("%s takes a whole number from %lld to %lld (2^K "
                           "will do), not \"%s\"",
                           o->name, o->min, o->max, text);
    *o->value = number;
}

static inline void lesson_set_word(const struct lesson_option *o,
                                   const char *text)
{
    const char *word = o->values;
    size_t length = strlen(text);
    long long place = 0;

    for (;; place++) {
        size_t word_length = strcspn(word, "|");
        if (length == word_length && memcmp(text, word, length) == 0)
            break;
        if (word[word_length] == '\0')
            lesson_usage_error("%s takes %s, not \"%s\"", o->name, o->values,
                               text);
        word += word_length + 1;
    }
    *o->value = place;
}

static inline void lesson_help(const struct lesson_option *options, int count)
{
    int i;

    printf("lesson %d  %s: %s\n\nusage: %s [options]\n", lesson.number,
           lesson.name, lesson.title, lesson.program);
    for (i = 0; i < count; i++) {
        const char *values = options[i].values ? options[i].values : "N";
        char line[LINE_BYTES];
        int width =
            snprintf(line, sizeof line, "  %s %s", options[i].name, values);
        snprintf(line + width, sizeof line - (size_t)width, "%*s%s",
                 width < 22 ? 22 - width : 2, "", options[i].help);
        print_line(stdout, line, 22);
    }
    exit(0);
}

/* Reads the command line: the lesson's own options and the common ones. */
static inline void lesson_parse(int argc, char **argv,
                                const struct lesson_option *own, int own_count)
{
    long long runs = 7, csv = 0, help = 0;
    struct lesson_option all[16] = {
        {"--runs", NULL, &runs, 1, LESSON_MAX_RUNS,
         "runs in all; the first two are not counted (default 7)"},
        {"--csv", "", &csv, 0, 0, "print CSV in place of the report"},
        {"--help", "", &help, 0, 0, "print this"},
    };
    int i, k, count = 3 + own_count;

    memmove(all + own_count, all, 3 * sizeof all[0]);
    memcpy(all, own, (size_t)own_count * sizeof all[0]);
    for (i = 1; i < argc; i++) {
        for (k = 0; k < count && strcmp(argv[i], all[k].name) != 0; k++)
            ;
        if (k == count)
            lesson_usage_error("unknown option \"%s\"", argv[i]);
        if (all[k].values && all[k].values[0] == '\0')
            *all[k].value = 1;
        else if (i + 1 == argc)
            lesson_usage_error("%s needs a value", argv[i]);
        else if (all[k].values)
            lesson_set_word(&all[k], argv[++i]);
        else
            lesson_set_number(&all[k], argv[++i]);
    }
    if (help)
        lesson_help(all, count);
    lesson.runs = (int)runs;
    lesson.csv = (int)csv;
}

/* Names the lesson and reads the options. Ends the program with status 2 where
 * they are bad. */
static inline void lesson_begin(int number, const char *name, const char *title,
                                int argc, char **argv,
                                const struct lesson_option *options, int count)
{
    const char *slash = strrchr(argv[0], '/');

    lesson.program = slash ? slash + 1 : argv[0];
    lesson.number = number;
    snprintf(lesson.target, sizeof lesson.target, "lesson%d", number);
    lesson.name = name;
    lesson.title = title;
    atexit(lesson_flush);
    lesson_parse(argc, argv, options, count);
}

#endif
