#!/usr/bin/env perl
# Pairs of halves in another block's shared memory, docs/atomics.md: the listing
# and the table of results/cluster/ against this ptxas, tools/cluster_ptxas.sh
# on listings that it is given, tools/cluster_*.cu, and what an H200 printed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

my $tool     = "$root/tools/cluster_ptxas.sh";
my $listing  = slurp("$root/results/cluster/adds.sm_90.txt");
my $toolkits = slurp("$root/results/cluster/toolkits.txt");
my @archs    = qw(90 100 103 110 120 121);

# --- the script, with a ptxas and an nvdisasm that say what they are told ---

# Knows the architectures given, notes what it is asked for, and "assembles".
sub fake_ptxas {
    my ($release, $known) = @_;
    spew("$tmp/ptxas", <<"END", 0755);
#!/bin/sh
case \$1 in --version) echo 'release, V$release'; exit ;; esac
case ' $known ' in *" \${1#-arch=sm_} "*) cp "\$4" "\$3" ;;
*) echo "ptxas fatal : Value is not defined for option 'gpu-name'"; exit 1 ;;
esac
END
    return "$tmp/ptxas";
}

# The nine kernels; those of a pair have $pair after the test for shared memory.
sub fake_nvdisasm {
    my ($pair, $float) = @_;
    my $text = '';
    for my $type (qw(f16x2 bf16x2 f32)) {
        for my $form (qw(any atom red)) {
            my $n = 0;
            $text .= ".text.${form}_$type:\n" . join '', map {
                sprintf "        /*%04x*/   %s ;\n", 16 * $n++, $_
            } '@P0 EXIT', 'LDS R2, [UR4]', 'ATOMS.CAST.SPIN R3, [R4], R2, R3',
                @{ $type eq 'f32' ? $float : ref $pair->[0]
                    ? $pair->[$form eq 'red'] : $pair }, 'EXIT';
        }
    }
    spew("$tmp/fake.sass", $text);
    spew("$tmp/nvdisasm", "#!/bin/sh\ncat '$tmp/fake.sass'\n", 0755);
    return { env => { NVDISASM => "$tmp/nvdisasm" } };
}

my @plain  = ('LD.E R0, [R2]', 'IADD3 R5, R0, UR6, RZ', 'ST.E [R2], R5');
my @moved  = ('LD.E R0, [R2]', 'IMAD.IADD R5, R0, 0x1, R5', 'ST.E [R2], R5');
my @rights = ('LD.E R4, [R2]', 'HADD2 R5, R4, R0',
    'ATOM.E.CAST.SPIN PT, R5, [R2], R4, R5', @plain);
my @float = ('LD.E R4, [R2]', 'FADD R5, R4, UR6',
    'ATOM.E.CAS.STRONG.GPU PT, R5, [R2], R4, R5');
my @half = ('LD.E R0, [R2]', 'HADD2 R5, R0, R1', 'ST.E [R2], R5');
for (
    ['13.9.1', \@plain, 'LD IADD ST', @archs],
    ['13.9.1', \@moved, 'LD IADD ST', @archs],
    ['13.9.1', \@half,  'LD HADD ST', @archs],
    ['13.9.1', \@rights, 'atomic',    @archs],
    ['12.9.1', \@plain, 'LD IADD ST', 90, 101],
) {
    my ($release, $pair, $cell, @known) = @$_;
    my ($status, $out, $err) = run(fake_nvdisasm($pair, \@float), 'sh', $tool,
        fake_ptxas($release, "@known"));
    is("$status$err", '0', "$release, $pair->[1]: exit 0");
    my %known = map { $_ == 101 ? 110 : $_ => 1 } @known;
    my @tables = map { my $is = $_; join ' +', $release =~ s/\./\\./gr,
        map { $known{$_} ? $is : '-' } @archs } $cell, 'atomic';
    like($out,
        qr/\Apairs(?: +sm_\d+){6}\n$tables[0]\n\nfloat .*\n$tables[1]\n\z/,
        "$release, $pair->[1]: $cell, where it is known");
}
for (
    ['a new kind', ['LD.E R0, [R2]', 'NEW R5, R0', 'ST.E [R2], R5'], '90'],
    ['one form of three mended', [\@plain, \@rights], '90'],
) {
    my ($what, $pair, $known) = @$_;
    my ($status, $out, $err) = run(fake_nvdisasm($pair, \@float), 'sh', $tool,
        fake_ptxas('13.9.1', $known));
    is("$status$out", '2', "$what: exit 2, no table");
    like($err, qr/\Acluster_ptxas: .*sm_90: code of a new kind; .*--sass\n\z/,
        "$what: one line");
}
{
    my $old = fake_nvdisasm(\@plain, \@float);
    spew("$tmp/nvdisasm", "#!/bin/sh\necho fatal: age >&2; exit 1\n", 0755);
    for (
        [qr/^Usage: /], [qr/unknown option "--foo"/, '--foo'],
        [qr/--sass takes/, '--sass', 'sm_90'], [qr/no ptxas/, '/bin/true'],
        [qr/no ptxas/, "$tmp/none"],
        [qr/does not know sm_80/, '--sass', 'sm_80',
            fake_ptxas('13.9.1', '90')],
        [qr/fatal: age \(older than/, '--sass', 'sm_90', "$tmp/ptxas"],
    ) {
        my ($why, @arguments) = @$_;
        my ($status, $out, $err) = run($old, 'sh', $tool, @arguments);
        is("$status$out", '2', "cluster_ptxas @arguments: exit 2");
        like($err, $why, "cluster_ptxas @arguments: why");
    }
}

# --- what is kept ---

my ($pairs, $floats) = split /\n\n/, $toolkits;
my @releases = $pairs =~ /^(\d+\.\d+)\.\d+ /mg;
cmp_ok(scalar @releases, '>=', 16, 'ptxas of 16 releases');
is("@releases[0, -1]", '11.8 13.5', 'from 11.8 to 13.5, as the page says');
unlike($pairs, qr/atomic/, 'none has an atomic for pairs');
is(join(' ', $floats =~ /^(\d+\.\d+)\S* +LD FADD ST/mg),
    '11.8 12.0 12.1 12.2', 'for a float from 12.3 on');

# The report's machine code is that of the listing.
my ($code) = $listing =~ /^any_f16x2\n.*?^( +ATOM\.E\.ADD.*? ST\.E \N+\n)/ms;
my $report = slurp("$root/tools/cluster_adds.cu");
ok(index($report, $code =~ s/^/ * /mgr) > 0, 'the report quotes the listing');
unlike($report, qr/#include "/, 'it needs no file of the course');

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');
    (my $ptxas = $nvcc) =~ s/nvcc\z/ptxas/;
    skip 'there is no ptxas beside nvcc' if !-x $ptxas;

    my ($status, $out, $err) = run('sh', $tool, '--sass', 'sm_90', $ptxas);
    is("$status$err", '0', 'the machine code by this ptxas');
    my ($release) = $out =~ /^ptxas (\S+),/;
  SKIP: {
        skip 'the listing is of ptxas 13.0.88' if $release ne '13.0.88';
        is($out, $listing, 'results/cluster/adds.sm_90.txt is fresh');
    }
    # All architectures in CI, else two: what is left out is unknown here.
    my $some = $full ? '*' : '90 | *120';
    spew("$tmp/some", <<"END", 0755);
#!/bin/sh
case \$1 in *$some | --version) exec '$ptxas' "\$@" ;; esac
echo "is not defined for option 'gpu-name'"
exit 1
END
    ($status, $out, $err) = run('sh', $tool, "$tmp/some");
    is("$status$err", '0', 'the table of this ptxas');
    my ($kept, $made) = map { [map { [/(-|atomic|LD \w+ ST)/g] }
        $_ =~ /^\Q$release\E (.*)/mg] } $toolkits, $out;
    skip "ptxas $release is not in the table" if !@$kept;
    for my $table (0, 1) {
        my @asked = $full ? 0 .. $#archs : (0, 4);
        is(join(', ', @{ $made->[$table] }[@asked]),
            join(', ', @{ $kept->[$table] }[@asked]),
            ('pairs', 'float')[$table] . ': as in the table');
    }
}

# --- every release that PyPI has, with FULL=1: it fetches 16 wheels ---

SKIP: {
    skip 'FULL=1 fetches the releases of ptxas from PyPI', 1
        if ($ENV{FULL} // 0) ne '1';
    my @releases = $toolkits =~ /^(\d+\.\d+\.\d+) /mg;
    my (%seen, @ptxas);
    for my $release (grep { !$seen{$_}++ } @releases) {
        my ($major) = split /\./, $release;
        my $package = 'nvidia-cuda-nvcc' . ($major < 13 ? "-cu$major" : '');
        my $to = "$tmp/$release";
        my ($status, $out, $err) = run("$root/.venv/bin/python", '-m', 'pip',
            qw(install -q --no-deps --target), $to, "$package==$release");
        my ($ptxas) = glob "$to/nvidia/*/bin/ptxas";
        ok($status == 0 && $ptxas, "$package $release has a ptxas")
            or diag($err);
        push @ptxas, $ptxas // ();
    }
    my ($status, $out, $err) = run('sh', $tool, @ptxas);
    is("$status$err", '0', 'the table of them all');
    is($out, $toolkits, 'results/cluster/toolkits.txt is fresh');
}

# --- the programs ---

SKIP: {
    my $nvcc = find_nvcc();
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my @names = qw(cluster_adds cluster_ways);
    my @gencode = map { ('-gencode', "arch=compute_$_,code=sm_$_") }
        $full ? (75, 90) : 90;
    my @built = run_jobs(map { [$nvcc, @nvcc_strict, @gencode, '-o', "$tmp/$_",
        "tools/$_.cu"] } @names);
    for (@names) {
        my ($status, $out, $err) = @{ shift @built };
        is("$status$out$err", '0', "$_.cu: compiles without a warning");
        ($status, $out, $err) = run("$tmp/$_");
        if (has_gpu()) {
            ok($status == 0 || $err =~ /needs a GPU from sm_90/,
                "$_: runs, or says what it needs");
        } else {
            is("$status$out", '3', "$_ without a GPU: exit 3");
        }
    }
}

# make corrections runs them, and all others after one that ends with 3.
{
    my $tree = copy_tree('corrections', qw(Makefile common tools));
    spew("$tree/nvcc", <<'END', 0755);
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" != -o ] || program=$2; shift; done
printf '#!/bin/sh\necho %s; exit 3\n' "$1" > "$program"
chmod +x "$program"
END
    my ($status, $out, $err) = run({ dir => $tree }, $make, '-s',
        'BACKEND=cuda', "NVCC=$tree/nvcc", 'ARCH=sm_75', 'corrections');
    is($out, join('', map { "tools/$_.cu\n" } qw(corrections corrections_shared
        cluster_adds cluster_ways)), 'make corrections: all programs');
    is($status, 2, 'and it fails if one did');
}

# --- what they printed on an H200 ---

{
    my $printed = slurp("$root/results/nvidia_h200/corrections.txt");
    my ($other, $own) = $printed =~
        /^cluster .*?^ +type.*?\n(.*?)^ +elsewhere\n(.*?)^ways/ms;
    my %verdict;
    push @{ $verdict{"$2"} }, $1 while $other =~ /^ {10}(\w+).* (ok|LOST)$/mg;
    is("@{ $verdict{LOST} }; @{ $verdict{ok} }", 'half2 half2 half2 half2 '
        . 'bfloat162 bfloat162 bfloat162; half bfloat16 float int',
        'in the other block pairs are lost, and no other type');
    is(join(' ', $own =~ /(ok|LOST)$/mg), 'ok ok LOST LOST ok',
        'own block, local memory');
    my @ns = map { [split ' ', $_] } $printed =~
        /^ {10}(?:compare-|two |each |atomicAdd).*?((?: +[\d.]+){2})$/mg;
    is(scalar @ns, 4, 'four ways');
    ok((!grep { $ns[3][$_] > $ns[2][$_] || $ns[2][$_] > $ns[0][$_]
        || $ns[2][$_] > $ns[1][$_] } 0, 1),
        'global memory is the cheapest, then one that collects');
    like($printed, qr/^result +all sums are exact: ok$/m, 'all are right');
}
done_testing();
