"""`hwdsl …`: find the command, run it, turn what happens into an exit code.

Exit codes: 0 fine, 1 the description is wrong, 2 the call is wrong, 70 a bug,
128 and the signal's number when interrupted (130 from the keyboard).
"""

import argparse
import atexit
import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import hwdsl
from hwdsl.base.notices import doing, watched
from hwdsl.cli.base import commands
from hwdsl.cli.errors import BUG, FINE, INTERRUPTED, WRONG_CALL, WRONG_DESCRIPTION, CommandError
from hwdsl.cli.signals import POLITE, Stopped, caught, stop
from hwdsl.cli.streams import ReaderGone, guarded

_GROUPS = commands()
ENDLESS = ("values", "coefficients", "files", "targets")
"""Arguments of which there may be any number, the last of their command."""
_MACHINE = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE,
    errno.ENOMEM, errno.EAGAIN,
}  # fmt: skip
"""Errors of the system that may come up anywhere and are no bug: no room, too many files."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what the user gets wrong is never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Trees and graphs live to the end of a command and hold no cycles worth looking for, not even
    # at exit, where the search through all of them is a fifth of the time of a check.
    gc.set_threshold(1_000_000, 50, 100)
    atexit.register(gc.freeze)
    with guarded(), caught(POLITE, stop):
        try:
            return _flushed(_run(words))
        except KeyboardInterrupt as ending:  # while the last lines were written
            return 128 + ending.number if isinstance(ending, Stopped) else INTERRUPTED


def _run(words: list[str]) -> int:
    """Run a command, turning what it raises into a message and an exit code."""
    try:
        return _dispatch(words)
    except CommandError as failure:
        _say(str(failure))
        return failure.code
    except ReaderGone:
        return FINE
    except Stopped as ending:
        _say(f"ended by {ending}")
        return 128 + ending.number
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except RecursionError:
        _say("the description nests too deeply; name parts of it with `let`")
        return WRONG_DESCRIPTION
    except MemoryError as error:
        _say(f"there is not enough memory for this{f': {error}' if str(error) else ''}")
        return WRONG_CALL
    except Exception as error:  # the process boundary: everything else has a place of its own
        if isinstance(error, OSError) and error.errno in _MACHINE:
            where = f": {error.filename}" if error.filename else ""
            _say(f"{error.strerror}{where}")
            return WRONG_CALL
        if os.environ.get("HWDSL_DEBUG"):
            raise
        _report_bug(error, words)
        return BUG


def _takes_long(work: str) -> None:
    _say(f"{work} takes long (^C stops it)")


def _flushed(code: int) -> int:
    """Hand on what was printed; the code is another one if that cannot be done."""
    try:
        sys.stdout.flush()
    except ReaderGone:
        pass
    except CommandError as failure:
        _say(str(failure))
        return failure.code
    return code


def _say(message: str) -> None:
    print(f"hwdsl: {message}", file=sys.stderr)


def _dispatch(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="hwdsl", description="Describe AI machines and ask what they are worth."
    )
    parser.add_argument("--version", action="version", version=f"hwdsl {hwdsl.__version__}")
    subparsers = parser.add_subparsers(
        prog="hwdsl", dest="command", metavar="COMMAND", required=True
    )
    chosen = next((w for w in words if not w.startswith("-")), None)
    if chosen is not None and chosen not in _GROUPS:
        raise CommandError(_unknown(chosen))
    for name, (purpose, example) in _GROUPS.items():
        sub = subparsers.add_parser(
            name, help=purpose, description=purpose, epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        if name == chosen:  # only the command asked for is imported
            module = import_module(f"hwdsl.cli.{name}_")
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    options = _parse(parser, subparsers.choices.get(chosen or "", parser), words)
    if isinstance(options, int):
        return options
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        with watched(_takes_long), doing(f"`hwdsl {chosen}`"):
            return run(options)
    except CommandError as failure:
        if getattr(options, "format", "") == "json":
            from hwdsl.cli.jsons import write_failure

            write_failure(failure)
        raise


def _unknown(command: str) -> str:
    """The message for a command that there is not."""
    from hwdsl.base.diagnostics import did_you_mean

    if command.endswith(".hw"):
        return f"say what to do with {command}: `hwdsl check {command}`, for instance"
    hint = did_you_mean(command, _GROUPS) or f"there are {', '.join(_GROUPS)}"
    return f"no command is called {command}; {hint}"


def _parse(
    parser: argparse.ArgumentParser, command: argparse.ArgumentParser, words: list[str]
) -> argparse.Namespace | int:
    """Parse, turning argparse's way of leaving into an exit code; `command` is who complains.

    Words of a list at the end (`name=value`, coefficients) may stand behind options too, where
    argparse leaves them over.
    """
    try:
        options, left = parser.parse_known_args(words)
        listed = next((getattr(options, n) for n in ENDLESS if hasattr(options, n)), None)
        if left and listed is not None and not any(w.startswith("-") for w in left):
            listed.extend(left)
        elif left:
            command.error(f"unrecognized arguments: {' '.join(left)}")
        return options
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else WRONG_CALL


def _report_bug(bug: Exception, words: Sequence[str]) -> None:
    """Say where it happened, and what to send; never the whole stack."""
    place = bug.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "unknown place"
    if place is not None:
        code = place.tb_frame.f_code
        where = f"{os.path.basename(code.co_filename)}:{place.tb_lineno} in {code.co_name}"
    print(
        f"hwdsl: this is a bug of hwdsl {hwdsl.__version__}, not of your file\n"
        f"  what:  {type(bug).__name__}: {bug}\n"
        f"  where: {where}\n"
        f"  call:  hwdsl {' '.join(words)}\n"
        "Please report these lines with the file that led to them. "
        "HWDSL_DEBUG=1 shows the whole stack.",
        file=sys.stderr,
    )
