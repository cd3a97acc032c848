#!/usr/bin/env perl
# Lesson 10, rows added without an atomic: what it prints and how it ends, its
# options and CSV, faults planted in it, and that its sums use no atomic on
# halves in what nvcc makes of it. On the backend of BACKEND, in a copy.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my @small = qw(--n 3000 --width 8 --table 5000 --runs 1);
my @patterns = qw(uniform zipf one);

# [what, from, to]: each must end with status 1, or with a fault in the kernel.
my @mutants = (
    ['no fault', '', ''],
    ['an index outside of the table is counted', '(int)target_row(s, i), slot',
        '(int)(i < s.rows ? s.index[i] : -1), slot'],
    ['two targets share a slot', 'owns = target >= 0 && owner[slot] == target',
        'owns = target >= 0'],
    ['the places in use are not reset', '        w.used[i] = 0;',
        '        w.used[i] += 0;'],
    ['targets overlap', 'w.targets[target].at = at + taken[use];',
        'w.targets[target].at = at;'],
    ['a piece too few', '(rows - 1) / PIECE + 1', 'rows / PIECE'],
    ['a cold row is lost', 'w.cold[t.at + number] = p;',
        "{\n            if (number != 1)\n                w.cold[t.at + number] = p;\n        }"],
    ['a hot row is lost', '[(long long)t.at * PIECE + number] = p.row;',
        '[(long long)t.at * PIECE + number / 2] = p.row;'],
    ['counts are not reset', 'w.targets[target].rows = 0;',
        'w.targets[target].rows += 0;'],
    ['sums are not reset', "        sum[k] = 0;\n", "        sum[k] += 0;\n"],
    ['the last of eight loads is lost', 'if (t + a >= terms)',
        'if (t + a >= terms || a == AHEAD - 1)'],
    ['a list ends with its 32 places', 'j < 2; j++', 'j < 1; j++'],
    ['the table is left out of hot sums',
        'add_eight(sum, load_term(s, table, group));', '(void)table;'],
    ['sums in float', 'sum[2 * k] += (double)__half2float(__low2half(',
        'sum[2 * k] = (float)sum[2 * k] + __half2float(__low2half('],
    ['the last piece is not the last', '+ rows < p.rows)', '+ rows <= p.rows)'],
    ['each piece is the last', '+ rows < p.rows)', '+ rows < 1)'],
    ['NaN and infinities are lost', 'if (coarse != 0)',
        'if (is_finite && coarse != 0)'],
    ['only the rest is added', 'take_double(&low[k * s.groups]) +',
        'take_double(&low[k * s.groups]) + 0 *'],
    ['the count of a merge stays', 'atomicExch(done, 0u);', ''],
    ['the sums of a merge stay', '(unsigned long long *)sum, 0ULL)',
        '(unsigned long long *)sum, *(unsigned long long *)sum)'],
    ['a skew one off', '8 * group - t.skew)', '8 * group - t.skew + 1)'],
    ['one half past a row', 'column + k < width)', 'column + k <= width)'],
    ['a half before a row', 'if (column + k >= 0 &&', 'if (column + k >= -1 &&'],
);
@mutants = some_of(@mutants);
my @programs = build_planted(map { my ($what, @edit) = @$_;
    [$what, 'v9_rows', @edit] } @mutants);
my @results = run_jobs(map { [$_, @small, '--again', 3] } @programs);
for my $i (1 .. $#mutants) {
    my ($status, $out, $err) = @{ $results[$i] };
    ok($status == 1 || $status == 3, "$mutants[$i][0]: found")
        or diag("status $status\n$out$err");
    like($out, qr/WRONG$|NOT the same bits$/m, "$mutants[$i][0]: it says so")
        if $status == 1;
    like($err, qr/\(error 7\d\d, /, "$mutants[$i][0]: a fault") if $status == 3;
}

# --- the report, of the program without a fault ---

my $lesson = $programs[0];
{
    my ($status, $out, $err) = @{ $results[0] };
    is("$status$err", '0', 'exit 0, nothing on stderr') or diag($out);
    my @label = $out =~ /^([a-z]+) /mg;
    is("@label", "lesson device checks work @patterns result", 'the labels');
    my $report = read_report($out =~ s/^( {10}) +/$1/mgr);
    is($report->{checks}[0], '120 small scatters bit for bit: odd rows, odd '
        . 'addresses, NaN, infinities, indices outside the table: ok', 'checks');
    is($report->{result}[0],
        'every sum exact, rounded once, nothing else touched: ok', 'the result');
    for my $pattern (@patterns) {
        my ($rows) = grep { /^rows / } @{ $report->{$pattern} };
        my (undef, undef, undef, $worst, $wrong) = split ' ', $rows;
        is($wrong, 0, "$pattern: no half that is not exact");
        cmp_ok($worst =~ s/%//r, '<=', 100 * 2**-11 + 0.0005,
            "$pattern: the error of one rounding");
        is($report->{$pattern}[-1],
            '3 more runs, on three grids: the same bits', "$pattern: again");
    }
    for ([0, qr/^(?!.*more run)/s], [1, qr/^ +1 more run: the same bits$/m],
        [2, qr/^ +2 more runs: the same bits$/m]) {
        my ($more, $says) = @$_;
        ($status, $out) = run($lesson, @small, '--index', 'one', '--again',
            $more);
        like($out, $says, "--again $more");
    }
}

# --- options and CSV ---

{
    my ($status, $out, $err) = run($lesson, '--help');
    my @listed = $out =~ /^  (--\w+)/mg;
    is("$status @listed", '0 --n --width --table --offset --index --again '
        . '--runs --csv --help', '--help: all options');
    for (['--again', '-1', '--again takes a whole number from 0 to 1000000'],
        ['--index', 'two', '--index takes all\|uniform\|zipf\|one'],
        ['--n', 0, '--n takes a whole number from 1']) {
        my ($option, $value, $says) = @$_;
        ($status, $out, $err) = run($lesson, $option, $value);
        is("$status $out", '2 ', "$option $value: exit 2");
        one_line($err, qr/^lesson\d+: $says.*, not "\Q$value\E"/,
            "$option $value: one line says why");
    }
    ($status, $out, $err) = run($lesson, '--n', '2^29', '--width', '2^20');
    is($status, 3, 'more than the memory holds: exit 3');
    one_line($err, qr/needs \d+\.\d GiB .*; try a smaller --n, --width or --table$/,
        'and one line says how much');
    ($status, $out, $err) = run($lesson, '--csv', @small, '--again', 0);
    my ($header, @rows) = split /\n/, $out;
    is("$status$header", '0gpu,arch,toolkit,lesson,variant,indices,rows,width,'
        . 'table_rows,min_ms,median_ms,ns_per_row,worst_error,wrong,how,source',
        '--csv: the header');
    is(join(' ', map { join ',', (split /,/)[4 .. 8] } @rows), join(' ',
        map { ("v9_atomic,$_,3000,8,5000", "v9_rows,$_,3000,8,5000") }
            @patterns), '--csv: the rows');
}

# --- what nvcc makes of it ---

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my ($compiled) = compile_kept($nvcc, 'lessons/v9_rows/v9_rows.cu');
    is(join('', @$compiled), '0', 'compiles without a warning');
    my $ptx = kept_ptx('v9_rows', 90);
    my %atomics = map { $_ => atomics('ptx', kernel_text('ptx', $_, $ptx)) }
        qw(place_rows add_cold add_hot add_atomically);
    is("$atomics{place_rows}$atomics{add_cold}", '',
        'PTX: no atomic in place_rows and add_cold');
    like($atomics{add_hot}, qr/f64/, 'PTX: add_hot merges in double');
    unlike($atomics{add_hot}, qr/f16/, 'PTX: and adds no half');
    like($atomics{add_atomically}, qr/f16/, 'the look finds a half');
}

done_testing();
