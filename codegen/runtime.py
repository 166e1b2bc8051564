"""Calling compiled kernels from Python: one point, or a sweep over many.

This file stands alone (standard library and NumPy), because `hwdsl compile -o` puts a copy of it
beside the modules it writes. A `Spec`, plain JSON, says what the params, outputs and rules are;
a `Kernel` computes in base units; an `Evaluator` stands between them and the user, who gives and
gets values in the units the description declares.

`base = value * factor + offset`; factors are exact, written `"1000000000"` or `"1/100"`.
"""

from __future__ import annotations

import difflib
import importlib
import itertools
import json
import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Axis = tuple[Floats, int, int]
Progress = Callable[[int, int], None]

CHUNK = 1 << 16
FEW_CALLS, WORTH_A_CALL = 64, 256
UNDEFINED = "undefined"


class Kernel(Protocol):
    """What runs a graph. At point p a param is `values[(p // stride) % count]` of its axis."""

    @property
    def params(self) -> int:
        """How many params."""

    @property
    def outputs(self) -> int:
        """How many outputs."""

    @property
    def words(self) -> int:
        """How many words of rule bits a point has."""

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: Words,
    ) -> None:  # fmt: skip
        """Fill outputs (None: not wanted) and rule words (one row a point) of start..stop."""

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: the outputs and the words of rule bits."""


class CompiledKernel:
    """A kernel of an extension module."""

    __slots__ = ("index", "module", "outputs", "params", "words")

    def __init__(self, module: Any, index: int) -> None:
        self.module, self.index = module, index
        self.params, self.outputs, self.words = module.shape(index)

    def run(
        self, axes: Sequence[Axis], start: int, stop: int, outputs: Sequence[Floats | None],
        rules: Words,
    ) -> None:  # fmt: skip
        """Fill outputs and rule words; the interpreter lock is released meanwhile."""
        self.module.run(self.index, axes, start, stop, outputs, rules)

    def point(self, values: Sequence[float]) -> tuple[list[float], list[int]]:
        """One point: the outputs and the words of rule bits."""
        result: tuple[list[float], list[int]] = self.module.point(self.index, values)
        return result


# --- what a kernel is about ------------------------------------------------------------------


@cache
def _ratio(factor: str) -> tuple[float, float]:
    """Numerator and denominator; one number and 1 if they are beyond float64."""
    exact = Fraction(factor)
    try:
        return float(exact.numerator), float(exact.denominator)
    except OverflowError:
        return float(exact), 1.0


@dataclass(frozen=True)
class Scale:
    """A unit: its label, dimension (base name to exponent) and exact factor to base units."""

    unit: str = ""
    factor: str = "1"
    offset: float = 0.0
    dims: Mapping[str, float] = field(default_factory=dict)

    def parts(self) -> tuple[float, float, float]:
        """Numerator, denominator and offset."""
        return *_ratio(self.factor), self.offset

    def to_base(self, value: Any) -> Any:
        """A number or array in base units."""
        up, down, offset = self.parts()
        return value * up / down + offset

    def from_base(self, value: Any) -> Any:
        """A number or array in this unit."""
        up, down, offset = self.parts()
        return (value - offset) * down / up


@dataclass(frozen=True)
class Param:
    """A free input; bounds and default in base units; `kind` is real, int, bool or choice."""

    name: str
    kind: str = "real"
    scale: Scale = field(default_factory=Scale)
    default: float | None = None
    low: float = -math.inf
    high: float = math.inf
    labels: tuple[str, ...] = ()
    doc: str = ""
    uniform: bool = False

    def describe(self) -> str:
        """Its unit and range, or its cases."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.labels)
        if self.kind == "bool":
            return "true or false"
        low, high = (f"{self.scale.from_base(v):.12g}" for v in (self.low, self.high))
        text = f"{self.kind} in {low} .. {high} {self.scale.unit}".rstrip()
        return text if math.isfinite(self.low) or math.isfinite(self.high) else (
            f"{self.kind} [{self.scale.unit or 'no unit'}]"
        )  # fmt: skip

    def show(self, value: float) -> Any:
        """A base value as the user reads it."""
        if self.kind == "choice":
            return self.labels[int(value)]
        if self.kind == "bool":
            return bool(value)
        return int(value) if self.kind == "int" else self.scale.from_base(value)


@dataclass(frozen=True)
class Output:
    """An answer; `labels` name the cases of one that is an enum case."""

    name: str
    scale: Scale = field(default_factory=Scale)
    labels: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule that depends on params: `severity` is `require` or `warn`."""

    name: str
    severity: str = "require"
    message: str = ""


@dataclass(frozen=True)
class Spec:
    """Everything about a kernel that a user needs; `units` are those that texts may use."""

    name: str
    params: tuple[Param, ...]
    outputs: tuple[Output, ...]
    rules: tuple[Rule, ...] = ()
    units: Mapping[str, Scale] = field(default_factory=dict)
    doc: str = ""

    def to_json(self) -> str:
        """As JSON; infinite bounds are left out."""
        return json.dumps(_plain(asdict(self)), indent=1, sort_keys=True, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Spec:
        """The spec back."""
        return _spec(json.loads(text))


def load_specs(text: str) -> list[Spec]:
    """The specs of a module, in the order of its kernels."""
    return [_spec(data) for data in json.loads(text)]


def _spec(data: Mapping[str, Any]) -> Spec:
    return Spec(
        data["name"],
        tuple(Param(**_scaled(p)) for p in data["params"]),
        tuple(Output(**_scaled(o)) for o in data["outputs"]),
        tuple(Rule(**r) for r in data["rules"]),
        {name: Scale(**u) for name, u in data["units"].items()},
        data["doc"],
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        infinite = [k for k, v in value.items() if isinstance(v, float) and not math.isfinite(v)]
        return {k: _plain(v) for k, v in value.items() if k not in infinite}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _scaled(data: Mapping[str, Any]) -> dict[str, Any]:
    labels = tuple(data["labels"])
    return {**data, "labels": labels, "scale": Scale(**data["scale"])}


# --- texts with units ------------------------------------------------------------------------


def parse_quantity(text: str, units: Mapping[str, Scale]) -> tuple[float, dict[str, float]]:
    """`"4.8 TB/s"` as a number in base units and its dimension; ValueError if it is none."""
    text = text.strip()
    end = len(text)
    while end and not _is_float(text[:end]):
        end -= 1
    if not end:
        raise ValueError(f"{text!r} does not start with a number")
    number, rest = float(text[:end].replace("_", "")), text[end:].strip()
    if not rest:
        return number, {}
    if rest in units and units[rest].offset:
        return units[rest].to_base(number), dict(units[rest].dims)
    up, down, dims = Fraction(1), Fraction(1), dict[str, float]()
    sign = 1
    for part in rest.replace("*", " * ").replace("/", " / ").split():
        if part in "*/":
            sign = -1 if part == "/" else 1
            continue
        name, _, power = part.partition("^")
        if name not in units and name != "1":
            close = difflib.get_close_matches(name, units, 1)
            raise ValueError(f"no unit {name!r}" + (f"; did you mean {close[0]}?" if close else ""))
        exponent = sign * int(power or "1")
        unit = units.get(name, Scale())
        factor = Fraction(unit.factor) ** exponent
        up, down = up * factor.numerator, down * factor.denominator
        for base, e in unit.dims.items():
            dims[base] = dims.get(base, 0.0) + e * exponent
    return float(Fraction(number) * up / down), {b: e for b, e in dims.items() if e}


def _is_float(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# --- results ---------------------------------------------------------------------------------


class Result:
    """The answers at one point: attributes in declared units, `feasible`, `violations`."""

    __slots__ = ("_outputs", "_spec", "_values", "_words")

    def __init__(
        self, spec: Spec, values: Sequence[float], outputs: Sequence[float], words: Sequence[int]
    ) -> None:
        self._spec, self._values, self._outputs, self._words = spec, values, outputs, words

    def __getattr__(self, name: str) -> Any:
        for info, value in zip(self._spec.outputs, self._outputs, strict=True):
            if info.name == name:
                return _shown(info, value)
        known = [o.name for o in self._spec.outputs]
        raise AttributeError(f"{self._spec.name} has no output {name}{_hint(name, known)}")

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

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


def _shown(info: Output, value: float) -> Any:
    if info.labels and 0 <= value < len(info.labels):
        return info.labels[int(value)]
    return info.scale.from_base(value)


def _hint(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else f"; it has {', '.join(known) or 'none'}"


def required(spec: Spec) -> tuple[int, ...]:
    """Per word, the bits that make a point infeasible."""
    masks = [0] * (len(spec.rules) // 64 + 1)
    for b, severity in enumerate([*(r.severity for r in spec.rules), "require"]):
        if severity == "require":
            masks[b // 64] |= 1 << b % 64
    return tuple(masks)


# --- the evaluator ---------------------------------------------------------------------------


class Evaluator:
    """A question with free params: call it with values, or sweep it over many."""

    def __init__(
        self, spec: Spec, kernel: Kernel,
        convert: Callable[[str, Param], float] | None = None,
    ) -> None:  # fmt: skip
        self.spec, self.kernel = spec, kernel
        self.__name__, self.__doc__ = spec.name, spec.doc
        self._convert = convert
        self._defaults = [p.default for p in spec.params]
        self._needed = frozenset(p.name for p in spec.params if p.default is None)
        self._slots = {
            p.name: (k, *p.scale.parts(), p.low, p.high, _plain_types(p))
            for k, p in enumerate(spec.params)
        }

    def __call__(self, **given: Any) -> Result:
        """Evaluate one point; what is left out takes its default."""
        values: list[Any] = self._defaults.copy()
        for name, value in given.items():
            slot = self._slots.get(name)
            if slot is None:
                self.param(name)
                continue
            k, up, down, offset, low, high, plain = slot
            if type(value) in plain:
                base = value * up / down + offset
                if not low <= base <= high:
                    raise self._bad(self.spec.params[k], f"{value} is out of range")
            else:
                base = self.base(self.spec.params[k], value)
            values[k] = base
        if self._needed and not self._needed <= given.keys():
            self._default(min(self._needed - given.keys()))
        return Result(self.spec, values, *self.kernel.point(values))

    def sweep(
        self, *, mode: str = "grid", zipped: Mapping[str, Any] | None = None,
        progress: Progress | None = None, threads: int | None = None, **axes: Any,
    ) -> Sweep:  # fmt: skip
        """Evaluate all combinations of the values given (the last varies fastest).

        With `mode="zip"`, or for those in `zipped`, columns of one length go together. Raises
        ValueError for what does not fit. Uses all cores unless `threads` says how many.
        """
        return self.plan(mode=mode, zipped=zipped, **axes).run(progress, threads)

    def iter_chunks(
        self, size: int = 1 << 20, *, mode: str = "grid",
        zipped: Mapping[str, Any] | None = None, **axes: Any,
    ) -> Iterator[Sweep]:  # fmt: skip
        """The sweep in parts of at most `size` points, one in memory at a time."""
        return self.plan(mode=mode, zipped=zipped, **axes).iter_chunks(size)

    def plan(
        self, *, mode: str = "grid", zipped: Mapping[str, Any] | None = None, **axes: Any
    ) -> Plan:
        """The points of a sweep, nothing evaluated yet."""
        if mode not in ("grid", "zip"):
            raise ValueError(f"mode is grid or zip, not {mode!r}")
        together = dict(zipped or {})
        if mode == "zip":
            together.update(axes)
            axes = {}
        columns = {n: self.column(self.param(n), v) for n, v in {**together, **axes}.items()}
        lengths = {n: len(columns[n]) for n, v in together.items() if _many(v)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different lengths: {lengths}")
        dims = [(n, len(columns[n])) for n, v in axes.items() if _many(v)]
        if lengths:
            dims.insert(0, ("point", next(iter(lengths.values()))))
        strides, stride = dict[str, int](), 1
        for name, count in reversed(dims):
            strides[name] = stride
            stride *= count
        placed = []
        for p in self.spec.params:
            column = columns.get(p.name)
            column = np.array([self._default(p.name)]) if column is None else column
            dim = "point" if p.name in lengths else p.name
            placed.append((column, strides.get(dim, 1), len(column)))
        return Plan(self, tuple(placed), stride, tuple(dims))

    def param(self, name: str) -> Param:
        """A param by name; ValueError with the closest name if there is none."""
        slot = self._slots.get(name)
        if slot is None:
            raise ValueError(f"{self.spec.name} has no param {name}{_hint(name, [*self._slots])}")
        return self.spec.params[slot[0]]

    def column(self, param: Param, value: Any) -> Floats:
        """Values of a param in base units."""
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and param.kind == "real":
            column = np.ascontiguousarray(param.scale.to_base(value.astype(np.float64).ravel()))
            if not np.all((column >= param.low) & (column <= param.high)):
                raise self._bad(param, "some of the values are out of range")
        else:
            cells = list(value) if _many(value) else [value]
            column = np.array([self.base(param, v) for v in cells], np.float64)
        if not len(column):
            raise self._bad(param, "no values given")
        return column

    def base(self, param: Param, value: Any) -> float:
        """One value in base units: a number, a text with a unit, a bool or a label."""
        if hasattr(value, "to_base_units") and hasattr(value, "units"):
            value = f"{value.magnitude} {value.units:~C}".replace("**", "^")
        if param.kind == "choice":
            if isinstance(value, str) and value in param.labels:
                return float(param.labels.index(value))
            raise self._bad(param, f"{value!r} is none of them")
        if param.kind == "bool":
            found = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0}.get(str(value))
            if found is None:
                raise self._bad(param, f"{value!r} is neither true nor false")
            return found
        if isinstance(value, str):
            base = self._text(param, value)
        elif isinstance(value, int | float | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            base = float(param.scale.to_base(float(value)))
        else:
            hint = "; give many values to sweep" if _many(value) else ""
            raise self._bad(param, f"{value!r} is not a number or a text{hint}")
        if not param.low <= base <= param.high:
            raise self._bad(param, f"{value} is out of range")
        if param.kind == "int" and base != math.floor(base):
            raise self._bad(param, f"{value} is not whole")
        return base

    def _text(self, param: Param, text: str) -> float:
        try:
            if self._convert is not None:
                return self._convert(text, param)
            number, dims = parse_quantity(text, self.spec.units)
        except ValueError as error:
            raise self._bad(param, str(error)) from None
        if not dims and _is_float(text):
            return float(param.scale.to_base(number))
        if dims != dict(param.scale.dims):
            raise self._bad(param, f"{text} has the wrong dimension")
        return number

    def _default(self, name: str) -> float:
        param = self.param(name)
        if param.default is None:
            raise self._bad(param, "a value is needed")
        return param.default

    def _bad(self, param: Param, what: str) -> ValueError:
        return ValueError(f"{self.spec.name}.{param.name}: {what}; it is {param.describe()}")

    def __repr__(self) -> str:
        return f"<evaluator {self.spec.name}({', '.join(self._slots)})>"


def _plain_types(param: Param) -> tuple[type, ...]:
    """Types whose values need no more than a look at the range."""
    if param.labels:
        return ()
    return {"real": (float, int), "int": (int,)}.get(param.kind, ())


def _many(value: Any) -> bool:
    return not isinstance(value, str) and (np.ndim(value) > 0 or isinstance(value, range))


# --- sweeps ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """Points to evaluate: an axis per param, how many points, and the grid's dimensions.

    `first` is the first of the points if they are a stretch of a larger grid.
    """

    evaluator: Evaluator
    axes: tuple[Axis, ...]
    points: int
    dims: tuple[tuple[str, int], ...]
    first: int = 0

    def run(self, progress: Progress | None = None, threads: int | None = None) -> Sweep:
        """Evaluate all points on all cores; an interrupt stops it between chunks."""
        spec = self.evaluator.spec
        columns = [np.empty(self.points) for _ in spec.outputs]
        words = np.empty((self.points, len(required(spec))), np.uint64)
        groups = self._groups()
        done = 0
        for axes, span in groups:
            for start, stop, outputs, bits in _parallel(
                self.evaluator, axes, span.start, span.stop, threads
            ):
                at = span.where(start, stop)
                for column, part in zip(columns, outputs, strict=True):
                    column[at] = part
                words[at] = bits
                done += stop - start
                if progress is not None:
                    progress(done, self.points)
        return Sweep(self, columns, words)

    def iter_chunks(self, size: int, threads: int | None = None) -> Iterator[Sweep]:
        """Sweeps of at most `size` points each, in order."""
        if size < 1:
            raise ValueError("a chunk has at least one point")
        for start in range(0, self.points, size):
            count = min(size, self.points - start)
            dims = (("point", count),)
            yield Plan(self.evaluator, self.axes, count, dims, self.first + start).run(
                None, threads
            )

    def part(self, points: NDArray[np.int64]) -> Plan:
        """The plan of some of the points, as columns."""
        axes = []
        points = points + self.first
        for values, stride, count in self.axes:
            if count == 1:
                axes.append((values, 1, 1))
            else:
                column = np.ascontiguousarray(values[points // stride % count])
                axes.append((column, 1, len(points)))
        return Plan(self.evaluator, tuple(axes), len(points), (("point", len(points)),))

    def _groups(self) -> list[tuple[tuple[Axis, ...], Span]]:
        """Kernel calls: in each, params that must be uniform are."""
        last = self.first + self.points
        axes = self.axes
        uniform = [p.uniform and axis[2] > 1
                   for p, axis in zip(self.evaluator.spec.params, axes, strict=True)]  # fmt: skip
        digits = {axis[1:] for axis, u in zip(axes, uniform, strict=True) if u}
        calls = math.prod(count for _, count in digits)
        if not _nested(axes) or calls > max(FEW_CALLS, self.points // WORTH_A_CALL):
            return self._sorted([k for k, u in enumerate(uniform) if u])
        groups = [(axes, Span(self.first, last, self.first))]
        for digit in sorted(digits, reverse=True):
            groups = [
                (_fixed(axes, *digit, k), span.fixed(*digit, k))
                for axes, span in groups
                for k in range(digit[1])
            ]
        return [(axes, span) for axes, span in groups if span.start < span.stop]

    def _sorted(self, varying: Sequence[int]) -> list[tuple[tuple[Axis, ...], Span]]:
        """The kernel calls where params that must be uniform vary in columns."""
        columns = self.part(np.arange(self.points))
        keys = np.zeros(self.points, np.int64)
        for k in varying:
            kinds, index = np.unique(columns.axes[k][0], return_inverse=True)
            keys = keys * len(kinds) + index
        order = np.argsort(keys, kind="stable")
        result = []
        for at in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            axes = list(columns.part(at).axes)
            for k in varying:
                axes[k] = (axes[k][0][:1].copy(), 1, 1)
            result.append((tuple(axes), Span(0, len(at), 0, listed=at)))
        return result


def _nested(axes: Sequence[Axis]) -> bool:
    """Whether the axes are the digits of a number, so that any one of them may be held fixed."""
    digits = sorted({(stride, count) for _, stride, count in axes if count > 1})
    return all(above[0] % (below[0] * below[1]) == 0 for below, above in itertools.pairwise(digits))


def _fixed(axes: Sequence[Axis], stride: int, count: int, k: int) -> tuple[Axis, ...]:
    """Axes of the points whose digit of this stride and count is k."""
    return tuple(
        (v[k : k + 1].copy(), 1, 1) if (s, c) == (stride, count)
        else (v, s // count if c > 1 and s > stride else s, c)
        for v, s, c in axes
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Span:
    """The points start..stop of a group, and where they stand in the sweep that begins at `first`.

    `held` are the digits (stride, count, value) fixed one after the other; `listed` are places.
    """

    start: int
    stop: int
    first: int
    held: tuple[tuple[int, int, int], ...] = ()
    listed: NDArray[np.int64] | None = None

    def fixed(self, stride: int, count: int, k: int) -> Span:
        """Those of the points whose digit is k."""

        def before(point: int) -> int:
            whole, rest = divmod(point, stride * count)
            return whole * stride + min(max(rest - k * stride, 0), stride)

        held = (*self.held, (stride, count, k))
        return Span(before(self.start), before(self.stop), self.first, held)

    def where(self, start: int, stop: int) -> Any:
        """The places of some of the group's points, as a slice or as indices."""
        if self.listed is not None:
            return self.listed[start:stop]
        if not self.held:
            return slice(start - self.first, stop - self.first)
        points = np.arange(start, stop)
        for stride, count, k in reversed(self.held):
            points = points // stride * (stride * count) + k * stride + points % stride
        return points - self.first


Part = tuple[int, int, list[Floats], Words]


def _parallel(
    evaluator: Evaluator, axes: Sequence[Axis], start: int, stop: int, threads: int | None
) -> Iterator[Part]:
    """Evaluate ranges of points on several threads; few are under way at a time."""
    ranges = iter([(a, min(a + CHUNK, stop)) for a in range(start, stop, CHUNK)])
    if stop - start <= CHUNK:
        yield from (_evaluate(evaluator, axes, a, b) for a, b in ranges)
        return
    count = max(1, threads or os.cpu_count() or 1)
    pool = ThreadPoolExecutor(count)
    pending: set[Future[Part]] = set()
    try:
        for _ in range(2 * count):
            pending.update(pool.submit(_evaluate, evaluator, axes, *r) for r in _next(ranges))
        while pending:
            ready, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                pending.update(pool.submit(_evaluate, evaluator, axes, *r) for r in _next(ranges))
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _next(ranges: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for item in ranges:
        yield item
        return


def _evaluate(evaluator: Evaluator, axes: Sequence[Axis], start: int, stop: int) -> Part:
    spec = evaluator.spec
    outputs = [np.empty(stop - start) for _ in spec.outputs]
    words = np.empty((stop - start, len(required(spec))), np.uint64)
    evaluator.kernel.run(axes, start, stop, outputs, words)
    for info, column in zip(spec.outputs, outputs, strict=True):
        up, down, offset = info.scale.parts()
        if offset:
            column -= offset
        if down != 1.0:
            column *= down
        if up != 1.0:
            column /= up
    return start, stop, outputs, words


class Sweep:
    """Many points evaluated: `sweep["throughput"]`, `.feasible`, `.best(…)`, `.to_arrow()`."""

    def __init__(self, plan: Plan, columns: Sequence[Floats], words: Words) -> None:
        self.plan, self.words = plan, words
        self.spec = plan.evaluator.spec
        self._columns = dict(zip((o.name for o in self.spec.outputs), columns, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the grid's axes, in the order given."""
        return tuple(n for _, n in self.plan.dims)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the grid's axes."""
        return tuple(n for n, _ in self.plan.dims)

    def __len__(self) -> int:
        return self.plan.points

    def __getitem__(self, key: str | int) -> Any:
        """By name, an output's or a param's values in its declared unit, in the sweep's shape.

        By number, the result at that point; the last axis varies fastest.
        """
        if isinstance(key, str):
            return self.column(key).reshape(self.shape)
        point = operator.index(key)  # a TypeError for what is neither
        if not -len(self) <= point < len(self):
            raise IndexError(f"point {point} of {len(self)}")
        return self.result(point % len(self))

    def __getattr__(self, name: str) -> NDArray[Any]:
        """An output's or a param's values, as `sweep[name]` has them."""
        if name.startswith("_") or name == "spec":
            raise AttributeError(name)
        try:
            found: NDArray[Any] = self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None
        return found

    def column(self, name: str) -> NDArray[Any]:
        """An output's or a param's values in its declared unit, a value per point."""
        if name in self._columns:
            info = next(o for o in self.spec.outputs if o.name == name)
            found = self._columns[name]
            return _labelled(found, info.labels) if info.labels else found
        for p, (values, stride, count) in zip(self.spec.params, self.plan.axes, strict=True):
            if p.name == name:
                shown = np.array([p.show(v) for v in values.tolist()])
                points = np.arange(self.plan.first, self.plan.first + len(self))
                return shown[points // stride % count]
        known = [*self._columns, *(p.name for p in self.spec.params)]
        raise KeyError(f"{self.spec.name} has no {name}{_hint(name, known)}")

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Where no `require` is broken and every output is a number."""
        masks = np.array(required(self.spec), np.uint64)
        return np.asarray(~(self.words & masks).any(axis=1)).reshape(self.shape)

    @property
    def violations(self) -> dict[str, int]:
        """How many points break each rule that any breaks, `undefined` included."""
        names = [*(r.name for r in self.spec.rules), UNDEFINED]
        counts = {n: int(np.count_nonzero(self._bit(b))) for b, n in enumerate(names)}
        return {n: c for n, c in counts.items() if c}

    def broken(self, rule: str) -> NDArray[np.bool_]:
        """Where a rule is broken."""
        names = [*(r.name for r in self.spec.rules), UNDEFINED]
        if rule not in names:
            raise KeyError(f"{self.spec.name} has no rule {rule}{_hint(rule, names)}")
        return self._bit(names.index(rule)).reshape(self.shape)

    def _bit(self, bit: int) -> NDArray[np.bool_]:
        mask = np.uint64(1 << bit % 64)
        return np.asarray((self.words[:, bit // 64] & mask) != 0)

    def result(self, point: int) -> Result:
        """One of the points."""
        at = point + self.plan.first
        values = [float(v[at // s % c]) for v, s, c in self.plan.axes]
        outputs = [float(o.scale.to_base(self._columns[o.name][point])) for o in self.spec.outputs]
        return Result(self.spec, values, outputs, [int(w) for w in self.words[point]])

    def best(self, maximize: str = "", *, minimize: str = "") -> Result:
        """The feasible point with the most (or least) of an output; the first of equals.

        Points where it is infinite are left out.
        """
        if bool(maximize) == bool(minimize):
            raise ValueError("name one output, to maximize or to minimize")
        values = self._objective(maximize or minimize, bool(maximize))
        allowed = self._comparable([values])
        return self.result(int(allowed[np.argmin(values[allowed])]))

    def pareto(
        self, *, maximize: str | Sequence[str] = (), minimize: str | Sequence[str] = ()
    ) -> Sweep:
        """The feasible points no other is at least as good as in all and better in one.

        Points where one of the outputs is infinite are left out.
        """
        up, down = ([n] if isinstance(n, str) else list(n) for n in (maximize, minimize))
        goals = [self._objective(n, True) for n in up] + [self._objective(n, False) for n in down]
        if not goals:
            raise ValueError("name outputs to maximize or to minimize")
        allowed = self._comparable(goals)
        return self.take(allowed[_front(np.stack([g[allowed] for g in goals], axis=1))])

    def _comparable(self, goals: Sequence[Floats]) -> NDArray[np.int64]:
        """The feasible points where all goals are finite; ValueError if there are none."""
        feasible = np.flatnonzero(self.feasible)
        if not len(feasible):
            raise ValueError(f"none of the {len(self)} points is feasible: {self.violations}")
        finite = feasible[np.all([np.isfinite(g[feasible]) for g in goals], axis=0)]
        if not len(finite):
            raise ValueError(f"no output asked for is finite at any of {len(feasible)} points")
        return finite

    def _objective(self, name: str, maximize: bool) -> Floats:
        if name not in self._columns:
            raise ValueError(
                f"{self.spec.name} has no output {name}{_hint(name, [*self._columns])}"
            )
        return -self._columns[name] if maximize else self._columns[name]

    def take(self, points: Sequence[int] | NDArray[Any]) -> Sweep:
        """Some of the points, as a sweep of one dimension: their numbers, or a mask of bools."""
        points = np.asarray(points)
        if points.dtype == np.bool_:
            points = np.flatnonzero(points)
        elif not len(points):
            points = points.astype(np.int64)
        elif points.ndim != 1 or points.dtype.kind not in "iu":
            raise TypeError("points are taken by a list of their numbers, or a mask of bools")
        if len(points) and not (-len(self) <= points.min() and points.max() < len(self)):
            raise IndexError(f"some of the points are outside the sweep of {len(self)}")
        points = points % max(len(self), 1)
        columns = [c[points] for c in self._columns.values()]
        return Sweep(self.plan.part(points), columns, self.words[points])

    def iter_chunks(self, size: int) -> Iterator[Sweep]:
        """The points in parts of at most `size`."""
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Columns by name: params, outputs, `feasible`."""
        names = [p.name for p in self.spec.params] + list(self._columns)
        return {**{n: self.column(n) for n in names}, "feasible": self.feasible.ravel()}

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; units are in the fields' metadata."""
        pa = _package("pyarrow", "to_arrow")
        units = {p.name: p.scale.unit for p in self.spec.params}
        units.update({o.name: o.scale.unit for o in self.spec.outputs})
        arrays = {n: pa.array(c) for n, c in self.to_numpy().items()}
        fields = [pa.field(n, a.type, metadata={"unit": units.get(n, "")})
                  for n, a in arrays.items()]  # fmt: skip
        return pa.table(list(arrays.values()), schema=pa.schema(fields))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`, a row per point."""
        return _package("pandas", "to_pandas").DataFrame(self.to_numpy())

    def to_polars(self) -> Any:
        """A `polars.DataFrame`, a row per point."""
        return _package("polars", "to_polars").DataFrame(self.to_numpy())

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` with the grid's axes as coordinates."""
        coordinates = {}
        for p, (values, _, _) in zip(self.spec.params, self.plan.axes, strict=True):
            if p.name in self.dims:
                coordinates[p.name] = [p.show(v) for v in values.tolist()]
        data = {n: (self.dims, self[n]) for n in self._columns}
        dataset = _package("xarray", "to_xarray").Dataset
        return dataset({**data, "feasible": (self.dims, self.feasible)}, coordinates)

    def __repr__(self) -> str:
        grid = " x ".join(f"{n} {d}" for d, n in self.plan.dims) or "1 point"
        good = int(np.count_nonzero(self.feasible))
        return f"<sweep of {self.spec.name}: {grid}, {good} of {len(self)} feasible>"


def _package(name: str, method: str) -> Any:
    """A package that only some users have; without it, how to get it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"{method} needs {name}: pip install {name}, or all of them with 'hwdsl[frames]'",
            name=name,
        ) from None


def _labelled(values: Floats, labels: Sequence[str]) -> NDArray[Any]:
    names = np.array([*labels, ""])
    inside = (values >= 0) & (values < len(labels))
    return np.asarray(names[np.where(inside, values, len(labels)).astype(np.int64)])


def _front(costs: Floats) -> NDArray[np.int64]:
    """The rows that no row dominates (all at most, one less), in their order."""
    order = np.lexsort(costs.T[::-1])
    if costs.shape[1] == 1:
        return np.flatnonzero(costs[:, 0] == costs[:, 0].min()) if len(costs) else order
    kept: list[int] = []
    front = np.empty((0, costs.shape[1]))
    for k in order:
        row = costs[k]
        below = np.all(front <= row, axis=1) & np.any(front < row, axis=1)
        if not below.any():
            kept.append(int(k))
            front = np.vstack([front, row])
    return np.array(sorted(kept), np.int64)
