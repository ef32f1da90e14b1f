"""Many small tables at once: columns of few levels are packed into groups, and a group is counted
as one column of as many cells as its columns have together.

What is wanted of each column of a group are sums over its cells, which one product with a matrix of
zeros and ones gives for all of them. Counts are whole numbers below 2^53, so that is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers
from privet.privacy.engines import compiled
from privet.privacy.engines.bitmaps import Bitmaps, Fan
from privet.privacy.engines.work import BLOCK_ROWS, add_counts

Names = tuple[str, ...]

GROUP_CELLS = 1 << 7  # two groups make a table that stays in the cache
AXES = ("key", "codes")
MOST_CELLS = 1 << 16  # of a group beside other columns; above, columns are counted one by one


@dataclass(frozen=True)
class Group:
    """Some columns; ``places`` are theirs among the levels of all of them."""

    codes: NDArray[Any]
    cells: int
    levels: Floats  # a row for each cell: 1 where it has a level
    places: Mapping[str, slice]


class Packed:
    """The rows of a table whose columns have these numbers of levels."""

    def __init__(
        self,
        codes: Mapping[str, NDArray[Any]],
        sizes: Mapping[str, int],
        weights: NDArray[np.uint8] | None,
    ) -> None:
        self._codes, self._sizes, self._weights = codes, sizes, weights
        self._groups: dict[int, Group] = {}
        self._maps = Bitmaps(codes, sizes)

    @cached_property
    def _members(self) -> list[Names]:
        """The columns of each group."""
        found: list[Names] = []
        cells = GROUP_CELLS + 1
        for name in sorted(self._sizes, key=self._sizes.__getitem__):
            if cells * self._sizes[name] > GROUP_CELLS:
                found.append(())
                cells = 1
            found[-1] += (name,)
            cells *= self._sizes[name]
        return found

    @cached_property
    def _group_of(self) -> dict[str, int]:
        return {name: at for at, members in enumerate(self._members) for name in members}

    def _group(self, at: int) -> Group:
        if at not in self._groups:
            self._groups[at] = self._packed(self._members[at])
        return self._groups[at]

    def _packed(self, members: Names) -> Group:
        sizes = [self._sizes[name] for name in members]
        cells = np.indices(sizes).reshape(len(sizes), -1)
        levels = [np.eye(size)[own] for size, own in zip(sizes, cells, strict=True)]
        ends = np.cumsum(sizes).tolist()
        places = {
            name: slice(end - size, end)
            for name, size, end in zip(members, sizes, ends, strict=True)
        }
        key = _key(self._codes, members, sizes, np.dtype(np.uint8))
        return Group(key, prod(sizes), np.concatenate(levels, axis=1), places)

    def narrow(self, name: str) -> bool:
        """Whether a column is in a group with others, or could be."""
        return self._sizes[name] <= GROUP_CELLS

    def pairs(self, wanted: Sequence[Names]) -> dict[Names, Integers]:
        """The tables of pairs of narrow columns."""
        blocks: dict[tuple[int, int], list[Names]] = {}
        for pair in wanted:
            first, second = (self._group_of[name] for name in pair)
            blocks.setdefault((min(first, second), max(first, second)), []).append(pair)
        found: dict[Names, Integers] = {}
        for (g, h), pairs in blocks.items():
            one, other = self._group(g), self._group(h)
            table = self._levels(one, other)
            for x, y in pairs:
                if x in one.places and y in other.places:
                    found[x, y] = table[one.places[x], other.places[y]]
                else:
                    found[x, y] = table[one.places[y], other.places[x]].T
        return found

    def _levels(self, one: Group, other: Group) -> Integers:
        """How many rows have each level of the columns of one group and each of another."""
        if one is other:
            counts = self._count([one.codes], [one.cells])[:, None] * other.levels
        else:
            counts = self._count([one.codes, other.codes], [one.cells, other.cells]) @ other.levels
        return np.asarray(one.levels.T @ counts).astype(np.int64)

    def small(self, wanted: Sequence[Names]) -> dict[Names, Integers]:
        """The tables of those sets of different columns that maps of bits serve, if these were
        compiled: all that differ in the last column alone are one fan."""
        found: dict[Names, Integers] = {}
        if compiled.counts is None or self._weights is not None:
            return found
        fans: dict[Names, Names] = {}
        for columns in wanted:
            if not self._maps.has(columns[-1]):
                continue
            if len(columns) > 1:
                fans[columns[:-1]] = (*fans.get(columns[:-1], ()), columns[-1])
            else:
                found[columns] = self._maps.alone(columns[0])
        counted = self._maps.fans(tuple(fans.items()))
        for (base, others), fan in zip(fans.items(), counted, strict=True):
            if fan is None:
                continue
            start = 0
            shape = [self._sizes[name] for name in base]
            for name in others:
                table = fan[:, start : start + self._sizes[name]]
                found[*base, name] = table.reshape(*shape, -1)
                start += self._sizes[name]
        return found

    def fans(self, asked: Sequence[Fan]) -> list[Integers]:
        """How many rows have each cell of the table of a base and each level of the others."""
        served = [None] * len(asked) if self._weights is not None else self._maps.fans(asked)
        return [
            self._fan(*fan) if found is None else found
            for fan, found in zip(asked, served, strict=True)
        ]

    def _fan(self, base: Names, others: Names) -> Integers:
        sizes = [self._sizes[name] for name in base]
        cells, width = prod(sizes), sum(self._sizes[name] for name in others)
        out = np.zeros((cells, width), dtype=np.int64)
        key = _key(self._codes, base, sizes, _kind(cells))
        if self._tallied(key, others, out):
            return out
        for at, columns in self._spread(others).items():
            size = prod(self._sizes[name] for name in self._members[at])
            if len(columns) == 1 or cells * size > MOST_CELLS:
                for name, place in columns.items():
                    codes, levels = self._codes[name], self._sizes[name]
                    out[:, place] = self._count([key, codes], [cells, levels])
                continue
            group = self._group(at)
            counts = self._count([key, group.codes], [cells, group.cells]) @ group.levels
            for mine, place in _runs(group.places, columns):
                out[:, place] = counts[:, mine]
        return out

    def _tallied(self, key: NDArray[Any], others: Names, out: Integers) -> bool:
        """Counts the rows of a fan at once, if that was compiled and codes are small."""
        if compiled.counts is None or self._weights is not None or key.dtype != np.uint16:
            return False
        codes = tuple(self._codes[name] for name in others)
        if not all(each.dtype == np.uint8 and each.flags.c_contiguous for each in codes):
            return False
        compiled.counts.tallied(key, codes, tuple(self._sizes[name] for name in others), out)
        return True

    def _spread(self, others: Names) -> dict[int, dict[str, slice]]:
        """The groups of these columns, and where the levels of each are in a fan."""
        found: dict[int, dict[str, slice]] = {}
        start = 0
        for name in others:
            end = start + self._sizes[name]
            found.setdefault(self._group_of[name], {})[name] = slice(start, end)
            start = end
        return found

    def _count(self, codes: Sequence[NDArray[Any]], shape: Sequence[int]) -> Integers:
        total = np.zeros(prod(shape), dtype=np.int64)
        for start in range(0, len(codes[0]), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            block = {name: each[part] for name, each in zip(AXES, codes, strict=False)}
            weight = None if self._weights is None else self._weights[part]
            add_counts(total, block, AXES[: len(codes)], tuple(shape), weight)
        return total.reshape(shape)


def _runs(mine: Mapping[str, slice], places: Mapping[str, slice]) -> Iterator[tuple[slice, slice]]:
    """Both places of columns, taken together while they follow each other in both."""
    names = iter(places)
    one = next(names)
    first, second = mine[one], places[one]
    for name in names:
        if (mine[name].start, places[name].start) == (first.stop, second.stop):
            first = slice(first.start, mine[name].stop)
            second = slice(second.start, places[name].stop)
        else:
            yield first, second
            first, second = mine[name], places[name]
    yield first, second


def _kind(cells: int) -> np.dtype[Any]:
    return np.dtype(np.uint16 if cells <= 1 << 16 else np.int64)


def _key(
    codes: Mapping[str, NDArray[Any]], members: Names, sizes: Sequence[int], kind: np.dtype[Any]
) -> NDArray[Any]:
    """The place of each row in the table of some columns."""
    key = codes[members[0]].astype(kind)
    for name, size in zip(members[1:], sizes[1:], strict=True):
        key *= kind.type(size)
        key += codes[name].astype(kind, copy=False)
    return key
