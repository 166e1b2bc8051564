"""What `hwdsl explain NAME` says: diagnostics, what the library holds, the language's own words.

Input: a name. Output: a `Page`, or None. A name is looked for among diagnostics, modules and their
folders, as they are called or were, public names (std first, then vendor, workloads and the rest),
members and rules, words and functions of the language, units, and the terms of the glossary. A
module may be named without its folder; what std, vendor or workloads declare by that name is before
it, what peers and studies declare is behind it.
"""

from __future__ import annotations

from attrs import evolve

from hwdsl.help import diagnostic_catalog, glossary, language, rule_docs
from hwdsl.help.definitions import begin_so, definition, lookup
from hwdsl.help.library_index import FOLDERS, Named, definitions, modules, sentence, word
from hwdsl.help.members import member, members_help
from hwdsl.help.page import Page, PageRow, PageSection, render
from hwdsl.help.search import entries, near
from hwdsl.semantics.renamed import new_module
from hwdsl.syntax import ast

__all__ = ["Page", "diagnostics", "explain", "members_help", "names", "near", "render"]


_EXAMPLES = ("peers.", "studies.")


def explain(name: str) -> Page | None:
    """The page of a name; None if nothing is called so."""
    if name in diagnostic_catalog.CATALOG:
        return Page(
            name,
            "diagnostic",
            diagnostic_catalog.CATALOG[name],
            whole=diagnostic_catalog.page(name),
        )
    if name == "glossary":
        return glossary.listing()
    terms = glossary.entries_of(name)
    if terms and _in_examples_alone(name):
        return _term(name, terms)
    known = _renamed(name) or _of_library(name) or _rule(name) or _of_language(name)
    if known is not None:
        return glossary.with_entries(known, name)
    return _term(name, terms) if terms else _in_other_letters(name)


def diagnostics() -> Page:
    """The names of all diagnostics, with what each is."""
    rows = tuple(
        PageRow(name, summary, role="diagnostic")
        for name, summary in diagnostic_catalog.CATALOG.items()
    )
    return Page("diagnostics", "list", sections=(PageSection("Diagnostics", rows),))


def names() -> list[str]:
    """The names of folders, modules and what is public in them."""
    return [*FOLDERS, *modules(), *definitions()]


def _of_library(name: str) -> Page | None:
    if name in FOLDERS:
        rows = [
            PageRow(m, sentence(tree.doc))
            for m, tree in modules().items()
            if m.startswith(f"{name}.")
        ]
        return Page(name, "folder", sections=(PageSection("Modules", tuple(rows)),))
    if name in modules():
        return _module(name)
    found, called = lookup(name), _called(name)
    if called and (not found or found[0].module.startswith(_EXAMPLES)):
        others = [f"`{other}` (module)" for other in called[1:]]
        others += [f"`{other.path}` ({other.word})" for other in found]
        return evolve(_module(called[0]), others=tuple(others))
    if found and not (isinstance(found[0].item, ast.ExternFn) and language.word(name)):
        one = definition(found)
        return evolve(one, others=(*one.others, *language.also(name)))
    return member(name)


def _renamed(name: str) -> Page | None:
    """The page of a module or folder by the name that it had."""
    new = new_module(name)
    page = None if new is None else _of_library(new)
    if page is None:
        return None
    others = tuple(f"`{one.path}` ({one.word})" for one in lookup(name))
    return evolve(page, lead=f"`{name}` is called `{new}` now.\n\n{page.lead}", others=others)


def _called(name: str) -> list[str]:
    """The modules that are called so in their folders."""
    return [module for module in modules() if module.rpartition(".")[2] == name]


def _module(name: str) -> Page:
    tree = modules()[name]
    items = [i for i in tree.items if isinstance(i, Named) and not isinstance(i, ast.Claim)]
    rows = tuple(PageRow(i.name.name, sentence(i.doc), role=word(i), type=word(i)) for i in items)
    sections = (PageSection("Holds", rows),) if rows else ()
    return Page(name, "module", tree.doc, sections=sections)


def _in_examples_alone(name: str) -> bool:
    """Whether only peers and studies have a name, so that it is rather a term of the field."""
    places = [*_called(name), *(one.module for one in definitions().get(name, ()))]
    return bool(places) and all(place.startswith(_EXAMPLES) for place in places)


def _term(name: str, terms: list[glossary.GlossaryEntry]) -> Page:
    """The page of a term of the glossary, with the declarations that it names."""
    entry, *more = terms
    page = glossary.page(entry, tuple(_declared(one) for one in entry.declared))
    others = [f"`{one.concept}`" for one in more]
    others += [f"`{one.path}` ({one.word})" for one in definitions().get(name, ())]
    return evolve(page, notes=(*page.notes, *begin_so(name)), others=tuple(others))


def _declared(name: str) -> PageRow:
    """A declaration in a row: its sort, and what it is."""
    known = {entry.name: (entry.role, entry.doc) for entry in entries() if entry.role != "term"}
    role, doc = known.get(name, ("", ""))
    if not role:  # a member of a base
        page = _of_library(name)
        role, doc = (page.what, page.lead) if page is not None else ("", "")
    return PageRow(name, sentence(doc.partition("\n\n")[0]), type=role, role=role)


def _rule(name: str) -> Page | None:
    text = rule_docs.page(name) if "." in name else None
    return None if text is None else Page(name, "rule", whole=text)


def _of_language(name: str) -> Page | None:
    return language.word(name) or language.builtin(name) or language.unit(name)


def _in_other_letters(name: str) -> Page | None:
    """The page of the one name that differs in capitals alone."""
    found = [known for known in names() if known.lower() == name.lower()]
    return _of_library(found[0]) if len(found) == 1 else None
