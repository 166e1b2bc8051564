"""Identifiers between backticks in the library's comments and texts are declared.

A file knows the names that stand in its code and in the code of the modules that it uses, those of
the language and its units, and the modules of the library. Checked code contains no other names.
"""

import re
from collections.abc import Set
from functools import cache
from pathlib import Path

import pytest

from hwdsl.help.words import words
from hwdsl.semantics.builtins import declarations
from hwdsl.semantics.modules import PRELUDE

LIBRARY = Path(__file__).parents[2] / "library"
FILES = {f"{path.parent.name}.{path.stem}": path for path in sorted(LIBRARY.glob("*/*.hw"))}
# Texts in quotes, and comments with the comments on the lines after them.
SAID = re.compile(r'"(?:[^"\\]|\\.)*"|(?:#[^\n]*(?:\n[ \t]*(?=#))?)+')
# Instructions, commands, functions and columns that belong to other programs.
FOREIGN = frozenset([
    "add", "bin_size_64", "calc_mtbf_cluster", "cross_entropy", "hl-smi",
    "initialize_model_parallel", "mma.sync", "num_sms", "nvidia-smi", "rocm-smi", "tcgen05.mma",
    "topo", "wgmma.mma_async",
])  # fmt: skip
# Names that a comment declares itself, in an example of what it describes.
EXAMPLES = {"std.distributions": {"x"}, "std.math": {"of", "square_root"}}


@cache
def code(module: str) -> frozenset[str]:
    """The names in the code of a module."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", SAID.sub(" ", read(module))))


def read(module: str) -> str:
    return FILES[module].read_text(encoding="utf-8")


def known(module: str) -> Set[str]:
    """The names that the texts of a module may use."""
    folder = module.partition(".")[0]
    used = re.findall(r"^use ([\w.]+)", read(module), re.MULTILINE)
    used = [m if m in FILES else f"{folder}.{m}" for m in used]
    names = {*words(), *declarations(), *EXAMPLES.get(module, ())}
    return names.union(*(code(m) for m in (module, PRELUDE, *used)))


def undeclared(text: str, names: Set[str]) -> list[str]:
    """What stands between backticks in comments and texts of `text` and is none of `names`."""
    found = []
    for said in SAID.findall(text):
        line = re.sub(r"\n[ \t]*#+!? ?", " ", said)
        for quoted in re.findall(r"`([^`]+)`", line):
            for word in re.sub(r"\{[^}]*\}", " ", quoted).split():
                if word not in FOREIGN and word not in FILES:
                    found += [n for n in re.findall(r"\b[A-Za-z_]\w*", word) if n not in names]
    return found


@pytest.mark.parametrize("module", FILES)
def test_names_in_comments_and_texts_are_declared(module: str) -> None:
    assert not undeclared(read(module), known(module))


def test_a_name_that_is_not_declared_is_found() -> None:
    text = "rate : real # is `rat`\n## of `std.link`, `rate` and\n## `nvidia-smi\n## no_such`\n"
    assert undeclared(text + 'else "set `{rate} * time_of`"', {"rate"}) == [
        "rat",
        "no_such",
        "time_of",
    ]


def test_foreign_names_are_in_use() -> None:
    texts = " ".join(read(module) for module in FILES)
    assert not [name for name in FOREIGN if name not in texts]
