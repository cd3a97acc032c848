#!/usr/bin/env perl
# Lesson 10 for PyTorch: tools/peers/rows.cu in emulation, on all that the lesson
# checks of itself; and what examples/pytorch/add_rows.py says where something is
# missing, and of wrong arguments. PyTorch itself is not needed: a stub serves.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Course;
use Test::More;

# --- the library: the lesson's checks go through it ---

$ENV{BACKEND} = 'cpu';
my $library = slurp("$root/tools/peers/rows.cu");
$library =~ s/^#.*\n//mg;
$library =~ s/^extern "C" //mg;
my @calls = (
    map({ ("../v6_scatter/$_" => "$root/lessons/v6_scatter/$_") }
        qw(problem.h loads.h)),
    'int main(' => 'int lesson_main(void); int main(',
    '/* --- main --- */' => $library,
    '    add_up(p->s, w, blocks);' => <<'END',
    (void)blocks;
    v9_rows(p->s.table, p->s.table_rows, p->s.width, p->s.gradient, p->s.index,
            p->s.rows, w.sums);
END
    'static inline struct scratch create_scratch(' => <<'END',
size_t v9_rows_scratch_bytes(long long, long long, int);
void v9_rows(void *, long long, int, const void *, const long long *, long long,
             void *);
static inline struct scratch create_scratch(
END
    'size_t bytes = scratch_at(&byte, s).bytes;' =>
        'size_t bytes = v9_rows_scratch_bytes(s.rows, s.table_rows, s.width);'
        . ' (void)byte;',
);
my @fault = @calls;
$fault[7] =~ s/\Q(void *)sizeof(half)\E/(void *)16/ or die 'no odd address';
my ($sound, $faulty) = build_planted(['the library', 'v9_rows', @calls],
    ['a scratch that is too small', 'v9_rows', @fault]);
my @small = qw(--n 64 --width 8 --table 9 --again 0 --runs 1);
my ($status, $out, $err) = run($sound, @small);
is("$status$err", '0', 'rows.cu: right on all small scatters') or diag($out);
like($out, qr/^checks +120 small scatters .*\n?.*: ok$/m, 'and it was called');
($status, $out, $err) = run($faulty, @small);
is($status, 3, 'a scratch that is too small: status 3');
like($err, qr/ is outside every allocation /, 'and the emulation finds it');

# --- the script ---

my $python = $ENV{PYTHON} || which('python3');
SKIP: {
    skip_or_fail('there is no python3 here') if !$python;
    my $stub = "$tmp/stub";
    spew("$stub/torch/__init__.py", <<'END');
import os
if os.environ["LACKS"] == "torch":
    raise ImportError("none here")
__version__, half, int64 = "9.8", "half", "int64"
class version:
    cuda = "13.7"
class library:
    custom_op = None
if os.environ["LACKS"] == "new":
    del library.custom_op
class cuda:
    is_available = staticmethod(lambda: os.environ["LACKS"] != "gpu")
    mem_get_info = staticmethod(lambda: (1 << 30, 1 << 40))
END
    spew("$stub/torch/utils/__init__.py", '');
    spew("$stub/torch/utils/cpp_extension.py",
        "import os\nCUDA_HOME = os.environ['LACKS'] != 'nvcc' and '$stub' or None\n");
    spew("$stub/bin/$_", "#!/bin/sh\n", 0755) for qw(nvcc ninja);
    my $lacking = sub {
        my ($lacks, $expected, $pattern, @options) = @_;
        my $path = $lacks eq 'ninja' ? path_without('ninja')
            : "$stub/bin:$ENV{PATH}";
        my ($status, $out, $err) = run({ env => { PYTHONPATH => $stub,
            PYTHONDONTWRITEBYTECODE => 1, LACKS => $lacks,
            PATH => $path } }, $python, "$root/examples/pytorch/add_rows.py", @options);
        is("$status$out", $expected, "without $lacks: status $expected");
        one_line($err, qr/^add_rows: $pattern/, "without $lacks: one line");
    };
    $lacking->('torch', 2, qr/PyTorch is missing for \S+ \(none here\): pip/);
    $lacking->('gpu', 3, qr/PyTorch 9\.8 finds no NVIDIA GPU here$/);
    $lacking->('new', 2, qr/PyTorch 9\.8 is too old: 2\.4 or later$/);
    $lacking->('nvcc', 2, qr/nvcc is missing: install the CUDA Toolkit 13\.7,/);
    $lacking->('memory', 3, qr/1\.0 GiB of the GPU's memory are free, and 3\.0/);
    $lacking->('options', 2, qr/takes no options/, '--help');
    $lacking->('ninja', 2, qr/ninja is missing, .*: pip install ninja$/);

    # Each line is one wrong argument, and what is said of it.
    spew("$stub/check.py", <<'END');
import os, sys
os.environ["LACKS"] = ""
sys.path.insert(0, sys.argv[1])
import add_rows, torch
class Tensor:
    def __init__(self, *shape, dtype="half", device="cuda:0", whole=True):
        self.shape, self.dtype, self.device = shape, dtype, self
        self.type, self.name = device.split(":")[0], device
        self.dim = lambda: len(shape)
        self.is_contiguous = lambda: whole
    __str__ = lambda self: self.name
    __eq__ = lambda self, other: self.name == other.name
def index(*shape, **more):
    return Tensor(*shape, **{"dtype": "int64", **more})
good = {"table": Tensor(9, 5), "index": index(7), "gradient": Tensor(7, 5)}
add_rows.check(torch, **good)
for name, tensor in (
        ("table", Tensor(9, 5, dtype="float")), ("index", index(7, 1)),
        ("table", Tensor(9, 5, device="cpu")), ("index", index(7, device="cuda:1")),
        ("gradient", Tensor(7, 5, whole=False)), ("index", index(6)),
        ("gradient", Tensor(7, 4)), ("table", Tensor(1 << 31, 5))):
    try:
        add_rows.check(torch, **{**good, name: tensor})
        print("nothing")
    except ValueError as error:
        print(error)
END
    my ($status, $out, $err) = run({ env => { PYTHONPATH => $stub,
        PYTHONDONTWRITEBYTECODE => 1 } }, $python, "$stub/check.py",
        "$root/examples/pytorch");
    is("$status$err", '0', 'wrong arguments: the check runs');
    is($out, <<'END', 'and says what is wrong');
add_rows_: table is float, not half
add_rows_: index has 2 dimensions, not 1
add_rows_: table is on cpu, not on a GPU
add_rows_: index is on cuda:1, the table on cuda:0
add_rows_: gradient is not contiguous: pass a contiguous() one
add_rows_: gradient is 7 x 5, not 6 x 5: a row for each index, as wide as the table
add_rows_: gradient is 7 x 4, not 7 x 5: a row for each index, as wide as the table
add_rows_: 2147483648 table rows; at most 2147483647 can be
END
}

done_testing();
