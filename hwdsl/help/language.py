"""Pages of what the language itself has: words, signs, functions, units."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.base.units import Dim, Unit
from hwdsl.help.definitions import definition, with_sources
from hwdsl.help.library_index import Declared, modules, scope
from hwdsl.help.page import Page, PageRow, PageSection
from hwdsl.help.words import words
from hwdsl.semantics.builtins import declarations
from hwdsl.semantics.modules import BUILTINS, PRELUDE
from hwdsl.semantics.state import PERCENT
from hwdsl.semantics.type_relations import dim_name, unit_for
from hwdsl.syntax import ast, parse_unit
from hwdsl.syntax.grammar import keywords

MOST_UNITS = 24


def word(name: str) -> Page | None:
    """The page of a keyword or a sign."""
    found = words().get(name)
    if found is None:
        return None
    what = "keyword" if name in keywords() else "name" if name.isidentifier() else "sign"
    return Page(name, what, f"{found.doc[0].upper()}{found.doc[1:]}.", text=found.text)


def builtin(name: str) -> Page | None:
    """The page of a function of the language, with or without its parentheses."""
    item = declarations().get(name.removesuffix("()"))
    return None if item is None else definition([Declared(BUILTINS, item)])


def unit(name: str) -> Page | None:
    """The page of a unit or a product of units: dimension, size, others of the dimension."""
    parsed = parse_unit(Source("unit", name), Diagnostics())
    known = dict(scope(PRELUDE).units)
    for module, tree in modules().items():
        if module != PRELUDE and any(isinstance(i, ast.UnitDecl) for i in tree.items):
            known |= {n: u for n, u in scope(module).units.items() if n not in known}
    found = None if parsed is None else _product(parsed, known)
    if parsed is None or found is None:
        return None
    dimension = dim_name(found.dim, scope(PRELUDE))
    others = sorted((u for u in known.values() if u.dim == found.dim), key=lambda u: u.factor)
    others = [u for u in others if u.name != name][:MOST_UNITS]
    lead = f"A unit of {dimension}, written behind a number: `1 {name}`."
    notes = [_size(found, name)]
    if len(parsed.factors) > 1:
        of = " and ".join(f"`hwdsl explain {f.name}`" for f in parsed.factors)
        notes.append(f"{of} list other units to make it of.")
    rows = tuple(PageRow(u.name, _ratio(u, found, name)) for u in others)
    sections = (PageSection(f"Other units of {dimension}", rows),) if rows else ()
    page = Page(name, "unit", lead, notes=tuple(notes), sections=sections)
    declared = [item for item in scope(PRELUDE).tree.items if isinstance(item, ast.UnitDecl)]
    if name in scope(PRELUDE).units:  # units take no clause: the file's own is theirs
        return with_sources(page, scope(PRELUDE), declared[0])
    return page


def _product(written: ast.UnitExpr, known: Mapping[str, Unit]) -> Unit | None:
    """What a product of units is; None if one is not known."""
    units = [known.get(f.name, PERCENT if f.name == "%" else None) for f in written.factors]
    if len(units) == 1 and written.factors[0].power == 1:
        return units[0]
    dim, size = Dim(), Fraction(1)
    for unit, factor in zip(units, written.factors, strict=True):
        if unit is None or unit.offset:
            return None
        dim *= unit.dim**factor.power
        size *= unit.factor**factor.power
    return Unit(written.span.text, dim, size)


def _size(found: Unit, name: str) -> str:
    """What the unit is in the base unit of its dimension."""
    if found.offset:
        return "It is a reading of a scale with a zero of its own: a whole literal or after `in`."
    if found.dim == Dim():
        return f"`1 {name}` is the number {_number(found.factor)}."
    if found.factor == 1:
        return "Values of its dimension are kept in it."
    base = unit_for(found.dim, scope(PRELUDE)) or "in base units"
    return f"`1 {name}` is {_number(found.factor)} {base}."


def _ratio(other: Unit, found: Unit, name: str) -> str:
    if other.offset or found.offset:
        return ""
    return f"{_number(other.factor / found.factor)} {name}"


def _number(value: Fraction) -> str:
    """A factor in digits, or to twelve of them."""
    if value.denominator == 1 and value < 10**16:
        return f"{value.numerator:,}"
    return f"{float(value):.12g}"


def also(name: str) -> list[str]:
    """What the language has of a name besides the library, with the call that explains it."""
    found = []
    if name in words():
        found.append(f"`{name}`, a word of the language: {words()[name].doc}")
    return found
