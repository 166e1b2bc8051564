"""Type stubs for evaluators: what editors and mypy know of a compiled module."""

from __future__ import annotations

import json
import keyword
from collections.abc import Sequence

from hwdsl.codegen.runtime import OutputSpec, ParamSpec, Result, Spec

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
    def unit(self, name: str) -> str: ...
"""


_OPTIONS = {
    "mode": 'Literal["grid", "zip"] | None',
    "zipped": "Any",
    "progress": "Callable[[int, int], None] | bool | None",
    "threads": "int | None",
}
"""The options of a sweep, which `Evaluator.named` tells from params of the same name."""


_MAPPING = ["self", "at: Mapping[str, Any]", "/", "**given: Any"]


def stub(specs: Sequence[Spec]) -> str:
    """The text of a `.pyi` for a module with these evaluators."""
    return _HEAD + "\n".join(_evaluator(spec) for spec in specs)


def _evaluator(spec: Spec) -> str:
    result, sweep, evaluator = (f"_{n}_{spec.name}" for n in ("Result", "Sweep", "Evaluator"))
    outputs = [o for o in spec.outputs if _attribute(o.name, Result)]
    lines = [f"class {result}:"]
    for o in outputs:
        lines += ["    @property", f"    def {o.name}(self) -> {_answer(o)}:"]
        lines.append(f"        {_doc(o.doc, o.scale.unit)}")
    for name in dict.fromkeys(o.name.partition(".")[0] for o in spec.outputs if "." in o.name):
        if _attribute(name, Result):
            lines += ["    @property", f"    def {name}(self) -> dict[str, Any]: ..."]
    lines.append(_RESULT)
    lines += [_sweep(sweep, result, spec.outputs), f"class {evaluator}:"]
    lines += [f"    {_doc(spec.doc or spec.name, '')}"]
    for arguments in (_MAPPING, _keywords(spec)):
        lines += ["    @overload", *_method("__call__", arguments, result)]
    lines += ["    def violated_rules(",
              "        self, at: Mapping[str, Any] = ..., /, **given: Any,",
              "    ) -> list[tuple[str, str, str]]: ..."]  # fmt: skip
    lines += _method("sweep", _many(spec, *_OPTIONS), sweep)
    chunks = _many(spec, "mode", "zipped", sized=True)
    lines += _method("iter_chunks", chunks, f"Iterator[{sweep}]")
    if spec.drawn:
        lines += ["    def sample(", "        self, points: int = ...,",
                  "        at: Mapping[str, Any] = ..., /, *, seed: int | None = ...,",
                  "        threads: int | None = ..., keep: bool | None = ..., **given: Any,",
                  "    ) -> Any: ..."]  # fmt: skip
    if not _usable(spec.name):  # Python reaches it by `getattr` or `vars` only
        return "\n".join([*lines, ""])
    return "\n".join([*lines, "", f"{spec.name}: {evaluator}", ""])


def _keywords(spec: Spec) -> list[str]:
    """The arguments of a call whose params are keywords; those without a default are needed."""
    params = [p for p in spec.params if _usable(p.name)]
    needed = ("" if p.default is None else " = ..." for p in params)
    given = (f"{p.name}: {_given(p)}{end}" for p, end in zip(params, needed, strict=True))
    return ["self", *(["*"] if params else []), *given]


def _many(spec: Spec, *options: str, sized: bool = False) -> list[str]:
    """The arguments of a sweep; a param with the name of an option goes into the mapping."""
    params = [p for p in spec.params if _usable(p.name) and p.name not in options]
    given = (f"{p.name}: {_given(p)} | Sequence[Any] | NDArray[Any] = ..." for p in params)
    places = [*([f"{_fresh(spec, 'size')}: int = ..."] if sized else []),
              f"{_fresh(spec, 'at')}: Any = ..."]  # fmt: skip
    return ["self", *places, "/", "*",
            *(f"{name}: {_OPTIONS[name]} = ..." for name in options), *given]  # fmt: skip


def _fresh(spec: Spec, name: str) -> str:
    """The name of an argument given by place: one that no param has."""
    while any(p.name == name for p in spec.params):
        name += "_"
    return name


def _sweep(sweep: str, result: str, outputs: Sequence[OutputSpec]) -> str:
    name = f"Literal[{', '.join(json.dumps(o.name) for o in outputs)}]" if outputs else "str"
    goals = f"{name} | Sequence[{name}]"
    return f"""\
class {sweep}:
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    feasible: NDArray[np.bool_]
    violations: dict[str, int]
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> {result}: ...
    def __getattr__(self, name: str) -> NDArray[Any]: ...
    def take(self, points: Sequence[int] | NDArray[Any]) -> {sweep}: ...
    def column(self, name: str) -> NDArray[Any]: ...
    def unit(self, name: str) -> str: ...
    def broken(self, rule: str) -> NDArray[np.bool_]: ...
    def best(
        self, maximize: {name} | Literal[""] = ..., *, minimize: {name} | Literal[""] = ...
    ) -> {result}: ...
    def pareto(
        self, *, maximize: {goals} = ..., minimize: {goals} = ...
    ) -> {sweep}: ...
    def result(self, point: int) -> {result}: ...
    def iter_chunks(self, size: int) -> Iterator[{sweep}]: ...
    def to_numpy(self) -> dict[str, NDArray[Any]]: ...
    def to_arrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_xarray(self) -> Any: ...
"""


def _method(name: str, args: Sequence[str], result: str) -> list[str]:
    inner = [f"        {a}," for a in args]
    return [f"    def {name}(", *inner, f"    ) -> {result}: ..."]


def _given(param: ParamSpec) -> str:
    if param.kind == "choice":
        return f"Literal[{', '.join(json.dumps(x) for x in param.labels)}]"
    number = "float | str" if param.plain else "str"
    return {"bool": "bool", "int": "int | str"}.get(param.kind, number)


def _answer(output: OutputSpec) -> str:
    return (
        f"Literal[{', '.join(json.dumps(x) for x in output.labels)}]" if output.labels else "float"
    )


def _doc(text: str, unit: str) -> str:
    whole = f"{text} [{unit}]" if unit else text
    return json.dumps(" ".join(whole.split()) or "No description.", ensure_ascii=False)


def _usable(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _attribute(name: str, of: type) -> bool:
    """Whether an output of that name is an attribute: neither a word of Python nor of the class."""
    return _usable(name) and not hasattr(of, name)
