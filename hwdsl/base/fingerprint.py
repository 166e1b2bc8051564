"""What is installed, as hashes: whatever is kept in the store is named after what it depends on.

A package counts with all of its files but pages of documentation and Python's own caches: no list
of files can be incomplete.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_APART = frozenset(["__pycache__", "library"])
"""Folders in packages that do not count: the library has a hash of its own."""
_VERSION = {"Cython": "Shadow.py", "lark": "__init__.py", "numpy": "version.py"}
"""The file of each package that holds its version."""


@cache
def code(*packages: str) -> str:
    """A hash of all files of packages, with all below them, and of Python's version."""
    digest = hashlib.sha256(sys.version.encode())
    folders = [str(package_folder(package)) for package in packages]
    for k, folder in enumerate(folders):  # installed, some lie within others
        if not any(folder.startswith(other + os.sep) for other in folders[:k]):
            _add(digest, folder, _content)
    return digest.hexdigest()


def compiler() -> str:
    """A hash of all of the compiler's own code, and of the releases that its results stand on."""
    own = code("hwdsl", "hwdsl.codegen", "hwdsl.grammar")
    return hashlib.sha256(f"{own} {release('lark')} {release('numpy')}".encode()).hexdigest()


@cache
def release(package: str) -> str:
    """A hash of the file that holds a package's version; empty if it is not installed.

    To import the package or to ask for its metadata takes far longer.
    """
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        with suppress(OSError):
            return hashlib.sha256((Path(folder) / _VERSION[package]).read_bytes()).hexdigest()
    return ""


def library() -> str:
    """A hash of all files of the library, read anew each time: people work on them."""
    digest = hashlib.sha256()
    # Past the cache of `_content`: a file may have changed since this process began.
    _add(digest, str(package_folder("hwdsl.library")), _content.__wrapped__)
    return digest.hexdigest()


def _add(digest: hashlib._Hash, folder: str, content: Callable[[str], bytes]) -> None:
    """Add the names of a folder's files and what hashes of their contents are."""
    for path in sorted(_below(folder)):
        if not path.endswith(".md"):
            digest.update(f"{path[len(folder) :]}\n".encode() + content(path))


@cache
def _content(path: str) -> bytes:
    """A hash of a file; of the code it is kept, as several fingerprints have files in common."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def package_folder(package: str) -> Path:
    """Where a package lies; `importlib.resources` would say the same, and takes longer."""
    return Path(next(iter(import_module(package).__path__)))


def _below(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        for entry in found:
            if not entry.is_dir():
                yield entry.path
            elif entry.name not in _APART:
                yield from _below(entry.path)
