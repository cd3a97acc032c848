#!/usr/bin/env perl
# BACKEND=musa, without such a GPU and without mcc. All that has kernels compiles,
# for the device and for the host, against tests/musa/, which declares what public
# sources use; a name that is not there does not. mcc's command line; what make
# says where there is no mcc, or none that works; warps of 128 threads. And
# common/cas_atomics.h in the emulation, with all lessons and exercises.
# Takes long: make test starts it early.
use strict;
use warnings;
use File::Basename qw(basename dirname);
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my @lessons = map { s{\Q$root\E/}{}r } bsd_glob("\Q$root\E/lessons/*/*.cu");
my @tasks = map { s{\Q$root\E/}{}r } bsd_glob("\Q$root\E/solutions/*.cu");
delete @ENV{qw(BACKEND MUSA_HOME MUSA_ARCH MUSA_ATOMICS CPPFLAGS LDFLAGS)};

# --- the list ---

{
    my $text = join '', map { slurp("$root/tests/musa/$_") }
        qw(musa_runtime.h musa_fp16.h musa_bf16.h);
    my %legend = map { $_ => 1 } $text =~ /^ \*   ([A-Z])  /mg;
    my %used = map { $_ => 1 } map { /(?:^|, )([A-Z])\b/g }
        $text =~ m{/\* ([A-Z](?:[ ,;].*?|))\*/}g;
    is(join(' ', sort keys %used), join(' ', sort keys %legend),
        'each source is named in the list, and each in use');

    # Each line that declares a function of MUSA's, a type, a constant, or the
    # line before it, names one.
    my @lines = split /\n/, $text =~ s{^extern "C" (?:int|unsigned).*?;}{}gmsr;
    my $source = qr{/\* [A-Z]\b};
    my @bare = grep { $lines[$_] =~ /^(?:\S.*\b(?:musa[A-Z]\w+|__\w+|fmaf|printf)\(
            |MUSA_(?:ATOMIC|SWAP)\(|\#define[ ]__|struct[ ]|typedef[ ]|extern[ ]const)/x
        && $lines[$_] !~ /^(?:const )?struct \w+;|uint3 \{/
        && join(' ', @lines[$_ - 1 .. $_ + 1]) !~ $source } 0 .. $#lines - 1;
    is(join("\n", @lines[@bare]), '', 'each declaration names its source');
}

# --- it compiles ---

# As mcc sees it: no CUDA. PTX, which clang would take, is an error.
sub compile {
    my ($clang, $arch, $side, $source, @more) = @_;
    return [$clang, qw(-x cuda --cuda-gpu-arch=sm_75 -nocudainc -nocudalib
        --cuda-path=/nonexistent -U__CUDA_ARCH__ -U__CUDACC__ -D__MUSACC__=1
        -Dasm=there_is_no_PTX -Wall -Wextra -Werror -Wno-unused-function
        -Wno-unused-const-variable -std=c++17 -ffp-contract=off),
        "-DMUSA_ARCH=$arch", "-D__MUSA_ARCH__=$arch", qw(-Itests/musa
        -Icommon/musa -Icommon -Iinclude), @more, $side eq 'device'
        ? qw(--cuda-device-only -S) : qw(--cuda-host-only -c),
        '-o', '/dev/null', $source];
}

sub compiles {
    my ($what, @commands) = @_;
    my @bad = grep { "$_->[0]$_->[2]" ne '0' } run_jobs(@commands);
    is(scalar @bad, 0, $what) or diag($bad[0][2]);
}

spew("$tmp/header.cu", <<'END');
#include "half_atomics.h"
static __global__ void all(__half *h, __nv_bfloat16 *b, float *f, __half2 *pairs)
{
    half_atomic_add(h, 0, 8, h[1]);
    half_atomic_add2(h, 0, 8, pairs[0]);
    half_atomic_add8(h, 0, 8, pairs);
    half_atomic_max(h, 0, 8, h[1]);
    half_atomic_min(h, 0, 8, h[1]);
    bf16_atomic_add(b, 0, 8, b[1]);
    bf16_atomic_max(b, 0, 8, b[1]);
    atomic_add_at(h, 0, 8, h[1]);
    atomic_add_at(b, 0, 8, b[1]);
    atomic_add_at(f, 0, 8, 1.0f);
}
int main(void)
{
    all<<<1, 1>>>(0, 0, 0, 0);
    return 0;
}
END
my @all = (@lessons, "$tmp/header.cu", 'tools/cas_atomics.cu',
    'tests/musa/cas_atomics.cu', $ci ? @tasks : $tasks[0]);
SKIP: {
    my ($clang) = grep { which($_) } qw(clang clang-19 clang-14);
    skip_or_fail('there is no clang here') if !$clang;
    for my $arch (210, 220, 310) {
        for my $cas ([], ['-DCAS_ATOMICS']) {
          SKIP: {
                my $what = "lessons, solutions, header: MUSA_ARCH=$arch @$cas";
                skip_unless_ci($what) if "$arch@$cas" ne '210';
                compiles($what, map { my $source = $_; map { compile($clang,
                    $arch, $_, $source, @$cas, '-DHALF_ATOMICS_CHECK=1') }
                    qw(device host) } @all);
            }
        }
    }

    # What is not on the list, on either side; and PTX.
    for my $fault (
        ['nothing', 'device', '', undef],
        ['a function', 'device', 'x = __syncthreads_count(1)',
            qr/__syncthreads_count/],
        ['an atomic', 'device', 'atomicMax(&x, 1)', qr/atomicMax/],
        ['PTX', 'device', 'asm("trap;")', qr/there_is_no_PTX/],
        ['a call', 'host', 'cudaMallocManaged(&p, 4)', qr/cudaMallocManaged/],
        ["one of MUSA's", 'host', 'musaMallocManaged(&p, 4)',
            qr/musaMallocManaged/],
    ) {
        my ($what, $side, $call, $says) = @$fault;
        my %line = (device => '', host => '', $side => "    $call;\n");
        spew("$tmp/fault.cu", "#include <cuda_runtime.h>\n"
            . "static __global__ void k(int x)\n{\n    (void)x;\n$line{device}}\n"
            . "int main(void)\n{\n    void *p;\n    (void)p;\n$line{host}"
            . "    k<<<1, 1>>>(0);\n    return 0;\n}\n");
        my ($status, undef, $err) = run(@{ compile($clang, 220, $side,
            "$tmp/fault.cu", '-Wno-extra-semi-stmt') });
        is($status ? 1 : 0, $says ? 1 : 0,
            "$what that is not on the list, for the $side") or diag($err);
        like($err, $says, '... is named') if $says;
    }
}

# --- the command line ---

my $mcc = <<'END';
#!/bin/sh
for word; do printf '[%s]' "$word"; done >> "$RECORD"; echo >> "$RECORD"
[ -z "${MCC_FAILS:-}" ] || { echo "mcc: error: no such GPU" >&2; exit 1; }
while [ $# -gt 1 ]; do
    case $1 in -o) : > "$2"; chmod +x "$2" ;; esac
    shift
done
END
my $home = "$tmp/my musa's home";
spew("$home/bin/mcc", $mcc, 0755);
my $tree = copy_tree('musa', qw(Makefile common include tools lessons exercises
    solutions));
my $record = "$tmp/record";
my $bare = path_without('mcc', 'mthreads-gmi');

# Status, stdout, stderr, and what mcc was called with.
sub with_mcc {
    my ($env, @arguments) = @_;
    unlink $record;
    my @result = run({ dir => $tree, env => { RECORD => $record, PATH => $bare,
        %$env } }, $make, 'BACKEND=musa', @arguments);
    return (@result, -e $record ? slurp($record) : '');
}

sub refused {
    my ($what, $pattern, $env, @arguments) = @_;
    my ($status, $out, $err) = with_mcc($env, @arguments);
    isnt($status, 0, "$what: fails");
    one_line($err, $pattern, "$what: one line says why");
}

SKIP: {
    skip 'mcc is where no option hides it', 2 if -x '/usr/local/musa/bin/mcc';
    my $says = qr/mcc was not found in PATH, MUSA_HOME or \S+; .*BACKEND=cpu/;
    refused('no mcc', $says, {}, 'MUSA_ARCH=mp_22', 'lesson1');
    refused('MUSA_HOME without it', $says, { MUSA_HOME => $tmp },
        'MUSA_ARCH=mp_22', 'lesson1');
}
my %at = (MUSA_HOME => $home);
refused('no MUSA_ARCH', qr/which GPU\? say MUSA_ARCH=mp_21 .* mp_22 .* mp_31/,
    \%at, 'lesson1');
refused("MUSA_ARCH=$_", qr/MUSA_ARCH=$_: choose mp_21, mp_22 or mp_31/, \%at,
    "MUSA_ARCH=$_", 'lesson1') for qw(mp_9 sm_90 220), 'mp_21 mp_22';
refused("MUSA_ATOMICS=$_", qr/MUSA_ATOMICS=$_: say cas, or leave it out/, \%at,
    'MUSA_ARCH=mp_22', "MUSA_ATOMICS=$_", 'lesson1') for 'swap', 'cas cas';
{
    my ($status, $out, $err, $ran) = with_mcc({ %at, MCC_FAILS => 1 },
        'MUSA_ARCH=mp_22', 'lesson1');
    isnt($status, 0, 'mcc fails: so does make');
    like($err, qr/^mcc: error: no such GPU\nmcc ended with status 1: \S+ was not built$/m,
        '... with its own words, and one line');
    ok(!-e "$tree/lesson1", '... and no program');

    my $wanted = sub {
        my ($arch, $number, @more) = @_;
        return join '', map { "[$_]" } '-x', 'musa', "--offload-arch=$arch",
            "-DMUSA_ARCH=$number", qw(-std=c++17 -O3 -ffp-contract=off
            -Icommon/musa -Icommon -Iinclude), @more;
    };
    ($status, $out, $err, $ran) = with_mcc(\%at, 'MUSA_ARCH=mp_22', 'lesson1');
    is("$status$err", '0', 'MUSA_HOME with a space and a quote');
    like($out, qr/^BACKEND=musa \(as asked\)$/m, '... names the backend');
    is($ran =~ s/\[-o\].*//sr, $wanted->('mp_22', 220), "... mcc's command line");
    like($ran, qr{\[-o\]\[build/musa-\d+/v0_half\]\[lessons/v0_half/v0_half\.cu\]\[-L\Q$home\E/lib\]\[-lmusart\]$}m,
        '... and what it links');
    ok(-x "$tree/lesson1", '... ./lesson1');
    ($status, $out, $err, $ran) = with_mcc(\%at, 'MUSA_ARCH=mp_31',
        'MUSA_ATOMICS=cas', 'CPPFLAGS=-DMINE', 'exercise1');
    is($ran =~ s/\[-o\].*//sr,
        $wanted->('mp_31', 310, '-DCAS_ATOMICS', '-DMINE'),
        'MUSA_ATOMICS=cas, CPPFLAGS, an exercise');

    # From PATH; the GPU's name says which it is.
    spew("$tmp/bin/mcc", $mcc, 0755);
    my %path = (PATH => "$tmp/bin:$bare");
    for (['MTT S80', 'mp_21'], ['MTT S4000', 'mp_22'], ['MTT S5000', 'mp_31']) {
        my ($name, $arch) = @$_;
        spew("$tmp/bin/mthreads-gmi", "#!/bin/sh\necho '| 0 $name | 00000 |'\n",
            0755);
        $ran = (with_mcc(\%path, '-B', 'lesson1'))[3];
        like($ran, qr/\[--offload-arch=$arch\]/, "a $name is $arch");
    }
    spew("$tmp/bin/mthreads-gmi", "#!/bin/sh\necho '| 0 MTT S90 |'\n", 0755);
    refused('a GPU that is not known', qr/which GPU\?/, \%path, 'lesson1');
    run({ dir => $tree }, $make, 'BACKEND=cpu', 'clean');
    ok(!bsd_glob("\Q$tree\E/build/musa-*") && !-l "$tree/lesson1", 'make clean');
}

# --- warps of 128 threads, in the emulation, whose shuffles stay with 32 ---

# Builds @programs in $tree/build, whose emulation is that of the tree unless it
# stands in @planted: objects that are made anew.
sub build {
    my ($tree, $options, $planted, @programs) = @_;
    give_runtime($tree, 'BACKEND=cpu', (grep { /^MUSA/ } @$options), 'BUILD=build');
    unlink map { "$tree/build/$_" } @$planted, @programs;
    return run({ dir => $tree }, $make, '-s', "-j$jobs", 'BACKEND=cpu',
        'BUILD=build', 'CFLAGS=-O0', @$options, map { "build/$_" } @programs);
}

{
    my $tree = copy_tree('wide', qw(Makefile common include tools lessons));
    my @wide = qw(v5_reduce v6_scatter v7_histogram);
    my @options = 'CPPFLAGS=-DDEVICE_WARP=128';
    my ($status, $out, $err) = build($tree, \@options, [], $wide[0]);
    is("$status$err", '0', 'lesson 6 for warps of 128');
    ($status, $out, $err) = run("$tree/build/$wide[0]");
    is($status, 3, 'where there are 32: refused');
    one_line($err, qr/built for warps of 128 threads, and those of the CPU emul.*, have 32; build it for that one: make ARCH=/,
        '... in one line');
    edit("$tree/common/cpu/properties.c", 'prop->warpSize = 32;',
        'prop->warpSize = 128;');
    ($status, $out, $err) = build($tree, \@options, ['properties.o'], @wide);
    is("$status$err", '0', 'lessons 6 to 8 for warps of 128');
    my @results = run_jobs(["$tree/build/v5_reduce", '--n', 20000],
        ["$tree/build/v6_scatter", '--n', 1000],
        ["$tree/build/v7_histogram", '--n', 20000]);
    for my $i (0 .. $#wide) {
        is("$results[$i][0]$results[$i][2]", '0', "$wide[$i]: warps of 128");
        like($results[$i][1], qr/^result .*: ok/m, '... and right');
    }
}

# --- adds by compare-and-swap, in the emulation ---

my @cas = 'MUSA_ATOMICS=cas';
my $swaps = copy_tree('cas', qw(Makefile common include tools lessons exercises
    solutions));
spew("$swaps/tests/cpu/cas_atomics.cu", slurp("$root/tests/musa/cas_atomics.cu"));
for my $more ('-DCAS_SWAP_USHORT=1', '-DCAS_2_BYTES=1') {
    my ($status, undef, $err) = build($swaps, [@cas, "CPPFLAGS=$more"], [],
        'cas_atomics');
    is("$status$err", '0', "tests/musa/cas_atomics.cu builds, $more");
    run_ok("tests/musa/cas_atomics.cu, $more", {}, "$swaps/build/cas_atomics");
}
for my $fault (
    ['a loop that looks once', '} while (old != seen);
    return (unsigned short)(old >> shift);', '} while (0);
    return (unsigned short)(old >> shift);'],
    ['a neighbour that is lost', '(seen & 0xffff0000u >> shift) | sum << shift',
        'sum << shift'],
    ['an old value that is new', 'return (unsigned short)(old >> shift);',
        'return (unsigned short)sum;'],
    ['a 2-byte swap that looks once', '} while (old != seen);
    return expected;', '} while (0);
    return expected;'],
) {
    my ($what, $from, $to) = @$fault;
    my $header = "$swaps/common/cas_atomics.h";
    my $sound = slurp($header);
    edit($header, $from, $to);
    my ($status, undef, $err) = build($swaps, [@cas,
        'CPPFLAGS=-DCAS_SWAP_USHORT=1'], [], 'cas_atomics');
    is("$status$err", '0', "$what: builds");
    ($status) = run("$swaps/build/cas_atomics");
    isnt($status, 0, "$what is found");
    spew($header, $sound);
}

# All lessons, built with @options.
sub lessons_run {
    my ($what, $env, @options) = @_;
    my ($status, $out, $err) = run({ dir => $swaps }, $make, "-j$jobs",
        'BACKEND=cpu', @cas, @options, 'all', 'conformance');
    is("$status$err", '0', "$what: the lessons build without a warning");
    my @runs = ((map { ["lesson$_", '--n', 2**16, '--runs', 1] } 1 .. 3),
        ['lesson4', '--n', 512], ['lesson5', '--n', 512], (map { ["lesson$_",
        '--n', 2000] } 6 .. 8), ['lesson9'], ['lesson10', '--n', 2000],
        ['conformance']);
    # ThreadSanitizer takes minutes and 10 GB for all sums of lesson 6's check.
    @runs = grep { $full || $_->[0] ne 'lesson6' } @runs if $what =~ /Thread/;
    my @results = run_jobs(map { [{ dir => $swaps, env => $env }, "./$_->[0]",
        @$_[1 .. $#$_]] } @runs);
    is("$results[$_][0]$results[$_][2]", '0', "$what: $runs[$_][0]")
        or diag($results[$_][1]) for 0 .. $#runs;
}

SKIP: {
    skip_unless_ci('all lessons and exercises with adds by compare-and-swap');
    lessons_run('cas', {});
    for my $task (@tasks) {
        my ($number) = basename($task) =~ /^0*(\d+)/;
        spew("$swaps/" . $task =~ s/^solutions/exercises/r, slurp("$root/$task"));
        my ($status, $out, $err) = run({ dir => $swaps }, $make,
            'BACKEND=cpu', @cas, "exercise$number");
        is($status, 0, "cas: exercise $number, and no race") or diag("$out$err");
    }
    my ($thread) = grep { $_->[0] eq 'gcc' && $_->[1] eq 'thread' } @sanitizers;
    skip_or_fail('no ThreadSanitizer') if !sanitizer_works(@$thread);
    lessons_run('cas, ThreadSanitizer', { TSAN_OPTIONS => 'atexit_sleep_ms=0',
        CPU_THREADS => 3 }, 'CC=gcc', "CFLAGS=$thread->[2]");
}

done_testing();
