#!/usr/bin/env perl
# The Makefile and what it includes: what it lists, builds, rebuilds, refuses and
# removes. All in copies of the tree.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Find qw(find);
use File::Spec;
use Test::More;

my $tree = copy_tree('course');
my $nvcc = find_nvcc();
# The defaults are under test, but the C compiler and its flags are the user's.
delete @ENV{qw(BACKEND ARCH NVCC NVCCFLAGS CUDA_HOME)};
$ENV{NVCC} = $nvcc if $nvcc && !which('nvcc');
my @names = map { basename($_) } sort glob "$tree/lessons/v*_*";

sub in_tree {
    my ($options, @arguments) = @_;
    return run({ dir => $tree, %$options }, $make, @arguments);
}

# Builds, or the reason why it did not.
sub builds {
    my ($name, $options, @arguments) = @_;
    my ($status, $out, $err) = in_tree($options, @arguments);
    is($status, 0, "$name: exit 0") or diag("$out$err");
    return $out;
}

# Not built: one line on stderr that matches, and a non-zero exit.
sub refused {
    my ($pattern, $options, @arguments) = @_;
    my ($status, $out, $err) = in_tree($options, @arguments);
    my $name = "make @arguments";
    isnt($status, 0, "$name: fails");
    one_line($err, $pattern, "$name: one line says why");
    return $out;
}

# Every file below $dir as "path mtime".
sub snapshot {
    my ($dir) = @_;
    my @all;
    find({
        no_chdir => 1,
        wanted   => sub { push @all, "$_ " . ((lstat)[9]) if !-d || -l; },
    }, $dir);
    return join "\n", sort @all;
}

# Sets the time of every file back by ten seconds, so that what is touched or
# built after this is younger in whole seconds too.
sub age {
    find({
        no_chdir => 1,
        wanted => sub { utime time - 10, (stat)[9] - 10, $_ if -f && !-l },
    }, $tree);
}

my $pristine = snapshot($tree);

# --- help ---

my $main = slurp("$root/Makefile");
my $makefile = join '', $main, map { slurp("$root/$_") }
    files_of(qr/\.mk\z/, qw(common tools));
{
    my ($status, $plain, $err) = in_tree({});
    is("$status$err", '0', 'plain make: exit 0');
    my $help = builds('make help', {}, 'help');
    is($help, $plain, 'plain make prints the help');
    (my $joined = $makefile) =~ s/\\\n/ /g;
    my ($directories) = $joined =~ /^([\w ]+):\n\t\@echo .*is a directory/m;
    my %internal = map { $_ => 1 } qw(help backend known-arch runtime
        writable),
        split ' ', $directories // '';
    my @phony = map { split ' ' } $joined =~ /^\.PHONY:(.*)/mg;
    s/\$\(LESSONS\)/lessonK/, s/\$\((?:NUMBERS|TASKS):%=(\w+)%\)/${1}K/
        for @phony;
    @phony = grep { !$internal{$_} } @phony;
    cmp_ok(scalar @phony, '>=', 10, 'the phony targets are found');
    like($help, qr/^\Q$_\E +\w/m, "the help lists $_") for @phony;
    my ($learner, $maintainer) = $help =~
        /\ATo learn:\n(.*?)\n\nTo work on the course:\n(.*?)\n\n/s;
    like($learner // '', qr/^$_ /m, "a learner's: $_") for qw(lessonK all clean
        ptxK exerciseK progress docs);
    like($maintainer // '', qr/^$_ /m, "a maintainer's: $_") for qw(test bench
        peers listings quote plots);
    my $number = 0;
    $number++, like($help, qr/^lessons .* $number $_ /m, "the help lists $_")
        for @names;
    like($help, qr/^here +BACKEND=(cpu|cuda) \(.+\)$/m,
        'the help says which backend and why');
    is(snapshot($tree), $pristine, 'help builds nothing');
}

# --- the Makefile's text ---

{
    cmp_ok(scalar split(/\n/, $main), '<=', 150, 'the Makefile is short');
    like($main, qr/^\$\(LESSONS\): /m, 'the rule for lessons stands in it');
    my @newer = grep { !/^\s*#/ && m{
        != (?!=) | ::= | \.ONESHELL | \.RECIPEPREFIX | \.EXTRA_PREREQS | &:
        | \$\((?:file|guile|let|intcmp)\b | ^\s*(?:undefine|private|load)\b
        | --output-sync }x && !/\[.*!=/ } split /\n/, $makefile;
    is("@newer", '', 'nothing that GNU make 3.81 does not know');
    my @ignored = grep { /^\t@?-/ } split /\n/, $makefile;
    is("@ignored", '', 'no recipe ignores errors');
    like($makefile, qr/^\.DELETE_ON_ERROR:/m, '.DELETE_ON_ERROR');
}

# --- the CPU build ---

my $cpu = builds('make BACKEND=cpu lesson1', {}, 'BACKEND=cpu', 'lesson1');
like($cpu, qr/^BACKEND=cpu \(as asked\)$/m, 'the build names the backend');
is(() = $cpu =~ /^BACKEND=/mg, 1, 'it names it once');
ok(-x "$tree/lesson1", './lesson1 is there');
like(readlink "$tree/lesson1", qr{^build/cpu-\d+/$names[0]\z},
    './lesson1 is in the build directory');
ok(!-e "$tree/lesson2", './lesson2 is not there yet');
my @rest = map { "lesson$_" } 2 .. @names;
builds("make BACKEND=cpu @rest", {}, 'BACKEND=cpu', @rest) if @rest;
for my $number (1 .. @names) {
    my ($status, $out) = run({ dir => $tree }, "./lesson$number", '--help');
    my $name = $names[$number - 1];
    is($status, 0, "./lesson$number runs");
    like($out, qr/^lesson $number  $name: /, "./lesson$number is $name");
}

# Builds again, and says whether lesson 1 was compiled.
sub compiles {
    my ($name, $yes, @arguments) = @_;
    my $before = readlink("$tree/lesson1") . snapshot("$tree/build");
    my $out = builds($name, {}, 'lesson1', @arguments);
    my $after = readlink("$tree/lesson1") . snapshot("$tree/build");
    is($after eq $before ? 0 : 1, $yes, "$name: " . ($yes ? 'new' : 'as it was'));
    is($out =~ /v0_half\.cu/ ? 1 : 0, $yes,
        "$name: " . ($yes ? 'compiles' : 'compiles nothing'));
}

compiles('an unchanged tree', 0, 'BACKEND=cpu');
age();
compiles('an aged tree', 0, 'BACKEND=cpu');
for my $file (qw(common/options.h common/timing.h common/fp16.h
    common/cpu/cuda_runtime.h common/cpu/launch.awk common/cpu/pool.c
    lessons/v0_half/v0_half.cu)) {
    age();
    utime undef, undef, "$tree/$file";
    compiles("$file touched", 1, 'BACKEND=cpu');
}
age();
utime undef, undef, "$tree/lessons/v1_pack2/v1_pack2.cu";
compiles("another lesson's source touched", 0, 'BACKEND=cpu');

compiles('CFLAGS=-O1', 1, 'BACKEND=cpu', 'CFLAGS=-O1');
compiles('CFLAGS=-O1 again', 0, 'BACKEND=cpu', 'CFLAGS=-O1');
compiles('CFLAGS with quotes', 1, 'BACKEND=cpu',
    q{CFLAGS=-O1 -DA="'x'" -DB='"y z"'});
{
    local $ENV{CFLAGS} = '-O1 -DFROM_ENVIRONMENT';
    compiles('CFLAGS from the environment', 1, 'BACKEND=cpu');
}
{
    my $cc = $ENV{CC} // 'cc';
    spew("$tree/my cc", "#!/bin/sh\nexec $cc \"\$@\"\n", 0755);
    compiles('another CC', 1, 'BACKEND=cpu', "CC='./my cc'");
    unlink "$tree/my cc";
}

# --- what it refuses ---

my $count = @names;
refused(qr/lesson$_.*there is no lesson $_; .* are 1 to $count$/, {},
    "lesson$_") for 0, 99, 'x';
for my $kind (qw(ptx sass profile)) {
    refused(qr/$kind$_.*no such lesson; .* are 1 to $count$/, {}, "$kind$_")
        for 0, 99;
}
refused(qr/BACKEND=$_: choose auto, cuda or cpu/, {}, "BACKEND=$_", 'lesson1')
    for 'gpu', 'CPU', 'cpu2';
my @directories = grep { -d "$tree/$_" && $_ ne 'docs' }
    map { basename($_) } glob "$tree/*";
cmp_ok(scalar @directories, '>=', 5, 'there are directories');
refused(qr/make $_: that is a directory/, {}, $_) for @directories;

my $need = qr/nvcc was not found; install .*NVCC.*BACKEND=cpu/;
refused($need, {}, 'BACKEND=cuda', 'NVCC=', 'lesson1');
SKIP: {
    skip 'nvcc is where no option hides it', 2
        if -x '/usr/local/cuda/bin/nvcc';
    refused($need, { env => { PATH => path_without('nvcc'), NVCC => undef } },
        'BACKEND=cuda', 'lesson1');
}
{
    my $out = builds('auto without nvcc', {}, 'NVCC=', 'help');
    like($out, qr/^here +BACKEND=cpu \(there is no nvcc here\)/m,
        'auto without nvcc is the CPU');
}
for my $arguments (['ptx1', 'NVCC='], ['sass1', 'NVCC='],
    ['ptx1', 'NVCC=', 'ARCH=sm_75'], ['ptx1', 'NVCC=', 'BACKEND=cpu']) {
    refused(qr/needs nvcc: install the CUDA Toolkit, or set NVCC/, {},
        @$arguments);
}

refused(qr/^make $_: say which one, as in make ${_}1$/m, {}, $_)
    for qw(lesson ptx sass profile);

# Where there is no GPU to measure, nothing is built or written.
for my $case (
    ['profile1', qr/^profile needs an NVIDIA GPU/],
    (map { [$_, qr/^$_: needs an NVIDIA GPU$/] } qw(peers experiments
        corrections)),
    ['bench',    qr/^bench measures a GPU.*make bench-cpu/],
) {
    my ($target, $pattern) = @$case;
    builds('make clean', {}, 'clean');
    my $before = snapshot($tree);
    my $out = refused($pattern, {}, 'BACKEND=cpu', $target);
    is($out, '', "make BACKEND=cpu $target: nothing on stdout");
    is(snapshot($tree), $before, "make BACKEND=cpu $target: writes nothing");
}

# Nothing can be written below a file, as root neither.
spew("$tree/build", "mine\n");
refused(qr{^\Q$tree\E or its build/ cannot be written: copy the course elsewhere$},
    {}, 'BACKEND=cpu', $_) for qw(lesson1 conformance exercise1 race1);
unlink "$tree/build";

# --- a launch that cannot be read, a source that does not compile ---

{
    my $source = "$tree/lessons/v0_half/v0_half.cu";
    my $good = slurp($source);
    edit($source, '<<<blocks, BLOCK_THREADS>>>(d_a, d_b, d_c, n)', '<<<blocks>>>(n)');
    for my $time ('once', 'twice') {
        my ($status, $out, $err) = in_tree({}, 'BACKEND=cpu', 'lesson1');
        isnt($status, 0, "a bad launch, $time: fails");
        like($err, qr{^lessons/v0_half/v0_half\.cu:\d+: error: launch of}m,
            "a bad launch, $time: file and line");
    }
    spew($source, $good);
    edit($source, '__hmul_rn(a[i], b[i])', '__hmul_xx(a[i], b[i])');
    my ($status, $out, $err) = in_tree({}, 'BACKEND=cpu', 'lesson1');
    isnt($status, 0, 'a missing function: fails');
    my $line = 1 + (() = (split /__hmul_rn/, $good)[0] =~ /\n/g);
    like($err, qr{^lessons/v0_half/v0_half\.cu:$line:.*__hmul_xx}m,
        "a missing function: the source's own line");
    spew($source, $good);
}

# --- other places ---

builds('make -j4 all', {}, '-j4', 'BACKEND=cpu', 'all');
ok(-x "$tree/lesson$_", "-j4: ./lesson$_ is there") for 1 .. @names;
unlink "$tree/lesson1";
builds('make -C from /', { dir => '/' }, '-C', $tree, 'BACKEND=cpu', 'lesson1');
ok(-x "$tree/lesson1", '-C: ./lesson1 is there');

my $spaced = copy_tree(qq{with space, 50% "of" \$HOME #1: it's l\xc3\xa0});
{
    my ($status, $out, $err) = run({ dir => $spaced }, $make, 'BACKEND=cpu',
        'lesson1');
    is($status, 0, 'a path with a space: lesson 1 builds') or diag($err);
    ($status, $out) = run({ dir => $spaced }, './lesson1', '--n', 1000,
        '--runs', 1);
    is($status, 0, 'a path with a space: lesson 1 runs');
    like($out, qr/^result .*: ok$/m, 'a path with a space: its sum');
    my $before = snapshot("$spaced/build");
    ($status, $out, $err) = run({ dir => '/' }, $make, '-C', $spaced,
        'BACKEND=cpu', 'lesson1');
    is("$status$err", '0', 'a path with a space: -C');
    is(snapshot("$spaced/build"), $before, 'a path with a space: built once');
    is(join('', run({ dir => $spaced }, $make, $_)), '0',
        "a path with a space: make $_ changes nothing") for qw(quote plots);
}

# --- clean ---

{
    # pristine is by path and time, and the times were set back.
    my $names = sub { join "\n", map { /^(.*) / } split /\n/, $_[0] };
    spew("$tree/lessons/v0_half/notes.txt", "mine\n");
    spew("$tree/builds.txt", "mine\n");
    builds('make clean', {}, 'clean');
    ok(unlink("$tree/lessons/v0_half/notes.txt", "$tree/builds.txt") == 2,
        'clean leaves what it did not build');
    is($names->(snapshot($tree)), $names->($pristine),
        'clean leaves the tree as it was');
    builds('make clean twice', {}, 'clean');
}

# --- nvcc ---

SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my @arch = has_gpu() ? () : ('ARCH=sm_90');

    # The program asked for last is the one in ./lesson1.
    my $is_cpu = sub {
        my ($status, $out) = run({ dir => $tree }, './lesson1', '--n', 1);
        return $out =~ /^device +CPU emulation/m ? 1 : 0;
    };
    builds('make BACKEND=cpu lesson1', {}, 'BACKEND=cpu', 'lesson1');
    is($is_cpu->(), 1, 'BACKEND=cpu: the CPU program');
    my $out = builds('make BACKEND=cuda lesson1', {}, 'BACKEND=cuda', @arch,
        'lesson1');
    like($out, qr/^BACKEND=cuda \(as asked\)$/m, 'the build names the backend');
    is($is_cpu->(), 0, 'then BACKEND=cuda: the CUDA program');
    compiles('CUDA, unchanged', 0, 'BACKEND=cuda', @arch);
    compiles('NVCCFLAGS=-O1', 1, 'BACKEND=cuda', @arch, 'NVCCFLAGS=-O1');
    builds('make BACKEND=cpu lesson1', {}, 'BACKEND=cpu', 'lesson1');
    is($is_cpu->(), 1, 'and back: the CPU program');
    age();
    utime undef, undef, "$tree/common/fp16.h";
    compiles('CUDA, common/fp16.h touched', 1, 'BACKEND=cuda', @arch);

    $out = refused(qr/^ARCH=$_: this toolkit knows .*\bsm_90\b/, {},
        'BACKEND=cuda', "ARCH=$_", 'lesson1') for 'sm_12', 'hopper', '90';
    refused(qr/^ARCH=sm_12: this toolkit knows .*\bsm_90\b/, {}, 'ptx1',
        'ARCH=sm_12');
    refused(qr/^profile needs ncu \(Nsight Compute\)/, { env => {
        PATH => path_without('ncu'), NVCC => $nvcc } },
        'BACKEND=cuda', @arch, 'profile1');
    refused(qr/^profile counts one launch of lessons 1 to 3/, {},
        'BACKEND=cuda', @arch, 'profile4');
    {
        my ($status, $ptx, $err) = run({ dir => $spaced }, $make, 'ptx1');
        is($status, 0, 'ptx1 in a path with a space') or diag($err);
    }

    # What is shown of the lessons' inside.
    my $hidden = path_without(qw(nvdisasm cuobjdump));
    spew("$tmp/nvcc/nvcc", "#!/bin/sh\nexec '" . abs_path($nvcc)
        . "' \"\$@\"\n", 0755);
    refused(qr/^sass needs nvdisasm or cuobjdump: .*\.\/setup --test/,
        { env => { PATH => $hidden } }, 'sass1', "NVCC=$tmp/nvcc/nvcc");

    my $disassembler = find_disassembler('nvdisasm')
        // find_disassembler('cuobjdump');
    my %env = (PATH => join ':', map { abs_path($_) }
        File::Spec->path, $disassembler ? dirname($disassembler) : ());
    my @shown = map { my $arch = $_; map { ["ptx$_", $arch] } 1 .. 3 }
        'sm_75', 'sm_90';
    push @shown, map { my $arch = $_; map { ["sass$_", $arch] } 1 .. 3 }
        'sm_75', 'sm_90' if $disassembler;
    # The atomics of the kernel dot_…, without those on shared memory.
    my @ptx = (undef, 'atom.add.noftz.f16', 'atom.add.noftz.f16x2',
        'atom.add.noftz.f16 atom.add.noftz.f16x2');
    my ($cas, $add2) = qw(ATOM.E.CAS.STRONG.GPU ATOM.E.ADD.F16x2.RN.STRONG.GPU);
    my @sass = (undef, $cas, $add2, "$add2 $cas");
    my @results = run_jobs(map { [{ dir => $tree, env => \%env }, $make,
        $_->[0], "ARCH=$_->[1]"] } @shown);
    for my $i (0 .. $#shown) {
        my ($target, $arch) = @{ $shown[$i] };
        my ($status, $out, $err) = @{ $results[$i] };
        my $name = "make $target ARCH=$arch";
        is("$status$err", '0', "$name: exit 0, nothing on stderr");
        my ($kind, $number) = $target =~ /(\D+)(\d)/;
        my $lesson = $names[$number - 1];
        like($out, qr{\A$kind for $arch, from lessons/$lesson/},
            "$name: says what it shows");
        my ($dot) = $out =~ /^(dot_\w+\n.*?)(?:\n\n|\z)/ms;
        my @atomics = ($dot // '') =~ /^> +(?:\{ *)?(\S+)/mg;
        is("@{[sort grep { !/^ATOMS/ } @atomics]}", $kind eq 'ptx'
            ? $ptx[$number] : $sass[$number], "$name: the atomics")
            or diag($out);
        next if $target ne 'sass1';
        like($dot, qr{
            ^\s+LD\.\S.*\n (?:.*\n)*?
            \s+(\.L_x_\d+):\n
            \s+HADD2\ .*\n
            (?:.*\n)*? \s+PRMT\ .*\n
            (?:.*\n)*? >\s+ATOM\.E\.CAS\S*\ .*\n
            (?:.*\n)*? \s+@!?U?P\d\ BRA\ `\(\1\)$
        }mx, "$name: load, add, merge, compare and swap, and back")
            or diag($out);
    }
  SKIP: {
        skip_or_fail('there is no nvdisasm or cuobjdump here, so no sassK')
            if !$disassembler;
        pass('sassK was shown');
    }
}

done_testing();
