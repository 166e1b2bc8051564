"""`hwdsl sample FILE[:EVALUATOR] name=value…`: Monte Carlo over the params with a distribution."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    assignments,
    format_argument,
    load_evaluator,
    number,
    table,
    target_argument,
)
from hwdsl.cli.errors import FINE, CommandError, told
from hwdsl.cli.files import replacing
from hwdsl.cli.tables import FEASIBLE, VIOLATIONS, check_table, title, writer_for

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import Samples
    from hwdsl.codegen.runtime.spec import ParamSpec

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
CHUNK = 1 << 16
CERTAIN = 2.5
"""Standard deviations that chance alone would have to make for a correlation to be shown."""
MOST = 6
"""Correlations shown of an output."""
_ENDINGS = {"k": 1e3, "M": 1e6, "G": 1e9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "values", nargs="*", default=[], metavar="NAME=VALUE", help="params that are not drawn"
    )
    parser.add_argument(
        "-n", "--points", metavar="POINTS", default="100k", help="how many draws, as 1M (100k)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another one gives other draws (0)")
    parser.add_argument("-o", "--output", metavar="OUT.csv|OUT.parquet", help="write the draws too")
    parser.add_argument(
        "--raw", action="store_true",
        help="outputs as the formulas give them, at infeasible draws too, and statistics over all",
    )  # fmt: skip
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print how the outputs are distributed and which param matters most to each."""
    points = _count(options.points)
    if options.seed < 0:
        raise CommandError("a seed is not negative")
    if options.output is not None:
        check_table(Path(options.output))
    evaluator = load_evaluator(options.target)
    given = assignments(options.values)
    with told():
        samples = evaluator.sample(
            points, given, seed=options.seed, keep=options.output is not None
        )
    samples = samples.raw if options.raw else samples
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.sample(evaluator, samples, options.seed, SHARES))
    else:
        print(f"{evaluator.name}: {len(samples):,} draws, seed {options.seed}\n")
        print(_outputs(samples), _draws(evaluator, samples), _reasons(samples), sep="\n\n")
    if options.output is not None:
        _write(evaluator, samples, Path(options.output))
        told_to = sys.stderr if options.format == "json" else sys.stdout
        print(f"\nwrote {len(samples):,} rows to {options.output}", file=told_to)
    return FINE


def _count(text: str) -> int:
    """`200000`, `2e5`, `200k` or `0.2M` as a number."""
    factor = _ENDINGS.get(text[-1:], 1.0)
    try:
        found = float(text[:-1] if factor != 1.0 else text) * factor
    except ValueError:
        found = 0.0
    if not (1 <= found < 1e12 and found == int(found)):
        raise CommandError(f"-n {text} is no number of draws, such as 1000, 200k or 1M")
    return int(found)


def _outputs(samples: Samples) -> str:
    """A line for each output: mean, standard deviation, quantiles, in its unit."""
    heads = [f"{100 * share:g} %" for share in SHARES]
    rows = [["", "mean", "std dev", *heads]]
    for name, unit in samples.units.items():
        cells = [samples.mean(name), samples.std(name), *samples.quantile(name, SHARES)]
        rows.append([title(name, unit), *(number(float(f"{cell:.4g}")) for cell in cells)])
    return table(rows, right=range(1, len(rows[0])))


def _draws(evaluator: Evaluator, samples: Samples) -> str:
    """How many draws are feasible, violate each rule, and were clipped to a param's range."""
    share = float(samples.feasible.mean())
    lines = [f"feasible: {_share(share)} of the draws"]
    if share < 1:
        over = "all draws, as --raw asks" if samples.is_raw else "these"
        lines[0] += f"; the statistics above are over {over}"
    for rule, count in sorted(samples.violations.items(), key=lambda item: -item[1]):
        lines.append(f"{rule}: violated by {_share(count / len(samples))} of the draws")
    for name, share in samples.clipped.items():
        if share:
            where = _outside(evaluator.param(name))
            lines.append(f"{name}: {_share(share)} of the draws lay {where} and were clipped to it")
    return "\n".join(lines)


def _outside(param: ParamSpec) -> str:
    """Where a draw is outside the range of a param: outside an interval, or beyond its one end."""
    low, high = (f"{param.scale.from_base(end):.12g}" for end in (param.low, param.high))
    if math.isfinite(param.low) and math.isfinite(param.high):
        where = f"outside {low} .. {high}"
    else:
        where = f"below {low}" if math.isfinite(param.low) else f"above {high}"
    return f"{where} {param.scale.unit}".rstrip()


def _reasons(samples: Samples) -> str:
    """For each output the params that it goes with, the largest rank correlation first."""
    rows = []
    least = CERTAIN / max(1, int(samples.ranked.sum())) ** 0.5
    for name in samples.computed:
        found = samples.rank_correlation(name).items()
        cells = [f"{param} {value:+.2f}" for param, value in found if abs(value) >= least]
        if len(cells) > MOST:
            cells[MOST:] = [f"and {len(cells) - MOST} smaller"]
        if cells:
            rows.append([f"  {name}", "  ".join(cells)])
    return "rank correlation with the params drawn\n" + (table(rows) or "  none")


def _write(evaluator: Evaluator, samples: Samples, target: Path) -> None:
    """Write params drawn, outputs, feasibility and broken rules, a row for each draw."""
    units = {name: evaluator.param(name).scale.unit for name in samples.drawn}
    columns = [*samples.drawn.values(), *samples.outputs.values(), samples.feasible]
    broken = samples.violation_texts()
    header = [title(n, u) for n, u in [*units.items(), *samples.units.items()]]
    with replacing(target) as temporary:
        writer = writer_for(target, temporary, [*header, FEASIBLE, VIOLATIONS])
        for start in range(0, len(samples), CHUNK):
            end = start + CHUNK
            writer.write([*(c[start:end] for c in columns), broken[start:end].tolist()])
        writer.close()


def _share(value: float) -> str:
    return f"{number(round(100 * value, 2))} %"
