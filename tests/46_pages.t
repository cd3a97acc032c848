#!/usr/bin/env perl
# The pages of the lessons: their parts and their order, their length, and that
# a word of the primer or the glossary is linked or told where it is first used.
# The pictures: their alternatives, light and dark, text that a phone shows.
# 46_style.t looks at titles and links.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Glob qw(bsd_glob);
use Test::More;

chdir $root or die "$root: $!";

# --- words ---

# Headings of docs/gpu.md, and how their words stand in a sentence.
my %primer = (
    grid => 'grids?', block => 'blocks?', warp => 'warps?', lane => 'lanes?',
    multiprocessor => 'multiprocessors?', registers => 'registers?',
    'shared-memory' => 'shared memory', l2 => 'L2',
    'global-memory' => 'global memory', 'in-flight' => 'in flight',
    atomic => 'atomic(?:s|ally)?',
);
# Of docs/glossary.md; a lesson may also tell these itself, in italics.
my %glossary = (
    barrier => 'barriers?', bf16 => 'bf16', fence => 'fences?',
    freeze => 'freezes?|frozen', 'hot-cold' => 'hot', nan => 'NaNs?',
    'compare-and-swap-loop' => 'compare-and-swap', lockstep => 'lockstep',
    'prefix-sum' => 'prefix sum', ptx => 'PTX', race => 'races?', red => 'RED',
    sass => 'SASS', shuffle => 'shuffles?', spread => 'the spread',
    subnormal => 'subnormals?', ulp => 'ulps?',
);

# A page without code, comments and what tools/quote.awk fills in.
sub prose {
    my ($text) = @_;
    $text =~ s/^ *<!-- (quote|table) .*?^ *<!-- \/\1 -->//msg;
    $text =~ s/^ *(```|~~~).*?^ *\1//msg;
    return $text =~ s/<!--.*?-->//sgr;
}

# Words that a page uses before it links or tells them. Neither its head counts
# nor headings, code in a line, the alternatives of pictures and other links.
sub untold {
    my ($text) = @_;
    $text = prose($text) =~ s/^#+ .*/\n#/mgr =~ s/(`+)(?!`).*?(?<!`)\1(?!`)//sgr
        =~ s/!\[.*?\]\([^)]*\)//sgr =~ s{\[[^\]]*\]\(([^)]*)\)}
        { $1 =~ m{/docs/((?:gpu|glossary)\.md\#\S+)\z} ? "<$1>" : '' }ger
        =~ s/\s+/ /gr;
    my ($head, $body) = $text =~ /\A #(.*?)#(.*)/ or return 'no sections';
    my @found;
    for (['gpu.md', \%primer], ['glossary.md', \%glossary]) {
        my ($page, $words) = @$_;
        for my $anchor (sort keys %$words) {
            my ($link, $word) = ("<$page#$anchor>", $words->{$anchor});
            my $any = qr/(?<![\w#-])(?:$word|\u$word)(?!\w)/;
            next if index($head, $link) >= 0 || $body !~ /\Q$link\E|$any/
                || $& eq $link
                || $page eq 'glossary.md' && $body =~ /\A.{$-[0]}(?<=\*)$any\*/;
            push @found, "\"$&\" comes before a link to $page#$anchor";
        }
    }
    return @found;
}

# --- the parts of a page ---

my @fixed = ('Predict before you run', 'Check yourself', 'Try next');

# What is wrong with the page of a lesson, beside the page of answers.
sub faults {
    my ($number, $text, $answers) = @_;
    my @found = untold($text);
    my $prose = prose($text);
    my $words = () = $prose =~ /\S+/g;
    push @found, "$words words" if $words > 1400;

    my ($head) = $prose =~ /\A(.*?)^## /ms;
    push @found, 'not three points in the head'
        if join('|', ($head // '') =~ /^- \*\*(.*?)\*\*/mg)
        ne 'You will be able to|Builds on|Takes';
    my @titles = $prose =~ /^## (.*)/mg;
    push @found, "sections: @titles" if ($titles[0] // '') ne $fixed[0]
        || join('|', grep { my $title = $_; grep { $_ eq $title } @fixed }
            @titles) ne join('|', @fixed) || $titles[-1] ne $fixed[-1];
    my %section = map { /\A([^\n]*)\n(.*)/s } split /^## /m, $text;

    my $first = $section{ $fixed[0] } // '';
    push @found, 'not a command, lines that settle it, the answer, a picture, '
        . 'the folded report' if $first !~ m{^```sh\n.+?^```$
            .*?^<!--\ quote\ [^\n]*\n```text\n(.*?)^```$
            .*?^\*\*The\ answer\*\*
            .*?^!\[
            .*?^<details><summary>.+?</summary>\n\n
            .*?^<!--\ quote\ .*?^</details>$}msx;
    my $lines = () = ($1 // '') =~ /\n/g;
    push @found, "$lines lines settle it" if $lines > 6;

    my @pictures = $prose =~ /!\[(.*?)\]\(/sg;
    push @found, scalar(@pictures) . ' pictures' if !@pictures || @pictures > 2;
    push @found, 'no alternative' if grep { !/\w+\s+\w+\s+\w+/ } @pictures;

    my $check = $section{ $fixed[1] } // '';
    push @found, 'not three questions'
        if join(' ', $check =~ /^(\d+)\. /mg) ne '1 2 3';
    push @found, 'no link to the answers'
        if $check !~ m{\]\(\.\./\.\./docs/answers\.md\#lesson-$number\)};
    my ($ours) = $answers =~ /^## Lesson $number\n(.*?)(?=^## |\z)/ms;
    my ($to_check) = ($ours // '') =~ /^$fixed[1]:\n(.*?)^$fixed[2]:$/ms;
    push @found, 'not three answers'
        if join(' ', ($to_check // '') =~ /^(\d+)\. /mg) ne '1 2 3';
    return @found;
}

my $answers = slurp('docs/answers.md');
my %lesson = map { m{/v(\d+)_} ? ($1 + 1 => $_) : () }
    bsd_glob('lessons/v*_*/README.md');
cmp_ok(keys %lesson, '>=', 10, 'there are lessons');
for my $number (sort { $a <=> $b } keys %lesson) {
    is(join('; ', faults($number, slurp($lesson{$number}), $answers)), '',
        "$lesson{$number}: its parts, length and words");
}

# --- the pictures ---

sub faults_of_picture {
    my ($svg) = @_;
    my ($width) = $svg =~ /\bviewBox="0 0 ([\d.]+) [\d.]+"/ or return 'viewBox';
    my ($least) = sort { $a <=> $b }
        $svg =~ /\bfont(?:-size)?\s*[:=]\s*"?([\d.]+)(?:px)?\b/g;
    return ((map { $svg =~ m{<$_>[^<]*\w[^<]*</$_>} ? () : $_ } qw(title desc)),
        $svg =~ /\brole="img"/ ? () : 'role',
        $svg =~ /\@media \(prefers-color-scheme:\s*dark\)/ ? () : 'dark',
        ($least // 0) >= 0.0335 * $width ? () : 'text size');
}

my @pictures = bsd_glob('{lessons/*,docs/pictures}/*.svg');
cmp_ok(@pictures, '>=', 9, 'there are pictures');
is(join(' ', faults_of_picture(slurp($_))), '', "$_: told, dark, legible")
    for @pictures;

# --- the checks find it ---

# Each change of a sound page, and what is then found.
my $page = slurp($lesson{1});
for (
    ['- **Takes**', '- It takes', 'not three points in the head'],
    ['## Check yourself', '## Questions', 'sections: '],
    ['## Why 32', "## Try next\n\n## Why 32", 'sections: '],
    ["\n## Predict", "\n## Before\n\n## Predict", 'sections: '],
    ["```sh\n", "```text\n", 'not a command'],
    ["result    32", "a line\n" x 4 . 'result    32', '7 lines settle it'],
    ['**The answer**', 'The answer', 'not a command'],
    ['<details>', '', 'not a command'],
    ['![A number', '[A number', '0 pictures'],
    ['## Why 32', '![a b c](a.svg) ' x 2 . "\n## Why 32", '3 pictures'],
    ['## Why 32', "![](a.svg)\n\n## Why 32", 'no alternative'],
    ["\n3. ", "\n- ", 'not three questions'],
    ['answers.md#lesson-1)', 'answers.md#lesson-2)', 'no link to the answers'],
    ['## Why 32', 'word ' x 1400 . "\n## Why 32", ' words'],
    ['The exact sum', 'A GRID of blocks. The exact sum',
        '"blocks" comes before a link to gpu.md#block'],
    ['The exact sum', 'A [grid](../../docs/gpu.md#block) is a grid. The exact sum',
        '"grid" comes before a link to gpu.md#grid'],
    ['*ulp*', 'ulp', '"ulp" comes before a link to glossary.md#ulp'],
) {
    my ($from, $to, $what) = @$_;
    my $at = $what eq 'not three questions' ? index($page, '## Check') : 0;
    $at = index $page, $from, $at;
    substr(my $bad = $page, $at, length $from) = $to;
    my @found = $at < 0 ? 'nothing changed' : faults(1, $bad, $answers);
    ok((grep { index($_, $what) >= 0 } @found), "found: $what")
        or diag(join "\n", @found);
}
like(join(' ', faults(1, $page, $answers =~ s/^## Lesson 1$/## Lesson/mr)),
    qr/not three answers/, 'found: not three answers');
{
    my ($gpu, $red) = map { "../../docs/$_" } 'gpu.md#grid', 'glossary.md#red';
    my $sound = "`grid`, ![a grid[2]](grid.svg) [grid](x) ([grids]($gpu)). "
        . "A grid. [r]($red) RED;";
    is(join(' ', untold("# Grid\n\nA grid.\n\n## Grid\n\n$sound\n")), '',
        'found: no word that is no use, or stands after its link');
    is(scalar untold("# Grid\n\n## Grid\n\nA grid. $sound Grid-stride\n"), 1,
        'found: a word before its link');
}
my $svg = slurp($pictures[-1]);
for (['<title>', '<text>', 'title'], ['<desc>', '<text>', 'desc'],
    ['role="img"', '', 'role'], ['prefers-color-scheme', 'min-width', 'dark'],
    ['</svg>', '<text font-size="11">a</text></svg>', 'text size'],
    ['</style>', '.small{font-size:11px}</style>', 'text size']) {
    my ($from, $to, $what) = @$_;
    (my $bad = $svg) =~ s/\Q$from\E/$to/;
    is(join(' ', faults_of_picture($bad)), $what, "found: $what");
}

done_testing();
