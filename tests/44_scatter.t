#!/usr/bin/env perl
# Lesson 7, rows added into a table: what it prints and how it ends, every sum
# against one made here, options, CSV, faults planted in it, and the vector adds
# in what nvcc makes of it. On the backend of BACKEND (default auto), in a copy
# of the tree.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my $source = 'lessons/v6_scatter/v6_scatter.cu';

my @variants = qw(2byte fast half2 vector grouped);
my @patterns = qw(uniform zipf one);

# --- building ---

# Lesson 7 is the lesson's number, whatever else there is.
my @lessons = sort map { s{/$}{}r } glob "\Q$root\E/lessons/v*_*/";
my ($number) = grep { $lessons[$_ - 1] =~ /v6_scatter\z/ } 1 .. @lessons;
my $target = "lesson$number";
my ($tree, $backend) = build_lessons($target);
my $cpu = $backend eq 'cpu';

sub lesson {
    return run({ dir => $tree }, "./$target", @_);
}

# --- the report ---

my $checks = '600 small scatters bit for bit: odd rows, odd addresses, '
    . 'indices outside the table: ok';

# What a row must say. Addends are evenly spread up to a power of two, and from
# 2048 times that power on halves lie two of it apart, so no add moves such a
# sum but one of grouped rows.
sub verdict_of {
    my ($hits, $exact, $variant, undef, undef, $first, undef, $bound) = @_;
    my $most = 2 ** sprintf('%.0f', log(2 * $exact / $hits) / log(2));
    return 'frozen'
        if $first >= 2048 * $most && $variant ne 'grouped';
    return $bound =~ s/%//r >= 100 ? 'no bound' : 'ok';
}

# Runs the lesson, which must be right: per pattern its first line and its rows.
sub check_report {
    my (@options) = @_;
    my $name = "@options";
    my ($only) = $name =~ /--index (\w+)/;
    my @shown = $only && $only ne 'all' ? $only : @patterns;
    my ($status, $out, $err) = lesson(@options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr") or diag($out);
    my @label = $out =~ /^([a-z]\w*) /mg;
    is("@label", "lesson device checks work @shown result",
        "$name: the labels, in order");
    my $report = read_report($out =~ s/^( {10}) +/$1/mgr);
    is($report->{unreadable}, undef, "$name: every line has a label");
    is($report->{lesson}[0],
        '7  v6_scatter: the gradient of an embedding, row by row',
        "$name: the first line");
    is($report->{checks}[0], $checks, "$name: the checks");
    my %said;
    my %found = (work => $report->{work}[0]);
    for my $pattern (@shown) {
        my ($first, $head, @rows) = @{ $report->{$pattern} };
        my %row = map { my @f = split; ($f[0], \@f) } grep { /%/ } @rows;
        is(join(' ', sort keys %row), join(' ', sort @variants),
            "$name, $pattern: a row for each variant");
        my ($touched, $hits, $exact) = $first =~ 
            /^(\d+) rows .* hottest one (\d+) times; .* be ([\d.e+-]+)\z/;
        for my $row (values %row) {
            my $verdict = verdict_of($hits, $exact, @$row);
            is("@$row[6 .. $#$row]", $verdict,
                "$name, $pattern: $row->[0] is $verdict");
            $said{$verdict}++;
        }
        $found{$pattern} = { touched => $touched, hits => $hits,
            exact => $exact, row => \%row,
            frozen => scalar grep { /^frozen/ } @rows };
    }
    my ($froze, $no_bound) = map { $_ // 0 } @said{'frozen', 'no bound'};
    is($report->{result}[0],
        'all sums within their bounds, nothing else touched: ok'
            . ($froze + $no_bound == 0 ? '' : '; of ' . @variants * @shown
                . " rows, $froze froze and $no_bound have no bound"),
        "$name: the result");
    $found{said} = \%said;
    return \%found;
}

{
    my $found = check_report('--runs', 2);
    is("$found->{said}{frozen} $found->{said}{'no bound'}", $cpu ? '4 1' : '8 2',
        'sums that froze, or that any error is allowed, are not called ok');
    my ($n, $width, $table) = $cpu ? (8192, 96, 6282) : (65536, 768, 50257);
    is($found->{work}, "$n rows of $width halves are added to a table of "
        . "$table rows", 'the default work');
    # Within five standard deviations of what each distribution promises.
    my $touched = $table * (1 - exp($n * log(1 - 1 / $table)));
    cmp_ok(abs($found->{uniform}{touched} - $touched), '<',
        5 * sqrt($touched), 'uniform: as many rows are hit as should be');
    my $share = 0;
    $share += 1 / $_ for 1 .. $table;
    $share = 1 / $share;
    cmp_ok(abs($found->{zipf}{hits} - $n * $share), '<',
        5 * sqrt($n * $share), 'zipf: the hottest row has its share');
    is("$found->{one}{touched} $found->{one}{hits}", "1 $n",
        'one: one row has all');
    # The mean is a half, and the deviation of one is 0.289.
    cmp_ok(abs($found->{one}{exact} - $n / 2), '<', 5 * 0.289 * sqrt($n),
        'one: the exact sum');
    my %one = %{ $found->{one}{row} };
    is($one{$_}[3], 2048, "one: $_ freezes at 2048")
        for qw(2byte fast half2 vector);
    is($found->{one}{frozen}, 1, 'one: the report says so');
    is($found->{uniform}{frozen}, 0, 'uniform: nothing is frozen');
    my ($sum) = $found->{one}{exact};
    cmp_ok(abs($one{grouped}[3] - $sum), '<', 0.02 * $sum,
        'one: grouping misses the freeze');
}

# --- options ---

check_report('--n', 1, '--table', 1, '--width', 1, '--runs', 1);
check_report('--n', 129, '--table', 3, '--width', 8, '--runs', 1, '--index',
    $_) for 'all', @patterns;
{
    my $found = check_report('--n', '2^17', '--width', 3, '--table', 5,
        '--runs', 1, '--index', 'one');
    cmp_ok($found->{one}{exact}, '<', 40000, 'many rows do not overflow');
    my ($status, $out) = lesson('--help');
    is($status, 0, '--help: exit 0');
    my @listed = $out =~ /^  (--\w+)/mg;
    is("@listed", '--n --width --table --offset --index --runs --csv --help',
        '--help: all options');
}

# Exit 2, one line on stderr that matches, nothing on stdout.
sub check_refused {
    my ($pattern, @options) = @_;
    my $name = join ' ', map { "'$_'" } @options;
    my ($status, $out, $err) = lesson(@options);
    is("$status $out", '2 ', "$name: exit 2, nothing on stdout");
    like($err, qr/\A$target: [^\n]*$pattern[^\n]*\n\z/,
        "$name: one line says why");
}
for my $option (qw(--n --width --table)) {
    check_refused("$option takes a whole number from 1 to \\d+.*not \"\Q$_\E\"",
        $option, $_) for '0', '-1', 'ten', '1e3', '', '2^63';
    check_refused("$option needs a value", $option);
}
check_refused('--n takes .* to 536870912', '--n', 536870913);
check_refused('--width takes .* to 1048576', '--width', 1048577);
check_refused('--table takes .* to 2147483647', '--table', '2^31');
check_refused('--offset takes .* from 0 to 1024', '--offset', $_)
    for '-1', '1025', 'x';
check_refused('--index takes all\|uniform\|zipf\|one, not "two"', '--index',
    'two');
check_refused('unknown option "--bad"', '--bad');

{
    my ($status, $out, $err) = lesson('--table', '2^31', '--width', 8);
    is($status, 2, 'a table that is too long is refused');
    ($status, $out, $err) = lesson('--n', '2^29', '--width', '2^20');
    is($status, 3, 'more than the memory holds: exit 3');
    one_line($err, qr/needs \d+\.\d GiB .* are free; try a smaller --n, --width or --table$/,
        'more than the memory holds: one line says how much');
    unlike($out, qr/^(work|result)/m, 'before any work');
}

# --- CSV ---

{
    my @columns = qw(gpu arch toolkit lesson variant indices rows width
        table_rows min_ms median_ms ns_per_row worst_error bound how source);
    my ($status, $out, $err) = lesson('--csv', '--n', 200, '--width', 9,
        '--table', 11, '--runs', 3);
    is("$status$err", '0', '--csv: exit 0, nothing on stderr');
    my ($header, @lines) = split /\n/, $out;
    is($header, join(',', @columns), '--csv: the header');
    my @names = map { my $p = $_; map { "v6_$_ $p" } @variants } @patterns;
    is(join("\n", map { join ' ', (split /,/)[4, 5] } @lines),
        join("\n", @names), '--csv: the rows');
    for my $line (@lines) {
        my %row;
        @row{@columns} = split /,/, $line, -1;
        my $name = "--csv, $row{variant} $row{indices}";
        is("@row{qw(lesson rows width table_rows source)}",
            '7 200 9 11 this repository', "$name: the work");
        is($row{arch} eq 'cpu' ? 'cpu' : 'cuda', $backend, "$name: arch");
        cmp_ok($row{worst_error}, '<=', $row{bound}, "$name: within bounds");
        cmp_ok($row{min_ms}, '<=', $row{median_ms}, "$name: min and median");
        cmp_ok(abs($row{ns_per_row} - $row{min_ms} * 1e6 / 200), '<=',
            1e-3 * $row{ns_per_row}, "$name: ns_per_row");
        like($row{how}, qr/^(?:events|CPU clock): smallest of the last 1 of 3 runs\z/,
            "$name: how");
    }
}

# --- faults planted in the lesson ---

# The calls of half_atomics.h, and the header with a pad of +0.
my $pairs = 'half_atomic_add2(s.table, (size_t)(row * s.width + column),
                         length_of(s),';
my $eights = 'half_atomic_add8(s.table, (size_t)(row * s.width + column),
                         length_of(s),';
my $grouped = 'half_atomic_add8(s.table, (size_t)at, length_of(s),';
my $plus = slurp("$root/include/half_atomics.h")
    =~ s/MINUS_ZERO = 0x8000/MINUS_ZERO = 0/r;

# [what, from, to]: each must end with status 1, or with a fault in the kernel.
my @mutants = (
    ['no fault', '', ''],
    ['negative indices let through', 'return row >= 0 && row <', 'return row <'],
    ['indices past the end let through', 'return row >= 0 && row < s.table_rows',
        'return row >= 0 && row < s.table_rows + 1'],
    ['rows past the last', 'i < s.rows ? s.index[i] : -1',
        's.index[i < s.rows ? i : 0]'],
    ['a pad of +0', ': __ushort_as_half(MINUS_ZERO);',
        ': __ushort_as_half(0);'],
    ['a pad of +0 in fast', '#include "half_atomics.h"', $plus],
    ['sums that start at +0', 'sum[k] = -0.0f; /*', 'sum[k] = 0.0f; /*'],
    ['one half twice',
        'load_half(row, width, column + 1));', 'load_half(row, width, column));'],
    ['a row that goes on', 'column + 1 < width && ((size_t)(row + column) & 3)',
        'column < width && ((size_t)(row + column) & 3)'],
    ['the last half of an odd table lost', $pairs,
        $pairs =~ s/length_of\(s\)/length_of(s) - 1/r],
    ['the first half of an odd table lost', $pairs,
        $pairs =~ s/\(size_t\)/(unsigned)/r],
    ['pairs past the table', $pairs,
        $pairs =~ s/length_of\(s\)/length_of(s) + 1/r],
    ['eights past the table', $eights,
        $eights =~ s/length_of\(s\)/length_of(s) + 8/r],
    ['eights before the table', $eights, $eights =~ s/s\.table, /s.table - 8, 8 + /r
        =~ s/length_of\(s\)/length_of(s) + 8/r],
    ['grouped eights past the table', $grouped,
        $grouped =~ s/length_of\(s\)/length_of(s) + 8/r],
    ['grouped eights before the table', $grouped,
        $grouped =~ s/s\.table, /s.table - 8, 8 + /r
        =~ s/length_of\(s\)/length_of(s) + 8/r],
    ['a group too few', '(s->width + 14) / 8', '(s->width + 7) / 8'],
    ['ties in the sort', 'target[me] + (k < me)', 'target[me] + 0'],
    ['a sort that starts too late', 'for (k = 0; k < GROUP_ROWS; k++)',
        'for (k = 1; k < GROUP_ROWS; k++)'],
    # On a GPU these may go well.
    $cpu ? ['no barrier before the sort', "__syncthreads();\n    sort_rows",
        'sort_rows'] : (),
    $cpu ? ['no barrier behind the sort', "__syncthreads();\n    for (group",
        'for (group'] : (),
    ['the last sums of a slice lost',
        "    if (row >= 0)\n        flush_sums(s, row, group, sum);\n}", '}'],
    ['sums that are never cleared', 'sum[k] = -0.0f; /*', 'sum[k] += 0.0f; /*'],
    ['aligned for all', 's->width % 8 == 0;', 's->width > 0;'],
);
@mutants = some_of(@mutants);
my @programs = build_planted(map { my ($what, @edit) = @$_;
    [$what, 'v6_scatter', @edit] } @mutants);
my @results = run_jobs(map { [$_, '--n', 700, '--width', 20, '--table', 30,
    '--runs', 1] } @programs);
for my $i (0 .. $#mutants) {
    my ($status, $out, $err) = @{ $results[$i] };
    my $what = $mutants[$i][0];
    if ($i == 0) {
        is("$status$err", '0', "$what: exit 0");
        next;
    }
    ok($status == 1 || $status == 3, "$what: found")
        or diag("status $status\n$out$err");
    like($out, qr/WRONG$/m, "$what: WRONG") if $status == 1;
    like($err, qr/\(error 7\d\d, /, "$what: a fault") if $status == 3;
}

# --- the sums, made here ---

# A copy of the lesson that prints its indices, its gradient (in 1/2048) and
# what each variant made of the table.
{
    my ($program) = build_planted(['printed sums', 'v6_scatter',
        'if (!check_small())', 'if (0 && !check_small())',
        "    f.ok = rest_is_untouched(p);\n", <<'END']);
    f.ok = rest_is_untouched(p);
    for (row = 0; row < p->s.rows; row++)
        fprintf(stderr, "%lld ", p->index[row]);
    for (row = 0; row < p->s.rows * width; row++)
        fprintf(stderr, "%g ", 2048 * fp16_to_double(p->gradient[row]));
    for (row = 0; row < p->s.table_rows * width; row++)
        fprintf(stderr, "%d ", p->result[p->before + row]);
    fprintf(stderr, "\n");
END
    my @cases = map { my $w = $_; map { [$w, $_, 300, 41] } 0, 1, 3 }
        1, 2, 3, 7, 8, 9;
    for my $case (@cases, [24, 0, 300, 41], [768, 0, 30, 7], [768, 5, 30, 7]) {
        my ($width, $offset, $n, $table) = @$case;
        my ($status, $out, $err) = run($program,
            '--width', $width, '--offset', $offset, '--n', $n, '--table',
            $table, '--runs', 1);
        is($status, 0, "width $width, offset $offset: exit 0") or diag($out);
        my @lines = split /\n/, $err;
        is(scalar @lines, @patterns * @variants, 'a line for each variant');
        my (@sum, @adds);
        for my $i (0 .. $#lines) {
            my $variant = $variants[$i % @variants];
            my @numbers = split ' ', $lines[$i];
            my @index = splice @numbers, 0, $n;
            my @gradient = splice @numbers, 0, $n * $width;
            @sum = @adds = () if $i % @variants == 0;
            for my $row ($i % @variants == 0 ? 0 .. $n - 1 : ()) {
                $adds[$index[$row]]++;
                $sum[$index[$row] * $width + $_] += $gradient[$row * $width + $_]
                    for 0 .. $width - 1;
            }
            my $wrong = @numbers != $table * $width;
            for my $at (0 .. $table * $width - 1) {
                my $m = $adds[int($at / $width)];
                if (!$m) {
                    $wrong ||= $numbers[$at] != 0x8000;
                    next;
                }
                my $units = $sum[$at] << 13;    # of 2^-24
                my $right = bits_of(round_to_half($units, 0));
                # Halves of one sign are in the order of their bits, and m - 1
                # roundings move a sum by no more than as many steps, and one
                # step more where it passes a power of two.
                my $steps = $m <= 2 ? 0 : $m;
                $wrong ||= abs($numbers[$at] - $right) > $steps;
            }
            ok(!$wrong, "width $width, offset $offset, "
                . "$patterns[$i / @variants], $variant: every sum");
        }
    }
}

# --- what nvcc makes of it ---

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my ($compiled) = compile_kept($nvcc, $source);
    is(join('', @$compiled), '0', 'compiles without a warning');

    my $red = qr/red\.global\.add\.noftz\.f16x2/;
    my $vector = qr/red\.global\.add\.noftz\.v4\.f16x2/;
    for my $arch (75, 90) {
        my $ptx = kept_ptx('v6_scatter', $arch);
        for my $kernel (qw(vector grouped)) {
            my $text = kernel_text('ptx', "scatter_$kernel", $ptx);
            $arch == 90
                ? like($text, $vector, "PTX, sm_90, $kernel: the vector add")
                : unlike($text, $vector, "PTX, sm_75, $kernel: no vector add");
        }
        my $text = kernel_text('ptx', 'scatter_half2', $ptx);
        like($text, $red, "PTX, sm_$arch, half2: one RED a pair");
        unlike($text, $vector, "PTX, sm_$arch, half2: no vector add");
        like($ptx, $arch == 90 ? $vector : $red,
            "PTX, sm_$arch: eight halves");
    }

    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');
    for my $arch (75, 90) {
        my ($status, $out, $err) = disassemble('v6_scatter', $arch);
        is($status, 0, "SASS for sm_$arch: can be read") or diag($err);
        my %text = map { $_ => kernel_text('sass', "scatter_$_", $out) }
            qw(vector grouped half2 2byte);
        my $eight = qr/\bREDG?\.E\.ADD\.F16x8\.RN\b/;
        my $pair  = qr/\bREDG?\.E\.ADD\.F16x2\.RN\b/;
        for my $kernel (qw(vector grouped)) {
            like($text{$kernel}, $pair, "SASS, sm_$arch, $kernel: pairs");
            $arch == 90
                ? like($text{$kernel}, $eight, "SASS, sm_90, $kernel: eights")
                : unlike($text{$kernel}, qr/F16x8/,
                    "SASS, sm_80, $kernel: no eights");
            like($text{$kernel}, qr/\bLDG\.E\.\S*128\b/,
                "SASS, sm_$arch, $kernel: 16-byte loads");
            unlike($text{$kernel}, qr/\b(?:LDL|STL)\b/,
                "SASS, sm_$arch, $kernel: no local memory");
        }
        like($text{half2}, $pair, "SASS, sm_$arch, half2: RED");
        unlike($text{half2}, qr/\bATOMG?\.E\.ADD\.F16x2/,
            "SASS, sm_$arch, half2: no ATOM");
        like($text{'2byte'}, qr/\bATOMG?\.E\.CAS\b/,
            "SASS, sm_$arch, 2byte: a loop");
        unlike($text{'2byte'}, qr/F16x2/, "SASS, sm_$arch, 2byte: no F16x2");
    }
}

done_testing();
