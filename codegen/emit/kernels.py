"""Graphs to C: one kernel per graph, and the Python module that calls them.

A kernel works on tiles of `TILE` points. What is the same for all points of a call is computed
once, before them; the rest becomes *segments*: straight-line code in a loop over the lanes of a
tile, which the C compiler vectorises. A value that one segment makes and another needs crosses
in a row of `T` (one entry per lane) or a cell of `S` (scalar). A `loop` operation stands between
segments, with its rounds outside the lanes: its states are rows, and a lane that has stopped
keeps its entry. So does a *branch*: what only one side of a selection by a scalar needs.
Straight-line code too large for one function is cut into several, so that
compile time grows with the size of the graph and no faster.

The text depends on the graphs alone: names of params, outputs and rules never reach it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

from attrs import define, field
from jinja2 import DictLoader, Environment, StrictUndefined

from hwdsl.codegen.emit.c_printer import C_SOURCE
from hwdsl.codegen.emit.regions import FunctionOutliner, GraphEpilogue, RegionEmitter, slot
from hwdsl.codegen.emit.tile_invariants import InvariantGroup, find_invariant_groups
from hwdsl.codegen.emit.uniformity import ListAnalysis, analyze_graph, call_invariant
from hwdsl.codegen.ir.graph import Graph, Op, count_operations
from hwdsl.codegen.numerics.c_backend import c_literal, out_of_line
from hwdsl.codegen.operations import OPERATIONS

TILE, LEAST = 256, 64
TILES = ((16, TILE), (32, 128))
"""Rows and the longest tile they allow: all rows should fit a first-level cache of 32 KiB."""
INLINE = 8
"""Uses of a function such as `pow` in a module above which it is compiled apart, once."""
TEMPLATES = ("abi.h.j2", "kernels.c.j2", "kernel.h.j2", "module.pyx.j2")
MODULE = "_hwdsl_kernel"


@cache
def templates() -> dict[str, str]:
    """The templates by name."""
    folder = resources.files("hwdsl.codegen.emit.templates")
    return {name: (folder / name).read_text("utf-8") for name in TEMPLATES}


@cache
def _environment() -> Environment:
    return Environment(
        loader=DictLoader(templates()), undefined=StrictUndefined, autoescape=False,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip


def module_files() -> dict[str, str]:
    """The half of a module that is the same for all graphs."""
    env = _environment()
    return {
        "hwdsl_abi.h": env.get_template("abi.h.j2").render(),
        f"{MODULE}.pyx": env.get_template("module.pyx.j2").render(),
    }


def emit(graphs: Mapping[str, Graph]) -> dict[str, str]:
    """The source files of one module with a kernel per graph, in the order given."""
    files = module_files()
    uses = Counter(c for g in graphs.values() for c in _outlined_operations(g.ops))
    far = frozenset(c for c, n in uses.items() if n > INLINE)
    for i, graph in enumerate(graphs.values()):
        files[f"kernel_{i}.h"] = KernelEmitter(i, graph, far).text()
    shapes = [
        {
            "params": len(g.params),
            "outputs": len(g.outputs),
            "words": g.words,
            "work": c_literal(float(count_operations(g.ops, rounds=True))),
        }
        for g in graphs.values()
    ]
    files["kernels.c"] = (
        _environment()
        .get_template("kernels.c.j2")
        .render(
            numerics=C_SOURCE,
            kernels=len(graphs),
            shapes=shapes,
            apart=[out_of_line(code, OPERATIONS[code].arity) for code in sorted(far)],
        )
    )
    return files


def _outlined_operations(ops: Sequence[Op]) -> Iterator[str]:
    """The codes that take much text, once per use."""
    for op in ops:
        if op.body is not None:
            yield from _outlined_operations(op.body.ops)
        elif OPERATIONS[op.code].heavy:
            yield op.code


@define(eq=False)
class KernelEmitter:
    """Writes one kernel."""

    index: int
    graph: Graph
    far: frozenset[str] = frozenset()
    draft: FunctionOutliner = field(init=False)

    def text(self) -> str:
        """The header with the kernel's function."""
        g = self.graph
        self.draft = FunctionOutliner(self.index, tuple(len(t) for t in g.tables), self.far)
        shape = analyze_graph(g)
        early = call_invariant(shape)
        params = [(i, op) for i, op in enumerate(g.ops) if op.code == "param" and shape.live[i]]
        place = {i: self.draft.storage.place(g.params[op.index].uniform) for i, op in params}
        scratch = slot(self.draft.storage.row()) if g.outputs else 0
        sinks = GraphEpilogue(tuple(op for _, op in (*g.outputs, *g.rules)), g)
        memos, late = find_invariant_groups(
            shape, early, [p.uniform for p in g.params], sinks.values
        )
        tiled = {*late, *(i for memo in memos for i in memo.steps)}
        wanted = {a for i in tiled for a in g.ops[i].args} | set(sinks.values)
        once = [i for i in shape.steps() if early[i]]
        prologue = RegionEmitter(self.draft, shape, once, place, 0, keep=wanted).text(
            "        ", None
        )
        body = [self._memo(shape, memo, place) for memo in memos]
        body.append(RegionEmitter(self.draft, shape, late, place, 0).text("        ", sinks))
        return self._render(params, place, scratch, prologue, "\n".join(body), bool(memos))

    def _memo(self, shape: ListAnalysis, memo: InvariantGroup, place: dict[int, str]) -> str:
        """Code that runs when a param of the group has changed; adds where its values stand."""
        # A row another group writes must not hold what this one keeps: both do not always run.
        others, self.draft.storage.spare = self.draft.storage.spare, []
        region = RegionEmitter(
            self.draft, shape, list(memo.steps), dict(place), 0, keep=set(memo.keep)
        )
        text = region.text("            ", None)
        self.draft.storage.spare = sorted(others + self.draft.storage.spare)
        place.update({i: region.place[i] for i in sorted(memo.keep)})
        params = [i for i in range(memo.mask.bit_length()) if memo.mask >> i & 1]
        changed = " | ".join(f"fresh[{i}]" for i in params)
        steady = " & ".join(f"cursors[{i}].steady" for i in params)
        rows = sorted({p for p in (region.place[i] for i in memo.keep) if p[0] == "T"})
        spread = " ".join(f"hw_spread({row[:-3]}, room);" for row in rows)
        return (
            f"        if ({changed}) {{\n"
            f"            const int lanes = n, one = {steady};\n            {{\n"
            "            const int n = one ? 1 : lanes;\n            (void)n;\n"
            f"{text}\n            }}\n"
            f"            if (one) {{ {spread} }}\n        }}"
        )

    def _render(
        self, params: Sequence[tuple[int, Op]], place: Mapping[int, str], scratch: int,
        prologue: str, body: str, grouped: bool,
    ) -> str:  # fmt: skip
        g = self.graph
        slots = [{"index": op.index, "slot": slot(place[i]), "uniform": place[i][0] == "S"}
                 for i, op in params]  # fmt: skip
        return _environment().get_template("kernel.h.j2").render(
            index=self.index, params=len(g.params), outputs=len(g.outputs), rules=len(g.rules),
            words=g.words, rows=self.draft.storage.rows, scalars=self.draft.storage.cells,
            uniform=[s for s in slots if s["uniform"]], pieces=self.draft.pieces,
            varying=[s for s in slots if not s["uniform"]],
            tables=[{"index": k, "size": max(len(t), 1), "rows": _rows(t)}
                    for k, t in enumerate(g.tables)],
            scratch=scratch, prologue=prologue, body=body, grouped=grouped,
            tile=next((size for limit, size in TILES if self.draft.storage.rows <= limit), LEAST),
        )  # fmt: skip


def _rows(table: Sequence[float]) -> list[str]:
    texts = [c_literal(v) for v in table] or ["0.0"]
    return [", ".join(texts[k : k + 8]) for k in range(0, len(texts), 8)]
