"""Encoded rows in memory, and how to count them.

A batch of small tables is counted as a few larger ones: the wanted column sets are packed into
blocks of up to ``BLOCK_CELLS`` cells, each block is counted in one pass over the rows, and every
wanted table is a sum over the axes of its block. That is exact in integers, and it reads the
rows about ten times less often than one pass per table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers, Weight
from privet.errors import SchemaError
from privet.privacy.engines.merge import merge_of, merged
from privet.privacy.engines.packed import Packed
from privet.privacy.engines.work import BLOCK_ROWS, Add, add_counts, sampled, stacked
from privet.schema.model import Schema

Codes = Mapping[str, NDArray[np.unsignedinteger[Any]]]
Numbers = Mapping[str, Floats]

BLOCK_CELLS = 1 << 12  # a table of so many stays in the cache
KEPT = 64  # blocks that are kept for later questions
FEW = 4  # sets that are looked up one by one
ANSWERED_CELLS = 1 << 20  # of tables that are kept for the same question: 8 MB
CANDIDATES = 1 << 11  # how many waiting sets are considered at a time, to bound the planning


class Block:
    """A table of some columns, from which those of fewer columns are summed up."""

    def __init__(self, names: tuple[str, ...], table: Integers) -> None:
        self._at = {name: i for i, name in enumerate(names)}
        self._table = table

    def keys(self) -> KeysView[str]:
        return self._at.keys()

    def margin(self, columns: tuple[str, ...]) -> Integers:
        return margin(self._table, [self._at[name] for name in columns])


class MemoryRows:
    """The rows of one table, as codes and as real numbers, each loaded when first asked for.

    A row that the missing policies drop is in neither; the order of rows means nothing. ``fine``
    gives the same rows in finer bins, where there are any: from these others can be merged.
    """

    def __init__(
        self,
        schema: Schema,
        load_codes: Callable[[], Codes],
        load_numbers: Callable[[], Numbers],
        weights: NDArray[np.uint8] | None = None,
        fine: Callable[[], MemoryRows] | None = None,
    ) -> None:
        self._schema, self._weights, self._fine = schema, weights, fine
        self._merged: MemoryRows | None = None
        self._load_codes = load_codes
        self._load_numbers = load_numbers
        self._numbers: Numbers | Codes | None = None
        self._kept: deque[Block] = deque(maxlen=KEPT)
        self._lately = list(schema.names)
        self._answers: dict[tuple[str, ...], Integers] = {}
        self._answered = 0  # cells of these

    @cached_property
    def _codes(self) -> Codes:
        return self._load_codes()

    @cached_property
    def _packed(self) -> Packed:
        sizes = {column.name: column.cardinality for column in self._schema.columns}
        return Packed(self._codes, sizes, self._weights)

    @property
    def _length(self) -> int:
        return len(self._codes[self._schema.columns[0].name])

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
            return self._fine().sampled(keep).cut(self._schema)

        def codes() -> Codes:
            return sampled(self._codes, keep)

        return MemoryRows(self._schema, codes, no_numbers)

    def cut(self, schema: Schema) -> MemoryRows:
        """The same rows in merged bins; those that were asked for last are kept."""
        if self._fine is not None:
            return self._fine().cut(schema)
        rows = self._merged  # another thread may put a new one in its place
        if rows is None or rows._schema != schema:
            self._merged = rows = self._of_fine(schema, lambda: self)
        return rows

    def merged_from(self, fine: Callable[[], MemoryRows]) -> MemoryRows:
        """The same rows, but their codes are merged from finer ones, made when first asked for."""
        return self._of_fine(self._schema, fine)

    def _of_fine(self, schema: Schema, fine: Callable[[], MemoryRows]) -> MemoryRows:
        def codes() -> Codes:
            rows = fine()
            return merged(rows._codes, merge_of(rows._schema, schema))

        return MemoryRows(schema, codes, self._load_numbers, fine=fine)

    def weighed(self, columns: tuple[str, ...], weight: Weight) -> MemoryRows:
        parts = [
            weight({name: self._codes[name][start : start + BLOCK_ROWS] for name in columns})
            for start in range(0, max(self._length, 1), BLOCK_ROWS)
        ]
        return MemoryRows(self._schema, lambda: self._codes, no_numbers, np.concatenate(parts))

    def counts(self, columns: tuple[str, ...]) -> Integers:
        """Contingency table with one axis per column, in the order given."""
        if not columns or len(set(columns)) < len(columns):
            return self._count(columns)
        block = next((kept for kept in self._kept if kept.keys() >= set(columns)), None)
        if block is None:
            block = Block(names := self._grown(columns), self._count(names))
            self._kept.appendleft(block)
        return block.margin(columns)

    def _grown(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        self._lately = [*columns, *(name for name in self._lately if name not in columns)]
        return grown(columns, self._lately, self._schema)

    def _count(self, columns: tuple[str, ...]) -> Integers:
        shape = tuple(self._schema.column(name).cardinality for name in columns)
        weights = self._weights
        if not columns:
            rows = self._length if weights is None else int(weights.sum(dtype=np.int64))
            return np.array(rows, dtype=np.int64)
        total = np.zeros(prod(shape), dtype=np.int64)
        for start in range(0, self._length, BLOCK_ROWS):
            part = {name: self._codes[name][start : start + BLOCK_ROWS] for name in columns}
            weight = None if weights is None else weights[start : start + BLOCK_ROWS]
            add_counts(total, part, columns, shape, weight)
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
        """Many tables; those of a part of another set's columns are sums over its table."""
        home = homes(sets)
        answers = self._in_blocks([s for s in sets if s not in home])
        for columns in sorted(home, key=len, reverse=True):
            larger = home[columns]
            answers[columns] = margin(answers[larger], [larger.index(name) for name in columns])
        return answers

    def _in_blocks(self, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Integers]:
        """Many tables, as few large blocks."""
        plain = {s for s in sets if not s or len(set(s)) < len(s)}
        pairs = [s for s in sets if len(s) == 2 and all(map(self._packed.narrow, s))]
        answers = self._packed.pairs([s for s in pairs if s not in plain])
        answers |= self._packed.small([s for s in sets if s not in plain and s not in answers])
        for columns in plain:
            answers[columns] = self.counts(columns)
        wanted = [s for s in sets if s not in answers]
        if not wanted:
            return answers
        names = self._schema.names
        sizes = np.log2([column.cardinality for column in self._schema.columns])
        where = {name: i for i, name in enumerate(names)}
        places = [[where[name] for name in columns] for columns in wanted]
        for block, covered in plan(places, sizes):
            table = self._count(tuple(names[i] for i in block))
            for i in covered:
                answers[wanted[i]] = margin(table, [block.index(j) for j in places[i]])
        return answers

    def fans(self, asked: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> list[Integers]:
        """The tables of each base with each of some other columns, side by side."""
        return self._packed.fans(asked)

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        """Blocks (rows x columns) of clamped numbers; a missing one has its declared value,
        or the middle of its bounds where missing is a level of its own. A column without
        numbers gives its codes."""
        if self._numbers is None:  # of a table without any numbers, there are the codes
            self._numbers = self._load_numbers() or self._codes
        yield from stacked(self._numbers, columns)

    def total(self, columns: tuple[str, ...], size: int, each: Add) -> Integers:
        """What ``each`` adds up over blocks of numbers."""
        total = np.zeros(size, dtype=np.int64)
        for block in self.numbers(columns):
            each(total, block)
        return total


def no_numbers() -> Numbers:
    raise SchemaError("a secret sample has no numbers, only tables; leave ⟦subsample⟧ away")


def grown(columns: tuple[str, ...], lately: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """These columns and those asked for lately, as many as fit: counting a larger block takes
    little longer, and the next question is likely to be about some of them."""
    found, cells = list(columns), prod(schema.column(name).cardinality for name in columns)
    for name in lately:
        more = cells * schema.column(name).cardinality
        if name not in columns and more <= BLOCK_CELLS:
            found.append(name)
            cells = more
    return tuple(found)


def homes(sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Of each set that has a part of another one's columns, in their order and each once, such a
    one."""
    widest = max(map(len, sets), default=0)
    smaller = {s for s in sets if 0 < len(s) < widest and len(set(s)) == len(s)}
    orders = {len(s) for s in smaller}
    return {
        part: s
        for s in sets
        for order in orders
        if order < len(s)
        for part in combinations(s, order)
        if part in smaller
    }


def margin(table: Integers, axes: list[int]) -> Integers:
    """The table of some axes of a larger table, in the order given."""
    return np.array(np.einsum(table, range(table.ndim), axes), dtype=np.int64, order="C")


def plan(sets: Sequence[Sequence[int]], sizes: Floats) -> Iterator[tuple[list[int], list[int]]]:
    """Blocks of columns, each with the sets that it covers; every set is covered once.

    ``sizes`` are the log2 cardinalities of the columns. Where most sets of so many columns are
    asked for, blocks come from ``covering``; else from a search.
    """
    width = max(map(len, sets), default=0)
    blocks = covering(sizes, width, len(sets) // FEW)
    if blocks is None:
        yield from _search(sets, sizes, width)
        return
    groups, unions = blocks
    group = {column: at for at, members in enumerate(groups) for column in members}
    covered: dict[tuple[int, ...], list[int]] = {union: [] for union in unions}
    for place, members in enumerate(sets):
        own = sorted({group[column] for column in members})
        spare = (at for at in range(len(groups)) if at not in own)
        own += [next(spare) for _ in range(min(width, len(groups)) - len(own))]
        covered[tuple(sorted(own))].append(place)
    for union, places in covered.items():
        if places:
            yield sorted(column for at in union for column in groups[at]), places


Groups = tuple[list[list[int]], list[tuple[int, ...]]]


def covering(sizes: Floats, width: int, most: int) -> Groups | None:
    """Groups of columns so small that ``width`` of them fit one block, and all unions of so many:
    together they cover every set of so many columns. None if there are more than ``most`` unions,
    or some union does not fit."""
    room = (np.log2(BLOCK_CELLS) + 1e-9) / max(width, 1)
    groups: list[list[int]] = []
    filled = np.inf
    for column in np.argsort(sizes, kind="stable").tolist():
        if filled + sizes[column] > room:
            groups.append([])
            filled = 0.0
        groups[-1].append(column)
        filled += float(sizes[column])
    if not width or filled > room or comb(len(groups), min(width, len(groups))) > most:
        return None
    return groups, list(combinations(range(len(groups)), min(width, len(groups))))


def _search(
    sets: Sequence[Sequence[int]], sizes: Floats, width: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Greedy: a block starts with the first waiting set and grows by the set that enlarges it
    least, until no more fits into ``BLOCK_CELLS``."""
    nothing = len(sizes)  # fills up the shorter sets; it belongs to every block and weighs nothing
    weights = np.append(sizes, 0.0)
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
