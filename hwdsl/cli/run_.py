"""`hwdsl run FILE[:EVALUATOR] name=value…`: one design point."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    assignments,
    format_argument,
    load_evaluator,
    number,
    table,
    target_argument,
)
from hwdsl.cli.errors import FINE, told

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator, Result
    from hwdsl.explain.explanation import Explanation
    from hwdsl.semantics.citations import CitedSource

SHALLOW, DEEP = 2, 6
UNASKED_STEPS, UNASKED_OPERATIONS = 3_000, 20_000
"""Limits of a sum that nobody asked for: it takes no second."""
LEAST, LEAST_OF_TREE = 1.0, 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "values",
        nargs="*",
        default=[],
        metavar="NAME=VALUE",
        help="what is left out takes its default",
    )
    parser.add_argument(
        "--tree", action="append", metavar="OUTPUT|all", default=[],
        help="what this output, or each, is the sum of, to the bottom; shown anyway of a lone one",
    )  # fmt: skip
    parser.add_argument("--depth", type=int, help=f"levels of sums ({SHALLOW}; {DEEP} of a --tree)")
    parser.add_argument(
        "--least", type=float, metavar="PERCENT",
        help="smaller shares of the whole are summed up in one line "
        f"({LEAST:g}; {LEAST_OF_TREE:g} of a --tree)",
    )  # fmt: skip
    parser.add_argument(
        "--raw", action="store_true",
        help="outputs as the formulas give them, at an infeasible point too, where they are NaN",
    )  # fmt: skip
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print inputs, outputs, what is wrong with the point, and what outputs are the sums of.

    Sums are those asked for, or that of a lone output. An infeasible point is an answer like any
    other: the exit code does not tell it. Its outputs are NaN unless they are to be raw, and it has
    no sums that nobody asked for.
    """
    evaluator = load_evaluator(options.target)
    given = assignments(options.values)
    names = [o.name for o in evaluator.spec.outputs]
    each = options.tree == ["all"] and "all" not in names
    wanted = names if each or (not options.tree and len(names) == 1) else options.tree
    steps = None if options.tree else UNASKED_STEPS
    if wanted and not options.tree:
        wanted = [] if evaluator.operations > UNASKED_OPERATIONS else wanted
    with told():
        result = evaluator(given)
        result = result.raw if options.raw else result
        wanted = wanted if options.tree or options.raw or result.feasible else []
        derivations = evaluator.derivations(wanted, given, steps=steps) if wanted else {}
    depth = options.depth or (DEEP if options.tree else SHALLOW)
    least = options.least if options.least is not None else LEAST_OF_TREE if options.tree else LEAST
    if options.format == "json":
        from hwdsl.cli import jsons

        sums = [jsons.sum_of(name, of, depth, least / 100) for name, of in derivations.items()]
        jsons.write(jsons.run(evaluator, result, given, sums))
        return FINE
    print(_point(evaluator, result, given))
    print(_verdict(evaluator, result, given))
    shown: set[float] = set()
    cited: dict[CitedSource, int] | None = {} if options.tree else None
    for name, derivation in derivations.items():
        asked = bool(options.tree) and not each
        if asked or derivation.value not in shown:
            text, values = _sum(name, derivation, depth, least / 100, cited)
            if values or asked:
                print(f"\n{text}")
            shown |= values
    if cited:
        from hwdsl.explain.explanation import source_list

        print("\n".join(source_list(cited)))
    return FINE


def _point(evaluator: Evaluator, result: Result, given: Mapping[str, str]) -> str:
    """The inputs and the outputs, with units."""
    at = result.params
    rows = [
        [f"  {p.name}", _number(at[p.name]), p.scale.unit, "" if p.name in given else "default"]
        for p in evaluator.spec.params
    ]
    split = len(rows)
    rows += [
        [f"  {o.name}", _number(result[o.name]), o.scale.unit, ""] for o in evaluator.spec.outputs
    ]
    lines = table(rows, right=[1]).splitlines()
    return "\n".join([evaluator.name, *lines[:split], "gives", *lines[split:]])


def _verdict(evaluator: Evaluator, result: Result, given: Mapping[str, str]) -> str:
    """Whether the point is feasible, the rules it breaks, and what is no finite number."""
    lines = ["feasible" if result.feasible else "infeasible"]
    if result.feasible and result.violations:
        lines = ["feasible, with warnings"]
    left = len(evaluator.undecided_rules(given))
    if left:
        rules = "1 rule" if left == 1 else f"{left} rules"
        lines[0] += f"; {rules} undecided (hwdsl check --undecided)"
    for rule in evaluator.violations_at(result.violations, given):
        lines.append(f"  {rule.name}: {rule.message}")
        lines += [f"    {line}" for line in rule.place_lines()]
        if rule.help:
            lines.append(f"    help: {rule.help}")
    if not result.feasible:
        lines.append(
            "  note: these outputs are what the formulas give for what cannot be built"
            if result.is_raw
            else "  note: what cannot be built has no outputs; --raw shows what the formulas give"
        )
    endless = [
        o.name
        for o in evaluator.spec.outputs
        if isinstance(result[o.name], float) and math.isinf(result[o.name])
    ]
    lines += [f"  note: {_endless(name, evaluator.why(name, given))}" for name in endless]
    return "\n".join(lines)


def _endless(name: str, of: Explanation) -> str:
    """Where an infinite output becomes infinite, and what is 0 there."""
    while (inner := next((i for i in of.inputs if math.isinf(i.value)), None)) is not None:
        of = inner
    zero = [i.name for i in of.inputs if i.value == 0]
    where = f": `{of.formula}`" if of.formula else ""
    place = f" at {of.place}" if of.place else ""
    nothing = f", where {' and '.join(zero)} {'is' if len(zero) == 1 else 'are'} 0" if zero else ""
    return f"{name} is infinite{where}{place}{nothing}"


def _sum(
    name: str, of: Explanation, depth: int, least: float, cited: dict[CitedSource, int] | None
) -> tuple[str, set[float]]:
    """An output as a tree of sums, and the values in it; no values if it is no sum.

    What its rows are from is entered in `cited`, if there is such a table.
    """
    from hwdsl.explain.explanation import citation_marks

    rows = of.breakdown(depth, least)
    unit = of.unit
    assert unit is not None  # an output's
    places = max(0, 5 - len(f"{abs(unit.from_base(of.value)):.0f}"))
    cells = [
        [
            f"  {unit.from_base(row.value):,.{places}f}",
            f"{100 * row.share:.1f} %",
            "  " * row.level + f"{row.times} {row.name}".strip(),
            "" if cited is None else citation_marks(row.sources, cited),
        ]
        for row in rows
    ]
    in_unit = "" if unit.name == "1" else f" [{unit.name}]"
    text = f"{name}{in_unit} is the sum of\n{table(cells, right=[0, 1])}"
    if len(rows) == 1:
        cited_name = f"{name} {cells[0][-1]}".rstrip()
        return f"{cited_name} is no sum; `hwdsl why` shows how it comes about", set()
    return text, {row.value for row in rows}


def _number(value: object) -> str:
    if isinstance(value, str | None):
        return value or "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    size = float(value)  # type: ignore[arg-type]
    if not 1e4 <= abs(size) < 1e12:
        return number(size)
    return f"{size:,.1f}".removesuffix(".0") if abs(size) < 1e5 else f"{size:,.0f}"
