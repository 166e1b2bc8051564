"""Labels of the terms of a sum that have the same text: `time_of(o, on)` for each `o`.

Input: formulas of one text, each where its variables have values of their own. Output: for each a
text of the few values that differ, such as `rows = 4,096, engine = vector`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from hwdsl.base.source import Span
from hwdsl.base.units import ONE, Unit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL
from hwdsl.elaborate.messages import unit_of
from hwdsl.elaborate.quantities import quantity_text
from hwdsl.elaborate.records import member
from hwdsl.elaborate.valuation import Valuation
from hwdsl.elaborate.values import ElaborationError, EnumValue, Record, TextValue, Value
from hwdsl.explain.provenance import Formula, Provenance
from hwdsl.semantics.symbols import Real, Type

FEW = 3
"""So many values are named at most."""


def distinguishing_bindings(p: Provenance, alike: Sequence[Formula]) -> list[str]:
    """What differs between formulas of one text: a word, then the numbers that tell most."""
    rows = [dict(_values(p, formula)) for formula in alike]
    labels = [k for k in rows[0] if all(k in row for row in rows)]
    words = [k for k in labels if all(row[k][0].isalpha() for row in rows)]
    chosen: list[str] = []
    for among in (words, *([labels] * FEW)):
        best = max(([*chosen, k] for k in among), key=lambda c: _told(rows, c), default=chosen)
        if len(best) <= FEW and _told(rows, best) > _told(rows, chosen):
            chosen = best
    return [", ".join(f"{k} = {row[k]}" for k in chosen) for row in rows]


def _told(rows: Sequence[Mapping[str, str]], labels: Sequence[str]) -> int:
    """The number of rows that some columns distinguish."""
    return len({tuple(row[k] for k in labels) for row in rows})


def _values(p: Provenance, formula: Formula) -> Iterator[tuple[str, str]]:
    """The variables that a formula reads, and the fields of those that are components."""
    seen: set[str] = set()
    for name in p.names(formula):
        label, frame = name.expr.span.text, name.env.frame
        value = None if frame is None or label in seen else frame.lookup(label)
        seen.add(label)
        if isinstance(value, Record):
            yield from _fields(p, value, name.at, name.expr.span)
        elif isinstance(value, Ref | EnumValue | TextValue):
            text = _text(p, value, name.at, p.m.checked.types.get(name.expr))
            if text:
                yield label, text


def _fields(p: Provenance, of: Record, at: Valuation, span: Span) -> Iterator[tuple[str, str]]:
    """The fields of a component. Those that nothing has read so far are computed now, but for one
    that is made in a loop or in an evaluator that is called: its region is complete."""
    open_ = at.region is p.m.builder.root
    for kind in reversed(list(of.kind.lineage())):
        for info in kind.members.values():
            if info.role != "field":
                continue
            read = of.thunks.get(info.name)
            value = None if read is None else read.value
            if open_:
                with suppress(ElaborationError):
                    value = member(p.m, of, info.name, span)
            if value is not None:
                text = _text(p, value, at, info.type, unit_of(p.m, of, info.name))
                if text:
                    yield info.name, text


def _text(
    p: Provenance, value: Value, at: Valuation, type_: Type | None, unit: Unit | None = None
) -> str:
    """A number, case or text in words; empty for anything else."""
    if not isinstance(value, Ref) or value.type == BOOL:
        return p.label(value, at)
    dim = type_.dim if isinstance(type_, Real) else ONE
    return quantity_text(p.float_of(value, at), dim, p.m.checked.main, unit)
