"""Rows that stay where they are: each question that is not answered yet is a pass over all parts.

A pass costs far more than the counting in it, so one that is made anyway counts ahead what is
likely to be asked next. What that is follows from public facts alone, as everything here does:
which columns there are, how many levels they have and what was asked before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, prod

import numpy as np

from privet.arrays import Floats, Integers, Weight
from privet.privacy.engines.memory import Block, MemoryRows, grown, no_numbers, plan
from privet.privacy.engines.merge import MergedParts, merge_of
from privet.privacy.engines.work import Add, Columns, Parts, Sum, Tally, joined, stacked
from privet.schema.model import Schema

Names = tuple[str, ...]

WHOLE_CELLS = 1 << 22  # of a table of all columns that is counted at once
KEPT_CELLS = 1 << 23  # of tables that are kept for later questions: 64 MB
MOST_PAIRS, MOST_OTHERS = 1 << 10, 1 << 8  # blocks that are counted ahead in one pass
MOST_SETS = 1 << 16  # sets that are considered, to bound the planning
WORDS = "\0words"  # where random words stand beside the numbers of rows that are fetched
FETCHED = 1 << 20  # rows beyond the declared ones that are held before some are left out
FEW = 4  # sets that are asked for one by one, so that each may grow


class StreamedRows:
    """The rows of a table in parts. Nothing is kept but tables, and numbers for those few
    questions that need the rows themselves. ``fine`` are the same rows in finer bins, where there
    are any, and their schema: from these others can be merged."""

    def __init__(
        self,
        schema: Schema,
        parts: Parts,
        weighed: Names = (),
        weight: Weight | None = None,
        fine: tuple[Schema, Parts] | None = None,
    ) -> None:
        self._schema, self._parts, self._fine = schema, parts, fine or (schema, parts)
        self._merged: StreamedRows | None = None
        self._weighed, self._weight = weighed, weight
        self._known: dict[frozenset[str], Block] = {}
        self._blocks: list[Block] = []
        self._cells = 0  # of these
        self._lately = list(schema.names)
        self._fetched: tuple[Names, Columns] | None = None

    def __repr__(self) -> str:
        return "StreamedRows(...)"

    def __reduce__(self) -> str:
        raise TypeError("rows stay inside the vault")

    def sampled(self, keep: int) -> MemoryRows:
        """A secret sample, drawn in one pass and kept: another pass would draw another one."""
        schema, parts = self._fine
        names = schema.names
        rows = MemoryRows(schema, lambda: joined(parts.read(names, False, keep), names), no_numbers)
        return rows if schema == self._schema else rows.cut(self._schema)

    def cut(self, schema: Schema) -> StreamedRows:
        """The same rows in merged bins, which are merged where the row is; what was counted of
        those that were asked for last is kept. They do not know these rows: in a circle neither
        would go before Python looks for circles, nor what they hold of a server."""
        rows = self._merged  # another thread may put a new one in its place
        if rows is None or rows._schema != schema:
            old, fine = self._fine
            parts = MergedParts(fine, merge_of(old, schema))
            self._merged = rows = StreamedRows(schema, parts, fine=self._fine)
        return rows

    def weighed(self, columns: Names, weight: Weight) -> StreamedRows:
        """The same rows, each with its weight, which is found anew where the row is."""
        return StreamedRows(self._schema, self._parts, columns, weight)

    def counts(self, columns: Names) -> Integers:
        """Contingency table with one axis per column, in the order given."""
        return self.table_batch([columns])[0]

    def table_batch(self, sets: Sequence[Names]) -> list[Integers]:
        """The table of each set; one pass at most."""
        wanted = [frozenset(members) for members in sets]
        lacking = [each for each in dict.fromkeys(wanted) if self._find(each) is None]
        if lacking:
            blocks = self._ahead(lacking)
            if self._cells + self._size(blocks) > KEPT_CELLS and self._blocks:
                self._known, self._blocks, self._cells = {}, [], 0
                blocks = self._ahead(list(dict.fromkeys(wanted)))
            self._count(blocks)
        return [self._table(members) for members in sets]

    def fans(self, asked: Sequence[tuple[Names, Names]]) -> list[Integers]:
        """The tables of each base with each of some other columns, side by side; one pass."""
        sets = [(*base, name) for base, others in asked for name in others]
        tables = iter([table.reshape(-1, table.shape[-1]) for table in self.table_batch(sets)])
        return [np.concatenate([next(tables) for _ in others], axis=1) for _, others in asked]

    def total(self, columns: Names, size: int, each: Add) -> Integers:
        """What ``each`` adds up over blocks of numbers; one pass."""
        return self._parts.fold(Sum(columns, size, each))[0]

    def numbers(self, columns: Names) -> Iterator[Floats]:
        """The numbers themselves, fetched once for as long as the same are asked for."""
        if self._fetched is None or self._fetched[0] != columns:
            self._fetched = columns, self._fetch(columns)
        yield from stacked(self._fetched[1], columns)

    def _fetch(self, columns: Names) -> Columns:
        """No more rows than are declared, if a number is: what is over is left out at random, so
        that it does not take memory either."""
        most, parts = self._schema.rows, self._parts.read(columns, True)
        if most is None:
            return joined(parts, columns)
        held: list[Columns] = []
        rows = 0
        for part in parts:
            size = len(part[columns[0]])
            held.append({**part, WORDS: np.frombuffer(os.urandom(8 * size), dtype=np.uint64)})
            rows += size
            if rows > 2 * most + FETCHED:
                held, rows = [_fewer(held, most, columns)], most
        return _fewer(held, most, columns)

    def _find(self, members: frozenset[str]) -> Block | None:
        """A table that was counted, and of which that of these columns is a margin."""
        if members not in self._known:
            found = next((block for block in self._blocks if block.keys() >= members), None)
            if found is None:
                return None
            self._known[members] = found
        return self._known[members]

    def _table(self, columns: Names) -> Integers:
        """With a column that is named twice, all counts lie where its codes agree."""
        block = self._find(frozenset(columns))
        assert block is not None
        once = tuple(dict.fromkeys(columns))
        table = block.margin(once)
        if len(once) == len(columns):
            return table
        out = np.zeros(self._shape(columns), dtype=np.int64)
        places = np.indices(table.shape)
        out[tuple(places[once.index(name)] for name in columns)] = table
        return out

    def _ahead(self, asked: list[frozenset[str]]) -> list[Names]:
        """What a pass counts: what is lacking, and what else is worth it."""
        names = self._schema.names
        lacking = [tuple(name for name in names if name in members) for members in asked]
        if self._weight is not None:  # these rows answer one question
            return self._plan([*lacking, names[:1]])
        if not self._blocks and prod(self._shape(names)) <= WHOLE_CELLS:
            return [names]
        order = max(len(members) for members in lacking)
        order = max(order, min(2, len(names)))
        most = MOST_PAIRS if order <= 2 else MOST_OTHERS
        if comb(len(names), order) <= MOST_SETS:
            blocks = self._plan([*lacking, *combinations(names, order)])
            if len(blocks) <= most and self._size(blocks) <= KEPT_CELLS:
                return blocks
        if len(lacking) > FEW:
            return self._plan(lacking)
        return [self._grown(members) for members in lacking]

    def _plan(self, sets: list[Names]) -> list[Names]:
        """Few large blocks that hold these sets."""
        names = self._schema.names
        where = {name: i for i, name in enumerate(names)}
        sizes = np.log2(self._shape(names))
        places = [[where[name] for name in members] for members in dict.fromkeys(sets) if members]
        return [tuple(names[i] for i in block) for block, _ in plan(places, sizes)]

    def _grown(self, columns: Names) -> Names:
        self._lately = [*columns, *(name for name in self._lately if name not in columns)]
        return grown(columns, self._lately, self._schema)

    def _count(self, blocks: list[Names]) -> None:
        shapes = tuple(map(self._shape, blocks))
        totals = self._parts.fold(Tally(tuple(blocks), shapes, self._weighed, self._weight))
        self._cells += self._size(blocks)
        self._blocks = [
            *(Block(*each) for each in zip(blocks, _shaped(totals, shapes), strict=True)),
            *self._blocks,
        ]

    def _shape(self, columns: Names) -> tuple[int, ...]:
        return tuple(self._schema.column(name).cardinality for name in columns)

    def _size(self, blocks: list[Names]) -> int:
        return sum(prod(self._shape(block)) for block in blocks)


def _fewer(held: list[Columns], most: int, columns: Names) -> Columns:
    """The rows with the smallest random words, in the order in which they came."""
    whole = joined(held, (*columns, WORDS))
    first = np.sort(np.argsort(whole[WORDS], kind="stable")[:most])
    return {name: column[first] for name, column in whole.items()}


def _shaped(totals: list[Integers], shapes: Sequence[tuple[int, ...]]) -> Iterator[Integers]:
    for total, shape in zip(totals, shapes, strict=True):
        yield total.reshape(shape)
