"""Random graphs and points, for every test that wants one graph of each sort.

    @given(graphs(), st.data())
    def test(graph, data):
        columns = data.draw(columns_for(graph, count=5))

`special` are doubles that break careless arithmetic; `doubles` are those and all others.
`equal` compares as the project does: NaN equals NaN, and 0 differs from -0.
"""

import math
import struct

import numpy as np
from hypothesis import strategies as st

from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT, REAL
from hwdsl.codegen.operations import FORMULAS, OPERATIONS
from hwdsl.codegen.operations.record import FirstBest, Fold

UNARY, BINARY = ({c for c in FORMULAS if OPERATIONS[c].arity == n} for n in (1, 2))
NARY = {c for c, o in OPERATIONS.items() if isinstance(o.compute, Fold | FirstBest)}

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324,
    2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308,
    -1.7976931348623157e308, 709.782712893384, 709.7827128933841, -745.1332191019411,
    -745.1332191019412, 1e-17, 2.0**52, 2.0**53, 0.49999999999999994, 1.5, 2.5,
    0.7071067811865475, 0.7071067811865476, math.pi, math.pi / 2, 6381956970095103.0 * 2.0**797,
)  # fmt: skip

special = st.sampled_from(SPECIAL)
doubles = st.one_of(special, st.floats(), st.floats(-10, 10), st.floats(0.5, 2))
reals = st.one_of(st.floats(-8, 8), st.floats(0.125, 4), special)
ints = st.integers(-9, 20).map(float)

ranges = st.sampled_from(
    [(-math.inf, math.inf), (-math.inf, math.inf), (0.0, 4.0), (1.0, 2.0), (-3.0, -1.0), (2.0, 2.0),
     (0.0, math.inf), (-math.inf, 5.0)]
)  # fmt: skip
"""What params may be; without an end they may be NaN as well."""

_INT_ONLY, _BOOL_ONLY = (
    [c for c in UNARY | BINARY if t in OPERATIONS[c].needs] for t in (INT, BOOL)
)
_FREE = sorted((UNARY | BINARY | NARY) - set(_INT_ONLY) - set(_BOOL_ONLY))
_CODES = [*_FREE, *_INT_ONLY, *_BOOL_ONLY, "select", "gather", "table", "bucket"]


def equal(a, b):
    """Whether two arrays or numbers are the same bits, all NaNs being one."""
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    same = np.ascontiguousarray(a).view(np.uint64) == np.ascontiguousarray(b).view(np.uint64)
    return bool(np.all(same | (np.isnan(a) & np.isnan(b))))


def bits(value):
    """The representation of a number, as 16 digits, for messages."""
    return struct.pack(">d", value).hex()


class _Maker:
    """Draws operations into a builder; `pool` has the values that may be used."""

    def __init__(self, draw, loops):
        self.draw = draw
        self.loops = loops
        self.builder = GraphBuilder()

    def pick(self, pool, type=None):
        fits = [r for r in pool if type is None or r.type == type]
        if not fits or self.draw(st.integers(0, 7)) == 0:
            if type is None:
                return self.constant(self.draw(st.sampled_from([REAL, REAL, INT, BOOL])))
            return self.constant(type)
        return self.draw(st.sampled_from(fits))

    def constant(self, type):
        values = {REAL: reals, INT: ints, BOOL: st.sampled_from([0.0, 1.0])}[type]
        return self.builder.const(self.draw(values), type)

    def some(self, pool, low=1, high=5, type=None):
        return [self.pick(pool, type) for _ in range(self.draw(st.integers(low, high)))]

    def table(self, increasing):
        row = self.draw(st.lists(st.floats(-5, 5), min_size=1, max_size=6, unique=increasing))
        return self.builder.table(sorted(v + 0.0 for v in row) if increasing else row)

    def step(self, pool, depth):
        if depth < 2 and self.draw(st.integers(0, 6)) == 0 and self.loops:
            pool += self.loop(pool, depth + 1)
            return
        code = self.draw(st.sampled_from(_CODES))
        op = self.builder.op
        if code in _INT_ONLY:
            made = op(code, self.pick(pool, INT), self.pick(pool, INT))
        elif code in _BOOL_ONLY:
            made = op(code, *(self.pick(pool, BOOL) for _ in range(1 + (code != "not"))))
        elif code == "select":
            made = op(code, self.pick(pool, BOOL), self.pick(pool), self.pick(pool))
        elif code == "gather":
            made = op(code, self.pick(pool, INT), *self.some(pool))
        elif code == "table":
            made = op(code, self.pick(pool, INT), index=self.table(False))
        elif code == "bucket":
            made = op(code, self.pick(pool), index=self.table(True))
        elif code in NARY:
            made = op(code, *self.some(pool))
        else:
            made = op(code, *(self.pick(pool) for _ in range(1 if code in UNARY else 2)))
        pool.append(made)

    def loop(self, pool, depth):
        types = self.draw(st.lists(st.sampled_from([REAL, REAL, INT, BOOL]), max_size=3))
        region = self.builder.open_loop(types, pool)
        inner = [*pool, region.variable, *region.states]
        for _ in range(self.draw(st.integers(1, 6))):
            self.step(inner, depth)
        until = self.pick(inner, BOOL) if self.draw(st.booleans()) else None
        return region.close(
            self.pick(pool, INT),
            self.pick(pool, INT),
            self.draw(st.integers(0, 6)),
            [self.pick(pool, t) for t in types],
            [self.pick(inner, t) for t in types],
            until,
        )


@st.composite
def graphs(draw, *, max_ops=14, loops=True):
    """A graph with one to four params, some outputs and some rules."""
    maker = _Maker(draw, loops)
    types = draw(st.lists(st.sampled_from([REAL, REAL, INT, BOOL]), min_size=1, max_size=4))
    pool = []
    for i, t in enumerate(types):
        low, high = (0.0, 1.0) if t == BOOL else draw(ranges)
        uniform = draw(st.integers(0, 5)) == 0
        pool.append(maker.builder.param(f"p{i}", t, uniform=uniform, low=low, high=high))
    for _ in range(draw(st.integers(1, max_ops))):
        maker.step(pool, 0)
    outputs = [(f"o{i}", maker.pick(pool)) for i in range(draw(st.integers(1, 4)))]
    outputs.append(("last", pool[-1]))
    rules = [(f"r{i}", maker.pick(pool, BOOL)) for i in range(draw(st.integers(0, 3)))]
    return maker.builder.finish(outputs, rules)


@st.composite
def columns_for(draw, graph, count=4):
    """A column per param, within its range: a number where it is uniform, else usually an array
    of `count`."""
    kinds = {REAL: reals, INT: ints, BOOL: st.sampled_from([0.0, 1.0])}
    columns = []
    for p in graph.params:
        size = 1 if p.uniform or draw(st.integers(0, 5)) == 0 else count
        column = np.array(draw(st.lists(kinds[p.type], min_size=size, max_size=size)), np.float64)
        if math.isfinite(p.low) or math.isfinite(p.high):
            column = np.clip(np.where(np.isnan(column), p.low, column), p.low, p.high)
        columns.append(float(column[0]) if size == 1 else column)
    return columns
