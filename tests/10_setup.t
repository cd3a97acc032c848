#!/usr/bin/perl
# setup: its options, what it says where something is missing, and that a run with everything there installs nothing.
# Nothing is installed here: apt-get, sudo and the like are stand-ins in a directory that comes first in PATH.
use strict;
use warnings;
use File::Spec;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

chdir $root or die "$root: $!";
delete @ENV{qw(CC NVCC)};

# What the stand-ins were called with, one call a line.
sub calls {
    return -e "$tmp/calls" ? slurp("$tmp/calls") : '';
}

# path_of([NAMES], NAME => TEXT, ...): a PATH with all programs of this machine but NAMES, and each NAME an sh script.
# Two directories: the second, with links to all the programs that no case leaves out or replaces, is made once.
my @managers = qw(apt-get dnf pacman brew);
my @changing = (@managers, qw(sudo id dpkg-query ldconfig make gmake python3 nvcc cc gcc clang pandoc shellcheck busybox));
my %program = map { $_ => which($_) } @changing;
my $constant = "$tmp/bin";
mkdir $constant or die "$constant: $!";
{
    my %skip = map { $_ => 1 } @changing;
    for my $from (File::Spec->path) {
        opendir my $list, $from or next;
        $skip{$_}++ or symlink "$from/$_", "$constant/$_" for readdir $list;
    }
}
my $count = 0;
sub path_of {
    my ($without, %own) = @_;
    my $dir = "$tmp/bin" . ++$count;
    mkdir $dir or die "$dir: $!";
    for my $name (@changing) {
        next if $own{$name} || !$program{$name} || grep { $_ eq $name } @$without;
        symlink $program{$name}, "$dir/$name" or die "$dir/$name: $!";
    }
    spew("$dir/$_", "#!/bin/sh\n$own{$_}\n", 0755) for keys %own;
    return "$dir:$constant";
}

# What ./setup alone looks for besides a compiler, make and awk: with it, it finds everything on any system.
my %plain = (pandoc => 'echo pandoc 3.1');

# ---- style ----------------------------------------------------------------------------------------------------------
SKIP: {
    skip_or_fail('no shellcheck here', 3) unless which('shellcheck');
    # What older ones say of good scripts (Debian 11).
    skip 'shellcheck is older than 0.9', 3
        if (run('shellcheck', '--version'))[1] =~ /^version: 0\.[0-8]\./m;
    my @files = which('git') ? split(/\0/, `git ls-files -z --cached --others --exclude-standard 2>/dev/null`) : ();
    my %scripts = (setup => 1);
    for my $file (grep { -f && !-l } @files) {
        open my $in, '<', $file or next;
        my $first = <$in> // '';
        $scripts{$file} = 1 if $first =~ m{^#!\s*/\S*(?:/|env\s+)(?:ba|da)?sh\b};
    }
    my ($status, $out) = run('shellcheck', sort keys %scripts);
    is($status, 0, 'shellcheck: ' . join(' ', sort keys %scripts)) or diag($out);
    my @nonames = grep { /https?:|pypi\.org|deb\.debian/ } split /\n/, slurp('setup');
    is("@nonames", '', 'setup names no registry host');
    spew("$tmp/bad.sh", "#!/bin/sh\ncd \$1\nfoo=`ls`\nrm \$foo\n");
    ($status) = run('shellcheck', "$tmp/bad.sh");
    isnt($status, 0, 'shellcheck objects to a bad script');
}

# ---- options --------------------------------------------------------------------------------------------------------
{
    my ($status, $out, $err) = run('./setup', '--help');
    is($status, 0, '--help: exit 0');
    like($out, qr/--test/, '--help names --test');
    is($err, '', '--help: nothing on stderr');
    for my $bad (['--tests'], ['-x'], [''], ['--test', '--test'], ['all']) {
        ($status, $out, $err) = run('./setup', @$bad);
        is("$status $out", '2 ', "setup @$bad: exit 2, nothing on stdout");
        like($err, qr/\Asetup: [^\n]*--test[^\n]*\n\z/, "setup @$bad: one line on stderr");
    }
}

# ---- Debian and Ubuntu ----------------------------------------------------------------------------------------------
# Stand-ins that write down how they were called, and install nothing.
my $calls = "$tmp/calls";
my %refuse = map { $_ => "echo $_ \"\$@\" >>'$calls'; echo 'E: refused by the test' >&2; exit 100" } qw(apt-get sudo);
my $python = which('python3');
$refuse{python3} = "case \$1 in -m) echo python3 \"\$@\" >>'$calls'; exit 1 ;; esac\nexec '$python' \"\$@\"" if $python;
my $is_debian = which('apt-get') && slurp('/etc/os-release') =~ /^ID(?:_LIKE)?=.*(?:debian|ubuntu)/m;

SKIP: {
    skip 'not a Debian or Ubuntu system', 21 unless $is_debian;

    # With everything there, nothing is called.
    for my $options ([], ['--test']) {
      SKIP: {
            unlink $calls;
            local $ENV{PATH} = path_of([], %refuse, @$options ? () : %plain);
            my ($status, $out, $err) = run('./setup', @$options);
            my $lacks = $out =~ /^Missing: (.*)/m ? "missing here: $1"
                : calls() =~ /python3/ ? 'no .venv here yet' : '';
            skip_or_fail("setup @$options: $lacks", 5) if $lacks;
            is($status, 0, "setup @$options: exit 0") or diag($err);
            is(calls(), '', "setup @$options: calls no apt-get, sudo or pip");
            like($out, qr/nothing to install/, "setup @$options: says so");
            like($out, qr/^nvcc .*^GPU .*^lessons   make lesson1 runs .*^next /ms, "setup @$options: reports");
            my $end = @$options ? qr/make test\ntime      \d+ s\n\z/ : qr/make lesson1 && \.\/lesson1\n\z/;
            like($out, $end, "setup @$options: the next command");
        }
    }

    # A C compiler that does not compile, as root: apt-get is called, and its failure is one line. Nothing else will do.
    my $as = sub { return (id => "echo $_[0]") };
    my %none = map { $_ => 'exit 1' } qw(cc gcc clang);
    unlink $calls;
    {
        local $ENV{PATH} = path_of([], %plain, %none, %refuse, $as->(0), 'dpkg-query' => 'exit 1');
        my ($status, $out, $err) = run('./setup');
        is($status, 1, 'a failed installation: exit 1');
        like($out, qr/^Missing: C-compiler$/m, 'it names what is missing');
        like($err, qr/\Asetup: apt-get install failed: .*refused by the test: C-compiler\n\z/, '... one line on stderr');
        like(calls(), qr/\Aapt-get .*update.*\napt-get .*install .*--no-install-recommends .*gcc libc6-dev\n\z/,
            'apt-get is called to update the lists, then to install the packages');
        unlike($out, qr/^next/m, 'a failed installation reports no next step');
    }

    # The package is installed, and does not do all the same: it is not installed again.
    unlink $calls;
    {
        local $ENV{PATH} =
            path_of([], %plain, %none, %refuse, $as->(0), 'dpkg-query' => "echo 'install ok installed'");
        my ($status, $out, $err) = run('./setup');
        like("$status $err", qr/\A1 setup: .*C-compiler[^\n]*\n\z/, 'a package installed in vain: exit 1, one line');
        unlike(calls(), qr/ install /, 'a package that is installed is not installed again');
    }

    # Without pandoc the lessons run: the pages lack it. Not root: through sudo where it is there, else as it is.
    my $lacks = qr/^pages     make docs lacks pandoc: apt-get install pandoc, as root\nnext /m;
    unlink $calls;
    {
        local $ENV{PATH} = path_of(['pandoc'], %refuse, $as->(1000), 'dpkg-query' => 'exit 1');
        my ($status, $out) = run('./setup');
        like(calls(), qr/\Asudo /, 'a user calls apt-get through sudo');
        is($status, 0, 'which refuses, and the lessons run: exit 0');
        like($out, $lacks, 'and the pages lack pandoc');
    }
    unlink $calls;
    delete $refuse{sudo};
    {
        local $ENV{PATH} = path_of(['pandoc', 'sudo'], %refuse, $as->(1000));
        my ($status, $out, $err) = run('./setup');
        is("$status$err", '0', 'neither root nor sudo, without pandoc: exit 0');
        like($out, $lacks, 'and the pages lack it');
        is(calls(), '', 'neither root nor sudo: apt-get is not called');
        local $ENV{PATH} = path_of(['sudo'], %plain, %none, %refuse, $as->(1000));
        ($status, $out, $err) = run('./setup');
        is($status, 1, 'neither root nor sudo, without a compiler: exit 1');
        like($err, qr/\Asetup: installing needs root.*C-compiler\n\z/, '... one line');
    }
}

# ---- too old --------------------------------------------------------------------------------------------------------
# Named with their versions; the newest of the tools that will not do, and the oldest that will.
{
    my $cc = which('gcc') // which('clang');
    my $old = sub { "case \$1 in -dumpversion) echo $_[0] ;; *) exec $cc -U__clang_major__ -D__GNUC__=$_[0] \"\$@\" ;; esac" };
    my $all = sub { map { $_ => $old->($_[0]) } qw(cc gcc clang) };
    for my $case (
        [1, 'C-compiler \(8 is here; 9 or later is needed\)', $all->(8), %plain],
        [1, 'make \(3\.80 is here; 3\.81 or later is needed\)', make => 'echo GNU Make 3.80', %plain],
        [0, 'pandoc \(2\.9\.2\.1 is here; 2\.17 or later is needed\)', pandoc => 'echo pandoc 2.9.2.1'],
        [0, undef, $all->(9), make => 'echo GNU Make 3.81', pandoc => 'echo pandoc 2.17'],
    ) {
        my ($wanted, $named, %own) = @$case;
        local $ENV{PATH} = path_of([@managers, 'nvcc'], gmake => 'exit 1', %own);
        my ($status, $out) = run('./setup');
        is($status, $wanted, ($named // 'the oldest that will do') . ": exit $wanted") or diag($out);
        like($out, defined $named ? qr/^Missing: $named$/m : qr/nothing to install/, '... and says so');
        like($out, qr/^pages     make docs lacks $named\nnext /m, '... and what lacks it') if $named && !$wanted;
    }
}

# ---- other systems: no apt-get --------------------------------------------------------------------------------------
# What takes long is taken to be there; that it is looked for is seen above.
my %there = map { $_ => 'exit 0' } qw(cc gcc clang java aarch64-linux-gnu-gcc);
my %name = (dnf => 'ShellCheck', pacman => 'shellcheck', brew => 'shellcheck');
for my $manager (qw(dnf pacman brew)) {
    unlink $calls;
    my $call = "echo $manager >>'$calls'";
    local $ENV{PATH} = path_of([@managers, 'shellcheck', 'busybox', 'pandoc'], %there, $manager => $call);
    my ($status, $out, $err) = run('./setup', '--test');
    is($status, 1, "$manager: exit 1 where something is missing");
    my ($line) = $out =~ /^ +$manager: (.*)/m;
    like($line // '', qr/\b$name{$manager}\b/, "$manager: its name of a package");
    like($line // '', qr/\bpandoc(?:-cli)?\b/, "$manager: another");
    is(($line // '') =~ /busybox/ ? 1 : 0, $manager eq 'brew' ? 0 : 1, "$manager: busybox where there is a package");
    my @lines = $out =~ /^ +(\w+):/mg;
    is("@lines", $manager, "$manager: no other package manager's names");
    is(calls(), '', "$manager: not called");
    ($status, $out) = run('./setup');
    is($status, 0, "$manager: the lessons run");
    like($out, qr/^pages .*lacks pandoc: $manager \S+ pandoc/m, "$manager: how to get what the pages lack");
}
{
    local $ENV{PATH} = path_of([@managers, 'pandoc']);
    my ($status, $out) = run('./setup');
    my @lines = $out =~ /^ +(\w+): .*pandoc/mg;
    is("$status @lines", '0 dnf pacman brew', 'no package manager known: the names of all three');
}
SKIP: {
    local $ENV{PATH} = path_of(\@managers, %plain);
    my ($status, $out) = run('./setup');
    skip_or_fail("missing here: $1", 1) if $out =~ /^Missing: (.*)/m;
    is($status, 0, 'another system with everything there: exit 0');
}

SKIP: {
    local $ENV{PATH} = path_of([@managers, 'busybox'], %there, brew => 'exit 1', $python ? (python3 => $refuse{python3}) : ());
    my ($status, $out) = run('./setup', '--test');
    skip_or_fail("missing here: $1", 1) if $out =~ /^Missing: (?!busybox$)(.*)/m;
    is($status, 0, 'what the package manager does not have is not asked for');
}

# ---- the report: nvcc and the compiler ------------------------------------------------------------------------------
{
    local $ENV{PATH} = path_of(\@managers, map { $_ => 'exit 1' } qw(cc gcc clang));
    my ($status, $out) = run('./setup');
    like($out, qr/^Missing: .*C-compiler/m, 'compilers that do not compile count as missing');
}
SKIP: {
    local $ENV{PATH} = path_of(\@managers, %plain, nvcc => 'echo "Cuda compilation tools, release 98.7, V98.7.1"');
    my ($status, $out) = run('./setup');
    skip_or_fail("missing here: $1", 1) if $out =~ /^Missing: (.*)/m;
    like($out, qr{^nvcc      98\.7, \Q$tmp\E/bin\d+/nvcc$}m, 'the version of nvcc');
}
SKIP: {
    local $ENV{PATH} = path_of(\@managers, %plain);
    my ($status, $out) = run('./setup');
    skip_or_fail("missing here: $1", 2) if $out =~ /^Missing: (.*)/m;
    like($out, has_gpu() ? qr/^GPU       found$/m : qr/^GPU       none found$/m, 'whether there is a GPU');
    my $auto = `make -s help BACKEND=auto`;
    my ($backend) = $auto =~ /^here +BACKEND=(\w+)/m;
    like($out, $backend eq 'cuda' ? qr/runs on the GPU$/m : qr/runs in CPU emulation/m, 'as make says');
}
SKIP: {
    local $ENV{PATH} = path_of([@managers, 'cc', 'gcc'], %plain);
    my ($status, $out) = run('./setup');
    skip_or_fail("missing here: $1", 1) if $out =~ /^Missing: (.*)/m;
    like($out, qr/^next      make CC=clang lesson1/m, 'without cc, the next command names the compiler');
}

done_testing();
