"""`hwdsl sample FILE[:EVALUATOR] name=value…`: Monte Carlo over the params with a distribution."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    assignments,
    format_argument,
    load_evaluator,
    number,
    reduction_arguments,
    table,
    target_argument,
    where_argument,
)
from hwdsl.cli.errors import FINE, CommandError, told
from hwdsl.cli.files import replacing
from hwdsl.cli.tables import FEASIBLE, VIOLATIONS, check_table, title, writer_for

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import Samples
    from hwdsl.codegen.runtime.spec import ParamSpec
    from hwdsl.uncertainty import Correlations

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
    parser.add_argument(
        "--method", choices=["random", "sobol"], default="random",
        help="sobol: scrambled Sobol points, 16 times a power of 2, whose statistics are nearer",
    )  # fmt: skip
    correlation_argument(parser)
    parser.add_argument(
        "--quantiles", metavar="PERCENT,…", help="others than 5, 25, 50, 75 and 95, as 1,99.9"
    )
    parser.add_argument(
        "--errors", action="store_true", help="standard errors below the statistics"
    )
    format_argument(parser)
    where_argument(parser)
    reduction_arguments(parser)


def correlation_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--correlation` to a command."""
    parser.add_argument(
        "--correlation", action="append", default=[], metavar="A,B=R",
        help="rank correlation of two params, any number of times; Gaussian copula",
    )  # fmt: skip


def correlations_of(words: Sequence[str]) -> Correlations:
    """Read `a,b=0.7` words; CallError for what no params can have."""
    from hwdsl.uncertainty import Correlations

    pairs = {}
    for word in words:
        names, _, value = word.partition("=")
        first, comma, second = names.partition(",")
        try:
            pairs[first.strip(), second.strip()] = float(value)
        except ValueError:
            comma = ""
        if not comma:
            raise CommandError(f"--correlation {word} is not of the form A,B=R, such as a,b=0.7")
    return Correlations.of_pairs(pairs)


def run(options: argparse.Namespace) -> int:
    """Print how the outputs are distributed and which param matters most to each."""
    points, shares = count(options.points), _shares(options.quantiles)
    if options.seed < 0:
        raise CommandError("a seed is not negative")
    if options.output is not None:
        check_table(Path(options.output))
    evaluator = load_evaluator(options.target)
    given = assignments(options.values)
    if any(getattr(options, n) for n in ("best", "pareto", "distribution", "histogram", "counts")):
        return _reduced(evaluator, points, given, options)
    for name in ("where", "top", "by"):
        if getattr(options, name):
            raise CommandError(f"--{name} goes with --best, --pareto, --distribution and the like")
    samples = _drawn(evaluator, points, given, options)
    samples = samples.raw if options.raw else samples
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.sample(evaluator, samples, options.seed, shares))
    else:
        print(f"{evaluator.name}: {len(samples):,} draws, seed {options.seed}\n")
        outputs = _outputs(samples, shares, errors=options.errors)
        print(outputs, _draws(evaluator, samples), _reasons(samples), sep="\n\n")
    if options.output is not None:
        _write(evaluator, samples, Path(options.output))
        told_to = sys.stderr if options.format == "json" else sys.stdout
        print(f"\nwrote {len(samples):,} rows to {options.output}", file=told_to)
    return FINE


def count(text: str) -> int:
    """`200000`, `2e5`, `200k` or `0.2M` as a number."""
    factor = _ENDINGS.get(text[-1:], 1.0)
    try:
        found = float(text[:-1] if factor != 1.0 else text) * factor
    except ValueError:
        found = 0.0
    if not (1 <= found < 1e12 and found == int(found)):
        raise CommandError(f"-n {text} is no number of draws, such as 1000, 200k or 1M")
    return int(found)


def _shares(text: str | None) -> Sequence[float]:
    """The shares of the quantiles that are shown, from per cents."""
    if text is None:
        return SHARES
    try:
        found = [float(cell.strip().removesuffix("%")) / 100 for cell in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < share < 1 for share in found):
        raise CommandError(f"--quantiles {text}: write per cents between 0 and 100, as 1,50,99.9")
    return found


def _drawn(
    evaluator: Evaluator, points: int, given: Mapping[str, str], options: argparse.Namespace
) -> Samples:
    """The draws by the method that is asked for."""
    seed, keep = options.seed, options.output is not None
    with told():
        if options.method == "random" and not options.correlation:
            return evaluator.sample(points, given, seed=seed, keep=keep)
        from hwdsl.uncertainty import sample

        correlations = correlations_of(options.correlation)
        return sample(
            evaluator, points, given, method=options.method, seed=seed,
            correlations=correlations, keep=keep,
        )  # fmt: skip


def _reduced(
    evaluator: Evaluator, points: int, given: Mapping[str, str], options: argparse.Namespace
) -> int:
    """Print what is asked for instead of the distribution of all outputs; no draw is kept."""
    from hwdsl.cli import picking, reduced
    from hwdsl.cli.rows import column_names
    from hwdsl.uncertainty import even_numbers

    for name in ("raw", "errors", "quantiles"):
        if getattr(options, name):
            raise CommandError(
                f"--{name} is about all outputs: leave it out, or --best and the like"
            )
    if options.format == "json":
        raise CommandError("--format json is about all outputs: leave it out")
    wanted = reduced.asked(evaluator, options)
    if options.output is not None and wanted.points is None:
        raise CommandError("-o is a table of points: it goes with --best or --pareto, or neither")
    with told():
        for text in options.where:
            picking.condition(evaluator, text)
        points, even = even_numbers(
            evaluator, points, given, method=options.method, seed=options.seed,
            correlations=correlations_of(options.correlation),
        )  # fmt: skip
        found = reduced.answers(
            evaluator.spec,
            wanted,
            lambda asked: evaluator.reduce(
                asked, given, draws=points, seed=options.seed, even=even, where=options.where
            ),
        )
    print(f"{evaluator.name}: {points:,} draws, seed {options.seed}\n")
    target = None if options.output is None else Path(options.output)
    return reduced.show(evaluator.spec, found, target, column_names(evaluator.spec))


def _outputs(samples: Samples, shares: Sequence[float], *, errors: bool) -> str:
    """A line for each output: mean, standard deviation, quantiles, in its unit."""
    heads = [f"{100 * share:g} %" for share in shares]
    rows = [["", "mean", "std dev", *heads]]
    for name, unit in samples.units.items():
        cells = [samples.mean(name), samples.std(name), *samples.quantile(name, shares)]
        rows.append([title(name, unit), *(number(float(f"{cell:.4g}")) for cell in cells)])
        if errors:
            from hwdsl.uncertainty.tails import mean, quantiles

            found = [mean(samples, name), *quantiles(samples, name, shares)]
            cells = [each.standard_error for each in found]
            said = ["?" if cell != cell else f"{cell:.2g}" for cell in cells]
            rows.append(["  standard error", said[0], "", *said[1:]])
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
