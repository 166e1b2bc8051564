"""Writing files: a reader sees the old text or the new one, and nothing of the user's is lost.

A link is followed, the mode is kept, and what is no regular file is refused. A command that makes
a result calls `check_target` first: it replaces an earlier result, never what somebody else wrote.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hwdsl.cli.errors import CommandError

HEAD = 1 << 20
"""Characters at the start of a file by which its writer is known: a table's header may be long."""


def check_target(
    path: Path, ours: Callable[[str], bool], inputs: Iterable[Path | str] = ()
) -> None:
    """End the command if writing `path` would lose what it reads or what others wrote.

    `ours` tells by the start of a text whether it is an earlier result; an empty file is nobody's.
    """
    target, before = _place(path)
    for read in inputs:
        with suppress(OSError):  # what cannot be read is told by who reads it
            if before is not None and os.path.samestat(os.stat(read), before):
                raise CommandError(f"{path} is what the call reads: name another file to write")
    if before is None or not before.st_size:
        return
    with writing(path), target.open(encoding="utf-8", errors="replace") as file:
        head = file.read(HEAD)
    if not ours(head):
        raise CommandError(
            f"{path} is there already and no earlier result: name another file, or remove it"
        )


def write_text(path: Path, text: str) -> None:
    """Replace a file's text at once."""
    with replacing(path) as temporary, writing(path):
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file that takes the place of `path` when the block ends well.

    A file that has several names keeps them: it is written over, which is not done at once.
    """
    target, before = _place(path)
    with writing(path):
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with writing(path):
            if before is None:
                temporary.chmod(0o666 & ~_umask())
            else:
                with suppress(PermissionError):  # only the system's owner gives files away
                    os.chown(temporary, before.st_uid, before.st_gid)
                temporary.chmod(stat.S_IMODE(before.st_mode))
            if before is None or before.st_nlink == 1:
                temporary.replace(target)
            else:
                _write_over(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell the user what the system does not do in the block, which does nothing but write."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from None


def _place(path: Path) -> tuple[Path, os.stat_result | None]:
    """The file behind all links, and what is known of it if it is there."""
    target = Path(os.path.realpath(path))
    with writing(path):
        try:
            before = target.stat()
        except FileNotFoundError:
            return target, None
    if stat.S_ISDIR(before.st_mode):
        raise CommandError(f"cannot write {path}: it is a folder")
    if not stat.S_ISREG(before.st_mode):
        raise CommandError(f"cannot write {path}: it is no regular file")
    if not os.access(target, os.W_OK):
        raise CommandError(f"cannot write {path}: it may not be written")
    return target, before


def _write_over(temporary: Path, target: Path) -> None:
    """Write a text into a file that has other names."""
    with temporary.open("rb") as new, target.open("r+b") as old:
        shutil.copyfileobj(new, old)
        old.truncate()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
