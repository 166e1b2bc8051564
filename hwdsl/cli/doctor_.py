"""`hwdsl doctor`: what is installed, what works."""

import argparse
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from shutil import which

from hwdsl.cli.answers import Doctor
from hwdsl.cli.base import format_argument
from hwdsl.cli.cache_ import contents, describe
from hwdsl.cli.errors import FINE

PACKAGES = ("cython", "numpy", "lark", "jinja2", "pyarrow", "matplotlib")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    format_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Print a table; without a compiler hwdsl works, but slowly, and that is said."""
    import hwdsl
    from hwdsl.cli.base import table

    found = Doctor(
        hwdsl.__version__,
        platform.python_version(),
        sys.executable,
        platform.platform(),
        _compiler(),
        {name: _version(name) for name in PACKAGES},
        contents(),
        _refused(),
    )
    if options.format == "json":
        from hwdsl.cli.jsons import write

        write(found)
        return FINE
    slow = "none: evaluators are interpreted, some 100 times slower"
    rows = [
        ["hwdsl", found.hwdsl],
        ["python", f"{found.python} ({found.executable})"],
        ["platform", found.platform],
        ["C compiler", found.compiler or slow],
        *([name, version or "not installed"] for name, version in found.packages.items()),
        ["cache", found.cache_refused or describe(found.cache)],
    ]
    print(table(rows))
    return FINE


def _compiler() -> str | None:
    from hwdsl.codegen.build.toolchain import BuildError, compiler

    try:
        command = compiler()
    except BuildError:  # said by whoever compiles
        return None
    return which(command[0]) if command else None


def _refused() -> str | None:
    """Why nothing is kept in the cache's place; None if it is ours or free."""
    from hwdsl.base import store

    try:
        store.refuse_foreign()
    except store.CacheError as error:
        return str(error)
    return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
