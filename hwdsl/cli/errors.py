"""How commands end: exit codes, and the exception that ends one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwdsl.base.diagnostics import Diagnostic

FINE, WRONG_DESCRIPTION, WRONG_CALL, BUG, INTERRUPTED = 0, 1, 2, 70, 130


class CommandError(Exception):
    """Ends a command with a message for the user and an exit code.

    `findings` are what is wrong in files, as far as that is what the message is about.
    """

    def __init__(
        self, message: str, code: int = WRONG_CALL, findings: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.code, self.findings = code, findings


@contextmanager
def told(code: int = WRONG_CALL) -> Iterator[None]:
    """Tell the user of a `CallError` in the block, and end the command with `code`.

    It is the one exception of the library that is a mistake of the user: any other is a bug, but
    for a package that is not installed.
    """
    from hwdsl.base.packages import MissingPackage
    from hwdsl.codegen.runtime import CallError

    try:
        yield
    except CallError as error:
        raise CommandError(str(error), code) from None
    except MissingPackage as error:
        raise CommandError(str(error)) from None
