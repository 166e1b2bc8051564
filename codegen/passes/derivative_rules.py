"""Local derivatives: for each operation, how a small change of an argument changes the value.

A rule is linear and the same in both directions: given the operation's value and a weight, it
returns the weight times the partial derivative. Reverse mode passes the adjoint of the value and
gets a contribution to the adjoint of the argument; forward mode passes the tangent of the argument
and gets a contribution to the tangent of the value.

Zero absorbs: a weight of 0 gives 0 even where the partial is infinite or NaN, so that an arm not
taken, or a direction in which nothing moves, gives no NaN; and a partial of 0 gives 0 whatever the
weight, so that reverse and forward mode say the same of `sqrt(x * x)` at 0. `min` and `max` follow
the first of equal operands, as does `abs` (it is max(x, -x)). `floor`, `ceil`, `round`,
comparisons, tables and ints have derivative 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import define, field

from hwdsl.codegen.ir.graph import INT, REAL, GraphBuilder, Op, Ref

# What a derivative can pass through.
SMOOTH = frozenset(
    ["neg", "abs", "sqrt", "exp", "log", "log2", "log10", "expm1", "log1p", "sin", "cos", "tanh",
     "add", "sub", "mul", "div", "pow", "min", "max", "select", "sum", "prod", "nmin", "nmax",
     "gather"]
)  # fmt: skip
# Weights pass through these as they are, or negated, or are put aside: nothing is multiplied.
LINEAR = frozenset(
    ["neg", "abs", "add", "sub", "sum", "min", "max", "nmin", "nmax", "select", "gather"]
)

# The derivatives of their inverse functions at 0.
LOGARITHMS = {"log2": math.log(2.0), "log10": math.log(10.0)}


def passes(op: Op, position: int) -> bool:
    """Whether the operation's value can have a derivative in that argument."""
    if op.code not in SMOOTH or op.type != REAL:
        return False
    return not (op.code in ("select", "gather") and position == 0)


@define(eq=False)
class Partials:
    """The rules, adding operations to a builder."""

    builder: GraphBuilder
    products: dict[tuple[Ref, ...], tuple[list[Ref], list[Ref]]] = field(factory=dict)

    def weigh(self, op: Op, args: Sequence[Ref], value: Ref, position: int, weight: Ref) -> Ref:
        """`weight` times the partial derivative of `value = op(*args)` in one argument."""
        b = self.builder
        if weight.known == 0.0:
            return weight
        if op.code in LINEAR:
            return self._linear(op, args, position, weight)
        if op.code in ("mul", "prod"):
            return self.times(weight, self._others(args, position))
        if op.code == "div":
            return self._quotient(args, value, position, weight)
        if op.code == "pow":
            return self._power(args, value, position, weight)
        if op.code == "sqrt":
            return self.share(weight, b.op("mul", b.const(2.0), value))
        if op.code == "log":
            return self.share(weight, args[0])
        if op.code in LOGARITHMS:
            return self.share(weight, b.op("mul", b.const(LOGARITHMS[op.code]), args[0]))
        if op.code == "log1p":
            return self.share(weight, b.op("add", b.const(1.0), args[0]))
        return self.times(weight, self._slope(op.code, args[0], value))

    def times(self, weight: Ref, partial: Ref) -> Ref:
        """The product, 0 if a factor is."""
        b = self.builder
        factors = [f for f in (weight, partial) if f.known is None]
        if len(factors) < 2:
            known = [f.known for f in (weight, partial) if f.known is not None]
            if 0.0 in known:
                return b.const(0.0)
            if all(map(math.isfinite, known)):
                return b.op("mul", weight, partial)  # which is 0 where the other is
        zero = b.const(0.0)
        return self._absorb([b.op("eq", f, zero) for f in factors], b.op("mul", weight, partial))

    def share(self, weight: Ref, below: Ref) -> Ref:
        """`weight / below`, 0 where the weight or 1 / below is."""
        b = self.builder
        zeros: list[Ref] = []
        if weight.known is None:
            zeros.append(b.op("eq", weight, b.const(0.0)))
            if below.known is None:
                zeros.append(b.op("eq", b.op("abs", below), b.const(math.inf)))
        return self._absorb(zeros, b.op("div", weight, below))

    def _absorb(self, zeros: Sequence[Ref], product: Ref) -> Ref:
        """The product, but 0 where a condition holds."""
        b = self.builder
        if not zeros or product.known is not None:
            return product
        any_zero = zeros[0] if len(zeros) == 1 else b.op("or", *zeros)
        return b.op("select", any_zero, b.const(0.0), product, type=REAL)

    def gate(self, condition: Ref, weight: Ref, other: Ref | None = None) -> Ref:
        """`weight` where the condition holds, else `other` (0 unless given)."""
        b = self.builder
        rest = b.const(0.0) if other is None else other
        return b.op("select", condition, weight, rest, type=REAL)

    def _linear(self, op: Op, args: Sequence[Ref], position: int, weight: Ref) -> Ref:
        b, code = self.builder, op.code
        if code in ("add", "sum") or (code == "sub" and position == 0):
            return weight
        if code in ("neg", "sub"):
            return b.op("neg", weight)
        if code == "abs":
            below = b.op("lt", args[0], b.const(0.0))
            return self.gate(below, b.op("neg", weight), weight)
        if code == "select":
            if position == 1:
                return self.gate(args[0], weight)
            return b.op("select", args[0], b.const(0.0), weight, type=REAL)
        if code in ("min", "max"):
            if position == 0:
                return self.gate(self.first(op, args), weight)
            return b.op("select", self.first(op, args), b.const(0.0), weight, type=REAL)
        place = b.const(float(position - (code == "gather")), INT)
        return self.gate(b.op("eq", self.choice(op, args), place), weight)

    def first(self, op: Op, args: Sequence[Ref]) -> Ref:
        """Whether a `min` or `max` of two takes the first."""
        return self.builder.op("le", *(args if op.code == "min" else args[::-1]))

    def choice(self, op: Op, args: Sequence[Ref]) -> Ref:
        """Which operand an `nmin`, `nmax` or `gather` takes, counted from 0."""
        if op.code == "gather":
            return args[0]
        return self.builder.op("argmin" if op.code == "nmin" else "argmax", *args)

    def _others(self, args: Sequence[Ref], position: int) -> Ref:
        """The product of the other factors, without dividing by this one (it may be 0)."""
        key = tuple(args)
        if key not in self.products:
            self.products[key] = (self._running(key), self._running(key[::-1]))
        left, right = self.products[key]
        after = len(args) - 1 - position
        if position == 0:
            return right[after - 1]
        if after == 0:
            return left[position - 1]
        return self.builder.op("mul", left[position - 1], right[after - 1])

    def _running(self, factors: Sequence[Ref]) -> list[Ref]:
        """The products of the first 1, 2, … factors."""
        row = [factors[0]]
        for factor in factors[1:]:
            row.append(self.builder.op("mul", row[-1], factor))
        return row

    def _quotient(self, args: Sequence[Ref], value: Ref, position: int, weight: Ref) -> Ref:
        share = self.share(weight, args[1])
        if position == 0:
            return share
        return self.builder.op("neg", self.times(share, value))

    def _power(self, args: Sequence[Ref], value: Ref, position: int, weight: Ref) -> Ref:
        b = self.builder
        base, exponent = args
        zero = b.const(0.0)
        if position == 1:
            slope = b.op("mul", value, b.op("log", base))
            return self.times(weight, self.gate(b.op("eq", value, zero), zero, slope))
        less = b.op("sub", exponent, b.const(1.0))
        slope = b.op("mul", exponent, b.op("pow", base, less, type=REAL))
        if exponent.known is None:
            slope = self.gate(b.op("eq", exponent, zero), zero, slope)
        return self.times(weight, slope)

    def _slope(self, code: str, x: Ref, value: Ref) -> Ref:
        """The derivative of a function of one argument."""
        b = self.builder
        if code == "exp":
            return value
        if code == "expm1":
            return b.op("exp", x)
        if code == "sin":
            return b.op("cos", x)
        if code == "cos":
            return b.op("neg", b.op("sin", x))
        # tanh: 4 e / (1 + e)^2 with e = exp(-2 |x|) keeps its digits where 1 - tanh^2 cancels
        small = b.op("exp", b.op("mul", b.const(-2.0), b.op("abs", x)))
        below = b.op("add", b.const(1.0), small)
        return b.op("div", b.op("mul", b.const(4.0), small), b.op("mul", below, below))
