"""Units of the language as the reader of texts takes them: see `hwdsl.codegen.runtime.quantity`."""

from collections.abc import Mapping

from hwdsl.base.units import Unit
from hwdsl.codegen.runtime import Scale


def scale(unit: Unit) -> Scale:
    """A unit with its exact factor and zero; that of pure numbers has no name."""
    name = "" if unit.name == "1" else unit.name
    dims = {base: float(power) for base, power in unit.dim.powers}
    return Scale(name, str(unit.factor), str(unit.offset), dims)


def scales(units: Mapping[str, Unit]) -> dict[str, Scale]:
    """Units by name."""
    return {name: scale(unit) for name, unit in units.items()}
