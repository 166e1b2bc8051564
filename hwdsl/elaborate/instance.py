"""Evaluators as they are read: at given params, or with their params free."""

from __future__ import annotations

from attrs import define, field, frozen

from hwdsl.elaborate.elaboration_info import ParamInfo
from hwdsl.elaborate.values import Env, Thunk, Value
from hwdsl.semantics.symbols import EvaluatorInfo
from hwdsl.syntax import ast


@frozen(eq=False)
class InputSpec:
    """A param or choice as declared: what it may be, in order, if that is a list."""

    info: ParamInfo
    alternatives: tuple[Value, ...]


@define(eq=False)
class Instance:
    """An evaluator at given params: its environment of thunks."""

    info: EvaluatorInfo
    env: Env
    names: dict[str, Value | Thunk]
    frees: dict[str, InputSpec] = field(factory=dict)

    @property
    def waivers(self) -> tuple[ast.Allow, ...]:
        """The waivers in the evaluator's text and at the top of its file."""
        own = [x for x in self.info.decl.members if isinstance(x, ast.Allow)]
        top = [x for x in self.info.scope.tree.items if isinstance(x, ast.Allow)]
        return (*own, *top)
