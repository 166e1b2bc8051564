"""`hwdsl cache [show|clear]`: what is kept on disk."""

import argparse

from hwdsl.cli.answers import Cache, CacheKind
from hwdsl.cli.errors import FINE, CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", nargs="?", choices=["show", "clear"], default="show")


def run(options: argparse.Namespace) -> int:
    """Show where the cache is and what it holds, or empty it."""
    from hwdsl.base import store
    from hwdsl.cli.base import table

    try:
        store.refuse_foreign()
        removed = store.clear() if options.action == "clear" else 0
    except store.CacheError as error:
        raise CommandError(str(error)) from None
    if options.action == "clear":
        print(f"removed {_counted(removed)} from {store.folder()}")
        return FINE
    found = contents()
    print(describe(found))
    holds = {kind.name: kind.holds for kind in store.KINDS}
    rows = [
        [f"  {each.kind}", f"{each.entries:,}", _size(each.bytes), holds[each.kind]]
        for each in found.kinds
    ]
    if rows:
        print(table(rows, right=[1, 2]))
    return FINE


def contents() -> Cache:
    """Where the cache is and what it holds; kinds of which there is nothing are left out."""
    from hwdsl.base import store

    entries = list(store.entries())
    kinds = []
    for kind in store.KINDS:
        sizes = [entry.size for entry in entries if entry.kind is kind]
        if sizes:
            kinds.append(CacheKind(kind.name, len(sizes), sum(sizes)))
    built = (store.KERNELS.name, store.INTERFACES.name)
    builds = sum(each.entries for each in kinds if each.kind in built)
    return Cache(str(store.folder()), builds, sum(each.bytes for each in kinds), kinds)


def describe(found: Cache) -> str:
    """A line about the cache: its folder, how many entries, size."""
    entries = sum(each.entries for each in found.kinds)
    return f"{found.folder}: {_counted(entries)}, {_size(found.bytes)}"


def _counted(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries:,} entries"


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
