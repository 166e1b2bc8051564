"""What of the language some programs use: productions of the grammar, and functions of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import evolve

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.semantics.builtins import BUILTINS
from hwdsl.syntax import ast, parse, parse_expression, parse_unit, parser, tables

from .shrink import nodes

ERRORS = {
    "atom -> BADNUM": "a number that is written wrong: the error `bad-number`",
    "term -> term FLOORDIV unary": "`//`: the error `floor-division`",
    "use -> USE STRING": "a table needs a name: the error `missing-argument`",
    "use -> USE STRING COLON names": "a table needs a name: the error `missing-argument`",
    "fn -> FN name dimvars LPAR RPAR ARROW type EQUAL expr": "the error `dimension-variable`",
    "fn -> FN name dimvars LPAR RPAR ARROW type fblock": "the error `dimension-variable`",
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


class _Counted(tuple[tables.Rule, ...]):
    """Rules that count how often each is looked up."""

    counts: Counter[int]

    def __getitem__(self, at: int) -> tables.Rule:  # type: ignore[override]
        self.counts[at % len(self)] += 1
        return tuple.__getitem__(self, at)


def name_of(rule: tables.Rule) -> str:
    """A production as text."""
    return f"{rule.origin} -> {' '.join(rule.expansion)}".rstrip()


def wanted() -> set[str]:
    """All productions that a program without errors can have."""
    return {name_of(r) for r in tables.load().rules} - set(ERRORS)


def productions(
    programs: Iterable[Mapping[str, str]], texts: Iterable[str] = (), units: Iterable[str] = ()
) -> tuple[Counter[str], Counter[str]]:
    """How often programs, and texts read as values and units, use each production and builtin."""
    plain = tables.load()
    rules = _Counted(plain.rules)
    rules.counts = Counter()
    counted, used, real = evolve(plain, rules=rules), Counter[str](), parser.load
    parser.load = lambda: counted
    try:
        for files in programs:
            for name, text in files.items():
                if name.endswith(".hw"):
                    tree = parse(Source(name, text), Diagnostics())
                    used.update(_builtins(tree))
        for text in texts:
            parse_expression(Source("value", text), Diagnostics())
        for text in units:
            parse_unit(Source("unit", text), Diagnostics())
    finally:
        parser.load = real
    return Counter({name_of(plain.rules[i]): n for i, n in rules.counts.items()}), used


def _builtins(tree: ast.Module) -> list[str]:
    calls = (n.function for n in nodes(tree) if isinstance(n, ast.Call))
    return [f.name for f in calls if isinstance(f, ast.Name) and f.name in BUILTINS]
