"""Trees as data: what is damaged is refused or parsed again, and nothing is read too early."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, format_module, parse
from hwdsl.syntax.compare import shape
from hwdsl.syntax.serialise import DataError, from_lines, to_lines

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
EXAMPLE = Source("t", "edition 2026\n## D.\nlet a = f(b, c = 1) # x\nkind k { a : real = 2 }\n")


def refuse() -> tuple[ast.Item, ...]:
    """What is called if the rest of an item is not sound."""
    raise AssertionError("the data should do")


def example_data() -> list[Any]:
    return [json.loads(line) for line in to_lines(parse(EXAMPLE, Diagnostics()))]


def example_of(data: list[Any]) -> ast.Module:
    lines = [json.dumps(each) for each in data]
    return from_lines(lines, EXAMPLE, lambda: parse(EXAMPLE, Diagnostics()).items)


def break_version(data: Any) -> None:
    data["version"] = 0


def break_class(data: Any) -> None:
    data["rows"][0][0] = "Module"


def break_place(data: Any) -> None:
    data["rows"][0][2] = 10_000


def break_order(data: Any) -> None:
    data["rows"].reverse()


def break_field(data: Any) -> None:
    data["rows"][0][3] = 7


def break_length(data: Any) -> None:
    data["rows"][0].append(1)


def break_item(data: Any) -> None:
    data["items"][0] = 0


def break_items(data: Any) -> None:
    data["items"].pop()


def break_order_of_items(data: Any) -> None:
    data["items"].reverse()


def break_depth(data: Any) -> None:
    rows = [["Name", 0, 0, "a"]]
    for _ in range(300):
        rows.append(["Unary", 0, 0, "-", len(rows) - 1])
    data["rows"] = rows


def break_fields(data: Any) -> None:
    data["fields"][0].append(None)


HEAD = [break_version, break_class, break_place, break_order, break_field, break_length, break_item,
        break_items, break_order_of_items]  # fmt: skip
REST = [break_class, break_place, break_order, break_field, break_length, break_depth, break_fields]


@pytest.mark.parametrize("change", HEAD)
def test_a_wrong_head_is_refused(change: Any) -> None:
    data = example_data()
    change(data[0])
    with pytest.raises(DataError):
        example_of(data)


@pytest.mark.parametrize("change", REST)
def test_a_wrong_rest_is_parsed_again(change: Any) -> None:
    data = example_data()
    whole = shape(example_of(data))
    change(data[1])
    lines = [json.dumps(each) for each in data]
    assert shape(example_of(data)) == whole
    with pytest.raises(AssertionError, match="should do"):
        shape(from_lines(lines, EXAMPLE, refuse))


def test_what_is_not_asked_for_is_not_read() -> None:
    data = example_data()
    data[1] = "no object"
    tree = example_of(data)
    assert tree.items[0].name.name == "a"  # type: ignore[union-attr]
    assert shape(tree.items[1]) == shape(parse(EXAMPLE, Diagnostics()).items[1])
    with pytest.raises(AttributeError, match="no attribute 'default'"):
        _ = tree.items[0].default  # type: ignore[union-attr]


@QUICK
@given(st.data())
def test_damaged_data_gives_a_tree_or_an_error(data: st.DataObject) -> None:
    tree = example_data()
    row = data.draw(st.sampled_from([r for piece in tree for r in piece["rows"]]))
    at = data.draw(st.integers(0, len(row) - 1))
    row[at] = data.draw(
        st.none() | st.integers(-3, 40) | st.text(max_size=3) | st.lists(st.integers(-1, 20))
        | st.booleans() | st.floats()
    )  # fmt: skip
    try:
        again = example_of(tree)
    except DataError:
        return
    format_module(again)
