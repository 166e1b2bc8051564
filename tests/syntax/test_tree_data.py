"""Trees as data: they come back whole, and data that are no tree are refused."""

from pathlib import Path

import msgspec
import pytest
from trees import shape

import hwdsl.library
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.base.structuring import Unfit
from hwdsl.syntax import ast, parse
from hwdsl.syntax.parse_cache import structured, unstructured

LIBRARY = Path(next(iter(hwdsl.library.__path__)))
EXAMPLE = Source("t", "edition 2026\n## D.\nlet a = f(b, c = 1) # x\nkind k { a : real = 2 }\n")


def places(node: ast.Node) -> list[object]:
    """The class and the place of each node of a tree."""
    found: list[object] = [(type(node).__name__, node.span.start, node.span.end)]
    for name in node.__struct_fields__:
        value = getattr(node, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, ast.Node):
                found += places(each)
            elif name != "span":
                found.append(str(each))
    return found


@pytest.mark.parametrize("name", ["units", "die", "inference", "distributions", "collectives"])
def test_trees_come_back(name: str) -> None:
    path = LIBRARY / "std" / f"{name}.hw"
    source = Source(str(path), path.read_text("utf-8"))
    tree = parse(source, Diagnostics())
    again = structured(unstructured(tree), source)
    assert shape(again) == shape(tree)
    assert [places(item) for item in again.items] == [places(item) for item in tree.items]
    assert all(item.span.source is source for item in again.items)


@pytest.mark.parametrize("wrong", ["Nothing", 9, None, ["Let"], ["Let", [0, 1], ["Ident"]], []])
def test_what_is_no_tree_is_refused(wrong: object) -> None:
    data = msgspec.msgpack.decode(unstructured(parse(EXAMPLE, Diagnostics())))
    assert data["items"][0][0] == "Let"
    data["items"][0] = wrong
    with pytest.raises(Unfit):
        structured(msgspec.msgpack.encode(data), EXAMPLE)
    data["items"][0] = data["items"][1]
    assert len(structured(msgspec.msgpack.encode(data), EXAMPLE).items) == 2


@pytest.mark.parametrize("ends", [[0], [0, 1, 2], None, 3])
def test_what_is_no_place_is_refused(ends: object) -> None:
    data = msgspec.msgpack.decode(unstructured(parse(EXAMPLE, Diagnostics())))
    data["items"][0][1] = ends
    with pytest.raises(Unfit):
        structured(msgspec.msgpack.encode(data), EXAMPLE)
