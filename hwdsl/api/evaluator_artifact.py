"""What loading a file gives, as data: enough to call and to sweep, kept in the cache by content.

An entry holds, for each evaluator, what the runtime is told of it, the exact units, the optimised
graph and the rules that no point decides; and the warnings. Derivations and messages need more; for
them the file is elaborated again. A cold load goes through the same data, so that it gives the same
as a warm one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from hwdsl.api import artifact
from hwdsl.api.quantities import scales
from hwdsl.base import store
from hwdsl.base.diagnostics import Diagnostic
from hwdsl.base.source import LARGEST_FILE, Source, read_bytes
from hwdsl.base.units import Dim, Unit
from hwdsl.codegen.ir import serialization as text
from hwdsl.codegen.runtime import Scale, Spec

if TYPE_CHECKING:
    from hwdsl.codegen.ir.graph import Graph

KIND = "loaded"


@frozen(slots=False)
class Kept:
    """An evaluator: its spec, the exact units of its params, and its graphs as text.

    `undecided` holds the name and the message of each rule that reads what nobody knows;
    `operations` says how many the graph had as elaborated, with the rounds of its loops.
    """

    spec: Spec
    units: Mapping[str, Unit]
    text: str
    sampler_text: str | None
    undecided: tuple[tuple[str, str], ...]
    operations: int

    @cached_property
    def graph(self) -> Graph:
        """The optimised graph."""
        return text.load(self.text)

    @cached_property
    def sampler(self) -> Graph | None:
        """The graph that makes draws, if some param has a distribution."""
        return None if self.sampler_text is None else text.load(self.sampler_text)


@frozen(slots=False)
class KeptFile:
    """A file: its evaluators, the units that texts may use, its `#!` text and its warnings."""

    evaluators: Mapping[str, Kept]
    units_data: Mapping[str, Any]
    doc: str
    warnings: tuple[Diagnostic, ...]

    @cached_property
    def scales(self) -> Mapping[str, Scale]:
        """The units in sight, which only texts need."""
        return scales(_units(self.units_data))


def keep(main: Source, used: Mapping[str, str], file: KeptFile) -> None:
    """Put a file's entry into the cache; nothing but time is lost if that cannot be done.

    `used` are the files read on behalf of `main`, with hashes of their texts.
    """
    with suppress(store.CacheError, ValueError, OSError):
        inputs = artifact.inputs(main, used)
        data = {
            "key": artifact.key(main, artifact.surroundings(main, inputs)),
            "inputs": inputs,
            "doc": file.doc,
            "units": file.units_data,
            "evaluators": [_evaluator_data(e) for e in file.evaluators.values()],
            "warnings": artifact.findings_data(file.warnings, main),
        }
        # A spec that JSON cannot hold exactly is not kept.
        if _file(json.loads(json.dumps(data)), main) == file:
            artifact.store(KIND, main, data)


def find(path: Path) -> tuple[Source, KeptFile] | None:
    """A file's text and entry if there is one made from what is there now, else nothing."""
    data = artifact.load(KIND, str(path))
    if data is None:
        return None
    try:
        main = Source(str(path), read_bytes(path, LARGEST_FILE).decode("utf-8"))
        around = artifact.surroundings(main, artifact.inputs_now(main, data["inputs"]))
        return (main, _file(data, main)) if data["key"] == artifact.key(main, around) else None
    except (OSError, UnicodeDecodeError):
        return None  # a file that cannot be read now


# --- as data and back ----------------------------------------------------------------------------


def _file(data: Mapping[str, Any], main: Source) -> KeptFile:
    """The file that data describes."""
    kept = [_evaluator(each) for each in data["evaluators"]]
    warnings = artifact.FindingsReader(main).read(data["warnings"])
    return KeptFile({e.spec.name: e for e in kept}, data["units"], data["doc"], warnings)


def _evaluator_data(kept: Kept) -> dict[str, Any]:
    return {
        "spec": kept.spec.to_json(),
        "units": units_data(kept.units),
        "graph": kept.text,
        "sampler": kept.sampler_text,
        "undecided": kept.undecided,
        "operations": kept.operations,
    }


def _evaluator(data: Mapping[str, Any]) -> Kept:
    spec = Spec.from_json(data["spec"])
    undecided = tuple((name, message) for name, message in data["undecided"])
    return Kept(
        spec, _units(data["units"]), data["graph"], data["sampler"], undecided,
        data["operations"],
    )  # fmt: skip


def units_data(units: Mapping[str, Unit]) -> dict[str, Any]:
    """Units as data, exactly."""
    return {
        name: [u.name, str(u.factor), str(u.offset), [[b, str(p)] for b, p in u.dim.powers]]
        for name, u in units.items()
    }


def _units(data: Mapping[str, Any]) -> dict[str, Unit]:
    dims: dict[str, Dim] = {}

    def dim(powers: list[list[str]]) -> Dim:
        key = str(powers)
        if key not in dims:
            dims[key] = Dim(tuple((base, Fraction(power)) for base, power in powers))
        return dims[key]

    return {
        key: Unit(name, dim(powers), Fraction(factor), Fraction(offset))
        for key, (name, factor, offset, powers) in data.items()
    }
