"""What people write out of habit from other languages, and how it is written here.

What is meant is clear for some (`**`, `&&`): `hwdsl.syntax.mended` replaces their tokens. For the
rest `slip` explains an error of the parser. Words of other languages stand in tables, for the
parser and for the checker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source, Span
from hwdsl.syntax.grammar import keywords
from hwdsl.syntax.kinds import BROKEN, END

if TYPE_CHECKING:
    from hwdsl.syntax.tokens import Token

OPERATORS: Mapping[str, tuple[str, str]] = {
    "**": ("^", "POW"),
    "||": ("or", "OR"),
    "&&": ("and", "AND"),
    "&": ("and", "AND"),
    "!": ("not", "NOT"),
    "<>": ("!=", "CMP"),
    "===": ("==", "CMP"),
    "!==": ("!=", "CMP"),
}
"""Operators of other languages, with the one meant and the kind of its token."""

_FUNCTION = (
    "a function is written `fn name(x: time) -> time = …`, a question `evaluator name { … }`"
)
_KIND = "a schema is written `kind name { … }`, a component `memory name { … }` with its kind first"
_LET = "a value is named by `let name = …`"
_USE = "import with `use std.memory: memory`"
_LOOP = "write a list `[… for x in xs]`, a sum `sum(… for x in xs)`, or `iterate k in 1 .. n { … }`"
_IF = "write `if c then a else b`, which is a value"
_RULE = 'write `require name: condition else "message"`'
_RESULT = "leave `return` out: the last line of a function is its value"
_SWITCH = "write `match x { a => 1, b | c => 2, else => 3 }`, which is a value"

_STARTS: Mapping[str, str] = {
    **dict.fromkeys(("def", "function", "func", "fun", "defun", "proc"), _FUNCTION),
    **dict.fromkeys(("class", "struct", "interface", "dataclass", "typedef"), _KIND),
    **dict.fromkeys(("import", "from", "include", "using"), _USE),
    **dict.fromkeys(("const", "var", "val", "auto", "static", "mut", "constexpr"), _LET),
    **dict.fromkeys(("for", "while", "foreach", "loop"), _LOOP),
    **dict.fromkeys(("elif", "unless"), _IF),
    "assert": _RULE,
    "print": "write `output name = value`: `hwdsl run` prints it",
    "return": _RESULT,
    **dict.fromkeys(("switch", "case"), _SWITCH),
}
"""Words that start a statement elsewhere, with what to write instead."""

_NAMES: Mapping[str, str] = {
    "True": "write `true`",
    "False": "write `false`",
    "yes": "write `true`",
    "no": "write `false`",
    **dict.fromkeys(
        ("None", "null", "nil", "nan", "NaN"),
        'a field that nobody knows is given as `unknown "the reason"`',
    ),
    "infinity": "write `inf`",
    "this": "write `self`",
}
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("float", "double", "float64", "number", "decimal"), "write `real`"),
    **dict.fromkeys(("integer", "int64", "int32", "uint", "long"), "write `int`"),
    **dict.fromkeys(("str", "string"), "write `text`"),
    "boolean": "write `bool`",
    "list": "a list of numbers is written `[real]`",
}
_OWN_TYPES = ("real", "int", "bool", "text")
_FUNCTIONS: Mapping[str, str] = {
    "pow": "write `a ^ b`",
    "mod": "write `a - b * floor(a / b)`",
    "ln": "write `log(x)`",
    "avg": "write `mean(xs)`",
    "average": "write `mean(xs)`",
    "length": "write `len(xs)`",
    "zip": "it stands only behind `for … in`: `sum(x * y for x, y in zip(xs, ys))`",
    "enumerate": "write `for i, x in zip(0 .. len(xs) - 1, xs)`",
    "range": "write `0 .. n - 1`, which includes both ends",
    "ceiling": "write `ceil(x)`",
    "int": "write `floor(x)`, `ceil(x)`, `round(x)` or `whole(x)`",
    "float": "leave it out: an int may stand wherever a real is wanted",
    "print": "write `output name = value`: `hwdsl run` prints it",
    "argmin": "write `lowest(f(x) for x in xs)`",
    "argmax": "write `highest(f(x) for x in xs)`",
}
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "unknown-name": _NAMES,
    "unknown-type": _TYPES,
    "unknown-function": _FUNCTIONS,
    "unknown-kind": _STARTS,
}

_SIGNS = {
    "/*": ("begins no comment", "begin each line of it with `#`"),
    ":=": ("defines nothing here", "write `=`, as in `let x = 1`"),
    **dict.fromkeys(
        ("+=", "-=", "*=", "/="),
        ("is not an operator here", "a name has one value: name the new one, `let next = …`"),
    ),
}
"""Pairs of signs on which the parser stops, with what is wrong and what to write."""
_REMAINDER = "`%` is a unit; the remainder of a division is `a - b * floor(a / b)`"

OPEN = ("LPAR", "LSQB", "LBRACE")
CLOSE = ("RPAR", "RSQB", "RBRACE")

_PROSE = re.compile(r"//+!?[ \t]*[A-Za-z][\w'/-]*[,:]?[ \t]+([A-Za-z][A-Za-z']*)")
VALUES = frozenset(["QUANTITY", "NUMBER", "STRING", "TRUE", "FALSE"])
_LISTED = ("QUANTITY", "NUMBER")
THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(?![0-9])(\.[0-9]+)?")


@frozen
class Slip:
    """An error explained: its message, place and remedy, and the name of the diagnostic."""

    message: str
    start: int
    end: int
    help: str
    name: str = "syntax-error"

    @classmethod
    def at(cls, token: Token, message: str, help: str) -> Slip:
        """The error at a token."""
        return cls(message, token.start_pos, token.end_pos, help)


def elsewhere(finding: str, word: str) -> str | None:
    """What to write for a word of other languages that nothing here is called."""
    return _ELSEWHERE.get(finding, {}).get(word)


def foreign_start(word: str) -> bool:
    """Whether a word begins a statement in other languages, or is a type."""
    return word in (*_STARTS, *_TYPES, *_OWN_TYPES)


def operator(text: str) -> str:
    """The operator of this language that an operator token stands for."""
    return OPERATORS[text][0] if text in OPERATORS else text


def is_comment(text: str, at: int, own_line: bool) -> bool:
    """Whether the `//` at an index begins a comment: on a line of its own, or before prose."""
    if own_line:
        return True
    found = _PROSE.match(text, at)
    return found is not None and found.group(1) not in keywords()


def report_operator(source: Source, start: int, end: int, diagnostics: Diagnostics) -> None:
    """Report an operator of other languages."""
    text = source.text[start:end]
    diagnostics.error(
        "foreign-syntax",
        f"`{text}` is not an operator here",
        Span(source, start, end),
        help=f"write `{operator(text)}`",
    )


def grouped(text: str, before: Token, token: Token) -> int | None:
    """Where a number starts that goes on behind a comma in a token; None if it does not."""
    numbers = ("NUMBER", "QUANTITY", "BADNUM")
    if (
        before.type not in numbers
        or token.type not in numbers
        or before.end_pos != token.start_pos - 1
    ):
        return None
    found = THOUSANDS.match(text, before.start_pos)
    return before.start_pos if found is not None and found.end() > token.start_pos else None


def slip(source: Source, tokens: list[Token], at: int, kinds: set[str]) -> Slip | None:
    """Explain the error at a token, where one of `kinds` was expected, by a habit; None if none."""
    text, token = source.text, tokens[at]
    line = statement(tokens, at)
    return (
        _sign(text, tokens, at, kinds)
        or _number(text, tokens, at)
        or start_word(tokens, line)
        or _conditional(text, tokens, at, kinds)
        or _documentation(token, kinds, at == line)
        or _match(tokens, at)
        or _typeless(tokens, at, kinds)
        or _several(text, tokens, at)
        or _side_by_side(token, kinds)
        or _is_not(tokens, at)
        or _is_range_or_quantity(tokens, at)
        or _equal_to_cases(tokens, at, line)
        or _spaced_range(tokens, at)
        or _reference(tokens, at, kinds, line)
    )


def start_word(tokens: list[Token], at: int) -> Slip | None:
    """Explain the statement that starts at a token by its first word, if that is foreign."""
    word = tokens[at]
    after = tokens[at + 1].type if word.type != END else END
    if word in (*_TYPES, *_OWN_TYPES) and after == "NAME" and tokens[at + 2].type == "EQUAL":
        remedy = f"write `let {tokens[at + 1]} : {word} = …`"
        return Slip.at(word, "the type stands behind the name", remedy)
    if word not in _STARTS or after in ("EQUAL", "COLON", "DOT", "LBRACE", "_NL", END):
        return None
    # `from "data"` is no import but a source, as `clause_help` says.
    if word == "from" and after != "NAME":
        return None
    return Slip.at(word, f"`{word}` begins no statement here", _STARTS[word])


def without_let(tokens: list[Token], at: int) -> str | None:
    """What to do where `name = …` stands, or `name :`, and the error is there: `let` is missing."""
    first = statement(tokens, at)
    word, sign = tokens[first], tokens[first + 1 : first + 2]
    if at - first > 1 or not sign or sign[0].type not in ("EQUAL", "COLON"):
        return None
    if not word.isidentifier() or word in ("let", "else"):
        return None
    gives = sign[0].type == "EQUAL" or tokens[first + 2].type in VALUES
    return f"write `let {word}{' =' if gives else ' :'} …`"


def statement(tokens: list[Token], at: int) -> int:
    """The index of the first token of the statement, or element of a list, that a token is in."""
    depth, comma = 0, None
    while at > 0:
        kind = tokens[at - 1].type
        if depth == 0 and kind in ("_NL", "LBRACE", BROKEN):
            break
        if kind in CLOSE:
            depth += 1
        elif kind in OPEN and depth == 0:
            comma = None  # those behind it stand in its bracket
        elif kind in OPEN:
            depth -= 1
        elif kind == "COMMA" and depth == 0 and comma is None:
            comma = at
        at -= 1
    return at if comma is None else comma


def _sign(text: str, tokens: list[Token], at: int, kinds: set[str]) -> Slip | None:
    """Explain an error by the signs around it."""
    token, before = tokens[at], tokens[max(at - 1, 0)]
    for start in (token.start_pos - 1, token.start_pos):
        sign = text[max(start, 0) : start + 2]
        if sign in _SIGNS:
            return Slip(f"`{sign}` {_SIGNS[sign][0]}", start, start + 2, _SIGNS[sign][1])
    if token == "==" and "EQUAL" in kinds:
        return Slip.at(token, "`==` defines nothing here", "write `=`; `==` compares")
    if token != "%" and text[: before.end_pos].endswith("%") and kinds >= {"MUL", "ADD"}:
        at_sign = before.end_pos - 1
        return Slip("`%` is not an operator here", at_sign, at_sign + 1, _REMAINDER)
    return None


def _match(tokens: list[Token], at: int) -> Slip | None:
    """Explain `switch x { … }` where a value is read."""
    word = tokens[max(at - 1, 0)]
    if _STARTS.get(word) != _SWITCH or tokens[at].type not in ("NAME", "LPAR", "LBRACE"):
        return None
    return Slip.at(word, f"`{word}` chooses nothing here", _SWITCH)


def _typeless(tokens: list[Token], at: int, kinds: set[str]) -> Slip | None:
    """Explain a value where a type is read."""
    token = tokens[at]
    if token.type not in VALUES or not kinds >= {"REF", "LSQB"} or tokens[at - 1].type != "COLON":
        return None
    remedy = f"the type stands there, and the value behind it: `: type = {token}`"
    return Slip.at(token, f"`{token}` is no type", remedy)


def _several(text: str, tokens: list[Token], at: int) -> Slip | None:
    """Explain values with commas between them and no brackets: `batch = 1, 16, 48`."""
    if tokens[at].type not in _LISTED or tokens[at - 1].type != "COMMA":
        return None
    first, last = at - 2, at
    while first > 1 and tokens[first - 1].type == "COMMA" and tokens[first - 2].type in _LISTED:
        first -= 2
    while tokens[last + 1].type == "COMMA" and tokens[last + 2].type in _LISTED:
        last += 2
    if tokens[first].type not in _LISTED or tokens[first - 1].type not in ("EQUAL", "IN"):
        return None
    start, end = tokens[first].start_pos, tokens[last].end_pos
    sign, listed = tokens[first - 1], text[start:end]
    remedy = f"write `{sign} [{listed}]`"
    if sign == "in":
        remedy += f", or for a range `in {tokens[first]} .. {tokens[last]}`"
    return Slip("several values stand in brackets", start, end, remedy)


def _number(text: str, tokens: list[Token], at: int) -> Slip | None:
    """Explain a number whose digits are grouped with commas."""
    if at < 2 or tokens[at - 1].type != "COMMA" or tokens[at - 1].end_pos != tokens[at].start_pos:
        return None
    start = grouped(text, tokens[at - 2], tokens[at])
    if start is None:
        return None
    shown = text[start : tokens[at].end_pos]
    return Slip(
        f"`{shown}` is not a number", start, tokens[at].end_pos, grouped_help(shown), "bad-number"
    )


def grouped_help(text: str) -> str:
    """What to write for a number with commas in it."""
    return f"digits are grouped with underscores: `{text.replace(',', '_')}`"


def _conditional(text: str, tokens: list[Token], at: int, kinds: set[str]) -> Slip | None:
    """Explain `a if c else b`, and `if c { a } else { b }`."""
    token = tokens[at]
    if token.type in ("LBRACE", "COLON") and "THEN" in kinds:
        return Slip.at(token, f"`{token}` does not end a condition", _IF)
    other = _beyond(tokens, at, "ELSE") if token.type == "IF" else None
    if other is None:
        return None
    first, last = at, other + 1
    while first > 0 and not _outside(tokens, first - 1, at):
        first -= 1
    while last < len(tokens) and not _outside(tokens, last, other):
        last += 1
    parts = [(first, at), (at + 1, other), (other + 1, last)]
    value, condition, rest = (
        " ".join(text[tokens[a].start_pos : tokens[b - 1].end_pos].split()) if a < b else "…"
        for a, b in parts
    )
    shown = f"if {condition} then {value} else {rest}"
    shown = shown if len(shown) <= 70 else "if c then a else b"
    return Slip.at(token, "the condition stands before the values", f"write `{shown}`")


_ENDS = (*OPEN, *CLOSE, "_NL", END, "COMMA", "EQUAL", "COLON", "ARROW", "DARROW", "FOR", "LET")


def _beyond(tokens: list[Token], at: int, kind: str) -> int | None:
    """The index of the next token of a kind in the same statement and bracket."""
    depth = 0
    for i in range(at + 1, len(tokens)):
        found = tokens[i].type
        depth += (found in OPEN) - (found in CLOSE)
        if depth < 0 or found in ("_NL", "THEN", END):
            return None
        if depth == 0 and found == kind:
            return i
    return None


def _outside(tokens: list[Token], at: int, inside: int) -> bool:
    """Whether a token does not belong to the expression of another: brackets are passed over."""
    step = 1 if at > inside else -1
    enter, leave = (OPEN, CLOSE) if step > 0 else (CLOSE, OPEN)
    depth = 0
    for i in range(inside + step, at + step, step):
        kind = tokens[i].type
        if depth == 0 and kind in _ENDS and kind not in enter:
            return True
        depth += (kind in enter) - (kind in leave)
    return False


def beside(tokens: list[Token], at: int, kinds: set[str]) -> str | None:
    """What to do where a name stands behind a value."""
    if tokens[at].type != "NAME" or not kinds >= {"MUL", "ADD"} or at < 1:
        return None
    if tokens[at - 1].type not in ("NAME", "RPAR", "RSQB"):
        return None
    return "a product needs `*`; a unit stands behind a number alone, as in `3 GB`"


def _side_by_side(token: Token, kinds: set[str]) -> Slip | None:
    """Explain `for i, x in enumerate(xs)` and `for k, v in pairs`."""
    if kinds != {"ZIP"}:
        return None
    remedy = elsewhere("unknown-function", token) if token == "enumerate" else None
    message = "several variables go through several lists side by side"
    return Slip.at(token, message, remedy or "write `for x, y in zip(xs, ys)`")


def _is_not(tokens: list[Token], at: int) -> Slip | None:
    """Explain `x is not a`."""
    if tokens[at].type != "NOT" or at < 1 or tokens[at - 1].type != "IS":
        return None
    return Slip.at(tokens[at], "`not` stands before what it denies", "write `not x is a`")


def _is_range_or_quantity(tokens: list[Token], at: int) -> Slip | None:
    """Explain `n is 1 .. 3` and `power is 700 W`."""
    token = tokens[at]
    if token.type not in ("RANGE", "QUANTITY"):
        return None
    before = at - 1 if token.type == "QUANTITY" else at - 2
    sign = tokens[before] if tokens[before].type == "ADD" else ""
    asks = before - 1 if sign else before
    if asks < 1 or tokens[asks].type != "IS":
        return None
    first = asks
    while tokens[first - 1].type in ("NAME", "DOT"):
        first -= 1
    asked = "".join(tokens[first:asks]) or "x"
    message = "`is` asks for cases of an enum, or whole numbers"
    if token.type == "QUANTITY":
        return Slip.at(token, message, f"write `{asked} == {sign}{token}`")
    low, high = (" <" if excluded else " <=" for excluded in (token[0] == "<", token[-1] == "<"))
    least = f"{sign}{tokens[at - 1]}"
    most = tokens[at + 1] if tokens[at + 1].type in (*VALUES, "NAME") else "…"
    return Slip.at(token, message, f"write `{least}{low} {asked}{high} {most}`")


def _equal_to_cases(tokens: list[Token], at: int, line: int) -> Slip | None:
    """Explain `x == a | b`."""
    if tokens[at] != "|" or tokens[at - 2] != "==" or at - 2 <= line:
        return None
    several = f"{tokens[at - 1]} | {tokens[at + 1]}"
    return Slip.at(tokens[at], "`==` compares with one value", f"write `is {several}`")


def _spaced_range(tokens: list[Token], at: int) -> Slip | None:
    """Explain `0 < .. 1` and `0 .. < 1`."""
    if {tokens[at].type, tokens[at - 1].type} != {"RANGE", "CMP"}:
        return None
    parts = [tokens[at - 1], tokens[at]]
    if tokens[at + 1] == "<" and parts[1].type == "RANGE":
        parts.append(tokens[at + 1])
    joined = "".join(parts)
    if joined not in ("<..", "..<", "<..<"):
        return None
    message = "the operator of a range has no space in it"
    return Slip(message, parts[0].start_pos, parts[-1].end_pos, f"write `{joined}`")


def _reference(tokens: list[Token], at: int, kinds: set[str], line: int) -> Slip | None:
    """Explain a reference without a year, or whose kind has a hyphen."""
    token, kind = tokens[at], tokens[at - 1]
    if tokens[line] != "reference" or kinds != {"NUMBER"}:
        return None
    if token == "-" and tokens[at + 1].type == "NAME":
        words = f"{kind}{token}{tokens[at + 1]}"
        return Slip.at(token, f"`{words}` is no name", f"write `{kind}_{tokens[at + 1]}`")
    message = "expected a year of four digits behind the kind"
    return Slip.at(token, message, f'write the year of publication: `{kind} 2024 "…"`')


def _documentation(token: Token, kinds: set[str], first: bool) -> Slip | None:
    """Explain a text that stands alone, as documentation does elsewhere."""
    if token.type != "STRING" or not first or "STRING" in kinds:
        return None
    remedy = 'document what follows with `##`; an origin is written `source "…"`'
    return Slip.at(token, "a text alone says nothing", remedy)
