"""include/half_atomics.h beside the pattern of PyTorch's fastAtomicAdd.

2^24 adds to random cells, one per thread; and the same number in twos or
eights, by as many threads fewer. The adds are 1 and -1, as a hash of the thread has it
(times 1 to 8 in an eight); where they are more than 1,024 per cell, or 256 in
bf16, the others are 0, so that all sums are exact.

The cells begin where an allocation does. How fast an array of 2^10 to 2^19
halves is depends on where it lies, and not for all sides alike; so there are
settings in which it moves: in each round it begins at another multiple of 512
bytes, the same for all sides.

One cell has a neighbour in its array: what is compared is one request with
another. Where it has none both are the compare-and-swap loop of lesson 1.
"""
import ctypes
import random

ADDS = 1 << 24
# Cells are powers of 2; what comes after a name is a kernel of header.cu.
CELLS = (0, 4, 8, 16, 20, 24)
HALF = [("half_atomics_add", 0), ("pytorch_pattern", 1), ("atomicAdd", 2)]
BF16 = [("bf16_atomics_add", 3), ("bf16_pattern", 4), ("bf16_atomicAdd", 5)]
LEAST_PLAIN = 16                      # with fewer cells atomicAdd() is a storm
TWO = [("half_atomics_add2", 6), ("pytorch_pattern_x2", 7), ("half2", 8)]
TWO_CELLS = (1, 8, 16, 20, 24)
EIGHT = [("half_atomics_add8", 9), ("pytorch_pattern_x8", 10), ("half2_x4", 11)]
EIGHT_CELLS = (3, 8, 16, 20, 24)
BF16_EIGHT = [("bf16_atomics_add8", 12), ("bf16_pattern_x8", 13)]
MOVING_CELLS = (12, 14, 16, 18, 20)
MOVING_ROUNDS = 201
MEMORY = 1 << 27                      # halves
STEP = 256                            # halves in 512 bytes


def places(torch, threads):
    """place_of() of header.cu for each thread."""
    low = 0xffffffff
    i = torch.arange(threads, dtype=torch.int64, device="cuda")
    i = i * 0x9e3779b1 & low
    i ^= i >> 15
    i = i * 0x85ebca6b & low
    return i ^ i >> 13


def comparison(torch, library, work, kernels, power, width=1, odd=False,
               moving=False):
    """`width` neighbours per add, 2^power cells in all; odd: the first of them
    is not at a multiple of 4 bytes."""
    threads = ADDS // width
    groups = (1 << power) // width
    is_bf16 = work.startswith("bf16")
    every = max(1, threads // groups * width // (256 if is_bf16 else 1024))
    length = max(1 << power, 2)
    hashes = places(torch, threads)[::every]
    sums = torch.zeros(groups, dtype=torch.int64, device="cuda")
    sums.index_add_(0, hashes & groups - 1, 1 - 2 * (hashes >> 31))
    factors = torch.arange(1, width + 1, device="cuda")
    expected = (sums[:, None] * factors).flatten()
    dtype = torch.bfloat16 if is_bf16 else torch.half
    memory = torch.zeros(MEMORY, dtype=dtype, device="cuda")
    dice = random.Random(power)
    starts = [int(odd)]
    if moving:
        starts = [STEP * dice.randrange((MEMORY - length) // STEP)
                  for _ in range(MOVING_ROUNDS)]

    def side(name, kernel):
        turn = -1

        def cells():
            return memory[starts[turn % len(starts)]:][:length]

        def reset():
            nonlocal turn
            turn += 1
            cells().zero_()

        def run():
            library.header_add(kernel, ctypes.c_void_p(cells().data_ptr()),
                               ctypes.c_size_t(length),
                               ctypes.c_uint(groups - 1),
                               ctypes.c_uint(every), ctypes.c_uint(threads))

        def check():
            wrong = int((cells()[:1 << power] != expected).sum())
            if wrong:
                raise ValueError("%d of %d cells differ" % (wrong, 1 << power))
            if memory.count_nonzero() != expected.count_nonzero():
                raise ValueError("what is not a cell has changed")

        return name, run, reset, check

    setting = "2^%d-cells" % power + "-odd" * odd + "-moving" * moving
    return {"work": work, "setting": setting, "bytes": 0,
            "sides": [side(*kernel) for kernel in kernels],
            "rounds": MOVING_ROUNDS if moving else None}


def singles(kernels, power):
    return kernels if power >= LEAST_PLAIN else kernels[:2]


def cases(torch, library):
    for power in CELLS:
        yield comparison(torch, library, "half add", singles(HALF, power),
                         power)
    for power in MOVING_CELLS:
        yield comparison(torch, library, "half add", singles(HALF, power),
                         power, moving=True)
    for power in CELLS:
        yield comparison(torch, library, "bf16 add", singles(BF16, power),
                         power)
    for power in TWO_CELLS:
        yield comparison(torch, library, "half add of two", TWO, power, 2)
    # A half2 cannot lie there.
    yield comparison(torch, library, "half add of two", TWO[:2], 20, 2,
                     odd=True)
    for power in EIGHT_CELLS:
        yield comparison(torch, library, "half add of eight", EIGHT, power, 8)
    for power in EIGHT_CELLS:
        yield comparison(torch, library, "bf16 add of eight", BF16_EIGHT, power,
                         8)
