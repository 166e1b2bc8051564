"""From graphs to loaded kernels: through the cache, or the C compiler.

The module has two halves. The kernels are C, compiled with the flags below; the part that talks
to Python is one fixed Cython module, the same for all graphs, compiled once per environment and
then linked. Cython is imported only when that part has to be made.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache as once
from pathlib import Path
from types import ModuleType

from hwdsl.base import fingerprint, store
from hwdsl.codegen.emit.kernels import MODULE, emit, module_files
from hwdsl.codegen.ir.graph import Graph, count_operations
from hwdsl.codegen.ir.serialization import encode
from hwdsl.codegen.numerics.c_backend import C_FLAGS
from hwdsl.codegen.runtime import CompiledKernel

FLAGS = ("-std=gnu11", "-fPIC", "-fvisibility=hidden", "-O3", *C_FLAGS)
GCC_FLAGS = ("-fno-tree-pre", "-fno-thread-jumps", "-fno-predictive-commoning",
             "--param=max-combine-insns=2")  # fmt: skip
"""What gcc alone knows. Without the first two, selects stay as they are written: gcc merges those
that share a condition into branches with many ends, or into selects between truths, and makes no
vector code of such a loop. The last two are work that grows faster than a function's length and
gains nothing."""
# The module half converts arguments and calls: no arithmetic is in it that is to be fast. What
# Cython writes has warnings that nobody here can mend.
MODULE_FLAGS = ("-std=gnu11", "-fPIC", "-fvisibility=hidden", "-O1", "-w")
SCARCE = 64 << 20
"""Bytes free in the cache's folder below which a failure is explained by want of space."""
MOST_OPERATIONS = 60_000
"""Operations of a graph above which no kernel is built unless `COMPILE_LARGE` is 1."""
SECONDS = 600.0
"""How long the C compiler may take; it needs about half a millisecond an operation."""
COMPILE_LARGE = "HWDSL_COMPILE_LARGE"
NO_COMPILE, ABORT_ON_MISS = "HWDSL_NO_COMPILE", "HWDSL_ABORT_ON_CACHE_MISS"
MARCH = "HWDSL_MARCH"
FEATURES = re.compile(r"s?sse[0-9_]*[a-z]*|avx\w*|fma4?|bmi[12]|f16c|movbe|abm|popcnt|gfni")
"""What /proc/cpuinfo calls the instructions that compilers write on their own."""


class BuildError(Exception):
    """A kernel could not be built. The message is for the user."""


class Kernels(dict[str, CompiledKernel]):
    """The kernels of one module by name, and the file they were loaded from."""

    def __init__(self, path: Path, kernels: Iterable[tuple[str, CompiledKernel]]) -> None:
        super().__init__(kernels)
        self.path = path


def misses_abort() -> bool:
    """Whether a kernel that the cache lacks is an error: not where nothing is to be compiled."""
    return os.environ.get(ABORT_ON_MISS) == "1" and os.environ.get(NO_COMPILE) != "1"


def build(
    graphs: Mapping[str, Graph], *, cache_dir: Path | str | None = None,
    flags: Sequence[str] = (),
) -> Kernels:  # fmt: skip
    """Load kernels for the graphs, compiling them unless the cache has them.

    `flags` are added for the C compiler. Raises `BuildError`: no compiler, compiling forbidden,
    the compiler's own error, or a cache folder that cannot be written.
    """
    name = store.KERNELS.key(cache_key_inputs(graphs, flags))
    try:
        found = store.find(name, cache_dir)
        if found is None:
            if misses_abort():
                raise BuildError(
                    f"no kernel in the cache {store.folder(cache_dir)} for this "
                    f"description, and {ABORT_ON_MISS}=1 forbids making one"
                )
            found = _compile(graphs, name, flags, cache_dir)
    except store.CacheError as error:
        raise BuildError(str(error)) from error
    return _kernels(found, graphs)


def cached(encoded: Mapping[str, bytes], *, cache_dir: Path | str | None = None) -> Kernels | None:
    """The kernels of graphs given as bytes if the cache has them, else nothing."""
    found = store.find(store.KERNELS.key(_ingredients(encoded.values())), cache_dir)
    return None if found is None else _kernels(found, encoded)


def _kernels(folder: Path, names: Iterable[str]) -> Kernels:
    """The kernels of a build, in the order in which they were given to it."""
    path = folder / file_name()
    module = load(path)
    return Kernels(path, ((name, CompiledKernel(module, i)) for i, name in enumerate(names)))


def file_name() -> str:
    """The extension module's file name."""
    return MODULE + suffix()


def suffix() -> str:
    """How the names of extension modules end for this Python and platform."""
    return str(sysconfig.get_config_var("EXT_SUFFIX") or ".so")


_LOADED: dict[tuple[str, int, int], ModuleType] = {}
"""Modules loaded so far: one file must not be initialised twice in a process."""


def load(path: Path) -> ModuleType:
    """Load an extension module file, once per process."""
    try:
        info = path.stat()
    except OSError as error:  # another process has cleared the cache
        raise BuildError(f"cannot load the compiled kernel {path}: {error.strerror}") from error
    identity = (str(path), info.st_ino, info.st_mtime_ns)
    if identity not in _LOADED:
        loader = importlib.machinery.ExtensionFileLoader(MODULE, str(path))
        spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
        assert spec is not None
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            raise BuildError(f"cannot load the compiled kernel {path}: {error}") from error
        _LOADED[identity] = module
    return _LOADED[identity]


def cache_key_inputs(
    graphs: Mapping[str, Graph], flags: Sequence[str] = ()
) -> dict[str, store.Ingredient]:
    """Everything that can change the binary, by name."""
    return _ingredients(map(encode, graphs.values()), flags)


def _ingredients(
    encoded: Iterable[bytes], flags: Sequence[str] = ()
) -> dict[str, store.Ingredient]:
    flags = (*FLAGS, *GCC_FLAGS, *_target(), *flags)
    return {**_environment(), "flags": flags, "graphs": list(encoded)}


def _environment() -> dict[str, str]:
    """What the machine and the installation contribute to the key."""
    return {
        "generator": fingerprint.code("hwdsl.codegen"),
        "module flags": "\0".join(MODULE_FLAGS),
        "cython": fingerprint.release("Cython"),
        "compiler": _compiler_identity(),
        "python": f"{sys.implementation.cache_tag} {sys.version} {file_name()}",
        "cpu": _cpu(),
    }


def _target() -> tuple[str, ...]:
    """Which processors a kernel is for: `$HWDSL_MARCH` (such as x86-64-v3), else this one."""
    chosen = os.environ.get(MARCH)
    if chosen:
        return (f"-march={chosen}",)
    flag = {"x86_64": "-march=native", "aarch64": "-mcpu=native"}.get(platform.machine())
    return () if flag is None else (flag,)


def features() -> list[str]:
    """The instructions of this processor that kernels for it may need; none if it was not asked."""
    if os.environ.get(MARCH):
        return []
    flags = next((x for x in _cpu().splitlines() if x.startswith("flags")), "")
    return sorted(x for x in flags.split() if FEATURES.fullmatch(x))


@once
def _cpu() -> str:
    """The processor's features, which `-march=native` reads."""
    info = Path("/proc/cpuinfo")
    lines: list[str] = []
    if not info.exists():
        lines.append(platform.processor())
    else:
        wanted = ("vendor_id", "cpu family", "model", "model name", "flags", "Features")
        for line in info.read_text("utf-8", "replace").splitlines():
            if not line.strip():
                break
            if line.split(":")[0].strip() in wanted:
                lines.append(line)
    return "\n".join([platform.machine(), *lines])


def compiler() -> list[str]:
    """The C compiler's command: `$CC`, else Python's own, else `cc`, `gcc` or `clang`.

    Raises BuildError for a `$CC` that cannot be read.
    """
    chosen = os.environ.get("CC")
    if chosen:
        try:
            return shlex.split(chosen)
        except ValueError as error:
            raise BuildError(f"CC is `{chosen}`, which is no command: {error}") from None
    for name in (*shlex.split(sysconfig.get_config_var("CC") or "")[:1], "cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    return []


def _compiler_identity() -> str:
    """The compiler's command and the file behind it: asking for its version takes too long."""
    command = compiler()
    found = shutil.which(command[0]) if command else None
    if found is None:
        return "none"
    real = Path(found).resolve()
    info = real.stat()
    return "\0".join([*command, str(real), str(info.st_size), str(info.st_mtime_ns)])


def _compile(
    graphs: Mapping[str, Graph], name: str, flags: Sequence[str], cache_dir: Path | str | None
) -> Path:
    """Compile in a private folder and publish."""
    if os.environ.get(NO_COMPILE) == "1":
        raise BuildError(f"{NO_COMPILE}=1 forbids compiling, and the cache has no such kernel")
    for graph_name, graph in graphs.items():
        if too_large(graph):
            raise BuildError(
                f"`{graph_name}` has {count_operations(graph.ops, rounds=False):,} operations; "
                f"kernels of at most {MOST_OPERATIONS:,} are built, unless {COMPILE_LARGE}=1"
            )
    command = compiler()
    if not command or shutil.which(command[0]) is None:
        wanted = f"{command[0]} is not there" if command else "there is no C compiler"
        raise BuildError(f"{wanted}; install gcc or clang, or name one in CC")
    store.sweep_leftovers(cache_dir)
    work = store.workspace(cache_dir)
    try:
        _write(work, emit(graphs))
        # The C compiler works on the kernels while this process makes the module half.
        half = _start(
            work, [*command, *kernel_flags(command), *flags, "-c", "kernels.c", "-o", "kernels.o"]
        )
        try:
            module = _module_half(work, command, cache_dir)
        except BaseException:
            _stop(half[-1])
            raise
        _finish(*half)
        link = [*command, *_link_flags(), "kernels.o", str(module), "-lm", "-o", file_name()]
        _finish(*_start(work, link))
        about = {"kernels": str(len(graphs)), "compiler": shlex.join(command)}
        return store.publish(name, [work / file_name()], about, cache_dir)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write(work: Path, texts: Mapping[str, str]) -> None:
    """Write files to be compiled."""
    try:
        for file, text in texts.items():
            (work / file).write_text(text, "utf-8")
    except OSError as error:
        raise BuildError(store.explain(work.parent.parent, error)) from error


def kernel_flags(command: Sequence[str]) -> tuple[str, ...]:
    """The flags for kernels of a compiler; `GCC_FLAGS` are errors for clang."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True,
                              check=False, errors="replace", timeout=SECONDS)  # fmt: skip
    except OSError as error:
        raise _no_compiler(command, error) from error
    except subprocess.TimeoutExpired as error:
        raise _too_slow() from error
    return (*FLAGS, *(() if "clang" in done.stdout else GCC_FLAGS), *_target())


def too_large(graph: Graph) -> bool:
    """Whether no kernel is built of a graph, because of its size."""
    large = count_operations(graph.ops, rounds=False) > MOST_OPERATIONS
    return large and os.environ.get(COMPILE_LARGE) != "1"


def _link_flags() -> tuple[str, ...]:
    # On macOS a module finds Python's symbols in the process that loads it.
    if sys.platform == "darwin":
        return ("-bundle", "-undefined", "dynamic_lookup")
    return ("-shared", "-s")


def _module_half(work: Path, command: Sequence[str], cache_dir: Path | str | None) -> Path:
    """The object file of the fixed Cython module, from the cache if it has one."""
    files = module_files()
    name = store.INTERFACES.key({**_environment(), "files": files})
    found = store.find(name, cache_dir, kind=store.INTERFACES)
    if found is not None:
        return found / "module.o"
    _write(work, files)
    _cython(work)
    include = sysconfig.get_path("include")
    source = f"{MODULE}.c"
    _finish(
        *_start(work, [*command, *MODULE_FLAGS, f"-I{include}", "-c", source, "-o", "module.o"])
    )
    made = store.publish(name, [work / "module.o"], {}, cache_dir, kind=store.INTERFACES)
    return made / "module.o"


def _cython(work: Path) -> None:
    """Translate the module to C."""
    try:
        # By name, as it has no types, and here: only where the module half has to be made.
        errors = importlib.import_module("Cython.Compiler.Errors")
        main = importlib.import_module("Cython.Compiler.Main")
    except ImportError as error:
        raise BuildError(f"Cython is needed to compile and cannot be imported: {error}") from error
    source = work / f"{MODULE}.pyx"
    options = main.CompilationOptions(output_file=str(work / f"{MODULE}.c"), language_level=3)
    try:
        result = main.compile(str(source), options, full_module_name=MODULE)
    except errors.CompileError as error:
        raise BuildError(f"Cython could not translate {source}: {error}") from error
    except OSError as error:  # it writes the C
        raise BuildError(store.explain(work.parent.parent, error)) from error
    if result.num_errors:
        raise BuildError(f"Cython could not translate {source}")


Running = tuple[Path, Sequence[str], float, subprocess.Popen[str]]


def _start(work: Path, command: Sequence[str]) -> Running:
    """Start a command in the folder, which takes its temporary files as well.

    It is the head of a process group: the compiler is several processes, which end together.
    """
    try:
        process = subprocess.Popen(
            command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={**os.environ, "TMPDIR": str(work)}, process_group=0,
        )  # fmt: skip
    except OSError as error:
        raise _no_compiler(command, error) from error
    _UNDER_WAY.add(process)
    return work, command, time.monotonic() + SECONDS, process


def _no_compiler(command: Sequence[str], error: OSError) -> BuildError:
    return BuildError(f"cannot run the C compiler {command[0]}: {error.strerror}")


def _too_slow() -> BuildError:
    return BuildError(f"the C compiler took more than {SECONDS:.0f} s and was stopped")


_UNDER_WAY: set[subprocess.Popen[str]] = set()
_ABANDONED: set[subprocess.Popen[str]] = set()


def abandon() -> None:
    """End compilers that run; on the threads that wait for them that is a KeyboardInterrupt."""
    for process in list(_UNDER_WAY):
        _ABANDONED.add(process)
        _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _stop(process: subprocess.Popen[str]) -> None:
    """End a command and all that it started."""
    _kill(process)
    process.communicate()
    _UNDER_WAY.discard(process)


def _finish(
    work: Path, command: Sequence[str], until: float, process: subprocess.Popen[str]
) -> None:
    """Wait for a command; its failure is a `BuildError` with what it printed."""
    try:
        text, _ = process.communicate(timeout=max(until - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        _stop(process)
        raise _too_slow() from None
    except BaseException:
        _stop(process)
        raise
    _UNDER_WAY.discard(process)
    if process in _ABANDONED:
        _ABANDONED.discard(process)
        raise KeyboardInterrupt
    if process.returncode:
        raise BuildError(
            f"the C compiler failed with status {process.returncode}:\n"
            f"  {shlex.join(command)}\n{text.strip()}{_room(work)}"
        )
    # `CC=true` succeeds at everything.
    made = command[command.index("-o") + 1]
    if not (work / made).exists():
        raise BuildError(f"{command[0]} is no C compiler: it made no {made}")


def _room(work: Path) -> str:
    """What to do if there is little space where a command has failed."""
    try:
        free = shutil.disk_usage(work).free
    except OSError:
        return ""
    if free > SCARCE:
        return ""
    return (
        f"\nonly {free >> 10} KiB are free at {work}; free some space, or name another folder "
        "with HWDSL_CACHE_DIR"
    )
