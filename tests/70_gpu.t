#!/usr/bin/perl
# What only an NVIDIA GPU can show: that compute-sanitizer finds nothing, that a
# program without a usable device says so, and that a program built for another
# architecture names the right one.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course ();
use Test::More;

chdir $Course::root or die "cannot enter the repository: $!";
plan skip_all => 'needs an NVIDIA GPU' unless Course::has_gpu();

# Runs a shell command; its output (stderr too) and exit status.
sub run {
    my ($command) = @_;
    my $output = `$command 2>&1`;
    return ($output, $? >> 8);
}

my @lessons = map { s{.*/}{}r } sort glob 'lessons/v*_*';
my ($built, $status) = run("make BACKEND=cuda all conformance");
is($status, 0, 'the lessons build for this GPU') or diag $built;

# A small run of each: --n of lessons 7 and 10 counts rows, lesson 9 has none.
my %small = (
    v5_reduce  => '--n 10000 --deterministic',
    v6_scatter => '--n 300 --table 100 --width 100',
    v8_atomics => '',
    v9_rows    => '--n 3000 --table 500 --width 96 --again 3',
);

sub is_clean {
    my ($tool, $program, $size) = @_;
    my ($output, $status) =
      run("compute-sanitizer --tool $tool --error-exitcode 9 "
          . "./$program $size --runs 1");
    is($status, 0, "$tool: $program is clean") or diag $output;
    like($output, qr/SUMMARY: 0 (?:errors|hazards)/, "$tool really ran");
}

# racecheck and synccheck look at shared memory and barriers.
for my $number (1 .. @lessons) {
    my $lesson = $lessons[$number - 1];
    my $source = join '', map { Course::slurp($_) } glob "lessons/$lesson/*.{cu,h}";
    is_clean($_, "lesson$number", $small{$lesson} // '--n 65536')
        for qw(memcheck initcheck),
        $source =~ /__shared__/ ? qw(racecheck synccheck) : ();
}
is_clean($_, 'conformance', '') for qw(memcheck initcheck racecheck synccheck);

for my $number (1 .. @lessons) {
    my ($output, $status) = run("CUDA_VISIBLE_DEVICES= ./lesson$number");
    is($status, 3, "lesson $number without a device ends with 3");
    like($output, qr/^try: .*BACKEND=cpu/m, 'and says what to do');
    unlike($output, qr/^result/m, 'and prints no result');
}

# The driver compiles the PTX of an older architecture for a newer GPU; the
# other way there is nothing to run.
my ($here) = `./lesson1 --n 1` =~ /(sm_\d+)/;
SKIP: {
    skip "no newer architecture than $here to build for", 4
      if $here =~ /^sm_12/;
    ($built, $status) = run('make BACKEND=cuda ARCH=sm_120 lesson1');
    is($status, 0, 'lesson 1 builds for sm_120') or diag $built;
    my ($output, $status) = run('./lesson1 --n 1000');
    is($status, 3, "run on $here it ends with 3");
    like($output, qr/^try: `make ARCH=$here lesson1`/m, 'and names this GPU');
    unlike($output, qr/^result/m, 'and prints no result');
}
run("make BACKEND=cuda lesson1");

done_testing;
