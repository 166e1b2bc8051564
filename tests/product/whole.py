"""A file that has something for every command."""

WHOLE = """edition 2026

use std.distributions: uniform

calibrated efficiency : real = 0.8 in 0.1 .. 1 source "a guess"

evaluator step {
    param work : data      = 10 GB   in 1 GB .. 100 GB ~ uniform(8 GB, 12 GB)
    param rate : bandwidth = 1 TB/s  in 0.1 TB/s .. 10 TB/s
    ## How long it takes …
    output time in ms = work / (efficiency * rate)
    warn slow: rate >= 0.5 TB/s else "größer wäre besser"
}

claim known {
    source "a book"
    expect step(work = 8 GB, rate = 1 TB/s).time == 10 ms within 1 %
}

figure by_rate {
    of = step
    x  = rate
    y  = time
}

table against {
    of       = step
    data     = "rows.csv"
    measured = took
    output   = time
}
"""
ROWS = "work [GB],rate [TB/s],took [ms]\n10,1,13\n20,1,25\n20,2,12\n"
