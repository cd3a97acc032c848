"""Histograms of 2^28 bytes: lesson 8's two best variants, CUB, torch.bincount.

Clearing the counts is part of the work, and timed, on every side. Each turn
begins with a run that is not timed: otherwise the side that follows
torch.bincount, which waits for the GPU in between, would be timed cold.
"""
import ctypes

from reduce import cub_version

SIZES = {"N": (1 << 28, (1 << 31) - 1)}
BINS = 256
SLOTS = BINS + 2  # of the lesson's counts


def random_bytes(torch, n):
    generator = torch.Generator("cuda").manual_seed(1)
    return torch.randint(0, BINS, (n,), dtype=torch.uint8, device="cuda",
                         generator=generator)


def skewed_bytes(torch, n):
    """Half of them 0, a quarter 1, an eighth 2 and so on."""
    generator = torch.Generator("cuda").manual_seed(2)
    uniform = torch.rand(n, device="cuda", generator=generator)
    return (-torch.log2(1 - uniform)).floor_().to(torch.uint8)


def constant_bytes(torch, n):
    return torch.full((n,), 7, dtype=torch.uint8, device="cuda")


def check_counts(counts, expected):
    if counts[:BINS].tolist() != expected:
        raise ValueError("the counts are not the expected ones")
    return 0


def ours(torch, library, variant, data, expected):
    counts = torch.empty(SLOTS, dtype=torch.int64, device="cuda")

    def run():
        library.lesson_histogram(variant, data.data_ptr(), len(data),
                                 counts.data_ptr())

    return run, lambda: check_counts(counts, expected)


def cub(torch, library, data, expected):
    counts = torch.empty(BINS, dtype=torch.int32, device="cuda")
    size = library.cub_histogram(None, 0, data.data_ptr(), len(data),
                                 counts.data_ptr())
    temp = torch.empty(size, dtype=torch.uint8, device="cuda")

    def run():
        library.cub_histogram(temp.data_ptr(), size, data.data_ptr(), len(data),
                              counts.data_ptr())

    return run, lambda: check_counts(counts, expected)


def bincount(torch, data, expected):
    counts = [None]

    def run():
        counts[0] = torch.bincount(data, minlength=BINS)

    return run, lambda: check_counts(counts[0], expected)


def cases(torch, library, sizes):
    pointer = ctypes.c_void_p
    n, library = sizes["N"], library("histogram")
    library.lesson_histogram.argtypes = [ctypes.c_char_p, pointer,
                                         ctypes.c_longlong, pointer]
    library.cub_histogram.argtypes = [pointer, ctypes.c_size_t, pointer,
                                      ctypes.c_int, pointer]
    library.cub_histogram.restype = ctypes.c_size_t
    for setting, make in (("random", random_bytes),
                          ("skewed", skewed_bytes),
                          ("constant", constant_bytes)):
        data = make(torch, n)
        # One comparison for each value: nothing that a side uses.
        expected = [int((data == value).sum()) for value in range(BINS)]
        sides = [
            ("v7_histogram_bank", "this repository",
             *ours(torch, library, b"bank_wide", data, expected)),
            ("v7_histogram_warp", "this repository",
             *ours(torch, library, b"warp_wide", data, expected)),
            ("CUB_DeviceHistogram", cub_version(library),
             *cub(torch, library, data, expected)),
            ("torch.bincount", "PyTorch", *bincount(torch, data, expected)),
        ]
        yield {"work": "histogram", "setting": setting, "bytes": n,
               "sides": [(name, version, "exact", run, run, check)
                         for name, version, run, check in sides]}
