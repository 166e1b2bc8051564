"""Writing compiled evaluators as a module that needs nothing of hwdsl: NumPy is enough.

`write_package` puts into a folder: `NAME.py` (a small loader), `NAME.pyi` (its types),
`_NAME.<ext>` (the kernels), `_NAME.json` (the specs) and the folder `_hwdsl_runtime`.
"""

from __future__ import annotations

import json
import keyword
import shutil
import sysconfig
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from hwdsl.codegen.build import build
from hwdsl.codegen.emit import MODULE, emit, module_files
from hwdsl.codegen.ir import Graph
from hwdsl.codegen.runtime import CallError, Spec
from hwdsl.codegen.stubs import stub
from hwdsl.codegen.text import dump

RUNTIME = "_hwdsl_runtime"

_LOADER = '''\
"""Compiled evaluators: {names}."""

import importlib.machinery
import importlib.util
import pathlib
import sys

_here = pathlib.Path(__file__).parent


def _load(name, loader, folder=None):
    spec = importlib.util.spec_from_file_location(
        name, loader.path, loader=loader, submodule_search_locations=folder and [folder]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


_folder = str(_here / {runtime!r})
_name = __name__ + "._runtime"
_runtime = _load(
    _name, importlib.machinery.SourceFileLoader(_name, _folder + "/__init__.py"), _folder
)
_kernels = _load(
    __name__ + ".{module}",
    importlib.machinery.ExtensionFileLoader({module!r}, str(_here / {extension!r})),
)
_specs = _runtime.load_specs((_here / {specs!r}).read_text("utf-8"))
_drawn = [spec.name for spec in _specs if spec.drawn]  # their kernels stand behind the others
_draws = {{
    name: _runtime.CompiledKernel(_kernels, len(_specs) + index)
    for index, name in enumerate(_drawn)
}}
_evaluators = {{
    spec.name: _runtime.Evaluator(
        spec,
        _runtime.CompiledKernel(_kernels, index),
        None,
        lambda name=spec.name: _draws[name],
        __name__,
    )
    for index, spec in enumerate(_specs)
}}
globals().update({{n: e for n, e in _evaluators.items() if not n.startswith("__")}})
__all__ = list(_evaluators)
'''


def write_package(
    folder: Path, name: str, graphs: Mapping[str, Graph], specs: Mapping[str, Spec],
    samplers: Mapping[str, Graph] | None = None, *, cache_dir: Path | str | None = None,
) -> list[Path]:  # fmt: skip
    """Build the graphs and write the module `name`; return the files written.

    `specs` has one for each graph, under the same name, and `samplers` one for each whose spec says
    that params are drawn: from even numbers to those params. Raises BuildError as `build` does, and
    CallError for a name that Python cannot import.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CallError(f"{name!r} cannot be the name of a Python module")
    ordered = [specs[g] for g in graphs]
    kernels = build(_all(graphs, samplers or {}), cache_dir=cache_dir)
    extension = f"_{name}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}"
    runtime = resources.files("hwdsl.codegen.runtime")
    sources = sorted(x.name for x in runtime.iterdir() if x.name.endswith(".py"))
    texts = {
        f"{name}.py": _LOADER.format(
            names=", ".join(graphs), module=MODULE, extension=extension,
            specs=f"_{name}.json", runtime=RUNTIME,
        ),
        f"{name}.pyi": stub(ordered),
        f"_{name}.json": json.dumps([json.loads(s.to_json()) for s in ordered], indent=1) + "\n",
        **{f"{RUNTIME}/{x}": (runtime / x).read_text("utf-8") for x in sources},
    }  # fmt: skip
    (folder / RUNTIME).mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text, "utf-8")
    fresh = folder / f"{extension}.new"  # never write into a file a process has loaded
    shutil.copyfile(kernels.path, fresh)
    fresh.replace(folder / extension)
    return [folder / file for file in (*texts, extension)]


def generated(
    graphs: Mapping[str, Graph], samplers: Mapping[str, Graph] | None = None
) -> dict[str, str]:
    """What a module is made from, to be read: C and Cython by file, each graph as `NAME.graph`.

    A sampler's graph is `NAME~.graph`.
    """
    whole = _all(graphs, samplers or {})
    texts = {f"{name}.graph": dump(graph) for name, graph in whole.items()}
    return {**emit(whole), **module_files(), **texts}


def _all(graphs: Mapping[str, Graph], samplers: Mapping[str, Graph]) -> dict[str, Graph]:
    """The kernels of a module in order: those of evaluators, then those that draw their params."""
    return {**graphs, **{f"{name}~": samplers[name] for name in graphs if name in samplers}}
