"""The text of each stage for the example of `docs/internals.md`, made by the stages themselves.

Input: the page's own `hw` block. Output: by the name of a stage, the text that the page shows in a
block ```` ```text NAME ````. After a change of a stage:
HWDSL_WRITE_STAGES=1 pytest tests/product/test_internals.py
"""

from __future__ import annotations

from collections.abc import Iterator

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.emit.kernels import emit
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.ir.serialization import dump
from hwdsl.codegen.passes import fold_constants_and_cse, optimise
from hwdsl.elaborate import elaborate_traced
from hwdsl.elaborate.trace import ThunkRead, Trace, TraceItem, TraceNode
from hwdsl.elaborate.values import Thunk
from hwdsl.semantics.symbols import Checked
from hwdsl.syntax import ast
from hwdsl.syntax.read import prepare
from hwdsl.syntax.tree import children

NAME, PARAM, OUTPUT = "decode", "param weights", "output step"


def stages(text: str) -> dict[str, str]:
    """What each stage makes of the example, by the stage's name."""
    source, diagnostics = Source(f"{NAME}.hw", text), Diagnostics()
    checked = driver.check(source, diagnostics)
    assert checked is not None
    assert not diagnostics.items
    evaluator = driver.evaluators(checked)[NAME]
    elaboration, machine = elaborate_traced(checked, evaluator, diagnostics)
    raw = elaboration.graph
    folded = fold_constants_and_cse(raw)
    assert machine.trace is not None
    return {
        "tokens": tokens(source),
        "tree": "\n".join(tree(member(checked, OUTPUT))),
        "checked": "\n".join(noted(checked, member(checked, OUTPUT))),
        "elaboration": "\n".join(thunks(machine.trace)),
        "graph": dump(raw),
        "folded": dump(folded),
        "optimised": dump(optimise(raw)),
        "kernel": lanes(emit({NAME: optimise(raw)})["kernel_0.h"]),
    }


def line(text: str, start: str) -> str:
    """The line of the example that starts so."""
    return next(x.strip() for x in text.splitlines() if x.strip().startswith(start))


def tokens(source: Source) -> str:
    """The tokens of the line with the param."""
    reading = prepare(source, Diagnostics(), 0, len(source.text), whole=True)
    reading.run("start")
    wanted = line(source.text, PARAM)
    start = source.text.index(wanted)
    found = (t for t in reading.tokens if start <= t.start_pos < start + len(wanted))
    return "  ".join(f"{t.type} {t}" for t in found)


def member(checked: Checked, start: str) -> ast.Node:
    """The evaluator's member whose text starts so."""
    decl = driver.evaluators(checked)[NAME].decl
    return next(m for m in decl.members if m.span.text.startswith(start))


def tree(node: ast.Node, depth: int = 0) -> Iterator[str]:
    """A node and those below it, indented; texts and numbers stand beside the node."""
    plain = [getattr(node, n) for n in node.__struct_fields__ if not n.endswith("span")]
    words = [str(x) for x in plain if isinstance(x, str | int) and x != ""]
    yield "  " * depth + " ".join([type(node).__name__, *words])
    for child in children(node):
        yield from tree(child, depth + 1)


def noted(checked: Checked, top: ast.Node) -> Iterator[str]:
    """What the checker has noted of each node."""
    rows = []
    for node in below(top):
        unit = checked.units[node].name if isinstance(node, ast.UnitExpr) else ""
        found = [checked.resolutions.get(node), checked.types.get(node), unit]
        if any(found):
            rows.append([node.span.text, *("" if x is None else str(x) for x in found)])
    for text, means, type_, unit in [["expression", "resolutions", "types", "units"], *rows]:
        yield f"{text:<40} {means:<38} {type_:<16} {unit}".rstrip()


def below(node: ast.Node) -> Iterator[ast.Node]:
    """A node and all below it."""
    yield node
    for child in children(node):
        yield from below(child)


def thunks(trace: Trace) -> Iterator[str]:
    """The thunks in the order of their first reading, each with the operation it has become."""
    seen: set[Thunk] = set()

    def show(thunk: Thunk, depth: int) -> Iterator[str]:
        if thunk in seen:
            return
        seen.add(thunk)
        parts = trace.nodes[thunk].parts
        value = thunk.value
        assert isinstance(value, Ref)
        texts = [p.expr.span.text for p in parts if isinstance(p, TraceNode) and p.expr is not None]
        text = "(a param)" if value.op.code == "param" else texts[-1]
        yield f"{'  ' * depth + thunk.label:<20} {text:<42} {value.index} {value.op.code}"
        for read in readings(parts):
            yield from show(read, depth + 1)

    for value in trace.names.values():
        if isinstance(value, Thunk):
            yield from show(value, 0)


def readings(parts: list[TraceItem]) -> Iterator[Thunk]:
    """The thunks that were read on behalf of something, in order."""
    for part in parts:
        if isinstance(part, ThunkRead):
            yield part.thunk
        elif isinstance(part, TraceNode):
            yield from readings(part.parts)


def lanes(header: str) -> str:
    """The part of a kernel that runs for each tile."""
    lines = header.splitlines()
    first = next(i for i, x in enumerate(lines) if x.startswith("    for (int64_t base"))
    last = next(i for i, x in enumerate(lines) if x == "    return hw_halted ? 1 : 0;")
    return "\n".join(x[4:] for x in lines[first:last])
