"""The program behind a loaded file: what calls and sweeps do without, made when first asked for.

Input: a file's text and what is kept of it; the checked program if it was just made. Output: the
checked file, and an evaluator's elaboration, with a trace if derivations are asked for. Each is of
the graph that runs: CallError if what the file uses gives another one by now.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from attrs import define, field

from hwdsl.api import driver
from hwdsl.api.evaluator_artifact import CachedModule
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.ir.serialization import encode
from hwdsl.codegen.runtime import CallError

if TYPE_CHECKING:
    from hwdsl.codegen.ir.graph import Graph
    from hwdsl.elaborate import Elaboration
    from hwdsl.explain.derivation import Traced
    from hwdsl.semantics.symbols import Checked


@define(eq=False, slots=False)
class LoadedProgram:
    """The program of the evaluators of one file; coefficients in `free` are params there."""

    main: Source
    file: CachedModule
    program: driver.Program | None = None
    free: Collection[str] = ()
    _elaborations: dict[str, Elaboration] = field(factory=dict)
    _traced: dict[str, Traced] = field(factory=dict)

    @cached_property
    def checked(self) -> Checked:
        """The checked file; read again if it came from the cache."""
        if self.program is not None:
            return self.program.checked
        diagnostics = Diagnostics()
        found = driver.check(self.main, diagnostics)
        if found is None or diagnostics.failed:
            raise self._changed()
        return found

    def elaboration(self, name: str) -> Elaboration:
        """What the elaboration says of an evaluator."""
        if self.program is not None:
            return self.program.elaborations[name]
        if name not in self._elaborations:
            diagnostics = Diagnostics()
            again = driver.lower(self.checked, diagnostics, name)
            if diagnostics.failed:
                raise self._changed()
            self._compare(name, again.graphs[name])
            self._elaborations[name] = again.elaborations[name]
        return self._elaborations[name]

    def traced(self, name: str) -> Traced:
        """The elaboration of an evaluator with a trace of where its values come from."""
        if name not in self._traced:
            from hwdsl.codegen.passes import optimise
            from hwdsl.explain.derivation import trace

            found = trace(self.checked, driver.evaluators(self.checked)[name], self.free)
            if self.program is None:
                self._compare(name, optimise(found.elaboration.graph))
            elif encode(found.elaboration.graph) != encode(self.program.elaborations[name].graph):
                raise AssertionError(f"the trace of {name} is of another graph")
            self._traced[name] = found
            self._elaborations[name] = found.elaboration
        return self._traced[name]

    def _compare(self, name: str, graph: Graph) -> None:
        if encode(graph) != self.file.evaluators[name].graph_bytes:
            raise self._changed()

    def _changed(self) -> CallError:
        return CallError(f"{self.main.name} uses files that have changed: load it again")
