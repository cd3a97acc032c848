#!/usr/bin/env perl
# What the lessons print and how they end: values, labels, options, CSV, wrong
# sums. On the backend of BACKEND (default auto), in a copy of the tree.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my ($tree, $backend) = build_lessons(qw(lesson1 lesson2 lesson3));

sub lesson {
    my ($number, @options) = @_;
    return run({ dir => $tree }, "./lesson$number", @options);
}

# --- adding in half, with whole numbers ---

is(bits_of(round_to_half(3 << 12, 12)), 3, 'a subnormal has its own bits');
is(round_to_half(5, 1),  2, 'a tie goes to even, down');
is(round_to_half(7, 1),  4, 'a tie goes to even, up');
is(round_to_half(2049, 0), 2048, '12 bits do not fit');
is(sprintf('%04x', bits_of(32 << 24)), '5000', '32 is 0x5000');

my $pair = round_to_half(2 * $product, 0);
is(value_of($product), '0.00999451', 'the product that is added');

my @single = sums($product, 100_001);
my @paired = sums($pair,    50_001);
is(value_of($single[-1]), '32', 'the sum of products freezes at 32');
is(value_of($paired[-1]), '64', 'the sum of pairs freezes at 64');

# --- the report ---

my @label = qw(lesson device work result time);

# The report of `./lessonNUMBER OPTIONS` has the labels in their order at the
# left, the text from column 11, and says the sum UNITS and "ok".
sub check_report {
    my ($number, $units, $n, @options) = @_;
    my $name = "lesson $number @options";
    my ($status, $out, $err) = lesson($number, @options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr");
    my $report = read_report($out);
    is_deeply($report->{unreadable}, undef, "$name: every line has a label");
    my @order = grep { my $l = $_; grep { $l eq $_ } @label }
        $out =~ /^([a-z]+) /mg;
    shift @order while @order > 1 && $order[0] eq $order[1];
    my $seen = join ' ', @order;
    $seen =~ s/\bresult result\b/result/;
    is($seen, "@label", "$name: the labels, in order");
    my @odd = grep { !/^lesson \d  v/ && !/^.{9} \S/ } split /\n/, $out;
    is("@odd", '', "$name: the text begins at column 11");
    my $hex = sprintf '0x%04x', bits_of($units);
    my $value = value_of($units);
    my $line = qr/^\Q$value\E  $hex  \(ulp [\d.e-]+\)   expected \Q$value\E: ok/;
    my @results = grep { /expected/ } @{ $report->{result} };
    is(scalar @results, $number == 2 ? 2 : 1, "$name: how many sums");
    like($_, $line, "$name: $value, $hex, ok") for @results;
    like($report->{work}[0], qr/^\Q$n\E adds /, "$name: the work");
    return $report;
}

my @title = (
    undef,
    'v0_half: one 2-byte atomicAdd per thread',
    'v1_pack2: one half2 atomicAdd per thread',
    'v2_fastadd: one fast add per thread',
);
my $ms = qr/\d+(?:\.\d+)?(?:e[+-]\d+)?/;
my @default = (undef, 32 << 24, 64 << 24, 32 << 24);
for my $number (1 .. 3) {
    my $report = check_report($number, $default[$number], 33554432);
    is($report->{lesson}[0], "$number  $title[$number]", 'the first line');
    like($report->{device}[0],
        $backend eq 'cpu'
        ? qr/^CPU emulation \(.*\d threads?\): the times are this CPU's/
        : qr/^\S.*, sm_\d+, CUDA \d+\.\d+\z/,
        "lesson $number: the device");
    like($report->{result}[-1],
        qr/^frozen: adding \S+ to $_ rounds back to $_; .*sum is 335360\z/,
        "lesson $number: frozen at $_")
        for value_of($default[$number]);
    like($report->{time}[0], qr{
        ^$ms\ ms,\ the\ smallest\ of\ the\ last\ 5\ of\ 7\ runs\ 
        \(median\ $ms,\ spread\ [\d.]+%\);\ $ms\ ns\ per\ add\z}x,
        "lesson $number: the time");
}

# --- small sums ---

for my $n (1, 2, 3, 255, 256, 257, 1000, 2798, 2799, 100_001) {
    for my $number (1, 3) {
        my $report = check_report($number, $single[$n], $n, '--n', $n,
            '--runs', 1);
        my $frozen = round_to_half($single[$n] + $product, 0) == $single[$n];
        like($report->{result}[1], $frozen ? qr/^frozen: / : qr/^not frozen/,
            "lesson $number --n $n: whether it is frozen");
        like($report->{time}[0], qr/^$ms ms, one run; $ms ns per add\z/,
            "lesson $number --n $n: one run");
    }
    check_report(2, $paired[$n / 2], $n, '--n', $n, '--runs', 1)
        if $n % 2 == 0;
}
check_report(2, $paired[50_001], 100_002, '--n', 100_002, '--runs', 1);
check_report(2, $paired[500], 1000, '--n', 1000, '--runs', 2,
    '--offset', $_) for 0, 2, 6, 1024;
check_report(1, 32 << 24, 1048576, '--n', '2^20', '--runs', 3);
check_report(3, 32 << 24, 1048576, '--n', '2^20', '--runs', 1,
    '--pad', 'minus');

# --- lesson 1: --plain ---

{
    my $n = 300_000;
    my $report = check_report(1, $single[-1], $n, '--n', $n, '--plain',
        '--runs', 1);
    my ($threads, $arrived, $lost, $percent) = $report->{plain}[0] =~
        /^c = c \+ 1 by (\d+) threads: (\d+) arrived, (\d+) lost \(([\d.]+)%\)/;
    is($threads, $n, '--plain: n threads');
    is(($arrived // 0) + ($lost // 0), $n, '--plain: arrived and lost are n');
    cmp_ok($arrived, '>=', 1, '--plain: at least one arrived');
    cmp_ok(abs($percent - 100 * $lost / $n), '<=', 0.0051,
        '--plain: the percentage');
    is($report->{plain}[1], "atomicAdd(c, 1): $n arrived, 0 lost",
        '--plain: the atomic count loses none');
}

# --- lesson 3: --pad and the checks ---

for my $case (
    ['minus', 4090, ')',             '-0', '-', 'ok'],
    ['plus',  4092, ', and -0 to +0)', 'no longer -0', '+', 'damaged'],
) {
    my ($pad, $changed, $what, $after, $sign, $verdict) = @$case;
    my $report = check_report(3, $single[1000], 1000, '--n', 1000,
        '--runs', 3, '--pad', $pad);
    is($report->{checks}[0],
        '92 targets, 72 by half2 and 20 alone in their slot: ok',
        "--pad $pad: the targets");
    is($report->{checks}[1], "131072 neighbours, $changed of them changed "
            . "(NaN payloads$what: ok", "--pad $pad: the neighbours");
    is($report->{neighbour}[0],
        "-0 before, $after after adding {sum, ${sign}0}: $verdict",
        "--pad $pad: the neighbour of the sum");
}

# --- CSV ---

for my $case (
    [1, 'v0_half',         1000, value_of($single[1000])],
    [2, 'v1_pack2',        1000, value_of($paired[500]), '--offset', 2],
    [3, 'v2_fastadd',      1000, value_of($single[1000])],
    [3, 'v2_fastadd_plus', 1000, value_of($single[1000]), '--pad', 'plus'],
    [1, 'v0_half',         1000, value_of($single[1000]), '--plain'],
) {
    my ($number, $variant, $n, $value, @more) = @$case;
    my @options = ('--n', $n, @more);
    my $name = "lesson $number --csv @options";
    my ($status, $out, $err) = lesson($number, @options, '--csv');
    is("$status$err", '0', "$name: exit 0, nothing on stderr");
    my @lines = split /\n/, $out;
    is(scalar @lines, 2, "$name: a header and one row");
    is($lines[0], join(',', @columns), "$name: the header");
    my @fields = split /,/, $lines[1] // '', -1;
    is(scalar @fields, scalar @columns, "$name: as many fields as columns");
    my %row;
    @row{@columns} = @fields;
    is("@row{qw(lesson variant n result)}", "$number $variant $n $value",
        "$name: lesson, variant, n, result");
    like($row{$_}, qr/^$ms\z/, "$name: $_ is a number")
        for qw(min_ms median_ms ns_per_add);
    cmp_ok($row{min_ms}, '<=', $row{median_ms}, "$name: smallest and median");
    cmp_ok(abs($row{ns_per_add} - $row{min_ms} * 1e6 / $n), '<=',
        1e-3 * $row{ns_per_add}, "$name: ns_per_add is min_ms over n");
    like($row{how}, qr/^(?:events|CPU clock): smallest of the last 5 of 7 runs\z/,
        "$name: how");
    is($row{source}, 'this repository', "$name: source");

    ($status, $out) = lesson($number, @options, '--runs', 1);
    my $device = read_report($out)->{device}[0];
    my $expected = $backend eq 'cpu'
        ? "$row{gpu}: the times are this CPU's, not a GPU's"
        : join ', ', @row{qw(gpu arch toolkit)};
    is($device, $expected, "$name: the device is the report's");
    is($row{arch} eq 'cpu' ? 'cpu' : 'cuda', $backend, "$name: arch");
}

# --- options ---

my @options = (undef, [qw(--n --plain)], [qw(--n --offset)], [qw(--n --pad)]);
for my $number (1 .. 3) {
    my ($status, $out, $err) = lesson($number, '--help');
    is("$status$err", '0', "lesson $number --help: exit 0");
    like($out, qr/^lesson $number  \Q$title[$number]\E\n\nusage: lesson/,
        "lesson $number --help: the lesson and the usage");
    my @listed = $out =~ /^  (--\w+)/mg;
    is("@listed", "@{ $options[$number] } --runs --csv --help",
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
my @bad = ('ten', '5x', '1e6', '', ' 5', '+5', '-1', '0', '0x10', '2^',
    '2^x', '2^63', '2^-1', '549755813633', '9223372036854775807',
    '9223372036854775808', '99999999999999999999', '1.5', '--csv');
for my $number (1 .. 3) {
    check_refused($number, '--n takes a whole number from \d+ to \d+.*not "'
        . quotemeta($_) . '"', '--n', $_) for @bad;
    check_refused($number, '--runs takes .* 1 to 1000', '--runs', $_)
        for '0', '-1', '1001', 'x', '';
    check_refused($number, '--(n|runs) needs a value', @$_)
        for ['--n'], ['--csv', '--n'], ['--n', '4', '--runs'];
    check_refused($number, 'unknown option "' . quotemeta($_) . '"', $_)
        for '--n=5', '--foo', '-n', '-h', 'x', '', '--', '--N', '--plainly';
    check_refused($number, 'unknown option', '--n', 4, '--csv', '5');
}
check_refused(1, '--plain counts in 32 bits', '--plain', '--n', '2^32');
check_refused(2, 'from 2 to', '--n', 1);
check_refused(2, '--n must be even: .*the last element would be lost',
    '--n', $_) for 3, 33554433;
check_refused(2, '--offset must be even: .*error 716', '--offset', $_)
    for 1, 3, 1023;
check_refused(2, '--offset takes .* from 0 to 1024', '--offset', $_)
    for '-2', '1025', '1026', 'x', '', '2^11';
check_refused(2, '--offset needs a value', '--offset');
check_refused(3, '--pad takes minus\|plus, not "' . quotemeta($_) . '"',
    '--pad', $_) for 'foo', '', 'min', 'minusplus', 'minus|plus', 'Plus', '|';
check_refused(3, '--pad needs a value', '--pad');

# --- more than the memory holds ---

for my $number (1 .. 3) {
    for my $csv ([], ['--csv']) {
        my $name = "lesson $number --n 2^38 @$csv";
        my ($status, $out, $err) = lesson($number, '--n', '2^38', @$csv);
        is($status, 3, "$name: exit 3");
        one_line($err, qr/needs 1024\.0 GiB .* are free; try a smaller --n/,
            "$name: one line says how much");
        unlike($out, qr/^(work|checks|result|time|gpu,)/m,
            "$name: before any work");
    }
}

# --- where it prints to ---

# What is printed must arrive: else one line and status 3.
sub check_writes {
    my ($program, @options) = @_;
    my ($name) = $program =~ m{(\w+)\z};
    for my $to (-c '/dev/full' ? '/dev/full' : (), '&-') {
        my ($status, $out, $err) = run({ dir => $tree }, 'sh', '-c',
            "exec \"\$@\" >$to", 'sh', $program, @options);
        is($status, 3, "$name @options >$to: exit 3");
        one_line($err, qr/^$name: standard output: \w/, 'in one line');
    }
}
my @short = qw(--n 1000 --runs 1);
check_writes('./lesson1', @$_) for [@short], [@short, '--csv'], ['--help'];
SKIP: {
    skip 'exercises without make: in emulation', 1 if $backend ne 'cpu';
    my @cc = split ' ', $ENV{CC} // 'cc';
    run(@cc, cpu_flags(), '-O1', '-o', "$tmp/banks", 'solutions/15_banks.c',
        cpu_runtime('BACKEND=cpu'), '-lm');
    check_writes("$tmp/banks");
}
my @mains = grep { slurp("$root/$_") =~ /^int main\(/m }
    files_of(qr/\.(cu|c)\z/, qw(lessons exercises solutions tools));
cmp_ok(scalar @mains, '>', 40, 'there are programs');
# A program with its headers begins so, or, where it stands alone, looks itself.
sub whole_text {
    my ($file) = @_;
    my $text = slurp("$root/$file");
    my ($folder) = $file =~ m{(.*/)};
    return join '', $text, map { slurp("$root/$folder$_") }
        grep { -e "$root/$folder$_" } $text =~ /^#include "(.*)"/mg;
}
# One that prints nothing has nothing to look for.
sub may_print {
    return slurp("$root/$_[0]") =~ /^#include "|\b(?:printf|put\w+|fwrite)\(/m;
}
is(join(' ', grep { may_print($_) && whole_text($_) !~
    /^    (?:lesson|exercise)_begin\(|fflush\(stdout\) != 0/m } @mains), '',
    'each begins with what checks that');
is(join(' ', grep { !may_print($_) } @mains), 'tools/limits.c', 'or is silent');

# In a narrow terminal lines are broken at spaces.
SKIP: {
    skip_or_fail('no script, which makes a terminal') if !which('script');
    my $long = 'lesson3 --help; ./lesson1 --n 2^38; ./lesson1 --n 2^18 --runs 300';
    my $narrow = in_terminal($tree, 80, "./$long");
    is(join("\n", grep { length > 80 } split /\n/, $narrow), '',
        '80 columns: no line is wider');
    like($narrow, qr/^time .*\n {10}\S.* ns per add$/m, 'the rest is indented');
    unlike($narrow, qr/[\r\e]/, 'TERM=dumb: no control characters');
    like(in_terminal($tree, 100, './lesson1 --n 2^18 --runs 10'),
        qr/^time .{70,} ns per add$/m, '100 columns: a line stays one');
}

# --- faults planted in the lessons ---

# Copies of the lessons, each with one fault, become the lessons of a second
# tree: [what, source lesson, options, from, to, exit status, stderr].
my $v2_check = qr/^lesson\d+: the fast add is wrong; not timed$/m;
my @mutants = (
    ['a wrong index', 'v0_half', [qw(--n 1000)],
        '+ threadIdx.x;', '+ threadIdx.x + 1;', 1,
        qr/^lesson\d+: the sum is 0x\w+, expected 0x\w+$/m],
    ['an element added twice', 'v0_half', [qw(--n 1000)],
        "    atomicAdd(c, sum);\n", '    atomicAdd(c, sum);'
        . " if (threadIdx.x == 7) atomicAdd(c, sum);\n", 1,
        qr/^lesson\d+: the sum is 0x\w+, expected 0x\w+$/m],
    ['one half only', 'v1_pack2', [qw(--n 1000)],
        '__halves2half2(sum, sum)', '__halves2half2(sum, __float2half_rn(0))',
        1, qr/^lesson\d+: the sum is 0x0000, expected 0x\w+, high half$/m],
    ['no fault', 'v2_fastadd', [qw(--n 1000)], '', '', 0, qr/\A\z/],
    ["the index's parity", 'v2_fastadd', [],
        '((size_t)target & 2) != 0', '(index & 1) != 0', 3,
        qr/misaligned address/],
    ['index <= length', 'v2_fastadd', [],
        '!is_high && index + 1 < length', '!is_high && index <= length', 1,
        $v2_check],
    ['one past the last element', 'v2_fastadd', [],
        '&& index + 1 < length)', '&& index + 1 <= length)', 1, $v2_check],
    ['index < length - 1 in unsigned', 'v2_fastadd', [],
        '!is_high && index + 1 < length',
        '!is_high && (unsigned long long)index < '
            . '(unsigned long long)length - 1', 1, $v2_check],
    ['no guard at the first element', 'v2_fastadd', [],
        'is_high && index > 0', 'is_high', 1, $v2_check],
    ['a pad of +0 for -0', 'v2_fastadd', [],
        '__halves2half2(value, pad)',
        '__halves2half2(value, __float2half_rn(0))', 1, $v2_check],
    ['the lanes swapped', 'v2_fastadd', [],
        '__halves2half2(value, pad)', '__halves2half2(pad, value)', 1,
        $v2_check],
    ['the lanes of the high half swapped', 'v2_fastadd', [],
        '__halves2half2(pad, value)', '__halves2half2(value, pad)', 1,
        $v2_check],
    ['never by half2', 'v2_fastadd', [],
        '!is_high && index + 1 < length', '0 * is_high', 1, $v2_check],
);
@mutants = some_of(@mutants);
my @programs = build_planted(map { [@$_[0, 1, 3, 4]] } @mutants);
for my $i (0 .. $#mutants) {
    my ($what, $name, $options, undef, undef, $exit, $said) = @{ $mutants[$i] };
    my ($status, $out, $err) = run($programs[$i], @$options);
    is($status, $exit, "$name with $what: exit $exit");
    like($err, $said, "$name with $what: stderr says so");
    if ($exit == 0) {
        like($out, qr/^result .*: ok$/m, "$name with $what: ok");
    } elsif ($name eq 'v2_fastadd') {
        like($out, qr/^(checks|) .*WRONG$/m, "$name with $what: WRONG")
            if $exit == 1;
        unlike($out, qr/^(work|result|time)/m,
            "$name with $what: nothing is timed");
    } else {
        like($out, qr/^result .*: WRONG/m, "$name with $what: WRONG");
    }
}

# --- no GPU ---

SKIP: {
    skip_or_fail('there is no nvcc here') if !find_nvcc();
    my $arch = has_gpu() ? [] : ['ARCH=sm_90'];
    my ($status, $out, $err) = run({ dir => $tree }, $make, 'BACKEND=cuda',
        @$arch, 'lesson1');
    is($status, 0, 'BACKEND=cuda builds without a GPU') or diag($err);
    my @ways = ({ CUDA_VISIBLE_DEVICES => '' });
    push @ways, {} if !has_gpu();
    for my $env (@ways) {
        my $name = %$env ? 'CUDA_VISIBLE_DEVICES=' : 'no GPU';
        ($status, $out, $err) = run({ dir => $tree, env => $env },
            './lesson1', '--n', 1000);
        is($status, 3, "$name: exit 3");
        unlike($out, qr/^(work|result|time)/m, "$name: no result");
        like($err, qr/^\S*device\.h:\d+: cudaGetDeviceCount.*\(error \d+, cuda/m,
            "$name: stderr names the call and the error");
        like($err, qr/^try: `make BACKEND=cpu lesson1` /m,
            "$name: stderr says what to do");
        is(scalar(split /\n/, $err), 2, "$name: in two lines");
    }
}

done_testing();
