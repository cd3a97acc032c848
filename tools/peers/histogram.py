"""Histograms of 2^28 bytes: lesson 8's two best variants, CUB, torch.bincount.

Clearing the counts is part of the work, and timed, on every side. Each turn
begins with a run that is not timed: otherwise the side that follows
torch.bincount, which waits for the GPU in between, would be timed cold.
"""
import ctypes

N = 1 << 28
BINS = 256
SLOTS = BINS + 2  # of the lesson's counts


def random_bytes(torch):
    generator = torch.Generator("cuda").manual_seed(1)
    return torch.randint(0, BINS, (N,), dtype=torch.uint8, device="cuda",
                         generator=generator)


def skewed_bytes(torch):
    """Half of them 0, a quarter 1, an eighth 2 and so on."""
    generator = torch.Generator("cuda").manual_seed(2)
    uniform = torch.rand(N, device="cuda", generator=generator)
    return (-torch.log2(1 - uniform)).floor_().to(torch.uint8)


def constant_bytes(torch):
    return torch.full((N,), 7, dtype=torch.uint8, device="cuda")


def check_counts(counts, expected):
    if counts[:BINS].tolist() != expected:
        raise ValueError("the counts are not the expected ones")


def ours(torch, library, variant, data, expected):
    counts = torch.empty(SLOTS, dtype=torch.int64, device="cuda")

    def run():
        library.lesson_histogram(variant, data.data_ptr(), N,
                                 counts.data_ptr())

    return run, lambda: check_counts(counts, expected)


def cub(torch, library, data, expected):
    counts = torch.empty(BINS, dtype=torch.int32, device="cuda")
    size = library.cub_histogram(None, 0, data.data_ptr(), N,
                                 counts.data_ptr())
    temp = torch.empty(size, dtype=torch.uint8, device="cuda")

    def run():
        library.cub_histogram(temp.data_ptr(), size, data.data_ptr(), N,
                              counts.data_ptr())

    return run, lambda: check_counts(counts, expected)


def bincount(torch, data, expected):
    counts = [None]

    def run():
        counts[0] = torch.bincount(data, minlength=BINS)

    return run, lambda: check_counts(counts[0], expected)


def cases(torch, library):
    pointer = ctypes.c_void_p
    library.lesson_histogram.argtypes = [ctypes.c_char_p, pointer,
                                         ctypes.c_longlong, pointer]
    library.cub_histogram.argtypes = [pointer, ctypes.c_size_t, pointer,
                                      ctypes.c_int, pointer]
    library.cub_histogram.restype = ctypes.c_size_t
    for setting, make in (("random", random_bytes),
                          ("skewed", skewed_bytes),
                          ("constant", constant_bytes)):
        data = make(torch)
        # One comparison for each value: nothing that a side uses.
        expected = [int((data == value).sum()) for value in range(BINS)]
        sides = [
            ("v7_histogram_bank", *ours(torch, library, b"bank_wide", data,
                                   expected)),
            ("v7_histogram_warp",
             *ours(torch, library, b"warp_wide", data, expected)),
            ("CUB_DeviceHistogram", *cub(torch, library, data, expected)),
            ("torch.bincount", *bincount(torch, data, expected)),
        ]
        yield {"work": "histogram", "setting": setting, "bytes": N,
               "sides": [(name, run, run, check)
                         for name, run, check in sides]}
