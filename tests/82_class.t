#!/usr/bin/env perl
# A class: what make grade says of submissions, of which some loop, fork, flood,
# race or are no submissions at all; and what make class leaves out.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Path qw(remove_tree);
use Test::More;

# Two exercises are enough: one in C, and one with a kernel.
my ($c, $cu) = qw(15_banks.c 16_ring_ticket.cu);
my $tree = copy_tree('a course');
for my $folder (qw(exercises solutions)) {
    opendir my $list, "$tree/$folder" or die;
    unlink map { "$tree/$folder/$_" } grep { $_ ne $c && $_ ne $cu } readdir $list;
}
give_runtime($tree, 'BACKEND=cpu', 'CFLAGS=-O0');
my %sent;
$sent{$_} = slurp("$root/solutions/$_") for $c, $cu;
my $class = "$tmp/a class";

# Has $name hand in the right answer to $c, with $from replaced.
sub hand_in {
    my ($name, $from, $to, $file) = @_;
    spew("$class/$name/" . ($file // $c), changed($c, $from, $to));
}

sub changed {
    my ($file, $from, $to) = @_;
    my $text  = $sent{$file};
    my $count = $text =~ s/\Q$from\E/$to/;
    die "$file: there is no \"$from\"" if !$count;
    return $text;
}

my $at     = 'return value * COPIES + copy;';
my $marker = "$tmp/a child lives";
my $child  = "if (fork() == 0) {\n setsid();\n if (fork() == 0) {\n sleep(2);\n"
    . " fclose(fopen(\"$marker\", \"w\"));\n }\n _exit(0);\n }\n";
my $unistd = "#include <unistd.h>\n";
my @expected = (
    # What is handed in; the states of both exercises.
    ['an endless loop', sub { hand_in($_, $at, "for (;;)\n continue;\n") },
        'timed out: after 10 seconds of work', 'missing'],
    ['bombs of forks', sub {
        hand_in($_, $at, "for (;;)\n fork();\n");
        $_ = "$class/$_/$c";
        spew($_, slurp($_) =~ s/^(?=static int word_of)/$unistd/mr);
    }, 'processes: it starts another one, which no exercise needs', 'missing'],
    ['children, detached', sub {
        hand_in($_, $at, "$child$at");
        $_ = "$class/$_/$c";
        spew($_, slurp($_) =~ s/^(?=static int word_of)/$unistd/mr);
    }, 'processes: it starts another one, which no exercise needs', 'missing'],
    ['flood', sub {
        hand_in($_, $at, "for (;;)\n puts(\"@{['flood ' x 20]}\");\n");
    },
        'too much output: more than 10 MB', 'missing'],
    ['race', sub {
        my ($inside) = slurp("$root/tests/wrong/16_ring_ticket/"
            . 'race_plain_counter.txt');
        spew("$class/$_/exercises/$cu", $sent{$cu} =~
            s{(/\* TODO.*?\n).*?(?=/\* END)}{$1$inside}sr);
    }, 'missing', qr/^race: 16_ring_ticket\.cu:\d+: a block of write_entries /],
    ['deleted checks', sub {
        hand_in($_, 'return (step + lane / 2) % COPIES', 'return step');
        $_ = "$class/$_/$c";
        spew($_, slurp($_) =~ s/^    check_\w+\(\);\n//gmr);
    }, 'failed: step 0 of the sum takes 16 turns', 'missing'],
    ['empty', sub { mkdir "$class/$_" }, 'missing', 'missing'],
    ['from Windows', sub { # nested, UTF-8 with a mark; and UTF-16
        spew("$class/$_/my work/$c.txt",
            "\xef\xbb\xbf" . $sent{$c} =~ s/\n/\r\n/gr);
        spew("$class/$_/my work/exercises/$cu", "\xff\xfe"
            . $sent{$cu} =~ s/\n/\r\n/gr =~ s/(.)/$1\0/gsr);
    }, 'passed', 'passed'],
    ['lost marks', sub { hand_in($_, '/* END TODO */', '') },
        'unreadable: of the 3 pairs of lines TODO and END TODO 2 are left',
        'missing'],
    ['no C', sub { hand_in($_, $at, 'return valve * COPIES + copy;') },
        qr/^does not compile: 15_banks\.c:\d+:\d+: error: .*valve/, 'missing'],
    ['links', sub {
        mkdir "$class/$_";
        symlink "$tree/solutions/$c", "$class/$_/$c";
        symlink "$tree/solutions", "$class/$_/exercises";
    }, 'unreadable: it is a link, which is not followed', 'missing'],
    ["=odd, \"name\"\n-\$(touch x)", sub { # lines added outside of the regions
        my $text = changed($c, $at, 'return times(value, COPIES) + (int)fabs(copy);');
        $text =~ s/^(?=#include "exercise)/#include <math.h>\n/m;
        $text =~ s{^(?=/\* TODO: the word)}{static int
times(int a, int b)
{
    return a * b;
}
}m;
        $text =~ s/^    check_turns.*/    return exercise_end();\n$&/m;
        spew("$class/$_/$c", $text =~ s/    /\t/gr);
    }, 'passed', 'missing'],
    ['a link', sub { symlink "$tree/solutions", "$class/$_" },
        ('unreadable: a link, which is not followed') x 2],
    ['an archive.zip', sub { spew("$class/$_", 'PK') }, ('unreadable: '
        . 'no folder; an archive has to be unpacked') x 2],
    ['crash', sub { hand_in($_, $at, "*(volatile int *)4 = 0;\n$at") },
        'failed: it crashed (signal SEGV)', 'missing'],
    ['left early', sub { hand_in($_, $at, "exit(0);\n") },
        'failed: it ended before all checks were made', 'missing'],
    ['sent twice', sub {
        hand_in("$_/draft", $at, $at);
        hand_in("$_/final", $at, $at);
    }, 'unreadable: there are two of it, in two folders', 'missing'],
    ['a whole course', sub {
        spew("$class/$_/the course/exercises/$cu",
            slurp("$tree/exercises/$cu"));
        hand_in("$_/the course/solutions", $at, $at);
    }, 'missing', 'unchanged'],
);
for my $case (@expected) {
    my ($name, $make_it) = @$case;
    local $_ = $name;
    $make_it->();
}

# A file as a table: quotes within a field are doubled, and it may have newlines.
sub read_csv {
    my ($text) = @_;
    my @rows = ([]);
    while ($text =~ /\G(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g) {
        my ($quoted, $plain, $end) = ($1, $2, $3);
        push @{ $rows[-1] }, $plain // $quoted =~ s/""/"/gr;
        push @rows, [] if $end eq "\n";
    }
    pop @rows;
    return @rows;
}

my $listing = sub { (run('sh', '-c', 'ls -lnR "$1"; find "$1" -type f -exec cksum {} +',
    'sh', $class))[1] };
my $before = $listing->();
my ($status, $out, $err) = run({ dir => $tree }, $make, 'grade', "DIR=$class",
    'CFLAGS=-O0');
is("$status$err", '0', 'make grade: no submission stops it') or diag($out);
is($listing->(), $before, 'nothing in DIR is changed');
my ($head, @rows) = read_csv(slurp("$tree/build/grade/grades.csv"));
is("@$head", 'row submission passed 15_banks 16_ring_ticket', 'the CSV file');
is(scalar @rows, scalar @expected, 'a row for each submission');
my %row = map { $_->[1] => $_ } @rows;
for my $case (@expected) {
    my ($name, undef, @states) = @$case;
    $name =~ s/\n/?/;
    $name =~ s/^=/'=/;
    my $row = $row{$name} // [('no row') x 5];
    for my $i (0, 1) {
        my $got = $row->[3 + $i];
        ref $states[$i] ? like($got, $states[$i], "$name: $head->[3 + $i]")
            : is($got, $states[$i], "$name: $head->[3 + $i]");
    }
    is($row->[2], scalar(grep { $_ eq 'passed' } @states), "$name: passed");
}
my @table = $out =~ /^ +\d+  (.*)$/mg;
is(scalar @table, scalar @expected, 'a table with a row for each');
like($out, qr/^ +\d+    P  P       2  from Windows$/m, 'all of Windows text');
like($out, qr/^ +\d+    S  -       0  children, detached$/m, 'a child');
like($out, qr/^ +\d+    -  R       0  race$/m, 'a race');
cmp_ok(-s "$tree/build/grade/$row{flood}[0]/15_banks.txt", '<=', 65536,
    'of a flood the beginning is kept');

# What keeps a child from being started is what has done it: without, it lives.
{
    my $limits = (glob "'$tree'/build/cpu-*/limits")[0];
    my $sh = "(setsid sh -c 'echo > \"$marker\"' &) ; sleep 1";
    ok(!-e $marker, 'no child of a submission lives on');
    is((run($limits, 5, 1, 'kill', 'sh', '-c', $sh))[0], 159,
        'limits: who starts a process is ended');
    ok(!-e $marker, 'and no process was started');
    run($limits, 5, 1, 'allow', 'sh', '-c', $sh);
    ok(-e $marker, 'which is seen where processes are allowed');
    is((run($limits, 1, 1, 'refuse', 'sh', '-c', 'while :; do :; done'))[0], 152,
        'limits: the time of its own work');
    is((run($limits, 5, 1, 'kill', 'sh', '-c', 'ulimit -v'))[1], "2097152\n",
        'limits: memory');
    is((run($limits, 5, 1, 'refuse', 'sh', '-c', 'ulimit -v'))[1],
        (run('sh', '-c', 'ulimit -v'))[1], 'but for ThreadSanitizer');
    my $pid = fork // die "fork: $!";
    exec $limits, 9, 1, 'kill', 'sh', '-c', "echo \$\$ > '$tmp/pid'; exec sleep 60"
        if !$pid;
    for (1 .. 1200) {
        last if -s "$tmp/pid";
        select undef, undef, undef, 0.05;
    }
    kill 'TERM', $pid;
    waitpid $pid, 0;
    is($?, 15, 'limits: Ctrl-C and the like end it');
    ok(!kill(0, 0 + slurp("$tmp/pid")), 'and the program');
  SKIP: {
        skip_unless_full('ten seconds of waiting');
        is((run($limits, 1, 1, 'allow', 'sleep', 60))[0], 124,
            'limits: ten times as long by the clock');
    }
}

# --- bad input ---

spew("$tmp/one/$c", $sent{$c});
mkdir "$tmp/nothing";
for (
    [[], qr/^make grade: say where the submissions are: make grade DIR=/],
    [['DIR=nowhere at all'], qr/^make grade: there is no nowhere at all$/],
    [['DIR=Makefile'], qr/^make grade: Makefile is no folder; each /],
    [["DIR=$tmp/nothing"], qr/^make grade: \S+ is empty: each submission /],
    [["DIR=$tmp/one"], qr/^make grade: \S+ holds 15_banks.c itself: is it one /],
) {
    my ($words, $line) = @$_;
    my ($status, $out, $err) = run({ dir => $tree, env => { DIR => undef } },
        $make, 'grade', @$words);
    is("$status$out", '2', "make grade @$words: status 2");
    one_line($err, $line, "make grade @$words: one line");
}
like(slurp("$tree/build/grade/grades.csv"), qr/race/, 'and the grades are kept');

# --- make class: nothing of what a teacher keeps is left ---

# A line of each answer to a question, of each hint, and of each region of the
# solutions: what begins its comment.
my @secrets;
for my $file (glob "$root/solutions/*") {
    my @regions = slurp($file) =~ m{/\* TODO.*?\n(.*?)^ */\* END TODO}gms;
    push @secrets, map { m{^ */\* ([^\n]{20,}?)(?: \*/)?$}m } @regions;
}
cmp_ok(scalar @secrets, '>=', 17, 'the solutions say why');
my $before_hints = @secrets;
for my $text (slurp("$root/docs/exercises.md") =~
    m{<summary>Exercise \d+,(.*?)</details>}gs) {
    push @secrets, $text =~ /^- (.{20,})$/mg;
}
cmp_ok(scalar @secrets, '>=', $before_hints + 34, 'and there are hints');
push @secrets, slurp("$root/docs/answers.md") =~ /^1\. (.{20,})$/mg;

# The secrets that stand somewhere in a copy of the course.
sub told {
    my ($dir) = @_;
    my (undef, $all) = run('sh', '-c', 'cd "$1" && find . -name .git -prune '
        . '-o -type f -exec cat {} +', 'sh', $dir);
    return grep { index($all, $_) >= 0 } @secrets;
}
my $whole = copy_tree('the whole');
my $copy  = "$tmp/for a class/copy";
($status, $out, $err) = run({ dir => $whole }, $make, '-s', 'class', "DIR=$copy");
is("$status$err", '0', 'make class');
is(scalar told($whole), scalar @secrets, 'the check finds what the course tells');
is(join("\n", told($copy)), '', 'nothing of it is left in the copy');
ok(!-e "$copy/$_", "the copy has no $_") for qw(solutions tests docs/answers.md
    docs/teaching.md tools/grade.sh build);
($status, undef, $err) = run({ dir => $whole }, $make, '-s', 'class', "DIR=$copy");
is($status, 2, 'a second time');
one_line($err, qr/^make class: .* is there already: name a new folder/,
    'what is there is kept');

my @lost;
(my $pages) = (run('find', $copy, '-name', '*.md'))[1];
for my $page (split /\n/, $pages) {
    my ($dir) = $page =~ m{(.*)/};
    (my $text = slurp($page)) =~ s/^```.*?^```//msg;
    push @lost, map { "$page: $_" } grep { !/^[a-z]+:/ && !-e "$dir/$_" }
        $text =~ /\]\(([^)#\s]+)[^)]*\)/g;
}
is(join("\n", @lost), '', 'no link leads to what is gone');

give_runtime($copy, 'BACKEND=cpu');
my %promise = (hint1 => qr/^exercise 1: .*: your teacher keeps these$/,
    diff1 => qr/^exercise 1: .*: your teacher keeps these$/,
    test => qr/^make test: this copy for a class has no tests$/);
for my $target (sort keys %promise) {
    ($status, $out, $err) = run({ dir => $copy }, $make, $target);
    is("$status$out", '2', "in the copy make $target");
    one_line($err, $promise{$target}, "in the copy make $target says why");
}
($status, $out, $err) = run({ dir => $copy, env => { BACKEND => 'cpu' } }, $make,
    'exercise1');
is($status, 2, 'in the copy exercise 1 does not pass untouched');
like($err, qr/^exercise 1: .*\(a hint: make hint1\)$/m, 'it is built and run');
($status, $out) = run({ dir => $copy, env => { BACKEND => 'cpu' } }, 'sh', '-c',
    "$make lesson1 && ./lesson1 --n 2^16");
is($status, 0, 'and lesson 1 runs') or diag($out);
unlike((run({ dir => $copy }, $make))[1], qr/^(?:grade|class) /m,
    'plain make does not speak of grades there');
SKIP: {
    skip_unless_ci('the pages of the copy');
    skip_or_fail(no_pandoc()) if no_pandoc();
    ($status, $out, $err) = run({ dir => $copy }, $make, 'docs');
    is("$status$err", '0', 'and make docs renders the pages');
}

# Without git an exercise that was solved in place would tell.
spew("$whole/exercises/$c", $sent{$c});
($status, undef, $err) = run({ dir => $whole }, $make, '-s', 'class',
    "DIR=$copy 2");
is($status, 2, 'a solved exercise');
one_line($err, qr/^make class: exercises\/$c is solved, and there is no git /,
    'is not handed out');
ok(!-e "$copy 2", 'nor is anything else');
SKIP: {
    skip_or_fail('there is no git here') if !which('git');
    spew("$whole/exercises/$c", slurp("$root/exercises/$c"));
    run({ dir => $whole }, 'sh', '-c', 'git init -q && git add -A && git -c '
        . 'user.name=me -c user.email=me@localhost commit -qm unpacked');
    spew("$whole/exercises/$c", $sent{$c});
    ($status, undef, $err) = run({ dir => $whole }, $make, '-s', 'class',
        "DIR=$copy 3");
    is("$status$err", '0', 'with git it is');
    is(slurp("$copy 3/exercises/$c"), slurp("$root/exercises/$c"),
        'as git has it');
    is(slurp("$whole/exercises/$c"), $sent{$c}, 'and the teacher keeps his own');
    ($status, $out) = run({ dir => "$copy 3" }, $make, '-s', 'reset15');
    is("$status$out", "0exercises/$c is as git has it; nothing was changed.\n",
        'in the copy make reset works');
}

done_testing();
