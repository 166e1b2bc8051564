"""Which tests stand together, and which build: noted in one run, alone in another.

The tests of a file share what was made for it, and so do the tests of a file that ships
(`shipped.py`), wherever they stand: with `-n` one worker has them all.

CI runs the suite, and then once more with nothing left to compile. What may be left is a kernel
whose key is another one in another process. So one test runs again for each kernel that was built
in the shared cache, and one for each description and command that was given to a process. A
test with a cache of its own does the same both times and runs once.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hwdsl.base import store
from hwdsl.codegen.build.toolchain import NO_COMPILE

sys.path.insert(0, str(Path(__file__).parent))  # `shipped` is importable by all tests
import shipped

ROOT = Path(__file__).parents[1]
NOTED, EARLIER = pytest.StashKey[dict[str, str]](), pytest.StashKey[dict[str, str]]()
"""What was asked for and the test that did so first, in this run and in the one before."""
PROCESS = "process-"
"""How the names of what was given to processes begin; the others are keys of kernels."""


def pytest_configure(config: pytest.Config) -> None:
    """Interrupts count here, though a shell in the background starts what it runs without them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if folder := config.getoption("--only-noted"):
        noted = config.stash[EARLIER] = {}
        for file in sorted(Path(folder).iterdir()):
            found = json.loads(file.read_text("utf-8"))
            # A kernel that was looked for and not built, as interpreting was enough, has no key
            # to be another one.
            noted.update({k: v for k, v in found.items() if k.startswith(PROCESS) or is_built(k)})


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a noted test are not read."""
    names = config.stash.get(EARLIER, {}).values()
    files = {ROOT / name.partition("::")[0] for name in names}
    skipped = files and collection_path.is_file() and collection_path not in files
    return True if skipped else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--note-builds", metavar="FOLDER", help="write which tests build what")
    parser.addoption(
        "--only-noted", metavar="FOLDER", help="run one test for each thing noted there"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note which kernels a test looks for, and what it gives to processes, in its fixtures too."""
    if item.config.getoption("--note-builds") or item.config.getoption("--only-noted"):
        with noting(item):
            return (yield)
    return (yield)


@contextmanager
def noting(item: pytest.Item) -> Iterator[None]:
    noted = item.config.stash.setdefault(NOTED, {})
    shared, find, start = store.folder(), store.find, subprocess.Popen.__init__

    def finding(
        name: str, cache_dir: Path | str | None = None, *, kind: store.EntryKind = store.KERNELS
    ) -> Path | None:
        # What builds nothing may ask or not: from how much work on depends on how threads share it.
        builds = os.environ.get(NO_COMPILE) != "1"
        if builds and store.folder(cache_dir) == shared and kind is store.KERNELS:
            noted.setdefault(name, item.nodeid)
        return find(name, cache_dir, kind=kind)

    def starting(self: Any, args: Any, *more: Any, **given: Any) -> None:
        environment = given.get("env") or os.environ
        sharing = store.folder(environment.get("HWDSL_CACHE_DIR")) == shared
        if sharing and "hwdsl" in str(args).replace(store.NAME, ""):
            what = repr(given_to(args, given.get("cwd"))).encode()
            noted.setdefault(f"{PROCESS}{sha256(what).hexdigest()}", item.nodeid)
        start(self, args, *more, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "find", finding)
        patch.setattr(subprocess.Popen, "__init__", starting)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Who asked for a kernel that was built asks for it again, by the same key."""
    yield
    earlier = item.config.stash.get(EARLIER, {})
    keys = {key for key, name in earlier.items() if name == item.nodeid and is_built(key)}
    assert keys <= item.config.stash.get(NOTED, {}).keys(), "a kernel has another key by now"


def is_built(key: str) -> bool:
    return (store.folder() / store.KERNELS.name / key).is_dir()


def given_to(args: Any, cwd: Any) -> object:
    """What decides which kernels a process asks for: the command and the descriptions, or all."""
    words = [args] if isinstance(args, str) else [os.fsdecode(word) for word in args]
    folder = Path(cwd or os.curdir)
    named = {folder / word for line in words for word in line.split() if word.endswith(".hw")}
    texts = {path.read_bytes() for path in named if path.is_file()}
    if not named:
        return words
    commands = {word for line in words for word in line.split() if word.isalpha()}
    used = {path.name: path.read_bytes() for path in folder.glob("*.hw") if folder != ROOT}
    return sorted(commands), sorted(texts), sorted(used.items())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was noted; each process of a parallel run has a file of its own."""
    folder = session.config.getoption("--note-builds")
    if folder is not None and NOTED in session.config.stash:
        Path(folder).mkdir(parents=True, exist_ok=True)
        worker = getattr(session.config, "workerinput", {}).get("workerid", "all")
        text = json.dumps(session.config.stash[NOTED])
        (Path(folder) / worker).write_text(text, "utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not noted; put the tests of a group behind the first of them."""
    if config.getoption("--only-noted"):
        noted = config.stash[EARLIER]
        chosen = set(noted.values())
        assert any(map(is_built, noted)), "the run before noted no kernel"
        config.hook.pytest_deselected(items=[x for x in items if x.nodeid not in chosen])
        items[:] = [x for x in items if x.nodeid in chosen]
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(group(item.nodeid), []).append(item)
    items[:] = [item for group in groups.values() for item in group]


@pytest.fixture(scope="session", autouse=True)
def _notes_of_what_files_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()  # of a worker it lies in that of the run
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fields-read"
    folder.mkdir(exist_ok=True)
    shipped.NOTES[:] = [folder]


def pytest_collection_finish() -> None:
    """What is there before the first test stays: the collector need not look at it again.

    Nor at what is new after every 700 objects, of which most tests make millions.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 10)


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
