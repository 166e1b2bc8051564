"""Which rules many points violate: bits of words as marks, counts and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import Words

_BLOCK = 1 << 14
"""Points taken at a time, so that what is between stays in a cache: four times as fast."""
_TABLE = 1 << 16
"""Combinations of rules that are told apart by a table of this size, without sorting points."""

_SMALL = 1 << 14
"""Words below which they are counted by their value."""


def marked(words: Words, masks: Sequence[int]) -> NDArray[np.bool_]:
    """Where any of the bits in `masks`, one for each word, is set."""
    found = np.zeros(len(words), np.bool_)
    for start in range(0, len(words), _BLOCK):
        rows, part = words[start : start + _BLOCK], found[start : start + _BLOCK]
        for k, mask in enumerate(masks):
            if mask:
                part |= (rows[:, k] & np.uint64(mask)) != 0
    return found


def bit(words: Words, number: int) -> NDArray[np.bool_]:
    """Where one bit is set."""
    return np.asarray((words[:, number // 64] & np.uint64(1 << number % 64)) != 0)


def ever(words: Words) -> list[int]:
    """The numbers of the bits that are set at any point: of many rules few are violated."""
    whole = np.bitwise_or.reduce(words, axis=0).tolist() if len(words) else []
    return [64 * k + b for k, word in enumerate(whole) for b in range(64) if word >> b & 1]


def counts(words: Words, names: Sequence[str]) -> dict[str, int]:
    """How many points violate each rule that any violates."""
    return {names[number]: count for number, count in counts_by_bit(words)}


def counts_by_bit(words: Words) -> list[tuple[int, int]]:
    """The numbers of the bits that are set at any point, and at how many."""
    found = []
    for k in range(words.shape[1]):
        column = words[:, k]
        whole = int(np.bitwise_or.reduce(column)) if len(column) else 0
        bits = [b for b in range(64) if whole >> b & 1]
        if len(bits) == 1:
            found.append((64 * k + bits[0], int(np.count_nonzero(column))))
        elif whole < _SMALL:  # by the words there are, each looked at once
            kinds = np.bincount(column.view(np.int64))
            used = np.flatnonzero(kinds)
            found += [(64 * k + b, int(kinds[used[used >> b & 1 == 1]].sum())) for b in bits]
        else:
            marks = (np.bitwise_and(column, np.uint64(1 << b)) for b in bits)
            counts = (int(np.count_nonzero(m)) for m in marks)
            found += [(64 * k + b, n) for b, n in zip(bits, counts, strict=True)]
    return found


def combinations(words: Words, names: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Of each point the number of its combination of violated rules, and the text of each.

    A text is the names of the rules with blanks between; that of no rule is empty.
    """
    codes, texts = np.zeros(len(words), np.int64), [""]
    most = min(_TABLE, max(64, len(words)))
    for number in ever(words):
        if 2 * len(texts) > most:  # only the combinations that there are
            codes, texts = _used(codes, texts)
        codes += len(texts) * bit(words, number)
        texts += [f"{text} {names[number]}".lstrip() for text in texts]
    return _used(codes, texts)


def _used(codes: NDArray[np.int64], texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """The same without the texts that no point has."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    places = np.zeros(len(texts), np.int64)
    places[used] = np.arange(len(used))
    return places[codes], [texts[k] for k in used.tolist()]


def texts(words: Words, names: Sequence[str]) -> NDArray[Any]:
    """The names of the rules that each point violates; points share the texts."""
    codes, found = combinations(words, names)
    return np.array([*found, ""], np.object_)[codes]
