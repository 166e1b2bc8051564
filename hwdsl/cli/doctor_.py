"""`hwdsl doctor`: what is installed, what works."""

import argparse
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from shutil import which

from hwdsl.cli.base import FINE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments (it has none)."""
    parser.set_defaults(_=None)


def run(options: argparse.Namespace) -> int:
    """Print a table; without a compiler hwdsl works, but slowly, and that is said."""
    import hwdsl
    from hwdsl.cli.base import table

    compiler = _compiler()
    rows = [
        ["hwdsl", hwdsl.__version__],
        ["python", f"{platform.python_version()} ({sys.executable})"],
        ["platform", platform.platform()],
        ["C compiler", compiler or "none: evaluators are interpreted, some 100 times slower"],
        *[
            [name, _version(name)]
            for name in ("cython", "numpy", "lark", "jinja2", "pyarrow", "matplotlib")
        ],
        ["cache", _cache_line()],
    ]
    print(table(rows))
    return FINE


def _compiler() -> str | None:
    from hwdsl.codegen.build import compiler

    command = compiler()
    return which(command[0]) if command else None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cache_line() -> str:
    from hwdsl.cli.cache_ import describe

    return describe()
