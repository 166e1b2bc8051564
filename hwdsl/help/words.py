"""The words and signs of the language: for each what it is, and a text in which it stands."""

import tomllib
from collections.abc import Mapping
from functools import cache

from attrs import frozen

from hwdsl.base.fingerprint import package_folder


@frozen
class Word:
    """A keyword, sign or name of the language: what it is, and a text that has it or nothing."""

    doc: str
    text: str = ""


@cache
def words() -> Mapping[str, Word]:
    """All words by themselves, from `words.toml`."""
    text = (package_folder("hwdsl.help") / "words.toml").read_text(encoding="utf-8")
    return {
        name: Word(entry["is"], entry.get("text", "").strip("\n"))
        for name, entry in tomllib.loads(text).items()
    }
