"""Which tests stand together, and which build: noted in one run, alone in another.

The tests of a file share what was made for it, and so do the tests of a file that ships
(`shipped.py`), wherever they stand: with `-n` one worker has them all.

CI runs the suite, and then once more with nothing left to compile. A test that never asked the
cache for a kernel, and started no process that could, does the same both times and runs once.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hwdsl.base import store

sys.path.insert(0, str(Path(__file__).parent))  # `shipped` is importable by all tests
NOTED = pytest.StashKey[set[str]]()


def pytest_configure() -> None:
    """Interrupts count here, though a shell in the background starts what it runs without them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--note-builds", metavar="FOLDER", help="write the names of tests that build")
    parser.addoption("--only-noted", metavar="FOLDER", help="run the tests that were noted there")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note a test that looks for a kernel or starts a process, in its fixtures too."""
    folder = item.config.getoption("--note-builds")
    if folder is None:
        return (yield)
    noted = item.config.stash.setdefault(NOTED, set())
    with pytest.MonkeyPatch.context() as patch:
        for owner, method in ((store, "find"), (subprocess, "Popen")):
            whole = getattr(owner, method)
            if isinstance(whole, type):
                owner, method, whole = whole, "__init__", whole.__init__

            def noting(*args: object, _whole: object = whole, **given: object) -> object:
                noted.add(item.nodeid)
                return _whole(*args, **given)

            patch.setattr(owner, method, noting)
        return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was noted; each process of a parallel run has a file of its own."""
    folder = session.config.getoption("--note-builds")
    if folder is not None and NOTED in session.config.stash:
        Path(folder).mkdir(parents=True, exist_ok=True)
        worker = getattr(session.config, "workerinput", {}).get("workerid", "all")
        text = "\n".join(sorted(session.config.stash[NOTED]))
        (Path(folder) / worker).write_text(text, "utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not noted; put the tests of a group behind the first of them."""
    folder = config.getoption("--only-noted")
    if folder is not None:
        noted = {
            line for file in Path(folder).iterdir() for line in file.read_text("utf-8").split("\n")
        }
        assert noted, "the run before noted no test"
        config.hook.pytest_deselected(items=[x for x in items if x.nodeid not in noted])
        items[:] = [x for x in items if x.nodeid in noted]
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(group(item.nodeid), []).append(item)
    items[:] = [item for group in groups.values() for item in group]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each group is given to one worker, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return Grouped(config, log)


def group(nodeid: str) -> str:
    """The group of a test: the file that ships of which it is, or the file in which it stands."""
    stands, _, name = nodeid.partition("::")
    of = name.partition("[")[2].removesuffix("]")
    return of if of.endswith(".hw") else stands
