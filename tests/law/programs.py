"""Random programs: whole `.hw` files, with the module and the table that they use.

`draw(seed)` is the same program for a seed. A program is a mapping from names of files to texts, of
which `main.hw` is the one that is loaded. Not every program drawn checks: the law asks.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .declarations import BESIDE, MAIN, NOTHING, TABLE, Declarations
from .expressions import Draws
from .scope import BASE, NUMBERS, UNITS, WORD, Evaluator

__all__ = ["BESIDE", "COMMON", "MAIN", "draw"]

COMMON = """edition 2026
fn twice(x: real) -> real = x * 2
fn thrice(x: real) -> real = x * 3
let four = 4
"""
NUMBERED = (
    ("real", ["0.5", "0.25", "1.0"]),
    ("real", ["1.0", "inf"]),
    ("int", ["1", "2", "8"]),
    ("data", ["1 GB", "3 MiB"]),
    ("real", ["-1", "0", "0.1"]),
)
REAL_RANGES = (
    "0 .. 1", "0 .. 4", "-3 .. 3", "0.1 .. 2", "0 .. inf", "-inf .. inf", "-1 .. 0",
    "1e-3 .. 1e9", "-0.0 .. 1", "0 .. 100",
)  # fmt: skip
HEADS = ("", "\n", "edition 2026", "\nedition 2026")
LITTLE = (
    "",
    "\n",
    "# nothing\n",
    "\n# nothing\n",
    "let one = 1",
    "let one = 1\n",
    "let one = 1\nlet two = 2",
    "let one = 1\nlet two = 2\n",
)
CSV = "depth,size [GB]\n1,2\n2,0.5\n4,8\n"


def draw(seed: int | str) -> dict[str, str]:
    """The program of a seed."""
    return _Program(Random(seed)).files()


class _Program(Declarations):
    """Evaluators, claims, tables and figures, and the files with all in them."""

    def files(self) -> dict[str, str]:
        d = self.draws
        self.uses()
        top = self.references()
        self.units()
        for _ in range(1 + d.below(2)):
            self.enum()
        for _ in range(d.below(3)):
            self.constant()
        for _ in range(d.below(3)):
            self.function()
        for _ in range(d.below(4)):
            self.kind()
        if d.chance(0.25):
            self.calibrated()
        for _ in range(1 + d.below(2)):
            self.evaluator()
        for make in (self.claim, self.display):
            if d.chance(0.5):
                make()
        if d.chance(0.3):  # nothing asked, or one thing
            lines = d.one(["", f"output y = {self.outside().text('real', 2)}"])
            self.items.append(f"evaluator {self.name('e')} {d.block([lines] if lines else [])}")
        if d.chance(0.2) and self.rules:
            self.items.append(f'allow {d.one(self.rules)} "drawn"')
        order = list(self.items)
        if d.chance(0.3):
            d.random.shuffle(order)
        order = [*top, *order]
        head = d.one(
            ["edition 2026\n", "edition 2026\n", "\nedition 2026\n", "", "#! drawn\nedition 2026\n"]
        )
        text = head + d.one(["", "\n"]) + "\n".join(order) + d.one(["\n", ""])
        nothing = d.one(HEADS)
        little = d.one(LITTLE)
        nothing += "\n" + little if nothing.strip() and little.strip() else little
        return {MAIN: text, BESIDE: COMMON, TABLE: CSV, NOTHING: nothing}

    # --- evaluators -----------------------------------------------------------------------------

    def evaluator(self) -> None:
        d, name = self.draws, self.name("e")
        made = Evaluator()
        inner = self.outside()
        lines: list[str] = []
        ranged: set[str] = set()
        for _ in range(1 + d.below(4)):
            p = self.name("p")
            type, line, argument, bounded = self.free(p)
            of = "~" if "~" in line else ""
            lines.append(line + self.basis(of))
            made.params[p] = argument
            if " = " not in line and not line.startswith("choice"):
                made.needed.add(p)
            if line.startswith("param") and (" in " not in line or "inf" in line):
                made.endless.add(p)
            if bounded:
                ranged.add(p)
            inner = inner.within({p: type})
        inner.ranged = frozenset(ranged)
        inner.free = frozenset(made.params)
        for _ in range(d.below(4)):
            let = self.name("v")
            type = d.one([*NUMBERS, "real", "bool", "list", *self.world.enums,
                          *(k for k in self.world.components)])  # fmt: skip
            text = inner.text(type, 3)
            lines.append(f"let {let} = {text}")
            reads = inner.free & set(WORD.findall(text))
            inner = inner.within({let: type}, free=inner.free | ({let} if reads else set()))
        for _ in range(1 + d.below(4)):
            output = self.name("out")
            type = d.one([*NUMBERS, "real", "real", "bool", "list", *self.world.enums])
            unit = ""
            if type in UNITS:
                unit = d.one(["", f" in {d.one(UNITS[type])}", f" : {self.type(type)}"])
            elif type == "real":
                unit = d.one(["", "", f" : {self.type(type)}", " in %", " in 1", " in %^2",
                              " in %^-1", " in s*s^-1", " in GB*s/B/s", " in m^2/m^2"])  # fmt: skip
            elif d.chance(0.5):
                unit = f" : {self.type(type)}"
            lines.append(f"output {output}{unit} = {inner.text(type, 3)}{self.basis()}")
            made.outputs[output] = type
        self.merged(made, inner, lines)
        for _ in range(d.below(3)):
            lines.append(self.rule(inner, name, name))
        if d.chance(0.15):
            waiver = f'allow {d.one(self.rules)} "drawn"' if self.rules else 'source "also"'
            lines.insert(0, d.one([self.sources(), waiver]))
        self.items.append(f"evaluator {name} {d.block(lines)}")
        self.world.evaluators[name] = made

    def merged(self, made: Evaluator, inner: Draws, lines: list[str]) -> None:
        """A sum over the parts of a component that is chosen twice, where some kind has one."""
        kinds = [
            k for k, each in self.world.kinds.items() if each.sums and self.world.components[k]
        ]
        draws = inner.within({}, random=Random(f"merged {lines}"))  # apart, as the sums are
        if not kinds or draws.chance(0.3):
            return
        kind, chosen, output = draws.one(kinds), draws.new("p"), draws.new("out")
        among = list(self.world.components[kind])
        lines.insert(0, f"choice {chosen} : {kind} in [{', '.join(among)}]")
        made.params[chosen] = lambda given, depth: given.one(among)
        other = f"({chosen} with {draws.amendments(self.world.kinds[kind], 1)})"
        if draws.chance(0.2):
            other = draws.one(among)
        member = draws.one(self.world.kinds[kind].sums)
        condition = draws.text("bool", 2)
        lines.append(f"output {output} = (if {condition} then {chosen} else {other}).{member}")
        made.outputs[output] = self.world.kinds[kind].members[member]

    def free(self, name: str) -> tuple[str, str, Callable[[Draws, int], str], bool]:
        """A param or choice: its type, its line, what a call may give it, whether it has bounds."""
        d, pick = self.draws, self.draws.random.random()
        kinds = [k for k, v in self.world.components.items() if v]
        if kinds and pick < 0.22:
            kind = d.one(kinds)
            among = list(self.world.components[kind])
            line = f"choice {name} : {kind} in [{', '.join(among)}]{d.one(['', f' = {among[-1]}'])}"
            return kind, line, lambda draws, depth: draws.one(among), False
        if pick < 0.32:
            enum = d.one(sorted(self.world.enums))
            cases = self.world.enums[enum]
            line = f"choice {name} : {enum} in {enum}"
            if d.chance(0.4):
                cases = cases[::-1][: 1 + d.below(len(cases))]
                line = f"choice {name} : {enum} in [{', '.join(cases)}]"
            elif d.chance(0.4):
                line = f"param {name} : {enum} = {cases[0]}"
            return enum, line, lambda draws, depth: f"{enum}.{draws.one(cases)}", False
        if pick < 0.4:
            line = f"param {name} : bool = {d.one(['true', 'false'])}"
            return "bool", line, lambda draws, depth: draws.text("bool", depth), False
        if pick < 0.5:
            return self.numbers(name)
        if pick < 0.72:
            low, high = d.one(
                ["0 .. 5", "-3 .. 9", "0 .. 40", "0 .. 40", "1 .. 1", "-2 .. 2", "1 .. 20"]
            ).split(" .. ")
            line = f"param {name} : int = {high}{d.one(['', '', ' ' + '0'])[:0]} in {low} .. {high}"
            if d.chance(0.1):
                line = f"param {name} : int in {low} .. {high}"
            return "int", line, self.held("int", low, high), True
        return self.real(name)

    def numbers(self, name: str) -> tuple[str, str, Callable[[Draws, int], str], bool]:
        """A choice between numbers."""
        d = self.draws
        type, among = NUMBERED[d.below(len(NUMBERED))]
        line = f"choice {name} : {type} in [{', '.join(among)}]{d.one(['', f' = {among[0]}'])}"
        return type, line, lambda draws, depth: draws.one(among), False

    def real(self, name: str) -> tuple[str, str, Callable[[Draws, int], str], bool]:
        d = self.draws
        type = d.one(["real", "real", "real", "data", "time", "rate"])
        if type == "real":
            low, high = d.one(REAL_RANGES).split(" .. ")
        else:
            unit = d.one(UNITS[type])
            low, high = d.one([f"0 {unit} .. 10 {unit}", f"0.1 {unit} .. 3 {unit}",
                               f"0 {unit} .. inf * {BASE[type]}"]).split(" .. ")  # fmt: skip
        start = d.one([low, high])
        if type != "real" and "inf" in start and d.chance(0.5):
            start = low
        line = f"param {name} : {self.type(type)} = {start}"
        argument = self.held(type, low, high)
        pick = d.random.random()
        if pick < 0.08:
            argument = lambda draws, depth: draws.text(type, depth)  # noqa: E731
        elif pick < 0.14:
            line = f"param {name} : {self.type(type)} in {low} .. {high}"
        elif pick < 0.19:
            line = f"param {name} : {self.type(type)}"
            argument = lambda draws, depth: draws.text(type, depth)  # noqa: E731
        else:
            line += f" in {low} .. {high}"
        if d.chance(0.25):
            self.distribution()
            ends = "0.1, 0.9" if type == "real" else f"1 {UNITS[type][0]}, 2 {UNITS[type][0]}"
            line += f" ~ evenly({ends})"
        return type, line, argument, False

    def held(self, type: str, low: str, high: str) -> Callable[[Draws, int], str]:
        """Arguments that lie in a range: one of its ends, or an expression held to it."""

        def argument(draws: Draws, depth: int) -> str:
            pick = draws.random.random()
            if pick < 0.3:
                return draws.one([low, high])
            inner = draws.text(type, depth)
            return inner if pick < 0.4 else f"min(max({inner}, {low}), {high})"

        return argument

    def distribution(self) -> None:
        text = "fn evenly[D](u: real, low: D, high: D) -> D = low + u * (high - low)"
        if text not in self.items:
            self.items.append(text)

    # --- claims, tables, figures ------------------------------------------------------------------

    def claim(self) -> None:
        d = self.draws
        lines = [d.one([self.sources(), 'source "drawn" confidence low', 'assume "drawn"'])]
        inner = self.outside()
        if d.chance(0.4):
            lines.append(f"let {d.new('l')} = {inner.text('real', 1)}")
        if d.chance(0.1) and self.rules:
            lines.append(f'allow {d.one(self.rules)} "drawn"')
        for _ in range(1 + d.below(3)):
            word = d.one(["", "", "calibration ", "identity "])
            tails = d.one(["", ' missed "drawn"'])
            beside = d.chance(0.5)
            type = d.one(["real", "int", "data"])
            if d.chance(0.3):
                baseline = f" baseline {inner.text('bool', 1)}" if beside else ""
                lines.append(f"{word}expect {inner.text('bool', 2)}{baseline}{tails}")
                continue
            tolerance = d.one(["5 % relative", "factor 3", "factor 1.5", "0.1 relative"])
            if type == "data":
                tolerance = d.one([tolerance, "1 GB", "1 GB", "1 B absolute"])
            elif d.chance(0.3):
                tolerance = "1 absolute"
            left, right = inner.at(6, type, 2), inner.at(6, type, 1)
            baseline = f" baseline {inner.at(6, type, 1)}" if beside else ""
            lines.append(f"{word}expect {left} == {right} within {tolerance}{baseline}{tails}")
        d.random.shuffle(lines)
        if d.chance(0.3):
            lines = lines[: d.one([0, 1, 1])]
        self.items.append(f"claim {d.new('claim')} {d.block(lines)}")

    def display(self) -> None:
        d = self.draws
        name = d.one(sorted(self.world.evaluators))
        evaluator = self.world.evaluators[name]
        output = d.one(sorted(evaluator.outputs))
        lines = [f"of = {name}"]
        along = sorted(evaluator.params.keys() - evaluator.endless)
        if not along:
            return
        if d.chance(0.5):
            lines += [f"x = {d.one(along)}", f"y = {output}"]
            self.items.append(f"figure {d.new('figure')} {d.block(lines)}")
        else:
            lines += [f"rows = {d.one(along)}", f"outputs = {output}"]
            self.items.append(f"table {d.new('table')} {d.block(lines)}")
