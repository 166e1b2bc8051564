"""`hwdsl cache [show|clear]`: the kernels kept on disk."""

import argparse

from hwdsl.cli.base import FINE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", nargs="?", choices=["show", "clear"], default="show")


def run(options: argparse.Namespace) -> int:
    """Show where the cache is and what it holds, or empty it."""
    from hwdsl.codegen import cache

    if options.action == "clear":
        print(f"removed {cache.clear()} builds from {cache.folder()}")
    else:
        print(describe())
    return FINE


def describe() -> str:
    """A line about the cache: its folder, builds, size."""
    from hwdsl.codegen import cache

    entries = list(cache.entries())
    size = sum(entry.size for entry in entries)
    return f"{cache.folder()}: {len(entries)} builds, {size / 1e6:.1f} MB"
