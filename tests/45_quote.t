#!/usr/bin/env perl
# tools/quote.sh and what it calls: the pages are fresh, every form of quote is
# refilled, every mistake is an error that leaves the page as it is, under every
# awk; tools/csv.awk refuses what is no table. And results/*.csv.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename);
use File::Copy qw(copy);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

# --- the pages of the repository ---

{
    my ($status, $out, $err) = run('sh', 'tools/quote.sh', '--check');
    is("$status$out$err", '0', 'what the pages quote is fresh');
}

# --- a small tree ---

my $tree = tempdir(DIR => $tmp);
make_path(map { "$tree/$_" } qw(tools docs results lessons/v0_x));
copy("$root/tools/$_", "$tree/tools/$_") or die "$_: $!"
    for qw(quote.sh quote.awk csv.awk table.awk table_peers.awk table_storm.awk table_atlas.awk);

spew("$tree/code.c", <<'END');
/* The file's own comment; twice( is not defined here. */
#include <stdio.h>

enum { SIZE = 4 };

static const int LIMIT = 10; /* a constant */

/* Doubles
 * a number. */
static int twice(int x)
{
    if (x) {
        return 2 * x; /* SIZE */
    }
    return 0;
}

/* Two of them. */
typedef struct {
    int x, y;
} __align__(4) pair;

struct named {
    int z;
};

static int again(int x);

static int again(int x)
{
    return twice(x);
}
END
spew("$tree/results/a.csv", join(',', @columns) . "\n" . <<'END');
NVIDIA A,sm_80,CUDA 1.0,1,v0_half,1000,400.5,401,12.5,32,events,us
NVIDIA A,sm_80,CUDA 1.0,2,v1_pack2,1000,100,101,,64,events,us
NVIDIA A,sm_80,CUDA 1.0,3,v2_fastadd,1000,200,201,3.5,32,events,us
NVIDIA A,sm_80,CUDA 1.0,3,v2_fastadd,2000,0,201,3.5,32,events,us
END
# Shorter, with other columns: what it lacks must not come from a.csv.
spew("$tree/results/b.csv", "gpu,extra,n,variant\nB,7,4,v0_half\n");

# The awk that the scripts call.
my %awk;
with_awks(sub {
    my ($name, $path) = @_;
    $awk{$name} = { dir => $tree, env => { PATH => $path } };
});
$awk{awk} = { dir => $tree } if !%awk;

# Each case is a page of its own, and quote.sh goes over all of them at once.
my (%stale, %fresh, %wrong, %why, %name_of);

sub page_for {
    my ($what) = @_;
    my $page = sprintf 'docs/%03d.md', scalar keys %name_of;
    $name_of{$page} = $what;
    return $page;
}

# A page with one block, stale or fresh, between two lines of prose.
sub block {
    my ($kind, $what, $inside) = @_;
    return "Before.\n\n<!-- $kind $what -->\n$inside<!-- /$kind -->\n\nAfter.\n";
}

# A stale page is named and left; then mended; then fresh.
sub refills {
    my ($what, $stale, $fresh) = @_;
    my $page = page_for($what);
    $stale{$page} = $stale;
    $fresh{$page} = $fresh;
}

# An error that names the page and the line, and no change.
sub refuses {
    my ($what, $line, $pattern, $text) = @_;
    my $page = page_for($what);
    $wrong{$page} = $text;
    $why{$page} = qr/\A$line: [^\n]*$pattern[^\n]*\z/;
}

# --- quotes ---

sub lines_of {
    my ($file, $first, $last) = @_;
    my @lines = split /^/, slurp("$tree/$file");
    return join '', @lines[$first - 1 .. $last - 1];
}

for (
    ['a definition with its comment', 'code.c twice',  8,  16],
    ['a constant',                    'code.c LIMIT',  6,  6],
    ['a type by its closing name',    'code.c pair',   18, 21],
    ['a struct',                      'code.c named',  23, 25],
    ['a range', 'code.c "static int twice" "}"',       10, 14],
    ['a range of one line', 'code.c "LIMIT" "constant"', 6, 6],
    ['a whole file',                  'code.c',        1,  32],
) {
    my ($what, $marker, $first, $last) = @$_;
    refills($what, block('quote', $marker, "```c\nold\n```\n"),
        block('quote', $marker,
            "```c\n" . lines_of('code.c', $first, $last) . "```\n"));
}
refills('two ranges', block('quote', 'code.c "LIMIT" "LIMIT" "static int twice" "twice"', ''),
    block('quote', 'code.c "LIMIT" "LIMIT" "static int twice" "twice"', "```c\n"
        . join('', map { "$_\n" } (split /\n/, slurp("$tree/code.c"))[5, 9])
        . "```\n"));
refills('an empty block', block('quote', 'code.c LIMIT', ''),
    block('quote', 'code.c LIMIT',
        "```c\nstatic const int LIMIT = 10; /* a constant */\n```\n"));
spew("$tree/out.txt", "result    32\n");
refills('a text', block('quote', 'out.txt', "old\n"),
    block('quote', 'out.txt', "```text\nresult    32\n```\n"));
refills('two blocks, one stale',
    block('quote', 'out.txt', "```text\nresult    32\n```\n")
        . block('quote', 'code.c LIMIT', ''),
    block('quote', 'out.txt', "```text\nresult    32\n```\n")
        . block('quote', 'code.c LIMIT',
        "```c\nstatic const int LIMIT = 10; /* a constant */\n```\n"));
refills('lines that end in CR LF',
    block('quote', 'crlf.txt', "old\n") =~ s/\n/\r\n/gr,
    block('quote', 'crlf.txt', "```text\nresult    32\n```\n"));
spew("$tree/crlf.txt", "result    32\r\n");

# --- figures and tables ---

sub value { return "A run took <!-- value $_[0] -->$_[1]<!-- /value --> ms.\n" }
sub ratio { return "It is <!-- ratio $_[0] -->$_[1]<!-- /ratio --> times.\n" }

refills('a value', value('a.csv variant=v0_half min_ms %.1f', '1'),
    value('a.csv variant=v0_half min_ms %.1f', '400.5'));
refills('a value by two keys',
    value('a.csv variant=v2_fastadd,n=1000 ns_per_add %.2f', ''),
    value('a.csv variant=v2_fastadd,n=1000 ns_per_add %.2f', '3.50'));
refills('a ratio',
    ratio('a.csv variant=v0_half a.csv variant=v1_pack2 min_ms %.2f', '9'),
    ratio('a.csv variant=v0_half a.csv variant=v1_pack2 min_ms %.2f', '4.00'));
refills('a ratio of two files',
    ratio('a.csv variant=v0_half b.csv gpu=B n %.2f', '9'),
    ratio('a.csv variant=v0_half b.csv gpu=B n %.2f', '250.00'));
my $both = 'Both: <!-- value a.csv variant=v0_half n %%d -->%s<!-- /value --> and '
    . '<!-- value b.csv gpu=B extra %%s -->%s<!-- /value -->';
refills('two files on a line', sprintf("$both\n", '', ''),
    sprintf("$both\n", 1000, 7));

my $table = <<'END';
| GPU | v0_half | v1_pack2 | v2_fastadd | v0/v2 | how measured; by whom |
|---|---|---|---|---|---|
| NVIDIA A | 400.50 ms (12.50 ns) | 100.00 ms (0.50 ns) | 200.00 ms (3.50 ns) | 2.00 | events; us |
END
{
    (my $whole = slurp("$tree/results/a.csv")) =~ s/^.*,2000,.*\n//m;
    $whole =~ s/101,,64/101,0.5,64/;
    spew("$tree/results/c/1.csv", $whole);
    spew("$tree/results/c/2.csv", $whole =~ s/NVIDIA A/B/gr);
    my ($last) = $table =~ /^(.* A .*\n)/m;
    for (['results/c/1.csv', ''], ['results/c/*.csv', $last =~ s/NVIDIA A/B/r]) {
        my ($files, $more) = @$_;
        my $marker = "$files lessons";
        refills("a table of $files", block('table', $marker, "| old |\n"),
            block('table', $marker, $table . $more));
    }
    spew("$tree/results/f/$_.csv", $whole) for 1, 2;
    spew("$tree/results/g/1.csv", $whole . (split /^/, $whole)[1]);
}

# --- mistakes ---

my $sound = "```c\nold\n```\n";
for (
    ['an unknown name', 3, '0 definitions of nowhere in code\.c',
        'code.c nowhere'],
    ['an ambiguous name', 3, '2 definitions of again in code\.c',
        'code.c again'],
    ['a name in a comment only', 3, '0 definitions of file', 'code.c file'],
    ['a missing file',    3, 'cannot read missing\.c', 'missing.c twice'],
    ['a missing file, whole', 3, 'cannot read missing\.c', 'missing.c'],
    ['a range that does not begin', 3, 'no lines from "xyz" to "}"',
        'code.c "xyz" "}"'],
    ['a range before the one before it', 3, 'no lines from "LIMIT" to "LIMIT"',
        'code.c "static int twice" "}" "LIMIT" "LIMIT"'],
    ['a range that does not end', 3, 'no lines from "LIMIT" to "xyz"',
        'code.c "LIMIT" "xyz"'],
) {
    my ($what, $line, $pattern, $marker) = @$_;
    refuses($what, $line, $pattern, block('quote', $marker, $sound));
}
refuses('a missing end marker', '\d+', 'line 3 has no <!-- /quote -->',
    "One\n\n<!-- quote code.c LIMIT -->\n$sound\nThree.\n");
refuses('a missing end marker before another quote', 8,
    'line 1 has no <!-- /quote -->',
    "<!-- quote code.c LIMIT -->\n$sound\nKeep this.\n\n"
        . "<!-- quote out.txt -->\n<!-- /quote -->\n");
for (
    ['a value of an unknown row', 'no row variant=v9 in results/a\.csv',
        value('a.csv variant=v9 min_ms %.1f', '1')],
    ['a value of two rows',
        'more than one row variant=v2_fastadd in results/a\.csv',
        value('a.csv variant=v2_fastadd min_ms %.1f', '1')],
    ['a value of an empty cell',
        'no ns_per_add in the row variant=v1_pack2 of results/a\.csv',
        value('a.csv variant=v1_pack2 ns_per_add %.1f', '1')],
    ['a value of an unknown column',
        'results/a\.csv:1: there is no column speed',
        value('a.csv variant=v0_half speed %.1f', '1')],
    ['a value of a missing file', 'results/c\.csv: cannot be read',
        value('c.csv variant=v0_half min_ms %.1f', '1')],
    ['a value without an end', 'a value without <!-- /value -->',
        "It is <!-- value a.csv variant=v0_half min_ms %.1f -->1\n"],
    ['a value at the start of a line', 'a figure begins its line',
        value('a.csv variant=v0_half min_ms %.1f', '1') =~ s{A run took }{}r],
    ['a ratio of an unknown row', 'no row variant=v9',
        ratio('a.csv variant=v0_half a.csv variant=v9 min_ms %.1f', '1')],
    ['a column that only another file has',
        'results/b\.csv:1: there is no column min_ms',
        value('a.csv variant=v0_half min_ms %.1f', '400.5') =~ s/\n/ /r
        . value('b.csv variant=v0_half min_ms %.1f', '1')],
) {
    my ($what, $pattern, $text) = @$_;
    refuses($what, 2, $pattern, "Prose.\n$text");
}
refuses('a ratio to nothing', 2, 'min_ms is 0',
    "Prose.\n" . ratio('a.csv variant=v0_half a.csv '
        . 'variant=v2_fastadd,n=2000 min_ms %.1f', '1'));
refuses('a value without a format', 2, 'a value needs FILE and',
    "Prose.\n" . value('a.csv variant=v0_half min_ms', '1'));
refuses('a ratio without a format', 2, 'a ratio needs twice FILE and',
    "Prose.\n" . ratio('a.csv variant=v0_half a.csv variant=v1_pack2 min_ms', '1'));
refuses('an unknown table', 3, 'there is no table speeds',
    block('table', 'results/a.csv speeds', "| old |\n"));
refuses('a table without a file', 3, 'a table needs FILE and NAME',
    block('table', 'lessons', "| old |\n"));
refuses('a table of no files', 3, 'cannot be read',
    block('table', 'results/none/*.csv lessons', "| old |\n"));

# --- files that are no tables ---

my $first = 'gpu,n,min_ms';
for (
    ['empty',          '1: the file is empty',      ''],
    ['a_byte_order_mark', '1: a byte order mark', "\xef\xbb\xbf$first\nA,1,2\n"],
    ['cr_lf',       '1: the line ends with CR LF', "$first\r\nA,1,2\r\n"],
    ['cr_lf_below', '3: the line ends with CR LF', "$first\nA,1,2\nA,1,2\r\n"],
    ['a_decimal_comma', '2: 4 fields where 3 are due; decimals have a point',
        "$first\nA,1,195,50\n"],
    ['semicolons', '1: "gpu;n;min_ms" is no name', "gpu;n;min_ms\nA;1;195,5\n"],
    ['quotes', '1: ""n"" is no name', qq(gpu,"n"\nA,1\n)],
    ['a_unit', '2: min_ms is no number: 2 ms', "$first\nA,1,2 ms\n"],
    ['only_a_header',  '1: no rows follow',         "$first\n"],
    ['a_column_twice', '1: there are two columns n', "$first,n\nA,1,2,3\n"],
    ['a_column_without_a_name', '1: column 2 has no name',
        "gpu,,n\nA,1,2\n"],
    ['a_short_row', '3: 2 fields where 3 are due', "$first\nA,1,2\nA,1\n"],
    ['a_long_row',  '2: 4 fields where 3 are due', "$first\nA,1,2,3\n"],
    ['an_empty_row', '3: 0 fields where 3 are due', "$first\nA,1,2\n\n"],
    ['a_column_missing', '1: there is no column kernel', "$first\nA,1,2\n"],
) {
    my ($name, $pattern, $text) = @$_;
    my $file = "results/d/$name.csv";
    spew("$tree/$file", $text);
    refuses("$name, a table", 3, "\Q$file\E: ?$pattern",
        block('table', "$file pairs", "| old |\n"));
    refuses("$name, a value", 1, "\Q$file\E: ?$pattern",
        value("d/$name.csv gpu=A kernel %s", 'old'));
}
spew("$tree/results/e/1.csv", "$first,variant\nA,1,2,v0_half\n");
refuses('a table that lacks a column', 3,
    'results/e/1\.csv:1: there is no column ns_per_add',
    block('table', 'results/e/1.csv lessons', "| old |\n"));
refuses('two files of one GPU', 3,
    'results/f/2\.csv:2: results/f/1\.csv has the GPU NVIDIA A, too',
    block('table', 'results/f/*.csv lessons', "| old |\n"));
refuses('two rows of one lesson', 3,
    'results/g/1\.csv:5: NVIDIA A has a row of v0_half above',
    block('table', 'results/g/1.csv lessons', "| old |\n"));

# --- all of them, under each awk ---

sub quote { return run($awk{ $_[0] }, 'sh', 'tools/quote.sh', $_[1] // ()) }
sub put { my (%pages) = @_; spew("$tree/$_", $pages{$_}) for keys %pages }
sub check {
    my ($name, $what, %pages) = @_;
    is(slurp("$tree/$_"), $pages{$_}, "$name: $name_of{$_}: $what")
        for sort keys %pages;
}

for my $name (sort keys %awk) {
    put(%stale);
    my ($status, $out, $err) = quote($name, '--check');
    is("$status$out", '1', "$name: --check: exit 1");
    is($err, join('', map { "$_: stale; run make quote\n" } sort keys %stale),
        "$name: --check names each stale page");
    check($name, '--check changes nothing', %stale);
    ($status, $out, $err) = quote($name);
    is("$status$err", '0', "$name: refilled");
    is($out, join('', map { "$_: refilled\n" } sort keys %stale),
        "$name: it names the pages");
    check($name, 'as it should be', %fresh);
    for my $option ('--check', undef) {
        ($status, $out, $err) = quote($name, $option);
        is("$status$out$err", '0', "$name: then all is fresh");
        check($name, 'and stays so', %fresh);
    }
    unlink map { "$tree/$_" } keys %fresh;

    # A page with an error does not keep another from being refilled.
    my $good = "$tree/lessons/v0_x/README.md";
    for my $option (undef, '--check') {
        put(%wrong);
        spew($good, block('quote', 'out.txt', '')) if !$option;
        ($status, $out, $err) = quote($name, $option);
        is($status, 1, "$name: mistakes: exit 1");
        my @lines = split /\n/, $err;
        is(scalar @lines, scalar keys %wrong, "$name: a line for each");
        for my $page (sort keys %wrong) {
            my ($line) = map { s/\A\Q$page\E://r } grep { /\A\Q$page\E:/ } @lines;
            like($line // '', $why{$page},
                "$name: $name_of{$page}: page, line and reason");
        }
        check($name, 'the page stays', %wrong);
        like(slurp($good), qr/^result    32$/m, "$name: a good one is refilled");
    }
    unlink $good, map { "$tree/$_" } keys %wrong;

    # A table by itself.
    for (['empty', '1: the file is empty'], ['a_column_twice', 'two columns n'],
        ['a_column_missing', 'no column kernel']) {
        my ($file, $pattern) = @$_;
        ($status, $out, $err) = run($awk{$name}, 'awk', '-v', 'table=pairs',
            (map { ('-f', "tools/$_.awk") } qw(csv table_peers table_storm table_atlas table)),
            "results/d/$file.csv");
        is("$status$out", '1', "$name: a table of $file: exit 1, no output");
        one_line($err, qr{^results/d/$file\.csv:.*$pattern},
            "$name: a table of $file: one line");
    }
}

# --- a decimal comma, a full disk ---

my %page = (dir => $tree, page => "$tree/docs/page.md",
    text => "Prose.\n" . value('a.csv variant=v0_half min_ms %.1f', '1'));
SKIP: {
    skip 'a decimal comma is nothing to the awks here', 1
        if !$comma || !$awk{mawk};
    edit("$tree/tools/quote.sh", 'export LC_ALL=C', '');
    spew($page{page}, $page{text});
    quote('mawk');
    like(slurp($page{page}), qr/-->400,0</, 'a script without a locale is found');
    copy("$root/tools/quote.sh", "$tree/tools/quote.sh") or die;
}
for my $name (-c '/dev/full' ? sort keys %awk : ()) {
    spew($page{page}, $page{text});
    symlink '/dev/full', "$page{page}.new";
    my ($status, $out, $err) = quote($name);
    isnt($status, 0, "$name: a full disk: not exit 0");
    one_line("$err$out", qr/No space left/, "$name: a full disk: one line");
    is(slurp($page{page}), $page{text}, "$name: a full disk: the page stays");
    ok(!-l "$page{page}.new", "$name: a full disk: and nothing beside it");
    ($status) = run($awk{$name}, onto_full('sh', 'tools/quote.sh'));
    isnt($status, 0, "$name: no place for its words: not exit 0");
}

# --- tools/bench.sh, with lessons that print what they are told ---

{
    my $bench = tempdir(DIR => $tmp);
    make_path("$bench/tools", "$bench/results");
    copy("$root/tools/$_", "$bench/tools/$_") or die "$_: $!"
        for qw(bench.sh csv.awk table.awk table_peers.awk table_storm.awk table_atlas.awk);
    my $lesson = sub {
        my ($number, $text) = @_;
        spew("$bench/lesson$number.csv", $text);
        spew("$bench/lesson$number", '#!/bin/sh' . "\nif [ \$# = 1 ]; then "
            . "exec cat lesson$number.csv; fi\necho report $number\n", 0755);
    };
    my ($head, @rows) = split /^/, slurp("$tree/results/c/1.csv");
    my $sweep = "gpu,cells,min_ms\nNVIDIA A,1,2.5\nNVIDIA A,2,3.5\n";
    $lesson->($_, $head . $rows[$_ - 1]) for 1 .. 3;
    $lesson->(4, $sweep);
    my $measure = sub {
        my ($unit, @command) = @_;
        @command = qw(sh tools/bench.sh lesson1 lesson2 lesson3 lesson4)
            if !@command;
        my $path = ($awk{mawk} // $awk{awk})->{env}{PATH} // $ENV{PATH};
        return run({ dir => $bench, env => { BACKEND => 'cuda', UNIT => $unit,
            PATH => $path } }, @command);
    };
    my $files = sub {
        my ($of) = @_;
        return join ' ', map { s{^\Q$bench\E/results/}{}r }
            bsd_glob("$bench/results/$of*"), bsd_glob("$bench/results/$of*/*");
    };
    my @folder = map { "lesson$_" } '1.txt', '2.txt', '3.txt', '4.csv', '4.txt';

    my ($status, $out, $err) = $measure->();
    is("$status$err", '0', 'bench: exit 0');
    like($out, qr{^results/nvidia_a\.csv and results/nvidia_a/ are written\.\n\n\Q$table\E\z}m,
        'bench: what is written, and the table');
    is($files->('nvidia_a'), join(' ', 'nvidia_a', 'nvidia_a.csv',
        map { "nvidia_a/$_" } @folder), 'bench: the files, and nothing beside');
    is(slurp("$bench/results/nvidia_a.csv"), join('', $head, @rows),
        'bench: the rows');
    is(slurp("$bench/results/nvidia_a/lesson4.csv"), $sweep, 'bench: the sweep');

    # What is there may be of another unit.
    $lesson->(1, $head . $rows[0] =~ s/400\.5/500.5/r);
    ($status, $out, $err) = $measure->();
    is("$status$out", "2report 1\n", 'bench: a file is there: it stops at once');
    one_line($err, qr{^bench: results/nvidia_a\.csv is there.* UNIT=2 .* UNIT=1 },
        'bench: a file is there: one line says what to do');
    ($status, $out, $err) = $measure->(2);
    is("$status$err", '0', 'bench: UNIT=2');
    is(slurp("$bench/results/nvidia_a_2.csv"), join('', $head, map {
        s/NVIDIA A/NVIDIA A (unit 2)/r =~ s/400\.5/500.5/r } @rows),
        'bench: UNIT=2: the rows say so');
    is(slurp("$bench/results/nvidia_a_2/lesson4.csv"),
        $sweep =~ s/NVIDIA A/NVIDIA A (unit 2)/gr, 'and those of the sweep');
    is(slurp("$bench/results/nvidia_a.csv"), join('', $head, @rows),
        'bench: UNIT=2: the first one keeps its file');
    ($status, $out, $err) = $measure->(1);
    is("$status$err", '0', 'bench: UNIT=1');
    like(slurp("$bench/results/nvidia_a.csv"), qr/,500\.5,/, 'and it is replaced');

    # What is wrong is one line, and nothing is written.
    my $before = $files->('');
    for (
        ['UNIT=0', qr/^UNIT=0: expected a number/, 0],
        ['a broken neighbour', qr{^results/b\.csv:1: a byte order mark},
            3, 'results/b.csv', "\xef\xbb\xbf$head$rows[0]"],
        ['another file of this GPU',
            qr{^results/nvidia_a_3\.csv:2: results/b\.csv has the GPU}, 3,
            'results/b.csv', $head . $rows[0] =~ s/ A/ A (unit 3)/r],
        ['a row is cut off', qr/^lesson4\.csv:3: 2 fields where 3 are due/, 3,
            'lesson4.csv', substr $sweep, 0, -5],
    ) {
        my ($what, $pattern, $unit, $file, $text) = @$_;
        my $old = $file && -e "$bench/$file" ? slurp("$bench/$file") : undef;
        spew("$bench/$file", $text) if $file;
        ($status, $out, $err) = $measure->($unit);
        isnt($status, 0, "bench: $what: not exit 0");
        one_line($err, $pattern, "bench: $what: one line");
        defined $old ? spew("$bench/$file", $old) : unlink "$bench/$file"
            if $file;
        is($files->(''), $before, "bench: $what: nothing is written");
    }
  SKIP: {
        skip 'there is no /dev/full here', 4 if !-c '/dev/full';
        make_path("$bench/results/nvidia_a_3");
        $before = $files->('');
        symlink '/dev/full', "$bench/results/nvidia_a_3/lesson4.csv.new";
        ($status, $out, $err) = $measure->(3);
        is("$status" . ($out =~ /written/), '1',
            'bench: a full disk: exit 1, and it does not say "written"');
        one_line($err, qr/No space left/, 'bench: a full disk: one line');
        is($files->(''), $before, 'bench: a full disk: nothing is written');
        ($status) = $measure->(3, onto_full(qw(sh tools/bench.sh lesson1)));
        isnt($status, 0, 'bench: no place for its words: not exit 0');
    }
}

# --- the tables of results/ ---

my @csv = sort glob "$root/results/*.csv";
cmp_ok(scalar @csv, '>=', 2, 'there are results');
my $number = qr/\d+(?:\.\d+)?(?:e[+-]?\d+)?/;

# What is wrong with a CSV of the lessons, as a list of texts.
sub faults {
    my ($file, $text, $seen) = @_;
    my ($header, @rows) = split /\n/, $text, -1;
    my @found;
    push @found, 'no newline at the end' if @rows && pop(@rows) ne '';
    push @found, 'the header' if $header ne join ',', @columns;
    push @found, 'no rows' if !@rows;
    my %gpus;
    for my $i (0 .. $#rows) {
        my @fields = split /,/, $rows[$i], -1;
        my $at = 'row ' . ($i + 1);
        push(@found, "$at: " . @fields . ' fields'), next if @fields != @columns;
        my %row;
        @row{@columns} = @fields;
        $gpus{ $row{gpu} } = 1;
        push @found, "$at: $_ is no number" for grep {
            $row{$_} !~ /\A$number\z/ } qw(lesson n min_ms ns_per_add);
        push @found, "$at: $_ is no number" for grep {
            $row{$_} !~ /\A(?:$number|)\z/ } qw(median_ms result);
        push @found, "$at: arch" if $row{arch} !~ /\A(?:sm_\d+a?|cpu)\z/;
        push @found, "$at: $_ is empty"
            for grep { $row{$_} eq '' } qw(gpu variant how source);
        next if $row{min_ms} !~ /\A$number\z/ || $row{n} !~ /\A$number\z/
            || !$row{n};
        # Half a unit of the last digits of both.
        my $ns = $row{min_ms} * 1e6 / $row{n};
        my $slack = half_unit($row{ns_per_add})
            + half_unit($row{min_ms}) * 1e6 / $row{n};
        push @found, "$at: ns_per_add is not min_ms over n"
            if abs($ns - $row{ns_per_add}) > 1.0001 * $slack;
    }
    my @gpus = sort keys %gpus;
    push @found, scalar @gpus . ' GPUs' if @gpus != 1;
    for my $gpu (@gpus) {
        (my $name = lc $gpu) =~ s/ \(.*//; # "(second unit)"
        $name =~ tr/ -/__/;
        push @found, "the name is not $name.csv"
            if $file !~ /\A\Q$name\E(?:_\d+)?\.csv\z/;
        push @found, "$gpu has a file already" if $seen->{$gpu}++;
    }
    return @found;
}

sub half_unit {
    my ($digits) = @_;
    my ($fraction) = $digits =~ /\.(\d+)/;
    return 0.5 * 10**-length($fraction // '');
}

my %seen;
for my $path (@csv) {
    my $text = slurp($path);
    next if $text !~ /\A\Q$columns[0],$columns[1],$columns[2],lesson,/;
    my @found = faults(basename($path), $text, \%seen);
    is(join('; ', @found), '', basename($path) . ' is as documented');
}
cmp_ok(scalar keys %seen, '>=', 2, 'there are lessons of two GPUs');

# The check finds each of these.
{
    my $header = join ',', @columns;
    my $row = 'X 1,sm_90,CUDA 1,1,v0_half,1000,2.00,2.1,2000,32,events,us';
    my $file = 'x_1.csv';
    is(join('; ', faults($file, "$header\n$row\n", {})), '', 'a good one');
    for (
        ['the header',   "gpu,$header\n$row\n"],
        ['no newline',   "$header\n$row"],
        ['no rows',      "$header\n"],
        ['13 fields',    "$header\n$row,\n"],
        ['min_ms is no', "$header\n" . $row =~ s/2\.00/2 ms/r . "\n"],
        ['lesson is no', "$header\n" . $row =~ s/,1,/,one,/r . "\n"],
        ['not min_ms over n', "$header\n" . $row =~ s/2000/2010/r . "\n"],
        ['2 GPUs',       "$header\n$row\n" . $row =~ s/^X/Y/r . "\n"],
        ['the name is',  "$header\n" . $row =~ s/^X/Y/r . "\n"],
        ['how is empty', "$header\n" . $row =~ s/events//r . "\n"],
    ) {
        my ($what, $text) = @$_;
        like(join('; ', faults($file, $text, {})), qr/\Q$what\E/,
            "the check finds: $what");
    }
    like(join('; ', faults($file, "$header\n$row\n", { 'X 1' => 1 })),
        qr/has a file already/, 'the check finds: two files');
}

SKIP: {
    my $path = "$root/results/README.md";
    skip 'results/README.md is not written yet', 1 if !-e $path;
    my $text = slurp($path);
    my @unnamed = grep { $text !~ /`$_`/ } @columns;
    is("@unnamed", '', 'results/README.md names every column');
}

done_testing();
