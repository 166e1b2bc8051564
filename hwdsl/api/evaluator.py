"""What a user holds in Python: modules with evaluators.

Input: a path. Output: a `Module` with the file's evaluators as attributes. Calling and sweeping are
the runtime's (`hwdsl.codegen.runtime`), which knows numbers only; here are added the units of the
language, derivatives and derivations.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field

from hwdsl.api import driver
from hwdsl.api import evaluator_artifact as kept
from hwdsl.api.evaluator_artifact import CachedEvaluator, CachedModule
from hwdsl.api.interface import evaluator_spec
from hwdsl.api.program import LoadedProgram
from hwdsl.api.quantities import scales
from hwdsl.api.violated_rules import ViolatedRule, violated_rules
from hwdsl.base import render
from hwdsl.base.diagnostics import Diagnostics, did_you_mean
from hwdsl.base.source import Source
from hwdsl.codegen import runtime
from hwdsl.codegen.ir.graph import count_operations
from hwdsl.codegen.ir.serialization import encode
from hwdsl.codegen.ir.verifier import GraphError
from hwdsl.codegen.runtime import CallError, Result, Sweep

if TYPE_CHECKING:
    from hwdsl.codegen.ir.graph import Graph
    from hwdsl.elaborate import Elaboration
    from hwdsl.explain.explanation import Explanation
    from hwdsl.explain.sensitivity import Sensitivity
    from hwdsl.semantics.symbols import Checked, EvaluatorInfo

__all__ = [
    "CallError",
    "DescriptionError",
    "Evaluator",
    "Module",
    "Result",
    "Sweep",
    "load",
]


FARTHEST = 1000
"""Steps from a whole number to which a neighbour is looked for that can be built."""


class DescriptionError(ValueError):
    """A file that cannot be loaded; the message shows its diagnostics."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__(render.render_text(diagnostics.items))
        self.diagnostics = diagnostics


class Evaluator(runtime.KernelEvaluator):
    """A question with free params: call it with values, sweep it, ask why.

    Params are given by name: as keywords, or in a mapping behind the other arguments, where any
    name can stand. A plain number is in the param's unit, a text such as `"4.8 TB/s"` or
    a quantity of pint in its own; what is left out takes its default. What does not fit is a
    `CallError`, a `ValueError` that names the param, its unit and its range.
    """

    def __init__(
        self,
        main: Source,
        file: CachedModule,
        name: str,
        program: LoadedProgram,
        kernel: runtime.Kernel,
        *,
        compiled: bool | None,
    ) -> None:
        self._main, self._how = main, compiled
        self._file, self._kept, self._program = file, file.evaluators[name], program
        self._gradients: dict[tuple[str, tuple[str, ...]], Graph] = {}
        super().__init__(self._kept.spec, kernel, lambda: file.scales, self._drawing)

    def __reduce__(self) -> tuple[Any, ...]:
        # By content: the graph, the units, the text of the file. A process that has the same cache
        # finds the kernel there.
        own = CachedModule({self.name: evolve(self._kept)}, self._file.scales, self._file.doc, ())
        return _unpickled, (self._main, own, self.name, self._how)

    def _content(self) -> tuple[object, ...]:
        return type(self), self._kept

    @property
    def name(self) -> str:
        """The name in the file."""
        return self.spec.name

    @property
    def compiled(self) -> bool:
        """Whether a compiled kernel runs, and not the interpreter."""
        return isinstance(self.kernel, runtime.CompiledKernel)

    @property
    def graph(self) -> Graph:
        """What is calculated, optimised."""
        return self._kept.graph

    @property
    def checked(self) -> Checked:
        """The checked file; read again if the evaluator came from the cache."""
        return self._program.checked

    @property
    def info(self) -> EvaluatorInfo:
        """What the checker says of the evaluator."""
        return driver.evaluators(self.checked)[self.name]

    @property
    def elaboration(self) -> Elaboration:
        """What the elaboration says of it; made again if the evaluator came from the cache."""
        return self._program.elaboration(self.name)

    @cached_property
    def _sampler(self) -> runtime.Kernel:
        assert self._kept.sampler is not None  # some param has a distribution
        graphs = {self.name: self._kept.sampler}
        return driver.kernels(graphs, compiled=self._how)[0][self.name]

    def _drawing(self) -> runtime.Kernel:
        """The sampler, built at its first use."""
        return self._sampler

    def interpreted(self) -> Evaluator:
        """The same evaluator run by the interpreter."""
        kernel = driver.interpreter(self.graph)
        file, program = self._file, self._program
        return Evaluator(self._main, file, self.name, program, kernel, compiled=False)

    # --- derivatives and derivations ------------------------------------------------------------

    def gradient(
        self,
        outputs: str | Sequence[str] = (),
        at: Mapping[str, Any] | None = None,
        /,
        *,
        wrt: str | Sequence[str] | None = None,
        raw: bool | None = None,
        **given: Any,
    ) -> dict[str, dict[str, float]]:
        """Exact derivatives at a point: output name to param name to value.

        In the units of output and param: a `throughput` in token/s by a `bandwidth` in TB/s is in
        token/s per TB/s. Only reals have one; all outputs and reals unless some are named. NaN at
        a point that is infeasible, unless `raw`.
        """
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        names = [self._output(n).name for n in names or [o.name for o in self.spec.outputs]]
        point = self._point(self.named("gradient", at, given, wrt=wrt, raw=raw))
        by = [wrt] if isinstance(wrt, str) else list(wrt or ())
        reals = self._reals(by or [p.name for p in self.spec.params if p.kind == "real"])
        if not (raw or self._feasible(point)):
            return {name: dict.fromkeys(reals, float("nan")) for name in names}
        return {name: self._slopes(name, reals, point)[1] for name in names}

    def elasticity(
        self,
        output: str,
        at: Mapping[str, Any] | None = None,
        /,
        *,
        wrt: str | Sequence[str] | None = None,
        raw: bool | None = None,
        **given: Any,
    ) -> dict[str, float]:
        """Per cent of change of an output for one per cent of each real and whole param.

        Of a real by the exact derivative; of an int by the slope between its neighbours, the next
        values to each side at which the point is feasible, as far as its range or its alternatives
        go. NaN where the output is 0 or infinite, and at a point that is infeasible. With `raw` no
        rule counts.
        """
        point = self._point(self.named("elasticity", at, given, wrt=wrt, raw=raw))
        names = [wrt] if isinstance(wrt, str) else list(wrt or ())
        names = names or [p.name for p in self.spec.params if p.kind in ("real", "int")]
        whole = [n for n in names if self.param(n).kind == "int"]
        reals = self._reals([n for n in names if n not in whole])
        value, slopes = self._slopes(self._output(output).name, reals, point)
        if not (raw or self._feasible(point)):
            return dict.fromkeys(names, float("nan"))
        slopes.update({n: self._step_slope(output, n, point, raw=bool(raw)) for n in whole})
        at = {p.name: p.scale.from_base(v) for p, v in zip(self.spec.params, point, strict=True)}
        known = value != 0 and np.isfinite(value)
        return {n: slopes[n] * at[n] / value if known else float("nan") for n in names}

    def _feasible(self, point: Sequence[float]) -> bool:
        """Whether a point in base units is feasible."""
        return Result(self.spec, point, *self.kernel.point(point)).feasible

    def _step_slope(self, output: str, name: str, point: Sequence[float], *, raw: bool) -> float:
        """The slope of an output between the neighbours of an int, in declared units."""
        slot = next(k for k, p in enumerate(self.spec.params) if p.name == name)
        param, here = self.spec.params[slot], point[slot]

        def moved(value: float) -> list[float]:
            return [*point[:slot], value, *point[slot + 1 :]]

        def neighbour(side: int) -> float:
            steps = [here + side * k for k in range(1, FARTHEST + 1)]
            values = sorted(param.values, reverse=side < 0) or steps
            beyond = (v for v in values if (v - here) * side > 0 and param.low <= v <= param.high)
            return next((v for v in beyond if raw or self._feasible(moved(v))), here)

        below, above = neighbour(-1), neighbour(1)
        if below == above:
            return float("nan")
        scale = self._output(output).scale
        at = [o.name for o in self.spec.outputs].index(output)
        low, high = (scale.from_base(self.kernel.point(moved(v))[0][at]) for v in (below, above))
        return float(high - low) / (above - below)

    def _slopes(
        self, output: str, names: Sequence[str], point: Sequence[float]
    ) -> tuple[float, dict[str, float]]:
        """An output and its derivatives, in declared units."""
        graph = self.derivative_graph(output, names)
        numbers, _ = driver.interpreter(graph).point(point)
        found = dict(zip((name for name, _ in graph.outputs), numbers, strict=True))
        scale = self._output(output).scale
        slopes = {}
        for name in names:
            ratio = float(self._kept.units[name].factor)
            up, down, _offset = scale.parts()
            slope = found[f"d.{output}.{name}"] * ratio * down / up
            slopes[name] = slope if np.isfinite(found[output]) else float("nan")
        return scale.from_base(found[output]), slopes

    def derivative_graph(self, output: str, names: Sequence[str]) -> Graph:
        """The graph of an output and its derivatives `d.OUTPUT.PARAM`, in base units."""
        key = (output, tuple(names))
        if key not in self._gradients:
            self._gradients[key] = driver.differentiate(self.graph, output, names)
        return self._gradients[key]

    def _output(self, name: str) -> runtime.OutputSpec:
        for output in self.spec.outputs:
            if output.name == name:
                return output
        names = [o.name for o in self.spec.outputs]
        hint = did_you_mean(name, names) or f"it has {', '.join(names)}"
        raise CallError(f"{self.name} has no output {name}; {hint}")

    def _reals(self, names: Sequence[str]) -> list[str]:
        for name in names:
            if self.param(name).kind != "real":
                raise CallError(f"{self.name}.{name} is no real: it has no derivative")
        return list(names)

    def _point(self, given: Mapping[str, object]) -> list[float]:
        """A single point in base units."""
        plan = self.plan(zipped=given)
        if plan.points != 1:
            raise CallError(f"{self.name}: give single values, not many")
        return [float(column[0]) for column, _, _ in plan.grid.axes]

    def why(self, output: str, at: Mapping[str, Any] | None = None, /, **given: Any) -> Explanation:
        """How an output comes about at one point: named steps with values, units and lines."""
        return self.derivations([output], at, **given)[output]

    def derivations(
        self,
        outputs: Sequence[str] = (),
        at: Mapping[str, Any] | None = None,
        /,
        *,
        steps: int | None = None,
        **given: Any,
    ) -> dict[str, Explanation]:
        """The derivations of several outputs at one point; of all if none is named.

        After so many `steps` of an output, which have their own limit, none is opened further.
        """
        from hwdsl.explain.derivation import trace_provenance

        given = self.named("derivations", at, given, steps=steps)
        names = [self._output(n).name for n in outputs or [o.name for o in self.spec.outputs]]
        params = (p.name for p in self.spec.params)
        point = dict(zip(params, self._point(given), strict=True))
        return trace_provenance(self._program.traced(self.name), names, point, given, steps)

    def sensitivities(
        self,
        output: str,
        at: Mapping[str, Any] | None = None,
        /,
        *,
        confidence: str = "all",
        **given: Any,
    ) -> list[Sensitivity]:
        """The numbers behind an output at a point that move it, those that move it most first.

        They are numbers of the file and of what it uses, with their sources; `confidence` keeps
        those of one: `low`, `medium`, `high`, `none` (no source) or `assumed`. The evaluator
        is made once for each, which for a large one takes a second. `elasticity` is about params.
        """
        from hwdsl.explain.cited_numbers import WHICH
        from hwdsl.explain.sensitivity import sensitivities

        if confidence not in WHICH:
            known = ", ".join(WHICH)
            raise CallError(f"there is no confidence {confidence!r}: it is one of {known}")
        given = self.named("sensitivities", at, given, confidence=confidence)
        params = (p.name for p in self.spec.params)
        point = dict(zip(params, self._point(given), strict=True))
        checked = self._program.checked
        info = driver.evaluators(checked)[self.name]
        name = self._output(output).name
        return sensitivities(checked, info, name, point, given, confidence)

    @property
    def undecided(self) -> tuple[tuple[str, str], ...]:
        """The rules that read what nobody knows, at some point or at each: name, what that is."""
        return self._kept.undecided

    def undecided_rules(
        self, at: Mapping[str, Any] | None = None, /, **given: Any
    ) -> tuple[tuple[str, str], ...]:
        """Those of the `undecided` rules that are not decided at a point, as a choice may do."""
        given = self.named("undecided_rules", at, given)
        where = self._kept.undecided_where
        if where is None:
            return self.undecided
        # Where no rule asks for it, nothing waits for the interpreter to be imported.
        from hwdsl.codegen.ir.interpreter import interpret

        here = interpret(where, self._point(given)).outputs
        return tuple(rule for i, rule in enumerate(self.undecided) if here[str(i)])

    @property
    def operations(self) -> int:
        """How many operations a point takes as elaborated, with the rounds of loops."""
        return self._kept.operations

    def violated_rules(
        self, at: Mapping[str, Any] | None = None, /, **given: Any
    ) -> list[tuple[str, str, str]]:
        """The rules that a point breaks: name, message, help."""
        given = self.named("violated_rules", at, given)
        found = self.violations_at(self(given).violations, given)
        return [(rule.name, rule.message, rule.help) for rule in found]

    def violations_at(
        self, names: Sequence[str], given: Mapping[str, Any]
    ) -> Sequence[ViolatedRule]:
        """What there is to say of rules that a point violates: messages, help, places."""
        return violated_rules(self.elaboration, names, self._point(given)) if names else ()


@define
class Module:
    """A loaded file: its evaluators by name, as attributes too, and its warnings.

    Modules copy, pickle and compare by content.
    """

    path: Path
    evaluators: Mapping[str, Evaluator]
    diagnostics: Diagnostics = field(repr=False)
    doc: str = field(repr=False)
    """The file's `#!` text."""
    _program: LoadedProgram = field(repr=False, eq=False)
    # By its text: a copy of a module has an absolute name for the same file.
    _main: Source = field(repr=False, eq=lambda main: main.text)
    _file: CachedModule = field(repr=False, eq=False)
    _how: bool | None = field(repr=False, eq=False)

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {name: evolve(each) for name, each in self._file.evaluators.items()}
        file = evolve(self._file, evaluators=kept)
        return _unpickled_module, (self.path, self._main, file, self._how)

    @property
    def checked(self) -> Checked:
        """The checked file; read again if it came from the cache."""
        return self._program.checked

    def __getattr__(self, name: str) -> Evaluator:
        if name.startswith("__"):  # asked by copy and pickle before there is anything to look into
            raise AttributeError(name)
        evaluators: Mapping[str, Evaluator] = object.__getattribute__(self, "evaluators")
        if name in evaluators:
            return evaluators[name]
        hint = did_you_mean(name, evaluators) or f"it has {', '.join(evaluators) or 'none'}"
        raise AttributeError(f"{self.path} has no evaluator {name}; {hint}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.evaluators]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print for IPython and Hypothesis, which would go through all fields, the program too."""
        printer.text(repr(self))


def load(path: str | os.PathLike[str], *, compiled: bool | None = True) -> Module:
    """Check a file and build its evaluators, or take all from the cache if nothing has changed.

    With `compiled=False` they are interpreted; with None each is built once it has so much to do
    that building pays. Without a C compiler they are interpreted, which is said once. Raises
    DescriptionError, a ValueError that shows the diagnostics, if the file is wrong.
    """
    where = Path(path)
    found = kept.lookup(where)
    if found is not None:
        with suppress(GraphError):  # no entry of ours
            return _module(where, _placed(*found), compiled=compiled)
    diagnostics = Diagnostics()
    program = driver.program(where, diagnostics)
    if program is None:
        raise DescriptionError(diagnostics)
    file = file_of(program, diagnostics)
    kept.save(program.checked.main.tree.source, program.checked.inputs, file)
    main = program.checked.main.tree.source
    return _module(where, LoadedProgram(main, file, program), compiled=compiled)


def _placed(main: Source, file: CachedModule) -> LoadedProgram:
    """The program of a file that is read again only when more is asked for.

    Its path is absolute: the working directory may be another by then.
    """
    return LoadedProgram(Source(os.path.abspath(main.name), main.text), file)


def _unpickled(main: Source, file: CachedModule, name: str, compiled: bool | None) -> Evaluator:
    """An evaluator from its content."""
    return _unpickled_module(Path(main.name), main, file, compiled).evaluators[name]


def _unpickled_module(
    path: Path, main: Source, file: CachedModule, compiled: bool | None
) -> Module:
    """A module from its content."""
    return _module(path, _placed(main, file), compiled=compiled)


def _module(path: Path, program: LoadedProgram, *, compiled: bool | None) -> Module:
    main, file = program.main, program.file
    kernels, notice = driver.kernels_from_bytes(file.evaluators, compiled=compiled)
    if notice:
        driver.warn_once(notice)
    evaluators = {
        name: Evaluator(main, file, name, program, kernels[name], compiled=compiled)
        for name in file.evaluators
    }
    warnings = Diagnostics(list(file.warnings))
    return Module(path, evaluators, warnings, file.doc, program, main, file, compiled)


def file_of(program: driver.Program, diagnostics: Diagnostics) -> CachedModule:
    """What is kept of a program: its evaluators, its units, its warnings."""
    from hwdsl.codegen.passes import optimise

    main = program.checked.main
    found = {}
    for name, info in driver.evaluators(program.checked).items():
        if name in program.graphs:
            elaboration = program.elaborations[name]
            sampler, where = elaboration.sampler, elaboration.undecided_where
            found[name] = CachedEvaluator(
                evaluator_spec(info, elaboration),
                {p.name: p.unit for p in elaboration.params},
                encode(program.graphs[name]),
                None if sampler is None else encode(sampler),
                tuple((note.name, note.message) for note in elaboration.undecided),
                None if where is None else encode(optimise(where)),
                count_operations(elaboration.graph.ops, rounds=True),
            )
    units = scales(main.visible_units)
    return CachedModule(found, units, main.tree.doc, tuple(diagnostics.items))
