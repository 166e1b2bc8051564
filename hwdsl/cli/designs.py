"""The other design of a command: `--against [FILE:EVALUATOR] [OUTPUT] [NAME=VALUE…]`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hwdsl.cli.base import assignments, load_evaluator
from hwdsl.cli.errors import CommandError

if TYPE_CHECKING:
    from hwdsl.api.evaluator import Evaluator
    from hwdsl.search import Design


def against_argument(parser: argparse.ArgumentParser, help: str) -> None:
    """Add `--against` to a command."""
    parser.add_argument("--against", nargs="+", metavar="WORD", help=help)


def other_design(
    words: Sequence[str], evaluator: Evaluator, output: str, given: Mapping[str, str]
) -> Design:
    """The design that the words of `--against` describe, beside one of `evaluator`.

    A file with an evaluator, the name of an output, values of params, each if it differs: what is
    not said is as in the first design, as far as the other has such a param.
    """
    from hwdsl.search import Design

    named = [word for word in words if "=" not in word]
    targets = [word for word in named if not word.isidentifier()]
    outputs = [word for word in named if word.isidentifier()]
    if len(targets) > 1 or len(outputs) > 1:
        raise CommandError("--against takes one FILE:EVALUATOR and one OUTPUT at most")
    other = load_evaluator(targets[0]) if targets else evaluator
    known = {p.name for p in other.spec.params}
    shared = {name: value for name, value in given.items() if name in known}
    own = assignments([word for word in words if "=" in word])
    return Design(other, outputs[0] if outputs else output, {**shared, **own})
