#!/usr/bin/env perl
# make docs: everything that is there becomes a page, what has changed is made
# anew and nothing else, a translation finds its place, and mistakes are one
# line. What the pages are like in a browser: 91_browser.t.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(dirname);
use File::Path qw(make_path);
use IO::Socket::INET;
use Test::More;

plan skip_all => no_pandoc() if !$ci && no_pandoc();

my ($tree, $site);

sub docs { return run({ dir => $tree, env => { EDIT => undef } }, 'make',
    'docs', @_) }

# Where each page is, and when it was written.
sub written {
    my %at = map { $_ => (stat)[9] . ' ' . (stat _)[1] }
        map { bsd_glob("$site/$_") } '*.html', '*/*.html', '*/*/*.html';
    return \%at;
}

sub changed {
    my ($before, $after) = @_;
    return join ' ', map { s{\Q$site/}{}r }
        grep { ($before->{$_} // '') ne $after->{$_} } sort keys %$after;
}

# Waits for a new second, so that a time tells what was written.
sub tick { my $now = time; select undef, undef, undef, 0.05 while time == $now }

sub page { return slurp("$site/$_[0]") }

# --- from clean ---

{
    (my $made, my ($status, $out, $err)) = make_site();
    is("$status$err", '0', 'make docs: no complaint');
    $site = "$made/site";
    like($out, qr{\Abuild/site/index\.html: \d+ pages\n\z}, 'and one line');
}
my @sources = map { s{\Q$root/}{}r } "$root/README.md", "$root/CONTRIBUTING.md",
    bsd_glob("$root/docs/*.md"), bsd_glob("$root/lessons/*/README.md"),
    "$root/results/README.md";
cmp_ok(scalar @sources, '>=', 12, 'there are pages');
my $home = page('index.html');
for my $source (@sources) {
    my $file = $source =~ s/\.md\z/.html/r =~ s/README/index/r;
    ok(-s "$site/$file", "$source: a page");
    like($home, qr/<a[^>]* href="\Q$file\E"/, "$source: in the navigation");
    my $text = page($file);
    unlike($text, qr/<!-- |\.md"(?![^<]*>Edit)|\{\{|\$\w+\$/,
        "$source: nothing of its source is left over");
    like($text, qr{<a class="edit" href="[^"]*\Q$source\E">}, "$source: edit");
}
for my $csv (bsd_glob("$root/results/*.csv")) {
    my @rows = split /\n/, slurp($csv);
    my $ms = (split /,/, $rows[1])[6];
    like(page('results/index.html'), qr{<td[^>]*>\Q$ms\E</td>},
        "$csv: in a table");
    like(page('results/index.html'), qr{<title>[^<]*\Q$ms\E ms},
        "$csv: in a plot");
}
for my $csv (bsd_glob("$root/results/*/*.csv")) {
    my ($folder, $name) = $csv =~ m{results/([^/]+)/([^/]+)\z};
    my $text = page($folder eq 'sources' ? 'results/index.html'
        : "results/$folder/$name.html") =~ s/\xc2?\xa0/ /gr =~ s/<wbr>//gr;
    my ($last) = slurp($csv) =~ /.*,([^,\n]+)(?:,[^,\n]*){2,}\n\z/s;
    like($text, qr/\Q$name\E</,   "$csv: on its page");
    like($text, qr/>\Q$last\E</, "$csv: its last row, too");
}

# The least and the most of each group stand above the rows.
sub summary {
    my ($csv, $by, $main) = @_;
    my ($head, @rows) = map { [split /,/, $_, -1] } split /\n/, slurp($csv);
    my %at = map { $head->[$_] => $_ } 0 .. $#$head;
    my %of;
    push @{ $of{ $_->[$at{$by}] } }, $_->[$at{$main}] for @rows;
    return map { my @ms = sort { $a <=> $b } grep { $_ > 0 } @{ $of{$_} };
        [$_, scalar @{ $of{$_} }, $ms[0], $ms[-1]] } keys %of;
}
for (['lesson5', 'variant', 'min_ms'], ['peers', 'work', 'ratio'],
    ['experiments', 'question', 'ms']) {
    my ($name, $by, $main) = @$_;
    my $csv  = "results/nvidia_h200/$name.csv";
    my ($top) = page("$csv.html") =~ m{<strong>(\d+ rows.*?)</table>}s;
    my @rows = map { join '; ', (map { s/<[^>]*>//gr } m{<td[^>]*>(.*?)</td>}gs)
            [0, 1, 2, 4] } ($top // '') =~ m{<tr[^>]*>\s*(<td.*?)</tr>}gs;
    is(join("\n", sort @rows), join("\n", sort map { join '; ', @$_ }
        summary("$root/$csv", $by, $main)), "$csv: a summary above the rows");
    my $rows = slurp("$root/$csv") =~ tr/\n// - 1;
    like($top // '', qr/^$rows rows\..*\b$main\b/s,
        "$csv: how many rows, and of what");
}

# --- a small course, which is made anew often ---

$tree = "$tmp/50% \"of\" \$HOME #1, it's a l\xc3\xa0 carte";
$site = "$tree/build/site";
for (qw(Makefile common/backend.mk tools docs/site docs/plots results/nvidia_h200.csv)) {
    make_path(dirname("$tree/$_"));
    run('cp', '-R', "$root/$_", "$tree/$_");
}
spew("$tree/docs/site/order", slurp("$root/docs/site/order")
    =~ s{^(?:docs/(?!running|half_precision|glossary|\*)|CONTRIBUTING).*\n}{}mgr);
spew("$tree/README.md", "# A course\n\n[1](lessons/v0_half/README.md)\n");
spew("$tree/docs/$_.md", "# The $_\n\nSome text.\n")
    for qw(running half_precision glossary);
spew("$tree/docs/glossary.md", "# The glossary\n\nSome text.\n" . join '', map {
    "\n<div class=\"explorer\" data-explorer=\"$_\">\n\nIt.\n\n</div>\n" }
    qw(freeze slot freeze));
spew("$tree/lessons/v0_half/README.md",
    "# Lesson 1\r\n\r\n[The program](v0_half.cu)\r\n");
spew("$tree/lessons/v0_half/v0_half.cu", "int x;\n");
spew("$tree/results/README.md", "# Results\n\nThey are:\n");
{
    # Made by the awk that takes the least; the large one was by this machine's.
    my %path;
    with_awks(sub { $path{ $_[0] } = $_[1] });
    local $ENV{PATH} = $path{'original-awk'} // $ENV{PATH};
    my ($status, $out, $err) = docs();
    is("$status$err", '0', 'a small course: no complaint');
    is(join(' ', page('docs/glossary.html') =~ m{<script[^>]*/(\w+)\.js">}g),
        'fp16 freeze slot site search', 'three explorers: each script once');
    is(scalar(() = page('docs/glossary.html') =~ /<noscript>/g), 3,
        'and what each says without scripts');

    # Where awk fails in the midst of a page, there is no page without it.
    spew("$tmp/bad/awk", "#!/bin/sh\ncase \$* in *'title ='*) exit 3 ;; esac\n"
        . 'PATH=${PATH#*:}; exec awk "$@"' . "\n", 0755);
    $ENV{PATH} = "$tmp/bad:$ENV{PATH}";
    my $page = "$site/lessons/v0_half/v0_half.cu.html";
    unlink $page or die "$page: $!";
    ($status) = docs();
    ok($status && !-e $page, 'awk fails: not exit 0, and no such page');
}
docs();

# --- as one file ---

sub archive { return run({ dir => $tree, env => { EDIT => undef, @_ } },
    'make', 'site-archive') }

# What of the site is not in the archive, byte by byte, or is wrong with it.
sub unpacked {
    my ($zip, $to) = @_;
    my ($status, $out, $err) = run('python3', '-m', 'zipfile', '-t', $zip);
    return "$out$err" if $status || $out ne "Done testing\n" || $err ne '';
    ($status, $out, $err) = run('python3', '-m', 'zipfile', '-e', $zip, $to);
    return $err if $status;
    return (run('diff', '-r', $site, "$to/half-atomics-site"))[1];
}
SKIP: {
    skip 'there is no python3 here', 8 if !$ci && !which('python3');
    my $zip = "$tree/build/half-atomics-site.zip";
    spew("$site/docs/old.html", 'of a page that is no more');
    my ($status, $out, $err) = archive();
    is("$status$err", '0', 'make site-archive: no complaint');
    like($out, qr{^build/half-atomics-site\.zip: unpack it anywhere, and open half-atomics-site/index\.html$}m,
        'and a line that says what to do with it');
    is(unpacked($zip, "$tmp/unpacked"), '', 'unpacked: all of the site');
    like(slurp("$tmp/unpacked/half-atomics-site/index.html"),
        qr/<h1[^>]*>A course/, 'its first page');
    ok(!-e "$tmp/unpacked/half-atomics-site/docs/old.html", 'nothing old');
    spew("$tmp/bad.zip", slurp($zip) =~
        s{(/index\.html.{500})(.)}{$1 . ($2 ^ "\1")}ser);
    isnt(unpacked("$tmp/bad.zip", "$tmp/bad_zip"), '', 'a wrong byte is found');
    ($status, $out, $err) = archive(PATH => path_without('pandoc'));
    my ($line) = grep { !/^make: / } split /\n/, $err;
    is("$status $line", '2 make site-archive: pandoc is missing: ./setup',
        'without pandoc: a line that says so');
    ok(-s $zip && -s "$site/index.html", 'and what was there stays');
}

# --- what has changed ---

tick();
my $before = written();
my @files = grep { -f && !m{^\Q$tree\E/build/} }
    map { bsd_glob("$tree/$_") } '*', '*/*', '*/*/*', '*/*/*/*';
chmod 0444, @files;
docs();
is(changed($before, written()), '', 'nothing is made twice');
for my $copy (qw(style.css docs/glossary.md)) {
    my $inode = (stat "$site/$copy")[1];
    my $now = time + 1;
    utime $now, $now, "$tree/docs/glossary.md";
    is((docs())[0], 0, 'sources that are read-only: made again');
    isnt((stat "$site/$copy")[1], $inode, "$copy: renamed, not written to");
}
chmod 0644, @files;

spew("$tree/docs/glossary.md", slurp("$tree/docs/glossary.md") . "\nA word.\n");
docs();
is(changed($before, written()), 'docs/glossary.html',
    'a changed page is made anew, and no other');
like(page('docs/glossary.html'), qr/A word\./, 'with the change');
like(page('search.en.js'), qr/A word\./, 'the search knows it');

tick();
$before = written();
spew("$tree/lessons/v0_half/v0_half.cu",
    slurp("$tree/lessons/v0_half/v0_half.cu") . "/* more */\n");
spew("$tree/results/my_gpu.csv", slurp("$tree/results/nvidia_h200.csv")
    =~ s/NVIDIA H200/My GPU/gr =~ s/,195\.497,/,12.3456,/r);
docs();
like(page('lessons/v0_half/v0_half.cu.html'), qr{/\* more \*/},
    'a changed program is shown');
like(page('results/index.html'), qr/My GPU.*12\.3456/s,
    'a new result is there');

spew("$tree/lessons/v99_new/README.md", "# Lesson 99: new\n\nIt is *new*.\n");
spew("$tree/docs/a_new_page.md", "# A new page\n\n[a](../lessons/v99_new/README.md)\n");
docs();
like(page('lessons/v99_new/index.html'), qr/<em>new<\/em>/, 'a new lesson');
like(page('index.html'), qr{<a href="lessons/v99_new/index\.html">Lesson 99: new},
    'it is in the navigation');
like(page('docs/a_new_page.html'), qr{<a href="\.\./lessons/v99_new/index\.html">a},
    'a new page, with its links');
unlink "$tree/docs/a_new_page.md";
docs();
ok(!-e "$site/docs/a_new_page.html", 'a page that is gone leaves no trace');
unlike(page('index.html'), qr/a_new_page/, 'nor in the navigation');

# --- a second language ---

spew("$tree/docs/site/strings.zh.yaml", slurp("$tree/docs/site/strings.en.yaml")
    =~ s/^language: .*$/language: "\xe4\xb8\xad\xe6\x96\x87"/mr
    =~ s/^next: .*$/next: "\xe4\xb8\x8b"/mr);
spew("$tree/docs/running.zh.md", "# \xe8\xbf\x90\xe8\xa1\x8c\n\n"
    . "[1](../lessons/v0_half/README.md) [2](half_precision.md)\n");
spew("$tree/docs/half_precision.zh.md", "# \xe5\x8d\x8a\n\n\xe5\x8d\x8a\n");
{
    my ($status, undef, $err) = docs();
    is("$status$err", '0', 'a second language: no complaint');
    my $text = page('docs/running.zh.html');
    like($text, qr/<html lang="zh"/, 'its pages say so');
    like($text, qr{<a href="\.\./docs/half_precision\.zh\.html">2</a>},
        'a link leads to the translation');
    like($text, qr{<a href="\.\./lessons/v0_half/index\.html">1</a>},
        'or to the original where there is none');
    like($text, qr{<li><a aria-current="page" href="\.\./docs/running\.zh\.html">},
        'the navigation is in that language');
    like($text, qr{hreflang="en">Home<|<a href="\.\./index\.html" hreflang="en">},
        'and says where it leaves it');
    like($text, qr{<nav class="languages"[^>]*><a href="\.\./docs/running\.html" lang="en"},
        'back to the original');
    like(page('docs/running.html'), qr{<nav class="languages"[^>]*><a href="\.\./docs/running\.zh\.html" lang="zh" hreflang="zh">\xe4\xb8\xad\xe6\x96\x87},
        'the original leads to it');
    unlike(page('docs/glossary.html'), qr/class="languages"/,
        'a page without a translation offers none');
    like(page('search.zh.js'), qr/\xe5\x8d\x8a/, 'it has a search of its own');
    unlike(page('search.en.js'), qr/\xe5\x8d\x8a/, 'and the other does not');
}
unlink "$tree/docs/$_" for qw(site/strings.zh.yaml running.zh.md
    half_precision.zh.md);

# --- where a page is edited ---

sub edit_is {
    my ($wanted, $what) = @_;
    my ($status, $out, $err) = docs();
    my ($is) = page('docs/running.html') =~ /<a class="edit" href="([^"]*)"/;
    is("$status$err$is", "0$wanted", $what);
}
docs("EDIT=https://example.org/50%25/it's/%s");
like(page('docs/running.html'),
    qr{<a class="edit" href="https://example\.org/50%25/it's/docs/running\.md">},
    'EDIT says where a page is edited');
for my $edit ('vi', 'https://example.org/edit', 'https://example.org/a b/%s',
    'https://u:SECRET@example.org/%s') {
    my ($status, $out, $err) = docs("EDIT=$edit");
    isnt($status, 0, "EDIT=$edit: refused");
    one_line($err, qr/^make docs: EDIT must be an address with %s/,
        "EDIT=$edit: says so");
}
{
    my @git = ('git', '-C', $tree);
    my $here = '../docs/running.md';
    my $remote = sub { run(@git, 'config', 'remote.origin.url', @_) };
    run('git', '-C', $tmp, 'init', '-q');
    run('git', '-C', $tmp, 'config', 'remote.origin.url', 'https://a.org/b');
    edit_is($here, 'an archive in another repository: its source');
    run(@git, 'init', '-q');
    run(@git, 'symbolic-ref', 'HEAD', 'refs/heads/100%s#1');
    run(@git, 'add', '-A');
    my $there = 'https://example.org/us/c%25s/edit/100%25s%231/docs/running.md';
    for (
        ['https://u:SECRET@example.org/us/c%25s.git',    $there],
        ['https://u:p@SECRET@example.org/us/c%25s?x=SECRET', $there],
        ['ssh://u:SECRET@example.org:22/us/c%25s/',      $there],
        ['git@example.org:us/c%25s.git',                 $there],
        ['https://u:1/SECRET@example.org/us/c',          $here],
        ['https://u:SE/CRET@example.org/us/c',           $here],
        ['https://example.org/us/"c"',                   $here],
        ['/srv/example.org:c',                           $here],
    ) {
        $remote->($_->[0]);
        edit_is($_->[1], "the git remote $_->[0]");
    }
    my ($status, $out) = run('grep', '-rl', 'SECRET', "$tree/build");
    is("$status$out", '1', 'no password is published');
    $remote->('https://example.org:1234/c');
    run(@git, 'symbolic-ref', 'refs/remotes/origin/HEAD',
        'refs/remotes/origin/trunk');
    edit_is('https://example.org:1234/c/edit/trunk/docs/running.md',
        "the remote's branch");
    local $ENV{GIT_TEST_ASSUME_DIFFERENT_OWNER} = 1;
    ($status, $out, my $err) = docs();
    like("$status$err", qr/^0make docs: .*git says:\n.*dubious ownership/,
        "another user's tree: git says why");
}

# --- what git writes where core.autocrlf is set ---

for my $text ('', slurp("$root/.gitattributes")) {
    spew("$tree/.gitattributes", $text);
    my @git = ('git', '-C', $tree, '-c', 'core.autocrlf=true');
    unlink "$tree/tools/site.sh";
    run(@git, 'checkout', '--', 'tools/site.sh');
    is(slurp("$tree/tools/site.sh") =~ /\r/ ? 'CR' : '', $text ? '' : 'CR',
        $text ? '.gitattributes: a script keeps its lines' : 'without it, CR LF');
}

# --- mistakes ---

sub refuses {
    my ($what, $pattern, $file, $text) = @_;
    my $old = -e "$tree/$file" ? slurp("$tree/$file") : undef;
    my $was = page('docs/running.html');
    spew("$tree/$file", $text);
    my ($status, $out, $err) = docs();
    isnt($status, 0, "$what: fails");
    like($err, $pattern, "$what: says so");
    is(-e "$site/docs/running.html" ? page('docs/running.html') : $was, $was,
        "$what: the page that was there stays");
    defined $old ? spew("$tree/$file", $old) : unlink "$tree/$file";
    ($status) = docs();
    is($status, 0, "$what: mended, it passes");
}
my $running = slurp("$tree/docs/running.md");
refuses('a link to nothing',
    qr{^docs/running\.md: nowhere\.md: there is no such file$}m,
    'docs/running.md', "$running\n[x](nowhere.md)\n");
refuses('a link out of the course',
    qr{^docs/running\.md: \.\./\.\./x: outside of the course$}m,
    'docs/running.md', "$running\n[x](../../x)\n");
refuses('a heading that skips a level',
    qr{^docs/running\.md: More: its heading skips a level$}m,
    'docs/running.md', "$running\n### More\n");
refuses('an image that is not there',
    qr{^docs/running\.md: x\.svg: there is no such image$}m,
    'docs/running.md', "$running\n![x](x.svg)\n");
refuses('an explorer that is not there',
    qr{^docs/running\.md: there is no explorer storms$}m, 'docs/running.md',
    "$running\n<div class=\"explorer\" data-explorer=\"storms\">\n\n</div>\n");
refuses('an image without a text',
    qr{^docs/running\.md: plots/storm_k\.svg: it has no text$}m,
    'docs/running.md', "$running\n![](plots/storm_k.svg)\n");
refuses('a page without a title',
    qr{^make docs: docs/untitled\.md: it has no title}m,
    'docs/untitled.md', "No title.\n");
refuses('an order that names nothing',
    qr{^make docs: docs/site/order: there is no docs/nothing\.md$}m,
    'docs/site/order', slurp("$tree/docs/site/order") . "docs/nothing.md\n");
refuses('a result with a field too many',
    qr{^results/bad\.csv:2: 3 fields where 2 are due;}m,
    'results/bad.csv', "gpu,ms\na,1,2\n");

{
    rename "$tree/build", "$tree/build.away" or die;
    spew("$tree/build", "Nothing can be written below a file, as root neither.\n");
    my ($status, $out, $err) = docs();
    is($status, 2, 'where nothing can be written: status 2');
    one_line($err, qr{^make docs: .* or its build/ cannot be written: copy },
        'and why');
    unlink "$tree/build";
    rename "$tree/build.away", "$tree/build" or die;
}
{
    my $path = path_without('pandoc');
    my ($status, $out, $err) = run({ dir => $tree, env => { PATH => $path } },
        'make', 'docs');
    is($status, 2, 'without pandoc: status 2');
    like($err, qr/^make docs: pandoc is missing: \.\/setup$/m, 'and why');
}
{
    mkdir "$tmp/old";
    spew("$tmp/old/pandoc", "#!/bin/sh\necho pandoc 2.9.2.1\n", 0755);
    my ($status, $out, $err) = run({ dir => $tree,
        env => { PATH => "$tmp/old:$ENV{PATH}" } }, 'make', 'docs');
    is($status, 2, 'with an old pandoc: status 2');
    like($err, qr/^make docs: pandoc 2\.9\.2\.1 is too old: 2\.17 or later$/m, 'and why');
}
{
    my ($status, $out, $err) = run({ dir => $tree,
        env => { PATH => path_without('python3') } }, 'make', 'serve');
    is($status, 2, 'make serve without python3: status 2');
    like($err, qr/^python3 is missing: open build\/site\/index\.html$/m,
        'and what to do');
}
{
    my $other = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')
        or die "no socket: $!";
    my $port = $other->sockport;
    my ($status, $out, $err) = run({ dir => $tree }, 'make', 'serve',
        "PORT=$port");
    is($status, 2, 'make serve on a port that is taken: status 2');
    like($err, qr/^make serve: port $port cannot be had; try make serve PORT=\d+$/m,
        'and what to do');
    unlike("$out$err", qr/Traceback|http:/, 'and nothing else');
}

done_testing();
