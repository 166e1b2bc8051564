"""Each number of the library says where it is from, in clauses, by one reference for one source."""

from functools import cache

import pytest
import shipped

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.explain.cited_numbers import BLOCK, FILE, OWN, CitedNumber, numbers, references
from hwdsl.syntax import ast, parse
from hwdsl.syntax.tree import children

LIBRARY = [path for path in shipped.LIBRARY if path.stem != "references"]
REFERENCES = shipped.ROOT / "library" / "std" / "references.hw"
NEAR = {"std", "vendor"}
"""Folders of facts: there a source of the whole file is none of its numbers'."""


@cache
def tree(path) -> ast.Module:
    diagnostics = Diagnostics()
    found = parse(Source(str(path), path.read_text(encoding="utf-8")), diagnostics)
    assert not diagnostics.items
    return found


@cache
def declared() -> dict[str, ast.Reference]:
    return references([tree(REFERENCES)])


def of(path) -> list[CitedNumber]:
    return list(numbers(path.stem, tree(path), declared()))


@pytest.mark.parametrize("path", LIBRARY, ids=shipped.name_of)
def test_numbers_have_sources_and_say_how_sure_they_are(path) -> None:
    levels = {OWN, BLOCK} if path.parent.name in NEAR else {OWN, BLOCK, FILE}
    assert [n.path for n in of(path) if n.level not in levels or not n.confidence] == []


@pytest.mark.parametrize("path", LIBRARY, ids=shipped.name_of)
def test_sources_are_references(path) -> None:
    """A text alone has no year and no kind, and nobody else can cite it."""
    cited = [(n.path, s) for n in of(path) for s in n.sources if s.kind == "unnamed"]
    assert [(where, source.text) for where, source in cited] == []


@pytest.mark.parametrize("path", LIBRARY, ids=shipped.name_of)
def test_no_source_is_a_comment(path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    assert [line for line in comments if "source:" in line or "; confidence" in line] == []


@pytest.mark.parametrize("path", LIBRARY, ids=shipped.name_of)
def test_an_assumption_says_why(path) -> None:
    """`assumed` is no reason, and `the same` no source."""
    empty = ("assumed", "typical", "the same", "as above", "estimate", "a guess")
    places = [s.place.lower().strip(" .") for n in of(path) for s in n.sources]
    assert [place for place in places if place in empty] == []


def test_each_reference_is_cited_and_said_once() -> None:
    cited = set[str]()
    for path in shipped.LIBRARY + shipped.EXAMPLES:
        waiting: list[ast.Node] = list(tree(path).items)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Citation) and node.reference is not None:
                cited.add(node.reference.name)
            waiting.extend(children(node))
    assert sorted(declared().keys() - cited) == []
    titles = [item.title for item in declared().values()]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []
    assert list(declared()) == sorted(declared())
