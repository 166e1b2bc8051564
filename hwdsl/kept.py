"""What loading a file gives, as data: enough to call and to sweep, kept in the cache by content.

An entry belongs to one file and says by which key it was made: a hash of the file, of all that it
uses, of the library and of the compiler. It holds, for each evaluator, what the runtime is told of
it, the exact units and the optimised graph; and the warnings. Derivations and messages need more;
for them the file is elaborated again. A cold load goes through the same data, so that it gives the
same as a warm one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from attrs import frozen

from hwdsl import installed
from hwdsl.codegen import cache, text
from hwdsl.codegen.runtime import Scale, Spec
from hwdsl.diagnostics import Diagnostic, Label, Severity
from hwdsl.source import (
    LARGEST_FILE,
    LARGEST_TABLE,
    Source,
    Span,
    read_bytes,
    read_text,
    text_hash,
)
from hwdsl.units import Dim, Unit
from hwdsl.values import scales

if TYPE_CHECKING:
    from hwdsl.codegen.ir import Graph

KIND = "loaded"


@frozen(slots=False)
class Kept:
    """An evaluator: its spec, the exact units of its params, and its graphs as text."""

    spec: Spec
    units: Mapping[str, Unit]
    text: str
    sampler_text: str | None

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
    folder, library = PurePath(main.name).parent, installed.package_folder("hwdsl.library")
    with suppress(cache.CacheError, ValueError, OSError):
        inputs = [
            (str(PurePath(name).relative_to(folder)), str(Path(name).resolve()), found)
            for name, found in used.items()
            if library not in PurePath(name).parents
        ]
        data = {
            "key": _key(main, inputs),
            "inputs": inputs,
            "doc": file.doc,
            "units": file.units_data,
            "evaluators": [_evaluator_data(e) for e in file.evaluators.values()],
            "warnings": [_warning_data(d, folder) for d in file.warnings],
        }
        # A spec that JSON cannot hold exactly is not kept.
        whole = json.dumps(data, separators=(",", ":"))
        if _file(json.loads(whole), main) == file:
            cache.store_text(KIND, _entry(main.name), whole)


def find(path: Path) -> tuple[Source, KeptFile] | None:
    """A file's text and entry if there is one made from what is there now, else nothing."""
    try:
        found = cache.load_text(KIND, _entry(str(path)))
        if found is None:
            return None
        main = Source(str(path), read_bytes(path, LARGEST_FILE).decode("utf-8"))
        data = json.loads(found)
        inputs = [
            (name, str(used.resolve()), text_hash(read_text(used, LARGEST_TABLE)))
            for name, used in ((name, path.parent / name) for name, *_ in data["inputs"])
        ]
        return (main, _file(data, main)) if data["key"] == _key(main, inputs) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no entry of ours, or a file that cannot be read now


def _entry(path: str) -> str:
    """The name of a file's entry; a newer one takes its place."""
    return hashlib.sha256(str(Path(path).resolve()).encode()).hexdigest() + ".json"


def _key(main: Source, inputs: Sequence[tuple[str, str, str]]) -> str:
    """A hash of all that the entry depends on; links count by where they lead."""
    parts = {
        "compiler": installed.compiler(),
        "library": installed.library(),
        "place": str(Path(main.name).resolve()),
        "text": main.text,
    }
    parts.update({f"input {k}": "\0".join(each) for k, each in enumerate(inputs)})
    return cache.key(parts)


# --- as data and back ----------------------------------------------------------------------------


def _file(data: Mapping[str, Any], main: Source) -> KeptFile:
    """The file that data describes; KeyError, TypeError or ValueError if it describes none."""
    kept = [_evaluator(each) for each in data["evaluators"]]
    warnings = tuple(_warning(each, main) for each in data["warnings"])
    return KeptFile({e.spec.name: e for e in kept}, data["units"], data["doc"], warnings)


def _evaluator_data(kept: Kept) -> dict[str, Any]:
    return {
        "spec": kept.spec.to_json(),
        "units": units_data(kept.units),
        "graph": kept.text,
        "sampler": kept.sampler_text,
    }


def _evaluator(data: Mapping[str, Any]) -> Kept:
    spec = Spec.from_json(data["spec"])
    return Kept(spec, _units(data["units"]), data["graph"], data["sampler"])


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


def _warning_data(found: Diagnostic, folder: PurePath) -> dict[str, Any]:
    spans = [(x.span, str(PurePath(x.span.source.name).relative_to(folder))) for x in found.labels]
    return {
        "name": found.name,
        "severity": found.severity.value,
        "message": found.message,
        "help": found.help,
        "labels": [
            [name, span.start, span.end, x.text]
            for x, (span, name) in zip(found.labels, spans, strict=True)
        ],
    }


def _warning(data: Mapping[str, Any], main: Source) -> Diagnostic:
    folder = Path(main.name).parent
    labels = []
    for name, start, end, said in data["labels"]:
        path = str(folder / name)
        source = main if path == main.name else Source(path, read_text(Path(path), LARGEST_FILE))
        labels.append(Label(Span(source, int(start), int(end)), said))
    severity = Severity(data["severity"])
    return Diagnostic(data["name"], severity, data["message"], tuple(labels), data["help"])
