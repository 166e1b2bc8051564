"""The one store: what is kept in the cache, under which keys, and when it may be trusted.

All of the cache is in one folder, `hwdsl-cache`, in the place that is chosen for it. Its file
`CACHEDIR.TAG` says that it is ours, and lets backups leave it out: a folder of that name without
the file is refused. Nothing outside is touched, and only what is named as our entries are is ever
removed.

`KINDS` declares the kinds of entries, each with the ingredients of its key: the SHA-256 of all
that can change what an entry holds. An entry is a value (`put`, `get`: a file that begins with the
hash of the rest) or files (`publish`, `find`: a folder with `manifest.json`, which holds their
hashes). Entries are made in a temporary folder and published by one rename, so readers see all of
an entry or nothing, nobody waits for anybody, and a killed build leaves only a folder that no key
names. Folders are the owner's alone (0700); a file is read only if it is a plain file of ours that
nobody else can write, or put another in the place of, and whose hash is right. What is not sound is
as if it were not there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache as once
from pathlib import Path
from typing import TypeVar

from attrs import frozen

T = TypeVar("T")

NAME = "hwdsl-cache"
TAG = "CACHEDIR.TAG"
TAG_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# This folder is the cache of hwdsl; `hwdsl cache clear` empties it.
# For information about cache directory tags, see: https://bford.info/cachedir/
"""
MANIFEST = "manifest.json"
FORMAT = 2
STALE_SECONDS = 3600.0
_ENTRY = re.compile(r"(part-)?[0-9a-f]{64}(\.json)?")
_KIND = re.compile(r"[a-z]+")
_WORK = re.compile(r"build-\w+")


class CacheError(Exception):
    """The cache folder cannot be used; the message says which and what to do."""


Ingredient = bytes | str | Sequence["Ingredient"] | Mapping[str, "Ingredient"]
"""What a key depends on: a text, or several in order or by name."""


@frozen
class EntryKind:
    """A kind of entries: its folder, what an entry holds, and the ingredients of the key.

    An entry is found by its key. One with `place` among the ingredients is found by that alone and
    holds its key: a newer one of the same file takes its place.
    """

    name: str
    holds: str
    ingredients: tuple[str, ...]

    def key(self, parts: Mapping[str, Ingredient]) -> str:
        """The key of an entry; `parts` has each ingredient."""
        if set(parts) != set(self.ingredients):
            raise AssertionError(f"{self.name} are made of {self.ingredients}, not {list(parts)}")
        return key({"kind": self.name, **parts})


_BUILT = ("generator", "module flags", "cython", "compiler", "python", "cpu")
_FILE = ("compiler", "library", "place", "inputs")
KERNELS = EntryKind("kernels", "compiled graphs", (*_BUILT, "flags", "graphs"))
INTERFACES = EntryKind(
    "interfaces",
    "the part of compiled modules that talks to Python, which is the same for all graphs",
    (*_BUILT, "files"),
)
GRAMMAR = EntryKind(
    "grammar",
    "what Lark makes of the grammar: its LALR tables",
    ("grammar", "maker", "lark", "python"),
)
PARSED = EntryKind(
    "parsed",
    "the tree of a library module",
    ("parser", "text"),
)
CHECKED = EntryKind(  # such a module is checked only where something reads it: `Checked.ensure`
    "checked",
    "a stamp: a library module has no finding",
    ("compiler", "name", "text", "modules", "tables"),
)
FINDINGS = EntryKind("findings", "what `check` finds in a file", (*_FILE, "text"))
PARTS = EntryKind(
    "parts",
    "what it finds in one evaluator, figure or table; stands in the entry of the file",
    (*_FILE, "items", "part"),
)
LOADED = EntryKind(
    "loaded", "what `load` gives: specs, units, optimised graphs, warnings", (*_FILE, "text")
)
KINDS = (KERNELS, INTERFACES, GRAMMAR, PARSED, CHECKED, FINDINGS, PARTS, LOADED)
"""All that is kept."""


@frozen
class StoreEntry:
    """One entry: its kind, where it is, its size in bytes, when it was last changed."""

    kind: EntryKind
    key: str
    path: Path
    size: int


def folder(cache_dir: Path | str | None = None) -> Path:
    """The cache's folder: in the one given, else in `HWDSL_CACHE_DIR`, else where caches are."""
    chosen = cache_dir or os.environ.get("HWDSL_CACHE_DIR")
    if chosen:
        return _absolute(str(chosen)) / NAME
    import platformdirs  # a folder that is named needs none of it

    return Path(platformdirs.user_cache_dir()) / NAME


@once
def _absolute(path: str) -> Path:
    """A path as it was meant when it was first read, wherever the process goes from there."""
    return Path(path).absolute()


def key(parts: Mapping[str, Ingredient]) -> str:
    """A hash of ingredients, each under its own name."""
    digest = hashlib.sha256()
    for name in sorted(parts):
        _add(digest, name, parts[name])
    return digest.hexdigest()


def _add(digest: hashlib._Hash, name: str, value: Ingredient) -> None:
    """Add an ingredient so that no two of different parts give the same bytes."""
    if isinstance(value, bytes | str):
        data = value.encode() if isinstance(value, str) else value
        digest.update(f"{name}:{len(data)}\n".encode())
        digest.update(data)
        return
    items = sorted(value.items()) if isinstance(value, Mapping) else enumerate(value)
    digest.update(f"{name} of {len(value)}\n".encode())
    for each, inner in items:
        _add(digest, str(each), inner)


def _prepare(cache_dir: Path | str | None, *below: str) -> Path:
    """Make the cache's folder, or one in it, the owner's alone. Raises CacheError."""
    root = folder(cache_dir)
    path = root.joinpath(*below)
    try:
        if not _tagged(root):
            _make(root)
        path.mkdir(exist_ok=True, mode=0o700)
        for own in {root, path}:
            # A folder from before, or one made under an odd umask, is closed to others here.
            if stat.S_IMODE(own.stat().st_mode) != 0o700 and own.stat().st_uid == os.getuid():
                own.chmod(0o700)
    except OSError as error:
        raise CacheError(explain(path, error)) from error
    if not (_trusted(root) and _ours(path)):
        raise CacheError(
            f"the cache folder {path} belongs to another user or is open to others; "
            "name another one with HWDSL_CACHE_DIR"
        )
    return path


def _make(root: Path) -> None:
    """Put a new folder with its tag in place at once; an empty one may stand there."""
    from tempfile import mkdtemp

    # The folder appears with its tag in it, or not at all: whoever looks in between must not see
    # a folder without a tag, which is refused as foreign.
    root.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = Path(mkdtemp(prefix=f".{NAME}-", dir=root.parent))
    try:
        (fresh / TAG).write_bytes(TAG_TEXT)
        os.rename(fresh, root)
    except OSError as error:
        (fresh / TAG).unlink(missing_ok=True)
        fresh.rmdir()
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        if not _tagged(root):  # no other process was first
            raise CacheError(_foreign(root)) from None


def _foreign(root: Path) -> str:
    return (
        f"{root} is there and is no cache of hwdsl, as there is no {TAG} in it; "
        "remove it, or name another folder with HWDSL_CACHE_DIR"
    )


def _tagged(root: Path) -> bool:
    """Whether a folder is a cache that we made."""
    try:
        return (root / TAG).read_bytes() == TAG_TEXT
    except OSError:
        return False


def _trusted(root: Path) -> bool:
    """Whether the cache's folder is ours and no stranger can put another in its place."""
    try:
        above = root.parent.stat()
    except OSError:
        return False
    # In a folder like /tmp (sticky) others may write, but only the owner can rename our folder.
    open_to_all = above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX
    return above.st_uid in (0, os.getuid()) and not open_to_all and _ours(root) and _tagged(root)


def explain(path: Path, error: OSError) -> str:
    """A sentence about a file system that does not do what is asked."""
    remedy = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "check it"
    return (
        f"cannot write to the cache folder {path}: {error.strerror or error}; "
        f"{remedy}, or name another folder with HWDSL_CACHE_DIR"
    )


def _ours(path: Path) -> bool:
    """Whether a file or folder is ours, no link, and nobody else can write to it."""
    try:
        info = path.lstat()
    except OSError:
        return False
    plain = stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)
    return plain and info.st_uid == os.getuid() and not info.st_mode & 0o022


@frozen
class Manifest:
    """What a build says of itself: its files with their hashes, and how it was made."""

    format: int
    key: str
    files: dict[str, str]
    about: dict[str, str]


def find(
    name: str, cache_dir: Path | str | None = None, *, kind: EntryKind = KERNELS
) -> Path | None:  # fmt: skip
    """The folder of a published build if every file in it can be trusted, else nothing."""
    root = folder(cache_dir) / kind.name
    path = root / name
    manifest = read_manifest(path)
    if manifest is None or manifest.key != name or not manifest.files:
        return None
    if not (_trusted(root.parent) and _ours(root) and _ours(path)):
        return None
    for file, digest in manifest.files.items():
        target = path / file
        # A manifest could name `../x`: only files of this folder count.
        if target.parent != path or not _ours(target):
            return None
        try:
            found = hashlib.sha256(target.read_bytes()).hexdigest()
        except OSError:
            return None
        if found != digest:
            return None
    return path


def read_manifest(path: Path) -> Manifest | None:
    """The manifest of an entry, if there is a readable one of ours."""
    from hwdsl.base.structuring import from_json

    file = path / MANIFEST
    if not _ours(file):
        return None
    try:
        found = from_json(file.read_bytes(), Manifest)
    except (OSError, ValueError):
        return None
    return found if found.format == FORMAT else None


def workspace(cache_dir: Path | str | None = None) -> Path:
    """A new private folder on the cache's file system, to build in."""
    from tempfile import mkdtemp  # reading from the cache needs none of it

    root = _prepare(cache_dir, "work")
    try:
        return Path(mkdtemp(prefix="build-", dir=root))
    except OSError as error:
        raise CacheError(explain(root, error)) from error


def publish(
    name: str, files: Iterable[Path], about: Mapping[str, str],
    cache_dir: Path | str | None = None, *, kind: EntryKind = KERNELS,
) -> Path:  # fmt: skip
    """Put a finished build in place at once; whoever is first wins, and all have the same."""
    from hwdsl.base.structuring import to_json

    root = _prepare(cache_dir, kind.name)
    fresh = workspace(cache_dir)
    try:
        hashes = {}
        for file in files:
            target = fresh / file.name
            target.write_bytes(file.read_bytes())
            target.chmod(0o700)
            hashes[file.name] = hashlib.sha256(target.read_bytes()).hexdigest()
        (fresh / MANIFEST).write_bytes(to_json(Manifest(FORMAT, name, hashes, dict(about))))
        (fresh / MANIFEST).chmod(0o600)
        return _rename(fresh, root / name, kind, cache_dir)
    except OSError as error:
        raise CacheError(explain(root, error)) from error
    finally:
        _remove(fresh)


def _rename(fresh: Path, target: Path, kind: EntryKind, cache_dir: Path | str | None) -> Path:
    """Rename onto the key's place, moving aside what stands there and is not sound."""
    # Another process may publish the same entry, or a broken one, between any two steps here.
    for _ in range(8):
        try:
            os.rename(fresh, target)
            return target
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
        if find(target.name, cache_dir, kind=kind) is not None:
            return target
        aside = workspace(cache_dir)
        with suppress(FileNotFoundError):
            os.rename(target, aside / "bad")
        _remove(aside)
    raise OSError(errno.EBUSY, "the entry keeps changing", str(target))


def get(kind: EntryKind, name: str, of: type[T], cache_dir: Path | str | None = None) -> T | None:
    """The value stored under a kind and name if it is sound, ours and of that class; else None."""
    from hwdsl.base.structuring import Unfit, unpacked

    data = _read(kind, name, cache_dir)
    try:
        return None if data is None else unpacked(data, of)
    except Unfit:
        return None


def put(kind: EntryKind, name: str, value: object, cache_dir: Path | str | None = None) -> None:
    """Put a value in place at once, for `get`. Raises CacheError."""
    from hwdsl.base.structuring import Unfit, packed

    try:
        _write(kind, name, packed(value), cache_dir)
    except Unfit as error:
        raise CacheError(f"it cannot be kept: {error}") from error


def _read(kind: EntryKind, name: str, cache_dir: Path | str | None) -> bytes | None:
    """What stands behind its hash in an entry that can be trusted."""
    path = folder(cache_dir) / kind.name / name
    if not (_trusted(path.parent.parent) and _ours(path.parent) and _ours(path)):
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    # The hash finds damage and not malice: who can write here can write hashes too.
    size = hashlib.sha256().digest_size
    return data[size:] if hashlib.sha256(data[size:]).digest() == data[:size] else None


def _write(kind: EntryKind, name: str, data: bytes, cache_dir: Path | str | None) -> None:
    """Put bytes in place at once, behind their hash. Raises CacheError."""
    root = _prepare(cache_dir, kind.name)
    fresh = workspace(cache_dir)
    try:
        file = fresh / name
        file.write_bytes(hashlib.sha256(data).digest() + data)
        file.chmod(0o600)
        os.replace(file, root / name)
    except OSError as error:
        raise CacheError(explain(root, error)) from error
    finally:
        _remove(fresh)


def entries(cache_dir: Path | str | None = None) -> Iterator[StoreEntry]:
    """All entries, sound or not, by kind and key."""
    for kind in KINDS:
        for path in _named(folder(cache_dir) / kind.name, _ENTRY):
            with suppress(OSError):
                files = path.iterdir() if path.is_dir() else [path]
                size = sum(file.stat().st_size for file in files)
                yield StoreEntry(kind, path.name, path, size)


def refuse_foreign(cache_dir: Path | str | None = None) -> None:
    """Raise CacheError if what stands in the cache's place was not made by us."""
    root = folder(cache_dir)
    if not os.path.lexists(root) or _tagged(root):
        return
    with suppress(OSError):  # no folder, or one that may not be read
        if not os.listdir(root):  # which becomes the cache when something is kept
            return
    raise CacheError(_foreign(root))


def clear(cache_dir: Path | str | None = None) -> int:
    """Remove all entries and leftovers; return how many entries there were. Raises CacheError."""
    root = folder(cache_dir)
    refuse_foreign(cache_dir)
    found = len(list(entries(cache_dir)))
    for path in _named(root / "work", _WORK):
        _remove(path)
    for kind in _named(root, _KIND):
        for path in _named(kind, _ENTRY):
            _remove(path)
    return found


def _named(path: Path, pattern: re.Pattern[str]) -> list[Path]:
    """What is in our cache, or in a folder of it, under names that we give."""
    if not (_trusted(path) or _trusted(path.parent)):
        return []
    try:
        return sorted(found for found in path.iterdir() if pattern.fullmatch(found.name))
    except OSError:  # there is none
        return []


def _remove(path: Path) -> None:
    """Remove a file, or a folder and what it holds, as far as that can be done."""
    from shutil import rmtree

    with suppress(OSError):
        path.unlink()
        return
    rmtree(path, ignore_errors=True)


def sweep_leftovers(cache_dir: Path | str | None = None) -> None:
    """Remove what killed builds left behind, once it is an hour old."""
    limit = time.time() - STALE_SECONDS
    for path in _named(folder(cache_dir) / "work", _WORK):
        with suppress(OSError):
            if path.lstat().st_mtime < limit:
                _remove(path)
