"""Checking again: what is kept says the same, and only what depends on a change is elaborated."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl import elaborate
from hwdsl.api import artifact, driver
from hwdsl.base import store
from hwdsl.cli.jsons import render_json

HEAD = "edition 2026\n"
USE = "use part: machine, fast\n"
ITEMS = [
    'machine slow { rate = 1 GB/s, cost = unknown "not asked" }\n',
    "fn twice(x: real) -> real = 2 * x\n",
    """evaluator first {
    param n : real = 1 in 0 .. 10
    param idle : real = 1
    let m = slow
    output time in s = twice(n) * 8 GB / m.rate
}
""",
    """evaluator second {
    param n : real = 2 in 0 .. 10
    let m = slow with { rate = n * 1 GB/s }
    require calm: n < 20 else "too much"
    output both in s = first(n = n).time + 1 s
}
""",
    """evaluator third {
    param n : int = 2 in 0 .. 3
    param spare : int = 0
    output at = [1, 2, 3][n + 1] + 1
    output silent = n
}
""",
    """figure shown {
    of = third
    x = n
    y = at
}
""",
    "table few { of = first, rows = n, outputs = time, n = [1, 2] }\n",
    "claim quick { expect first(n = 1).time == 16 s }\n",
]
EDITS = [
    ("# a remark\n", ""),
    ("rate = 1 GB/s", "rate = 2 GB/s"),
    ("2 * x", "3 * x"),
    ("2 * x", "y * x"),
    ("idle : real = 1", "idle : real = 3"),
    ("twice(n)", "n"),
    ("time in s =", "time in ms ="),
    ("first(n = n).time + 1 s", "first(n = 11).time"),
    ("n < 20", "n < 5 and n > 7"),
    ("[1, 2, 3]", "[1, 2, 3, 4, 5]"),
    ("output silent = n", "output silent = [1][4]"),
    ("== 16 s", "== 17 s"),
    ('unknown "not asked"', "3 USD"),
    ("evaluator third", "evaluator fourth"),
    ("param n : real = 2", "param n : real = 200"),
    ("expect", "expct"),
    ("n = [1, 2]", "n = [1, 20]"),
    ("n = [1, 2]", "n = [1, missing]"),
    ("m.rate", "(m.rate * (m.cost / 1 USD))"),
    ("y = at", "y = silent"),
    ("x = n", "x = m"),
]
PART = """edition 2026
kind machine {
    rate : bandwidth
    cost : money
    require paid: cost > 1 USD else "nothing paid for {rate in GB/s}"
}
machine fast { rate = 2 GB/s, cost = 3 USD }
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "part.hw").write_text(PART, "utf-8")
    path = tmp_path / "main.hw"
    path.write_text(HEAD + USE + "\n".join(ITEMS), "utf-8")
    return path


@pytest.fixture
def elaborated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The evaluators that were elaborated from here on."""
    seen: list[str] = []
    real = elaborate.elaborate

    def noted(checked, info, *more, **options):  # type: ignore[no-untyped-def]
        seen.append(info.name)
        return real(checked, info, *more, **options)

    monkeypatch.setattr(elaborate, "elaborate", noted)
    return seen


def said(path: Path) -> tuple[str, int, int]:
    """All that `check` says."""
    found = driver.findings(path)
    every = [*found.found.items, *found.found.undecided]
    return render_json(every), found.definitions, found.evaluators


def cold(path: Path) -> tuple[str, int, int]:
    """All that `check` says with an empty cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "get", lambda *a: None)
        patch.setattr(store, "put", lambda *a: None)
        return said(path)


def test_an_unchanged_file_elaborates_nothing(file: Path, elaborated: list[str]) -> None:
    first = said(file)
    assert elaborated == ["first", "second", "third"]
    names = [json.loads(line)["name"] for line in first[0].splitlines()]
    assert {"unread-param", "machine.paid"} <= set(names)
    assert said(file) == first
    assert len(elaborated) == 3
    assert driver.findings(file).found.items == driver.findings(file).found.items


def test_loading_a_file_says_what_check_would(file: Path, elaborated: list[str]) -> None:
    hwdsl.load(file, compiled=False)
    del elaborated[:]
    assert said(file) == cold(file)
    assert elaborated == ["first", "second", "third"]  # those of the cold one


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("\n\n", "\n\n# a longer remark\n", []),
        ("expect first", "expect second", []),
        ("output silent = n", "output silent = 2 * n", ["third"]),
        ("+ 1 s", "+ 2 s", ["second"]),
        ("8 GB", "9 GB", ["first", "second"]),  # the second calls the first
        ("2 * x", "3 * x", ["first", "second", "third"]),
        (USE, USE + 'allow machine.paid "given"\n', ["first", "second", "third"]),
    ],
)
def test_what_does_not_depend_on_the_change_is_not_elaborated(
    file: Path, elaborated: list[str], old: str, new: str, again: list[str]
) -> None:
    said(file)
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
    del elaborated[:]
    found = said(file)
    assert elaborated == again
    assert found == cold(file)


def test_what_the_file_uses_counts(file: Path, tmp_path: Path, elaborated: list[str]) -> None:
    before = said(file)
    part = tmp_path / "part.hw"
    part.write_text(PART.replace("cost > 1 USD", "cost > 100 USD"), "utf-8")
    del elaborated[:]
    assert said(file) == cold(file) != before
    assert len(elaborated) == 6


def test_a_slip_in_between_loses_nothing(file: Path, elaborated: list[str]) -> None:
    before, text = said(file), file.read_text("utf-8")
    file.write_text(text + "evaluator {\n", "utf-8")
    assert said(file) == cold(file) == said(file)
    file.write_text(text, "utf-8")
    del elaborated[:]
    assert said(file) == before
    assert not elaborated


def test_a_module_that_comes_to_be_is_found(file: Path, tmp_path: Path) -> None:
    (tmp_path / "part.hw").rename(tmp_path / "other.hw")
    assert "unknown-module" in said(file)[0]
    (tmp_path / "other.hw").rename(tmp_path / "part.hw")
    assert "unknown-module" not in said(file)[0]


@pytest.mark.parametrize("wrong", ["a,a\n1,2\n", "a,[s\n1,2\n", 'a,b\n1,"2\n', "a,b\n1\n"])
def test_a_table_that_is_mended_is_read_again(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "t.hw"
    path.write_text(HEAD + 'use "t.csv" as t\nlet y = t.a[0]\n')
    (tmp_path / "t.csv").write_text(wrong)
    assert said(path) == said(path) == cold(path)
    assert said(path)[0] != "[]"
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert said(path) == cold(path)
    (tmp_path / "t.csv").write_text(wrong)
    assert said(path) == cold(path)


@pytest.mark.parametrize(
    "broken",
    [
        "",
        [],
        {},
        {"key": 1},
        {"evaluators": [{}], "key": ""},
        {"evaluators": 7, "key": 7},
    ],
)
def test_an_entry_that_is_none_is_made_again(file: Path, broken: object) -> None:
    first = said(file)
    name = next((store.folder() / store.FINDINGS.name).iterdir()).name
    store.put(store.FINDINGS, name, broken)
    assert said(file) == first == said(file)


def test_a_bug_that_reads_an_entry_is_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(file)

    def bug(*arguments: object) -> None:
        raise AttributeError("a bug")

    monkeypatch.setattr(artifact.TextReader, "read", bug)
    with pytest.raises(AttributeError, match="a bug"):
        said(file)
    file.write_text(file.read_text("utf-8") + "\nlet more = 1\n", "utf-8")
    with pytest.raises(AttributeError, match="a bug"):  # of the parts
        said(file)


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_edit_is_told_as_with_an_empty_cache(data: st.DataObject, tmp_path: Path) -> None:
    (tmp_path / "part.hw").write_text(PART, "utf-8")
    path = tmp_path / "main.hw"
    for _ in range(3):
        items = data.draw(st.permutations(ITEMS))
        dropped = data.draw(st.lists(st.sampled_from(ITEMS), max_size=1))
        text = HEAD + USE + "\n".join(i for i in items if i not in dropped)
        for old, new in data.draw(st.lists(st.sampled_from(EDITS), max_size=3)):
            text = text.replace(old, new) if new else text.replace("\n", "\n" + old, 3)
        path.write_text(text, "utf-8")
        assert said(path) == cold(path)
