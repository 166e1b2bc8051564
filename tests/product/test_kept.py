"""Loading again: what is kept is used while nothing has changed, and gives the same."""

import shutil
from pathlib import Path

import pytest

import hwdsl
from hwdsl.api import driver
from hwdsl.api.evaluator import Evaluator
from hwdsl.base import fingerprint, store
from hwdsl.codegen.build.toolchain import ABORT_ON_MISS, BuildError

MAIN = """edition 2026
#! A machine beside a table.
use part: machine, fast
use std.distributions: uniform
use "rates.csv" as rates

evaluator run {
    param  work  : data = 8 GB in 1 GB .. 1 TB ~ uniform(1 GB, 2 GB)
    param  warm  : temperature = 20 degC
    choice which : machine in [fast, fast with { rate = 5 GB/s }]
    require short: work / which.rate < 100 s else "{work in GB} takes too long"
    require sold: fast.price > 0
    output time in s = work / which.rate
    output best in GB/s = max(rates.rate)
    output hot in degC = warm + 1 K
}
"""
PART = """edition 2026
kind machine { rate : bandwidth, price : real }
machine fast { rate = 2 GB/s, price = unknown "ask" }
"""
TABLE = "name,rate [GB/s]\na,1\nb,3\n"
WARNS = "edition 2026\nevaluator silent { param x : real = 1 }\n"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own for each test, which has to compile what it wants."""
    monkeypatch.delenv(ABORT_ON_MISS, raising=False)
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "main.hw").write_text(MAIN, "utf-8")
    (tmp_path / "part.hw").write_text(PART, "utf-8")
    (tmp_path / "rates.csv").write_text(TABLE, "utf-8")
    return tmp_path / "main.hw"


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were checked from here on."""
    seen: list[Path] = []
    real = driver.check

    def check(path, *more):  # type: ignore[no-untyped-def]
        seen.append(path)
        return real(path, *more)

    monkeypatch.setattr(driver, "check", check)
    return seen


def load(path: Path) -> Evaluator:
    """The file's evaluator, interpreted: what is tested is not the kernel."""
    return hwdsl.load(path, compiled=False).run


def answers(found: Evaluator) -> object:
    """All that a user can ask, but for addresses."""
    return (
        found.spec,
        found.graph,
        dict(found.units),
        found({"work": "4 GB"}).time,
        found(warm="30 degC").hot,
        found.gradient(wrt="work"),
        found.axis("work", "1..4 GB:4").tolist(),  # type: ignore[union-attr]
        found.sample(20, seed=1)["time"].tolist(),
        str(found.why("time")),
        found.violated_rules(work="900 GB"),
        found.__doc__,
    )


def test_the_same_cold_warm_and_without_a_cache(
    file: Path, cold: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = answers(load(file))
    assert len(cold) == 1
    warm = load(file)
    warm(work="4 GB")
    warm.sweep(work="1..4 GB:4")
    warm.gradient()
    warm.sample(10)
    assert warm.undecided == (("run.sold", "not decided: `fast.price` is not known: ask"),)
    assert warm.operations == load(file).operations > 3
    assert len(cold) == 1  # none of these needs the file again
    assert answers(warm) == first
    assert len(cold) == 2  # `why` did
    monkeypatch.setenv("HWDSL_CACHE_DIR", "/proc/no/such/folder")
    assert answers(load(file)) == first


def test_kernels_are_found_by_the_texts_of_graphs(file: Path, cold: list[Path]) -> None:
    first, again = hwdsl.load(file), hwdsl.load(file)
    assert len(cold) == 1
    assert again.run.compiled
    assert type(again.run.kernel) is type(first.run.kernel)
    assert again.run(work="4 GB").time == first.run(work="4 GB").time


def test_a_missing_kernel_is_still_told(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hwdsl.load(file)
    monkeypatch.setenv(ABORT_ON_MISS, "1")
    assert hwdsl.load(file).run.compiled
    shutil.rmtree(store.folder() / "kernels")
    with pytest.raises(BuildError, match=ABORT_ON_MISS):
        hwdsl.load(file)


@pytest.mark.parametrize(
    ("name", "old", "new", "time", "best"),
    [
        ("main.hw", "= 8 GB", "= 16 GB", 8.0, 3.0),
        ("part.hw", "= 2 GB/s", "= 8 GB/s", 1.0, 3.0),
        ("rates.csv", "b,3", "b,4", 4.0, 4.0),
    ],
)
def test_every_file_counts(
    file: Path, cold: list[Path], name: str, old: str, new: str, time: float, best: float
) -> None:
    before = load(file)
    assert (before().time, before().best) == (4.0, 3.0)
    changed = file.parent / name
    changed.write_text(changed.read_text("utf-8").replace(old, new), "utf-8")
    after = load(file)()
    assert (after.time, after.best) == (time, best)
    assert len(cold) == 2


def test_a_file_that_goes_or_leads_elsewhere_counts(file: Path, cold: list[Path]) -> None:
    load(file)
    (file.parent / "part.hw").rename(file.parent / "other.hw")
    with pytest.raises(hwdsl.DescriptionError, match="no module `part`"):
        load(file)
    (file.parent / "part.hw").symlink_to("other.hw")
    load(file)
    assert len(cold) == 3


@pytest.mark.parametrize("what", ["compiler", "library"])
def test_compiler_and_library_count(
    file: Path, cold: list[Path], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    load(file)
    monkeypatch.setattr(fingerprint, what, lambda: "another")
    load(file)
    assert len(cold) == 2


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the library in its place."""
    import hwdsl.library as library

    folder = tmp_path / "library"
    shutil.copytree(library.__path__[0], folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(library, "__path__", [str(folder)])
    return folder


def test_a_changed_library_file_is_seen(copied: Path, tmp_path: Path, cold: list[Path]) -> None:
    module, file = copied / "std" / "speeds.hw", tmp_path / "main.hw"
    module.write_text("edition 2026\nlet top : length/time = 3 m/s\n", "utf-8")
    file.write_text(
        "edition 2026\nuse std.speeds: top\nevaluator run { output v in m/s = top }\n", "utf-8"
    )
    assert load(file)().v == load(file)().v == 3.0
    assert len(cold) == 1
    module.write_text("edition 2026\nlet top : length/time = 4 m/s\n", "utf-8")
    assert load(file)().v == 4.0


def test_warnings_come_again(tmp_path: Path, cold: list[Path]) -> None:
    file = tmp_path / "warns.hw"
    file.write_text(WARNS, "utf-8")
    first, again = hwdsl.load(file, compiled=False), hwdsl.load(file, compiled=False)
    assert len(cold) == 1
    assert [d.name for d in first.diagnostics.items] == ["no-output", "unread-param"]
    assert again.diagnostics == first.diagnostics
    span = again.diagnostics.items[0].span
    assert span is not None
    assert span.text == "silent"


def test_errors_come_again(tmp_path: Path) -> None:
    file = tmp_path / "wrong.hw"
    file.write_text("edition 2026\nlet a : real = b\n", "utf-8")
    for _ in range(2):
        with pytest.raises(hwdsl.DescriptionError, match="unknown"):
            hwdsl.load(file)


def entry(tmp_path: Path) -> Path:
    """The only entry there is."""
    (found,) = (store.folder() / store.LOADED.name).iterdir()
    return found


@pytest.mark.parametrize(
    "damage",
    [
        "empty",
        "no hash",
        "list",
        "null",
        "object",
        "drop",
        "graph",
        "unit",
        "spec",
        "place",
        "foreign",
    ],
)
def test_what_is_not_sound_is_made_anew(
    file: Path, tmp_path: Path, cold: list[Path], damage: str
) -> None:
    first = load(file)()
    path = entry(tmp_path)
    data = store.get(store.LOADED, path.name, dict)
    assert data is not None
    held = data["file"]["evaluators"]["run"]
    match damage:
        case "empty":
            path.write_bytes(b"")
        case "no hash":
            path.write_bytes(b"\0" * 32 + path.read_bytes()[32:])
        case "list" | "null" | "object":
            data = {"list": [], "null": None, "object": {}}[damage]
        case "drop":
            del data["file"]["evaluators"]
        case "graph":
            held["graph_bytes"] = b"graph 7"
        case "unit":
            held["units"]["work"]["factor"] = "1/0"
        case "spec":
            held["spec"] = {}
        case "place":
            data["inputs"] = [["../../../../etc/passwd", "/etc/passwd", "0"]]
        case "foreign":
            data["key"] = "of another compiler"
    if damage not in ("empty", "no hash"):
        store.put(store.LOADED, path.name, data)
    assert load(file)().time == first.time
    assert len(cold) == 2


def test_what_others_could_have_written_is_not_read(
    file: Path, tmp_path: Path, cold: list[Path]
) -> None:
    load(file)
    entry(tmp_path).chmod(0o666)
    load(file)
    assert len(cold) == 2
    load(file)
    assert len(cold) == 2  # a sound one has taken its place
    assert entry(tmp_path).stat().st_mode & 0o777 == 0o600


def test_a_change_behind_the_back_is_told(file: Path) -> None:
    load(file)
    warm = load(file)
    part = file.parent / "part.hw"
    part.write_text(PART.replace("= 2", "= 8"), "utf-8")
    assert warm().time == 4.0  # as it was loaded
    with pytest.raises(ValueError, match="have changed: load it again"):
        warm.why("time")


def test_a_changed_main_file_is_explained_as_it_was(file: Path) -> None:
    load(file)
    warm = load(file)
    before = str(warm.why("time"))
    file.write_text(MAIN.replace("= 8 GB", "= 16 GB"), "utf-8")
    assert str(load(file).why("time")) != before
    assert str(warm.why("time")) == before


def test_one_entry_a_file(file: Path, tmp_path: Path) -> None:
    load(file)
    file.write_text(MAIN.replace("= 8 GB", "= 16 GB"), "utf-8")
    load(file)
    entry(tmp_path)
