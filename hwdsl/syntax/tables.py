"""The parser's tables: made from `hw.lark` by Lark, kept as `hw.json`, loaded without Lark.

Making the LALR tables takes 0.3 s and importing Lark 0.05 s, which is most of what `check` may
take; reading them takes a few milliseconds. A test checks that `hw.json` is what `hw.lark` says,
and `python -m hwdsl.syntax.tables` writes it.
"""

import json
import re
from collections import deque
from functools import cache
from typing import Any, TextIO

from attrs import frozen

from hwdsl.base.fingerprint import package_folder

STARTS = ("start", "interp", "lone", "lone_unit")


@frozen
class Rule:
    """One production. `plan` says how its children are made from the symbols reduced.

    An entry of `plan` is the index of a symbol to keep, or -1 for an optional part left out;
    `inline` holds, per entry, whether that symbol's own children take its place. `action` names the
    builder, or is empty where the children are passed up as they are.
    """

    origin: str
    expansion: tuple[str, ...]
    size: int
    action: str
    expand_one: bool
    plan: tuple[tuple[int, bool], ...]
    # Whether it only gives its single symbol another name: `?sum: term`.
    renames: bool


@frozen
class Tables:
    """What the lexer and the parser need.

    `states[s]` maps a symbol to what to do: a number above 0 shifts (or goes to) state `n - 1`, one
    below 0 reduces by rule `-n - 1`.
    """

    patterns: tuple[tuple[str, str], ...]
    keywords: dict[str, str]
    literals: dict[str, str]
    rules: tuple[Rule, ...]
    states: tuple[dict[str, int], ...]
    starts: dict[str, int]
    ends: dict[str, int]

    def lexer(self) -> re.Pattern[str]:
        """Return the pattern of all terminals but keywords, longest first."""
        return re.compile("|".join(f"(?P<{name}>{text})" for name, text in self.patterns))


def _rule_data(rule: Any) -> list[Any]:
    """Describe one of Lark's rules as JSON data: how to build its node."""
    keep_all = rule.options.keep_all_tokens
    empty = rule.options.empty_indices
    runs = [len(ones) for ones in "".join(str(int(b)) for b in empty).split("0")] if empty else []
    plan: list[list[int]] = []
    waiting = 0
    for i, symbol in enumerate(rule.expansion):
        waiting += runs[i] if runs else 0
        if keep_all or not (symbol.is_term and symbol.filter_out):
            plan.extend([-1, 0] for _ in range(waiting))
            waiting = 0
            plan.append([i, int(not symbol.is_term and symbol.name.startswith("_"))])
    waiting += runs[-1] if runs else 0
    plan.extend([-1, 0] for _ in range(waiting))
    origin = str(rule.origin.name)
    action = "" if origin.startswith("_") else str(rule.alias or origin)
    expand = bool(rule.options.expand1 and not rule.alias)
    expansion = " ".join(symbol.name for symbol in rule.expansion)
    return [origin, expansion, action, int(expand), plan]


def _numbered(table: Any) -> tuple[dict[int, int], list[dict[str, Any]]]:
    """Number the states by breadth first search, so that the file never depends on hash seeds."""
    order: dict[int, int] = {}
    queue = deque(table.start_states[s] for s in STARTS)
    rows: list[dict[str, Any]] = []
    while queue:
        state = queue.popleft()
        if state in order:
            continue
        order[state] = len(order)
        row = dict(sorted(table.states[state].items()))
        rows.append(row)
        queue.extend(arg for _, arg in row.values() if isinstance(arg, int))
    return order, rows


def generate(grammar: str) -> str:
    """Return the JSON text of the tables for a grammar; a conflict raises Lark's GrammarError."""
    from lark import Lark
    from lark.lexer import PatternStr

    lark = Lark(grammar, parser="lalr", lexer="basic", strict=True, start=list(STARTS))
    table = lark.parser.parser._parse_table
    order, rows = _numbered(table)
    used = sorted(lark.rules, key=lambda r: (str(r.origin.name), str(r.expansion), str(r.alias)))
    index = {rule: i for i, rule in enumerate(used)}
    states = [
        {str(k): order[arg] + 1 if isinstance(arg, int) else -index[arg] - 1 for k, (_, arg) in row}
        for row in (sorted(r.items()) for r in rows)
    ]
    terminals = sorted(
        lark.terminals,
        key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name),
    )
    words = [t for t in terminals if isinstance(t.pattern, PatternStr)]
    keywords = {t.pattern.value: t.name for t in words if t.pattern.value.isalpha()}
    literals = {t.pattern.value: t.name for t in words if not t.pattern.value.isalpha()}
    data = {
        "patterns": [
            [t.name, t.pattern.to_regexp()] for t in terminals if t.name not in keywords.values()
        ],
        "keywords": dict(sorted(keywords.items())),
        "literals": dict(sorted(literals.items())),
        "starts": {s: order[table.start_states[s]] for s in STARTS},
        "ends": {s: order[table.end_states[s]] for s in STARTS},
        "rules": [_rule_data(r) for r in used],
        "states": states,
    }
    return _layout(data)


def _layout(data: dict[str, Any]) -> str:
    """Print the tables with one state or rule a line, so that a change shows as one."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(v, separators=(",", ":")) for v in value)
            parts.append(f'"{key}": [\n{lines}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{" + ",\n".join(parts) + "}\n"


def _rule(origin: str, expansion: str, action: str, expand: int, plan: list[list[int]]) -> Rule:
    """Read a rule back."""
    symbols = tuple(expansion.split())
    steps = tuple((i, bool(inline)) for i, inline in plan)
    renames = bool(expand) and len(symbols) == 1
    return Rule(origin, symbols, len(symbols), action, bool(expand), steps, renames)


def grammar_text() -> str:
    """Return the text of `hw.lark`."""
    return (package_folder("hwdsl.grammar") / "hw.lark").read_text(encoding="utf-8")


@cache
def load() -> Tables:
    """Return the tables shipped with the package."""
    text = (package_folder("hwdsl.grammar") / "hw.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Tables(
        patterns=tuple((name, pattern) for name, pattern in data["patterns"]),
        keywords=data["keywords"],
        literals=data["literals"],
        rules=tuple(_rule(*row) for row in data["rules"]),
        states=tuple(data["states"]),
        starts=data["starts"],
        ends=data["ends"],
    )


def write(to: TextIO | None = None) -> None:
    """Write `hw.json` beside the grammar (or to a stream) from the grammar as it stands."""
    text = generate(grammar_text())
    if to is not None:
        to.write(text)
    else:
        (package_folder("hwdsl.grammar") / "hw.json").write_text(text, "utf-8")


if __name__ == "__main__":
    write()
