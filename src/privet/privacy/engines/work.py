"""What is asked of the parts of a table: whole numbers that add up.

Each part answers with the sum over its rows of vectors that depend on that row and on public facts
alone. So it means nothing which parts there are, in which order they come and on which machine they
lie: for two tables that differ in one row, the totals differ by that row's vector.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers, Weight
from privet.privacy.engines import compiled

Columns = Mapping[str, NDArray[Any]]  # some rows: the codes or the numbers of each column
Add = Callable[[Integers, Floats], None]  # adds what some rows give to a total

BLOCK_ROWS = 1 << 16  # so many rows and their keys stay in the cache
MOST_CELLS = 1 << 16  # whose places are numbers of 16 bits
SPARSE = 1 << 18  # cells of a table that takes longer to walk through than a block of rows


class Work(Protocol):
    """Frozen data without rows, which can be sent to wherever the parts are."""

    numbers: ClassVar[bool]  # of numbers that are clamped, or of codes

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that are read."""

    def start(self) -> list[Integers]: ...

    def add(self, totals: list[Integers], part: Columns) -> None: ...


class Parts(Protocol):
    """A table in parts, encoded."""

    def fold(self, work: Work) -> list[Integers]:
        """The totals of one pass over all parts."""

    def read(
        self, columns: tuple[str, ...], numbers: bool, keep: int | None = None
    ) -> Iterator[Columns]:
        """The encoded rows themselves, for what cannot be had from totals; if ``keep`` is given,
        a secret sample of them."""


@dataclass(frozen=True)
class Tally:
    """The tables of some column sets. Each row counts once, or as often as ``weight`` says, which
    looks at its codes in the columns ``weighed``."""

    sets: tuple[tuple[str, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    weighed: tuple[str, ...] = ()
    weight: Weight | None = None
    numbers: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        names = (name for members in self.sets for name in members)
        return tuple(dict.fromkeys((*names, *self.weighed)))

    def start(self) -> list[Integers]:
        return [np.zeros(prod(shape), dtype=np.int64) for shape in self.shapes]

    def add(self, totals: list[Integers], part: Columns) -> None:
        rows = len(next(iter(part.values())))
        for start in range(0, rows, BLOCK_ROWS):
            block = {name: codes[start : start + BLOCK_ROWS] for name, codes in part.items()}
            weights = None
            if self.weight is not None:
                weights = self.weight({name: block[name] for name in self.weighed})
            for members, shape, total in zip(self.sets, self.shapes, totals, strict=True):
                add_counts(total, block, members, shape, weights)


@dataclass(frozen=True)
class Sum:
    """What ``each`` adds up, over blocks (rows x columns) of numbers."""

    columns: tuple[str, ...]
    size: int
    each: Add
    numbers: ClassVar[bool] = True

    def start(self) -> list[Integers]:
        return [np.zeros(self.size, dtype=np.int64)]

    def add(self, totals: list[Integers], part: Columns) -> None:
        for block in stacked(part, self.columns):
            self.each(totals[0], block)


def stacked(part: Columns, columns: tuple[str, ...]) -> Iterator[Floats]:
    """Blocks (rows x columns) of numbers."""
    chosen = [part[name] for name in columns]
    rows = len(chosen[0]) if chosen else 0
    lines = _lines(chosen) if rows else None
    for start in range(0, rows, BLOCK_ROWS):
        here = slice(start, start + BLOCK_ROWS)
        if lines is not None:
            yield lines[:, here].T
            continue
        block = np.stack([column[here] for column in chosen])
        yield block.astype(np.float64, copy=False).T  # each column lies in one piece


def _lines(columns: list[NDArray[Any]]) -> Floats | None:
    """The matrix whose lines these are, all of them and in this order, if they are."""
    whole = columns[0].base
    if whole is None or whole.shape != (len(columns), len(columns[0])) or whole.dtype != np.float64:
        return None
    first, *_ = starts = [column.__array_interface__["data"][0] for column in columns]
    follow = starts == list(range(first, first + whole.nbytes, columns[0].nbytes))
    return whole if follow and all(column.base is whole for column in columns) else None


def joined(parts: Iterable[Columns], names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """All parts as one."""
    found = [dict(part) for part in parts]
    nothing = np.empty(0, dtype=np.uint8)
    return {name: _join([part.pop(name) for part in found] or [nothing]) for name in names}


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def sampled(part: Columns, keep: int) -> dict[str, NDArray[Any]]:
    """Each row by itself with probability ``keep`` / 2^32, drawn by the operating system."""
    words = np.frombuffer(os.urandom(4 * len(next(iter(part.values())))), dtype=np.uint32)
    return {name: column[words < keep] for name, column in part.items()}


def add_counts(
    total: Integers,
    block: Columns,
    members: tuple[str, ...],
    shape: tuple[int, ...],
    weights: NDArray[np.uint8] | None = None,
) -> None:
    """Counts some rows into the table of a column set, whose cells lie in a line."""
    codes = tuple(block[name] for name in members)
    small = all(each.itemsize <= 2 and each.flags.c_contiguous for each in codes)
    if compiled.counts is not None and small and total.size <= MOST_CELLS:
        compiled.counts.counted(total, codes, shape, weights)
        return
    kind = np.dtype(np.uint16 if total.size <= MOST_CELLS else np.int64)
    key = codes[0].astype(kind)
    for own, levels in zip(codes[1:], shape[1:], strict=True):
        key *= kind.type(levels)
        key += own
    if total.size > SPARSE:
        np.add.at(total, key, 1 if weights is None else weights)
    elif weights is None:
        total += np.bincount(key, minlength=total.size)
    else:  # sums of whole numbers in floating point, exact below 2^53; bincount would cast slowly
        total += np.bincount(key, weights.astype(float), minlength=total.size).astype(np.int64)
