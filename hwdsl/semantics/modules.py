"""Finding and reading files: a file, all it uses, and the tables it imports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from hwdsl.base.csv_table import BadHeader, BadTable, CsvTable, read_csv
from hwdsl.base.diagnostics import Diagnostics, did_you_mean
from hwdsl.base.fingerprint import package_folder
from hwdsl.base.source import (
    LARGEST_FILE,
    LARGEST_TABLE,
    Source,
    Span,
    lies_below,
    read_text,
    reason,
    text_hash,
)
from hwdsl.semantics.renamed import new_module
from hwdsl.syntax import ast, parse
from hwdsl.syntax.parse_cache import parse_cached

BUILTINS, PRELUDE, REFERENCES = "std.builtins", "std.units", "std.references"
PRELUDES = (REFERENCES, BUILTINS, PRELUDE)
"""What every file sees without a `use`: references, the functions of the language, then units."""
DEEPEST = 100
"""Modules, each used by the one before, beyond which a chain is refused."""


@define(eq=False)
class Loaded:
    """One file read: its name, tree, and what each of its `use` items leads to."""

    name: str
    tree: ast.Module
    library: bool
    modules: dict[ast.Use, str] = field(factory=dict)
    tables: dict[ast.Use, CsvTable] = field(factory=dict)


@define(eq=False)
class Modules:
    """A program's files, each after those it uses; `main` is the name of the one asked for.

    `inputs` are the files read on its behalf, tables too: paths and hashes of their texts.
    """

    main: str
    loaded: dict[str, Loaded]
    inputs: dict[str, str]


def load(start: str | Path | Source, diagnostics: Diagnostics) -> Modules:
    """Read a file and everything it uses. Raises OSError if `start` itself cannot be read."""
    if isinstance(start, Source):
        source, folder = start, Path(start.name).parent
    else:
        path = Path(start)
        source, folder = Source(str(start), read_text(path, LARGEST_FILE)), path.parent
    loader = _Loader(diagnostics, library_root(), folder)
    name = loader.name_of(Path(source.name))
    loader.add(name, source, folder, parse(source, diagnostics))
    return Modules(name, loader.loaded, loader.inputs)


def library_root() -> Path:
    """The folder of the library that comes with the compiler."""
    return package_folder("hwdsl.library")


def preludes_of(name: str) -> tuple[str, ...]:
    """The preludes that a module sees: a prelude itself sees those before it."""
    return PRELUDES[: PRELUDES.index(name)] if name in PRELUDES else PRELUDES


@define(eq=False)
class _Loader:
    diagnostics: Diagnostics
    library: Path
    root: Path
    loaded: dict[str, Loaded] = field(factory=dict)
    inputs: dict[str, str] = field(factory=dict)
    chain: list[str] = field(factory=list)

    def name_of(self, path: Path) -> str:
        """The dotted name of a file in the library or below the program's folder; else its stem."""
        for top in (self.library, self.root):
            with suppress(ValueError):
                inside = path.resolve().relative_to(top.resolve())
                if path.is_file():
                    return ".".join(inside.with_suffix("").parts)
        return path.stem

    def add(self, name: str, source: Source, folder: Path, tree: ast.Module) -> None:
        """Follow a module's `use` items, then list it."""
        library = folder.resolve().is_relative_to(self.library.resolve())
        unit = Loaded(name, tree, library)
        self.chain.append(name)
        for prelude in preludes_of(name):
            self._follow_prelude(prelude)
        for item in tree.items:
            if isinstance(item, ast.Use):
                self._follow(unit, item, folder)
        self.chain.pop()
        self.loaded[name] = unit  # after those it uses, as the checker and its stamps rely on

    def _follow_prelude(self, name: str) -> None:
        path = self.library.joinpath(*name.split(".")).with_suffix(".hw")
        if name not in self.loaded and name not in self.chain and path.is_file():
            self._read(name, path)

    def _follow(self, unit: Loaded, use: ast.Use, folder: Path) -> None:
        if use.file is not None:
            self._table(unit, use, folder)
            return
        dotted = ".".join(part.name for part in use.path)
        path = self._find(use, folder)
        if path is None:
            self._unknown(use, dotted, folder)
            return
        name = self.name_of(path)
        if name in self.chain:
            self._cycle(use, name)
            return
        if len(self.chain) >= DEEPEST:
            self.diagnostics.error(
                "too-deep",
                f"modules use modules more than {DEEPEST} deep",
                use.span,
                help="use what is needed from where it stands",
            )
            return
        if name not in self.loaded and not self._read(name, path, use.span):
            return
        unit.modules[use] = name

    def _find(self, use: ast.Use, folder: Path) -> Path | None:
        # The library first: no file of a user can take the place of one of its modules.
        parts = [part.name for part in use.path]
        paths = (top.joinpath(*parts).with_suffix(".hw") for top in (self.library, folder))
        return next((path for path in paths if path.is_file()), None)

    def _read(self, name: str, path: Path, span: Span | None = None) -> bool:
        try:
            text = read_text(path, LARGEST_FILE)
        except OSError as error:
            if span is not None:
                message = f"cannot read {path}: {reason(error)}"
                self.diagnostics.error("unreadable-file", message, span)
            return False
        source = Source(str(path), text)
        self.inputs[source.name] = text_hash(text)
        self.add(name, source, path.parent, _parse(source, self.diagnostics, self.library))
        return True

    def _cycle(self, use: ast.Use, name: str) -> None:
        chain = [*self.chain[self.chain.index(name) :], name]
        self.diagnostics.error(
            "import-cycle",
            "modules use each other: " + " -> ".join(chain),
            use.span,
            f"this leads back to `{name}`",
            help="move what both need into a module of its own",
        )

    def _unknown(self, use: ast.Use, dotted: str, folder: Path) -> None:
        new = new_module(dotted)
        self.diagnostics.error(
            "unknown-module",
            f"there is no module `{dotted}`",
            use.span,
            "neither in the library nor beside this file",
            help=f"it is called `{new}` now"
            if new
            else did_you_mean(dotted, _known_modules(self.library, folder)),
        )

    def _table(self, unit: Loaded, use: ast.Use, folder: Path) -> None:
        assert use.file is not None
        top = self.library if unit.library else self.root
        path = folder / use.file
        if not lies_below(path, top):
            self.diagnostics.error(
                "unreadable-file",
                f"`{use.file}` lies outside the folder of the program",
                use.span,
                help="copy the table beside the file that uses it",
            )
            return
        try:
            text = read_text(path, LARGEST_TABLE)
            self.inputs[str(path)] = text_hash(text)  # what is found in it depends on it too
            unit.tables[use] = read_csv(text)
        except OSError as error:
            message = f"cannot read `{use.file}`: {reason(error)}"
            self.diagnostics.error("unreadable-file", message, use.span)
        except BadTable as error:
            name = "bad-table" if isinstance(error, BadHeader) else "unreadable-file"
            self.diagnostics.error(name, f"`{use.file}`: {error}", use.span, help=error.help)


# Tests, editors and reports check many files in one process, which all read the same modules.
_parsed: dict[tuple[str, str], ast.Module] = {}


def _parse(source: Source, diagnostics: Diagnostics, library: Path) -> ast.Module:
    """Parse; a library file that parsed without a finding is kept, here and in the cache."""
    if library not in Path(source.name).parents:
        return parse(source, diagnostics)
    key = (source.name, source.text)
    if key not in _parsed:
        own = Diagnostics()
        tree = parse_cached(source, own)
        for item in own.items:
            diagnostics.add(item)
        if own.items:
            return tree
        _parsed[key] = tree
    return _parsed[key]


def library_tree(path: Path, diagnostics: Diagnostics) -> ast.Module | None:
    """The tree of a file of the library; None if it cannot be read."""
    try:
        return _parse(Source(str(path), read_text(path, LARGEST_FILE)), diagnostics, library_root())
    except OSError:
        return None


def _known_modules(*folders: Path) -> Iterator[str]:
    for folder in folders:
        for pattern in ("*.hw", "*/*.hw"):
            for path in sorted(folder.glob(pattern)):
                yield ".".join(path.relative_to(folder).with_suffix("").parts)
