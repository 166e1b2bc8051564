"""Habits of other languages: one error each, in its place, with what to write."""

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.base.diagnostics import Diagnostic, Diagnostics
from hwdsl.base.source import Source
from hwdsl.semantics.checker import check
from hwdsl.semantics.modules import load
from hwdsl.syntax import ast, parse

HEAD = """edition 2026
kind chip {
    memory : data
    rate   : real = 0.5
}
chip c { memory = 80 GB }
"""


def found(text: str) -> list[Diagnostic]:
    """What is said of a text behind `HEAD` and before a last line that has an error of its own."""
    diagnostics = Diagnostics()
    check(load(Source("t.hw", f"{HEAD}{text}\n"), diagnostics), diagnostics)
    return diagnostics.items


def asked(line: str) -> str:
    """An evaluator with a line, which others read."""
    return f"evaluator e {{\n    param b : int = 3 in 1 .. 9\n    {line}\n    output o = b\n}}"


MENDED = [
    ("let a = 2 ** 3", "**", "`^`"),
    ("let a = 1 > 2 && 2 > 1", "&&", "`and`"),
    ("let a = 1 > 2 || 2 > 1", "||", "`or`"),
    ("let a = !(1 > 2)", "!", "`not`"),
    ("let a = 1 <> 2", "<>", "`!=`"),
    ("let a = 1 === 2", "===", "`==`"),
    ("let a = 1 !== 2", "!==", "`!=`"),
    ("chip d {\n    memory = 8 GB;\n    rate = 1;\n}", ";", "new line"),
    ("chip d = { memory = 8 GB }", "=", "`chip d { … }`"),
    ("chip d = c { rate = 1 }", "=", "`chip d : c { … }`"),
    ("chip d {\n    memory : 8 GB\n}", ":", "`memory = 8 GB`"),
    ("let d = c with { rate: 0.25 }", ":", "`rate = 0.25`"),
    ('let a = f"of {c}"', "f", "leave it out"),
    ("let a = 'one (of two'", "'one (of two'", '`"one (of two"`'),
    (asked("require r: b > 3 else 'not {b}'"), "'not {b}'", '`"not {b}"`'),
    ("// It's a chip (with [\nlet a = 1", "//", "`#`"),
    ("let a = 1 // the first one's", "//", "`#`"),
]
OTHERS = [
    ("syntax-error", asked("x = b + 1"), "x", "write `let x = …`"),
    ("syntax-error", asked("x : real = b"), "x", "write `let x : …`"),
    ("syntax-error", "x = 3", "=", "write `let x = …`"),
    ("syntax-error", "fn f(x: real) -> real {\n    y = x\n    y\n}", "=", "write `let y = …`"),
    ("syntax-error", asked("let x = (1 if b > 2 else 4) * b"), "if", "`if b > 2 then 1 else 4`"),
    ("syntax-error", asked("let x = max(b, f(b) if b > 2 else 4)"), "if", "then f(b) else 4`"),
    ("unknown-character", asked("let x = b > 2 ? 1 : 4"), "?", "`if c then a else b`"),
    ("syntax-error", asked("let x = if b > 2 { 1 } else { 4 }"), "{", "`if c then a else b`"),
    ("syntax-error", asked("for i in 1 .. 3 { x = i }"), "for", "`iterate"),
    ("syntax-error", asked("assert b > 1"), "assert", "`require"),
    ("syntax-error", asked("print(b)"), "print", "`output"),
    ("syntax-error", "def decode {\n    param x : int = 1\n    output o = x\n}", "def", "`fn name"),
    ("syntax-error", "def f(x)", "def", "`fn name"),
    ("syntax-error", "fn f(x: real) -> real {\n    return x\n}", "return", "leave `return` out"),
    ("syntax-error", "function f(x) { x }", "function", "`fn name"),
    ("unknown-kind", "class big {\n    memory : data\n}", "class", "`kind name"),
    ("syntax-error", "import std.die", "import", "`use "),
    ("syntax-error", "from numpy import sin", "from", "`use "),
    ("syntax-error", 'calibrated a : real = 1 from "x"', '"x"', "`source"),
    ("syntax-error", "const a = 3", "const", "`let "),
    ("syntax-error", "int a = 3", "int", "`let a : int"),
    ("syntax-error", "let a = 1\na += 1", "+=", "name the new one"),
    ("syntax-error", "let a := 1", ":=", "write `=`"),
    ("syntax-error", asked("let x = switch b { 1: 2, 2: 3 }"), "switch", "`match x {"),
    ("syntax-error", asked("switch b { 1: 2 }"), "switch", "`match x {"),
    ("syntax-error", asked("param d : int = 3 in 1, 9"), "1, 9", "`in [1, 9]`, or for a range"),
    ("syntax-error", "figure f {\n    b = 1, 16 GB, 48\n}", "1, 16 GB, 48", "`= [1, 16"),
    ("syntax-error", "kind k {\n    a : 8 GB\n}", "8 GB", "`: type = 8 GB`"),
    ("syntax-error", asked("z : 3 GB"), "z", "write `let z = …`"),
    ("unknown-unit", "let a = 2 bytes", "bytes", "`B`"),
    ("unknown-unit", "let a = 2 Bits/s", "Bits", "`bit`"),
    ("syntax-error", "let a == 1", "==", "write `=`"),
    ("syntax-error", "let a = 7 % 2", "%", "floor(a / b)"),
    ("floor-division", "let a = 7 // 2", "//", "`floor(7 / 2)`; a comment begins with `#`"),
    ("syntax-error", "/* a comment */", "/*", "`#`"),
    ("syntax-error", asked("let x = b GB / 2"), "GB", "a product needs `*`"),
    ("syntax-error", 'chip d {\n    """A chip."""\n    memory = 8 GB\n}', '""', "`##`"),
    ("bad-number", "chip d {\n    memory = 80,000 MB\n}", "80,000 MB", "`80_000 MB`"),
    ("bad-number", "let a = [1,024, 2]", "1,024", "`1_024`"),
    ("not-a-number", 'chip d {\n    memory = "80 GB"\n}', '"80 GB"', "quotes: `80 GB`"),
    ("not-a-number", 'let a = c with { rate = "80 %" }', '"80 %"', "quotes: `80 %`"),
    ("unknown-unit", "let a = c with { rate = 80 percent }", "percent", "`%`"),
    ("unknown-name", "let a = True", "True", "`true`"),
    ("unknown-name", "let a = None", "None", "`unknown "),
    ("unknown-type", "let a : float = 1", "float", "`real`"),
    ("unknown-function", "let a = pow(2, 3)", "pow", "`a ^ b`"),
    ("unknown-function", "let a = [b for b in zip([2], [3])]", "zip", "for x, y in zip(xs, ys)"),
    ("syntax-error", "let a = [b for i, b in enumerate([2])]", "enumerate", "zip(0 .. len(xs) - 1"),
    ("syntax-error", "let a = [b for i, b in pairs]", "pairs", "`for x, y in zip(xs, ys)`"),
    ("syntax-error", "let a = 3 is not 2", "not", "`not x is a`"),
    (
        "syntax-error",
        'let a = 3 source acme confidence low "p. 2"',
        '"p. 2"',
        "before `confidence`",
    ),
    ("syntax-error", 'let a = 3 source "p. 2" acme', "acme", '`source name "where"`'),
    ("syntax-error", 'let a = 3 source ("x", "y") confidence low', "confidence", "in parentheses"),
    ("syntax-error", 'let a = 3 assume "x" confidence low', "confidence", "leave `confidence` out"),
    ("syntax-error", 'let a = 3 assume ("x", "y")', "(", '`assume "why"`'),
    ("syntax-error", 'let a = 3 source note assume "x"', "assume", "one `source` or `assume`"),
    ("syntax-error", 'let a = 3 source "x" source "y"', "source", "`source (a "),
    ("syntax-error", "chip d {\n    memory = 1 GB source note, acme\n}", "", "`source (a "),
    ("syntax-error", "kind k {\n    a : real source note = 3\n}", "=", "behind the value"),
    (
        "syntax-error",
        "kind k {\n    a : real = 3 source note = 3\n}\nk d { a = 2 }\nlet b = d.a",
        "=",
        "behind the value",
    ),
    ("unknown-name", 'reference a : blog 2024 "t"', "blog", "`press`"),
    ("syntax-error", 'reference a : price-list 2024 "t"', "-", "`price_list`"),
    ("syntax-error", 'reference a : paper "t"', '"t"', '`paper 2024 "…"`'),
    ("syntax-error", "let a = 3 is 1 .. 3", "..", "`1 <= x <= 3`"),
    ("syntax-error", "let a = c.rate is -1 ..< 3", "..<", "`-1 <= c.rate < 3`"),
    ("syntax-error", "let a = c.memory is 8 GB", "8 GB", "`c.memory == 8 GB`"),
    ("syntax-error", asked("let x = b == red | green"), "|", "`is red | green`"),
    ("syntax-error", "kind k {\n    a : real in 0 < .. 1\n}", "< ..", "`<..`"),
    ("syntax-error", "kind k {\n    a : real in 0 .. < 1\n}", ".. <", "`..<`"),
    ("syntax-error", "kind k {\n    a : real in 0 < .. < 1\n}", "< .. <", "`<..<`"),
]


@pytest.mark.parametrize(("text", "place", "remedy"), MENDED)
def test_what_is_clear_is_one_error_and_the_rest_is_checked(
    text: str, place: str, remedy: str
) -> None:
    first, *more = found(f"{text}\nlet last = nobody")
    assert (first.name, first.span and first.span.text) == ("foreign-syntax", place)
    assert remedy in (first.help or "")
    assert [(d.name, d.span and d.span.text) for d in more] == [("unknown-name", "nobody")]


@pytest.mark.parametrize(("name", "text", "place", "remedy"), OTHERS)
def test_what_is_not_is_said_where_it_stands(name: str, text: str, place: str, remedy: str) -> None:
    first, *more = found(f"{text}\nlet last = 1")
    assert (first.name, first.span and first.span.text) == (name, place)
    assert remedy in (first.help or "")
    assert more == []


@pytest.mark.parametrize(
    "text",
    [
        "kind def { a : real }\ndef x { a = 1 }",
        "kind switch { a : real }\nswitch x { a = 1, }",
        "kind chip2 {\n    class  : real\n    return : real = class\n}",
        "let import = 1\nlet b = [100,200] ",
        "let a = match 1 {\n    1 => 2,100 => 3\n    else => 4\n}",
        'let a = "a ** b; c && d // no comment"',
        'kind k { a : 1 = 2 }\nlet x : [real] = [1]\nlet y = "it\'s f\\"x"',
        "let a = 1 # a // b ** c",
    ],
)
def test_what_is_right_stays_so(text: str) -> None:
    assert [d.name for d in found(text)] == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(
    ["a", "1", "1,000", "//", "**", "&&", ";", "if", "else", "then", "(", ")", "{", "}", "[", "]",
     "def", "let", "=", ",", "\n", "for", "\"x\"", "%", "!", "||", "return", "b", "match"]
), max_size=25))  # fmt: skip
def test_nothing_escapes(words: list[str]) -> None:
    """Whatever the order of such words, a tree comes back and errors have places in the text."""
    source, diagnostics = Source("t.hw", " ".join(words)), Diagnostics()
    assert isinstance(parse(source, diagnostics), ast.Module)
    assert all(
        d.span and 0 <= d.span.start <= d.span.end <= len(source.text) for d in diagnostics.items
    )


def test_a_long_line_is_explained_in_time_in_proportion() -> None:
    source = Source("t.hw", 'edition 2026\nlet x = 1 source "' + "a, source " * 6000 + '" )\n')
    diagnostics, start = Diagnostics(), process_time()
    parse(source, diagnostics)
    assert [d.name for d in diagnostics.items] == ["syntax-error"]
    assert process_time() - start < 3  # 15 s if it took the square of it
