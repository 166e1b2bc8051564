"""Text literals: escapes both ways."""

from collections.abc import Iterator

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_WRITTEN = {value: f"\\{key}" for key, value in _ESCAPES.items()}


def pieces(raw: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each character of a literal's inside: its offset, what it stands for, whether escaped.

    An unknown escape yields an empty character, to be reported by the caller.
    """
    at = 0
    while at < len(raw):
        if raw[at] == "\\" and at + 1 < len(raw):
            yield at, _ESCAPES.get(raw[at + 1], ""), True
            at += 2
        else:
            yield at, raw[at], False
            at += 1


def escape(value: str) -> str:
    """Return the inside of a literal that stands for `value`."""
    return "".join(_WRITTEN.get(c, c) for c in value)
