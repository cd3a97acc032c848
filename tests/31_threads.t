#!/usr/bin/env perl
# Threads that wait for each other in common/cpu, and what else lessons 6 to 9
# stand on: barriers, shuffles, votes, shared memory, locks, all atomics,
# __device__ variables, bfloat16. Builds programs of tests/cpu through the
# Makefile, with the default compiler, with sanitizers and for arm64; what they
# print must be the same everywhere, and in interleaved mode. CC and CFLAGS choose the default. With
# BACKEND=cuda they run on the GPU as well. Run: prove tests/31_threads.t
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my @programs = qw(barriers warps atomics variables bfloat small races timing);
my $n = $ENV{CPU_TEST_N} // ($full || $ci ? 1 << 18 : 1 << 16);    # of bfloat
delete $ENV{CPU_THREADS};
my @own = map { "$_=$ENV{$_}" } grep { defined $ENV{$_} } qw(CC CFLAGS);
delete @ENV{qw(CC CFLAGS)};

# What, backend, directory, options of make.
sub build { return build_programs(\@programs, @_) }

my $build = "$tmp/cpu";
build('cpu', 'cpu', $build, @own) or BAIL_OUT('nothing to test');

# --- values ---

my %printed;    # a program => what it prints, with its digests
for my $threads (1, 2, 100) {
    for my $program (@programs) {
        my $out = run_ok("$program, CPU_THREADS=$threads",
            { CPU_THREADS => $threads }, "$build/$program",
            $program eq 'bfloat' ? $n : ());
        $printed{$program} //= $out;
        is($out, $printed{$program}, "$program prints what it did before");
    }
}
my %small = (small => $printed{small});    # and what with small blocks
for my $program (qw(barriers warps atomics variables)) {
    $small{$program} = run_ok("$program, small", {}, "$build/$program", 0,
        'small');
    for my $seed (1, 77) {
        my $out = run_ok("$program, interleaved by seed $seed", {},
            "$build/$program", $seed);
        is($out, $printed{$program}, "$program: the same interleaved");
    }
}

# --- what goes wrong ---

for my $program (qw(barriers atomics variables)) {
    my @cases = cases_of("$build/$program");
    cmp_ok(scalar @cases, '>=', 10, "$program: there are cases");
    for my $case (@cases) {
        run_ok("$program: $case, CPU_THREADS=$_", { CPU_THREADS => $_ },
            "$build/$program", $case) for 1, 3;
        run_ok("$program: $case, interleaved", {}, "$build/$program", $case, 9)
            if $program eq 'barriers';
    }
}

# --- more threads, and less memory, than there is room for ---

build_programs(['crowd'], 'crowd', 'cpu', $build, @own);
run_ok('64 pool threads with 1024 that wait on each', { CPU_THREADS => 64 },
    "$build/crowd", 64);
for my $bad (0, 257, 'two') {
    my ($status, $out, $err) = run({ env => { CPU_THREADS => $bad } },
        "$build/crowd");
    is("$status $out$err", '2 CPU_THREADS takes a whole number from 1 to 256, '
        . "not \"$bad\"\n", "CPU_THREADS=$bad is refused");
}
SKIP: {
    skip 'limits: not under a sanitizer', 2 if "@own" =~ /sanitize/;
    my (undef, undef, $err) = run({ env => { CPU_THREADS => 1 } }, 'sh', '-c',
        'ulimit -v 100000; exec "$@"', 'sh', "$build/crowd");
    like($err, qr/no stacks for .*: ulimit -v allows 100000 KiB; .*error 701/,
        'a limit of addresses is named');
    my $maps = '/proc/sys/vm/max_map_count';
    my $most = -e $maps ? slurp($maps) + 0 : 0;
    skip 'more maps than a test can fill' if !$most || $most > 65_530;
    (undef, undef, $err) = run("$build/crowd", 1, $most / 2);
    like($err, qr/for cudaMalloc: vm.max_map_count allows $most memory maps$/m,
        'a limit of maps is named');
}

# --- other flags, compilers, sanitizers, arm64 ---

for (['gcc', '-O3 -flto'], ['gcc', '-O0'], ['clang', '-O3 -flto'],
    ['clang', '-O0']) {
    my ($cc, $flags) = @$_;
    my $what = "$cc $flags";
  SKIP: {
        skip_unless_full($what) if "$cc $flags" ne 'gcc -O3 -flto';
        skip_or_fail("no $cc") if !which($cc);
        my $build = "$tmp/$what" =~ s/ //gr;
        build_programs(['variables'], $what, 'cpu', $build, "CC=$cc",
            "CFLAGS=$flags") or last SKIP;
        is(run_ok($what, {}, "$build/variables", 0, 'small'),
            $small{variables}, "$what: the same");
    }
}

my @beside_variables = cases_of("$build/variables");

sub check_build {
    my ($what, $build, $env, @runner) = @_;
    for my $program (sort keys %small) {
        my $out = run_ok("$what: $program", $env, @runner, "$build/$program",
            0, 'small');
        is($out, $small{$program}, "$what: $program prints the same");
    }
    run_ok("$what: bfloat", $env, @runner, "$build/bfloat", 100);
    for my $seed ([], [5]) {
        run_ok(join(' ', "$what: barriers", $_, @$seed), $env, @runner,
            "$build/barriers", $_, @$seed)
            for qw(atomic-outside-first atomic-outside-middle
            load-misaligned-middle load-far-first load-far-last
            deadlock-after-rounds not-in-shuffle);
    }
    run_ok("$what: atomics $_", $env, @runner, "$build/atomics", $_)
        for qw(add-on-local half2-misaligned-in-shared);
    run_ok("$what: variables $_", $env, @runner, "$build/variables", $_)
        for @beside_variables;
}

# Blocks that meet in global memory are found whatever the pool would be.
sub check_races {
    my ($what, $build, $env) = @_;
    for my $threads (1, 3) {
        my %env = (%$env, CPU_THREADS => $threads);
        my ($status, $out, $err) = run({ env => \%env }, "$build/races",
            'plain');
        like($err, qr/ThreadSanitizer: data race.*add_plainly/s,
            "$what: finds a plain add, CPU_THREADS=$threads");
        like($err, qr{^race      tests/cpu/races\.cu:\d+: (?:a block|block \(\d,0,0\)) of }m,
            "$what: and says it in one line");
        like($err, qr{ of add_plainly writes .*\(byte 0 of the 4 that line \d+ allocates\)},
            "$what: with the kernel and the allocation");
        is($status, 1, "$what: and fails");
        ($status, $out, $err) = run({ env => \%env }, "$build/races",
            'variable');
        like($err, qr/^race .*\(byte 4 of the 8 of a __device__ variable/m,
            "$what: in a __device__ variable, too");
        ($status, $out, $err) = run({ env => \%env }, "$build/races", 'loop');
        unlike($err, qr/^race/m, "$what: a loop may begin with a plain read");
        is($status, 0, "$what: and passes");
        run_ok("$what: and no atomic one", \%env, "$build/races", 'atomic');
    }
}

# The emulation leaves its handler of SIGSEGV for good: what it does then is no
# longer inside of a signal.
my $env = { CPU_THREADS => 3,
    TSAN_OPTIONS => 'atexit_sleep_ms=0 report_signal_unsafe=0' };
with_sanitizers(sub {
    my ($what, $cc, $sanitizer, $flags) = @_;
    my $build = "$tmp/$cc-$sanitizer";
    check_build($what, $build, $env)
        if build($what, 'cpu', $build, "CC=$cc", "CFLAGS=$flags");
});
for (grep { $_->[1] eq 'thread' } @sanitizers) {
    my ($cc, undef, $flags) = @$_;
    my $build = "$tmp/races-$cc";
  SKIP: {
        skip_unless_full("races, $cc") if $cc eq 'clang';
        skip_or_fail("$cc $flags does not work here") if !sanitizer_works(@$_);
        check_races("races, $cc", $build, $env) if build_programs(['races'],
            "races, $cc", 'cpu', $build, "CC=$cc", "CFLAGS=$flags");
    }
}

SKIP: {
    skip_unless_ci('arm64');
    my ($arm, $qemu) = qw(aarch64-linux-gnu-gcc qemu-aarch64-static);
    skip_or_fail("no $arm or no $qemu") if !which($arm) || !which($qemu);
    build('arm64', 'cpu', "$tmp/arm64", "CC=$arm", 'CFLAGS=-O2 -static')
        or last SKIP;
    check_build('arm64', "$tmp/arm64", { CPU_THREADS => 2 }, $qemu);
}

# --- on a GPU ---

SKIP: {
    skip 'the GPU: BACKEND is not cuda', 1 if ($ENV{BACKEND} // '') ne 'cuda';
    build('cuda', 'cuda', "$tmp/cuda") or last SKIP;
    for my $program (@programs) {
        my $out = run_ok("cuda: $program", {}, "$tmp/cuda/$program",
            $program eq 'bfloat' ? $n : ());
        s/^.* (?:shared memory is filled|cudaMemcpy refuses) .*\n//m
            for $out, $printed{$program};
        is($out, $printed{$program}, "cuda: $program prints the same");
    }
    for my $program (qw(barriers atomics variables)) {
        run_ok("cuda: $program $_", {}, "$tmp/cuda/$program", $_)
            for cases_of("$tmp/cuda/$program");
    }
}

done_testing();
