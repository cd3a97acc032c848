#!/usr/bin/env perl
# Lesson 6, the inner product: what it prints and how it ends, its sums and
# their errors, each element counted once on every alignment, options, CSV,
# faults planted in it, its machine code. On the backend of BACKEND (default
# auto), in a copy of the tree.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Path qw(make_path);
use Test::More;

my ($tree, $backend) = build_lessons('lesson6');
my $cpu = $backend eq 'cpu';

sub lesson {
    my (@options) = @_;
    return run({ dir => $tree, seconds => 120 }, './lesson6', @options);
}

# --- what must come out ---

my $term = (1638 / 2**14)**2;    # the product of two halves of 0.1, exactly

sub to_float { return unpack 'f', pack 'f', $_[0] }

# All sums of a float cell after 0, 1, 2, … LAST adds of $term, and of a half
# cell after parts of 256 terms.
my $last = 2**20;
my @in_float = (0);
my $float_term = to_float($term);
$in_float[$_] = to_float($in_float[-1] + $float_term) for 1 .. $last;
my $part   = round_to_half(1638 * 1638 * 256, 4);
my @single = sums($product, 10_000);
my @parts  = sums($part, 10_000);
is(value_of($parts[-1]), '8192', 'half partial sums stop at 8192');
is(value_of($single[-1]), '32', 'and single products at 32');
{
    my ($sum, $adds) = (2**18 - 1, 0);
    while (to_float($sum + $float_term) != $sum) {
        $sum = to_float($sum + $float_term);
        last if ++$adds > 1000;
    }
    is($sum, 2**18, 'a float freezes at 262144');
}

sub at { my ($n, @sums) = @_; return $n < @sums ? $sums[$n] : $sums[-1] }

# A float cell after so many sums of 256 terms, which are exact in float.
sub in_blocks {
    my ($count) = @_;
    my $sum = 0;
    $sum = to_float($sum + 256 * $term) for 1 .. $count;
    return $sum;
}

# The least and the largest sum of a step, and how far the full version may be
# off; the lesson's own bound is narrower.
my $loose = 2**-14;
sub limits {
    my ($variant, $n) = @_;
    my $exact = $n * $term;
    return map { $_ / 2**24 } (at($n, @single)) x 2
        if $variant eq 'half_a_thread';
    return ($in_float[$n]) x 2 if $variant eq 'float_a_thread';
    return map { at($_, @parts) / 2**24 } int($n / 256), int(($n + 255) / 256)
        if $variant eq 'half_a_block';
    return map { in_blocks(int(($n + $_) / 256)) } 0, 255
        if $variant eq 'float_a_block';
    return ($exact * (1 - $loose), $exact * (1 + $loose));
}

# --- the report ---

my @ladder = ('half, one per thread', 'float, one per thread', 'half, one per block',
    'float, one per block', 'full', 'full, b 2 bytes off', 'full, in order');
my @variants = qw(half_a_thread float_a_thread half_a_block float_a_block
    v5_reduce v5_reduce_shifted v5_reduce_in_order);

# Runs the lesson, which must be right: the report, and the ladder's rows as
# name => [ms, GB/s, share, sum, error, note].
sub check_report {
    my ($n, $labels, @options) = @_;
    my $name = "lesson 6 @options";
    my ($status, $out, $err) = lesson(@options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr") or diag($out);
    my @label = $out =~ /^([a-z]\w*) /mg;
    is("@label", $labels, "$name: the labels, in order");
    my $report = read_report($out =~ s/^( {10}) +/$1/mgr);
    is($report->{lesson}[0],
        '6  v5_reduce: registers, warp, block, then one atomic',
        "$name: the title");
    is($report->{result}[-1], 'all sums as expected: ok', "$name: the result");
    unlike($out, qr/WRONG|\bnan\b|\binf\b/i, "$name: nothing is wrong");
    unlike($out, qr/ $/m, "$name: no blanks at the end");
    like($report->{work}[0], qr/^$n products of 0\.1 and 0\.1 in half;/,
        "$name: the work");
    my ($sum) = $report->{work}[0] =~ / sum is (\S+)\z/;
    cmp_ok(abs($sum / ($n * $term) - 1), '<', 1e-8, "$name: the exact sum");
    my %rows;
    for (@{ $report->{work} }) {
        my $line = $_;
        my ($step) = grep { $line =~ /^\Q$_\E +\d/ } @ladder or next;
        my $rest = substr $line, length $step;
        $rows{$step} = [split ' ', $rest =~ s/%//r];
    }
    my $count = $labels =~ /bits/ ? 7 : 6;
    is(join('; ', sort keys %rows), join('; ', sort @ladder[0 .. $count - 1]),
        "$name: the steps");
    for my $i (0 .. $count - 1) {
        my ($ms, undef, undef, $sum, $error, $note) =
            @{ $rows{ $ladder[$i] } // [(0) x 5] };
        my ($low, $high) = limits($variants[$i], $n);
        ok($sum >= $low * (1 - 1e-8) && $sum <= $high * (1 + 1e-8),
            "$name: $ladder[$i]: $sum from $low to $high");
        cmp_ok(abs($error - abs($sum / ($n * $term) - 1)), '<=',
            0.06 * $error + 2e-8, "$name: $ladder[$i]: the error");
        my $frozen = $i == 0 && $n > 3000 || $i == 2 && $n > 1_048_000;
        is($note // '', $frozen ? 'frozen' : '', "$name: $ladder[$i]: frozen")
            if $n <= $last;
    }
    return ($report, %rows);
}

my $short = 'lesson device checks copy work errors result';
{
    my ($n, $most) = $cpu ? (2**20, 2**20) : (2**25, 2**28);
    $in_float[$n] = 2**18 if !$cpu;
    my ($report, %rows) = check_report($n, $short);
    like("@{ $report->{device} }", $cpu ? qr/^CPU emulation .*2\^20 elements in/
        : qr/^\S.*, sm_\d+, CUDA \d+\.\d+\z/, 'the device');
    my ($sums) = $report->{checks}[0] =~
        /^(\d+) sums of 0 to \d+ products, on all alignments/;
    cmp_ok($sums // 0, '>=', 4 * 64 * 10, "$sums sums are checked");
    my ($share) = $report->{checks}[1] =~ /error is (\S+) of its bound: ok/;
    cmp_ok($share, '<=', 1, 'the largest error is below its bound');
    cmp_ok($share, '>', 0, 'and was measured');
    my ($least, $bound) = $report->{checks}[2] =~
        /^$n products of random numbers: (\S+) of .* is (\S+) of the .*ok\z/;
    ok($least > 0 && $least <= 1 && $bound < 2**-12, 'random numbers: '
        . "$least of a bound of $bound");
    my @errors = map { [split] } grep { /^\d/ } @{ $report->{errors} };
    is(join(' ', map { $_->[0] } @errors),
        join(' ', grep { $_ <= $most } map { 4**$_ } 4 .. 14),
        'the errors: which n');
    for my $row (@errors) {
        my ($n, @error) = @$row;
        my @expected = map { abs($_ / ($n * $term) - 1) }
            at($n, @single) / 2**24, $n <= $last ? $in_float[$n] : 2**18;
        cmp_ok(abs($error[0] - $expected[0]), '<=', 0.06 * $expected[0],
            "the error of half, n = $n");
        cmp_ok(abs($error[2] - $expected[1]), '<=', 0.06 * $expected[1],
            "the error of float, n = $n") if $n <= $last || $n > 2**25;
        cmp_ok($error[3], '<=', $loose, "the full version's error, n = $n");
        cmp_ok($error[1], '>', 0.6, "bf16 is of no use, n = $n") if $n > 1000;
    }
}

my $one_n = 'lesson device checks copy work errors result';
for my $n (1, 255, 257, 4097, 30_001) {
    check_report($n, $one_n =~ s/ errors//r, '--n', $n);
}
{
    my ($report) = check_report(30_000, 'lesson device checks bits copy work '
        . 'result', '--n', 30_000, '--deterministic');
    like($report->{bits}[0], qr/^50 runs give (?:1 sum|\d+ different sums); in order, 1: ok\z/,
        '--deterministic: the same bits');
}

# --- CSV ---

my @csv = qw(gpu arch toolkit lesson variant n min_ms median_ms gb_per_s of_copy
    result error how source);
for my $case ([1000], [20_000, '--deterministic'], [0]) {
    my ($n, @more) = @$case;
    my @options = ($n ? ('--n', $n) : (), '--csv', @more);
    my $name = "lesson 6 @options";
    my ($status, $out, $err) = lesson(@options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr");
    my ($header, @lines) = split /\n/, $out;
    is($header, join(',', @csv), "$name: the header");
    my $swept = 0;
    for my $i (0 .. $#lines) {
        my @fields = split /,/, $lines[$i], -1;
        is(scalar @fields, scalar @csv, "$name: row $i has its fields");
        my %row;
        @row{@csv} = @fields;
        is("$row{lesson} $row{source}", '6 this repository', "$name: row $i");
        my @bad = grep { $row{$_} !~ /\A[\d.]+(?:e[+-]\d+)?\z/ } qw(n min_ms
            median_ms gb_per_s of_copy result error);
        is("@bad", '', "$name: row $i: numbers");
        my $timed = $row{how} =~ /^(?:events|CPU clock): smallest of the last \d of \d runs$/;
        $swept += $row{how} eq 'one run; not timed';
        ok($timed ? $row{min_ms} > 0 : $row{min_ms} == 0 && $n == 0,
            "$name: row $i: $row{how}");
        cmp_ok(abs($row{gb_per_s} * $row{min_ms} / $row{n} * 2.5e5 - 1), '<',
            1e-3, "$name: row $i: GB/s") if $timed;
        next if $row{variant} eq 'bf16_a_thread' || $row{n} > $last;
        my ($low, $high) = limits($row{variant}, $row{n});
        ok($row{result} >= $low * (1 - 1e-8)
            && $row{result} <= $high * (1 + 1e-8),
            "$name: row $i: $row{variant}: $row{result}");
    }
    my @timed = grep { !/not timed/ } @lines;
    is(join(' ', map { (split /,/)[4] } @timed),
        join(' ', @variants[0 .. (@more ? 6 : 5)]), "$name: the steps");
    cmp_ok($swept, $n ? '==' : '>=', $n ? 0 : 4 * 7, "$name: the errors");
}

# --- options ---

{
    my ($status, $out, $err) = lesson('--help');
    is("$status$err", '0', '--help: exit 0');
    my @listed = $out =~ /^  (--\w+)/mg;
    is("@listed", '--n --deterministic --runs --csv --help',
        '--help: all options');
    for my $bad ('ten', '', '-1', '0', '1.5', '2^63', '549755813633') {
        ($status, $out, $err) = lesson('--n', $bad);
        is("$status $out", '2 ', "--n '$bad': exit 2, nothing on stdout");
        one_line($err, qr/^lesson6: --n takes a whole number .*not "\Q$bad\E"/,
            "--n '$bad': one line says why");
    }
    for my $bad ('--foo', 'x', '--deterministic=1', '--pad') {
        ($status, $out, $err) = lesson($bad);
        is("$status $out", '2 ', "$bad: exit 2, nothing on stdout");
        one_line($err, qr/^lesson6: unknown option "\Q$bad\E"/, "$bad: why");
    }
    ($status, $out, $err) = lesson('--n', '2^38');
    is($status, 3, '--n 2^38: exit 3');
    one_line($err, qr/needs 1024\.0 GiB .* are free; try a smaller --n/,
        '--n 2^38: one line says how much');
    unlike($out, qr/^(checks|copy|work|result)/m, '--n 2^38: before any work');
}

# --- each element counts once, and NaN is not lost ---

# Another main, built with the faults below: of n zeros one is 2, or NaN, at
# every place.
my $places = <<'END_C';
static float place(long long n, long long at, uint16_t bits, int i, int j)
{
    static uint16_t ones[MOST_CHECKED], zeros[MOST_CHECKED];
    long long k;
    for (k = 0; k < n; k++) {
        ones[k] = 0x3c00;
        zeros[k] = 0;
    }
    zeros[at] = bits;
    upload_aligned(d_a, ones, n);
    upload_aligned(d_b, zeros, n);
    return dot_now(d_a + (size_t)i * SLOT + ALIGNMENTS + i,
                   d_b + (size_t)j * SLOT + ALIGNMENTS + j, n, (int)(at & 1));
}

int main(void)
{
    static const int n_of[] = {1, 7, 8, 9, 16, 23, 24, 25, 31, 33, 8229};
    int k, j, places = 0, wrong = 0;
    long long at;
    struct scratch s;
    allocate(1);
    for (k = 0; k < 11; k++)
        for (j = 0; j < 8; j++)
            for (at = 0; at < n_of[k]; at += n_of[k] > 100 ? 1171 : 1) {
                float two = place(n_of[k], at, 0x4000, (3 * k + j) % 8, j);
                float nan = place(n_of[k], at, 0x7e00, (3 * k + j) % 8, j);
                float inf = place(n_of[k], at, 0xfc00, (3 * k + j) % 8, j);
                places++;
                wrong += !(two == 2 && nan != nan && inf < -3e38f);
            }
    CHECK(cudaMemcpy(&s, d_scratch, sizeof s, cudaMemcpyDeviceToHost));
    printf("%d places, %d wrong; done %u\n", places, wrong, s.done);
    printf("n = 0: %g\n", (double)dot_now(d_a, d_b + 1, 0, 0));
    return 0;
}
END_C

# --- faults planted in the lesson ---

# What, from, to; each must end with 1 before anything is timed, or with WRONG.
my @mutants = (
    ['no tail', 'threadIdx.x + s.vectors * VECTOR;', 's.n;', 1],
    ['no head', 'blockIdx.x == 0 && i < s.n', 'blockIdx.x == 0 && i < s.n && '
        . 'i >= s.head', 1],
    ['the head of every block', 'blockIdx.x == 0 && i < s.n', 'i < s.n', 1],
    ['what tiles leave lost', '; i < s.vectors; i', '; 0 < 0; i', 1],
    ['a shift of 1 lost', 'if (shift & 1)', 'if (0)', 1],
    ['a wrong word', '(low.y, low.z, low.w, high.x)',
        '(low.y, low.z, low.w, high.y)', 1],
    ['one warp lost', 'threadIdx.x < warps ?', 'threadIdx.x + 1 < warps ?', 1],
    ['sums in half', 'return sum0 + sum1;',
        'return __half2float(__float2half_rn(sum0 + sum1));', 1],
    $cpu ? ['no barrier', "    __syncthreads();\n    if (threadIdx.x >= WARP",
        '    if (threadIdx.x >= WARP', 1] : (),
    ['scratch not cleared', 'atomicExch(&s->sum, 0.0f)', 's->sum', 1],
    ['a part lost in order', 'i < gridDim.x; i += DOT_THREADS',
        'i + 1 < gridDim.x; i += DOT_THREADS', 1],
    ['half of a part', 'atomicAdd(c, __float2half_rn(sum));',
        'atomicAdd(c, __float2half_rn(sum / 2));', 0],
    ['a product twice', 'atomicAdd(c, product(a[i], b[i]));',
        'for (int k = 0; k <= (i == 7); k++) '
            . 'atomicAdd(c, product(a[i], b[i]));', 0],
);
my $main = 'int main(int argc, char **argv)';
my $end  = "    release();\n    return ok ? 0 : EXIT_WRONG;\n}\n";
@mutants = some_of(@mutants);
my @programs = build_planted(
    (map { [$_->[0], 'v5_reduce', $_->[1], $_->[2]] } @mutants),
    ['another main', 'v5_reduce', $main => $main =~ s/main/lesson_main/r
        =~ s/(.*)/$1;\n$1/r, 'MOST_CHECKED = 20001' => 'MOST_CHECKED = 8233',
        $end => "$end\n$places"]);
my $counted = pop @programs;
my @results = run_jobs(map { [$_, '--n', 30_000] } @programs);
for my $i (0 .. $#mutants) {
    my ($what, undef, undef, $checked) = @{ $mutants[$i] };
    my ($status, $out, $err) = @{ $results[$i] };
    is($status, 1, "$what: exit 1");
    like($out, qr/WRONG$/m, "$what: WRONG");
    next if !$checked;
    unlike($out, qr/^(copy|work|result) /m, "$what: nothing is timed");
    my @said = split /\n/, $err;
    is(scalar @said, 2, "$what: two lines on stderr");
    like($said[0], qr/^lesson\d+: n = \d+, a and b \d+ and \d+ bytes beyond 16/,
        "$what: the first wrong sum");
    like($said[1], qr/^lesson\d+: the inner product is wrong; not timed\z/,
        "$what: and the end");
}
{
    my ($status, $out, $err) = run($counted);
    is("$status$err", '0', 'the lesson with another main runs');
    like($out, qr/^\d{4} places, 0 wrong; done 0\nn = 0: 0\n\z/,
        'each element counts once, NaN and infinity arrive');
}

# --- what the machine executes ---

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my ($status, undef, $said) = run($nvcc, '-O3', '-arch=sm_90', '-Icommon',
        '-Xptxas', '-v', '-cubin', '-o', "$tmp/reduce.cubin",
        "$root/lessons/v5_reduce/v5_reduce.cu");
    is($status, 0, 'nvcc compiles it for sm_90') or diag($said);
    my ($used) = $said =~ /dot_kernel(?s:.*?)Used (\d+) registers/;
    cmp_ok($used // 99, '<=', 32, 'dot_kernel: 2048 threads a multiprocessor');
    my $nvdisasm = find_disassembler('nvdisasm');
    skip_or_fail('there is no nvdisasm here') if !$nvdisasm;
    ($status, my $out) = run($nvdisasm, '-c', "$tmp/reduce.cubin");
    my %text = map { $_ => kernel_text('sass', $_,
        Course::demangled($out)) }
        qw(dot_kernel half_a_thread half_a_block float_a_block float_a_thread);
    my $work = join ' ', $text{dot_kernel} =~
        /\b(LDG\.E\.128|FFMA|LDL|STL|BRA)\b/g;
    like($work, qr/BRA(?: LDG\.E\.128){4}(?: FFMA){16} BRA/,
        'dot_kernel: four loads of 16 bytes before the first sum');
    unlike($work, qr/LDL|STL/, 'dot_kernel: all in registers');
    is(atomics('sass', $text{dot_kernel}), join(' ', sort qw(
        ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU ATOMG.E.EXCH.STRONG.GPU
        ATOMG.E.INC.STRONG.GPU ATOMG.E.INC.STRONG.GPU)),
        'dot_kernel: one float atomic, and the count of each order');
    like(atomics('sass', $text{$_}), qr/^ATOMG?\.E\.CAS\.STRONG\.GPU\z/,
        "$_: a half is added by compare-and-swap")
        for qw(half_a_thread half_a_block);
    like(atomics('sass', $text{$_}), qr/^(?:ATOMG|REDG)\.E\.ADD\.F32\.\S+\z/,
        "$_: a float by one instruction") for qw(float_a_block float_a_thread);
}

done_testing();
