"""Rules of the library by name, with what breaks them: what `hwdsl explain die.reticle` prints.

Input: a dotted name, kind and rule. Output: a page. Rules are found in the text of the library's
modules; examples stand beside them, in `*.toml` files with a `head` and cases.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics.modules import library_root, library_tree
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import range_rule

HOLE = "HERE"
"""What an example's broken or sound part stands for in its text."""


@frozen
class LibraryRule:
    """A rule, the kind it is asked of, and the file, relative to the library, it stands in."""

    name: str
    file: str
    kind: ast.Kind
    rule: ast.Rule


@frozen
class Example:
    """A description that breaks a rule, and its neighbour that does not."""

    broken: str
    sound: str


def rules(name: str = "") -> Iterator[LibraryRule]:
    """All rules of the library's kinds, of ranges of fields too, or those of that name."""
    kind, _, rule = name.partition(".")
    root = library_root()
    for path in sorted(root.rglob("*.hw")):
        text = path.read_text(encoding="utf-8")
        if name and not (f"kind {kind}" in text and f" {rule}" in text):
            continue
        module = library_tree(path, Diagnostics())
        for item in module.items if module is not None else ():
            if not isinstance(item, ast.Kind):
                continue
            for member in item.members:
                stated = range_rule(member) if isinstance(member, ast.Field) else member
                if isinstance(stated, ast.Rule):
                    found = f"{item.name.name}.{stated.name.name}"
                    if found == (name or found):
                        yield LibraryRule(found, path.relative_to(root).as_posix(), item, stated)


def example(name: str) -> Example | None:
    """The first example of a rule, as whole descriptions."""
    for path in sorted(library_root().rglob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for case in data.get("case", ()):
            if case["rule"] == name:
                text = data["templates"].get(case["text"], case["text"]).strip("\n")
                return Example(
                    *(
                        _whole(data["head"], text.replace(HOLE, case[k]))
                        for k in ("broken", "sound")
                    )
                )
    return None


_USE = re.compile(r"use ([\w.]+)(?:: (.*))?")


def _whole(head: str, text: str) -> str:
    """A description: of the lines of `head` that import, those that the text needs."""
    words = set(re.findall(r"(?<![.\w])\w+\b(?!\s*=[^=])", text))  # but for fields
    lines = []
    for line in head.strip("\n").splitlines():
        use = _USE.fullmatch(line)
        if use is not None and use[2] is not None:
            names = [name for name in use[2].split(", ") if name in words]
            line = f"use {use[1]}: {', '.join(names)}" if names else ""
        elif use is not None:
            line = line if words & set(_public(use[1])) else ""
        lines += [line] if line else []
    return "\n".join([*lines, "", text]) + "\n"


def _public(module: str) -> Iterator[str]:
    """The names that a module of the library declares."""
    path = library_root().joinpath(*module.split(".")).with_suffix(".hw")
    tree = library_tree(path, Diagnostics())
    for item in tree.items if tree is not None else ():
        if not isinstance(item, ast.Use | ast.Allow | ast.Display | ast.Basis):
            yield item.name.name


def page(name: str) -> str | None:
    """What there is to say of a rule: place, text, examples; None if there is none."""
    found = list(rules(name))
    if not found:
        return None
    parts = [f"# {name}: a rule of the library"]
    for one in found:
        line, _ = one.rule.span.source.position(one.rule.span.start)
        meaning = "this is unusual, or dear" if one.rule.warns else "what breaks it cannot be built"
        asked = _sentence(one.kind.doc)
        parts.append(f"`{one.file}:{line}`, asked of each `{one.kind.name.name}`: {asked}")
        parts.append(f"{_sentence(one.rule.doc)}\n\n{meaning}:".strip().capitalize())
        parts.append(f"```hw\n    {one.rule.span.text}\n```")
    shown = example(name)
    if shown is not None:
        parts.append(f"## Fails\n\n```hw\n{shown.broken}```")
        parts.append(f"## Fixed\n\n```hw\n{shown.sound}```")
    parts.append(f'To build it all the same: `allow {name} "the reason"`.')
    return "\n\n".join(parts) + "\n"


def _sentence(doc: str) -> str:
    return " ".join(doc.split())
