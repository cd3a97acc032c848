#!/usr/bin/perl
# The lessons on arm64, built by the Makefile with a cross compiler and run under
# qemu: the same values as here.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my $arm = 'aarch64-linux-gnu-gcc';
SKIP: {
    skip_unless_ci('arm64');
    skip_or_fail("no $arm or no qemu-aarch64-static", 1)
        if !which($arm) || !which('qemu-aarch64-static');
    my $tree = copy_tree('arm64');
    my ($status, $out, $err) = run({ dir => $tree, env => { CFLAGS => undef } },
        'make', 'BACKEND=cpu', "CC=$arm", 'CFLAGS=-O2 -static', 'all');
    is($status, 0, 'the lessons build for arm64') or diag($err);
    is($err, '', 'without a warning');
    my %sums = (1 => '0x5000', 2 => '0x5400', 3 => '0x5000');
    for my $number (sort keys %sums) {
        ($status, $out, $err) = run({ dir => $tree }, 'qemu-aarch64-static',
            "./lesson$number", '--n', '100000', '--runs', '2');
        is($status, 0, "lesson $number runs") or diag($err);
        like($out, qr/^result .* $sums{$number} .*: ok/m,
            "and its sum is $sums{$number}");
    }

    # A fault in a kernel ends in its own error there as well.
    my $lesson = "$tree/lessons/v1_pack2/v1_pack2.cu";
    edit($lesson, 'if (offset % 2 != 0)', 'if (offset < 0)');
    run({ dir => $tree }, 'make', 'BACKEND=cpu', "CC=$arm",
        'CFLAGS=-O2 -static', 'lesson2');
    ($status, $out, $err) = run({ dir => $tree }, 'qemu-aarch64-static',
        './lesson2', '--n', '1000', '--offset', '1');
    is($status, 3, 'a misaligned pair ends with 3');
    like($err, qr/error 716/, 'and error 716');
}

done_testing;
