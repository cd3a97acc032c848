"""include/half_atomics.h beside the pattern of PyTorch's fastAtomicAdd and RED.

2^24 adds to random cells, one per thread; and the same number in twos or
eights, by as many threads fewer. What is added is a fraction above 0, up to 1
(times 1 to 8 in an eight). For the check it is 1 or -1, as a hash of the thread
has it; where there would be more than 1,024 per cell, or 256 in bf16, the
others are 0, so that all sums are exact.

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
SIZES = {}
# Cells are powers of 2; what comes after a name is a kernel of header.cu.
CELLS = (0, 4, 8, 16, 20, 24)
HALF = [("half_atomics_add", 0), ("pytorch_pattern", 1), ("RED_f16x2", 2),
        ("atomicAdd", 3)]
BF16 = [("bf16_atomics_add", 4), ("bf16_pattern", 5), ("RED_bf16x2", 6),
        ("bf16_atomicAdd", 7)]
LEAST_PLAIN = 16                      # with fewer cells atomicAdd() is a storm
TWO = [("half_atomics_add2", 8), ("pytorch_pattern_x2", 9), ("RED_f16x2", 10),
       ("half2", 11)]
TWO_CELLS = (1, 8, 16, 20, 24)
EIGHT = [("half_atomics_add8", 12), ("pytorch_pattern_x8", 13),
         ("RED_v4_f16x2", 14), ("RED_f16x2_x4", 15), ("half2_x4", 16)]
EIGHT_CELLS = (3, 8, 16, 20, 24)
BF16_EIGHT = [("bf16_atomics_add8", 17), ("bf16_pattern_x8", 18),
              ("RED_v4_bf16x2", 19)]
BY_CUDA = ("atomicAdd", "bf16_atomicAdd", "half2", "half2_x4")
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
    dtype = torch.bfloat16 if is_bf16 else torch.half
    factors = torch.arange(1, width + 1, device="cuda")
    hashes = places(torch, threads)
    fractions = ((hashes >> 24) + 1) / 256
    fractions = torch.zeros(groups, width, dtype=torch.float64, device="cuda"
                            ).index_add_(0, hashes & groups - 1,
                                         (fractions[:, None] * factors)
                                         .to(dtype).double()).flatten()
    hashes = hashes[::every]
    sums = torch.zeros(groups, dtype=torch.int64, device="cuda")
    sums.index_add_(0, hashes & groups - 1, 1 - 2 * (hashes >> 31))
    expected = (sums[:, None] * factors).flatten()
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

        def add(how):
            library.header_add(kernel, ctypes.c_void_p(cells().data_ptr()),
                               ctypes.c_size_t(length),
                               ctypes.c_uint(groups - 1),
                               ctypes.c_uint(how), ctypes.c_uint(threads))

        def check():
            got = cells()[:1 << power].double()
            error = float(((got - fractions).abs()
                           / fractions.clamp(min=1e-9)).max())
            cells().zero_()
            add(every)
            wrong = int((cells()[:1 << power] != expected).sum())
            if wrong:
                raise ValueError("%d of %d cells differ" % (wrong, 1 << power))
            if memory.count_nonzero() != expected.count_nonzero():
                raise ValueError("what is not a cell has changed")
            return error

        version = ("this repository" if "_atomics_" in name else
                   "CUDA" if name in BY_CUDA else "CUDA by hand")
        return (name, version, "in bf16" if is_bf16 else "in half",
                lambda: add(0), reset, check)

    setting = "2^%d-cells" % power + "-odd" * odd + "-moving" * moving
    return {"work": work, "setting": setting, "bytes": 0,
            "sides": [side(*kernel) for kernel in kernels],
            "rounds": MOVING_ROUNDS if moving else None}


def singles(kernels, power):
    return kernels if power >= LEAST_PLAIN else kernels[:-1]


def cases(torch, library, _):
    header = library("header")

    def compare(work, kernels, *arguments, **options):
        if torch.cuda.get_device_capability() < (9, 0):
            kernels = [side for side in kernels if not
                       side[0].startswith(("RED_bf16", "RED_v4"))]
        return comparison(torch, header, work, kernels, *arguments, **options)

    for power in CELLS:
        yield compare("half add", singles(HALF, power), power)
    for power in MOVING_CELLS:
        yield compare("half add", singles(HALF, power), power, moving=True)
    for power in CELLS:
        yield compare("bf16 add", singles(BF16, power), power)
    for power in TWO_CELLS:
        yield compare("half add of two", TWO, power, 2)
    # No half2 can lie there.
    yield compare("half add of two", TWO[:2], 20, 2, odd=True)
    for power in EIGHT_CELLS:
        yield compare("half add of eight", EIGHT, power, 8)
    for power in EIGHT_CELLS:
        yield compare("bf16 add of eight", BF16_EIGHT, power, 8)
