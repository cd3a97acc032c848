#!/usr/bin/env perl
# Tests common/cpu/launch.awk, which turns a CUDA C file into plain C11: the
# same output under every awk, what the output does when compiled and run, line
# numbers, and the message of every error. Run: prove tests/20_launch.t
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Temp qw(tempdir);
use Test::More;

my $script = "$root/common/cpu/launch.awk";
my @cc     = split ' ', $ENV{CC} // 'cc';
my $dir    = tempdir(CLEANUP => 1);
our @flags = ('-std=gnu11', '-Wall', '-Wextra', '-Wconversion', '-Wshadow',
    '-Werror', "-I$dir");
chdir $dir or die "cannot enter $dir: $!";

# ---- Tools ----

# Runs a command in $dir; returns its status, stdout and stderr.
sub capture {
    return run({ dir => $dir }, @_);
}

my %awk = (awk => ['awk']);    # name => its command
with_awks(sub { my ($name, undef, @command) = @_; $awk{$name} = \@command });
my @names = sort keys %awk;

sub launch {
    my ($name, @files) = @_;
    return capture(@{ $awk{$name} }, '-f', $script, @files);
}

# Writes FILE, rewrites it with every awk, checks that all agree, and returns
# the text.
sub rewrite {
    my ($file, $source) = @_;
    spew($file, $source);
    my $first;
    for my $name (@names) {
        my ($status, $out, $err) = launch($name, $file);
        is("$status$err", '0', "$file: $name accepts it");
        $first //= $out;
        ok($out eq $first, "$file: $name writes what $names[0] writes")
            or diag($out);
    }
    my $lines = ($source =~ tr/\n//) + ($source =~ /[^\n]\z/ ? 1 : 0);
    is($first =~ tr/\n//, $lines + 1, "$file: one line more, the #line");
    return $first;
}

sub compiles {
    my ($file, $source) = @_;
    spew("$file.c", rewrite($file, $source));
    my ($status, $out, $err) = capture(@cc, @flags, '-fsyntax-only', "$file.c");
    is("$status$err", '0', "$file: compiles without a warning");
}

sub prints {
    my ($file, $source, $expected) = @_;
    spew("$file.c", rewrite($file, $source));
    my ($status, $out, $err) = capture(@cc, @flags, '-o', 'program', "$file.c");
    is("$status$err", '0', "$file: compiles without a warning") or return;
    ($status, $out, $err) = capture("$dir/program");
    is($status, 0, "$file: runs");
    is($out, $expected, "$file: prints what it should");
}

# Every awk reports MESSAGE at LINE, exits with 1 and prints nothing else.
sub refuses {
    my ($what, $line, $message, $source) = @_;
    spew('bad.cu', $source);
    for my $name (@names) {
        my ($status, $out, $err) = launch($name, 'bad.cu');
        is($status, 1,  "$what: $name exits with 1");
        is($out,    '', "$what: $name prints no program");
        like($err, qr/\Abad\.cu:$line: error: [^\n]*\Q$message\E[^\n]*\n\z/,
            "$what: $name says so");
    }
}

# ---- A header with just enough to run the output, one thread at a time ----

spew('fake.h', <<'END');
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#define __global__
#define __launch_bounds__(...)
typedef struct { unsigned x, y, z; } dim3;
typedef void *cudaStream_t;
typedef struct { unsigned short bits; } half;
static dim3 blockIdx, threadIdx, blockDim, gridDim;
static unsigned long cpu_position;
static inline dim3 cpu_from_count(long long x)
{
    dim3 d = {(unsigned)x, 1, 1};
    return d;
}
static inline dim3 cpu_same(dim3 d) { return d; }
#define cpu_dim3(x) _Generic((x), dim3: cpu_same, default: cpu_from_count)(x)
static inline int cpu_next_thread(void)
{
    unsigned long i = cpu_position++;
    threadIdx.x = (unsigned)(i % blockDim.x);
    threadIdx.y = (unsigned)(i / blockDim.x);
    return i < (unsigned long)blockDim.x * blockDim.y;
}
static inline void cpu_launch(const char *name, dim3 grid, dim3 block,
                              size_t shared, cudaStream_t stream,
                              void (*run)(const void *), const void *args)
{
    printf("%s<%ux%u, %ux%u, %zu, %s>\n", name, grid.x, grid.y, block.x,
           block.y, shared, stream ? "stream" : "0");
    gridDim = grid;
    blockDim = block;
    for (unsigned i = 0; i < grid.x * grid.y; i++) {
        blockIdx.x = i % grid.x;
        blockIdx.y = i / grid.x;
        cpu_position = 0;
        run(args);
    }
}
END

# ---- The output itself ----

is(rewrite('exact.cu', <<'END'), <<'END', 'exact.cu: the documented output');
static __global__ void scale(float *a, int n) { }
void f(float *p) { scale<<<2, 256>>>(p, 64); }
END
#line 1 "exact.cu"
struct cpu_args_scale { float *a; int n; }; static __global__ void scale(float *a, int n); static __attribute__((unused)) void cpu_run_scale(const void *cpu_args) { const struct cpu_args_scale *cpu_a = (const struct cpu_args_scale *)cpu_args; (void)cpu_a; while (cpu_next_thread()) scale(cpu_a->a, cpu_a->n); } static __global__ void scale(float *a, int n) { }
void f(float *p) { do { struct cpu_args_scale cpu_args = { p, 64 }; if (0) { scale(p, 64); } (void)cpu_args; cpu_launch("scale", cpu_dim3((2)), cpu_dim3((256)), (0), (0), cpu_run_scale, &cpu_args); } while (0); }
END

is(rewrite('empty.cu', ''), qq(#line 1 "empty.cu"\n), 'empty.cu: empty');
is(rewrite('a"b\\c d=1.cu', "int x;\n"),
    qq(#line 1 "a\\"b\\\\c d=1.cu"\nint x;\n),
    'quote and backslash in the file name are escaped');
is(rewrite('unended.cu', 'int x;'), qq(#line 1 "unended.cu"\nint x;\n),
    'a last line without newline');
is(rewrite('dos.cu', "\xEF\xBB\xBFint x; \\\r\nint y;\r\n"),
    qq(#line 1 "dos.cu"\nint x; \\\nint y;\n),
    'byte order mark and carriage returns go');

is(rewrite('splice.cu', "int x; \\"), qq(#line 1 "splice.cu"\nint x; \\\n),
    'a last line with a backslash');
like(
    rewrite('none.cu', "__global__ void k(void);\nvoid f() { k<<<1, 1>>>(); }"),
    qr/ cpu_args_k \{ char cpu_none; \}.* cpu_args_k cpu_args = \{ 0 \};/s,
    'no parameters and no arguments');

# Text that only looks like kernels and launches passes unchanged.
my $quiet = <<'END';
// __global__ int k<<<1>>> "it's \
   still a comment: k<<<
/* k<<<1, 1>>>(); ' " // __global__
   __global__ */ /**/ int a; /*/ <<< */
#define OPEN_QUOTE '"'
#define KERNEL __global__ \
    void
#define TWO /* <<< and a comment that
   ends here */ 2
/* */ #define HASH(x) #x
static const char *s = "k<<<1, 1>>>() \" /* __global__ // \\", *t = "\
__global__ <<<";
static const char c[] = {'"', '\'', '\\', OPEN_QUOTE, TWO};
static const char *u = "ét"; // é €
int f(int b);
int f(int b) { (void)s; (void)t; (void)u; (void)c; return a << 3 >> b; }
END
{
    local @flags = (@flags, '-Wno-comment');
    compiles('quiet.cu', $quiet);
}
my $elsewhere = "#ifdef __CUDACC__\n#include <cooperative_groups.h>\n#endif\n"
    . "/* __cluster_dims__ */ int cluster_group, my_cooperative_groups;\n";
is(rewrite('elsewhere.cu', $elsewhere), qq(#line 1 "elsewhere.cu"\n$elsewhere),
    'names of clusters under #if, in comments and of their own pass');
my $latin1 = "const char *s = \"\xE9\"; // \xE9\xFF\n#error don't k<<<\n";
for my $locale (qw(C C.UTF-8)) {
    local $ENV{LC_ALL} = $locale;
    is(rewrite('quiet.cu', $quiet), qq(#line 1 "quiet.cu"\n$quiet),
        "comments, strings and preprocessor lines pass in $locale");
    is(rewrite('latin1.cu', $latin1), qq(#line 1 "latin1.cu"\n$latin1),
        'bytes that are not UTF-8 pass in C') if $locale eq 'C';
}

# ---- Kernels and launches, compiled and run ----

prints('kernels.cu', <<'END', <<'END2');
#include "fake.h"
enum { BLOCK = 2 };
struct pack { int a, b; };
typedef struct { half lo, hi; } pair;

__global__ void later(const half *__restrict__ a, const long long n);
__global__ static void none() { printf("none\n"); }
extern void __global__ nothing(void);
static __global__ void __launch_bounds__(BLOCK * (2), 1)
by_value(struct pack p, pair q, unsigned char c, float const *const *x,
         volatile int *y /* the last */)
{
    printf("%d %d %d %d %d %g %d\n", p.a, p.b, q.lo.bits, q.hi.bits, c,
           (double)**x, *y);
}
static __launch_bounds__(64) __global__ void where(int *sum)
{ printf("(%u,%u)(%u,%u) ", blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y);
    (*sum)++; }  __global__ void same_line(int n) { printf("%d\n", n); }
#if 0 // one of three
static __global__ void either(void) { }
#elif 1
static __global__ void either(int n);
#ifdef X
#else
static __global__ void either(int n) { printf("either %d\n", n); }
#endif
#else
static __global__ void either(int n, int m) { printf("%d %d\n", n, m); }
#endif
#if 0
static __global__ void unused(int n) { }
#endif
static __global__ void unused(void) { } // no warning without a launch

static int add(int a, int b) { return a + b; }

int main(void)
{
    struct pack p = {1, 2};
    pair q = {{3}, {4}};
    float x = 0.5f;
    const float *px = &x;
    int y = 7, sum = 0;
    half h[2] = {{5}, {6}};
    dim3 grid = {2, 1, 1}, block = {1, 2, 1};
    cudaStream_t stream = &y;

    later<<<1, 1>>>(h, 1LL << 40);
    none<<<1, 1>>>();
    nothing<<<1, 2>>>( /* none */ );
    by_value<<<1, 1, 0, stream>>>(p, q, 'c', &px, &y);
    where<<<grid, block, sizeof(int) * (size_t)add(1, 2)>>>(&sum);
    printf("= %d\n", sum);
    same_line<<<(16 >> 3), y > 1 ? 1 : 2, (add(1, 0), 8 >>1)>>>(add(1, 3));
    same_line <<< 1, 4 >> 2 >>> (h[1].bits); same_line<<<1,1>>>("<<<"[0]);
    either<<<(grid.x >= 2) << 1, (dim3){1, 1, 1}>>>(9);
    if (sum == 4) same_line<<<1, 1>>>(1); else same_line<<<1, 1>>>(2);
    if (sum != 4)
        same_line<<<1, 1>>>(1);
    else
        same_line<<< // the comment's text, >>>
            1, /* ) */
            1
        >>>(
            add(3, // )
                4));
    return 0;
}

__global__ void later(const half *__restrict__ a, const long long n)
{
    printf("%d %lld\n", a[0].bits, n);
}
__global__ void nothing(void) { printf("nothing\n"); }
END
later<1x1, 1x1, 0, 0>
5 1099511627776
none<1x1, 1x1, 0, 0>
none
nothing<1x1, 2x1, 0, 0>
nothing
nothing
by_value<1x1, 1x1, 0, stream>
1 2 3 4 99 0.5 7
where<2x1, 1x2, 12, 0>
(0,0)(0,0) (0,0)(0,1) (1,0)(0,0) (1,0)(0,1) = 4
same_line<2x1, 1x1, 4, 0>
4
4
same_line<1x1, 1x1, 0, 0>
6
same_line<1x1, 1x1, 0, 0>
60
either<2x1, 1x1, 0, 0>
either 9
either 9
same_line<1x1, 1x1, 0, 0>
1
same_line<1x1, 1x1, 0, 0>
7
END2

prints('strings.cu', <<'END', "put<1x1, 1x1, 0, 0>\na // \" ) >>>, b|x\n");
#include "fake.h"
static __global__ void put(const char *s, char c) { printf("%s|%c\n", s, c); }
int main(void)
{
    put<<<1, sizeof ")>>>" / 5>>>("a // \" ) >>>\
, b", /* ' */ 'x');
}
END

# ---- Device variables: each is noted, and no function is ----

prints('variables.cu', <<'END', <<'END2');
#include "fake.h"
#define __device__
#define __align__(n) __attribute__((aligned(n)))
#define CPU_DEVICE_VARIABLE(number, name)                                      \
    static const size_t size_of_##name = sizeof name
struct pack { int a, b; };
static __device__ unsigned lock;
__device__ static float total = (1 + 2), more[2][3] = {{1, 2}, {3}}, *at;
static __device__ __align__(16) struct { int a; double d; } pairs[4];
static __device__ struct pack p __attribute__((aligned(8))), q __align__(4);
static __device__ const char table[] = {',', ';', '='}; // all of three
static volatile __device__ unsigned long long // a comment; = ,
    wide /* ; */
    ;
__device__ short one_line = 1;__global__ void k(void);
extern __device__ char elsewhere[];
__device__ extern int elsewhere_too;
static __device__ int f(int a, int b) { return a + b; }
static __device__ struct pack g(void);
static __device__ struct pack g(void) { struct pack z = {f(1, 2), 3}; return z; }
static __device__ int (*call)(int, int) = f; /* no atomic's place */
static __device__ int *own(void)
{
    static __device__ int inside = 5, *next = &inside;
    printf("%zu %zu\n", size_of_inside, size_of_next);
    return next;
}
#if 1
static __device__ char either;
#else
static __device__ int either;
#endif
__global__ void k(void)
{
    printf("%zu %zu %zu %zu %zu %zu\n", size_of_lock, size_of_total,
           size_of_more, size_of_at, size_of_pairs, size_of_p);
    printf("%zu %zu %zu %zu %zu\n", size_of_q, size_of_table, size_of_wide,
           size_of_one_line, size_of_either);
    printf("%d %d %d\n", *own(), g().a, call(3, 4));
    (void)lock, (void)total, (void)more, (void)at, (void)pairs, (void)p;
    (void)q, (void)table, (void)wide, (void)one_line, (void)either;
}
int main(void) { k<<<1, 1>>>(); return 0; }
END
k<1x1, 1x1, 0, 0>
4 4 24 8 64 8
8 3 8 2 1
4 8
5 3 7
END2

# ---- Line numbers: the compiler names the learner's own line ----

sub reports_line {
    my ($what, $line, $source) = @_;
    spew('planted.c', rewrite('planted.cu', $source));
    my ($status, $out, $err) = capture(@cc, @flags, '-fsyntax-only',
        'planted.c');
    isnt($status, 0, "$what: the compiler refuses it");
    my @reported = $err =~ /^planted\.cu:(\d+):[\d:]* error:/mg;
    is($reported[0] // 0, $line,
        "$what: reported in planted.cu, line $line")
        or diag($err);
}

my $head = <<'END';
#include "fake.h"
/* a comment
   of two lines */
static __global__ void k(const int *a,
                         int n)
{
    printf("%d\n", a[n]);
}
#define LONG \
    1
void f(int *p);
void f(int *p)
{
    k<<<1,
        2 // block
    >>>(
        p, LONG);
END
sub after { return "$head    $_[0]\n}\n" }

reports_line('after kernels and launches', 18, after('oops = 1;'));
reports_line('right behind a launch', 18,
    after('; k<<<1, 1>>>(p, 1); oops = 1;'));
reports_line('a wrong argument', 18, after('k<<<1, 1>>>(p, oops);'));
reports_line('too few arguments', 18, after('k<<<1, 1>>>(p);'));
reports_line('no arguments', 18, after('k<<<1, 1>>>();'));
reports_line('no semicolon', 18, after('k<<<1, 1>>>(p, 1)'));
reports_line('a parameter of an unknown type', 20,
    $head . "}\n\n__global__ void bad(oops n) { }\n");

# ---- Errors ----

refuses('comment', 2, 'unterminated comment', "int a;\n/* b\n\n*\n/\n");
refuses('string', 2, 'unterminated string or character: expected "',
    "int a;\nchar *s = \"b;\nint c;\n");
refuses('character', 1, "unterminated string or character: expected '",
    "int c = 'b;\n");
refuses('string with an escaped end', 2, 'unterminated string',
    "char *s = \"\\\\\",\n*t = \"b\\\";\n");
refuses('string over two lines', 1, 'unterminated string',
    "char *s = \"a\nb\";\n");

# Launches, each in a function that starts on line 3.
for (
    ['no >>>', 3, "'k': expected >>> after <<<GRID, BLOCK", 'k<<<1, 1>>(1);'],
    ['>>> in brackets', 3, "'k': expected >>>",   'k<<<(1, 1>>>(1));'],
    ['no >>> before }', 3, "'k': expected >>>",   'k<<<1, 1'],
    ['no >>> before <<<', 3, "'k': expected >>>", "k<<<1, 1\nk<<<1, 1>>>(1);"],
    ['no >>> before ;', 3, "'k': expected >>>",   'k<<<1, 1; 1 >>>(1);'],
    ['no >>> before )', 3, "'k': expected >>>",   'k<<<1, 1)(1>>>(1);'],
    ['one part',   3, '[, SHARED[, STREAM]]>>>, found 1', 'k<<<1>>>(1);'],
    ['five parts', 3, '[, STREAM]]>>>, found 5', 'k<<<1, 1, 0, 0, 0>>>(1);'],
    ['no parts',   3, 'part 1 is empty', 'k<<<>>>(1);'],
    ['no block',   3, 'part 2 is empty', 'k<<<1, /* 2 */>>>(1);'],
    ['no shared',  3, 'part 3 is empty', 'k<<<1, 1, , 0>>>(1);'],
    ['no arguments', 4, "'k': expected (ARGUMENTS) after >>>", "k<<<1,\n1>>>;"],
    ['no ) at the end', 4, "'k': expected ) after ARGUMENTS",
        "\nk<<<1, 1>>>(1;"],
    ['a launch in a launch', 3, "'k': expected ) after ARGUMENTS",
        'k<<<1, 1>>>(k<<<1, 1>>>(1));'],
    ['an unknown kernel', 4, "'kk': expected the name of a __global__ "
        . 'function declared above', "\nkk<<<1, 1>>>(1);"],
    ['a plain function', 3, "'f': expected the name", 'f<<<1, 1>>>();'],
    ['no name',          3, "';': expected the name", ';<<<1, 1>>>();'],
    ['a template', 3, 'template arguments before <<<', 'k<int><<<1, 1>>>(1);'],
    ['#if between parts', 4, 'a preprocessor line inside a launch',
        "k<<<1,\n#if 1\n1\n#else\n2\n#endif\n>>>(1);"],
    ['#pragma after a part', 5, 'a preprocessor line inside a launch',
        "k<<<1,\n1\n#pragma x\n>>>(1);"],
) {
    my ($what, $line, $message, $launch) = @$_;
    refuses("launch, $what", $line, $message,
        "static __global__ void k(int n) { (void)n; }\n"
            . "static void f(void) {\n$launch\n}\n");
}
refuses('a launch behind long lines', 7, 'expected the name',
    "// a \\\n b \\\n c\n#define D \\\n\\\n 1\nk<<<1, 1>>>();\n");
refuses('a kernel declared below', 1, "launch of 'k': expected the name",
    "void f(void) { k<<<1, 1>>>(); }\n__global__ void k(void) { }\n");
refuses('a launch at the start of the file', 1, "launch of ''", '<<<1, 1>>>()');
refuses('a launch in a #define', 2, 'a launch inside a #define',
    "#define RUN(n) \\\n  k<<<1, 1>>>(n)\n");

refuses('dynamic shared memory', 3, 'extern __shared__: the CPU emulation has '
        . 'arrays of fixed size only: expected __shared__ TYPE NAME[SIZE];',
    "void f(void) {\n__shared__ int a[2];\nextern __shared__ int b[];\n}\n");
refuses('a __shared__ variable with an initial value', 2,
    'a __shared__ variable has no initial value',
    "void f(void) {\n__shared__ int a[2] = {0};\n}\n");

# Clusters, by each name of theirs.
for (
    ['#include <cooperative_groups.h>', 'cooperative_groups'],
    ['namespace cg = cooperative_groups;', 'cooperative_groups'],
    ['__global__ void __cluster_dims__(2, 1, 1) k(void) { }',
        '__cluster_dims__'],
    ['p = __cluster_map_shared_rank(q, 1);', '__cluster_map_shared_rank'],
    map { ["f($_);", $_] } qw(__clusterRelativeBlockRank cudaLaunchKernelEx
        cudaLaunchKernelExC cudaLaunchConfig_t cudaLaunchAttribute
        cudaLaunchAttributeClusterDimension cudaOccupancyMaxActiveClusters),
) {
    my ($source, $word) = @$_;
    refuses($source, 2, "'$word': the CPU emulation has no clusters of blocks",
        "int a;\n$source\n");
}

for (
    ['int __global__ k(int n)', 'int'],
    ['__global__ int k(int n)', 'int'],
    ['static __global__ unsigned int k(int n)', 'unsigned'],
    ['__global__ void *k(int n)', '*'],
    ['__global__ k(int n)', 'k'],
    ['template <typename T> __global__ void k(T n)', 'template'],
    ['__global__ void k', 'k'],
) {
    my ($kernel, $found) = @$_;
    refuses($kernel, 2, 'a kernel returns void: expected [static] __global__ '
            . "[__launch_bounds__(N)] void NAME(PARAMETERS), found '$found'",
        "int a;\n$kernel;\n");
}
refuses('the end in a kernel', 1, 'a kernel returns void', '__global__ void');
refuses('an unclosed parameter list', 1,
    "kernel 'k': expected ) after PARAMETERS", "__global__ void k(int n;\n");
refuses('#define in a kernel head', 2, 'a preprocessor line inside a launch '
        . 'or the head of a kernel',
    "__global__ void k(int n,\n#define X\nint m) { }\n");

for (
    (map { [$_, 'has no name'] } '', 'int', 'const float *', 'const half',
        'unsigned long long', 'struct pack', 'half *__restrict__',
        'unsigned long *', 'unsigned long *const'),
    ['int x[]',            'is an array'],
    ['const float x[3]',   'is an array'],
    ['int n = 3',          'has a default argument'],
    ['void (*call)(int)',  'is a function pointer or a macro'],
    ['int &n',             "has '&'"],
    ['...',                "has '.'"],
    ['vec<int> v',         "has '<'"],
) {
    my ($parameter, $why) = @$_;
    refuses("parameter '$parameter'", 3,
        "kernel 'k': parameter '$parameter' $why: expected TYPE NAME",
        "\n__global__ void k(int m,\n$parameter) { }\n");
}

for my $name (@names) {
    my $unreadable = qr/\A1missing\.cu:1: error: cannot read this file\n\z/;
    my $not_one    = qr/\A1[^\n]+:1: error: expected one file[^\n]+\n\z/;
    like(join('', launch($name, 'missing.cu')), $unreadable, "$name: no file");
    like(join('', launch($name)), $not_one, "$name: no argument");
    like(join('', launch($name, 'exact.cu', 'empty.cu')), $not_one,
        "$name: two arguments");
    next if $> == 0;    # root may read every file
    spew('missing.cu', '');
    chmod 0, 'missing.cu' or die "cannot chmod: $!";
    like(join('', launch($name, 'missing.cu')), $unreadable,
        "$name: a file without read permission");
    unlink 'missing.cu';
}

# ---- CPU time: ten times the lines must not take a hundred times as long ----

my $lesson = join '', map { <<"END" } 1 .. 20;
/* A kernel for which each thread adds one value to a single sum. */
static __global__ void add$_(float *sum, const float *__restrict__ x, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) atomicAdd(sum, x[i]); // one add per thread
}

static void launch_add$_(float *d_sum, const float *d_x, int n)
{
    int blocks = (n + 255) / 256;
    add$_<<<blocks, 256>>>(d_sum, d_x, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize()); /* faults show here */
    printf("%-10s %d blocks of %d threads\\n", "add$_", blocks, 256);
}
END
spew('lines300.cu',  $lesson);
spew('lines3000.cu', $lesson =~ s/add(?=\d)/add_/gr x 10);
for my $name (@names) {
    my %seconds;
    for my $lines (300, 3000) {
        my (undef, undef, @before) = times;    # of the commands that ended
        launch($name, "lines$lines.cu");
        my (undef, undef, @after) = times;
        $seconds{$lines} = $after[0] + $after[1] - $before[0] - $before[1];
    }
    note(sprintf '%s: %.3f s of CPU time for 300 lines, %.3f s for 3000',
        $name, @seconds{300, 3000});
    cmp_ok($seconds{300},  '<', 1,  "$name: 300 lines in a second");
    cmp_ok($seconds{3000}, '<', 10, "$name: 3000 lines in ten seconds");
}

done_testing();
