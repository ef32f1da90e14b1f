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
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.errors import DataError
from privet.privacy.engines import plain
from privet.privacy.engines.cells import Coded
from privet.privacy.engines.database import NUMBERS, connection
from privet.privacy.engines.meaning import SPACES, fill, missing_code, spellings
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import Source
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.engines.work import BLOCK_ROWS, Work, joined, sampled
from privet.schema.model import Column, Schema

Arrays = dict[str, NDArray[Any]]

UNREADABLE = (
    "the data could not be read to its end; check that the file is still there and complete, "
    "and that there is enough memory. The charge for this answer stays"
)
CHANGED = (
    "the data were changed while they were read, so that answers about them do not fit together; "
    "read a copy that nobody writes to. The charge for this answer stays"
)
LARGE_TABLE = 1 << 28  # cells by the declared number of rows, above which none are kept
FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Encodes the columns of a schema that stand at known positions of a source. ``constant`` are
    columns that are not in it: each with the code that every row has."""

    schema: Schema
    positions: Mapping[str, int]
    constant: Mapping[str, int] = field(default_factory=dict)

    def rows(self, source: Source) -> MemoryRows | StreamedRows:
        """Every row, read when first asked for, and kept unless the table is a large one."""
        elsewhere = source.parts(self)
        if elsewhere is not None or self._is_large(source):
            return StreamedRows(self.schema, elsewhere or LocalParts(self, source))
        names = self.schema.names
        return MemoryRows(
            self.schema,
            lambda: joined(self.blocks(source, names, numbers=False), names),
            lambda: self._numbers(source),
        )

    def _is_large(self, source: Source) -> bool:
        cells = (self.schema.rows or 0) * len(self.schema.columns)
        if source.attach() is not None and find_spec("pyarrow") is None:
            return False  # there is nothing to hand over parts with
        return source.is_large() or cells > LARGE_TABLE

    def _numbers(self, source: Source) -> Arrays:
        if all(self.schema.column(name).bounds is None for name in self.positions):
            return {}
        return joined(self.blocks(source, self.schema.names, numbers=True), self.schema.names)

    def blocks(
        self, source: Source, wanted: tuple[str, ...], *, numbers: bool, stream: bool = False
    ) -> Iterator[Arrays]:
        """The codes or the numbers of some columns, in parts; all at once from files unless they
        are to ``stream``. What fails here is the machine or the file, not a cell; and since a
        message might quote one all the same, there is one constant text."""
        columns = self._needed(wanted)
        try:
            with ExitStack() as stack:
                item = source.attach()
                if item is not None:
                    con = stack.enter_context(connection())
                    for part in self._select(con, item, columns, numbers, stream):
                        yield self._filled(part, wanted)
                    return
                con = None
                for block in source.blocks([self.positions[column.name] for column in columns]):
                    cells = [block[f"c{self.positions[column.name]}"] for column in columns]
                    if plain.is_plain(columns, cells):
                        part = (plain.reals if numbers else plain.codes)(columns, cells)
                    else:
                        con = con or stack.enter_context(connection())
                        con.register("block", {name: spread(each) for name, each in block.items()})
                        (part,) = self._select(con, "block", columns, numbers, stream=False)
                    yield self._filled(part, wanted)
        except Exception:
            raise DataError(UNREADABLE) from None

    def _needed(self, wanted: tuple[str, ...]) -> tuple[Column, ...]:
        """The columns that must be read: those that are wanted, and those that can drop a row."""
        there = [column for column in self.schema.columns if column.name in self.positions]
        found = [column for column in there if column.name in wanted or column.missing == "drop"]
        return tuple(found or there[:1])  # one of them, to know the number of rows

    def _filled(self, read: Arrays, wanted: tuple[str, ...]) -> Arrays:
        length = len(next(iter(read.values())))
        return {
            name: read[name] if name in read else np.full(length, self.constant[name], np.uint16)
            for name in wanted or read
        }

    def _select(
        self, con: Any, item: str, columns: tuple[Column, ...], numbers: bool, stream: bool
    ) -> Iterator[Arrays]:
        names = [f"c{self.positions[column.name]}" for column in columns]
        kinds = con.execute(f"DESCRIBE SELECT {', '.join(names)} FROM {item}").fetchall()
        cells = [
            f"{cell_sql(con, i, column, name, str(kind[1]))} AS v{i}"
            for i, (column, name, kind) in enumerate(zip(columns, names, kinds, strict=True))
        ]
        kept = [f"v{i} IS NOT NULL" for i, c in enumerate(columns) if c.missing == "drop"]
        each = _real_sql if numbers else _code_sql
        picks = [f"{each(f'v{i}', column)} AS k{i}" for i, column in enumerate(columns)]
        query = (
            f"SELECT {', '.join(picks)} FROM (SELECT {', '.join(cells)} FROM {item}) "
            f"WHERE {' AND '.join(kept) or 'true'}"
        )
        wanted = [column.name for column in columns]
        if not stream:
            arrays = con.execute(query).fetchnumpy()
            yield dict(zip(wanted, map(np.asarray, arrays.values()), strict=True))
            return
        for batch in con.sql(query).to_arrow_reader(BLOCK_ROWS):
            yield {name: batch.column(i).to_numpy() for i, name in enumerate(wanted)}


@dataclass(frozen=True)
class LocalParts:
    """A table that this machine reads part by part, again for each pass."""

    encoder: Encoder
    source: Source
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
        for part in self.encoder.blocks(self.source, columns, numbers=numbers, stream=True):
            yield part if keep is None else sampled(part, keep)
        if self.source.stamp() != self.stamp:  # passes over two tables fit together no more
            raise DataError(CHANGED)


def spread(cells: NDArray[Any] | Coded) -> NDArray[Any]:
    return cells.spread() if isinstance(cells, Coded) else cells


def cell_sql(con: Any, i: int, column: Column, name: str, kind: str) -> str:
    """A parsed cell as SQL: its number, or the place of its spelling, or NULL for missing."""
    plain = kind.split("(")[0]
    if column.bounds is not None:
        number = f"TRY_CAST({name} AS DOUBLE)" if plain in NUMBERS else _parsed(name)
        return f"nullif({number}, CAST('NaN' AS DOUBLE))"
    if plain in FRACTIONS:
        name = f"TRY_CAST({name} AS DOUBLE)"  # so that 1.00 is written as 1.0
    text = f"TRY_CAST({name} AS VARCHAR)"
    levels = ", ".join(map(_quoted, spellings(column.levels)))
    con.execute(f"CREATE OR REPLACE TYPE level{i} AS ENUM ({levels})")
    # trimming costs more than matching, so only what does not match is trimmed
    trimmed = f"trim({text}, {_quoted(SPACES)})"
    return f"enum_code(coalesce(TRY_CAST({text} AS level{i}), TRY_CAST({trimmed} AS level{i})))"


def _code_sql(cell: str, column: Column) -> str:
    """The code of a column as SQL over its parsed cell."""
    wide = "UTINYINT" if column.cardinality <= 256 else "USMALLINT"
    return f"CAST(coalesce({_code(cell, column)}, {missing_code(column)}) AS {wide})"


def _real_sql(cell: str, column: Column) -> str:
    """The clamped number of a column, or its code if it has none."""
    if column.bounds is None:
        return f"CAST({_code_sql(cell, column)} AS DOUBLE)"
    low, high = map(_real, column.bounds)
    clamped = f"least(greatest({cell}, {low}), {high})"
    return f"CASE WHEN {cell} IS NULL THEN {_real(fill(column))} ELSE {clamped} END"


def _code(cell: str, column: Column) -> str:
    if column.bounds is not None:  # cuts lie inside the bounds, so clamping changes no code
        return f"CASE WHEN {cell} IS NOT NULL THEN {_bin(cell, column.cuts, 0)} END"
    codes = list(spellings(column.levels).values())
    plain = len(column.levels)
    if len(codes) == plain:
        return cell
    others = " ".join(f"WHEN {place} THEN {codes[place]}" for place in range(plain, len(codes)))
    return f"CASE WHEN {cell} < {plain} THEN {cell} ELSE CASE {cell} {others} END END"


def _bin(value: str, cuts: tuple[float, ...], first: int) -> str:
    """The number of cuts at or below a value, by halving."""
    if not cuts:
        return str(first)
    half = len(cuts) // 2
    below = _bin(value, cuts[:half], first)
    above = _bin(value, cuts[half + 1 :], first + half + 1)
    return f"CASE WHEN {value} < {_real(cuts[half])} THEN {below} ELSE {above} END"


def _parsed(name: str) -> str:
    text = f"TRY_CAST({name} AS VARCHAR)"
    trimmed = f"trim({text}, {_quoted(SPACES)})"
    truth = f"CASE lower({trimmed}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
    return f"coalesce(TRY_CAST({text} AS DOUBLE), TRY_CAST({trimmed} AS DOUBLE), {truth})"


def _real(value: object) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
