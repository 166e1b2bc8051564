"""Templates of generated text."""

LOADER = '''\
{ours}
"""Compiled evaluators: {names}."""

import hashlib
import importlib
import importlib.machinery
import importlib.util
import pathlib
import platform
import sys
import sysconfig

_folder = pathlib.Path(__file__).resolve().parent / {folder!r}
_files = {files!r}


def _check():
    """Say what does not fit before anything is loaded that would crash."""
    version = f"{{sys.version_info[0]}}.{{sys.version_info[1]}}{{getattr(sys, 'abiflags', '')}}"
    name = platform.python_implementation()
    here = f"{{name}} {{version}} on {{sys.platform}} {{platform.machine()}}"
    again = "run `hwdsl compile` again, here"
    if sysconfig.get_config_var("EXT_SUFFIX") != {suffix!r} or here != {built!r}:
        raise ImportError(f"{{__name__}} was built for {built}; this is {{here}}: {{again}}")
    found = set()
    if {features!r}:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found.update(*(line.split() for line in file if line.startswith("flags")))
    missing = [feature for feature in {features!r} if feature not in found]
    if missing:
        missing = ", ".join(missing)
        raise ImportError(f"{{__name__}} was built for a processor with {{missing}}: {{again}}")
    total = hashlib.sha256()
    try:
        for file in _files:
            data = (_folder / file).read_bytes()
            total.update(f"{{file}}:{{len(data)}}\\n".encode() + data)
    except OSError as error:
        raise ImportError(f"{{__name__}}: {{error}}: {{again}}") from None
    if total.hexdigest()[:16] != {digest!r}:
        raise ImportError(f"{{__name__}}: the files in {{_folder}} were changed: {{again}}")


def _load(name, loader, folder=None):
    spec = importlib.util.spec_from_file_location(
        name, loader.path, loader=loader, submodule_search_locations=folder and [folder]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


_check()
_place, _name = str(_folder / "runtime"), __name__ + "._runtime"
_runtime = _load(
    _name, importlib.machinery.SourceFileLoader(_name, _place + "/__init__.py"), _place
)
_kernels = _load(
    __name__ + ".{module}",
    importlib.machinery.ExtensionFileLoader({module!r}, str(_folder / ("kernels" + {suffix!r}))),
)
_told = importlib.import_module(_name + ".specs")
_specs = _told.SPECS
_drawn = [spec.name for spec in _specs if spec.drawn]  # their kernels stand behind the others
_draws = {{
    name: _runtime.CompiledKernel(_kernels, len(_specs) + index)
    for index, name in enumerate(_drawn)
}}
_says = {{
    name: (
        _runtime.CompiledKernel(_kernels, len(_specs) + len(_drawn) + index),
        of,
    )
    for index, (name, of) in enumerate(_told.MESSAGES.items())
}}
_evaluators = {{
    spec.name: _runtime.KernelEvaluator(
        spec,
        _runtime.CompiledKernel(_kernels, index),
        None,
        lambda name=spec.name: _draws[name],
        __name__,
        lambda name=spec.name: _says.get(name, (None, ())),
    )
    for index, spec in enumerate(_specs)
}}
globals().update({{n: e for n, e in _evaluators.items() if not n.startswith("__")}})
__all__ = list(_evaluators)
'''
"""The module that loads what lies beside it, after a look whether it can."""
