"""Lesson 6's inner product beside cublasDotEx, CUB and torch.dot.

Two vectors of 2^k halves, uniform in [-1, 1): a half can hold the result.
b-shifted: b begins 2 bytes beyond a multiple of 16. all-0.1: as in the lesson;
there cublasDotEx and torch.dot, which return a half, have to return inf, since
no half reaches the sum. Ours and CUB return a float. CUB gets items of eight
halves, by loads of 16 bytes; where n is small or b is shifted, of one half.
"""
import ctypes

SIZES = {"N": (0, (1 << 31) - 1)}  # 0: those of INPUTS
RANDOM, SHIFTED, TENTH = "%s", "%s-b-shifted", "%s-all-0.1"
INPUTS = [(RANDOM, power) for power in (16, 18, 20, 22, 25, 28, 30)]
INPUTS += [(SHIFTED, 25), (SHIFTED, 28), (TENTH, 25)]
CHUNK = 1 << 24                       # elements of the reference at a time
R_32F, R_16F = 0, 2                   # cudaDataType
DEVICE_POINTERS = 1                   # cublasPointerMode_t

# How far a sum in float may be off: of the sum of |a b|, far more than any side
# here needs; and of itself where it is rounded to half.
FLOAT_ERROR = 2.0 ** -16
HALF_ERROR = 2.0 ** -11
HALF_LIMIT = 65520  # rounds to inf


def find_cublas():
    """PyTorch's own cuBLAS, which it has loaded by now, or the system's."""
    for version in (13, 12, 11):
        try:
            return ctypes.CDLL("libcublas.so.%d" % version)
        except OSError:
            continue
    raise SystemExit("peers: cuBLAS (libcublas.so) is missing; it comes with "
                     "PyTorch and with the CUDA Toolkit")


def expect_success(status, what):
    if status != 0:
        raise SystemExit("peers: %s failed with status %d" % (what, status))


class Vectors:
    """Two vectors and their inner product, in double."""

    def __init__(self, torch, n, kind):
        generator = torch.Generator("cuda").manual_seed(n)
        self.n = n
        self.a, self.b = (torch.full((n + 1,), 0.1, dtype=torch.half,
                                     device="cuda")[at:at + n]
                          for at in (0, int(kind == SHIFTED)))
        if kind != TENTH:
            self.a.uniform_(-1, 1, generator=generator)
            self.b.uniform_(-1, 1, generator=generator)
        self.sum = self.size = 0.0
        for at in range(0, n, CHUNK):
            products = (self.a[at:at + CHUNK].double()
                        * self.b[at:at + CHUNK].double())
            self.sum += products.sum().item()
            self.size += products.abs().sum().item()

    def check(self, result, relative):
        """Raises unless the sum is as near as the type of the result allows."""
        if relative and abs(self.sum) >= HALF_LIMIT:
            if abs(result) != float("inf"):
                raise ValueError("%.9g, where a half must be inf" % result)
            return float("inf")
        error = abs(result - self.sum)
        bound = FLOAT_ERROR * self.size + relative * abs(self.sum)
        if not error <= bound:
            raise ValueError("%.9g, and in double %.9g: off by %.3g, more than "
                             "%.3g" % (result, self.sum, error, bound))
        return error / abs(self.sum)


def ours(torch, library, v):
    library.reduce_scratch_bytes.restype = ctypes.c_size_t
    scratch = torch.zeros(library.reduce_scratch_bytes(), dtype=torch.uint8,
                          device="cuda")
    for name, in_order in (("v5_reduce", 0), ("v5_reduce-in-order", 1)):
        result = torch.full((1,), float("nan"), device="cuda")
        arguments = [ctypes.c_void_p(t.data_ptr()) for t in (v.a, v.b)]
        arguments += [ctypes.c_longlong(v.n),
                      ctypes.c_void_p(scratch.data_ptr()),
                      ctypes.c_void_p(result.data_ptr()),
                      ctypes.c_int(in_order)]

        def run(arguments=arguments, used=(v, scratch)):
            library.reduce_dot(*arguments)

        yield (name, "this repository", "once", run, None,
               lambda result=result: v.check(result.item(), 0))


def cublas(torch, library, handle, v):
    result = torch.full((1,), float("nan"), dtype=torch.half, device="cuda")
    arguments = [handle, ctypes.c_int(v.n),
                 ctypes.c_void_p(v.a.data_ptr()), R_16F, 1,
                 ctypes.c_void_p(v.b.data_ptr()), R_16F, 1,
                 ctypes.c_void_p(result.data_ptr()), R_16F, R_32F]

    def run():
        expect_success(library.cublasDotEx(*arguments), "cublasDotEx")

    parts = []
    for part in range(3):             # major, minor, patch
        number = ctypes.c_int()
        expect_success(library.cublasGetProperty(part, ctypes.byref(number)),
                       "cublasGetProperty")
        parts.append(str(number.value))
    return ("cublasDotEx", "cuBLAS " + ".".join(parts), "once", run, None,
            lambda: v.check(result.item(), HALF_ERROR))


def cub_version(library):
    number = library.cub_version()
    return "CUB %d.%d.%d" % (number // 100000, number // 100 % 1000,
                             number % 100)


def cub(torch, library, v):
    bytes_needed = ctypes.c_size_t(0)
    result = torch.full((1,), float("nan"), device="cuda")
    arguments = [ctypes.c_void_p(v.a.data_ptr()),
                 ctypes.c_void_p(v.b.data_ptr()), ctypes.c_int(v.n),
                 None, ctypes.byref(bytes_needed),
                 ctypes.c_void_p(result.data_ptr())]
    expect_success(library.reduce_cub(*arguments), "CUB")
    temporary = torch.empty(max(bytes_needed.value, 1), dtype=torch.uint8,
                            device="cuda")
    arguments[3] = ctypes.c_void_p(temporary.data_ptr())

    def run(temporary=temporary):  # which lives as long as this
        expect_success(library.reduce_cub(*arguments), "CUB")

    return ("CUB", cub_version(library), "once", run, None,
            lambda: v.check(result.item(), 0))


def torch_dot(torch, v):
    result = []

    def run():
        result[:] = [torch.dot(v.a, v.b)]

    return ("torch.dot", "PyTorch", "once", run, None,
            lambda: v.check(result[0].item(), HALF_ERROR))


def cases(torch, library, sizes):
    lesson = library("reduce")
    blas = find_cublas()
    handle = ctypes.c_void_p()
    expect_success(blas.cublasCreate_v2(ctypes.byref(handle)), "cublasCreate")
    expect_success(blas.cublasSetPointerMode_v2(handle, DEVICE_POINTERS),
                   "cublasSetPointerMode")
    inputs = [(kind, 1 << power, "2^%d" % power) for kind, power in INPUTS]
    if sizes["N"]:
        inputs = [(kind, sizes["N"], str(sizes["N"]))
                  for kind in (RANDOM, SHIFTED, TENTH)]
    for kind, n, words in inputs:
        case = {"work": "half dot", "setting": kind % words, "bytes": 4 * n}
        needed = 4 * n + 20 * CHUNK
        free = torch.cuda.mem_get_info()[0]
        if needed > free:
            case["skip"] = ("needs %.1f GiB of device memory, and %.1f GiB are "
                            "free" % (needed / 2 ** 30, free / 2 ** 30))
            yield case
            continue
        v = Vectors(torch, n, kind)
        case["sides"] = list(ours(torch, lesson, v)) + [
            cublas(torch, blas, handle, v), cub(torch, lesson, v),
            torch_dot(torch, v)]
        yield case
        del v, case
        torch.cuda.empty_cache()
