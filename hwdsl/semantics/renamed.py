"""What the library called its modules, and what they declare, before they were renamed.

`library/renamed.tsv` has a line for each old name. It is read where a name is unknown, to say what
to write instead: no old name means anything by itself (decision 22).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from hwdsl.base.fingerprint import package_folder


def new_module(old: str) -> str | None:
    """What a module or a folder of the library is called now; None if it was never renamed."""
    new = _names().get(("", old))
    while new is not None and ("", new) in _names():  # renamed more than once
        new = _names()["", new]
    return new


def new_name(module: str, old: str) -> str | None:
    """What a module, by the name it has now, calls what it once declared as `old`."""
    return _names().get((module, old))


@cache
def _names() -> Mapping[tuple[str, str], str]:
    """New names by the module that declares them and the old name; modules by "" and theirs."""
    text = (package_folder("hwdsl.library") / "renamed.tsv").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines()[1:]]
    now = {old: new for sort, _, old, new in lines if sort == "module"}
    folders = {old.partition(".")[0]: new.partition(".")[0] for old, new in now.items()}
    found = {("", old): new for old, new in folders.items() if old != new} | {
        ("", old): new for old, new in now.items()
    }
    # A line was written when its module had its old name or its new one.
    found.update({(now.get(scope, scope), old): new for sort, scope, old, new in lines if scope})
    return found
