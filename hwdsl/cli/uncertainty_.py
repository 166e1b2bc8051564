"""`hwdsl uncertainty FILE[:EVALUATOR] name=value…`: which uncertain params matter, and to what."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    assignments,
    format_argument,
    load_evaluator,
    named,
    number,
    table,
    target_argument,
)
from hwdsl.cli.designs import against_argument, other_design
from hwdsl.cli.errors import FINE, CommandError, told
from hwdsl.cli.sample_ import correlation_argument, correlations_of, count

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.uncertainty import Decision, Estimate, Indices

LEAST = 0.01
"""Total-order indices below this are summed up in a line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "values", nargs="*", default=[], metavar="NAME=VALUE", help="params that are not drawn"
    )
    parser.add_argument(
        "--output", action="append", default=[], metavar="OUTPUT", help="only this one; repeatable"
    )
    against_argument(
        parser,
        "a design to decide against: [FILE:EVALUATOR] [OUTPUT] [NAME=VALUE…], each if it differs",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--minimize", metavar="OUTPUT", help="the design with less of it is better")
    which.add_argument("--maximize", metavar="OUTPUT", help="the design with more of it is better")
    parser.add_argument(
        "-n", "--points", metavar="POINTS", default="16k",
        help="Sobol points, rounded up to 16 times a power of 2; "
        "each uncertain param takes as many evaluations (16k)",
    )  # fmt: skip
    correlation_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="another one gives other points (0)")
    parser.add_argument("--raw", action="store_true", help="infeasible points count too")
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print Sobol indices of each output, or a decision and what information is worth to it."""
    aim = options.minimize or options.maximize
    if bool(options.against) != bool(aim):
        raise CommandError("--against goes with --minimize OUTPUT or --maximize OUTPUT")
    if options.correlation and not aim:
        raise CommandError("Sobol indices are of independent params: leave --correlation out")
    if options.seed < 0:
        raise CommandError("a seed is not negative")
    points = count(options.points)
    evaluator = load_evaluator(options.target)
    indices, decision = None, None
    with told():
        if aim:
            decision = _decision(evaluator, aim, points, options)
        else:
            indices = _indices(evaluator, points, options)
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.uncertainty(evaluator, indices, decision, options.seed))
    elif decision is not None:
        print(_decision_text(evaluator, decision, options))
    else:
        assert indices is not None
        print(_indices_text(evaluator, indices, options))
    return FINE


def _indices(evaluator: Evaluator, points: int, options: argparse.Namespace) -> Indices:
    from attrs import evolve

    from hwdsl.uncertainty import sobol_indices

    names = [o.name for o in evaluator.spec.outputs if not o.labels]
    wanted = [named(evaluator.name, "output", name, names) for name in options.output] or names
    found = sobol_indices(
        evaluator, assignments(options.values), points=points, seed=options.seed, raw=options.raw
    )
    return evolve(found, outputs={name: found.outputs[name] for name in wanted})


def _decision(
    evaluator: Evaluator, output: str, points: int, options: argparse.Namespace
) -> Decision:
    from hwdsl.search import Design
    from hwdsl.uncertainty import decide

    given = assignments(options.values)
    return decide(
        Design(evaluator, output, given),
        other_design(options.against, evaluator, output, given),
        minimize=bool(options.minimize), points=points, seed=options.seed,
        correlations=correlations_of(options.correlation), raw=options.raw,
    )  # fmt: skip


def _indices_text(evaluator: Evaluator, found: Indices, options: argparse.Namespace) -> str:
    """A table for each output, with 95 % intervals."""
    lines = [f"{evaluator.name}: {found.draws:,} draws, seed {options.seed}"]
    if found.feasible_share < 1:
        lines.append(_counted(found.feasible_share, "the comparisons are feasible at all points"))
    for name, indices in found.outputs.items():
        unit = next(o.scale.unit for o in evaluator.spec.outputs if o.name == name)
        deviation = f"{found.deviations[name]:.4g} {unit}".rstrip()
        shown = [i for i in indices if i.total_order.value >= LEAST]
        rows = [
            [f"{name}, standard deviation {deviation}", "first-order index", "total-order index"]
        ]
        rows += [[f"  {i.param}", _share(i.first_order), _share(i.total_order)] for i in shown]
        rest = [i.param for i in indices if i.total_order.value < LEAST]
        if not found.deviations[name]:
            rows, rest = [[f"{name} is certain", "", ""]], []
        lines += ["", table(rows, right=[1, 2])]
        lines += [f"  below {LEAST:g}: {', '.join(rest)}"] if rest else []
    return "\n".join(lines)


def _decision_text(evaluator: Evaluator, found: Decision, options: argparse.Namespace) -> str:
    """The two designs, the chances, and what information is worth."""
    better = "less" if options.minimize else "more"
    unit = f" {found.unit}".rstrip()
    lines = [
        f"{evaluator.name}: {better} {found.output} against {' '.join(options.against)}; "
        f"{found.draws:,} draws, seed {options.seed}"
    ]
    if found.feasible_share < 1:
        lines.append(_counted(found.feasible_share, "the draws are feasible in both"))
    rows = [
        ["mean of the first", f"{_value(found.first)}{unit}"],
        ["mean of the other", f"{_value(found.second)}{unit}"],
        ["chance that the first is better", _percent(found.first_better)],
        ["chance that the other is better", _percent(found.second_better)],
        ["expected value of perfect information", f"{_value(found.perfect_information)}{unit}"],
    ]
    lines += ["", table(rows), "", "expected value of partial perfect information"]
    partial = [[f"  {p.param}", f"{_value(p.value)}{unit}"] for p in found.partial]
    return "\n".join([*lines, table(partial)])


def _counted(share: float, what: str) -> str:
    return f"{number(round(100 * share, 2))} % of {what}; the others do not count"


def _share(estimate: Estimate) -> str:
    """An index with half its interval."""
    return f"{estimate.value:.3f} ± {estimate.half_width:.3f}"


def _percent(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.2f} ± {100 * estimate.half_width:.2f} %"


def _value(estimate: Estimate) -> str:
    """A value with half its interval, to the digits that the interval leaves."""
    return f"{estimate.value:.4g} ± {estimate.half_width:.1g}"
