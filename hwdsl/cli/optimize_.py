"""`hwdsl optimize FILE[:EVALUATOR] maximize=… NAME=lo..hi "latency <= 50 ms"`: the best design."""

from __future__ import annotations

import argparse
import math
import re
import sys
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
from hwdsl.cli.tables import title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hwdsl.search import Neighbour, Optimum

MOST_ROWS = 20
"""Designs of a front that are printed; --format json has all."""
_COMPARED = re.compile(r"<=|>=|==|!=|<|>")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    target_argument(parser)
    parser.add_argument(
        "values", nargs="*", default=[], metavar="WORD",
        help="maximize=OUTPUT or minimize=OUTPUT; params, free if several values are given "
        "(lo..hi, lo..hi step s, a,b,c, all); conditions such as \"latency <= 50 ms\"",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=["zoom", "de", "nsga2"], default="zoom",
        help="how to search: zoom needs no other package, de SciPy, nsga2 pymoo",
    )  # fmt: skip
    parser.add_argument("--budget", type=int, metavar="N", help="points to evaluate at most")
    parser.add_argument("--restarts", type=int, metavar="N", help="searches that share them")
    parser.add_argument("--seconds", type=float, metavar="S", help="end after so long")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (0)")
    parser.add_argument("--threads", type=int, metavar="N", help="so many, not one for each core")
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Search, and print the answer with what is around it."""
    evaluator = load_evaluator(options.target)
    aims, where, words = _sorted(options.values)
    given = assignments(words)
    from hwdsl.search import optimize

    limits = {
        name: value
        for name in ("budget", "restarts", "seconds")
        if (value := getattr(options, name)) is not None
    }
    with told():
        found = optimize(
            evaluator, given, maximize=aims["maximize"], minimize=aims["minimize"], where=where,
            method=options.method, seed=options.seed, threads=options.threads, **limits,
            progress=_progress if sys.stderr.isatty() else None,
        )  # fmt: skip
    if options.format == "json":
        from hwdsl.cli import jsons

        jsons.write(jsons.optimize(found, given))
        return FINE
    print(f"{evaluator.name}: {_aim(found)}\n")
    print("\n".join(_lines(found)))
    return FINE


def _sorted(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Aims, conditions, and values of params."""
    aims: dict[str, list[str]] = {"maximize": [], "minimize": []}
    where, values = [], []
    for word in words:
        name, equals, rest = word.partition("=")
        if _COMPARED.search(word) or word.strip() == "feasible":
            where.append(word)
        elif equals and name in aims:
            aims[name] += [each.strip() for each in rest.split(",")]
        else:
            values.append(word)
    if not any(aims.values()):
        raise CommandError("say what is to be best: maximize=OUTPUT or minimize=OUTPUT")
    return aims, where, values


def _progress(done: int, total: int) -> None:
    print(f"\r{done:,} of at most {total:,} points", end="", file=sys.stderr, flush=True)
    if done >= total:
        print(file=sys.stderr)


def _aim(found: Optimum) -> str:
    """What was asked, in a line."""
    aims = [f"{'most' if g.most else 'least'} {g.name}" for g in found.goals]
    return ", ".join(aims) + (f" where {', '.join(found.conditions)}" if found.conditions else "")


def _lines(found: Optimum) -> list[str]:
    """The answer, what binds it, and how far it can be trusted."""
    if found.point is None:
        if found.nearest is None:
            return ["no design was looked at", "", _how(found)]
        said = f"no feasible design was found; the nearest violates {', '.join(found.violates)}:"
        params = found.nearest.params
        rows = [[title(d.param.name, d.param.scale.unit), _shown(params[d.param.name])]
                for d in found.space.dimensions]  # fmt: skip
        return [said, "", table(rows, right=[1]), "", _how(found)]
    lines = [_front(found) if found.front is not None else _design(found), ""]
    if found.warnings and found.front is None:
        lines.append(f"warns: {', '.join(found.warnings)}")
    if found.front is None:
        lines += _binding(found)
    return [*lines, _how(found)]


def _binding(found: Optimum) -> list[str]:
    """What keeps the design from being better."""
    lines = []
    if found.binding:
        lines.append(f"a neighbour would be better but for {', '.join(found.binding)}")
    if found.at_ends:
        lines.append(f"at an end of their range: {', '.join(found.at_ends)}")
    left = [n for n in found.neighbours if n.better and not n.violates]
    if left:
        best = max(left, key=lambda n: abs(n.change))
        moved = f"{best.param} = {_shown(best.value)} changes it by {_change(best.change)}"
        lines.append(f"not converged: {moved}; give it a larger --budget")
    return lines


def _design(found: Optimum) -> str:
    """The aim, then a row for each free param with its neighbours."""
    assert found.point is not None
    units = {p.name: p.scale.unit for p in found.space.evaluator.spec.params}
    rows = [["", "", "elasticity", "beside it"]]
    for goal in found.goals:
        rows.append([title(goal.name, goal.scale.unit), _shown(_value(found, goal.name)), "", ""])
    params = found.point.params
    for dimension in found.space.dimensions:
        name = dimension.param.name
        slope = found.elasticities.get(name, math.nan)
        beside = "; ".join(_beside(n) for n in found.neighbours if n.param == name)
        said = "" if math.isnan(slope) else f"{slope:+.3g}"
        rows.append([title(name, units[name]), _shown(params[name]), said, beside])
    return table(rows, right=[1, 2])


def _value(found: Optimum, name: str) -> float:
    assert found.point is not None
    params = found.point.params
    return float(params[name] if name in params else found.point[name])


def _beside(neighbour: Neighbour) -> str:
    """What a neighbour gives, or what it violates."""
    against = f" violates {', '.join(neighbour.violates)}" if neighbour.violates else ""
    return f"{_shown(neighbour.value)}: {_change(neighbour.change)}{against}"


def _change(change: float) -> str:
    """A relative change in per cent."""
    if math.isnan(change):
        return "none"
    if not change:
        return "0 %"
    return f"{100 * change:+.2g} %" if abs(change) < 1 else f"{100 * change:+.0f} %"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, float) else str(value)


def _front(found: Optimum) -> str:
    """Designs of the front, evenly picked if there are many, the best in the first aim first."""
    assert found.front is not None
    front, count = found.front, len(found.front)
    spec = found.space.evaluator.spec
    free = [d.param for d in found.space.dimensions]
    heads = [title(g.name, g.scale.unit) for g in found.goals]
    heads += [title(p.name, p.scale.unit) for p in free]
    rows = [heads]
    shown = min(count, MOST_ROWS)
    names = [g.name for g in found.goals]
    outputs = {o.name for o in spec.outputs}
    for k in range(shown):
        one = front.result(k * (count - 1) // max(shown - 1, 1))
        params = one.params
        cells = [_shown(float(one[n]) if n in outputs else params[n]) for n in names]
        rows.append([*cells, *(_shown(params[p.name]) for p in free)])
    said = f"{count:,} design{'s' * (count != 1)} that none beats in all" + (
        f", {shown} of them:" if shown < count else ":"
    )
    return f"{said}\n\n{table(rows, right=range(len(heads)))}"


def _how(found: Optimum) -> str:
    """How much was looked at, how the search ended, how often restarts agree."""
    ends = {"converged": "converged", "budget": "the budget is spent", "time": "the time is over"}
    if found.ended == "all":
        end = ": none is better" if found.point is not None else ""
        return f"{found.evaluations:,} points, which are all there are{end}"
    said = f"{found.evaluations:,} points; {ends[found.ended]}"
    if found.front is not None or found.point is None:
        return said
    return f"{said}; {found.agree} of {len(found.restarts)} restarts agree within 0.1 %"
