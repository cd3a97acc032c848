#!/usr/bin/env perl
# The atlas, results/atlas/: its files, tools/atlas.sh and what it reads from
# listings, NVIDIA's rows from sm_75 on and AMD's compiled anew (make test: one
# GPU of each), and what docs/atomics.md says of it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my $tool = "$root/tools/atlas.sh";
my ($head) = slurp($tool) =~ /^HEAD=(\S+)$/m;
my @nvidia = map { "sm_$_" } qw(60 61 62 70 72 75 80 86 87 88 89 90 100 103 110
    120 121);
my @amd = map { "gfx$_" } qw(908 90a 942 1030 1100 1200);
my $unsafe = '-munsafe-fp-atomics';

# The rows of a file or of what the tool printed, each a hash of its columns.
sub rows_of {
    my ($names, @lines) = split /\n/, $_[0];
    my @names = split /,/, $names;
    return map { my %row; @row{@names} = split /,/, $_, -1; \%row } @lines;
}
sub cell_of { return join ' ', grep { $_ ne '' } @{ $_[0] }{qw(gpu flags operation type memory)} }

my %text = map { $_ => slurp("$root/results/atlas/$_.csv") }
    qw(nvidia amd moore_threads);
my %rows = map { $_ => [rows_of($text{$_})] } keys %text;
my @all = map { @{ $rows{$_} } } sort keys %rows;
my %cell = map { cell_of($_) => $_ } @all;
sub kind { return ($cell{ $_[0] } // { kind => 'no row' })->{kind} }

# --- the files ---

is($text{$_} =~ /\A(.*)\n/ && $1, $head, "$_.csv: the columns") for sort keys %text;
is(scalar keys %cell, scalar @all, 'each cell has one row');
my @adds = map { "add $_" } qw(half bf16 half2 bf162 float);
my @calls = (@adds, 'max half', 'min half', 'cas ushort');
my @missing = grep { !$cell{$_} } (map { my $gpu = $_; map { my $call = $_;
    map { "$gpu $call $_" } qw(global shared cluster) } @calls } @nvidia),
    (map { ("$_ add half8 global") } @nvidia),
    (map { my $gpu = $_; map { my $call = $_; map { "$gpu $call $_" }
        qw(global shared) } @calls } map { ($_, "$_ $unsafe") } @amd);
is("@missing", '', 'a row for each GPU, flag, call and memory');
my @kinds = ('instruction', 'instruction if unused', 'loop', 'loses adds',
    'does not exist', 'not known');
my %known = map { $_ => 1 } @kinds;
is(join(' ', map { cell_of($_) } grep { !$known{ $_->{kind} }
    || ($_->{kind} eq 'does not exist') != ($_->{instruction} . $_->{unused} eq '')
    } @all), '', 'each has a kind and, if the call exists, an instruction');
is(join(' ', map { cell_of($_) } grep { !(
    $_->{known} eq 'compiled' ? $_->{by} =~ /^(?:nvcc|clang) [\d.]+\z/
    : $_->{known} eq 'executed' ? $_->{by} =~ m{^nvcc [\d.]+; (results/\S+)\z}
        && -s "$root/$1"
    : $_->{known} eq 'read' && $_->{by} =~ m{^(?:[\w-]+/)?[\w-]+\@[0-9a-f]{8} [\w/.]+:\d+\z}
    ) } @all), '', 'each says how it is known');
is(join(' ', map { cell_of($_) } grep { ($_->{known} eq 'read')
    != ($_->{gpu} =~ /^mp_/) } @all), '', 'only Moore Threads are read');
is(join(' ', map { "$_->{gpu} $_->{type} $_->{memory}" } grep {
    $_->{kind} eq 'loses adds' } @all), join(' ', 'mp_21 bf16 global', map {
    ("$_ bf162 cluster", "$_ half2 cluster") } grep { /_(\d+)/ && $1 >= 90 }
    @nvidia), 'where adds are lost');
{
    my @said = split /\n/, slurp("$root/tools/atlas/executed");
    is(scalar(grep { $_->{known} eq 'executed' } @all), scalar @said,
        'each line of tools/atlas/executed has its row');
}
for (['nvidia.sm_90', qr/^nvcc 13\.0\.88, sm_90\n/, 'add_half2_cluster'],
    ['amd.gfx90a', qr/^clang 19\.1\.7, gfx90a\n(?s:.*)^clang 19\.1\.7, gfx90a $unsafe\n/m,
        'add_half2_global']) {
    my ($name, $by, $kernel) = @$_;
    my $listing = slurp("$root/results/atlas/$name.txt");
    like($listing, $by, "$name.txt: by which compiler");
    like($listing, qr/^$kernel$/m, "$name.txt: has the kernels");
}

# --- from listings to rows ---

my $listing = <<'END';
add_half_global
    LD.E R5, [R2]
  .L_x_1:
    HADD2 R4, R5, R6
    ATOM.E.CAS.STRONG.GPU PT, R4, [R2], R5, R4
    @P0 BRA `(.L_x_1)
    EXIT
add_float_global
    ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R9, [R8], R7
    @P0 BRA `(.L_x_2)
  .L_x_2:
    EXIT
add_float_global_unused
    @!UP0 RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8], R7
    EXIT
max_half_shared
    EXIT
add_half2_cluster
    ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, R9, [R4], R11
    @P0 EXIT
    QSPC.E.S P0, RZ, [R4]
    @!P0 BRA `(.L_x_4)
  .L_x_3:
    LDS R8, [R4]
    ATOMS.CAST.SPIN R9, [R4], R8, R9
    @!P0 BRA `(.L_x_3)
    EXIT
  .L_x_4:
    LD.E R9, [R4]
    VIADD R11, R9, UR6
    ST.E [R4], R11
    EXIT
add_half2_global
  .LBB0_1:
    global_atomic_cmpswap v1, v[2:3], v[4:5], off glc
    s_cbranch_execnz .LBB0_1
    s_endpgm
add_half2_global_unused
    global_atomic_pk_add_f16 v0, v1, s[0:1]
    s_endpgm
END
my @rows_awk = ('-v', 'gpu=sm_1', '-v', 'flags=', '-v', 'by=test', '-v',
    "executed=$tmp/executed", '-f', 'tools/atlas/rows.awk');
spew("$tmp/executed", "sm_1 add half global a.txt\nsm_2 max half shared b.txt\n");
spew("$tmp/listing", $listing);
my %broken = (
    'a path that does something else' => ['VIADD', 'IMUL'],
    'two atomics where one is due' =>
        ['HADD2 R4, R5, R6', 'ATOMG.E.MAX R4, R5, R6'],
    'an atomic that is gone' => ['    @!UP0 RED', '    FADD'],
    'another verdict for a kernel' =>
        ['max_half_shared', "add_half_global\n    ATOMG.E.MAX R1"],
);
with_awks(sub {
    my ($name, undef, @awk) = @_;
    my ($status, $out, $err) = run(@awk, @rows_awk, "$tmp/listing");
    is("$status$err$out", <<'END', "$name: rows of a listing");
0sm_1,add,float,global,,instruction,ATOMG.E.ADD.F32.FTZ.RN,RED.E.ADD.F32.FTZ.RN,compiled,test
sm_1,add,half,global,,loop,ATOM.E.CAS,,executed,test; results/a.txt
sm_1,add,half2,cluster,,loses adds,LD IADD ST,,compiled,test
sm_1,add,half2,global,,instruction if unused,global_atomic_cmpswap,global_atomic_pk_add_f16,compiled,test
sm_1,max,half,shared,,does not exist,,,compiled,test
END
    for my $what (sort keys %broken) {
        my ($from, $to) = @{ $broken{$what} };
        spew("$tmp/broken", $listing =~ s/\Q$from\E/$to/r);
        ($status, $out, $err) = run(@awk, @rows_awk, "$tmp/broken");
        is("$status$out", '2', "$name: $what: exit 2, no rows");
        like($err, qr/\Aatlas: sm_1, add[_,\w]+: .*--listing\n\z/, "$name: and why");
    }
});

# --- bad input ---

{
    my %none = (env => { NVCC_OLD => undef, NVCC => undef, CLANG => 'no-clang' });
    my $bare = path_without(qw(nvcc clang-19));
    for (
        [qr/^Usage: /], [qr/^atlas: unknown option "--foo"/, '--foo'],
        [qr/^atlas: --listing takes an architecture/, '--listing'],
        [qr/^atlas: --write takes nothing/, '--write', 'sm_90'],
        [qr/^atlas: unknown architecture "sm_50"; there are sm_60 /, 'sm_50'],
        [qr/^atlas: unknown architecture ""; /, ''],
        [qr/^atlas: sm_60 needs NVCC_OLD=/, 'sm_60'],
        [qr/^atlas: gfx942 needs clang 19: /, 'gfx942'],
    ) {
        my ($why, @arguments) = @$_;
        @arguments = ('sh', $tool, @arguments);
        my ($status, $out, $err) = run({ %none }, @arguments);
        next if @arguments == 3 && $arguments[2] eq '' && $status == 2
            && like($err, qr/^Usage: /, 'an empty architecture: the usage');
        is("$status$out", '2', "atlas.sh @arguments[2 .. $#arguments]: exit 2");
        like($err, $why, 'and why');
    }
    my $tree = copy_tree('atlas', qw(Makefile common tools results));
    my ($status, undef, $err) = run({ dir => $tree, %none }, $make, '-s', 'atlas');
    is($status, 2, 'make atlas without NVCC_OLD: exit 2');
    one_line($err, qr/^atlas: sm_60 needs NVCC_OLD=/, 'one line says why');
    is(slurp("$tree/results/atlas/$_.csv"), $text{$_}, "and $_.csv stays")
        for qw(nvidia amd);
}

# --- compiled anew ---

# The cells in which rows made anew differ from those that are kept, but for the
# version of the compiler.
sub changes {
    my ($kept, $made) = map { +{ map { cell_of($_) => join(',',
        @{$_}{split /,/, $head}) =~ s/,(?:nvcc|clang)\K [\d.]+//r } @$_ } } @_;
    return grep { ($kept->{$_} // '') ne ($made->{$_} // '') }
        sort keys %{ { %$kept, %$made } };
}

# For GPUs of one maker. A learner's compiler may be another than that of the rows.
sub is_fresh {
    my ($maker, $env, @gpus) = @_;
    my @made = run_jobs(map { [{ env => $env }, 'sh', $tool, $_] } @gpus);
    for my $i (0 .. $#gpus) {
        my ($status, $out, $err) = @{ $made[$i] };
        is("$status$err", '0', "$gpus[$i]: made anew");
        my @made = rows_of($out);
        my @kept = grep { $_->{gpu} eq $gpus[$i] } @{ $rows{$maker} };
        my ($by, $was) = map { $_->[0]{by} =~ s/;.*//r } \@made, \@kept;
      SKIP: {
            skip "$gpus[$i]: here is $by, the rows are of $was", 1
                if $by ne $was && !$ci;
            is(join(', ', changes(\@kept, \@made)), '',
                "$gpus[$i]: by $by as in $maker.csv, by $was");
        }
    }
}
my @new = $ci || $full ? grep { /_(\d+)/ && $1 >= 75 } @nvidia : 'sm_90';
SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');
    is_fresh('nvidia', {}, @new);

    # That PTX does not exist is what ptxas says, not what the source does.
    my $source = slurp("$root/tools/atlas/nvidia.cu");
    $source =~ s/__CUDA_ARCH__ >= 900/__CUDA_ARCH__ >= 750/;
    $source =~ s/^.*CLUSTER\(\w+, \w+\)$//mg; # that is the header's to say
    spew("$tmp/nvidia.cu", $source);
    my ($status, undef, $err) = run($nvcc, qw(-std=c++17 -arch=sm_89 -cubin -o),
        "$tmp/cubin", "$tmp/nvidia.cu");
    isnt($status, 0, 'sm_89 refuses the PTX from sm_90 on');
    like($err, qr/'$_' requires \.target sm_90 /, "$_: ptxas says so")
        for qw(red\.max\.f16\.global red\.add\.bf16x2\.global),
        'red instruction with vector types';
    $source = slurp("$root/tools/atlas/nvidia.cu") =~ s/"(?:atom|red)\.\Kglobal\."
        (?=\ what\ )/shared."/gxr;
    spew("$tmp/nvidia.cu", $source);
    ($status, undef, $err) = run($nvcc, qw(-std=c++17 -arch=sm_90 -cubin -o),
        "$tmp/cubin", "$tmp/nvidia.cu");
    isnt($status, 0, 'sm_90 refuses a maximum of half in shared memory');
    like($err, qr/State space incorrect/, 'and says that it is the memory');
}
SKIP: {
    skip 'NVCC_OLD=... names no nvcc of CUDA 11.8', 1 if !$ENV{NVCC_OLD};
    is_fresh('nvidia', {}, $ci || $full ? grep { /_[67]/ && !/75/ } @nvidia : 'sm_60');
}
SKIP: {
    skip_or_fail('there is no clang-19 here') if !which('clang-19');
    is_fresh('amd', {}, $ci || $full ? @amd : 'gfx90a');

    # A compiler that takes no notice of the flag is found by what it changes.
    spew("$tmp/clang", <<"END", 0755);
#!/bin/sh
for word; do
    shift
    [ "\$word" = $unsafe ] || set -- "\$@" "\$word"
done
exec clang-19 "\$@"
END
    my (undef, $out) = run({ env => { CLANG => "$tmp/clang" } }, 'sh', $tool,
        'gfx90a');
    my @made = rows_of($out);
    my @kept = grep { $_->{gpu} eq 'gfx90a' } @{ $rows{amd} };
    is(join(', ', changes(\@kept, \@made)), "gfx90a $unsafe add float global",
        'another compiler is found');
    $made[0]{kind} = 'loses adds';
    is(scalar changes(\@kept, \@made), 2, 'and so is another kind');
}

# --- what the page says ---

# The GPUs of a list on which a call is of one of these kinds.
sub those {
    my ($call, $kinds, @gpus) = @_;
    return join ' ', grep { kind("$_ $call") =~ /^(?:$kinds)\z/ } @gpus;
}
my @with = map { "$_ $unsafe" } @amd;
my @from_90 = grep { /_(\d+)/ && $1 >= 90 } @nvidia;
for my $type (qw(half bf16)) {
    is(those("add $type $_", 'instruction.*', @nvidia, @amd, @with), '',
        "one $type in $_ memory is an instruction nowhere") for qw(global shared);
}
is(those('add half2 global', 'instruction', @nvidia), "@nvidia",
    'half2: on all of NVIDIA\'s');
is(those('add half2 global', 'instruction', @amd), 'gfx90a gfx942 gfx1200',
    'and three of AMD\'s');
is(those('add bf162 global', 'instruction', @nvidia, @amd),
    "@from_90 gfx942 gfx1200", 'pairs of bf16');
is(those("add $_ shared", 'loop|does not exist', @nvidia), "@nvidia",
    "NVIDIA's shared memory: no add of $_")
    for qw(half bf16 half2 bf162 float);
is(those("add double shared", 'loop', @nvidia), "@nvidia", 'nor of double');
is(those("add int shared", 'instruction', @nvidia), "@nvidia", 'but of int');
is(those('add float shared', 'instruction', @amd), "@amd",
    "AMD's shared memory adds float");
is(those("add $_ shared", 'instruction', @amd), 'gfx942 gfx1200', "and $_")
    for qw(half2 bf162);
is(those('add float global', 'instruction', @amd), 'gfx942',
    'float in AMD\'s global memory without the flag');
is(those('add float global', 'instruction.*', @with) =~ s/ $unsafe//gr,
    join(' ', grep { $_ ne 'gfx1030' } @amd), 'and with it');
is(kind("gfx908 $unsafe add float global"), 'instruction if unused', 'gfx908');
is(those("add $_ cluster", 'loses adds', @nvidia), "@from_90",
    "$_ in another block's shared memory")
    for qw(half2 bf162);
is(those("cas ushort $_", 'instruction', @nvidia, @amd), '',
    "CAS on 2 bytes in $_ memory") for qw(global shared);

# Five sentences, and their lines in bold.
my ($means) = slurp("$root/docs/atomics.md") =~
    /^## What it means for your kernel\n(.*?)^## /ms;
my @bold = $means =~ /^- \*\*/mg;
is(scalar @bold, 5, 'docs/atomics.md: five points');
is(scalar(() = $means =~ /[.](?:\n|\z)/g), 5, 'each one sentence');

# HIP's unsafeAtomicAdd of one half adds +0 to the one beside it.
spew("$tmp/beside.c", <<'END');
#include <stdio.h>
#include "fp16.h"
int main(void)
{
    unsigned pad, h;
    for (pad = 0; pad <= 0x8000; pad += 0x8000) {
        printf("%04x:", pad);
        for (h = 0; h < 0x10000; h++)
            if (!fp16_is_nan((uint16_t)h)
                && fp16_add((uint16_t)h, (uint16_t)pad) != h)
                printf(" %04x %04x", h,
                       (unsigned)fp16_add((uint16_t)h, (uint16_t)pad));
        printf("\n");
    }
    return 0;
}
END
{
    my ($status, $out, $err) = run($ENV{CC} // 'cc', "-I$root/common", '-o',
        "$tmp/beside", "$tmp/beside.c", '-lm');
    is("$status$err", '0', 'the neighbours: builds');
    ($status, $out) = run("$tmp/beside");
    is($out, "0000: 8000 0000\n8000:\n",
        '+0 makes +0 of -0 and nothing else; -0 changes no number');
}

done_testing();
