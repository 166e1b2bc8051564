"""What rules say, for compiled modules: texts with holes, and a graph of the numbers in them."""

from __future__ import annotations

from attrs import define, field

from hwdsl.api import driver
from hwdsl.api.quantities import scale
from hwdsl.codegen.build.ahead_of_time import Said
from hwdsl.codegen.ir.builder import Ref
from hwdsl.codegen.passes import optimise
from hwdsl.codegen.runtime import Message, Placeholder, Scale
from hwdsl.elaborate import Elaboration, messages
from hwdsl.elaborate.elaboration_info import LoweredHole


def said_of(program: driver.Program) -> dict[str, Said]:
    """The messages of the rules of each evaluator that has some."""
    return {name: _Writer(e).said() for name, e in program.elaborations.items() if e.rules}


@define(eq=False)
class _Writer:
    """Numbers the numbers that messages need, each once."""

    elaboration: Elaboration
    numbers: dict[Ref, int] = field(factory=dict)
    suited: dict[tuple[object, ...], tuple[tuple[float, Scale], ...]] = field(factory=dict)

    def said(self) -> Said:
        """All messages, and the graph."""
        found = [
            [Message(self._number(holds), tuple(map(self._part, pieces)))
             for holds, pieces in rule.said()]
            for rule in self.elaboration.rules
        ]  # fmt: skip
        outputs = [(f"{i}", ref) for ref, i in self.numbers.items()]
        return Said(optimise(self.elaboration.finish(outputs)), found)

    def _number(self, ref: Ref) -> int:
        return self.numbers.setdefault(ref, len(self.numbers))

    def _part(self, piece: str | LoweredHole) -> str | Placeholder:
        if isinstance(piece, str):
            return piece
        key = (piece.dim, piece.unit, id(piece.scope))
        if key not in self.suited:
            units = messages.suited(piece)
            self.suited[key] = tuple((least, scale(unit)) for least, unit in units)
        return Placeholder(self._number(piece.ref), piece.labels, piece.truth, self.suited[key])
