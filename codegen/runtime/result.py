"""The answers at one point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import html
from .spec import (
    OutputSpec,
    ParamSpec,
    Spec,
    did_you_mean,
    labels_of,
    names_of,
    unit_of,
)


class Result:
    """The answers at one point: attributes in declared units, `feasible`, `violations`.

    Of a point that is infeasible the outputs are NaN: what cannot be built has no throughput and no
    price. `raw` is the same result with what the formulas give there.

    An output that is a vector is a dictionary by label; its elements are `result["name.label"]`.
    One that is called as an attribute of this class, such as `params`, is `result["params"]`.
    Results copy, pickle and compare: two are equal if the point and all answers are (NaN is equal
    to NaN).
    """

    __slots__ = ("_outputs", "_raw", "_spec", "_values", "_words")

    def __init__(
        self, spec: Spec, values: Sequence[float], outputs: Sequence[float], words: Sequence[int],
        raw: bool = False,
    ) -> None:  # fmt: skip
        self._spec, self._values, self._outputs, self._words = spec, values, outputs, words
        self._raw = raw

    @property
    def raw(self) -> Result:
        """The same with what the formulas give, whether the point is feasible or not."""
        return Result(self._spec, self._values, self._outputs, self._words, True)

    @property
    def is_raw(self) -> bool:
        """Whether outputs are what the formulas give, and not NaN where the point is infeasible."""
        return self._raw

    @property
    def _answers(self) -> Sequence[float]:
        """The outputs in base units, NaN where the point is infeasible, unless they are raw."""
        if self._raw or self.feasible:
            return self._outputs
        return [math.nan] * len(self._outputs)

    def __getitem__(self, name: str) -> Any:
        """An output by name, whatever it is called."""
        for info, value in zip(self._spec.outputs, self._outputs, strict=True):
            if info.name == name:
                return _shown(info, value if self._raw or self.feasible else math.nan)
        vector = labels_of(self._spec, name)
        if vector:
            return {label: self[f"{name}.{label}"] for label in vector}
        known = [o.name for o in self._spec.outputs]
        raise KeyError(f"{self._spec.name} has no output {name}{did_you_mean(name, known)}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by copy and pickle before there are slots to look into
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def unit(self, name: str) -> str:
        """The unit of an output or param, such as `token/s`; empty for a pure number."""
        return unit_of(self._spec, name)

    @property
    def params(self) -> dict[str, Any]:
        """The point: every param in its declared unit."""
        pairs = zip(self._spec.params, self._values, strict=True)
        return {p.name: p.show(v) for p, v in pairs}

    @property
    def violations(self) -> list[str]:
        """The names of all rules broken here, warnings too; `undefined` if an output is NaN."""
        if not any(self._words):
            return []
        names = enumerate(self._spec.rule_names)
        return [n for b, n in names if self._words[b // 64] >> b % 64 & 1]

    @property
    def feasible(self) -> bool:
        """Whether no `require` is broken and every output is a number."""
        if not any(self._words):  # as most are: a call takes microseconds
            return True
        masks = zip(self._words, self._spec.required, strict=True)
        return not any(word & mask for word, mask in masks)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *names_of(self._spec)]

    def _ipython_key_completions_(self) -> list[str]:
        return [*names_of(self._spec), *(o.name for o in self._spec.outputs if "." in o.name)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return self._spec == other._spec and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self._spec.name, self._content()))

    def _content(self) -> tuple[tuple[float | None, ...], tuple[int, ...]]:
        """The numbers of the point and its answers; None for NaN, which is equal to nothing."""
        numbers = [float(x) for x in (*self._values, *self._answers)]
        return tuple(None if x != x else x for x in numbers), tuple(self._words)

    def __reduce__(self) -> tuple[type[Result], tuple[Any, ...]]:
        numbers = list(self._values), list(self._outputs), list(self._words)
        return Result, (self._spec, *numbers, self._raw)

    def _repr_html_(self) -> str:
        rows = [
            (info.name, html.number(_shown(info, value)), info.scale.unit)
            for info, value in zip(self._spec.outputs, self._answers, strict=True)
        ]
        said = f"{self._spec.name}: {'feasible' if self.feasible else 'not feasible'}"
        if self.violations:
            said += f"; breaks {', '.join(self.violations)}"
        return html.table(said, ("output", "value", "unit"), rows)

    def __repr__(self) -> str:
        cells = []
        for info, value in zip(self._spec.outputs, self._answers, strict=True):
            shown = _shown(info, value)
            number = f"{shown:.6g}" if isinstance(shown, float) else str(shown)
            cells.append(f"{info.name}={number} {info.scale.unit}".rstrip())
        cells.append(f"feasible={self.feasible}")
        if self.violations:
            cells.append(f"violations={self.violations}")
        return f"Result({', '.join(cells)})"


def described(
    result: Result,
) -> tuple[list[tuple[ParamSpec, Any, float]], list[tuple[OutputSpec, Any, float]]]:
    """Params and outputs of a result: what is known of each, its value as shown, in base units."""
    spec = result._spec
    at = zip(spec.params, result._values, strict=True)
    found = zip(spec.outputs, result._answers, strict=True)
    return (
        [(p, p.show(value), float(value)) for p, value in at],
        [(o, _shown(o, value), float(value)) for o, value in found],
    )


def _shown(info: OutputSpec, value: float) -> Any:
    if info.labels:
        return info.labels[int(value)] if 0 <= value < len(info.labels) else None
    return info.scale.from_base(value)
