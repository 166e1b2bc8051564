"""Random definitions: units, enums, constants, functions, kinds and components."""

from __future__ import annotations

from random import Random

from .expressions import Draws
from .scope import NUMBERS, UNITS, Kind, World

MAIN, BESIDE, NOTHING, TABLE = "main.hw", "beside.hw", "nothing.hw", "table.csv"

# Words of the grammar that may be names too.
SOFT = ("source", "help", "type", "unit", "dimension", "kind", "enum", "claim", "evaluator",
        "param", "choice", "output", "require", "warn", "expect", "relative", "absolute", "allow",
        "use", "as", "edition", "state", "next", "until", "prefix", "offset", "calibrated",
        "from", "factor", "known", "unknown", "calibration", "identity", "assume", "table",
        "figure", "confidence", "baseline", "missed", "extern", "is", "zip")  # fmt: skip


class Declarations:
    """A file being written: its items, and what they declare; definitions of all but evaluators."""

    def __init__(self, random: Random) -> None:
        self.world = World()
        self.draws = Draws(random, self.world)
        self.items: list[str] = []
        self.files_used: set[str] = set()
        self.taken: set[str] = set()
        self.rules: list[str] = []  # by the kind or evaluator that states them

    # --- names ----------------------------------------------------------------------------------

    def name(self, stem: str) -> str:
        """A name not used yet; now and then a word that the grammar knows."""
        word = self.draws.one(SOFT)
        if self.draws.chance(0.08) and word not in self.taken:
            self.taken.add(word)
            return word
        return self.draws.new(stem)

    def type(self, type: str) -> str:
        """A type as it may be written."""
        d = self.draws
        if type == "rate":
            return d.one(["data / time", "bandwidth", "data * time^-1", "1 * data / time",
                          "(data)/time", "data * time^(-2/2)", "data^1 / time", "data^(2/2)/time",
                          "data^+1 / time", "data * time^(-3/3)"])  # fmt: skip
        if type == "list":
            return "[real]"
        return d.one(["real", "real", "1"]) if type == "real" else type

    # --- what stands at the top -----------------------------------------------------------------

    def uses(self) -> None:
        d, pick = self.draws, self.draws.random.random()
        if pick < 0.1:
            self.items.append("use beside")
        elif pick < 0.2:
            self.items.append("use beside: twice, thrice")
        elif pick < 0.25:
            self.items.append("use beside as other: twice")
        elif pick < 0.3:
            self.items.append("use beside as other")
            self.world.functions["other.twice"] = ([("x", "real", False)], "real")
        if d.chance(0.1):
            self.items.append(
                d.one(
                    [
                        "use nothing",
                        "use beside as third: twice",
                        "use beside as third: twice, thrice, four",
                    ]
                )
            )
        if pick < 0.2:
            self.world.functions["twice"] = ([("x", "real", False)], "real")
        if d.chance(0.15):
            use = d.one([" as t", " as t", " as t: depth"])
            self.items.append(f'use "{TABLE}"{use}')
            if use == " as t":
                d.names["t.depth"] = "list"

    def units(self) -> None:
        d = self.draws
        if d.chance(0.15):
            self.items.append(d.one([
                "dimension sheets\nunit sheet : sheets\nunit ream = 500 sheet",
                "dimension sheets\nunit sheet : sheets prefix k, M\nunit ream = 500 sheet prefix k",
                "dimension sheets\nunit sheet : sheets prefix k\ntype pace = sheets / time",
                "unit degX = 1 K offset 10 K",
                "unit degX = 1 K offset 10 K prefix m",
                "type load = data / time\ntype plain = 1",
                "dimension a\ndimension b\nunit ax : a prefix k, M, G\nunit bx : b",
            ]))  # fmt: skip

    def enum(self) -> None:
        d = self.draws
        name = d.new("mode")
        cases = [d.new("c") for _ in range(1 if d.chance(0.15) else 2 + d.below(3))]
        self.items.append(f"enum {name} {d.block(cases)}{self.basis()}")
        self.world.enums[name] = cases

    def constant(self) -> None:
        d = self.draws
        type = d.one([*NUMBERS, "list"])
        name = self.name("const")
        said = d.one(["", f" : {self.type(type)}"])
        self.items.append(f"let {name}{said} = {d.text(type, 1)}{self.basis()}")
        d.names[name] = type

    def calibrated(self) -> None:
        d, name = self.draws, self.draws.new("fitted")
        bounds = d.one(["", " in 0 .. 2"])
        value = d.one(["1", "0.3"])
        self.items.append(f"calibrated {name} : real = {value}{bounds} {self.sources()}")
        d.names[name] = "real"

    def function(self) -> None:
        d, name = self.draws, self.draws.new("fn")
        if d.chance(0.25):
            self.generic(name)
            return
        gives = d.one([*NUMBERS, "real", "bool"])
        parameters: list[tuple[str, str, bool]] = []
        written: list[str] = []
        for _ in range(d.below(4)):
            p = self.name("p")
            takes = d.one(["real", "int", "known int", "data", "bool", *self.world.enums])
            optional = bool(parameters and parameters[-1][2]) or d.chance(0.3)
            default = f" = {d.leaf(takes.split()[-1])}" if optional else ""
            known = "known " if takes.startswith("known") else ""
            written.append(f"{known}{p}: {self.type(takes.split()[-1])}{default}")
            parameters.append((p, takes, optional))
        names = {p: t.split()[-1] for p, t, _ in parameters}
        inner = self.outside().within(names)
        comma = "," if written and d.chance(0.2) else ""
        self.items.append(
            f"fn {name}({', '.join(written)}{comma}) -> {self.type(gives)}"
            + self.body(inner, gives)
            + self.basis()
        )
        self.world.functions[name] = (parameters, gives)

    def generic(self, name: str) -> None:
        """A function of any dimension."""
        d = self.draws
        variables, extra, call = "D", "", [("a", "D", False)]
        if d.chance(0.3):
            variables, extra = "D, E", ", e: E"
            call.append(("e", "real", False))
        body = d.one(
            [" = if a > b then a else b", " { let m = max(a, b), m + a - b }", " = min(a, b)"]
        )
        self.items.append(f"fn {name}[{variables}](a: D, b: D{extra}) -> D{body}{self.basis()}")
        self.world.functions[name] = ([call[0], ("b", "D", False), *call[1:]], "D")

    def body(self, inner: Draws, gives: str) -> str:
        """A formula, or lets and a formula between braces."""
        d = self.draws
        if d.chance(0.5):
            return f" = {inner.text(gives, 2)}"
        lines: list[str] = []
        for _ in range(d.below(3)):
            let = self.name("l")
            type = d.one(NUMBERS)
            lines.append(f"let {let} = {inner.text(type, 2)}")
            inner = inner.within({let: type})
        value = inner.text(gives, 2)  # a sign at the start of a line goes on with the line before
        lines.append(f"({value})" if value[0] in "+-" else value)
        return " " + d.block(lines)

    def basis(self, of: str = "") -> str:
        """What a declaration ends with to say where it is from; mostly nothing."""
        d = self.draws
        if not d.chance(0.6 if "~" in of else 0.2):  # distributions are rare themselves
            return ""
        return " " + d.one([self.sources(), self.sources(), 'assume "drawn"'])

    def sources(self) -> str:
        """A `source` of one citation or several."""
        d = self.draws
        cited = [
            d.one(["drawn_2020", '"drawn"'])
            if d.chance(0.5)
            else d.one(['drawn_2020 "p. 3"', "reference"])
            for _ in range(1 + d.below(3))
        ]
        cited = [c + d.one(["", " confidence low"]) for c in cited]
        if len(cited) == 1 and d.chance(0.6):
            return f"source {cited[0]}"
        between = d.one([", ", ",\n"])
        return f"source ({between.join(cited)}{d.one(['', ','])})"

    def references(self) -> list[str]:
        """Declare what the sources cite; sometimes a source of the whole file, for its top."""
        d = self.draws
        self.items.append('reference drawn_2020 : paper 2020 "Drawn, 2020"')
        self.items.append('reference reference : book 1999 "Another, 1999"')
        return [d.one([self.sources(), 'assume "drawn"'])] if d.chance(0.2) else []

    def outside(self) -> Draws:
        """What is in sight of an item: the names at the top."""
        return self.draws.within({})

    # --- kinds ----------------------------------------------------------------------------------

    def kind(self) -> None:
        d = self.draws
        kind = Kind(d.new("kind"))
        lines: list[str] = []
        base = d.one([*self.world.kinds, ""]) if self.world.kinds and d.chance(0.3) else ""
        inner = self.outside()
        if base:
            old = self.world.kinds[base]
            kind.members.update(old.members)
            kind.unknown.update(old.unknown)
            kind.bare.update(old.bare)
            kind.fields.update(old.fields)
            kind.parts.update(old.parts)
            kind.methods.update(old.methods)
            kind.summed += old.summed
            kind.sums += old.sums
            kind.bases += [base, *old.bases]
            inner = inner.within(readable(old))
        for _ in range(1 + d.below(4)):
            inner = self.field(kind, lines, inner)
        others = [k for k in self.world.kinds if self.world.components.get(k) and k != base]
        for _ in range(d.below(3) if others else 0):
            self.slot(kind, lines, others, inner)
        self.sums(kind, lines, others)
        for _ in range(d.below(3)):
            let, type = self.name("m"), d.one([*NUMBERS, "real", "bool"])
            typed = d.one(["", f" : {self.type(type)}"])
            lines.append(f"let {let}{typed} = {inner.text(type, 2)}{self.basis()}")
            inner = inner.within({let: type})
            kind.members[let] = type
        if d.chance(0.3):
            method, p = d.new("fn"), self.name("p")
            gives = d.one(["real", "int", "data"])
            own = inner.within({p: "real"})
            lines.append(f"fn {method}({p}: real) -> {gives}{self.body(own, gives)}{self.basis()}")
            kind.methods[method] = (["real"], gives)
        for _ in range(d.below(3)):
            lines.append(self.rule(inner, "{name}", kind.name))
        if d.chance(0.2):
            lines.insert(0, d.one([self.sources(), 'assume "drawn"']))
        self.items.append(f"kind {kind.name}{f' : {base}' if base else ''} {d.block(lines)}")
        self.world.kinds[kind.name] = kind
        self.components(kind)

    def field(self, kind: Kind, lines: list[str], inner: Draws) -> Draws:
        """A field, of which nobody may know the value."""
        d, name = self.draws, self.name("f")
        type = d.one([*NUMBERS, "real", "int", "bool", "list", *self.world.enums])
        written = f"{name} : {self.type(type)}"
        if type != "list" and d.chance(0.2):
            kind.unknown.add(name)
            lines.append(f'{written} = unknown "nobody says"{self.range(type)}{self.basis()}')
        elif d.chance(0.15):
            lines.append(f"{written}{self.range(type)}{self.basis()}")
            kind.bare.add(name)
            kind.members[name] = kind.fields[name] = type
            return inner.within({name: type})
        else:
            value = inner.text(type, 1)
            lines.append(f"{written} = {value}{self.range(type)}{self.basis()}")
            inner = inner.within({name: type})
        kind.members[name] = kind.fields[name] = type
        return inner

    def range(self, type: str) -> str:
        """The range of a field, if it has one: wide, for a default outside is an error."""
        d = self.draws
        if type not in NUMBERS or not d.chance(0.3):
            return ""
        unit = f" {d.one(UNITS[type])}" if type in UNITS else ""
        most = "9000000000000000" if type == "int" else "1e300"
        ends = d.one(["-inf {} inf", f"-{most}{unit} {{}} inf", f"-{most}{unit} {{}} {most}{unit}",
                      f"0{unit} {{}} inf"])  # fmt: skip
        return " in " + ends.format(d.one(["..", "..", "<..", "..<", "<..<"]))

    def slot(self, kind: Kind, lines: list[str], others: list[str], inner: Draws) -> None:
        """A part: one or many of another kind, with some fields set."""
        d = self.draws
        of, name = d.one(others), d.new("part")
        other = self.world.kinds[of]
        count = d.one(["", "", "[2]", "[0]", "[3]"])
        bare = not any(self.bare(other, f) for f in other.fields)
        base = "" if bare and d.chance(0.4) else f" : {d.one(self.world.components[of])}"
        block = ""
        plain = {f: t for f, t in other.fields.items() if t in NUMBERS}
        if plain and d.chance(0.4):
            field = d.one(sorted(plain))
            value = inner.text(plain[field], 1)
            block = " " + d.block([f"{field} = {value}"])
        lines.append(f"{of} {name}{count}{base}{block}{self.basis()}")
        kind.parts[name] = of
        if d.chance(0.2):
            ref = d.new("ref")
            lines.append(f"{ref} : ref {of} = {name}")
            kind.members.update({f"{ref}.{m}": t for m, t in readable(other).items()})
        if d.chance(0.4):
            summed = sorted(m for m, t in readable(other).items() if t in NUMBERS)
            if summed:
                m, let = d.one(summed), d.new("all")
                lines.append(f"let {let} = sum(x.{m} * x.count for x in parts.{of})")
                kind.members[let] = "real" if other.members[m] == "int" else other.members[m]
                kind.summed.append(of)
                kind.sums.append(let)

    def sums(self, kind: Kind, lines: list[str], others: list[str]) -> None:
        """A sum over parts of which only components have some, or over those of a narrower kind."""
        # Drawn apart, so that the rest of a program is the same with more of these or fewer.
        random = Random(f"sums of {kind.name} {lines}")
        for of in random.sample(others, min(len(others), random.randrange(3))):
            below = self.world.kinds[of]
            summed = sorted(m for m, t in readable(below).items() if t in NUMBERS)
            if summed:
                m, let = random.choice(summed), self.draws.new("all")
                lines.append(f"let {let} = sum(x.{m} * x.count for x in parts.{of})")
                kind.members[let] = "real" if below.members[m] == "int" else below.members[m]
                kind.summed.append(of)
                kind.sums.append(let)

    def extra(self, kind: Kind, lines: list[str]) -> None:
        """Parts of one component alone: those of another of its kind are others."""
        random = Random(f"parts of {kind.name} {lines} {len(self.items)}")
        fits = [
            k
            for k, each in self.world.kinds.items()
            if self.world.components.get(k)
            and any(s in (k, *each.bases) for s in kind.summed)
            and kind.name not in (k, *each.bases)
            and k not in kind.bases
        ]
        for _ in range(random.choice([0, 1, 1, 2]) if fits else 0):
            of, count = random.choice(fits), random.choice(["", "[2]", "[3]"])
            base = random.choice(self.world.components[of])
            lines.append(f"{of} {self.draws.new('extra')}{count} : {base}")

    def components(self, kind: Kind) -> None:
        d = self.draws
        made: list[str] = []
        for _ in range(2 + d.below(2)):
            name = d.new("C")
            base = f" : {d.one(made)}" if made and d.chance(0.4) else ""
            lines = []
            for field, type in kind.fields.items():
                if d.chance(0.7 if field in kind.unknown else 0.45) or (
                    not base and self.bare(kind, field)
                ):
                    lines.append(f"{field} = {self.outside().text(type, 1)}{self.basis()}")
            for part, of in kind.parts.items():
                below = {f: t for f, t in self.world.kinds[of].fields.items() if t in NUMBERS}
                pick = d.random.random()
                if pick < 0.15:
                    deep = sorted(self.world.kinds[of].parts)
                    path = f"{part}.{d.one(deep)}" if deep else part
                    lines.append(f"{path}.count = {d.below(4)}")
                elif pick < 0.3 and below:
                    f = d.one(sorted(below))
                    lines.append(f"{part}.{f} = {d.leaf(below[f])}")
                elif pick < 0.4 and below:
                    f = d.one(sorted(below))
                    lines.append(f"{part} {d.block([f'{f} = {d.leaf(below[f])}'])}")
                elif pick < 0.5:
                    lines.append(
                        f"{of} {part}{d.one(['', '[2]'])} : {d.one(self.world.components[of])}"
                    )
                elif pick < 0.55:
                    lines.append(f"{of} {part}[2] : {d.one(self.world.components[of])} {{ }}")
            self.extra(kind, lines)
            if d.chance(0.1):
                own = [r for r in self.rules if r.startswith(kind.name + ".")]
                lines.insert(0, f'allow {d.one(own)} "drawn"' if own else self.sources())
            block = f" {d.block(lines)}" if lines or d.chance(0.5) else ""
            self.items.append(f"{kind.name} {name}{base}{block}{self.basis()}")
            made.append(name)
        self.world.components[kind.name] = made

    def bare(self, kind: Kind, field: str) -> bool:
        """Whether a field of a kind has no default."""
        return field in kind.bare

    def rule(self, inner: Draws, name: str, owner: str) -> str:
        """A rule; one of a kind that is known to be broken would be an error of the file."""
        d, rule = self.draws, self.draws.new("rule")
        condition = inner.free_text("bool", 2)
        word = d.one(["require", "require", "warn"])
        if not condition:
            condition, word = inner.text("bool", 2), "warn"
            numbers = [n for n, t in inner.names.items() if t in ("real", "int")]
            if numbers and d.chance(0.7):
                number = d.one(numbers)
                word = "require"
                condition = d.one(
                    [f"{number} == {number}", f"{number} > -1e301", f"{number} < inf"]
                )
        self.rules.append(f"{owner}.{rule}")
        shown = [
            n for n, t in inner.names.items() if t in ("real", "int", "bool", *self.world.enums)
        ]
        sized = [n for n, t in inner.names.items() if t == "data"]
        said = f' else "{name} has {{{d.one(shown)}}}"' if shown and d.chance(0.6) else ""
        if sized and not said and d.chance(0.6):
            said = f' else "{{{d.one(sized)} in GB}} is too much"'
        help = d.one(["", "", ' help "less"'])
        return f"{word} {rule}: {condition}{said}{help}{self.basis()}"


def readable(kind: Kind) -> dict[str, str]:
    """The members of a kind that everything may read."""
    return {m: t for m, t in kind.members.items() if m not in kind.unknown}
