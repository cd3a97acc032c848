#!/usr/bin/env perl
# What nvcc makes of the lessons: every architecture without a warning, the
# command in each opening comment, and the atomic instructions in PTX and SASS
# that the lessons claim. And names that no lesson may use.
# Takes long: make test starts it early.
use strict;
use warnings;
use File::Glob qw(:bsd_glob);
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename dirname);
use Test::More;

my @lessons = map { basename($_) } sort glob "$root/lessons/v*_*";
my $nvcc = find_nvcc();

# --- the text ---

# What a source may not say; comments are not looked at.
my @forbidden = (
    [qr/\b__h(?:add|mul|sub)2?\s*\(/,
        'an operation that nvcc may fuse: use the _rn form'],
    [qr/^\s*\#\s*(?:if|elif)(?:n?def)?\b.*
        \b(?:__CUDACC__|__NVCC__|\w*MUSA\w*|CPU_\w+|\w*BACKEND\w*)\b/x,
        'a branch on the backend'],
    [qr/\btemplate\s*<|\bclass\s|\boperator\s*[-+*\/=]/,
        'C++ beyond the common subset'],
);

# The lines of @lines that break a rule, as "LINE: why".
sub breaches {
    my ($text) = @_;
    my $blank = sub { (my $c = $_[0]) =~ s/[^\n]//g; return $c };
    $text =~ s{(/\*.*?\*/|//[^\n]*)}{$blank->($1)}gse;
    my @lines = split /\n/, $text;
    my @found;
    for my $i (0 .. $#lines) {
        $lines[$i] =~ $_->[0] and push @found, $i + 1 . ": $_->[1]"
            for @forbidden;
    }
    return @found;
}

my @sources = files_of(qr/\.(cu|c|h)\z/, qw(lessons exercises solutions));
cmp_ok(scalar @sources, '>=', @lessons, 'there are sources');
for my $source (@sources) {
    my @found = breaches(slurp("$root/$source"));
    is("@found", '', "$source: nothing forbidden");
}
for (
    ['x = __hadd(a, b);', 1], ['__hmul2 (a, b)', 1], ['__hsub(a, b)', 1],
    ['__hadd_rn(a, b) __hfma(a, b, c)', 0], ['/* __hadd(a, b) */', 0],
    ["#ifdef __CUDACC__\n#endif", 1], ["# if defined(__MUSA__)\n", 1],
    ["#if __CUDA_ARCH__ >= 900\n#endif", 0], ["\n// __hmul(\nx", 0],
    ['template <class T> f()', 1],
) {
    my ($text, $expected) = @$_;
    is(scalar breaches($text), $expected, "the rules on: $text");
}

my $fast = qr/use_fast_math|ffast-math|Ofast|ftz=true|prec-(?:div|sqrt)=false|
    funsafe-math|fassociative|freciprocal|ffinite-math|fmad=true|
    ffp-contract=(?:fast|on)/x;
{
    (my $makefile = join '', map { slurp("$root/$_") } 'Makefile',
        files_of(qr/\.mk\z/, qw(common tools))) =~ s/^\s*#.*//mg;
    unlike($makefile, $fast, 'no fast math in the Makefile');
    like('-O3 --use_fast_math', $fast, 'the rule finds fast math');
    like($makefile, qr/-ffp-contract=off/, 'the CPU build fuses nothing');
}

# --- nvcc ---

my %claim = (
    v0_half => { kernel => 'dot_half',
        ptx  => qr/\Aatom\.add\.noftz\.f16\z/,
        sass => qr/\AATOM\.E\.CAS\.STRONG\.GPU\z/ },
    v1_pack2 => { kernel => 'dot_pack2',
        ptx  => qr/\Aatom\.add\.noftz\.f16x2\z/,
        sass => qr/\AATOM\.E\.ADD\.F16x2\.RN\.STRONG\.GPU\z/ },
    v2_fastadd => { kernel => 'dot_fast',
        ptx  => qr/\Aatom\.add\.noftz\.f16 atom\.add\.noftz\.f16x2\z/,
        sass => qr/\AATOM\.E\.ADD\.F16x2\.RN\.STRONG\.GPU
            \ ATOM\.E\.CAS\.STRONG\.GPU\z/x },
);

# A loop: a label, an add of half, the merge, the 32-bit CAS, and back. What is
# loaded first is the whole 4-byte word: LD.E, not LD.E.U16.
my $loop = qr{
    \bLD\.E(?:\.SYS|\.STRONG\S*)?\ (?:.*\n)*?
    .*(\.L_x_\d+):.*\n
    (?:(?!.*BRA).*\n)*? .*\bHADD2\b.*\n
    (?:(?!.*BRA).*\n)*? .*\bPRMT\b.*\n
    (?:(?!.*BRA).*\n)*? .*\bATOM\.E\.CAS\.STRONG\.GPU\b.*\n
    (?:(?!.*BRA).*\n)*? .*\bBRA\ `\(\1\)
}x;

SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;

    my @results = compile_kept($nvcc, map { "lessons/$_/$_.cu" } @lessons);
    for my $i (0 .. $#lessons) {
        my ($status, $out, $err) = @{ $results[$i] };
        is("$status$out$err", '0',
            "$lessons[$i]: compiles for sm_@archs without a warning");
    }

  SKIP: {
        skip_unless_full('the lessons for a debugger');
        my @debug = run_jobs(map { [$nvcc, @nvcc_strict, '-G', '-arch=sm_90',
            '-cubin', '-o', "$tmp/$_.cubin", "lessons/$_/$_.cu"] } @lessons);
        is(join('', @{ $debug[$_] }), '0', "$lessons[$_]: compiles with -G")
            for 0 .. $#lessons;
    }

    # The rules are in force: operators on half, a variable that is not used.
    my @planted = (
        ['an operator on half', '__hmul_rn(a[i], b[i])', 'a[i] * b[i]'],
        ['half from a number',  '__float2half_rn(0.0f)', '0.0f'],
        ['an unused variable',  'half sum = ', 'int spare; half sum = '],
        ['a comparison of signs', 'int ok;',
            'int ok = (size_t)argc > sizeof n ? argc < sizeof n : 0;'],
    );
    @planted = some_of(@planted);
    plant('lessons/v0_half', "$tmp/planted$_", @{ $planted[$_] }[1, 2])
        for 0 .. $#planted;
    @results = run_jobs(map { [$nvcc, @nvcc_strict, '-arch=sm_90', '-c', '-o',
        "$tmp/planted$_.o", "$tmp/planted$_/v0_half.cu"] } 0 .. $#planted);
    isnt($results[$_][0], 0, "the flags refuse $planted[$_][0]")
        for 0 .. $#planted;

    # The command that each opening comment gives.
    my $tree = copy_tree('alone');
    my (@commands, @programs, %seen);
    for my $lesson (@lessons) {
        my $text = slurp("$root/lessons/$lesson/$lesson.cu");
        my ($command) = $text =~ m{Build it alone: +(nvcc(?:.*\\\n)*.*)};
        ok(defined $command, "$lesson: the comment says how to build it")
            or next;
        $command =~ s/\\\n \* +//g;
        # In CI one of each kind is run: what these flags compile is seen above.
        my $number = 1 + grep { $_ lt $lesson } @lessons;
        my $include = slurp("$root/lessons/$lesson/$lesson.cu")
            =~ /include "half_atomics\.h"/ ? ' -Iinclude' : '';
        is($command, "nvcc -arch=native -Icommon$include -o lesson$number "
            . "lessons/$lesson/$lesson.cu", "$lesson: the comment's command");
        next if !$full && (!$ci || $seen{$include}++);
        $command =~ s/-arch=native/-arch=sm_90/ if !has_gpu();
        my ($program) = $command =~ / -o (\S+)/;
        push @programs, $program;
        push @commands, [{ dir => $tree, env =>
            { PATH => dirname($nvcc) . ":$ENV{PATH}" } }, 'sh', '-c', $command];
    }
    @results = run_jobs(@commands);
    for my $i (0 .. $#results) {
        my ($status, $out, $err) = @{ $results[$i] };
        is("$status$out$err", '0', "$commands[$i][3]: builds, no warning");
        ($status, $out) = run({ dir => $tree }, "./$programs[$i]", '--help');
        my ($number) = $programs[$i] =~ /(\d+)/;
        is($status, 0, "$programs[$i] --help: exit 0");
        my $name = $lessons[$number - 1];
        like($out, qr/^lesson $number  $name: /,
            "$programs[$i] is lesson $number");
    }

    # PTX.
    for my $lesson (sort keys %claim) {
        my $claim = $claim{$lesson};
        for my $arch (@archs) {
            my $text = kernel_text('ptx', $claim->{kernel},
                kept_ptx($lesson, $arch));
            like(atomics('ptx', $text), $claim->{ptx},
                "$lesson, PTX for compute_$arch: the atomics");
        }
    }

    # SASS.
    my $nvdisasm  = find_disassembler('nvdisasm');
    my $cuobjdump = find_disassembler('cuobjdump');
    skip_or_fail('there is no nvdisasm or cuobjdump here')
        if !$nvdisasm && !$cuobjdump;
    for my $lesson (sort keys %claim) {
        my $claim = $claim{$lesson};
        for my $arch (@archs) {
            my ($status, $out, $err) = disassemble($lesson, $arch);
            my $name = "$lesson, SASS for sm_$arch";
            is($status, 0, "$name: can be read") or diag($err);
            my $text = kernel_text('sass', $claim->{kernel}, $out);
            like(atomics('sass', $text), $claim->{sass}, "$name: the atomics");
            next if $lesson eq 'v1_pack2' || !$nvdisasm;
            like($text, $loop, "$name: the loop");
        }
    }
}

done_testing();
