"""Loading what is compared, its reference, and comparing numbers, results and sweeps with it."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import hwdsl
from hwdsl.api import interface
from hwdsl.api.evaluator import DescriptionError, Evaluator
from hwdsl.base.diagnostics import Diagnostics, Severity
from hwdsl.codegen import runtime
from hwdsl.codegen.ir.graph import Graph
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.elaborate import Elaboration, elaborate

from . import points
from .programs import MAIN

IMPLIED = frozenset(
    ["index-out-of-range", "empty-list", "outside-range", "not-whole", "not-settled"]
)
SIZES = frozenset(["too-large", "int-too-large"])
TEXTS = 2  # texts tried for each param and point


@dataclass(frozen=True)
class Finding:
    """Two ways that disagree, at a point."""

    program: str
    evaluator: str
    way: str
    point: Mapping[str, Any]
    said: str

    def __str__(self) -> str:
        return f"{self.program} {self.evaluator} [{self.way}] at {dict(self.point)}: {self.said}"


@dataclass
class Subject:
    """An evaluator of a program with its points, and what the reference says of each."""

    program: str
    name: str
    cold: Evaluator
    warm: Evaluator
    elaboration: Elaboration
    spec: runtime.Spec
    given: list[dict[str, Any]]
    bases: list[list[float]] = field(default_factory=list)
    expected: list[runtime.Result] = field(default_factory=list)
    known: frozenset[str] = frozenset()  # warnings that hold at every point

    @property
    def graph(self) -> Graph:
        return self.cold.graph


def bits(number: float) -> bytes:
    """What makes two numbers the same: their bits, all NaNs being one."""
    return b"nan" if number != number else struct.pack(">d", number)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, str | None) or isinstance(b, str | None):
        return (a or "") == (b or "")  # no case: None at a point, and in a column of texts ""
    return bits(float(a)) == bits(float(b))


def short(name: str) -> str:
    return name.rpartition(".")[2]


class Comparison:
    """Compares with the reference; keeps what disagrees."""

    def __init__(
        self, folder: Path, count: int, seed: int = 0, at: Mapping[str, Any] | None = None
    ) -> None:
        self.folder, self.count, self.seed, self.at = folder, count, seed, at
        self.findings: list[Finding] = []
        self.points = self.evaluators = self.skipped = self.compared = 0
        self.repaired: dict[str, dict[str, str]] = {}

    def say(self, s: Subject, way: str, at: int | None, said: str) -> None:
        point = s.given[at] if at is not None else {}
        self.findings.append(Finding(s.program, s.name, way, point, said))

    @contextmanager
    def asked(self, s: Subject, way: str, at: int | None = None) -> Iterator[None]:
        """Whatever a way raises is a disagreement."""
        try:
            yield
        except Exception as error:
            self.say(s, way, at, f"raises {type(error).__name__}: {str(error)[:300]}")

    # --- loading --------------------------------------------------------------------------------

    def subjects(self, name: str, files: Mapping[str, str]) -> list[Subject]:
        """The evaluators of a program; none if its file is wrong."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        cold = self.loaded(name, folder, dict(files))
        if cold is None:
            self.skipped += 1
            return []
        here = Path.cwd()
        os.chdir(folder)
        try:  # as in a notebook: loaded by a relative path, and then the directory changes
            warm = hwdsl.load(MAIN, compiled=False)
        finally:
            os.chdir(here)
        random, found = Random(f"{self.seed} {name}"), []
        program = cold._program.program
        assert program is not None  # it was not loaded before
        for key, evaluator in cold.evaluators.items():
            given = [points.point(evaluator.spec, random) for _ in range(self.count)]
            if self.at is not None:
                given = [{**g, **{n: v for n, v in self.at.items() if n in g}} for g in given]
            spec = interface.evaluator_specs(program)[key]
            alone = Diagnostics()
            elaborate(evaluator.checked, evaluator.info, alone)
            known = frozenset(d.name for d in alone.items if d.severity is Severity.WARNING)
            s = Subject(name, key, evaluator, warm.evaluators[key], program.elaborations[key],
                        spec, given, known=known)  # fmt: skip
            self.reference(s)
            if s.expected:
                found.append(s)
        return found

    def loaded(self, name: str, folder: Path, files: dict[str, str]) -> hwdsl.Module | None:
        """The program, rules that can never hold made warnings; None if it is wrong otherwise."""
        for _ in range(6):
            for file, text in files.items():
                (folder / file).write_text(text, "utf-8")
            try:
                found = hwdsl.load(folder / MAIN, compiled=False)
                self.repaired[name] = files
                return found
            except DescriptionError as error:
                failed = [
                    short(d.name) for d in error.diagnostics.items if d.severity is Severity.ERROR
                ]
                for rule in failed:
                    files[MAIN] = files[MAIN].replace(f"require {rule}:", f"warn {rule}:")
                if not all(rule.startswith("rule") for rule in failed):
                    return None
            except Exception as error:
                said = f"raises {type(error).__name__}: {str(error)[:300]}"
                self.findings.append(Finding(name, "", "load", {}, said))
                self.repaired[name] = files
                return None
        return None

    def reference(self, s: Subject) -> None:
        """The interpreter on the graph before any pass, with every param free."""
        with self.asked(s, "reference"):
            graph = s.elaboration.graph
            names = [n for n, _ in graph.outputs]
            for given in s.given:
                base = s.cold._point(given)
                found = interpret(graph, base)
                words = [int(w) for w in found.rules.reshape(-1)]
                outputs = [float(found.outputs[n]) for n in names]
                s.bases.append(base)
                s.expected.append(runtime.Result(s.cold.spec, base, outputs, words))
            self.evaluators += 1
            self.points += len(s.given)
            return
        s.expected.clear()

    # --- comparing ------------------------------------------------------------------------------

    def numbers(self, s: Subject, way: str, at: int, got: Sequence[float],
                words: Sequence[int] | None = None) -> None:  # fmt: skip
        """Outputs in base units, and words of rule bits."""
        self.compared += 1
        expected = s.expected[at]
        for output, a, b in zip(s.spec.outputs, got, expected._outputs, strict=True):
            if not same(a, b):
                self.say(s, way, at, f"{output.name} is {a!r}, not {b!r}")
                return
        if words is not None and [int(w) for w in words] != list(expected._words):
            found = runtime.Result(
                s.cold.spec, expected._values, list(got), [int(w) for w in words]
            )
            self.say(s, way, at, f"breaks {found.violations}, not {expected.violations}")

    def result(self, s: Subject, way: str, at: int, got: Any) -> None:
        """A result as a user reads it; its class may be the compiled module's own."""
        self.compared += 1
        expected = s.expected[at]
        for output in s.spec.outputs:
            for kind, a, b in (
                ("", got[output.name], expected[output.name]),
                ("raw ", got.raw[output.name], expected.raw[output.name]),
            ):
                if not same(a, b):
                    self.say(s, way, at, f"{kind}{output.name} is {a!r}, not {b!r}")
                    return
        if got.violations != expected.violations:
            self.say(s, way, at, f"breaks {got.violations}, not {expected.violations}")
        if got.feasible is not expected.feasible:
            self.say(s, way, at, f"feasible is {got.feasible}, not {expected.feasible}")

    def swept(self, s: Subject, way: str, sweep: Any) -> None:
        """A sweep over all points, one beside the other."""
        if not s.spec.params:
            return  # one point, which is asked otherwise
        columns = {o.name: sweep.column(o.name) for o in s.spec.outputs}
        raw = {o.name: sweep.raw.column(o.name) for o in s.spec.outputs}
        feasible = sweep.feasible.reshape(-1)
        for at, expected in enumerate(s.expected):
            self.compared += 1
            for name, column in columns.items():
                if not same(column[at], expected[name]):
                    self.say(s, way, at, f"{name} is {column[at]!r}, not {expected[name]!r}")
                    break
                if not same(raw[name][at], expected.raw[name]):
                    wrong = f"raw {name} is {raw[name][at]!r}, not {expected.raw[name]!r}"
                    self.say(s, way, at, wrong)
                    break
            if [int(w) for w in sweep.words[at]] != list(expected._words):
                self.say(s, way, at, f"breaks {sweep[at].violations}, not {expected.violations}")
            if bool(feasible[at]) is not expected.feasible:
                self.say(s, way, at, f"feasible is {feasible[at]}, not {expected.feasible}")

    def implied(self, s: Subject, at: int) -> bool:
        """Whether a point breaks a rule of the language itself."""
        return any(short(v) in IMPLIED for v in s.expected[at].violations)


def attempt(what: Callable[[], Any]) -> Any:
    """The value, or None where a ValueError says that there is none."""
    try:
        return what()
    except ValueError:
        return None
