"""C, NumPy and Python must agree to the bit, and be right to one unit in the last place."""

import ctypes
import decimal
import itertools
import math
import shutil
import subprocess
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NARY, SPECIAL, bits, doubles, equal

from hwdsl.codegen.emit.c_printer import C_SOURCE
from hwdsl.codegen.ir.interpreter import ARRAY
from hwdsl.codegen.numerics.c_backend import C_FLAGS
from hwdsl.codegen.operations import FORMULAS, OPERATIONS

ELEMENTWISE = sorted(FORMULAS)
RANDOM = np.random.default_rng(7)


def any_bits(count):
    return RANDOM.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no gcc here to compile the C with")
    folder = tmp_path_factory.mktemp("numerics")
    text = [C_SOURCE]
    for code in ELEMENTWISE:
        arity = OPERATIONS[code].arity
        arrays = ", ".join(f"const double *a{i}" for i in range(arity))
        values = ", ".join(f"a{i}[k]" for i in range(arity))
        text.append(
            f"void all_{code}(long n, double *restrict r, {arrays})"
            f"{{ for (long k = 0; k < n; k++) r[k] = hw_{code}({values}); }}"
        )
    (folder / "n.c").write_text("\n".join(text))
    flags = ["-std=c11", "-O3", "-march=native", "-Wall", "-Werror", *C_FLAGS]
    subprocess.run(
        [gcc, *flags, "-shared", "-fPIC", "-o", folder / "n.so", folder / "n.c"], check=True
    )
    return ctypes.CDLL(str(folder / "n.so"))


def run_c(library, code, columns):
    columns = [np.ascontiguousarray(c, np.float64) for c in columns]
    result = np.empty(len(columns[0]))
    pointers = [c.ctypes.data_as(ctypes.c_void_p) for c in (result, *columns)]
    getattr(library, f"all_{code}")(ctypes.c_long(len(result)), *pointers)
    return result


def samples(code):
    """Columns for a code: all specials against each other, then random bits and sizes."""
    arity = OPERATIONS[code].arity
    corners = np.array(list(itertools.product(SPECIAL, repeat=min(arity, 2)))).T
    if arity == 3:
        corners = np.concatenate([np.resize(SPECIAL, (1, corners.shape[1])), corners])
    wide = [any_bits(20_000) for _ in range(arity)]
    near = [RANDOM.uniform(-30, 30, 20_000) for _ in range(arity)]
    ones = [1 + RANDOM.normal(size=20_000) * 10.0 ** RANDOM.uniform(-16, 0, 20_000)] + [
        RANDOM.normal(size=20_000) * 10.0 ** RANDOM.uniform(-3, 12, 20_000)
    ] * (arity - 1)
    whole = [RANDOM.integers(-9, 10, 5000).astype(float) for _ in range(arity)]
    groups = (list(corners), wide, near, ones, whole)
    return [np.concatenate(parts) for parts in zip(*groups, strict=True)]


def test_every_elementwise_code_is_there():
    assert sorted(ARRAY) == ELEMENTWISE
    for code in ELEMENTWISE:
        assert f"HW_INLINE double hw_{code}(" in C_SOURCE


@pytest.mark.parametrize("code", ELEMENTWISE)
def test_c_equals_numpy_equals_python(code, compiled):
    columns = samples(code)
    arrays = ARRAY[code](*columns)
    native = run_c(compiled, code, columns)
    both_nan = np.isnan(arrays) & np.isnan(native)
    wrong = (arrays.view(np.uint64) != native.view(np.uint64)) & ~both_nan
    assert not wrong.any(), [[bits(c[wrong][0]) for c in columns], arrays[wrong], native[wrong]]
    some = [*range(1200), *range(1200, len(arrays), 97)]
    scalars = [OPERATIONS[code].fold([float(c[i]) for c in columns]) for i in some]
    for i, value in zip(some, scalars, strict=True):
        assert equal(value, arrays[i]), (code, [float(c[i]) for c in columns], value, arrays[i])


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(ELEMENTWISE), st.lists(doubles, min_size=3, max_size=3))
def test_scalar_is_the_array_function_and_never_raises(code, values):
    args = values[: OPERATIONS[code].arity]
    value = OPERATIONS[code].fold(args)
    assert isinstance(value, float)
    assert equal(value, ARRAY[code](*args))
    assert equal(value, ARRAY[code](*(np.array([a, a]) for a in args))[1])


def reference(code, x, y=0.0):
    """The exact value, nearly: Python's decimals at 60 digits."""
    with decimal.localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 10**9, -(10**9)
        d = Decimal(x)
        if code == "exp":
            return d.exp()
        if code == "expm1":
            return d.exp() - 1 if abs(d) > Decimal("1e-12") else d + d * d / 2 + d**3 / 6
        if code == "log":
            return d.ln()
        if code in ("log2", "log10"):
            return d.ln() / Decimal(code[3:]).ln()
        if code == "log1p":
            return (1 + d).ln() if abs(d) > Decimal("1e-12") else d - d * d / 2 + d**3 / 3
        assert code == "pow", f"no reference for `{code}`"
        return (Decimal(y) * d.ln()).exp()


def off_by(value, exact):
    """How many units in the last place of the exact value a result is away from it."""
    if math.isinf(value):
        return 0.0 if exact.copy_abs() > Decimal(2.0**1023) * 2 - Decimal(2.0**970) else math.inf
    unit = math.ulp(float(exact)) if exact.copy_abs() < Decimal("1.7e308") else 2.0**971
    return abs(float((Decimal(value) - exact) / Decimal(unit)))


def spread(low, high, count=250):
    return 10.0 ** RANDOM.uniform(low, high, count)


RANGES = {
    "exp": [RANDOM.uniform(-745, 710, 250), RANDOM.uniform(-1, 1, 250), -spread(-18, 2.8)],
    "expm1": [RANDOM.uniform(-40, 709, 250), RANDOM.uniform(-1, 1, 250), spread(-300, 0)],
    "log": [spread(-323, 308), RANDOM.uniform(0.4, 2.1, 250), 1 + spread(-15, -2)],
    "log2": [spread(-323, 308), RANDOM.uniform(0.4, 2.1, 250), 1 + spread(-15, -2)],
    "log10": [spread(-323, 308), RANDOM.uniform(0.4, 2.1, 250), 1 - spread(-15, -2)],
    "log1p": [spread(-300, 308), RANDOM.uniform(-0.9, 1.2, 250), -spread(-18, -1)],
}


@pytest.mark.parametrize("code", sorted(RANGES))
def test_within_one_unit_in_the_last_place(code):
    for xs in RANGES[code]:
        for x, y in zip(xs, ARRAY[code](xs), strict=True):
            assert off_by(float(y), reference(code, float(x))) < 0.85, (code, float(x))


POWERS = {
    "log2": [(math.ldexp(1.0, k), k) for k in range(-1074, 1024)],
    "log10": [(float(10**k), k) for k in range(23)],
}


@pytest.mark.parametrize("code", sorted(POWERS))
def test_logarithms_are_whole_where_they_should_be_and_not_passed_by_their_neighbours(code):
    xs = np.array([x for x, _ in POWERS[code]])
    at = np.array([float(k) for _, k in POWERS[code]])
    log = ARRAY[code]
    assert equal(log(xs), at)
    below, above = xs, xs
    for _ in range(40):
        lower, higher = np.nextafter(below, 0.0), np.nextafter(above, INF)
        assert (log(lower) <= log(below)).all()
        assert (log(higher) >= log(above)).all()
        below, above = lower, higher


@pytest.mark.parametrize(
    ("bases", "exponents"),
    [
        (spread(-5, 5), RANDOM.uniform(-50, 50, 250)),
        (spread(-300, 300), RANDOM.uniform(-1, 1, 250)),
        (RANDOM.uniform(0.9, 1.1, 250), RANDOM.uniform(-7000, 7000, 250)),
        (1 + spread(-14, -6), spread(4, 13)),
    ],
)
def test_pow_within_one_unit_in_the_last_place(bases, exponents):
    for a, b, y in zip(bases, exponents, ARRAY["pow"](bases, exponents), strict=True):
        assert off_by(float(y), reference("pow", float(a), float(b))) < 0.7, (a, b)


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("code", "args", "value"),
    [
        ("exp", [INF], INF), ("exp", [-INF], 0.0), ("exp", [710.0], INF), ("exp", [-746.0], 0.0),
        ("exp", [NAN], NAN), ("exp", [-0.0], 1.0), ("expm1", [-0.0], -0.0),
        ("expm1", [-INF], -1.0), ("expm1", [INF], INF), ("expm1", [5e-324], 5e-324),
        ("log", [0.0], -INF), ("log", [-0.0], -INF), ("log", [-1.0], NAN), ("log", [INF], INF),
        ("log2", [0.0], -INF), ("log2", [-0.0], -INF), ("log2", [-1.0], NAN), ("log2", [INF], INF),
        ("log2", [NAN], NAN), ("log2", [5e-324], -1074.0), ("log10", [0.0], -INF),
        ("log10", [-INF], NAN), ("log10", [INF], INF), ("log10", [NAN], NAN),
        ("log", [1.0], 0.0), ("log", [NAN], NAN), ("log1p", [-1.0], -INF), ("log1p", [-2.0], NAN),
        ("log1p", [INF], INF), ("log1p", [-0.0], -0.0),
        ("sqrt", [-1.0], NAN), ("sqrt", [-0.0], -0.0),
        ("pow", [0.0, 0.0], 1.0), ("pow", [NAN, 0.0], 1.0), ("pow", [1.0, NAN], 1.0),
        ("pow", [NAN, 1.0], NAN), ("pow", [2.0, NAN], NAN), ("pow", [0.0, -2.0], INF),
        ("pow", [-0.0, -3.0], -INF), ("pow", [-0.0, 5.0], -0.0), ("pow", [-2.0, 5.0], -32.0),
        ("pow", [-2.0, 6.0], 64.0), ("pow", [-2.0, 0.3], NAN), ("pow", [-INF, -5.0], -0.0),
        ("pow", [-INF, 5.0], -INF), ("pow", [INF, -1.5], 0.0), ("pow", [-1.0, INF], 1.0),
        ("pow", [0.5, INF], 0.0), ("pow", [0.5, -INF], INF), ("pow", [2.0, 1e300], INF),
        ("pow", [2.0, -1e300], 0.0), ("pow", [2.0, -1074.0], 5e-324), ("pow", [10.0, 22.0], 1e22),
        ("min", [NAN, 1.0], NAN), ("min", [1.0, NAN], NAN), ("max", [NAN, 1.0], NAN),
        ("max", [1.0, NAN], NAN), ("max", [1.0, 2.0], 2.0), ("min", [1.0, 2.0], 1.0),
        ("div", [1.0, 0.0], INF), ("div", [1.0, -0.0], -INF), ("div", [0.0, 0.0], NAN),
        ("div", [INF, 0.0], INF), ("div", [1.0, NAN], NAN), ("div", [NAN, 0.0], NAN),
        ("round", [0.5], 0.0), ("round", [1.5], 2.0), ("round", [2.5], 2.0),
        ("round", [-0.5], -0.0), ("floor", [-0.5], -1.0), ("ceil", [-0.5], -0.0),
        ("floordiv", [-7.0, 2.0], -4.0), ("ceildiv", [-7.0, 2.0], -3.0),
        ("ceildiv", [7.0, 2.0], 4.0), ("floordiv", [7.0, 0.0], NAN), ("ceildiv", [7.0, 0.0], NAN),
        ("ne", [NAN, NAN], 1.0), ("eq", [NAN, NAN], 0.0), ("le", [NAN, 1.0], 0.0),
        ("argmin", [NAN, 3.0, 1.0, 1.0], 2.0), ("argmax", [NAN, 3.0, 3.0], 1.0),
        ("argmin", [NAN, NAN], 0.0), ("nmin", [1.0, NAN, 0.0], NAN), ("nmax", [1.0, 4.0], 4.0),
        ("sum", [1e100, 1.0, -1e100], 0.0), ("prod", [2.0, 3.0, 4.0], 24.0),
    ],
)  # fmt: skip
def test_special_cases(code, args, value):
    assert equal(OPERATIONS[code].fold(args), value), OPERATIONS[code].fold(args)


whole = st.integers(-(2**53) + 1, 2**53 - 1)


@given(whole, st.one_of(whole, st.integers(-100, 100)))
def test_integer_division_is_exact(a, b):
    if b:
        assert OPERATIONS["floordiv"].fold([float(a), float(b)]) == a // b
        assert OPERATIONS["ceildiv"].fold([float(a), float(b)]) == -(-a // b)


@given(doubles, st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0, -1.0]))
def test_powers_the_graph_writes_as_products_are_those_products(x, n):
    mul, div, sqrt = (OPERATIONS[code].fold for code in ("mul", "div", "sqrt"))
    square = mul([x, x])
    product = {
        0.5: sqrt([x]), 1.0: x, 2.0: square, 3.0: mul([square, x]),
        4.0: mul([square, square]), -1.0: div([1.0, x]),
    }[n]  # fmt: skip
    assert equal(OPERATIONS["pow"].fold([x, n]), product)


def test_nary_codes_are_known_to_scalar():
    for code in NARY:
        assert isinstance(OPERATIONS[code].fold([1.0, 2.0]), float)
