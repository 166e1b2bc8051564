"""Interfaces of evaluators for the runtime: params, outputs and rules, in numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hwdsl.api import driver
from hwdsl.api.quantities import scale, scales
from hwdsl.base.diagnostics import Severity
from hwdsl.codegen import runtime
from hwdsl.codegen.ir.dependence import param_dependences

if TYPE_CHECKING:
    from hwdsl.elaborate import Elaboration, ParamInfo
    from hwdsl.semantics.symbols import EvaluatorInfo


def evaluator_specs(program: driver.Program) -> dict[str, runtime.Spec]:
    """The interface of each evaluator for a runtime without the language."""
    return {
        name: evaluator_spec(info, program.elaborations[name], scales(info.scope.visible_units))
        for name, info in driver.evaluators(program.checked).items()
    }


def evaluator_spec(
    info: EvaluatorInfo, elaboration: Elaboration, units: Mapping[str, runtime.Scale] | None = None
) -> runtime.Spec:
    """The interface of an evaluator; `units` are those that texts may use without the language."""
    return runtime.Spec(
        info.name,
        tuple(_param(p, g.uniform) for p, g in zip(elaboration.params, elaboration.graph.params,
                                                   strict=True)),
        _outputs(elaboration),
        tuple(runtime.RuleSpec(r.name, "require" if r.severity is Severity.ERROR else "warn",
                           r.help or "")
              for r in elaboration.rules),
        units or {},
        info.decl.doc,
        () if elaboration.sampler is None else tuple(p.name for p in elaboration.sampler.params),
    )  # fmt: skip


def _outputs(elaboration: Elaboration) -> tuple[runtime.OutputSpec, ...]:
    """The numbers that outputs are: one each, or for a vector one for each label."""
    graph = elaboration.graph
    read, place = param_dependences(graph), dict(graph.outputs)
    return tuple(
        runtime.OutputSpec(name, scale(info.unit), info.cases, info.doc,
                       tuple(p.name for p in graph.params if p.name in read[place[name]]))
        for info in elaboration.outputs
        for name in [f"{info.name}.{label}" for label in info.labels] or [info.name]
    )  # fmt: skip


def _param(info: ParamInfo, uniform: bool) -> runtime.ParamSpec:
    kind = "choice" if info.type in ("enum", "component") else info.type
    low = -np.inf if info.low is None else info.low
    high = np.inf if info.high is None else info.high
    return runtime.ParamSpec(
        info.name, kind, scale(info.unit), info.default, low, high, info.labels,
        info.doc, uniform, info.values if info.type in ("real", "int") else (), info.plain,
    )  # fmt: skip
