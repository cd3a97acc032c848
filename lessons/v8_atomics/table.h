/* The table: which functions are there for which types, how each is built, and
 * how a row is printed. Host code only; C11 and CUDA C++. */
#ifndef TABLE_H
#define TABLE_H

#include <stdio.h>
#include <string.h>

#include "report.h"

enum op { ADD, SUB, EXCH, INC, DEC, CAS, AND, OR, XOR, OPS };
enum type { INT, U32, U64, F32, F64, U16, TYPES };

static const char *const op_names[OPS] = {
    "atomicAdd", "atomicSub", "atomicExch", "atomicInc", "atomicDec",
    "atomicCAS", "atomicAnd", "atomicOr",   "atomicXor"};
static const char *const type_names[TYPES] = {"int",   "unsigned", "ulonglong",
                                              "float", "double",   "ushort"};

/* How each is built, in global/shared memory: 1 is one instruction, L a loop
 * around a compare-and-swap; NULL: there is no such function. Read off SASS
 * (results/sass/conformance.sm_90.txt); sm_75 to sm_120 are alike in this. */
static const char *const built[OPS][TYPES] = {
    /*         int    unsig. u64    float  double ushort */
    /* Add  */ {"1/1", "1/1", "1/L", "1/L", "1/L", NULL},
    /* Sub  */ {"1/1", "1/1", NULL, NULL, NULL, NULL},
    /* Exch */ {"1/1", "1/1", "1/1", "1/1", NULL, NULL},
    /* Inc  */ {NULL, "1/1", NULL, NULL, NULL, NULL},
    /* Dec  */ {NULL, "1/1", NULL, NULL, NULL, NULL},
    /* CAS  */ {"1/1", "1/1", "1/1", NULL, NULL, "L/L"},
    /* And  */ {"1/1", "1/1", "1/L", NULL, NULL, NULL},
    /* Or   */ {"1/1", "1/1", "1/L", NULL, NULL, NULL},
    /* Xor  */ {"1/1", "1/1", "1/L", NULL, NULL, NULL},
};

/* A row: what stands under each type, "." for NULL. */
static inline void print_row(const char *name, const char *const *cells)
{
    char row[100];
    int length = snprintf(row, sizeof row, "%-11s", name), type;

    for (type = 0; type < TYPES; type++)
        length += snprintf(row + length, sizeof row - (size_t)length, "%*s",
                           (int)strlen(type_names[type]) + 2,
                           cells[type] ? cells[type] : ".");
    report("", "%s", row);
}

static inline void print_table(void)
{
    int op;

    report("table",
           "global/shared memory; 1: one instruction, L: a loop around "
           "a compare-and-swap");
    print_row("function", type_names);
    for (op = 0; op < OPS; op++)
        print_row(op_names[op], built[op]);
}

#endif
