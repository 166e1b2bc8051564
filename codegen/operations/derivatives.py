"""What a record says of an operation's derivative, and what rules are made of.

A rule is the vector-Jacobian product (VJP) of an operation on numbers, which is the product of the
seed and the partial derivative, and so its JVP too. Reverse mode seeds it with the adjoint of the
value and gets a contribution to the adjoint of the argument; forward mode seeds it with the tangent
of the argument and gets a contribution to the tangent of the value.

Zero absorbs: a seed of 0 gives 0 even where the partial is infinite or NaN, so that an arm not
taken, or a direction in which nothing moves, gives no NaN; and a partial of 0 gives 0 whatever the
seed, so that reverse and forward mode say the same of `sqrt(x * x)` at 0. `min` and `max` follow
the first of equal operands, as does `abs` (it is max(x, -x)).

Rules write operations to a builder, of which they need two methods; values are the builder's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Protocol

from attrs import define, field, frozen


class Maker(Protocol):
    """What rules need of a builder."""

    def const(self, value: float, type: str = ...) -> Any:
        """A constant; its attribute `known` is its value."""

    def op(self, code: str, *args: Any, index: int = ..., type: str | None = ...) -> Any:
        """Add an operation and return its value; `known` is None unless it was folded."""


@define(eq=False)
class Partials:
    """What rules are made of: products and quotients in which zero absorbs."""

    builder: Maker
    _products: dict[tuple[Any, ...], tuple[list[Any], list[Any]]] = field(factory=dict)

    def times(self, seed: Any, partial: Any) -> Any:
        """The product, 0 if a factor is."""
        b = self.builder
        factors = [f for f in (seed, partial) if f.known is None]
        if len(factors) < 2:
            known = [f.known for f in (seed, partial) if f.known is not None]
            if 0.0 in known:
                return b.const(0.0)
            if all(map(math.isfinite, known)):
                return b.op("mul", seed, partial)  # which is 0 where the other is
        zero = b.const(0.0)
        return self._absorb([b.op("eq", f, zero) for f in factors], b.op("mul", seed, partial))

    def share(self, seed: Any, below: Any) -> Any:
        """`seed / below`, 0 where the seed or 1 / below is."""
        b = self.builder
        zeros: list[Any] = []
        if seed.known is None:
            zeros.append(b.op("eq", seed, b.const(0.0)))
            if below.known is None:
                zeros.append(b.op("eq", b.op("abs", below), b.const(math.inf)))
        return self._absorb(zeros, b.op("div", seed, below))

    def _absorb(self, zeros: Sequence[Any], product: Any) -> Any:
        """The product, but 0 where a condition holds."""
        b = self.builder
        if not zeros or product.known is not None:
            return product
        any_zero = zeros[0] if len(zeros) == 1 else b.op("or", *zeros)
        return b.op("select", any_zero, b.const(0.0), product, type="real")

    def gate(self, condition: Any, seed: Any, other: Any = None) -> Any:
        """`seed` where the condition holds, else `other` (0 unless given)."""
        b = self.builder
        rest = b.const(0.0) if other is None else other
        return b.op("select", condition, seed, rest, type="real")

    def others(self, args: Sequence[Any], position: int) -> Any:
        """The product of the other factors, without dividing by this one (it may be 0)."""
        key = tuple(args)
        if key not in self._products:
            self._products[key] = (self._running(key), self._running(key[::-1]))
        left, right = self._products[key]
        after = len(args) - 1 - position
        if position == 0:
            return right[after - 1]
        if after == 0:
            return left[position - 1]
        return self.builder.op("mul", left[position - 1], right[after - 1])

    def _running(self, factors: Sequence[Any]) -> list[Any]:
        """The products of the first 1, 2, … factors."""
        return list(accumulate(factors, lambda a, b: self.builder.op("mul", a, b)))


# --- what a record may say ---------------------------------------------------------------------

Vjp = Callable[[Partials, Sequence[Any], Any, int, Any], Any]
"""`seed` times the partial derivative of `value` in the argument at `position`, of
(partials, arguments, value, position, seed)."""


@frozen
class DerivativeRule:
    """A derivative in every argument."""

    vjp: Vjp
    first = 0


@frozen
class Chosen:
    """The value is one of the arguments from `first` on, and moves as that one does.

    `choice` writes which one it is: a truth that chooses the first of two, or, if there are `many`,
    the place of one.
    """

    first: int
    choice: Callable[[Maker, Sequence[Any]], Any]
    many: bool = False

    def tangent(self, b: Maker, args: Sequence[Any], moves: Sequence[Any]) -> Any:
        """The tangent of the argument chosen."""
        code = "gather" if self.many else "select"
        return b.op(code, self.choice(b, args), *moves[self.first :], type="real")

    def vjp(
        self, partials: Partials, args: Sequence[Any], value: Any, position: int, seed: Any
    ) -> Any:
        """The seed where the argument at `position` is chosen, else 0."""
        b, place = partials.builder, position - self.first
        if self.many:
            return partials.gate(self._is_chosen(b, args, place), seed)
        if place == 0:
            return partials.gate(self.choice(b, args), seed)
        return partials.gate(self.choice(b, args), b.const(0.0), seed)

    def _is_chosen(self, b: Maker, args: Sequence[Any], place: int) -> Any:
        """Whether the argument at a place is chosen of many: by a choice below all places, or NaN,
        the first, and by one beyond them the last, as `gather` reads, so that both modes agree."""
        choice, last = self.choice(b, args), len(args) - self.first - 1
        at = b.const(float(place), "int")
        if last == 0:
            return b.const(1.0, "bool")
        if place == 0:
            return b.op("not", b.op("lt", at, choice))
        return b.op("le" if place == last else "eq", at, choice)


@frozen
class NoRule:
    """Nothing to be seeded; says why."""

    why: str


Derivative = DerivativeRule | Chosen | NoRule
FLAT = NoRule("the value is constant between its jumps")
CARRIED = NoRule("forward and reverse mode handle the operation themselves, as they do a loop")


def slope(partial: Callable[[Maker, Any, Any], Any]) -> DerivativeRule:
    """Of one argument: `partial` writes the derivative, of (builder, argument, value)."""
    return DerivativeRule(lambda d, args, y, k, seed: d.times(seed, partial(d.builder, args[0], y)))


def slope_of_inverse(below: Callable[[Maker, Any, Any], Any]) -> DerivativeRule:
    """Of one argument: `below` writes 1 / the derivative, of (builder, argument, value)."""
    return DerivativeRule(lambda d, args, y, k, seed: d.share(seed, below(d.builder, args[0], y)))
