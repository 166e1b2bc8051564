"""Which parts a component has and of which kinds, where it may be one of several alternatives.

A select of components has a part of a name, or of a kind, where all alternatives have it. Where
only some have it, it is asked of each alternative: left out, it would be missing from a sum.
"""

from __future__ import annotations

from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref
from hwdsl.elaborate.partial_evaluator import PartialEvaluator
from hwdsl.elaborate.values import (
    Component,
    ListValue,
    Record,
    SelectRecord,
    UnequalLengths,
    Value,
)
from hwdsl.semantics.symbols import KindInfo


def part_names(of: Record) -> tuple[str, ...]:
    """The names of a record's direct parts, in the order of their first declaration."""
    names: dict[str, None] = {}
    # From the bottom layer up: parts that a `with` adds come after those of its base.
    for layer in reversed(of.layers):
        for name in layer.block.parts:
            names[name] = None
    return tuple(names)


def common_part_names(of: Component) -> tuple[str, ...] | None:
    """The names of a component's direct parts; None where they are not those of each alternative.

    Nothing is read for it: what the parts of one alternative state holds for that one alone.
    """
    if isinstance(of, Record):
        return part_names(of)
    found = {common_part_names(a) for a in of.alternatives}
    return found.pop() if len(found) == 1 else None


def is_part_of_kind(item: Value, kind: KindInfo) -> bool | None:
    """Whether a part is of a kind; None if some of its alternatives are and others are not."""
    if not isinstance(item, SelectRecord) or item.kind.is_a(kind):
        return isinstance(item, Record | SelectRecord) and item.kind.is_a(kind)
    found = {is_part_of_kind(a, kind) for a in item.alternatives}
    return found.pop() if len(found) == 1 else None


def part_of_chosen_kind(
    m: PartialEvaluator, parts: ListValue, at: int, kind: KindInfo, span: Span
) -> UnequalLengths:
    """The failure of `parts.K` where a part is of that kind or not, as something unknown says."""
    item, path = parts.items[at], (parts.labels or ())[at]
    if parts.parts_of is not None:
        path = f"{parts.parts_of.path}.{path}"
    names = m.depends_on(_selectors(item))
    because = f" depends on {', '.join(f'`{n}`' for n in names)}" if names else " is not known"
    return UnequalLengths(
        "unequal-lengths",
        f"whether `{path}` is one of `parts.{kind.name}`{because}; the number of parts of a kind "
        "must be known",
        span,
        "choose between components that have the parts, or read the part by its name",
    )


def _selectors(item: Value) -> list[Ref]:
    """What decides which record a component is."""
    if not isinstance(item, SelectRecord):
        return []
    return [item.selector.ref, *(ref for a in item.alternatives for ref in _selectors(a))]
