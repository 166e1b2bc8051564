"""Units of a dimension put together from declared ones: `J/B` where no unit is declared for it."""

from collections.abc import Iterator, Sequence

from hwdsl.base.units import ONE, Dim, Unit


def quotients(dim: Dim, units: Sequence[Unit]) -> Iterator[tuple[Unit, Dim]]:
    """Units of factor 1 with what is left to divide by, the simplest first.

    Nothing is left of a unit of the dimension itself, else a negative power of one base.
    """
    plain = sorted((u for u in units if u.factor == 1 and u.dim.powers), key=_plainness)
    for unit in plain:
        if unit.dim == dim:
            yield unit, ONE
    for unit in plain:
        rest = dim / unit.dim
        if len(rest.powers) == 1 and rest.powers[0][1].denominator == 1:
            positive = [p for _, p in dim.powers if p > 0]
            if positive and len(dim.powers) > 1 and rest.powers[0][1] < 0:
                yield unit, rest


def coherent(dim: Dim, units: Sequence[Unit]) -> Unit | None:
    """The plainest unit of factor 1."""
    found = [u for u in units if u.dim == dim and u.factor == 1]
    return min(found, key=_plainness, default=None)


def _plainness(unit: Unit) -> int:
    """The richest dimension first; among equals the first declared, so `FLOP` before `OP`."""
    return -len(unit.dim.powers)
