#!/usr/bin/env perl
# The exercises' runner: what make exerciseK and its like do with a learner's
# file, sound or not. All in copies of the tree, with a few exercises of which
# each takes an instant.
# Run: prove tests/81_runner.t
# Takes long: make test starts it early.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename dirname);
use File::Copy qw(copy move);
use File::Path qw(make_path remove_tree);
use File::Spec;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

delete @ENV{qw(BACKEND ARCH NVCCFLAGS GIT_DIR GIT_WORK_TREE)};
my $nvcc = find_nvcc();
$ENV{NVCC}    = $nvcc if $nvcc && !which('nvcc');
$ENV{CFLAGS}  = '-O0';
$ENV{BACKEND} = 'cpu';

# No settings of this machine's user or of a repository around the copies.
@ENV{qw(GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CEILING_DIRECTORIES)} =
    ('/dev/null', '/dev/null', $tmp);

my $tree;

# --- a course with three exercises ---

# An exercise that wants `answer` to be 42.
sub exercise {
    my ($number, $name, $answer, $kernel) = @_;
    my $launch = $kernel ? <<'END_C' : '';
    nothing<<<1, 1>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
END_C
    $kernel = $kernel ? "static __global__ void nothing(void)\n{\n}\n\n" : '';
    return <<"END_C";
/* Exercise 0$number, $name. */
#include "exercise.h"

${kernel}static int answer(void)
{
    /* TODO: return 42. */
$answer
    /* END TODO */
}

int main(void)
{
    exercise_begin($number, "$name");
$launch    require(answer() == 42, "the answer", "the answer is %d", answer());
    return exercise_end();
}
END_C
}

my $unsolved = '    return 0;';
my $solved   = "    /* As the sources say. */\n    return 42;";
my @files    = qw(01_first.cu 02_second.c 03_third.cu);
my @names    = qw(first second third);

sub crlf { return $_[0] =~ s/\n/\r\n/gr }

sub text { # of exercise $number, with $answer
    my ($number, $answer) = @_;
    my $name = $names[$number - 1];
    return exercise($number, $name, $answer, $files[$number - 1] =~ /u\z/);
}

# The time limit of a program, which on a busy machine may end what is sound:
# long here, and short for what does not end.
my $limit = 'seconds=3600 ';
sub limit {
    my ($seconds) = @_;
    edit("$tree/tools/exercise.sh", $limit, "seconds=$seconds ");
    $limit = "seconds=$seconds ";
}

# A copy of the course, a git checkout unless told.
sub course {
    my ($name, $no_git) = @_;
    my $tree = copy_tree($name);
    edit("$tree/tools/exercise.sh", 'seconds=10 ', 'seconds=3600 ');
    remove_tree(map { "$tree/$_" } qw(exercises solutions docs results tests));
    for my $number (1 .. 3) {
        spew("$tree/exercises/$files[$number - 1]", text($number, $unsolved));
        spew("$tree/solutions/$files[$number - 1]", text($number, $solved));
    }
    spew("$tree/docs/exercises.md", <<"END");
<details><summary>Exercise 1, first</summary>

- Think of
  `6 * 7`.
- It is even.
- It is 40 and 2.

</details>
<details><summary>Exercise 2, second</summary>

- As before.\r

</details>
<details><summary>Exercise 11, eleventh</summary>

- This is not for exercise 1.

</details>
END
    spew("$tree/.gitignore", "/build/\n");
    return $tree if $no_git;
    git($tree, @$_) for ['init', '-q'], ['add', '-A'],
        ['-c', 'user.name=A', '-c', 'user.email=a@localhost', 'commit', '-qm', 'x'];
    return $tree;
}

sub git {
    my ($tree, @arguments) = @_;
    my ($status, $out, $err) = run({ dir => $tree }, 'git', @arguments);
    die "git @arguments: $out$err" if $status;
    return $out;
}

$tree = course('course');
my $mine = "$tree/exercises/01_first.cu";

# make @arguments: (exit status, stdout, stderr without make's last word).
sub make {
    my ($option, @arguments) = @_;
    my ($status, $out, $err) =
        run({ dir => $tree, %$option }, $make, @arguments);
    $err = join '', grep { !/^make(\[\d+\])?: \*\*\* \[/ } split /^/, $err;
    return ($status, $out, $err);
}

sub passes {
    my ($name, $pattern, $option, @arguments) = @_;
    my ($status, $out, $err) = make($option, @arguments);
    is("$status$err", '0', "$name: exit 0");
    like($out, $pattern, "$name: what it says") or diag($out, $err);
    return $out;
}

# Fails, and the last line of stderr matches; without $more it is the only one.
sub refuses {
    my ($name, $pattern, $more, $option, @arguments) = @_;
    my ($status, $out, $err) = make($option, @arguments);
    isnt($status, 0, "$name: fails");
    my @lines = split /\n/, $err;
    like($lines[-1] // '', $pattern, "$name: one plain line") or diag($out, $err);
    is(scalar @lines, 1, "$name: and no other") or diag($err) if !$more;
    unlike($out, qr/is done;|all exercises are done/, "$name: not passed on");
    return ($out, $err);
}

sub record { return -e "$tree/build/exercises.done/$_[0]" ? 1 : 0 }

# --- fails and passes ---

{
    my ($out) = refuses('untouched',
        qr/^exercise 1: not done yet: see .* missing .*make hint1\)$/, 0, {},
        'exercise1');
    like($out, qr/^exercise 1  first\nmissing   the answer is 0\n\z/m,
        'untouched: its output, and nothing after it');
    is(record('01'), 0, 'untouched: no record');

    spew($mine, text(1, $solved));
    $out = passes('solved', qr{
        \nbuild\ \ \ \ \ exercises/01_first\.cu\n
        exercise\ 1\ \ first\n
        holds\ \ \ \ \ the\ answer\n
        done\ \ \ \ \ \ all\ checks\ hold\n
        exercise\ 1\ is\ done;\ next:\ open\ exercises/02_second\.c,
        \ then\ make\ exercise2\n\z}x, {}, 'exercise1');
    is(record('01'), 1, 'solved: a record');
    is(join(' ', map { basename($_) } glob "$tree/exercises/*"), "@files",
        'exercises/ holds no program');

    spew("$tree/exercises/03_third.cu", text(3, $solved));
    passes('the last', qr/^exercise 3 is done; next: .* make exercise2$/m, {},
        'exercise3');
    spew("$tree/exercises/02_second.c", text(2, $solved));
    passes('C, the last one open',
        qr/^exercise 2 is done; all exercises are done\nYou can write .*\n\z/m, {},
        'exercise2');
}

# An older version that is put back, with its old time, is built anew; that all
# of its lines end in CR LF is no change.
spew($mine, crlf(text(1, $unsolved)));
utime 1e9, 1e9, $mine;
refuses('an older file', qr/^exercise 1: not done yet/, 0, {}, 'exercise1');
passes('a changed file is not done', qr{
    ^\ 1\ \ first\ +(?:untouched)\n
    \ 2\ \ second\ +done\n
    \ 3\ \ third\ +done\n
    \[\#\#-\]\ 2\ of\ 3\ done\n
    next:\ open\ exercises/01_first\.cu,\ then\ make\ exercise1\n\z}x, {},
    'progress');
spew($mine, text(1, $solved));
passes('the same file is done again', qr/^\[###\] 3 of 3 done\nall .* done\nYou can .*\n\z/m,
    {}, 'progress');

# --- files that are not as they should be ---

# One file after another in place of exercise 1.
sub broken {
    my ($name, $answer, $pattern, $more) = @_;
    spew($mine, $answer =~ /main|\0|^\s*\z/ ? $answer : text(1, $answer));
    unlink "$tree/build/exercises.done/01";
    my @said = refuses($name, qr/^exercise 1: $pattern/, $more, {}, 'exercise1');
    is(record('01'), 0, "$name: no record");
    return @said;
}

my $begin = qq{#include "exercise.h"\nint main(void)\n{\n}\n};
{
    my ($out, $err) = broken('a compile error', '    return 42',
        qr/it does not compile: begin with the first error above$/, 1);
    my $line = 1 + (() = (split /return 42$/m, slurp($mine))[0] =~ /\n/g);
    like($err, qr{^exercises/01_first\.cu:$line:\d+: error: }m,
        'a compile error: the compiler names the file and the line');
    unlike($out, qr/^exercise 1  /m, 'a compile error: nothing was run');

    ($out, $err) = broken('a launch that cannot be read',
        $begin =~ s/\}/    nothing<<<1>>>();\n}/r,
        qr/it does not compile/, 1);
    like($err, qr{^exercises/01_first\.cu:4: error: launch of}m,
        'a launch that cannot be read: the file and the line');
}
broken('a crash', '    return *(volatile int *)8;', qr/it crashed \(signal SEGV\)/);
broken('an abort', '    abort();', qr/it crashed \(signal ABRT\)/);
{
    my ($out, $err) = broken('many errors', $begin =~ s/^\}/"    x = ;\n" x 300 . '}'/mer,
        qr/it does not compile/, 1);
    cmp_ok(length $err, '<', 12000, 'many errors: are cut');
    like($err, qr{\A\S*01_first\.cu.*^…\n.*^\(all of it is in build/\S+\.build\)\n}ms,
        'many errors: the first ones, and where all are');
}
broken('UTF-16', "\xff\xfe" . text(1, $solved) =~ s/(.)/$1\0/gsr,
    qr/exercises\S+ is UTF-16 or the like: .* save it as UTF-8$/);
refuses('diff of UTF-16', qr/^exercise 1: .* is UTF-16/, 0, {}, 'diff1');

# Two processes that ignore what can be ignored; both write down their numbers.
sub stubborn {
    return text($_[0], <<'END_C') =~ s/^(#include)/#include <signal.h>\n#include <unistd.h>\n$1/mr;
    for (int s = 1; s < 32; s++)
        if (s != SIGCHLD)
            signal(s, SIG_IGN);
    fork();
    FILE *f = fopen("build/pids", "a");
    fprintf(f, "%d.\n", (int)getpid());
    fclose(f);
    for (;;)
        pause();
    return 0;
END_C
}

sub pids { return -e "$tree/build/pids" ? slurp("$tree/build/pids") =~ /(\d+)\./g : () }

# Whether it runs; init may not yet have seen the end of what nobody waits for.
sub runs {
    my ($pid) = @_;
    return kill(0, $pid) && !(-e "/proc/$pid/stat"
        && slurp("/proc/$pid/stat") =~ /\) Z /);
}

# Waits for what a busy machine, too, does in the end.
sub wait_until {
    my ($condition) = @_;
    my $end = time + 600;
    sleep 0.1 while time < $end && !$condition->();
}

sub leaves_nothing {
    my ($name) = @_;
    my @pids = pids();
    wait_until(sub { !grep { runs($_) } @pids });
    is(scalar(grep { runs($_) && kill KILL => $_ } @pids), 0, "$name: none is left");
    unlink "$tree/build/pids";
}

{
    limit(3);
    my ($out) = broken('a hang', stubborn(1),
        qr/it was stopped after 3 seconds: which loop/);
    like($out, qr/^exercise 1  first$/m, 'a hang: its output so far');
    leaves_nothing('a hang');
    limit(3600);
}
{
    my ($out) = broken('output without end',
        qq{    for (;;)\n        puts("again and again and again");\n    return 0;},
        qr/it was stopped after printing 50 MB/);
    cmp_ok(length $out, '<', 12000, 'output without end: is cut');
    like($out, qr/^…$/m, 'output without end: and says so');
}
broken('no output', $begin, qr/it printed nothing/);
broken('no output, status 1', $begin =~ s/\}/    return 1;\n}/r,
    qr/it printed nothing/);
broken('a success without the line done', '    exit(0);',
    qr/it ended too early: main must return exercise_end\(\)/);
broken('the word done alone', qq{    puts("done");\n    exit(0);},
    qr/it ended too early/);
broken('a failure that says nothing', '    exit(1);',
    qr/it ended with status 1, and said nothing/);
broken('another status', '    exit(7);', qr/it ended with status 7/);
{
    my ($out) = broken('a CUDA error',
        "    CHECK(cudaMemcpy(NULL, NULL, 1, cudaMemcpyHostToDevice));\n"
        . '    return 42;', qr/a CUDA error ended it: the lines above say/);
    like($out, qr{^exercises/01_first\.cu:\d+: cudaMemcpy}m,
        'a CUDA error: the call, with file and line');
}
broken('an empty file', '', qr{exercises/01_first\.cu is empty; make reset1});
broken('a blank file', " \n\n\t\n", qr{exercises/01_first\.cu is empty});
unlink $mine;
refuses('a missing file',
    qr{^exercise 1: exercises/01_first\.cu is missing; make reset1 brings}, 0,
    {}, 'exercise1');
refuses('diff of a missing file', qr{exercises/01_first\.cu is missing}, 0, {},
    'diff1');
passes('a missing file', qr/^ 1  first +started\n.*make exercise1\n\z/s, {},
    'progress');

# Something else in its place: nothing of it is lost.
{
    my $moved = qr{exercises/01_first\.cu is a directory; move it away};
    spew("$mine/notes", "mine\n");
    refuses('a directory', qr/^exercise 1: $moved/, 0, {}, 'exercise1');
    refuses('reset of a directory', qr/^$moved.* nothing was changed$/, 0, {}, 'reset1');
    is(slurp("$mine/notes"), "mine\n", 'reset of a directory: leaves it');
    remove_tree($mine);
    symlink 'nowhere', $mine;
    refuses('a dangling link', qr/01_first\.cu is a link to a file that is not there/,
        0, {}, 'exercise1');
    unlink $mine;
}

# The learner's file with the program of an earlier build beside it.
spew($mine, text(1, $solved));
passes('solved again', qr/^exercise 1 is done/m, {}, 'exercise1');
broken('an error after a success', '    return 42',
    qr/it does not compile/, 1);
is(scalar(grep { -x } glob "$tree/build/cpu-*/exercises/01_first"), 0,
    'an error after a success: no program is left');

# The runner itself, without make, for exercise 2, by each sh.
sub by_hand {
    my ($sh, $path, $what) = @_;
    return run({ dir => $tree, env => { PATH => $path, TASKS => '1 2 3',
        BUILD => 'build/hand', BUILD_C => which('gcc') . ' ' . join(' ', cpu_flags())
            . ' -o "$program" "$source" -lm' } }, split(' ', $sh),
        'tools/exercise.sh', $what);
}

# Where there is no setsid, perl makes the group; where there is neither, the
# time is bounded; no timeout is needed, nor cksum. busybox has its own of all.
{
    my ($second, $record) = map { "$tree/$_" } 'exercises/02_second.c',
        'build/exercises.done/02';
    my @before = map { slurp($_) } $second, $record;
    my $busybox = "$tmp/busybox";
    make_path($busybox);
    symlink which('busybox') // '', "$busybox/$_" for map { split } `busybox --list`;
    unlink "$busybox/cksum";
    symlink which($_), "$busybox/$_" for qw(as ld);
    my %case = (
        'no setsid'          => ['sh', path_without('setsid')],
        'no setsid, no perl' => ['sh', path_without('setsid', 'perl')],
        'bash'               => ['bash --posix', $ENV{PATH}],
        'dash'               => ['dash', $ENV{PATH}],
        'busybox'            => ['sh', $busybox],
    );
    limit(1);
    for my $case (sort keys %case) {
      SKIP: {
            my ($sh, $path) = @{ $case{$case} };
            my ($name) = split ' ', $case =~ /^no/ ? 'sh' : $case;
            skip "there is no $name here", 1 if !which($name);
            my $group = $case ne 'no setsid, no perl';
            spew($second, $group ? stubborn(2) : text(2,
                "    for (volatile int x = 0;; x++)\n        ;\n    return 0;"));
            my ($status, $out, $err) = by_hand($sh, $path, 'exercise2');
            like("$status$err", qr/^1exercise 2: it was stopped after 1 seconds.*\n\z/,
                "a hang, $case") or diag($out);
            leaves_nothing("a hang, $case") if $group;
            next if $case ne 'busybox';
            spew($second, text(2, $solved));
            ($status, $out, $err) = by_hand($sh, $path, 'exercise2');
            is("$status$err", '0', "$case: solved") or diag($out);
            like((by_hand($sh, $path, 'progress'))[1], qr/^ 2  second +done$/m,
                "$case: progress");
            spew($second, text(2, $unsolved));
            like((by_hand($sh, $path, 'progress'))[1], qr/^ 2  second +not done$/m,
                "$case: progress of a changed file");
            for my $what (qw(hint diff solution)) {
                ($status, $out, $err) = by_hand($sh, $path, "${what}2");
                is("$status$err", '0', "$case: $what") or diag($out);
            }
        }
    }
    limit(3600);
    spew($second, $before[0]);
    spew($record, $before[1]);
}

# Where there is no git, the rest works.
{
    my $path = path_without('git');
    spew($mine, text(1, $solved));
    passes('progress without git',
        qr/^ 1  first +not done\n 2  second +done\n/,
        { env => { PATH => $path } }, 'progress');
    my $before = slurp($mine);
    refuses('reset without git', qr/^reset needs git, .* nothing was changed$/,
        0, { env => { PATH => $path } }, 'reset1');
    is(slurp($mine), $before, 'reset without git: nothing was changed');
}

# --- lost checks ---

{
    my ($check) = text(1, $solved) =~ /^(.*require\(.*\n)/m;
    my $gone = qr/a line outside of the TODO regions is gone or changed: require\(/;
    broken('a check that is gone', text(1, $solved) =~ s/\Q$check\E/    answer();\n/r,
        $gone);
    broken('a check that asks less',
        text(1, $solved) =~ s/answer\(\) == 42/answer() >= 42/r, $gone);
    spew($mine, text(1, $solved)
        =~ s/^(static.*answer)/#include <limits.h>\nint lock;\n\n$1/mr
        =~ s/\A/\xef\xbb\xbf/r =~ s/$/ \r/gmr =~ s/ \r\n \r\z//r);
    passes('added lines, CR LF, a byte order mark, no last newline', qr/^exercise 1 is done/m, {}, 'exercise1');
}

# On a terminal of 80 columns nothing is wider, and nothing but text is sent.
SKIP: {
    skip_or_fail('there is no script of util-linux here')
        if (run('script', '--version'))[1] !~ /util-linux/;
    spew($mine, text(1, $solved) =~ s/answer\(\) == 42/answer() >= 42/r);
    spew("$tmp/tty.sh", "stty cols 80\nfor t in exercise1 hint1 progress; do $make \$t; done\n");
    for my $env ({ TERM => undef }, { TERM => 'xterm-256color' }) {
        my (undef, $out) = run({ dir => $tree, env => $env }, 'script', '-qec',
            "sh $tmp/tty.sh", File::Spec->devnull);
        my $what = 'a terminal, TERM=' . ($env->{TERM} // '');
        like($out, qr/gone or changed: \r\nrequire/, "$what: what it says");
        is(join('', grep { length > 80 } split /\r?\n/, $out), '', "$what: 80 columns");
        unlike($out, qr/[^\r\n -~]/, "$what: only text");
    }
    unlink "$tree/build/exercises.hints/01";
}

# --- races ---

# A compiler that has no ThreadSanitizer, or one whose programs do not start.
spew("$tmp/cc", <<'END_SH', 0755);
#!/bin/sh
case " $* " in
*" -fsanitize=thread "*.race\ *)
    if [ "$RACES" = none ]; then echo 'cannot find -ltsan' >&2; exit 1; fi
    for a; do case $a in *.race) out=$a ;; esac; done
    printf '#!/bin/sh\necho "FATAL: ThreadSanitizer: unexpected memory mapping"\nexit 66\n' > "$out"
    chmod +x "$out"
    exit 0 ;;
esac
exec gcc "$@"
END_SH
{
    my $cell = "static __device__ int cell;\n";
    my $racy = text(1, $solved)
        =~ s/^(static __global__ void nothing.*\n\{\n)/$cell$1    cell = 1;\n/mr
        =~ s/<<<1, 1>>>/<<<8, 1>>>/r;
  SKIP: {
        skip_or_fail('gcc -fsanitize=thread does not work here')
            if !sanitizer_works('gcc', 'thread', '-O1 -g -fsanitize=thread');
        my ($out) = broken('a race', $racy,
            qr/blocks race: .* is in \S+\.race\.out/);
        like($out, qr{^race      exercises/01_first\.cu:7: .* of nothing writes }m,
            'a race: the line and the kernel');
        like($out, qr/\(byte 0 of the 4 of a __device__ variable\)/,
            'a race: the place');
        my ($raw) = glob "$tree/build/cpu-*/exercises/01_first.race.out";
        like(slurp($raw), qr/ThreadSanitizer: data race/, 'a race: the raw report');
        edit("$tree/lessons/v0_half/v0_half.cu", 'atomicAdd(c, sum);',
            '*c = __hadd_rn(*c, sum);');
        ($out) = refuses('make race1, planted', qr/^race1: all that is known/, 0, {},
            'race1');
        like($out, qr{^race      lessons/v0_half/v0_half\.cu:42: .* of dot_half }m,
            'make race1, planted: the sentence');
        edit("$tree/lessons/v0_half/v0_half.cu", '*c = __hadd_rn(*c, sum);',
            'atomicAdd(c, sum);');
        passes('make race1', qr/^race1: no block writes without an atomic/m, {},
            'race1');
    }
    passes("make race$_", qr/^race$_: lesson $_ /, {}, "race$_") for 4, 5, 6;
    spew($mine, text(1, $solved));
    for my $races (qw(none start)) {
        my @how = ({ env => { RACES => $races } }, "CC=$tmp/cc", 'exercise1');
        unlink glob "$tree/build/cpu-*/race/away";
        passes("no races, $races", qr/^note .* be looked for here: .*\.race\.out$/m,
            @how);
        my $out = passes("no races, $races, again", qr/^exercise 1 is done/m, @how);
        unlike($out, qr/^note/m, "no races, $races: said once");
    }
}

# --- numbers ---

for my $what (qw(exercise hint diff solution reset watch)) {
    refuses($what, qr/^make $what: say which one, as in make ${what}1$/, 0, {},
        $what) if $what !~ /exercise|watch/;
    refuses("$what$_", qr/^make $what$_: there is no exercise $_; .* 1 to 3$/,
        0, {}, "$what$_") for $what eq 'exercise' ? qw(0 4 x) : 4;
}

# --- the path, without a number ---

my $listed = slurp("$tree/docs/exercises.md");
spew("$tree/docs/exercises.md", <<"END" . $listed);
## The short path

| | exercise | its trap | prepared by |
|---|---|---|---|
| 3 | [third](x.c) | a | [Lesson 1](y.md) |

## The long path

| 2 | [second](x.c) | b | [Lesson 2](y.md) |
| 12 | [none](x.c) | c | [Lesson 3](y.md) |

END
spew("$tree/exercises/$files[$_ - 1]", text($_, $unsolved)) for 1 .. 3;
{
    my $end = qr/The short path is done\. You can .*: lessons\S+/;
    refuses('the first of the path', qr/^exercise 3: not done yet/, 0, {},
        'exercise');
    spew("$tree/exercises/03_third.cu", text(3, $solved));
    passes('the short path', qr{^exercise\ 3\ is\ done;\ next,\ after\ Lesson\ 2:\ open
        \ exercises/02_second\.c,\ then\ make\ exercise2\n$end\n\z}mx,
        {}, 'exercise3');
    passes('progress along it', qr{\A\ 3\ \ third\ +Lesson\ 1\ +done\n
        \[\#\]\ 1\ of\ 1\ done:\ the\ short\ path\n
        \ 2\ \ second\ +Lesson\ 2\ +untouched\n\ 1\ \ first\ +untouched\n
        \[\#--\]\ 1\ of\ 3\ done\nnext,\ after\ Lesson\ 2:\ .*\n\z}x, {},
        'progress');
    refuses('the second', qr/^exercise 2: not done yet/, 0, {}, 'exercise');
}

# --- hints ---

{
    my @said = map { passes("hint, time $_", qr/./, {}, 'hint1') } 1 .. 4;
    is($said[0], "hint 1 of 3 for exercise 1:\n  Think of\n  `6 * 7`.\n"
        . "One more: make hint1\n", 'the first hint');
    is($said[1], "hint 2 of 3 for exercise 1:\n  It is even.\n"
        . "One more: make hint1\n", 'the second');
    is($said[2], "hint 3 of 3 for exercise 1:\n  It is 40 and 2.\n"
        . "That was the last hint; make solution1 shows the solution.\n",
        'the last says so');
    is($said[3], join('', map { s/^(One more|That was).*\n//mr } @said[0 .. 2])
        . "That was the last hint; make solution1 shows the solution.\n",
        'and after it all of them');
    passes('the hint of another exercise', qr/^hint 1 of 1 for exercise 2:\n  As before\.\n/,
        {}, 'hint2');
    refuses('an exercise without hints', qr/docs\/exercises\.md has no hints/, 0,
        {}, 'hint3');
    spew("$tree/build/exercises.hints/01", "what?\n");
    passes('a spoilt count', qr/^hint 1 of 3/, {}, 'hint1');
    # No file can grow, as on a full disk.
    my (undef, $out) = run({ dir => $tree }, 'sh', '-c',
        "{ (trap '' XFSZ; ulimit -f 0; $make hint1) 2>&1 || echo failed; } | cat");
    like($out, qr{^hint\ 2\ of\ 3.*^build/exercises\.hints/01\ cannot\ be\ written:
        .*^failed$}msx, 'a full disk: the hint, and one line');
    is(slurp("$tree/build/exercises.hints/01"), "1\n", 'a full disk: the count stays');
}

# --- diff and solution ---

spew($mine, text(1, '    return 41;'));
{
    my $out = passes('diff', qr{\A---\ exercises/01_first\.cu\b.*\n
        \+\+\+\ solutions/01_first\.cu\b.*\n\@\@}x, {}, 'diff1');
    is(join('', grep { /^[-+] / } split /^/, $out), "-    return 41;\n"
        . "+    /* As the sources say. */\n+    return 42;\n",
        'diff: from mine to the solution');
    spew($mine, "\xef\xbb\xbf" . crlf(text(1, $solved)) =~ s/\r\n\z//r);
    passes('no difference',
        qr{\Aexercises/01_first\.cu is the same as solutions/01_first\.cu\.\n\z},
        {}, 'diff1');
    $out = passes('solution', qr/^To compare with yours: make diff1$/m, {},
        'solution1');
    my $line = 1 + (() = (split /\/\* TODO/, slurp($mine))[0] =~ /\n/g);
    is($out, "solutions/01_first.cu, from line $line:\n    /* TODO: return 42. */\n"
        . "$solved\n    /* END TODO */\n\nTo compare with yours: make diff1\n",
        'solution: the region, with its comment');
    move("$tree/solutions/01_first.cu", "$tree/away");
    refuses("$_ without a solution", qr{solutions/01_first\.cu is missing$}, 0,
        {}, "${_}1") for qw(diff solution);
    passes('no solution is needed', qr/^exercise 1 is done/m, {}, 'exercise1');
    move("$tree/away", "$tree/solutions/01_first.cu");
}

# --- reset ---

{
    my $original = text(1, $unsolved);
    my @versions = map { text(1, "    return $_;") } 1 .. 3;
    $versions[1] = crlf($versions[1]);
    for my $i (0 .. 2) {
        spew($mine, $versions[$i]);
        my $kept = 'build/kept/01_first-' . ($i + 1) . '.cu';
        passes("reset $i", qr{\Aexercises/01_first\.cu\ is\ as\ git\ has\ it;\ your
            \ version\ is\ in\ \Q$kept\E\.\n\z}x, {}, 'reset1');
        is(slurp($mine), $original, "reset $i: as git has it");
        is(slurp("$tree/$kept"), $versions[$i], "reset $i: mine is kept");
    }
    unlink "$tree/build/kept/01_first-1.cu";
    passes('unchanged', qr/\A\S+ is as git has it; nothing was changed\.\n\z/,
        {}, 'reset1');
    spew($mine, "other\n");
    git($tree, 'add', 'exercises/01_first.cu');
    passes('changed and added to the index', qr/01_first-4\.cu\.$/m, {}, 'reset1');
    is(slurp("$tree/build/kept/01_first-2.cu"), $versions[1],
        'what was kept is not touched');
    is(git($tree, 'status', '--porcelain', 'exercises/01_first.cu'), '',
        'git sees no change');
    unlink $mine;
    passes('reset of a missing file', qr/\A\S+ is as git has it\.\n\z/, {},
        'reset1');
    is(slurp($mine), $original, 'reset of a missing file: it is back');

    spew($mine, "mine\n");
    move("$tree/build/kept", "$tree/build/exercises.kept");
    spew("$tree/build/kept", "in the way\n");
    refuses('nowhere to keep it', qr/could not be kept .* nothing was changed$/,
        1, {}, 'reset1');
    is(slurp($mine), "mine\n", 'nowhere to keep it: nothing was changed');
    unlink "$tree/build/kept";
    move("$tree/build/exercises.kept", "$tree/build/kept");
    passes('clean', qr/^/, {}, 'clean');
    ok(-e "$tree/build/kept/01_first-2.cu", 'clean leaves what was kept');
    is(record('02'), 1, 'clean leaves what is done');
    is(scalar(grep { -d } glob "$tree/build/cpu-*"), 0, 'clean cleans');
}

# --- without git ---

{
    my $checkout = $tree;
    $tree = course("a b'c\"d%e\$f\xc3\xa9", 1);
    spew("$tree/exercises/02_second.c", text(2, $solved));
    refuses('reset outside of a checkout',
        qr/^reset needs a git checkout, .* nothing was changed$/, 0, {}, 'reset2');
    is(slurp("$tree/exercises/02_second.c"), text(2, $solved),
        'reset outside of a checkout: nothing was changed');
    ok(!-e "$tree/build/kept", 'reset outside of a checkout: keeps nothing');
    # The page that it names has a command; after that, it works.
    my ($command) = slurp("$root/docs/running.md") =~ /^(git init .*)$/m;
    is((run({ dir => $tree, env => { HOME => $tmp } }, 'sh', '-c', $command))[0],
        0, 'an archive becomes a checkout');
    spew("$tree/exercises/02_second.c", text(2, $unsolved));
    passes('reset there', qr/second\.c is as git has it;/, {}, 'reset2');
    # Of a tree that is somebody else's, git has something to say.
    refuses('reset in the tree of another user',
        qr/^nothing was changed$/, 1,
        { env => { GIT_TEST_ASSUME_DIFFERENT_OWNER => 1 } }, 'reset2');
    remove_tree("$tree/.git");
    passes('a path with spaces, quotes and signs', qr/^exercise 2 is done; next: .*03_third/m,
        { dir => '/' }, '-C', $tree, 'exercise2');
    refuses('such a path, .cu', qr/^exercise 1: not done yet/, 0, {},
        'exercise1');
    passes('progress outside of a checkout', qr{\A\ 1\ \ first\ +not\ done\n
        \ 2\ \ second\ +done\n\ 3\ \ third\ +not\ done\n\[\#--\]\ 1\ of\ 3}x, {},
        'progress');
    # In a repository that is somebody else's, and knows nothing of this.
    git(dirname($tree), 'init', '-q');
    refuses('reset in a foreign repository', qr/^git has no committed \S+second/,
        0, {}, 'reset2');
    passes('progress in a foreign repository', qr/\A 1  first +not done\n/, {},
        'progress');
    # Another file of the same number is not the exercise.
    spew("$tree/exercises/03_copy.cu", "mine\n");
    refuses('a copy beside it', qr/^exercise 3: not done yet/, 0, {}, 'exercise3');
    $tree = $checkout;
}

# --- watch ---

my $watched = "$tmp/watched";
spew($watched, '');

# Starts make watch1, or another, in a group of its own, as a terminal does.
sub start_watch {
    my ($target) = @_;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    POSIX::setpgid(0, 0);
    chdir $tree or die;
    open STDIN,  '<', '/dev/null' or die;
    open STDOUT, '>', $watched or die;
    open STDERR, '>&', \*STDOUT or die;
    alarm 3600;
    exec $make, $target;
}

# Waits until the output has $count runs that ended, and of the last one a text.
# There are $more where a file was seen half-written.
my $more = 0;
sub wait_for {
    my ($name, $count, $pattern) = @_;
    my @runs;
    wait_until(sub {
        (undef, @runs) = split /^--- [\d:]{8}\n/m, slurp($watched);
        return @runs >= $count + $more && $runs[-1] =~ /Ctrl-C ends\)$/m;
    });
    is(scalar @runs, $count + $more, "watch, $name: run $count");
    like($runs[-1] // '', $pattern, "watch, $name: what it says");
}

spew($mine, text(1, $unsolved));
my $watch = start_watch('watch1');
wait_for('at first', 1, qr/^exercise 1: not done yet/m);
{
    my $began = time;
    open my $out, '>', $mine or die;    # in place, in two pieces
    my ($begin, $end) = text(1, $solved) =~ /\A(.{100})(.*)\z/s;
    print $out $begin;
    $out->flush;
    sleep 0.1;
    print $out $end;
    close $out;
    # A piece that stands for 0.3 s is a file, too: on a busy machine it may.
    if (time - $began > 0.25) {
        my $done = qr/^exercise 1 is done;(?s:.*)Ctrl-C ends\)$/m;
        wait_until(sub { slurp($watched) =~ $done });
        $more = (() = slurp($watched) =~ /^--- /mg) - 2;
    }
}
wait_for('saved in place', 2, qr/^exercise 1 is done; /m);
spew("$mine.new", crlf(text(1, '    return 43;')));
rename $mine, "$mine~";
sleep 1.2;
rename "$mine.new", $mine;
wait_for('saved by renaming, away for a second', 3, qr/the answer is 43$/m);
spew("$mine.new", text(1, '    return 44'));
rename "$mine.new", $mine;
wait_for('renamed over it', 4, qr/^exercise 1: it does not compile/m);
sleep 1;
wait_for('nothing saved', 4, qr/^exercise 1: it does not compile/m);
unlike(slurp($watched), qr/\e\[[0-9;]*[JH]|\ec/, 'watch clears nothing');
spew($mine, stubborn(1));
wait_until(sub { 2 == (my @both = pids()) });
kill INT => -$watch;
waitpid $watch, 0;
wait_until(sub { !kill(0, -$watch) }); # long before the time limit
is(kill(0, -$watch), 0, 'watch, interrupted: leaves nothing of its group');
leaves_nothing('watch, interrupted');
# Where make was asleep until the shell's nap was over, it wonders.
like(slurp($watched) =~ s/^make: (?:\*\*\* )?wait: .*\n//mr,
    qr{^build     exercises/01_first\.cu\n\n\z}m,
    'watch, interrupted: without a mess');
is(scalar(grep { /^\?\?/ && !/~$/ } split /\n/,
    git($tree, 'status', '--porcelain')), 0, 'watch leaves no files');

# Without a number it goes on, and ends with the last.
spew($mine, text(1, $unsolved));
spew("$tree/exercises/02_second.c", text(2, $unsolved));
$more = 0;
spew($watched, '');
$watch = start_watch('watch');
wait_for('the path', 1, qr/^exercise 2: not done yet/m);
spew("$mine.new", text(2, $solved));
rename "$mine.new", "$tree/exercises/02_second.c";
wait_for('the next one', 3, qr/^exercise 1: not done yet/m);
spew("$mine.new", text(1, $solved));
rename "$mine.new", $mine;
waitpid $watch, 0;
is($?, 0, 'watch, the last one done: it ends');
like(slurp($watched), qr/exercise 1 is done; all exercises are done\nYou can .*\n\z/,
    'and says what comes after');
spew("$tree/docs/exercises.md", $listed);
passes('nothing is left', qr/^all exercises are done\nYou can .*\n\z/m, {},
    '-s', $_) for qw(exercise watch);

# --- make ptxK ---

# nvcc as a path with a space, or as words; under each awk.
spew("$tmp/a b/nvcc", <<'END_SH', 0755);
#!/bin/sh
case " $* " in *'  '*) exit 1 ;; esac
while [ "$1" != -o ]; do shift; done
printf '.visible .entry _Z3dotPf(\n)\n{\n    ld.x;\n    atom.add.f16 %%r;\n}\n' > "$2"
END_SH
for ([mawk => "$tmp/a b/nvcc"], [gawk => "'$tmp/a b/nvcc' -ccbin g++"],
    ['original-awk', "$tmp/a b/nvcc"], [busybox => "$tmp/a\\ b/nvcc -O1"]) {
    my ($awk, $words) = @$_;
  SKIP: {
        my $path = which($awk);
        skip "there is no $awk here", 1 if !$path;
        make_path("$tmp/$awk.bin");
        symlink $path, "$tmp/$awk.bin/awk";
        my @said = run({ dir => $tree, env => { PATH => "$tmp/$awk.bin:$ENV{PATH}",
            NVCC => $words } }, qw(sh tools/inside.sh ptx sm_90 some.cu));
        is("@said", "0 ptx for sm_90, from some.cu\n\ndot\n      ld.x;\n"
            . ">     atom.add.f16 %r;\n ", "ptx: $awk, NVCC=$words");
    }
}

# --- other compilers ---

spew($mine, text(1, $solved));
SKIP: {
    skip_or_fail('there is no clang here') if !which('clang');
    passes('CC=clang', qr/^exercise 1 is done/m, {}, 'CC=clang', 'exercise1');
}
SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my @cuda = ('BACKEND=cuda', has_gpu() ? () : 'ARCH=sm_90');
    passes('C with BACKEND=cuda', qr/^exercise 2 is done/m, {}, @cuda,
        'exercise2');
    if (has_gpu()) {
        passes('BACKEND=cuda', qr/^exercise 1 is done/m, {}, @cuda, 'exercise1');
    } else {
        refuses('BACKEND=cuda without a GPU', qr/^exercise 1: /, 0, {}, @cuda,
            'exercise1');
    }
    spew($mine, text(1, '    return 42'));
    my (undef, $err) = refuses('a compile error of nvcc',
        qr/^exercise 1: it does not compile/, 1, {}, @cuda, 'exercise1');
    like($err, qr{^exercises/01_first\.cu\(\d+\): error}m,
        'a compile error of nvcc: the file and the line');
}

done_testing();
