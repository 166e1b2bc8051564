"""Specs and messages as Python text, which a compiled module imports: exact, and read by no code.

Input: the runtime's dataclasses. Output: the text of a module that stands in the runtime's
folder and holds `SPECS` and `MESSAGES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass

from hwdsl.codegen.runtime import Message, Spec

_HEAD = '''\
"""What the compiled evaluators are, written by `hwdsl compile`."""

from math import inf, nan

from .message import Placeholder, Message
from .spec import OutputSpec, ParamSpec, RuleSpec, Scale, Spec
'''


def module_text(specs: Iterable[Spec], messages: Mapping[str, Sequence[Sequence[Message]]]) -> str:
    """The text of the module."""
    found = [f"SPECS = {_listed(map(literal, specs))}"]
    rules = {name: _listed(map(literal, of)) for name, of in messages.items()}
    found.append(f"MESSAGES = {{{', '.join(f'{n!r}: {text}' for n, text in rules.items())}}}")
    return "\n".join([_HEAD, *found, ""])


def _listed(texts: Iterable[str]) -> str:
    """A list, an element a line."""
    return "[" + "".join(f"\n{text}," for text in texts) + "]"


def literal(value: object) -> str:
    """An expression whose value is a dataclass, or what one may hold; floats come back exactly."""
    if is_dataclass(value):
        given = ((f.name, getattr(value, f.name), f.default) for f in fields(value))
        parts = [
            f"{name}={literal(held)}"
            for name, held, default in given
            if default is MISSING or held is not default
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(k)}: {literal(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        inner = "".join(f"{literal(each)}, " for each in value)
        return f"({inner.rstrip()})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, float):
        return repr(float(value))  # `inf` and `nan` are names of the module
    if value is None or isinstance(value, str | bool | int):
        return repr(value)
    raise TypeError(f"a {type(value).__name__} has no literal")
