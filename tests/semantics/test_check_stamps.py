"""Library modules found clean before are checked late: nothing else may differ."""

import shutil
from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base import store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.codegen.ir.serialization import dump
from hwdsl.semantics import definitions

BASE = """edition 2026
kind wheel {
    size : length
    fn around() -> length = pi * size
}
kind cart {
    speed : length / time = 1 m/s
    wheel front
    let turns = speed / front.around()
}
fn twice(x: length) -> length = 2 * x
"""
CARTS = """edition 2026
use std.base: cart, wheel, twice
cart small {
    wheel front { size = twice(20 cm) }
    require quick: speed > 0.1 m/s else "too slow at {speed in m/s}"
}
fn idle(x: length) -> length = twice(x)
"""
MAIN = """edition 2026
use std.carts: small
evaluator run {
    param speed : length / time = 2 m/s
    let mine = small with { speed = speed }
    output turns in 1/s = mine.turns
}
"""


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of the units and two modules, and an empty cache."""
    import hwdsl.library as package

    folder = tmp_path / "library"
    (folder / "std").mkdir(parents=True)
    for name in ("units.hw", "references.hw"):
        shutil.copy(Path(package.__path__[0]) / "std" / name, folder / "std" / name)
    (folder / "std" / "base.hw").write_text(BASE, "utf-8")
    (folder / "std" / "carts.hw").write_text(CARTS, "utf-8")
    monkeypatch.setattr(package, "__path__", [str(folder)])
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions whose bodies were checked from here on."""
    seen: list[str] = []
    real = definitions.check_function

    def check_function(state, info, env):  # type: ignore[no-untyped-def]
        seen.append(info.name)
        real(state, info, env)

    monkeypatch.setattr(definitions, "check_function", check_function)
    return seen


def found(tmp_path: Path, text: str = MAIN) -> tuple[list[str], dict[str, str]]:
    """What is found in a file, and its graphs."""
    path = tmp_path / "main.hw"
    path.write_text(text, "utf-8")
    diagnostics = Diagnostics()
    program = driver.program(path, diagnostics)
    graphs = {} if program is None else {n: dump(g) for n, g in program.graphs.items()}
    return [f"{d.name} {d.span}" for d in diagnostics.items], graphs


def test_bodies_are_checked_when_they_are_read(tmp_path: Path, bodies: list[str]) -> None:
    cold = found(tmp_path)
    assert cold[0] == []
    assert cold[1]
    assert sorted(bodies) == ["around", "idle", "twice"]
    bodies.clear()
    assert found(tmp_path) == cold
    assert sorted(bodies) == ["around", "twice"]  # nothing reads `idle`


@pytest.mark.parametrize(
    "text",
    [
        MAIN.replace("speed = speed", "speed = 3 kg"),
        MAIN.replace("mine.turns", "mine.turn"),
        MAIN.replace("param speed : length / time = 2 m/s", "param speed : length/time = 0 m/s"),
        "edition 2026\nuse std.carts: small\nuse std.base: cart\ncart mine { wheel back { } }\n",
        "edition 2026\nuse std.base: cart, wheel\ncart mine { wheel front { } }\n",
        "edition 2026\nuse std.carts: small\ncart mine : small { front.size = 1 s }\n",
        "edition 2026\nuse std.carts: small\nuse std.base: cart\n"
        "cart mine : small { speed = 1 cm/s }\n",
    ],
)
def test_findings_do_not_depend_on_marks(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = found(tmp_path, text)
    found(tmp_path)
    assert found(tmp_path, text) == cold
    monkeypatch.setenv("HWDSL_CACHE_DIR", "/proc/no/such/folder")
    assert found(tmp_path, text) == cold


def test_a_changed_module_is_checked_in_full(tmp_path: Path, library: Path) -> None:
    found(tmp_path)
    file = library / "std" / "carts.hw"
    file.write_text(CARTS.replace("= twice(x)", "= twice(1 s)"), "utf-8")
    names, _ = found(tmp_path)
    assert [n.split()[0] for n in names] == ["unit-mismatch"]
    assert "carts.hw" in names[0]
    assert found(tmp_path)[0] == names  # what had a finding gets no mark


def test_a_module_is_checked_again_when_what_it_uses_changes(tmp_path: Path, library: Path) -> None:
    found(tmp_path)
    file = library / "std" / "base.hw"
    file.write_text(BASE.replace("twice(x: length) -> length = 2 * x",
                                 "twice(x: time) -> time = 2 * x"), "utf-8")  # fmt: skip
    assert any("carts.hw" in name for name in found(tmp_path)[0])


def test_the_main_file_is_always_checked(library: Path) -> None:
    file = library / "std" / "base.hw"
    for _ in range(2):
        diagnostics = Diagnostics()
        checked = driver.check(file, diagnostics)
        assert checked is not None
        assert len(checked.types) > 5


@pytest.mark.parametrize("damage", ["empty", "other", "wrong hash", "open to others"])
def test_an_unsound_mark_is_not_trusted(tmp_path: Path, bodies: list[str], damage: str) -> None:
    found(tmp_path)
    marks = list((store.folder() / store.CHECKED.name).iterdir())
    assert len(marks) == 4
    for mark in marks:
        if damage == "wrong hash":
            mark.write_bytes(b"\0" * 32 + mark.read_bytes()[32:])
        elif damage == "open to others":
            mark.chmod(0o666)
        else:
            store.put(store.CHECKED, mark.name, {"empty": "", "other": "clean"}[damage])
    bodies.clear()
    found(tmp_path)
    assert "idle" in bodies


def test_what_is_checked_late_is_checked_once(tmp_path: Path) -> None:
    found(tmp_path)
    diagnostics = Diagnostics()
    checked = driver.check(tmp_path / "main.hw", diagnostics)
    assert checked is not None
    symbol = checked.modules["std.carts"].values["idle"]
    before = len(checked.types)
    checked.ensure(symbol)
    middle = len(checked.types)
    checked.ensure(symbol)
    assert before < middle == len(checked.types)
    assert diagnostics.items == []
