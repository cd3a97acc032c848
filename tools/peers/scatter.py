"""Lesson 7 beside PyTorch: 65,536 rows of 768 halves added into 50,257 rows.

All sides get the same gradient and the same indices. The table is cleared
outside the timed part, but for embedding_dense_backward: it takes no table, it
allocates and clears one of its own, and returns it. So its time has the
clearing in it, and it cannot add to a gradient that is there already. All
others add to the table that they are given.

The indices are uniform, Zipf's (the k-th most frequent row has 1/k of the first
one's share) or all the same. The hottest row is row 1: row 0 is a case of its
own in scatter_add_ (tools/peers/row_zero.py).
"""
import ctypes

ROWS, WIDTH, TABLE_ROWS = 65536, 768, 50257
OURS = ["grouped", "vector", "half2", "fast", "float"]


def indices(torch, setting):
    generator = torch.Generator("cuda").manual_seed(7)
    if setting == "one-row":
        return torch.ones(ROWS, dtype=torch.int64, device="cuda")
    if setting == "uniform-rows":
        return torch.randint(TABLE_ROWS, (ROWS,), generator=generator,
                             device="cuda")
    share = 1 / torch.arange(1, TABLE_ROWS + 1, dtype=torch.float64,
                             device="cuda")
    total = share.cumsum(0)
    x = torch.rand(ROWS, generator=generator, dtype=torch.float64,
                   device="cuda") * total[-1]
    rank = torch.searchsorted(total, x, right=True)
    return (rank.clamp(max=TABLE_ROWS - 1) + 1) % TABLE_ROWS


def gradients(torch):
    """Two of them: multiples of 1/2048 between 0 and 1, which are timed; and
    -1, 0 and 1, mostly 0, whose sums are exact in any order, for the check."""
    generator = torch.Generator("cuda").manual_seed(8)
    shape = (ROWS, WIDTH)
    timed = torch.randint(1, 2048, shape, generator=generator,
                          device="cuda").half() / 2048
    exact = torch.randint(128, shape, generator=generator, device="cuda")
    exact = (exact == 0).half() - (exact == 1).half()
    return timed, exact


def our_side(library, name, table, gradient, index, sums):
    variant = library.v6_variant(name.encode())
    if variant < 0:
        raise ValueError("lesson 7 has no variant " + name)
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (gradient, index, sums)]

    def run():
        library.v6_scatter(variant, ctypes.c_void_p(table.data_ptr()),
                           ctypes.c_longlong(TABLE_ROWS), WIDTH, pointers[0],
                           pointers[1], ctypes.c_longlong(ROWS), pointers[2])
        return table
    return "v6_scatter_" + name, run


def peers(torch, table, gradient, index):
    spread = index[:, None].expand(-1, WIDTH)
    return [
        ("index_add_", lambda: table.index_add_(0, index, gradient)),
        ("index_put_", lambda: table.index_put_((index,), gradient,
                                                accumulate=True)),
        ("scatter_add_", lambda: table.scatter_add_(0, spread, gradient)),
        ("embedding_dense_backward",
         lambda: torch.ops.aten.embedding_dense_backward(
             gradient, index, TABLE_ROWS, -1, False)),
    ]


def cases(torch, library):
    timed, exact = gradients(torch)
    gradient = timed.clone()
    table = torch.zeros(TABLE_ROWS, WIDTH, dtype=torch.half, device="cuda")
    sums = torch.empty(TABLE_ROWS * WIDTH + 16, device="cuda")

    for setting in ("uniform-rows", "zipf-rows", "one-row"):
        index = indices(torch, setting)
        wanted = torch.zeros(TABLE_ROWS, WIDTH, dtype=torch.float64,
                             device="cuda")
        wanted.index_add_(0, index, exact.double())
        wanted = wanted.half()

        def checked(run):
            def check():
                gradient.copy_(exact)
                table.zero_()
                got = run()
                gradient.copy_(timed)
                wrong = int((got != wanted).sum())
                if wrong:
                    raise ValueError("%d of %d sums" % (wrong, wanted.numel()))
            return check

        runs = [our_side(library, name, table, gradient, index, sums)
                for name in OURS] + peers(torch, table, gradient, index)
        touched = len(index.unique())
        yield {"work": "scatter-add", "setting": setting,
               "bytes": (ROWS + 2 * touched) * WIDTH * 2,
               "sides": [(name, run, table.zero_, checked(run))
                         for name, run in runs]}
