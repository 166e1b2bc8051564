"""Why an output has its value: a tree of named steps with numbers, units and lines.

Input: what `hwdsl.explain.derivation` found at one point. Output: text. A step's value is the sum
of its terms, each a multiple of another step, where its formula says so; `inputs` are the other
steps it reads.
Nothing here knows what is added up: time, money, memory and energy break down alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set

from attrs import field, frozen

from hwdsl.base.units import ONE, Dim, Unit
from hwdsl.elaborate.quantities import prefixed, quantity_text, suited_unit
from hwdsl.semantics.citations import CitedSource
from hwdsl.semantics.symbols import ModuleScope

SIBLINGS = 12
"""Terms or inputs of a step that are shown; the rest is one line."""
NAMED = 3
"""So many of the terms that share a row are named in it."""

LARGEST_COUNT = 1e6
"""What is multiplied by more than this is no part that there are so many of."""


SMALL = 0.01
"""Numbers below this have a smaller unit than the step they are part of."""

LARGEST = 1e6
"""Numbers from this on have a larger unit than others of their dimension."""

Key = tuple[str, str, float]
"""The key of a step: path or name, place and value."""


@frozen(eq=False)
class Term:
    """A multiple of a step: `factor` times its value, in base units, is added to the parent's.

    `text` says what the factor is: `64 ×`, or nothing if it is one. A factor with a dimension is
    shown by what is `written`: `price / lifetime`.
    """

    factor: float
    text: str
    step: Explanation
    written: str = ""

    @property
    def value(self) -> float:
        """What it adds to the parent, in base units."""
        return self.factor * self.step.value


@frozen(eq=False)
class Explanation:
    """One step: a field, variable, param or part of a formula, at one point.

    `value` is in base units of `dim` (an index for an enum case, 0 or 1 for a bool, both of which
    have `label`); `unit` is the one its text declares, if it does. `role` says of a param whether
    it was given or is at its default.
    """

    name: str
    value: float
    dim: Dim
    scope: ModuleScope = field(repr=False)
    label: str = ""
    unit: Unit | None = None
    formula: str = ""
    place: str = ""
    role: str = ""
    path: str = ""
    terms: tuple[Term, ...] = field(default=(), repr=False)
    inputs: tuple[Explanation, ...] = field(default=(), repr=False)
    sources: tuple[CitedSource, ...] = field(default=(), repr=False)

    def shown(self, like: Unit | None = None) -> str:
        """The value with its unit: the declared one, or `like` if that suits."""
        return self.label or quantity_text(self.value, self.dim, self.scope, self.unit or like)

    def text(self, depth: int = 4, least: float = 0.01) -> str:
        """The tree as indented lines, the largest terms first with their shares of the whole.

        Terms below `least` of the whole are summed up in one line, and a step that was shown
        before is not unfolded again. What steps are from is listed below, by the numbers behind
        their places.
        """
        tree = _Tree(least, _preferred_units(self))
        lines = list(tree.lines(self, depth))
        first = min(max(len(left) for left, _, _ in lines), 72)
        second = max(len(share) for _, share, _ in lines)
        rows = [
            f"{left:<{first}}  {share:>{second}}  {right}".rstrip() for left, share, right in lines
        ]
        return "\n".join([*rows, *source_list(tree.cited)])

    def breakdown(self, depth: int = 3, least: float = 0.01) -> list[BreakdownRow]:
        """What the value is the sum of, the step itself first; nothing but it if it is no sum.

        The rows one level below a row add up to it. Chains of steps that only pass a value on are
        one row, and terms below `least` of the whole are one row together. A step that has a row
        is not unfolded where another is a multiple of it, as a margin is of a cost.
        """
        return list(_rows(_Line("", self, 1.0), 0, depth, least, self.value, "", set()))

    def __str__(self) -> str:
        return self.text()


@frozen(eq=False)
class BreakdownRow:
    """A line of a breakdown: `value` in base units, with the multiplicities on the way to it."""

    level: int
    name: str
    times: str
    value: float
    share: float
    sources: tuple[CitedSource, ...] = ()


def citation_marks(sources: Sequence[CitedSource], cited: dict[CitedSource, int]) -> str:
    """The numbers of sources, as `[1, 3]`, new ones entered in `cited`; none if there are
    none.
    """
    if not sources:
        return ""
    numbers = sorted({cited.setdefault(source, len(cited) + 1) for source in sources})
    return f"[{', '.join(map(str, numbers))}]"


def source_list(cited: Mapping[CitedSource, int]) -> list[str]:
    """Lines that say what the numbers in brackets stand for; none if nothing is cited."""
    lines = [f"[{number}] {source.described}" for source, number in cited.items()]
    return ["", "sources", *lines] if lines else []


# --- the breakdown -----------------------------------------------------------------------------


@frozen(eq=False)
class _Line:
    """A step and the multiple of it that is part of the whole."""

    times: str
    step: Explanation
    factor: float
    written: str = ""

    @property
    def value(self) -> float:
        return self.factor * self.step.value


def _rows(
    line: _Line,
    level: int,
    depth: int,
    least: float,
    whole: float,
    owner: str,
    told: set[Key],
) -> Iterator[BreakdownRow]:
    name = line.written or _short(line.step, owner)
    parts, owner = _parts(line, owner, told)
    if len(parts) == 1:  # a multiple of one thing
        name = f"{name} = {parts[0].times} {_short(parts[0].step, owner)}"
        parts = []
    share, sources = _share(line.value, whole), line.step.sources
    yield BreakdownRow(level, name, line.times, line.value, share, sources)
    small = [p for p in parts if not abs(_share(p.value, whole)) >= least]
    if level >= depth or len(small) == len(parts):
        return
    shown = [p for p in parts if p not in small] if len(small) > 1 else parts
    last = [part for part in shown if _key(part.step) in told]
    told.update(_key(part.step) for part in shown)
    for part in shown[:SIBLINGS]:
        below = level if part in last else depth
        yield from _rows(part, level + 1, below, least, whole, owner, told)
    rest = [*shown[SIBLINGS:], *(small if len(small) > 1 else [])]
    if rest:
        value = math.fsum(p.value for p in rest)
        yield BreakdownRow(level + 1, _together(rest), "", value, _share(value, whole))


def _together(rest: list[_Line]) -> str:
    """What a row of small terms says: how many they are, and what the largest are called."""
    named = [p.step.name.rpartition(".")[2] for p in rest[:NAMED]]
    return f"{len(rest)} smaller: {', '.join(named)}{', …' if len(rest) > NAMED else ''}"


def _parts(line: _Line, owner: str, told: Set[Key]) -> tuple[list[_Line], str]:
    """What a step is the sum of, the largest first; steps that pass another on are left out.

    Those in `told` stay. The second result is the path of the component whose formula the sum is.
    """
    step, factor, times = line.step, line.factor, ""
    owner = step.path.rpartition(".")[0] or owner
    while len(step.terms) == 1 and step.terms[0].step.terms:
        if _key(step.terms[0].step) in told:
            break
        term = step.terms[0]
        step, factor, times = term.step, factor * term.factor, _times(times, term.text)
        owner = step.path.rpartition(".")[0] or owner
    found = [_Line(_times(times, t.text), t.step, factor * t.factor, t.written) for t in step.terms]
    found = sorted((p for p in found if p.value), key=lambda p: -abs(p.value))
    if len(found) == 1 and (not found[0].times or abs(found[0].factor) > LARGEST_COUNT):
        return [], owner
    return found, owner


def _key(step: Explanation) -> Key:
    """The key of a step; an argument of a function is the same step in each function."""
    return (step.path or step.name, step.place, step.value)


def _times(outer: str, inner: str) -> str:
    return f"{outer} {inner}".strip()


def _share(value: float, whole: float) -> float:
    return value / whole if whole else math.nan


# --- the tree of formulas ----------------------------------------------------------------------


Line = tuple[str, str, str]


def _preferred_units(whole: Explanation) -> dict[Dim, Unit]:
    """Units that a text writes and no prefix makes, such as USD/h: others of the dimension have
    them too. The first that is met counts."""
    found: dict[Dim, Unit] = {}
    seen: set[int] = set()
    todo = [whole]
    while todo:
        step = todo.pop()
        if id(step) in seen:
            continue
        seen.add(id(step))
        unit = step.unit
        if unit is not None and not (step.dim.is_dimensionless or unit.offset or prefixed(unit)):
            found.setdefault(step.dim, unit)
        todo += [*reversed(step.inputs), *(t.step for t in reversed(step.terms))]
    return found


@frozen(eq=False)
class _Tree:
    """Lays out steps as lines of three columns: the step, its share of the whole, its formula.

    `habits` are units for steps that have none of their own.
    """

    least: float
    habits: Mapping[Dim, Unit]
    seen: set[Key] = field(factory=set)
    cited: dict[CitedSource, int] = field(factory=dict)

    def lines(self, step: Explanation, depth: int) -> Iterator[Line]:
        """All lines, for a whole that is the step."""
        yield from self._step(step, f"{step.name} = {self._shown(step)}", depth, "", 1.0, None)

    def _shown(self, step: Explanation) -> str:
        """The value of a step in its unit, or else in the one that the text is used to."""
        return step.shown(self._habit(step.value, step.dim))

    def _habit(self, value: float, dim: Dim) -> Unit | None:
        """The unit that the text is used to, for a number that is short in it."""
        unit = self.habits.get(dim)
        if unit is None:
            per = self.habits.get(ONE / dim)
            # What happens less than once in the base unit is a rate; more often, a frequency.
            seldom = per is not None and abs(value) < 1.0 and per.factor > 1
            return Unit(f"1/{per.name}", dim, 1 / per.factor) if per and seldom else None
        least = 1.0 if dim == Dim.base(dim.powers[0][0]) else SMALL
        return unit if least <= abs(unit.from_base(value)) < LARGEST else None

    def _step(
        self,
        step: Explanation,
        left: str,
        depth: int,
        indent: str,
        share: float,
        like: Unit | None,
        *,
        term: bool = False,
        owner: str = "",
    ) -> Iterator[Line]:
        """The lines of a step that `left` names; it is `share` of the whole if it is a `term`."""
        key = _key(step)
        below = bool(step.terms or step.inputs)
        again = below and key in self.seen
        self.seen.add(key)
        formula = "" if step.formula == step.name else step.formula
        right = "(see above)" if again else formula or step.role
        place = f"{step.place} {citation_marks(step.sources, self.cited)}".rstrip()
        yield indent + left, _percent(share) if term else "", f"{right}  {place}".strip()
        if again or not below or abs(share) < self.least:
            return
        indent += "  "
        parts = [*(t.step for t in step.terms), *step.inputs]
        if depth <= 1 and (len(parts) > 1 or parts[0].terms or parts[0].inputs):
            yield f"{indent}… {len(parts)} more below", "", ""
            return
        owner = step.path.rpartition(".")[0] or owner
        yield from self._terms(step, depth - 1, indent, share, step.unit or like, owner)
        told = step.inputs if len(step.inputs) == SIBLINGS + 1 else step.inputs[:SIBLINGS]
        for item in told:
            name = f"{_short(item, owner)} = {self._shown(item)}"
            yield from self._step(item, name, depth - 1, indent, 1.0, None, owner=owner)
        if len(told) < len(step.inputs):
            yield f"{indent}… {len(step.inputs) - len(told)} more", "", ""

    def _terms(
        self,
        step: Explanation,
        depth: int,
        indent: str,
        share: float,
        like: Unit | None,
        owner: str,
    ) -> Iterator[Line]:
        parts = {id(t): share * _share(t.value, step.value) for t in step.terms}
        terms = sorted(step.terms, key=lambda t: -abs(t.value))
        keep = [t for t in terms if not abs(parts[id(t)]) < self.least][:SIBLINGS]
        if len(terms) - len(keep) == 1:
            keep = terms
        largest = max((abs(t.value) for t in terms), default=0.0)
        unit = self._habit(largest, step.dim) or _common(terms, step, like)
        for term in keep:
            left = f"{_short(term.step, owner)} = {self._shown(term.step)}"
            if len(terms) > 1 or not term.written:
                name = term.written or _short(term.step, owner)
                single = self._habit(term.step.value, term.step.dim)
                left = f"{name} = {_multiple(term, step, unit, single)}"
            fitting = unit if not (term.text or term.written) else None
            yield from self._step(
                term.step, left, depth, indent, parts[id(term)], fitting, term=True, owner=owner
            )
        if len(keep) < len(terms):
            rest = math.fsum(parts[id(t)] for t in terms if t not in keep)
            yield f"{indent}… {len(terms) - len(keep)} smaller", _percent(rest), ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if math.isfinite(share) else "–"


def _multiple(term: Term, parent: Explanation, unit: Unit | None, habit: Unit | None) -> str:
    """What a term adds in a unit, and how it is a multiple of its step, small ones in a habit's."""
    total = quantity_text(term.value, parent.dim, parent.scope, unit)
    if term.written or term.text in ("", "-"):
        return total if term.written or term.text else term.step.shown(unit)
    single = term.step.shown(unit if _suits(unit, term.step) else habit)
    return total if single == total else f"{term.text} {single} = {total}"


def _suits(unit: Unit | None, step: Explanation) -> bool:
    """Whether a step's value is no small number in a unit."""
    return unit is not None and abs(unit.from_base(step.value)) >= SMALL


def _common(terms: Sequence[Term], step: Explanation, like: Unit | None) -> Unit | None:
    """One unit for all terms: the parent's, unless even the largest is small in it."""
    if not terms or step.dim.is_dimensionless:
        return like
    largest = max(abs(t.value) for t in terms)
    if like is not None and abs(like.from_base(largest)) >= SMALL:
        return like
    return suited_unit(largest, step.dim, step.scope)


def _short(step: Explanation, owner: str) -> str:
    """The name without the path of the component that the formula stands in."""
    return step.name[len(owner) + 1 :] if owner and step.name.startswith(owner + ".") else step.name
