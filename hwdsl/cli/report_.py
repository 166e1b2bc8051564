"""`hwdsl report FILE [-o FOLDER]`: the figures and tables that a file declares."""

import argparse
from pathlib import Path

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, Failure, file_argument, load_module, told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="write FOLDER/index.html, which stands alone, and each figure as an .svg beside it",
    )


def run(options: argparse.Namespace) -> int:
    """Print the tables as Markdown, or write all as a page."""
    from hwdsl.cli.files import write_text
    from hwdsl.report import declares_any, markdown, pages

    module = load_module(options.file)
    if not declares_any(module):
        print(f"{options.file} declares no figures and no tables: there is nothing to report")
        return FINE
    try:
        with told(WRONG_DESCRIPTION):
            files = {"": markdown(module)} if options.output is None else pages(module)
    except ModuleNotFoundError as error:
        raise Failure(str(error)) from None
    if options.output is None:
        none = f"{options.file} declares no tables; its figures are drawn with -o FOLDER"
        print(files[""] or none)
        return FINE
    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot write to {options.output}: {error.strerror}") from None
    for name, text in files.items():
        write_text(folder / name, text)
        print(f"wrote {folder / name}")
    return FINE
