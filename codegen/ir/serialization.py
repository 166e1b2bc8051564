"""The text form of a graph: exact, readable, and the same for equal graphs.

One item per line; numbers in hexadecimal, names as JSON strings at the end of the line. A loop's
body is indented between `{` and `}`:

    graph 2
    param real 0x1p+0 inf uniform "batch"
    table 0x1p+0 0x1p+1
    0 param real #0
    1 const int 0x1p+0
    2 loop real <256 carries 1 next 2 until - ( 1 0 0 ) {
      0 input int #0
      …
    }
    3 proj real #0 ( 2 )
    output 3 "time"
    rule 4 "chip.fits"
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from attrs import define

from hwdsl.codegen.ir.graph import BOOL, INT, REAL, Body, Graph, GraphParam, Op
from hwdsl.codegen.ir.verifier import GraphError, verify_graph
from hwdsl.codegen.operations import OPERATIONS

__all__ = ["canonical_text", "dump", "load"]

_HEAD = "graph 2"


def canonical_text(graph: Graph) -> bytes:
    """Bytes that are equal exactly for equal graphs, in every run; for cache keys."""
    return dump(graph).encode("ascii")


def dump(graph: Graph) -> str:
    """The graph as text that `load` reads back."""
    lines = [_HEAD]
    for p in graph.params:
        uniform = " uniform" if p.uniform else ""
        ends = f"{_number(p.low)} {_number(p.high)}"
        lines.append(f"param {p.type} {ends}{uniform} {json.dumps(p.name)}")
    lines += [" ".join(["table", *map(_number, row)]) for row in graph.tables]
    lines += _operations(graph.ops, "")
    lines += [f"output {i} {json.dumps(name)}" for name, i in graph.outputs]
    lines += [f"rule {i} {json.dumps(name)}" for name, i in graph.rules]
    return "\n".join([*lines, ""])


def _number(value: float) -> str:
    return value.hex()


def _operations(ops: Sequence[Op], indent: str) -> Iterator[str]:
    for i, op in enumerate(ops):
        words = [f"{indent}{i} {op.code} {op.type}"]
        if op.code == "const" or op.value != 0.0 or math.copysign(1.0, op.value) < 0:
            words.append(_number(op.value))
        if op.index or OPERATIONS[op.code].indexed:
            words.append(f"#{op.index}")
        if op.bound or op.body is not None:
            words.append(f"<{op.bound}")
        body = op.body
        if body is not None:
            until = "-" if body.until is None else str(body.until)
            words += ["carries", str(body.carries), "next", *map(str, body.next)]
            words += ["until", until]
        if op.args:
            words += ["(", *map(str, op.args), ")"]
        if body is None:
            yield " ".join(words)
            continue
        yield " ".join([*words, "{"])
        yield from _operations(body.ops, indent + "  ")
        yield indent + "}"


def load(text: str) -> Graph:
    """The graph that `dump` wrote; `GraphError` if the text is no graph, or one that breaks rules.

    Texts come from disk: what is computed from them is held to all that `verify_graph` asks.
    """
    reader = _Reader(text.splitlines())
    if reader.line() != _HEAD:
        raise reader.error(f"the first line must be `{_HEAD}`")
    params: list[GraphParam] = []
    while reader.ahead("param "):
        params.append(reader.param())
    tables: list[tuple[float, ...]] = []
    while reader.ahead("table"):
        tables.append(tuple(reader.number(w) for w in reader.line().split()[1:]))
    ops = reader.operations()
    outputs = reader.named("output")
    rules = reader.named("rule")
    if reader.at < len(reader.lines):
        raise reader.error("nothing more is expected here", ahead=True)
    graph = Graph(tuple(params), ops, outputs, rules, tuple(tables))
    verify_graph(graph)
    return graph


@define
class _Words:
    """The words of one line, taken from the left."""

    reader: _Reader
    words: list[str]

    def peek(self) -> str:
        """The next word, empty at the end."""
        return self.words[0] if self.words else ""

    def take(self, wanted: str = "") -> str:
        """The next word, which must be the wanted one if one is given."""
        if not self.words or wanted not in ("", self.words[0]):
            raise self.reader.error(f"expected {wanted or 'another word'}")
        return self.words.pop(0)

    def whole(self) -> int:
        """A whole number."""
        return self.reader.whole(self.take())

    def wholes(self, end: str) -> tuple[int, ...]:
        """Whole numbers up to and without a closing word."""
        found = []
        while self.peek() != end:
            found.append(self.whole())
        self.take(end)
        return tuple(found)


@define
class _Reader:
    """The lines, and which comes next."""

    lines: list[str]
    at: int = 0

    def error(self, message: str, *, ahead: bool = False) -> GraphError:
        """An error in the line just read, or in the next."""
        return GraphError(f"line {self.at + ahead}: {message}")

    def ahead(self, start: str) -> bool:
        """Whether the next line starts so."""
        return self.at < len(self.lines) and self.lines[self.at].lstrip().startswith(start)

    def line(self) -> str:
        """The next line, without its indent."""
        if self.at >= len(self.lines):
            raise self.error("the text ends too early", ahead=True)
        self.at += 1
        return self.lines[self.at - 1].strip()

    def number(self, word: str) -> float:
        """A number in hexadecimal, `inf` or `nan`."""
        try:
            return float.fromhex(word)
        except (ValueError, OverflowError):
            raise self.error(f"{word!r} is no number") from None

    def whole(self, word: str) -> int:
        """A whole number not below 0."""
        if not (word.isascii() and word.isdigit()):
            raise self.error(f"{word!r} is no whole number")
        return int(word)

    def name(self, text: str) -> str:
        """A name written as a JSON string."""
        try:
            name = json.loads(text)
        except json.JSONDecodeError:
            name = None
        if not isinstance(name, str) or not name.isprintable():
            raise self.error(f"{text} is no name")
        return name

    def type(self, word: str) -> str:
        """A type."""
        if word not in (REAL, INT, BOOL):
            raise self.error(f"{word!r} is no type")
        return word

    def param(self) -> GraphParam:
        """A line `param type low high [uniform] "name"`."""
        head, quote, name = self.line().partition('"')
        words = head.split()
        if len(words) not in (4, 5) or words[4:] not in ([], ["uniform"]):
            raise self.error("expected `param TYPE LOW HIGH [uniform] NAME`")
        low, high = map(self.number, words[2:4])
        return GraphParam(self.name(quote + name), self.type(words[1]), len(words) == 5, low, high)

    def named(self, what: str) -> tuple[tuple[str, int], ...]:
        """Lines `output 3 "name"`, or `rule`."""
        found = []
        while self.ahead(what + " "):
            _, index, name = [*self.line().split(" ", 2), "", ""][:3]
            found.append((self.name(name), self.whole(index)))
        return tuple(found)

    def operations(self) -> tuple[Op, ...]:
        """The operations of one list, numbered from 0."""
        ops: list[Op] = []
        while self.at < len(self.lines) and self.lines[self.at].lstrip()[:1].isdigit():
            words = _Words(self, self.line().split())
            if words.whole() != len(ops):
                raise self.error(f"expected operation {len(ops)}")
            ops.append(self.operation(words))
        return tuple(ops)

    def operation(self, words: _Words) -> Op:
        """One operation, after its number."""
        code, type = words.take(), self.type(words.take())
        value, index, bound = 0.0, 0, 0
        if words.peek()[:1] not in ("", "#", "<", "(", "c", "{"):
            value = self.number(words.take())
        if words.peek().startswith("#"):
            index = self.whole(words.take()[1:])
        if words.peek().startswith("<"):
            bound = self.whole(words.take()[1:])
        head = self.body_head(words) if words.peek() == "carries" else None
        args: tuple[int, ...] = ()
        if words.peek() == "(":
            words.take()
            args = words.wholes(")")
        body = None
        if head is not None:
            words.take("{")
            body = Body(self.operations(), *head)
            if self.line() != "}":
                raise self.error("expected }")
        if words.words:
            raise self.error(f"{words.peek()!r} is not expected here")
        return Op(code, args, type, value, index, bound, body)

    def body_head(self, words: _Words) -> tuple[int, tuple[int, ...], int | None]:
        """`carries 2 next 5 6 until 7`."""
        words.take("carries")
        carries = words.whole()
        words.take("next")
        following = words.wholes("until")
        until = None if words.peek() == "-" else self.whole(words.peek())
        words.take()
        return carries, following, until
