"""Going on with an interrupted sweep: what stands beside its table, and whether that fits.

An interrupted sweep leaves `OUT.resume` beside `OUT`: which sweep it is, how many of its points are
done, and how long the table is. A sweep is known by all that decides its rows: the graph of the
evaluator, its params, outputs and rules, the values of the axes and the conditions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, frozen

from hwdsl.cli.base import CommandError
from hwdsl.cli.files import check_target, write_text

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.codegen.runtime import ExecutionPlan

_START = '{"sweep": "'


@frozen
class ResumePoint:
    """How far a sweep is: points done, rows in its table, bytes of that."""

    sweep: str
    points: int
    rows: int
    bytes: int


def identity(evaluator: Evaluator, plan: ExecutionPlan, conditions: Sequence[str]) -> str:
    """What tells a sweep from others, in a word."""
    from hwdsl.codegen.ir.serialization import dump

    found = hashlib.sha256(dump(evaluator.graph).encode())
    found.update(repr(evaluator.spec).encode())
    for values, stride, count in plan.axes:
        found.update(f"{stride} {count} {len(values)} ".encode() + values.tobytes())
    found.update(f"{plan.first} {plan.points} {list(conditions)}".encode())
    return found.hexdigest()


def place(target: Path) -> Path:
    """Where the record of a table stands."""
    return target.with_name(f"{target.name}.resume")


def check(target: Path) -> None:
    """End the command if what stands at the record's place is none."""
    check_target(place(target), lambda head: head.startswith(_START))


def leave(target: Path, record: ResumePoint) -> None:
    """Write the record of an interrupted sweep."""
    write_text(place(target), json.dumps(asdict(record)) + "\n")


def remove(target: Path) -> None:
    """Take the record away: the table is whole, or another sweep's."""
    place(target).unlink(missing_ok=True)


def found(target: Path, sweep: str) -> ResumePoint | None:
    """How far the sweep is of which `target` is the table; None if there is no such table yet.

    A table that is another sweep's, or was changed meanwhile, ends the command.
    """
    if not target.exists():
        return None
    with suppress(OSError, ValueError, TypeError):
        record = ResumePoint(**json.loads(place(target).read_text("utf-8")))
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
