"""`hwdsl explain --sources` and `--confidence`: what the numbers of files are from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from hwdsl.base.diagnostics import Diagnostics, did_you_mean
from hwdsl.cli.base import listed, table
from hwdsl.cli.errors import WRONG_DESCRIPTION, CommandError
from hwdsl.explain.cited_numbers import ALL, ASSUMED, NONE, CitedNumber, numbers, references
from hwdsl.help import library_index
from hwdsl.semantics import check, load
from hwdsl.semantics.citations import ASSUMPTION

LONGEST = 44


def found(names: Sequence[str]) -> list[CitedNumber]:
    """The numbers of files, of folders and of modules of the library; without names, of all of it.

    A name that is none of them ends the command.
    """
    of_library = library_index.modules()
    modules = [m for m in of_library if not names or any(_within(m, name) for name in names)]
    known = references(of_library.values())
    result = [number for m in modules for number in numbers(m, of_library[m], known)]
    others = [name for name in names if not any(_within(m, name) for m in of_library)]
    for file in listed(others):
        if not Path(file).is_file():
            what = f"{file} is neither a file nor a folder or module of the library"
            hint = did_you_mean(file, chain(of_library, (m.rpartition(".")[0] for m in of_library)))
            raise CommandError(f"{what}; {hint or '`hwdsl explain` lists the modules'}")
        diagnostics = Diagnostics()
        main = check(load(file, diagnostics), diagnostics).main
        if diagnostics.failed:
            raise CommandError(f"{file} has errors: hwdsl check {file}", WRONG_DESCRIPTION)
        result += numbers(main.name, main.tree, main.visible_references)
    return result


def _within(module: str, name: str) -> bool:
    return module == name or module.startswith(name + ".")


def those_of(names: Sequence[str], confidence: str) -> list[CitedNumber]:
    """The numbers of a confidence, as `of_confidence` has them."""
    return [n for n in found(names) if n.is_of(confidence)]


def of_confidence(names: Sequence[str], confidence: str) -> str:
    """A table of the numbers whose least sure source is as sure as that; `none`: without source.

    `assumed`: those that no source states.
    """
    rows = [
        [f"{n.module}.{n.path}", _short(n.value), "; ".join(s.text for s in n.sources)]
        for n in those_of(names, confidence)
    ]
    head = ["number", "value", "source"]
    return table([head, *rows]) if rows else f"no {of_which(confidence)}"


def of_which(confidence: str) -> str:
    """The numbers of a confidence, in words, as one of them is called."""
    words = {NONE: "number without a source", ASSUMED: "number that is assumed", ALL: "number"}
    return words.get(confidence, f"number of confidence {confidence}")


def counts(names: Sequence[str]) -> str:
    """Tables of how many numbers have sources of which kind, year and confidence, and where."""
    every = found(names)
    blocks = [
        [["kind of source", "numbers"], *_counted(_kinds(every))],
        [["year", "numbers"], *sorted(_counted(_years(every)))],
        [["confidence", "numbers"], *_counted(n.confidence or "not stated" for n in every)],
        [["stated by", "numbers"], *_counted(n.level or "no source" for n in every)],
    ]
    lacking = sum(not n.level for n in every)
    tables = "\n\n".join(table(block, right=[1]) for block in blocks)
    counted = "1 number" if len(every) == 1 else f"{len(every)} numbers"
    return f"{tables}\n\n{counted}, {lacking} of them without a source"


def _kinds(every: Iterable[CitedNumber]) -> Iterator[str]:
    for number in every:
        yield from {source.kind for source in number.sources} or {"no source"}


def _years(every: Iterable[CitedNumber]) -> Iterator[str]:
    """Of each number the year of its latest source."""
    for number in every:
        years = [source.year for source in number.sources if source.year is not None]
        assumed = any(source.kind == ASSUMPTION for source in number.sources)
        yield str(max(years)) if years else ASSUMPTION if assumed else "not stated"


def _counted(values: Iterable[str]) -> list[list[str]]:
    return [[value, f"{count:,}"] for value, count in Counter(values).most_common()]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
