#!/usr/bin/env python3
"""Times PyTorch's scatter_add_ where most rows go to row 0, and where they go
to row 1. The work is the same; for 2-byte types only row 0 is slow.

    python3 tools/row_zero.py

"flat" is scatter_add_ on the table as one dimension: it gets the true index of
each half and the true start of the table. index_add_ is for comparison.
"""
import statistics
import sys

ROWS, WIDTH, TABLE_ROWS, ROUNDS = 65536, 768, 50257, 5


def median_ms(torch, table, add):
    times = []
    for _ in range(ROUNDS):
        table.zero_()
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        add()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    try:
        import torch
    except ImportError:
        sys.exit("row_zero: PyTorch is missing for %s; pip install torch"
                 % sys.executable)
    if not torch.cuda.is_available():
        sys.exit("row_zero: PyTorch %s finds no NVIDIA GPU here"
                 % torch.__version__)
    print("%s, PyTorch %s" % (torch.cuda.get_device_name(), torch.__version__))
    print("%d rows of %d values added into %d rows; ms, median of %d"
          % (ROWS, WIDTH, TABLE_ROWS, ROUNDS))
    print("%-9s %-20s %12s %12s %12s"
          % ("type", "rows go to", "scatter_add_", "flat", "index_add_"))
    torch.manual_seed(7)
    share = 1 / torch.arange(1, TABLE_ROWS + 1, dtype=torch.float64)
    zipf = torch.multinomial(share, ROWS, replacement=True).cuda()
    settings = [("row 0", torch.zeros_like(zipf)),
                ("row 1", torch.ones_like(zipf)),
                ("Zipf, most to row 0", zipf),
                ("Zipf, most to row 1", (zipf + 1) % TABLE_ROWS)]
    column = torch.arange(WIDTH, device="cuda")
    for kind in (torch.half, torch.bfloat16, torch.float):
        gradient = torch.randn(ROWS, WIDTH, device="cuda").to(kind)
        table = torch.zeros(TABLE_ROWS, WIDTH, dtype=kind, device="cuda")
        for name, index in settings:
            spread = index[:, None].expand(-1, WIDTH)
            flat = (index[:, None] * WIDTH + column).view(-1)
            ways = [lambda: table.scatter_add_(0, spread, gradient),
                    lambda: table.view(-1).scatter_add_(0, flat,
                                                        gradient.view(-1)),
                    lambda: table.index_add_(0, index, gradient)]
            print("%-9s %-20s %12.3f %12.3f %12.3f"
                  % (str(kind).replace("torch.", ""), name,
                     *(median_ms(torch, table, way) for way in ways)),
                  flush=True)


if __name__ == "__main__":
    main()
