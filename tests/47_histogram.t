#!/usr/bin/env perl
# Lesson 8, the histogram: what it prints and how it ends, every count against
# one made here, bytes without a bin, options, CSV, faults planted in it, and
# what nvcc makes of its cells. On the backend of BACKEND (default auto), in a
# copy of the tree.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my $source = 'lessons/v7_histogram/v7_histogram.cu';

my @rows = qw(global block_one block warp warp_wide bank_wide global_float
    block_float);
my @kinds = qw(random skewed constant);

# --- the data and the counts, made here ---

# 32 bits of Marsaglia's xorshift, again.
sub bytes_of {
    my ($kind, $n) = @_;
    my $x = 2463534242;
    my @bytes;
    for (1 .. $n) {
        $x ^= ($x << 13) & 0xffffffff;
        $x ^= $x >> 17;
        $x ^= ($x << 5) & 0xffffffff;
        push @bytes, $kind eq 'random' ? int($x / 2**24)
            : $kind eq 'skewed' ? 32 - length(sprintf '%b', $x) : 7;
    }
    return @bytes;
}

# The slots: the bins and what lies outside.
sub count_bytes {
    my ($bins, @bytes) = @_;
    my @slot = (0) x ($bins + 1);
    $slot[$_ < $bins ? $_ : $bins]++ for @bytes;
    return @slot;
}

# Marsaglia's paper begins 723471715, 2497366906, 2064144800.
is(join(' ', bytes_of('random', 3)), '43 148 123', 'the first random bytes');
is(join(' ', count_bytes(3, 0, 2, 2, 3, 255)), '1 0 2 2',
    'counts in three bins, and outside');
is(join(' ', map { my $k = $_; scalar grep { $_ == $k }
    bytes_of('skewed', 4096) } 0 .. 2) =~ /^20\d\d 1[01]\d\d [45]\d\d\z/, 1,
    'skewed: a half, a quarter, an eighth');

# --- building ---

# Lesson 8 is the lesson's number, whatever else there is.
my @lessons = sort map { s{/$}{}r } glob "\Q$root\E/lessons/v*_*/";
my ($number) = grep { $lessons[$_ - 1] =~ /v7_histogram\z/ } 1 .. @lessons;
my $target = "lesson$number";

my ($tree, $backend) = build_lessons($target);
my $cpu = $backend eq 'cpu';

sub lesson { return run({ dir => $tree, seconds => 120 }, "./$target", @_) }

# --- the report ---

my $number_text = qr/\d+(?:\.\d+)?(?:e[+-]\d+)?/;

# Runs a lesson that must be right: its rows, each as [name, bytes, rates…].
sub check_report {
    my ($n, $bins, @options) = @_;
    my $name = "@options";
    my ($status, $out, $err) = lesson(@options);
    is("$status$err", '0', "$name: exit 0, nothing on stderr") or diag($out);
    my @labels = $out =~ /^([a-z]+) /mg;
    is("@labels", 'lesson device work result', "$name: the labels");
    like($out, qr/^lesson 8  v7_histogram: contention and privatisation\n/,
        "$name: the title");
    like($out, $cpu ? qr/^device    CPU emulation .*: the times are this CPU's/m
        : qr/^device    \S.*, sm_\d+, CUDA \d/m, "$name: the device");
    like($out, qr/^work      $n bytes into $bins bins; bytes counted in a /m,
        "$name: the work");
    like($out, qr/^result    all counts are the CPU's: ok\n\z/m,
        "$name: the result");
    my @found = map { [/^ {10}(\S.*?)\s+(\d+)((?:\s+$number_text){3})   ok\z/] }
        grep { /   ok\z/ } split /\n/, $out;
    is(scalar @found, scalar @rows, "$name: a row for each way");
    return ($out, @found);
}

{
    my $n = $cpu ? 2**17 : 2**28;
    my ($out, @found) = check_report($n, 256);
    my @sizes = map { $_->[1] } @found;
    my $float = $n < 2**24 ? $n : 2**24;
    is("@sizes", join(' ', ($n) x 6, ($float) x 2),
        'the bytes that each way counts');
    if ($cpu) {
        $out =~ s/^device .*emulation \K\(.*\d threads?\)/(…)/m;
        $out =~ s/(?: +$number_text){3}(?=   ok$)/'         …' x 3/gme;
        is($out, slurp("$root/results/cpu/lesson8.txt"),
            'results/cpu/lesson8.txt is fresh, and holds no speeds');
    }
}

# --- copies of the lesson ---

# What, from, to, and the way that must turn out wrong.
my @mutants = (
    ['no fault', '', '', ''],
    ['no guard', 'return value < bins ? value : bins;', 'return value;',
        'global, one'],
    ['a guard that is one off', 'value < bins ? value : bins;',
        'value <= bins ? value : bins + 1;', 'global, one'],
    ['no guard at the merge', 'atomicAdd(&counts[slot_of(v, bins)], (count64)sum',
        'atomicAdd(&counts[v], (count64)sum', 'a copy per bank'],
    ['a head that is left out', 'if (i < head)', 'if (i + 1 < head)',
        '16-byte loads'],
    ['a tail that is left out', 'if (tail < n)', 'if (tail + 1 < n)',
        '16-byte loads'],
    ['a last word that is left out', 'if (k < words)', 'if (k + 1 < words)',
        '16-byte loads'],
    ['a byte for another', 'word >> 16 & 255', 'word >> 8 & 255',
        '16-byte loads'],
    ['no head', 'head = odd < n ? odd : n', 'head = 0 * odd', ''],
    ['cells that are not cleared', "        cells[v] = 0;\n", "        ;\n",
        'a copy per bank'],
    ['a copy too few', 'c < COPIES; c++', 'c < COPIES - 1; c++', 'a copy per bank'],
    ['no barrier before the counting', "copy[v] = 0;\n    __syncthreads();",
        'copy[v] = 0;', 'a copy per block, many'],
    ['32 bits for 64', 'atomicAdd(&counts[slot_of(v, bins)], (count64)copy[v]);
}

static __global__ void count_block_float',
        'atomicAdd(&counts[slot_of(v, bins)], (count64)(copy[v] & 127));
}

static __global__ void count_block_float', 'a copy per block, many'],
);
# On a GPU a race may go well.
# On a GPU it takes luck to see these.
@mutants = grep { $_->[0] !~ /barrier|not cleared/ } @mutants if !$cpu;

@mutants = some_of(@mutants);
# The first prints what it has counted.
my ($shown, @faulty) = build_planted(
    ['counts shown', 'v7_histogram', '*total += count;' => '*total += count; '
        . 'fprintf(stderr, "%s %s %llu\n", v->name, kinds[kind], count);'],
    map { [$_->[0], 'v7_histogram', $_->[1], $_->[2]] } @mutants);

# --- every count, against one made here ---

# Every alignment of both ends, the loop of two loads (from 32 KiB on in
# emulation), and bins from one to all.
my @cases = map { [[1, 2, 15, 16, 17, 31, 47, 255, 256, 257, 1000]->[$_ % 11],
    $_, [256, 1, 8, 100, 255, 7, 2]->[$_ % 7]] } 0 .. 22;
push @cases, [4099, 1024, 33], [2500, 1023, 8], [4200, 7, 3];
push @cases, [65_541, 3, 256], [40_000, 0, 200];
my $most = 65_541;
my %bytes = map { $_ => [bytes_of($_, $most)] } @kinds;
my @results = run_jobs(map { [$shown, '--runs', 1, '--n', $_->[0], '--offset',
    $_->[1], '--bins', $_->[2]] } @cases);
for my $case (@cases) {
    my ($n, $offset, $bins) = @$case;
    my ($status, $out, $err) = @{ shift @results };
    my $name = "--n $n --offset $offset --bins $bins";
    is($status, 0, "$name: exit 0");
    my %got;
    push @{ $got{"$1 $2"} }, $3 while $err =~ /^(\w+) (\w+) (\d+)$/mg;
    my @wrong;
    for my $kind (@kinds) {
        my @slots = count_bytes($bins, @{ $bytes{$kind} }[0 .. $n - 1]);
        push @wrong, grep { "@slots" ne join ' ', @{ $got{$_} // [] } }
            map { "$_ $kind" } @rows;
    }
    is("@wrong", '', "$name: every count of every way");
    is(scalar keys %got, @rows * @kinds, "$name: and no others");
}

# Beyond 2^20 bytes, which are made and counted at a time.
{
    my ($out, @found) = check_report(2**20 + 77, 9, '--n', 2**20 + 77,
        '--bins', 9, '--offset', 5, '--runs', 1);
    is($found[$_][1], 2**20 + 77, "row $_: its bytes") for 0, 5, 7;
}

# --- CSV ---

my @csv = qw(gpu arch toolkit lesson variant data bins n min_ms median_ms
    ns_per_add counted how source);
{
    my $documented = slurp("$root/results/README.md");
    my @unnamed = grep { $documented !~ /^\| `$_` \|/m } @csv;
    is("@unnamed", '', 'results/README.md has all columns');
}
{
    my ($status, $out, $err) = lesson('--csv', '--n', 5000, '--bins', 100);
    is("$status$err", '0', '--csv: exit 0, nothing on stderr');
    my ($header, @lines) = split /\n/, $out;
    is($header, join(',', @csv), '--csv: the header');
    my @expected = map { my $row = $_; map { "$row $_" } @kinds } @rows;
    my @got;
    for my $line (@lines) {
        my %row;
        my @fields = split /,/, $line, -1;
        @row{@csv} = @fields;
        my $name = "--csv, $row{variant} $row{data}";
        push @got, "$row{variant} $row{data}";
        is(scalar @fields, scalar @csv, "$name: its fields");
        is("$row{lesson} $row{bins} $row{n} $row{source}",
            '8 100 5000 this repository', "$name: the work");
        is($row{counted}, 5000, "$name: how many were counted");
        like($row{$_}, qr/^$number_text\z/, "$name: $_") for qw(min_ms
            median_ms ns_per_add);
        cmp_ok(abs($row{ns_per_add} - $row{min_ms} * 1e6 / 5000), '<=',
            1e-3 * $row{ns_per_add}, "$name: ns_per_add");
        like($row{how}, qr/^(?:events|CPU clock): smallest of the last \d of \d runs\z/,
            "$name: how");
        is($row{arch} eq 'cpu' ? 'cpu' : 'cuda', $backend, "$name: arch");
    }
    is("@got", "@expected", '--csv: every way on every kind of data');
}

# --- options ---

{
    my ($status, $out, $err) = lesson('--help');
    is("$status$err", '0', '--help: exit 0');
    my @listed = $out =~ /^  (--\w+)/mg;
    is("@listed", '--n --bins --offset --runs --csv --help',
        '--help: all options');
}
for my $case (
    (map { ['--n takes a whole number from 1 to 549755813632 ', '--n', $_] }
        '0', '-1', 'x', '', '1.5', '2^40', '549755813633'),
    (map { ['--bins takes a whole number from 1 to 256 ', '--bins', $_] }
        '0', '-1', '257', 'all', ''),
    (map { ['--offset takes a whole number from 0 to 1024 ', '--offset', $_] }
        '-1', '1025', 'x', ''),
    ['--n needs a value', '--n'], ['unknown option "--bin"', '--bin', 3],
) {
    my ($pattern, @options) = @$case;
    my ($status, $out, $err) = lesson(@options);
    is("$status $out", '2 ', "'@options': exit 2, nothing on stdout");
    like($err, qr/\A\Q$target: $pattern\E.*\n\z/, "'@options': one line says why");
}
{
    my ($status, $out, $err) = lesson('--n', '2^38');
    is($status, 3, '--n 2^38: exit 3');
    one_line($err, qr/needs 768\.0 GiB .* are free; try a smaller --n/,
        '--n 2^38: one line says how much');
    unlike($out, qr/^(work|result)/m, '--n 2^38: before any work');
}

# --- faults planted in it ---

@results = run_jobs(map { [$_, '--n', 40_037, '--offset', 9, '--bins', 100,
    '--runs', 1] } @faulty);
for my $mutant (@mutants) {
    my ($what, $from, $to, $where) = @$mutant;
    my ($status, $out, $err) = @{ shift @results };
    if ($from eq '') {
        is("$status$err", '0', "$what: exit 0");
    } elsif ($what eq 'no head') {
        is($status, 3, "$what: exit 3");
        like($err, qr/error 716/, "$what: a misaligned address");
    } else {
        is($status, 1, "$what: exit 1");
        like($err, qr/^lesson\d+: .*$where.*: the counts are not the CPU's$/m,
            "$what: stderr says which way is wrong");
        like($out, qr/   WRONG\n(?s:.*)^result    WRONG$/m, "$what: WRONG");
    }
}

# --- nvcc ---

# A loop from a label back to it that holds these instructions in this order.
sub has_loop {
    my ($text, @instructions) = @_;
    my $between = join '', map { "(?:(?!\\bBRA\\b).*\\n)*?.*\\b$_.*\\n" }
        @instructions;
    return $text =~ /(\.L_x_\d+):.*\n$between(?:(?!\bBRA\b).*\n)*?.*
        \bBRA(?:\.\w+)*\ (?:!?U?P\d,\ )?`\(\1\)/x;
}
{
    my $listing = ".L_x_1:\n LDS R1 ;\n FADD R2 ;\n ATOMS.CAST.SPIN R3 ;\n"
        . " \@P0 BRA `(.L_x_1) ;\n";
    my @loop = ('LDS', 'FADD', 'ATOMS\.CAST\.SPIN');
    ok(has_loop($listing, @loop), 'a loop is found');
    ok(!has_loop($listing, reverse @loop), 'in its order');
    ok(!has_loop($listing =~ s/BRA `\(.L_x_1/BRA `(.L_x_2/r, @loop),
        'and only where it closes');
}

my $nvcc = find_nvcc();
SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my ($compiled) = compile_kept($nvcc, "$root/$source");
    is(join('', @$compiled), '0', "compiles for sm_@archs without a warning");
    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');
    for my $arch (@archs) {
        my ($status, $out, $err) = disassemble('v7_histogram', $arch);
        is($status, 0, "SASS for sm_$arch: can be read") or diag($err);
        my $kernel = sub { return kernel_text('sass', $_[0] . 'PKh', $out) };
        my $kinds_of = sub {
            my %kind = map { $_ => 1 } $_[0] =~ /\b($_[1]\.[\w.]+)/g;
            return join ' ', sort keys %kind;
        };

        # The hardware's add to a shared int; from sm_80 on the one that adds up
        # the lanes that meet in a cell.
        my $add = $arch < 80 ? 'ATOMS.ADD' : 'ATOMS.POPC.INC.32';
        for my $name (qw(count_block count_copies)) {
            is($kinds_of->($kernel->($name), 'ATOMS'), $add,
                "$name, sm_$arch: shared ints: one instruction");
        }
        my @wide = $kernel->('count_copies') =~ /\bLDG\.E\.128\b/g;
        cmp_ok(scalar @wide, '>=', 3, "count_copies, sm_$arch: 16-byte loads");

        my $float = $kernel->('count_block_float');
        is($kinds_of->($float, 'ATOMS'), 'ATOMS.CAST.SPIN',
            "count_block_float, sm_$arch: a shared compare-and-swap");
        ok(has_loop($float, 'LDS', 'FADD', 'ATOMS\.CAST\.SPIN'),
            "count_block_float, sm_$arch: in a loop that loads and adds");

        like($kinds_of->($kernel->('count_global'), 'REDG?'),
            qr/^REDG?\.E\.ADD\.64\.STRONG\.GPU\z/,
            "count_global, sm_$arch: one instruction");
        like($kinds_of->($kernel->('count_global_float'), 'REDG?'),
            qr/^REDG?\.E\.ADD\.F32\.FTZ\.RN\.STRONG\.GPU\z/,
            "count_global_float, sm_$arch: one instruction");
    }
}

done_testing();
