"""Rows of halves added into a table: lessons 7 and 10 beside PyTorch and TMA.

All sides get the same gradient and the same indices. "scatter-add" adds to a
table that was cleared outside the timed part. embedding_dense_backward takes no
table: it allocates, clears and returns one. So in "scatter-add-new-table" the
others clear theirs within the time, too.

The indices are uniform, Zipf's (the k-th most frequent row has 1/k of the first
one's share) or all the same. The hottest row is row 1: PyTorch's scatter_add_
has a case of its own in row 0. "row zero" shows that, in numbers of both signs,
which do not freeze. There "flat" is scatter_add_ on the table as one dimension:
it gets the true index of each half and the true start of the table.
"""
import ctypes

SIZES = {"ROWS": (65536, 1 << 29), "WIDTH": (768, 1 << 20),
         "TABLE": (50257, (1 << 31) - 1)}
# The first of those that sum alike is what they are held against.
OURS = [("v9_rows", "once"),
        ("v6_scatter_grouped", "in half"),
        ("v6_scatter_vector", "in half"),
        ("v6_scatter_half2", "in half"),
        ("v6_scatter_fast", "in half")]
ONCE_ERROR = 2.0 ** -10               # of which one rounding is half
FEW_ROWS = 3072                       # embedding_dense_backward sums in half
HALF_LIMIT = 65520                    # rounds to inf
NEEDED = 64                           # bytes per half, for the check as well


def indices(torch, setting, sizes, first=1):
    """Where the rows go; first: the hottest row."""
    rows, table_rows = sizes["ROWS"], sizes["TABLE"]
    generator = torch.Generator("cuda").manual_seed(7)
    if setting in ("one-row", "row-0", "row-1"):
        return torch.full((rows,), first % table_rows, dtype=torch.int64,
                          device="cuda")
    if setting.startswith("uniform"):
        return torch.randint(table_rows, (rows,), generator=generator,
                             device="cuda")
    share = 1 / torch.arange(1, table_rows + 1, dtype=torch.float64,
                             device="cuda")
    total = share.cumsum(0)
    x = torch.rand(rows, generator=generator, dtype=torch.float64,
                   device="cuda") * total[-1]
    rank = torch.searchsorted(total, x, right=True)
    return (rank.clamp(max=table_rows - 1) + first) % table_rows


class Problem:
    """A gradient, a table, and what sides may make of them."""

    def __init__(self, torch, sizes, kind, is_signed=False):
        """timed: multiples of 1/2048 between 0 and 1, or normal numbers; exact:
        -1, 0 and 1, mostly 0, whose sums are exact in any order."""
        generator = torch.Generator("cuda").manual_seed(8)
        shape = (sizes["ROWS"], sizes["WIDTH"])
        self.torch, self.sizes = torch, sizes
        if is_signed:
            self.timed = torch.randn(shape, generator=generator, device="cuda")
        else:
            self.timed = torch.randint(1, 2048, shape, generator=generator,
                                       device="cuda") / 2048
        self.timed = self.timed.to(kind)
        exact = torch.randint(max(128, shape[0] // 512), shape,
                              generator=generator, device="cuda")
        self.exact = (exact == 0).to(kind) - (exact == 1).to(kind)
        self.gradient = self.timed.clone()
        self.table = torch.zeros(sizes["TABLE"], shape[1], dtype=kind,
                                 device="cuda")

    def point_at(self, index):
        """The indices, and the sums that have to come out."""
        self.index = index
        self.spread = index[:, None].expand(-1, self.sizes["WIDTH"])
        self.wanted, self.sums, self.size = (
            self.torch.zeros_like(self.table, dtype=self.torch.float64)
            .index_add_(0, index, data.double())
            for data in (self.exact, self.timed, self.timed.abs()))

    def side(self, name, version, sums, run, reset):
        def result(data):
            self.gradient.copy_(data)
            self.table.zero_()
            return run().double()

        def check():
            wrong = int((result(self.exact) != self.wanted).sum())
            if wrong:
                raise ValueError("%d of %d sums" % (wrong, self.wanted.numel()))
            error = float(((result(self.timed) - self.sums).abs()
                           / self.size.clamp(min=1e-9)).max())
            if (sums == "once" and not error <= ONCE_ERROR
                    and self.size.max() < HALF_LIMIT):
                raise ValueError("off by %.3g: does not round once" % error)
            return error
        return name, version, sums, run, reset, check


def our_run(torch, library, name, p):
    """What runs v9_rows or a variant of lesson 7; None: that is not here."""
    pointers = [ctypes.c_void_p(t.data_ptr())
                for t in (p.table, p.gradient, p.index)]
    rows, table_rows = (ctypes.c_longlong(p.sizes[k])
                        for k in ("ROWS", "TABLE"))
    width = ctypes.c_int(p.sizes["WIDTH"])
    arguments = [pointers[0], table_rows, width, pointers[1], pointers[2], rows]
    if name == "v9_rows":
        lesson = library("rows")
        if lesson is None:
            return None
        lesson.v9_rows_scratch_bytes.restype = ctypes.c_size_t
        scratch = torch.zeros(lesson.v9_rows_scratch_bytes(rows, table_rows,
                                                           width),
                              dtype=torch.uint8, device="cuda")
        arguments.append(ctypes.c_void_p(scratch.data_ptr()))
        call = lesson.v9_rows
    else:
        variant = library("scatter").v6_variant(name[11:].encode())
        if variant < 0:
            raise SystemExit("peers: lesson 7 has no variant " + name[11:])
        scratch = None
        arguments.insert(0, variant)
        call = library("scatter").v6_scatter

    def run(used=(p, scratch)):  # which live as long as this
        call(*arguments)
        return p.table
    return run


def our_runs(torch, library, p):
    runs = [(name, sums, our_run(torch, library, name, p))
            for name, sums in OURS]
    return [run for run in runs if run[2]]


def tma(torch, library, p):
    def run():
        library("scatter").tma_rows(
            ctypes.c_void_p(p.table.data_ptr()),
            ctypes.c_longlong(p.sizes["TABLE"]), p.sizes["WIDTH"],
            ctypes.c_void_p(p.gradient.data_ptr()),
            ctypes.c_void_p(p.index.data_ptr()),
            ctypes.c_longlong(p.sizes["ROWS"]))
        return p.table
    if (torch.cuda.get_device_capability() >= (9, 0)
            and p.sizes["WIDTH"] % 8 == 0):
        yield "TMA_bulk_reduce", "CUDA by hand", "in half", run


def in_float(p):
    """What to write in PyTorch for sums that round once."""
    sums = p.table.float()
    sums.index_add_(0, p.index, p.gradient.float())
    return p.table.copy_(sums)


def adding(torch, library, p):
    """To a table that is there."""
    half = ("PyTorch", "in half")
    sides = [(name, "this repository", sums, run)
             for name, sums, run in our_runs(torch, library, p)]
    sides += tma(torch, library, p)
    sides += [(name, *half, run) for name, run in (
        ("index_add_", lambda: p.table.index_add_(0, p.index, p.gradient)),
        ("index_put_", lambda: p.table.index_put_((p.index,), p.gradient,
                                                  accumulate=True)),
        ("scatter_add_", lambda: p.table.scatter_add_(0, p.spread,
                                                      p.gradient)))]
    sides += [("index_add_-in-float", "PyTorch", "once", lambda: in_float(p))]
    return [p.side(*side, p.table.zero_) for side in sides]


def anew(torch, library, p):
    """To one that is made or cleared within the time."""
    def cleared(run):
        def clear_and_run():
            p.table.zero_()
            return run()
        return clear_and_run

    sides = [(name, "this repository", sums, cleared(run))
             for name, sums, run in our_runs(torch, library, p)
             if sums == "once"]
    sides += [("embedding_dense_backward", "PyTorch",
               "once" if p.sizes["ROWS"] > FEW_ROWS else "in half", lambda:
               torch.ops.aten.embedding_dense_backward(
                   p.gradient, p.index, p.sizes["TABLE"], -1, False))]
    return [p.side(*side, None) for side in sides]


def row_zero(torch, p, sums):
    column = torch.arange(p.sizes["WIDTH"], device="cuda")
    flat = (p.index[:, None] * p.sizes["WIDTH"] + column).view(-1)

    def run_flat():
        p.table.view(-1).scatter_add_(0, flat, p.gradient.view(-1))
        return p.table
    return [p.side(name, "PyTorch", sums, run, p.table.zero_)
            for name, run in (
                ("index_add_", lambda: p.table.index_add_(0, p.index,
                                                          p.gradient)),
                ("scatter_add_", lambda: p.table.scatter_add_(0, p.spread,
                                                              p.gradient)),
                ("flat", run_flat))]


def cases(torch, library, sizes):
    width = sizes["WIDTH"]
    halves = (sizes["ROWS"] + sizes["TABLE"]) * width
    free = torch.cuda.mem_get_info()[0]
    if NEEDED * halves > free:
        yield {"work": "scatter-add", "setting": "all", "skip":
               "needs %.1f GiB of device memory, and %.1f GiB are free"
               % (NEEDED * halves / 2 ** 30, free / 2 ** 30)}
        return
    p = Problem(torch, sizes, torch.half)
    for work, sides in (("scatter-add", adding),
                        ("scatter-add-new-table", anew)):
        for setting in ("uniform-rows", "zipf-rows", "one-row"):
            p.point_at(indices(torch, setting, sizes))
            moved = 2 * len(p.index.unique())
            if sides == anew:
                moved = sizes["TABLE"]
            yield {"work": work, "setting": setting,
                   "bytes": (sizes["ROWS"] + moved) * width * 2,
                   "sides": sides(torch, library, p)}
    if sizes != {size: default for size, (default, _) in SIZES.items()}:
        return
    for kind, sums in ((torch.half, "in half"), (torch.bfloat16, "in bf16"),
                       (torch.float, "in float")):
        p = Problem(torch, sizes, kind, is_signed=True)
        for setting, first in (("row-0", 0), ("row-1", 1),
                               ("Zipf-to-row-0", 0), ("Zipf-to-row-1", 1)):
            p.point_at(indices(torch, setting, sizes, first))
            yield {"work": "row zero", "bytes": 0, "rounds": 5,
                   "setting": "%s-%s" % (str(kind).replace("torch.", ""),
                                         setting),
                   "sides": row_zero(torch, p, sums)}
