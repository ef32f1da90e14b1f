"""Exact draws from the operating system's randomness.

Nothing here is a floating-point number: a uniform integer comes from whole words by rejection,
and a law with integer weights from comparing the binary digits of a uniform number with those of
the law's own, as many as it takes. There is no seed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers

WORD = 64
MOST = 1 << 62  # the largest range of `below`, so that every result fits a signed word


class Bits:
    """Random words, drawn in one go for as many people as there are."""

    def words(self, size: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * size), dtype="<u8").astype(np.uint64)

    def below(self, limit: int, size: int) -> Integers:
        """Uniform on 0 .. limit - 1. A word beyond the last whole multiple of the limit is drawn
        again, so every remainder is equally likely."""
        assert 1 <= limit <= MOST
        last = np.uint64((1 << WORD) - (1 << WORD) % limit - 1)
        words = self.words(size)
        while (beyond := np.flatnonzero(words > last)).size:
            words[beyond] = self.words(beyond.size)
        return (words % np.uint64(limit)).astype(np.int64)


class Law:
    """A law on 0 .. len(weights) - 1 whose probabilities are integer weights over their sum."""

    def __init__(self, weights: Sequence[int]) -> None:
        *self._ends, self._total = accumulate(weights)
        cuts = [min((end << WORD) // self._total, (1 << WORD) - 1) for end in self._ends]
        self._cuts = np.array(cuts, dtype=np.uint64)

    def draw(self, bits: Bits, size: int) -> Integers:
        """A word holds the first 64 binary digits of a uniform number; which outcome the number
        falls on is then settled, unless they are the first 64 digits of an end as well."""
        words = bits.words(size)
        drawn = np.searchsorted(self._cuts, words, side="right")
        below = self._cuts[np.maximum(drawn, 1) - 1] if self._ends else words
        for at in np.flatnonzero((drawn > 0) & (below == words)).tolist():
            drawn[at] = self._settle(int(words[at]), bits)
        return drawn.astype(np.int64)

    def _settle(self, digits: int, bits: Bits) -> int:
        """Further digits until no end lies strictly between the number's bounds."""
        places = WORD
        while True:
            low, high = digits * self._total, (digits + 1) * self._total
            if not any(low < end << places < high for end in self._ends):
                return sum(end << places <= low for end in self._ends)
            digits = digits << WORD | int(bits.words(1)[0])
            places += WORD


def alike(values: Integers) -> Iterator[tuple[int, Integers]]:
    """Every different value and the places where it stands."""
    order = np.argsort(values, kind="stable")
    found, starts = np.unique(values[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts)[1:], strict=True)
