"""Expressions, types and units as canonical text: the lower half of the formatter."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress

from hwdsl.base.units import product_text
from hwdsl.syntax import ast
from hwdsl.syntax.ranges import WORDS
from hwdsl.syntax.text import escape

WIDTH = 100
STEP = 4

# How tightly an expression binds: the grammar's levels, loosest first.
EXPR, OR, AND, NOT, CMP, RANGE, SUM, TERM, UNARY, POWER, POSTFIX, ATOM = range(12)

# Of each operator: its own level, and those that its left and right operand need. Where the right
# one is the higher, operators of one level group to the left; powers group to the right.
_BINARY = {
    "or": (OR, OR, AND),
    "and": (AND, AND, NOT),
    **dict.fromkeys(WORDS, (RANGE, SUM, SUM)),
    "+": (SUM, SUM, TERM),
    "-": (SUM, SUM, TERM),
    "*": (TERM, TERM, UNARY),
    "/": (TERM, TERM, UNARY),
    "^": (POWER, POSTFIX, UNARY),
}


def path_text(path: Sequence[ast.Ident]) -> str:
    """Write a dotted path."""
    return ".".join(part.name for part in path)


def patterns_text(patterns: Sequence[ast.Pattern]) -> str:
    """Write the alternatives of an arm or of `is`."""
    return " | ".join(path_text(p.path) if p.path else p.number or "else" for p in patterns)


def unit_text(unit: ast.UnitExpr) -> str:
    """Write a unit tightly, as in `kW/m^2`; no factor at all is `1`."""
    return product_text((factor.name, factor.power) for factor in unit.factors)


def type_text(node: ast.TypeExpr, tight: int = 0) -> str:
    """Write a type; `tight` is 0 where a product may stand, 1 for a factor, 2 for a base."""
    match node:
        case ast.TypeName(path=path):
            return path_text(path)
        case ast.TypeOne():
            return "1"
        case ast.TypeList(element=element):
            return f"[{type_text(element)}]"
        case ast.TypeRef(path=path):
            return f"ref {path_text(path)}"
        case ast.TypePower(base=base, numerator=top, denominator=bottom):
            power = str(top) if bottom == 1 else f"({top}/{bottom})"
            text = f"{type_text(base, 2)}^{power}"
            return f"({text})" if tight > 1 else text
        case ast.TypeBinary(op=op, left=left, right=right):
            text = f"{type_text(left)} {op} {type_text(right, 1)}"
            return f"({text})" if tight else text


def literal(value: str) -> str:
    """Write a text."""
    return f'"{escape(value)}"'


class _SeveralLines(Exception):
    """An expression cannot be written on one line: a block in it takes several."""


def _level(node: ast.Expr) -> int:
    """Return how tightly an expression binds."""
    match node:
        case ast.Binary(op=op):
            return _BINARY[op][0]
        case ast.Unary(op=op):
            return NOT if op == "not" else UNARY
        case ast.Compare() | ast.Is():
            return CMP
        case ast.Cond() | ast.Match() | ast.Iterate():
            return EXPR
        case ast.Attr() | ast.Index() | ast.Call() | ast.With():
            return POSTFIX
        case _:
            return ATOM


def _generator(node: ast.Generator) -> tuple[str, ast.Expr]:
    """Return the words of a `for` before what it goes through, and that: of a `zip`, as a call."""
    head = f"for {', '.join([name.name for name in node.names])} in "
    if len(node.names) == 1:
        return head, node.iterables[0]
    given = tuple([ast.Argument(each.span, None, each) for each in node.iterables])
    return head, ast.Call(node.span, ast.Name(node.span, "zip"), given)


class ExpressionPrinter(ABC):
    """Writes expressions, on one line where they fit, else broken inside brackets."""

    # --- one line --------------------------------------------------------------------------

    def flat(self, node: ast.Expr, level: int = EXPR) -> str | None:
        """Write an expression on one line; None if a block in it takes several."""
        try:
            return self._line(node, level)
        except _SeveralLines:
            return None

    def _line(self, node: ast.Expr, level: int = EXPR) -> str:
        """Write an expression on one line, in parentheses if it binds less than `level`."""
        text = self._atom(node)
        return f"({text})" if _level(node) < level else text

    def _atom(self, node: ast.Expr) -> str:
        """Write literals and what stands in brackets or before them."""
        match node:
            case ast.Number(text=text):
                return text
            case ast.Quantity(text=text, unit=unit):
                return f"{text} {unit_text(unit)}"
            case ast.Text(value=value):
                return literal(value)
            case ast.Bool(value=value):
                return "true" if value else "false"
            case ast.Name(name=name):
                return name
            case ast.Attr(base=base, name=ident):
                return f"{self._line(base, POSTFIX)}.{ident.name}"
            case ast.Index(base=base, index=index):
                return f"{self._line(base, POSTFIX)}[{self._line(index)}]"
            case ast.Call(function=function, arguments=arguments):
                inside = ", ".join([self._argument(a) for a in arguments])
                return f"{self._line(function, POSTFIX)}({inside})"
            case ast.ListLit(items=items):
                return f"[{', '.join([self._line(i) for i in items])}]"
            case ast.Comprehension():
                inside = self._comprehension(node)
                return f"[{inside}]" if node.is_list else inside
            case _:
                return self._operation(node)

    def _operation(self, node: ast.Expr) -> str:
        """Write operators and what starts with a word. Raises _SeveralLines."""
        match node:
            case ast.Unary(op="not", operand=operand):
                return f"not {self._line(operand, NOT)}"
            case ast.Unary(op=op, operand=operand):
                return op + self._line(operand, UNARY)
            case ast.Binary(op=op, left=left, right=right):
                _, left_level, right_level = _BINARY[op]
                sign = op if op == "^" else f" {op} "
                first = self._line(left, left_level)
                if op == "^" and isinstance(left, ast.Quantity):
                    first = f"({first})"  # else its unit would swallow the power
                return first + sign + self._line(right, right_level)
            case ast.Compare(operands=operands, ops=ops):
                first, *others = [self._line(operand, RANGE) for operand in operands]
                rest = [f" {op} {other}" for op, other in zip(ops, others, strict=True)]
                return first + "".join(rest)
            case ast.Is(subject=subject, patterns=patterns):
                return f"{self._line(subject, RANGE)} is {patterns_text(patterns)}"
            case ast.Cond(condition=condition, yes=yes, no=no):
                return f"if {self._line(condition)} then {self._line(yes)} else {self._line(no)}"
            case ast.With(base=base):
                return f"{self._line(base, POSTFIX)} with {self._block(node)}"
            case ast.Match(subject=subject):
                return f"match {self._line(subject)} {self._block(node)}"
            case _:
                raise _SeveralLines

    def _argument(self, node: ast.Argument) -> str:
        """Write an argument on one line."""
        text = self._line(node.value)
        return text if node.name is None else f"{node.name.name} = {text}"

    def _comprehension(self, node: ast.Comprehension) -> str:
        """Write what stands in the brackets of a comprehension."""
        parts = [self._line(node.element)]
        for generator in node.generators:
            head, over = _generator(generator)
            parts.append(head + self._line(over, OR))
        if node.condition is not None:
            parts.append(f"if {self._line(node.condition, OR)}")
        return " ".join(parts)

    def _block(self, node: ast.With | ast.Match) -> str:
        """Write a block on the line. Raises _SeveralLines."""
        block = self.flat_block(node)
        if block is None:
            raise _SeveralLines
        return block

    # --- several lines ---------------------------------------------------------------------

    def expr(self, node: ast.Expr, column: int, indent: int, level: int = EXPR) -> str:
        """Write an expression that starts at `column` of a line indented by `indent`."""
        text = self.flat(node, level)
        if text is not None and column + len(text) <= WIDTH:
            return text
        if column < 0:  # asked for one line only: see `_Formatter.one_line`
            return "\n"
        if _level(node) < level:
            inner = indent + STEP
            return f"(\n{' ' * inner}{self._broken(node, inner, inner, 0)}\n{' ' * indent})"
        return self._broken(node, column, indent)

    def _broken(self, node: ast.Expr, column: int, indent: int, hang: int = STEP) -> str:
        """Write an expression over several lines, those of a chain of operators in by `hang`."""
        match node:
            case ast.Call():
                return self._broken_call(node, column, indent)
            case ast.ListLit(items=items) if items:
                return f"[{self._broken_list(items, indent)}]"
            case ast.Comprehension():
                inside = self._broken_comprehension(node, indent)
                return f"[{inside}]" if node.is_list else inside
            case ast.Binary(op="^" | ".." | "<.." | "..<" | "<..<"):
                return self._broken_tight(node, column, indent)
            case ast.Binary() | ast.Compare():
                return self._broken_chain(node, column, indent, hang)
            case ast.Unary(op=op, operand=operand):
                sign, level = ("not ", NOT) if op == "not" else (op, UNARY)
                return sign + self.expr(operand, column + len(sign), indent, level)
            case ast.Is(subject=subject, patterns=patterns):
                head = self.expr(subject, column, indent, RANGE)
                return f"{head} is {patterns_text(patterns)}"
            case ast.Cond():
                return self._broken_cond(node, column, indent)
            case ast.Attr(base=base, name=ident):
                behind = 1 + len(ident.name)
                return f"{self.expr(base, column + behind, indent, POSTFIX)}.{ident.name}"
            case ast.Index(base=base, index=index):
                head = self.expr(base, column, indent, POSTFIX)
                return f"{head}[{self.expr(index, column + len(head) + 1, indent)}]"
            case ast.With(base=base):
                head = self.expr(base, column, indent, POSTFIX)
                return f"{head} with {self.block(node, node.members, indent)}"
            case ast.Match(subject=subject, arms=arms):
                head = self.expr(subject, column + 6, indent)
                return f"match {head} {self.block(node, arms, indent)}"
            case ast.Iterate(variable=variable, range=bounds, members=members):
                head = f"iterate {variable.name} in "
                head += self.expr(bounds, column + len(head), indent)
                return f"{head} {self.block(node, members, indent)}"
            case _:
                return self.flat(node) or ""

    def _broken_call(self, node: ast.Call, column: int, indent: int) -> str:
        """Write a call with an argument a line, or behind the last line of what it calls."""
        head = self.expr(node.function, column + len("("), indent, POSTFIX)
        if not node.arguments:
            return f"{head}()"
        if "\n" in head:
            with suppress(_SeveralLines):
                inside = ", ".join([self._argument(a) for a in node.arguments])
                if len(head.rpartition("\n")[2]) + len(inside) + len("()") <= WIDTH:
                    return f"{head}({inside})"
        return f"{head}({self._broken_list(node.arguments, indent)})"

    def _broken_list(self, items: Sequence[ast.Expr | ast.Argument], indent: int) -> str:
        """Write one item a line, a comma behind each (but not behind a reducer's only one)."""
        inner = indent + STEP
        pad = " " * inner
        lone = items[0].value if len(items) == 1 and isinstance(items[0], ast.Argument) else None
        if isinstance(lone, ast.Comprehension) and not lone.is_list:
            return self._broken_comprehension(lone, indent)
        lines = []
        for item in items:
            if isinstance(item, ast.Argument):
                head = f"{item.name.name} = " if item.name is not None else ""
                lines.append(f"{pad}{head}{self.expr(item.value, inner + len(head) + 1, inner)},")
            else:
                lines.append(f"{pad}{self.expr(item, inner + 1, inner)},")
        return "\n" + "\n".join(lines) + "\n" + " " * indent

    def _broken_comprehension(self, node: ast.Comprehension, indent: int) -> str:
        """Write a comprehension with a line for the element and each `for` and `if`."""
        inner = indent + STEP
        pad = " " * inner
        lines = [pad + self.expr(node.element, inner, inner)]
        for generator in node.generators:
            head, over = _generator(generator)
            lines.append(pad + head + self.expr(over, inner + len(head), inner, OR))
        if node.condition is not None:
            lines.append(f"{pad}if {self.expr(node.condition, inner + 3, inner, OR)}")
        return "\n" + "\n".join(lines) + "\n" + " " * indent

    def _broken_tight(self, node: ast.Binary, column: int, indent: int) -> str:
        """Write a power or range, broken only inside its operands."""
        _, left_level, right_level = _BINARY[node.op]
        sign = node.op if node.op == "^" else f" {node.op} "
        left = self.expr(node.left, column, indent, left_level)
        if node.op == "^" and isinstance(node.left, ast.Quantity):
            left = f"({left})"
        start = len(left.rsplit("\n", 1)[-1]) + (0 if "\n" in left else column)
        return left + sign + self.expr(node.right, start + len(sign), indent, right_level)

    def _broken_chain(
        self, node: ast.Binary | ast.Compare, column: int, indent: int, hang: int
    ) -> str:
        """Write a chain of operators of one level, each on a line of its own.

        Behind a first operand that ends in a bracket on a line of its own the rest goes on there,
        as in `) / x`, if it fits.
        """
        inner = indent + hang
        first, rest = self._chain(node)
        head = self.expr(first[0], column, indent, first[1])
        last = head.rpartition("\n")[2]
        if "\n" in head and last.lstrip()[:1] in (")", "]"):
            with suppress(_SeveralLines):
                tail = "".join([f" {op} {self._line(e, level)}" for op, e, level in rest])
                if len(last) + len(tail) < WIDTH:
                    return head + tail
        lines = [head]
        for op, operand, level in rest:
            text = self.expr(operand, inner + len(op) + 1, inner, level)
            lines.append(f"{' ' * inner}{op} {text}")
        return "\n".join(lines)

    @staticmethod
    def _chain(
        node: ast.Binary | ast.Compare,
    ) -> tuple[tuple[ast.Expr, int], list[tuple[str, ast.Expr, int]]]:
        """Return a chain's first operand and the operators with theirs."""
        if isinstance(node, ast.Compare):
            pairs = zip(node.ops, node.operands[1:], strict=True)
            return (node.operands[0], RANGE), [(op, operand, RANGE) for op, operand in pairs]
        own, left_level, right_level = _BINARY[node.op]
        rest = [(node.op, node.right, right_level)]
        left = node.left
        while isinstance(left, ast.Binary) and _BINARY[left.op][0] == own:
            rest.append((left.op, left.right, right_level))
            left = left.left
        return (left, left_level), rest[::-1]

    def _broken_cond(self, node: ast.Cond, column: int, indent: int) -> str:
        """Write an `if` with a line for each branch."""
        inner = indent + STEP
        pad = " " * inner
        parts = [f"if {self.expr(node.condition, column + 3, indent)}"]
        parts.append(f"{pad}then {self.expr(node.yes, inner + 5, inner)}")
        no = node.no
        while isinstance(no, ast.Cond):
            parts.append(f"{pad}else if {self.expr(no.condition, inner + 8, inner)}")
            parts.append(f"{pad}then {self.expr(no.yes, inner + 5, inner)}")
            no = no.no
        parts.append(f"{pad}else {self.expr(no, inner + 5, inner)}")
        return "\n".join(parts)

    # --- blocks: provided by the formatter ---------------------------------------------------

    @abstractmethod
    def flat_block(self, node: ast.With | ast.Match) -> str | None:
        """Write a block on one line, if it was and may be."""

    @abstractmethod
    def block(self, owner: ast.Node, members: Sequence[ast.Node], indent: int) -> str:
        """Write a block with one member a line."""
