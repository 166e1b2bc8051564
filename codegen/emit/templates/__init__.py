"""Templates of generated text: kernels, and the Python that a compiled module consists of."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # a cached kernel needs none

    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, autoescape=False,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    found.filters["repr"] = repr
    return found


def render(name: str, /, **values: object) -> str:
    """The text of a template, given the values that it names."""
    return _environment().get_template(f"{name}.j2").render(values)
