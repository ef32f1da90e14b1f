"""From cells to codes, row by row, in one SQL statement for every kind of source but the plainest
(``plain.py``).

Every step looks at one row only, so one person more changes the encoded table by exactly that
person's rows. No cell can raise an error: what does not fit follows the missing policy.

A categorical cell matches a level by its text without the spaces around it; the numbers 1 and
1.0 are one text, and so are the truth values true, True and TRUE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from typing import cast

import numpy as np

from privet.arrays import Integers
from privet.errors import DataError
from privet.privacy.engines.database import connection
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.people import first_rows, number_of
from privet.privacy.engines.pick import Arrays, Pick, spread
from privet.privacy.engines.source import CHANGED, UNREADABLE, Source
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.engines.work import Work, joined, sampled
from privet.schema.column import Column
from privet.schema.cuts import cut, fine_cuts, free_columns
from privet.schema.model import Schema

MOST_PORTIONS = 4  # that are kept in memory
LARGE_TABLE = 1 << 28  # cells by the declared number of rows, above which none are kept


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Encodes the columns of a schema that stand at known positions of a source. ``constant`` are
    columns that are not in it: each with the code that every row has. Without privacy, free columns
    of a table in memory are cut ``late``: when codes are first asked for."""

    schema: Schema
    positions: Mapping[str, int]
    constant: Mapping[str, int] = field(default_factory=dict)
    late: bool = False

    def rows(self, source: Source) -> MemoryRows | StreamedRows:
        """Every row, read when first asked for, and kept unless the table is a large one. Free
        columns are read in fine bins, so that they can be cut anew without another rule."""
        if not any(column.free for column in self.schema.columns):
            return self._rows(source)
        in_memory = not source.engine and source.attach() is None and source.stamp() is None
        rows = self._rows(source) if self.late and in_memory else None
        if isinstance(rows, MemoryRows):
            return rows.merged_from(cache(lambda: cast(MemoryRows, self._finely(source))))
        fine = self._finely(source)
        return fine.cut(self.schema)

    def _finely(self, source: Source) -> MemoryRows | StreamedRows:
        fine = cut(self.schema, fine_cuts(free_columns(self.schema)))
        return replace(self, schema=fine)._rows(source)

    def _rows(self, source: Source) -> MemoryRows | StreamedRows:
        elsewhere = source.parts(self)
        if elsewhere is not None:
            return StreamedRows(self.schema, elsewhere)
        large = self._is_large(source)
        parts = LocalParts(self, source, large)
        if large:
            return StreamedRows(self.schema, parts)
        names = self.schema.names
        return MemoryRows(
            self.schema,
            lambda: joined(parts.read(names, numbers=False), names),
            lambda: joined(parts.read(names, numbers=True), names) if self._has_numbers else {},
        )

    def _is_large(self, source: Source) -> bool:
        cells = (self.schema.rows or 0) * len(self.schema.columns)
        if source.attach() is not None and find_spec("pyarrow") is None:
            return False  # there is nothing to hand over parts with
        return source.portions() > MOST_PORTIONS or cells > LARGE_TABLE

    @property
    def _has_numbers(self) -> bool:
        return any(self.schema.column(name).bounds is not None for name in self.positions)

    def blocks(
        self, source: Source, wanted: tuple[str, ...], *, numbers: bool, stream: bool
    ) -> Iterator[Arrays]:
        """The codes or the numbers of some columns, in parts; all at once from files unless they
        are to ``stream``."""
        pick = Pick(columns=self.needed(wanted), kind="numbers" if numbers else "codes")
        for part in self._read(source, pick, stream):
            yield self.filled(part, wanted, numbers)

    def people(
        self, source: Source, wanted: tuple[str, ...], *, numbers: bool, stream: bool
    ) -> Iterator[Arrays]:
        """The same of those rows that count: no more of each person than are declared. A portion
        of the people at a time is held in memory."""
        columns, person = self.needed(self.schema.names), self.schema.person
        portions = source.portions()
        for portion in range(portions):
            pick = Pick(columns=columns, kind="both", person=person, portion=(portion, portions))
            part = joined(self._read(source, pick, stream), pick.keys)
            yield self.filled(self.limited(part, columns, numbers), wanted, numbers)

    def limited(self, part: Arrays, columns: tuple[Column, ...], numbers: bool) -> Arrays:
        """Of rows with everything about them, those that count, and what was asked of them."""
        kept = first_rows(part, columns, self.schema.rows_per_person)
        keys = {c.name: number_of(c.name) if numbers and c.bounds else c.name for c in columns}
        return {name: part[key][kept] for name, key in keys.items()}

    def _read(self, source: Source, pick: Pick, stream: bool) -> Iterator[Arrays]:
        """What fails here is the machine or the file, not a cell; and since a message might quote
        one all the same, there is one constant text."""
        try:
            at = [source.header.index(name) for name in pick.names]
            with ExitStack() as stack:
                item = source.attach()
                if item is not None:
                    con = stack.enter_context(connection())
                    source.prepare(con)
                    yield from pick.select(con, item, at, stream)
                    return
                con = None
                for block in source.blocks(at):
                    cells = [block[f"c{i}"] for i in at]
                    if pick.is_plain(cells):
                        yield pick.plainly(cells)
                        continue
                    con = con or stack.enter_context(connection())
                    con.register("block", {name: spread(each) for name, each in block.items()})
                    yield from pick.select(con, "block", at, stream=False)
        except Exception:
            raise DataError(UNREADABLE) from None

    def needed(self, wanted: tuple[str, ...]) -> tuple[Column, ...]:
        """The columns that must be read: those that are wanted, and those that can drop a row."""
        there = [column for column in self.schema.columns if column.name in self.positions]
        found = [column for column in there if column.name in wanted or column.missing == "drop"]
        return tuple(found or there[:1])  # one of them, to know the number of rows

    def filled(self, read: Arrays, wanted: tuple[str, ...], numbers: bool) -> Arrays:
        """With the columns that are not in the table, and numbers on the scale of their column:
        here, for all engines, whose own logarithms might differ in the last digit."""
        length = len(next(iter(read.values())))
        found = {}
        for name in wanted or read:
            cells = read.get(name)
            if cells is None:
                cells = np.full(length, self.constant[name], np.uint16)
            elif numbers and self.schema.column(name).scale == "log":
                cells = np.log(cells)  # clamped to bounds above 0
            found[name] = cells
        return found


@dataclass(frozen=True)
class LocalParts:
    """A table that this machine reads, again for each pass: part by part if it is to ``stream``."""

    encoder: Encoder
    source: Source
    stream: bool = True
    stamp: object = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamp", self.source.stamp())

    def fold(self, work: Work) -> list[Integers]:
        totals = work.start()
        for part in self.read(work.columns, work.numbers):
            work.add(totals, part)
        return totals

    def read(
        self, columns: tuple[str, ...], numbers: bool, keep: int | None = None
    ) -> Iterator[Arrays]:
        encoder = self.encoder
        each = encoder.blocks if encoder.schema.person is None else encoder.people
        for part in each(self.source, columns, numbers=numbers, stream=self.stream):
            yield part if keep is None else sampled(part, keep)
        if self.source.stamp() != self.stamp:  # passes over two tables fit together no more
            raise DataError(CHANGED)
