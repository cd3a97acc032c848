/* What all programs share and no reader has to think about: checked CUDA calls,
 * options and the report. Host code only; C11 and CUDA C++.
 *
 * Exit status of every program: 0 as expected, 1 the result is wrong, 2 bad
 * options, 3 no usable device or a CUDA error. */
#ifndef LESSON_H
#define LESSON_H

#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fp16.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_DEVICE = 3 };

/* --- this run --- */

/* Set by lesson_begin(), read by the functions below. */
static struct {
    const char *program; /* the name it was called by */
    int number;
    const char *name, *title;
    char target[24];  /* what make calls it: "lesson1" */
    char gpu[256];    /* "NVIDIA H200" */
    char arch[16];    /* "sm_90", or "cpu" */
    char toolkit[24]; /* "CUDA 13.0", or "cc" */
    int emulated;     /* the device is the CPU backend */
    int runs;         /* --runs */
    int csv;          /* --csv: rows in place of the report */
} lesson;

/* --- CUDA errors --- */

/* The error of a program that holds no code for this GPU. */
static inline int lesson_is_wrong_arch(cudaError_t error)
{
    return error == cudaErrorNoKernelImageForDevice ||
           error == cudaErrorInvalidDeviceFunction ||
           error == cudaErrorUnsupportedPtxVersion;
}

/* Says what the reader can do about an error, if anything comes to mind. */
static inline void lesson_advise(cudaError_t error)
{
    struct cudaDeviceProp prop;

    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
        fprintf(stderr,
                "try: `make BACKEND=cpu %s` for the CPU emulation, or "
                "nvidia-smi to see what is wrong with the GPU's driver\n",
                lesson.target);
    else if (lesson_is_wrong_arch(error) &&
             cudaGetDeviceProperties(&prop, 0) == cudaSuccess)
        fprintf(stderr,
                "try: `make ARCH=sm_%d%d %s`; this program was built for "
                "another architecture than this GPU's\n",
                prop.major, prop.minor, lesson.target);
    else if (error == cudaErrorMemoryAllocation)
        fprintf(stderr, "try: a smaller --n\n");
#ifndef CPU_CUDA_RUNTIME_H /* the emulation has named them */
    else if (error == cudaErrorMisalignedAddress ||
             error == cudaErrorIllegalAddress)
        fprintf(stderr,
                "try: compute-sanitizer, or `make BACKEND=cpu %s`; "
                "either names the thread and the address\n",
                lesson.target);
#endif
}

/* Says what failed, where, and what to try; ends the program with status 3. */
static inline void lesson_fail(cudaError_t error, const char *call,
                               const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s: %s (error %d, %s)\n", file, line, call,
            cudaGetErrorString(error), (int)error, cudaGetErrorName(error));
    lesson_advise(error);
    exit(EXIT_DEVICE);
}

/* Around every CUDA call. After a launch: CHECK(cudaGetLastError()), and once
 * more at the call that waits for it. */
#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t check_error = (call);                                      \
        if (check_error != cudaSuccess)                                        \
            lesson_fail(check_error, #call, __FILE__, __LINE__);               \
    } while (0)

/* --- options --- */

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

static inline void lesson_usage_error(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: ", lesson.program);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (--help lists the options)\n");
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
        int width = printf("  %s %s", options[i].name, values);
        printf("%*s%s\n", width < 22 ? 22 - width : 2, "", options[i].help);
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

/* --- the report --- */

/* One line: the label at the left, then the text. Nothing under --csv. */
static inline void report(const char *label, const char *format, ...)
{
    va_list arguments;

    if (lesson.csv)
        return;
    printf("%-10s", label);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
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
        fprintf(stderr, "%s: the sum is 0x%04x, expected 0x%04x%s\n",
                lesson.program, sum, expected, of);
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

/* "run 3 of 7" on stderr once a second has passed, if that is a terminal; the
 * call with run == runs wipes it. */
static inline void show_progress(int run, int runs)
{
    static time_t began;
    static int shown;

    if (began == 0)
        began = time(NULL);
    if (!isatty(STDERR_FILENO))
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

/* --- begin --- */

/* Fills in the device: its name, architecture and toolkit. */
static inline void lesson_find_device(void)
{
    struct cudaDeviceProp prop;
    int version, count, device;

    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&prop, device));
    CHECK(cudaRuntimeGetVersion(&version));
    snprintf(lesson.gpu, sizeof lesson.gpu, "%s", prop.name);
    lesson.emulated = prop.major == 0;
    if (lesson.emulated) {
        snprintf(lesson.arch, sizeof lesson.arch, "cpu");
        snprintf(lesson.toolkit, sizeof lesson.toolkit, "cc");
    } else {
        snprintf(lesson.arch, sizeof lesson.arch, "sm_%d%d", prop.major,
                 prop.minor);
        snprintf(lesson.toolkit, sizeof lesson.toolkit, "CUDA %d.%d",
                 version / 1000, version % 1000 / 10);
    }
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
    lesson_parse(argc, argv, options, count);
}

/* Finds the device and prints the first two lines of the report. Ends the
 * program with status 3 where there is no usable device. */
static inline void report_device(void)
{
    lesson_find_device();
    if (!lesson.csv)
        printf("lesson %d  %s: %s\n", lesson.number, lesson.name, lesson.title);
    if (lesson.emulated)
        report("device", "%s: the times are this CPU's, not a GPU's",
               lesson.gpu);
    else
        report("device", "%s, %s, %s", lesson.gpu, lesson.arch, lesson.toolkit);
}

/* In the CPU emulation, lets the threads in flight take turns at each atomic,
 * as a model of the contention on a GPU; on a GPU it does nothing. The seed
 * decides who comes first: the same one gives the same counts. */
static inline void model_contention(unsigned long long seed)
{
#ifdef CPU_CUDA_RUNTIME_H
    cpu_interleave(seed);
    report("",
           "the counts below come from a model of one queue (seed %llu), "
           "not from a GPU",
           seed);
#else
    (void)seed;
#endif
}

/* --- device memory --- */

/* Ends the program with status 3 unless `bytes` of device memory are free. */
static inline void require_memory(unsigned long long bytes)
{
    size_t free_bytes, total_bytes;

    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (bytes <= free_bytes)
        return;
    fprintf(stderr,
            "%s: this needs %.1f GiB of device memory, and %.1f GiB are free; "
            "try a smaller --n\n",
            lesson.program, (double)bytes / 1073741824.0,
            (double)free_bytes / 1073741824.0);
    exit(EXIT_DEVICE);
}

/* `n` halves of device memory that all hold `bits`. Free with cudaFree(). */
static inline void *device_halves(long long n, uint16_t bits)
{
    enum { CHUNK = 1 << 20 };
    static uint16_t chunk[CHUNK];
    char *d_halves;
    long long i;

    for (i = 0; i < CHUNK; i++)
        chunk[i] = bits;
    CHECK(cudaMalloc((void **)&d_halves, (size_t)n * sizeof bits));
    for (i = 0; i < n; i += CHUNK) {
        size_t count = n - i < CHUNK ? (size_t)(n - i) : (size_t)CHUNK;
        CHECK(cudaMemcpy(d_halves + (size_t)i * sizeof bits, chunk,
                         count * sizeof bits, cudaMemcpyHostToDevice));
    }
    return d_halves;
}

#endif
