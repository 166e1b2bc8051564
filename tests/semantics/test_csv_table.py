"""The one reader of CSV tables: what it reads, and what it says of what is none."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwdsl.base.csv_table import BadHeader, BadTable, read_csv

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=5)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=4)


@given(ROWS, st.lists(st.sampled_from(["", '# a, "quote', " # later"]), max_size=3))
def test_every_cell_comes_back_whatever_is_remarked(
    rows: list[list[str]], remarks: list[str]
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in (["a", "b [GB/s]"], *rows):
        text.writelines(f"{remark}\n" for remark in remarks)
        writer.writerow(row)
    found = read_csv(text.getvalue())
    assert [(name, column.unit) for name, column in found.columns.items()] == [
        ("a", None), ("b", "GB/s"),
    ]  # fmt: skip
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=True)]
    assert [list(c.cells) for c in found.columns.values()] == (columns or [[], []])


def test_rows_know_their_lines() -> None:
    assert read_csv('# of\n\na,b\n1,"2\n# no remark"\n\n3,4\n').lines == (5, 7)


@pytest.mark.parametrize(
    ("text", "said", "error"),
    [
        ("", "the table is empty", BadTable),
        ("# only\n", "the table is empty", BadTable),
        ("# of\na,b\n\n1\n", "line 4 has 1 cell, the header has 2 cells", BadTable),
        pytest.param(
            "a\n" + "x" * 200_000,
            "line 2: field larger than field limit (131072)",
            BadTable,
            id="long",
        ),
        ("a,a\n", "column 2 needs a name of its own, not `a`", BadHeader),
        ("a, [s]\n", "column 2 needs a name of its own, not ``", BadHeader),
        ("a [s\n", "the header `a [s` is not `name` or `name [unit]`", BadHeader),
    ],
)
def test_what_is_no_table_is_told_with_its_place(
    text: str, said: str, error: type[BadTable]
) -> None:
    with pytest.raises(BadTable) as told:
        read_csv(text)
    assert type(told.value) is error
    assert str(told.value) == said
    assert told.value.help
