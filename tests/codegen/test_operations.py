"""Each record says the truth of its operation: range, derivative, types, and how it is written."""

import ast
import itertools
import math
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import SPECIAL, doubles, equal

from hwdsl.codegen import operations
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import BOOL, INT, REAL, Op
from hwdsl.codegen.ir.interpreter import interpret
from hwdsl.codegen.numerics.backend import SCALARS
from hwdsl.codegen.operations import OPERATIONS
from hwdsl.codegen.operations.derivatives import CARRIED, FLAT, Chosen, DerivativeRule
from hwdsl.codegen.operations.record import PYTHON_NAMES, RANK, Operation, Structure
from hwdsl.codegen.passes import differentiate
from hwdsl.codegen.passes.interval_analysis import Range, range_transfer

LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
COMPUTED = sorted(c for c, o in OPERATIONS.items() if not o.structural)
ROW = (-2.0, 0.5, 1.0, 3.0)

ends = st.one_of(
    st.sampled_from([v for v in SPECIAL if v == v]), st.floats(-10, 10), st.floats(allow_nan=False)
)


@st.composite
def held(draw, bools=False):
    """A range and a value in it."""
    if bools:
        low, value, high = sorted(
            draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3))
        )
        return Range(low, high), value
    low, value, high = sorted(draw(st.tuples(ends, ends, ends)))
    nan = draw(st.booleans())
    return Range(low, high, nan), math.nan if nan and draw(st.booleans()) else value


def count(data, record):
    return record.arity + (data.draw(st.integers(0, 3)) if record.variadic else 0)


def needs(record, position):
    return record.needs[position] if position < len(record.needs) else REAL


@pytest.mark.parametrize("code", COMPUTED)
@LAW
@given(data=st.data())
def test_what_is_computed_lies_in_its_range(code, data):
    record = OPERATIONS[code]
    pairs = [data.draw(held(needs(record, k) == BOOL)) for k in range(count(data, record))]
    result = record.fold([value for _, value in pairs], ROW)
    types = [needs(record, k) for k in range(len(pairs))]
    op = Op(code, tuple(range(len(pairs))), record.type.result(types))
    found = range_transfer(op, [r for r, _ in pairs], [ROW])
    assert found.low <= found.high
    assert found.nan if math.isnan(result) else found.has(result)
    assert op.type != BOOL or result in (0.0, 1.0)
    assert op.type != INT or not math.isfinite(result) or result == math.floor(result)


places = st.integers(-256, 256).map(lambda n: n / 64 + 0.003)


def slopes(code, point, row):
    """The derivatives of an operation at a point, by reverse mode."""
    b, record = GraphBuilder(), OPERATIONS[code]
    params = [b.param(f"x{k}") for k in range(len(point))]
    given = [as_type(b, p, needs(record, k)) for k, p in enumerate(params)]
    value = b.op(code, *given, index=b.table(row) if record.reads_table else 0, type=REAL)
    names = [f"x{k}" for k in range(len(point))]
    found = interpret(differentiate(b.finish([("o", value)]), "o", names), point).outputs
    return [found[f"d.o.{n}"] for n in names]


def as_type(b, value, type):
    if type == BOOL:
        return b.op("lt", b.const(0.0), value)
    return b.op("floor", value) if type == INT else value


@pytest.mark.parametrize("code", COMPUTED)
@LAW
@given(data=st.data())
def test_a_derivative_is_the_limit_of_differences(code, data):
    """Between kinks and jumps: where the slopes to both sides agree at two distances."""
    record = OPERATIONS[code]
    point = [data.draw(places) for _ in range(count(data, record))]
    position = data.draw(st.integers(0, len(point) - 1))
    assume(code != "gather" or 0 <= point[0] < len(point) - 1)  # else a rule is broken

    def at(shift):
        moved = [x + shift * (k == position) for k, x in enumerate(point)]
        values = {BOOL: lambda v: float(v > 0), INT: math.floor, REAL: float}
        return record.fold([float(values[needs(record, k)](v)) for k, v in enumerate(moved)], ROW)

    here = at(0.0)
    near, far = ([(at(s) - here) / s for s in (-h, h)] for h in (1e-6, 1e-5))
    all_four = [*near, *far]
    assume(all(map(math.isfinite, all_four)))
    size = max(1.0, *map(abs, all_four))
    assume(max(all_four) - min(all_four) < 1e-3 * size and abs(here) < 1e3)
    found = slopes(code, point, ROW)[position]
    assert found == pytest.approx((near[0] + near[1]) / 2, rel=1e-3, abs=1e-3 * size)
    if record.derivative is FLAT:
        assert found == 0.0


@LAW
@given(st.sampled_from([c for c in COMPUTED if OPERATIONS[c].decider is not None]), doubles)
def test_a_decider_decides(code, other):
    record = OPERATIONS[code]
    for args in ([record.decider, other], [other, record.decider]):
        assert record.fold(args) == record.decider


@pytest.mark.parametrize("code", [c for c in COMPUTED if OPERATIONS[c].picks is not None])
@LAW
@given(data=st.data())
def test_what_an_operation_picks_is_its_value(code, data):
    record = OPERATIONS[code]
    args = [data.draw(doubles) for _ in range(count(data, record))]
    assert equal(record.fold(args), args[record.picks(args[0], len(args))])
    assert isinstance(record.derivative, Chosen)
    assert record.derivative.first == 1


@pytest.mark.parametrize("code", COMPUTED)
def test_types_are_consistent(code):
    record = OPERATIONS[code]
    for types in itertools.product([BOOL, INT, REAL], repeat=record.arity):
        if all(RANK[t] <= RANK[n] for t, n in zip(types, record.needs, strict=False)):
            least, given = record.type.narrowest(types), record.type.result(types)
            assert RANK[least] <= RANK[given]


def test_a_record_says_what_its_derivative_and_its_range_are():
    wanted = {f.name for f in attrs.fields(Operation) if f.default is attrs.NOTHING}
    assert {"derivative", "interval", "compute", "type"} <= wanted
    for record in OPERATIONS.values():
        assert isinstance(record.compute, Structure) == (record.derivative is CARRIED)
        rules = (DerivativeRule, Chosen)
        assert isinstance(record.derivative, rules) or record.derivative in (FLAT, CARRIED)
    exp = attrs.asdict(OPERATIONS["exp"], recurse=False)
    with pytest.raises(TypeError, match="derivative"):
        Operation(**{name: exp[name] for name in wanted - {"derivative"}})


# These name single operations: the builder and the range pass to rewrite them, the rest to write
# graphs or to keep to the structure of one.
LISTS = 4


def test_no_module_lists_operations_beside_the_records():
    """A set, tuple or dict of many codes elsewhere would be a second record."""
    root = Path(operations.__file__).parents[1]
    for path in root.rglob("*.py"):
        if path.parent.name in ("operations", "runtime"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            members = getattr(node, "elts", None) or getattr(node, "keys", None) or ()
            codes = [m.value for m in members if isinstance(m, ast.Constant)]
            assert sum(c in OPERATIONS for c in codes if isinstance(c, str)) < LISTS, (path, codes)


@pytest.mark.parametrize(
    "code",
    [c for c in COMPUTED if getattr(OPERATIONS[c].compute, "python", None) is not None],
)
def test_what_is_written_in_python_is_the_formula(code):
    """On all special numbers, by names, and as the constants of the text."""
    record = OPERATIONS[code]
    formula, python = record.compute.formula, record.compute.python
    scope = {**PYTHON_NAMES, "inf": math.inf}
    names = [f"x{k}" for k in range(record.arity)]
    written = eval(f"lambda {', '.join(names)}: {python.format(*names)}", scope)
    for args in itertools.product(SPECIAL, repeat=record.arity):
        right = float(formula(SCALARS, *args))
        assert equal(written(*args), right), args
        assert equal(record.compute.scalar(args), right), args
        if record.arity < 3:
            assert equal(eval(python.format(*(f"({v!r})" for v in args)), scope), right), args
