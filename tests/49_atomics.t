#!/usr/bin/env perl
# Lesson 9 and its check of all atomics, conformance: what they print and how they
# end, wrong atomics planted in them, and how each is built: the table that the
# lesson prints, against the machine code of every architecture.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my ($tree, $backend) = build_lessons(qw(lesson9 conformance));
my $cpu = $backend eq 'cpu';

sub program {
    my ($name, @options) = @_;
    return run({ dir => $tree }, "./$name", @options);
}
sub lesson { return program('lesson9', @_) }

# --- the report ---

# The guide's table: each function and the types that it is there for.
my %guide = (
    atomicAdd  => [qw(int unsigned ulonglong float double)],
    atomicSub  => [qw(int unsigned)],
    atomicExch => [qw(int unsigned ulonglong float)],
    atomicInc  => [qw(unsigned)],
    atomicDec  => [qw(unsigned)],
    atomicCAS  => [qw(int unsigned ulonglong ushort)],
    map { $_ => [qw(int unsigned ulonglong)] } qw(atomicAnd atomicOr atomicXor),
);

# What a report says of each pair: {"atomicAdd int"} => "1/1".
sub read_table {
    my ($text) = @_;
    my ($heading, @rows) = $text =~ /^ {10}((?:function|atomic).*)/mg;
    my (undef, @types) = split ' ', $heading // '';
    my %table;
    for (@rows) {
        my ($function, @cells) = split;
        @cells == @types or return {};
        $cells[$_] eq '.' or $table{"$function $types[$_]"} = $cells[$_]
            for 0 .. $#types;
    }
    return \%table;
}

my $pairs = join ', ', sort map { my $f = $_; map { "$f $_" } @{ $guide{$f} } }
    keys %guide;

# What a program prints: its labels, its title, the table with a cell like $cell
# for each pair, and the lines [label, pattern]. Returns the table.
sub check_report {
    my ($name, $labels, $title, $cell, @lines) = @_;
    my ($status, $out, $err) = program($name);
    is("$status$err", '0', "$name: exit 0, nothing on stderr") or diag($out);
    my @found = $out =~ /^([a-z]+) /mg;
    is("@found", $labels, "$name: the labels");
    my @odd = grep { !/^lesson 9  [cv]/ && !/^.{9} \S/
        && !/^(?:costs)? {6,}\S/ } split /\n/, $out;
    is("@odd", '', "$name: the text begins at column 11");
    like($out, qr/^lesson 9  \Q$title\E$/m, "$name: the title");
    my $table = read_table($out);
    is(join(', ', sort keys %$table), $pairs,
        "$name: every function on every type of the guide");
    my @bad = grep { $table->{$_} !~ $cell } sort keys %$table;
    is("@bad", '', "$name: each cell");
    for (@lines) {
        my ($label, $pattern) = @$_;
        my ($text) = $out =~ /^$label +(.*)/m;
        like($text, $pattern, "$name: $label");
    }
    return $table;
}

my $title = 'v8_atomics: every atomic, how it is built, what it costs';
my %printed = %{ check_report('lesson9', 'lesson device table counter wrap lock '
    . 'double ' . ($cpu ? '' : 'costs ') . 'result', $title, qr{^[1L]/[1L]\z},
    ['counter', qr/^atomicAdd\(c, 1\): 1024 threads .*: ok\z/],
    ['wrap', qr/^atomicInc\(c, 100\) takes 0 to 100, a period of 101: 1010 calls, 10 of each: ok\z/],
    ['lock', qr/^1024 threads .*: ok\z/],
    ['double', qr/^add by atomicCAS: .*: ok\z/],
    ['result', qr/^all as it should be: ok\z/]) };

my $conformance = 'conformance: every atomic, held against its definition';
check_report('conformance', 'lesson device table checks subnormal result',
    $conformance, qr/^ok\z/,
    ['checks', qr/^each: 64 examples, and 1024 threads .*: ok\z/],
    ['subnormal', qr/ is 0 in global memory, 2\.8e-45 in shared\z/],
    ['result', qr/^all as defined: ok\z/]);

for my $limit (1, 7, 99, 255) {
    my ($status, $out, $err) = lesson('--limit', $limit, '--runs', 1);
    is("$status$err", '0', "--limit $limit: exit 0");
    my $period = $limit + 1;
    like($out, qr/^wrap .*\(c, $limit\) takes 0 to $limit, a period of $period: ${period}0 calls, 10 of each: ok$/m,
        "--limit $limit: the period");
}

# --- CSV, options, bad input ---

{
    my ($status, $out, $err) = lesson('--csv', '--runs', 3);
    is("$status$err", '0', '--csv: exit 0, nothing on stderr');
    my ($header, @rows) = split /\n/, $out;
    is($header, 'gpu,arch,toolkit,lesson,variant,start,cells,threads,n,min_ms,'
        . 'median_ms,ns_per_add,tries_per_add,how,source', '--csv: the header');
    my @ways = qw(int ulonglong float double half2 half add_double cas exch inc
        and);
    my $far = $cpu ? 1024 : 1 << 20;
    my %seen;
    for (@rows) {
        my %row;
        @row{ split /,/, $header } = split /,/, $_, -1;
        $seen{"$row{variant} $row{cells}"}++;
        is($row{lesson}, 9, "--csv: $row{variant}: the lesson");
        cmp_ok(abs($row{ns_per_add} - $row{min_ms} * 1e6 / $row{n}), '<=',
            1e-3 * $row{ns_per_add}, "--csv: $row{variant}: ns is ms over n");
    }
    is(join(',', sort keys %seen), join(',', sort 'global_int_merged 1',
        map { ("global_$_ 1", "global_$_ $far", "shared_$_ 1",
            "shared_$_ 1024") } @ways), '--csv: each way in each place');
    is(scalar(grep { $_ > 1 } values %seen), 0, '--csv: each once');

    ($status, $out, $err) = lesson('--help');
    is("$status$err", '0', '--help: exit 0');
    like($out, qr/^lesson 9  \Q$title\E\n\nusage: lesson9/, '--help: usage');
    is(join(' ', $out =~ /^  (--\w+)/mg), '--limit --runs --csv --help',
        '--help: all options');
    ($status, $out, $err) = program('conformance', '--help');
    is("$status$err", '0', 'conformance --help: exit 0');
    like($out, qr/^lesson 9  \Q$conformance\E\n\nusage: conformance/,
        'conformance --help: usage');
}
for (
    ['--limit takes .* 1 to 255', '--limit', '0'],
    ['--limit takes .* 1 to 255', '--limit', '256'],
    ['--limit takes .* 1 to 255', '--limit', 'ten'],
    ['--limit needs a value', '--limit'],
    ['--runs takes .* 1 to 1000', '--runs', '0'],
    ['unknown option "--n"', '--n', '4'],
    ['unknown option "x"', 'x'],
) {
    my ($pattern, @options) = @$_;
    my ($status, $out, $err) = lesson(@options);
    is("$status$out", '2', "@options: exit 2, nothing on stdout");
    one_line($err, qr/^lesson9: $pattern/, "@options: one line says why");
}

# --- wrong atomics ---

# [what, program, from, to, what stderr or the report says]. Threads of one block
# never meet by themselves in the emulation, and those of two blocks by luck. So
# the check of the lock runs there in interleaved mode, where threads take turns
# at every atomic, in an order that the seed decides, and an atomic stands in the
# middle of what the lock guards.
my @turns = (
    'log->sum += entry;' => 'unsigned sum = log->sum; '
        . 'atomicAdd(&log->lock, 0); log->sum = sum + entry;',
    'ok &= check_lock();' => 'model_contention(1); ok &= check_lock(); '
        . 'model_contention(0);',
);
my $lesson = 'v8_atomics';
my $check = 'v8_atomics/conformance';
my $alone = qr/, alone: wrong$/m;
my $crowd = qr/, many threads at one cell: wrong$/m;
my @mutants = (
    ['an add that adds one more', $check,
        'TRY(u64, atomicAdd(p, v))', 'TRY(u64, atomicAdd(p, v + 1))',
        qr/atomicAdd on ulonglong in global memory$alone/],
    ['an add that returns the new value', $check,
        'TRY(float, atomicAdd(p, v))', 'TRY(float, atomicAdd(p, v) + v)',
        qr/atomicAdd on float in shared memory$alone/],
    ['an add that one thread of a crowd leaves out', $check,
        'TRY(int, atomicAdd(p, v))',
        'TRY(int, i == 77 ? *p : atomicAdd(p, v))',
        qr/atomicAdd on int in global memory$crowd/],
    ['an exchange that returns the new value', $check,
        'TRY(float, atomicExch(p, v))', 'TRY(float, (atomicExch(p, v), v))',
        qr/atomicExch on float .*$alone/],
    ['a limit too low', $check,
        'TRY(unsigned, atomicInc(p, v))', 'TRY(unsigned, atomicInc(p, v - 1))',
        qr/atomicInc on unsigned .*$alone/],
    ['a 2-byte swap that never wins', $check,
        'TRY_CAS(u16)', 'TRY(u16, atomicCAS(p, (u16)(*p + 1), v))',
        qr/atomicCAS on ushort .*$alone/],
    ['a 64-bit swap of the low half', $check, 'TRY_CAS(u64)',
        'TRY_WITH(u64, (u64)atomicCAS((unsigned *)p, (unsigned)c, (unsigned)v),'
            . ' COMPARE)', qr/atomicCAS on ulonglong .*$alone/],
    ['Or for Xor', $check,
        'TRY(u64, atomicXor(p, v))', 'TRY(u64, atomicOr(p, v))',
        qr/atomicXor on ulonglong .*$alone/],
    ['a store beside the cell', $check, 'TRY(unsigned, atomicOr(p, v))',
        'TRY(unsigned, (*(u64 *)&t->cells[k] = 0, atomicOr(p, v)))',
        qr/atomicOr on unsigned in global memory$alone/],
    ['no cell for the crowd', $check,
        '&shared_cells[i * t->stride]', '&shared_cells[i]',
        qr/atomicAdd on int in shared memory$crowd/],
    ['tickets two apart', $lesson,
        'unsigned ticket = atomicAdd(counter, 1);',
        'unsigned ticket = atomicAdd(counter, 2) / 2;',
        qr/^counter .*: WRONG$/m],
    ['a ring one short', $lesson, 'atomicInc(counter, limit)',
        'atomicInc(counter, limit - 1)', qr/^wrap .*: WRONG$/m],
    ['no lock', $lesson, 'atomicCAS(&log->lock, 0, 1) == 0', '1',
        qr/^lock .*: WRONG$/m, @turns],
    ['a sum of the wrong sign', $lesson, 'sum.value = old.value + value;',
        'sum.value = old.value - value;', qr/^double .*: WRONG$/m],
);
@mutants = some_of(@mutants);
my @programs = build_planted((map { my ($what, $program, $from, $to, undef,
        @more) = @$_; [$what, $program, $from, $to, @more] } @mutants),
    ['a lock, and turns', $lesson, @turns]);
for my $i (0 .. $#mutants) {
    my ($what, $program, undef, undef, $said) = @{ $mutants[$i] };
    my ($status, $out, $err) = run($programs[$i], '--runs', 1);
    is($status, 1, "$what: exit 1");
    like("$err$out", $said, "$what: the report says where");
    like($out, qr/^result +WRONG$/m, "$what: WRONG");
    like($err, qr/: a check failed; not timed$/m, "$what: nothing is timed")
        if $program eq $lesson;
    next if $said !~ /(atomic\w+) on (\w+)/;
    is(read_table($out)->{"$1 $2"}, 'WRONG', "$what: the table says so");
}
{
    my ($status, $out, $err) = run($programs[-1], '--runs', 1);
    is("$status$err", '0', 'a lock, and turns: exit 0');
    like($out, qr/^lock .*: ok$/m, 'a lock, and turns: ok');
}

# --- how each is built ---

# The atomics of a kernel, each once, in order; "(loop)" follows one that a
# branch back goes round. QSPC asks which memory an address is in.
sub atomics_of {
    my ($text) = @_;
    my (%label, %found, @order, @backward, @at);
    my $n = 0;
    for (split /\n/, $text) {
        $label{$1} = $n if /^\s*(\.L_x_\d+):/;
        my ($line) = m{/\*[0-9a-f]{4,}\*/ +(.*?) *;} or next;
        $n++;
        push @backward, [$label{$1}, $n]
            if $line =~ /\bBRA\b.*`\((\.L_x_\d+)\)/ && defined $label{$1}
            && $label{$1} < $n - 1;
        push @at, [$1, $n] if $line =~ /\b((?:ATOM[GS]?|REDG?)\.[\w.]+)/;
    }
    for (@at) {
        my ($name, $at) = @$_;
        $name =~ s/\.STRONG\.GPU|\.STRONG\.SYS//;
        $name .= ' (loop)' if grep { $_->[0] < $at && $at <= $_->[1] } @backward;
        push @order, $name if !$found{$name}++;
    }
    return join ', ', @order;
}

is(atomics_of(<<'END_SASS'), 'ATOMG.E.ADD, ATOMS.CAS (loop)', 'a loop is seen');
        /*0000*/                   ATOMG.E.ADD.STRONG.GPU PT, R9, [R8], R7 ;
.L_x_1:
        /*0010*/                   ATOMS.CAS R19, [R14], R5, R4 ;
        /*0020*/               @P0 BRA `(.L_x_1) ;
        /*0030*/                   EXIT ;
.L_x_2:
        /*0040*/                   BRA `(.L_x_2);
END_SASS

# "1/L" from what atomics_of() says: one instruction in global memory, a loop in
# shared; "?" where there is more than one of a kind, or none.
sub kind_of {
    my ($atomics) = @_;
    my @global = grep { !/^ATOMS/ } split /, /, $atomics;
    my @shared = grep { /^ATOMS/ } split /, /, $atomics;
    return join '/', map {
        @$_ != 1 ? '?' : $_->[0] =~ /\(loop\)/ ? 'L' : 1
    } \@global, \@shared;
}
is(kind_of('ATOMG.E.ADD, ATOMS.CAS (loop)'), '1/L', 'kind_of 1/L');
is(kind_of('ATOMG.E.CAS (loop), ATOMS.ADD'), 'L/1', 'kind_of L/1');
is(kind_of('ATOMG.E.ADD'), '1/?', 'kind_of 1/?');

my %kernel_of = (ulonglong => 'u64', unsigned => 'u32', ushort => 'u16',
    float => 'f32', double => 'f64', int => 'int');

# The pairs for which a table and a listing differ.
sub differences {
    my ($table, $listing) = @_;
    my @found;
    for (sort keys %$table) {
        my ($function, $type) = split;
        my $kernel = lc(substr $function, 6) . "_$kernel_of{$type}";
        my @text = grep { /\A\Q$kernel\E(?![a-z_])/ }
            split /^\.text\./m, $listing;
        my $built = @text == 1 ? kind_of(atomics_of($text[0])) : 'no kernel';
        push @found, "$_: $built" if $built ne $table->{$_};
    }
    return @found;
}

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');

    my @results = compile_kept($nvcc,
        'lessons/v8_atomics/conformance.cu');
    is("$results[0][0]$results[0][2]", '0', 'compiles without a warning');
    my $wrong = { %printed, 'atomicAdd float' => '1/1' };
    for my $arch (@archs) {
        my ($status, $out, $err) = disassemble('conformance', $arch);
        is($status, 0, "sm_$arch: can be read") or diag($err);
        my @found = differences(\%printed, $out);
        is(join('; ', @found), '', "sm_$arch: built as the table says");
        @found = differences($wrong, $out);
        is("@found", 'atomicAdd float: 1/L', "sm_$arch: a wrong cell is found");
    }
}

done_testing();
