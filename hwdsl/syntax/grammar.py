"""The grammar as Lark reads it, and what it says of words and signs.

Making the LALR tables takes Lark 0.4 s. They depend on nothing but the grammar, so they are kept in
the store, as the data that Lark itself makes of a parser (`memo_serialize`), and read back by
`Lark.load`.
"""

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from hwdsl.base import store
from hwdsl.base.fingerprint import package_folder, release

if TYPE_CHECKING:
    from lark import Lark

STARTS = ("start", "interp", "lone", "lone_unit")
OPTIONS = {"parser": "lalr", "lexer": "basic", "keep_all_tokens": True, "start": list(STARTS)}
MOST = 2**63 - 1  # an int of the store


def grammar_text() -> str:
    """Return the text of `hw.lark`."""
    return (package_folder("hwdsl.grammar") / "hw.lark").read_text(encoding="utf-8")


def load(options: Mapping[str, Any]) -> "Lark":
    """Return Lark with the grammar; of the `options` it calls what lexes and what builds."""
    name = store.GRAMMAR.key(
        {"grammar": f"{grammar_text()}{OPTIONS}", "lark": release("lark"), "python": sys.version}
    )
    data = store.get(store.GRAMMAR, name, dict[str, Any])
    if data is not None:
        with suppress(AttributeError, LookupError, TypeError, ValueError):  # no parser's data
            return _loaded(data, options)
    data = _made()
    with suppress(store.CacheError):  # nothing but time depends on it
        store.put(store.GRAMMAR, name, data)
    return _loaded(data, options)


def _made() -> dict[str, Any]:
    """Make the parser's data from the grammar."""
    from lark import Lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = Lark(grammar_text(), **OPTIONS).memo_serialize([TerminalDef, Rule])
    for terminal in memo.values():
        pattern = terminal.get("pattern", {})
        if "_width" in pattern:  # the order of patterns depends on it; without a bound it is 2^64
            pattern["_width"] = [min(width, MOST) for width in pattern["_width"]]
    return {"data": data, "memo": memo}


def _loaded(data: dict[str, Any], options: Mapping[str, Any]) -> "Lark":
    """Make a parser of its data, and tell it what to call."""
    from lark import Lark

    data["data"]["options"] |= options
    return Lark.load(data)


@cache
def plain() -> "Lark":
    """Return Lark with the grammar alone, for its terminals and rules."""
    return load({})


@cache
def keywords() -> dict[str, str]:
    """Return the words of the language, each with the kind of its token."""
    return {text: kind for text, kind in _fixed() if text.isalpha()}


@cache
def signs() -> dict[str, str]:
    """Return the signs of the language, each with the kind of its token."""
    return {text: kind for text, kind in _fixed() if not text.isalpha()}


def _fixed() -> list[tuple[str, str]]:
    """Return the terminals that are one text, with their kinds."""
    found = [t for t in plain().terminals if t.pattern.type == "str"]
    return sorted((t.pattern.value, t.name) for t in found)


@cache
def soft_kinds() -> frozenset[str]:
    """Return the kinds of keywords that may be names too."""
    rules = (rule for rule in plain().rules if rule.origin.name == "name")
    return frozenset(rule.expansion[0].name for rule in rules) - {"NAME"}


def is_number(text: str) -> bool:
    """Whether a text is a number, with or without a unit."""
    return _number().fullmatch(text.removeprefix("-")) is not None


@cache
def _number() -> re.Pattern[str]:
    """Return the pattern of numbers."""
    found = (plain().get_terminal(name).pattern for name in ("QUANTITY", "NUMBER"))
    return re.compile("|".join(f"(?:{pattern.to_regexp()})" for pattern in found))
