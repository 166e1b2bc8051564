"""Type stubs for evaluators: what editors and mypy know of a compiled module."""

from __future__ import annotations

import json
import keyword
from collections.abc import Sequence

from hwdsl.codegen.runtime import Output, Param, Spec

_HEAD = """\
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

"""

_RESULT = """\
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def feasible(self) -> bool: ...
    @property
    def violations(self) -> list[str]: ...
    def __getitem__(self, name: str) -> Any: ...
"""


def stub(specs: Sequence[Spec]) -> str:
    """The text of a `.pyi` for a module with these evaluators."""
    return _HEAD + "\n".join(_evaluator(spec) for spec in specs)


def _evaluator(spec: Spec) -> str:
    prefix = "_" + spec.name
    outputs = [o for o in spec.outputs if _usable(o.name)]
    lines = [f"class {prefix}_result:"]
    for o in outputs:
        lines += ["    @property", f"    def {o.name}(self) -> {_answer(o)}:"]
        lines.append(f"        {_doc(o.doc, o.scale.unit)}")
    for name in dict.fromkeys(o.name.partition(".")[0] for o in spec.outputs if "." in o.name):
        lines += ["    @property", f"    def {name}(self) -> dict[str, Any]: ..."]
    lines.append(_RESULT)
    params = [p for p in spec.params if _usable(p.name)]
    one = ["self", *(["*"] if params else []), *(_argument(p, _given(p)) for p in params)]
    many = [_argument(p, f"{_given(p)} | Sequence[Any] | NDArray[Any]") for p in params]
    sweep = ["self", "*", 'mode: Literal["grid", "zip"] = ...',
             "zipped: Mapping[str, Any] | None = ...",
             "progress: Callable[[int, int], None] | None = ...",
             "threads: int | None = ...", *(_optional(a) for a in many)]  # fmt: skip
    chunks = ["self", "size: int = ...", "*", 'mode: Literal["grid", "zip"] = ...',
              "zipped: Mapping[str, Any] | None = ...", *(_optional(a) for a in many)]  # fmt: skip
    lines += [_sweep(prefix, outputs), f"class {prefix}:"]
    lines += [f"    {_doc(spec.doc or spec.name, '')}"]
    lines += _method("__call__", one, f"{prefix}_result")
    lines += _method("sweep", sweep, f"{prefix}_sweep")
    lines += _method("iter_chunks", chunks, f"Iterator[{prefix}_sweep]")
    return "\n".join([*lines, "", f"{spec.name}: {prefix}", ""])


def _sweep(prefix: str, outputs: Sequence[Output]) -> str:
    name = f"Literal[{', '.join(json.dumps(o.name) for o in outputs)}]" if outputs else "str"
    goals = f"{name} | Sequence[{name}]"
    return f"""\
class {prefix}_sweep:
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    feasible: NDArray[np.bool_]
    violations: dict[str, int]
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> {prefix}_result: ...
    def __getattr__(self, name: str) -> NDArray[Any]: ...
    def take(self, points: Sequence[int] | NDArray[Any]) -> {prefix}_sweep: ...
    def column(self, name: str) -> NDArray[Any]: ...
    def broken(self, rule: str) -> NDArray[np.bool_]: ...
    def best(
        self, maximize: {name} | Literal[""] = ..., *, minimize: {name} | Literal[""] = ...
    ) -> {prefix}_result: ...
    def pareto(
        self, *, maximize: {goals} = ..., minimize: {goals} = ...
    ) -> {prefix}_sweep: ...
    def result(self, point: int) -> {prefix}_result: ...
    def iter_chunks(self, size: int) -> Iterator[{prefix}_sweep]: ...
    def to_numpy(self) -> dict[str, NDArray[Any]]: ...
    def to_arrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_xarray(self) -> Any: ...
"""


def _method(name: str, args: Sequence[str], result: str) -> list[str]:
    inner = [f"        {a}," for a in args]
    return [f"    def {name}(", *inner, f"    ) -> {result}: ..."]


def _argument(param: Param, type: str) -> str:
    default = "" if param.default is None else " = ..."
    return f"{param.name}: {type}{default}"


def _optional(argument: str) -> str:
    """The same, to be left out: a sweep may give it in `zipped`."""
    return argument if argument.endswith(" = ...") else f"{argument} = ..."


def _given(param: Param) -> str:
    if param.kind == "choice":
        return f"Literal[{', '.join(json.dumps(x) for x in param.labels)}]"
    return {"bool": "bool", "int": "int | str"}.get(param.kind, "float | str")


def _answer(output: Output) -> str:
    return (
        f"Literal[{', '.join(json.dumps(x) for x in output.labels)}]" if output.labels else "float"
    )


def _doc(text: str, unit: str) -> str:
    whole = f"{text} [{unit}]" if unit else text
    return json.dumps(" ".join(whole.split()) or "No description.", ensure_ascii=False)


def _usable(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
