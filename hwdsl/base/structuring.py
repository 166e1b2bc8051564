"""Objects as bytes and back, from the annotations of their classes: what is kept, and shipped.

msgspec does it, for attrs classes and dataclasses (decision 0025). MessagePack is for what only
hwdsl reads: floats come back to the bit, infinities and NaN too. JSON is for what others read.

The annotations are the form: what does not fit them is no value, and a class whose fields change
needs no other change.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Unfit(ValueError):
    """Bytes that are no value of the class asked for, or a value that has no bytes."""


def packed(value: object, plain: Callable[[Any], Any] | None = None) -> bytes:
    """A value as MessagePack. Raises Unfit for an int beyond 64 bits and for half a character.

    `plain` says what stands for a value that msgspec does not know.
    """
    try:
        return msgspec.msgpack.encode(value, enc_hook=plain or _plain)
    except (OverflowError, UnicodeEncodeError) as error:
        raise Unfit(str(error)) from error


def unpacked(data: bytes, of: type[T], structured: Callable[[type, Any], Any] | None = None) -> T:
    """The value of a class that `packed` wrote, `structured` undoing its `plain`. Raises Unfit."""
    try:
        return msgspec.msgpack.decode(data, type=of, dec_hook=structured or _structured)
    except (msgspec.DecodeError, UnicodeDecodeError, ArithmeticError, RecursionError) as error:
        raise Unfit(str(error)) from error


def from_json(text: str | bytes, of: type[T]) -> T:
    """The value of a class from JSON. Raises Unfit."""
    try:
        return msgspec.json.decode(text, type=of, dec_hook=_structured)
    except (msgspec.DecodeError, ArithmeticError, RecursionError) as error:
        raise Unfit(str(error)) from error


def to_json(value: object) -> bytes:
    """A value as JSON on one line. Raises Unfit as `packed` does."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except (OverflowError, UnicodeEncodeError) as error:
        raise Unfit(str(error)) from error


def _plain(value: Any) -> Any:
    """What stands for a value that msgspec does not know; some classes say it themselves."""
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "plain"):
        return value.plain()
    raise TypeError(f"a {type(value).__name__} cannot be kept")


def _structured(of: type, data: Any) -> Any:
    if of is Fraction and isinstance(data, str):
        return Fraction(data)
    if hasattr(of, "structured"):
        return of.structured(data)
    raise ValueError(f"{data!r:.40} is no {of.__name__}")
