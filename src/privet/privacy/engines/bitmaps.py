"""Rows as bits: a map of each level of a column has a bit for each row, so that 64 rows are counted
by one word. That is how the tables of a small base beside many columns are counted fastest.

The last level of a column and the last cell of a base are not counted: they are what is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers

Words = NDArray[np.uint64]

MOST_LEVELS = 16  # of a column, so that its maps take no more than twice the room of its codes
MOST_CELLS = 16  # of a base; above, it is faster to count row by row
AT_ONCE = 1 << 17  # words that are compared: they stay in the cache
_BYTES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


class Bitmaps:
    """The maps of columns with so few levels, each made when it is first asked for."""

    def __init__(self, codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
        self._codes, self._sizes = codes, sizes
        self._known: dict[str, Words] = {}
        self._margins: dict[str, Integers] = {}

    def serve(self, base: Sequence[str], others: Sequence[str]) -> bool:
        """Whether such a fan is counted fastest here."""
        cells = prod(self._sizes[name] for name in base)
        widest = max(self._sizes[name] for name in (*base, *others))
        return cells <= MOST_CELLS and widest <= MOST_LEVELS

    def of(self, name: str) -> Words:
        """A map for each level of a column."""
        if name not in self._known:
            codes, size = self._codes[name], self._sizes[name]
            levels = np.arange(size, dtype=codes.dtype)[:, None]
            bits = np.packbits(codes == levels, axis=1)
            wide = np.zeros((size, -(-len(codes) // 64) * 8), dtype=np.uint8)
            wide[:, : bits.shape[1]] = bits
            self._known[name] = wide.view(np.uint64)
            self._margins[name] = ones(self._known[name])
        return self._known[name]

    def fan(self, base: Sequence[str], others: tuple[str, ...]) -> Integers:
        """How many rows have each cell of the table of the base and each level of the others."""
        cells = self.of(base[0])
        for name in base[1:]:
            more = self.of(name)
            cells = (cells[:, None] & more).reshape(len(cells) * len(more), cells.shape[1])
        maps = np.concatenate([self.of(name)[:-1] for name in others])
        margins = np.concatenate([self._margins[name][:-1] for name in others])
        counts = np.empty((len(cells), len(maps)), dtype=np.int64)
        step = max(1, AT_ONCE // max(maps.size, 1))
        for start in range(0, len(cells) - 1, step):
            part = slice(start, min(start + step, len(cells) - 1))
            counts[part] = ones(cells[part, None] & maps)
        counts[-1] = margins - counts[:-1].sum(axis=0)
        return self._with_last(counts, ones(cells), others)

    def _with_last(self, counts: Integers, rows: Integers, others: tuple[str, ...]) -> Integers:
        """The same with the last level of each column, whose levels have all rows together."""
        sizes = np.array([self._sizes[name] for name in others])
        ends = np.cumsum(sizes)
        out = np.empty((len(counts), ends[-1]), dtype=np.int64)
        last = np.zeros(ends[-1], dtype=bool)
        last[ends - 1] = True
        out[:, ~last] = counts
        starts = np.cumsum(sizes - 1) - (sizes - 1)
        out[:, last] = rows[:, None] - np.add.reduceat(counts, starts, axis=1)
        return out


def ones(words: Words) -> Integers:
    """How many bits are set, along the last axis."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.uint32)).astype(np.int64)
    return np.asarray(_BYTES[words.view(np.uint8)].sum(axis=-1, dtype=np.int64))  # NumPy before 2
