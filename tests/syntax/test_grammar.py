"""The grammar stays strict LALR(1), what Lark makes of it is kept, and every rule is reduced."""

import subprocess
import sys
import time

import pytest
from lark import Lark
from lark.exceptions import GrammarError
from trees import shape

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import grammar, parse
from hwdsl.syntax.language import language
from hwdsl.syntax.reductions import RULES

TEXT = "edition 2026\n## A length.\nlet span = 3 mm * (1 + 2)\nlet twice = 2 * span\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield grammar.store.folder() / grammar.store.GRAMMAR.name
    forget()


def forget():
    language.cache_clear()
    grammar._data.cache_clear()


def read():
    forget()
    return shape(parse(Source("x.hw", TEXT), Diagnostics()))


def forbid(monkeypatch):
    def refuse():
        raise AssertionError("made again")

    monkeypatch.setattr(grammar, "_made", refuse)


def test_the_grammar_has_no_conflict_and_no_terminals_that_collide() -> None:
    Lark(grammar.grammar_text(), **grammar.OPTIONS, strict=True)


def test_conflict_is_refused() -> None:
    ambiguous = grammar.grammar_text().replace("?sum: term |", "?sum: term | sum sum |")
    with pytest.raises(GrammarError):
        Lark(ambiguous, **grammar.OPTIONS, strict=True)


def test_every_rule_has_a_reduction_and_every_reduction_a_rule() -> None:
    reduced = set()
    for rule in language().rules:
        name = rule.alias or rule.origin.name
        passed_up = rule.options.expand1 and not rule.alias and len(rule.expansion) == 1
        if not passed_up and not name.startswith("_"):
            reduced.add(name)
    assert reduced == set(RULES)


def test_the_tables_are_made_once_and_read_back(folder, monkeypatch) -> None:
    first = read()
    assert len(list(folder.iterdir())) == 1
    forbid(monkeypatch)
    assert read() == first
    monkeypatch.setattr(grammar, "OPTIONS", grammar.OPTIONS | {"priority": "normal"})
    with pytest.raises(AssertionError, match="made again"):
        read()


@pytest.mark.parametrize("how", ["cut", "other data"])
def test_tables_that_are_not_sound_are_made_again(folder, monkeypatch, how) -> None:
    first = read()
    (file,) = folder.iterdir()
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-3])
    else:
        grammar.store.put(grammar.store.GRAMMAR, file.name, {"data": {}})
    assert read() == first
    forbid(monkeypatch)
    assert read() == first


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch, folder) -> None:
    first = read()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "file"))
    assert read() == first


def test_what_parses_nothing_does_not_import_lark(tmp_path) -> None:
    file = tmp_path / "a.hw"
    file.write_text(TEXT)
    code = (
        "import sys; from hwdsl.cli.main import main; main(['check', sys.argv[1]]);"
        "print('lark' in sys.modules)"
    )
    env = {"HWDSL_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, file], env=env, capture_output=True, text=True, check=True
        ).stdout.split()[-1]
        for _ in range(2)
    ]
    assert runs == ["True", "False"]


LARGE = {
    "deep": lambda n: "let a = " + "(" * 30 * n + "1" + ")" * 30 * n,
    "open": lambda n: "let a = " + "(" * 100 * n,
    "list": lambda n: "let a = [" + "1,\n" * 15 * n + "]",
    "lines": lambda n: "let a = 1\n" * 10 * n,
    "broken lines": lambda n: "let a = = 1\n" * 10 * n,
    "blocks": lambda n: "k n {\n" * 20 * n,
    "broken blocks": lambda n: "k n {\n = }\n" * 10 * n,
    "NUL": lambda n: "\x00@\x01" * 100 * n,
    "garbage": lambda n: "?a" * 50 * n,
    "messages": lambda n: "kind k {\n" + 'require r: true else "{x}"\n' * 5 * n + "}",
}


@pytest.mark.parametrize("how", LARGE)
def test_what_is_large_takes_time_in_proportion(how: str) -> None:
    def cost(size: int) -> float:
        text = LARGE[how](size)
        start = time.process_time()
        parse(Source("x.hw", text), Diagnostics())
        return time.process_time() - start

    small, large = (min(cost(size) for _ in range(3)) for size in (100, 800))
    assert large < 25 * small  # 8 times as much, 64 if it were the square
