"""Random expressions of the language, as text that usually checks.

`Draws` gives an expression of a type from what is in sight. Types are words: `real`, `int`, `bool`,
`data`, `time`, `rate`, `list` (of reals), an enum's or a kind's name. Numbers are drawn where
arithmetic is careless: zeros of both signs, infinities, 0/0, ends of ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .reducers import Reducers
from .scope import (
    AND,
    ATOM,
    BASE,
    CMP,
    FUNCTIONS,
    INTS,
    LOOSE,
    NOT,
    NUMBERS,
    OR,
    POSTFIX,
    POWER,
    REALS,
    SUM,
    TERM,
    UNARY,
    UNITS,
    WORD,
    Expr,
    Kind,
)


class Draws(Reducers):
    """Draws expressions of a type from what is in sight."""

    # --- texts --------------------------------------------------------------------------------

    def text(self, type: str, depth: int = 3) -> str:
        """An expression, to stand where any may."""
        return self.expr(type, depth)[0]

    def at(self, level: int, type: str, depth: int) -> str:
        """An expression that binds at least so tightly."""
        text, binds = self.expr(type, depth)
        return text if binds >= level else f"({text})"

    def beside(self, type: str, depth: int) -> str:
        """An expression beside another of its type, from which a literal has its dimension."""
        if type in UNITS and self.chance(0.15):
            return self.one(["0", "0.0", "inf", "-inf"])
        return self.text(type, depth)

    def expr(self, type: str, depth: int) -> Expr:
        if depth <= 0:
            return self.leaf(type), ATOM
        if self.chance(0.12):
            return self.any_type(type, depth)
        if type in NUMBERS:
            return self.number(type, depth)
        if type == "bool":
            return self.truth(depth)
        if type == "list":
            return self.listing(depth), POSTFIX
        if type in self.world.enums:
            return self.leaf(type), ATOM
        return self.component(type, depth), POSTFIX

    def leaf(self, type: str) -> str:
        names = [n for n, t in self.names.items() if t == type]
        if names and self.chance(0.7):
            return self.one(names)
        if type == "real":
            ints = [n for n, t in self.names.items() if t == "int"]
            return self.one(ints) if ints and self.chance(0.3) else self.one(REALS)
        if type == "int":
            return self.one(INTS)
        if type in UNITS:
            if self.chance(0.1):
                return f"(inf * {BASE[type]})"
            number = self.one(["0", "1", "3", "0.5", "2.5", "10"])
            return f"{number} {self.one(UNITS[type])}"
        if type == "bool":
            return self.one(["true", "false"])
        if type == "list":
            size = 1 + self.below(4)
            return f"[{', '.join(self.leaf('real') for _ in range(size))}]"
        if type in self.world.enums:
            return f"{type}.{self.one(self.world.enums[type])}"
        return self.one(self.world.components[type])

    # --- what every type has ------------------------------------------------------------------

    def any_type(self, type: str, depth: int) -> Expr:
        """`if`, `match`, members, calls."""
        forms = [self.cond, self.cond, self.match_case, self.match_int, self.member, self.member,
                 self.call, self.evaluator_call, self.from_list, self.guarded,
                 self.guarded]  # fmt: skip
        found = forms[self.below(len(forms))](type, depth)
        return found or self.cond(type, depth)

    def cond(self, type: str, depth: int) -> Expr:
        yes, no = self.text(type, depth - 1), self.beside(type, depth - 1)
        return f"if {self.text('bool', depth - 1)} then {yes} else {no}", LOOSE

    def match_case(self, type: str, depth: int) -> Expr | None:
        enums = sorted(set(self.names.values()) & set(self.world.enums))
        if not enums:
            return None
        enum = self.one(enums)
        cases = list(self.world.enums[enum])
        self.random.shuffle(cases)
        arms, rest = [], cases
        while rest:
            size = 1 + self.below(3)
            head, rest = rest[:size], rest[size:]
            label = " | ".join(c if self.chance(0.7) else f"{enum}.{c}" for c in head)
            if not rest and self.chance(0.3):
                label = "else"
            arms.append(f"{label} => {self.text(type, depth - 1)}")
        return f"match {self.leaf(enum)} {self.block(arms)}", LOOSE

    def match_int(self, type: str, depth: int) -> Expr:
        numbers = ["0", "1", "-1", "2", "3", "+4"]
        self.random.shuffle(numbers)
        labels = [numbers[0], f"{numbers[1]} | {numbers[2]}"][: self.below(3)]
        arms = [f"{x} => {self.text(type, depth - 1)}" for x in [*labels, "else"]]
        return f"match {self.text('int', depth - 1)} {self.block(arms)}", LOOSE

    def block(self, lines: Sequence[str]) -> str:
        """Members between braces, with the separators that there are."""
        if not lines:
            return self.one(["{ }", "{\n}", "{ , }"])
        joint = self.one([", ", "\n"])
        ends = [self.one([" ", "\n"]), self.one([" ", "\n"])]
        pick = self.random.random()
        if pick < 0.25:
            ends[0] = " , "
        if 0.12 < pick < 0.4:
            ends[1] = " , "
        return "{" + ends[0] + joint.join(lines) + ends[1] + "}"

    def member(self, type: str, depth: int) -> Expr | None:
        """A member of a component, as deep as it goes."""
        for _ in range(4):
            kinds = [k for k in self.world.kinds if self.world.components.get(k)]
            if not kinds:
                return None
            kind = self.world.kinds[self.one(kinds)]
            paths = list(self.paths(kind, type))
            if not paths:
                continue
            path, unknown = paths[self.below(len(paths))]
            of = self.at(POSTFIX, kind.name, 0 if unknown else depth - 1)
            if not unknown:
                return f"{of}.{path}", POSTFIX
            if not of.isidentifier():
                continue
            other = self.text(type, depth - 1)
            if self.chance(0.5):
                return f"first_known({of}.{path}, {other})", POSTFIX
            return f"if known({of}.{path}) then {of}.{path} else {other}", LOOSE
        return None

    def guarded(self, type: str, depth: int) -> Expr | None:
        """A member of a chosen component where it is known."""
        found = [
            f"{name}.{m}" for name, k in self.names.items() if k in self.world.kinds
            for m in sorted(self.world.kinds[k].unknown) if self.world.kinds[k].members[m] == type
        ]  # fmt: skip
        if not found:
            return None
        path = self.one(found)
        return f"if known({path}) then {path} else {self.text(type, depth - 1)}", LOOSE

    def paths(self, kind: Kind, type: str, depth: int = 2) -> list[tuple[str, bool]]:
        """Members of that type, and whether nobody may know them."""
        found = [(m, m in kind.unknown) for m, t in kind.members.items() if t == type]
        if type == "int":
            found.append(("count", False))
        if type == "bool":
            found.append(("feasible", False))
        for name, (takes, gives) in kind.methods.items():
            if gives == type:
                found.append((f"{name}({', '.join(self.text(t, 1) for t in takes)})", False))
        if depth:
            for part, inner in kind.parts.items():
                below = self.paths(self.world.kinds[inner], type, depth - 1)
                found += [(f"{part}.{path}", unknown) for path, unknown in below]
        return found

    def call(self, type: str, depth: int) -> Expr | None:
        """A call of a function, by position or name."""
        fits = [f for f, (_, gives) in self.world.functions.items() if gives in (type, "D")]
        own = type in NUMBERS and type != "int"  # of a dimension variable
        fits = [f for f in fits if own or self.world.functions[f][1] != "D"]
        if not fits:
            return None
        name = self.one(fits)
        arguments, named = [], False
        for parameter, takes, optional in self.world.functions[name][0]:
            if optional and self.chance(0.4):
                named = True
                continue
            if takes.startswith("known "):
                value = self.one(INTS)
            elif takes == "[D]":
                value = f"[{self.text(type, 1)}, {self.text(type, 1)}]"
            else:
                value = self.text(type if takes == "D" else takes, depth - 1)
            named = named or self.chance(0.3)
            arguments.append(f"{parameter} = {value}" if named else value)
        end = "," if arguments and self.chance(0.1) else ""
        return f"{name}({', '.join(arguments)}{end})", POSTFIX

    def evaluator_call(self, type: str, depth: int) -> Expr | None:
        """An output of an evaluator, at values in the ranges of its params."""
        found = [
            (e, o) for e, x in self.world.evaluators.items() for o, t in x.outputs.items()
            if t == type
        ]  # fmt: skip
        if type == "bool":
            found += [(e, "feasible") for e in self.world.evaluators]
        if not found:
            return None
        name, output = found[self.below(len(found))]
        evaluator = self.world.evaluators[name]
        given = [
            f"{p} = {draw(self, depth - 1)}" for p, draw in evaluator.params.items()
            if p in evaluator.needed or self.chance(0.8)
        ]  # fmt: skip
        return f"{name}({', '.join(given)}).{output}", POSTFIX

    def from_list(self, type: str, depth: int) -> Expr:
        """An element of a list written out; the index may lie outside."""
        size = 1 + self.below(3)
        items = ", ".join(self.text(type, depth - 1) for _ in range(size))
        return f"[{items}{self.one(['', '', ','])}][{self.index(size, depth - 1)}]", POSTFIX

    def index(self, size: int, depth: int) -> str:
        """A whole number, usually held to a list's length."""
        if self.chance(0.35):
            return str(self.below(size))
        if self.chance(0.3):
            found = self.free_text("int", depth)
            if found:
                return found
        return f"min(max({self.text('int', depth)}, 0), {size - 1})"

    def free_text(self, type: str, depth: int) -> str:
        """An expression that reads something which depends on params; empty if there is none.

        What is known and breaks a rule of the language is an error of the file.
        """
        for _ in range(4 if self.free else 0):
            found = self.text(type, depth)
            if self.free & set(WORD.findall(found)):
                return found
        if type == "bool" and self.free:
            numbers = [n for n in self.free if self.names.get(n) in ("int", "real")]
            if numbers:
                sign = self.one(["<", ">", ">=", "!="])
                return f"{self.one(sorted(numbers))} {sign} {self.one(INTS)}"
        return ""

    # --- numbers ------------------------------------------------------------------------------

    def number(self, type: str, depth: int) -> Expr:
        forms: list[Callable[[str, int], Expr]] = [self.arithmetic] * 5 + [self.leaf_number] * 2
        forms += [self.extreme, self.reduced, self.reduced, self.best, self.from_list, self.unary]
        forms += [self.careless, self.careless]
        if type == "real":
            forms += [self.function, self.function, self.power, self.quotient, self.quotient]
            forms += [self.looked_up, self.iterated, self.ordered, self.statistic]
        if type == "int":
            forms += [self.rounded, self.rounded, self.counted, self.iterated, self.ordered]
        if type in UNITS:
            forms += [self.scaled, self.scaled, self.looked_up, self.statistic]
        return forms[self.below(len(forms))](type, depth)

    def leaf_number(self, type: str, depth: int) -> Expr:
        return self.leaf(type), ATOM

    def arithmetic(self, type: str, depth: int) -> Expr:
        if self.chance(0.35) and type in ("real", "int"):
            op = "*" if type == "int" else self.one(["*", "/", "/"])
            right = "real" if type == "real" else "int"
            left = self.at(TERM, type, depth - 1)
            return f"{left} {op} {self.at(UNARY, right, depth - 1)}", TERM
        left, right = self.at(SUM, type, depth - 1), self.at(TERM, type, depth - 1)
        return f"{left} {self.one(['+', '-'])} {right}", SUM

    def careless(self, type: str, depth: int) -> Expr:
        """What is no number, infinite or a zero of either sign at the ends of params."""
        reals = [n for n, t in self.names.items() if t == "real"]
        x = self.one(reals) if reals else self.one(REALS)
        text, binds = self.one(["0", "1", "2", "3", "4", "4", "5", "6"]), TERM
        if text == "0":
            text = f"{x} / {x}"
        elif text == "1":
            text = f"1 / {x}"
        elif text == "2":
            text, binds = f"({x} - {x}) * -1", TERM
        elif text == "3":
            body, gens = self.comprehension("real", depth)
            text = f"1 / sum(({body}) * -0.0 {gens})"
        elif text == "4":
            variable = self.new("k")
            over = f"for {variable} in 0 .. {self.bounded(False)}"
            name = self.one(["lowest", "highest"])
            member = self.one(["value", variable, "value"])
            text, binds = f"{name}({x} / {x} + {variable} {over}).{member}", POSTFIX
        elif text == "5":
            text, binds = f"1 / min(max({x}, 0), 0)", TERM
        else:
            ranged = [n for n in self.names if n in self.ranged]
            n = self.one(ranged) if ranged else "2"
            text = f"1 / sum(-{x} for {self.new('i')} in 1 .. 3 if {self.fresh_name()} > {n})"
        if type == "real":
            return text, binds
        if type == "int":
            return f"floor({text})", POSTFIX
        return f"{text if binds > TERM else '(' + text + ')'} * {BASE[type]}", TERM

    def fresh_name(self) -> str:
        return f"i{self.fresh[0]}"

    def unary(self, type: str, depth: int) -> Expr:
        return f"{self.one(['-', '-', '+'])}{self.at(POWER, type, depth - 1)}", UNARY

    def power(self, type: str, depth: int) -> Expr:
        base = self.at(POSTFIX, "real", depth - 1)
        if self.chance(0.5):
            return f"{base}^{self.one(['2', '3', '0', '(1/2)', '-1', '(-2)'])}", POWER
        return f"{base} ^ {self.at(UNARY, self.one(['real', 'int']), depth - 1)}", POWER

    def quotient(self, type: str, depth: int) -> Expr:
        of = self.one(["real", "int", "data", "time", "rate"])
        left = self.at(TERM, of, depth - 1)
        return f"{left} / {self.at(UNARY, of, depth - 1)}", TERM

    def scaled(self, type: str, depth: int) -> Expr:
        """A quantity from a number or from others."""
        if type == "rate" and self.chance(0.5):
            return f"{self.at(TERM, 'data', depth - 1)} / {self.at(UNARY, 'time', depth - 1)}", TERM
        if type == "data" and self.chance(0.3):
            return f"{self.at(TERM, 'rate', depth - 1)} * {self.at(UNARY, 'time', depth - 1)}", TERM
        op = self.one(["*", "/"])
        return f"{self.at(TERM, type, depth - 1)} {op} {self.at(UNARY, 'real', depth - 1)}", TERM

    def function(self, type: str, depth: int) -> Expr:
        return f"{self.one(FUNCTIONS)}({self.text('real', depth - 1)})", POSTFIX

    def extreme(self, type: str, depth: int) -> Expr:
        name, count = self.one(["min", "max"]), 2 + self.below(3)
        parts = [self.text(type, depth - 1)]
        parts += [self.beside(type, depth - 1) for _ in range(count - 1)]
        return f"{name}({', '.join(parts)})", POSTFIX

    def rounded(self, type: str, depth: int) -> Expr:
        name = self.one(["floor", "ceil", "round", "floor", "whole"])
        if name == "whole":
            return (
                f"whole({self.free_text('real', depth - 1) or self.text('int', depth - 1)})",
                POSTFIX,
            )
        if self.chance(0.4) and name in ("floor", "ceil"):
            inner = f"{self.at(TERM, 'int', depth - 1)} / {self.at(UNARY, 'int', depth - 1)}"
        else:
            inner = self.text("real", depth - 1)
        return f"{name}({inner})", POSTFIX

    def counted(self, type: str, depth: int) -> Expr:
        if self.chance(0.4):
            return f"len({self.text('list', depth - 1)})", POSTFIX
        if self.chance(0.2):
            low, high = self.one(INTS), self.bounded()
            return f"len({low} .. {high})", POSTFIX
        body, gens = self.comprehension("bool", depth)
        return f"count({body} {gens})", POSTFIX

    # --- truths, lists, components --------------------------------------------------------------

    def is_case(self, depth: int) -> Expr:
        """Whether a case or an int is one of some; never of all cases, which is an error."""
        enums = [e for e in sorted(self.world.enums) if len(self.world.enums[e]) > 1]
        if enums and self.chance(0.6):
            enum = self.one(enums)
            cases = list(self.world.enums[enum])
            self.random.shuffle(cases)
            some = cases[: 1 + self.below(len(cases) - 1)]
            return f"{self.leaf(enum)} is {' | '.join(some)}", CMP
        numbers = ["0", "1", "-1", "2", "3", "+4"]
        self.random.shuffle(numbers)
        some = numbers[: 1 + self.below(3)]
        return f"{self.at(SUM, 'int', depth - 1)} is {' | '.join(some)}", CMP

    def truth(self, depth: int) -> Expr:
        if self.chance(0.08):
            return self.is_case(depth)
        pick = self.random.random()
        if pick < 0.5:
            type = self.one([*NUMBERS[:4], "real", "int"])
            count = 2 + self.chance(0.15)
            parts = [self.at(SUM, type, depth - 1) for _ in range(count)]
            text = parts[0]
            for part in parts[1:]:
                text += f" {self.one(['<', '<=', '>', '>=', '==', '!='])} {part}"
            return text, CMP
        if pick < 0.58:
            left, right = self.at(AND, "bool", depth - 1), self.at(NOT, "bool", depth - 1)
            return f"{left} and {right}", AND
        if pick < 0.66:
            return f"{self.at(OR, 'bool', depth - 1)} or {self.at(AND, 'bool', depth - 1)}", OR
        if pick < 0.72:
            return f"not {self.at(NOT, 'bool', depth - 1)}", NOT
        if pick < 0.8:
            body, gens = self.comprehension("bool", depth)
            return f"{self.one(['any', 'all'])}({body} {gens})", POSTFIX
        if pick < 0.84:
            body, gens = self.comprehension("real", depth)
            return f"{self.one(['lowest', 'highest'])}({body} {gens}).found", POSTFIX
        if pick < 0.89:
            return self.known_of(depth), POSTFIX
        if pick < 0.91:
            return self.named(), CMP
        enums = sorted(set(self.names.values()) & set(self.world.enums))
        if enums and pick < 0.96:
            enum = self.one(enums)
            return f"{self.leaf(enum)} {self.one(['==', '!='])} {self.leaf(enum)}", CMP
        return self.leaf("bool"), ATOM

    def named(self) -> str:
        """Whether a component has a name."""
        kinds = [k for k, v in self.world.components.items() if v]
        if not kinds:
            return f'"a" {self.one(["==", "!="])} "{self.one(["a", "b"])}"'
        kind = self.one(kinds)
        return f'{self.leaf(kind)}.name == "{self.one(self.world.components[kind])}"'

    def known_of(self, depth: int) -> str:
        kinds = [k for k, v in self.world.kinds.items() if v.unknown]
        kinds = [k for k in kinds if self.world.components.get(k)]
        if not kinds or self.chance(0.2):
            return f"known({self.text(self.one(NUMBERS), depth - 1)})"
        kind = self.one(kinds)
        chosen = [n for n, t in self.names.items() if t in kinds]
        if chosen and self.chance(0.6):
            name = self.one(chosen)
            return f"known({name}.{self.one(sorted(self.world.kinds[self.names[name]].unknown))})"
        of = self.at(POSTFIX, kind, depth - 1)
        return f"known({of}.{self.one(sorted(self.world.kinds[kind].members))})"

    def listing(self, depth: int) -> str:
        if self.chance(0.3):
            body, gens = self.within({}, ranged=frozenset()).short(depth)
            return f"[{body} {gens}]"
        if self.chance(0.15):
            size = 2 + self.below(2)
            keys = ", ".join(self.text("real", depth - 1) for _ in range(size))
            values = ", ".join(self.leaf("real") for _ in range(size))
            return f"sort_by([{values}], [{keys}])"
        size = 1 + self.below(3)
        return f"[{', '.join(self.text('real', depth - 1) for _ in range(size))}]"

    def short(self, depth: int) -> tuple[str, str]:
        """An element of a list of known length and its `for`."""
        name = self.new("i")
        inner = self.within({name: "int"})
        gens = f"for {name} in {self.one(['0', '1'])} .. {self.one(['1', '2', '3', '5'])}"
        if self.chance(0.3):
            gens += f" if {name} {self.one(['<', '>', '!='])} 1 or {name} == 1"
        return inner.text("real", depth - 1), gens

    def component(self, kind: str, depth: int) -> str:
        """A component: one that is named, amended, made, or taken from another."""
        known = self.world.kinds[kind]
        pick = self.random.random()
        if pick < 0.35 and known.fields:
            block = self.amendments(known, depth - 1)
            return f"({self.at(POSTFIX, kind, depth - 1)} with {block})"
        if pick < 0.5 and known.fields and not known.parts:
            given = [f"{f} = {self.text(t, depth - 1)}" for f, t in known.fields.items()]
            return f"{kind}({', '.join(given)})"
        return self.leaf(kind)

    def amendments(self, kind: Kind, depth: int) -> str:
        """A block that gives some fields other values, at any depth."""
        lines = []
        for name, type in kind.fields.items():
            if self.chance(0.5):
                lines.append(f"{name} = {self.text(type, depth)}")
        for part, inner in kind.parts.items():
            below = self.world.kinds[inner]
            pick = self.random.random()
            if pick < 0.25 and self.world.components.get(inner):
                lines.append(f"{part} = {self.text(inner, depth)}")
            elif pick < 0.5 and below.fields:
                field_ = self.one(sorted(below.fields))
                lines.append(f"{part}.{field_} = {self.text(below.fields[field_], depth)}")
            elif pick < 0.65 and below.fields:
                lines.append(f"{part} {self.amendments(below, depth - 1)}")
            elif pick < 0.7:
                lines.append(f"{part}.count = {self.index(4, 0)}")
            elif below.parts:
                lines.append(f"{part}.{self.one(sorted(below.parts))}.count = {self.index(4, 0)}")
        if self.chance(0.1) and lines:
            lines.insert(0, f"let {self.new('w')} = {self.text('real', 1)}")
        return self.block(lines)
