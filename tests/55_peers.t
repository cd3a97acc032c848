#!/usr/bin/env perl
# make peers: tools/peers/peers.py, with a PyTorch that has a clock of its own;
# and the tables of what it writes, which pair like with like.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Path qw(make_path);
use Test::More;

my $python = $ENV{PYTHON} || which('python3');
SKIP: {
    skip_or_fail('there is no python3 here') if !$python;
    my $peers = "$tmp/peers";
    spew("$peers/tools/peers/peers.py", slurp("$root/tools/peers/peers.py"));
    spew("$peers/torch/__init__.py", <<'END_PYTHON');
import os
__version__ = "9.8+cu1"
class version:
    cuda = "13.7"
class Event:
    def __init__(self, enable_timing):
        assert enable_timing
    def record(self):
        self.at = cuda.now
    def synchronize(self):
        pass
    def elapsed_time(self, end):
        return end.at - self.at
class cuda:
    now = 0.0
    Event = Event
    is_available = staticmethod(lambda: os.environ.get("NO_GPU") is None)
    get_device_name = staticmethod(lambda: "ACME GPU-1 X")
    get_device_capability = staticmethod(lambda: (9, 0))
    synchronize = empty_cache = staticmethod(lambda: None)
    @staticmethod
    def _sleep(cycles):
        cuda.now += 1000
END_PYTHON
    spew("$peers/tools/peers/$_.cu", '') for qw(first second);
    my $module = <<'END_PYTHON';
count = {}
SIZES = {"N": (1, 2000), "M": (5, 7)}
def cases(torch, library, sizes):
    assert library("first")
    def side(name, ms, reset=None, wrong="", sums="once", version="CUDA",
             error=0.25):
        def run():
            count[name] = count.get(name, 0) + 1
            torch.cuda.now += ms(count[name])
        def check():
            if wrong:
                raise ValueError(wrong)
            return error
        return name, version, sums, run, reset, check
    def clear():
        torch.cuda.now += 500
    yield {"work": "WORK", "setting": "n=%d" % sizes["N"], "bytes": 3000000,
        "sides": [side("ours", lambda k: 0.02, version="this repository"),
        side("peer", lambda k: 0.03, None, "", "once", "PyTorch", 1e-7)]}
    yield {"work": "WORK", "setting": "n=2", "bytes": 0, "sides": [
        side("half", lambda k: 0.004, clear, sums="in half", error=0),
        side("reset", lambda k: 0.01, version="CUDA by hand"),
        side("slow", lambda k: 0.09 if k == 7 else 0.005 if k == 9 else 0.03)]}
    yield {"work": "WORK", "setting": "n=3", "bytes": 0, "skip": "too large"}
    print(sorted(count.items()))
END_PYTHON
    spew("$peers/tools/peers/first.py", $module =~ s/WORK/one/gr);
    spew("$peers/tools/peers/second.py", $module =~ s/WORK/two/gr);
    spew("$peers/tools/peers/zero.py", # needs no library
        "SIZES = {}\ndef cases(torch, library, sizes):\n"
        . "    assert library('zero') is None and sizes == {}\n    return []\n");
    spew("$peers/empty.c", "int peers_empty;\n");
    make_path("$peers/so");
    for (qw(first second)) {
        my ($status) = run('cc', '-shared', '-fPIC', '-o', "$peers/so/$_.so",
            "$peers/empty.c");
        is($status, 0, "$_.so");
    }
    my $peers_run = sub {
        my ($env, @options) = @_;
        my @command = ($python, 'tools/peers/peers.py', @options);
        @command = onto_full(@command) if delete $env->{full};
        return run({ dir => $peers, env => { PYTHONPATH => $peers,
            PYTHONDONTWRITEBYTECODE => 1, NVCC => 'false', UNIT => 1, %$env } },
            @command);
    };
    my $csv = "$peers/results/acme_gpu_1_x/peers.csv";

    my ($status, $out, $err) = $peers_run->({ UNIT => undef }, 'so');
    is("$status$err", '0', 'peers: exit 0') or diag($out);
    like($out, qr/^ACME GPU-1 X, sm_90, CUDA 13\.7, PyTorch 9\.8\+cu1$/m,
        'peers: the device');
    like($out, qr/^n=3 +skipped: too large$/m, 'peers: what is skipped');
    # A check, three turns to warm up, 21 rounds: of 3 calls where one is 20 us
    # and nothing is reset.
    like($out, qr/^\[\('half',\ 25\),\ \('ours',\ 67\),\ \('peer',\ 67\),
        \ \('reset',\ 25\),\ \('slow',\ 25\)\]$/mx,
        'peers: how often each side runs');
    my ($header, @rows) = split /\n/, slurp($csv);
    is($header, 'gpu,arch,toolkit,torch,work,setting,side,version,sums,'
        . 'median_ms,least_ms,most_ms,rounds,ratio,ratio_least,ratio_most,'
        . 'gb_per_s,worst_error,launch_bound', 'peers: the header');
    my $who = 'ACME GPU-1 X,sm_90,CUDA 13.7,9.8+cu1';
    my @expected = map { my $work = $_; map { "$who,$work,$_" } (
        'n=1,ours,this repository,once,0.02,0.02,0.02,21,1,1,1,150,0.25,',
        'n=1,peer,PyTorch 9.8,once,0.03,0.03,0.03,21,1.5,1.5,1.5,100,1e-07,',
        'n=2,half,CUDA 13.7,in half,0.004,0.004,0.004,21,1,1,1,,0,yes',
        'n=2,reset,CUDA 13.7 by hand,once,0.01,0.01,0.01,21,1,1,1,,0.25,',
        'n=2,slow,CUDA 13.7,once,0.03,0.005,0.09,21,3,0.5,9,,0.25,') }
        qw(one two);
    is_deeply(\@rows, \@expected, 'peers: the rows, as by hand');

    # --only keeps the other work's rows, but not those of another version.
    spew($csv, slurp($csv) =~ s/,one,n=1,ours,/,one,n=1,theirs,/r);
    ($status) = $peers_run->({}, 'so', '--only', 'second');
    is($status, 0, 'peers: --only');
    like(slurp($csv), qr/^\Q$who\E,one,n=1,theirs,/m, 'keeps other works');
    is(scalar split(/\n/, slurp($csv)), 11, 'and loses no row');
    my $kept = slurp($csv);
    ($status, $out) = $peers_run->({ UNIT => undef }, 'so', '--only', 'first',
        'N=9');
    is($status, 0, 'peers: sizes of the user');
    like($out, qr/^n=9 +ours .*^Nothing is written/ms, 'are printed');
    is(slurp($csv), $kept, 'and not written');
    spew($csv, slurp($csv) =~ s/9\.8\+cu1,one/9.7,one/gr);
    $peers_run->({}, 'so', '--only', 'second');
    unlike(slurp($csv), qr/,one,/, 'unless they are from another PyTorch');

    # Another unit of the same model has a file of its own.
    my $before = slurp($csv);
    ($status) = $peers_run->({ UNIT => 2 }, 'so', '--only', 'first');
    is($status, 0, 'peers: UNIT=2');
    like(slurp("$peers/results/acme_gpu_1_x_2/peers.csv"),
        qr/^ACME GPU-1 X \(unit 2\),sm_90,.*,one,/m, 'its rows say so');
    is(slurp($csv), $before, 'and the first unit keeps its file');
    for (
        [{ UNIT => undef }, qr{^peers: results/acme_gpu_1_x/peers\.csv is there, }
            . '.*UNIT=2.*UNIT=1', 'so'],
        [{ UNIT => '0' }, qr/^peers: UNIT=0: expected a number/, 'so'],
        [{ NO_GPU => 1 }, qr/^peers: PyTorch \S+ finds no NVIDIA GPU/, 'so'],
        [{}, qr/^peers: none\/first\.so is missing; run make peers/, 'none'],
        [{}, qr/^usage: peers\.py LIBRARIES \[--only NAME/],
        [{}, qr/^usage: /, 'so', '--only'],
        (map { [{ bad => 1 }, qr/^peers: N=\S*: expected .* from 1 to 2000$/,
            'so', '--only', 'first', "N=$_"] } '', 0, -1, '1e3', 'many', 2001,
            '9' x 40),
        [{ bad => 1 }, qr/^peers: WIDTH=3: ONLY=first takes N, M$/, 'so',
            '--only', 'first', 'M=7', 'WIDTH=3'],
        [{ bad => 1 }, qr/^peers: N=3: ONLY=zero takes no sizes$/, 'so',
            '--only', 'zero', 'N=3'],
        [{ bad => 1 }, qr/^peers: N=3: sizes need ONLY=NAME$/, 'so', 'N=3'],
        [{}, qr/^usage: /, 'so', 'first'],
        [{}, qr/^peers: --only takes first\|second\|zero, not "third"/, 'so',
            '--only', 'third'],
    ) {
        my ($env, $pattern, @options) = @$_;
        my $bad = delete $env->{bad};
        ($status, $out, $err) = $peers_run->($env, @options);
        $bad ? is($status, 2, "peers @options: exit 2")
            : isnt($status, 0, "peers @options: refused");
        one_line($err, $pattern, "peers @options: one line says why");
    }
  SKIP: {
        skip 'there is no /dev/full here', 5 if !-c '/dev/full';
        symlink '/dev/full', "$csv.new";
        ($status, $out, $err) = $peers_run->({}, 'so', '--only', 'zero');
        is("$status" . ($out =~ /written/), '1', 'peers: a full disk: exit 1');
        one_line($err, qr/^peers: .*peers\.csv: No space left.*nothing/,
            'and one line says so');
        ok(!-l "$csv.new", 'and nothing stays beside it');
        ($status, $out, $err) = $peers_run->({ full => 1 }, 'so', '--only',
            'zero');
        is($status, 1, 'peers: no place for its words: exit 1');
        one_line($err, qr/^peers: .*No space left/, 'and one line says so');
    }
    spew("$peers/tools/peers/second.py",
        $module =~ s/WORK/two/gr =~ s/0\.03, None, ""/0.03, None, "off by 3"/r);
    ($status, $out, $err) = $peers_run->({}, 'so');
    is($status, 1, 'peers: a wrong side ends it');
    one_line($err, qr/^peers: two, n=1: peer is wrong: off by 3$/,
        'and says so');
    spew("$peers/tools/peers/second.py",
        $module =~ s/WORK/two/gr =~ s/1e-7/float("nan")/r);
    ($status, $out, $err) = $peers_run->({}, 'so', '--only', 'second');
    is($status, 1, 'peers: an error that is no number ends it');
    one_line($err, qr/^peers: two, n=1: peer is wrong: NaN$/, 'and says so');
    spew("$peers/torch/__init__.py", "raise ImportError\n");
    ($status, $out, $err) = $peers_run->({}, 'so');
    is($status, 1, 'peers: no PyTorch');
    one_line($err, qr/^peers: PyTorch is missing for /, 'and it says so');
    is(slurp($csv), $before, 'nothing is written where something is wrong');

    for my $module (files_of(qr/\.py\z/, 'tools/peers')) {
        my ($status, undef, $err) = run($python, '-c', 'import sys; '
            . 'compile(open(sys.argv[1]).read(), sys.argv[1], "exec")',
            $module);
        is("$status$err", '0', "$module: is Python");
        ok(-e "$root/$module" =~ s/py\z/cu/r, "$module: has its .cu")
            if $module !~ m{/peers\.py\z};
    }
}

# make hands on what the user asks for, whatever is in it.
SKIP: {
    skip_or_fail('there is no nvcc here') if !find_nvcc();
    my (undef, $out) = run($make, '-n', 'peers', 'BACKEND=cuda', 'ARCH=sm_90',
        'ONLY=scatter', 'ROWS=4; 2', 'TABLE=');
    like($out, qr/ --only 'scatter' \\\n +'ROWS=4; 2' *$/, 'make: sizes');
}

# --- the tables of peers.csv ---

# What pairs like with like: ours and the fastest other of those that sum alike,
# the least gain and the most, and none that the launch bounds.
my $sample = "$tmp/peers.csv";
spew($sample, <<'END_CSV');
work,setting,side,version,sums,median_ms,ratio,ratio_least,ratio_most,worst_error,launch_bound
a dot,small,v1_a,this repository,once,0.004,1,1,1,1.5e-07,yes
a dot,small,CUB,CUB 3.0.1,once,0.02,5,4.9,5.1,2e-07,
a dot,big,v1_a,this repository,once,1,1,1,1,1.5e-07,
a dot,big,CUB,CUB 3.0.1,once,1.5,1.5,1.4,1.6,inf,
many rows,one,v1_b,this repository,in half,2,1,1,1,0.9,
many rows,one,v1_c,this repository,once,3,1,1,1,0.000488,
many rows,one,fast_,PyTorch 2.11.0,in half,4,2,1.9,2.1,0.938,
many rows,one,slow_,PyTorch 2.11.0,in half,5,2.5,2.4,2.6,0.938,
many rows,one,right_,PyTorch 2.11.0,once,6,2,2,2,0,
many rows,two,v1_b,this repository,in half,2,1,1,1,0.9,
many rows,two,fast_,PyTorch 2.11.0,in half,8,4,3.9,4.1,0.938,
many rows,two,right_,PyTorch 2.11.0,once,6,1,1,1,0,
same,x,v1_b,this repository,in half,2,1,1,1,0.9,
same,x,fast_,CUDA 13.0,in half,2.001,1.001,1,1,0.9,
same,y,v1_b,this repository,in half,2,1,1,1,0.9,
same,y,fast_,CUDA 13.0,in half,2.002,1.002,1,1,0.9,
zero,x,flat,PyTorch 2.11.0,exact,1,1,1,1,0,
END_CSV
my $pairs = slurp("$root/tools/table_peers.awk");
spew("$tmp/alike.awk", $pairs);
spew("$tmp/unlike.awk", $pairs =~ s/ SUBSEP \\\n *csv\(file, r, "sums"\)//r);
spew("$tmp/launch.awk", $pairs =~ s/ csv\(file, r, "launch_bound"\)/ ""/r);
sub table {
    my ($table, $rules, @awk) = @_;
    my ($status, $out, $err) = run({ env => { LC_ALL => 'C' } }, @awk, '-v',
        "table=$table", map({ ('-f', $_) } 'tools/csv.awk', "$tmp/$rules.awk",
        'tools/table_storm.awk', 'tools/table_atlas.awk', 'tools/table.awk'), $sample);
    is("$status$err", '0', "$awk[0]: table $table, $rules");
    return $out;
}
my $right = table('fastest', 'alike', 'awk');
isnt(table('fastest', $_, 'awk'), $right, "$_: is found")
    for qw(unlike launch);
with_awks(sub {
    my ($name, undef, @awk) = @_;
    my %table = map { $_ => table($_, 'alike', @awk) }
        qw(fastest a_dot many_rows);
    is($table{fastest} =~ s/\A(?:.*\n){2}//r, <<'END_TABLE', "$name: fastest");
| a dot, once | big | `v1_a`: 1, off 1.5e-07 | `CUB`, CUB 3.0.1: 1.5, off inf | 1.50 |
| many rows, in half | one | `v1_b`: 2, off 90% | `fast_`, PyTorch 2.11.0: 4, off 93.8% | 2.00 |
| many rows, in half | two | `v1_b`: 2, off 90% | `fast_`, PyTorch 2.11.0: 8, off 93.8% | 4.00 |
| many rows, once | one | `v1_c`: 3, off 0.0488% | `right_`, PyTorch 2.11.0: 6, off 0 | 2.00 |
| same, in half | x | `v1_b`: 2, off 90% | `fast_`, CUDA 13.0: 2.001, off 90% | 1.00 |
END_TABLE
    is($table{a_dot} =~ s/\A(?:.*\n){2}//r, <<'END_TABLE', "$name: all sides");
| `v1_a`, this repository | 0.004†, off 1.5e-07 | 1, off 1.5e-07 |
| `CUB`, CUB 3.0.1 | 0.02 (5.00, 4.90–5.10), off 2.0e-07 | 1.5 (1.50, 1.40–1.60), off inf |

†: so short that the launch is what is timed.
END_TABLE
    is($table{many_rows} =~ s/\A(?:.*\n){2}//r, <<'END_TABLE', "$name: two bases");
| `v1_b`, this repository, in half | 2, off 90% | 2, off 90% |
| `v1_c`, this repository, once | 3, off 0.0488% |  |
| `fast_`, PyTorch 2.11.0, in half | 4 (2.00, 1.90–2.10), off 93.8% | 8 (4.00, 3.90–4.10), off 93.8% |
| `slow_`, PyTorch 2.11.0, in half | 5 (2.50, 2.40–2.60), off 93.8% |  |
| `right_`, PyTorch 2.11.0, once | 6 (2.00, 2.00–2.00), off 0 | 6, off 0 |
END_TABLE
});

done_testing();
