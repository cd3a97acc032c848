#!/usr/bin/env perl
# tools/plots.sh and docs/plots/*.svg: fresh, drawn alike each time, sound SVG;
# stale data is found, rows may be missing, mistakes are one line and leave the
# plots as they are.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename dirname);
use File::Copy qw(copy);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my @names = qw(reduce_error storm_k storm_ratio storm_threads storm_winners);
my %svg   = map { $_ => slurp("$root/docs/plots/$_.svg") } @names;
my $sweep = 'results/nvidia_h200/lesson5.csv';
my $asked = 'results/nvidia_h200/experiments.csv';
my $order = 'results/nvidia_h200/experiments_winners.csv';
my $reduced = 'results/nvidia_h200/lesson6.csv';

# --- the plots of the repository ---

{
    my ($status, $out, $err) = run('sh', 'tools/plots.sh', '--check');
    is("$status$out$err", '0', 'the plots are fresh');
    is(join(' ', map { basename($_, '.svg') } sort glob "$root/docs/plots/*"),
        "@names", 'the plots, and nothing beside them');
}

# What is wrong with the tags of an XML text, or ''.
sub unbalanced {
    my ($text) = @_;
    my @open;
    $text =~ s/\A<\?xml [^>]*\?>//;
    $text =~ s/<!--.*?-->//sg;
    my $attribute = qr/\s+[\w:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*')/;
    while ($text =~ s{<(/?)([\w:]+)$attribute*\s*(/?)>}{}) {
        my ($end, $tag, $empty) = ($1, $2, $3);
        push @open, $tag if !$end && !$empty;
        return "</$tag> closes nothing" if $end && (pop @open // '') ne $tag;
    }
    return "<$open[-1]> is not closed" if @open;
    return $text =~ /<|&(?!\w+;)/ ? 'a stray < or &' : '';
}

sub check_xml {
    my ($text, $name) = @_;
    is(unbalanced($text), '', "$name: its tags are balanced");
  SKIP: {
        skip 'there is no xmllint here', 1 if !which('xmllint');
        spew("$tmp/xml.svg", $text);
        my ($status, undef, $err) = run('xmllint', '--noout', "$tmp/xml.svg");
        is("$status$err", '0', "$name: xmllint");
    }
}
isnt(unbalanced($_), '', "the check refuses $_") for '<a><b></a></b>', '<a>',
    '<a/></a>', '<a b="1" c></a>', '<a b="1"c="2"/>', '<a>&</a>', '<a><</a>';

# The sizes of text that fall below 11 px where a phone of 360 px has room for
# 328, or that there is none.
sub small_text {
    my ($text, $width) = @_;
    my @size = $text =~ /font(?:-size)?[:=]"?([\d.]+)/g;
    return @size ? join ' ', grep { $_ * 328 / $width < 11 } @size : 'none';
}
is(small_text('<style>text{font:19px x}</style><text font-size="18">', 560),
    '18', 'the check refuses a small text');

# A colour's luminance, and the contrast of two, as WCAG 2 has them.
sub luminance {
    my ($hex) = @_;
    $hex =~ s/^#(.)(.)(.)$/#$1$1$2$2$3$3/;
    my ($r, $g, $b) = map { $_ <= 0.04045 ? $_ / 12.92
            : (($_ + 0.055) / 1.055)**2.4 }
        map { hex($_) / 255 } $hex =~ /([0-9a-f]{2})/g;
    return 0.2126 * $r + 0.7152 * $g + 0.0722 * $b;
}

sub contrast {
    my ($low, $high) = sort { $a <=> $b } map { luminance($_) } @_;
    return ($high + 0.05) / ($low + 0.05);
}

for my $name (@names) {
    my $text = $svg{$name};
    check_xml($text, $name);
    cmp_ok(length $text, '<', 40_000, "$name: under 40 kB");
    my ($head) = $text =~ /<svg([^>]*)>/;
    my ($width) = $head =~ / viewBox="0 0 (\d+) \d+"/;
    ok($width, "$name: its viewBox") or next;
    my ($from) = $text =~ /\A<!-- make plots, from (.*) -->\n/;
    my @missing = grep { !-s "$root/$_" } split /, /, $from // 'nothing';
    is("@missing", '', "$name: it names the files that it draws");
    unlike($head, qr/\b(?:width|height)=/, "$name: takes any width");
    like($text,
        qr{<svg[^>]*>\s*<title>[^<]{20,}</title>\s*<desc>[^<]{80,}</desc>},
        "$name: title and description");
    my ($style) = $text =~ /<style>\n(.*?)<\/style>/s;
    my ($dark)  = ($style // '')
        =~ /\@media \(prefers-color-scheme:dark\)\{\n(.*)\}\n\z/s;
    ok($dark, "$name: a style for a dark page") or next;
    unlike($text, qr/<rect/, "$name: no background");
    is(small_text($text, $width), '', "$name: text of 11 px on a phone");
    cmp_ok(scalar(() = $text =~ /<text\b/g), '>=', 10, "$name: text is text");
    my ($body) = $text =~ /<\/style>(.*)/s;
    unlike($body, qr/#[0-9a-f]{3}|rgb\(|font-family/,
        "$name: only the style has colours");

    # The colours of its series and its text, on white and on #111.
    my ($light) = $style =~ /(.*)\@media/s;
    my %used = map { $_ => 1 } $body =~ /<g class="(s\d)/g;
    my @weak = grep {
        my ($on_light) = $light =~ /^\.$_\{color:(#\w+)\}/m;
        my ($on_dark)  = $dark =~ /^\.$_\{color:(#\w+)\}/m;
        !$on_light || !$on_dark || contrast($on_light, '#ffffff') < 4.5
            || contrast($on_light, '#111111') < 3
            || contrast($on_dark, '#111111') < 4.5
    } sort keys %used;
    my ($ink) = $dark =~ /^text\{fill:(#\w+)\}/;
    push @weak, 'text' if contrast($ink // '#111', '#111111') < 4.5;
    is("@weak", '', "$name: its colours have contrast, light and dark");
    cmp_ok(scalar keys %used, '>=', 2, "$name: it has colours");
}

# --- a copy, in a directory with a space ---

my $tree = tempdir(DIR => $tmp) . '/a course';
my @scripts = ('common/account.h',
    map { "tools/$_" } qw(plots.sh csv.awk plot.awk plots.awk));
my @data = map { s{^\Q$root\E/}{}r } glob("$root/results/*.csv"),
    map { "$root/$_" } $sweep, $asked, $order, $reduced;

sub restore {
    copy("$root/$_", "$tree/$_") or die "$_: $!" for @data, @scripts,
        map { "docs/plots/$_.svg" } @names;
}
make_path(map { "$tree/$_" } qw(common tools docs/plots), dirname($sweep));
restore();
my $scratch = tempdir(DIR => $tmp);
my %here    = (dir => $tree, env => { TMPDIR => $scratch });

sub plots {
    my ($option, @arguments) = @_;
    return run({ %here, %$option }, 'sh', 'tools/plots.sh', @arguments);
}

# The names of the plots that --check finds stale.
sub stale {
    my ($option) = @_;
    my ($status, $out, $err) = plots($option // {}, '--check');
    my @found = $err =~ m{^docs/plots/(\w+)\.svg: stale; run make plots$}mg;
    return "exit $status: $out$err"
        if $out ne '' || @found != ($err =~ tr/\n//) || $status != !!@found;
    return join ' ', sort @found;
}

# Changes the rows of a CSV; $change gets a row by column names.
sub change_rows {
    my ($file, $change) = @_;
    my ($header, @rows) = split /\n/, slurp("$root/$file");
    my @columns = split /,/, $header;
    my @kept;
    for (@rows) {
        my %row;
        @row{@columns} = split /,/, $_, -1;
        push @kept, join ',', @row{@columns} if $change->(\%row);
    }
    spew("$tree/$file", join "\n", $header, @kept, '');
}

sub unchanged {
    my ($name) = @_;
    my @changed = grep { slurp("$tree/docs/plots/$_.svg") ne $svg{$_} } @names;
    is("@changed", '', "$name: the plots stay");
    is(join(' ', glob("$scratch/*")), '', "$name: no temporary file stays");
}

# --- stale plots are found ---

is(stale(), '', 'a copy is fresh');
{
    my ($status, $out, $err) = plots({}, '--chekc');
    is("$status$out", '2', 'an unknown argument: exit 2');
    one_line($err, qr/--chekc.*--check/, 'an unknown argument: one line');
}

change_rows($sweep, sub { $_[0]{min_ms} *= 1.5 if $_[0]{variant} eq 'frozen_2B';
    1 });
is(stale(), 'storm_ratio', 'another time is found');
change_rows($sweep, sub { $_[0]{variant} ne 'threads_2B' });
is(stale(), 'storm_threads', 'rows that are gone are found');
change_rows($sweep, sub { $_[0]{median_ms} = 7; $_[0]{how} = 'x'; 1 });
is(stale(), '', 'what no plot shows makes none stale');
restore();
change_rows($asked, sub { $_[0]{tries} += 5000
            if $_[0]{setting} eq 'long-lived'; 1 });
is(stale(), 'storm_k', 'another experiment is found');
restore();
change_rows($order, sub { $_[0]{sm} = 7 if $_[0]{first} eq '1'; 1 });
is(stale(), 'storm_winners', 'another winner is found');
restore();
change_rows('results/nvidia_a100_pcie_40gb.csv', sub { $_[0]{min_ms} += 1; 1 });
is(stale(), 'storm_threads', 'another GPU is found');
restore();
edit("$tree/tools/plot.awk", '#0072b2', '#0072b3');
is(stale(), "@names", 'another way to draw is found');
restore();
edit("$tree/tools/plots.awk", '2-byte time / 4-byte time', 'ratio');
is(stale(), 'storm_ratio', 'another plot is found');
restore();
edit("$tree/docs/plots/storm_k.svg", '</desc>', ' </desc>');
unlink "$tree/docs/plots/storm_ratio.svg";
is(stale(), 'storm_k storm_ratio', 'a changed and a missing plot are found');
restore();

# Columns by their names, rows in any order, under every awk.
for my $file ($sweep, $asked, 'results/nvidia_h200.csv') {
    my ($header, @rows) = map { join ',', reverse split /,/, $_, -1 }
        split /\n/, slurp("$root/$file");
    spew("$tree/$file", join "\n", $header, reverse(@rows), '');
}
is(stale(), '', 'columns and rows in another order: fresh');
my $dots;
with_awks(sub {    # to the byte, as other awks have drawn them
    my ($name, $path, @awk) = @_;
    is(stale({ env => { TMPDIR => $scratch, PATH => $path } }), '',
        "$name: fresh");
    my ($status, $page, $err) = run({ env => { LC_ALL => 'C' } }, @awk,
        '-v', 'level=', (map { ('-f', "tools/$_.awk") } qw(csv table_peers
        table_storm table_atlas table plot csv_page)), $sweep);
    is("$status$err", '0', "$name: a page of a CSV");
    $dots //= $page;
    is($page, $dots, "$name: its dots and its table, as by other awks");
});
restore();

# --- mistakes ---

# One line that matches, by both ways to call it; the plots stay.
sub refuses {
    my ($name, $pattern) = @_;
    for my $argument ([], ['--check']) {
        my ($status, $out, $err) = plots({}, @$argument);
        is("$status$out", '1', "$name: @$argument: exit 1");
        one_line($err, $pattern, "$name: @$argument: one line");
        unchanged("$name: @$argument");
    }
    restore();
}
for my $file ($sweep, $asked, 'results/nvidia_geforce_rtx_5070.csv') {
    unlink "$tree/$file";
    refuses("$file is missing", qr/^\Q$file\E: cannot be read$/);
    spew("$tree/$file", '');
    refuses("$file is empty", qr/^\Q$file\E:1: the file is empty$/);
}
change_rows($sweep, sub { 0 });
refuses('only a header', qr/^\Q$sweep\E:1: no rows follow$/);
change_rows($asked, sub { $_[0]{question} !~ /^(?:lifetime|waiting)/ });
refuses('no row that a plot shows',
    qr{^docs/plots/storm_k\.svg: results/ has no data for it$});
spew("$tree/$sweep", slurp("$root/$sweep") =~ s/\bmin_ms\b/ms/r);
refuses('a column is gone', qr/^\Q$sweep\E:\d+: there is no column min_ms$/);
spew("$tree/$asked", substr(slurp("$root/$asked"), 0, -20));
refuses('a row is cut off', qr/^\Q$asked\E:\d+: \d+ fields where 7 are due$/);

spew("$tree/$reduced", slurp("$root/$reduced") =~ s/\bgpu\b/n/r);
refuses('a column is there twice', qr/^\Q$reduced\E:1: there are two columns n$/);

# --- drawing ---

{
    unlink glob("$tree/docs/plots/*.svg");
    my ($status, $out, $err) = plots({});
    is("$status$err", '0', 'drawn anew');
    is($out, join('', map { "docs/plots/$_.svg: drawn\n" }
        sort { index($out, $a) <=> index($out, $b) } @names),
        'it names what it has drawn');
    unchanged('drawn anew: byte by byte');
    ($status, $out, $err) = plots({});
    is("$status$out$err", '0', 'drawn again: nothing to say');

    # A GPU that left rows out, and on which 2 bytes never get ahead.
    change_rows($sweep, sub {
        my ($row) = @_;
        $row->{min_ms} *= 9 if $row->{variant} eq 'moving_2B';
        return $row->{variant} !~ /^(?:count|threads)/
            && !($row->{variant} =~ /^alternate/ && $row->{n} > 4096);
    });
    ($status, $out, $err) = plots({});
    is("$status$err", '0', 'rows are left out: drawn');
    is(stale(), '', 'rows are left out: then fresh');
    my %new = map { $_ => slurp("$tree/docs/plots/$_.svg") } @names;
    check_xml($new{$_}, "$_, rows left out") for @names;
    my $legend = qr/>a count that never repeats</;
    ok($svg{storm_ratio} =~ $legend, 'a series has its name in the legend');
    ok($new{storm_ratio} !~ $legend, 'a series that is left out has not');
    ok($new{storm_ratio} !~ /equal at/, 'no crossing: none is marked');

    # The crossing, against one worked out here: from 4 at 2^20 to 1/4 at 2^22.
    change_rows($sweep, sub {
        my ($row) = @_;
        return 1 if $row->{variant} !~ /^moving/;
        $row->{min_ms} = $row->{variant} eq 'moving_4B' ? 8
            : $row->{n} > 1 << 20 ? 2 : 32;
        return $row->{n} != 1 << 21;
    });
    ($status, $out, $err) = plots({});
    my $text = slurp("$tree/docs/plots/storm_ratio.svg");
    my ($label) = $text =~ /<text[^>]*>(.*equal at.*?)<\/text>/;
    ($label //= '') =~ s/<[^>]*>//g;
    is($label, 'equal at n = 2.1 × 10⁶', 'the crossing is computed');
    restore();

    # Points lie where their values say, by the ticks of 1 and 10.
    my ($points) = $svg{storm_ratio} =~ /<g class="s1"><path class="line" d="M(.*?)"/;
    my @point = map { [split] } split /L/, $points // '';
    my %tick = reverse $svg{storm_ratio} =~
        /<text x="[\d.]+" y="([\d.]+)" class="end">([\d.]+)</g;
    my $decade = $tick{1} - $tick{10};
    my %ms;
    /,moving_(\d)B,/ and do { my @row = split /,/; $ms{$1}{ $row[8] } = $row[9] }
        for split /\n/, slurp("$root/$sweep");
    my @ratio = map { $ms{2}{$_} / $ms{4}{$_} } sort { $a <=> $b } keys %{ $ms{2} };
    is(scalar @point, scalar @ratio, 'a point for each row');
    my @off = grep { abs($tick{1} - 7 - $point[$_][1]
        - $decade * log($ratio[$_]) / log(10)) > 0.2 } 0 .. $#ratio;
    is("@off", '', 'and each stands where its times say');

    # The last plot lacks its data: those before it stay, too.
    change_rows($sweep, sub { $_[0]{min_ms} *= 2; 1 });
    unlink "$tree/$asked";
    ($status) = plots({});
    is($status, 1, 'one CSV is missing: exit 1');
    unchanged('one CSV is missing');
    restore();

    # awk fails: nothing is left half drawn.
    spew("$tree/tools/plots.awk", slurp("$root/tools/plots.awk") . "{ (\n");
    ($status, $out, $err) = plots({});
    isnt($status, 0, 'awk fails: not exit 0');
    is($out, '', 'awk fails: nothing is drawn');
    unchanged('awk fails');
    restore();
  SKIP: {
        skip 'there is no /dev/full here', 5 if !-c '/dev/full';
        my $plot = "$tree/docs/plots/storm_k.svg";
        spew($plot, 'old');
        symlink '/dev/full', "$plot.new";
        ($status, $out, $err) = plots({});
        is("$status$out", '1', 'a full disk: exit 1');
        one_line($err, qr/No space left/, 'a full disk: one line');
        is(slurp($plot), 'old', 'a full disk: the plot stays');
        ok(!-l "$plot.new", 'a full disk: and nothing beside it');
        ($status) = run(\%here, onto_full('sh', 'tools/plots.sh'));
        isnt($status, 0, 'no place for its words: not exit 0');
    }
}

done_testing();
