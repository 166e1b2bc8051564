"""What is known to be endless is refused with its size; what takes long says so, and ends at ^C."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base import fingerprint, notices, store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.codegen.build import toolchain as building
from hwdsl.codegen.ir.builder import GraphBuilder
from hwdsl.codegen.ir.graph import Graph, Op
from hwdsl.codegen.ir.serialization import decode, encode
from hwdsl.codegen.ir.verifier import GraphError
from hwdsl.codegen.runtime import CompiledKernel
from hwdsl.elaborate.large_stack import with_large_stack

HEAD = "edition 2026\nevaluator e {\n    param x : real = 1 in 0 .. 2\n"
LONG = """    let r = iterate i in 1 .. 30_000 {
        state a : real = x
        let q = iterate j in 1 .. 30_000 { state b : real = a, next b = exp(-b) + 1 }
        next a = q.b
    }
    output o = r.a
}
"""
DEEP = "".join(f"    let y{i + 1} = [y{i} * k + k for k in 1 .. 900][7]\n" for i in range(280))


def said(body: str) -> list[tuple[str, str]]:
    found = driver.findings(Source("case.hw", HEAD + body)).found
    return [(d.name, d.message) for d in found.items]


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ("output z = sum(sum(i * x + j for j in 0 .. 1_000_000_000) for i in 0 .. 1_000_000_000)",
         "1,000,000,003,000,000,002"),
        ("output z = max(max(i * x + j for j in 1 .. 1_000_000) for i in 1 .. 1_000_000)",
         "1,000,001,000,000"),
        ("let r = iterate i in 1 .. 1_000_000 { state a : real = x\n"
         "let q = iterate j in 1 .. 1_000_000 { state b : real = a, next b = b + 1 }\n"
         "next a = q.b }\n output z = r.a", "1,000,001,000,000"),
        ("let far = floor(x * 100_000_000_000)\n"
         "output z = sum(x * i for i in 0 .. far)", "200,000,000,001"),
        ("output z = " + " + ".join(f"sum(x * i + {k} for i in 0 .. 40_000_000_000)"
                                    for k in range(3)), "120,000,000,003"),
    ],
)  # fmt: skip
def test_endless_rounds_are_refused_with_their_number(body: str, size: str) -> None:
    found = said(body + "\n}\n")
    assert [name for name, _ in found] == ["too-large"]
    assert size in found[0][1]
    assert "100,000,000,000 are allowed" in found[0][1]


def test_known_rounds_that_are_too_many_are_refused_before_they_are_run() -> None:
    body = "let r = iterate i in 1 .. 900_000 { state a : real = 1, next a = a + 1 / a }\n"
    start = time.process_time()
    assert [name for name, _ in said(body + "output z = r.a * x\n}\n")] == ["too-large"]
    assert time.process_time() - start < 5  # all steps that are allowed take longer


@pytest.mark.parametrize(
    ("text", "line"),
    [("evaluator e {{\nparam x : real = 1 in 0 .. 2\n{}output o = x\n}}", "let y{i} = z{i} + x\n"),
     ("kind k : component {{\n{}}}\nk c {{ }}\nlet o = [{}]\n", "f{i} : real = 1\n|c.g{i}, ")],
)  # fmt: skip
def test_very_many_unknown_names_are_not_each_compared_with_all(text: str, line: str) -> None:
    parts = ["".join(p.format(i=i) for i in range(1_500)) for p in line.split("|")]
    start = time.process_time()
    found = driver.findings(Source("case.hw", "edition 2026\n" + text.format(*parts))).found.items
    assert time.process_time() - start < 3  # each with all takes ten
    helps = [d.help for d in found if d.name in ("unknown-name", "unknown-field")]
    assert len(helps) == 1_500
    assert all("did you mean" in (help or "") for help in helps[20:100])
    assert helps[-1] is None


def chain(length: int) -> Graph:
    """A graph of so many operations and a param."""
    b = GraphBuilder()
    x = b.param("x")
    for _ in range(length):
        x = b.op("sqrt", x)
    return b.finish([("y", x)])


def wide(terms: int) -> str:
    """A file with an evaluator of so many exponentials, written out."""
    numbers = ", ".join(map(str, range(terms)))
    return HEAD + f"output o = sum(exp(x * i) for i in [{numbers}])\n}}\n"


def test_kernels_of_very_many_operations_are_not_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(building.ABORT_ON_MISS, raising=False)
    monkeypatch.setattr(building, "MOST_OPERATIONS", 50)
    graphs = {"small": chain(7), "large": chain(77)}
    kernels, notice = driver.kernels(graphs)
    assert [isinstance(k, CompiledKernel) for k in kernels.values()] == [True, False]
    assert "`large` is interpreted" in notice
    with pytest.raises(building.BuildError, match="`large` has 78 operations; kernels of at most"):
        building.build(graphs)
    monkeypatch.setenv(building.COMPILE_LARGE, "1")
    kernels, notice = driver.kernels(graphs)
    assert all(isinstance(k, CompiledKernel) for k in kernels.values())
    assert not notice


def sleeper(folder: Path) -> str:
    """A C compiler that takes for ever, and starts another process to do so."""
    path = folder / "slow-cc"
    path.write_text("#!/bin/sh\n[ $1 = --version ] && exit\nsleep 54321 &\nwait\n", "utf-8")
    path.chmod(0o700)
    return str(path)


def sleeping() -> bool:
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return "sleep 54321" in found.stdout


def test_the_c_compiler_has_a_time_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", sleeper(tmp_path))
    monkeypatch.setattr(building, "SECONDS", 0.2)
    monkeypatch.delenv(building.ABORT_ON_MISS, raising=False)
    program = driver.program(Source("case", wide(10)), Diagnostics())
    assert program is not None
    kernels, notice = driver.kernels(program.graphs)
    assert "took more than 0 s and was stopped" in notice
    assert kernels["e"].point([1.0])
    assert not sleeping()
    assert not list(store.folder().rglob("build-*"))


@pytest.mark.parametrize("case", ["kernel", "interpreter", "sweep", "elaboration", "compiler"])
def test_an_interrupt_ends_what_takes_long_within_a_second(case: str, tmp_path: Path) -> None:
    path = tmp_path / "case.hw"
    path.write_text(HEAD + (DEEP.replace("y0", "x") + "    output o = y280\n}\n"
                            if case == "elaboration" else LONG), "utf-8")  # fmt: skip
    words = {"elaboration": ["check", str(path)], "sweep": ["sweep", str(path), "x=0..1:90000",
             "-o", str(tmp_path / "o.csv")]}.get(case, ["run", str(path)])  # fmt: skip
    own = (
        {"HWDSL_CACHE_DIR": str(tmp_path / "cache")} if case in ("compiler", "elaboration") else {}
    )
    more = {"compiler": {"CC": sleeper(tmp_path)}, "interpreter": {"HWDSL_NO_COMPILE": "1"}}
    environment = {**os.environ, **own, **more.get(case, {})}
    environment.pop(building.ABORT_ON_MISS, None)
    running = subprocess.Popen(
        [sys.executable, "-m", "hwdsl", *words], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    wanted = {"elaboration": "`e`", "compiler": "compiling"}.get(case, f"`hwdsl {words[0]}`")
    assert running.stderr is not None
    line = ""
    while wanted not in line:  # it says what takes long
        line = running.stderr.readline()
        assert line, "it ended"
    assert "takes long" in line
    start = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert time.monotonic() - start < 2  # a second, and as much for a busy machine
    assert running.returncode == 130
    assert "Traceback" not in out + err
    assert not sleeping()
    assert not list((tmp_path / "cache").rglob("build-*"))


class Finalizer:
    """What is long about its end, so that the exception that ends a thread often arrives there."""

    def __del__(self) -> None:
        for _ in range(3_000):
            pass


class Halted:
    """A module of kernels with one that takes for ever."""

    def __init__(self) -> None:
        self.halted, self.rounds = False, 0
        self.began: Callable[[], None] = lambda: None

    def shape(self, index: int) -> tuple[int, int, int]:
        return 1, 1, 1

    def work(self, index: int) -> float:
        return math.inf

    def halt(self, on: bool) -> None:
        self.halted = on

    def point(self, index: int, values: list[float]) -> None:
        self.began()
        while not self.halted:
            self.rounds += 1
            time.sleep(0.02)  # a kernel looks from time to time
        raise KeyboardInterrupt


@pytest.mark.parametrize("case", ["elaboration", "kernel"])
@pytest.mark.filterwarnings("error")
def test_what_is_interrupted_in_python_is_over_without_a_word(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    module = Halted()

    def finalizing() -> None:
        soon()
        while True:
            Finalizer()
            for _ in range(3_000):
                module.rounds += 1

    def soon() -> None:
        timers.append(threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)))
        timers[-1].start()

    timers: list[threading.Timer] = []
    module.began = soon
    kernel = CompiledKernel(module, 0)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            with_large_stack(finalizing) if case == "elaboration" else kernel.point([1.0])
        timers[-1].join()
        rounds = module.rounds
        time.sleep(0.05)
        assert module.rounds == rounds > 0
    assert not module.halted
    assert said == []
    assert sys.unraisablehook == said.append


def test_work_is_told_of_once_and_the_innermost_first() -> None:
    told: list[str] = []
    with notices.watched(told.append, patience=0.1), notices.doing("outer"):
        with notices.doing("inner"):
            time.sleep(0.4)
        time.sleep(0.3)
        with notices.doing("short"):
            pass
    assert told == ["inner", "outer"]


def test_graphs_from_disk_are_verified() -> None:
    b = GraphBuilder()
    x = b.param("x")
    graph = b.finish([("y", b.op("add", x, b.const(1.0)))])
    assert decode(encode(graph)) == graph
    for bad in (Op("add", (0, 7)), Op("gather", (0,)), Op("table", (0,), index=3)):
        with pytest.raises(GraphError):
            decode(encode(type(graph)(graph.params, (*graph.ops[:-1], bad), graph.outputs)))


def test_an_entry_with_a_wrong_graph_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import hwdsl
    from hwdsl.api import artifact

    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "case.hw"
    path.write_text(wide(6), "utf-8")
    right = hwdsl.load(path, compiled=False).e().o
    name = artifact.entry_name(str(path))

    def graph() -> bytes:
        entry = store.get(store.LOADED, name, dict)
        assert entry is not None
        data: bytes = entry["file"]["evaluators"]["e"]["graph_bytes"]
        return data

    entry, sound = store.get(store.LOADED, name, dict), graph()
    assert entry is not None
    whole = decode(sound)
    bad = type(whole)(whole.params, (*whole.ops, Op("add", (0, 99))), whole.outputs)
    entry["file"]["evaluators"]["e"]["graph_bytes"] = encode(bad)
    store.put(store.LOADED, name, entry)
    assert hwdsl.load(path, compiled=None).e().o == right
    assert graph() == sound
    assert fingerprint.compiler()


def test_a_thread_that_begins_after_the_interrupt_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[threading.Thread] = []

    def interrupted(thread: threading.Thread) -> None:
        begun.append(thread)
        raise KeyboardInterrupt

    done: list[int] = []
    start = threading.Thread.start
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            with_large_stack(lambda: done.append(1))
    start(begun[0])
    begun[0].join()
    assert not done
