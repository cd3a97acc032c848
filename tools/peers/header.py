"""include/half_atomics.h beside the pattern of PyTorch's fastAtomicAdd.

2^24 adds to random cells, one a thread; and the same number in eights, by an
eighth of the threads. The adds are 1 or 0, few enough of them 1 that every sum
is exact in half, in any order; the hardware's add takes the same time for all
numbers.

One cell has a neighbour in its array: what is compared is one request with
another. Where it has none both are the compare-and-swap loop of lesson 1.
"""
import ctypes

ADDS = 1 << 24
CELLS = (0, 4, 8, 12, 16, 20, 24)     # powers of 2
EIGHTS = (3, 8, 12, 16, 20, 24)
EXACT = 2048                          # halves have all whole numbers up to it
ONE = [("half_atomics_add", 0), ("pytorch_pattern", 1)]
EIGHT = [("half_atomics_add8", 2), ("pytorch_pattern_x8", 3), ("half2_x4", 4)]


def places(torch, threads):
    """place_of() of header.cu for each thread."""
    low = 0xffffffff
    i = torch.arange(threads, dtype=torch.int64, device="cuda")
    i = i * 0x9e3779b1 & low
    i ^= i >> 15
    i = i * 0x85ebca6b & low
    return i ^ i >> 13


def comparison(torch, library, setting, kernels, width, power):
    """`width` neighbours an add, 2^power halves in all."""
    threads = ADDS // width
    groups = (1 << power) // width
    every = max(1, threads // groups * width // 1024)
    length = max(1 << power, 2)
    mine = places(torch, threads)[::every] & groups - 1
    ones = torch.bincount(mine, minlength=groups)
    factors = torch.arange(1, width + 1, device="cuda")
    expected = (ones[:, None] * factors).flatten()
    if expected.max() > EXACT:
        raise ValueError("the sums would not be exact in half")
    cells = torch.zeros(length, dtype=torch.half, device="cuda")

    def side(name, kernel):
        def run():
            library.header_add(kernel, ctypes.c_void_p(cells.data_ptr()),
                               ctypes.c_size_t(length),
                               ctypes.c_uint(groups - 1),
                               ctypes.c_uint(every), ctypes.c_uint(threads))

        def check():
            wrong = int((cells[:1 << power] != expected).sum())
            if wrong or bool(cells[1 << power:].any()):
                raise ValueError("%d of %d cells differ" % (wrong, 1 << power))

        return name, run, cells.zero_, check

    return {"work": "half add" if width == 1 else "half add of eight",
            "setting": setting, "bytes": 0,
            "sides": [side(*kernel) for kernel in kernels]}


def cases(torch, library):
    for power in CELLS:
        yield comparison(torch, library, "2^%d-cells" % power, ONE, 1, power)
    for power in EIGHTS:
        yield comparison(torch, library, "2^%d-cells" % power, EIGHT, 8, power)
