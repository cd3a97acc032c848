#!/usr/bin/env perl
# The lessons and the emulation's tests under the sanitizers of gcc and clang:
# all must be clean, and each sanitizer must report what is wrong on purpose.
# Run: prove tests/60_sanitizers.t
# Takes long: make test starts it early.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename);
use Test::More;

my @lessons = map { basename($_, '.cu') } sort glob "$root/lessons/*/*.cu";
delete @ENV{qw(BACKEND CC CFLAGS ASAN_OPTIONS UBSAN_OPTIONS)};
$ENV{CPU_TEST_N}  = 20000;
$ENV{CPU_THREADS} = 3;

# ---- What each sanitizer must find ----

my %wrong = (    # a name => what it says, the program
    'a heap overflow' => ['heap-buffer-overflow', <<'END_C'],
#include <stdlib.h>
int main(void)
{
    volatile char *p = malloc(8);
    p[8] = 1;
    return 0;
}
END_C
    'a leak' => ['detected memory leaks', <<'END_C'],
#include <stdlib.h>
char *volatile p;
int main(void) { p = malloc(8); p = NULL; return 0; }
END_C
    'a signed overflow' => ['signed integer overflow', <<'END_C'],
volatile int a = 2147483647;
int main(void) { a = a + 1; return 0; }
END_C
);

sub finds_planted {
    my ($cc, $flags) = @_;
    for my $what (sort keys %wrong) {
        my ($message, $text) = @{ $wrong{$what} };
        spew("$tmp/wrong.c", $text);
        run($cc, split(' ', $flags), '-o', "$tmp/wrong", "$tmp/wrong.c");
        my ($status, $out, $err) = run("$tmp/wrong");
        like($err, qr/$message/, "$cc, address,undefined: finds $what");
    }
}

# c = c + 1 by all threads is the race that lesson 1 shows on purpose.
sub plain_count {
    my ($cc, $sanitizer, $build) = @_;
    my ($status, $out, $err);
    for (1 .. 5) {    # on a busy machine one thread may do all the work
        ($status, $out, $err) = run("$build/v0_half", '--n', '2^20', '--runs',
            '1', '--plain');
        last if $status != 0;
    }
    if ($sanitizer eq 'thread') {
        like($err, qr/ThreadSanitizer: data race.*count_plain/s,
            "$cc, thread: v0_half --plain is reported as a race");
        isnt($status, 0, "$cc, thread: and fails");
        unlike($err, qr/count_atomic/, "$cc, thread: the atomic count is not");
    } else {
        is("$status$err", '0', "$cc, $sanitizer: v0_half --plain is clean");
    }
}

# ---- The lessons and the emulation ----

# The model of contention runs a lesson on one thread, where nothing can race,
# and takes a minute under ThreadSanitizer.
my %single = map { $_ => 1 } grep {
    slurp(glob "$root/lessons/*/$_.cu") =~ /\bmodel_contention\(/
} @lessons;

# A loop around a compare-and-swap may begin with a plain read, as in the CUDA
# guide; ThreadSanitizer takes that for a race, too.
spew("$tmp/first_read", "race_top:half_atomics_loop\n");
$ENV{TSAN_OPTIONS} = "suppressions=$tmp/first_read";

# Their threads wait for each other often, which costs ThreadSanitizer a lot:
# lesson 6, however small n is, 20 seconds under clang's, and minutes under that
# of gcc; lesson 7 with little to add ten seconds under gcc's, else minutes.
my %dear_to_gcc = (v5_reduce => 1);
my %options = (
    v6_scatter => [qw(--n 300 --width 24 --table 40 --runs 1)],
    v7_histogram => [qw(--n 4096 --runs 1)],
    v9_rows => [qw(--n 300 --width 24 --table 40 --runs 1 --again 1)],
);

sub clean_lessons {
    my ($cc, $sanitizer, $build) = @_;
    for my $lesson (@lessons) {
        next if $sanitizer eq 'thread' && ($single{$lesson} ||
            ($cc eq 'gcc' && $dear_to_gcc{$lesson}));
        my $help = (run("$build/$lesson", '--help'))[1];
        my %small = ('--n' => $lesson =~ /v6_|v9_/ ? 2000 : '2^16',
            '--runs' => 2);    # lessons 7 and 10 count rows
        my @options = map { $help =~ /^ +$_ N\b/m ? ($_, $small{$_}) : () }
            sort keys %small;
        @options = @{ $options{$lesson} }
            if $sanitizer eq 'thread' && $options{$lesson};
        # Far more than it ever took; what does not end is not clean.
        my ($status, $out, $err) =
            run({ cpu => 600 }, "$build/$lesson", @options);
        is("$status$err", '0', "$cc, $sanitizer: $lesson is clean")
            or diag($out);
    }
}

sub clean_emulation {
    my ($cc, $sanitizer, $flags) = @_;
    my ($status, $out, $err) = run({ env => { CC => $cc, CFLAGS => $flags } },
        $^X, "$root/tests/30_cpu.t");
    ok($status == 0 && $out =~ /^1\.\.\d\d\d$/m,
        "$cc, $sanitizer: tests/30_cpu.t passes")
        or diag("status $status\n$err", $out =~ /^((?!ok).*\n)/mg);
}

with_sanitizers(sub {
    my (undef, $cc, $sanitizer, $flags) = @_;
    my $build = "$tmp/$cc-$sanitizer";
    finds_planted($cc, $flags) if $sanitizer ne 'thread';
    build_programs(\@lessons, "$cc, $sanitizer: the lessons", 'cpu', $build,
        "CC=$cc", "CFLAGS=$flags");
    clean_lessons($cc, $sanitizer, $build);
    plain_count($cc, $sanitizer, $build);
    clean_emulation($cc, $sanitizer, $flags);
});

done_testing();
