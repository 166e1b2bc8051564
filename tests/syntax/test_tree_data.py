"""Trees as data: they come back whole, and nothing is read before it is asked for, or twice."""

import threading
from pathlib import Path

import attrs
import pytest

import hwdsl.library
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.base.structuring import packed, unpacked
from hwdsl.syntax import ast, parse
from hwdsl.syntax.ast_serialization import LATER, UNSOUND, KeptTree, from_kept, to_kept
from hwdsl.syntax.compare import shape

LIBRARY = Path(next(iter(hwdsl.library.__path__)))
EXAMPLE = Source("t", "edition 2026\n## D.\nlet a = f(b, c = 1) # x\nkind k { a : real = 2 }\n")


def refused() -> ast.Module:
    raise AssertionError("what is kept should do")


def kept(source: Source) -> tuple[ast.Module, ast.Module]:
    """A tree, and the same read from its bytes."""
    tree = parse(source, Diagnostics())
    return tree, from_kept(unpacked(packed(to_kept(tree)), KeptTree), source, refused)


def places(node: ast.Node) -> list[object]:
    """The class and the place of each node of a tree."""
    found: list[object] = [(type(node).__name__, node.span.start, node.span.end)]
    for field in attrs.fields(type(node)):
        value = getattr(node, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, ast.Node):
                found += places(each)
            elif field.name != "span":
                found.append(str(each))
    return found


@pytest.mark.parametrize("name", ["units", "die", "inference", "distributions", "collectives"])
def test_trees_come_back(name: str) -> None:
    path = LIBRARY / "std" / f"{name}.hw"
    tree, again = kept(Source(str(path), path.read_text("utf-8")))
    assert shape(again) == shape(tree)
    assert [places(item) for item in again.items] == [places(item) for item in tree.items]
    assert again.doc == tree.doc
    assert again.edition == tree.edition


WRONG = [9_999, -9, None, "text"]  # in place of the number of a class


@pytest.mark.parametrize("number", WRONG)
def test_a_wrong_head_is_refused(number: object) -> None:
    data = to_kept(parse(EXAMPLE, Diagnostics()))
    data.items[1][0] = number
    with pytest.raises(UNSOUND):
        from_kept(data, EXAMPLE, refused)
    data.items[1] = data.items[1][:2]
    with pytest.raises(UNSOUND):
        from_kept(data, EXAMPLE, refused)


@pytest.mark.parametrize("number", WRONG)
def test_a_wrong_rest_is_parsed_again(number: object) -> None:
    tree = parse(EXAMPLE, Diagnostics())
    data = to_kept(tree)
    rest = unpacked(data.items[0][-1], list)
    rest[0][0] = number
    data.items[0][-1] = packed(rest)
    with pytest.raises(AssertionError, match="should do"):
        shape(from_kept(data, EXAMPLE, refused))
    again = from_kept(data, EXAMPLE, lambda: parse(EXAMPLE, Diagnostics()))
    assert shape(again) == shape(tree)


def test_what_is_not_asked_for_is_not_read() -> None:
    _, again = kept(EXAMPLE)
    let, kind = again.items
    assert isinstance(let, ast.Let)
    assert isinstance(kind, ast.Kind)
    unread = [n for n in (let, *kind.members) if type(n) in LATER]
    assert len(unread) == 2
    assert let.name.name == "a"
    for node in unread:
        (name,) = LATER[type(node)]
        with pytest.raises(AttributeError):
            type(node).__dict__[name].__get__(node)
        assert getattr(node, name) is type(node).__dict__[name].__get__(node)
    with pytest.raises(AttributeError, match="no attribute 'default'"):
        _ = let.default  # type: ignore[attr-defined]


def test_all_threads_get_the_same_nodes() -> None:
    """Tables are keyed by node: a second reading would make others."""
    path = LIBRARY / "std" / "die.hw"
    source = Source(str(path), path.read_text("utf-8"))
    for _ in range(5):
        seen = _read_at_once(kept(source)[1])
        assert len(seen) == 4
        assert all(each == seen[0] for each in seen)


def _read_at_once(tree: ast.Module) -> list[list[int]]:
    """The nodes that four threads get."""
    start, seen = threading.Barrier(4), []

    def read() -> None:
        start.wait()
        seen.append(
            [id(getattr(item, n)) for item in tree.items for n in LATER.get(type(item), ())]
        )

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen
