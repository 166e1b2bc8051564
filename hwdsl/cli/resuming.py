"""Going on with an interrupted sweep: what stands beside its table, and whether that fits.

An interrupted sweep leaves `OUT.resume` beside `OUT`: which sweep it is, how many of its points are
done, and how long the table is. A sweep is known by all that decides its rows: the graph of the
evaluator, its params, outputs and rules, the values of the axes and the conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from hwdsl.cli.errors import CommandError
from hwdsl.cli.files import check_target, write_text

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import ExecutionPlan


@frozen
class ResumePoint:
    """How far a sweep is: points done, rows in its table, bytes of that."""

    sweep: str
    points: int
    rows: int
    bytes: int


def identity(evaluator: Evaluator, plan: ExecutionPlan, conditions: Sequence[str]) -> str:
    """What tells a sweep from others, in a word."""
    from hwdsl.base import store
    from hwdsl.codegen.ir.serialization import dump

    return store.key(
        {
            "graph": dump(evaluator.graph),
            "spec": repr(evaluator.spec),
            "axes": [(f"{s} {n}", values.tobytes()) for values, s, n in plan.grid.axes],
            "points": f"{plan.grid.first} {plan.points}",
            "conditions": list(conditions),
        }
    )


def place(target: Path) -> Path:
    """Where the record of a table stands."""
    return target.with_name(f"{target.name}.resume")


def check(target: Path) -> None:
    """End the command if what stands at the record's place is none."""
    check_target(place(target), lambda text: _read(text) is not None)


def leave(target: Path, record: ResumePoint) -> None:
    """Write the record of an interrupted sweep."""
    from hwdsl.base.structuring import to_json

    write_text(place(target), to_json(record).decode() + "\n")


def remove(target: Path) -> None:
    """Take the record away: the table is whole, or another sweep's."""
    place(target).unlink(missing_ok=True)


def found(target: Path, sweep: str) -> ResumePoint | None:
    """How far the sweep is of which `target` is the table; None if there is no such table yet.

    A table that is another sweep's, or was changed meanwhile, ends the command.
    """
    if not target.exists():
        return None
    record = None
    with suppress(OSError, UnicodeDecodeError):
        record = _read(place(target).read_text("utf-8"))
    if record is not None:
        if record.sweep != sweep:
            raise CommandError(
                f"{target} is of another sweep: its description, values or conditions differ"
            )
        if record.bytes != target.stat().st_size:
            raise CommandError(
                f"{target} was changed after it was interrupted: it cannot be resumed"
            )
        return record
    raise CommandError(f"{target} is not the table of an interrupted sweep: leave --resume out")


def _read(text: str) -> ResumePoint | None:
    """The record that a text is."""
    from hwdsl.base.structuring import Unfit, from_json

    try:
        return from_json(text, ResumePoint)
    except Unfit:
        return None
