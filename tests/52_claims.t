#!/usr/bin/env perl
# What the pages of lessons 4 and 5 and docs/ say that nvcc makes of the
# programs: the loops in the machine code of every architecture, the listings of
# results/, the programs of tools/; the tables of tools/experiments*.cu; and the
# figures that the pages work out in prose, from results/ and by running.
# Takes long: make test starts it early.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use File::Basename qw(basename);
use Test::More;

# --- loops in a listing of nvdisasm ---

# Where the loops of a kernel begin and end, as indices of its instructions: a
# branch backwards ends one. A branch to itself is padding.
sub loops_of {
    my ($text) = @_;
    my (@lines, %label, @loops);
    for (split /\n/, $text) {
        $label{$1} = @lines if /^(\.L_x_\d+):/;
        push @lines, $1 if m{/\*[0-9a-f]{4,}\*/ +(.*?) *;};
    }
    for my $i (0 .. $#lines) {
        my ($target) = $lines[$i] =~ /\bBRA(?:\.\w+)* .*`\((\.L_x_\d+)\)/
            or next;
        push @loops, [$label{$target}, $i]
            if defined $label{$target} && $label{$target} < $i;
    }
    # Of the branches to one label, the last one closes the loop.
    my %end;
    $end{ $_->[0] } = $_->[1] for @loops;
    return (\@lines, map { [$_, $end{$_}] } sort { $b <=> $a } keys %end);
}

# The loops around the only instruction that matches, the innermost first, each
# as its text.
sub loops_around {
    my ($text, $pattern) = @_;
    my ($lines, @loops) = loops_of($text);
    my @at = grep { $lines->[$_] =~ $pattern } 0 .. $#$lines;
    return () if @at != 1;
    return map { join "\n", @$lines[$_->[0] .. $_->[1]] }
        grep { $_->[0] <= $at[0] && $at[0] <= $_->[1] } @loops;
}

{
    my $listing = <<'END_SASS';
.text.k:
        /*0000*/                   LD.E R5, [R2] ;
.L_x_1:
        /*0010*/                   HADD2 R4, R5, R6 ;
.L_x_2:
        /*0020*/                   ATOM.E.CAS.STRONG.GPU PT, R4, [R2], R5, R4 ;
        /*0030*/               @P0 BRA `(.L_x_2) ;
        /*0040*/               @P1 BRA.U `(.L_x_1) ;
        /*0050*/                   EXIT ;
.L_x_3:
        /*0060*/                   BRA `(.L_x_3);
END_SASS
    my @loops = loops_around($listing, qr/^ATOM\./);
    is(scalar @loops, 2, 'two loops around an instruction are found');
    unlike($loops[0], qr/HADD2/, 'the inner one first');
    like($loops[1], qr/HADD2(?s:.*)ATOM/, 'then the outer one');
    is(scalar loops_around($listing, qr/^LD\./), 0, 'and none where none is');
    is(scalar loops_around($listing =~ s/`\(.L_x_[12]\)/`(.L_x_3)/gr,
        qr/^ATOM\./), 0, 'a branch ahead makes no loop');
}

# --- the lessons' claims ---

my $cas32 = qr/^ATOMG?\.E\.CAS\.STRONG\.GPU\b/;
my %ptx = (
    v3_cas => { add_compiled => 'atom.add.noftz.f16', add_cas32 =>
            'atom.cas.b32', add_cas16 => 'atom.global.cas.b16' },
    v4_storm => { add_2_bytes => 'atom.add.noftz.f16', add_counted =>
            'atom.global.cas.b32', add_4_bytes => 'atom.add.noftz.f16x2',
        count_up => 'atom.global.cas.b32' },
);

# The one atomic of a kernel is a 32-bit compare-and-swap, in one loop that adds
# as well.
sub is_loop {
    my ($name, $text, $add) = @_;
    is(atomics('sass', $text) =~ s/ATOMG/ATOM/r, 'ATOM.E.CAS.STRONG.GPU',
        "$name: one atomic, a 32-bit compare-and-swap");
    my @loops = loops_around($text, $cas32);
    is(scalar @loops, 1, "$name: in one loop");
    like($loops[0] // '', qr/^(?:@\S+ )?$add\b/m, "$name: which adds: $add");
}

my $nvcc = find_nvcc();
SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my @sources = qw(lessons/v3_cas/v3_cas.cu lessons/v4_storm/v4_storm.cu
        tools/corrections_shared.cu tools/corrections.cu tools/experiments.cu
        tools/experiments_place.cu tools/experiments_winners.cu);
    my @results = (compile_kept($nvcc, @sources[0 .. 2]), run_jobs(map {
        [$nvcc, @nvcc_strict, qw(-arch=sm_90 -c -o), 
            "$tmp/" . basename($_) . '.o', $_]
    } @sources[3 .. 6]));
    for my $i (0 .. $#sources) {
        my ($status, $out, $err) = @{ $results[$i] };
        is("$status$out$err", '0', "$sources[$i]: compiles without a warning");
    }
    for my $source (sort keys %ptx) {
        for my $kernel (sort keys %{ $ptx{$source} }) {
            for my $arch (@archs) {
                # From compute_100 on it says what was the default before.
                my $text = kernel_text('ptx', $kernel,
                    kept_ptx($source, $arch));
                is(atomics('ptx', $text) =~ s/\.relaxed//r,
                    $ptx{$source}{$kernel},
                    "$kernel, PTX for compute_$arch: the atomic");
            }
        }
    }

    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');
    for my $arch (@archs) {
        my %text;
        for my $source (qw(v3_cas v4_storm corrections_shared)) {
            my ($status, $out, $err) = disassemble($source, $arch);
            is($status, 0, "$source, SASS for sm_$arch: can be read")
                or diag($err);
            $text{$source} = $out;
        }
        my $kernel = sub {
            return kernel_text('sass', $_[1], $text{ $_[0] });
        };

        is_loop("add_compiled, sm_$arch", $kernel->('v3_cas', 'add_compiled'),
            'HADD2');
        is_loop("add_cas32, sm_$arch", $kernel->('v3_cas', 'add_cas32'),
            'HADD2');
        is_loop("add_2_bytes, sm_$arch", $kernel->('v4_storm', 'add_2_bytes'),
            'HADD2');
        is_loop("add_counted, sm_$arch", $kernel->('v4_storm', 'add_counted'),
            'HADD2');
        is_loop("count_up, sm_$arch", $kernel->('v4_storm', 'count_up'),
            '(?:IADD3|VIADD|IMAD\.IADD)');
        like($kernel->('v3_cas', 'add_compiled'),
            qr/LOP3\.LUT\ R\d+,\ R\d+(?:\.reuse)?,\ 0xfffffffd,.*\n
            (?:.*\n)*?.*\bLD\.E(?:\.SYS)?\ /x,
            "add_compiled, sm_$arch: clears bit 1, loads the word");

        # The same on all of them: two loops, and none of the instructions is a
        # swap of 2 bytes.
        my $cas16 = $kernel->('v3_cas', 'add_cas16');
        is(atomics('sass', $cas16), 'ATOMG.E.CAS.STRONG.GPU',
            "add_cas16, sm_$arch: one atomic, and it swaps 32 bits");
        unlike($cas16, qr/CAS\S*(?:16|U16|\.H)\b/,
            "add_cas16, sm_$arch: there is no swap of 16 bits");
        my @loops = loops_around($cas16, $cas32);
        is(scalar @loops, 2, "add_cas16, sm_$arch: in a loop in a loop");
        unlike($loops[0] // 'HADD2', qr/HADD2/,
            "add_cas16, sm_$arch: the inner one does not add again");
        like($loops[0] // '', qr/PRMT/,
            "add_cas16, sm_$arch: but puts the half into the word");
        like($loops[1] // '', qr/HADD2/, "add_cas16, sm_$arch: the outer adds");

        is(atomics('sass', $kernel->('v4_storm', 'add_4_bytes')),
            'ATOM.E.ADD.F16x2.RN.STRONG.GPU',
            "add_4_bytes, sm_$arch: the hardware's add");
        is(scalar loops_around($kernel->('v4_storm', 'add_4_bytes'),
            qr/\bATOM\.E\.ADD\.F16x2\b/), 0,
            "add_4_bytes, sm_$arch: not in a loop");

        # Adds in shared memory: a loop for float, an instruction for int.
        my $float = $kernel->('corrections_shared', 'add_shared_float');
        my %shared = map { $_ => 1 } $float =~ /\b(ATOMS\.\S+)/g;
        is(join(' ', keys %shared), 'ATOMS.CAST.SPIN',
            "add_shared_float, sm_$arch: a compare-and-swap");
        my ($lines, @around) = loops_of($float);
        my @spin = grep { $lines->[$_] =~ /^ATOMS\.CAST\.SPIN/ } 0 .. $#$lines;
        my @looped = grep {
            my $at = $_;
            grep { $_->[0] <= $at && $at <= $_->[1] && join("\n",
                @$lines[$_->[0] .. $_->[1]]) =~ /\bLDS(?:\.U)? (?s:.*)\bFADD\b/
            } @around
        } @spin;
        cmp_ok(scalar @spin, '>', 0, "add_shared_float, sm_$arch: is there");
        is(scalar @looped, scalar @spin,
            "add_shared_float, sm_$arch: each in a loop that loads and adds");
        %shared = map { $_ => 1 }
            $kernel->('corrections_shared', 'add_shared_int') =~ /\b(ATOMS\.[\w.]+)/g;
        is(join(' ', keys %shared), 'ATOMS.ADD',
            "add_shared_int, sm_$arch: the hardware's add");
    }
}

# --- the listings of results/ ---

SKIP: {
    skip_or_fail('there is no nvcc here') if !$nvcc;
    my ($status, $version) = run($nvcc, '--version');
    skip 'the listings are those of nvcc 13.0', 1
        if $version !~ /release 13\.0,/;
    skip_or_fail('there is no nvdisasm here') if !find_disassembler('nvdisasm');
    my @lessons = files_of(qr{/v\d+_\w+\.cu\z}, 'lessons');
    # Made anew for lesson 1; of the others, from what is kept.
    my @kept = ('lessons/v8_atomics/conformance.cu', @lessons);
    compile_kept($nvcc, @kept);
    my $tools = kept_tools([90], map { basename($_, '.cu') } @kept);
    my @listings = files_of(qr/\.txt\z/, qw(results/ptx results/sass));
    my @expected = map { my $kind = $_;
        map { "results/$kind/$_.sm_90.txt" } 'conformance',
            map { "lesson$_" } 1 .. @lessons } qw(ptx sass);
    is("@listings", join(' ', sort @expected),
        'results/ptx and results/sass: a listing for each program, no more');
    my @jobs = map { m{results/(\w+)/(?:lesson)?(\w+)\.};
        my $path = $2 eq '1' ? $ENV{PATH} : "$tools:$ENV{PATH}";
        [{ env => { BACKEND => undef, ARCH => undef, PATH => $path } }, 'make',
            '-s', '--no-print-directory', 'ARCH=sm_90', 'BACKEND=cpu',
            'NVCC=' . ($2 eq '1' ? $nvcc : "$tools/nvcc"), "$1$2"]
    } @expected;
    my @results = run_jobs(@jobs);
    for my $i (0 .. $#expected) {
        my ($status, $out, $err) = @{ $results[$i] };
        is("$status$err", '0', "make $jobs[$i][-1]");
        my $path = "$root/$expected[$i]";
        $out =~ s/\n+\z/\n/;
        ok(-e $path && slurp($path) eq $out, "$expected[$i] is fresh")
            or diag('run: make listings ARCH=sm_90');
    }
}

# --- the tables of the experiments ---

my %file_of = ((map { $_ => '' } qw(lifetime moving price)),
    (map { $_ => '_place' } qw(apart place)),
    (map { $_ => '_winners' } qw(winners served pace)), profile => '_profile');
my @questions = sort keys %file_of;
my @awks;
with_awks(sub { my (undef, undef, @awk) = @_; push @awks, \@awk });
@awks = (['awk']) if !@awks;

# Exit status, output and errors under every awk; they must agree.
sub table {
    my ($question, $file) = @_;
    my @first;
    for my $awk (@awks) {
        my @result = run({ env => { LC_ALL => 'C' } }, @$awk, '-v', "table=$question",
            (map { ('-f', "tools/$_.awk") } qw(csv table_peers table_storm
            table_atlas table)), $file);
        @first = @result if !@first;
        is(join('|', map { $_ ? 1 : 0 } $result[0]) . $result[1],
            ($first[0] ? 1 : 0) . $first[1],
            "$awk->[0]: $question: as by $awks[0][0]");
    }
    return @first;
}

my $measured = 'results/nvidia_h200/experiments';
for my $question (@questions) {
    my ($status, $out, $err) = table($question,
        "$measured$file_of{$question}.csv");
    is("$status$err", '0', "$question: exit 0");
    my ($head, $rule, @rows) = split /\n/, $out;
    my $columns = () = $head =~ /\|/g;
    is($rule, '|' . '---|' x ($columns - 1), "$question: a rule");
    cmp_ok(scalar @rows, '>=', 1, "$question: there are rows");
    my @odd = grep { my $bars = () = /\|/g;
        $bars != $columns || /\| *\|/ || /nan|inf\b|-0\.\d/ } @rows;
    is("@odd", '', "$question: all cells of all rows");
}
{
    my ($status, $out, $err) = table('speeds', "$measured.csv");
    is($status, 1, 'an unknown table: exit 1');
    like($err, qr/^there is no table speeds$/m, 'and it says so');
    my $header = 'question,setting,in_flight,n,moving,ms,tries';
    for (['no rows follow', "$header\n"],
        ['no rows for moving', "$header\nprice,a,1,100,9,0.3,100\n"]) {
        my ($why, $text) = @$_;
        spew("$tmp/empty.csv", $text);
        ($status, $out, $err) = table('moving', "$tmp/empty.csv");
        is("$status$out", '1', "a table without rows: exit 1, no output");
        one_line($err, qr/$why$/, 'and one line says so');
    }
}

# Figures worked out by hand; k = (tries - n) / (moving R).
spew("$tmp/small.csv", <<'END_CSV');
question,setting,in_flight,n,moving,ms,tries
lanes,1,32,100,9,100,1
lifetime,one add per thread,1000,5000,2798,2.5,1404000
lifetime,long-lived,1000,5000,2798,1.25,704500
moving,start 31,1000,2000,64,3,34000
waiting,3 blocks wait,1000,5000,2798,2,1404000
END_CSV
spew("$tmp/small_place.csv", <<'END_CSV');
question,setting,in_flight,n,moving,ms,tries
apart_4_bytes,by lane; 0 bytes apart,10,4000,0,0.004,0
apart_4_bytes,by lane; 4 bytes apart,10,4000,0,0.002,0
apart_4_bytes,by lane; 8 bytes apart,10,4000,0,0.00201,0
apart_2_bytes,by lane; 0 bytes apart,10,4000,0,0.001,0
apart_2_bytes,by lane; 4 bytes apart,10,4000,0,0.001,0
apart_2_bytes,by lane; 8 bytes apart,10,4000,0,0.001,0
apart_4_bytes,by warp; 0 bytes apart,10,4000,0,0.004,0
apart_2_bytes,by warp; 0 bytes apart,10,4000,0,0.002,0
apart_4_bytes,by warp; 4 bytes apart,10,4000,0,0.004,0
apart_2_bytes,by warp; 4 bytes apart,10,4000,0,0.002,0
apart_4_bytes,by warp; 8 bytes apart,10,4000,0,0.004,0
apart_2_bytes,by warp; 8 bytes apart,10,4000,0,0.002,0
place,at byte 0,10,1000,9,2.6,3000000
place,at byte 32,10,1000,9,2.2,4000000
place,at byte 64,10,1000,9,3,3500000
END_CSV
spew("$tmp/small_winners.csv", <<'END_CSV');
question,setting,in_flight,n,moving,ms,tries,wins,next_sm,still,rounds,served,us
place,place 0,1000,100,10,1,4100,9,0.5,0.4,1.25,1.25,
one_add,8 blocks each,1000,100,10,1,2100,10,0.9,0.2,1.25,1.25,
lock,8 blocks each,1000,100,10,1,900,1,0,0,0,1.5,
share,place 0,,,,1,50,0,,,,0.9,
share,place 0,,,,1,70,9,,,,1.4,
share,place 0,,,,1,70,1,,,,1.41,
pace,1 to 256 threads,,,,1,,5,,,,,47
pace_full_carveout,1 to 256 threads,,,,1,,5,,,,,25
END_CSV
spew("$tmp/small_profile.csv", <<'END_CSV');
question,setting,ms,requests
profile,long-lived,2.5,5000000
END_CSV
my %by_hand = (
    lifetime => ['| 1000 | 2.5 | 0.50 | 2.0 | 0.50 | 1.2 | 0.25 |',
        '| 1000 | 2.5 | 0.50 | 2.0 | 0.50 | 1.3 | 0.25 |'],
    moving  => ['| start 31 | 64 | 3.0 | 0.50 |'],
    price   => ['| 4 | 1.425 | 1.774 | 88.235 |'],
    apart   => ["| one cell | 1.000 | 1.000 | 0.250 | 0.500 |\n"
        . '| 4 to 8 bytes | 0.500 | 1.000 | 0.250 | 0.500 |'],
    place   => ['| 3 | 2.2 | 3.0 | 3.0 million | 4.0 million |'],
    winners => ["| one add per thread | 1000 | 90.0 to 100.0% | 50.0% | 20% "
        . "| 1.25 | 1.25 | 0.20 |\n"
        . '| the lock | 1000 | 10.0 to 10.0% | 0.0% | - | - | 1.50 | - |'],
    served  => ["| 1 | 0.90 to 0.90 | 0 |\n| 2 | 1.40 to 1.41 | 10 |"],
    pace    => ['| 1 to 256 threads | 0.047 | 0.025 |'],
    profile => ['| long-lived | 2.5 | 5 million | 0.500 |'],
);
for my $question (@questions) {
    my ($status, $out, $err) = table($question,
        "$tmp/small$file_of{$question}.csv");
    is("$status$err", '0', "$question of a small file: exit 0");
    my (undef, undef, @rows) = split /\n/, $out;
    my $rows = join "\n", @rows;
    ok((grep { $_ eq $rows } @{ $by_hand{$question} }),
        "$question of a small file: as by hand") or diag($rows);
}

# What experiments_winners.h makes of a storm, against rows worked out by hand.
{
    my ($status, undef, $err) = run($make, '-s', '-C', $root, 'BACKEND=cpu',
        "BUILD=$tmp/cpu", "$tmp/cpu/winners");
    is("$status$err", '0', 'winners.cu: builds without a warning');
    ($status, my $out) = run("$tmp/cpu/winners");
    is($status, 0, 'a storm: exit 0');
    is($out, <<'END_ROWS', 'a storm: its rows');
place,place 0,8192,1048576,2798,2.798,14315520,3,2796,3,0.9993,0.9689,0.500,2.000,1.600,1,0,0,,
order,place 0,,,,,,0,1,,,,,,,,,,1,1
order,place 0,,,,,,1,1,,,,,,,,,,2,2
order,place 0,,,,,,3,2796,,,,,,,,,,3,3
share,place 0,,,,,2863104,0,1,,,,,,0.800,,,,,0.400
share,place 0,,,,,2863104,1,1,,,,,,0.800,,,,,0.300
share,place 0,,,,,2863104,2,0,,,,,,0.800,,,,,0.200
share,place 0,,,,,5726208,3,2796,,,,,,1.600,,,,,0.100
pace,769 to 1024 threads,,,,,,,2795,,,,,,,,,,,1.00
END_ROWS
    ($status, undef, $err) = run("$tmp/cpu/winners", 'lost');
    is($status, 1, 'a win is missing: exit 1');
    one_line($err, qr/^experiments: win 100 was not noted$/, 'and it says so');
}

# --- the account's constants: common/account.h has them ---

my %account = slurp("$root/common/account.h") =~
    /^static const double ([A-Z_]+) = ([\d.]+);$/mg;
my @sums = sums($product, 3000, 0);
my ($moving) = grep { $sums[$_ + 1] == $sums[$_] } 0 .. $#sums - 1;
is($account{MOVING}, $moving, 'M, as counted here');
my $again = join '|', map { "\Q$_\E" } @account{qw(MOVING PRICES)};
is(join(' ', grep { slurp("$root/$_") =~ /(?:= *|\()(?:$again)\b/ }
    files_of(qr/\.(?:cu|c|h|awk|sh)\z/, qw(common lessons exercises solutions
    tools))), 'common/account.h', 'nobody else has M or t_add/t_cas');
for my $awk (@awks) {
    my @command = ({ env => { LC_ALL => 'C' } }, @$awk, '-f',
        'tools/csv.awk');
    spew("$tmp/constant.awk", 'BEGIN { print constant("MOST_K"), '
        . 'constant("LEAST_K"), constant(name); exit }');
    my ($status, $out) = run(@command, '-v', 'name=PRICES', '-f',
        "$tmp/constant.awk");
    is($out, "$account{MOST_K} $account{LEAST_K} $account{PRICES}\n",
        "$awk->[0]: constants by their names");
    ($status, undef, my $err) = run(@command, '-v', 'name=prices', '-f',
        "$tmp/constant.awk");
    is("$status $err", "1 common/account.h: there is no prices\n",
        "$awk->[0]: a constant that is not there: exit 1, and it says so");
}

# --- what the pages work out in prose ---

# Whether a page says this, wherever its lines end.
sub says {
    my ($file, $words) = @_;
    my $page = slurp("$root/$file") =~ s/<!--.*?-->//sgr =~ s/\s+/ /gr;
    ok(index($page, $words) >= 0, "$file: $words");
}

sub rows_of {
    my ($head, @lines) = split /\n/, slurp("$root/results/$_[0]");
    my @names = split /,/, $head;
    return map { my %row; @row{@names} = split /,/, $_, -1; \%row } @lines;
}

# The only row of results/FILE whose columns have these values.
sub row_of {
    my ($file, %is) = @_;
    my @found = grep { my $row = $_; !grep { $row->{$_} ne $is{$_} } keys %is }
        rows_of($file);
    is(scalar @found, 1, join(' ', "$file: one row", %is));
    return $found[0];
}

# corrections.md: claims 12 and 16 of the program itself, on the CPU.
sub halved {
    my ($threads) = @_;
    my @part = (1) x $threads;
    for (my $step = $threads >> 1; $step > 0; $step >>= 1) {
        $part[$_] += $part[$_ + $step] for 0 .. $step - 1;
    }
    return $part[0];
}
{
    my $tree = copy_tree('claims');
    give_runtime($tree, 'BACKEND=cpu', 'BUILD=built');
    my $out  = '';
    for my $name (qw(corrections corrections_shared)) {
        my $source = slurp("$root/tools/$name.cu");
        $source =~ s/^    show_(?!inc|reduction)\w+\(\);\n//mg;
        spew("$tree/tests/cpu/$name.cu", $source);
        spew("$tree/tests/cpu/corrections.h",
            slurp("$root/tools/corrections.h"));
        my ($status, $printed, $err) = run($make, '-s', '-C', $tree,
            'BACKEND=cpu', 'BUILD=built', "built/$name");
        is($status, 0, "$name.cu: builds for the CPU") or diag($err);
        ($status, $printed) = run("$tree/built/$name");
        is($status, 0, "$name.cu: runs there");
        $out .= $printed;
    }
    my $sums = join ', ', map { halved($_) . " from $_" } 256, 64, 192, 100, 96;
    my ($inc, $reduction) = $out =~ /^(\(12\) .*)\n(\(16\) .*)/m;
    like($inc // '', qr/: 100 after 100 calls, 0 after 101\z/,
        'claim 12: a period of 101');
    is($reduction // '', "(16) the sum of a 1 from each thread of a block: "
        . $sums, 'claim 16: halving from blockDim.x / 2');
    is(scalar(grep { halved(1 << $_) != 1 << $_ } 0 .. 8), 0,
        'claim 16: right for every power of two');
    says('docs/corrections.md', '192 ones give ' . halved(192)
        . ', 96 or 100 give ' . halved(100));

    my $printed = slurp("$root/results/nvidia_h200/corrections.txt");
    like($printed, qr/^\Q$reduction\E$/m, 'claim 16: on the H200');
    like($printed, qr/^\Q$inc\E$/m, 'claim 12: on the H200');
    my ($global, $shared) = $printed =~ /global ([\d.]+) ms.*?, ([\d.]+) ms;/;
    my $gain = sprintf '%.1f', $global / $shared;
    says('docs/corrections.md', "it is $gain times as fast");
}

# reading_speedups.md: the ranges, from the constants of exercise 13.
{
    my $page = 'docs/reading_speedups.md';
    my %in_flight = (A100 => 108 * 2048, RTX5070 => 48 * 1536,
        H200 => 132 * 2048);    # multiprocessors, resident threads of each
    my %range = map { my $r = $in_flight{$_}; $_ => join ' to ', map {
        sprintf '%.2f', (1 + $_ * $account{MOVING} * $r / 2**25)
            / $account{PRICES} } @account{qw(LEAST_K MOST_K)} }
        keys %in_flight;
    says($page, "says $range{RTX5070} for the RTX 5070, $range{A100} for the "
        . "A100 and $range{H200} for an H200");
    is("$range{RTX5070}, $range{A100}", '0.84 to 1.53, 1.66 to 3.76',
        'the ranges by hand');

    my @profiled = rows_of('nvidia_h200/experiments_profile.csv');
    my %try = map { sprintf('%.2f', $_->{ms} * 1e6 / $_->{requests}) => 1 }
        @profiled;
    is(keys %try, 1, 'the price of a try, by the profiler: one');

    # Who wins: one of the multiprocessors that are served as in groups of four.
    my %of;
    push @{ $of{ $_->{question} } }, $_
        for rows_of('nvidia_h200/experiments_winners.csv');
    my ($six, $four) = (0, 0);
    my %four = map { my $served = $_->{served};
        $six++  if abs($served * 24 * 6 / 132 - 1) < 0.01;
        $four++ if abs($served * 24 * 4 / 132 - 1) < 0.01;
        $_->{sm} => $served > 1.2 } @{ $of{share} };
    is("$six $four", 18 * 6 . ' ' . 6 * 4, '18 groups of six, six of four');
    my @all = (@{ $of{place} }, grep { $_->{in_flight} == 270336 }
        map { @{ $of{$_} } } qw(one_add long_lived));
    is(join(' ', grep { !$four{ $_->{sm} } || $_->{wins} < 0.95 * $_->{moving} }
        @all), '', 'one of four wins nearly always');
    is(join(' ', grep { ($_->{sm} == $_->{setting}) != !!$four{ $_->{setting} }
        || !$four{ $_->{sm} } } @{ $of{ahead} }), '',
        'who begins first wins only if it is one of four');
    for my $less (qw(nearer earlier)) {
        my @first = grep { $_->{$less} == 0 } @{ $of{place} };
        cmp_ok(@first, '<', @{ $of{place} } / 3, "not as a rule: none $less");
    }
    my $k_of = sub { my ($row) = @_;
        ($row->{tries} - $row->{n}) / $row->{moving} / $row->{in_flight} };
    is(join(' ', grep { abs($_->{still} * $_->{rounds} / $_->{served}
        / $k_of->($_) - 1) > 0.03 } @{ $of{place} }), '',
        'k, by the threads that try and how often they are served');
    my ($k, $alone) = map { my @rows = @$_;
        my $sum = 0; $sum += $k_of->($_) for @rows; $sum / @rows }
        @of{qw(place muted)};
    ok($alone > 0.5 * $k && $alone < 0.65 * $k, 'two wait: little more than half');
    is(join(' ', grep { $_->{served} < 1.8 * 1.375 || $_->{served} > 2 * 1.375 }
        @{ $of{muted} }), '', 'and nearly twice the service');
    is(join(' ', grep { $_->{sms} != 132 || $_->{next_sm} > 0.01 }
        @{ $of{lock} }), '', 'the lock goes to all in turn');
    my %runs;
    $runs{ $_->{setting} } += $_->{wins} for @{ $of{order} };
    is(join(' ', values %runs), join(' ', ($account{MOVING}) x 4),
        'four storms, win after win');

    # What queues, against one cell.
    my %apart = map { ("$_->{question} $_->{setting}", $_->{ms}) }
        rows_of('nvidia_h200/experiments_place.csv');
    for my $bytes (map { 2**$_ } 2 .. 16) {
        for my $cell (2, 4) {
            my $row  = "apart_${cell}_bytes by warp;";
            my $part = $apart{"$row $bytes bytes apart"}
                / $apart{"$row 0 bytes apart"};
            ok($bytes < 32 ? abs($part - 1) < 0.02
                : $bytes == 256 || $bytes > 512 ? abs($part - 0.5) < 0.02
                : $part > 0.7, "$cell bytes, cells $bytes apart: $part");
        }
    }

    my %ms = map { ("$_->{question} $_->{setting}", $_) }
        rows_of('nvidia_h200/experiments.csv');
    cmp_ok(abs($ms{'moving start 8'}{ms} / $ms{'moving addend 1/64'}{ms} - 1),
        '<', 0.1, 'the start or the addend: the same storm');
    my %held = map { ("$_->{question} $_->{in_flight}", $_->{ms}) }
        grep { $_->{setting} ne 'long-lived' }
        rows_of('nvidia_h200/experiments.csv');
    is(join(' ', grep { $held{"lifetime $_"} >= $held{"waiting $_"} }
        map { $_ * 33792 } 1 .. 8), '', 'blocks that wait: larger storms');

    my %price;
    for my $unit (qw(nvidia_h200 nvidia_h200_2)) {
        my $counted = slurp("$root/results/$unit/profile1.txt") =~ tr/,//dr;
        my ($ms) = $counted =~ /time_duration\.sum +ms +([\d.]+)/;
        my ($requests) = $counted =~ /op_atom\.sum +request +(\d+)/;
        $price{ sprintf '%.2f', $ms * 1e6 / $requests }++;
    }
    is(scalar keys %price, 1, 'time over requests: the same on two units');
    says('results/README.md', "over requests is @{[keys %price]} ns on both");
}

# half_precision.md: the sum of the products, and of those of 0.1 itself.
{
    my $rounded = 2**25 * $product / 2**24;
    my $real = sprintf '%.2f', 2**25 / 100;
    says('docs/half_precision.md', ("come to $rounded exactly; with 0.1 itself "
        . "they would come to $real") =~ s/(?<=335)(?=\d)/,/gr);
}

# results/README.md: which rows have fewer runs.
{
    my %short;
    for my $file (files_of(qr/\.csv\z/, 'results')) {
        my $short = grep { ($_->{how} // '') =~ /last 1 of 3/ }
            rows_of($file =~ s{^results/}{}r);
        $short{ basename($file, '.csv') } = 1 if $short;
    }
    is(join(' ', sort keys %short), 'lesson5 lesson8',
        'rows of 3 runs: lessons 5 and 8');
}

# answers.md: lesson 7 without .cs, on one row.
{
    my ($with, $without) = map {
        /^one .*?vector +([\d.]+).*?grouped +([\d.]+)/ms ? [$1, $2] : ()
    } split /^lesson 7 /m, slurp("$root/results/nvidia_h200/try_next.txt");
    my @change = map { sprintf '%.0f', 100 * ($without->[$_] / $with->[$_] - 1) }
        0, 1;
    is($change[0], '0', 'without .cs on one row: vector loses nothing');
    says('docs/answers.md', "`grouped` takes $change[1]% longer and `vector` "
        . 'loses nothing');
}

# atomics.md: one cell of 32 bits, in shared against global memory.
{
    my %ns = map { ("$_->{variant} $_->{cells}", $_->{ns_per_add}) }
        rows_of('nvidia_h200/lesson9.csv');
    my $faster = join ' ', grep { $ns{"shared_$_ 1"} < $ns{"global_$_ 1"} }
        qw(int exch inc and cas);
    is($faster, 'int exch inc and', 'shared memory is faster, but not for CAS');
    says('docs/atomics.md', 'holds for adds of 32-bit integers**, and for Exch, '
        . 'Inc and And, but not for CAS');
}

# Lesson 5's page: one run, the one that it quotes.
{
    my %ratio;
    my $rows = '';
    for (split /\n/, slurp("$root/results/nvidia_h200/lesson5.txt")) {
        $rows = $1 if /^(\w+)/;
        push @{ $ratio{$rows} }, $1 if /^ +2\^\d+(?: +[\d.]+){3} +([\d.e+]+) /;
    }
    my @least = map { (sort { $a <=> $b } @$_)[0] } @ratio{qw(frozen threads)};
    my @most = map { (sort { $b <=> $a } @$_)[0] } @ratio{qw(count threads)};
    cmp_ok($least[0], '<', 0.5, 'frozen: less than a half');
    ok($most[0] > 2500 && $most[0] < 3000, 'count: nearly three thousand');
    ok($least[1] < 1 && $most[1] > 2.5 && $most[1] < 3,
        'threads: from less than 1 to nearly 3');
    unlike(slurp("$root/lessons/v4_storm/README.md"), qr{nvidia_h200/\S+\.csv},
        'and no figure of another run of the lesson');
}

done_testing();
