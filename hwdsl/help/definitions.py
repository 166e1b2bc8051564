"""Pages of what the library declares: kinds, components, functions, evaluators and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from attrs import evolve

from hwdsl.base.units import Dim
from hwdsl.explain.cited_numbers import SourceIndex, numbers, references
from hwdsl.help.library_index import (
    Declared,
    definitions,
    modules,
    said,
    scope,
    sentence,
    short,
    text_of,
    type_text,
)
from hwdsl.help.page import Page, PageRow, PageSection
from hwdsl.semantics.modules import PRELUDES
from hwdsl.semantics.symbols import ComponentInfo, EvaluatorInfo, KindInfo, ModuleScope, ValueInfo
from hwdsl.semantics.type_relations import units_to_write
from hwdsl.syntax import ast
from hwdsl.syntax.print_expr import unit_text

MOST_OTHERS, MOST_PARTS = 8, 24


def definition(found: Sequence[Declared]) -> Page:
    """The page of the first of several definitions of one name."""
    one, *more = found
    page = _kind(one) or _component(one) or _evaluator(one) or _plain(one)
    page = with_sources(page, scope(one.module), one.item)
    others = [f"`{other.path}` ({other.word})" for other in more[:MOST_OTHERS]]
    if len(more) > MOST_OTHERS:
        others.append(f"and {len(more) - MOST_OTHERS} more")
    lead = one.item.doc
    if one.module not in PRELUDES:  # which every file sees
        lead += f"\n\n`use {one.module}: {one.name}`"
    more_names = tuple(begin_so(one.name))
    if one.module.startswith(("peers.", "studies.")):  # products are looked for before them
        lead = "\n\n".join((*more_names, lead))
        more_names = ()
    notes = (*page.notes, *more_names)
    return evolve(page, lead=lead, place=one.place, notes=notes, others=tuple(others))


def with_sources(page: Page, where: ModuleScope, node: ast.Node) -> Page:
    """A page with what a declaration and the numbers in it are from."""
    found = SourceIndex({where.name: where}).within(node.span)
    rows = tuple(PageRow(s.key or s.kind, s.described, role="source") for s in found)
    sections = (*page.sections, PageSection("Sources", rows)) if rows else page.sections
    return evolve(page, sections=sections)


def begin_so(name: str) -> Iterator[str]:
    """What else begins with the name, as the products of a chip do; components of a kind of that
    name stand first."""
    words = {
        other: found[0].word
        for other, found in definitions().items()
        if other.lower().startswith(name.lower())
        and other.lower() != name.lower()
        and not isinstance(found[0].item, ast.Reference)
    }
    first = sorted(words, key=lambda other: words[other].lower() != name.lower())
    known = [f"`{other}` ({words[other]})" for other in first]
    if known and len(name) > 2:
        more = f" and {len(known) - MOST_OTHERS} more" if len(known) > MOST_OTHERS else ""
        yield f"Names that begin so: {', '.join(known[:MOST_OTHERS])}{more}."


def _of_kind(name: str) -> Iterator[str]:
    """The components of a kind that the library has."""
    known = [
        f"`{other}`"
        for other, found in definitions().items()
        if isinstance(found[0].item, ast.Part) and found[0].word == name
    ]
    if known:
        more = f" and {len(known) - MOST_PARTS} more" if len(known) > MOST_PARTS else ""
        yield f"In the library: {', '.join(known[:MOST_PARTS])}{more}."


def kind_info(one: Declared) -> KindInfo | None:
    """The checked kind that a definition declares."""
    found = scope(one.module).values.get(one.name) if isinstance(one.item, ast.Kind) else None
    return found if isinstance(found, KindInfo) else None


def signature(fn: ast.Fn) -> str:
    """A function's name, parameters and result, as written."""
    variables = f"[{', '.join(v.name for v in fn.dim_vars)}]" if fn.dim_vars else ""
    parameters = ", ".join(
        f"{p.name.name}: {p.type.span.text}"
        + (f" = {short(p.default.span.text, 30)}" if p.default is not None else "")
        for p in fn.parameters
    )
    return f"{fn.name.name}{variables}({parameters}) -> {' '.join(fn.result.span.text.split())}"


def member_row(info: KindInfo, name: str, of: str = "") -> PageRow:
    """The row of a kind's member: what may be set with its default, what follows with its type."""
    member = info.members[name]
    where = info.scope
    assert where is not None
    decl, doc = member.decl, sentence(member.decl.doc)
    doc = f"{doc} (of `{of}`)".strip() if of else doc
    if isinstance(decl, ast.Fn):
        return PageRow(signature(decl), doc, role="fn")
    if isinstance(decl, ast.Field):
        written = " ".join(decl.type.span.text.split())
        value = "" if decl.default is None else short(decl.default.span.text, 40)
        if isinstance(decl.default, ast.Unknown):
            value = "unknown"  # the reason stands in its own page
        if decl.range is not None:
            doc = f"{doc} (in {short(decl.range.span.text, 40)})".strip()
        return PageRow(name, doc, type_text(member.type, where, written), value, "field")
    if isinstance(decl, ast.Part):
        base = ".".join(i.name for i in decl.base) if decl.base is not None else ""
        count = f"[{decl.count.span.text}]" if decl.count is not None else ""
        return PageRow(f"{name}{count}", doc, decl.kind.name, base, "part")
    return PageRow(name, doc, type_text(member.type, where), role="let")


def rule_row(rule: ast.Rule) -> PageRow:
    """A rule with what it says when it is broken, or what it is for."""
    role = "warn" if rule.warns else "require"
    return PageRow(rule.name.name, said(rule), role=role)


def _kind(one: Declared) -> Page | None:
    """What must be said of a component of a kind, what may be, and what follows."""
    info = kind_info(one)
    if info is None or info.decl is None:
        return None
    bases = [base for base in list(info.lineage())[1:] if base.decl is not None]
    given = {path for k in (info, *bases) if k.decl for path, _ in _set(k.decl.members)}
    rows = [member_row(info, name) for name in info.members]
    needed = [r for r in rows if r.role == "field" and not r.value]
    needed += [
        member_row(base, name, base.name)
        for base in bases
        for name, member in base.members.items()
        if isinstance(member.decl, ast.Field)
        and member.decl.default is None
        and name not in given
        and info.member(name) is member
    ]
    # Ranges are said with their fields.
    rules = [rule_row(r) for r in info.decl.members if isinstance(r, ast.Rule)]
    sections = (
        PageSection("Must be given", tuple(needed)),
        PageSection(
            "May be given [what it is otherwise]",
            tuple(r for r in rows if r.role == "field" and r.value),
        ),
        PageSection("Parts", tuple(r for r in rows if r.role == "part")),
        PageSection(
            "Sets, of its bases", tuple(PageRow(p, value=v) for p, v in _set(info.decl.members))
        ),
        PageSection("Follows", tuple(r for r in rows if r.role == "let")),
        PageSection("Functions", tuple(r for r in rows if r.role == "fn")),
        PageSection("Rules: what breaks one cannot be built", _of(rules, "require")),
        PageSection("Rules that warn", _of(rules, "warn")),
    )
    notes = [f"`hwdsl explain {one.name}.NAME` says more of a member or a rule."]
    notes += [f"It is also a `{b.name}`, with {_listed(b)}." for b in bases]
    notes += _of_kind(one.name)
    return Page(one.name, "kind", notes=tuple(notes), sections=tuple(s for s in sections if s.rows))


def _of(rows: Iterable[PageRow], role: str) -> tuple[PageRow, ...]:
    return tuple(r for r in rows if r.role == role)


def _listed(kind: KindInfo) -> str:
    """The members of a base by name."""
    names = [f"`{m}`" for m in kind.members]
    return ", ".join(names) if names else "no members of its own"


def _set(members: Sequence[ast.Node], before: str = "") -> Iterator[tuple[str, str]]:
    """What a text sets: path and value."""
    for member in members:
        if isinstance(member, ast.Assign):
            path = before + ".".join(p.name for p in member.path)
            yield path, short(member.value.span.text, 40)
        elif isinstance(member, ast.Amend):
            yield from _set(member.members, before + ".".join(p.name for p in member.path) + ".")


def _component(one: Declared) -> Page | None:
    """A component: its kind and its text."""
    if not isinstance(one.item, ast.Part):
        return None
    info = scope(one.module).values.get(one.name)
    notes = []
    if isinstance(info, ComponentInfo):
        if info.base is not None:
            path = f"{info.base.scope.name}.{info.base.name}"
            notes.append(f"What it does not say is said by `{path}`.")
        notes.append(f"Its fields are those of the kind: `hwdsl explain {info.kind.name}`.")
    return Page(one.name, one.word, notes=tuple(notes), text=text_of(one.item))


def _evaluator(one: Declared) -> Page | None:
    """An evaluator: what may be asked, and what it answers."""
    item = one.item
    info = scope(one.module).values.get(one.name)
    if not isinstance(item, ast.Evaluator) or not isinstance(info, EvaluatorInfo):
        return None
    free, outputs, rules = list[PageRow](), list[PageRow](), list[PageRow]()
    for member in item.members:
        if isinstance(member, ast.Param | ast.Choice):
            free.append(free_row(info, member))
        elif isinstance(member, ast.Output):
            outputs.append(output_row(info, member))
        elif isinstance(member, ast.Rule):
            rules.append(rule_row(member))
    sections = (
        PageSection("Params", tuple(free)),
        PageSection("Outputs", tuple(outputs)),
        PageSection("Rules", tuple(rules)),
    )
    notes = (f"Another file that uses it calls it: `{one.name}(…)`.",)
    shown = tuple(s for s in sections if s.rows)
    return Page(one.name, "evaluator", notes=notes, sections=shown)


def free_row(info: EvaluatorInfo, member: ast.Param | ast.Choice) -> PageRow:
    """A param or a choice with its default and its range."""
    name, written = member.name.name, member.type.span.text
    span = member.range if isinstance(member, ast.Param) else member.alternatives
    default = member.default.span.text if member.default is not None else ""
    within = f"in {short(span.span.text, 40)}" if span is not None else ""
    type_ = type_text(info.free[name], info.scope, written)
    doc = " ".join(x for x in (sentence(member.doc), f"({within})" if within else "") if x)
    return PageRow(name, doc, type_, short(default, 30), type(member).__name__.lower())


def output_row(info: EvaluatorInfo, member: ast.Output) -> PageRow:
    """An output with its unit."""
    name = member.name.name
    type_ = type_text(info.outputs[name], info.scope)
    if member.unit is not None:
        type_ = f"{type_.partition(' (')[0]} ({unit_text(member.unit)})"
    return PageRow(name, sentence(member.doc), type_, role="output")


def _plain(one: Declared) -> Page:
    """Anything else: its text, and for a value its type, for a dimension its units."""
    notes = []
    info = scope(one.module).values.get(one.name)
    if isinstance(info, ValueInfo):
        notes.append(f"It is {type_text(info.type, scope(one.module))}.")
    text = text_of(one.item)
    if isinstance(one.item, ast.ExternFn):
        text = one.item.signature
        notes.append("A function of the language: every file sees it without a `use`.")
        for variable in one.item.dim_vars:  # as `std/builtins.hw` writes them
            of = "type" if variable.name == "T" else "dimension"
            notes.append(f"`{variable.name}` stands for any {of}.")
    if isinstance(one.item, ast.Dimension | ast.TypeAlias):
        notes += _units_of(one)
    if isinstance(one.item, ast.Reference):
        cited = _citing().get(one.name, [])
        more = f" and {len(cited) - MOST_PARTS} more" if len(cited) > MOST_PARTS else ""
        notes.append(f"Cited by: {', '.join(f'`{n}`' for n in cited[:MOST_PARTS])}{more}.")
    return Page(one.name, one.word, notes=tuple(notes), text=text)


@cache
def _citing() -> dict[str, list[str]]:
    """The numbers of the library that cite each reference."""
    found: dict[str, list[str]] = {}
    known = references(modules().values())
    for module, tree in modules().items():
        for number in numbers(module, tree, known):
            for key in dict.fromkeys(source.key for source in number.sources):
                found.setdefault(key, []).append(f"{module}.{number.path}")
    return found


def _units_of(one: Declared) -> Iterator[str]:
    """The units of a dimension."""
    where = scope(one.module)
    symbol = where.types.get(one.name)
    dim = symbol if isinstance(symbol, Dim) else getattr(symbol, "dim", None)
    units = units_to_write(dim, where) if dim is not None else []
    if units:
        yield f"Its units: {', '.join(f'`{unit}`' for unit in units)} and others of its dimension."


def lookup(name: str) -> list[Declared]:
    """The public definitions of a name, std first; `module.name` means one alone."""
    found = definitions().get(name.rpartition(".")[2], [])
    return [one for one in found if name in (one.name, one.path)]
