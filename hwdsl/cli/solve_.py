"""`hwdsl solve FILE[:EVALUATOR] PARAM for OUTPUT=VALUE`: where an output meets a target."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hwdsl.cli.base import (
    assignments,
    format_argument,
    load_evaluator,
    number,
    table,
    target_argument,
)
from hwdsl.cli.designs import against_argument, other_design
from hwdsl.cli.errors import FINE, CommandError, told
from hwdsl.cli.sample_ import SHARES, correlation_argument, correlations_of, count
from hwdsl.cli.tables import title

if TYPE_CHECKING:
    from hwdsl.search import Design, Jump, Solutions, Stretch
    from hwdsl.uncertainty import RootDraws

MOST = 4
"""Stretches shown of those without a proof."""
USAGE = "write PARAM for OUTPUT=VALUE, or PARAM for OUTPUT --against …"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "values", nargs="*", default=[], metavar="PARAM for OUTPUT=VALUE [NAME=VALUE…]",
        help="the param to solve for; a value with its unit, or another output; the other params",
    )  # fmt: skip
    against_argument(
        parser,
        "the design to tie with: [FILE:EVALUATOR] [OUTPUT] [NAME=VALUE…], each if it differs",
    )
    parser.add_argument("--from", dest="low", metavar="VALUE", help="look from this value on")
    parser.add_argument("--to", dest="high", metavar="VALUE", help="look up to this value")
    parser.add_argument(
        "--draws", metavar="POINTS", help="solve at so many draws of the uncertain params too"
    )
    correlation_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="another one gives other draws (0)")
    parser.add_argument("--raw", action="store_true", help="at infeasible points too")
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print the roots, the jumps across the target, and the parts of the range that matter."""
    evaluator = load_evaluator(options.target)
    words = list(options.values)
    if len(words) < 3 or words[1] != "for":
        raise CommandError(USAGE)
    param, _, goal, *others = words
    output, equals, target = goal.partition("=")
    if bool(equals) == bool(options.against) or bool(equals) != bool(target.strip()):
        raise CommandError(USAGE)
    given = assignments(others)
    from hwdsl.search import solve

    with told():
        against = (
            other_design(options.against, evaluator, output, given) if options.against else None
        )
        found = solve(
            evaluator, param, output, target.strip() or None, given,
            against=against, low=options.low, high=options.high, raw=options.raw,
        )  # fmt: skip
        draws = None
        if options.draws is not None:
            from hwdsl.uncertainty import solve_draws

            draws = solve_draws(
                evaluator, param, output, target.strip() or None, given,
                against=against, low=options.low, high=options.high, raw=options.raw,
                points=count(options.draws), seed=options.seed,
                correlations=correlations_of(options.correlation),
            )  # fmt: skip
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.solve(evaluator, found, draws, SHARES))
        return FINE
    print(f"{evaluator.name}: {param} for {_aim(goal, against)}\n")
    print("\n".join(_lines(found)))
    if draws is not None:
        print(f"\n{_spread(found, draws)}")
    return FINE


def _spread(found: Solutions, draws: RootDraws) -> str:
    """How the roots are distributed."""
    roots = draws.quantiles(SHARES)
    unit = found.param.scale.unit
    errors = ["?" if root.standard_error != root.standard_error else f"{root.standard_error:.2g}"
              for root in roots]  # fmt: skip
    rows = [
        ["", *(f"{100 * share:g} %" for share in SHARES)],
        [title(found.param.name, unit), *(f"{root.value:.4g}" for root in roots)],
        ["  standard error", *errors],
    ]
    shares = [
        (draws.share, "have a root"),
        (draws.several.mean(), "have several: the least counts"),
        (draws.below.mean(), "lie below it everywhere"),
        (draws.above.mean(), "lie above it everywhere"),
    ]
    said = ", ".join(f"{100 * share:.4g} % {what}" for share, what in shares if share)
    head = f"at {len(draws.values):,} draws of {', '.join(draws.drawn)}: {said}"
    return f"{head}\n{table(rows, right=range(1, len(rows[0])))}" if draws.share else head


def _aim(goal: str, against: Design | None) -> str:
    """What is asked, in a line."""
    if against is None:
        return goal.replace("=", " = ", 1)
    given = ", ".join(f"{name}={value}" for name, value in against.given.items())
    other = f"{against.output} of {against.evaluator.name}"
    return f"{goal} = {other}" + (f" with {given}" if given else "")


def _lines(found: Solutions) -> list[str]:
    """Roots, stretches at the target, jumps; then where it is reached, and where nothing can be."""
    lines = [_roots(found)] if found.roots else []
    lines += [f"equal {_span(found, each)}" for each in found.met]
    lines += [_jump(found, each) for each in found.jumps]
    if not lines:
        lines.append(_none(found))
    lines.append("")
    if found.at_least:
        spans = ", ".join(_ends(found, each) for each in found.at_least)
        lines.append(
            f"at or above it: {found.param.name} {spans} {found.param.scale.unit}".rstrip()
        )
    for gap in found.infeasible:
        broken = ", ".join(gap.rules) or "undefined"
        hidden = "; it passes the target inside" if gap.hides else ""
        lines.append(f"infeasible {_span(found, gap)}: {broken}{hidden}")
    return [*lines, _looked(found)]


def _roots(found: Solutions) -> str:
    """A line for each root."""
    param, output = found.param, found.output
    per = f"{output.scale.unit or '1'} per {param.scale.unit or '1'}"
    rows = [[title(param.name, param.scale.unit), title(output.name, output.scale.unit),
             f"slope [{per}]", "elasticity", ""]]  # fmt: skip
    for root in found.roots:
        slope = [f"{root.slope:+.4g}", f"{root.elasticity:+.4g}"]
        slope = ["" if "nan" in cell else cell for cell in slope]
        note = "touches it" if root.touches else ""
        rows.append([f"{root.value:.8g}", number(root.output), *slope, note])
    return table(rows, right=[0, 1, 2, 3])


def _jump(found: Solutions, jump: Jump) -> str:
    """How the output passes the target by a jump."""
    unit, own = f" {found.output.scale.unit}".rstrip(), f" {found.param.scale.unit}".rstrip()
    low, high = f"{jump.output_below:.6g}", f"{jump.output_above:.6g}"
    if jump.target_below != jump.target_above:  # a tie
        low, high = (
            f"{low} beside {jump.target_below:.6g}",
            f"{high} beside {jump.target_above:.6g}",
        )
    moves = f"from {low} to {high}{unit}"
    if found.whole:
        ends = f"{jump.below:.12g} and {jump.above:.12g}{own}"
        return f"passes it between {found.param.name} = {ends}, {moves}"
    return f"jumps past it at {found.param.name} = {jump.below:.8g}{own}, {moves}"


def _none(found: Solutions) -> str:
    """That there is no root, and how near the output comes."""
    near = found.nearest
    if near is None:
        return "none: the whole range is infeasible"
    unit, own = f" {found.output.scale.unit}".rstrip(), f" {found.param.scale.unit}".rstrip()
    return (
        f"none; nearest at {found.param.name} = {near.value:.8g}{own}: "
        f"{near.output:.6g} against {near.target:.6g}{unit}"
    )


def _ends(found: Solutions, of: Stretch) -> str:
    digits = 12 if found.whole else 8
    if of.low == of.high:
        return f"{of.low:.{digits}g}"
    return f"{of.low:.{digits}g} .. {of.high:.{digits}g}"


def _span(found: Solutions, of: Stretch) -> str:
    return f"at {found.param.name} {_ends(found, of)} {found.param.scale.unit}".rstrip()


def _looked(found: Solutions) -> str:
    """How thoroughly it was looked for."""
    unit = f" {found.param.scale.unit}".rstrip()
    span = f"{found.low:.8g} .. {found.high:.8g}{unit}"
    looked = f"looked at {found.points:,} values in {span}"
    if found.proven:
        if found.whole:
            return f"{looked}, which are all there are"
        from hwdsl.search.proof import NEAR

        apart = f", within {NEAR:g} of each apart" if found.roots else ""
        return f"{looked}; there is no other root{apart}: proven by interval arithmetic"
    where = ", ".join(_ends(found, each) for each in found.unproven[:MOST])
    more = f" and {len(found.unproven) - MOST} stretches more" * (len(found.unproven) > MOST)
    return f"{looked}; others cannot be excluded in {where}{unit}{more}"
