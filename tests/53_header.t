#!/usr/bin/env perl
# include/half_atomics.h: its check (tests/header/half_atomics.cu) in the CPU
# emulation and on a GPU, faults planted in the header, what nvcc makes of it on
# each architecture, and that it keeps to what CUDA 11.8 has.
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
    '<cuda_bf16.h> <cuda_fp16.h> <stddef.h>', 'no header of this repository');

# In CUDA 11.8 these are there on every architecture; so the header compiles
# there for sm_37 too. (__hadd_rn, for one, is not: it begins at sm_53, and
# __bfloat16_as_ushort at sm_80.)
my %old = map { $_ => 1 } qw(__half_as_ushort __ushort_as_half __low2half
    __high2half __half2float __float2half_rn __bfloat162float
    __float2bfloat16_rn);
my %used = map { $_ => 1 } $code =~ /\b(__\w+)\(/g;
is(join(' ', grep { !$old{$_} } sort keys %used), '',
    'no function that CUDA 11.8 does not have everywhere');
cmp_ok(scalar keys %used, '>=', 6, 'and functions were found');

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

my $fallback = '-DHALF_ATOMICS_ARCH=500';
for my $cc (qw(gcc clang)) {
  SKIP: {
        skip_or_fail("there is no $cc here") if !which($cc);
        my @results = run_jobs(build($cc, '-O1', "$tmp/$cc", 'include'),
            build($cc, '-O1', "$tmp/$cc-500", 'include', $fallback));
        is("$_->[0]$_->[2]", '0', "$cc: the check compiles, no warning")
            for @results;
        is_right("$cc", 11, "$tmp/$cc");
        is_right("$cc, $fallback", 10, "$tmp/$cc-500");
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
    ['bf16 as half', 'half_atomics_loop16(target, value, type)',
        'half_atomics_loop16(target, value, HALF_ATOMICS_HALF)'],
    ['the neighbour not kept', '(seen & keep) | (sum & ~keep)',
        '(sum & keep) | (sum & ~keep)', $fallback],
);
SKIP: {
    skip_or_fail('there is no gcc here') if !which('gcc');
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

# --- nvcc ---

# A kernel for each function.
my $use = <<'END';
#include "half_atomics.h"
static __global__ void use_one(__half *a, size_t n, size_t i, __half v)
{
    half_atomic_add(a, i + threadIdx.x, n, v);
}
static __global__ void use_two(__half *a, size_t n, size_t i, __half2 v)
{
    half_atomic_add2(a, i + threadIdx.x, n, v);
}
static __global__ void use_eight(__half *a, size_t n, size_t i, const __half2 *v)
{
    __half2 pairs[4] = {v[0], v[1], v[2], v[3]};
    half_atomic_add8(a, i + threadIdx.x, n, pairs);
}
static __global__ void use_bf16_one(__nv_bfloat16 *a, size_t n, size_t i,
                                    __nv_bfloat16 v)
{
    bf16_atomic_add(a, i + threadIdx.x, n, v);
}
static __global__ void use_bf16_two(__nv_bfloat16 *a, size_t n, size_t i,
                                    __nv_bfloat162 v)
{
    bf16_atomic_add2(a, i + threadIdx.x, n, v);
}
static __global__ void use_bf16_eight(__nv_bfloat16 *a, size_t n, size_t i,
                                      const __nv_bfloat162 *v)
{
    __nv_bfloat162 pairs[4] = {v[0], v[1], v[2], v[3]};
    bf16_atomic_add8(a, i + threadIdx.x, n, pairs);
}
int main(void)
{
    use_one<<<1, 1>>>(0, 0, 0, __float2half_rn(0.0f));
    use_two<<<1, 1>>>(0, 0, 0, __float2half2_rn(0.0f));
    use_eight<<<1, 1>>>(0, 0, 0, 0);
    use_bf16_one<<<1, 1>>>(0, 0, 0, __float2bfloat16_rn(0.0f));
    use_bf16_two<<<1, 1>>>(0, 0, 0, __floats2bfloat162_rn(0.0f, 0.0f));
    use_bf16_eight<<<1, 1>>>(0, 0, 0, 0);
    return 0;
}
END

# The native adds of a kernel, each once: "REDG.E.ADD.F16x2 …".
sub native {
    my ($kernel, $text) = @_;
    my $found = atomics('sass', kernel_text('sass', $kernel, $text));
    my %kinds = map { s/\.RN.*//r => 1 } $found =~ /(\S*\.ADD\.\S*)/g;
    return join(' ', sort keys %kinds) =~ s/REDG/RED/gr;
}

my $nvcc = find_nvcc();
SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;

    # Programs with a `half` of their own define CUDA_NO_HALF.
    spew("$tmp/use/use.cu", join '', (map { "#define $_\n" } qw(CUDA_NO_HALF
        __CUDA_NO_BFLOAT16_OPERATORS__ __CUDA_NO_BFLOAT16_CONVERSIONS__)), $use);
    my @results = (compile_kept($nvcc, "$tmp/use/use.cu"), [run($nvcc,
        @nvcc_strict, '-D__CUDA_NO_BFLOAT16_OPERATORS__',
        '-D__CUDA_NO_BFLOAT16_CONVERSIONS__', '-arch=sm_90', '-o',
        "$tmp/check90", $source)]);
    is(join('', map { "$_->[0]$_->[1]$_->[2]" } @results), '0' x @results,
        "compiles for sm_@archs without a warning");

    my $nvdisasm = find_disassembler('nvdisasm');
    skip_or_fail('there is no nvdisasm here') if !$nvdisasm;
    for my $arch (@archs) {
        my ($status, $out, $err) = disassemble('use', $arch);
        is($status, 0, "sm_$arch: can be disassembled") or diag($err);
        my $red   = 'RED.E.ADD.F16x2';
        my $eight = $arch >= 90 ? "$red RED.E.ADD.F16x8" : $red;
        is(native('use_one', $out),  $red,   "sm_$arch: half_atomic_add");
        is(native('use_two', $out), $red,   "sm_$arch: half_atomic_add2");
        is(native('use_eight', $out), $eight, "sm_$arch: half_atomic_add8");
        for (['_one', $red], ['_two', $red], ['_eight', $eight]) {
            my ($which, $half) = @$_;
            my $wanted = $arch < 90 ? '' : $half =~ s/\.F16/.BF16/gr;
            is(native("use_bf16$which", $out), $wanted,
                "sm_$arch: bf16_atomic_add$which");
        }
        unlike($out, qr/\bATOM\w*\.E\.ADD|\bQSPC\b/,
            "sm_$arch: nothing asks for the old value, or for the space");
    }
}

# --- the example of docs/half_atomics.md ---

SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my ($example) = slurp("$root/docs/half_atomics.md") =~
        /^```c\n(\#include "half_atomics\.h"\n.*?)^```$/ms;
    spew("$tmp/example.cu", $example // '');
    like($example, qr/half_atomic_add8/, 'the page has an example');
    my ($status, $out, $err) = run($nvcc, @nvcc_strict, '-arch=sm_90',
        '-cubin', '-o', "$tmp/example.cubin", "$tmp/example.cu");
    is("$status$out$err", '0', 'and it compiles without a warning');
}

# --- C++ for the host alone, and NVRTC ---

SKIP: {
    skip_or_fail('there is no g++ here') if !which('g++');
    spew("$tmp/host.cpp", "#include \"half_atomics.h\"\nint main() {}\n");
    my ($status, $out, $err) = run('g++', '-Wall', '-Wextra', '-Werror',
        '-Iinclude', '-fsyntax-only', "$tmp/host.cpp");
    is("$status$out$err", '0', 'g++: a .cpp may include it');
}

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
    spew("$tmp/use_only.cu", $use =~ s/^int main.*//msr =~ s/^static //gmr);
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
    my @paths = ('', (map { "-DHALF_ATOMICS_ARCH=$_" } 500, 600, 700, 800),
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
        my $lines = $paths[$i] =~ /=[56]00/ ? 10 : 11;
        is_right("GPU $paths[$i]", $lines, "$tmp/gpu$i");
    }
    for my $tool (qw(memcheck racecheck synccheck initcheck)) {
        my ($status, $out) = run('compute-sanitizer', '--tool', $tool,
            '--error-exitcode', 9, "$tmp/gpu0");
        is($status, 0, "$tool is clean") or diag($out);
        like($out, qr/SUMMARY: 0 (?:errors|hazards)/, "$tool really ran");
    }
    my ($status, $out) = run('compute-sanitizer', '--error-exitcode', 9,
        "$tmp/gpu-long");
    isnt($status, 0, 'memcheck finds a wrong bound');
    like($out, qr/Invalid __global__ \S+ of size 4/, 'and names the atomic');
}

done_testing();
