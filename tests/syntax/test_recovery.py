"""Wrong text: each error once, by its name, and the rest of the file still read."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import ast, parse, parse_expression


def run(text: str, edition: str = "edition 2026\n") -> tuple[ast.Module, Diagnostics]:
    diagnostics = Diagnostics()
    return parse(Source("t.hw", edition + text), diagnostics), diagnostics


def found(text: str) -> list[tuple[str, str]]:
    _, diagnostics = run(text)
    return [(d.name, d.span.text if d.span else "") for d in diagnostics.items]


def test_two_errors_and_not_a_third() -> None:
    tree, diagnostics = run(
        "kind k {\n  a : real = ]\n  b : real = 1\n}\nlet c = 1\nlet d = 2 2\nlet e = 3\n"
    )
    assert [(d.name, str(d.span)) for d in diagnostics.items] == [
        ("syntax-error", "t.hw:3:14"),
        ("syntax-error", "t.hw:7:11"),
    ]
    kind = tree.items[0]
    assert isinstance(kind, ast.Kind)
    assert [m.span.text for m in kind.members] == ["b : real = 1"]
    assert [i.span.text for i in tree.items[1:]] == ["let c = 1", "let e = 3"]


@pytest.mark.parametrize(
    "text",
    [
        "fn f(a: real) -> real {\n  let b = 1\n  b +* 2\n}\n",
        "fn f(a: real) -> real {\n  let b = = 1\n  b\n}\n",
        "evaluator e {\n  param x : int = = 1\n  output y = 1\n}\n",
        "let a = iterate k in 1 .. 3 {\n  state u : = 0\n  next u = 1\n}\n",
        "let a = match b {\n  c = 1\n  d => 2\n}\n",
        "package p {\n  die d : { a = 1 }\n  memory m : HBM\n}\n",
        "let a = b with {\n  c 1\n}\n",
        "enum e { a, 1, b }\n",
        "claim c {\n  expect\n  expect a == 1\n}\n",
        "let a = )\n",
        "use std.\n",
        "}\n",
    ],
)
def test_one_error_each_and_the_rest_is_read(text: str) -> None:
    tree, diagnostics = run(f"{text}let last = 1\n")
    assert [d.name for d in diagnostics.items] == ["syntax-error"]
    assert tree.items[-1].span.text == "let last = 1"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("memory m\n    a = 1\n    b = 2\n    c = 3\n}\n", [2]),
        ("board b {\n    memory m[3]\n        a = 1\n    }\n    c = 2\n}\n", [3]),
        ("kind a\n    b : real\n}\nevaluator e\n    output o = 1\n}\n", [2, 5]),
        (
            "board b {\n    memory m\n        a = 1\n        die d\n            c = 2\n"
            "        }\n    }\n}\n",
            [5, 3],
        ),
    ],
)
def test_a_missing_brace_is_one_error(text: str, lines: list[int]) -> None:
    tree, diagnostics = run(f"{text}let last = 1\n")
    assert {d.message for d in diagnostics.items} == {"expected `{`, found the end of the line"}
    places = [d.span.source.position(d.span.start)[0] for d in diagnostics.items if d.span]
    assert places == lines
    assert tree.items[-1].span.text == "let last = 1"
    assert len(tree.items) == len(lines) + 1 - ("board" in text and len(lines) > 1)


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("let a = 1e3m\n", "bad-number", "1e3m"),
        ("let a = 4x\n", "bad-number", "4x"),
        ("let a = 0x10\n", "bad-number", "0x10"),
        ("let a = 1.5GHz\n", "bad-number", "1.5GHz"),
        ("let a = 1.5GB/s^2 * 3\n", "bad-number", "1.5GB/s^2"),
        ("let a = 1e-3m + 2\n", "bad-number", "1e-3m"),
        ("let a = 1.2.3\n", "bad-number", "1.2.3"),
        ("let a = 1e999\n", "bad-number", "1e999"),
        ("let a = 1e-999\n", "bad-number", "1e-999"),
        ("let a = 1 m^999999999\n", "bad-number", "999999999"),
        ("let a = b // 2\n", "floor-division", "//"),
        ("let a = 3 µs\n", "unknown-character", "µ"),
        ("let a = 3 °C\n", "unknown-character", "°"),
        ("let a = \x00\n", "unknown-character", "\x00"),
        ("let a = f(1, 2\nlet b = 3\n", "unclosed-bracket", "("),
        ("let a = [1, 2\nfn f() -> real = 1\n", "unclosed-bracket", "["),
        ("kind k {\n  a : real\nkind j {}\n", "unclosed-bracket", "{"),
        ("kind k {\n  a : real = f(1\n}\n", "unclosed-bracket", "("),
        ("kind k {\n  a : real\n", "unclosed-bracket", "{"),
        ('let a = "abc\n', "unterminated-text", '"abc'),
        ('let a = "\\q"\n', "syntax-error", "\\q"),
        ("let a = b^(1/0)\ntype t = a^(1/0)\n", "bad-number", "0"),
        ("unit u = 2 m offset\n", "syntax-error", ""),
        ('kind k {\n  require r: a else "{b +}"\n}\n', "syntax-error", ""),
        ('kind k {\n  require r: a else "}"\n}\n', "syntax-error", "}"),
        ("type t = 2 / a\n", "syntax-error", "2"),
    ],
)
def test_named_errors(text: str, name: str, place: str) -> None:
    tree, diagnostics = run(f"{text}\nlet last = 1\n")
    assert [(d.name, d.span.text if d.span else "") for d in diagnostics.items] == [(name, place)]
    assert diagnostics.items[0].help or name == "syntax-error"
    if name != "unclosed-bracket" or "let b" in text:
        assert tree.items[-1].span.text == "let last = 1"


def test_suggestions() -> None:
    _, diagnostics = run("let a = 3 µs\nlet b = 20 °C\nlet c = a // 2\nlet d = 1 + match a { }\n")
    helps = [d.help or "" for d in diagnostics.items]
    assert "`us`" in helps[0]
    assert "`degC`" in helps[1]
    assert any("floor(a / 2)" in h for h in helps)
    assert any("parentheses" in h for h in helps)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("let a = b wiht { c = 1 }", "did you mean `with`?"),
        ("let a = iff b > 1 then 2 else 3", "did you mean `if` for `iff`?"),
        ("let a = if b > 1 them 2 else 3", "did you mean `then` for `them`?"),
        ("let a = mach b { 1 => 2 }", "did you mean `match` for `mach`?"),
        ("lett a = 3", "did you mean `let` for `lett`?"),
        ("evaluator e {\n  ouput a = 1\n}", "did you mean `output`?"),
        ("evaluator e {\n  param a : int = 1 in 1..9:3\n}", "how many points"),
        ("evalutor e {\n  output a = 1\n  output b = 2\n}", "did you mean `evaluator` for"),
        ("lit x {\n  a = 3 4\n}", None),
    ],
)
def test_words_that_are_misspelt(text: str, help: str | None) -> None:
    _, diagnostics = run(text)
    (found,) = diagnostics.items
    assert (found.help is None) if help is None else (help in (found.help or ""))


def test_expected_in_plain_words() -> None:
    _, diagnostics = run("let = 1\nlet a = \nkind k {\n  a : real 3\n}\n")
    messages = " ".join(d.message for d in diagnostics.items)
    assert "expected a name, found `=`" in messages
    assert "expected an expression" in messages
    assert not any(c in messages for c in ("__", "LBRACE", "_NL", "$"))


@pytest.mark.parametrize(
    ("edition", "names"),
    [("", ["missing-edition"]), ("edition 1999\n", ["unknown-edition"]), ("edition 2026\n", [])],
)
def test_editions(edition: str, names: list[str]) -> None:
    _, diagnostics = run("let a = 1\n", edition)
    assert [d.name for d in diagnostics.items] == names
    assert diagnostics.failed == (names == ["unknown-edition"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["empty-file"]),
        (" \n", ["empty-file"]),
        ("# a note\n", ["missing-edition", "empty-file"]),
        ("edition 2026\n", ["empty-file"]),
        ("edition 2026\nlet = 1\n", ["syntax-error"]),
    ],
)
def test_a_file_without_declarations(text: str, names: list[str]) -> None:
    _, diagnostics = run(text, "")
    assert [d.name for d in diagnostics.items] == names


N = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "let a = " + "(" * N + "1" + ")" * N,
        "let a = " + "[" * N,
        "let a = " + "[" * N + "]" * N,
        "let a = " + "-" * N + "1",
        "let a = " + "1 + " * N + "1",
        "let a = " + "b ^ " * N + "b",
        "let a = " + "not " * N + "b",
        "let a = " + "if b then c else " * N + "d",
        "let a = b" + ".c" * N,
        "let a = b" + "(1)" * N,
        "let a = " + "b with { c = " * N + "1" + "}" * N,
        "a b {\n" * N + "}\n" * N,
        "a b {\n" * N,
        "type t = " + "[" * N + "a" + "]" * N,
        "]\n" * N,
        "µ\n" * N,
        '"\n' * N,
        "let a = (\n" * N,
        "9" * 1_000_000,
        "let a = " + "9" * 1_000_000,
        'let a = "' + "{" * N + '"',
        "\x00" * N,
        "\r" * N,
    ],
    ids=lambda t: t[:20],
)
def test_nothing_is_too_much(text: str) -> None:
    start = time.process_time()
    tree, diagnostics = run(text + "\nlet last = 1\n")
    assert time.process_time() - start < 20
    assert len(diagnostics.items) <= 200
    for item in tree.items:
        assert height(item) <= 250


def height(node: object) -> int:
    """Return the height of a tree without recursion, so that a tall one fails only the test."""
    best, waiting = 0, [(node, 1)]
    while waiting:
        one, level = waiting.pop()
        best = max(best, level)
        parts = one if isinstance(one, tuple) else ()
        if isinstance(one, ast.Node):
            parts = tuple(getattr(one, name) for name in one.__struct_fields__)
            level += 1
        waiting.extend((p, level) for p in parts if isinstance(p, ast.Node | tuple))
    return best


@pytest.mark.parametrize(
    "text",
    ["-" * 300 + "1", "1" + " + 1" * 300, "[" * 300 + "]" * 300, "if a then b else " * 300 + "c"],
)
def test_too_deep(text: str) -> None:
    assert [n for n, _ in found(f"let a = {text}\nlet b = 1\n")] == ["too-deep"]
    diagnostics = Diagnostics()
    assert parse_expression(Source("t", text), diagnostics) is None
    assert [d.name for d in diagnostics.items] == ["too-deep"]


@pytest.mark.parametrize(
    ("depth", "end", "names"),
    [
        (101, "", ["too-deep"]),
        (102, "}", ["syntax-error", "too-deep"]),
        (100, "\nk n {", ["too-deep", "unclosed-bracket"]),
        (100, "\nlet a =", ["syntax-error", "too-deep"]),
    ],
)
def test_reading_goes_on_behind_blocks_that_are_too_deep(
    depth: int, end: str, names: list[str]
) -> None:
    text = "k n {\n" * depth + "}" * depth + end
    assert sorted(n for n, _ in found(text)) == names


def test_a_long_file_takes_linear_time() -> None:
    def seconds(lines: int) -> float:
        text = "".join(f"let a{i} = b * {i} + c({i}, d = 3 GB)\n" for i in range(lines))
        start = time.process_time()
        tree, diagnostics = run(text)
        assert len(tree.items) == lines
        assert diagnostics.items == []
        return time.process_time() - start

    assert seconds(8_000) < 8 * max(seconds(2_000), 0.05)


PIECES = [
    *"()[]{},:=.|^%+-*/<>#\"\n\\",
    " ", "//", "..", "->", "=>", "==", "\r\n", "##", "#!", "edition 2026", "let", "fn", "kind",
    "evaluator", "claim", "param", "choice", "output", "require", "match", "iterate", "with", "for",
    "in", "if", "then", "else", "within", "factor", "unit", "prefix", "offset", "type", "use",
    "enum", "a", "b", "3 GB/s", "31 %", "1e3m", "1", '"{a}"', "µ", "\x00", "\ufeff", "state",
    "next", "until", "source", "ref", "and", "not", "table", "calibrated", "from",
    "reference", "assume", "confidence",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(["", " "]))
def test_any_pieces_give_a_tree_or_diagnostics(pieces: list[str], between: str) -> None:
    tree, diagnostics = run(between.join(pieces))
    assert isinstance(tree, ast.Module)
    for d in diagnostics.items:
        assert d.span is not None
        assert 0 <= d.span.start <= d.span.end <= len(tree.source.text)
        assert d.message


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_a_tree_or_diagnostics(text: str) -> None:
    tree, _ = run(text, "")
    assert isinstance(tree, ast.Module)
    parse_expression(Source("t", text), Diagnostics())
