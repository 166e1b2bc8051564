"""A text is read as a number by one reader: what the language says of the literal, it says."""

import re
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hwdsl.api import driver
from hwdsl.api.interface import evaluator_specs
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.cli.main import main
from hwdsl.codegen.runtime import CallError, ParamSpec, Scale, joined, quantity, read
from hwdsl.codegen.runtime.dialects import elsewhere
from hwdsl.syntax import ast, parse_expression

DECLARED = """\
edition 2026
dimension size
dimension clock
dimension heat
unit B    : size  prefix k, G, Ki
unit s    : clock prefix n, m
unit K    : heat
unit degC = 1 K offset 273.15
unit big  = 1e300 B
unit tiny = 1e-300 s
evaluator e {
"""
FILE = DECLARED + "    param x : size = 1 B\n    output y in B = x\n}\n"


def loaded(text: str) -> driver.Program | None:
    return driver.program(Source("f.hw", text), Diagnostics())


@pytest.fixture(scope="module")
def units() -> dict[str, Scale]:
    program = loaded(FILE)
    assert program is not None
    return dict(evaluator_specs(program)["e"].units)


PLAIN = Scale()


INFINITE = re.compile(r"([ \t\n]*[+-]?[ \t]*)inf(?![\w.])(.*)", re.DOTALL)


def language(text: str) -> float | None:
    """The value in base units that the language gives a literal with a sign; None for all else.

    Infinity, which has a name there, stands where a number may.
    """
    infinite = INFINITE.fullmatch(text)
    if infinite is not None:
        one = language(f"{infinite[1]}1{infinite[2]}")
        return None if one is None else -np.inf if "-" in infinite[1] else np.inf
    found = Diagnostics()
    tree = parse_expression(Source("f.hw", text), found)
    inner = tree.operand if isinstance(tree, ast.Unary) and tree.op in ("-", "+") else tree
    if found.failed or not isinstance(inner, ast.Number | ast.Quantity) or set("(#") & set(text):
        return None
    # The bounds of ints are a matter of types: the reader's numbers are real.
    real = f"{text.strip()}.0" if isinstance(inner, ast.Number) and inner.is_int else text.strip()
    program = loaded(f"{DECLARED}    output y = {real}\n}}\n")
    if program is None:
        return None
    return driver.interpreter(program.graphs["e"]).point([])[0][0]


def dimension(text: str, units: dict[str, Scale]) -> Scale:
    """A unit of the dimension that a text has, so that any is wanted."""
    unit = quantity.written(text, PLAIN, units).unit
    if unit is None:
        return PLAIN
    return Scale("any", "1", "0", {base: float(e) for base, e in unit.dims.items()})


def agree(text: str, units: dict[str, Scale]) -> bool:
    """Whether a text is a number; AssertionError unless reader and language say the same."""
    said = language(text)
    try:
        ours = read(text, dimension(text, units), units)
    except CallError as error:
        fault = str(error)
    else:
        assert said is not None, (text, ours)
        assert np.float64(ours).tobytes() == np.float64(said).tobytes(), (text, ours, said)
        return True
    assert said is None, (text, said, fault)
    return False


NUMBERS = {
    "5", "-5", "+5", "- 5", "-0", "0", "-0.0", "1_000", "1_000.5e3", "4.8 GB/s", "4.8  GB/s", "80%",
    "80 %", "-80 %", "5 %/s", "5 s^-1", "5 B*s^2/ms", "2 KiB", "-5 degC", "0.1 degC", "5 degC^1",
    "3 B^01", "1e3", "1E+3", "3 big", "1e-20 tiny", " 5 GB ", "\t5 GB\n",
    "5\tGB", "0.30000000000000004 ms", "9007199254740993", "5 B^-99", "0e3 big",
    "inf", "-inf", "+inf", " inf s", "- inf GB/s", "-inf degC", "inf%",
}  # fmt: skip
OTHERS = {
    "", " ", "5GB", "5 GB / s", "5 GB /s", "5 1/s", "1/s", "GB", "five", "5 GB s", "5,000", "1__0",
    "_1", "1_", "1_.5", ".5", "5.", "5.e3", "1e", "1e400", "1e-400", "5e+", "0x10", "nan",
    "Infinity", "--5", "+-5", "5 degC/s", "5 degC^2", "5 GB^100", "5 GB^-100", "5 GB^1.5",
    "5 GB^x", "5 QB", "5 gb", "5 GB/", "5 */s", "5 if", "5 in", "5 GB # note", "\u00a05 GB",
    "\u0665 GB", "5\u00a0GB", "5 \u00b5s", "1e200 big", "5 GB%", "5%%", "5 % s", "1..2", "1,2",
    "0e500", "1e+00001", "5 B2", "5 s_", "(5 GB)", "5 GB\n+ 1 GB", "true", "\u22125",
    "inf 5", "infs", "inf..2",
}  # fmt: skip


@pytest.mark.parametrize("text", sorted(NUMBERS))
def test_a_literal_is_read_as_the_language_reads_it(text: str, units: dict[str, Scale]) -> None:
    assert agree(text, units)


@pytest.mark.parametrize("text", sorted(OTHERS))
def test_what_is_no_literal_of_the_language_is_no_number(
    text: str, units: dict[str, Scale]
) -> None:
    assert not agree(text, units)


PIECES = [
    "0", "1", "7", "5.25", "1_000", "1e3", "2E-7", "1e308", ".", "e", "_", "+", "-", "*", "/", "^",
    "^2", "^-1", "%", " ", "  ", "\t", "B", "GB", "KiB", "s", "ns", "K", "degC", "big", "tiny",
    "QB", "in", "as", "inf", "if", "x", "\u00b5",
]  # fmt: skip
NUMBER = st.from_regex(
    r"[0-9]{1,3}(_[0-9]{3})?(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
FACTOR = st.from_regex(r"(B|GB|KiB|s|ns|K|big|tiny|degC|QB|%)(\^-?[0-9]{1,2})?", fullmatch=True)
NEAR_LITERALS = st.builds(
    lambda sign, number, gap, factors: f"{sign}{number}{gap}{factors}",
    st.sampled_from(["", "-", "+", "- "]), NUMBER, st.sampled_from([" ", "  ", "", "\t"]),
    st.lists(FACTOR, max_size=3).flatmap(
        lambda f: st.lists(st.sampled_from("*/"), min_size=len(f), max_size=len(f)).map(
            lambda ops: "".join(op + x for op, x in zip(ops, f, strict=True))[1:]
        )
    ),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.one_of(NEAR_LITERALS, st.lists(st.sampled_from(PIECES), max_size=6).map("".join)))
@example("5 K^2*%")
def test_reader_and_language_agree_on_any_text(text: str) -> None:
    program = loaded(FILE)
    assert program is not None
    agree(text, dict(evaluator_specs(program)["e"].units))


def test_the_words_that_are_no_units_are_those_of_the_grammar() -> None:
    grammar = (resources.files("hwdsl.grammar") / "hw.lark").read_text("utf-8")
    (words,) = re.findall(r"QUANTITY\.5.*\(\?!\(\?:([a-z|]+)\)", grammar)
    assert words == quantity._WORDS


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [("5", "1/s", "5 s^-1"), ("5", "1/s^2/K", "5 s^-2/K"), ("2.5", "GB/s", "2.5 GB/s"), 
     ("1", "", "1"), ("5", "1/s^-1", "5 s^1")],
)  # fmt: skip
def test_a_number_in_a_unit_is_a_text_that_is_read(
    number: str, unit: str, text: str, units: dict[str, Scale]
) -> None:
    assert joined(number, unit) == text
    assert quantity.written(text, PLAIN, units).size == Fraction(number)


RANGES: list[tuple[str, str, Any]] = [
    ("real", "1..10 GB:4", [1.0, 4.0, 7.0, 10.0]),
    ("real", "0.1..0.3 GB:3", [0.1, 0.2, 0.3]),
    ("real", "500 kB..1 GB:2", [0.0005, 1.0]),
    ("real", "0..0.3 GB step 0.1", [0.0, 0.1, 0.2, 0.3]),
    ("real", "0..0.3 GB step 200000 kB", [0.0, 0.2]),
    ("real", "1 GB, 2e6 kB", ["1 GB", "2e6 kB"]),
    ("int", "2..5", [2, 3, 4, 5]),
    ("int", "2..8:3", [2, 5, 8]),
    ("bool", "all", [False, True]),
    ("choice", "all", ["a", "b"]),
    ("choice", "a,b", ["a", "b"]),
]


@pytest.mark.parametrize(("kind", "text", "values"), RANGES)
def test_a_text_of_many_values(
    kind: str, text: str, values: list[Any], units: dict[str, Scale]
) -> None:
    labels = ("a", "b") if kind == "choice" else ()
    scale = units["GB"] if kind == "real" else Scale()
    found = list(quantity.spread(text, ParamSpec("p", kind, scale, labels=labels), units))
    if kind == "real" and ".." in text:
        assert found == pytest.approx(values)
        assert [found[0], found[-1]] == [values[0], values[-1]]  # the ends to the bit
    else:
        assert found == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1..10 GB", "p=1..10 GB: a range says how many values it has, as `1..10 GB:5`, or"),
        ("1..10 s:3", "`10 s` is clock, but size is wanted, such as `1 GB`"),
        ("1..10 GB:0", "a range has at least one point"),
        ("1..10 GB:99999999", "more than 10,000,000 values of one axis"),
        ("1..10 GB step 0", "the steps do not lead from the one end to the other"),
        ("1..10 GB step -1", "the steps do not lead from the one end to the other"),
        ("1..2..3 GB:3", "`2..3 GB` is not a number with a unit, such as `1 GB`"),
        ("1..inf:3", "`inf` is no number that values are counted from or to"),
        ("all", "p=all: p is a number in GB; give its values"),
        ("1..10GB:3", "a blank is missing between number and unit: `10 GB`"),
    ],
)
def test_of_a_range_that_is_none_the_fault_is_named(
    text: str, message: str, units: dict[str, Scale]
) -> None:
    with pytest.raises(CallError, match=re.escape(message)):
        quantity.spread(text, ParamSpec("p", "real", units["GB"]), units)


ELSEWHERE = [
    ("int", "1:64:8", "`1..64:8` for 8 values, or `1..64 step 8`"),
    ("int", "1:64:9", "`1..64 step 9`"),
    ("int", "1:2:64", "`1..64 step 2`"),
    ("int", "1-64", "`1..64` for all whole numbers"),
    ("int", "range(1, 64, 3)", "`1..64 step 3`"),
    ("int", "1...64", "`1..64` for"),
    ("int", "[1,2, 3]", "`1,2,3`"),
    ("int", "{1; 2}", "`1,2`"),
    ("int", "1 2 3", "`1,2,3`"),
    ("real", "1-10 GB", "`1..10 GB:5` for 5 values"),
    ("real", "1:10:4 GB", "`1..10 GB:4` for 4 values, or `1..10 GB step 4 GB`"),
    ("real", "1..10:4 GB", "`1..10 GB:4` for 4 values"),
    ("real", "0:0.1:1", "`0..1 step 0.1`"),
    ("real", "linspace(1, 2 GB, 5)", "`1..2 GB:5`"),
    ("real", "[1..10 GB:4]", "`1..10 GB:4`"),
    ("real", "-2 to 1e1 by 3", "`-2..1e1:3` for 3 values"),
]


@pytest.mark.parametrize(("kind", "text", "meant"), ELSEWHERE)
def test_values_as_others_write_them_are_shown_as_they_are_written_here(
    kind: str, text: str, meant: str, units: dict[str, Scale]
) -> None:
    param = ParamSpec("p", kind, units["GB"] if kind == "real" else PLAIN)
    found = elsewhere(text, param)
    assert found is not None
    assert meant in found
    for shown in re.findall("`(.*?)`", found):  # and each of them is
        assert elsewhere(shown, param) is None
        quantity.spread(shown, param, units)


@pytest.mark.parametrize("text", [t for _, t, _ in RANGES] + sorted(NUMBERS | {"all", "a-b", "1-"}))
def test_what_is_written_so_here_is_taken_for_nothing_else(text: str) -> None:
    assert [elsewhere(text, ParamSpec("p", kind)) for kind in ("real", "int")] == [None, None]


def test_a_step_is_a_difference_and_no_reading(units: dict[str, Scale]) -> None:
    param = ParamSpec("p", "real", units["degC"])
    assert list(quantity.spread("20..30 degC step 5", param, units)) == [20.0, 25.0, 30.0]
    assert list(quantity.spread("20..30 degC step 5 K", param, units)) == [20.0, 25.0, 30.0]


def test_a_power_of_a_unit_beyond_doubles_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "powers.hw"
    path.write_text(
        "edition 2026\nevaluator e {\n    param x : real = 1 in 0 .. 9\n"
        "    output y = x * 3 B / (1 B^-60)\n}\n"
    )
    assert main(["run", str(path)]) == 0
    assert "3  B^61" in capsys.readouterr().out
