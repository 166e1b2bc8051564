"""One evaluator at one point, in every way there is to ask.

`judge` takes programs and gives the disagreements. What is compared with the reference, which is
the interpreter on the graph before any pass, all params free:

==============  ===================================================================================
outputs         calls of a loaded evaluator, cold and warm, by numbers and by texts with units
rule bits       `violations` of these, of the sweep, of the compiled module, of `violated_rules`
feasibility     `feasible` of results, sweeps and calls
why             the value of each output's derivation, cold, and warm after a change of directory
verify          what claims on each output compute, params as literals
called          each output and `feasible` of a call from another evaluator, params passed on
fixed           params known when it is elaborated: all, or some
sweep           all points at once, compiled and interpreted
interpreter     the optimised graph, point by point
kernel          the compiled graph, point by point
folder          the module that `compile -o` writes: numbers, texts, sweep
==============  ===================================================================================

Numbers are compared by their bits, all NaNs being one. Left out are, with reasons:

- where a rule of the language is broken (`IMPLIED`), ways that know the params have an error
  instead of a value: there the error is compared with the rule bit, and numbers are not;
- an int beyond 2^53 is an error where it is known and rounds as reals do where it is not, and
  sizes of what is written out are refused by what is known (`SIZES`): documented;
- where some params are known and others are not, both arms of an `if` are looked at: what is known
  to be wrong in one that is not taken is an error;
- rules of a call are not rules of who calls: they are compared through its `feasible`.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from zlib import crc32

from hwdsl.api import driver
from hwdsl.api.evaluator import Evaluator
from hwdsl.base.diagnostics import Diagnostics, Severity
from hwdsl.base.source import Source
from hwdsl.codegen import runtime
from hwdsl.codegen.build import ahead_of_time
from hwdsl.codegen.build.literals import literal
from hwdsl.codegen.build.toolchain import build
from hwdsl.codegen.ir.graph import Graph
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.passes import optimise
from hwdsl.elaborate import Elaboration, elaborate, verify
from hwdsl.elaborate.quantities import coherent_unit
from hwdsl.semantics.symbols import ClaimInfo, EnumType, EvaluatorInfo, ListType
from hwdsl.syntax import ast

from . import points
from .comparing import (
    IMPLIED,
    SIZES,
    TEXTS,
    Comparison,
    Finding,
    Subject,
    attempt,
    bits,
    same,
    short,
)
from .programs import MAIN


class Judge(Comparison):
    """All ways of asking, each compared with the reference."""

    # --- ways without a compiler ----------------------------------------------------------------

    def interpreted(self, s: Subject) -> None:
        """Calls, cold and warm; the optimised graph; the sweep; `why`; violated rules."""
        optimised = driver.interpreter(s.graph)
        for at, (given, base) in enumerate(zip(s.given, s.bases, strict=True)):
            with self.asked(s, "interpreter", at):
                self.numbers(s, "interpreter", at, *optimised.point(base))
            with self.asked(s, "outputs", at):
                self.result(s, "outputs", at, s.cold(given))
            with self.asked(s, "outputs, warm", at):
                self.result(s, "outputs, warm", at, s.warm(given))
            with self.asked(s, "outputs, texts", at):
                self.result(s, "outputs, texts", at, s.cold(self.spelt(s, at)))
            self.why(s, at)
        with self.asked(s, "sweep, interpreted"):
            self.swept(s, "sweep, interpreted", s.cold.sweep(self.columns(s), mode="zip"))

    def spelt(self, s: Subject, at: int) -> dict[str, Any]:
        """The point by texts, where a text says the same number as the point does."""
        found = {}
        for p, base in zip(s.cold.spec.params, s.bases[at], strict=True):
            given = s.given[at][p.name]
            text = points.as_text(p, given)
            if isinstance(given, float) and math.isinf(given):
                text = given
            elif isinstance(text, str) and p.scale.unit and s.cold.base(p, text) != base:
                text = given  # a number is multiplied by its unit, a text is read exactly
            found[p.name] = text
        return found

    def columns(self, s: Subject) -> dict[str, list[Any]]:
        return {p.name: [g[p.name] for g in s.given] for p in s.spec.params}

    def why(self, s: Subject, at: int) -> None:
        """The value of each derivation, and the names of the rules that are broken."""
        for way, evaluator in (("why", s.cold), ("why, warm", s.warm))[: 1 if at else 2]:
            with self.asked(s, way, at):
                found = evaluator.derivations([], s.given[at])
                self.numbers(s, way, at, [found[o.name].value for o in s.spec.outputs])
            with self.asked(s, f"violated_rules, {way}", at):
                names = [name for name, _, _ in evaluator.violated_rules(s.given[at])]
                if names != s.expected[at].violations:
                    self.say(
                        s, f"violated_rules, {way}", at, f"{names}, not {s.expected[at].violations}"
                    )

    # --- params that are known ------------------------------------------------------------------

    def fixed(self, s: Subject) -> None:
        """Elaborated with all params known, and with some of them."""
        names = [p.name for p in s.spec.params]
        for at, base in enumerate(s.bases):
            whole = dict(zip(names, base, strict=True))
            some = {n: v for n, v in whole.items() if crc32(f"{n} {s.given[at]}".encode()) % 2}
            for way, known in (("fixed", whole), ("fixed, some", some)):
                with self.asked(s, way, at):
                    self.known(s, way, at, known, whole)

    def known(self, s: Subject, way: str, at: int, known: Mapping[str, float],
              whole: Mapping[str, float]) -> None:  # fmt: skip
        diagnostics = Diagnostics()
        made = elaborate(s.cold.checked, s.cold.info, diagnostics, known)
        told = {d.name for d in diagnostics.items if d.severity is not Severity.NOTE}
        if told & SIZES:
            return
        errors = {d.name for d in diagnostics.items if d.severity is Severity.ERROR}
        rest = [whole[p.name] for p in made.graph.params]
        broken = {short(v) for v in s.expected[at].violations}
        failed = {n for n in errors if "." not in n}
        if failed:
            if not failed <= broken and len(known) == len(whole):
                self.say(s, way, at, f"fails by {sorted(failed)}, and breaks {sorted(broken)}")
            return
        graph = optimise(made.graph) if rest else made.graph  # nothing is left to optimise
        found = interpret(graph, rest)
        if len(graph.outputs) == len(s.spec.outputs) and not self.implied(s, at):
            self.numbers(s, way, at, [float(found.outputs[n]) for n, _ in graph.outputs])
        set_ = [r.name for i, r in enumerate(made.rules)
                if int(found.rules.reshape(-1)[i // 64]) >> i % 64 & 1]  # fmt: skip
        rules = {short(r.name) for r in s.elaboration.rules} | IMPLIED | {"outside-table"}
        got = {short(n) for n in (*set_, *told)} & rules
        said = broken | {short(n) for n in s.known}  # the file is warned of, wherever it goes
        if not broken & rules <= got <= said & rules:
            self.say(s, way, at, f"breaks {sorted(got)}, not {sorted(broken & rules)}")

    # --- calls and claims -----------------------------------------------------------------------

    def called(self, name: str, subjects: Sequence[Subject]) -> None:
        """Evaluators that call the program's, and claims on each point, in the same file."""
        lines = [(self.folder / name / MAIN).read_text("utf-8")]
        for k, s in enumerate(subjects):
            lines.append(self.caller(k, s))
            lines += [self.claim(k, s, at) for at in range(len(s.given))]
        source = Source(str(self.folder / name / MAIN), "\n".join(lines) + "\n")
        first = subjects[0]
        with self.asked(first, "called"):
            diagnostics = Diagnostics()
            checked = driver.check(source, diagnostics)
            if checked is None or diagnostics.failed:
                said = [
                    (d.name, d.message) for d in diagnostics.items if d.severity is Severity.ERROR
                ]
                self.say(first, "called", None, f"does not check: {said[:2]}")
                return
            for k, s in enumerate(subjects):
                caller, claims = checked.main.values[f"law_call{k}"], Diagnostics()
                assert isinstance(caller, EvaluatorInfo)
                with self.asked(s, "called"):
                    self.passed_on(s, elaborate(checked, caller, claims))
                for at in range(len(s.given)):
                    claim = checked.main.values[f"law_claim{k}_{at}"]
                    assert isinstance(claim, ClaimInfo)
                    with self.asked(s, "verify", at):
                        self.verified(s, at, verify(checked, claim, Diagnostics()))

    def caller(self, k: int, s: Subject) -> str:
        """An evaluator with the same params that hands them on."""
        nodes = [m for m in s.cold.info.decl.members if isinstance(m, ast.Param | ast.Choice)]
        given = ", ".join(f"{n.name.name} = {n.name.name}" for n in nodes)
        outputs = [f"output law_{o} = law_result.{o}" for o in s.cold.info.outputs]
        lines = [*(n.span.text for n in nodes), f"let law_result = {s.name}({given})", *outputs,
                 "output law_feasible : bool = law_result.feasible"]  # fmt: skip
        return f"evaluator law_call{k} {{\n" + "\n".join(lines) + "\n}"

    def passed_on(self, s: Subject, made: Elaboration) -> None:
        graph = optimise(made.graph)
        for at, base in enumerate(s.bases):
            point = {p.name: v for p, v in zip(s.spec.params, base, strict=True)}
            found = interpret(graph, [point[p.name] for p in graph.params])
            *outputs, feasible = [float(found.outputs[n]) for n, _ in graph.outputs]
            if not self.implied(s, at):
                self.numbers(s, "called", at, outputs)
            if bool(feasible) is not s.expected[at].feasible:
                self.say(s, "called", at, f"feasible is {feasible}, not {s.expected[at].feasible}")

    def claim(self, k: int, s: Subject, at: int) -> str:
        """A claim on every output at a point, its params written as literals."""
        given = ", ".join(
            f"{p.name} = {self.literal(s, p, base)}"
            for p, base in zip(s.spec.params, s.bases[at], strict=True)
        )
        lines = ['source "law"', f"let law_r = {s.name}({given})"]
        lines += [f"expect {e} == {e}" for e in self.readings(s)]
        return (
            f"claim law_claim{k}_{at} {{\n" + "\n".join([*lines, "expect law_r.feasible"]) + "\n}"
        )

    def readings(self, s: Subject) -> list[str]:
        """An expression for each number that the outputs are."""
        found = []
        for name, type_ in s.cold.info.outputs.items():
            size = sum(o.name.partition(".")[0] == name for o in s.spec.outputs)
            listed = isinstance(type_, ListType)
            found += [f"law_r.{name}[{i}]" for i in range(size)] if listed else [f"law_r.{name}"]
        return found

    def literal(self, s: Subject, p: runtime.ParamSpec, base: float) -> str:
        info = next(i for i in s.elaboration.params if i.name == p.name)
        if p.kind == "choice":
            type_ = s.cold.info.free[p.name]
            label = p.labels[int(base)]
            return f"{type_.enum.name}.{label}" if isinstance(type_, EnumType) else label
        if p.kind == "bool":
            return "true" if base else "false"
        if p.kind == "int":
            return f"({int(base)})"
        return points.literal(base, coherent_unit(info.dim, s.cold.info.scope).name)

    def verified(self, s: Subject, at: int, verdicts: Sequence[Any]) -> None:
        *numbers, feasible = verdicts
        if not self.implied(s, at):
            got = [math.nan if v.got is None else v.got for v in numbers]
            missing = [v.note for v in numbers if v.got is None]
            if any("2^53" in note for note in missing):
                return
            if missing:
                self.say(s, "verify", at, f"no value: {missing[0][:200]}")
            else:
                self.numbers(s, "verify", at, got)
            if feasible.ok is not s.expected[at].feasible:
                self.say(
                    s, "verify", at, f"feasible is {feasible.ok}, not {s.expected[at].feasible}"
                )

    # --- compiled -------------------------------------------------------------------------------

    def compiled(self, subjects: Sequence[Subject]) -> None:
        """Kernels and the folder of `compile -o`, of many evaluators at once: gcc is asked once."""
        graphs = {f"s{i}": s.graph for i, s in enumerate(subjects)}
        sent: dict[str, runtime.Spec] = {}
        samplers: dict[str, Graph] = {}
        for key, s in zip(graphs, subjects, strict=True):
            renamed = replace(s.spec, name=key)
            with self.asked(s, "folder"):
                literal(renamed)
                sent[key] = renamed
            if key in sent and s.elaboration.sampler is not None:
                samplers[key] = s.elaboration.sampler
        if not graphs:
            return
        whole = {k: g for k, g in graphs.items() if k in sent}
        folder = self.folder / "module"
        made = ahead_of_time.package("law_module", whole, sent, samplers)
        ahead_of_time.write_module(folder, made)
        module = None
        with self.asked(subjects[0], "folder"):  # what it raises may be the doing of any of them
            module = imported(folder / "law_module.py")
        left = {k: g for k, g in graphs.items() if k not in sent}
        built = build({**whole, **{f"{k}~": g for k, g in samplers.items()}})
        kernels = {**built, **(build(left) if left else {})}
        for key, s in zip(graphs, subjects, strict=True):
            self.kernel(s, kernels[key])
            if key in sent and module is not None:
                self.module(s, getattr(module, key))

    def kernel(self, s: Subject, kernel: runtime.Kernel) -> None:
        for at, base in enumerate(s.bases):
            with self.asked(s, "kernel", at):
                self.numbers(s, "kernel", at, *kernel.point(base))
        with self.asked(s, "sweep"):
            cold = s.cold
            built = Evaluator(
                cold._main, cold._file, cold.name, cold._program, kernel, compiled=True
            )
            self.swept(s, "sweep", built.sweep(self.columns(s), mode="zip"))

    def module(self, s: Subject, evaluator: Any) -> None:
        """The compiled module: it has no part of the language, and reads texts all the same."""
        for at, given in enumerate(s.given):
            with self.asked(s, "folder", at):
                self.result(s, "folder", at, evaluator(given))
            with self.asked(s, "folder, texts", at):
                self.result(s, "folder, texts", at, evaluator(self.spelt(s, at)))
            random = Random(f"{self.seed} {s.program} {at}")
            for p in s.cold.spec.params:
                if p.kind in ("real", "int"):
                    for text in points.texts(p, random, TEXTS):
                        with self.asked(s, "folder, numbers as texts", at):
                            self.text(s, at, p, text, evaluator)
        with self.asked(s, "folder, defaults"):
            self.defaults(s, evaluator)
        with self.asked(s, "folder, sweep"):
            self.swept(s, "folder, sweep", evaluator.sweep(self.columns(s), mode="zip"))

    def text(self, s: Subject, at: int, p: runtime.ParamSpec, text: str, evaluator: Any) -> None:
        """One text read by the language and by the compiled module."""
        self.compared += 1
        ours = attempt(lambda: s.cold.base(p, text))
        theirs = attempt(lambda: evaluator.base(evaluator.param(p.name), text))
        if (ours is None) is not (theirs is None) or (
            ours is not None and theirs is not None and bits(ours) != bits(theirs)
        ):
            self.say(
                s, "folder, numbers as texts", at, f"{p.name}={text!r} is {theirs}, not {ours}"
            )

    def defaults(self, s: Subject, evaluator: Any) -> None:
        """What is left out: both have the same defaults, or both want a value."""
        ours, theirs = attempt(s.cold), attempt(evaluator)
        if (ours is None) is not (theirs is None):
            self.say(s, "folder, defaults", None, f"{theirs}, not {ours}")
        elif ours is not None:
            for o in s.spec.outputs:
                if not same(ours[o.name], theirs[o.name]):
                    self.say(s, "folder, defaults", None, f"{theirs}, not {ours}")
                    return


def imported(path: Path) -> ModuleType:
    """A compiled module under a name of its own."""
    name = f"law_module_{abs(hash(str(path)))}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def judge(
    programs: Mapping[str, Mapping[str, str]], folder: Path, *, points: int, seed: int = 0,
    compiled: bool = True, at: Mapping[str, Any] | None = None,
) -> Judge:  # fmt: skip
    """Compare all ways at some points of each evaluator of the programs; with `at`, at that one."""
    found = Judge(folder, points, seed, at)
    every: list[Subject] = []
    for name, files in programs.items():
        subjects = found.subjects(name, files)
        for s in subjects:
            found.interpreted(s)
            found.fixed(s)
        if subjects:
            found.called(name, subjects)
        every += subjects
    if compiled:
        found.compiled(every)
    return found


__all__ = ["Finding", "Judge", "judge"]
