"""`hwdsl report FILE [-o FOLDER]`: the figures and tables that a file declares."""

import argparse
from pathlib import Path

from hwdsl.cli.base import file_argument, load_module
from hwdsl.cli.errors import FINE, WRONG_DESCRIPTION, CommandError, told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="write FOLDER/index.html, which stands alone, and each figure as an .svg beside it",
    )
    parser.add_argument(
        "--raw", action="store_true",
        help="show what the formulas give at infeasible points, too: dotted, or in grey rows",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print the tables as Markdown, or write all as a page."""
    from hwdsl.cli.files import check_target, write_text, writing
    from hwdsl.show.report import declares_any, is_ours, markdown, pages

    module, raw = load_module(options.file), options.raw
    if not declares_any(module):
        print(f"{options.file} declares no figures and no tables: there is nothing to report")
        return FINE
    if options.output is not None:
        check_target(Path(options.output) / "index.html", is_ours)
    try:
        with told(WRONG_DESCRIPTION):
            files = (
                {"": markdown(module, raw=raw)}
                if options.output is None
                else pages(module, raw=raw)
            )
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from None
    if options.output is None:
        none = f"{options.file} declares no tables; its figures are drawn with -o FOLDER"
        print(files[""] or none)
        return FINE
    folder = Path(options.output)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        check_target(folder / name, is_ours)
    for name, text in files.items():
        write_text(folder / name, text)
        print(f"wrote {folder / name}")
    return FINE
