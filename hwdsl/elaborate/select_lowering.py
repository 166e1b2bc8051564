"""Lowering of selections by something unknown: numbers become `select` or `gather` operations,
lists are selected element by element, components field by field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hwdsl.base.source import Span
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.graph import BOOL, INT
from hwdsl.elaborate.partial_evaluator import MAX_ITEMS, PartialEvaluator
from hwdsl.elaborate.values import (
    Component,
    ElaborationError,
    EnumValue,
    Env,
    ListValue,
    RangeValue,
    Record,
    ResultValue,
    SelectIndex,
    SelectRecord,
    TextValue,
    Thunk,
    UnequalLengths,
    Value,
)
from hwdsl.semantics.symbols import KindInfo
from hwdsl.syntax import ast


def merge_select(
    m: PartialEvaluator, selector: SelectIndex, values: Sequence[Value], span: Span
) -> Value:
    """The value of the alternative that the selector takes."""
    first = values[0]
    known = selector.ref.known
    if known is not None:
        # A bool takes the first alternative where it is true.
        index = (0 if known else 1) if selector.ref.type == BOOL else int(known)
        return values[index]
    if all(v is first for v in values):
        return first
    if isinstance(first, Ref):
        return m.select_number(selector, [v for v in values if isinstance(v, Ref)])
    if isinstance(first, EnumValue):
        refs = [v.ref for v in values if isinstance(v, EnumValue)]
        return EnumValue(first.enum, m.select_number(selector, refs))
    if isinstance(first, TextValue):
        return _merge_texts(m, selector, [v for v in values if isinstance(v, TextValue)])
    if isinstance(first, ListValue | RangeValue):
        return _merge_lists(m, selector, values, span)
    if isinstance(first, ResultValue):
        results = [v for v in values if isinstance(v, ResultValue)]
        return _merge_results(m, selector, results, span)
    components = [v for v in values if isinstance(v, Record | SelectRecord)]
    return merge_components(m, selector, components, span)


def _merge_texts(
    m: PartialEvaluator, selector: SelectIndex, values: Sequence[TextValue]
) -> TextValue:
    if all(v.selector is None and v.options == values[0].options for v in values):
        return values[0]
    # The options of all values one after the other; the index is that within a value plus the
    # offset at which its options begin.
    options: list[str] = []
    picks: list[Ref] = []
    for value in values:
        offset = m.const(len(options), INT)
        options.extend(value.options)
        picks.append(
            offset
            if value.selector is None
            else m.builder.op("add", offset, text_index(m, value.selector))
        )
    return TextValue(tuple(options), SelectIndex(m.select_number(selector, picks), len(options)))


def text_index(m: PartialEvaluator, selector: SelectIndex) -> Ref:
    """The selector as an index; a bool selects its first alternative where it is true."""
    if selector.ref.type != BOOL:
        return selector.ref
    return m.builder.op("select", selector.ref, m.const(0, INT), m.const(1, INT))


def _merge_lists(
    m: PartialEvaluator, selector: SelectIndex, values: Sequence[Value], span: Span
) -> Value:
    ranges = [v for v in values if isinstance(v, RangeValue)]
    if len(ranges) == len(values):
        low = m.select_number(selector, [r.low for r in ranges])
        high = m.select_number(selector, [r.high for r in ranges])
        return RangeValue(low, high)
    lists = [items_of(m, v, span) for v in values]
    lengths = sorted({len(items) for items in lists})
    if len(lengths) > 1:
        names = m.depends_on([selector.ref])
        because = f", chosen by {', '.join(f'`{n}`' for n in names)}" if names else ""
        raise UnequalLengths(
            "unequal-lengths",
            f"the list here has {' or '.join(map(str, lengths))} elements{because}; the length "
            "must be known",
            span,
            "choose between the results that are computed from the lists",
        )
    rows = zip(*lists, strict=True)
    labels = [v.labels for v in values if isinstance(v, ListValue)]
    same = len(labels) == len(values) and all(x == labels[0] for x in labels)
    return ListValue(
        tuple(merge_select(m, selector, row, span) for row in rows), labels[0] if same else None
    )


def items_of(m: PartialEvaluator, value: Value, span: Span) -> tuple[Value, ...]:
    """The elements of a list of known length."""
    if isinstance(value, ListValue):
        if value.parts_of is not None and value.labels is None:
            raise UnequalLengths(
                "unequal-lengths",
                f"the alternatives for `{value.parts_of.path}` have different parts",
                span,
                "name the kind: `parts.K`",
            )
        return value.items
    if isinstance(value, RangeValue):
        low, high = ends_of(m, value, span)
        check_size(high - low + 1, span)
        return tuple(m.const(i, INT) for i in range(low, high + 1))
    raise TypeError(f"the checker let {type(value).__name__} pass as a list")


def ends_of(m: PartialEvaluator, over: RangeValue, span: Span) -> tuple[int, int]:
    """The ends of a known range."""
    low = m.require_whole(over.low, "the start of this range", span)
    return low, m.require_whole(over.high, "the end of this range", span)


def check_size(count: int, span: Span) -> None:
    """Refuse lists longer than `MAX_ITEMS`: each element is a value of its own."""
    if count > MAX_ITEMS:
        raise ElaborationError(
            "too-large",
            f"this has {count:,} elements; a list may have {MAX_ITEMS:,}",
            span,
            "use `iterate` or a reducer over a range, whose rounds are not written out",
        )


def clamp_index(m: PartialEvaluator, index: Ref, count: int, expr: ast.Node, env: Env) -> Ref:
    """The index, or 0 where it lies outside the list, with the assertion that it lies inside."""
    inside = check_index(m, index, count, expr, env)
    # A selection, not `min` and `max`, which would let NaN through.
    return m.op(expr, "select", inside, index, m.const(0, INT))


def known_index(m: PartialEvaluator, index: Ref, count: int, what: str, span: Span) -> int:
    """An index that is known, or a failure if it lies outside or is no number."""
    at = m.require_constant(index, "an index", span)
    if not 0 <= at < count:
        shown = int(at) if math.isfinite(at) else at
        message = f"there is no element {shown}: {what} has {count}, the first is 0"
        raise ElaborationError("index-out-of-range", message, span)
    return int(at)


def check_index(m: PartialEvaluator, index: Ref, count: int, expr: ast.Node, env: Env) -> Ref:
    """Whether an unknown index lies inside the list, with the assertion that it does."""
    if m.is_within(index, 0.0, count - 1.0):
        return m.truth(True)
    first, last = m.const(0, INT), m.const(count - 1, INT)
    inside = m.op(expr, "and", m.op(expr, "le", first, index), m.op(expr, "le", index, last))
    m.assert_rule(
        "index-out-of-range",
        inside,
        expr.span,
        f"`{expr.span.text}` asks for an element outside the list of {count}",
        env,
    )
    return inside


def _merge_results(
    m: PartialEvaluator, selector: SelectIndex, values: Sequence[ResultValue], span: Span
) -> ResultValue:
    def field(name: str) -> Thunk:
        def compute() -> Value:
            read = m.guarded_arms(
                [(selector, i, partial(m.read, v.fields[name])) for i, v in enumerate(values)]
            )
            return merge_select(m, selector, read, span)

        return Thunk(name, span, compute)

    # Only fields that all results have can be selected.
    names = [n for n in values[0].fields if all(n in v.fields for v in values)]
    return ResultValue(values[0].what, {n: field(n) for n in names})


def merge_components(
    m: PartialEvaluator, selector: SelectIndex, components: Sequence[Component], span: Span
) -> Component:
    """A component to be read field by field; the same one for the same alternatives, so that its
    fields are evaluated once however often the selection is evaluated."""
    key = (id(selector.ref.region), selector.ref.index, tuple(id(c) for c in components))
    found = m.select_records.get(key)
    if found is None:
        kind = common_kind([c.kind for c in components])
        first = components[0]
        found = SelectRecord(
            selector, tuple(components), kind, first.name, first.path, span, m.next_serial()
        )
        m.select_records[key] = found
    return found


def common_kind(kinds: Sequence[KindInfo]) -> KindInfo:
    """The narrowest kind that all of them are."""
    return next(k for k in kinds[0].lineage() if all(other.is_a(k) for other in kinds))


def pick_value(m: PartialEvaluator, index: Ref, values: Sequence[Value], span: Span) -> Value:
    """`values[index]`, the index known to lie inside."""
    if len(values) == 1:
        return values[0]
    return merge_select(m, SelectIndex(index, len(values)), values, span)


def equal(m: PartialEvaluator, node: ast.Node | Span, a: Value, b: Value) -> Ref:
    """Whether two values are the same: numbers by value, components by identity."""
    if isinstance(a, Ref) and isinstance(b, Ref):
        return m.op(node, "eq", a, b)
    if isinstance(a, EnumValue) and isinstance(b, EnumValue):
        return m.op(node, "eq", a.ref, b.ref)
    if isinstance(a, TextValue) and isinstance(b, TextValue):
        return _equal_texts(m, a, b)
    if isinstance(a, Record | SelectRecord) and isinstance(b, Record | SelectRecord):
        return _identical(m, a, b)
    raise TypeError("the checker let values pass that cannot be compared")


def _equal_texts(m: PartialEvaluator, a: TextValue, b: TextValue) -> Ref:
    if a.selector is not None:
        options = [_equal_texts(m, TextValue((o,)), b) for o in a.options]
        return m.select_number(a.selector, options)
    if b.selector is not None:
        return _equal_texts(m, b, a)
    return m.truth(a.options == b.options)


def _identical(m: PartialEvaluator, a: Component, b: Component) -> Ref:
    if a is b:
        return m.truth(True)
    if isinstance(a, SelectRecord):
        return m.select_number(a.selector, [_identical(m, x, b) for x in a.alternatives])
    return _identical(m, b, a) if isinstance(b, SelectRecord) else m.truth(False)
