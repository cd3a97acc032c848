#!/usr/bin/env perl
# tools/half_cas: what it finds in tests/header/kinds.cu and in the lessons, on
# each architecture, under each awk; what it says of files that it cannot read.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(dirname);
use File::Copy qw(copy);
use Test::More;

my $tool = "$root/tools/half_cas";
ok(-x $tool, 'it can be executed');

# Runs it; the status, its lines and stderr.
my $path = $ENV{PATH};
sub half_cas {
    my @arguments = @_;
    my $option = ref $arguments[0] ? shift @arguments : {};
    my ($status, $out, $err) = run({ dir => $tmp, env => { PATH => $path },
        %$option }, $tool, @arguments);
    return ($status, $out, $err);
}

# "KERNEL ARCH" => "LOOPS; NATIVE; OTHER", from its table.
sub table_of {
    my ($out) = @_;
    my %table;
    for (split /\n/, $out) {
        next if !/^(sm_\d+\w*) +(.*?)  +(.*?)  +(\d+|-) +(\S.*)$/;
        my ($arch, @found) = ($1, $2, $3, $4);
        my $kernel = $5;
        fail("$kernel $arch is listed once") if $table{"$kernel $arch"};
        $table{"$kernel $arch"} = join '; ', @found;
    }
    return %table;
}

# --- usage ---

spew("$tmp/text", "no program\n");
spew("$tmp/empty", '');
for (
    [qr/which file\?/], [qr/unknown option "--foo"/, '--foo'],
    [qr/--arch needs a value/, '--arch'],
    [qr/--arch takes a name such as sm_90, not "90"/, '--arch', '90', 'text'],
    [qr/one file at a time/, 'text', 'empty'],
    [qr/nowhere: no such file/, 'nowhere'], [qr/not a file/, '.'],
) {
    my ($pattern, @arguments) = @$_;
    my ($status, $out, $err) = half_cas(@arguments);
    is("$status$out", '2', "half_cas @arguments: exit 2, nothing on stdout");
    like($err, qr/\Ahalf_cas: .*$pattern.*\n\z/, "half_cas @arguments: why");
}
{
    my ($status, $out, $err) = half_cas('--help');
    is("$status$err", '0', '--help: exit 0');
    like($out, qr/^Usage: half_cas .*^Exit status:/ms, '--help: the usage');
}
sub full {    # with a full disk, which is no "1: there are loops"
    my ($option, @arguments) = @_;
    my ($status, $out, $err) = run({ dir => $tmp, %$option },
        onto_full($tool, @arguments));
    is("$status $err", "2 half_cas: the output could not be written\n",
        "@arguments onto a full disk: exit 2, and one line");
}
my $full = -c '/dev/full';
full({}, '--help') if $full;

# --- without cuobjdump, and with one that prints what it is told ---

my $bare = path_without(qw(cuobjdump nvcc cu++filt c++filt));
my $copy = "$tmp/alone/tools/half_cas";    # with no .venv beside tools/
spew($copy, slurp($tool), 0755);
spew("$copy.awk", slurp("$tool.awk"));
SKIP: {
    skip 'the toolkit is where half_cas looks last', 2
        if -e '/usr/local/cuda/bin/cuobjdump';
    my ($status, $out, $err) = run({ dir => $tmp,
        env => { PATH => $bare, CUDA_HOME => undef } }, $copy, 'text');
    is("$status$out", '3', 'without cuobjdump: exit 3');
    like($err, qr/\Ahalf_cas: needs cuobjdump.*\n\z/, 'and one line');
}

# A loop as nvcc makes it, and some that differ in one thing. Named: what comes
# out. The lines of addresses are made from the instructions.
my $begin = 'LD.E R7, desc[UR4][R4.64]';
my $merge = 'PRMT R9, R7, R0, R6';
my $swap  = 'ATOM.E.CAS.STRONG.GPU PT, R6, [R4], R7, R9';
my @end   = ('ISETP.NE.U32.AND P0, PT, R6, R7, PT', 'MOV R7, R6',
    '@P0 BRA 0x10', 'EXIT', 'BRA 0x80');
my @listed = (
    ['1 f16', $begin, 'HADD2 R6, R7, R2.H0_H0', $merge, $swap, @end],
    ['1 bf16', $begin, 'HADD2.BF16_V2 R6, R7, R2.H0_H0', $merge, $swap, @end],
    ['1 f16', $begin, 'HFMA2.MMA R6, R7, 1, 1, R2', $merge, $swap, @end],
    ['1 f16x2', $begin, 'HADD2 R9, R7, R2', 'NOP', $swap, @end],
    ['-', $begin, 'HMUL2 R6, R7, R2.H0_H0', $merge, $swap, @end],
    ['-', $begin, 'HFMA2.BF16_V2 R6, R7, R2, -RZ', $merge, $swap, @end],
    ['-', $begin, 'HFMA2 R6, -RZ, RZ, 0, 0.5', $merge, $swap, @end],
    ['-', $begin, 'HADD2 R6, R3, R2.H0_H0', 'PRMT R9, R6, R0, R6', $swap,
        @end],
    ['-', $begin, 'FADD R9, R7, R2', 'NOP', $swap, @end],
    ['-', $begin, 'HADD2 R6, R7, R2.H0_H0', $merge, $swap,
        @end[0, 1], '@P0 BRA 0x70', @end[3, 4]],
    ['1 f16', $begin, 'HADD2 R6, R7, R2.H0_H0', $merge, '@P1 MOV R9, R3', $swap,
        @end],
    ['-', $begin, 'HADD2 R6, -R7, R2.H0_H0', $merge, $swap, @end],
    ['-', $begin, 'HADD2.SAT R6, R7, R2.H0_H0', $merge, $swap, @end],
    ['-', $begin, 'HADD2 R6, R7, R7', $merge, $swap, @end],
    ['1 f16', $begin, 'HFMA2 R6, R2, R3, R7', $merge, $swap, @end],
    ['-', $begin, 'HFMA2 R6, R2, R7, R3', $merge, $swap, @end],
    # What is added seems to depend on the last swap, in a loop around this one.
    ['1 f16', '@P2 LDS.U16 R6, [R8]', 'FFMA R2, R6, R9, R2', $begin,
        'HADD2 R6, R7, R2.H0_H0', $merge, $swap, @end[0, 1], '@P0 BRA 0x30',
        '@P1 BRA 0x0', $end[3]],
);
{
    my $text = "\n\tcode for sm_90\n";
    for my $i (0 .. $#listed) {
        my (undef, @code) = @{ $listed[$i] };
        $text .= "\n\t\tFunction : _Z5case${i}v\n";
        $text .= sprintf "        /*%04x*/           %s ;   /* 0x0 */\n",
            16 * $_, $code[$_] for 0 .. $#code;
    }
    # A kernel that only traps is one; what returns is a function.
    for (['trap', 'BPT.TRAP 0x1 '], ['function', 'RET.ABS.NODEC R20 0x0 ']) {
        $text .= "\n\t\tFunction : $_->[0]\n        /*0000*/  $_->[1];\n";
    }
    spew("$tmp/listing", $text);
    spew("$tmp/fake/cuobjdump", "#!/bin/sh\ncat '$tmp/listing'\n", 0755);
    spew("$tmp/plain/cu++filt", "#!/bin/sh\nexec cat\n", 0755);
    with_awks(sub {
        my ($name) = @_;
        my ($status, $out, $err) = half_cas({ env =>
            { PATH => "$tmp/$name:$tmp/plain:$tmp/fake:$bare" } }, 'text');
        is("$status$err", '1', "$name: exit 1, nothing on stderr");
        full({ env => { PATH => "$tmp/$name:$tmp/fake:$bare" } }, 'text')
            if $full;
        like($out, qr/^@{[@listed + 1]} kernels: /m, "$name: the summary");
        my %table = table_of($out);
        for my $i (0 .. $#listed) {
            my $loops = $listed[$i][0];
            is($table{"_Z5case${i}v sm_90"},
                "$loops; -; " . ($loops eq '-' ? 1 : '-'),
                "$name: @{ $listed[$i] }[2, 3]: $loops");
        }
    });
    spew("$tmp/listing", join '', (split /^(?=\n\t\tF)/m, $text)[0, 5]);
    my ($status, $out) = half_cas({ env => { PATH => "$tmp/fake:$path" } },
        'text');
    is($status, 0, 'other swaps only: exit 0');
    spew("$tmp/fatal/cuobjdump", "#!/bin/sh\ncat '$tmp/listing'\n"
        . "echo 'cuobjdump fatal   : Memory ran out' >&2\n", 0755);
    my ($ended, $table, $err) = half_cas({ env =>
        { PATH => "$tmp/fatal:$path" } }, 'text');
    is("$ended$table", '2', 'a listing that breaks off: exit 2, no table');
    like($err, qr/\Ahalf_cas: .*to its end: .*Memory ran out\n\z/, 'and why');
    spew("$tmp/bare/cuobjdump", "#!/bin/sh\ncase \$1 in\n"
        . "-lelf) echo 'ELF file    1: ./a.sm_90.cubin' ;;\nesac\n", 0755);
    is(join('', half_cas({ env => { PATH => "$tmp/bare:$path" } }, 'text')),
        "2half_cas: text has no kernel; it has machine code for sm_90\n",
        'machine code without a kernel');
    like($out, qr/ case4$/m, 'a name is printed as it was written')
        if which('c++filt') || which('cu++filt');
}

# --- what nvcc makes of all kinds of adds ---

my %expected = (    # below sm_90; a second one: from sm_90 on
    add_half      => ['1 f16; -; -'],
    add_half_used => ['1 f16; -; -'],
    add_half_many => [qr/\A\d f16; -; -\z/],
    add_half2     => ['-; 1 ATOM F16x2; -'],
    add_bf16      => ['1 bf16; -; -'],
    add_bf162     => ['1 bf16x2; -; -', '-; 1 ATOM BF16x2; -'],
    red_half2     => ['-; 1 RED F16x2; -'],
    red_bf162     => [undef, '-; 1 RED BF16x2; -'],
    red_half8     => [undef, '-; 1 RED F16x8; -'],
    tma_half        => [undef, '-; 1 TMA F16; -'],
    tma_bf16        => [undef, '-; 1 TMA BF16; -'],
    hand_half2      => ['1 f16x2; -; -'],
    hand_bf16_read  => ['1 bf16; -; -'],
    shared_half2    => ['1 f16x2 shared; -; -'],
    (map { $_ => ['1 f16; -; -'] } 'hand_half_32', map { ($_, "${_}_read") }
        qw(hand_half_16 hand_half_float hand_half_fma)),
    (map { $_ => ['-; -; 1'] } qw(shared_float other_float_sum
        other_double_product other_max_of_sums other_lock other_bf16_mean),
        map { ($_, "${_}_read") } qw(other_half_max other_half_product
        other_clamped_product other_clamped_float other_affine other_mean
        other_mean_float other_mean_of_two other_log_add_exp)),
    none => [undef],
);

my $nvcc      = find_nvcc();
my $cuobjdump = find_disassembler('cuobjdump');
SKIP: {
    skip_or_fail('there is no nvcc here')      if !$nvcc;
    skip_or_fail('there is no cuobjdump here') if !$cuobjdump;
    $path .= ':' . dirname($cuobjdump);
    # What it says of a file is the same each time, and takes it seconds.
    spew("$tmp/once/cuobjdump", <<"END", 0755);
#!/bin/sh
kept=$tmp/once/\$(printf '%s ' "\$@" | cksum | tr ' ' -)
if [ ! -e "\$kept" ]; then
    '$cuobjdump' "\$@" > "\$kept.out" 2> "\$kept.err"
    echo \$? > "\$kept"
fi
cat "\$kept.out"
cat "\$kept.err" >&2
exit "\$(cat "\$kept")"
END
    $path = "$tmp/once:$path";

    my %source = (kinds => 'tests/header/kinds.cu', map {
        ($_ => "lessons/$_/$_.cu") } qw(v0_half v2_fastadd v3_cas));
    my @results = (compile_kept($nvcc, values %source), [run($nvcc, '-gencode',
        'arch=compute_90,code=compute_90', '-c', '-o', "$tmp/ptx.o",
        $source{kinds})]);
    my %object = map { $_ => kept_object($_) } keys %source;
    is(join('', map { "$_->[0]$_->[2]" } @results), '0' x @results,
        'all compile');
    copy(kept_file('kinds', 90, $_), "$tmp/kinds.$_") for qw(cubin ptx);

    my ($status, $out, $err) = half_cas($object{kinds});
    is("$status$err", '1', 'all kinds: exit 1');
    my %table = table_of($out);
    for my $kernel (sort keys %expected) {
        for my $arch (@archs) {
            my ($old, $new) = @{ $expected{$kernel} };
            my $right = $arch >= 90 && defined $new ? $new : $old;
            my $found = delete $table{"$kernel sm_$arch"};
            my $name = "$kernel, sm_$arch";
            ref $right ? like($found, $right, $name)
                : is($found, $right, $name);
        }
    }
    is(join(' ', sort keys %table), '', 'and no other kernel is listed');
    like($out, qr/^\d+ kernels: \d+ with half adds in loops/m, 'the summary');

    # The lessons.
    my %lessons = (
        v0_half    => { dot_half => '1 f16; -; -' },
        v2_fastadd => { dot_fast => '1 f16; 1 ATOM F16x2; -',
            add_to_targets => '1 f16; 2 ATOM F16x2; -' },
        v3_cas => { add_compiled => '1 f16; -; -',
            add_cas32 => '1 f16; -; -', add_cas16 => '1 f16; -; -' },
    );
    for my $lesson (sort keys %lessons) {
        ($status, $out, $err) = half_cas($object{$lesson});
        is("$status$err", '1', "$lesson: exit 1");
        %table = table_of($out);
        for my $arch (@archs) {
            for my $kernel (sort keys %{ $lessons{$lesson} }) {
                my $found = $table{"$kernel sm_$arch"} // 'not listed';
                is($found, $lessons{$lesson}{$kernel},
                    "$lesson: $kernel, sm_$arch");
            }
        }
    }

    # Only what has nothing native.
    ($status, $out, $err) = half_cas('--only-loops', $object{v0_half});
    is("$status$err", '1', '--only-loops, a loop: exit 1');
    %table = table_of($out);
    is(join(' ', sort keys %table),
        join(' ', sort map { "dot_half sm_$_" } @archs), 'and it is listed');
    ($status, $out, $err) = half_cas('--only-loops', $object{v2_fastadd});
    is("$status$err", '0', '--only-loops, a loop beside a RED: exit 0');
    like($out, qr/\A\d+ kernels: 0 with half adds in loops and nothing native\n\z/,
        'and only counted');

    # One architecture, of an object and of a cubin.
    ($status, $out) = half_cas('--arch', 'sm_75', $object{v0_half});
    is("$status " . join(' ', $out =~ /^sm_\d+/mg), '1 sm_75',
        '--arch lists that one');
    for my $file ($object{v0_half}, "$tmp/kinds.cubin") {
        ($status, $out, $err) = half_cas('--arch', 'sm_70', $file);
        is("$status$out", '2', '--arch that is not there: exit 2');
        like($err, qr/has no kernel for sm_70; it has .*sm_90/,
            'and says what is');
    }
    ($status, my $from_file) = half_cas('./kinds.cubin');
    is($status, 1, 'a cubin can be read');
    ($status, $out, $err) = run({ dir => $tmp, env => { PATH => $path } },
        'sh', '-c', 'exec "$0" - <kinds.cubin', $tool);
    is("$status$err$out", "1$from_file", '- reads standard input');

    # Beside machine code that this cuobjdump refuses: sm_90's, called sm_60.
    my $old = slurp("$tmp/kinds.cubin");
    substr($old, 49, 1) = chr 60;    # in the ELF header's flags
    spew("$tmp/old.cubin", $old);
    ($status, $out, $err) = half_cas('old.cubin');
    is("$status$out", '2', 'old machine code only: exit 2, nothing on stdout');
    my $words = qr/sm_60 left out: nvdisasm fatal: .*SM60.*/;
    like($err, qr/\Ahalf_cas: old\.cubin cannot be read: $words\n\z/, 'and why');
    my @both = run(dirname($nvcc) . '/fatbinary', '-64', '--create',
        "$tmp/both", map { "--image3=kind=elf,sm=$_->[0],file=$tmp/$_->[1]" }
            [60, 'old.cubin'], [90, 'kinds.cubin']);
    is("$both[0]$both[2]", '0', 'a fat binary with old machine code');
    ($status, $out, $err) = half_cas('both');
    is("$status$out", "1$from_file", 'the rest of it is read');
    like($err, qr/\Ahalf_cas: both: $words\n\z/, 'and what is left out, is said');

    # A debug build, where atomicAdd is a function.
    spew("$tmp/debug.cu", <<'END');
#include <cuda_fp16.h>
__global__ void add(half *p, half v) { atomicAdd(p, v); atomicAdd(p + 1, v); }
__global__ void pair(half2 *p, half2 v) { atomicAdd(p, v); }
__global__ void none(half *p, half v) { *p = v; }
END
    is((run({ dir => $tmp }, $nvcc, '-G', '-arch=sm_90', '-cubin', 'debug.cu'))[0],
        0, 'a -G build');
    ($status, $out, $err) = half_cas('debug.cubin');
    is("$status$err", '1', 'a -G build: exit 1');
    %table = table_of($out);
    is_deeply(\%table, { 'add sm_90' => '1 f16; -; -',
        'pair sm_90' => '-; 1 ATOM F16x2; -' }, 'listed under its kernels');
    like($out, qr/^3 kernels: 1 with/m, 'and only these are counted');

    # What cannot be read.
    spew("$tmp/half.cubin", substr slurp("$tmp/kinds.cubin"), 0, 3000);
    for (
        ['ptx.o', qr/has PTX only/], ['kinds.ptx', qr/is PTX text/],
        ['text', qr/no kernels found/], ['empty', qr/no kernels found/],
        ['half.cubin', qr/no kernels found/],
        ['/bin/sh', qr/no kernels found: .*device code/],
    ) {
        my ($file, $pattern) = @$_;
        ($status, $out, $err) = half_cas($file);
        is("$status$out", '2', "$file: exit 2, nothing on stdout");
        like($err, qr/\Ahalf_cas: .*$pattern.*\n\z/,
            "$file: one line says why");
    }
}

done_testing();
