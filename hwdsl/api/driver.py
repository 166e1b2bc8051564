"""The pipeline, stage by stage, in one place.

=============  =============================  ==============================================
stage          input                          output
=============  =============================  ==============================================
read           path                           `Source`
parse          `Source`                       `ast.Module`
load           `Source`                       `Modules`: the file and all it uses, parsed
check          `Modules`                      `Checked`: names, kinds, dimensions
check rules    `Checked`                      nothing new: known rules are decided
elaborate      `Checked`, one evaluator       `Elaboration`: params, outputs, rules, `Graph`
optimise       `Graph`                        `Graph`
build          optimised `Graph`s by name     `Kernels`: compiled, or interpreted
=============  =============================  ==============================================

A stage adds what is wrong to `diagnostics` and returns None, or a partial result, if it cannot go
on. Nothing the user wrote raises.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from hwdsl.base.collector import collector_rests
from hwdsl.base.diagnostics import Diagnostic, Diagnostics, Severity, closest
from hwdsl.base.notices import doing
from hwdsl.base.places import Places
from hwdsl.base.reading import read_source
from hwdsl.base.source import Source, reason

if TYPE_CHECKING:
    from hwdsl.api.check_artifact import FileFindings, Findings
    from hwdsl.api.evaluator_artifact import CachedEvaluator
    from hwdsl.codegen.ir.graph import Graph
    from hwdsl.codegen.runtime import Kernel
    from hwdsl.elaborate import ClaimResult, Elaboration
    from hwdsl.semantics.symbols import Checked, EvaluatorInfo
    from hwdsl.syntax import ast


@frozen
class Program:
    """A checked file with the graphs of its evaluators, ready to be built."""

    checked: Checked
    elaborations: Mapping[str, Elaboration]
    graphs: Mapping[str, Graph]


def read(path: Path, diagnostics: Diagnostics) -> Source | None:
    """Read a file as UTF-8 text."""
    try:
        if path.suffix not in ("", ".hw") and path.exists():
            why = "it is no `.hw` file"
        else:
            return read_source(path, diagnostics)
    except OSError as error:
        why = reason(error)
    except ValueError as error:  # a NUL in the path
        why = str(error)
    message = f"cannot read {path}: {why}"
    diagnostics.add(Diagnostic("unreadable-file", Severity.ERROR, message, (), _near(path)))
    return None


def _near(path: Path) -> str | None:
    """A help text with the `.hw` file that may be meant by a name that is none."""
    with suppress(OSError, ValueError):
        if not path.exists():
            known = [file.name for file in path.parent.glob("*.hw")]
            whole = f"{path.name}.hw"
            found = whole if whole in known else closest(path.name, known)
            return f"did you mean `{path.with_name(found)}`?" if found else None
    return None


def parse(source: Source, diagnostics: Diagnostics) -> ast.Module:
    """Parse a text; what did not parse is reported and left out."""
    from hwdsl.syntax import parse

    return parse(source, diagnostics)


def check(path: Path | Source, diagnostics: Diagnostics) -> Checked | None:
    """Read (if that is to be done), parse, load and check a file; decide its components' rules."""
    from hwdsl.elaborate import check_rules
    from hwdsl.semantics import check, load

    source = path if isinstance(path, Source) else read(path, diagnostics)
    if source is None:
        return None
    with doing(f"checking {source.name}"), collector_rests():
        modules = load(source, diagnostics)
        checked = check(modules, diagnostics)
        if not diagnostics.failed:
            check_rules(checked, diagnostics)
    return checked


def evaluators(checked: Checked) -> dict[str, EvaluatorInfo]:
    """The evaluators the file itself declares, in order."""
    from hwdsl.semantics.symbols import EvaluatorInfo

    values = checked.main.values.items()
    return {name: value for name, value in values if isinstance(value, EvaluatorInfo)}


def elaborate(
    checked: Checked,
    diagnostics: Diagnostics,
    only: str | None = None,
    free: Collection[str] = (),
    record: FileFindings | None = None,
) -> dict[str, Elaboration]:
    """Elaborate the evaluators of a checked file, or the one named `only`.

    Coefficients named in `free` become params. What each gives is noted in `record`.
    """
    from hwdsl.api import check_artifact
    from hwdsl.elaborate import elaborate

    if only is not None:
        info = evaluators(checked)[only]
        return {only: elaborate(checked, info, diagnostics, free=free)}
    return _elaborate(
        checked, diagnostics, record or check_artifact.FileFindings(checked), free, known=False
    )


def _elaborate(
    checked: Checked,
    diagnostics: Diagnostics,
    record: FileFindings,
    free: Collection[str] = (),
    *,
    known: bool,
) -> dict[str, Elaboration]:
    """Elaborate the evaluators, then the figures and tables: what no report could show is found.

    If `known`, those are left out of which `record` knows what is found.
    """
    from hwdsl.elaborate import Callees, displays, elaborate, picture, shown_by
    from hwdsl.elaborate.unread import places

    shared: Callees = {}  # what one evaluator calls of another is elaborated once
    found = {}
    for name, info in evaluators(checked).items():
        if not (known and record.knows(name, diagnostics)):
            work = partial(elaborate, checked, info, free=free, callees=shared, reached=True)
            with doing(f"elaborating `{name}`"):
                found[name] = record.noted(name, diagnostics, work)
            reached = found[name].reached
            if reached is not None:
                record.reaches(name, places(checked.main.tree, reached))
    if not (diagnostics.failed or free):
        _find_unread(checked, diagnostics, record)
    for node in () if diagnostics.failed else displays(checked):
        label = f"{node.form} {node.name.name}"
        if not (known and record.knows(label, diagnostics)):
            info = shown_by(checked, node)
            if info.name not in found:
                with doing(f"elaborating `{info.name}`"):
                    found[info.name] = elaborate(checked, info, Diagnostics())
            record.noted(label, diagnostics, partial(picture, checked, node, found[info.name]))
    return found


def _find_unread(checked: Checked, diagnostics: Diagnostics, record: FileFindings) -> None:
    """Warn of what the file says of its components and no evaluator reads."""
    from hwdsl.elaborate import reached_in_all
    from hwdsl.elaborate.unread import places, unread, warnings
    from hwdsl.semantics.modules import library_root

    known = evaluators(checked)
    name = checked.main.tree.source.name
    if not known or library_root() in Path(name).resolve().parents:
        return  # what is to be used by others, of which the library is made, is read by them
    found = unread(checked, _all(record.reached, known))
    for name, info in known.items() if found else ():
        first = record.reached[name]
        if found and not first.complete:  # only now, as most files have nothing to be told of
            reached = reached_in_all(checked, info, Diagnostics(), first.unknown)
            more = places(checked.main.tree, reached)
            record.reaches(name, evolve(first | more, complete=True))
            found = unread(checked, _all(record.reached, known))
    for each in warnings(checked, found):
        diagnostics.add(each)


def _all(reached: Mapping[str, Places], names: Iterable[str]) -> Places:
    """What all evaluators of a file together read of it."""
    whole = Places()
    for name in names:
        whole |= reached[name]
    return whole


def unread(paths: Sequence[Path], diagnostics: Diagnostics) -> list[Diagnostic]:
    """What files say of their components and no evaluator of any of them reads, waived or not."""
    from hwdsl.elaborate import reached_in_all
    from hwdsl.elaborate.unread import places, unread, warnings

    read: dict[str, Places] = {}
    programs: list[Checked] = []
    for path in paths:
        checked = check(path, found := Diagnostics())
        if checked is not None and not found.failed:
            programs.append(checked)
            for name, info in evaluators(checked).items():
                with doing(f"elaborating `{name}`"):
                    reached = reached_in_all(checked, info, found)
                for scope in checked.modules.values():
                    where = _real(scope.tree.source)
                    read[where] = read.get(where, Places()) | places(scope.tree, reached)
        diagnostics.take(found)
    return [
        each
        for checked in ([] if diagnostics.failed else programs)
        for each in warnings(
            checked,
            unread(checked, read.get(_real(checked.main.tree.source), Places())),
            waived=True,
        )
    ]


def _real(source: Source) -> str:
    return str(Path(source.name).resolve())


def findings(path: Path | Source) -> Findings:
    """All that is to be said of a file; what the cache knows is not looked for again."""
    from hwdsl.api import check_artifact

    found = Diagnostics()
    source = path if isinstance(path, Source) else read(path, found)
    if source is None:
        return check_artifact.Findings(found)
    kept = check_artifact.find(source) if not found.items else None
    if kept is not None:
        return kept
    checked = check(source, found)
    if checked is None:
        return check_artifact.Findings(found)
    record = check_artifact.start(checked, found)
    if not found.failed:
        _elaborate(checked, found, record, known=True)
    found.order()
    result = check_artifact.Findings(found, len(checked.main.tree.items), len(evaluators(checked)))
    check_artifact.keep(record, result)
    return result


def lower(
    checked: Checked,
    diagnostics: Diagnostics,
    only: str | None = None,
    free: Collection[str] = (),
    record: FileFindings | None = None,
) -> Program:
    """Elaborate (with coefficients in `free` as params) and optimise, all evaluators or `only`."""
    from hwdsl.codegen.passes import optimise

    elaborations = elaborate(checked, diagnostics, only, free, record)
    graphs: dict[str, Graph] = {}
    if not diagnostics.failed:
        for name, e in elaborations.items():
            with doing(f"optimising the {len(e.graph.ops):,} operations of `{name}`"):
                graphs[name] = optimise(e.graph)
    return Program(checked, elaborations, graphs)


def program(
    path: Path | Source, diagnostics: Diagnostics, only: str | None = None
) -> Program | None:
    """Go from a file to optimised graphs; None if there are errors."""
    from hwdsl.api import check_artifact

    checked = check(path, diagnostics)
    if checked is None or diagnostics.failed:
        return None
    record = check_artifact.start(checked, diagnostics) if only is None else None
    lowered = lower(checked, diagnostics, only, record=record)
    diagnostics.order()
    if record is not None:
        definitions, questions = len(checked.main.tree.items), len(lowered.elaborations)
        check_artifact.keep(record, check_artifact.Findings(diagnostics, definitions, questions))
    return None if diagnostics.failed else lowered


def kernels(
    graphs: Mapping[str, Graph], *, compiled: bool | None = True
) -> tuple[Mapping[str, Kernel], str]:
    """Build the graphs, or interpret them; the second result says why they are interpreted.

    `compiled` None builds each once enough is asked of it that building pays. Raises BuildError
    only where HWDSL_ABORT_ON_CACHE_MISS asks that a miss be seen.
    """
    from hwdsl.codegen.build.toolchain import (
        COMPILE_LARGE,
        MOST_OPERATIONS,
        BuildError,
        build,
        misses_abort,
        too_large,
    )
    from hwdsl.codegen.ir.graph import count_operations

    if not graphs:
        return {}, ""
    if compiled is None:
        return {name: _tiered(name, graph) for name, graph in graphs.items()}, ""
    if not compiled:
        return {name: interpreter(graph) for name, graph in graphs.items()}, ""
    notices = []
    small = {name: graph for name, graph in graphs.items() if not too_large(graph)}
    if len(small) < len(graphs):
        large = ", ".join(f"`{name}`" for name in graphs if name not in small)
        notices.append(
            f"{large} is interpreted, which is slow: it has more than {MOST_OPERATIONS:,} "
            f"operations (`hwdsl compile` with {COMPILE_LARGE}=1 builds it)"
        )
    built: Mapping[str, Kernel] = {}
    try:
        if small:
            size = sum(count_operations(graph.ops, rounds=False) for graph in small.values())
            with doing(f"compiling {size:,} operations"):
                built = build(small)
    except BuildError as error:
        if misses_abort():
            raise
        first = str(error).strip().splitlines()[0]
        notices.append(f"evaluators are interpreted, which is slow: {first} (see `hwdsl doctor`)")
    found = {n: built[n] if n in built else interpreter(g) for n, g in graphs.items()}
    return found, "; ".join(notices)


def kernels_from_bytes(
    evaluators: Mapping[str, CachedEvaluator], *, compiled: bool | None = True
) -> tuple[Mapping[str, Kernel], str]:
    """As `kernels`, by the bytes of graphs: what is in the cache is found without reading them."""
    from hwdsl.codegen.build.toolchain import BuildError, cached

    encoded = {name: kept.graph_bytes for name, kept in evaluators.items()}
    with suppress(BuildError):  # said by `kernels`
        found = cached(encoded) if compiled is not False and encoded else None
        if found is not None:
            return found, ""
    return kernels({name: kept.graph for name, kept in evaluators.items()}, compiled=compiled)


def interpreter(graph: Graph) -> Kernel:
    """A kernel that interprets its graph."""
    from hwdsl.codegen.build.tiered import InterpreterKernel

    return InterpreterKernel(graph)


def _tiered(name: str, graph: Graph) -> Kernel:
    """A kernel that interprets its graph until it has so much to do that building it pays."""
    from hwdsl.codegen.build.tiered import InterpreterKernel, TieredKernel
    from hwdsl.codegen.build.toolchain import BuildError, cached
    from hwdsl.codegen.ir.serialization import encode

    def build() -> Kernel:
        built, notice = kernels({name: graph})
        if notice:
            warn_once(notice)
        return built[name]

    with suppress(BuildError):
        found = cached({name: encode(graph)})
        if found is not None:
            return found[name]
    return TieredKernel(InterpreterKernel(graph), build)


_told: set[str] = set()


def warn_once(notice: str) -> None:
    """Say something once in the life of the process."""
    if notice not in _told:
        _told.add(notice)
        print(f"hwdsl: {notice}", file=sys.stderr)


def differentiate(graph: Graph, output: str, wrt: Sequence[str]) -> Graph:
    """The graph with the derivatives `d.OUTPUT.PARAM` of an output, optimised."""
    from hwdsl.codegen.passes import differentiate, optimise

    return optimise(differentiate(graph, output, wrt))


def check_claims(checked: Checked, diagnostics: Diagnostics) -> dict[str, list[ClaimResult]]:
    """Evaluate the claims of the file itself: a verdict for each expectation, by claim."""
    from hwdsl.elaborate import Callees, verify
    from hwdsl.semantics.symbols import ClaimInfo

    shared: Callees = {}  # each evaluator is elaborated once for all claims
    return {
        name: verify(checked, value, diagnostics, shared)
        for name, value in checked.main.values.items()
        if isinstance(value, ClaimInfo)
    }
