"""What is installed, as hashes: whatever is kept in the cache is named after what it depends on."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

_CODE = (".py", ".lark", ".json", ".j2", ".pyx", ".c", ".h")
_LIBRARY = (".hw", ".csv")


@cache
def code(*packages: str) -> str:
    """A hash of the code in packages, with all below them, and of Python's version."""
    digest = hashlib.sha256(sys.version.encode())
    for package in packages:
        _add(digest, package, _CODE)
    return digest.hexdigest()


def compiler() -> str:
    """A hash of all of the compiler's own code and of Python's version."""
    return code("hwdsl", "hwdsl.codegen", "hwdsl.grammar")


def library() -> str:
    """A hash of all files of the library, read anew each time: people work on them."""
    digest = hashlib.sha256()
    _add(digest, "hwdsl.library", _LIBRARY)
    return digest.hexdigest()


def package_folder(package: str) -> Path:
    """Where a package lies; `importlib.resources` would say the same, and takes longer."""
    return Path(next(iter(import_module(package).__path__)))


def _add(digest: hashlib._Hash, package: str, endings: tuple[str, ...]) -> None:
    """Add the names and the contents of a package's files."""
    top = str(package_folder(package))
    for path in sorted(_below(top, endings)):
        with open(path, "rb") as file:
            data = file.read()
        digest.update(f"{path[len(top) :]}:{len(data)}\n".encode())
        digest.update(data)


def _below(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir():
                if entry.name != "library":  # it has a hash of its own
                    yield from _below(entry.path, endings)
            elif entry.name.endswith(endings):
                yield entry.path
