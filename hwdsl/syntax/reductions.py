"""Reductions to tree nodes: a table of the grammar's rules, which Lark calls.

A rule's children are all its symbols, in order: those of an optional part that is left out are
None, and those of a list stand in its place. The table says which of them count, and what is made
of them: `node(ast.Let, 1, 3, 5)` puts the second, fourth and sixth in the fields of a `Let`, after
its span.
"""

from collections.abc import Callable, Mapping
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
Pick = Callable[[Children], Children]
Make = Callable[..., Any]  # of a builder, a span and what was picked


class TooDeep(UnexpectedToken):
    """A tree is higher than `MAX_HEIGHT`: an error like those that Lark finds."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(new_token("TOO_DEEP", "", start, start), set())  # type: ignore[no-untyped-call]
        self.start = start
        self.end = end


@frozen
class Reduction:
    """How a rule is reduced: which children count, and what is made of them.

    `grows` tells whether the tree gets higher, which it does not by brackets around an expression.
    """

    pick: Pick
    make: Make
    grows: bool = True


def _places(*places: int) -> Pick:
    """Pick the children at some places."""
    return lambda children: [children[place] for place in places]


def _reduced(children: Children) -> Children:
    """Pick the children that were reduced before, and no token."""
    return [child for child in children if isinstance(child, Built)]


def _all(children: Children) -> Children:
    """Pick all children."""
    return children


def node(kind: type[ast.Node], *places: int) -> Reduction:
    """Put the children at some places in the fields of a node; it takes the doc comment, if any."""
    documented = "doc" in kind.__struct_fields__

    def make(builder: Builder, span: Span, *values: Any) -> ast.Node:
        given = [builder.plain(v) if isinstance(v, Token) else v for v in values]
        if documented:
            return kind(span, *given, doc=builder.doc(span))  # type: ignore[call-arg]
        return kind(span, *given)

    return Reduction(_places(*places), make)


def built(make: Make, *places: int) -> Reduction:
    """Give the children at some places to a method of the builder."""
    return Reduction(_places(*places), make)


RULES: Mapping[str, Reduction] = {
    "start": Reduction(_reduced, Builder.items),
    "edition": built(Builder.edition, 1),
    "interp": node(ast.Hole, 0, 2),
    "lone": Reduction(_reduced, Builder.one),
    "lone_unit": built(Builder.one, 0),
    # Items.
    "use": built(Builder.use, 1, 3, 5),
    "names": Reduction(_reduced, Builder.several),
    "dimension": node(ast.Dimension, 1),
    "unit": built(Builder.unit, 1, 3, 5, 7),
    "base_unit": built(Builder.base_unit, 1, 3, 5),
    "type_alias": node(ast.TypeAlias, 1, 3),
    "enum": Reduction(_reduced, Builder.enum),
    "kind": node(ast.Kind, 1, 3, 4),
    "fn": built(Builder.fn, 1, 2, 4, 7, -1),
    "extern_fn": built(Builder.extern_fn, 2, 3, 5, 8),
    "dimvars": Reduction(_reduced, Builder.several),
    "fparams": Reduction(_reduced, Builder.several),
    "fparam": built(Builder.fparam, 0, 1, 3, 5),
    "evaluator": node(ast.Evaluator, 1, 2),
    "claim": node(ast.Claim, 1, 2),
    "calibrated": node(ast.Calibrated, 1, 3, 5, 7, 9),
    "display": node(ast.Display, 0, 1, 2),
    "part": built(Builder.part, 0, 1, 2, 4, 5),
    "count": Reduction(_places(1), Builder.one, grows=False),
    "path": Reduction(_reduced, Builder.several),
    # Blocks and their members.
    **{
        f"{kind}block": Reduction(_reduced, Builder.several)
        for kind in ("r", "f", "e", "c", "d", "i")
    },
    "field": node(ast.Field, 0, 2, 4),
    "assign": node(ast.Assign, 0, 2),
    "unknown": node(ast.Unknown, 1),
    "amend": node(ast.Amend, 0, 1),
    "let": node(ast.Let, 1, 3, 5),
    "rule": built(Builder.rule, 0, 1, 3, 5, 7),
    "source": node(ast.SourceNote, 1),
    "cited": node(ast.SourceNote, 1, 3),
    "allow": node(ast.Allow, 1, 2),
    "param": built(Builder.param, 1, 3, 5, 7, 9),
    "choice": node(ast.Choice, 1, 3, 5, 7),
    "output": built(Builder.output, 1, 3, 5),
    "expect": built(Builder.expect, 0, 2, 3, 5),
    "tolerance": built(Builder.tolerance, 1, 2),
    "factor": built(Builder.factor, 2),
    "assume": node(ast.Assume, 1),
    "state": node(ast.State, 1, 3, 5),
    "next": node(ast.Next, 1, 2, 4),
    "until": node(ast.Until, 1),
    # Expressions.
    "cond": node(ast.Cond, 1, 3, 5),
    "match": Reduction(_reduced, Builder.match),
    "arm": Reduction(_reduced, Builder.arm),
    "pat": built(Builder.pat, 0),
    "number_pattern": built(Builder.number_pattern, 0, 1),
    "iterate": node(ast.Iterate, 1, 3, 4),
    "binary": built(Builder.binary, 0, 1, 2),
    "floor_division": built(Builder.floor_division, 0, 1, 2),
    "unary": built(Builder.unary, 0, 1),
    "cmp": Reduction(_all, Builder.cmp),
    "attr": node(ast.Attr, 0, 2),
    "call": Reduction(_reduced, Builder.call),
    "index": node(ast.Index, 0, 2),
    "with_": node(ast.With, 0, 2),
    "quantity": built(Builder.quantity, 0),
    "number": node(ast.Number, 0),
    "bad_number": built(Builder.bad_number, 0),
    "text": node(ast.Text, 0),
    "ref": built(Builder.ref, 0),
    "true": built(Builder.true),
    "false": built(Builder.false),
    "group": Reduction(_places(1), Builder.one, grows=False),
    "list": Reduction(_reduced, Builder.list),
    "list_comprehension": built(Builder.list_comprehension, 1, 2),
    "arg": built(Builder.arg, 0),
    "named_arg": node(ast.Argument, 0, 2),
    "reduced_arg": built(Builder.reduced_arg, 0, 1),
    "gens": Reduction(_all, Builder.gens),
    "gen": node(ast.Generator, 1, 3),
    # Types and units.
    "type_binary": built(Builder.type_binary, 0, 1, 2),
    "type_power": built(Builder.type_power, 0, 2),
    "texp": built(Builder.texp, 0, 1),
    "texp_ratio": built(Builder.texp_ratio, 1, 2, 3, 4),
    "type_name": node(ast.TypeName, 0),
    "type_one": built(Builder.type_one, 0),
    "type_list": node(ast.TypeList, 1),
    "type_ref": node(ast.TypeRef, 1),
    "unit_expr": Reduction(_all, Builder.unit_expr),
    "ufactor": built(Builder.ufactor, 0, 2, 3),
    "unit_one": built(Builder.unit_one, 0),
    "name": built(Builder.name, 0),
}


class HasBuilder(Protocol):
    """What is read, as far as the reductions need it."""

    builder: Builder


def reductions(now: "ContextVar[Any]") -> SimpleNamespace:
    """Return Lark's transformer: for each rule what it calls, which finds the builder by `now`."""
    return SimpleNamespace(**{name: partial(_reduce, now, how) for name, how in RULES.items()})


def _reduce(now: "ContextVar[HasBuilder]", how: Reduction, children: Children) -> Built:
    """Make what a rule stands for of its children. Raises TooDeep."""
    builder = now.get().builder
    start = end = -1
    height = 0
    for child in children:
        if child is not None:
            end = child.end_pos
            if start < 0:
                start = child.start_pos
            if type(child) is Built and child.height > height:
                height = child.height
    if how.grows:
        height += 1
        if height > MAX_HEIGHT:
            raise TooDeep(start, end)
    values = [child.value if type(child) is Built else child for child in how.pick(children)]
    value = how.make(builder, Span(builder.origin, start, end), *values)
    if builder.inner_height:
        height = max(height, builder.inner_height + 1)
        builder.inner_height = 0
    return Built(value, start, end, height)
