"""The answers at one point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import html
from .spec import (
    UNDEFINED,
    OutputSpec,
    ParamSpec,
    Spec,
    did_you_mean,
    labels_of,
    names_of,
    required,
    unit_of,
)


class Result:
    """The answers at one point: attributes in declared units, `feasible`, `violations`.

    An output that is a vector is a dictionary by label; its elements are `result["name.label"]`.
    One that is called as an attribute of this class, such as `params`, is `result["params"]`.
    Results copy, pickle and compare: two are equal if the point and all answers are (NaN is equal
    to NaN).
    """

    __slots__ = ("_outputs", "_spec", "_values", "_words")

    def __init__(
        self, spec: Spec, values: Sequence[float], outputs: Sequence[float], words: Sequence[int]
    ) -> None:
        self._spec, self._values, self._outputs, self._words = spec, values, outputs, words

    def __getitem__(self, name: str) -> Any:
        """An output by name, whatever it is called."""
        for info, value in zip(self._spec.outputs, self._outputs, strict=True):
            if info.name == name:
                return _shown(info, value)
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
        names = [*(r.name for r in self._spec.rules), UNDEFINED]
        return [n for b, n in enumerate(names) if self._words[b // 64] >> b % 64 & 1]

    @property
    def feasible(self) -> bool:
        """Whether no `require` is broken and every output is a number."""
        masks = zip(self._words, required(self._spec), strict=True)
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
        numbers = [float(x) for x in (*self._values, *self._outputs)]
        return tuple(None if x != x else x for x in numbers), tuple(self._words)

    def __reduce__(self) -> tuple[type[Result], tuple[Any, ...]]:
        return Result, (self._spec, list(self._values), list(self._outputs), list(self._words))

    def _repr_html_(self) -> str:
        rows = [
            (info.name, html.number(_shown(info, value)), info.scale.unit)
            for info, value in zip(self._spec.outputs, self._outputs, strict=True)
        ]
        said = f"{self._spec.name}: {'feasible' if self.feasible else 'not feasible'}"
        if self.violations:
            said += f"; breaks {', '.join(self.violations)}"
        return html.table(said, ("output", "value", "unit"), rows)

    def __repr__(self) -> str:
        cells = []
        for info, value in zip(self._spec.outputs, self._outputs, strict=True):
            shown = _shown(info, value)
            number = shown if isinstance(shown, str) else f"{shown:.6g}"
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
    found = zip(spec.outputs, result._outputs, strict=True)
    return (
        [(p, p.show(value), float(value)) for p, value in at],
        [(o, _shown(o, value), float(value)) for o, value in found],
    )


def _shown(info: OutputSpec, value: float) -> Any:
    if info.labels and 0 <= value < len(info.labels):
        return info.labels[int(value)]
    return info.scale.from_base(value)
