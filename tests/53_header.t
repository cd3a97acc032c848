#!/usr/bin/env perl
# include/half_atomics.h: its checks (tests/header/) in the CPU emulation and on a
# GPU, faults planted in the header, what nvcc makes of it on each architecture,
# with -G, and clang; that it keeps to what CUDA 11.8 has, and leaves no macros.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Cwd qw(abs_path);
use Test::More;

my $header = "$root/include/half_atomics.h";
my $source = 'tests/header/half_atomics.cu';
my $text   = slurp($header);
(my $code = $text) =~ s{/\*.*?\*/}{}gs;

# --- what it needs ---

is(join(' ', $code =~ /^\#include (\S+)/mg),
    '<cuda_bf16.h> <cuda_fp16.h> <stddef.h> <stdio.h>', 'no header of this repository');

# In CUDA 11.8 these are there on every architecture; so the header compiles
# there for sm_37 too. (__hadd_rn, for one, is not: it begins at sm_53, and
# __bfloat16_as_ushort at sm_80.)
# __atomic_load_n is for the emulation.
my %old = map { $_ => 1 } qw(__atomic_load_n __half2float
    __float2half_rn __bfloat162float __float2bfloat16_rn __trap);
my %used = map { $_ => 1 } $code =~ /\b(__\w+)\(/g;
is(join(' ', grep { !$old{$_} } sort keys %used), '',
    'no function that CUDA 11.8 does not have everywhere');
cmp_ok(scalar keys %used, '>=', 4, 'and functions were found');

like($text, qr{\A/\* SPDX-License-Identifier: MIT\n}, 'it names its license');
like(slurp("$root/LICENSE"), qr/\AMIT License\n/, 'that of the repository');
like($text, qr/half_atomics\.h 1\.0:.*HALF_ATOMICS_VERSION 10000/s,
    'and its version');
cmp_ok(scalar(split /\n/, $text), '<=', 560, 'it can be read');

# --- what it leaves behind ---

# The names of the macros after the text, to nvcc for sm_90 if $cuda.
sub macros {
    my ($text, $cuda) = @_;
    spew("$tmp/macros.c", $text);
    my ($status, $out, $err) = run('gcc', qw(-dM -E -Icommon/cpu -Icommon),
        $cuda ? qw(-D__CUDACC__ -D__CUDA_ARCH__=900 -D__CUDACC_VER_MAJOR__=13
        -D__CUDACC_VER_MINOR__=0) : (), "$tmp/macros.c");
    die $err if $status;
    return map { $_ => 1 } $out =~ /^#define (\w+)/mg;
}

SKIP: {
    skip_or_fail('there is no gcc here') if !which('gcc');
    my %before = macros(join('', map { "$_\n" }
        $text =~ /^(\#include .*)/mg), 1);
    my $left = sub { my %now = macros(@_);
        return join ' ', sort grep { !$before{$_} } keys %now; };
    my $names = 'HALF_ATOMICS_H HALF_ATOMICS_VERSION';
    is($left->($text, 1), $names, 'no other macros are left');
    is($left->($text, 0), $names, 'nor where no CUDA compiler is at work');
    is($left->($text =~ s/#undef HALF_ATOMICS_VECTORS\n//r, 1),
        $names =~ s/ / HALF_ATOMICS_VECTORS /r, 'the check finds one that is');
    for my $language ('c', 'c++') {
        my ($status, $out, $err) = run('gcc', '-x', $language, qw(-E -P),
            $header);
        like("$status$err$out", qr/\A0\s*\z/, "$language: declares nothing");
    }
}

# --- in the CPU emulation ---

# The command that builds the check with the header in $include.
sub build {
    my ($cc, $level, $program, $include, @define) = @_;
    return [$cc, (map { $_ eq '-Iinclude' ? "-I$include" : $_ }
            cpu_flags("CC=$cc")), '-Wconversion', '-Werror', $level, @define,
        '-o', $program, "$tmp/check.c", cpu_runtime('BACKEND=cpu', "CC=$cc"),
        '-lm'];
}

my ($status, $out, $err) = run('awk', '-f', 'common/cpu/launch.awk', $source);
is("$status$err", '0', 'the check is rewritten for the CPU');
spew("$tmp/check.c", $out);

# Runs the check; it must be right, and must have checked `$lines` things.
sub is_right {
    my ($name, $lines, @command) = @_;
    my ($status, $out, $err) = run(@command);
    is("$status$err", '0', "$name: exit 0, nothing on stderr");
    my @ok = $out =~ /^checks    .*: ok$/mg;
    is(scalar @ok, $lines, "$name: $lines checks") or diag($out);
    like($out, qr/^result    ok$/m, "$name: the result");
}

my $checks   = 21; # without those of allocations, one less
my $fallback = '-DHALF_ATOMICS_ARCH=500';
for my $cc (qw(gcc clang)) {
  SKIP: {
        skip_or_fail("there is no $cc here") if !which($cc);
        my @results = run_jobs(build($cc, '-O1', "$tmp/$cc", 'include'),
            build($cc, '-O1', "$tmp/$cc-500", 'include', $fallback));
        is("$_->[0]$_->[2]", '0', "$cc: the check compiles, no warning")
            for @results;
        is_right("$cc", $checks, "$tmp/$cc");
        is_right("$cc, $fallback", $checks - 1, "$tmp/$cc-500");
    }
}

# Faults: what, from, to, and the path to take. Each must be found.
my @faults = (
    ['+0 beside the target', 'MINUS_ZERO = 0x8000', 'MINUS_ZERO = 0'],
    ['the parity of the index',
        'is_high = half_atomics_is_high(target);',
        'is_high = (int)(index & 1);'],
    ['one too many at the end', ': index + 1 < length', ': index < length'],
    ['one too many at the begin', 'is_high ? index > 0', 'is_high ? 1'],
    ['no bounds', "    if (index >= length)\n        return;\n", ''],
    ['a pair past the end', 'length - index >= 2', 'length - index >= 1'],
    ['eight past the end', 'length - index >= 8', 'length - index >= 7'],
    ['eight in another order', 'half_atomics_pair(target + 2 * k, w[k]',
        'half_atomics_pair(target + 2 * k, w[3 - k]'],
    ['eight that begin outside', 'if (index >= length && index < (size_t)-7)',
        'if (index >= length)'],
    ['eight that do not move up', 'step == 2 ? w[k + 1]', 'step == 2 ? w[k]'],
    ['bf16 as half', 'half_atomics_loop16(target, bits, what)',
        'half_atomics_loop16(target, bits, what - what % 2)'],
    ['a minimum as a maximum', '(what < HALF_ATOMICS_MIN) ? a', '1 ? a'],
    ['a NaN that wins', '? (unsigned)HALF_ATOMICS_NAN : b;',
        '? (unsigned)HALF_ATOMICS_NAN : a;'],
    ['zeros that are equal', 'b & 0x8000 ? b ^ 0xffff : b | 0x8000',
        'b & 0x8000 ? 0x10000 - b : b | 0x8000'],
    ['the neighbour not kept', '(seen & keep) | (next & ~keep)',
        '(next & keep) | (next & ~keep)', $fallback],
);
SKIP: {
    skip_or_fail('there is no gcc here') if !which('gcc');
    @faults = some_of(@faults);
    plant('include', "$tmp/fault$_", @{ $faults[$_] }[1, 2]) for 0 .. $#faults;
    my @built = run_jobs(map { build('gcc', '-O0', "$tmp/fault$_/check",
        "$tmp/fault$_", $faults[$_][3] // ()) } 0 .. $#faults);
    my @results = run_jobs(map { ["$tmp/fault$_/check"] } 0 .. $#faults);
    for my $i (0 .. $#faults) {
        my $what = $faults[$i][0];
        is("$built[$i][0]$built[$i][2]", '0', "$what: compiles");
        my ($status, $out, $err) = @{ $results[$i] };
        # 1: a wrong value; 3: a fault at an address.
        like($status, qr/\A[13]\z/, "$what: is found");
        like("$out$err", qr/WRONG|\(error 7\d\d/, "$what: and named");
    }
}

# --- HALF_ATOMICS_CHECK ---

# What tests/header/misuse.cu must say to WIDTH, INDEX, LENGTH.
my $outside = sub { return qr/\Ahalf_atomics\.h:\ index\ $_[0]\ is\ outside\ of
    \ the\ array:\ base\ 0x\w+,\ length\ $_[1];\ block\ 0,\ thread\ 0\n
    unspecified\ launch\ failure\n\z/x };
my @misuse = (
    ['1 9 10', qr/\Ano error\n\z/], ['1 10 10', $outside->(10, 10)],
    ['1 -1 10', $outside->(-1, 10)], ['1 0 0', $outside->(0, 0)],
    ['2 -1 10', qr/\Ano error\n\z/], ['2 -2 10', $outside->(-2, 10)],
    ['8 -7 10', qr/\Ano error\n\z/], ['8 -8 10', $outside->(-8, 10)],
    ['8 -1 3', qr/\Ano error\n\z/], ['8 -1 0', $outside->(-1, 0)],
);

sub is_stopped {
    my ($program, @cases) = @_;
    for (@cases) {
        my ($status, $out) = run($program, split ' ', $_->[0]);
        like($out, $_->[1], "misuse $_->[0]: what HALF_ATOMICS_CHECK says");
        is($status, 0, 'and it ends by itself');
    }
}

SKIP: {
    skip_or_fail('there is no gcc here') if !which('gcc');
    my ($status, $out, $err) = run('awk', '-f', 'common/cpu/launch.awk',
        'tests/header/misuse.cu');
    spew("$tmp/check.c", $out);
    my ($built) = run_jobs(build('gcc', '-O1', "$tmp/misuse", 'include'));
    is("$status$err$built->[0]$built->[2]", '00', 'misuse.cu compiles');
    is_stopped("$tmp/misuse", @misuse);
}

# --- nvcc ---

# A kernel for each function. Of names that begin alike, kernel_text() could not
# tell which is meant.
my %one  = (half => '__half',  bf16 => '__nv_bfloat16', float => 'float');
my %pair = (half => '__half2', bf16 => '__nv_bfloat162');
my $use  = "#include \"half_atomics.h\"\n";
for (
    (map { my $type = $_; map { [$type, @$_] } ['add', 1, 'add'],
        ['add', 2, 'add2'], ['add', 8, 'add8'], ['max', 1, 'max'],
        ['min', 1, 'min'], ['at', 1], ['at', 2], ['at', 8] } sort keys %pair),
    ['float', 'at', 1]
) {
    my ($type, $what, $width, $suffix) = @$_;
    my $call  = $suffix ? "${type}_atomic_$suffix" : 'atomic_add_at';
    my $value = $width == 1 ? $one{$type} : $pair{$type};
    my ($asked, $eight) = $width == 8 ? ("const $value *p",
        "$value v[4] = {p[0], p[1], p[2], p[3]};\n    ") : ("$value v", '');
    $use .= <<"END";
__global__ void ${type}_${what}_${width}x($one{$type} *a, size_t n, size_t i,
    $asked)
{
    $eight$call(a, i + threadIdx.x, n, v);
}
END
}

# The native ones of a kernel, each once: "RED.E.ADD.F16x2 …".
sub native {
    my ($kernel, $text) = @_;
    my $found = atomics('sass', kernel_text('sass', $kernel, $text));
    my %kinds = map { s/\.(?:FTZ|RN).*//r => 1 }
        $found =~ /(\S*\.(?:ADD|MAX|MIN)\.\S*)/g;
    return join(' ', sort keys %kinds) =~ s/REDG/RED/gr;
}

# What they must be: [KERNEL, those of half on sm_90 and later, and before].
my $red    = 'RED.E.ADD.F16x2';
my @native = (['add_1x', $red, $red], ['add_2x', $red, $red],
    ['add_8x', "$red RED.E.ADD.F16x4 RED.E.ADD.F16x8", $red],
    ['max_1x', 'RED.E.MAX.F16x2', ''], ['min_1x', 'RED.E.MIN.F16x2', '']);

my $nvcc = find_nvcc();
SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;

    # sm_121 is looked at, too, and in FULL all that nvcc knows.
    my %seen = map { $_ => 1 } @archs, $ci ? 121 : ();
    if ($full) {
        $seen{$_} = 1
            for (run($nvcc, '--list-gpu-arch'))[1] =~ /^compute_(\d+)$/mg;
    }
    local @Course::archs = sort { $a <=> $b } keys %seen;

    # Programs with a `half` of their own define CUDA_NO_HALF.
    spew("$tmp/use/use.cu", join '', (map { "#define $_\n" } qw(CUDA_NO_HALF
        __CUDA_NO_BFLOAT16_OPERATORS__ __CUDA_NO_BFLOAT16_CONVERSIONS__)), $use);
    # For a debugger, with all checks.
    my @least = $full ? @Course::archs : $ci ? (90, 120) : (90);
    my @debug = ($nvcc, @nvcc_strict, qw(-G -DHALF_ATOMICS_CHECK=1 -cubin),
        "$tmp/use/use.cu");
    my @results = (compile_kept($nvcc, "$tmp/use/use.cu"), [run($nvcc,
        @nvcc_strict, '-D__CUDA_NO_BFLOAT16_OPERATORS__',
        '-D__CUDA_NO_BFLOAT16_CONVERSIONS__', '-arch=sm_90', '-o',
        "$tmp/check90", $source)],
        run_jobs(map { [@debug, "-arch=sm_$_", '-o', "$tmp/debug$_.cubin"] }
            @least));
    is(join('', map { "$_->[0]$_->[1]$_->[2]" } @results), '0' x @results,
        "compiles for sm_@Course::archs, and with -G, without a warning");
    # The ptxas that was seen to die of a RED.
    my $atom = 'at, %1;"
                     "  atom.global.add.noftz.bf16 %0, [at], %0; }"
                     : "+h"(bits)
                     : "l"(target)';
    plant('include', "$tmp/dies", $atom, $atom =~ s/%1/%0/r
        =~ s/atom(.*) %0, \[at\], %0/red$1 [at], %1/r =~ s/"\+h"\(bits\)//r
        =~ s/target\)/target), "h"((unsigned short)value)/r);
    @debug = map { $_ eq '-Iinclude' ? "-I$tmp/dies" : $_ } @debug;
  SKIP: {
        skip_unless_ci('with -G, a RED of 2 bytes would show');
        skip 'another nvcc', 1
            if (run($nvcc, '--version'))[1] !~ /release 13\.0/;
        isnt((run(@debug, '-arch=sm_90', '-o', "$tmp/dies.cubin"))[0], 0,
            'with -G, a RED of 2 bytes would show');
    }

    my $nvdisasm = find_disassembler('nvdisasm');
    skip_or_fail('there is no nvdisasm here') if !$nvdisasm;
    for my $arch (@Course::archs) {
        my ($status, $out, $err) = disassemble('use', $arch);
        is($status, 0, "sm_$arch: can be disassembled") or diag($err);
        for (@native) {
            my ($what, $new, $old) = @$_;
            my %wanted = (half => $arch >= 90 ? $new : $old,
                bf16 => $arch >= 90 ? $new =~ s/\.F16/.BF16/gr : '');
            is(native("${_}_$what", $out), $wanted{$_},
                "sm_$arch: ${_}_$what") for qw(half bf16);
        }
        for my $kernel (map { ("half_at_$_", "bf16_at_$_") } qw(1x 2x 8x)) {
            my ($at, $add) = map { atomics('sass', kernel_text('sass', $_,
                $out)) } $kernel, $kernel =~ s/at/add/r;
            is($at, $add, "sm_$arch: $kernel is the function without C++");
        }
        is(native('float_at_1x', $out), 'RED.E.ADD.F32',
            "sm_$arch: float_at_1x");
        unlike($out, qr/\bATOM\w*\.E\.(?:ADD|MAX|MIN)|\bQSPC\b/,
            "sm_$arch: nothing asks for the old value, or for the space");
    }
}

# --- clang ---

# It compiles for the device and the host apart, and CUDA 13 has lost a header
# that clang 19 includes.
my $clang = which('clang-19');
SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    skip_unless_ci('clang compiles it for a GPU');
    skip 'there is no clang 19 here', 1 if !$clang;
    my @least = $full ? (75, 80, 86, 90) : (75, 90);
    spew("$tmp/lost/texture_fetch_functions.h", '');
    spew("$tmp/use.cu", $use);
    my ($cuda) = abs_path($nvcc) =~ m{(.*)/bin/nvcc\z};
    my @clang = ($clang, qw(-x cuda -std=c++17 -O2 -Wall -Wextra -Werror
        -Wno-unknown-cuda-version -S -Iinclude -isystem), "$tmp/lost",
        "--cuda-path=$cuda", "$tmp/use.cu");
    my @results = run_jobs((map { [@clang, '--cuda-device-only',
        "--cuda-gpu-arch=sm_$_", '-o', "$tmp/clang$_.ptx"] } @least),
        [@clang, '--cuda-host-only', '-o', "$tmp/clang.s"]);
    is(join('', map { "$_->[0]$_->[1]$_->[2]" } @results), '0' x @results,
        'clang: compiles for sm_75 to sm_90, and for the host');
    @results = run_jobs(map { ["$cuda/bin/ptxas", "-arch=sm_$_", '-o',
        "$tmp/clang$_.cubin", "$tmp/clang$_.ptx"] } @least);
    is(join('', map { "$_->[0]$_->[1]$_->[2]" } @results), '0' x @results,
        'clang: ptxas takes what it makes');
    like(slurp("$tmp/clang90.ptx"), qr/red\.global\.$_/, "clang: $_") for
        map { ("add.noftz.v4.${_}x2", "add.noftz.v2.${_}x2",
            "max.noftz.v2.$_") } qw(f16 bf16);
}

# --- docs/half_atomics.md ---

SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my $page = slurp("$root/docs/half_atomics.md");
    my ($example)  = $page =~ /^```c\n(\#include "half_atomics\.h"\n.*?)^```$/ms;
    my ($template) = $page =~ /^```c\n(template .*?)^```$/ms;
    my ($message)  = $page =~ /^```text\n(half_atomics\.h: .*?)^```$/ms;
    like($message . "unspecified launch failure\n", $outside->(10, 10),
        'the page has the message of HALF_ATOMICS_CHECK');
    spew("$tmp/example.cu", $example . $template . join '', map {
        "template __global__ void add_all($_ *, size_t, const size_t *,"
            . " const $_ *);\n" } values %one);
    my ($status, $out, $err) = run($nvcc, @nvcc_strict, '-arch=sm_90',
        '-cubin', '-o', "$tmp/example.cubin", "$tmp/example.cu");
    is("$status$out$err", '0', 'its examples compile without a warning');
    spew("$tmp/example.c", $example);
    ($status, $out, $err) = run('gcc', cpu_flags('CC=gcc'), '-Werror',
        '-fsyntax-only', "$tmp/example.c");
    is("$status$out$err", '0', 'and the first one in the emulation');
    my $nvdisasm = find_disassembler('nvdisasm');
    skip_or_fail('there is no nvdisasm here') if !$nvdisasm;
    my $rows = kernel_text('sass', 'add_rows',
        Course::demangled((run($nvdisasm, '-c', "$tmp/example.cubin"))[1]));
    like($rows, qr/\bLDG\.E\.128\b(?s:.*)\bREDG\.E\.ADD\.F16x8\b/,
        'which loads and adds 16 bytes at once');

    skip_unless_full('what the page says that does not compile');
    for (['atomicAdd((float4 *)p, float4())', 80, 1],
        ['atomicAdd((float4 *)p, float4())', 90, 0],
        ['cuda::atomic_ref<__half>(*p).fetch_add(*p)', 90, 1],
        ['cuda::atomic_ref<__half>(*p).exchange(*p)', 90, 0]) {
        my ($call, $arch, $fails) = @$_;
        spew("$tmp/call.cu", "#include <cuda/atomic>\n#include <cuda_fp16.h>\n"
            . "__global__ void k(__half *p) { $call; }\n");
        my ($status) = run($nvcc, '-std=c++17', "-arch=sm_$arch", '-cubin',
            '-o', "$tmp/call.cubin", "$tmp/call.cu");
        is($status != 0, $fails != 0, "sm_$arch: $call");
    }
}

# --- NVRTC ---

# Compiles argv[2] for the architecture argv[1], with the options that follow.
my $nvrtc = <<'END';
#include <nvrtc.h>
#include <stdio.h>
static char source[100000], log_text[100000];
int main(int argc, char **argv)
{
    FILE *file = fopen(argv[2], "r");
    nvrtcProgram program;
    nvrtcResult result;
    size_t size;
    if (!file || fread(source, 1, sizeof source - 1, file) == 0)
        return 2;
    nvrtcCreateProgram(&program, source, argv[2], 0, NULL, NULL);
    argv[2] = argv[1];
    result = nvrtcCompileProgram(program, argc - 2, (const char **)argv + 2);
    nvrtcGetProgramLogSize(program, &size);
    if (size < sizeof log_text)
        nvrtcGetProgramLog(program, log_text);
    printf("%s%s\n", log_text, nvrtcGetErrorString(result));
    return result != NVRTC_SUCCESS;
}
END
SKIP: {
    my ($cuda) = ($nvcc ? abs_path($nvcc) : '') =~ m{(.*)/bin/nvcc\z};
    skip_or_fail('there is no NVRTC here')
        if !$cuda || !-e "$cuda/lib64/libnvrtc.so";
    spew("$tmp/nvrtc.c", $nvrtc);
    my ($status, $out, $err) = run('gcc', "-I$cuda/include", '-o',
        "$tmp/nvrtc", "$tmp/nvrtc.c", "-L$cuda/lib64", '-lnvrtc',
        "-Wl,-rpath,$cuda/lib64");
    is("$status$err", '0', 'NVRTC: a program that compiles with it');
    spew("$tmp/use_only.cu", $use);
    for my $arch (@archs) {
        ($status, $out, $err) = run("$tmp/nvrtc",
            "--gpu-architecture=compute_$arch", "$tmp/use_only.cu",
            "-I$cuda/include", "-I$root/include");
        is("$status $out", "0 NVRTC_SUCCESS\n", "NVRTC: compute_$arch");
    }
}

# --- on a GPU ---

SKIP: {
    skip 'needs nvcc and an NVIDIA GPU', 1 if !$nvcc || !has_gpu();

    # Older paths run on newer GPUs: 32-bit and 16-bit loops, pairs. Fast math
    # flushes subnormal floats, but must not flush these sums.
    my @paths = ('', '-DOVERLOADS', '-G', (map { "-DHALF_ATOMICS_ARCH=$_" } 500,
        600, 700, 800),
        map { "-use_fast_math -DHALF_ATOMICS_ARCH=$_" } 500, 800);
    spew("$tmp/long/half_atomics.h",
        $text =~ s/: index \+ 1 < length/: index < length/r);
    my $compile = sub {
        my ($name, $include, $options) = @_;
        return [$nvcc, qw(-std=c++17 -O3 -arch=native -Icommon), "-I$include",
            split(' ', $options), '-o', "$tmp/gpu$name", $source];
    };
    my @results = run_jobs((map { $compile->($_, 'include', $paths[$_]) }
        0 .. $#paths), $compile->('-long', "$tmp/long", ''));
    is(join('', map { "$_->[0]$_->[2]" } @results), '0' x @results,
        'the check compiles for this GPU');
    for my $i (0 .. $#paths) {
        my $lines = $checks + ($paths[$i] =~ /=[56]00/ ? -1
            : $paths[$i] =~ /OVER/ ? 1 : 0);
        is_right("GPU $paths[$i]", $lines, "$tmp/gpu$i");
    }
    for my $tool (qw(memcheck racecheck synccheck initcheck)) {
        my ($status, $out) = run('compute-sanitizer', '--tool', $tool,
            '--error-exitcode', 9, "$tmp/gpu0");
        is($status, 0, "$tool is clean") or diag($out);
        like($out, qr/SUMMARY: 0 (?:errors|hazards)/, "$tool really ran");
    }
    my ($status, $out, $err) = run($nvcc, qw(-std=c++17 -arch=native -Iinclude
        -o), "$tmp/misuse-gpu", 'tests/header/misuse.cu');
    is("$status$err", '0', 'misuse.cu compiles for this GPU');
    is_stopped("$tmp/misuse-gpu", @misuse, ['8 3 10 shared', qr/\Ahalf_atomics
        \.h:\ base\ 0x\w+\ is\ not\ in\ global\ memory:\ index\ 3;\ block\ 0,
        \ thread\ 0\nunspecified\ launch\ failure\n\z/x]);
    ($status, $out) = run('compute-sanitizer', '--error-exitcode', 9,
        "$tmp/gpu-long");
    isnt($status, 0, 'memcheck finds a wrong bound');
    like($out, qr/Invalid __global__ \S+ of size 4/, 'and names the atomic');
}

done_testing();
