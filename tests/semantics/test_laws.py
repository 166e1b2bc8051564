"""Laws: the algebra of dimensions, exact literals, and that no text ends in a traceback."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.base.units import ONE, Dim
from hwdsl.semantics import check, load
from hwdsl.semantics.literal_values import exact
from hwdsl.semantics.modules import library_root

powers = st.fractions(min_value=-3, max_value=3, max_denominator=4)
dims = st.dictionaries(st.sampled_from(["time", "data", "length", "'D"]), powers).map(Dim.of)


@given(dims, dims, dims)
def test_dimensions_are_a_commutative_group(a, b, c):
    assert a * b == b * a
    assert (a * b) * c == a * (b * c)
    assert a * ONE == a
    assert a / a == ONE
    assert a / b == a * b**-1


@given(dims, dims, powers, powers)
def test_powers_distribute(a, b, p, q):
    assert (a * b) ** p == a**p * b**p
    assert a**p * a**q == a ** (p + q)
    assert (a**p) ** q == a ** (p * q)


@given(dims, dims, dims, powers)
def test_substitution_is_a_homomorphism(a, b, d, p):
    bindings = {"'D": d}
    assert (a * b).substitute(bindings) == a.substitute(bindings) * b.substitute(bindings)
    assert (a**p).substitute(bindings) == a.substitute(bindings) ** p


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_decimal_literals_are_read_exactly(value):
    digits = str(value)
    assert exact(digits) == Fraction(digits)


@pytest.mark.parametrize("text", ["", "-", "1/2", "1e", "e5", "1e99999999", "nan", "--1", ".", "٣"])
def test_what_is_no_decimal_literal(text):
    assert exact(text) is None


def survives(text: str) -> Diagnostics:
    diagnostics = Diagnostics()
    check(load(Source("nowhere/x.hw", text), diagnostics), diagnostics)
    return diagnostics


TEXTS = [p.read_text() for p in sorted(Path(library_root(), "std").glob("*.hw"))]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_broken_library_files_never_end_in_a_traceback(data):
    lines = data.draw(st.sampled_from(TEXTS)).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        other = lines[data.draw(st.integers(0, len(lines) - 1))]
        words, donor = lines[at].split(" "), other.split(" ")
        word = data.draw(st.integers(0, len(words) - 1))
        words[word] = data.draw(st.sampled_from(donor))
        lines[at] = " ".join(words)
    survives("\n".join(lines))


def test_long_chains_are_reported_not_crashed():
    chain = (
        "edition 2026\n"
        + "\n".join(f"let a{i} = a{i + 1}" for i in range(4000))
        + "\nlet a4000 = 1"
    )
    assert {d.name for d in survives(chain).items} == {"too-deep"}
    aliases = "\n".join(f"type a{i} = a{i + 1}" for i in range(4000)) + "\ntype a4000 = int"
    survives(aliases)
    parts = "\n".join(f"K c{i} : c{i + 1} {{ }}" for i in range(4000)) + "\nkind K {}\nK c4000 {}"
    survives(parts)
    quotients = "\n".join(f"let a{i} = floor(a{i + 1} / 2)" for i in range(1200))
    for signs in range(3):  # so that the chain ends at each of the three expressions of a `let`
        first = f"let y = {'-(' * signs}a0{')' * signs}"
        text = f"edition 2026\n{first}\n{quotients}\nlet a1200 = 7"
        assert {d.name for d in survives(text).items} == {"too-deep"}


@pytest.mark.parametrize(
    "text",
    [
        "type a = b\ntype b = a\nlet x : a = 1",
        "unit a = 2 b\nunit b = 2 a\nlet x = 1 a",
        "kind k : k { }\nk x : y { }\nk y : x { a = 1 }",
        "kind k { k inner { inner { } } }\nk x { inner.inner.inner.count = 3 }",
        "K x : x { }",
        "component x { }\nlet y = x.parts.component",
        "let x = self\nlet y = outer.outer.x",
        "evaluator e { output x in % = e().x }",
        "evaluator e { }\nevaluator e { }\nlet x = e.x(e)",
        "fn f[D, D](x: D) -> D = x\nlet y = f(f)",
        "kind k { fn f() -> real = f()\n let x = f() }",
        "let x = (1 s)^(1/0)",
        "fn f(x: data^(1/0)) -> real = 1",
        "unit z = 0 s\nunit y = 1 s / 0\nunit x = 0^-1",
    ],
)
def test_odd_programs_are_survived(text):
    assert survives("edition 2026\n" + text) is not None
