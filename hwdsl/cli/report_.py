"""`hwdsl report FILE [-o FOLDER]`: the figures and tables that a file declares."""

import argparse
from pathlib import Path

from hwdsl.cli.base import FINE, WRONG_DESCRIPTION, Failure, file_argument, load_module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    file_argument(parser)
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="write FOLDER/index.html, with the figures"
    )


def run(options: argparse.Namespace) -> int:
    """Print the tables as Markdown, or write all as a page."""
    from hwdsl.cli.files import write_text
    from hwdsl.report import declares_any, markdown, page

    module = load_module(options.file)
    if not declares_any(module):
        print(f"{options.file} declares no figures and no tables: there is nothing to report")
        return FINE
    try:
        text = markdown(module) if options.output is None else page(module)
    except ModuleNotFoundError as error:
        raise Failure(str(error)) from None
    except ValueError as error:
        raise Failure(str(error), WRONG_DESCRIPTION) from None
    if options.output is None:
        print(text or f"{options.file} declares no tables; its figures are drawn with -o FOLDER")
        return FINE
    target = Path(options.output) / "index.html"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot write to {options.output}: {error.strerror}") from None
    write_text(target, text)
    print(f"wrote {target}")
    return FINE
