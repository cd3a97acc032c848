# What the tests share: running commands, copies of the tree, tools that may be
# missing. Perl's core modules only.
package Course;
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::MD5 qw(md5_hex);
use Exporter qw(import);
use Fcntl qw(:flock);
use File::Basename qw(basename dirname);
use File::Copy qw(copy);
use File::Find qw(find);
use File::Glob qw(bsd_glob);
use File::Path qw(make_path remove_tree);
use File::Spec;
use File::Temp qw(tempdir);
use List::Util qw(max min);
use Test::More;

our @EXPORT = qw($root $ci $full $tmp $comma @columns slurp spew run run_jobs in_terminal
    onto_full which path_without with_awks find_nvcc find_disassembler no_pandoc
    has_gpu skip_or_fail skip_unless_full skip_unless_ci some_of copy_tree edit plant
    one_line files_of cpu_flags cpu_runtime give_runtime make_site build_lessons
    build_planted build_programs run_ok cases_of @sanitizers sanitizer_works
    with_sanitizers round_to_half bits_of value_of sums $product read_report
    @archs @nvcc_strict compile_kept kept_ptx kept_object kept_file kept_tools
    disassemble kernel_text atomics $make $jobs);

# make test leaves out what takes it beyond five minutes. CI=true: what is missing
# fails, and most of that is done. FULL=1: all of it. CI=true means both, but in
# .ci/run, which sets FULL=0.
our $root = dirname(dirname(abs_path(__FILE__)));
our $ci   = ($ENV{CI} // '') eq 'true';
our $full = $ENV{FULL} // $ci;
our $tmp  = tempdir(CLEANUP => 1);
our $make = $ENV{MAKE} || 'make';

# How much a test does at once; make test runs two tests at a time, and six with
# BACKEND=cuda.
our $jobs = 2;
if (($ENV{BACKEND} // '') eq 'cuda') {
    my ($processors) = `getconf _NPROCESSORS_ONLN 2>/dev/null` =~ /^(\d+)/;
    $jobs = max(2, min(8, $processors // 2));
}

# The columns of results/*.csv and of --csv.
our @columns = qw(gpu arch toolkit lesson variant n min_ms median_ms
    ns_per_add result how source);

# `make test BACKEND=cuda` hands its options on; the makes that the tests start
# are not part of it. Messages in English.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL MAKE_TERMOUT
    MAKE_TERMERR GNUMAKEFLAGS LANGUAGE), grep { /^LC_/ } keys %ENV};
$ENV{LANG} = 'C';
# What a shell starts in the background ignores Ctrl-C, and so would all that is
# started and interrupted here.
$SIG{INT} = 'DEFAULT';

sub slurp {
    my ($path) = @_;
    open my $in, '<:raw', $path or die "$path: $!";
    local $/;
    return scalar(<$in>) // '';
}

sub spew {
    my ($path, $text, $mode) = @_;
    make_path(dirname($path));
    open my $out, '>:raw', $path or die "$path: $!";
    print $out $text;
    close $out or die "$path: $!";
    chmod $mode, $path or die "$path: $!" if $mode;
}

# --- commands ---

my $started = 0;

# A command without a shell, in directory $option->{dir}, with $option->{env}
# (undef unsets). What hangs is ended: after $option->{seconds}, or an hour, by
# the clock, which on a busy machine says little; or after $option->{cpu}
# seconds of its own work.
sub start {
    my ($option, @command) = @_;
    my $name = "$tmp/run" . ++$started;
    my $pid  = fork // die "fork: $!";
    if (!$pid) {
        my %env = %{ $option->{env} // {} };
        defined $env{$_} ? ($ENV{$_} = $env{$_}) : delete $ENV{$_}
            for keys %env;
        chdir($option->{dir} // $root) or die "$option->{dir}: $!";
        open STDIN,  '<', File::Spec->devnull or die;
        open STDOUT, '>', "$name.out" or die;
        open STDERR, '>', "$name.err" or die;
        alarm($option->{seconds} // 3600);
        unshift @command, 'sh', '-c', "ulimit -t $option->{cpu}; exec \"\$@\"",
            'sh' if $option->{cpu};
        exec { $command[0] } @command or exit 127;
    }
    return { pid => $pid, name => $name };
}

sub result {
    my ($job, $wait) = @_;
    my $status = $wait & 127 ? 128 + ($wait & 127) : $wait >> 8;
    my @texts = map { slurp("$job->{name}.$_") } qw(out err);
    unlink map { "$job->{name}.$_" } qw(out err);
    return ($status, @texts);
}

# run([{dir => …, env => {…}},] COMMAND, ARGUMENT...): exit status (128 + the
# signal's number where there was one), standard output, standard error.
sub run {
    my @command = @_;
    my $option  = ref $command[0] ? shift @command : {};
    my $job     = start($option, @command);
    waitpid $job->{pid}, 0;
    return result($job, $?);
}

# The command with a full disk for its standard output.
sub onto_full { return ('sh', '-c', 'exec "$@" > /dev/full', 'sh', @_) }

# Runs [COMMAND...] after [COMMAND...], $jobs at a time; their results in order.
sub run_jobs {
    my @todo = @_;
    my (@results, %running);
    my $next = 0;
    while ($next < @todo || %running) {
        if ($next < @todo && keys %running < $jobs) {
            my @command = @{ $todo[$next] };
            my $option  = ref $command[0] ? shift @command : {};
            my $job     = start($option, @command);
            $running{ $job->{pid} } = [$next++, $job];
            next;
        }
        my $pid = waitpid -1, 0;
        my ($number, $job) = @{ delete $running{$pid} // next };
        $results[$number] = [result($job, $?)];
    }
    return @results;
}

# Where such a locale can be had, all that the tests run runs under a decimal
# comma, as with many users: a script that does not set its locale shows it.
# localedef ends with 1, as the source says nothing but this.
sub set_comma {
    my $dir = "$tmp/locale";
    spew("$dir/charmap", "<code_set_name> comma\n<mb_cur_max> 1\n"
        . "<escape_char> /\nCHARMAP\n<U0000>..<U007F> /x00\nEND CHARMAP\n");
    spew("$dir/source", "LC_NUMERIC\ndecimal_point \",\"\n"
        . "thousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n");
    run('localedef', '-c', '-f', "$dir/charmap", '-i', "$dir/source",
        "$dir/comma");
    if (-e "$dir/comma/LC_NUMERIC") {
        $ENV{LOCPATH} = "$dir:/usr/lib/locale";
        return $ENV{LC_NUMERIC} = 'comma';
    }
    my ($name) = (run('locale', '-a'))[1] =~ /^((?:de_DE|fr_FR)\S*)$/m;
    return $name && ($ENV{LC_NUMERIC} = $name);
}
our $comma = set_comma();

# What a command prints in a terminal so wide; script makes one.
sub in_terminal {
    my ($dir, $columns, $command) = @_;
    my (undef, $out) = run({ dir => $dir, env => { TERM => 'dumb' } },
        'script', '-qec', "stty cols $columns; $command", '/dev/null');
    return $out =~ s/\r\n/\n/gr;
}

# The lines of make's or a program's errors, without make's own last word.
sub one_line {
    my ($err, $pattern, $name) = @_;
    my @lines = grep { !/^make(\[\d+\])?: \*\*\* \[/ } split /\n/, $err;
    my $ok = ok(@lines == 1 && $lines[0] =~ $pattern, $name);
    diag("expected one line like $pattern, got:\n$err") if !$ok;
    return $ok;
}

# --- tools ---

sub which {
    my ($name) = @_;
    my ($first) = grep { -x && !-d } map { "$_/$name" } File::Spec->path;
    return $first;    # undef in a list, too
}

# A PATH with all programs of this one but @names.
sub path_without {
    my %skip = map { $_ => 1 } @_;
    my $bin = tempdir(DIR => $tmp);
    for my $from (File::Spec->path) {
        opendir my $list, $from or next;
        $skip{$_}++ or symlink "$from/$_", "$bin/$_" for readdir $list;
    }
    return $bin;
}

# $check->(NAME, PATH, COMMAND...) for each awk that people have: its command, and
# a PATH in which it is called awk. original-awk is that of macOS and FreeBSD.
# All programs must run under all of them, so none may be missing.
sub with_awks {
    my ($check) = @_;
    for (['mawk'], [qw(gawk --posix)], [qw(busybox awk)], ['original-awk']) {
        my ($name) = my @command = @$_;
      SKIP: {
            skip_or_fail("there is no $name here") if !which($name);
            # Debian 11's lack functions, and [[:space:]]. macOS has 20200816.
            my ($old, @asked) = $name eq 'busybox'
                ? (qr/BusyBox v1\.(?:[12]\d|3[0-4])\./, $name)
                : (qr/\Aawk version 20[01]/, $name, '--version');
            skip "$name is too old", 1 if (run(@asked))[1] =~ $old;
            spew("$tmp/$name/awk", "#!/bin/sh\nexec @command \"\$@\"\n", 0755);
            $check->($name, "$tmp/$name:$ENV{PATH}", @command);
        }
    }
}

# As make finds it. Where it is called with arguments, nvcc -ccbin g++, a script
# that calls it so is the program.
sub find_nvcc {
    my $command = (run('sh', 'tools/nvcc.sh'))[1];
    chomp $command;
    return if $command eq '';
    my ($program, @more) = split /\0/,
        (run('sh', '-c', "set -- $command; printf '%s\\0' \"\$@\""))[1];
    return $program =~ m{/} ? $program : which($program) if !@more;
    my $script = "$root/build/shared/nvcc-command/nvcc";
    spew($script, "#!/bin/sh\nexec $command \"\$@\"\n", 0755);
    return $script;
}

# nvdisasm or cuobjdump, or undef.
sub find_disassembler {
    my ($name) = @_;
    return which($name)
        // (grep { -x } map { "$_/$name" } "$root/.venv/bin",
            map { "$_/bin" } grep { defined && length } $ENV{CUDA_HOME},
            $ENV{CUDA_PATH}, '/usr/local/cuda')[0];
}

# What make docs says of pandoc where it is missing or too old; else nothing.
sub no_pandoc {
    return 'there is no pandoc here' if !which('pandoc');
    my ($version, $major, $minor) =
        (run('pandoc', '--version'))[1] =~ /^(pandoc (\d+)\.(\d+)\S*)/;
    return $major > 2 || ($major == 2 && $minor >= 17) ? ''
        : "$version is too old: 2.17 or later";
}

sub has_gpu {
    return scalar grep { -e } qw(/dev/nvidia0 /proc/driver/nvidia/version
        /usr/lib/wsl/lib/libcuda.so.1);
}

# In a SKIP block: what is not there fails under CI=true, else is skipped.
sub skip_or_fail {
    my ($reason, $tests) = @_;
    $tests //= 1;
    if ($ci) {
        fail("CI=true: $reason");
        no warnings 'exiting';
        last SKIP;
    }
    skip $reason, $tests;
}

sub skip_unless_full {
    my ($what, $tests) = @_;
    skip "$what: FULL=1 make test", $tests // 1 if !$full;
}

# What .ci/run does, too.
sub skip_unless_ci { skip_unless_full(@_) if !$ci }

# Of faults that are planted, those to try: .ci/run takes all, and make test the
# first and each fourth after it.
sub some_of { return $ci || $full ? @_ : @_[grep { $_ % 4 == 0 } 0 .. $#_] }

# --- copies of the tree ---

my @parts = qw(Makefile README.md CONTRIBUTING.md LICENSE setup .clang-format
    lessons common docs examples exercises include solutions results tests
    tools);

# A copy without what was built, or of @only, in a new directory called $name.
sub copy_tree {
    my ($name, @only) = @_;
    my $to = tempdir(DIR => $tmp) . "/$name";
    make_path($to);
    find({
        no_chdir => 1,
        wanted   => sub {
            my $target = "$to/" . File::Spec->abs2rel($_, $root);
            return make_path($target) if -d && !-l;
            return if !-f;
            copy($_, $target) or die "$_: $!";
            my ($mode, $time) = (stat)[2, 9];
            chmod $mode & 0777, $target;
            utime $time, $time, $target;
        },
    }, grep { -e } map { "$root/$_" } @only ? @only : @parts);
    return $to;
}

# Replaces one place in a file; dies unless there is exactly one.
sub edit {
    my ($path, $from, $to) = @_;
    my $text  = slurp($path);
    my $count = () = $text =~ /\Q$from\E/g;
    die "$path: \"$from\" stands there $count times, not once\n"
        if $count != 1;
    $text =~ s/\Q$from\E/$to/;
    spew($path, $text);
}

# Copies the sources in the directory $from of the course to $to. Each FROM that
# follows must stand in all of them together at one place, and becomes its TO;
# an empty one changes nothing.
sub plant {
    my ($from, $to, @edits) = @_;
    opendir my $list, "$root/$from" or die "$from: $!";
    my %text = map { $_ => slurp("$root/$from/$_") }
        grep { /\.(?:cu|c|h)\z/ } readdir $list;
    while (my ($old, $new) = splice @edits, 0, 2) {
        next if $old eq '';
        my @places = map { ($_) x (() = $text{$_} =~ /\Q$old\E/g) } keys %text;
        die "$from: \"$old\" stands there @{[scalar @places]} times, not once\n"
            if @places != 1;
        $text{ $places[0] } =~ s/\Q$old\E/$new/;
    }
    spew("$to/$_", $text{$_}) for keys %text;
}

# All files below the directories or with the names given, as paths from the
# root, that match $pattern.
sub files_of {
    my ($pattern, @places) = @_;
    my @found;
    find({
        no_chdir => 1,
        wanted   => sub {
            push @found, File::Spec->abs2rel($_, $root) if -f && /$pattern/;
        },
    }, grep { -e } map { "$root/$_" } @places);
    return sort @found;
}

# --- what several tests need is made once ---

# Returns a directory below build/ that $fill->(directory) has filled, for this
# test and for others at the same time and later, as long as $key is the same.
# Returns undef where $fill says that nothing is worth keeping.
sub shared {
    my ($name, $key, $fill) = @_;
    my $home = "build/shared";
    my $dir  = "$home/$name-" . md5_hex($key);
    make_path("$root/$home");
    open my $lock, '>', "$root/$home/$name.lock" or die "$name.lock: $!";
    flock $lock, LOCK_EX or die "$name.lock: $!";
    return $dir if -d "$root/$dir";
    my $new = "$home/$name-new";
    remove_tree(grep { m{/\Q$name\E-(?:[0-9a-f]{32}|new)\z} }
        bsd_glob("\Q$root\E/$home/*"));
    make_path("$root/$new");
    my $kept = $fill->($new) && rename "$root/$new", "$root/$dir";
    remove_tree("$root/$new");
    return $kept ? $dir : undef;
}

# The contents of files, for such a key.
sub contents {
    return join "\0", map { basename($_), slurp("$root/$_") } @_;
}

# What the Makefile says of itself, with @options: a name => its value.
sub ask_make {
    my @options = @_;
    spew("$tmp/ask.mk", <<'END');
include Makefile
ask:
	@printf '%s\n' 'backend $(BACKEND)' 'build $(BUILD)' 'cc $(CC)' \
	    'flags $(CPU_FLAGS)' 'cflags $(CFLAGS)' 'runtime $(RUNTIME)' \
	    'files $(filter-out /%,$(MAKEFILE_LIST))'
END
    my ($status, $out, $err) = run('make', '-s', '-f', "$tmp/ask.mk", 'ask',
        @options);
    die "make @options ask: $err" if $status;
    return { $out =~ /^(\w+) (.*)$/mg };
}

# The flags of the CPU build, but for CFLAGS.
sub cpu_flags {
    return split ' ', ask_make('BACKEND=cpu', @_)->{flags};
}

# The objects of the emulation as make builds them with @options: paths from the
# root; none with BACKEND=cuda.
sub cpu_runtime {
    my @options = @_;
    my $made = ask_make(@options);
    my @names = map { basename($_) } split ' ', $made->{runtime};
    return if !@names;
    my $how = "$made->{cc} $made->{flags} $made->{cflags}\n"
        . (run(split(' ', $made->{cc}), '--version'))[1];
    my $err = '';
    my $name = "runtime $made->{cc} $made->{cflags}" =~ s/[^\w.]+/-/gr;
    my @sources = files_of(qr/\.[ch]\z/, qw(common include));
    my $fill = sub {
        my ($new) = @_;
        (my $status, undef, $err) = run($make, '-s', "-j$jobs", @options,
            "BUILD=$new", map { "$new/$_" } @names);
        return "$status$err" eq '0';
    };
    my $dir = shared($name, $how . contents(split(' ', $made->{files}),
        @sources), $fill);
    die "make @options, the emulation: $err" if !$dir;
    return map { "$dir/$_" } @names;
}

# Puts them where make with @options will find them in $tree (in the directory
# BUILD where that is among them), and younger than the sources.
sub give_runtime {
    my ($tree, @options) = @_;
    my ($build) = map { /^BUILD=(.*)/ ? $1 : () } @options;
    @options = grep { !/^BUILD=/ } @options;
    $build = File::Spec->rel2abs($build // ask_make(@options)->{build}, $tree);
    make_path($build);
    copy("$root/$_", $build) or die "$_: $!" for cpu_runtime(@options);
}

# What make docs makes of a copy of the course whose path has a space: the
# directory with its site and site.work, or undef, and what run() returns.
sub make_site {
    my @result;
    my $dir = shared('site', contents(files_of(qr/./, grep { $_ ne 'tests' }
        @parts)), sub {
        my ($new) = @_;
        my $tree = copy_tree('a course');
        @result = run({ dir => $tree, env => { EDIT => undef } }, $make, 'docs');
        rename "$tree/build/$_", "$root/$new/$_" or run('cp', '-R',
            "$tree/build/$_", "$root/$new") for qw(site site.work);
        spew("$root/$new/printed", $result[1]);
        return "$result[0]$result[2]" eq '0';
    });
    return ($dir && "$root/$dir", $dir ? (0, slurp("$root/$dir/printed"), '')
        : @result);
}

# --- building what is tested ---

# A copy of the tree with lessons built in it, and the backend that make chose,
# cpu or cuda; without them nothing can be tested.
sub build_lessons {
    my @targets = @_;
    delete $ENV{CUDA_VISIBLE_DEVICES}
        if ($ENV{CUDA_VISIBLE_DEVICES} // 'x') eq '';
    delete $ENV{CPU_THREADS};
    my $tree = copy_tree('course');
    give_runtime($tree);
    my ($status, $out, $err) = run({ dir => $tree }, $make, "-j$jobs", @targets);
    is($status, 0, "make @targets") or BAIL_OUT($err);
    my ($backend) = $out =~ /^BACKEND=(\w+)/m;
    like($backend // '', qr/^(cpu|cuda)\z/, 'the build names the backend')
        or BAIL_OUT($out);
    note("backend: $backend");
    return ($tree, $backend);
}

# Lessons with faults. Each is [WHAT, LESSON, FROM => TO, ...]: a copy of the
# lesson's directory, as by plant(), built without optimisation (the emulation
# is that of the sound lessons). LESSON/PROGRAM is another program in that
# directory. Returns their programs in order; these are called lesson1, lesson2
# and so on.
sub build_planted {
    my @faults = @_;
    my $tree = copy_tree('planted', qw(Makefile common include tools
        lessons/v6_scatter)); # whose headers lesson 10 uses
    my @names = map { sprintf 'v%03d_planted', $_ } 1 .. @faults;
    for my $i (0 .. $#faults) {
        my ($what, $lesson, @edits) = @{ $faults[$i] };
        ($lesson, my $program) = split m{/}, $lesson;
        $program //= $lesson;
        my $to = "$tree/lessons/$names[$i]";
        eval { plant("lessons/$lesson", $to, @edits); 1 } or die "$what: $@";
        rename "$to/$program.cu", "$to/$names[$i].cu" or die "$to: $!";
    }
    give_runtime($tree, 'BUILD=build');
    my ($status, $out, $err) = run({ dir => $tree }, $make, '-k', "-j$jobs",
        'CFLAGS=-O0', 'BUILD=build', map { "build/$_" } @names);
    is($status, 0, 'the lessons with faults build') or diag($err);
    symlink "build/$names[$_ - 1]", "$tree/lesson$_" for 1 .. @faults;
    return map { "$tree/lesson$_" } 1 .. @faults;
}

# Builds lessons or programs of tests/cpu into a directory, without a warning.
sub build_programs {
    my ($programs, $what, $backend, $build, @options) = @_;
    give_runtime($root, "BACKEND=$backend", @options, "BUILD=$build");
    my ($status, $out, $err) = run($make, '-s', "-j$jobs",
        "BACKEND=$backend", "BUILD=$build", @options,
        map { "$build/$_" } @$programs);
    is("$status$err", '0', "$what: builds without a warning");
    return $status == 0;
}

# One test of such a program: it ends with status 0, prints "ok" lines and no
# "not ok", and on stderr just what its "stderr: " lines say, with any address
# for ADDRESS. Returns what it printed.
sub run_ok {
    my ($what, $env, @command) = @_;
    my ($status, $out, $err) = run({ env => $env }, @command);
    my $wanted = join '', map { quotemeta("$_\n") } $out =~ /^stderr: (.*)/mg;
    $wanted =~ s/ADDRESS/0x[0-9a-f]+/g;
    my $good = () = $out =~ /^ok - /mg;
    my $bad  = () = $out =~ /^not ok - /mg;
    ok($status == 0 && $good > 0 && $bad == 0 && $err =~ /\A$wanted\z/, $what)
        or diag(join '', "status $status\n", $out =~ /^((?!ok).*\n)/mg,
            "stderr:\n$err");
    return $out;
}

sub cases_of {
    my ($program) = @_;
    my ($status, $out) = run($program, 'cases');
    return split ' ', $out;
}

# --- sanitizers ---

# The Makefile makes undefined behaviour a trap. A null pointer in a kernel is
# left to the emulation, which reports it as error 700.
my %sanitizer_flags = (
    'address,undefined' =>
        '-O1 -g -fsanitize=address,undefined -fno-sanitize=null',
    thread => '-O1 -g -fsanitize=thread',
);

# [COMPILER, SANITIZER, FLAGS]; make test does the first, and all in FULL.
our @sanitizers = map { [@$_, $sanitizer_flags{ $_->[1] }] } (
    ['gcc', 'address,undefined'], ['gcc', 'thread'],
    ['clang', 'address,undefined'], ['clang', 'thread']);

sub sanitizer_works {
    my ($cc, undef, $flags) = @_;
    return if !which($cc);
    spew("$tmp/nothing.c", "int main(void) { return 0; }\n");
    return (run($cc, split(' ', $flags), '-o', "$tmp/nothing",
        "$tmp/nothing.c"))[0] == 0 && (run("$tmp/nothing"))[0] == 0;
}

# $check->(WHAT, COMPILER, SANITIZER, FLAGS) for each that is to be done.
sub with_sanitizers {
    my ($check) = @_;
    for my $sanitizer (@sanitizers) {
        my $what = "$sanitizer->[0] -fsanitize=$sanitizer->[1]";
      SKIP: {
            skip_unless_full($what) if $sanitizer != $sanitizers[0];
            skip_or_fail("$what does not work here")
                if !sanitizer_works(@$sanitizer);
            # ThreadSanitizer waits a second at the end of each program.
            local $ENV{TSAN_OPTIONS} = 'atexit_sleep_ms=0';
            $check->($what, @$sanitizer);
        }
    }
}

# --- adding in half, with whole numbers ---

# A half is a whole multiple of 2^-24, its unit here. Of N / 2^SHIFT units keep
# the top 11 bits, but nothing below one unit; to nearest, ties to even.
sub bit_length {
    my ($n) = @_;
    my $length = 0;
    for (; $n > 0; $n >>= 1) { $length++ }
    return $length;
}

sub round_to_half {
    my ($n, $shift) = @_;
    my $drop = bit_length($n) - 11;
    $drop = $shift if $drop < $shift;
    return $n if $drop == 0;
    my $kept = $n >> $drop;
    my $rest = $n - ($kept << $drop);
    my $tie  = 1 << ($drop - 1);
    $kept++ if $rest > $tie || ($rest == $tie && $kept % 2);
    return $kept << ($drop - $shift);
}

sub bits_of {
    my ($units) = @_;
    my $shift = bit_length($units) - 11;
    return $units if $shift < 0;
    return (($shift + 1) << 10) + ($units >> $shift) - 1024;
}

sub value_of { return sprintf '%.6g', $_[0] / 2**24 }

# 0.1 as a half is 1638 * 2^-14; its square is 1638^2 * 2^-28.
our $product = round_to_half(1638 * 1638, 4);

# The sums after 0, 1, 2, … LAST adds to START (0), and nothing is skipped.
sub sums {
    my ($addend, $last, $start) = @_;
    my @sum = ($start // 0);
    $sum[$_] = round_to_half($sum[$_ - 1] + $addend, 0) for 1 .. $last;
    return @sum;
}

# --- the report ---

# The report as label => [texts]; lines without a label belong to the last.
sub read_report {
    my ($text) = @_;
    my (%report, $last);
    for (split /\n/, $text) {
        if (/^(lesson) (\d.*)/ || /^(\w+) +(\S.*)/) {
            $last = $1;
            push @{ $report{$last} }, $2;
        } elsif (/^ {10}(\S.*)/ && defined $last) {
            push @{ $report{$last} }, $1;
        } else {
            push @{ $report{unreadable} }, $_;
        }
    }
    return \%report;
}

# --- what nvcc makes of a source ---

# The architectures, of which `make test` takes two, and the flags under which
# each warning is an error.
our @archs = $ci || $full ? qw(75 80 86 90 100 120) : qw(75 90);
our @nvcc_strict =
    (split(' ', <<'END'), '-Xcompiler', '-Wall,-Wextra,-Werror');
-std=c++17 -O3 -Icommon -Iinclude -Werror all-warnings
-D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF2_OPERATORS__
-D__CUDA_NO_HALF_CONVERSIONS__
END

# Compiles sources for all of them and keeps the objects, the PTX and the
# machine code; returns the results as run_jobs does. What went well is shared
# between tests and stays until something in it changes.
my %kept;
sub compile_kept {
    my ($nvcc, @sources) = @_;
    my @gencode = map { ('-gencode',
        "arch=compute_$_,code=[sm_$_,compute_$_]") } @archs;
    my @command = ($nvcc, @nvcc_strict, @gencode, qw(--threads 0 --keep -c));
    my $version = (run($nvcc, '--version'))[1];
    my @results;
    for my $source (map { File::Spec->abs2rel($_, $root) }
        map { File::Spec->rel2abs($_, $root) } @sources) {
        my $name = basename($source, '.cu');
        my $key  = join ' ', @command, $version, contents(files_of(
            qr/\.(?:cu|h)\z/, 'common', 'include', dirname($source)));
        my @result;
        my $dir = shared("nvcc-$name", $key, sub {
            my ($new) = @_;
            @result = run(@command, '--keep-dir', $new, '-o', "$new/$name.o",
                $source);
            unlink grep { !/\.(?:ptx|cubin|o)\z/ } bsd_glob("\Q$root/$new\E/*");
            return join('', @result) eq '0';
        });
        $kept{$name} = "$root/$dir/$name" if $dir;
        push @results, $dir ? [0, '', ''] : \@result;
    }
    return @results;
}

# The files of a source that was kept: its object, which has all architectures;
# for one of these its PTX or its cubin.
sub kept_object { return "$kept{ $_[0] }.o" }

sub kept_file {
    my ($name, $arch, $type) = @_;
    my $kind = $type eq 'ptx' ? 'compute' : 'sm';
    return (bsd_glob("\Q$kept{$name}\E*${kind}_$arch*.$type"))[0] // 'missing';
}

# Its PTX, with plain names.
sub kept_ptx {
    my ($name, $arch) = @_;
    my $file = kept_file($name, $arch, 'ptx');
    return demangled(-e $file ? slurp($file) : '');
}

# Its machine code, as a file that is kept as well, since nvdisasm takes its
# time; and the rest of what run() returns.
sub kept_listing {
    my ($name, $arch) = @_;
    my $nvdisasm = find_disassembler('nvdisasm');
    my @command = $nvdisasm ? ($nvdisasm, '-c')
        : (find_disassembler('cuobjdump'), '-sass');
    return (127, '', 'no disassembler') if !$command[0];
    my $cubin = kept_file($name, $arch, 'cubin');
    my $kept = "$cubin." . md5_hex(join ' ', @command, (stat $command[0])[7, 9]);
    return (0, $kept, '') if -e $kept;
    my ($status, $out, $err) = run(@command, $cubin);
    return ($status, '', $err) if $status;
    spew("$kept.$$", $out);
    rename "$kept.$$", $kept or die "$kept: $!";
    return (0, $kept, $err);
}

# The same as text, with plain names.
sub disassemble {
    my ($status, $kept, $err) = kept_listing(@_);
    return ($status, $kept && demangled(slurp($kept)), $err);
}

# A directory with an nvcc and an nvdisasm for make ptxK and make sassK: they
# show what is kept of the sources @names, for architectures @$archs.
sub kept_tools {
    my ($archs, @names) = @_;
    my ($dir, $nvcc) = (tempdir(DIR => $tmp), find_nvcc());
    for my $name (@names) {
        for my $arch (@$archs) {
            my %file = (sass => (kept_listing($name, $arch))[1]);
            $file{$_} = kept_file($name, $arch, $_) for qw(ptx cubin);
            symlink $file{$_}, "$dir/$name.sm_$arch.$_" for keys %file;
        }
    }
    spew("$dir/nvcc", <<"END", 0755);
#!/bin/sh
case \$5 in -ptx | -cubin) ;; *) exec '$nvcc' "\$@" ;; esac
kept=$dir/\$(basename "\$8" .cu).\${1#-arch=}
[ ! -e "\$kept.sass" ] || cp "\$kept.sass" "\$7.sass" || exit
cp "\$kept.\${5#-}" "\$7"
END
    spew("$dir/nvdisasm", "#!/bin/sh\nexec cat \"\$2.sass\"\n", 0755);
    return $dir;
}

# _Z8dot_half… as dot_half…, in all names of a listing.
sub demangled {
    my ($text) = @_;
    $text =~ s/_Z[A-Z]*(\d+)(?=[a-z])//g;
    return $text;
}

# The instructions or statements of kernel $name in a listing of $kind.
sub kernel_text {
    my ($kind, $name, $text) = @_;
    my $begin =
        $kind eq 'ptx' ? qr/^(?:\.visible |\.weak )?\.entry /m
        : qr/^\.text\.|^\t\tFunction : /m;
    my @found = grep { /\A\w*?\Q$name\E/ } split $begin, $text;
    return @found == 1 ? $found[0] : '';
}

# Its global atomics, sorted; those on shared memory (ATOMS) are left out.
sub atomics {
    my ($kind, $text) = @_;
    my $name = $kind eq 'ptx' ? qr/\b((?:atom|red)\.[\w.]+)/
        : qr/\b((?:ATOMG?|REDG?)\.[\w.]+)/;
    $text =~ s{//.*}{}g if $kind eq 'ptx';
    return join ' ', sort $text =~ /$name/g;
}

1;
