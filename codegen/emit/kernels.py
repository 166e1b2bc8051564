"""Graphs to C: one kernel per graph, and the Python module that calls them.

A kernel works on tiles of at most `TILE` points (strip-mining). Operations whose value is the same
for all points of a call run once, in the prologue; the rest becomes *segments*: straight-line code
in a loop over the lanes of a tile (a fused loop), which the C compiler vectorises. A value that is
live across segments has a vector slot, a row of `T` (one entry per lane), or a scalar slot, an
entry of `S`. A `loop` operation stands between segments, with its rounds outside the lanes: its
loop-carried values are rows, and a lane that has stopped keeps its entry (masked execution). A
*guarded block* also stands between segments: operations that only one arm of a selection by a
scalar needs. Straight-line code too large for one function is outlined into several, so that
compile time grows linearly with the size of the graph.

The text depends on the graphs alone: names of params, outputs and rules never reach it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field

from hwdsl.codegen.emit.c_printer import C_SOURCE
from hwdsl.codegen.emit.regions import GraphEpilogue, KernelContext, RegionEmitter, slot
from hwdsl.codegen.emit.templates import render
from hwdsl.codegen.emit.tile_invariants import InvariantGroup, find_invariant_groups
from hwdsl.codegen.emit.uniformity import ListAnalysis, analyze_graph, call_invariant
from hwdsl.codegen.ir.graph import Graph, Op, count_operations
from hwdsl.codegen.numerics.c_backend import c_literal, out_of_line
from hwdsl.codegen.operations import OPERATIONS

TILE, SHORTEST_TILE = 256, 64
TILE_BY_ROWS = ((16, TILE), (32, 128))
"""Number of rows up to which a tile length is used: at 8 bytes an entry, 16 rows of 256 points, 32
of 128 and 64 of 64 each fill 32 KiB, a first-level data cache."""
MAX_INLINED_USES = 8
"""Uses of a function such as `pow` in a module above which it is outlined. gcc stops inlining in
large functions, and a loop with a call is not vectorised; a vector clone of an outlined function
costs 0.15 s of compile time once, inlining 0.035 s per use (decision 5)."""
MODULE = "_hwdsl_kernel"


def module_files() -> dict[str, str]:
    """The files of a module that are the same for all graphs.

    The Cython file is one of them: Cython's own time grows faster than linearly with the locals of
    a function, so all arithmetic is in the C headers, one per graph (decision 1).
    """
    return {"hwdsl_abi.h": render("abi.h"), f"{MODULE}.pyx": render("module.pyx")}


def emit(graphs: Mapping[str, Graph]) -> dict[str, str]:
    """The source files of one module with a kernel per graph, in the order given."""
    files = module_files()
    # Counted over the module, not per graph: an outlined function is compiled once for all of them.
    uses = Counter(c for g in graphs.values() for c in _outlined_operations(g.ops))
    outlined = frozenset(c for c, n in uses.items() if n > MAX_INLINED_USES)
    for i, graph in enumerate(graphs.values()):
        files[f"kernel_{i}.h"] = KernelEmitter(i, graph, outlined).text()
    shapes = [
        {
            "params": len(g.params),
            "outputs": len(g.outputs),
            "words": g.words,
            "work": c_literal(float(count_operations(g.ops, rounds=True))),
        }
        for g in graphs.values()
    ]
    apart = [out_of_line(code, OPERATIONS[code].arity) for code in sorted(outlined)]
    files["kernels.c"] = render(
        "kernels.c", numerics=C_SOURCE, kernels=len(graphs), shapes=shapes, apart=apart
    )
    return files


def _outlined_operations(ops: Sequence[Op]) -> Iterator[str]:
    """The codes that may be outlined (long functions such as `pow`), once per use."""
    for op in ops:
        if op.body is not None:
            yield from _outlined_operations(op.body.ops)
        elif OPERATIONS[op.code].heavy:
            yield op.code


@define(eq=False)
class KernelEmitter:
    """Emits one kernel: the prologue of a call, then per tile the invariant groups and the rest.

    Every operation is in exactly one of three places, by how often its value can change: once per
    call (`call_invariant`), when a param of its group changes (`InvariantGroup`), or at each tile.
    """

    index: int
    graph: Graph
    outlined: frozenset[str] = frozenset()
    kernel: KernelContext = field(init=False)

    def text(self) -> str:
        """The header with the kernel's function."""
        g = self.graph
        self.kernel = KernelContext(self.index, tuple(len(t) for t in g.tables), self.outlined)
        analysis = analyze_graph(g)
        per_call = call_invariant(analysis)
        params = [(i, g.ops[i]) for i in sorted(analysis.live) if g.ops[i].code == "param"]
        locations = {i: self.kernel.slots.allocate(g.params[op.index].uniform) for i, op in params}
        # Outputs that the caller does not ask for are stored to this row, so no store in the lanes
        # has a condition.
        scratch = slot(self.kernel.slots.vector_slot()) if g.outputs else 0
        epilogue = GraphEpilogue(g.roots, g)
        groups, per_tile = find_invariant_groups(
            analysis, per_call, [p.uniform for p in g.params], epilogue.values
        )
        in_tiles = {*per_tile, *(i for group in groups for i in group.steps)}
        live_out = {a for i in in_tiles for a in g.ops[i].args} | set(epilogue.values)
        prologue_steps = [i for i in analysis.steps() if i in per_call]
        prologue = RegionEmitter(
            self.kernel, analysis, prologue_steps, locations, 0, live_out=live_out
        ).text("        ", None)
        body = [self._invariant_group(analysis, group, locations) for group in groups]
        body.append(
            RegionEmitter(self.kernel, analysis, per_tile, locations, 0).text("        ", epilogue)
        )
        return self._render(params, locations, scratch, prologue, "\n".join(body), bool(groups))

    def _invariant_group(
        self, analysis: ListAnalysis, group: InvariantGroup, locations: dict[int, str]
    ) -> str:
        """Code that runs when a param of the group has changed; adds the slots of its values."""
        # Groups share no row: another group may run in a tile in which this one does not, and
        # would overwrite a value that is cached from an earlier tile.
        others, self.kernel.slots.free_vectors = self.kernel.slots.free_vectors, []
        region = RegionEmitter(
            self.kernel,
            analysis,
            list(group.steps),
            dict(locations),
            0,
            live_out=set(group.live_out),
        )
        text = region.text("            ", None)
        self.kernel.slots.free_vectors = sorted(others + self.kernel.slots.free_vectors)
        locations.update({i: region.locations[i] for i in sorted(group.live_out)})
        params = [i for i in range(group.mask.bit_length()) if group.mask >> i & 1]
        changed = " | ".join(f"fresh[{i}]" for i in params)
        steady = " & ".join(f"cursors[{i}].steady" for i in params)
        rows = sorted({p for p in (region.locations[i] for i in group.live_out) if p[0] == "T"})
        spread = " ".join(f"hw_spread({row[:-3]}, room);" for row in rows)
        # While all params of the group keep one value in this tile, one lane is computed and copied
        # to all the others, also those that a longer tile will read later (`room`) (decision 4).
        return (
            f"        if ({changed}) {{\n"
            f"            const int lanes = n, one = {steady};\n            {{\n"
            "            const int n = one ? 1 : lanes;\n            (void)n;\n"
            f"{text}\n            }}\n"
            f"            if (one) {{ {spread} }}\n        }}"
        )

    def _render(
        self, params: Sequence[tuple[int, Op]], locations: Mapping[int, str], scratch: int,
        prologue: str, body: str, grouped: bool,
    ) -> str:  # fmt: skip
        g = self.graph
        slots = [{"index": op.index, "slot": slot(locations[i]), "uniform": locations[i][0] == "S"}
                 for i, op in params]  # fmt: skip
        return render(
            "kernel.h", index=self.index,
            params=len(g.params), outputs=len(g.outputs), rules=len(g.rules),
            words=g.words, rows=self.kernel.slots.vectors, scalars=self.kernel.slots.scalars,
            uniform=[s for s in slots if s["uniform"]], pieces=self.kernel.functions,
            varying=[s for s in slots if not s["uniform"]],
            tables=[{"index": k, "size": max(len(t), 1), "rows": _rows(t)}
                    for k, t in enumerate(g.tables)],
            scratch=scratch, prologue=prologue, body=body, grouped=grouped,
            tile=next((size for limit, size in TILE_BY_ROWS if self.kernel.slots.vectors <= limit),
                      SHORTEST_TILE),
        )  # fmt: skip


def _rows(table: Sequence[float]) -> list[str]:
    texts = [c_literal(v) for v in table] or ["0.0"]
    return [", ".join(texts[k : k + 8]) for k in range(0, len(texts), 8)]
