"""Code emission of operation lists: segments of straight-line code, loops, and guarded blocks.

A *segment* is straight-line code in a loop over the lanes of a tile (a fused loop). Its values are
C locals; a value that is live across segments has a slot: a row of `T` (one entry per lane), or an
entry of `S` if it is scalar.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from hwdsl.codegen.emit.c_printer import op_cost, statements
from hwdsl.codegen.emit.code_sinking import (
    GuardedBlock,
    defining_step,
    guard_condition,
    schedule_with_guards,
)
from hwdsl.codegen.emit.uniformity import ListAnalysis, LoopAnalysis
from hwdsl.codegen.ir.graph import Graph, Op, count_operations
from hwdsl.codegen.numerics.c_backend import c_literal
from hwdsl.codegen.operations import OPERATIONS

MAX_INLINE_COST = 1500
"""Cost of a region's straight-line code, in plain operations, up to which it is not outlined."""
OUTLINED_COST = 200
"""Cost of each outlined function: gcc's time grows faster than linearly with a function's length,
and each cut adds slots for what is live across it."""
MAX_UNINTERRUPTED = 100_000
"""Operations of all rounds of a loop up to which no round tests the flag of an interrupt: the test
at each tile is enough then (decision 14)."""


@define(eq=False)
class SlotAllocator:
    """Allocates slots. Rows are reused after the last read of their value (linear scan), so that
    all rows in use fit the cache; scalar slots are not reused."""

    vectors: int = 0
    scalars: int = 0
    free_vectors: list[int] = field(factory=list)

    def scalar_slot(self) -> str:
        """A new entry of `S`."""
        self.scalars += 1
        return f"S[{self.scalars - 1}]"

    def vector_slot(self) -> str:
        """A row of `T`, as the C text of a lane's entry."""
        if self.free_vectors:
            return f"T[{heapq.heappop(self.free_vectors)}][i]"
        self.vectors += 1
        return f"T[{self.vectors - 1}][i]"

    def allocate(self, scalar: bool) -> str:
        """A slot for a value that is scalar or not."""
        return self.scalar_slot() if scalar else self.vector_slot()

    def free(self, location: str) -> None:
        """Make a row free for reuse."""
        if location.startswith("T["):
            heapq.heappush(self.free_vectors, slot(location))


def slot(location: str) -> int:
    """The index of a slot in `T` or `S`."""
    return int(location[2 : location.index("]")])


@define(eq=False)
class SegmentEmitter:
    """One segment under construction: scalar code, the loop over lanes, scalar code after it.

    `local` are the values that have a C local by now; `broadcasts` the rows to which scalars were
    copied, one entry per lane.
    """

    head: list[str] = field(factory=list)
    lanes: list[str] = field(factory=list)
    tail: list[str] = field(factory=list)
    local: set[int] = field(factory=set)
    broadcasts: dict[int, str] = field(factory=dict)

    def text(self, indent: str) -> str:
        """The segment as C."""
        lines = list(self.head)
        if self.lanes:
            # HW_LANES is `#pragma GCC ivdep`: two rows never overlap, which gcc cannot prove of
            # pointers into one array, so it would not vectorise or would test for overlap.
            lines += ["HW_LANES", "for (int i = 0; i < n; i++) {"]
            lines += [f"    {line}" for line in self.lanes]
            lines.append("}")
        return "\n".join(indent + line for line in lines + self.tail)


@frozen(eq=False)
class Epilogue:
    """Stores at the end of a region: the `values` that its last segment also reads, and `write`,
    which adds the lines of the stores, given the values' names."""

    values: tuple[int, ...]

    def write(self, block: SegmentEmitter, names: Mapping[int, str]) -> None:
        """Stores nothing."""


@frozen(eq=False)
class GraphEpilogue(Epilogue):
    """Stores of the outputs and of the words of rule bits."""

    graph: Graph

    def write(self, block: SegmentEmitter, names: Mapping[int, str]) -> None:
        """Store outputs, then the words of broken rules, the `undefined` bit last."""
        g = self.graph
        for k, (_, op) in enumerate(g.outputs):
            block.lanes.append(f"o{k}[i] = {names[op]};")
        bits = [f"({names[op]} != 1.0)" for _, op in g.rules]  # true for NaN: it breaks a rule
        doubtful = sorted({names[o] for _, o in g.outputs if not _is_number(g.ops[o])})
        bits.append("(" + (" | ".join(f"__builtin_isnan({v})" for v in doubtful) or "0") + ")")
        # The words of a point lie side by side in `words`, so with several each store in the lanes
        # would have a stride: they are collected in rows and transposed after the lanes.
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
    """Stores at the end of a round: the next loop-carried values, and which lanes are still active.

    If all lanes run the same rounds (`analysis.uniform_control`) the stores are plain; else they
    are masked, so that a lane that has stopped keeps its values (predicated execution).
    """

    op: Op
    analysis: LoopAnalysis
    carries: tuple[str, ...]
    until: int | None
    round: str
    lo: str
    hi: str
    active: str
    rounds: str
    until_held: str
    any_active: str
    counts_rounds: bool

    def write(self, block: SegmentEmitter, names: Mapping[int, str]) -> None:
        """Store all loop-carried values at once. Loads come before: a next value may be the old
        value of another carry."""
        assert self.op.body is not None
        if not self.analysis.uniform_control:
            return self._masked_update(block, names, self.op.body.next)
        for location, scalar, n in zip(
            self.carries, self.analysis.scalar_carries, self.op.body.next, strict=True
        ):
            (block.head if scalar else block.lanes).append(f"{location} = {names[n]};")
        block.head.append(f"{self.rounds} = {self.round} + 1.0;")
        if self.until is not None:
            block.head.append(f"{self.until_held} = {names[self.until]};")
        return None

    def _masked_update(
        self, block: SegmentEmitter, names: Mapping[int, str], next: Sequence[int]
    ) -> None:
        """Masked stores: stopped lanes keep their values. All values are loaded before the first
        store, so that no load depends on a condition and the lanes vectorise."""
        block.head.append(f"const double next_round = {self.round} + 1.0;")
        block.head.append("int64_t any = 0;")
        new = [(location, names[n]) for location, n in zip(self.carries, next, strict=True)]
        if self.counts_rounds:
            new.append((self.rounds, "next_round"))
        go = f"(on != 0.0) & ({self.lo} + next_round <= {self.hi})"
        if self.until is not None:
            go += f" & ({names[self.until]} == 0.0)"
            new.append((self.until_held, names[self.until]))
        block.lanes.append(f"const double on = {self.active};")
        block.lanes += [f"const double old{k} = {p};" for k, (p, _) in enumerate(new)]
        block.lanes.append(f"const int64_t go = {go};")
        block.lanes += [f"{p} = on != 0.0 ? {v} : old{k};" for k, (p, v) in enumerate(new)]
        block.lanes += [f"{self.active} = go ? 1.0 : 0.0;", "any |= go;"]
        block.tail.append(f"{self.any_active} = any ? 1.0 : 0.0;")


def _is_number(op: Op) -> bool:
    return op.code == "const" and op.value == op.value


@define(eq=False)
class KernelContext:
    """What the regions of one kernel share: its index, its slots, and its outlined functions.

    `sizes` are the lengths of the graph's tables, `outlined` the codes of operations (such as
    `pow`) that are calls of functions compiled once for the module.
    """

    index: int
    sizes: tuple[int, ...]
    outlined: frozenset[str] = frozenset()
    slots: SlotAllocator = field(factory=SlotAllocator)
    functions: list[str] = field(factory=list)

    def outline(self, text: str) -> str:
        """Outline a segment into a function of its own; return the call (LLVM: HotColdSplitting,
        though here for compile time)."""
        self.functions.append(text)
        return f"k{self.index}_p{len(self.functions) - 1}(T, S, n);"


@define(eq=False)
class RegionEmitter:
    """Emits one operation list: a graph's prologue, its code per tile, or a loop body.

    `steps` are the operations to emit, `locations` the slots of values computed before, and
    `live_out` the steps whose values are read after the region and so must have a slot. The list
    is cut into segments at loops and guarded blocks, and, if it is large, where a segment reaches
    `OUTLINED_COST`; a value read in another segment than its own is live across and gets a slot.
    """

    kernel: KernelContext
    analysis: ListAnalysis
    steps: list[int]
    locations: dict[int, str]
    depth: int
    live_out: set[int] = field(factory=set)
    variable: str = ""
    segments: list[list[int]] = field(factory=list)
    guarded: dict[int, GuardedBlock] = field(factory=dict)
    live_across: set[int] = field(factory=set)
    last_reads: dict[int, list[int]] = field(factory=dict)
    result_slots: dict[int, tuple[str, ...]] = field(factory=dict)
    projections: dict[int, list[int]] = field(factory=dict)
    outlines: bool = False

    def text(self, indent: str, epilogue: Epilogue | None) -> str:
        """The C text: all segments, the loops and guarded blocks between them, and the epilogue in
        the last segment."""
        self._form_segments(epilogue)
        parts: list[str] = []
        for k, steps in enumerate(self.segments):
            if k in self.guarded:
                parts.append(self._guarded_block(self.guarded[k], indent))
            elif steps and self.analysis.ops[steps[0]].code == "loop":
                parts.append(self._emit_loop(steps[0], indent))
            else:
                final = epilogue if k == len(self.segments) - 1 else None
                parts.append(self._emit_segment(steps, final, indent))
            self._free_last_read(k)
        return "\n".join(parts)

    def _form_segments(self, epilogue: Epilogue | None) -> None:
        """Cut the steps into segments, and find the values that are live across segments."""
        ops, sizes = self.analysis.ops, self.kernel.sizes
        weights = {i: op_cost(ops[i], sizes) for i in self.steps if ops[i].code != "loop"}
        self.outlines = sum(weights.values()) > MAX_INLINE_COST
        segments: list[list[int]] = []
        room = 0
        roots = [*self.live_out, *(() if epilogue is None else epilogue.values)]
        for i in schedule_with_guards(self.analysis, self.steps, roots, sizes):
            if isinstance(i, GuardedBlock):
                self.guarded[len(segments)] = i
                segments.append(list(i.steps))
                room = 0
                continue
            if ops[i].code == "loop":
                segments.append([i])
                room = 0
                continue
            if room <= 0:
                segments.append([])
                room = OUTLINED_COST if self.outlines else MAX_INLINE_COST + 1
            segments[-1].append(i)
            room -= weights[i]
        # The epilogue needs a segment of its own where the last is a loop or a guarded block, or is
        # outlined: the outputs' pointers are parameters of the kernel, not of outlined functions.
        if epilogue is not None and (self.outlines or not segments or room <= 0):
            segments.append([])
        self.segments = segments
        for i, op in enumerate(ops):
            if op.code == "proj":
                self.projections.setdefault(op.args[0], []).append(i)
        self._find_live_across(epilogue)

    def _find_live_across(self, epilogue: Epilogue | None) -> None:
        ops = self.analysis.ops
        made = {i: k for k, steps in enumerate(self.segments) for i in steps}
        self.live_out = {defining_step(self.analysis, i) for i in self.live_out}
        self.live_across = {i for i in self.live_out if i in made}
        last = dict(made)
        for k, steps in enumerate(self.segments):
            reads = [a for i in steps for a in ops[i].args]
            if k in self.guarded:
                reads.append(self.guarded[k].guard[0])
            if epilogue is not None and k == len(self.segments) - 1:
                reads += epilogue.values
            for a in reads:
                owner = defining_step(self.analysis, a)
                if owner in made:
                    last[owner] = k
                    if made[owner] != k:
                        self.live_across.add(owner)
        for i, k in last.items():
            self.last_reads.setdefault(k, []).append(i)

    def _free_last_read(self, k: int) -> None:
        """Free the rows of values whose last read is in segment `k`."""
        for step in self.last_reads.get(k, ()):
            if step in self.live_out:
                continue
            vectors = self.result_slots.pop(step, (self.locations.get(step, ""),))
            for location in vectors:
                self.kernel.slots.free(location)

    def _guarded_block(self, branch: GuardedBlock, indent: str) -> str:
        """Code under a scalar condition. Where it does not run, its rows hold old values: a
        selection by the same condition reads them, and takes its other arm."""
        steps, live_out = list(branch.steps), set(branch.live_out)
        inner = RegionEmitter(
            self.kernel,
            self.analysis,
            steps,
            dict(self.locations),
            self.depth,
            live_out=live_out,
            variable=self.variable,
        )
        text = inner.text(indent + "    ", None)
        self.locations.update({i: inner.locations[i] for i in sorted(live_out)})
        self.result_slots.update(inner.result_slots)
        test = guard_condition(branch.guard, self._location(branch.guard[0]))
        return f"{indent}if ({test}) {{\n{text}\n{indent}}}"

    def _emit_segment(self, steps: Sequence[int], epilogue: Epilogue | None, indent: str) -> str:
        """Straight-line code, inline or outlined."""
        block = SegmentEmitter()
        for i in steps:
            self._emit_operation(block, i)
        if epilogue is not None:
            epilogue.write(block, {v: self._load(block, v) for v in epilogue.values})
        for row in block.broadcasts.values():
            self.kernel.slots.free(row)
        out_of_line = self.outlines and not isinstance(epilogue, GraphEpilogue)
        if out_of_line:
            return indent + self.kernel.outline(block.text("    "))
        return f"{indent}{{\n{block.text(indent + '    ')}\n{indent}}}"

    def _emit_operation(self, block: SegmentEmitter, i: int) -> None:
        op, scalar = self.analysis.ops[i], self.analysis.scalar[i]
        if op.code == "input":
            lines = [f"const double v{i} = {self.variable};"]
        else:
            out_of_line = OPERATIONS[op.code].heavy and not scalar
            args = [
                self._load_per_lane(block, a) if out_of_line else self._load(block, a)
                for a in op.args
            ]
            prefix = f"k{self.kernel.index}_t"
            lines = statements(f"v{i}", op, args, prefix, self.kernel.sizes, self.kernel.outlined)
        block.local.add(i)
        if i in self.live_across:
            self.locations[i] = self.kernel.slots.allocate(scalar)
            lines.append(f"{self.locations[i]} = v{i};")
        (block.head if scalar else block.lanes).extend(lines)

    def _emit_loop(self, i: int, indent: str) -> str:
        """A loop: its preheader, then the rounds around the body's segments."""
        op, analysis = self.analysis.ops[i], self.analysis.loops[i]
        assert op.body is not None
        slots, n = self.kernel.slots, op.body.carries
        lo, hi, *rest = (self._location(a) for a in op.args)
        carries = tuple(slots.allocate(scalar) for scalar in analysis.scalar_carries)
        epilogue = LoopEpilogue(
            op.body.roots,
            op, analysis, carries, op.body.until, slots.scalar_slot(), lo, hi,
            "" if analysis.uniform_control else slots.vector_slot(),
            slots.allocate(analysis.uniform_control),
            "0x1p+0" if op.body.until is None else slots.allocate(analysis.uniform_control),
            "" if analysis.uniform_control else slots.scalar_slot(),
            any(k in self.analysis.live and self.analysis.ops[k].index == n
                for k in self.projections.get(i, ())),
        )  # fmt: skip
        inputs = [f"{lo} + {epilogue.round}", *carries, *rest[n:]]
        text = self._emit_rounds(op, epilogue, rest[:n], inputs, indent)
        if not analysis.uniform_control:
            slots.free(epilogue.active)
        # The results of a loop have no code of their own: `proj` operations are names of its slots.
        self.result_slots[i] = (*carries, epilogue.rounds, epilogue.until_held)
        for k in self.projections.get(i, ()):
            self.locations[k] = self.result_slots[i][self.analysis.ops[k].index]
        return text

    def _emit_rounds(
        self,
        op: Op,
        epilogue: LoopEpilogue,
        initial: Sequence[str],
        inputs: Sequence[str],
        indent: str,
    ) -> str:
        assert op.body is not None
        inside = epilogue.analysis.body
        given = {k: inputs[o.index] for k, o in enumerate(inside.ops)
                 if o.code == "input" and o.index and k in inside.live}  # fmt: skip
        first = [k for k, o in enumerate(inside.ops)
                 if o.code == "input" and not o.index and k in inside.live]  # fmt: skip
        body = RegionEmitter(self.kernel, inside, first + inside.steps(), given, self.depth + 1,
                      variable=inputs[0])  # fmt: skip
        k = f"r{self.depth}"
        lines = [_preheader(epilogue, initial).text(indent + "    ")]
        more = indent + "        "
        lines.append(f"{indent}    for (int64_t {k} = 0; {k} < {op.bound}; {k}++) {{")
        if count_operations([op], rounds=True) > MAX_UNINTERRUPTED:
            lines.append(f"{more}if (hw_halted) break;")
        lines.append(f"{more}{epilogue.round} = (double){k};")
        if epilogue.analysis.uniform_control:
            lines.append(f"{more}if (!({epilogue.lo} + {epilogue.round} <= {epilogue.hi})) break;")
        else:
            lines.append(f"{more}if ({epilogue.any_active} == 0.0) break;")
        lines.append(body.text(more, epilogue))
        if epilogue.analysis.uniform_control and epilogue.until is not None:
            lines.append(f"{more}if ({epilogue.until_held} != 0.0) break;")
        lines.append(f"{indent}    }}")
        return f"{indent}{{\n" + "\n".join(line for line in lines if line) + f"\n{indent}}}"

    def _load(self, block: SegmentEmitter, i: int) -> str:
        """The name of a value in a segment; a value with a slot is loaded at its first use."""
        text = self._location(i)
        if i in block.local:
            return f"v{i}"
        if text[0] not in "ST":
            return text
        block.local.add(i)
        target = block.head if text[0] == "S" else block.lanes
        target.append(f"const double v{i} = {text};")
        return f"v{i}"

    def _load_per_lane(self, block: SegmentEmitter, i: int) -> str:
        """The name of a value as an operand of a long function. A scalar is broadcast to a row and
        read from there: gcc has no vector code for a comparison of scalars within such a function,
        and then leaves the whole loop over lanes without (decision 5)."""
        name = self._load(block, i)
        if not self.analysis.scalar[i] or i not in block.local:
            return name  # of many lanes, or a constant
        if i not in block.broadcasts:
            row = block.broadcasts[i] = self.kernel.slots.vector_slot()
            block.head.append(f"for (int i = 0; i < n; i++) {row} = {name};")
            block.lanes.append(f"const double {name}_l = {row};")
        return f"{name}_l"

    def _location(self, i: int) -> str:
        """The C text of a value between segments: a constant or a slot."""
        op = self.analysis.ops[i]
        return c_literal(op.value) if op.code == "const" else self.locations.get(i, "v")


def _preheader(epilogue: LoopEpilogue, initial: Sequence[str]) -> SegmentEmitter:
    """The loop-carried values before the first round (the loop's preheader)."""
    block = SegmentEmitter()
    uniform_control = epilogue.analysis.uniform_control
    for location, value in zip(epilogue.carries, initial, strict=True):
        (block.head if location[0] == "S" else block.lanes).append(f"{location} = {value};")
    (block.head if uniform_control else block.lanes).append(f"{epilogue.rounds} = 0.0;")
    if epilogue.until is not None:
        (block.head if uniform_control else block.lanes).append(f"{epilogue.until_held} = 0.0;")
    if not uniform_control:
        block.head.append("int64_t any = 0;")
        block.lanes.append(
            f"{{ const int go = {epilogue.lo} <= {epilogue.hi}; "
            f"{epilogue.active} = go ? 1.0 : 0.0; any |= go; }}"
        )
        block.tail.append(f"{epilogue.any_active} = any ? 1.0 : 0.0;")
    return block
