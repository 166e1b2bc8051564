"""Reductions to tree nodes: a table of the grammar's rules, which Lark calls.

A rule's children are all its symbols, in order: those of an optional part that is left out are
None, and those of a list stand in its place. The table says which of them count, and what is made
of them: `node(ast.Let, 1, 3, 5)` puts the second, fourth and sixth in the fields of a `Let`, after
its span. A slice puts several in one field, and None leaves a field out.
"""

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol

from attrs import frozen
from lark.exceptions import UnexpectedToken

from hwdsl.base.source import Span
from hwdsl.syntax import ast
from hwdsl.syntax.build import Builder
from hwdsl.syntax.kinds import MAX_HEIGHT
from hwdsl.syntax.tokens import Built, Token, new_token

Children = list[Any]


class TooDeep(UnexpectedToken):
    """A tree is higher than `MAX_HEIGHT`: an error like those that Lark finds."""

    def __init__(self, start: int, end: int) -> None:
        # Lark calls `Reading.on_error` for its own kind of error only; nothing was expected here.
        super().__init__(new_token("TOO_DEEP", "", start, start), set())  # type: ignore[no-untyped-call]
        self.start = start
        self.end = end


@frozen
class Reduction:
    """How a rule is reduced: what makes something of its children.

    `grows` tells whether the tree gets higher, which it does not by brackets around an expression.
    """

    make: Callable[[Builder, Span, Children], Any]
    grows: bool = True


def node(kind: type[ast.Node], *places: int | slice | None) -> Reduction:
    """Put the children at some places in the fields of a node; it takes the doc comment, if any."""
    documented = "doc" in kind.__struct_fields__
    fields = zip(places, kind.__annotations__.values(), strict=False)  # the rest have defaults
    plan = [(place, *_conversions(annotation)) for place, annotation in fields]

    def make(builder: Builder, span: Span, children: Children) -> ast.Node:
        given = []
        for place, absent, of_token, of_several in plan:
            value = None if place is None else children[place]
            if value is None:
                value = absent
            elif type(value) is Token:
                value = of_token(builder, value)
            elif type(value) is list:
                value = of_several(builder, value)
            given.append(value)
        if documented:
            return kind(span, *given, doc=builder.doc(span))  # type: ignore[call-arg]
        return kind(span, *given)

    return Reduction(make)


def _conversions(annotation: str) -> tuple[Any, Any, Any]:
    """What a field of a type holds if its child is left out, of a token, and of several children.

    The annotations of the nodes say it: a tuple of nodes takes those that were reduced, a tuple of
    texts the tokens; a tuple that is never None is empty, and a bool tells whether a word is there.
    """
    # An optional tuple (`tuple[…] | None`) stays None where it is not written: a base, names.
    several = annotation.startswith("tuple[") and not annotation.endswith("None")
    absent = _ABSENT.get(annotation, () if several else None)
    of_token = _OF_TOKEN.get(annotation, Builder.plain)
    return absent, of_token, _texts if annotation == "tuple[str, ...]" else _nodes


_ABSENT: Mapping[str, Any] = {"bool": False, "str": ""}
_OF_TOKEN: Mapping[str, Callable[[Builder, Token], Any]] = {
    "bool": lambda builder, token: True,
    "Ident": Builder.ident,
    "Span": Builder.at,
    "Template | None": Builder.template,
}


def _texts(builder: Builder, children: Children) -> tuple[str, ...]:
    return tuple([builder.plain(child) for child in children if type(child) is Token])


def _nodes(builder: Builder, children: Children) -> tuple[Any, ...]:
    return tuple([child for child in children if child is not None and type(child) is not Token])


def built(method: Callable[..., Any], *places: int, grows: bool = True) -> Reduction:
    """Give the children at some places to a method of the builder; without places the reduced."""

    def make(builder: Builder, span: Span, children: Children) -> Any:
        given = [children[place] for place in places] if places else _nodes(builder, children)
        return method(builder, span, *given)

    return Reduction(make, grows)


ALL = slice(None)
RULES: Mapping[str, Reduction] = {
    "start": built(Builder.several),
    "edition": built(Builder.edition, 1),
    "interp": node(ast.Hole, 0, 2),
    "lone": built(Builder.one),
    "lone_unit": built(Builder.one, 0),
    # Items.
    "use": node(ast.Use, 1, None, 3, 5),
    "use_table": node(ast.Use, None, 1, 3, 5),
    "names": built(Builder.several),
    "dimension": node(ast.Dimension, 1),
    "unit": node(ast.UnitDecl, 1, 3, None, 5, 7),
    "base_unit": node(ast.UnitDecl, 1, None, 3, None, 5),
    "type_alias": node(ast.TypeAlias, 1, 3),
    "enum": node(ast.Enum, 1, slice(2, -1), -1),
    "kind": node(ast.Kind, 1, 3, 4),
    "fn": built(Builder.fn, 1, 2, 4, 7, -2, -1),
    "extern_fn": node(ast.ExternFn, 2, 3, 5, 8),
    "dimvars": built(Builder.several),
    "fparams": built(Builder.several),
    "fparam": node(ast.Parameter, 1, 3, 5, 0),
    "evaluator": node(ast.Evaluator, 1, 2),
    "claim": node(ast.Claim, 1, 2),
    "calibrated": node(ast.Calibrated, 1, 3, 5, 7, 8),
    "display": node(ast.Display, 0, 1, 2),
    "part": node(ast.Part, 0, 1, 2, 4, 5, 6),
    "count": built(Builder.one, 1, grows=False),
    "path": built(Builder.several),
    # Blocks and their members.
    **{f"{kind}block": built(Builder.several) for kind in ("r", "f", "e", "c", "d", "i")},
    "field": node(ast.Field, 0, 2, 4, 6, 7),
    "assign": node(ast.Assign, 0, 2, 3),
    "setting": node(ast.Assign, 0, 2),
    "unknown": node(ast.Unknown, 1),
    "amend": node(ast.Amend, 0, 1),
    "let": node(ast.Let, 1, 3, 5, 6),
    "rule": node(ast.Rule, 1, None, 3, 5, 7, 8),
    "warning": node(ast.Rule, 1, 0, 3, 5, 7, 8),
    "reference": node(ast.Reference, 1, 3, 4, 5),
    "source": node(ast.Sources, ALL),
    "citation": node(ast.Citation, 0, 1, 3),
    "quoted_citation": node(ast.Citation, None, 0, 2),
    "allow": node(ast.Allow, 1, 2),
    "param": node(ast.Param, 1, 3, 5, 7, 9, 10),
    "drawn": built(Builder.drawn, 0),
    "choice": node(ast.Choice, 1, 3, 5, 7, 8),
    "output": node(ast.Output, 1, None, 3, 5, 6),
    "output_in": node(ast.Output, 1, 3, None, 5, 6),
    "expect": node(ast.Expect, 2, 4, 5, 0, 9, 7),
    "expect_factor": node(ast.Expect, 2, 5, 4, 0, 9, 7),
    "assume": node(ast.Assume, 1),
    "state": node(ast.State, 1, 3, 5),
    "next": node(ast.Next, 1, 2, 4),
    "until": node(ast.Until, 1),
    # Expressions.
    "cond": node(ast.Cond, 1, 3, 5),
    "match": node(ast.Match, 1, slice(2, None)),
    "arm": node(ast.Arm, slice(-2), -1),
    "else_pattern": node(ast.Pattern),
    "case": node(ast.Pattern, 0),
    "number_case": built(Builder.number_pattern, 0, 1),
    "iterate": node(ast.Iterate, 1, 3, 4),
    "binary": node(ast.Binary, 1, 0, 2, 1),
    "floor_division": built(Builder.floor_division, 0, 1, 2),
    "unary": node(ast.Unary, 0, 1),
    "cmp": node(ast.Compare, ALL, ALL),
    "is_case": node(ast.Is, 0, slice(2, None)),
    "attr": node(ast.Attr, 0, 2),
    "call": node(ast.Call, 0, slice(2, None)),
    "index": node(ast.Index, 0, 2),
    "with_": node(ast.With, 0, 2),
    "quantity": built(Builder.quantity, 0),
    "number": node(ast.Number, 0),
    "bad_number": built(Builder.bad_number, 0),
    "text": node(ast.Text, 0),
    "ref": built(Builder.ref, 0),
    "true": node(ast.Bool, 0),
    "false": node(ast.Bool, None),
    "group": built(Builder.one, 1, grows=False),
    "list": node(ast.ListLit, ALL),
    "list_comprehension": node(ast.Comprehension, 1, slice(2, -3), -2, 0),
    "arg": node(ast.Argument, None, 0),
    "named_arg": node(ast.Argument, 0, 2),
    "reduced": node(ast.Comprehension, 0, slice(1, -2), -1, None),
    "gen": node(ast.Generator, slice(1, 2), slice(3, 4)),
    "zip": node(ast.Generator, 1, slice(5, -1)),
    "zipped": built(Builder.several),
    # Types and units.
    "type_binary": node(ast.TypeBinary, 1, 0, 2),
    "type_power": built(Builder.type_power, 0, 2, 3),
    "type_root": built(Builder.type_power, 0, 3, 4, 5, 6),
    "type_name": node(ast.TypeName, 0),
    "type_one": built(Builder.type_one, 0),
    "type_list": node(ast.TypeList, 1),
    "type_ref": node(ast.TypeRef, 1),
    "unit_expr": Reduction(Builder.unit_expr),
    "ufactor": built(Builder.ufactor, 0, 2, 3),
    "unit_one": built(Builder.unit_one, 0),
    "name": node(ast.Ident, 0),
}


class Reader(Protocol):
    """What is read: it finishes the tokens, and has what builds the tree."""

    builder: Builder

    def feed(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the tokens from where the parser is to go on."""


NOW: ContextVar[Reader] = ContextVar("NOW")
"""What is read now: Lark is told once what to call, and a text may be read within another."""


def reductions() -> SimpleNamespace:
    """Return Lark's transformer: for each rule what it calls, which finds the builder by `NOW`."""
    return SimpleNamespace(**{name: partial(_reduce, how) for name, how in RULES.items()})


def _reduce(how: Reduction, children: Children) -> Built:
    """Make what a rule stands for of its children. Raises TooDeep."""
    builder = NOW.get().builder
    start = end = -1
    height = 0
    for child in children:
        if child is not None:
            end = child.end_pos
            if start < 0:
                start = child.start_pos
            # `type(…) is` and no isinstance, here and below: this runs for every node.
            if type(child) is Built and child.height > height:
                height = child.height
    if how.grows:
        height += 1
        if height > MAX_HEIGHT:
            raise TooDeep(start, end)
    values = [child.value if type(child) is Built else child for child in children]
    value = how.make(builder, Span(builder.origin, start, end), values)
    # A message is parsed within the reduction of its rule: its holes are nobody's children.
    if builder.inner_height:
        height = max(height, builder.inner_height + 1)
        builder.inner_height = 0
    return Built(value, start, end, height)
