"""Writing compiled evaluators as a module that needs nothing of hwdsl: NumPy is enough.

`package` builds it. `write_module` puts into a folder `NAME.py` (a small loader), `NAME.pyi` (its
types) and a folder `_NAME_HASH` with all that they load: kernels, specs, the runtime. Its name is a
hash of what it holds, which the loader checks, and the loader is replaced last: whatever happens on
the way, the old module is there or the new one. `write_wheel` makes a wheel of the same files.
"""

from __future__ import annotations

import hashlib
import keyword
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from attrs import frozen

from hwdsl.base.store import STALE_SECONDS
from hwdsl.codegen.build.literals import module_text
from hwdsl.codegen.build.stubs import stub
from hwdsl.codegen.build.toolchain import BuildError, build, features, suffix
from hwdsl.codegen.emit.kernels import MODULE, emit, module_files
from hwdsl.codegen.emit.templates import render
from hwdsl.codegen.ir.graph import Graph
from hwdsl.codegen.ir.serialization import dump
from hwdsl.codegen.runtime import CallError, Message, Spec

OURS = "# Written by `hwdsl compile`, which replaces it."
"""The first line of the files that a later call may replace."""

SPECS = "runtime/specs.py"
"""What the evaluators are, as a module of the runtime's copy."""


@frozen
class Package:
    """What a module consists of: its loader, its types, and the files it loads by path."""

    name: str
    evaluators: Sequence[str]
    loader: str
    stub: str
    files: Mapping[str, bytes]

    @property
    def folder(self) -> str:
        """The folder of the files, named by what they are."""
        return f"_{self.name}_{_digest(self.files)}"


@frozen
class Said:
    """What an evaluator's rules say: each rule's messages, and the graph of the numbers in them."""

    graph: Graph
    messages: Sequence[Sequence[Message]]


def is_ours(head: str) -> bool:
    """Whether a file that starts so was written by `write_module`."""
    return head.startswith(OURS)


def package(
    name: str, graphs: Mapping[str, Graph], specs: Mapping[str, Spec],
    samplers: Mapping[str, Graph] | None = None, said: Mapping[str, Said] | None = None, *,
    cache_dir: Path | str | None = None,
) -> Package:  # fmt: skip
    """Build the graphs as the module `name`.

    `specs` has one for each graph, under the same name, and `samplers` one for each whose spec says
    that params are drawn: from even numbers to those params. `said` has what rules say. Raises
    BuildError as `build` does, and CallError for a name that Python cannot import.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CallError(f"{name!r} cannot be the name of a Python module")
    if name in sys.stdlib_module_names or name == "numpy":  # which the module itself imports
        raise CallError(f"{name!r} is the name of a module of Python or NumPy: rename the file")
    ordered = [specs[g] for g in graphs]
    says = {n: (said or {})[n] for n in graphs if n in (said or {})}
    spoken = {f"{n}!": each.graph for n, each in says.items()}
    kernels = build({**_all(graphs, samplers or {}), **spoken}, cache_dir=cache_dir)
    runtime = resources.files("hwdsl.codegen.runtime")
    files = {
        f"runtime/{x.name}": x.read_bytes() for x in runtime.iterdir() if x.name.endswith(".py")
    }
    messages = {name: each.messages for name, each in says.items()}
    files[SPECS] = module_text(ordered, messages).encode()
    files["kernels" + suffix()] = kernels.path.read_bytes()
    # The digest, and so the folder's name, must not depend on the order that the file system gives.
    files = dict(sorted(files.items()))
    loader = render(
        "loader.py",
        ours=OURS, names=", ".join(graphs), module=MODULE, folder=f"_{name}_{_digest(files)}",
        digest=_digest(files), files=list(files), suffix=suffix(), built=_here(),
        features=features(),
    )  # fmt: skip
    return Package(name, list(graphs), loader, f"{OURS}\n{stub(ordered)}", files)


def write_module(folder: Path, made: Package) -> list[Path]:
    """Write a module into a folder, at once or not at all; the files written.

    Raises OSError where the folder cannot be written, which then is as it was.
    """
    name = made.name
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{name}.pyi": made.stub, f"{name}.py": made.loader}
    with tempfile.TemporaryDirectory(prefix=f"_{name}_", suffix=".new", dir=folder) as scratch:
        fresh = Path(scratch)
        _write_files(fresh / "files", made.files)
        for file, text in texts.items():
            (fresh / file).write_text(text, "utf-8")
        place = folder / made.folder
        # What bears the name and does not hold what it says was damaged since.
        if place.is_symlink() or (place.exists() and not _holds(place, made.files)):
            place.rename(fresh / "damaged")
        added = not place.exists()
        if added:
            (fresh / "files").rename(place)
        try:
            for file in texts:
                (fresh / file).replace(folder / file)
        except BaseException:
            if added:
                shutil.rmtree(place, ignore_errors=True)
            raise
    _remove_older(folder, name, made.folder)
    return [*(folder / file for file in texts), *(place / file for file in made.files)]


def write_wheel(folder: Path, made: Package) -> Path:
    """Write a module as a wheel for this Python and platform.

    The same evaluators give the same file. Raises as `write_module` does, and BuildError.
    """
    name = made.name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", suffix=".new", dir=folder) as scratch:
        tree = Path(scratch).resolve()
        _write_files(tree / name / made.folder, made.files)
        for file, text in {"__init__.py": made.loader, "__init__.pyi": made.stub,
                           "py.typed": ""}.items():  # fmt: skip
            (tree / name / file).write_text(text, "utf-8")
        files = ["__init__.pyi", "py.typed", *(f"{made.folder}/{file}" for file in made.files)]
        major, minor = sys.version_info[:2]
        (tree / "setup.py").write_text(
            render(
                "setup.py",
                name=name, version=f"0+{made.folder.rpartition('_')[2]}", files=files,
                about=f"Evaluators compiled by hwdsl: {', '.join(made.evaluators)}",
                python=f"=={major}.{minor}.*",
            ), "utf-8",
        )  # fmt: skip
        done = subprocess.run(
            [sys.executable, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", "made"], cwd=tree,
            capture_output=True, text=True, errors="replace", check=False,
            # 1980, the first time that a wheel can hold: the same evaluators give the same file.
            env={"SOURCE_DATE_EPOCH": "315532800", **os.environ},
        )  # fmt: skip
        wheels = list((tree / "made").glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise BuildError(f"setuptools could not build the wheel:\n{done.stderr.strip()}")
        place = folder / wheels[0].name
        wheels[0].replace(place)
    return place


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether a folder has these files."""
    try:
        return all((folder / name).read_bytes() == data for name, data in files.items())
    except OSError:
        return False


def _remove_older(folder: Path, name: str, kept: str) -> None:
    """Remove the folders of modules of that name that were replaced, and what killed calls left."""
    mine = re.compile(rf"_{re.escape(name)}_([0-9a-f]{{16}}|\w+\.new)")
    for path in folder.iterdir():
        if not mine.fullmatch(path.name) or path.name == kept or not path.is_dir():
            continue
        left = path.suffix == ".new" and path.stat().st_mtime < time.time() - STALE_SECONDS
        if left or (path / "runtime").is_dir():
            shutil.rmtree(path, ignore_errors=True)


def _digest(files: Mapping[str, bytes]) -> str:
    """The name of the files: the loader computes the same from what it finds."""
    total = hashlib.sha256()
    for name, data in files.items():
        total.update(f"{name}:{len(data)}\n".encode() + data)
    return total.hexdigest()[:16]


def _here() -> str:
    """This Python and platform, as the loader names its own."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    name = platform.python_implementation()
    return f"{name} {version} on {sys.platform} {platform.machine()}"


def generated(
    graphs: Mapping[str, Graph], samplers: Mapping[str, Graph] | None = None
) -> dict[str, str]:
    """What a module is made from, to be read: its source files, and each graph as `NAME.graph`.

    A sampler's graph is `NAME~.graph`.
    """
    whole = _all(graphs, samplers or {})
    texts = {f"{name}.graph": dump(graph) for name, graph in whole.items()}
    return {**emit(whole), **module_files(), **texts}


def _all(graphs: Mapping[str, Graph], samplers: Mapping[str, Graph]) -> dict[str, Graph]:
    """The kernels of a module in order: those of evaluators, then those that draw their params."""
    return {**graphs, **{f"{name}~": samplers[name] for name in graphs if name in samplers}}
