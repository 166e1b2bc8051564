"""The files that ship, each checked and elaborated once for all tests that look at it.

Tests of one of them have it as `path`, with `ids=name_of`. By these names `conftest.py` puts them
behind one another, so that no more than a file is held.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path

from attrs import define, field

import hwdsl
from hwdsl.api import driver
from hwdsl.api.evaluator import Evaluator, Module, file_of
from hwdsl.api.program import LoadedProgram
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.render import render_text
from hwdsl.codegen.passes import optimise
from hwdsl.elaborate import Callees, Elaboration, check_rules, elaborate, pictures
from hwdsl.elaborate.reached import Reached
from hwdsl.semantics import check, load
from hwdsl.semantics.symbols import Checked

ROOT = Path(__file__).parents[1]
# The prelude is that of the library which is installed: `extern` is an error in any other file.
LIBRARY = sorted(f for f in (ROOT / "library").rglob("*.hw") if f.name != "builtins.hw")
EXAMPLES = sorted((ROOT / "docs" / "examples").rglob("*.hw"))


LARGE = 25_000
"""Operations from which a file is large."""
NOTES: list[Path] = []
"""The folder, once there is one, in which all workers of a run note what files read."""


def name_of(path: Path) -> str:
    """Where a file is in the project."""
    return path.relative_to(ROOT).as_posix()


def asking(paths: Iterable[Path]) -> list[Path]:
    """The files that have evaluators."""
    return [path for path in paths if "evaluator " in path.read_text(encoding="utf-8")]


@cache
def loaded(path: Path) -> Module:
    """A file as who asks it loads it, interpreted."""
    return hwdsl.load(path, compiled=False)


@define(eq=False, slots=False)
class Shipped:
    """A file and, when first asked for, what becomes of it; all as the driver makes it."""

    path: Path
    callees: Callees = field(factory=dict)

    @cached_property
    def checked(self) -> Checked:
        """The checked file, in which nothing is found."""
        diagnostics = Diagnostics()
        program = check(load(self.path, diagnostics), diagnostics)
        assert not diagnostics.items, render_text(diagnostics.items)
        return program

    @cached_property
    def rules(self) -> Diagnostics:
        """What the rules of the file's components say."""
        diagnostics = Diagnostics()
        check_rules(self.checked, diagnostics)
        return diagnostics

    @cached_property
    def _elaborated(self) -> tuple[dict[str, Elaboration], Diagnostics]:
        """The evaluators, all params free; who calls one takes it from `callees`."""
        diagnostics = Diagnostics()
        infos = driver.evaluators(self.checked).items()
        made = {
            name: elaborate(self.checked, info, diagnostics, callees=self.callees, reached=True)
            for name, info in infos
        }
        pictures(self.checked, made, diagnostics)
        assert not diagnostics.failed, render_text(diagnostics.items)
        if NOTES and self.path in LIBRARY:
            reached = [each.reached or Reached(()) for each in made.values()]
            read = sorted(set[str]().union(*(fields(self.path, each) for each in reached)))
            note = _note(self.path)
            fresh = note.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps(read), encoding="utf-8")
            fresh.replace(note)
        return made, diagnostics

    @property
    def operations(self) -> int:
        """How many operations its graphs have, if they are made."""
        made = vars(self).get("_elaborated", ({}, None))[0]
        return sum(len(each.graph.ops) for each in made.values())

    @property
    def elaborations(self) -> dict[str, Elaboration]:
        """The evaluators, elaborated."""
        return self._elaborated[0]

    @property
    def warnings(self) -> Diagnostics:
        """What elaborating them found, and what their figures and tables would show."""
        return self._elaborated[1]

    @cached_property
    def program(self) -> driver.Program:
        """The evaluators with their optimised graphs."""
        graphs = {name: optimise(made.graph) for name, made in self.elaborations.items()}
        return driver.Program(self.checked, self.elaborations, graphs)

    @cached_property
    def evaluators(self) -> dict[str, Evaluator]:
        """The evaluators as they are called, interpreted."""
        main = self.checked.main.tree.source
        file = file_of(self.program, self.rules)
        loaded = LoadedProgram(main, file, self.program)
        return {
            name: Evaluator(
                main, file, name, loaded, driver.interpreter(each.graph), compiled=False
            )
            for name, each in file.evaluators.items()
        }


_HELD: dict[Path, Shipped] = {}


def of(path: Path) -> Shipped:
    """A file that ships; the one before is let go, at once if it is large: a gigabyte in cycles
    would stay for many files more."""
    if path not in _HELD:
        large = any(file.operations > LARGE for file in _HELD.values())
        _HELD.clear()
        if large:
            gc.collect()
        _HELD[path] = Shipped(path)
    return _HELD[path]


# --- what files read -----------------------------------------------------------------------------


def fields(path: Path, reached: Reached) -> set[str]:
    """What was read for a file; a kind of its own has the name that others use it by, though the
    library that is installed may be another copy."""
    own = ".".join(path.relative_to(ROOT / "library").with_suffix("").parts)
    found = set[str]()
    for kind, name in reached.members():
        module, _, last = kind.rpartition(".")
        found.add(f"{own if module == path.stem else module}.{last}.{name}")
    return found


def read_by(path: Path) -> set[str]:
    """The fields that the outputs and rules of a file's evaluators read.

    Whichever worker elaborated the file has noted them; if none has yet, it is done here.
    """
    note = _note(path)
    if not note.exists():
        assert of(path).elaborations
    return set(json.loads(note.read_text(encoding="utf-8")))


def _note(path: Path) -> Path:
    return NOTES[0] / f"{name_of(path).replace('/', '.')}.json"
