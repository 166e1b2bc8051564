"""`hwdsl compile FILE [-o FOLDER [--wheel]]`: build kernels, or write a module for NumPy alone."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hwdsl.cli.base import code_of, file_argument, report
from hwdsl.cli.errors import FINE, WRONG_DESCRIPTION, CommandError, told
from hwdsl.cli.files import check_target, write_text, writing

if TYPE_CHECKING:
    from hwdsl.api.driver import Program
    from hwdsl.codegen.ir.graph import Graph


KEPT = "hwdsl_abi.h"
"""A file by which a folder of what modules are made from is known."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser)
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="write a module that imports without hwdsl"
    )
    parser.add_argument(
        "--wheel", action="store_true", help="write the module as a wheel into FOLDER"
    )
    parser.add_argument(
        "--keep", action="store_true", help="write FOLDER/generated too: C, Cython, graphs as text"
    )


def run(options: argparse.Namespace) -> int:
    """Compile all evaluators of a file; without a compiler that is an error here."""
    from hwdsl.api import driver
    from hwdsl.api.interface import evaluator_specs
    from hwdsl.api.rule_messages import said_of
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.codegen.build.ahead_of_time import (
        generated,
        is_ours,
        package,
        write_module,
        write_wheel,
    )
    from hwdsl.codegen.build.toolchain import BuildError, build

    if options.keep and options.output is None:
        raise CommandError("--keep writes beside the module: say where with -o FOLDER")
    if options.wheel and (options.output is None or options.keep):
        raise CommandError("--wheel writes nothing else: say where with -o FOLDER, without --keep")
    diagnostics = Diagnostics()
    path = Path(options.file)
    program = driver.program(path, diagnostics)
    report(diagnostics, sys.stderr)
    if program is None:
        return code_of(diagnostics)
    if not program.graphs:
        raise CommandError(f"{path} has no evaluator", WRONG_DESCRIPTION)
    try:
        if options.output is None:
            build(program.graphs)
            print(f"built {', '.join(program.graphs)}")
        else:
            folder = Path(options.output)
            parts = (program.graphs, evaluator_specs(program), _samplers(program), said_of(program))
            kept = generated(program.graphs, _samplers(program)) if options.keep else {}
            _check_kept(folder / "generated", kept)
            if not options.wheel:
                for name in (f"{path.stem}.py", f"{path.stem}.pyi"):
                    check_target(folder / name, is_ours, [path])
            with told(), writing(folder):  # the file's name may be no module's
                made = package(path.stem, *parts)
                if options.wheel:
                    written = [write_wheel(folder, made)]
                else:
                    written = write_module(folder, made)
            for file in written:
                print(f"wrote {file}")
            _keep(folder / "generated", kept)
    except BuildError as error:
        raise CommandError(str(error)) from None
    return FINE


def _samplers(program: "Program") -> dict[str, "Graph"]:
    """The graphs that draw params, of those evaluators that have distributions."""
    found = {name: e.sampler for name, e in program.elaborations.items()}
    return {name: graph for name, graph in found.items() if graph is not None}


def _check_kept(folder: Path, texts: Mapping[str, str]) -> None:
    """End the command if a file to be kept would replace one that no earlier call has kept."""
    earlier = (folder / KEPT).is_file()
    for name in texts:
        if (folder / name).exists() and not earlier:
            check_target(folder / name, lambda head: False)


def _keep(folder: Path, texts: Mapping[str, str]) -> None:
    """Write what the module is made from."""
    if texts:
        with writing(folder):
            folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text)
        print(f"wrote {folder / name}")
