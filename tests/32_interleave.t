#!/usr/bin/env perl
# The interleaved mode of common/cpu, in which the threads in flight take turns
# at each atomic, and atomicCAS in both modes. Builds tests/cpu/turns.cu,
# turn_faults.cu and cas.cu through the Makefile, with the default compiler,
# with sanitizers and for arm64; what they print must be the same everywhere.
# CC and CFLAGS choose the default. With BACKEND=cuda cas.cu runs on the GPU as
# well. Run: prove tests/32_interleave.t
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my @programs = qw(turns turn_faults cas);
delete $ENV{CPU_THREADS};
my @own = map { "$_=$ENV{$_}" } grep { defined $ENV{$_} } qw(CC CFLAGS);
delete @ENV{qw(CC CFLAGS)};

# What, backend, directory, options of make.
sub build { return build_programs(\@programs, @_) }

my $build = "$tmp/cpu";
build('cpu', 'cpu', $build, @own) or BAIL_OUT('nothing to test');

# --- the checks ---

my (%whole, %small);
for my $threads (1, 2, 5) {
    my $env = { CPU_THREADS => $threads };
    $whole{$threads} = run_ok("turns, CPU_THREADS=$threads", $env,
        "$build/turns") if $threads != 2;
    $small{$threads} = run_ok("turns 64, CPU_THREADS=$threads", $env,
        "$build/turns", 64);
    run_ok("turn_faults, CPU_THREADS=$threads", $env, "$build/turn_faults");
    run_ok("cas, CPU_THREADS=$threads", $env, "$build/cas");
}
for my $threads (2, 5) {
    ok(($whole{$threads} // $whole{1}) eq $whole{1}
        && $small{$threads} eq $small{1},
        "turns prints the same with CPU_THREADS=$threads as with 1");
}
isnt($whole{1}, $small{1}, 'but not with fewer threads in flight');
cmp_ok(scalar(() = $whole{1} =~ /^ok/mg), '>', 200, 'turns checks much');

# --- the model, against a second one ---

# What common/cpu/interleave.c says of itself: one queue that serves one request
# a tick, in the order of arrival, ties in the order of sending; a request takes
# $latency ticks to arrive and up to $jitter more, drawn by xorshift64; a thread
# begins up to $jitter ticks after its block. A block that is done makes room
# for the next one. Here with a list for each tick, and 64-bit integers.
my ($latency, $jitter) = slurp("$root/common/cpu/interleave.c") =~
    /^enum \{ LATENCY = (\d+), JITTER = (\d+) \}/m;
like($jitter // '', qr/\A\d+\z/, 'the constants of the model are found');

# $start->(thread) says whether a thread sends a request, $serve->(thread)
# whether it sends one more.
sub simulate {
    my ($seed, $block_threads, $resident, $n, $start, $serve) = @_;
    my $blocks = int(($n + $block_threads - 1) / $block_threads);
    my ($now, $waiting, $next, $random) = (0, 0, 0, $seed);
    my (%arrive, @unfinished);

    my $draw = sub {
        $random ^= $random << 13;
        $random ^= $random >> 7;
        $random ^= $random << 17;
        return $random % ($jitter + 1);
    };
    my $send = sub {
        my ($tick, @what) = @_;
        push @{ $arrive{$tick} }, [@what];
        $waiting++;
    };
    my $place_block = sub {
        my ($place) = @_;
        my $first = $next++ * $block_threads;
        $unfinished[$place] = $block_threads;
        $send->($now + $draw->(), $_, $place, 0)
            for $first .. $first + $block_threads - 1;
    };
    $place_block->($_) for 0 .. ($blocks < $resident ? $blocks : $resident) - 1;
    my $tick = 0;
    while ($waiting) {
        $tick++ while !$arrive{$tick};
        my ($thread, $place, $sent) = @{ shift @{ $arrive{$tick} } };
        delete $arrive{$tick} if !@{ $arrive{$tick} };
        $waiting--;
        $now++ if $sent;
        $now = $tick if $now < $tick;
        if ($sent ? $serve->($thread) : $start->($thread)) {
            $send->($now + $latency + $draw->(), $thread, $place, 1);
        } elsif (--$unfinished[$place] == 0 && $next < $blocks) {
            $place_block->($place);
        }
    }
}

# The tries of each of n adds to one half, from 0.
sub tries_of {
    my ($seed, $block_threads, $resident, $n) = @_;
    my ($sum, @tries, @seen) = (0);
    simulate($seed, $block_threads, $resident, $n,
        sub { $seen[$_[0]] = $sum; return $_[0] < $n },
        sub {
            my ($thread) = @_;
            $tries[$thread]++;
            my $won = $seen[$thread] == $sum;
            $seen[$thread] = $sum;
            $sum = round_to_half($sum + $product, 0) if $won;
            return !$won;
        });
    return @tries;
}

# The threads whose two adds were served, in order.
sub order_of {
    my ($seed, $block_threads, $resident, $n) = @_;
    my (@order, %served);
    simulate($seed, $block_threads, $resident, $n,
        sub { return $_[0] < $n },
        sub {
            push @order, $_[0];
            return ++$served{ $_[0] } < 2;
        });
    return @order;
}

for (
    [1, 1, 1, 5], [1, 32, 1, 32], [2, 32, 2, 500], [3, 16, 4, 1000],
    [4, 33, 3, 700], [5, 7, 5, 100], [1, 1, 64, 300], [999_999, 64, 1, 200],
    [1, 256, 2, 600],
) {
    my $name = "seed $_->[0], $_->[2] blocks of $_->[1] in flight, "
        . "$_->[3] adds";
    for my $what (qw(tries order)) {
        my ($status, $out, $err) = run("$build/turns", $what, @$_);
        my @expected = $what eq 'tries' ? tries_of(@$_) : order_of(@$_);
        is("$status$err", '0', "$name: turns $what");
        ok($out eq join('', map { "$_\n" } @expected),
            "$name: the $what of the second model");
    }
}

# --- faults ---

for my $program (qw(turn_faults cas)) {
    my @cases = cases_of("$build/$program");
    cmp_ok(scalar @cases, '>=', 13, "$program: there are cases of faults");
    for my $case (@cases) {
        for my $threads ($program eq 'cas' ? (1, 3) : 2) {
            run_ok("$program: $case, CPU_THREADS=$threads",
                { CPU_THREADS => $threads }, "$build/$program", $case);
        }
    }
}

# --- other compilers, sanitizers, arm64 ---

# There a switch between threads is dear, hence 64 in flight.
sub check_build {
    my ($what, $build, $env, @runner) = @_;
    my $out = run_ok("$what: turns 64", $env, @runner, "$build/turns", 64);
    ok($out eq $small{1}, "$what: turns prints the same");
    run_ok("$what: turn_faults", $env, @runner, "$build/turn_faults");
    run_ok("$what: cas", $env, @runner, "$build/cas");
    run_ok("$what: turn_faults $_", $env, @runner, "$build/turn_faults", $_)
        for qw(half-on-odd-byte half-through-null cas-long-on-odd-word
        load-on-odd-half load-freed store-through-null);
    run_ok("$what: cas $_", $env, @runner, "$build/cas", $_)
        for qw(short-on-odd-byte unsigned-through-null);
}

with_sanitizers(sub {
    my ($what, $cc, $sanitizer, $flags) = @_;
    my $build = "$tmp/$cc-$sanitizer";
    check_build($what, $build,
        { CPU_THREADS => 3, TSAN_OPTIONS => 'atexit_sleep_ms=0' })
        if build($what, 'cpu', $build, "CC=$cc", "CFLAGS=$flags");
});

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
    @programs = ('cas');
    build('cuda', 'cuda', "$tmp/cuda") or last SKIP;
    run_ok('cuda: cas', {}, "$tmp/cuda/cas");
    run_ok("cuda: cas $_", {}, "$tmp/cuda/cas", $_)
        for cases_of("$tmp/cuda/cas");
}

done_testing();
