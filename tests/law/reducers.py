"""Random reducers, and loops, of expressions that `Draws` draws."""

from __future__ import annotations

from .scope import INTS, LONG, OR, POSTFIX, Expr, Scope


class Reducers(Scope):
    """Draws what goes over ranges and lists; the expressions in it are drawn by `Draws`."""

    def bounded(self, empty: bool = True) -> str:
        """The end of a range: a number, an int param, or an int held to one."""
        ranged = [n for n in self.names if n in self.ranged]
        pick = self.random.random()
        if ranged and pick < 0.45:
            return self.one(ranged)
        if pick < 0.6:
            return f"min(max({self.text('int', 1)}, 0), {self.one(['3', '9', str(LONG)])})"
        return self.one(["0", "1", "3", "5", "9", "17", str(LONG), *(["(-1)"] if empty else [])])

    def iterable(self, empty: bool = True) -> tuple[str, str]:
        """What a `for` goes over, and the type of its elements."""
        kinds = [k for k in self.world.components if self.world.components[k]]
        enums = [e for e in self.world.enums if e in self.world.enums]
        pick = self.random.random()
        if kinds and pick < 0.15:
            kind = self.one(kinds)
            size = 1 + self.below(3)
            return f"[{', '.join(self.leaf(kind) for _ in range(size))}]", kind
        if enums and pick < 0.2:
            enum = self.one(enums)
            return f"[{', '.join(f'{enum}.{c}' for c in self.world.enums[enum])}]", enum
        if pick < 0.4:
            return self.at(OR, "list", 1), "real"
        low = self.one(["0", "1", "1", "(-2)", "3"])
        return f"{low if empty else '0'} .. {self.bounded(empty)}", "int"

    def zipped(self) -> tuple[str, dict[str, str]]:
        """Lists of one length side by side, and the variables that go through them."""
        size, lists, variables = 1 + self.below(4), [], {}
        for _ in range(2 + self.chance(0.3)):
            type = self.one(["real", "real", "int", "bool"])
            if type == "int" and self.chance(0.5):
                low = self.below(3)
                lists.append(f"{low} .. {low + size - 1}")
            else:
                lists.append(f"[{', '.join(self.leaf(type) for _ in range(size))}]")
            variables[self.new(self.one(["i", "j", "k"]))] = type
        return f"zip({', '.join(lists)})", variables

    def comprehension(self, type: str, depth: int, empty: bool = True) -> tuple[str, str]:
        """An element and its `for`s; with `empty` it may be known that there is no element."""
        inner, gens = self, []
        for _ in range(1 + self.chance(0.25)):
            if self.chance(0.15):
                over, variables = self.zipped()
            else:
                over, element = inner.iterable(empty)
                variables = {self.new(self.one(["i", "j", "k"])): element}
            gens.append(f"for {', '.join(variables)} in {over}")
            inner = inner.within(variables)
        if self.chance(0.35):
            free = "" if empty else inner.free_text("bool", depth - 1)
            if empty or free:
                gens.append(f"if ({free or inner.text('bool', depth - 1)})")
        return inner.text(type, depth - 1), " ".join(gens)

    def reduced(self, type: str, depth: int) -> Expr:
        names = ["sum", "sum", "sum", "min", "max"]
        if type in ("real", "int"):
            names.append("prod")
        if type != "int":
            names += ["mean", "geomean"] if type == "real" else ["mean"]
        name = self.one(names)
        if type == "real" and self.chance(0.03):
            return "sum([])", POSTFIX
        if self.chance(0.2) and type == "real":
            return f"{name}({self.text('list', depth - 1)})", POSTFIX
        body, gens = self.comprehension(type, depth, name in ("sum", "prod"))
        return f"{name}({body} {gens})", POSTFIX

    def best(self, type: str, depth: int) -> Expr:
        name = self.one(["lowest", "highest"])
        if type == "int":
            variable = self.new("k")
            inner = self.within({variable: "int"})
            condition = inner.free_text("bool", 1) if self.chance(0.3) else ""
            value = inner.text("real", depth - 1)
            over = f"for {variable} in 0 .. {self.bounded(False)}"
            over += f" if ({condition})" if condition else ""
            return f"{name}({value} {over}).{variable}", POSTFIX
        body, gens = self.comprehension(type, depth, empty=False)
        return f"{name}({body} {gens}).value", POSTFIX

    def statistic(self, type: str, depth: int) -> Expr:
        if type == "real" and self.chance(0.5):
            values = self.text("list", depth - 1)
        else:
            values = ", ".join(self.text(type, depth - 1) for _ in range(1 + self.below(4)))
            values = f"[{values}]"
        at = self.one(["0.5", "0", "1", "0.25"]) if self.chance(0.5) else self.text("real", 1)
        return f"quantile({values}, {at})", POSTFIX

    def ordered(self, type: str, depth: int) -> Expr:
        size = 2 + self.below(3)
        keys = ", ".join(self.text("real", depth - 1) for _ in range(size))
        index = self.index(size, 1)
        values = ", ".join(self.leaf(type) for _ in range(size))
        return f"sort_by([{values}], [{keys}])[{index}]", POSTFIX

    def looked_up(self, type: str, depth: int) -> Expr:
        name = self.one(["interp", "step"])
        points = self.one(["1", "1, 2", "0.5, 1, 4", "1, 2, 3, 10"])
        if self.chance(0.4):
            points = "0" if points == "1" else f"0, {points}"
        size = points.count(",") + 1
        values = ", ".join(self.text(type, depth - 1) for _ in range(size))
        return f"{name}({self.text('real', depth - 1)}, [{points}], [{values}])", POSTFIX

    # --- loops --------------------------------------------------------------------------------

    def iterated(self, type: str, depth: int) -> Expr:
        """The last state of an `iterate`, or how many rounds it took."""
        count, s, t, q = self.new("n"), self.new("s"), self.new("t"), self.new("q")
        inner = self.within({count: "int", s: "real", t: "int"})
        lines = [
            f"state {s} : real = {self.text('real', 1)}",
            f"state {t} : int = {self.one(INTS)}",
        ]
        listed = self.chance(0.3)
        if listed:
            lines.append(f"state {q} : [real] = [{self.leaf('real')}, {self.leaf('real')}]")
            inner = inner.within({f"{q}[0]": "real", f"sum({q})": "real"})
        if self.chance(0.5):
            let = self.new("v")
            lines.append(f"let {let}{self.one(['', ' : real'])} = {inner.text('real', depth - 1)}")
            inner = inner.within({let: "real"})
        if type == "real" and self.chance(0.12):  # nothing but states: as at the start
            return f"(iterate {count} in 1 .. 3 {self.block(lines[:1])}).{s}", POSTFIX
        lines.append(f"next {s} = {inner.text('real', depth - 1)}")
        if self.chance(0.6):
            lines.append(f"next {t} = min(max({inner.text('int', 1)}, -9), 9)")
        if listed:
            whole = self.chance(0.5)
            value = f"[{inner.leaf('real')}, {inner.leaf('real')}]" if whole else inner.leaf("real")
            lines.append(f"next {q}{'' if whole else f'[{self.index(2, 1)}]'} = {value}")
        until = inner.free_text("bool", 1) if self.chance(0.4) else ""
        if until:
            lines.append(f"until {until}")
        last = self.one([t, "rounds"]) if type == "int" else s
        low = self.one(["0", "1", "1"])
        return f"(iterate {count} in {low} .. {self.bounded()} {self.block(lines)}).{last}", POSTFIX
