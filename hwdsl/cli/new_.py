"""`hwdsl new FILE`: a small description that checks and runs."""

import argparse
import os
from pathlib import Path

from hwdsl.cli.errors import FINE, CommandError

STARTER = """edition 2026
#! What limits decode on one accelerator, and what would faster memory bring?

## The accelerator: peak rate, memory and the fraction of its rates that kernels achieve.
kind accelerator {
    peak       : flop_rate
    bandwidth  : bandwidth
    memory     : data
    efficiency : real = 80 %
}

accelerator chip {
    peak      = 990 TFLOP/s
    bandwidth = 3.35 TB/s
    memory    = 80 GB
}

evaluator decode {
    ## Memory bandwidth of the accelerator.
    param bandwidth  : bandwidth = 3.35 TB/s      in 1 TB/s .. 10 TB/s
    ## Batch size in sequences.
    param batch      : int       = 16             in 1 .. 512
    param parameters : real      = 13_000_000_000 in 1e9 .. 4e10

    let machine      = chip with { bandwidth = bandwidth }
    let weights      = 2 B * parameters
    let kv_cache     = batch * 1 GB
    let memory_time  = (weights + kv_cache) / (machine.efficiency * machine.bandwidth)
    let compute_time = 2 FLOP * parameters * batch / (machine.efficiency * machine.peak)
    let step         = max(memory_time, compute_time)

    ## Time of a decode step, which generates one token of each sequence (TPOT).
    output step_time  in ms      = step
    ## Output throughput.
    output throughput in token/s = batch * 1 token / step

    require fits: weights + kv_cache <= machine.memory
        else "needs {weights + kv_cache in GB}; the chip has {machine.memory in GB}"
}

## Throughput over memory bandwidth.
figure by_bandwidth {
    of    = decode
    x     = bandwidth
    y     = throughput
    by    = batch
    batch = [1, 16, 48]
}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", metavar="FILE")


def run(options: argparse.Namespace) -> int:
    """Write the starter; an existing file is left alone."""
    from hwdsl.cli.files import write_text

    path = Path(options.file)
    if path.suffix != ".hw":
        raise CommandError(f"{path} does not end in .hw")
    if os.path.lexists(path):
        raise CommandError(f"{path} exists already")
    write_text(path, STARTER)
    print(f"wrote {path}; try\n  hwdsl run {path} batch=32\n  hwdsl why {path}:decode throughput")
    return FINE
