/* What the explorer `freeze` must show: sums of equal addends from 0 in half,
 * bf16 and float, added one by one; single adds; and numbers as bits. Half is
 * common/fp16.h's, float the compiler's, and bf16 is here. Prints one JSON
 * object. */
#include <math.h>
#include <stdlib.h>

#include "fp16.h"

enum { HALF, BF16, FLOAT, FORMATS };
enum { RANDOM_HALVES = 200, RANDOM_FLOATS = 20, RANDOM_ADDS = 1500 };

static const char *const names[FORMATS] = {"half", "bf16", "float"};

/* --- float and bf16 --- */

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7fffffff : bits;
}

/* bf16 is a float's upper half. What falls off decides the rounding; `sticky`
 * says that some was lost before. */
static uint32_t bf16_of_float(uint32_t bits, int sticky)
{
    uint32_t lost = bits & 0xffff, kept = bits >> 16;

    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    if (lost > 0x8000 || (lost == 0x8000 && (sticky || kept & 1)))
        kept++;
    return kept;
}

/* x cut off to a float, not rounded, then rounded to bf16: once in all. */
static uint32_t bf16_from_double(double x)
{
    uint32_t bits = bits_of_float((float)x);

    if (x != x || x - x != 0)
        return bf16_of_float(bits, 0);
    if (fabs((double)float_of(bits)) > fabs(x))
        bits--; /* it was rounded away from zero */
    return bf16_of_float(bits, (double)float_of(bits) != x);
}

/* --- the three alike --- */

static uint32_t from_double(int format, double x)
{
    return format == HALF   ? fp16_from_double(x)
           : format == BF16 ? bf16_from_double(x)
                            : bits_of_float((float)x);
}

static double to_double(int format, uint32_t bits)
{
    return format == HALF   ? fp16_to_double((uint16_t)bits)
           : format == BF16 ? (double)float_of(bits << 16)
                            : (double)float_of(bits);
}

static uint32_t add(int format, uint32_t a, uint32_t b)
{
    if (format == HALF)
        return fp16_add((uint16_t)a, (uint16_t)b);
    if (format == FLOAT)
        return bits_of_float(float_of(a) + float_of(b));
    /* The double is within half its ulp of the sum, and no midpoint of two
     * bf16 is nearer to a sum of two than that unless the sum is exact. */
    return bf16_from_double(to_double(BF16, a) + to_double(BF16, b));
}

/* xorshift32 (Marsaglia, 2003). */
static uint32_t random_bits(void)
{
    static uint32_t state = 2463534242u;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static uint32_t random_number(int format)
{
    return format == FLOAT ? random_bits() : random_bits() >> 16;
}

/* --- the tables --- */

static const char *separator;

static void print_separator(void)
{
    printf("%s\n", separator);
    separator = ",";
}

static void print_freeze(int format, uint32_t addend)
{
    uint32_t sum = 0, next, there = 0;
    long moves = 0, adds = 0;

    while ((next = add(format, sum, addend)) != sum) {
        sum = next;
        moves++;
        if ((moves & (moves - 1)) == 0) {
            adds = moves; /* a place on the way: a power of 2 */
            there = sum;
        }
    }
    print_separator();
    printf("{\"format\":\"%s\",\"addend\":%u,\"bits\":%u,\"moves\":%ld,"
           "\"adds\":%ld,\"there\":%u}",
           names[format], addend, sum, moves, adds, there);
}

static void print_freezes(void)
{
    static const double values[] = {
        1,    0.1,  0.01,  0.001, 0.0099945068359375,
        0,    -0.0, -0.01, 16,    16.015625,
        17,   3000, 60000, 65504, 1e6,
        6e-8, 1e-7, 1e-5,  3e-39, -7e-40,
        1.5,  0.75, 3,     1e38,  3.4e38};
    static const uint32_t rare[FORMATS][4] = {
        {0x7c00, 0xfc00, 0x7e01, 0x03ff},
        {0x7f80, 0xff80, 0x7fc1, 0x007f},
        {0x7f800000, 0xff800000, 0x7fc00001, 0x007fffff}};
    int format;
    size_t i;

    for (format = 0; format < FORMATS; format++) {
        for (i = 0; i < sizeof values / sizeof values[0]; i++)
            print_freeze(format, from_double(format, values[i]));
        for (i = 0; i < 4; i++)
            print_freeze(format, rare[format][i]);
        for (i = 0; i < (format == FLOAT ? RANDOM_FLOATS : RANDOM_HALVES); i++)
            print_freeze(format, random_number(format));
    }
}

static void print_adds(void)
{
    int format, i;

    for (format = 0; format < FORMATS; format++)
        for (i = 0; i < RANDOM_ADDS; i++) {
            uint32_t a = random_number(format), b = random_number(format);
            uint32_t near = random_number(format) & 0x7ff;
            if (i % 2) /* of one size, so that ties come up */
                b = (a ^ near) ^ (i % 4 == 3 ? 0x400 : 0);
            print_separator();
            printf("{\"format\":\"%s\",\"a\":%u,\"b\":%u,\"sum\":%u}",
                   names[format], a, b, add(format, a, b));
        }
}

static void print_numbers(void)
{
    static const char *const texts[] = {"0.1",
                                        "0.01",
                                        "0.001",
                                        "1e-9",
                                        "65519.99",
                                        "65520",
                                        "-65520",
                                        "1e300",
                                        "-1e-300",
                                        "2.98e-8",
                                        "2.9802322387695312e-8",
                                        "3.39e38",
                                        "3.4028236e38",
                                        "1.00390625",
                                        "1.01171875",
                                        "1e-45",
                                        "7e-46",
                                        "2049",
                                        "2051",
                                        "-0",
                                        "0.333333333333"};
    size_t i;
    int format;

    for (format = 0; format < FORMATS; format++)
        for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            uint32_t bits = from_double(format, strtod(texts[i], NULL));
            print_separator();
            printf("{\"format\":\"%s\",\"text\":\"%s\",\"bits\":%u}",
                   names[format], texts[i], bits);
        }
}

int main(void)
{
    separator = "";
    printf("{\"freezes\":[");
    print_freezes();
    separator = "";
    printf("],\n\"adds\":[");
    print_adds();
    separator = "";
    printf("],\n\"numbers\":[");
    print_numbers();
    printf("]}\n");
    return 0;
}
