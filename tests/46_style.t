#!/usr/bin/env perl
# The style of the sources: clang-format, the compilers' warnings, shellcheck,
# every awk, 80 columns; and the links of the pages.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Glob qw(bsd_glob);
use File::Spec;
use Test::More;

chdir $root or die "$root: $!";

# --- C: format and columns ---

my @c = (files_of(qr/\.(?:h|c|cu)\z/, qw(common include lessons exercises
    solutions tests)));
cmp_ok(scalar @c, '>=', 8, 'there are C files');

# The numbers of the lines over 80 columns.
sub long_lines {
    my ($text) = @_;
    utf8::decode($text) or return 'not UTF-8';
    my $n = 0;
    return grep { defined } map { $n++; length > 80 ? $n : undef }
        split /\n/, $text;
}

for my $file (@c) {
    my @long = long_lines(slurp($file));
    is("@long", '', "$file: 80 columns");
}
# How long a file beside a lesson may be; v9 has five kernels for one sum.
my %most = ('v5_reduce.cu' => 350, 'v9_rows.cu' => 330);
for my $file (files_of(qr/\.(?:cu|h)\z/, 'lessons')) {
    my $lines = () = slurp($file) =~ /\n/g;
    cmp_ok($lines, '<=', $most{ basename($file) } // 300, "$file: not too long");
}
is(join(' ', long_lines("a\n" . 'x' x 81 . "\n" . "\xe2\x80\xa6" x 80 . "\n")),
    '2', 'the check finds 81 columns, and counts characters');

SKIP: {
    my $tool = which('clang-format-14') // which('clang-format');
    skip_or_fail('there is no clang-format here') if !$tool;
    my ($status, $version) = run($tool, '--version');
    skip 'clang-format is not version 14', 1 if $version !~ /version 14\./;
    for my $file (@c) {
        my ($status, $out, $err) = run($tool, '--dry-run', '-Werror', $file);
        is("$status$err", '0', "$file: clang-format");
    }
    spew("$tmp/.clang-format", slurp('.clang-format'));
    spew("$tmp/bad.c", "int main(void) {\n  return 0;\n}\n");
    ($status) = run($tool, '--dry-run', '-Werror', "$tmp/bad.c");
    isnt($status, 0, 'clang-format refuses another format');
}

# --- C: warnings ---

my @units = map { [$_] } glob 'common/cpu/*.c';
for my $source (glob 'lessons/v*_*/*.cu') {
    my ($status, $out, $err) = run('awk', '-f', 'common/cpu/launch.awk', $source);
    is("$status$err", '0', "$source: rewritten for the CPU") or next;
    spew("$tmp/" . basename($source) . '.c', $out);
    push @units, ["$tmp/" . basename($source) . '.c', '-iquote' . dirname($source)];
}
spew("$tmp/bad.cu.c", "short f(int x);\nshort f(int x) { return x; }\n");
for my $cc (qw(gcc clang)) {
  SKIP: {
        skip_or_fail("there is no $cc here") if !which($cc);
        # What gcc says of variables that may not be set, it sees on the way to
        # machine code.
        my @command = ($cc, cpu_flags("CC=$cc"), qw(-Wconversion -Werror
            -Wno-enum-enum-conversion -Wno-enum-float-conversion),
            # clang 19 objects to arithmetic with constants of an enum
            $cc eq 'clang' ? '-fsyntax-only' : qw(-O2 -S -o /dev/null));
        my @results = run_jobs(map { [@command, @$_] } @units,
            ["$tmp/bad.cu.c"]);
        my $bad = pop @results;
        isnt($bad->[0], 0, "$cc: the flags refuse a lossy conversion");
        for my $i (0 .. $#units) {
            my ($status, undef, $err) = @{ $results[$i] };
            is("$status$err", '0',
                "$cc: no warning in " . basename($units[$i][0]));
        }
    }
}

# --- sh ---

my @places = (qw(setup tools tests common lessons docs exercises results .ci));
my @scripts = grep {
    my ($first) = split /\n/, slurp($_) || "\n";
    ($first // '') =~ m{^\#!\s*/\S*(?:/|env\s+)(?:ba|da)?sh\b};
} grep { !-l && !-B } files_of(qr/./, @places);
SKIP: {
    skip_or_fail('there is no shellcheck here') if !which('shellcheck');
    # What older ones say of good scripts (Debian 11).
    skip 'shellcheck is older than 0.9', 1
        if (run('shellcheck', '--version'))[1] =~ /^version: 0\.[0-8]\./m;
    for my $script (@scripts) {
        my ($status, $out) = run('shellcheck', $script);
        is("$status$out", '0', "$script: shellcheck");
    }
    cmp_ok(scalar @scripts, '>=', 4, 'there are sh scripts');
    spew("$tmp/bad.sh", "#!/bin/sh\nrm \$1/*\n");
    my ($status) = run('shellcheck', "$tmp/bad.sh");
    isnt($status, 0, 'shellcheck refuses an unquoted word');
}

# With a decimal comma mawk reads 195.50 as 195, and prints 195,00. The tests run
# all scripts in such a locale.
my %part = map { $_ => 1 } map { slurp($_) =~ /^\. (\S+)$/mg } @scripts;
for my $script (grep { !$part{$_} && !m{^\.ci/} } @scripts) {
    like(slurp($script), qr/^export LC_ALL=C(?:\.UTF-8)?$/m,
        "$script: sets its locale");
}
SKIP: {
    skip_or_fail('there is no locale with a decimal comma here') if !$comma;
    is((run('locale', 'decimal_point'))[1], ",\n", 'the tests have a comma');
}

# --- awk ---

# Parses a program without running any of its rules.
spew("$tmp/stop.awk", "BEGIN { exit 0 }\nEND { exit 0 }\n");
spew("$tmp/bad.awk", "BEGIN { print ( }\n");
spew("$tmp/undefined.awk", "END { nowhere(1) }\n");
spew("$tmp/equal.awk", "END { print a == 1 ? 2 : 3 }\n");
my @awk = files_of(qr/\.awk\z/, @places);
cmp_ok(scalar @awk, '>=', 4, 'there are awk programs');
# And those that stand in scripts and rules.
for my $script (@scripts, 'Makefile', files_of(qr/\.mk\z/, @places)) {
    my @inside = slurp($script) =~
        /(?<![.\w])awk (?:[^'|;&\n]|\\\n)*'([^']*)'/g;
    for my $i (0 .. $#inside) {
        push @awk, "$tmp/" . basename($script) . ".$i.awk";
        spew($awk[-1], $inside[$i] =~ s/\$\$/\$/gr);
    }
}
cmp_ok(scalar(grep { /\.sh\.\d/ } @awk), '>=', 4, 'and awk in scripts');
# What the programs that read CSV come after.
my @libraries = map { "tools/$_.awk" } qw(csv table_peers table_storm table_atlas table plot);
with_awks(sub {
    my ($name, undef, @command) = @_;
    my $parse = sub {
        my @before = grep { $_ ne $_[0] } @libraries;
        @before = () if slurp($_[0]) !~ /\bcsv\w*\(/;
        return run(@command, (map { ('-f', $_) } "$tmp/stop.awk", @before,
            $_[0]), '/dev/null');
    };
    for my $file (@awk) {
        my ($status, $out, $err) = $parse->($file);
        is("$status$out$err", '0', basename($file) . ": $name reads it");
    }
    for my $bad ('bad', $name eq 'mawk' ? 'undefined' : (),
        $name eq 'original-awk' ? 'equal' : ()) {
        my ($status) = $parse->("$tmp/$bad.awk");
        isnt($status, 0, "$name refuses $bad.awk");
    }
});

# --- links ---

# The anchors of a page, as GitHub makes them of its headings.
sub anchors {
    my ($text) = @_;
    utf8::decode($text);
    $text =~ s/^(```|~~~).*?^\1//msg;
    my (%count, @anchors);
    for ($text =~ /^\#{1,6} +(.*?)(?: +\#+)? *$/mg) {
        my $slug = lc;
        $slug =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
        $slug =~ s/<!--.*?-->|<[^>]*>//g;
        $slug =~ s/[^\w\- ]//g;
        $slug =~ s/ /-/g;
        push @anchors, $count{$slug} ? "$slug-$count{$slug}" : $slug;
        $count{$slug}++;
    }
    push @anchors, $text =~ /\b(?:id|name)="([^"]+)"/g;
    return map { utf8::encode(my $a = $_); $a => 1 } @anchors;
}

# The link targets of a page: outside of code, with what stands in comments
# left out.
sub targets {
    my ($text) = @_;
    $text =~ s/^ *(```|~~~).*?^ *\1//msg;
    $text =~ s/<!--.*?-->//sg;
    $text =~ s/(`+)(?!`).*?(?<!`)\1(?!`)//sg;
    return (
        $text =~ /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g,
        $text =~ /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/mg,
        $text =~ /\b(?:href|src)="([^"]*)"/g
    );
}

# What is wrong with the links of the page $file of text $text.
sub broken {
    my ($file, $text) = @_;
    my @found;
    for my $target (targets($text)) {
        next if $target =~ /^[a-z][a-z+.-]*:/i;
        my ($path, $anchor) = $target =~ /^([^#]*)(?:#(.*))?\z/s;
        $path =~ s/%([0-9a-fA-F]{2})/chr hex $1/ge;
        my $to = $path eq '' ? $file : dirname($file) . "/$path";
        if (!-e $to || $path =~ m{^/}) {
            push @found, "$target: no such file";
        } elsif (index(abs_path($to), $root) != 0) {
            push @found, "$target: outside of the course";
        } elsif (defined $anchor && $to =~ /\.md\z/) {
            my %anchors = anchors($path eq '' ? $text : slurp($to));
            push @found, "$target: no such heading" if !$anchors{$anchor};
        }
    }
    return @found;
}

my @pages = files_of(qr/\.md\z/, qw(README.md CONTRIBUTING.md docs
    examples lessons results exercises solutions tests));
cmp_ok(scalar @pages, '>=', 1, 'there are pages');
for my $page (@pages) {
    my @broken = broken($page, slurp($page));
    is(join('; ', @broken), '', "$page: links");
}
{
    my $text = <<'END';
# The `half` type: 2 bytes
## Twice
## Twice
[a](tools/quote.sh) [b](#the-half-type-2-bytes) [c](#twice-1)
[d](https://example.org/x) `[e](nowhere)` <!-- [f](nowhere) -->
```
[g](nowhere)
```
[h]: Makefile
END
    is(join('; ', broken('README.md', $text)), '', 'sound links pass');
    my @bad = ('[a](nowhere.md)', '[b](#nothing)', '[c](#twice-2)',
        '![d](lessons/x.png)', '[e]: nowhere', '<img src="no.svg">',
        '[f](/Makefile)', '[g](../)', '[h](#Twice)', '[i](README.md#nothing)');
    for (@bad) {
        my @found = broken('README.md', "$text\n$_\n");
        is(scalar @found, 1, "the check finds $_");
    }
}

# --- CONTRIBUTING.md: what it names is there, and every folder is named ---

# Names in `…` of a text that are not in the tree: files, folders, functions.
# NAME, NN and vN stand for any.
sub not_there {
    my ($text) = @_;
    my $code = join '', map { slurp($_) }
        files_of(qr/\.(?:h|pm|awk)\z/, qw(common tests include));
    my @found;
    for my $name ($text =~ /`([^`\s]+)`/g) {
        next if $name =~ m{NAME|\bNN_|\bvN_|^\./};
        if ($name =~ m{/\z|/.*\w\z|^[\w.]+\.(?:h|awk|sh|mk|c|pm|md)\z}) {
            push @found, $name if !grep { -e "$_/$name" } '.', qw(common
                common/cpu include tools lessons/v0_half);
        } elsif ($name =~ /^(\w+)\(\)\z|^([a-z]+_\w+)\z/) {
            my $function = $1 // $2;
            push @found, $name if $code !~ /\b$function\b/;
        }
    }
    return @found;
}
# One name for a lesson: its number, and its directory.
sub names {
    my ($number, $name, $text) = @_;
    return scalar $text =~ m{\A(?:# |/\* )Lesson $number, $name: };
}
my @lessons = sort { ($a =~ /v(\d+)/)[0] <=> ($b =~ /v(\d+)/)[0] }
    map { s{.*/}{}r } bsd_glob('lessons/v*_*');
for (1 .. @lessons) {
    my $name = $lessons[$_ - 1];
    my $number = $_;
    ok(names($number, $name, slurp("lessons/$name/$_")), "lesson $number: $_")
        for 'README.md', "$name.cu";
}
ok(!names(5, 'v4_storm', "# Lesson 5: v4_storm\n"), 'another name is found');

my $guide = slurp('CONTRIBUTING.md');
is(join(' ', not_there($guide)), '', 'CONTRIBUTING.md: what it names is there');
is(join(' ', not_there('`common/none.h` `pool.h` `plant()` `no_such()` `x.awk`')),
    'common/none.h no_such() x.awk', 'the check finds what is not there');
for my $folder (grep { -d && !m{/__\w+__\z} } bsd_glob('*'),
    map { bsd_glob("$_/*") } qw(common docs tests tools)) {
    next if $folder eq 'build';
    ok(index($guide, "`$folder/`") >= 0, "CONTRIBUTING.md: $folder/");
}

done_testing();
