#!/usr/bin/env python3
"""Lesson 10 as a PyTorch operator, beside index_add_ and scatter_add_.

    python3 examples/pytorch/add_rows.py

builds the lesson by torch.utils.cpp_extension, makes the operator of it, and
holds every half of the table against the exact sum, rounded once. It ends with
0; with 1 if the operator is wrong; with 2 if something is missing here, and
with 3 if that is the GPU. For code of your own, take find(), build() and
make_operator().
"""
import ctypes
import os
import shutil
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COURSE = os.path.dirname(os.path.dirname(HERE))
MOST = {"rows": 1 << 29, "width": 1 << 20, "table rows": (1 << 31) - 1}
ROWS, WIDTH, TABLE_ROWS, ROUNDS = 65536, 768, 50257, 21
NEEDED = 3 << 30  # bytes of device memory, with the sums in double
WAIT = 2_000_000  # cycles before a turn: the host is ahead of the GPU then


def stop(status, message):
    print("add_rows: " + message, file=sys.stderr)
    sys.exit(status)


# --- the operator ---


def find():
    """PyTorch, or one line that says what is missing."""
    try:
        import torch
        from torch.utils import cpp_extension
    except ImportError as error:
        stop(2, "PyTorch is missing for %s (%s): pip install torch"
             % (sys.executable, error))
    if not torch.cuda.is_available():
        stop(3, "PyTorch %s finds no NVIDIA GPU here" % torch.__version__)
    if not hasattr(torch.library, "custom_op"):
        stop(2, "PyTorch %s is too old: 2.4 or later" % torch.__version__)
    cuda = cpp_extension.CUDA_HOME
    if not cuda or not os.path.exists(os.path.join(cuda, "bin", "nvcc")):
        stop(2, "nvcc is missing: install the CUDA Toolkit %s, or set CUDA_HOME"
             % torch.version.cuda)
    if not shutil.which("ninja"):
        stop(2, "ninja is missing, by which PyTorch builds: pip install ninja")
    return torch, cpp_extension


def build(torch, cpp_extension):
    """Lesson 10 as a library; anew where a source has changed."""
    folder = os.path.join(COURSE, "build", "shared", "pytorch")
    os.makedirs(folder, exist_ok=True)
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST",
                          "%d.%d" % torch.cuda.get_device_capability())
    cpp_extension.load(
        name="lesson10", build_directory=folder, is_python_module=False,
        sources=[os.path.join(COURSE, "tools", "peers", "rows.cu")],
        extra_include_paths=[os.path.join(COURSE, "common"),
                             os.path.join(COURSE, "include")],
        extra_cuda_cflags=["-O3"])
    library = ctypes.CDLL(os.path.join(folder, "lesson10.so"))
    library.v9_rows_scratch_bytes.restype = ctypes.c_size_t
    return library


def check(torch, table, index, gradient):
    """A wrong argument raises ValueError. The indices stay unread."""
    for name, tensor, kind, dimensions in (("table", table, torch.half, 2),
                                           ("index", index, torch.int64, 1),
                                           ("gradient", gradient, torch.half,
                                            2)):
        if tensor.dtype != kind:
            wrong = "is %s, not %s" % (tensor.dtype, kind)
        elif tensor.dim() != dimensions:
            wrong = "has %d dimensions, not %d" % (tensor.dim(), dimensions)
        elif tensor.device.type != "cuda":
            wrong = "is on %s, not on a GPU" % tensor.device
        elif tensor.device != table.device:
            wrong = "is on %s, the table on %s" % (tensor.device, table.device)
        elif not tensor.is_contiguous():
            wrong = "is not contiguous: pass a contiguous() one"
        else:
            continue
        raise ValueError("add_rows_: %s %s" % (name, wrong))
    rows, width = index.shape[0], table.shape[1]
    if tuple(gradient.shape) != (rows, width):
        raise ValueError(
            "add_rows_: gradient is %d x %d, not %d x %d: a row for each index,"
            " as wide as the table" % (*gradient.shape, rows, width))
    for (what, most), size in zip(MOST.items(), (rows, width, table.shape[0])):
        if size > most:
            raise ValueError("add_rows_: %d %s; at most %d can be"
                             % (size, what, most))


def make_operator(torch, library):
    @torch.library.custom_op("half_atomics::add_rows_", mutates_args=["table"])
    def add_rows_(table: torch.Tensor, index: torch.Tensor,
                  gradient: torch.Tensor) -> None:
        """Adds gradient[i] to table[index[i]], for each i. Each half is rounded
        once. An index outside the table, or below 0, adds nothing."""
        check(torch, table, index, gradient)
        if gradient.numel() == 0:
            return
        rows = ctypes.c_longlong(index.shape[0])
        table_rows = ctypes.c_longlong(table.shape[0])
        width = ctypes.c_int(table.shape[1])
        with torch.cuda.device(table.device):
            scratch = torch.zeros(
                library.v9_rows_scratch_bytes(rows, table_rows, width),
                dtype=torch.uint8, device=table.device)
            # The lesson runs in CUDA's default stream. Another one waits for
            # it, and it for that, on the GPU; the host waits for neither.
            current = torch.cuda.current_stream()
            default = torch.cuda.default_stream()
            if current != default:
                default.wait_stream(current)
            library.v9_rows(
                ctypes.c_void_p(table.data_ptr()), table_rows, width,
                ctypes.c_void_p(gradient.data_ptr()),
                ctypes.c_void_p(index.data_ptr()), rows,
                ctypes.c_void_p(scratch.data_ptr()))
            if current != default:
                current.wait_stream(default)
    return torch.ops.half_atomics.add_rows_


# --- whether it is right ---


def rounded(torch, exact):
    """To halves, once: double().half() goes by float, and rounds twice."""
    exponent = torch.frexp(exact).exponent.clamp(min=-13) - 11
    unit = torch.exp2(exponent.double())
    return (torch.round(exact / unit) * unit).half()


def fractions(torch, *shape):
    """Multiples of 1/2048 between 0 and 1: sums of them are exact in double,
    in any order."""
    return torch.randint(1, 2048, shape, device="cuda").half() / 2048


def indices(torch, pattern):
    """Where the rows go. Zipf: the k-th most frequent row has 1/k of the first
    one's share; the hottest is row 1."""
    if pattern == "one row":
        return torch.ones(ROWS, dtype=torch.int64, device="cuda")
    if pattern == "uniform":
        return torch.randint(TABLE_ROWS, (ROWS,), device="cuda")
    total = (1 / torch.arange(1, TABLE_ROWS + 1, dtype=torch.float64,
                              device="cuda")).cumsum(0)
    x = torch.rand(ROWS, dtype=torch.float64, device="cuda") * total[-1]
    rank = torch.searchsorted(total, x, right=True)
    return (rank.clamp(max=TABLE_ROWS - 1) + 1) % TABLE_ROWS


def exact_sum(table, index, gradient):
    """In double; indices outside the table add nothing."""
    is_inside = (index >= 0) & (index < table.shape[0])
    return table.double().index_add_(0, index[is_inside],
                                     gradient[is_inside].double())


def small_checks(torch, add_rows_):
    """Prints what bad arguments raise; returns how much was wrong."""
    table, gradient = fractions(torch, 40, 24), fractions(torch, 600, 24)
    index = torch.randint(-3, 43, (600,), device="cuda")
    bad = [("a float table", (table.float(), index, gradient)),
           ("an int index", (table, index.int(), gradient)),
           ("a flat gradient", (table, index, gradient.view(-1))),
           ("a narrow gradient", (table, index, fractions(torch, 600, 23))),
           ("a transposed table", (fractions(torch, 24, 40).t(), index,
                                   gradient)),
           ("an index on the CPU", (table, index.cpu(), gradient))]
    wrong = 0
    for what, arguments in bad:
        try:
            add_rows_(*arguments)
            said, wrong = "nothing: WRONG", wrong + 1
        except ValueError as error:
            said = str(error)
        print("%-22s %s" % (what, said))

    def holds(what, was, now, *added):
        is_right = torch.equal(now, rounded(torch, exact_sum(was, *added)))
        print("%-22s %s" % (what, "ok" if is_right else "WRONG"))
        return not is_right

    def added_to(was, *arguments):
        now = was.clone()
        add_rows_(now, *arguments)
        return now

    nothing = index[:0], gradient[:0]
    wrong += holds("an empty index", table, added_to(table, *nothing), *nothing)
    wrong += holds("indices outside", table, added_to(table, index, gradient),
                   index, gradient)
    odd = fractions(torch, 40 * 7 + 1)[1:].view(40, 7)
    rows = fractions(torch, 600, 7)
    now = fractions(torch, 40 * 7 + 1)[1:].view(40, 7).copy_(odd)
    add_rows_(now, index, rows)
    wrong += holds("an odd address", odd, now, index, rows)

    late, now = torch.zeros_like(gradient), table.clone()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(100 * WAIT)  # what follows must wait for this
        late.copy_(gradient)
        add_rows_(now, index, late)
        copy = now.clone()
        late.zero_()
    torch.cuda.synchronize()
    return wrong + holds("another stream", table, copy, index, gradient)


# --- beside PyTorch's own ---


def turn_ms(torch, run):
    """The GPU's time for one call."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(WAIT)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def compare(torch, add_rows_, pattern, width):
    """Prints a table; returns how many halves of ours are wrong."""
    index, gradient = indices(torch, pattern), fractions(torch, ROWS, width)
    start = fractions(torch, TABLE_ROWS, width)
    table, spread = start.clone(), index[:, None].expand(-1, width)
    exact = exact_sum(start, index, gradient)
    wanted = rounded(torch, exact)
    ways = {
        "add_rows_": lambda: add_rows_(table, index, gradient),
        "index_add_": lambda: table.index_add_(0, index, gradient),
        "scatter_add_": lambda: table.scatter_add_(0, spread, gradient)}
    times = {name: [] for name in ways}
    for _ in range(2 + ROUNDS):  # the first two warm up
        for name, run in ways.items():
            table.copy_(start)
            times[name].append(turn_ms(torch, run))
    print("\n%s, rows of %d\n%-14s %10s %8s %13s %12s"
          % (pattern, width, "", "median ms", "ratio", "worst error",
             "not exact"))
    not_exact = []
    for name, run in ways.items():
        table.copy_(start)
        run()
        error = ((table.double() - exact).abs() / exact).max().item()
        not_exact.append(int((table != wanted).sum()))
        ms = [statistics.median(times[way][2:]) for way in (name, "add_rows_")]
        print("%-14s %10.4f %8.2f %12.4f%% %12d"
              % (name, ms[0], ms[0] / ms[1], 100 * error, not_exact[-1]))
    return not_exact[0]


def main():
    if len(sys.argv) > 1:
        stop(2, "takes no options: python3 examples/pytorch/add_rows.py")
    torch, cpp_extension = find()
    free = torch.cuda.mem_get_info()[0]
    if free < NEEDED:
        stop(3, "%.1f GiB of the GPU's memory are free, and %.1f are needed"
             % (free / 2 ** 30, NEEDED / 2 ** 30))
    try:
        library = build(torch, cpp_extension)
    except (OSError, RuntimeError) as error:
        stop(2, "lesson 10 could not be built: %s" % error)
    print("%s, CUDA %s, PyTorch %s" % (torch.cuda.get_device_name(),
                                       torch.version.cuda, torch.__version__))
    add_rows_ = make_operator(torch, library)
    torch.manual_seed(7)
    wrong = small_checks(torch, add_rows_)
    print("\n%d rows are added to a table of %d; a median of %d rounds; "
          "ratio: over add_rows_" % (ROWS, TABLE_ROWS, ROUNDS))
    for pattern, width in (("uniform", WIDTH), ("Zipf", WIDTH),
                           ("one row", WIDTH), ("uniform", WIDTH - 1)):
        wrong += compare(torch, add_rows_, pattern, width)
    print("\nresult: %s" % ("every sum rounded once: ok" if not wrong
                            else "WRONG"))
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except OSError as error:
        print("add_rows: %s" % error, file=sys.stderr, flush=True)
        os._exit(3)  # sys.exit would try once more to write what could not be
    sys.exit(status)
