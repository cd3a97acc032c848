#!/usr/bin/env perl
# Lessons 4 and 5, the storm of tries: what they print and how they end, the
# sums, options, CSV, single cases, seeds, and faults planted in them. On the
# backend of BACKEND (default auto), in a copy of the tree; seeds and counts
# that can be foretold only in emulation.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my ($tree, $backend) = build_lessons(qw(lesson4 lesson5));
my $cpu = $backend eq 'cpu';

sub lesson {
    my ($number, @options) = @_;
    return run({ dir => $tree }, "./lesson$number", @options);
}

my @single = sums($product, 20_000);
my ($moving) = grep { $single[$_ + 1] == $single[$_] } 0 .. $#single - 1;
is(value_of($single[$moving]), '32', "$moving adds move the sum, up to 32");

# --- the report ---

my @title = ('v3_cas: the loop behind lesson 1, written by hand',
    'v4_storm: keep the sum moving, or let it freeze');

# Runs a lesson that must be right, with these labels: its report.
my %printed;    # without options
sub check_report {
    my ($number, $labels, @options) = @_;
    my $name = "lesson $number @options";
    my ($status, $out, $err) = lesson($number, @options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr") or diag($out);
    $printed{$number} = $out if !@options;
    my @label = $out =~ /^([a-z]\w*) /mg;
    is("@label", $labels, "$name: the labels, in order");
    my @odd = grep { !/^lesson \d  v/ && !/^\w+ +\S/ && !/^ {10} *\S/ }
        split /\n/, $out;
    is("@odd", '', "$name: every line has a label or belongs to one");
    my $report = read_report($out =~ s/^( {10}) +/$1/mgr);
    is($report->{lesson}[0], "$number  $title[$number - 4]",
        "$name: the title");
    my @device = @{ $report->{device} };
    if ($cpu) {
        like($device[0],
            qr/^CPU emulation \(.*\d threads?\): the times are this CPU's/,
            "$name: the device");
        like($device[1], qr/^the counts below come from a model .*seed \d/,
            "$name: it says that this is a model");
    } else {
        like("@device", qr/^\S.*, sm_\d+, CUDA \d+\.\d+\z/,
            "$name: the device");
    }
    is($report->{result}[-1], 'all sums as expected: ok', "$name: the result");
    unlike($out, qr/WRONG|\bnan\b|\binf\b(?!, the)/, "$name: nothing is wrong");
    return $report;
}

# The rows of a table as lists of columns; a title may come first, and rows that
# would take too long are left out.
sub rows_of {
    my ($report, $label) = @_;
    my @rows = map { [split] } grep { /^[\d.^]+ +\d/ && !/ left out: / }
        @{ $report->{$label} };
    $_->[0] =~ s/^2\^(\d+)\z/2**$1/e for @rows;
    return @rows;
}

is(join(' ', map { @$_ } rows_of({ count => ['a count', '2^12   4096   2.4   7.5',
    '2^18   262144 left out: up to 5758 ms per launch'] }, 'count')),
    '4096 4096 2.4 7.5', 'rows that are left out have no figures');

my $all_right = '300 adds: NaN ends, subnormals stay, 65504 + 16 is inf, '
    . 'the other half survives: ok';
my $lesson4 = 'lesson device checks work result';
{
    my $report = check_report(4, $lesson4);
    is("@{ $report->{checks} }", $all_right, 'lesson 4: the checks');
    is($report->{work}[0], 'adds of 0.00999451 to one half, one per thread',
        'lesson 4: the work');
    my @rows = rows_of($report, 'work');
    my @sizes = map { ($cpu ? 1 << 10 : 1 << 16) << 2 * $_ } 0 .. 2;
    is(join(' ', map { "$_->[0]:$_->[1]" } @rows),
        join(' ', map { my $s = $_; map { "$s:$_" } @sizes } 0, 32),
        'lesson 4: two starts, three sizes');
    for my $row (@rows) {
        my ($start, $n, @rest) = @$row;
        is(pop @rest, 'ok', "lesson 4, $n adds from $start: ok");
        my @tries = splice @rest, $cpu ? -1 : -2;
        is(scalar @rest, $cpu ? 0 : 4, "lesson 4, $n from $start: "
            . ($cpu ? 'no times, and no tries of the 2-byte swap' : 'times'));
        if ($start == 32) {
            is($_, '1.00', "lesson 4, $n from 32: one try") for @tries;
        } else {
            cmp_ok($_, '>', 10, "lesson 4, $n from 0: many tries") for @tries;
        }
    }
}

my $lesson5 = 'lesson device ' . ($cpu ? '' : 'predicted ')
    . 'moving frozen account threads alternate count result';
my @rows5;
{
    my $report = check_report(5, $lesson5);
    is($report->{moving}[0],
        "0.00999451 to a sum from 0: $moving adds move it",
        'lesson 5: how many adds move the sum');
    my %rows = map { $_ => [rows_of($report, $_)] }
        qw(moving frozen threads alternate count);
    @rows5 = map { @{ $rows{$_} } } qw(moving frozen threads alternate count);
    cmp_ok(scalar @{ $rows{$_} }, '>=', $cpu ? 3 : 1, "lesson 5, $_: rows")
        for sort keys %rows;
    is($_->[-1], '1.00', "lesson 5, frozen, $_->[0] adds: one try")
        for @{ $rows{frozen} };
    for my $table (qw(moving threads alternate count)) {
        for my $row (grep { $_->[-1] ne '-' } @{ $rows{$table} }) {
            cmp_ok($row->[-1], '>', 1.1,
                "lesson 5, $table, $row->[0] adds: more than one try");
        }
    }
    my @threads = @{ $rows{threads} };
    for my $i (1 .. $#threads) {
        cmp_ok($threads[$i][1], '>', $threads[$i - 1][1],
            "lesson 5, threads: $threads[$i][1] in flight are more");
        cmp_ok($threads[$i][-1], '>', $threads[$i - 1][-1],
            'and so are their tries') if $cpu;
    }
    cmp_ok($threads[-1][-1], '>', $threads[0][-1],
        'lesson 5, threads: most tries with all in flight');
    if ($cpu) {
        is(join(' ', map { $_->[1] } @threads), '256 512 768 1024',
            'lesson 5, threads: one to four blocks of 256');
        my ($n, $in_flight, $tries) = @{ $rows{moving}[-1] };
        my ($k) = $report->{account}[0] =~
            /^k = ([\d.]+), from .*: the model's, not a GPU's\z/;
        cmp_ok(abs($k - ($tries - 1) * $n / ($moving * $in_flight)), '<', 0.006,
            "lesson 5: k is $k, as computed from the last moving row");
    } else {
        like($report->{predicted}[0], qr{^v0/v2 = [\d.]+ \([\d.]+ to [\d.]+\)},
            'lesson 5: the prediction comes first');
        like($report->{account}[0], qr/^t_cas [\d.]+ ns and t_add [\d.]+ ns/,
            'lesson 5: the prices');
    }
}

# --- single cases of lesson 5 ---

# The tries of one case, and the threads in flight.
sub case_of {
    my (@options) = @_;
    my $report = check_report(5, 'lesson device case result', @options);
    my ($row) = rows_of($report, 'case');
    return ($row->[-1], $row->[1], $row->[0]);
}

# What the pages show of the emulation is what it prints, and no times.
for my $number ($cpu ? (4, 5) : ()) {
    my $out = $printed{$number};
    my $kept = slurp("$root/results/cpu/lesson$number.txt");
    $out =~ s/^device .*emulation \K\(.*\d threads?\)/(…)/m;
    is($out, $kept, "lesson $number: results/cpu/lesson$number.txt is fresh");
    unlike($kept, qr/\d (?:ms|ns)\b| ms$/m, 'and holds no times');
}

# k as lesson 5 has it: from the last row of its table, which is a case, too.
if ($cpu) {
    my @k = map {
        my $out = (lesson(5, '--csv', '--n', 1 << 14, '--seed', $_))[1];
        my ($in_flight, $n, $tries) =
            (split /,/, (split /\n/, $out)[1])[7, 8, 12];
        sprintf '%.2f', ($tries - 1) * $n / ($moving * $in_flight);
    } 2, 3, 7;
    my $said = "With the seeds 2, 3 and 7 it is $k[0], $k[1] and $k[2].";
    like(slurp("$root/lessons/v4_storm/README.md") =~ s/\s+/ /gr, qr/\Q$said\E/,
        "lesson 5's page: $said");
}

my $n = $cpu ? 2000 : 1 << 16;
{
    is((case_of('--n', $n, '--start', 32))[0], '1.00', 'from 32: one try');
    my ($beside) = case_of('--n', $n, '--start', 32, '--neighbour');
    cmp_ok($beside, '>', 1.5, 'from 32 beside a neighbour that moves: more');
    my ($from_0) = case_of('--n', $n, '--start', 0);
    my ($constant) = case_of('--n', $n, '--addends', 'constant');
    cmp_ok($from_0, '>', 1.5, 'from 0: more than one try');
    is($constant, $from_0, 'which is the default') if $cpu;
    for my $addends (qw(alternate count)) {
        my ($tries) = case_of('--n', $n, '--addends', $addends);
        cmp_ok($tries, '>', 1.5, "$addends: more than one try");
    }
    my $before; # on a GPU, cells in the same 32 bytes queue as one
    for my $cells (1, $cpu ? 4 : (), 16, 256) {
        my ($tries) = case_of('--n', $n, '--cells', $cells);
        cmp_ok($tries, '<', $before, "$cells cells: fewer tries than before")
            if defined $before;
        $before = $tries;
    }
    ($n) = (case_of('--start', 32))[2];
    is($n, 4096, 'a case has 2^12 adds unless told');
    my $multiprocessors = $cpu ? 1 : (case_of('--n', 2**22, '--threads', 1,
        '--start', 32))[1] / 256;
    for my $blocks (1, 2, 4) {
        my $threads = 256 * $multiprocessors * $blocks;
        for my $asked ($threads, $threads + 255) {
            my (undef, $in_flight) = case_of('--n', $cpu ? 4096 : 2**22,
                '--threads', $asked, '--start', 32);
            is($in_flight, $threads, "--threads $asked: $threads in flight");
        }
    }
    is((case_of('--n', 100, '--threads', 1024))[1], 100,
        'no more threads in flight than adds');
    is((case_of('--n', 4096, '--threads', '2^31', '--start', 32))[1], 1024,
        'no more than fit') if $cpu;
}

# --- the sums, by adding with whole numbers ---

# The lessons, made to print each sum.
{
    my ($lesson4, $lesson5) = build_planted(
        ['each sum printed', 'v3_cas', 'ok &= sum == expected;',
            'fprintf(stderr, "0x%04x\n", sum); ok &= sum == expected;'],
        ['each sum printed', 'v4_storm', 'memcpy(&count, word, sizeof count);',
            'memcpy(&count, word, sizeof count); static int n; long long moving;'
            . ' if (way != FOUR_BYTES && n++ % s->cells == 0) {'
            . ' fp16_add_up(start, PRODUCT, here, &moving); fprintf(stderr,'
            . ' "0x%04x 0x%04x %lld\n", word[0], word[1], moving); }']);
    for my $n (1, 7, 257, $moving, $moving + 1) {
        my ($status, $out, $err) = run($lesson4, '--n', $n, '--runs', 1);
        my @expected = map { sprintf '0x%04x', bits_of($_) }
            ($single[$n]) x 3, (32 << 24) x 3;
        is("$status $err", join('', '0 ', map { "$_\n" } @expected),
            "lesson 4 --n $n: three ways, two starts: the sums");
    }
    for (
        [0, 1], [0, 5000], [1, 300], [7, 300], [8, 4096], [16, 3000],
        [31, 500], [32, 10], [100, 50], [2047, 3], [65504, 10],
        [0, 1000, '--cells', 3], [8, 1001, '--cells', 3],
        [5, 50, '--cells', 100], [0, 999, '--neighbour'],
        [4, 601, '--neighbour', '--cells', 2], [3, 700, '--threads', 256],
    ) {
        my ($start, $n, @more) = @$_;
        my ($cells) = "@more" =~ /--cells (\d+)/;
        my $beside = "@more" =~ /neighbour/;
        my $adds = int(($n + ($cells || 1) - 1) / ($cells || 1));
        my $odd  = $beside ? int($adds / 2) : 0;
        my @low  = sums($product, $adds - $odd, $start << 24);
        my @high = sums($product, $odd, 0);
        my $moves = grep { $low[$_] != $low[$_ - 1] } 1 .. $#low;
        my $line = sprintf "0x%04x 0x%04x %d\n", bits_of($low[-1]),
            bits_of($high[-1]), $moves;
        my ($status, $out, $err) = run($lesson5, '--start', $start, '--n', $n,
            '--runs', 1, @more);
        is("$status $err", "0 $line$line",
            "lesson 5 --start $start --n $n @more: the sums, $moves moves");
    }
}

# --- seeds ---

SKIP: {
    skip 'seeds belong to the emulation', 1 if !$cpu;
    for (
        [4, '--n', 1200], [5, '--n', 1200], [5, '--n', 900, '--neighbour'],
        [5, '--n', 900, '--addends', 'alternate', '--cells', 2],
        [5, '--n', 900, '--addends', 'count'],
    ) {
        my ($number, @options) = @$_;
        my (%text, $name);
        for my $seed (1, 2, 1_000_000) {
            $name = "lesson $number @options --seed $seed";
            my @pools = $seed == 2 ? (1, 2, 5) : 2;
            my @results = run_jobs(map { [{ dir => $tree,
                env => { CPU_THREADS => $_ } }, "./lesson$number", @options,
                '--seed', $seed] } @pools);
            for my $i (0 .. $#pools) {
                my ($status, $out, $err) = @{ $results[$i] };
                is("$status$err", '0', "$name: right, CPU_THREADS=$pools[$i]");
                $out =~ s/; \d+ threads?\): /): /;
                $text{$seed} //= $out;
                ok($out eq $text{$seed}, "$name: the same to the byte");
            }
        }
        my ($status, $out) = lesson($number, @options);
        $out =~ s/; \d+ threads?\): /): /;
        ok($out eq $text{1}, "lesson $number @options: the seed is 1");
        my %counts = map { $_ => 1 }
            map { s/\(seed \d+\)//r } values %text;
        is(scalar keys %counts, 3, "lesson $number @options: each seed counts "
            . 'otherwise');
    }
}

# --- CSV ---

my @sweep_columns = qw(gpu arch toolkit lesson variant start cells threads n
    min_ms median_ms ns_per_add tries_per_add how source);
{
    my $documented = slurp("$root/results/README.md");
    my @unnamed = grep { $documented !~ /^\| `$_` \|/m } @sweep_columns;
    is("@unnamed", '', 'results/README.md has all columns of a sweep');
}

my $ms = qr/\d+(?:\.\d+)?(?:e[+-]\d+)?/;
sub check_csv {
    my ($number, @options) = @_;
    my $name = "lesson $number --csv @options";
    my ($status, $out, $err) = lesson($number, '--csv', @options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr");
    my ($header, @lines) = split /\n/, $out;
    is($header, join(',', @sweep_columns), "$name: the header");
    my @rows;
    for my $i (0 .. $#lines) {
        my $line = $lines[$i];
        my @fields = split /,/, $line, -1;
        my %row;
        @row{@sweep_columns} = @fields;
        my @bad = grep { ($row{$_} // '') !~ /\A$ms\z/ } qw(start cells threads
            n min_ms median_ms ns_per_add tries_per_add);
        is(@fields . "@bad", scalar @sweep_columns,
            "$name: row " . ($i + 1) . ' has its fields, and numbers');
        is("$row{lesson} $row{source}", "$number this repository",
            "$name: row " . ($i + 1) . ': the lesson, the source');
        like($row{how}, qr/^(?:events|CPU clock): smallest of the last \d of \d runs\z/,
            "$name: row " . ($i + 1) . ': how');
        is($row{arch} eq 'cpu' ? 'cpu' : 'cuda', $backend,
            "$name: row " . ($i + 1) . ': arch');
        cmp_ok(abs($row{ns_per_add} - $row{min_ms} * 1e6 / $row{n}), '<=',
            1e-3 * $row{ns_per_add}, "$name: row " . ($i + 1) . ': ns_per_add');
        push @rows, \%row;
    }
    return @rows;
}

{
    my @rows = check_csv(4, '--n', 700);
    is(join(' ', map { "$_->{variant}:$_->{start}:$_->{n}" } @rows),
        join(' ', map { my $s = $_;
            map { "v3_$_:$s:700" } qw(compiled cas32 cas16) } 0, 32),
        'lesson 4 --csv: three ways from two starts');
    is(join(' ', map { $_->{tries_per_add} > 0 ? 1 : 0 } @rows), $cpu ? '0 1 0 0 1 0' : '0 1 1 0 1 1',
        'lesson 4 --csv: tries are counted by hand');

    @rows = check_csv(5, '--n', 700, '--start', 3, '--cells', 7);
    is(join(' ', map { "$_->{variant}:$_->{start}:$_->{cells}:$_->{threads}:"
        . $_->{n} } @rows), "constant_2B:3:7:700:700 constant_4B:3:7:700:700",
        'lesson 5 --csv: one case, two rows');
    @rows = check_csv(5, '--n', 700, '--addends', 'count');
    is(join(' ', map { $_->{variant} } @rows), 'count_2B count_4B',
        'lesson 5 --csv: the variant is the addends');

    # On a GPU the time limit may leave out other rows in another run.
    @rows = check_csv(5);
    my @two = grep { $_->{variant} =~ /_2B\z/ } @rows;
    my @four = grep { $_->{variant} =~ /_4B\z/ } @rows;
    is(scalar @two, scalar @rows5, 'lesson 5 --csv: a row for each') if $cpu;
    is(scalar @four, scalar @two, 'lesson 5 --csv: of each kind');
    is(join(' ', map { "$_->{n}:$_->{threads}" } @two),
        join(' ', map { "$_->[0]:$_->[1]" } @rows5),
        'lesson 5 --csv: adds and threads are those of the report') if $cpu;
    is(join(' ', map { sprintf '%.2f', $_->{tries_per_add} } @two),
        join(' ', map { $_->[-1] } @rows5),
        'lesson 5 --csv: the tries are those of the report') if $cpu;
}

# --- tables, in a narrow terminal ---

SKIP: {
    skip_or_fail('no script, which makes a terminal') if !which('script');
    my $wide = qr/^.{81}/m;
    my ($narrow, $whole) = map { in_terminal($tree, $_, './lesson4 --n 700; '
        . './lesson5 --n 700') } 80, 100;
    unlike($narrow, $wide, '80 columns: no line is wider');
    like($whole, $wide, '100 columns: lines stay whole');
    is($narrow =~ s/\s+//gr, $whole =~ s/\s+//gr, 'which say the same') if $cpu;
}

# --- options ---

my @options = ([qw(--n --seed)],
    [qw(--n --start --addends --cells --threads --neighbour --seed)]);
for my $number (4, 5) {
    my $line = "lesson $number  $title[$number - 4]";
    my ($status, $out, $err) = lesson($number, '--help');
    is("$status$err", '0', "lesson $number --help: exit 0");
    like($out, qr/^\Q$line\E\n\nusage: lesson/,
        "lesson $number --help: the lesson and the usage");
    my @listed = $out =~ /^  (--\w+)/mg;
    is("@listed", "@{ $options[$number - 4] } --runs --csv --help",
        "lesson $number --help: all options");
    my @bare = grep { !/^  --\w+ .*\S.{9}/ } $out =~ /^  .*/mg;
    is("@bare", '', "lesson $number --help: each with what it does");
}

# Exit 2, one line on stderr that matches, nothing on stdout.
sub check_refused {
    my ($number, $pattern, @options) = @_;
    my $name = "lesson $number " . join ' ', map { "'$_'" } @options;
    my ($status, $out, $err) = lesson($number, @options);
    is("$status $out", '2 ', "$name: exit 2, nothing on stdout");
    like($err, qr/\Alesson$number: [^\n]*$pattern[^\n]*\n\z/,
        "$name: one line says why");
}
my @bad = ('ten', '5x', '', '-1', '1.5', '2^', '2^63',
    '99999999999999999999', '--csv');
my %largest = ('--n' => 2**28, '--start' => 65504, '--cells' => 2**24,
    '--threads' => 2**31, '--seed' => 1_000_000, '--runs' => 1000);
for my $number (4, 5) {
    for my $option (sort keys %largest) {
        next if $number == 4 && !grep { $_ eq $option } qw(--n --seed --runs);
        my $most = $number == 4 && $option eq '--n' ? 2**31 : $largest{$option};
        my @zero = $option eq '--start' ? () : 0;
        check_refused($number, "$option takes a whole number from \\d+ to $most"
            . '.*not "' . quotemeta($_) . '"', $option, $_)
            for @bad, @zero, $most + 1;
        check_refused($number, "$option needs a value", $option);
    }
    check_refused($number, 'unknown option "' . quotemeta($_) . '"', $_)
        for '--n=5', '--foo', '-n', 'x', '', '--', '--N', '--pad';
    check_refused($number, 'unknown option', '--n', 4, '--csv', '5');
}
check_refused(5, "--start $$_[0] is not a half; the nearest one is $$_[1]",
    '--start', $$_[0]) for [2049, 2048], [4098, 4096], [65503, 65504];
check_refused(5, '--addends takes constant\|alternate\|count, not "'
    . quotemeta($_) . '"', '--addends', $_)
    for 'foo', '', 'counts', 'coun', 'Count', 'constant|alternate', '0';
check_refused(5, '--addends needs a value', '--addends');
check_refused(5, 'unknown option "1"', '--neighbour', 1);
check_refused(4, "unknown option \"$_\"", $_)
    for qw(--start --addends --cells --threads --neighbour);

# --- faults planted in the lessons ---

# Each becomes a lesson of a second tree: what, lesson, options, from, to, and
# what the lesson says on stderr. All must end with 1 and say WRONG; but one
# does not end.
my $by_hand = 'half sum = __hadd_rn(__ushort_as_half(bits), value);';
my $cas32   = "rest | (unsigned)__half_as_ushort(sum) << shift);\n"
    . "        ++*tries;\n    } while (old != seen);";
my $counted = "rest | (unsigned)__half_as_ushort(sum) << shift);\n"
    . "        used++;\n    } while (old != seen);";
my $up = "old = atomicCAS(word, seen, seen + 1);\n        used++;\n"
    . '    } while (old != seen);';
my $ignored = sub { $_[0] =~ s/while \(old != seen\)/while (old == 1 << 30)/r };
my @mutants = (
    ['no fault', 'v3_cas', [qw(--n 300)], '', '', qr/\A\z/],
    ['the neighbour lost', 'v3_cas', [qw(--n 300)],
        'unsigned rest = old & ~(0xffffu << shift);', 'unsigned rest = 0;',
        qr/\A(?:lesson\d+: v3_cas32, .*beside 0x(?!0000)\w{4}:.*\n)+\z/],
    ['subnormals flushed', 'v3_cas', [qw(--n 300)], $by_hand,
        "$by_hand\n if ((__half_as_ushort(sum) & 0x7c00) == 0)"
        . ' sum = __ushort_as_half(__half_as_ushort(sum) & 0x8000);',
        qr/\A(?:lesson\d+: v3_cas32, .*kept, not flushed.*\n)+\z/],
    ['a wrong shift', 'v3_cas', [qw(--n 300)], '!= 0 ? 16 : 0', '!= 0 ? 8 : 0',
        qr/\A(?:lesson\d+: v3_cas32, .*\n)+\z/],
    ['the word shifted always', 'v3_cas', [qw(--n 300)], '!= 0 ? 16 : 0',
        '!= 0 ? 16 : 16', qr/\A(?:lesson\d+: v3_cas32, .*\n)+\z/],
    ['adds lost', 'v3_cas', [qw(--n 300)], $cas32, $ignored->($cas32),
        qr/\A\z/],
    ['a word that is not looked at again', 'v3_cas', [qw(--n 1)],
        'sum = __hadd_rn(__ushort_as_half(old), value);',
        'sum = __hadd_rn(__ushort_as_half(old), __ushort_as_half(0x211e));',
        qr/\A(?:lesson\d+: v3_cas16, .*\n)+\z/],
    ['no fault', 'v4_storm', [qw(--n 300 --cells 16)], '', '', qr/\A\z/],
    ['adds lost in the counted loop', 'v4_storm', [qw(--n 300)], $counted,
        $ignored->($counted), qr/\A\z/],
    ['adds lost in the count', 'v4_storm', [qw(--n 300 --addends count)], $up,
        $ignored->($up), qr/\A\z/],
    ['a wrong cell', 'v4_storm', [qw(--n 300 --cells 16)],
        'cells + 2 * (i % count)', 'cells + 2 * (i % count / 2)', qr/\A\z/],
    ['a wrong cell in the counted loop', 'v4_storm', [qw(--n 300 --cells 16)],
        '(unsigned *)cells + i % count', '(unsigned *)cells + i % count / 2',
        qr/\A\z/],
    ['a wrong cell in the count', 'v4_storm',
        [qw(--n 300 --cells 16 --addends count)],
        '*word = cells + i % count;', '*word = cells + i % count / 2;',
        qr/\A\z/],
);
# On a GPU the kernel would not end with its program.
push @mutants, ['NaN compared by value', 'v3_cas', [qw(--n 300)],
    $cas32, $cas32 =~ s/old != seen/
        __half2float(__ushort_as_half((unsigned short)(old >> shift))) !=
        __half2float(__ushort_as_half((unsigned short)(seen >> shift)))/r, undef]
    if $cpu;

@mutants = some_of(@mutants);
my @programs = build_planted(map { [@$_[0, 1, 3, 4]] } @mutants);
my @results = run_jobs(map { [$mutants[$_][5] ? ()
    : ('sh', '-c', 'ulimit -St 1 && exec "$@"', 'sh'), $programs[$_],
    @{ $mutants[$_][2] }] } 0 .. $#mutants);
for my $i (0 .. $#mutants) {
    my ($what, $name, undef, $from, undef, $said) = @{ $mutants[$i] };
    my ($status, $out, $err) = @{ $results[$i] };
    if (!$said) {
        is($status, 128 + 24, "$name with $what: ended by SIGXCPU, after a "
            . 'second of CPU time');
        unlike($out, qr/^(checks|result)/m, "$name with $what: no verdict");
        next;
    }
    my $ok = $from eq '';
    is($status, $ok ? 0 : 1, "$name with $what: exit " . ($ok ? 0 : 1));
    like($err, $said, "$name with $what: stderr");
    like($out, $ok ? qr/^result .*: ok$/m : qr/^result    WRONG$/m,
        "$name with $what: the result");
    my $verdict = $ok || $err eq '' ? 'ok' : 'WRONG';
    like($out, qr/^checks .*survives: $verdict$/m, "$name with $what: checks")
        if $name eq 'v3_cas';
}

done_testing();
