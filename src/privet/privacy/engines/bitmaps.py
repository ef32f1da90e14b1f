"""Rows as bits: a map of each level of a column has a bit for each row, so that 64 rows are counted
by one word. That is how the tables of a small base beside many columns are counted fastest.

The last level of a column and the last cell of a base are not counted: they are what is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.privacy.engines import compiled

Words = NDArray[np.uint64]
# The columns of a base, and the others beside it.
Fan = tuple[tuple[str, ...], tuple[str, ...]]

MOST_LEVELS = 16  # of a column, so that its maps take no more than twice the room of its codes
# Of a base; above, it is faster to count row by row: in arrays, and where both were compiled.
MOST_CELLS, MOST_COMPILED = 16, 128
LINE = 64  # bytes of the cache
AT_ONCE = 1 << 17  # words that are compared: they stay in the cache
_BYTES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


class Bitmaps:
    """The maps of all columns with so few levels, made when they are first asked for."""

    def __init__(self, codes: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
        self._codes, self._sizes = codes, sizes
        self._served = {
            name: i for i, name in enumerate(n for n in sizes if sizes[n] <= MOST_LEVELS)
        }

    def _serve(self, base: Sequence[str], others: Sequence[str]) -> bool:
        few = all(name in self._served for name in (*base, *others))
        return few and prod(self._sizes[name] for name in base) <= MOST_CELLS

    @cached_property
    def _levels(self) -> Integers:
        """Of each column."""
        return np.array([self._sizes[name] for name in self._served])

    @cached_property
    def _maps(self) -> Words:
        """A map for each level of a column, one column after the other. Each fills whole lines of
        the cache, in which compiled loops run faster."""
        rows, count = len(self._codes[next(iter(self._served))]), int(self._levels.sum())
        size = -(-rows // (8 * LINE)) * LINE
        room = np.zeros(count * size + LINE, dtype=np.uint8)
        first = -room.__array_interface__["data"][0] % LINE
        maps = room[first : first + count * size].reshape(count, size)
        start = 0
        for name, size in zip(self._served, self._levels.tolist(), strict=True):
            codes = self._codes[name]
            bits = np.packbits(codes == np.arange(size, dtype=codes.dtype)[:, None], axis=1)
            maps[start : start + size, : bits.shape[1]] = bits
            start += size
        return maps.view(np.uint64)

    @cached_property
    def _margins(self) -> Integers:
        return ones(self._maps)

    @cached_property
    def _ends(self) -> Integers:
        return np.cumsum(self._levels)

    def _of(self, name: str) -> Words:
        at = self._served[name]
        return self._maps[self._ends[at] - self._levels[at] : self._ends[at]]

    def has(self, name: str) -> bool:
        return name in self._served

    def alone(self, name: str) -> Integers:
        """How many rows have each level of a column that has maps."""
        start, levels = self._bounds[self._served[name]]
        return self._margins[start : start + levels]

    def fans(self, asked: Sequence[Fan]) -> list[Integers | None]:
        """How many rows have each cell of the table of a base and each level of the others; None
        where that is not counted fastest here."""
        if not self._served:
            return [None] * len(asked)
        if compiled.counts is None:
            return [self._in_arrays(*fan) if self._serve(*fan) else None for fan in asked]
        parts = self._maps, self._margins, self._bounds, self._served
        found = compiled.counts.fans(*parts, tuple(asked), MOST_COMPILED)
        return [each and np.frombuffer(each[1], np.int64).reshape(each[0], -1) for each in found]

    @cached_property
    def _bounds(self) -> Integers:
        """Where the maps of each column start, and how many there are."""
        return np.column_stack((self._ends - self._levels, self._levels)).astype(np.int64)

    def _in_arrays(self, base: Sequence[str], others: Sequence[str]) -> Integers:
        cells = self._of(base[0])
        for name in base[1:]:
            more = self._of(name)
            cells = (cells[:, None] & more).reshape(len(cells) * len(more), cells.shape[1])
        columns = [self._served[name] for name in others]
        levels, starts = self._levels[columns], (self._ends - self._levels)[columns]
        ends = np.cumsum(levels)
        place = np.arange(ends[-1]) + np.repeat(starts - ends + levels, levels)
        counted = np.ones(len(place), dtype=bool)
        counted[ends - 1] = False
        out = np.empty((len(cells), len(place)), dtype=np.int64)
        out[:, counted] = self._beside(cells, place[counted])
        rest = np.add.reduceat(np.where(counted, out, 0), ends - levels, axis=1)
        out[:, ~counted] = ones(cells)[:, None] - rest
        return out

    def _beside(self, cells: Words, places: Integers) -> Integers:
        """How many rows are in each of these cells and on each of these maps."""
        maps = self._maps[places]
        counts = np.empty((len(cells), len(maps)), dtype=np.int64)
        step = max(1, AT_ONCE // max(maps.size, 1))
        for start in range(0, len(cells) - 1, step):
            part = slice(start, min(start + step, len(cells) - 1))
            counts[part] = ones(cells[part, None] & maps)
        counts[-1] = self._margins[places] - counts[:-1].sum(axis=0)
        return counts


def ones(words: Words) -> Integers:
    """How many bits are set, along the last axis."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.uint32)).astype(np.int64)
    return np.asarray(_BYTES[words.view(np.uint8)].sum(axis=-1, dtype=np.int64))  # NumPy before 2
