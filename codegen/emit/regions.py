"""Operation lists as C: segments of straight-line code, loops, and branches between them.

A *segment* is straight-line code in a loop over the lanes of a tile. A value that one segment
makes and another needs crosses in a row of `T` (one entry per lane) or a cell of `S` (scalar).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from hwdsl.codegen.emit.c_printer import statements, weight
from hwdsl.codegen.emit.code_sinking import GuardedBlock, guard_condition, schedule_with_guards
from hwdsl.codegen.emit.uniformity import ListAnalysis, LoopAnalysis
from hwdsl.codegen.ir.graph import Graph, Op, count_operations
from hwdsl.codegen.numerics.c_backend import c_literal
from hwdsl.codegen.operations import OPERATIONS

WHOLE = 1500
PIECE = 200


UNHALTED = 100_000
"""Operations of all rounds of a loop that are computed without asking whether to go on."""


@define(eq=False)
class SlotAllocator:
    """Hands out rows and cells. Rows come back when their value is no longer needed."""

    rows: int = 0
    cells: int = 0
    spare: list[int] = field(factory=list)

    def cell(self) -> str:
        """A new scalar."""
        self.cells += 1
        return f"S[{self.cells - 1}]"

    def row(self) -> str:
        """A row, as the C text of a lane's entry."""
        if self.spare:
            return f"T[{heapq.heappop(self.spare)}][i]"
        self.rows += 1
        return f"T[{self.rows - 1}][i]"

    def place(self, scalar: bool) -> str:
        """A cell or a row."""
        return self.cell() if scalar else self.row()

    def free(self, place: str) -> None:
        """Take back a row."""
        if place.startswith("T["):
            heapq.heappush(self.spare, slot(place))


def slot(place: str) -> int:
    """The number of a row or cell."""
    return int(place[2 : place.index("]")])


@define(eq=False)
class SegmentEmitter:
    """One segment being written: scalar lines, lines per lane, and what follows the lanes."""

    head: list[str] = field(factory=list)
    lanes: list[str] = field(factory=list)
    tail: list[str] = field(factory=list)
    local: set[int] = field(factory=set)
    spread: dict[int, str] = field(factory=dict)

    def text(self, indent: str) -> str:
        """The segment as C."""
        lines = list(self.head)
        if self.lanes:
            lines += ["HW_LANES", "for (int i = 0; i < n; i++) {"]
            lines += [f"    {line}" for line in self.lanes]
            lines.append("}")
        return "\n".join(indent + line for line in lines + self.tail)


@frozen(eq=False)
class Epilogue:
    """What the last segment of a region also reads; `write` adds lines, given their names."""

    values: tuple[int, ...]

    def write(self, block: SegmentEmitter, names: Mapping[int, str]) -> None:
        """Nothing more."""


@frozen(eq=False)
class GraphEpilogue(Epilogue):
    """Outputs and rule bits."""

    graph: Graph

    def write(self, block: SegmentEmitter, names: Mapping[int, str]) -> None:
        """Store outputs, then the words of broken rules, the `undefined` bit last."""
        g = self.graph
        for k, (_, op) in enumerate(g.outputs):
            block.lanes.append(f"o{k}[i] = {names[op]};")
        bits = [f"({names[op]} != 1.0)" for _, op in g.rules]
        doubtful = sorted({names[o] for _, o in g.outputs if not _is_number(g.ops[o])})
        bits.append("(" + (" | ".join(f"__builtin_isnan({v})" for v in doubtful) or "0") + ")")
        if g.words > 1:
            block.head.append(f"uint64_t W[{g.words}][HW_TILE];")
        for w in range(g.words):
            block.lanes.append(f"uint64_t w{w} = 0;")
            for b, bit in enumerate(bits[64 * w : 64 * w + 64]):
                block.lanes.append(f"w{w} |= (uint64_t){bit} << {b};")
            block.lanes.append((f"W[{w}][i]" if g.words > 1 else "words[i]") + f" = w{w};")
        if g.words > 1:
            block.tail.append(
                f"for (int i = 0; i < n; i++) for (int w = 0; w < {g.words}; w++) "
                f"words[i * {g.words} + w] = W[w][i];"
            )


@frozen(eq=False)
class LoopEpilogue(Epilogue):
    """The states' next values, and which lanes go on."""

    op: Op
    shape: LoopAnalysis
    carries: tuple[str, ...]
    until: int | None
    round: str
    lo: str
    hi: str
    alive: str
    rounds: str
    held: str
    any: str
    counted: bool

    def write(self, block: SegmentEmitter, names: Mapping[int, str]) -> None:
        """Store all states at once; loads came before."""
        assert self.op.body is not None
        if not self.shape.control:
            return self._lanes(block, names, self.op.body.next)
        for place, scalar, n in zip(
            self.carries, self.shape.carries, self.op.body.next, strict=True
        ):
            (block.head if scalar else block.lanes).append(f"{place} = {names[n]};")
        block.head.append(f"{self.rounds} = {self.round} + 1.0;")
        if self.until is not None:
            block.head.append(f"{self.held} = {names[self.until]};")
        return None

    def _lanes(self, block: SegmentEmitter, names: Mapping[int, str], next: Sequence[int]) -> None:
        """Keep what stopped lanes hold. All is loaded before anything is stored, so that no
        load depends on a condition and the lanes vectorise."""
        block.head.append(f"const double next_round = {self.round} + 1.0;")
        block.head.append("int64_t any = 0;")
        new = [(place, names[n]) for place, n in zip(self.carries, next, strict=True)]
        if self.counted:
            new.append((self.rounds, "next_round"))
        go = f"(on != 0.0) & ({self.lo} + next_round <= {self.hi})"
        if self.until is not None:
            go += f" & ({names[self.until]} == 0.0)"
            new.append((self.held, names[self.until]))
        block.lanes.append(f"const double on = {self.alive};")
        block.lanes += [f"const double old{k} = {p};" for k, (p, _) in enumerate(new)]
        block.lanes.append(f"const int64_t go = {go};")
        block.lanes += [f"{p} = on != 0.0 ? {v} : old{k};" for k, (p, v) in enumerate(new)]
        block.lanes += [f"{self.alive} = go ? 1.0 : 0.0;", "any |= go;"]
        block.tail.append(f"{self.any} = any ? 1.0 : 0.0;")


def _is_number(op: Op) -> bool:
    return op.code == "const" and op.value == op.value


@define(eq=False)
class FunctionOutliner:
    """What the regions of one kernel share: its number, storage, and functions set apart."""

    index: int
    sizes: tuple[int, ...]
    far: frozenset[str] = frozenset()
    storage: SlotAllocator = field(factory=SlotAllocator)
    pieces: list[str] = field(factory=list)

    def piece(self, text: str) -> str:
        """Put a segment into a function of its own; return the call."""
        self.pieces.append(text)
        return f"k{self.index}_p{len(self.pieces) - 1}(T, S, n);"


@define(eq=False)
class RegionEmitter:
    """Writes one operation list: a graph's prologue, its tile code, or a loop body."""

    draft: FunctionOutliner
    shape: ListAnalysis
    steps: list[int]
    place: dict[int, str]
    depth: int
    keep: set[int] = field(factory=set)
    variable: str = ""
    segments: list[list[int]] = field(factory=list)
    branches: dict[int, GuardedBlock] = field(factory=dict)
    crossing: set[int] = field(factory=set)
    ends: dict[int, list[int]] = field(factory=dict)
    owned: dict[int, tuple[str, ...]] = field(factory=dict)
    projections: dict[int, list[int]] = field(factory=dict)
    cut: bool = False

    def text(self, indent: str, sinks: Epilogue | None) -> str:
        """All segments, the loops between them, and the sinks in the last."""
        self._divide(sinks)
        parts: list[str] = []
        for k, steps in enumerate(self.segments):
            if k in self.branches:
                parts.append(self._branch(self.branches[k], indent))
            elif steps and self.shape.ops[steps[0]].code == "loop":
                parts.append(self._loop(steps[0], indent))
            else:
                final = sinks if k == len(self.segments) - 1 else None
                parts.append(self._segment(steps, final, indent))
            self._release(k)
        return "\n".join(parts)

    def _divide(self, sinks: Epilogue | None) -> None:
        """Form segments, and find the values that cross from one to another."""
        ops, sizes = self.shape.ops, self.draft.sizes
        weights = {i: weight(ops[i], sizes) for i in self.steps if ops[i].code != "loop"}
        self.cut = sum(weights.values()) > WHOLE
        segments: list[list[int]] = []
        room = 0
        roots = [*self.keep, *(() if sinks is None else sinks.values)]
        for i in schedule_with_guards(self.shape, self.steps, roots, sizes):
            if isinstance(i, GuardedBlock):
                self.branches[len(segments)] = i
                segments.append(list(i.steps))
                room = 0
                continue
            if ops[i].code == "loop":
                segments.append([i])
                room = 0
                continue
            if room <= 0:
                segments.append([])
                room = PIECE if self.cut else WHOLE + 1
            segments[-1].append(i)
            room -= weights[i]
        if sinks is not None and (self.cut or not segments or room <= 0):
            segments.append([])
        self.segments = segments
        for i, op in enumerate(ops):
            if op.code == "proj":
                self.projections.setdefault(op.args[0], []).append(i)
        self._find_crossing(sinks)

    def _find_crossing(self, sinks: Epilogue | None) -> None:
        ops = self.shape.ops
        made = {i: k for k, steps in enumerate(self.segments) for i in steps}
        self.keep = {ops[i].args[0] if ops[i].code == "proj" else i for i in self.keep}
        self.crossing = {i for i in self.keep if i in made}
        last = dict(made)
        for k, steps in enumerate(self.segments):
            reads = [a for i in steps for a in ops[i].args]
            if k in self.branches:
                reads.append(self.branches[k].guard[0])
            if sinks is not None and k == len(self.segments) - 1:
                reads += sinks.values
            for a in reads:
                owner = ops[a].args[0] if ops[a].code == "proj" else a
                if owner in made:
                    last[owner] = k
                    if made[owner] != k:
                        self.crossing.add(owner)
        for i, k in last.items():
            self.ends.setdefault(k, []).append(i)

    def _release(self, k: int) -> None:
        """Take back the rows of what segment `k` was the last to read."""
        for step in self.ends.get(k, ()):
            if step in self.keep:
                continue
            rows = self.owned.pop(step, (self.place.get(step, ""),))
            for place in rows:
                self.draft.storage.free(place)

    def _branch(self, branch: GuardedBlock, indent: str) -> str:
        """Code under a scalar condition; where it does not run, nothing reads what it makes."""
        steps, keep = list(branch.steps), set(branch.keep)
        inner = RegionEmitter(
            self.draft,
            self.shape,
            steps,
            dict(self.place),
            self.depth,
            keep=keep,
            variable=self.variable,
        )
        text = inner.text(indent + "    ", None)
        self.place.update({i: inner.place[i] for i in sorted(keep)})
        self.owned.update(inner.owned)
        test = guard_condition(branch.guard, self._where(branch.guard[0]))
        return f"{indent}if ({test}) {{\n{text}\n{indent}}}"

    def _segment(self, steps: Sequence[int], sinks: Epilogue | None, indent: str) -> str:
        """Straight-line code."""
        block = SegmentEmitter()
        for i in steps:
            self._step(block, i)
        if sinks is not None:
            sinks.write(block, {v: self._use(block, v) for v in sinks.values})
        for row in block.spread.values():
            self.draft.storage.free(row)
        apart = self.cut and not isinstance(sinks, GraphEpilogue)
        if apart:
            return indent + self.draft.piece(block.text("    "))
        return f"{indent}{{\n{block.text(indent + '    ')}\n{indent}}}"

    def _step(self, block: SegmentEmitter, i: int) -> None:
        op, scalar = self.shape.ops[i], self.shape.scalar[i]
        if op.code == "input":
            lines = [f"const double v{i} = {self.variable};"]
        else:
            apart = OPERATIONS[op.code].heavy and not scalar
            args = [self._lane(block, a) if apart else self._use(block, a) for a in op.args]
            prefix = f"k{self.draft.index}_t"
            lines = statements(f"v{i}", op, args, prefix, self.draft.sizes, self.draft.far)
        block.local.add(i)
        if i in self.crossing:
            self.place[i] = self.draft.storage.place(scalar)
            lines.append(f"{self.place[i]} = v{i};")
        (block.head if scalar else block.lanes).extend(lines)

    def _loop(self, i: int, indent: str) -> str:
        """A loop: initial states, then rounds around the body's segments."""
        op, shape = self.shape.ops[i], self.shape.loops[i]
        assert op.body is not None
        storage, n = self.draft.storage, op.body.carries
        lo, hi, *rest = (self._where(a) for a in op.args)
        carries = tuple(storage.place(scalar) for scalar in shape.carries)
        sinks = LoopEpilogue(
            (*op.body.next, *(() if op.body.until is None else (op.body.until,))),
            op, shape, carries, op.body.until, storage.cell(), lo, hi,
            "" if shape.control else storage.row(), storage.place(shape.control),
            "0x1p+0" if op.body.until is None else storage.place(shape.control),
            "" if shape.control else storage.cell(),
            any(self.shape.live[k] and self.shape.ops[k].index == n
                for k in self.projections.get(i, ())),
        )  # fmt: skip
        inputs = [f"{lo} + {sinks.round}", *carries, *rest[n:]]
        text = self._rounds(op, sinks, rest[:n], inputs, indent)
        if not shape.control:
            storage.free(sinks.alive)
        self.owned[i] = (*carries, sinks.rounds, sinks.held)
        for k in self.projections.get(i, ()):
            self.place[k] = self.owned[i][self.shape.ops[k].index]
        return text

    def _rounds(
        self,
        op: Op,
        sinks: LoopEpilogue,
        initial: Sequence[str],
        inputs: Sequence[str],
        indent: str,
    ) -> str:
        assert op.body is not None
        inside = sinks.shape.body
        given = {k: inputs[o.index] for k, o in enumerate(inside.ops)
                 if o.code == "input" and o.index and inside.live[k]}  # fmt: skip
        first = [k for k, o in enumerate(inside.ops)
                 if o.code == "input" and not o.index and inside.live[k]]  # fmt: skip
        body = RegionEmitter(self.draft, inside, first + inside.steps(), given, self.depth + 1,
                      variable=inputs[0])  # fmt: skip
        k = f"r{self.depth}"
        lines = [_start(sinks, initial).text(indent + "    ")]
        more = indent + "        "
        lines.append(f"{indent}    for (int64_t {k} = 0; {k} < {op.bound}; {k}++) {{")
        if count_operations([op], rounds=True) > UNHALTED:
            lines.append(f"{more}if (hw_halted) break;")
        lines.append(f"{more}{sinks.round} = (double){k};")
        if sinks.shape.control:
            lines.append(f"{more}if (!({sinks.lo} + {sinks.round} <= {sinks.hi})) break;")
        else:
            lines.append(f"{more}if ({sinks.any} == 0.0) break;")
        lines.append(body.text(more, sinks))
        if sinks.shape.control and sinks.until is not None:
            lines.append(f"{more}if ({sinks.held} != 0.0) break;")
        lines.append(f"{indent}    }}")
        return f"{indent}{{\n" + "\n".join(line for line in lines if line) + f"\n{indent}}}"

    def _use(self, block: SegmentEmitter, i: int) -> str:
        """The name of a value in a segment; loads it if it comes from elsewhere."""
        text = self._where(i)
        if i in block.local:
            return f"v{i}"
        if text[0] not in "ST":
            return text
        block.local.add(i)
        target = block.head if text[0] == "S" else block.lanes
        target.append(f"const double v{i} = {text};")
        return f"v{i}"

    def _lane(self, block: SegmentEmitter, i: int) -> str:
        """The name of a value as an operand of a long function, which is read from a row even
        if it is a scalar: gcc makes no vector code of a comparison of scalars within such a
        function, nor then of all that is around it."""
        name = self._use(block, i)
        if not self.shape.scalar[i] or i not in block.local:
            return name  # of many lanes, or a constant
        if i not in block.spread:
            row = block.spread[i] = self.draft.storage.row()
            block.head.append(f"for (int i = 0; i < n; i++) {row} = {name};")
            block.lanes.append(f"const double {name}_l = {row};")
        return f"{name}_l"

    def _where(self, i: int) -> str:
        """Where a value stands between segments: a constant, a cell or a row."""
        op = self.shape.ops[i]
        return c_literal(op.value) if op.code == "const" else self.place.get(i, "v")


def _start(sinks: LoopEpilogue, initial: Sequence[str]) -> SegmentEmitter:
    """The states before the first round."""
    block = SegmentEmitter()
    control = sinks.shape.control
    for place, value in zip(sinks.carries, initial, strict=True):
        (block.head if place[0] == "S" else block.lanes).append(f"{place} = {value};")
    (block.head if control else block.lanes).append(f"{sinks.rounds} = 0.0;")
    if sinks.until is not None:
        (block.head if control else block.lanes).append(f"{sinks.held} = 0.0;")
    if not control:
        block.head.append("int64_t any = 0;")
        block.lanes.append(
            f"{{ const int go = {sinks.lo} <= {sinks.hi}; {sinks.alive} = go ? 1.0 : 0.0; "
            "any |= go; }"
        )
        block.tail.append(f"{sinks.any} = any ? 1.0 : 0.0;")
    return block
