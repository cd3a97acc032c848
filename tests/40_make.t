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
delete @ENV{qw(BACKEND ARCH NVCC NVCCFLAGS CUDA_HOME CUDA_PATH CPPFLAGS
    LDFLAGS)};
$ENV{NVCC} = $nvcc if $nvcc && !which('nvcc');
$ENV{CFLAGS} //= '-O0';    # nothing here has to be fast
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
    my ($directories) = $joined =~ /^FOLDERS := (.*)/m;
    my %internal = map { $_ => 1 } qw(help backend writable known-arch known-cc
        runtime docs/ always),
        split ' ', $directories // '';
    my @phony = map { split ' ' } $joined =~ /^\.PHONY:(.*)/mg;
    s/\$\(LESSONS\)/lessonK/, s/\$\((?:NUMBERS|TASKS):%=(\w+)%\)/${1}K/
        for @phony;
    @phony = grep { !$internal{$_} && !/\$/ } @phony;
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
{
    # CPPFLAGS for what is compiled, LDFLAGS for what is linked, in the key.
    my @flags = ('CPPFLAGS=-DSEEN', 'LDFLAGS=-Wl,-O1');
    my $out = builds('CPPFLAGS and LDFLAGS', {}, '-n', 'BACKEND=cpu', @flags,
        'lesson1');
    my @c = grep { / -o / } split /\n/, $out;
    is(scalar(grep { /-DSEEN/ } @c), scalar @c, 'CPPFLAGS in all of them');
    is(scalar(grep { /-Wl,-O1/ } @c), 1, 'LDFLAGS in one');
    my %key = map { /(build\S*)/; $1 => 1 } $out, map { builds("with $_", {},
        '-n', 'BACKEND=cpu', $_, 'lesson1') } @flags;
    is(scalar keys %key, 3, 'each has a directory of its own');
}
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

{
    local $ENV{ARCH} = 'x86_64';
    builds('ARCH of another tool, BACKEND with a space', {}, 'BACKEND= cpu ',
        'lesson1');
}
compiles('BACKEND=', 0, 'BACKEND=') if !$nvcc || !has_gpu();
for my $target ('lesson01', 'race04') {
    my $out = builds("make $target", {}, 'BACKEND=cpu', $target);
    like($out, qr/^lesson 1 is in \.\/lesson1$|^race4: /m, $target);
}
# Of all that make reads, nothing is taken for a target: lesson%, race%, …
like(builds('make -B', {}, '-n', '-B', 'BACKEND=cpu', 'lesson1'),
    qr/v0_half\.cu/, 'make -B compiles');

# --- a program of one's own: that of the page ---

{
    spew("$tree/$_.cu", slurp("$root/docs/first.cu")) for 'my', 'test';
    my $out = builds('make my.cu', {}, 'BACKEND=cpu', 'my.cu');
    like($out, qr/\ABACKEND=cpu \(as asked\)\ncc my\.cu\n\z/, 'says so')
        if !$ENV{CC};
    is(join('', run({ dir => $tree }, './my')), "0256 adds\n", './my runs');
    unlike(builds('make my', {}, 'BACKEND=cpu', 'my'), qr/my\.cu/, 'it is new');
    builds('make test.cu', {}, 'BACKEND=cpu', 'test.cu');
    is(join('', run({ dir => $tree }, './test')), "0256 adds\n",
        'it may have the name of a target');
    edit("$tree/my.cu", 'atomicAdd', 'atomicAd');
    my (undef, undef, $err) = in_tree({}, 'BACKEND=cpu', 'my');
    like($err, qr/^my\.cu:9:.*atomicAd/m, 'an error names its line');
    builds('make clean', {}, 'clean');
    is(join(' ', grep { -e "$tree/$_" || -l "$tree/$_" } qw(my my.cu test
        test.cu lesson1)), 'my.cu test.cu', 'clean leaves the sources, and no program');
    unlink map { "$tree/$_.cu" } 'my', 'test';
    builds('make BACKEND=cpu lesson1', {}, 'BACKEND=cpu', 'lesson1');
}

# --- what it refuses ---

my $count = @names;
refused(qr/lesson$_.*there is no lesson $_; .* are 1 to $count$/, {},
    "lesson$_") for 0, 99, 'x';
for my $kind (qw(ptx sass profile)) {
    refused(qr/$kind$_.*no such lesson; .* are 1 to $count$/, {}, "$kind$_")
        for 0, 99;
}
refused(qr/BACKEND=$_: choose auto, cuda, cpu or musa/, {}, "BACKEND=$_", 'lesson1')
    for 'gpu', 'CPU', 'cpu2';
my @directories = grep { -d "$tree/$_" && $_ ne 'docs' }
    map { basename($_) } glob "$tree/*";
cmp_ok(scalar @directories, '>=', 5, 'there are directories');
refused(qr/make $_: that is a directory/, {}, $_)
    for (map { ($_, "$_/") } @directories), "lessons/$names[0]/";
like((in_tree({}, '-n', 'docs/'))[1], qr/site\.sh/, 'docs/ is docs');
refused(qr/^make \Q$_\E: only a program of your own/, {}, $_)
    for 'none.cu', "lessons/$names[0]/$names[0].cu";
refused(qr/GNU make 3\.80, .* needs 3\.81 or later/, {}, 'MAKE_VERSION=3.80',
    'help');

# No C compiler at all, and one that is older than those that were tried.
refused(qr/CC=\S* runs no C compiler: .*setup.*CC=gcc/,
    { env => { CC => undef } }, 'BACKEND=cpu', $_, 'lesson1') for 'CC=', '-R', 'CC=nowhere';
like((in_tree({}, 'BACKEND=cpu', 'known-cc', 'CC=' . ($ENV{CC} // 'cc')
    . " -U__clang_major__ -D__GNUC__=$_"))[2], $_ < 9 ? qr/ is gcc 8; .*gcc 9/
    : qr/\A\z/, "gcc $_") for 8, 9;
like(slurp("$root/setup"), qr/least=9 .*\n.*least=3\.81 /,
    'setup asks for the same');

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

    # What make did not make stays, and is in the way.
    spew("$tree/lesson1/notes", "mine\n");
    spew("$tree/conformance", "mine\n");
    spew("$tree/build/my notes", "mine\n");
    symlink 'lessons', "$tree/lesson2";
    builds('make clean', {}, 'clean');
    for my $name (qw(lesson1 conformance lesson2)) {
        # The rule's last line alone, since the program is not built here.
        my $out = (in_tree({}, '-n', 'BACKEND=cpu', $name))[1];
        my ($recipe) = $out =~ /^(if .*?fi)$/ms;
        my ($status, undef, $err) =
            run({ dir => $tree }, 'sh', '-c', $recipe // 'false');
        is($status, 2, "$name in the way: refused");
        one_line($err, qr/^make $name: \.\/$name is in the way/, '... a line');
    }
    is(join('', map { slurp("$tree/$_") } 'lesson1/notes', 'conformance',
        'build/my notes'), "mine\n" x 3, "... and clean leaves the reader's");
    ok(-d "$tree/lesson2/$names[0]", '... and a link that make did not make');
    unlink map { "$tree/$_" } 'conformance', 'build/my notes', 'lesson2',
        'lesson1/notes';
    rmdir "$tree/lesson1";
    spew("$tree/build", "mine\n") if !-e "$tree/build" || rmdir "$tree/build";
    refused(qr/its build\/ cannot be written/, {}, 'BACKEND=cpu', 'lesson1');
    is(slurp("$tree/build"), "mine\n", 'a file called build stays');
    unlink "$tree/build";
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
    like(builds('CUDA, common/fp16.h touched', {}, '-n', 'BACKEND=cuda', @arch,
        'lesson1'), qr/^\S*nvcc .*v0_half\.cu/m, 'it is compiled again');

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
    {
        # nvcc's own path with a space and a quote, and a command.
        my $cuda = "$tmp/my cu'da";
        symlink dirname(dirname(abs_path($nvcc))), $cuda;
        my $without = path_without('nvcc');
        for my $case (
            ["NVCC=$cuda/bin/nvcc", {}],
            ["NVCC=$nvcc -ccbin g++", {}],
            ['CUDA_HOME', { CUDA_HOME => $cuda, NVCC => undef,
                PATH => $without }],
            ['CUDA_PATH', { CUDA_PATH => $cuda, NVCC => undef,
                PATH => $without, CUDA_HOME => '/nowhere' }],
        ) {
            my ($what, $env) = @$case;
            my @arguments = $what =~ /=/ ? $what : ();
            my $name = $what =~ s/$tmp//r;
            like(builds("$name: ptx1", { env => $env }, @arguments, 'ptx1',
                'ARCH=sm_90'), qr/^ptx for sm_90/, "$name: shows PTX");
            my $command = builds("$name: lesson1", { env => $env }, '-n',
                @arguments, 'BACKEND=cuda', 'ARCH=sm_90', 'lesson1',
                'CPPFLAGS=-DX -Wdate-time', 'LDFLAGS=-Wl,-O1,-z,now');
            my ($head) = $command =~ /^(.*)[ ]-arch=sm_90[ ]-O3[ ].*-DX[ ].*
                -Xcompiler[ ]'-Wl\\,-O1\\,-z\\,now'/mx;
            my ($status, $out) = run({ dir => $tree }, 'sh', '-c',
                ($head // 'false') . ' --version');
            like($out, qr/release/, "$name: lesson1 is compiled with it");
            local @ENV{keys %$env} = values %$env;
            delete @ENV{grep { !defined $env->{$_} } keys %$env};
            local $ENV{NVCC} = $1 if $what =~ /=(.*)/;
            my $found = find_nvcc();
            like((run($found, '--version'))[1], qr/release/, "$name: the tests");
        }
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
    # Those of sm_90 from what is kept of the lessons.
    compile_kept($nvcc, map { "lessons/$_/$_.cu" } @names[0 .. 2]);
    my $kept = kept_tools([90], @names[0 .. 2]);
    my @results = run_jobs(map { my ($target, $arch) = @$_;
        [{ dir => $tree, env => { %env, $arch ne 'sm_90' ? ()
            : (NVCC => "$kept/nvcc", PATH => "$kept:$env{PATH}") } },
            $make, $target, "ARCH=$arch"] } @shown);
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
