"""include/half_atomics.h beside the pattern of PyTorch's fastAtomicAdd.

2^24 adds to random cells, one a thread; and the same number in twos or eights,
by as many threads fewer. The adds are 1 or 0, few enough of them 1 that every
sum is exact, in any order; the hardware's add takes the same time for all
numbers.

One cell has a neighbour in its array: what is compared is one request with
another. Where it has none both are the compare-and-swap loop of lesson 1.
"""
import ctypes

ADDS = 1 << 24
# Cells are powers of 2; what comes after the name is a kernel of header.cu.
CELLS = (0, 4, 8, 12, 16, 20, 24)
HALF = [("half_atomics_add", 0), ("pytorch_pattern", 1)]
BF16 = [("half_atomics_bf16", 2), ("pytorch_pattern_bf16", 3)]
TWO = [("half_atomics_add2", 4), ("pytorch_pattern_x2", 5), ("half2", 6)]
TWO_CELLS = (1, 8, 12, 16, 20, 24)
EIGHT = [("half_atomics_add8", 7), ("pytorch_pattern_x8", 8), ("half2_x4", 9)]
EIGHT_CELLS = (3, 8, 12, 16, 20, 24)


def places(torch, threads):
    """place_of() of header.cu for each thread."""
    low = 0xffffffff
    i = torch.arange(threads, dtype=torch.int64, device="cuda")
    i = i * 0x9e3779b1 & low
    i ^= i >> 15
    i = i * 0x85ebca6b & low
    return i ^ i >> 13


def comparison(torch, library, work, kernels, power, width=1, odd=False):
    """`width` neighbours an add, 2^power cells in all; odd: the first of them
    is not at a multiple of 4 bytes."""
    is_bf16 = kernels is BF16
    exact = 256 if is_bf16 else 2048   # all whole numbers up to it are there
    threads = ADDS // width
    groups = (1 << power) // width
    every = max(1, threads // groups * width * 2 // exact)
    length = max(1 << power, 2)
    mine = places(torch, threads)[::every] & groups - 1
    ones = torch.bincount(mine, minlength=groups)
    factors = torch.arange(1, width + 1, device="cuda")
    expected = (ones[:, None] * factors).flatten()
    if expected.max() > exact:
        raise ValueError("the sums would not be exact")
    memory = torch.zeros(length + odd, device="cuda",
                         dtype=torch.bfloat16 if is_bf16 else torch.half)
    cells = memory[int(odd):]

    def side(name, kernel):
        def run():
            library.header_add(kernel, ctypes.c_void_p(cells.data_ptr()),
                               ctypes.c_size_t(length),
                               ctypes.c_uint(groups - 1),
                               ctypes.c_uint(every), ctypes.c_uint(threads))

        def check():
            wrong = int((cells[:1 << power] != expected).sum())
            if wrong or memory[:int(odd)].any() or cells[1 << power:].any():
                raise ValueError("%d of %d cells differ" % (wrong, 1 << power))

        return name, run, memory.zero_, check

    return {"work": work,
            "setting": "2^%d-cells%s" % (power, "-odd" if odd else ""),
            "bytes": 0, "sides": [side(*kernel) for kernel in kernels]}


def cases(torch, library):
    for power in CELLS:
        yield comparison(torch, library, "half add", HALF, power)
    for power in CELLS:
        yield comparison(torch, library, "bf16 add", BF16, power)
    for power in TWO_CELLS:
        yield comparison(torch, library, "half add of two", TWO, power, 2)
    # A half2 cannot lie there.
    yield comparison(torch, library, "half add of two", TWO[:2], 20, 2, True)
    for power in EIGHT_CELLS:
        yield comparison(torch, library, "half add of eight", EIGHT, power, 8)
