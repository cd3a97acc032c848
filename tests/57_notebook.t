#!/usr/bin/env perl
# The notebook: its exercises are the files' own, nothing it printed is kept in
# it; and, in a full run, every cell: each exercise as it is and solved.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename 'basename';
use JSON::PP 'decode_json';
use Test::More;

my $path  = "$root/examples/notebook/half_atomics.ipynb";
my $cells = decode_json(slurp($path))->{cells};
my @code  = grep { $_->{cell_type} eq 'code' } @$cells;
my @text  = map { join '', @{ $_->{source} } } @code;
is(scalar(grep { @{ $_->{outputs} } || $_->{execution_count} } @code), 0,
    'no cell keeps what it printed');
is_deeply(
    [grep { /make lesson/ } @text],
    [map { "%%bash -e\nmake lesson$_ && ./lesson$_" } 1 .. 5],
    'lessons 1 to 5 run');
is_deeply(
    [grep { !/\A%%(?:bash -e|exercise \d+)\n/ } grep { /^[!%]/m } @text], [],
    'a failing command stops its cell');

my $region = qr{^[ \t]*/\* TODO.*?/\* END TODO \*/\n}ms;
my %solved;
for my $cell (grep { /^%%exercise/ } @text) {
    my ($number) = $cell =~ /^%%exercise (\d+)\n/;
    my ($file) = glob sprintf "$root/exercises/%02d_*", $number;
    my ($task, $solution) = map { join '', slurp($_) =~ /$region/g }
        $file, "$root/solutions/" . basename($file);
    is($cell =~ s/\A.*\n//r . "\n", $task, 'exercise ' . basename($file));
    $solved{$number} = $solution;
}
my ($short) = slurp("$root/docs/exercises.md") =~ /^## The short path\n(.*?)^## /ms;
is_deeply([map { /^%%exercise (\d+)/ } @text], [$short =~ /^\| (\d+) \|/mg],
    'the exercises of the short path, in its order');
is(scalar keys %solved, 6, 'six of them');

SKIP: {
    skip_unless_ci('every cell of the notebook');
    my $python = "$root/.venv/bin/python";
    skip_or_fail('there is no nbclient in .venv: ./setup --test')
        if system("$python -c 'import ipykernel, nbclient' 2>/dev/null");
    my $tree = copy_tree('a course');
    run({ dir => "$tree/.." }, 'tar', '-czf', "$tmp/course.tar.gz", 'a course');
    spew("$tmp/solved.json", JSON::PP->new->encode(\%solved));
    mkdir "$tmp/here" or die;
    my ($status, $out, $err) = run(
        { dir => "$tmp/here", env => { BACKEND => 'cpu' } },
        $python, "$root/tests/notebook.py", $path, "$tmp/course.tar.gz",
        "$tmp/solved.json");
    is($status, 0, 'every cell runs') or diag($err);
    my %said = map { $_->[0] => $_->[1] } @{ decode_json($out || '[]') };
    like($said{$_} // '', qr/: ok\b/, $_ =~ s/.*make //sr)
        for grep { /make lesson/ } @text;
    is($said{'SOURCE'} // '', <<'END', 'no course: one line');
FileNotFoundError: the course is not here: set SOURCE, above
END
    like($said{"exercise $_"} // '', qr/\nexercise $_ is not done\n\z/,
        "exercise $_ as it is: its cell fails"),
        like($said{"solved $_"} // '', qr/\nexercise $_:? .*(?:done|solved)/i,
        "exercise $_ solved")
        for sort keys %solved;
    is($said{'no marker'} // '', <<'END', 'a marker taken away: one line');
keep every line with TODO and with END TODO
END
    like($said{'bench'} // '', qr/no GPU here/, 'no GPU: no row');
}
done_testing();
