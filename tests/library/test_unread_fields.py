"""Fields of the library that no evaluator of it reads: none, or each listed with the reason.

`unread_fields.toml` lists them, and for files that take long to elaborate the fields that these
alone read.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import shipped

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.elaborate import reached_in_all
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import KindInfo

LISTED = tomllib.loads(Path(__file__).with_name("unread_fields.toml").read_text(encoding="utf-8"))
LONG = {shipped.ROOT / "library" / f"{name}.hw": fields for name, fields in LISTED["long"].items()}
UNREAD = {
    f"{kind}.{field}"
    for each in LISTED["unread"]
    for kind, fields in each["fields"].items()
    for field in fields
}


def declared() -> set[str]:
    """All fields and parts that kinds of the library declare."""
    names = [p.relative_to(shipped.ROOT / "library").with_suffix("") for p in shipped.LIBRARY]
    uses = [f"use {'.'.join(name.parts)} as m{i}\n" for i, name in enumerate(names)]
    text = Source("all.hw", "edition 2026\n" + "".join(uses))
    program = check(load(text, Diagnostics()), Diagnostics())
    found: set[str] = set()
    for scope in program.modules.values():
        for kind in scope.types.values():
            if isinstance(kind, KindInfo) and kind.decl is not None:
                program.ensure(kind)
                members = [m for m in kind.members.values() if m.role in ("field", "part")]
                found |= {f"{kind.qualified}.{m.name}" for m in members if m.owner is kind}
    return found


def read_by(path: Path) -> set[str]:
    """What the outputs and rules of a file's evaluators read."""
    behind = path.relative_to(shipped.ROOT / "library").with_suffix("").as_posix()
    if behind not in LISTED["behind_unknown"]:
        return shipped.read_by(path)
    checked, read = driver.check(path, Diagnostics()), set[str]()
    assert checked is not None
    for info in driver.evaluators(checked).values():
        read |= shipped.fields(path, reached_in_all(checked, info, Diagnostics()))
    return read


def test_fields_that_no_evaluator_reads_are_listed_with_reasons() -> None:
    read = {field for fields in LISTED["long"].values() for field in fields}
    for path in shipped.asking(shipped.LIBRARY):
        if path not in LONG:
            read |= read_by(path)
    unread = declared() - read
    new, gone = sorted(unread - UNREAD), sorted(UNREAD - unread)
    said = f"ask for these, remove or list them: {new}; read or removed: {gone}"
    assert (new, gone) == ([], []), said
    assert all(each["why"] for each in LISTED["unread"])


@pytest.mark.parametrize("path", LONG, ids=shipped.name_of)
def test_long_files_read_what_they_alone_read(path: Path) -> None:
    assert sorted(set(LONG[path]) - shipped.read_by(path)) == []
