/* Exercise 11, ns_per_add: from rows of tables to ns an add and a speedup.
 *
 * Other people's tables have other columns in another order, and times in ms
 * (min_ms) or us (min_us). An empty field is "not known", which is not 0.
 *
 * Task: find a row's numbers by the names of their columns; turn them into ns
 * an add, and those of two rows into a speedup.
 * Constraint: UNKNOWN where a row lacks what it takes. Only rows of the same n
 * make a speedup: v0's time is not in proportion to n.
 * Untouched, it ends with: ns an add: got 1.2e-05, expected 12
 * Read: results/README.md, "Columns". */
#include <math.h>

#include "exercise.h"

static const double UNKNOWN = -1;

struct row {
    char header[512], line[512];
};

/* The number in the column of that name, or UNKNOWN. */
static double find(const struct row *row, const char *name)
{
    const char *field = row->line;

    /* TODO: let it be the field of that name; NULL where that is not known. */
    const char *title = row->header;
    size_t length = strlen(name);
    while (title && field &&
           (strncmp(title, name, length) != 0 ||
            strcspn(title, ",\r\n") != length)) {
        title = strchr(title, ',') ? strchr(title, ',') + 1 : NULL;
        field = strchr(field, ',') ? strchr(field, ',') + 1 : NULL;
    }
    if (!title || !field || strcspn(field, ",\r\n") == 0)
        field = NULL;
    /* END TODO */
    return field ? strtod(field, NULL) : UNKNOWN;
}

static double ns_per_add(const struct row *row)
{
    /* TODO: which unit is the time in, and is all known? */
    double ms = find(row, "min_ms"), us = find(row, "min_us");
    return (ms == UNKNOWN ? us * 1e3 : ms * 1e6) / find(row, "n");
    /* END TODO */
}

/* How many times as long an add takes in `slow` as in `fast`. */
static double speedup(const struct row *slow, const struct row *fast)
{
    /* TODO: which rows may be compared? */
    double slow_ns = ns_per_add(slow), fast_ns = ns_per_add(fast);
    if (slow_ns == UNKNOWN || fast_ns == UNKNOWN)
        return UNKNOWN;
    return find(slow, "n") == find(fast, "n") ? slow_ns / fast_ns : UNKNOWN;
    /* END TODO */
}

/* Published figures have three digits, which are right to half a percent. */
static void check(const struct row *row, const char *what, double got,
                  double expected)
{
    require(fabs(got - expected) <= 0.005 * fabs(expected), NULL,
            "%.200s\n          %.200s\n          %s: got %g, expected %g",
            row->header, row->line, what, got, expected);
}

static void check_made_up(void)
{
    static const struct row rows[] = {
        {"gpu,arch,toolkit,lesson,variant,n,min_ms", "x,y,,1,a,500,0.006"},
        {"median_us,n,min_us", "9,500,2"},
        {"min_ms,n_cells,n,median_ms", "3,16,2000000,4"},
        {"n,min_ms,median_ms", "500,,7"},
        {"n,cells,min_us", "500,1"},
    };
    const double ns[] = {12, 4, 1.5, UNKNOWN, UNKNOWN};
    int i;

    for (i = 0; i < 5; i++)
        check(&rows[i], "ns an add", ns_per_add(&rows[i]), ns[i]);
    for (i = 0; i < 4; i++)
        check(&rows[i], "over the next row", speedup(&rows[i], &rows[i + 1]),
              i == 0 ? 3 : UNKNOWN);
}

/* The first row of a file that has `word` in it. */
static struct row read_row(const char *path, const char *word)
{
    struct row row = {"", ""};
    FILE *file = fopen(path, "r");

    require(file != NULL, NULL, "cannot open %s: wrong directory?", path);
    while (fgets(row.line, sizeof row.line, file) && !strstr(row.line, word))
        if (row.header[0] == '\0')
            strcpy(row.header, row.line);
    fclose(file);
    return row;
}

static void check_file(const char *path, const char *column)
{
    struct row v0 = read_row(path, "v0_half"), v2 = read_row(path, "v2_fast");
    struct row pair = read_row("results/sources/pairs.csv", "v0_over_v2");

    check(&v0, "ns an add", ns_per_add(&v0), find(&v0, "ns_per_add"));
    check(&v0, "over v2", speedup(&v0, &v2), find(&pair, column));
    require(1, path, "");
}

int main(void)
{
    exercise_begin(11, "ns_per_add");
    check_made_up();
    require(1, "ns an add and speedups of rows made up for this check", "");
    check_file("results/nvidia_a100_pcie_40gb.csv", "a100_speedup");
    check_file("results/nvidia_geforce_rtx_5070.csv", "rtx_5070_speedup");
    return exercise_end();
}
