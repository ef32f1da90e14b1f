"""Encoded rows in memory, and how to count them.

A batch of small tables is counted as a few larger ones: the wanted column sets are packed into
blocks of up to ``BLOCK_CELLS`` cells, each block is counted in one pass over the rows, and every
wanted table is a sum over the axes of its block. That is exact in integers, and it reads the
rows about ten times less often than one pass per table.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers, Weight
from privet.errors import SchemaError
from privet.schema.model import Column, Schema

Codes = Mapping[str, NDArray[np.unsignedinteger[Any]]]
Numbers = Mapping[str, Floats]

BLOCK_ROWS = 1 << 16  # a block of rows and its keys stay in the cache
BLOCK_CELLS = 1 << 12  # and so does its table
KEPT = 64  # blocks that are kept for later questions
FEW = 4  # sets that are looked up one by one
ANSWERED_CELLS = 1 << 20  # of tables that are kept for the same question: 8 MB
CANDIDATES = 1 << 11  # how many waiting sets are considered at a time, to bound the planning


class _Block:
    """A table of some columns, from which those of fewer columns are summed up."""

    def __init__(self, names: tuple[str, ...], table: Integers) -> None:
        self._at = {name: i for i, name in enumerate(names)}
        self._table = table

    def keys(self) -> KeysView[str]:
        return self._at.keys()

    def margin(self, columns: tuple[str, ...]) -> Integers:
        return _margin(self._table, [self._at[name] for name in columns])


class MemoryRows:
    """The rows of one table, as codes and as real numbers, each loaded when first asked for.

    A row that the missing policies drop is in neither; the order of rows means nothing. ``fine``
    are the same rows in finer bins, where there are any: from these others can be merged.
    """

    def __init__(
        self,
        schema: Schema,
        load_codes: Callable[[], Codes],
        load_numbers: Callable[[], Numbers],
        weights: NDArray[np.uint8] | None = None,
        fine: MemoryRows | None = None,
    ) -> None:
        self._schema, self._weights, self._fine = schema, weights, fine
        self._merged: MemoryRows | None = None
        self._load_codes = load_codes
        self._load_numbers = load_numbers
        self._numbers: Numbers | Codes | None = None
        self._kept: deque[_Block] = deque(maxlen=KEPT)
        self._lately = list(schema.names)
        self._answers: dict[tuple[str, ...], Integers] = {}
        self._answered = 0  # cells of these

    @cached_property
    def _codes(self) -> Codes:
        return self._load_codes()

    @property
    def _length(self) -> int:
        return len(self._codes[self._schema.names[0]])

    def __repr__(self) -> str:
        return "MemoryRows(...)"

    def __reduce__(self) -> str:
        raise TypeError("rows stay inside the vault")

    def sampled(self, keep: int) -> MemoryRows:
        """A secret sample, in which each row is by itself with probability ``keep`` / 2^32.

        The operating system draws it when codes are first asked for. Numbers are read apart
        and perhaps in another order, so they would be another sample: there are none.
        """

        if self._fine is not None:
            return self._fine.sampled(keep).cut(self._schema)

        def codes() -> Codes:
            words = np.frombuffer(os.urandom(4 * self._length), dtype=np.uint32)
            return {name: column[words < keep] for name, column in self._codes.items()}

        return MemoryRows(self._schema, codes, _no_numbers)

    def cut(self, schema: Schema) -> MemoryRows:
        """The same rows in merged bins; those that were asked for last are kept."""
        if self._fine is not None:
            return self._fine.cut(schema)
        merged = self._merged  # another thread may put a new one in its place
        if merged is None or merged._schema != schema:
            load = partial(self._merge, schema)
            self._merged = merged = MemoryRows(schema, load, self._load_numbers, fine=self)
        return merged

    def _merge(self, schema: Schema) -> Codes:
        found = dict(self._codes)
        for old, new in zip(self._schema.columns, schema.columns, strict=True):
            if old.cuts != new.cuts:
                found[new.name] = merged_codes(old, new)[found[new.name]]
        return found

    def weighed(self, columns: tuple[str, ...], weight: Weight) -> MemoryRows:
        parts = [
            weight({name: self._codes[name][start : start + BLOCK_ROWS] for name in columns})
            for start in range(0, max(self._length, 1), BLOCK_ROWS)
        ]
        return MemoryRows(self._schema, lambda: self._codes, _no_numbers, np.concatenate(parts))

    def counts(self, columns: tuple[str, ...]) -> Integers:
        """Contingency table with one axis per column, in the order given."""
        if not columns or len(set(columns)) < len(columns):
            return self._count(columns)
        block = next((kept for kept in self._kept if kept.keys() >= set(columns)), None)
        if block is None:
            block = _Block(names := self._grown(columns), self._count(names))
            self._kept.appendleft(block)
        return block.margin(columns)

    def _grown(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """These columns and those asked for lately, as many as fit: counting a larger block takes
        little longer, and the next question is likely to be about some of them."""
        grown, cells = list(columns), prod(map(self._levels, columns))
        self._lately = [*columns, *(name for name in self._lately if name not in columns)]
        for name in self._lately:
            more = cells * self._levels(name)
            if name not in columns and more <= BLOCK_CELLS:
                grown.append(name)
                cells = more
        return tuple(grown)

    def _levels(self, name: str) -> int:
        return self._schema.column(name).cardinality

    def _count(self, columns: tuple[str, ...]) -> Integers:
        shape = tuple(self._schema.column(name).cardinality for name in columns)
        weights = self._weights
        if not columns:
            rows = self._length if weights is None else int(weights.sum(dtype=np.int64))
            return np.array(rows, dtype=np.int64)
        cells = prod(shape)
        total = np.zeros(cells, dtype=np.int64)
        kind = _key_type(cells)
        for start in range(0, self._length, BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            key = self._codes[columns[0]][part].astype(kind)
            for name, k in zip(columns[1:], shape[1:], strict=True):
                key *= kind.type(k)
                key += self._codes[name][part]
            if weights is None:
                total += np.bincount(key, minlength=cells)
            else:  # sums of whole numbers in floating point, exact below 2^53
                total += np.bincount(key, weights[part], minlength=cells).astype(np.int64)
        return total.reshape(shape)

    def table_batch(self, sets: Sequence[tuple[str, ...]]) -> list[Integers]:
        """The table of each set, counted together."""
        known = self._answers  # another thread may put a new one in its place
        fresh = [s for s in dict.fromkeys(sets) if s not in known]
        counted = self._counted(fresh) if len(fresh) > FEW else {s: self.counts(s) for s in fresh}
        tables = [counted[s] if s in counted else known[s] for s in sets]
        self._answered += sum(table.size for table in counted.values())
        if self._answered > ANSWERED_CELLS:
            self._answers, self._answered = {}, 0
        else:
            self._answers |= counted
        return tables

    def _counted(self, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Integers]:
        """Many tables, as few large blocks."""
        answers: dict[tuple[str, ...], Integers] = {}
        plain = {s for s in sets if not s or len(set(s)) < len(s)}
        for columns in plain:
            answers[columns] = self.counts(columns)
        names = self._schema.names
        sizes = np.log2([column.cardinality for column in self._schema.columns])
        where = {name: i for i, name in enumerate(names)}
        wanted = [s for s in sets if s not in plain]
        places = [[where[name] for name in columns] for columns in wanted]
        for block, covered in plan(places, sizes):
            table = self._count(tuple(names[i] for i in block))
            for i in covered:
                answers[wanted[i]] = _margin(table, [block.index(j) for j in places[i]])
        return answers

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        """Blocks (rows x columns) of clamped numbers; a missing one has its declared value,
        or the middle of its bounds where missing is a level of its own. A column without
        numbers gives its codes."""
        if self._numbers is None:  # of a table without any numbers, there are the codes
            self._numbers = self._load_numbers() or self._codes
        chosen = [self._numbers[name] for name in columns]
        for start in range(0, len(chosen[0]) if chosen else 0, BLOCK_ROWS):
            part = [column[start : start + BLOCK_ROWS] for column in chosen]
            yield np.stack(part, axis=1).astype(np.float64, copy=False)


def merged_codes(old: Column, new: Column) -> NDArray[np.unsignedinteger[Any]]:
    """Of each code of a column, the one that it has with fewer cuts; missing stays a level."""
    codes = np.searchsorted(new.cuts, [-np.inf, *old.cuts], side="right")
    if old.missing == "level":
        codes = np.append(codes, new.cardinality - 1)
    return codes.astype(np.uint8 if new.cardinality <= 256 else np.uint16)


def _no_numbers() -> Numbers:
    raise SchemaError("a secret sample has no numbers, only tables; leave --subsample away")


def _key_type(cells: int) -> np.dtype[Any]:
    return np.dtype(np.uint16 if cells <= 1 << 16 else np.int64)


def _margin(table: Integers, axes: list[int]) -> Integers:
    """The table of some axes of a larger table, in the order given."""
    others = tuple(i for i in range(table.ndim) if i not in axes)
    kept = sorted(axes)
    small = table.sum(axis=others, dtype=np.int64)
    return np.ascontiguousarray(small.transpose([kept.index(axis) for axis in axes]))


def plan(sets: Sequence[Sequence[int]], sizes: Floats) -> Iterator[tuple[list[int], list[int]]]:
    """Blocks of columns, each with the sets that it covers; every set is covered once.

    ``sizes`` are the log2 cardinalities of the columns. Greedy: a block starts with the first
    waiting set and grows by the set that enlarges it least, until no more fits into
    ``BLOCK_CELLS``.
    """
    nothing = len(sizes)  # fills up the shorter sets; it belongs to every block and weighs nothing
    weights = np.append(sizes, 0.0)
    width = max(map(len, sets), default=0)
    members = np.array([[*s, *[nothing] * (width - len(s))] for s in sets], dtype=np.intp)
    waiting = np.arange(len(sets))
    room = np.log2(BLOCK_CELLS) + 1e-9
    while waiting.size:
        near = members[:CANDIDATES]
        block = np.zeros(len(weights), dtype=bool)
        block[[*near[0], nothing]] = True
        while True:
            growth = np.where(block, 0.0, weights)[near].sum(axis=1)
            growth[growth == 0] = np.inf
            best = int(growth.argmin())
            if not growth[best] + weights[block].sum() <= room:
                break
            block[near[best]] = True
        inside = block[members].all(axis=1)
        yield [int(i) for i in np.flatnonzero(block[:nothing])], waiting[inside].tolist()
        members, waiting = members[~inside], waiting[~inside]
