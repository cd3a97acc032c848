"""PyTorch's scatter_add_ where most rows go to row 0, and where they go to row
1. The work is the same; for 2-byte types only row 0 is slow.

"flat" is scatter_add_ on the table as one dimension: it gets the true index of
each half and the true start of the table. index_add_, first, is for comparison:
none of the sides is ours.
"""
ROWS, WIDTH, TABLE_ROWS, ROUNDS = 65536, 768, 50257, 5


def indices(torch):
    torch.manual_seed(7)
    share = 1 / torch.arange(1, TABLE_ROWS + 1, dtype=torch.float64)
    zipf = torch.multinomial(share, ROWS, replacement=True).cuda()
    return [("row-0", torch.zeros_like(zipf)),
            ("row-1", torch.ones_like(zipf)),
            ("Zipf-to-row-0", zipf),
            ("Zipf-to-row-1", (zipf + 1) % TABLE_ROWS)]


def sides(torch, table, gradient, index):
    spread = index[:, None].expand(-1, WIDTH)
    column = torch.arange(WIDTH, device="cuda")
    flat = (index[:, None] * WIDTH + column).view(-1)
    return [("index_add_", lambda: table.index_add_(0, index, gradient)),
            ("scatter_add_", lambda: table.scatter_add_(0, spread, gradient)),
            ("flat", lambda: table.view(-1).scatter_add_(0, flat,
                                                         gradient.view(-1)))]


def cases(torch, _):
    for kind in (torch.half, torch.bfloat16, torch.float):
        timed = torch.randn(ROWS, WIDTH, device="cuda").to(kind)
        # Of -1, 0 and 1, mostly 0: sums that are exact in any order.
        exact = torch.randint(1024, timed.shape, device="cuda")
        exact = (exact == 0).to(kind) - (exact == 1).to(kind)
        gradient = timed.clone()
        table = torch.zeros(TABLE_ROWS, WIDTH, dtype=kind, device="cuda")
        for name, index in indices(torch):
            wanted = torch.zeros_like(table, dtype=torch.float64)
            wanted.index_add_(0, index, exact.double())
            wanted = wanted.to(kind)

            def checked(run):
                def check():
                    gradient.copy_(exact)
                    table.zero_()
                    run()
                    gradient.copy_(timed)
                    wrong = int((table != wanted).sum())
                    if wrong:
                        raise ValueError("%d of %d sums" % (wrong,
                                                            wanted.numel()))
                return check

            yield {"work": "row zero", "bytes": 0, "rounds": ROUNDS,
                   "setting": "%s-%s" % (str(kind).replace("torch.", ""), name),
                   "sides": [(side, run, table.zero_, checked(run))
                             for side, run in sides(torch, table, gradient,
                                                    index)]}
