"""The same bits from every C compiler and processor: drawn programs against the interpreter.

Each toolchain compiles the kernels that gcc compiles here, with a `main` in place of Python, and
runs them, under qemu where this processor cannot. One that is not there is skipped and named.
`HWDSL_GRAPHS` says how many programs are drawn for each.
"""

import os
import platform
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from strategies import equal
from test_random import collect, grid, programs

from hwdsl.codegen.build.tiered import InterpreterKernel
from hwdsl.codegen.build.toolchain import MARCH, build, features, kernel_flags
from hwdsl.codegen.emit.kernels import emit
from hwdsl.codegen.passes import optimise

COUNT = int(os.environ.get("HWDSL_GRAPHS", "30"))
POINTS = 300

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "hwdsl_abi.h"

static int64_t whole(void)
{
    int64_t n;
    if (fread(&n, sizeof n, 1, stdin) != 1) exit(3);
    return n;
}

int main(void)
{
    const int64_t stop = whole();
    for (int k = 0; k < hw_kernel_count; k++) {
        const hw_kernel *kernel = &hw_kernels[k];
        hw_axis *axes = calloc((size_t)kernel->params + 1, sizeof *axes);
        for (int i = 0; i < kernel->params; i++) {
            axes[i].stride = whole();
            axes[i].count = whole();
            const size_t count = (size_t)axes[i].count;
            double *values = malloc(count * sizeof *values);
            if (fread(values, sizeof *values, count, stdin) != count) return 3;
            axes[i].values = values;
        }
        double **outputs = calloc((size_t)kernel->outputs + 1, sizeof *outputs);
        for (int i = 0; i < kernel->outputs; i++)
            outputs[i] = calloc((size_t)stop, sizeof **outputs);
        uint64_t *rules = calloc((size_t)(stop * kernel->words) + 1, sizeof *rules);
        if (kernel->run(axes, 0, stop, outputs, rules)) return 4;
        for (int i = 0; i < kernel->outputs; i++)
            fwrite(outputs[i], sizeof **outputs, (size_t)stop, stdout);
        fwrite(rules, sizeof *rules, (size_t)(stop * kernel->words), stdout);
    }
    return 0;
}
"""

ARM = "aarch64-linux-gnu"
TOOLCHAINS = {
    "gcc, this processor": (["gcc"], "", []),
    "gcc, without AVX-512": (["gcc"], "x86-64-v3", []),
    "gcc, without AVX": (["gcc"], "x86-64-v2", []),
    "clang, this processor": (["clang"], "", []),
    "clang, without AVX-512": (["clang"], "x86-64-v3", []),
    "gcc, aarch64": ([f"{ARM}-gcc"], "armv8-a", ["qemu-aarch64"]),
    "clang, aarch64": (["clang", f"--target={ARM}"], "armv8-a", ["qemu-aarch64"]),
}


@pytest.fixture(scope="module")
def drawn():
    cases = collect(COUNT, programs(), 77)
    assert len(cases) == COUNT
    return [
        (optimise(graph) if i % 2 else graph, grid(graph, columns))
        for i, (graph, columns) in enumerate(cases)
    ]


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_drawn_programs_give_the_interpreters_bits(name, drawn, tmp_path, monkeypatch):
    command, march, runner = TOOLCHAINS[name]
    for tool in (command[0], *runner):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    if not runner and march.startswith("x86") and platform.machine() != "x86_64":
        pytest.skip(f"{march} does not run on {platform.machine()}")
    if ARM in " ".join(command) and not Path(f"/usr/{ARM}/lib/libc.a").exists():
        pytest.skip(f"the C library for {ARM} is not on this machine")
    monkeypatch.setenv(MARCH, march)
    graphs = {f"{i}": graph for i, (graph, _) in enumerate(drawn)}
    for file, text in {**emit(graphs), "main.c": MAIN}.items():
        (tmp_path / file).write_text(text, "utf-8")
    subprocess.run(
        [*command, *kernel_flags(command), *(["-static"] if runner else []), "kernels.c", "main.c",
         "-lm", "-o", "program"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    given = [struct.pack("<q", POINTS)]
    for _, axes in drawn:
        for values, stride, count in axes:
            given += [struct.pack("<qq", stride, count), values[:count].astype("<f8").tobytes()]
    answer = subprocess.run([*runner, "./program"], input=b"".join(given), cwd=tmp_path,
                            capture_output=True, check=True).stdout  # fmt: skip
    at = 0
    for graph, axes in drawn:
        kernel = InterpreterKernel(graph)
        outputs = [np.empty(POINTS) for _ in graph.outputs]
        rules = np.empty((POINTS, kernel.words), np.uint64)
        kernel.run(axes, 0, POINTS, outputs, rules)
        for column in outputs:
            assert equal(np.frombuffer(answer, "<f8", POINTS, at), column)
            at += column.nbytes
        assert np.frombuffer(answer, "<u8", rules.size, at).tolist() == rules.ravel().tolist()
        at += rules.nbytes
    assert at == len(answer)


@pytest.mark.parametrize(("compiler", "march"), [("clang", ""), ("gcc", "x86-64-v3")])
def test_other_compilers_and_processors_make_modules_that_load(
    compiler, march, drawn, tmp_path, monkeypatch
):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not on this machine")
    if march and platform.machine() != "x86_64":
        pytest.skip(f"{march} does not run on {platform.machine()}")
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv(MARCH, march)
    assert not (march and features())  # such a module runs wherever Python does
    graph, axes = drawn[0]
    point = [float(values[0]) for values, _, _ in axes]
    kernel = build({"e": graph}, cache_dir=tmp_path)["e"]
    expected, rules = InterpreterKernel(graph).point(point)
    assert equal(kernel.point(point)[0], expected)
    assert kernel.point(point)[1] == rules
