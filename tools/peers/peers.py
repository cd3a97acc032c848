#!/usr/bin/env python3
"""Times this course's kernels beside what people use today, on this GPU.

    python3 tools/peers/peers.py LIBRARIES [--only NAME [SIZE=NUMBER ...]]

`make peers` compiles each tools/peers/NAME.cu to LIBRARIES/NAME.so and runs
this. What is compared stands in the modules tools/peers/NAME.py, each with

    SIZES                   {"N": (default, most), ...}: what a user may set
    cases(torch, library, sizes)
                            library(NAME): the ctypes.CDLL of NAME.so, or None
                            where there is no NAME.cu; sizes: {"N": 1000}

which yields one dict for each comparison:

    work     what is computed: "half dot"
    setting  on what: "2^25"
    bytes    that the work has to move; 0 where that says nothing
    sides    [(name, version, sums, run, reset, check), ...], ours first
    rounds   if not 21
    skip     in place of sides: why it cannot run here

A name has no comma. Pages can quote a row by names without spaces and "=".
version names what is timed: "this repository", "PyTorch", "CUDA", "CUDA by
hand" (written here, as others write it) or one with its number. sums says what
an add rounds to, "in half", or "once": summed in float or wider, then rounded
to half at most once; "exact" where nothing rounds. run() enqueues the work on
the default stream. reset(), or None, puts the output back and is not timed.
check() comes after reset() and one run(); it raises an exception that says what
is wrong, or returns the worst error, relative to the exact sum.

Every side is checked first. Then come 21 rounds, or what the case says, and in
each every side has one turn, first one side first, then the next. A ratio is
the side's time over that of the first side that sums alike, in the same round.
A turn is one call between two CUDA events, or several where a call is shorter
than 50 us and no side has a reset: the same number for all sides. A kernel that
only waits goes before the first event, so that the host has issued all calls
before the GPU begins: what is timed is the GPU's time, with the gaps that it
needs between kernels. Nothing clears the caches: inputs that fit stay there,
for all sides alike.

Writes results/GPU/peers.csv and prints it as a table. With --only, the rows of
other works stay as they are, if they are from this GPU and these versions. A
file that is there is written anew only if UNIT says which unit of its model
this is, as for make bench. With a SIZE nothing is written.
"""
import csv
import ctypes
import importlib.util
import math
import os
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

ROUNDS = 21
SHORT_US = 50
LAUNCH_MS = 0.005     # and less: what is timed is the launch
LONG_MS = 100         # warms up in one run
MOST_CALLS = 32
CYCLES_PER_US = 2000  # of the kernel that waits; at most 2 GHz
HOST_US = 25          # the host's time for a call, generously

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "..", "results")
IDENTITY = ["gpu", "arch", "toolkit", "torch"]
COLUMNS = IDENTITY + ["work", "setting", "side", "version", "sums",
                      "median_ms", "least_ms", "most_ms", "rounds", "ratio",
                      "ratio_least", "ratio_most", "gb_per_s", "worst_error",
                      "launch_bound"]
LINE = "%-22s %-25s %-8s %10s %8s %-13s %7s %8s"


def stop(message, status=1):
    print("peers: " + message, file=sys.stderr, flush=True)
    sys.exit(status)


def find_torch():
    try:
        import torch
    except ImportError:
        stop("PyTorch is missing for %s; install it (pip install torch), or "
             "set PYTHON to a Python that has it" % sys.executable)
    if not torch.cuda.is_available():
        stop("PyTorch %s finds no NVIDIA GPU here" % torch.__version__)
    return torch


def identity(torch):
    """What every row begins with."""
    try:
        said = subprocess.run((os.environ.get("NVCC") or "nvcc") + " --version",
                              shell=True, stdout=subprocess.PIPE,
                              check=True).stdout
        toolkit = re.search(r"release ([\d.]+)", said.decode()).group(1)
    except (OSError, subprocess.CalledProcessError, AttributeError):
        toolkit = torch.version.cuda
    return {"gpu": torch.cuda.get_device_name(),
            "arch": "sm_%d%d" % torch.cuda.get_device_capability(),
            "toolkit": "CUDA " + toolkit,
            "torch": torch.__version__}


def place_for(who):
    """The file to write; a second unit's rows say whose they are."""
    unit = os.environ.get("UNIT", "")
    if not re.fullmatch("(?:[1-9][0-9]*)?", unit):
        stop("UNIT=%s: expected a number from 1" % unit, 2)
    model = who["gpu"]
    folder = re.sub("[ /-]", "_", model.lower())
    if unit not in ("", "1"):
        folder += "_" + unit
        who["gpu"] += " (unit %s)" % unit
    path = os.path.relpath(os.path.join(RESULTS, folder, "peers.csv"))
    if not unit and os.path.exists(path):
        stop("%s is there, of this %s or of another one. make peers UNIT=2, or "
             "what make bench had, keeps it; make peers UNIT=1 writes it anew"
             % (path, model))
    return path


def module_of(name):
    source = os.path.join(HERE, name + ".py")
    spec = importlib.util.spec_from_file_location("peers_" + name, source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library_of(name, libraries):
    if not os.path.exists(os.path.join(HERE, name + ".cu")):
        return None
    path = os.path.join(libraries, name + ".so")
    if not os.path.exists(path):
        stop("%s is missing; run make peers" % path)
    return ctypes.CDLL(os.path.abspath(path))


def turn_ms(torch, side, calls):
    """One turn of a side: milliseconds for a call."""
    run, reset = side[3:5]
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    if reset:
        reset()
    torch.cuda._sleep(CYCLES_PER_US * HOST_US * (calls + 2))
    begin.record()
    for _ in range(calls):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def check(torch, case):
    """The worst error of each side."""
    errors = []
    for name, _, _, run, reset, worst_error in case["sides"]:
        if reset:
            reset()
        run()
        torch.cuda.synchronize()
        try:
            errors.append(worst_error())
            if errors[-1] != errors[-1]:
                raise ValueError("NaN")
        except Exception as error:
            stop("%s, %s: %s is wrong: %s"
                 % (case["work"], case["setting"], name, error))
    return errors


def warm_ms(torch, side):
    first = turn_ms(torch, side, 1)
    if first > LONG_MS:
        return first
    return min(first, *(turn_ms(torch, side, 1) for _ in range(2)))


def measure(torch, case):
    """The times of each side, round by round."""
    sides = case["sides"]
    warm = [warm_ms(torch, side) for side in sides]
    calls = 1
    if not any(side[4] for side in sides):
        calls = math.ceil(SHORT_US / 1000 / max(min(warm), 1e-6))
        calls = min(max(calls, 1), MOST_CALLS)
    times = [[] for _ in sides]
    for this_round in range(case.get("rounds") or ROUNDS):
        for k in range(len(sides)):
            at = (this_round + k) % len(sides)
            times[at].append(turn_ms(torch, sides[at], calls))
    return times


def names_of(case):
    names = [case["work"], case["setting"]]
    for side in case.get("sides", []):
        names += side[:3]
    return names


def full_version(version, who):
    return version.replace("CUDA", who["toolkit"]).replace(
        "PyTorch", "PyTorch " + who["torch"].split("+")[0])


def rows_of(case, errors, times, who):
    base = {}
    for side, mine, error in zip(case["sides"], times, errors):
        name, version, sums = side[:3]
        median = statistics.median(mine)
        ratios = [a / b for a, b in zip(mine, base.setdefault(sums, mine))]
        speed = case["bytes"] / median / 1e6
        yield dict(who, work=case["work"], setting=case["setting"], side=name,
                   version=full_version(version, who), sums=sums,
                   median_ms="%.6g" % median, least_ms="%.6g" % min(mine),
                   most_ms="%.6g" % max(mine), rounds=len(mine),
                   ratio="%.4g" % statistics.median(ratios),
                   ratio_least="%.4g" % min(ratios),
                   ratio_most="%.4g" % max(ratios),
                   gb_per_s="%.5g" % speed if case["bytes"] else "",
                   worst_error="%.3g" % error,
                   launch_bound="yes" if median <= LAUNCH_MS else "")


def print_row(row):
    spread = "%s-%s" % (row["ratio_least"], row["ratio_most"])
    print((LINE % (row["setting"], row["side"], row["sums"], row["median_ms"],
                   row["ratio"], spread, row["gb_per_s"], row["worst_error"]))
          + " launch" * bool(row["launch_bound"]), flush=True)


def print_head(work):
    print("\n%s\n%s" % (work, LINE % ("", "", "sums", "median ms", "ratio",
                                      "least-most", "GB/s", "error")))


def run_module(torch, name, libraries, who, sizes):
    rows, work, began = [], None, time.monotonic()
    module = module_of(name)
    sizes = {size: sizes.get(size, default)
             for size, (default, _) in module.SIZES.items()}
    for case in module.cases(torch, lambda of: library_of(of, libraries),
                             sizes):
        if any("," in text for text in names_of(case)):
            stop("%s.py: a name with a comma: %s" % (name, names_of(case)))
        if case["work"] != work:
            work = case["work"]
            print_head(work)
        if "skip" in case:
            print("%-22s skipped: %s" % (case["setting"], case["skip"]),
                  flush=True)
            continue
        errors = check(torch, case)
        for row in rows_of(case, errors, measure(torch, case), who):
            print_row(row)
            rows.append(row)
    print("\n%s took %.0f s" % (name, time.monotonic() - began), flush=True)
    return rows


def kept_rows(path, rows, who):
    """The rows of other works in the file, if they are of the same kind."""
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        old = list(reader) if reader.fieldnames == COLUMNS else []
    works = {row["work"] for row in rows}
    return [row for row in old if row["work"] not in works
            and all(row[key] == who[key] for key in IDENTITY)]


def write(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path + ".new", "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        os.replace(path + ".new", path)
    except OSError as error:
        if os.path.lexists(path + ".new"):
            os.remove(path + ".new")
        raise OSError("%s: %s; nothing is written" % (path, error.strerror))
    print("\n%s is written." % path, flush=True)


def read_sizes(words, only):
    """{"N": 1000} of ["N=1000"], or one line that says what is wrong."""
    sizes = {}
    for word in words:
        size, _, text = word.partition("=")
        known = module_of(only).SIZES if only else {}
        if size not in known:
            stop("%s: %s" % (word, "sizes need ONLY=NAME" if not only else
                             "ONLY=%s takes %s" % (only, ", ".join(known)
                                                   or "no sizes")), 2)
        most = known[size][1]
        if not re.fullmatch("[1-9][0-9]{0,11}", text) or int(text) > most:
            stop("%s: expected a number from 1 to %d" % (word, most), 2)
        sizes[size] = int(text)
    return sizes


def main(arguments):
    names = sorted(file[:-3] for file in os.listdir(HERE)
                   if file.endswith(".py") and file != "peers.py")
    libraries, words, only = arguments[:1], arguments[1:], None
    if words[:1] == ["--only"]:
        only, words = (words[1:2] or [""])[0], words[2:]
    if not libraries or only == "" or any("=" not in word for word in words):
        print("usage: peers.py LIBRARIES [--only NAME [SIZE=NUMBER ...]]",
              file=sys.stderr)
        sys.exit(2)
    if only and only not in names:
        stop("--only takes %s, not \"%s\"" % ("|".join(names), only), 2)
    sizes = read_sizes(words, only)
    torch = find_torch()
    who = identity(torch)
    path = None if sizes else place_for(who)
    print(", ".join(who[key] for key in IDENTITY[:3]) + ", PyTorch "
          + who["torch"])
    rows = []
    for name in [only] if only else names:
        rows += run_module(torch, name, libraries[0], who, sizes)
        torch.cuda.empty_cache()
    if path:
        write(path, kept_rows(path, rows, who) + rows if only else rows)
    else:
        print("\nNothing is written: the sizes are not those of results/.",
              flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        print("peers: %s" % error, file=sys.stderr, flush=True)
        os._exit(1)  # sys.exit would try once more to write what could not be
