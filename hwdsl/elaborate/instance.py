"""Evaluators as they are read: at given params, or with their params free."""

from __future__ import annotations

from attrs import define, field, frozen

from hwdsl.elaborate.elaboration_info import ParamInfo
from hwdsl.elaborate.values import Env, Thunk, Value
from hwdsl.semantics.symbols import EvaluatorInfo


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
