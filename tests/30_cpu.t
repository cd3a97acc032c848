#!/usr/bin/env perl
# Tests common/cpu, the emulation of CUDA C on a CPU: builds the programs of
# tests/cpu through the Makefile and runs them. CC and CFLAGS are honoured.
# With BACKEND=cuda the same programs run on the GPU as well, and expect what a
# GPU does; tests/cpu/faults.cu says which faults that leaves out.
# CPU_TEST_N makes the inputs fewer. Run: prove tests/30_cpu.t
use strict;
use warnings;
use Config;
use File::Basename qw(basename);
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my $n = $ENV{CPU_TEST_N} // 1 << 19;    # random inputs, threads in a crowd
my @programs = qw(values shapes memory faults order);
delete $ENV{CPU_THREADS};

sub make_in {
    my ($directory, @arguments) = @_;
    return run('make', '--no-print-directory', '-C', $directory, @arguments);
}

# One test: the program ends with status 0, prints "ok" lines and no other
# result, and on stderr just what its "stderr: " line says.
sub runs {
    my ($what, $threads, @command) = @_;
    my ($status, $out, $err) = run({ env => { CPU_THREADS => $threads } },
        @command);
    my $wanted = join '', map { "$_\n" } $out =~ /^stderr: (.*)/mg;
    my $good = () = $out =~ /^ok - /mg;
    my $bad  = () = $out =~ /^not ok - /mg;
    ok($status == 0 && $good > 0 && $bad == 0 && $err eq $wanted, $what)
        or diag(join '', "status $status\n", $out =~ /^((?!ok).*\n)/mg,
            "stderr:\n$err");
}

# ---- No name twice ----

# A program is compiled with all of these directories searched for headers.
{
    my %places;
    push @{ $places{ basename($_) } }, $_ for map { glob "$root/$_/*.h" }
        qw(common common/cpu include lessons/*);
    my @twice = grep {
        my @found = @{ $places{$_} };
        @found > 1 && grep { !m{/lessons/} } @found
    } sort keys %places;
    is("@twice", '', 'no header of a lesson has the name of a common one');
}

# ---- The programs ----

my $build = "$tmp/cpu";
build_programs(\@programs, 'tests/cpu', 'cpu', $build)
    or BAIL_OUT('nothing to test');
my ($status, $out, $err);

for my $threads (1, 2, 100) {
    runs("values: $threads pool threads", $threads, "$build/values", $n);
    runs("shapes: $threads pool threads", $threads, "$build/shapes");
}
for my $mode (qw(0x8000 0x0040 0x8040)) {
    runs("values: FTZ and DAZ set to $mode", 3, "$build/values", $n, $mode);
}
runs('memory', 2, "$build/memory");

sub is_order {
    my ($what, $program) = @_;
    my ($status, $out) = run($program);
    is("$status$out", '0' . slurp("$root/results/cpu/order.txt"),
        "$what: results/cpu/order.txt is fresh");
}
is_order('cpu', "$build/order");

# ---- Faults ----

# Whether the compiler's check of alignment sees the copy of a struct: gcc's
# does, clang 14's does not.
spew("$tmp/probe.c", <<'END_C');
typedef struct { short x, y; } __attribute__((aligned(4))) pair;
_Alignas(4) char place[8];
char *volatile at = place + 2;
pair to;
int main(void) { to = *(pair *)at; return 0; }
END_C
my @cc = split ' ', $ENV{CC} // 'cc';
my @trap = qw(-O1 -fsanitize=alignment -fsanitize-undefined-trap-on-error);
($status) = run(@cc, @trap, '-o', "$tmp/probe", "$tmp/probe.c");
is($status, 0, 'the probe compiles');
($status) = run('sh', '-c', 'ulimit -c 0; exec "$@"', 'sh', "$tmp/probe");
my $sees_structs = $status > 128;
ok($sees_structs, 'gcc checks the alignment of struct copies')
    if (run(@cc, '--version'))[1] =~ /Free Software Foundation/;

sub run_faults {
    my ($program, $backend, $waits, @threads) = @_;
    my @cases = split ' ', (run($program))[1];
    cmp_ok(scalar @cases, '>', 30, "$backend: there are cases of faults");
    for my $i (0 .. $#cases) {
        my $case = $cases[$i];
      SKIP: {
            skip "$case: this compiler does not check the alignment of " .
                'struct copies', scalar @threads
                if $backend eq 'cpu' && !$sees_structs &&
                $case =~ /^(half|half2|pack2)-(load|store)-on-odd/;
            my $wait = $waits->[$i % @$waits];
            runs("$backend: $case, $wait, $_ pool threads", $_, $program,
                $case, $wait) for @threads;
            # The emulation remembers where the last atomic was allowed.
            runs("$backend: $case, after an atomic add that is sound",
                $threads[0], $program, $case, $wait, 'warm')
                if $case =~ /atomic/;
        }
    }
    for my $wait (@$waits) {
        runs("$backend: $_ shows at the first call that waits: $wait", 2,
            $program, $_, $wait)
            for qw(half2-atomic-on-odd-half half2-load-through-null);
    }
}
my @waits = qw(sync memcpy event free);
run_faults("$build/faults", 'cpu', [@waits, 'elapsed'], 1, 3);

for my $threads (1, 2, 100) {
    ($status, $out, $err) = run({ env => { CPU_THREADS => $threads } },
        "$build/faults", 'everyone');
    is($status, 0, "all threads fault, $threads pool threads: error 700")
        or diag($out);
    like($err, qr/\ACPU[ ]emulation:[ ]touch_by_all,[ ]block[ ]\(\d+,0,0\),[ ]
        thread[ ]\(0,0,0\):[ ]a[ ]plain[ ]access[ ]at[ ]0x[0-9a-f]+[ ]is
        [ ]outside[ ]every[ ]allocation[ ]\(error[ ]700\)\n\z/x,
        'and the first one is reported, alone');
}

# The host's own crash kills the program, before and after a launch. Under a
# sanitizer too, once it is told to leave these signals alone.
{
    my @signal_names = split ' ', $Config{sig_name};
    my %signal = (crash => 'SEGV', 'crash-later' => 'SEGV',
        'raise-later' => 'SEGV', 'trap-later' => 'ILL|TRAP');
    my $alone = 'handle_segv=0:handle_sigill=0:handle_sigbus=0:' .
        'handle_sigtrap=0:detect_leaks=0';
    my %env = (CPU_THREADS => 2, ASAN_OPTIONS => $alone,
        TSAN_OPTIONS => $alone, UBSAN_OPTIONS => $alone);
    for my $how (sort keys %signal) {
        ($status, $out, $err) = run({ env => \%env }, 'sh', '-c',
            'ulimit -c 0; ulimit -t 20; exec "$@"', 'sh', "$build/faults",
            $how);
        my $name = $status > 128 ? $signal_names[$status - 128] : $status;
        like($name, qr/\A($signal{$how})\z/, "$how: killed by a signal");
        is($out, "ok - crashing now\n", "$how: where it should");
        unlike($err, qr/CPU emulation/, "$how: no kernel is blamed");
    }
}

# ---- What does not compile: a sanitizer has no part in that ----

if (($ENV{CFLAGS} // '') =~ /sanitize/) {
    done_testing();
    exit;
}

# A tree with this Makefile, this common/ and one lesson.
my $tree = "$tmp/tree";
spew("$tree/Makefile", slurp("$root/Makefile"));
symlink "$root/$_", "$tree/$_" or die "$_: $!" for qw(common tools);
give_runtime($tree, 'BACKEND=cpu');

sub build_lesson {
    my ($source) = @_;
    spew("$tree/lessons/v0_one/v0_one.cu", $source);
    return make_in($tree, 'BACKEND=cpu', 'lesson1');
}

# The statement stands in line 5, in a kernel.
sub in_kernel {
    my ($statement) = @_;
    return <<"END_C";
#include <cuda_fp16.h>
#include <cuda_runtime.h>
static __global__ void k(half *a, half2 *b, int *i)
{
    $statement
    (void)a; (void)b; (void)i;
}
int main(void) { k<<<1, 1>>>(NULL, NULL, NULL); return 0; }
END_C
}

($status, $out, $err) = build_lesson(in_kernel('a[0] = a[1];'));
is("$status$err", '0', 'the frame of the sources below compiles');
($status, $out, $err) = build_lesson(in_kernel('int half = 1; ' .
    'atomicAdd(a, a[1]); *i = __shfl_sync(~0u, half, 1);'));
is("$status$err", '0', 'a variable may have the name half');

sub refuses {
    my ($statement, $message) = @_;
    my ($status, $out, $err) = build_lesson(in_kernel($statement));
    is($status, 2, "$statement does not compile");
    like($err, qr/error:[^\n]*$message/, "$statement: an error" .
        ($message && ", by name"));
    like($err, qr{^lessons/v0_one/v0_one\.cu:5:}m, "$statement: in its line");
}

# What CUDA has and no lesson uses. A name that common/cpu gets moves out.
refuses(@$_) for
    ['a[0] = __hadd(a[0], a[1]);', '__hadd.*: write __hadd_rn\(\), which nvcc'],
    ['b[0] = __hmul2(b[0], b[1]);', '__hmul2.*: write __hmul2_rn\(\), which'],
    ['a[0] = __int2half_rn(*i);', ': write __float2half_rn\(\(float\)i\)'],
    ['*i = __half2int_rn(a[0]);', ': write \(int\)rintf\(__half2float\(h\)\)'],
    ['a[0] = hexp(a[1]);', ': write __float2half_rn\(expf\(__half2float\(x\)\)\)'],
    ['b[0] = make_half2(a[0], a[1]);', ': write __halves2half2\(x, y\)'],
    ['half x = 1;', 'a half is not a number .* x = __float2half_rn\(NUMBER\)'],
    ['half2 x = -.5f;', ' expected half2 x = __float2half2_rn\(NUMBER\)'],
    ['*i = __shfl_down(*i, 1);', '__shfl_down'],
    ['*i = __reduce_add_sync(~0u, *i);', '__reduce_add_sync'],
    ['__nv_bfloat16 x;', '__nv_bfloat16']; # without its header

# Types that CUDA's atomics do not take.
my $long = '(long long *)i';
refuses($_, '') for "atomicAdd($long, 1);", "atomicSub($long, 1);",
    'atomicSub((unsigned long long *)i, 1);', 'atomicSub((float *)i, 1);',
    "atomicExch($long, 1);", 'atomicExch((double *)i, 1);',
    'atomicInc(i, 1);', 'atomicDec(i, 1);', "atomicCAS($long, 1, 2);",
    'atomicAnd((float *)i, 1);', 'atomicMax((float *)i, 1);',
    '__shfl_sync(~0u, i, 1);', '__shared__ int s[2] = {0}; (void)s;';

refuses($_, '') for 'a[0] = a[0] + a[1];', 'a[0] += a[1];',
    'a[0] = a[0] * 2;', 'a[0] = -a[0];', 'i[0] = a[0] < a[1];',
    'b[0] = b[0] + b[1];', 'a[0] = 1.0f;', 'float f = a[0]; (void)f;',
    'atomicAdd(a, 1.0f);', 'atomicAdd(b, a[0]);', 'atomicAdd((short *)a, 1);';

# ---- Messages come through make with file and line ----

{
    my $source = in_kernel('');
    $source =~ s/k<<<1, 1>>>/\n    unknown<<<1, 1>>>/;
    ($status, $out, $err) = build_lesson($source);
    is($status, 2, 'launch.awk refuses a launch: make stops');
    like($err, qr{^lessons/v0_one/v0_one\.cu:9: error: launch of 'unknown'}m,
        'with file and line');
    my @left = glob "$tree/build/*/v0_one.c";
    is("@left", '', 'and leaves no broken file behind');

    $source = in_kernel('');
    $source =~ s/k<<<1, 1>>>\(NULL,/\n    k<<<1, 1>>>(1.5,/;
    ($status, $out, $err) = build_lesson($source);
    is($status, 2, 'the compiler refuses an argument: make stops');
    like($err, qr{^lessons/v0_one/v0_one\.cu:9:[^\n]*error:}m,
        'with file and line');
}

# ---- On a GPU ----

SKIP: {
    skip 'the GPU: BACKEND is not cuda', 1 if ($ENV{BACKEND} // '') ne 'cuda';
    my $build = "$tmp/cuda";
    ($status, $out, $err) = make_in($root, '-j2', 'BACKEND=cuda',
        "BUILD=$build", map { "$build/$_" } @programs);
    is("$status$err", '0', 'cuda: builds without a warning') or last SKIP;
    runs('cuda: values', 1, "$build/values", $n);
    runs('cuda: shapes', 1, "$build/shapes");
    runs('cuda: memory', 1, "$build/memory");
    is_order('cuda', "$build/order");
    run_faults("$build/faults", 'cuda', \@waits, 1);
}

done_testing();
