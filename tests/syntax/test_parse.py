"""What the parser makes of right text: nodes, spans, docs, joined lines."""

from pathlib import Path

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.reading import read_source
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse, parse_expression, parse_unit

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.hw"))


def module(text: str) -> ast.Module:
    diagnostics = Diagnostics()
    tree = parse(Source("t.hw", "edition 2026\n" + text), diagnostics)
    assert diagnostics.items == []
    return tree


def expr(text: str) -> ast.Expr:
    diagnostics = Diagnostics()
    tree = parse_expression(Source("t.hw", text), diagnostics)
    assert diagnostics.items == []
    assert tree is not None
    return tree


def test_there_are_four_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples(path: Path) -> None:
    diagnostics = Diagnostics()
    tree = parse(Source(path.name, path.read_text("utf-8")), diagnostics)
    assert diagnostics.items == []
    assert tree.edition == 2026
    assert tree.doc
    assert {"actors": 4, "copa": 10, "gpt3": 6, "silicon": 7}[path.stem] == len(tree.items)


def test_spans_reach_through_joined_lines() -> None:
    tree = module("let a = f(1,\n    2)\n    + 3 GB\nlet b = a\n")
    first, second = tree.items
    assert first.span.text == "let a = f(1,\n    2)\n    + 3 GB"
    assert isinstance(first, ast.Let)
    assert isinstance(first.value, ast.Binary)
    assert first.value.op_span.text == "+"
    assert first.value.right.span.text == "3 GB"
    assert str(second.span) == "t.hw:5:1"


def test_docs_go_to_what_follows() -> None:
    tree = module(
        "#! File.\n## One.\n## Two.\nkind k {\n  ## Of a.\n  a : real  # no doc\n  b : real\n}\n"
    )
    kind = tree.items[0]
    assert tree.doc == "File."
    assert isinstance(kind, ast.Kind)
    assert kind.doc == "One.\nTwo."
    assert [m.doc for m in kind.members if isinstance(m, ast.Field)] == ["Of a.", ""]
    assert [c.own_line for c in tree.comments] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("text", "digits", "unit"),
    [
        ("3.35 TB/s", "3.35", [("TB", 1), ("s", -1)]),
        ("0.1 cm^-2", "0.1", [("cm", -2)]),
        ("31 %", "31", [("%", 1)]),
        ("31%", "31", [("%", 1)]),
        ("5 %/year", "5", [("%", 1), ("year", -1)]),
        ("1e-3 W/mm^2*K", "1e-3", [("W", 1), ("mm", -2), ("K", 1)]),
        ("1e6 eV", "1e6", [("eV", 1)]),
    ],
)
def test_quantities(text: str, digits: str, unit: list[tuple[str, int]]) -> None:
    node = expr(text)
    assert isinstance(node, ast.Quantity)
    assert node.text == digits
    assert [(f.name, f.power) for f in node.unit.factors] == unit
    assert "".join(f.span.text for f in node.unit.factors) in text.replace("/", "").replace("*", "")


def test_a_blank_ends_the_unit() -> None:
    node = expr("3 TB / n")
    assert isinstance(node, ast.Binary)
    assert (node.op, node.left.span.text, node.right.span.text) == ("/", "3 TB", "n")


@pytest.mark.parametrize("word", ["then", "else", "in", "within", "and", "or", "with", "for"])
def test_a_keyword_is_no_unit(word: str) -> None:
    diagnostics = Diagnostics()
    tree = parse_expression(Source("t.hw", f"1 {word}"), diagnostics)
    assert tree is None
    assert "end of the text" in diagnostics.items[0].message  # the word itself was understood


def test_powers_bind_right_and_before_signs() -> None:
    node = expr("-a ^ -b ^ 2")
    assert isinstance(node, ast.Unary)
    power = node.operand
    assert isinstance(power, ast.Binary)
    assert power.left.span.text == "a"
    assert power.right.span.text == "-b ^ 2"


@pytest.mark.parametrize(
    "text",
    [
        "let a = b\n    + c",
        "let a = b +\n    c",
        "let a =\n    b",
        "let a\n    = b",
        "let a = b\n    .c",
        "let a = 1\n    .. 2",
        "let a = if b\n    then c\n    else d",
        "let a = b\n    and not\n    c",
        "let a = b\n    < c",
        "let a = b\n    with { c = 1 }",
        "let a = f(\n    b,\n    c,\n)",
        "let a = [\n    b\n    for b in c\n    if d\n]",
        "fn f(a: real)\n    -> real = a",
        "let a = b  # why\n    # because\n    + c",
    ],
)
def test_lines_join(text: str) -> None:
    tree = module(f"{text}\nlet last = 1\n")
    assert len(tree.items) == 2
    assert tree.items[0].span.text == text


def test_else_and_signs_start_arms() -> None:
    tree = module("let a = match b {\n  c => 1\n  -1 | -2 => 2\n  else => if d then 1\n else 3\n}")
    let = tree.items[0]
    assert isinstance(let, ast.Let)
    assert isinstance(let.value, ast.Match)
    arms = let.value.arms
    assert len(arms) == 3
    assert [p.number for p in arms[1].patterns] == ["-1", "-2"]
    assert arms[2].patterns[0].path is None


def test_help_joins_only_before_a_text() -> None:
    tree = module(
        'kind k {\n  require r: a > 1\n    else "no"\n    help "do"\n  a : real\n  help : real\n}\n'
    )
    kind = tree.items[0]
    assert isinstance(kind, ast.Kind)
    rule, _, field = kind.members
    assert isinstance(rule, ast.Rule)
    assert rule.help is not None
    assert rule.help.parts == ("do",)
    assert isinstance(field, ast.Field)
    assert field.name.name == "help"


def test_soft_keywords_are_names() -> None:
    soft = "source help type unit dimension kind enum claim evaluator param choice output require"
    soft += " warn expect relative absolute allow use as edition state next until prefix offset"
    soft += " calibrated from factor known calibration identity assume table figure"
    soft += " confidence baseline missed"
    for word in soft.split():
        tree = module(f"kind k {{\n  {word} : real\n}}\nlet a = b.{word} + {word}({word} = 1)\n")
        assert len(tree.items) == 2


def test_messages() -> None:
    tree = module('kind k {\n  require r: a > 1 else "{{x}} {a * 2 in GB/s}\\n{b.c}!"\n}\n')
    kind = tree.items[0]
    assert isinstance(kind, ast.Kind)
    rule = kind.members[0]
    assert isinstance(rule, ast.Rule)
    assert rule.message is not None
    first, hole, middle, other, last = rule.message.parts
    assert (first, middle, last) == ("{x} ", "\n", "!")
    assert isinstance(hole, ast.Hole)
    assert isinstance(other, ast.Hole)
    assert hole.value.span.text == "a * 2"
    assert hole.unit is not None
    assert hole.unit.span.text == "GB/s"
    assert other.unit is None


def test_what_the_prototype_lacked() -> None:
    tree = module(
        "unit degC = 1 K offset 273.15\nunit B : data prefix k, M, Ki\n"
        'calibrated eta : real = 0.84 in 0 .. 1 source "data"\n'
        "table t {\n  of = e\n}\nfigure f {}\n"
        "evaluator e {\n  choice c : int in [1, 2] = 2\n}\n"
        'claim c {\n  assume "x"\n  identity expect a == 1\n  calibration expect a == b within '
        'factor 3\n  expect a == 1 within 3 % absolute\n  expect a > 2 baseline b > 2 missed "y"\n'
        '  source "z"\n    confidence low\n}\n'
    )
    degree, byte, eta, table, figure, evaluator, claim = tree.items
    assert isinstance(degree, ast.UnitDecl)
    assert isinstance(degree.offset, ast.Number)
    assert isinstance(byte, ast.UnitDecl)
    assert [p.name for p in byte.prefixes] == ["k", "M", "Ki"]
    assert isinstance(eta, ast.Calibrated)
    assert isinstance(table, ast.Display)
    assert isinstance(figure, ast.Display)
    assert (table.form, figure.form) == ("table", "figure")
    assert isinstance(evaluator, ast.Evaluator)
    assert isinstance(evaluator.members[0], ast.Choice)
    assert isinstance(evaluator.members[0].default, ast.Number)
    assert isinstance(claim, ast.Claim)
    modes = [(m.status, m.mode) for m in claim.members if isinstance(m, ast.Expect)]
    assert modes == [("identity", ""), ("calibration", "factor"), ("", "absolute"), ("", "")]
    *_, missed, cited = claim.members
    assert isinstance(missed, ast.Expect)
    assert missed.missed == "y"
    assert missed.baseline is not None
    assert missed.baseline.span.text == "b > 2"
    assert isinstance(cited, ast.Sources)
    (citation,) = cited.citations
    assert (citation.reference, citation.text) == (None, "z")
    assert citation.confidence is not None
    assert citation.confidence.name == "low"


def test_a_source_ends_any_declaration() -> None:
    tree = module(
        'reference little : paper 1961 "a proof"\n'
        'let a = 3 s source little "page 1" confidence high\n'
        "enum e { x, y } source little\n"
        'fn f() -> real = 3 source (little, "notes" confidence low,\n  little "p. 2")\n'
        'kind k {\n  source little\n  source : real = 3 assume "typical"\n'
        '  require r: source > 2 else "x" source "y"\n}\n'
    )
    reference, let, enum, fn, kind = tree.items
    assert isinstance(reference, ast.Reference)
    assert (reference.name.name, reference.kind.name, reference.year) == ("little", "paper", "1961")
    assert isinstance(let, ast.Let | ast.Fn)
    assert isinstance(enum, ast.Enum)
    assert isinstance(fn, ast.Fn)
    assert isinstance(kind, ast.Kind)
    block, field, rule = kind.members
    assert isinstance(block, ast.Sources)
    assert isinstance(field, ast.Field)
    assert isinstance(rule, ast.Rule)
    written = [let.sources, enum.sources, fn.sources, field.sources, rule.sources]
    assert [type(basis) for basis in written] == [ast.Sources] * 3 + [ast.Assume, ast.Sources]
    assert isinstance(fn.sources, ast.Sources)
    assert [(c.reference and c.reference.name, c.text) for c in fn.sources.citations] == [
        ("little", None), (None, "notes"), ("little", "p. 2"),
    ]  # fmt: skip


def test_line_ends_and_byte_order_marks() -> None:
    tree = parse(Source("t", "\ufeffedition 2026\r\n\r\nlet a = 1\r\nlet b = 2"), Diagnostics())
    assert [i.span.text for i in tree.items] == ["let a = 1", "let b = 2"]


def test_units_alone() -> None:
    unit = parse_unit(Source("t", "USD/Mtoken^2"), Diagnostics())
    assert unit is not None
    assert [(f.name, f.power) for f in unit.factors] == [("USD", 1), ("Mtoken", -2)]
    one = parse_unit(Source("t", "1"), Diagnostics())
    assert one is not None
    assert one.factors == ()


def test_reading_files(tmp_path: Path) -> None:
    path = tmp_path / "a.hw"
    path.write_bytes(b"let a = 1\nlet \xff = 2\n")
    diagnostics = Diagnostics()
    assert read_source(path, diagnostics) is None
    (found,) = diagnostics.items
    assert found.name == "not-utf8"
    assert found.span is not None
    assert found.span.source.position(found.span.start) == (2, 5)
    path.write_text("let µ = 1", "utf-8")
    source = read_source(path, diagnostics)
    assert source is not None
    assert source.text == "let µ = 1"
