#!/usr/bin/perl
# common/fp16.h, checked exhaustively by tests/fp16_test.c: in full with the C
# compiler at hand, and the quick part with other flags, as C++, with the other
# compiler, and on arm64 under qemu.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

chdir $root or die "$root: $!";
my $cc = $ENV{CC} // 'cc';
my @warnings =
    qw(-Wall -Wextra -Wconversion -Wdouble-promotion -Werror);

# Builds and runs fp16_test; its own checks become one check here.
sub check {
    my ($name, $how, @compiler) = @_;
    my $program = "$tmp/fp16_test";
    my ($status, $out, $err) = run(@compiler, @warnings, '-o', $program,
        'tests/fp16_test.c', '-lm');
    return fail("$name: compiles") || diag($err) if $status;
    my @qemu = "@compiler" =~ /aarch64/ ? 'qemu-aarch64-static' : ();
    ($status, $out, $err) = run(@qemu, $program, $how ? $how : ());
    my $passed = () = $out =~ /^ok /mg;
    my ($planned) = $out =~ /^1\.\.(\d+)$/m;
    ok($status == 0 && $planned && $passed == $planned, $name)
        or diag($out, $err);
}

# In .ci/run all pairs of halves: two minutes.
check("$cc, everything", $full || $ci ? 'full' : '', $cc, qw(-std=c11 -O2));
check("$cc -O0", 'quick', $cc, qw(-std=c11 -O0));
check("$cc, integer arithmetic alone", 'quick', $cc,
    qw(-std=c11 -O3 -DFP16_FORCE_PORTABLE));
check("$cc under sanitizers", 'quick', $cc,
    qw(-std=c11 -O1 -fno-sanitize-recover=all), '-fsanitize=address,undefined');

SKIP: {
    my $f16c = -e '/proc/cpuinfo' && slurp('/proc/cpuinfo') =~ /\bf16c\b/;
    skip 'this CPU has no F16C', 1 if !$f16c;
    check("$cc with F16C", 'quick', $cc, qw(-std=c11 -O2 -mf16c));
}
for my $other (qw(clang g++ clang++)) {
    SKIP: {
        skip_or_fail("no $other", 1) if !which($other);
        check($other, 'quick', $other,
            $other =~ /\+\+/ ? qw(-x c++ -std=c++17 -O2) : qw(-std=c11 -O2));
    }
}
SKIP: {
    my $arm = 'aarch64-linux-gnu-gcc';
    skip_unless_ci('arm64');
    skip_or_fail("no $arm or no qemu-aarch64-static", 1)
        if !which($arm) || !which('qemu-aarch64-static');
    check('arm64', 'quick', $arm, qw(-std=c11 -O2 -static));
}

done_testing;
