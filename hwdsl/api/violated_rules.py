"""What there is to say of the rules that a point violates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from hwdsl.base.diagnostics import Label

if TYPE_CHECKING:
    from hwdsl.elaborate import Elaboration

UNDEFINED = "an output is not a number"
"""What is said of the rule that no output is NaN."""


@frozen
class ViolatedRule:
    """A rule that a point violates, with its message and help there.

    `places` are those of a component that no declaration names: where it is made, the calls in
    which it is made, and what it is given there.
    """

    name: str
    message: str
    help: str = ""
    places: tuple[Label, ...] = ()

    def place_lines(self) -> list[str]:
        """The places, each with the first line of what stands there."""
        return [f"{p.text}: {p.span}: {p.span.text.splitlines()[0]}" for p in self.places]


def violated_rules(
    elaboration: Elaboration, names: Iterable[str], point: Sequence[float]
) -> list[ViolatedRule]:
    """The rules of these `names`, which a point (a value per param, in base units) violates."""
    rules = {rule.name: rule for rule in elaboration.rules}
    return [
        ViolatedRule(name, of.message(point), of.help or "", tuple(of.made(point)))
        if (of := rules.get(name)) is not None
        else ViolatedRule(name, UNDEFINED)
        for name in names
    ]
