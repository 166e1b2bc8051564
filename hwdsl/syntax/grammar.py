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

from attrs import frozen

from hwdsl.base import store
from hwdsl.base.fingerprint import code, package_folder, release

if TYPE_CHECKING:
    from lark import Lark

STARTS = ("start", "interp", "lone", "lone_unit")
# All tokens are kept, so that children stand at places that `reductions` can count.
OPTIONS = {"parser": "lalr", "lexer": "basic", "keep_all_tokens": True, "start": list(STARTS)}
MOST = 2**63 - 1  # an int of the store


def grammar_text() -> str:
    """Return the text of `hw.lark`."""
    return (package_folder("hwdsl.grammar") / "hw.lark").read_text(encoding="utf-8")


def load(options: Mapping[str, Any]) -> "Lark":
    """Return Lark with the grammar; of the `options` it calls what lexes and what builds."""
    from lark import Lark

    found = _data()
    data = {**found.data, "options": {**found.data["options"], **options}}
    return Lark.load({"data": data, "memo": found.memo})


@frozen
class GrammarData:
    """What Lark makes of a grammar: itself, and the terminals and rules that it refers to."""

    data: dict[str, Any]
    memo: dict[int, dict[str, Any]]


@cache
def _data() -> GrammarData:
    """Return what Lark makes of the grammar, from the store if it is there."""
    made_of = {"grammar": grammar_text(), "maker": f"{code('hwdsl.syntax')} {OPTIONS}"}
    key = store.GRAMMAR.key({**made_of, "lark": release("lark"), "python": sys.version})
    data = store.get(store.GRAMMAR, key, GrammarData)
    if data is None:
        data = _made()
        with suppress(store.CacheError):  # nothing but time depends on it
            store.put(store.GRAMMAR, key, data)
    return data


def _made() -> GrammarData:
    """Make the parser's data from the grammar."""
    from lark import Lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = Lark(grammar_text(), **OPTIONS).memo_serialize([TerminalDef, Rule])
    for terminal in memo.values():
        pattern = terminal.get("pattern", {})
        if "_width" in pattern:  # the order of patterns depends on it; without a bound it is 2^64
            pattern["_width"] = [min(width, MOST) for width in pattern["_width"]]
    return GrammarData(data, memo)


def _described(kind: str) -> list[dict[str, Any]]:
    """Return what Lark's data say of the grammar's terminals (`TerminalDef`) or rules (`Rule`)."""
    return [each for each in _data().memo.values() if each["__type__"] == kind]


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
    found = ((t["pattern"], t["name"]) for t in _described("TerminalDef"))
    return sorted((p["value"], name) for p, name in found if p["__type__"] == "PatternStr")


@cache
def soft_kinds() -> frozenset[str]:
    """Return the kinds of keywords that may be names too."""
    rules = (rule for rule in _described("Rule") if rule["origin"]["name"] == "name")
    return frozenset(rule["expansion"][0]["name"] for rule in rules) - {"NAME"}


def is_number(text: str) -> bool:
    """Whether a text is a number, with or without a unit."""
    return _number().fullmatch(text.removeprefix("-")) is not None


@cache
def _number() -> re.Pattern[str]:
    """Return the pattern of numbers."""
    found = {t["name"]: t["pattern"]["value"] for t in _described("TerminalDef")}
    return re.compile("|".join(f"(?:{found[name]})" for name in ("QUANTITY", "NUMBER")))
