"""Building: what goes wrong says so, and what is written stands alone."""

import os
import subprocess
import sys

import pytest

from hwdsl.base import store
from hwdsl.codegen.build.ahead_of_time import package, write_module
from hwdsl.codegen.build.stubs import stub
from hwdsl.codegen.build.toolchain import BuildError, build
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.runtime import OutputSpec, ParamSpec, RuleSpec, Scale, Spec

BANDWIDTH = {"data": 1.0, "time": -1.0}
SPEC = Spec(
    "roofline",
    (
        ParamSpec("bandwidth", "real", Scale("TB/s", "1000000000000", "0", BANDWIDTH), 3e12, 1e11,
                  1e14, doc="per direction"),
        ParamSpec("chips", "int", default=8.0, low=1.0, high=64.0),
    ),
    (OutputSpec("time", Scale("ms", "1/1000", "0", {"time": 1.0})),),
    (RuleSpec("fast", "require", "takes too long"),),
    {
        "TB": Scale("TB", "1000000000000", "0", {"data": 1.0}),
        "GB": Scale("GB", "1000000000", "0", {"data": 1.0}),
        "s": Scale("s", "1", "0", {"time": 1.0}),
    },
    "How long a read takes.",
)  # fmt: skip


def roofline():
    b = GraphBuilder()
    width, chips = b.param("bandwidth"), b.param("chips", "int")
    time = b.op("div", b.const(6e12), b.op("mul", width, chips))
    return b.finish([("time", time)], [("fast", b.op("lt", time, b.const(1.0)))])


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def test_compiling_can_be_forbidden(tmp_path, monkeypatch):
    monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
    with pytest.raises(BuildError, match="HWDSL_NO_COMPILE=1 forbids"):
        build({"r": roofline()}, cache_dir=tmp_path)


def test_a_miss_can_be_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HWDSL_ABORT_ON_CACHE_MISS", "1")
    with pytest.raises(BuildError, match="no kernel in the cache"):
        build({"r": roofline()}, cache_dir=tmp_path)


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(BuildError, match="no-such-compiler is not there; install gcc"):
        build({"r": roofline()}, cache_dir=tmp_path)


def test_the_compilers_own_error_is_shown(tmp_path):
    with pytest.raises(BuildError, match="failed with status") as caught:
        build({"r": roofline()}, cache_dir=tmp_path, flags=["--no-such-flag"])
    assert "no-such-flag" in str(caught.value)
    assert "-ffp-contract=off" in str(caught.value)
    assert not list((store.folder(tmp_path) / "work").iterdir())


USE = """
import sys
for name in ("hwdsl", "Cython", "attrs", "jinja2", "lark", "msgspec", "platformdirs"):
    sys.modules[name] = None
sys.path.insert(0, sys.argv[1])
import machine
r = machine.roofline(bandwidth="6 TB/s", chips=10)
print(r.time, r.feasible, machine.roofline(bandwidth=0.1, chips=1).violations)
print(machine.roofline.sweep(bandwidth=[1, 2, 3], chips=[1, 2, 4, 8])["time"].shape)
print(machine.roofline.sweep(chips=[1, 2, 4]).best(minimize="time").params["chips"])
print(machine.__all__, machine.roofline.__doc__.splitlines()[0])
"""


def test_a_written_module_needs_only_numpy(tmp_path, cache_dir):
    made = package("machine", {"roofline": roofline()}, {"roofline": SPEC}, cache_dir=cache_dir)
    write_module(tmp_path, made)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": ""}, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "100.0 True ['fast']", "(3, 4)", "4", "['roofline'] How long a read takes.",
    ]  # fmt: skip


def test_two_written_modules_live_side_by_side(tmp_path, cache_dir):
    for name in ("one", "two"):
        made = package(name, {"roofline": roofline()}, {"roofline": SPEC}, cache_dir=cache_dir)
        write_module(tmp_path, made)
    program = "import one, two; print(one.roofline(chips=10).time == two.roofline(chips=10).time)"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          cwd=tmp_path, env=env)  # fmt: skip
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_module_name_must_be_one(tmp_path):
    with pytest.raises(ValueError, match="cannot be the name"):
        package("class", {}, {})
    for taken in ("json", "numpy"):  # the module would import itself instead
        with pytest.raises(ValueError, match="is the name of a module of Python or NumPy"):
            package(taken, {}, {})


def test_the_stub_is_python_and_says_what_is_asked(tmp_path):
    text = stub([SPEC])
    compile(text, "stub.pyi", "exec")
    assert "chips: int | str = ..." in text
    assert "def time(self) -> float" in text
    assert '"[ms]"' in text or "[ms]" in text
