#!/usr/bin/env perl
# The exercises: as they are they compile and fail with the message that they
# promise; the solutions and other right answers pass; wrong answers fail, by what
# they print or by a race; all of them differ only in the TODO regions; the hints
# are there and do not give the answer away.
# Run: prove tests/80_exercises.t
# Takes long: make test starts it early.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename);
use File::Path qw(make_path);
use List::Util qw(uniq);
use Test::More;

chdir $root or die "$root: $!";
delete @ENV{qw(ASAN_OPTIONS UBSAN_OPTIONS)};

my @exercises = map { basename($_) } sort grep { m{/\d\d_\w+\.cu?\z} }
    glob 'exercises/*';
my @solutions = map { basename($_) } sort glob 'solutions/*';
cmp_ok(scalar @exercises, '>=', 1, 'there are exercises');
is("@exercises", "@{[map { basename($_) } sort glob 'exercises/*']}",
    'exercises/ holds exercises and nothing else');
is("@solutions", "@exercises", 'solutions/ holds the same names');
is(join(' ', map { /^0*(\d+)/ } @exercises), join(' ', 1 .. @exercises),
    'they are numbered from 1 without a gap');
@exercises = grep { -e "solutions/$_" } @exercises;

sub stem { return $_[0] =~ s/\.cu?\z//r }

# The wrong or right answers to an exercise. tests/wrong/NAME/WHAT.txt holds what
# stands in the regions, one after another, with END TODO lines between; put into
# the exercise it makes a file, whose path this returns. What comes after an
# OUTSIDE line is added before the exercise's own code. A wrong answer called
# race_… may print what a right one does: it is found as a race.
sub answers {
    my ($kind, $file) = @_;
    my @paths;
    for my $answer (sort glob "tests/$kind/" . stem($file) . '/*.txt') {
        my ($inside, $outside) = split m{^/\* OUTSIDE \*/\n}m, slurp($answer);
        my @regions = split m{^/\* END TODO \*/\n}m, $inside, -1;
        my $text = slurp("exercises/$file");
        $text =~ s{^(#include "exercise.h"\n)}{$1$outside}m if defined $outside;
        $text =~ s{^( */\* TODO:.*\n)(?s:.*?)(^ */\* END TODO \*/\n)}
            {$1 . (shift(@regions) // '') . $2}gme;
        my ($what) = $answer =~ m{([^/]+)\.txt\z};
        push @paths, "$tmp/$kind/" . stem($file) . "/$what"
            . ($file =~ /\.cu\z/ ? '.cu' : '.c');
        spew($paths[-1], $text) if !-e $paths[-1];
        fail("$answer: more regions than the exercise has") if @regions;
    }
    return @paths;
}

# --- the regions ---

# The text with all regions emptied, and what stood in them; nothing where the
# marks do not match.
sub split_regions {
    my ($text) = @_;
    my ($outside, $inside, @regions) = ('', 0);
    for my $line (split /^/, $text) {
        if ($line =~ m{/\* TODO:}) {
            return if $inside;
            $inside = 1;
            push @regions, '';
        } elsif ($line =~ m{^ *+/\* END TODO \*/$}) {
            return if !$inside;
            $inside = 0;
        } elsif ($inside) {
            $regions[-1] .= $line;
            next;
        }
        $outside .= $line;
    }
    return $inside ? () : ($outside, @regions);
}

# Why $b is no other answer to the exercise $a, or ''.
sub difference {
    my ($from, $to) = @_;
    my ($outside, @from) = split_regions($from);
    my ($other,   @to)   = split_regions($to);
    return 'the marks do not match' if !defined $outside || !defined $other;
    return 'no regions'             if !@from;
    return 'differs outside of the regions' if $outside ne $other;
    return 'does not differ'                if $from eq $to;
    return '';
}

{
    my $text = "a\n/* TODO: x. */\nb\n/* END TODO */\nc\n";
    for (
        ['b', 'B',     ''],
        ['b', 'b2',    ''],
        ['c', 'C',     'differs outside of the regions'],
        ['x', 'y',     'differs outside of the regions'],
        ['b', 'b',     'does not differ'],
        ['/\* END TODO \*/\n', '', 'the marks do not match'],
        ['b', '/* TODO: z. */', 'the marks do not match'],
    ) {
        my ($from, $to, $expected) = @$_;
        is(difference($text, $text =~ s/$from/$to/r), $expected,
            "the check of regions: $from becomes $to");
    }
}

# The headings under "Read:" that the pages there lack.
sub unread {
    my ($read) = $_[0] =~ /^ \* Read: (.*)/ms;
    my $text = join '', map { slurp(-d $_ ? "$_/README.md" : $_) }
        $read =~ m{((?:lessons|docs|results)/\w+(?:\.md)?)}g;
    return grep { my $heading = s/\s+\*?\s*/ /gr; $text !~ /^#+ \Q$heading\E$/m }
        $read =~ /"([^"]+)"/g;
}
is(join(' ', unread(' * Read: docs/gpu.md, "Warp" and "None". ')), 'None',
    'a heading that is not there is found');

my %promise;
for my $file (@exercises) {
    my $text = slurp("exercises/$file");
    my ($outside, @regions) = split_regions($text);
    ok(@regions >= 1 && @regions <= 3, "$file: one to three regions");

    my $lines = () = $text =~ /\n/g;
    ok($lines >= 40 && $lines <= 150, "$file: 40 to 150 lines")
        or diag("$lines lines");
    note("$file: $lines lines, 90 are the aim") if $lines > 90;

    my ($comment) = $text =~ m{\A/\*(.*?)\*/}s;
    $comment //= '';
    my ($number, $name) = stem($file) =~ /^(\d+)_(\w+)/;
    like($comment, qr/\A Exercise $number, $name: /, "$file: names itself");
    like($comment, qr/^ \* $_: \S/m, "$file: $_") for 'Task', 'Constraint';
    ($promise{$file}) = $comment =~ /^ \* Before you change it, it fails with: (\S.*)$/m;
    ok(defined $promise{$file}, "$file: says how it ends untouched");
    my ($page) = $comment =~ /^ \* Read: ([\w\/.]*\w)/m;
    ok(defined $page && -e $page, "$file: what to read is there");
    is(join(' ', unread($comment)), '', "$file: and has these headings");

    is(difference($text, slurp("solutions/$file")), '',
        "$file: the solution differs only in the regions");
    my (undef, @answers) = split_regions(slurp("solutions/$file"));
    my @silent = grep { !m{/\*} } @answers;
    is(scalar @silent, 0, "$file: each region of the solution says why");

    my @wrong = answers('wrong', $file);
    cmp_ok(scalar @wrong, '>=', 3, "$file: three wrong answers");
    my %seen = (slurp("solutions/$file") => 'the solution');
    for my $wrong (@wrong) {
        my $other = slurp($wrong);
        is(difference($text, $other), '',
            "$wrong: differs only in the regions");
        is($seen{$other}, undef, "$wrong: is no other answer's copy");
        $seen{$other} = $wrong;
    }
}
my %known = map { stem($_) => 1 } @exercises;
is(join(' ', grep { !$known{ basename($_) } } glob 'tests/wrong/*'), '',
    'wrong answers to exercises only');

# --- the hints ---

# The hints of exercise $number in docs/exercises.md.
sub hints_of {
    my ($page, $number) = @_;
    my ($list) = $page =~
        m{<summary>Exercise $number, .*?</summary>\n(.*?)</details>}s;
    return grep { /\S/ } map { s/\s+\z//r }
        split /^(?:[-*]|\d+\.)\s+/m, $list // '';
}

sub plain { return $_[0] =~ s/[\s`]//gr }

# The lines of the answer that stand in the hints; what the exercise itself
# shows is no secret, nor is a line that any program has.
sub given_away {
    my ($hints, $answer, $exercise) = @_;
    my $told  = plain($hints);
    my %shown = map { plain($_) => 1 } split /\n/, $exercise;
    return grep {
        my $line = plain($_);
        length $line >= 8 && !$shown{$line} && index($told, $line) >= 0
    } split /\n/, $answer;
}

# What a hint repeats of a failure: four words that follow each other.
sub repeated {
    my ($hint, $said) = @_;
    my $told = lc join ' ', '', $hint =~ /\w+/g, '';
    my @words = lc($said) =~ /\w+/g;
    return grep { index($told, " $_ ") >= 0 }
        map { join ' ', @words[$_ .. $_ + 3] } 0 .. $#words - 3;
}
is(join('; ', repeated("The sum is not\n  exact. Why?",
    'missing   half 3: the sum is not what it should be')), 'the sum is not',
    'a hint that repeats what the failure said is found');
for (
    [1, "take `sum = a +\n  b;` here", "int sum;\n", 'a line of the answer'],
    [0, 'take a sum',              "int sum;\n",      'words'],
    [0, 'take `sum = a + b;`',     "sum = a + b;\n",  'what the exercise shows'],
) {
    my ($count, $hint, $exercise, $what) = @$_;
    is(scalar given_away($hint, "    sum = a + b;\n", $exercise), $count,
        "the check of hints: $what");
}

my %hints;
my $page = -e 'docs/exercises.md' ? slurp('docs/exercises.md') : '';
for my $file (@exercises) {
    my ($number) = $file =~ /^0*(\d+)/;
    my @hints = hints_of($page, $number);
    ok(@hints >= 2 && @hints <= 4, "$file: two or three hints")
        or diag(scalar @hints, ' hints in docs/exercises.md');
    my (undef, @answers) = split_regions(slurp("solutions/$file"));
    my @given = given_away("@hints", "@answers", slurp("exercises/$file"));
    is("@given", '', "$file: the hints share no line with the solution");
    $hints{$file} = "@hints";
    like($page, qr{^\|.*\]\(\.\./exercises/\Q$file\E\).*\]\(.*\|$}m,
        "$file: is in the list of docs/exercises.md");
}

# --- building ---

# All of them: [NAME, PATH].
my %group = (
    exercise => [map { [stem($_), "exercises/$_"] } @exercises],
    solution => [map { [stem($_), "solutions/$_"] } @exercises],
    map {
        my $kind = $_;
        ($kind => [
            map { my $file = $_; map { [stem($file), $_] } answers($kind, $file) }
                @exercises
        ]);
    } qw(wrong right),
);
my @races = grep { $_->[1] =~ m{/race_} } @{ $group{wrong} };
$group{wrong} = [grep { $_->[1] !~ m{/race_} } @{ $group{wrong} }];

# Each source as plain C, once.
my %plain_c;
for ((map { @$_ } values %group), @races) {
    my ($name, $path) = @$_;
    if ($path !~ /\.cu\z/) {
        $plain_c{$path} = $path;
        next;
    }
    my ($status, $out, $err) = run('awk', '-f', 'common/cpu/launch.awk', $path);
    is("$status$err", '0', "$path: rewritten for the CPU");
    $plain_c{$path} = "$tmp/c/" . $path =~ s{/}{-}gr . '.c';
    spew($plain_c{$path}, $out);
}

# Builds each of @items with a C compiler; returns PATH => program. What does not
# build is reported here. Wrong answers may leave something unused, and need not
# be fast, but for those of exercise 6, which count for seconds.
sub build_cpu {
    my ($dir, $cc, $flags, @items) = @_;
    make_path("$tmp/$dir");
    my @make = ('BACKEND=cpu', "CC=$cc", "CFLAGS=$flags");
    my @objects = cpu_runtime(@make);
    my @command = ($cc, cpu_flags(@make), qw(-Wconversion -Werror),
        split ' ', $flags);
    # At -O0 gcc's ThreadSanitizer leaves out what copies a struct, a half.
    my $unsound = sub {
        return ('-w', $flags =~ /thread/ || $_[0] =~ /freeze/ ? () : '-O0');
    };
    # The Makefile links what launches nothing without the emulation.
    my @results = run_jobs(map {
        [@command, $_->[1] =~ /^\Q$tmp/ ? $unsound->($_->[1]) : (), '-o',
            "$tmp/$dir/" . $_->[1] =~ s{/}{-}gr, $plain_c{ $_->[1] },
            $_->[1] =~ /\.cu\z/ ? @objects : (), '-lm']
    } @items);
    return check_built("$cc $flags", $dir, \@results, @items);
}

sub build_cuda {
    my ($nvcc, $link, @items) = @_;
    make_path("$tmp/cuda");
    my @results = run_jobs(map {
        [$nvcc, @nvcc_strict, $_->[1] =~ m{/wrong/} ? qw(-diag-suppress 177) : (),
            $link ? '-arch=native' : ('-arch=sm_90', '-c'),
            '-o', "$tmp/cuda/" . $_->[1] =~ s{/}{-}gr, $_->[1]]
    } @items);
    return check_built('nvcc', 'cuda', \@results, @items);
}

# All in one file, each in a namespace, with the headers before them: a tenth of
# the time, most of which goes into CUDA's headers.
sub compile_together {
    my ($nvcc, @items) = @_;
    my @paths = map { $_->[1] } @items;
    my $text = join '', uniq(map { slurp($_) =~ /^\#include .*\n/mg } @paths);
    for (@paths) {
        my $name = s/\W/_/gr;
        $text .= "namespace $name {\n#define main main_of_$name\n"
            . "#include \"$_\"\n#undef main\n}\n";
    }
    spew("$tmp/together.cu", $text);
    my ($status, $out, $err) = run($nvcc, @nvcc_strict, "-I$root",
        '-arch=sm_90', '-c', '-o', "$tmp/together.o", "$tmp/together.cu");
    is("$status$out$err", '0', 'nvcc: all compile without a warning');
}

sub check_built {
    my ($how, $dir, $results, @items) = @_;
    my %program;
    for my $i (0 .. $#items) {
        my ($status, $out, $err) = @{ $results->[$i] };
        my $path = $items[$i][1];
        is("$status$out$err", '0', "$how: $path compiles without a warning")
            or next;
        $program{$path} = "$tmp/$dir/" . $path =~ s{/}{-}gr;
    }
    return %program;
}

# --- running ---

# Runs what was built: PATH => [status, out, err]. What does not
# end is ended by the time that it takes of a processor, however busy that is.
sub run_all {
    my (%program) = @_;
    my @paths = sort keys %program;
    my @results = run_jobs(map { [{ cpu => 300 }, $program{$_}] } @paths);
    return map { $paths[$_] => $results[$_] } 0 .. $#paths;
}

# The last line of a text, but for advice.
sub last_line {
    my @lines = grep { !/^try: / } split /\n/, $_[0];
    return $lines[-1] // '';
}

sub is_untouched {
    my ($where, $path, $status, $out, $err) = @_;
    my $text = $promise{ basename($path) } // 'nothing promised';
    ok($status == 1 || $status == 3, "$where: $path fails")
        or diag("status $status\n$out$err");
    ok(index(last_line($out) . "\n" . last_line($err), $text) >= 0,
        "$where: $path ends as promised")
        or diag("promised: $text\n$out$err");
    is(join('; ', repeated($hints{ basename($path) }, last_line($out))), '',
        "$where: $path: no hint repeats it");
}

sub is_solved {
    my ($where, $path, $status, $out, $err) = @_;
    is("$status$err", '0', "$where: $path passes") or diag($out);
    is(last_line($out), 'done      all checks hold', "$where: $path says so");
}

sub is_refused {
    my ($where, $path, $status, $out, $err) = @_;
    ok($status == 1 || $status == 3, "$where: $path fails")
        or diag("status $status\n$out$err");
    unlike($out, qr/^done/m, "$where: $path is not done");
}

sub check_all {
    my ($where, %program) = @_;
    my %result = run_all(%program);
    for my $path (sort keys %result) {
        my $check = $path =~ /^exercises/ ? \&is_untouched
            : $path =~ m{^solutions|/right/} ? \&is_solved : \&is_refused;
        $check->($where, $path, @{ $result{$path} });
    }
}

my @sound = (@{ $group{exercise} }, @{ $group{solution} });
for my $cc (qw(gcc clang)) {
  SKIP: {
        skip_unless_full('clang') if $cc eq 'clang';
        skip_or_fail("there is no $cc here") if !which($cc);
        check_all("CPU, $cc", build_cpu($cc, $cc, '-O2', @sound,
            $cc eq 'gcc' ? (some_of(@{ $group{wrong} }), @{ $group{right} }) : ()));
    }
}

# verify() does not know what is planted.
{
    my $text = slurp('exercises/10_inputs_that_hide.cu');
    $text =~ s{^    return largest > .*\n}{    return planted == SOUND;\n}m;
    spew("$tmp/planted.cu", $text);
    my (undef, $c) = run('awk', '-f', 'common/cpu/launch.awk', "$tmp/planted.cu");
    spew("$tmp/planted.c", $c);
    my ($status, undef, $err) = run('gcc', cpu_flags(), '-c', '-o',
        "$tmp/planted.o", "$tmp/planted.c");
    ok($status != 0 && $err =~ /planted/, 'verify() cannot see what is planted');
}

# --- races ---

# Answers in which blocks race are found so, as often as they are run; the
# solutions and other right answers are not.
for my $cc (qw(gcc clang)) {
  SKIP: {
        my $flags = '-O1 -g -fsanitize=thread';
        $cc eq 'clang' ? skip_unless_full('races, clang') : skip_unless_ci('races');
        skip_or_fail("$cc -fsanitize=thread does not work here")
            if !sanitizer_works($cc, 'thread', $flags);
        my %program = build_cpu("races-$cc", $cc, $flags,
            grep { $_->[1] =~ /\.cu\z/ } @races, @{ $group{solution} },
            @{ $group{right} });
        my %is_race = map { $_->[1] => 1 } @races;
        my %result = run_all(map { $_ => $program{$_} }
            grep { !$is_race{$_} } keys %program);
        for my $path (sort keys %result) {
            my ($status, $out, $err) = @{ $result{$path} };
            ok($status == 0 && $err !~ /^race/m
                && last_line($out) eq 'done      all checks hold',
                "races, $cc: $path passes") or diag("$out$err");
        }
        my $times = $full ? 10 : 2;
        for my $path (sort grep { $is_race{$_} } keys %program) {
            my @results = run_jobs(([{ cpu => 300 }, $program{$path}]) x $times);
            my $line = qr/^race      (\S+?|a line .*?)(?::\d+)?: .* of .*\(byte/m;
            my @line = map { $_->[2] =~ $line && $_->[0] == 1 ? $1 : () } @results;
            is(scalar @line, $times, "races, $cc: $path is found as often as run")
                or diag(map { "status $_->[0]\n$_->[1]$_->[2]" } @results);
            is(join(' ', uniq(@line)), $path, "races, $cc: $path is named")
                if $cc eq 'gcc';    # clang may join two lines to none
        }
    }
}

# --- nvcc, and a GPU ---

# On a GPU a race shows by what it makes of the sums, where it is hot enough:
# all of these but the ones named here, which end well there now and then.
my %by_luck = ();

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my @cuda = grep { $_->[1] =~ /\.cu\z/ } @sound;
    my $on_gpu = ($ENV{BACKEND} // '') eq 'cuda' && has_gpu();
    compile_together($nvcc, @cuda);
    push @cuda, grep { $_->[1] =~ /\.cu\z/ } @{ $group{right} },
        grep { !$by_luck{ $_->[1] =~ s{.*/wrong/|\.cu\z}{}gr } } @races
        if $on_gpu;
    skip_unless_full('nvcc: each by itself') if !$on_gpu;
    my %program = build_cuda($nvcc, $on_gpu, @cuda);
    skip 'needs an NVIDIA GPU, and BACKEND=cuda', 1 if !$on_gpu;
    check_all('GPU', %program);
}

# --- sanitizers ---

with_sanitizers(sub {
    my ($what, $cc, $sanitizer, $flags) = @_;
    return if $sanitizer eq 'thread';    # see above, races
    check_all($what, build_cpu($what =~ s/\W+/-/gr, $cc, $flags,
        @{ $group{solution} }));
});

done_testing();
