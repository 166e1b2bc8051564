"""What of the language some programs use: productions of the grammar, and functions of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from lark.grammar import Rule

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.semantics.builtins import declarations
from hwdsl.syntax import ast, parse, parse_expression, parse_unit
from hwdsl.syntax.language import language

from .shrink import nodes

ERRORS = {
    "atom -> BADNUM": "a number that is written wrong: the error `bad-number`",
    "term -> term FLOORDIV unary": "`//`: the error `floor-division`",
    "use -> USE STRING": "a table needs a name: the error `missing-argument`",
    "use -> USE STRING COLON names": "a table needs a name: the error `missing-argument`",
    "fn -> FN name dimvars LPAR RPAR ARROW type EQUAL expr": "the error `dimension-variable`",
    "fn -> FN name dimvars LPAR RPAR ARROW type fblock": "the error `dimension-variable`",
    "fn -> FN name dimvars LPAR RPAR ARROW type EQUAL expr basis": "the error `dimension-variable`",
    "fn -> FN name dimvars LPAR RPAR ARROW type fblock basis": "the error `dimension-variable`",
    **{
        f"extern_fn -> EXTERN FN name {rest}ARROW type": "of the library's own file: the error "
        "`misplaced-extern`"
        for rest in (
            "LPAR RPAR ",
            "dimvars LPAR RPAR ",
            "LPAR fparams RPAR ",
            "dimvars LPAR fparams RPAR ",
        )
    },
    "item -> extern_fn": "of the library's own file: the error `misplaced-extern`",
    "start -> _NL _NL": "line ends one after the other are one token",
    "start -> edition _NL _NL": "line ends one after the other are one token",
    "start -> _NL edition _NL _NL": "line ends one after the other are one token",
    **{
        f"dblock -> LBRACE {inside}RBRACE": "a table or figure that lacks what it shows: the error "
        "`missing-argument`"
        for inside in (
            "",
            "_sep ",
            "setting ",
            "_sep setting ",
            "setting _sep ",
            "_sep setting _sep ",
        )
    },
}
"""Productions whose use is an error of the file, or that no text leads to, with the reason."""


def name_of(rule: Rule) -> str:
    """A production as text."""
    return f"{rule.origin.name} -> {' '.join(symbol.name for symbol in rule.expansion)}".rstrip()


def wanted() -> set[str]:
    """All productions that a program without errors can have."""
    return {name_of(r) for r in language().rules} - set(ERRORS)


def productions(
    programs: Iterable[Mapping[str, str]], texts: Iterable[str] = (), units: Iterable[str] = ()
) -> tuple[Counter[str], Counter[str]]:
    """How often programs, and texts read as values and units, use each production and builtin."""
    used, builtins = Counter[str](), Counter[str]()
    callbacks = language().parser.parser_conf.callbacks  # what Lark calls at each reduction
    plain = dict(callbacks)

    def counted(rule: Rule, children: list[object]) -> object:
        used[name_of(rule)] += 1
        return plain[rule](children)

    callbacks.update({rule: partial(counted, rule) for rule in language().rules})
    try:
        for files in programs:
            for name, text in files.items():
                if name.endswith(".hw"):
                    tree = parse(Source(name, text), Diagnostics())
                    builtins.update(_builtins(tree))
        for text in texts:
            parse_expression(Source("value", text), Diagnostics())
        for text in units:
            parse_unit(Source("unit", text), Diagnostics())
    finally:
        callbacks.update(plain)
    return used, builtins


def _builtins(tree: ast.Module) -> list[str]:
    calls = (n.function for n in nodes(tree) if isinstance(n, ast.Call))
    return [f.name for f in calls if isinstance(f, ast.Name) and f.name in declarations()]
