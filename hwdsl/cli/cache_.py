"""`hwdsl cache [show|clear]`: the kernels kept on disk."""

import argparse

from hwdsl.cli.answers import Cache
from hwdsl.cli.errors import FINE, CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", nargs="?", choices=["show", "clear"], default="show")


def run(options: argparse.Namespace) -> int:
    """Show where the cache is and what it holds, or empty it."""
    from hwdsl.base import store

    try:
        store.refuse_foreign()
        removed = store.clear() if options.action == "clear" else 0
    except store.CacheError as error:
        raise CommandError(str(error)) from None
    if options.action == "clear":
        print(f"removed {removed} builds from {store.folder()}")
    else:
        print(describe(contents()))
    return FINE


def contents() -> Cache:
    """Where the cache is and what it holds."""
    from hwdsl.base import store

    entries = list(store.entries())
    return Cache(str(store.folder()), len(entries), sum(entry.size for entry in entries))


def describe(found: Cache) -> str:
    """A line about the cache: its folder, builds, size."""
    return f"{found.folder}: {found.builds} builds, {found.bytes / 1e6:.1f} MB"
