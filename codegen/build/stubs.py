"""Type stubs for evaluators: what editors and mypy know of a compiled module."""

from __future__ import annotations

import json
import keyword
from collections.abc import Sequence

from hwdsl.codegen.emit.templates import render
from hwdsl.codegen.runtime import REDUCTIONS, OutputSpec, ParamSpec, Result, Spec

_OPTIONS = {
    "mode": 'Literal["grid", "zip"] | None',
    "zipped": "Any",
    "progress": "Callable[[int, int], None] | bool | None",
    "threads": "int | None",
}
"""The options of a sweep, which `Evaluator.named` tells from params of the same name."""


def stub(specs: Sequence[Spec]) -> str:
    """The text of a `.pyi` for a module with these evaluators."""
    own = {spec.name for spec in specs}
    reductions = [name for name in REDUCTIONS if name not in own]
    evaluators = [_evaluator(spec) for spec in specs]
    return render("stub.pyi", evaluators=evaluators, reductions=reductions)


def _evaluator(spec: Spec) -> dict[str, object]:
    """What the template says of an evaluator."""
    groups = dict.fromkeys(o.name.partition(".")[0] for o in spec.outputs if "." in o.name)
    return {
        "name": spec.name,
        "doc": _doc(spec.doc or spec.name, ""),
        "outputs": [
            {"name": o.name, "type": _answer(o), "doc": _doc(o.doc, o.scale.unit)}
            for o in spec.outputs
            if _attribute(o.name, Result)
        ],
        "groups": [name for name in groups if _attribute(name, Result)],
        "names": _literals([o.name for o in spec.outputs]) if spec.outputs else "str",
        "keywords": _keywords(spec),
        "sweep": _many(spec, *_OPTIONS),
        "chunks": _many(spec, "mode", "zipped", sized=True),
        "drawn": spec.drawn,
        "reached": _usable(spec.name),  # Python reaches others by `getattr` or `vars` only
    }


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


def _literals(texts: Sequence[str]) -> str:
    return f"Literal[{', '.join(map(json.dumps, texts))}]"


def _given(param: ParamSpec) -> str:
    if param.kind == "choice":
        return _literals(param.labels)
    number = "float | str" if param.plain else "str"
    return {"bool": "bool", "int": "int | str"}.get(param.kind, number)


def _answer(output: OutputSpec) -> str:
    return f"{_literals(output.labels)} | None" if output.labels else "float"


def _doc(text: str, unit: str) -> str:
    whole = f"{text} [{unit}]" if unit else text
    return json.dumps(" ".join(whole.split()) or "No description.", ensure_ascii=False)


def _usable(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _attribute(name: str, of: type) -> bool:
    """Whether an output of that name is an attribute: neither a word of Python nor of the class."""
    return _usable(name) and not hasattr(of, name)
