"""Formatting and serialising trees: nothing is lost, and doing it twice changes nothing."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees import shape

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax import ast, format_module, parse
from hwdsl.syntax.format import CITED_WIDTH
from hwdsl.syntax.parse_cache import structured, unstructured

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.hw"))
FILES = EXAMPLES + sorted((ROOT / "library").rglob("*.hw"))
NOTES = ("missing-edition", "empty-file")
NOWHERE = Span(Source("", ""), 0, 0)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(text: str) -> tuple[ast.Module, Diagnostics]:
    diagnostics = Diagnostics()
    return parse(Source("t.hw", text), diagnostics), diagnostics


def check_round_trip(tree: ast.Module) -> str:
    text = format_module(tree)
    again, diagnostics = read(text)
    assert [d.message for d in diagnostics.items if d.name not in NOTES] == [], text
    assert shape(again) == shape(tree), text
    assert format_module(again) == text
    return text


# --- trees -------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["a", "b", "rate", "hbm", "x1", "source", "unknown", "help", "from", "is", "zip"]
)
KIND_WORDS = st.sampled_from(["die", "memory", "package"])
UNIT_NAMES = st.sampled_from(["GB", "s", "m", "USD", "Mtoken"])
DIGITS = st.sampled_from(["0", "1", "3.5", "1_000", "2e-3", "16.7", "1e9"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\ufeff"), max_size=12)


def ident() -> st.SearchStrategy[ast.Ident]:
    return NAMES.map(lambda n: ast.Ident(NOWHERE, n))


def many(of: st.SearchStrategy[Any], low: int = 0, high: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(of, min_size=low, max_size=high).map(tuple)


def node(cls: type, *fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(*fields).map(lambda values: cls(NOWHERE, *values))


PATHS = many(ident(), 1, 3)
NONE = st.none()
UNKNOWN = st.builds(lambda reason: ast.Unknown(NOWHERE, reason), TEXTS)


@st.composite
def units(draw: st.DrawFn, low: int = 1) -> ast.UnitExpr:
    factors = [
        ast.UnitFactor(NOWHERE, draw(UNIT_NAMES), draw(st.sampled_from([1, 2, -1, -3])))
        for _ in range(draw(st.integers(low, 3)))
    ]
    if factors and draw(st.booleans()):
        factors[0] = ast.UnitFactor(NOWHERE, "%", factors[0].power)
    return ast.UnitExpr(NOWHERE, tuple(factors))


TYPES: st.SearchStrategy[Any] = st.recursive(
    node(ast.TypeName, PATHS) | node(ast.TypeOne) | node(ast.TypeRef, PATHS),
    lambda t: (
        node(ast.TypeBinary, st.sampled_from("*/"), t, t)
        | node(ast.TypePower, t, st.integers(-9, 9), st.integers(1, 4))
        | node(ast.TypeList, t)
    ),
    max_leaves=5,
)


def numbers() -> st.SearchStrategy[ast.Number]:
    return node(ast.Number, DIGITS)


def leaves(texts: bool) -> st.SearchStrategy[Any]:
    found = numbers() | node(ast.Quantity, DIGITS, units()) | node(ast.Name, NAMES)
    found |= node(ast.Bool, st.booleans())
    return found | node(ast.Text, TEXTS) if texts else found


CASES = st.one_of(
    st.builds(lambda p: ast.Pattern(NOWHERE, path=p), PATHS),
    st.builds(lambda n: ast.Pattern(NOWHERE, number=n), st.sampled_from(["1", "-2", "3.5"])),
)


def larger(e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    ops = st.sampled_from(["+", "-", "*", "/", "^", "and", "or", "..", "<..", "..<", "<..<"])
    chain = st.integers(2, 3).flatmap(
        lambda n: node(
            ast.Compare,
            many(e, n, n),
            many(st.sampled_from(["<", "==", ">=", "!="]), n - 1, n - 1),
        )
    )
    alone = node(ast.Generator, many(ident(), 1, 1), many(e, 1, 1))
    zipped = node(ast.Generator, many(ident(), 2, 3), many(e, 1, 3))
    generators = many(alone | zipped, 1, 2)
    argument = node(ast.Argument, NONE | ident(), e)
    reduced = node(ast.Comprehension, e, generators, NONE | e, st.just(False))
    return (
        st.builds(lambda op, a, b: ast.Binary(NOWHERE, op, a, b, NOWHERE), ops, e, e)
        | node(ast.Unary, st.sampled_from(["-", "+", "not"]), e)
        | chain
        | node(ast.Is, e, many(CASES, 1, 3))
        | node(ast.Attr, e, ident())
        | node(ast.Index, e, e)
        | node(ast.Call, e, many(argument))
        | node(ast.Call, e, many(node(ast.Argument, NONE, reduced), 1, 1))
        | node(ast.ListLit, many(e))
        | node(ast.Comprehension, e, generators, NONE | e, st.just(True))
        | node(ast.Cond, e, e, e)
    )


def blocks(e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    let = node(ast.Let, ident(), NONE | TYPES, e)
    pattern = CASES | st.just(ast.Pattern(NOWHERE))
    step = (
        node(ast.State, ident(), TYPES, e)
        | node(ast.Next, ident(), NONE | e, e)
        | node(ast.Until, e)
        | let
    )
    return (
        node(ast.With, e, many(node(ast.Assign, PATHS, e | UNKNOWN)))
        | node(ast.Match, e, many(node(ast.Arm, many(pattern, 1, 2), e), 1))
        | node(ast.Iterate, ident(), e, many(step, 1))
    )


FLAT: st.SearchStrategy[Any] = st.recursive(leaves(False), larger, max_leaves=6)
EXPRS: st.SearchStrategy[Any] = st.recursive(
    leaves(True), lambda e: larger(e) | blocks(e), max_leaves=12
)


@st.composite
def templates(draw: st.DrawFn) -> ast.Template:
    parts: list[str | ast.Hole] = []
    for _ in range(draw(st.integers(0, 3))):
        if (not parts or not isinstance(parts[-1], str)) and (text := draw(TEXTS)):
            parts.append(text)
        parts.append(ast.Hole(NOWHERE, draw(FLAT), draw(NONE | units(0))))
    return ast.Template(NOWHERE, tuple(parts))


DOCS = st.sampled_from(["", "One line.", "Two\nlines.", "A gap\n\n  and an indent."])
CITATIONS = node(ast.Citation, ident(), NONE | TEXTS, NONE | ident()) | node(
    ast.Citation, NONE, TEXTS, NONE | ident()
)
SOURCES = node(ast.Sources, many(CITATIONS, 1, 3))
BASES = NONE | SOURCES | node(ast.Assume, TEXTS)
LETS = node(ast.Let, ident(), NONE | TYPES, EXPRS, BASES, DOCS)
TOLD = NONE | templates()
RULES = node(ast.Rule, ident(), st.booleans(), EXPRS, TOLD, TOLD, BASES, DOCS)
FNS = node(
    ast.Fn,
    ident(),
    many(ident(), 0, 2),
    many(node(ast.Parameter, ident(), TYPES, NONE | EXPRS, st.booleans())),
    TYPES,
    many(LETS, 0, 2),
    EXPRS,
    BASES,
    DOCS,
)
SIMPLE = (
    node(ast.Field, ident(), TYPES, NONE | EXPRS | UNKNOWN, NONE | EXPRS, BASES, DOCS)
    | node(ast.Assign, PATHS, EXPRS | UNKNOWN, BASES)
    | LETS
    | RULES
    | SOURCES
    | node(ast.Assume, TEXTS)
    | node(ast.Allow, PATHS, TEXTS)
    | FNS
)


def part(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    word = KIND_WORDS.map(lambda n: ast.Ident(NOWHERE, n))
    return node(ast.Part, word, ident(), NONE | EXPRS, NONE | PATHS, many(members), BASES, DOCS)


def draws() -> st.SearchStrategy[Any]:
    even = ast.Argument(NOWHERE, None, ast.Name(NOWHERE, ast.CHANCE))
    given = many(node(ast.Argument, NONE | ident(), EXPRS))
    return st.builds(lambda f, args: ast.Call(NOWHERE, f, (even, *args)), EXPRS, given)


MEMBERS = SIMPLE | part(SIMPLE) | node(ast.Amend, PATHS, many(SIMPLE))
QUESTIONS = (
    node(ast.Param, ident(), TYPES, NONE | EXPRS, NONE | EXPRS, NONE | draws(), BASES, DOCS)
    | node(ast.Choice, ident(), TYPES, EXPRS, NONE | EXPRS, BASES, DOCS)
    | node(ast.Output, ident(), units(0), NONE, EXPRS, BASES, DOCS)
    | node(ast.Output, ident(), NONE, NONE | TYPES, EXPRS, BASES, DOCS)
    | LETS
    | RULES
)
STATUSES = st.sampled_from(["", "calibration", "identity"])
EXPECTS = (
    node(ast.Expect, EXPRS, NONE, st.just(""), STATUSES, NONE | TEXTS)
    | node(ast.Expect, EXPRS, EXPRS, st.sampled_from(["", "relative", "absolute"]))
    | node(ast.Expect, EXPRS, numbers(), st.just("factor"), STATUSES, NONE | TEXTS)
)
YEARS = st.integers(1900, 2100).map(str)
ITEMS = (
    node(ast.Use, PATHS, NONE, NONE | ident(), NONE | many(ident(), 1, 20))
    | node(ast.Use, st.just(()), TEXTS, NONE | ident(), NONE)
    | node(ast.Dimension, ident(), DOCS)
    | node(ast.UnitDecl, ident(), EXPRS, NONE, NONE | EXPRS, many(ident(), 0, 4), DOCS)
    | node(ast.UnitDecl, ident(), NONE, TYPES, NONE, many(ident(), 0, 4), DOCS)
    | node(ast.TypeAlias, ident(), TYPES, DOCS)
    | node(ast.Enum, ident(), many(ident(), 1, 4), BASES, DOCS)
    | node(ast.Kind, ident(), NONE | PATHS, many(MEMBERS), DOCS)
    | FNS
    | part(MEMBERS)
    | node(ast.Evaluator, ident(), many(QUESTIONS), DOCS)
    | node(ast.Claim, ident(), many(EXPECTS | LETS | SOURCES | node(ast.Assume, TEXTS)), DOCS)
    | LETS
    | node(ast.Allow, PATHS, TEXTS)
    | node(ast.Calibrated, ident(), TYPES, EXPRS, NONE | EXPRS, SOURCES, DOCS)
    | node(ast.Reference, ident(), ident(), YEARS, TEXTS, DOCS)
    | SOURCES
    | node(
        ast.Display,
        st.sampled_from(["table", "figure"]),
        ident(),
        many(node(ast.Assign, many(ident(), 1, 1), EXPRS)),
        DOCS,
    )
)


@QUICK
@given(many(ITEMS, 0, 3), st.sampled_from(["", "About.", "About\nthis."]))
def test_any_tree_comes_back(items: tuple[Any, ...], doc: str) -> None:
    tree = ast.Module(Source("", ""), 2026, items, (), doc)
    check_round_trip(tree)


@QUICK
@given(many(ITEMS, 0, 3))
def test_any_tree_comes_back_from_data(items: tuple[Any, ...]) -> None:
    tree = ast.Module(Source("", ""), 2026, items, (), "doc")
    data = unstructured(tree)
    again = structured(data, tree.source)
    assert shape(again) == shape(tree)
    assert unstructured(again) == data


# --- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_files_round_trip(path: Path) -> None:
    tree, diagnostics = read(path.read_text("utf-8"))
    assert diagnostics.items == []
    text = check_round_trip(tree)
    again, _ = read(text)
    assert [c.text for c in again.comments] == [c.text for c in tree.comments]
    # Texts and comments are not broken; what a line is from may reach further than code.
    long = [n for n in text.splitlines() if len(n) > 100 and '"' not in n and "#" not in n]
    assert not [n for n in long if " source " not in n or len(n) > CITED_WIDTH]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_spans_come_back_from_data(path: Path) -> None:
    tree, _ = read(path.read_text("utf-8"))
    again = structured(unstructured(tree), tree.source)
    assert [i.span.text for i in again.items] == [i.span.text for i in tree.items]


@QUICK
@given(st.data())
def test_mutated_files_never_fail(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(EXAMPLES)).read_text("utf-8")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 8)))
        new = data.draw(st.sampled_from(["", "\n", "# c\n", "## d\n", "{", ")", "x", " 3 GB", "}"]))
        text = text[:start] + new + text[end:]
    if data.draw(st.booleans()):  # from an item on, without an edition before it
        items = [i for i, line in enumerate(text.splitlines()) if line[:1].isalpha()]
        first = data.draw(st.sampled_from(items or [0]))
        text = "\n" * data.draw(st.integers(0, 3)) + "\n".join(text.splitlines()[first:]) + "\n"
    tree, diagnostics = read(text)
    formatted = format_module(tree)
    again, more = read(formatted)
    if not diagnostics.failed:
        assert not more.failed, formatted
        assert shape(again) == shape(tree)
        assert len(again.comments) == len(tree.comments)
        assert format_module(again) == formatted


@QUICK
@given(st.data())
def test_comments_anywhere_are_kept(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(EXAMPLES)).read_text("utf-8")
    lines = text.splitlines()
    for i in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(1, len(lines) - 1))
        if data.draw(st.booleans()):
            lines.insert(at, f"   # note {i}")
        elif '"' not in lines[at] and "#" not in lines[at]:
            lines[at] += f" # note {i}"
    tree, diagnostics = read("\n".join(lines))
    assert diagnostics.items == []
    formatted = format_module(tree)
    again, _ = read(formatted)
    assert sorted(c.text for c in again.comments) == sorted(c.text for c in tree.comments)
    assert shape(again) == shape(tree), formatted
    assert format_module(again) == formatted


def test_canonical_text() -> None:
    tree, _ = read(
        "edition 2026\nuse  a.b:c ,d\nkind k{a:real=1 # one\n\n\n\nlong_name : [ real ]\n"
        "# a note\nb : x*(y/z)^(1/2) = if c then(1+2)else -(3 m)^2}\nlet x=(a+b)*c^(-d)  # last\n"
    )
    assert format_module(tree) == (
        "edition 2026\n"
        "use a.b: c, d\n"
        "\n"
        "kind k {\n"
        "    a : real = 1  # one\n"
        "\n"
        "    long_name : [real]\n"
        "    # a note\n"
        "    b         : x * (y / z)^(1/2) = if c then 1 + 2 else -(3 m)^2\n"
        "}\n"
        "\n"
        "let x = (a + b) * c^-d  # last\n"
    )


def test_long_lines_break_in_brackets() -> None:
    names = ", ".join(f"argument_{i} = value_{i}" for i in range(8))
    terms = " + ".join(f"a_rather_long_term_{i}" for i in range(8))
    tree, _ = read(f"edition 2026\nlet x = f({names})\nlet y = g(max({terms}), 1)\n")
    text = check_round_trip(tree)
    assert "\n    argument_3 = value_3,\n" in text
    assert "\n            + a_rather_long_term_3\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_range_or_distribution_that_does_not_fit_has_a_line_of_its_own() -> None:
    unit = "kg*m^2/s^3/A/mol"
    tree, _ = read(
        f"edition 2026\nevaluator e {{\n    param x : some_long_name = 320 {unit} "
        f"in 50 {unit} .. 2000 {unit} ~ lognormal(320 {unit}, 1.3)\n}}\n"
    )
    text = check_round_trip(tree)
    assert f"x : some_long_name = 320 {unit} in 50 {unit} .. 2000 {unit}\n" in text
    assert f"\n        ~ lognormal(320 {unit}, 1.3)\n" in text
    tree, _ = read(
        f"edition 2026\nevaluator e {{\n    param x : {'long_' * 10} = 320 {unit} "
        f"in 50 {unit} .. 2000 {unit} ~ lognormal(320 {unit}, 1.3)\n}}\n"
    )
    text = check_round_trip(tree)
    assert f" = 320 {unit}\n        in 50 {unit} .. 2000 {unit}" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_rest_of_a_chain_goes_on_behind_a_bracket() -> None:
    terms = " + ".join(f"a_rather_long_term_{i}" for i in range(5))
    lines = "\n".join(f"    + a_rather_long_term_{i}" for i in range(1, 5))
    tree, _ = read(f"edition 2026\nlet x = ({terms}) / y * z\n")
    assert check_round_trip(tree) == (
        f"edition 2026\nlet x = (\n    a_rather_long_term_0\n{lines}\n) / y * z\n"
    )
    factors = " * ".join(f"a_rather_long_factor_{i}" for i in range(4))
    tree, _ = read(f"edition 2026\nlet x = ({terms}) / y * {factors}\n")
    text = check_round_trip(tree)
    assert "\n)\n    / y\n    * a_rather_long_factor_0\n" in text


@pytest.mark.parametrize(
    "text",
    [
        "-" * 190 + "b",
        "not " * 190 + "b",
        "b + " * 190 + "b",
        "b ^ " * 190 + "b",
        "b" + ".c" * 190,
        "b" + "(c)" * 90,
        "f(" * 90 + "b" + ")" * 90,
        "[" * 190 + "]" * 190,
        "if b then c else " * 190 + "d",
        "b with { c = " * 60 + "1" + " }" * 60,
        "b with { c = " * 60 + "d with {\n e = 1\n}" + " }" * 60,
        "b with {\nc = " * 60 + "1" + "\n}" * 60,
        "match b { c => " * 90 + "1" + " }" * 90,
    ],
    ids=lambda t: t[:8],
)
def test_the_deepest_trees_are_written_quickly(text: str) -> None:
    tree, diagnostics = read(f"edition 2026\nlet a = {text}\n")
    assert diagnostics.items == []
    start = time.process_time()
    check_round_trip(tree)
    assert shape(structured(unstructured(tree), tree.source)) == shape(tree)
    assert time.process_time() - start < 10


# --- data --------------------------------------------------------------------------------------


def test_a_value_behind_another_breaks_the_same_twice() -> None:
    """A block that was on one line, and stands on several after formatting."""
    tree, _ = read(
        'calibrated source : a.rate.rate = "000000000" and (match "00000000000" '
        '{ a | else => 1_000 }) in (if 0 then 0 else 0) with { a = 1 } source ""\n'
    )
    check_round_trip(tree)


def test_a_citation_that_does_not_fit_has_a_line_of_its_own() -> None:
    tree, _ = read(
        "edition 2026\ncalibrated eta : real = 0.84 in 0 .. 1 source "
        '"thirty-one kernels of three sizes on four machines of two makers, from figure 7"\n'
    )
    text = check_round_trip(tree)
    assert text.split("\n")[-4:-1] == [
        "calibrated eta : real = 0.84 in 0 .. 1 source (",
        '    "thirty-one kernels of three sizes on four machines of two makers, from figure 7",',
        ")",
    ]
