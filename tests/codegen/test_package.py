"""A written module: whole or not there, in its place or told why not, and a package of Python."""

import importlib.util
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from test_build import SPEC, roofline

from hwdsl.codegen.build.ahead_of_time import is_ours, package, write_module, write_wheel
from hwdsl.codegen.build.toolchain import features
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.runtime import OutputSpec, ParamSpec, Spec


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def scaled(*factors: float):
    """Evaluators `first`, `second`, ...: their param times a factor."""
    graphs, specs = {}, {}
    for name, factor in zip(("first", "second"), factors, strict=True):
        b = GraphBuilder()
        graphs[name] = b.finish([("y", b.op("mul", b.param("x"), b.const(factor)))])
        specs[name] = Spec(name, (ParamSpec("x"),), (OutputSpec("y"),))
    return graphs, specs


def imported(folder: Path, name: str = "two"):
    spec = importlib.util.spec_from_file_location("probe", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["probe"] = module
    spec.loader.exec_module(module)
    return module


def answers(folder: Path) -> tuple[float, float]:
    module = imported(folder)
    return module.first(x=10.0).y, module.second(x=10.0).y


OLD, NEW = scaled(1.0, 10.0), scaled(10.0, 1.0)


def test_a_module_is_replaced_at_once_or_not_at_all(tmp_path, cache_dir, monkeypatch):
    """Whichever step fails for want of space, the old module is whole and nothing is left."""
    write_module(tmp_path, package("two", *OLD, cache_dir=cache_dir))
    write_module(
        tmp_path / "other", package("two", *NEW, cache_dir=cache_dir)
    )  # compiles the kernels
    before = sorted(x.name for x in tmp_path.iterdir())
    steps = ("write_bytes", "write_text", "rename", "replace", "mkdir")
    done = {name: getattr(Path, name) for name in steps}
    failed = 0
    while True:
        count = iter(range(1000))

        def full(*args, _name, _count=count, _failed=failed, **given):
            if str(args[0]).startswith(str(tmp_path)) and next(_count) == _failed:
                raise OSError(28, "No space left on device")
            return done[_name](*args, **given)

        with monkeypatch.context() as patch:
            for name in steps:
                patch.setattr(Path, name, lambda *a, _n=name, **k: full(*a, _name=_n, **k))
            try:
                write_module(tmp_path, package("two", *NEW, cache_dir=cache_dir))
            except OSError:
                pass
            else:
                break
        assert answers(tmp_path) == (10.0, 100.0)
        assert sorted(x.name for x in tmp_path.iterdir()) == before
        failed += 1
    assert failed > 10
    assert answers(tmp_path) == (100.0, 10.0)
    assert len(list(tmp_path.glob("_two_*"))) == 1


def test_files_that_do_not_belong_together_are_not_loaded(tmp_path, cache_dir):
    write_module(tmp_path, package("two", *OLD, cache_dir=cache_dir))
    (folder,) = tmp_path.glob("_two_*")
    specs = folder / "runtime" / "specs.py"
    whole = specs.read_bytes()
    specs.write_bytes(whole.replace(b"first", b"third"))
    with pytest.raises(ImportError, match=r"the files in .* were changed: run `hwdsl comp"):
        imported(tmp_path)
    specs.unlink()
    with pytest.raises(ImportError, match=r"No such file.*run `hwdsl compile` again"):
        imported(tmp_path)
    write_module(tmp_path, package("two", *OLD, cache_dir=cache_dir))
    assert specs.read_bytes() == whole
    assert answers(tmp_path) == (10.0, 100.0)


def test_what_was_built_for_another_place_says_so(tmp_path, cache_dir, monkeypatch):
    write_module(tmp_path, package("two", *OLD, cache_dir=cache_dir))
    version = f"CPython {sys.version_info[0]}.{sys.version_info[1]} on linux"
    text = (tmp_path / "two.py").read_text("utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sysconfig, "get_config_var", lambda _: ".cpython-399-other.so")
        with pytest.raises(
            ImportError, match=rf"was built for {version}.*run `hwdsl compile` again"
        ):
            imported(tmp_path)
    (tmp_path / "two.py").write_text(text.replace("in ['", "in ['avx9000', '"), "utf-8")
    if features():  # of a processor that tells them
        with pytest.raises(ImportError, match="built for a processor with avx9000: run"):
            imported(tmp_path)


def test_a_module_may_be_called_as_the_parts_of_others_are(tmp_path, cache_dir):
    for name in ("_hwdsl_runtime", "runtime", "_two"):
        write_module(tmp_path, package(name, *OLD, cache_dir=cache_dir))
        assert imported(tmp_path, name).first(x=2.0).y == 2.0


def test_all_that_is_replaced_says_who_wrote_it(tmp_path, cache_dir):
    written = write_module(tmp_path, package("two", *OLD, cache_dir=cache_dir))
    assert [x.name for x in written[:2]] == ["two.pyi", "two.py"]
    assert all(is_ours(x.read_text("utf-8")) for x in written[:2])
    assert all(x.is_file() for x in written)


@pytest.mark.parametrize("file", ["decode.py", "decode.pyi"])
def test_a_file_of_the_users_is_not_overwritten(tmp_path, monkeypatch, capsys, file):
    from hwdsl.cli.main import main

    monkeypatch.chdir(tmp_path)
    Path("decode.hw").write_text("edition 2026\nevaluator e {\n    output y = 1\n}\n")
    Path(file).write_text("import mine\n")
    assert main(["compile", "decode.hw", "-o", "."]) == 2
    assert f"{file} is there already and no earlier result" in capsys.readouterr().err
    assert Path(file).read_text() == "import mine\n"
    Path(file).unlink()
    assert main(["compile", "decode.hw", "-o", "."]) == 0
    assert main(["compile", "decode.hw", "-o", "."]) == 0


USE = """
import sys
for name in ("hwdsl", "Cython", "attrs", "jinja2", "lark", "msgspec", "platformdirs"):
    sys.modules[name] = None
import machine
print(machine.roofline(bandwidth="6 TB/s", chips=10).time)
print(machine.roofline.sweep(bandwidth="1..3 TB/s:3", chips="1, 2")["time"].shape)
"""


def test_a_wheel_holds_the_module_for_this_python(tmp_path, cache_dir):
    given = ("machine", {"roofline": roofline()}, {"roofline": SPEC})
    wheel = write_wheel(tmp_path / "made", package(*given, cache_dir=cache_dir))
    again = write_wheel(tmp_path / "again", package(*given, cache_dir=cache_dir))
    assert wheel.read_bytes() == again.read_bytes()
    assert [x.name for x in (tmp_path / "made").iterdir()] == [wheel.name]
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name.endswith(f"-{version}-{version}-{platform}.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"machine/__init__.py", "machine/__init__.pyi", "machine/py.typed"} <= set(names)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
         "--target", str(tmp_path / "site"), str(wheel)],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
    )  # fmt: skip
    assert (done.stdout.splitlines(), done.stderr) == (["100.0", "(3, 2)"], "")


SCRIPT = """
from machine import roofline
result = roofline(bandwidth="6 TB/s", chips=10)
time: float = result.time
unit: str = result.unit("time")
grid = roofline.sweep(bandwidth="1..3 TB/s:3", chips="4, 8", progress=True, threads=2)
best: float = grid.best(minimize="time").time
said: list[tuple[str, str, str]] = roofline.violated_rules(chips=1)
print(said, grid.shape, grid.unit("time"), grid.take([0]).time, unit, time, best)
roofline(bandwith=3)
roofline(chips=[1])
grid.best("tim")
"""


def test_the_stub_is_true_of_a_users_script(tmp_path, cache_dir):
    """mypy finds its three mistakes and no others; without them it runs."""
    made = package("machine", {"roofline": roofline()}, {"roofline": SPEC}, cache_dir=cache_dir)
    write_module(tmp_path, made)
    (tmp_path / "use.py").write_text(SCRIPT)
    (tmp_path / "right.py").write_text(SCRIPT.partition("roofline(bandwith")[0])
    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
         "--no-error-summary", "use.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    lines = sorted({line.split(":")[1] for line in told.splitlines() if ": error:" in line})
    assert lines == ["10", "11", "12"], told
    subprocess.run([sys.executable, "right.py"], cwd=tmp_path, check=True, capture_output=True)
