"""What expressions are drawn from: words of the language, and what is declared and in sight."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from .expressions import Draws

# How tightly an expression binds: one that binds less than its place asks for is put in brackets.
LOOSE, OR, AND, NOT, CMP, RANGE, SUM, TERM, UNARY, POWER, POSTFIX, ATOM = range(12)
Expr = tuple[str, int]

REALS = ("0", "1", "2", "3", "0.5", "0.1", "7", "1.5", "1e-3", "1e300", "1_000", "0.3", "1 %",
         "25 %", "(-0.0)", "inf", "pi", "(-inf)", "(1/3)", "1e-17", "(-1)", "5e-324")  # fmt: skip
INTS = ("0", "1", "2", "3", "5", "(-1)", "(-2)", "7", "16", "40")
UNITS = {"data": ("B", "GB", "MiB"), "time": ("s", "ms", "hour"), "rate": ("B/s", "GB/s", "TB/s")}
BASE = {"data": "1 B", "time": "1 s", "rate": "1 B/s"}
NUMBERS = ("real", "int", "data", "time", "rate")
FUNCTIONS = ("abs", "sqrt", "exp", "log", "log2", "log10", "expm1", "log1p")
LONG = 40
WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Kind:
    """What a kind has: its members with their types, and methods with the types they take."""

    name: str
    members: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)  # fields without a default
    fields: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    summed: list[str] = field(default_factory=list)  # kinds whose parts a member sums up
    sums: list[str] = field(default_factory=list)  # those members
    bases: list[str] = field(default_factory=list)
    methods: dict[str, tuple[list[str], str]] = field(default_factory=dict)


@dataclass
class World:
    """What a file declares."""

    enums: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    components: dict[str, list[str]] = field(default_factory=dict)  # by kind
    functions: dict[str, tuple[list[tuple[str, str, bool]], str]] = field(default_factory=dict)
    evaluators: dict[str, Evaluator] = field(default_factory=dict)


@dataclass
class Evaluator:
    """What a call needs: for each param expressions that lie in its range, and the outputs."""

    params: dict[str, Callable[[Draws, int], str]] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    outputs: dict[str, str] = field(default_factory=dict)
    endless: set[str] = field(
        default_factory=set
    )  # params of which a picture does not know a range


@dataclass
class Scope:
    """What draws depend on; `names` are the variables in sight with their types."""

    random: Random
    world: World
    names: dict[str, str] = field(default_factory=dict)
    ranged: frozenset[str] = frozenset()  # ints of which a bound is known
    free: frozenset[str] = frozenset()  # names whose values depend on params
    fresh: list[int] = field(default_factory=lambda: [0])

    # --- chance -------------------------------------------------------------------------------

    def one(self, of: Sequence[str]) -> str:
        return of[int(self.random.random() * len(of))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def below(self, n: int) -> int:
        return int(self.random.random() * n)

    def new(self, stem: str) -> str:
        self.fresh[0] += 1
        return f"{stem}{self.fresh[0]}"

    def within(self, names: Mapping[str, str], **more: object) -> Self:
        """The same with more names in sight."""
        all_names = {**self.names, **names}
        found = type(self)(self.random, self.world, all_names, self.ranged, self.free, self.fresh)
        for name, value in more.items():
            setattr(found, name, value)
        return found
