"""Every library file and example is sound, documented and says where its numbers come from."""

import csv
from functools import lru_cache
from pathlib import Path

import pytest
import shipped

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.render import render_text
from hwdsl.base.source import Source
from hwdsl.syntax import ast, format_module, parse

ROOT, LIBRARY, EXAMPLES = shipped.ROOT, shipped.LIBRARY, shipped.EXAMPLES


@lru_cache(maxsize=1)
def read(path: Path) -> ast.Module:
    diagnostics = Diagnostics()
    module = parse(Source(shipped.name_of(path), path.read_text(encoding="utf-8")), diagnostics)
    assert not diagnostics.items, render_text(diagnostics.items)
    return module


def test_the_lists_are_not_empty() -> None:
    names = {p.stem for p in LIBRARY}
    assert {"units", "process", "die", "package", "memory", "nvidia", "megatron"} <= names
    assert {p.stem for p in EXAMPLES} >= {"gpt3", "copa", "actors", "split", "fixpoint", "schedule"}


@pytest.mark.parametrize("path", LIBRARY + EXAMPLES, ids=shipped.name_of)
def test_checks_without_a_finding(path: Path) -> None:
    assert shipped.of(path).checked.main.tree.items


@pytest.mark.parametrize("path", LIBRARY, ids=shipped.name_of)
def test_public_names_are_documented(path: Path) -> None:
    module = read(path)
    assert module.edition == 2026
    assert module.doc, f"{path} has no `#!` line"
    bare = [
        item.name.name
        for item in module.items
        if not isinstance(
            item, ast.Use | ast.Let | ast.Allow | ast.Claim | ast.Reference | ast.Sources
        )
        and not item.doc
    ]
    for item in module.items:
        if isinstance(item, ast.Kind):
            bare += [
                f"{item.name.name}.{member.name.name}"
                for member in item.members
                if isinstance(member, ast.Field) and not member.doc
            ]
        if isinstance(item, ast.Evaluator):
            bare += [
                f"{item.name.name}.{member.name.name}"
                for member in item.members
                if isinstance(member, ast.Param | ast.Choice | ast.Output) and not member.doc
            ]
    assert not bare, f"without a `##` line: {bare}"


def columns(name: str) -> tuple[list[str], list[list[str]]]:
    path = ROOT / "library" / "studies" / f"{name}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")]
    return rows[0], rows[1:]


# What neither table states: the defaults of the evaluator hold for every row.
UNSTATED = {"sharding", "bytes_per_gradient"}


@pytest.mark.parametrize("table", ["megatron", "vtrain"])
def test_tables_fit_their_evaluator(table: str) -> None:
    header, rows = columns(table)
    assert len(rows) >= 10
    module = read(ROOT / "library" / "studies" / "megatron.hw")
    evaluator = next(item for item in module.items if isinstance(item, ast.Evaluator))
    free = {m.name.name for m in evaluator.members if isinstance(m, ast.Param | ast.Choice)}
    names = {title.partition("[")[0].strip() for title in header}
    assert names - {"case", "measured"} == free - UNSTATED
    assert len({row[0] for row in rows}) == len(rows), "two cases share a name"
    assert all(float(row[-1]) > 0 for row in rows)


@pytest.mark.parametrize("path", LIBRARY + EXAMPLES, ids=shipped.name_of)
def test_is_formatted(path: Path) -> None:
    assert format_module(read(path)) == path.read_text(encoding="utf-8")
