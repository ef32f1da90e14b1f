"""From cells to codes, row by row, in one SQL statement for every kind of source but the plainest
(``plain.py``).

Every step looks at one row only, so one person more changes the encoded table by exactly that
person's rows. No cell can raise an error: what does not fit follows the missing policy.

A categorical cell matches a level by its text without the spaces around it; the numbers 1 and
1.0 are one text, and so are the truth values true, True and TRUE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError
from privet.privacy.engines import plain
from privet.privacy.engines.cells import Coded
from privet.privacy.engines.meaning import SPACES, fill, missing_code, spellings
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import NUMBERS, Source, connection
from privet.schema.cuts import cut, fine_cuts, free_columns
from privet.schema.model import Column, Schema

Arrays = dict[str, NDArray[Any]]
Plainly = Callable[[Sequence[Column], Sequence[plain.Cells]], Arrays]

UNREADABLE = (
    "the data could not be read to its end; check that the file is still there and complete, "
    "and that there is enough memory. The charge for this answer stays"
)
FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Encodes the columns of a schema that stand at known positions of a source. ``constant`` are
    columns that are not in it: each with the code that every row has."""

    schema: Schema
    positions: Mapping[str, int]
    constant: Mapping[str, int] = field(default_factory=dict)

    def rows(self, source: Source) -> MemoryRows:
        """Every row, read when first asked for. Free columns are read in fine bins, so that they
        can be cut anew without being read again."""
        fine = replace(self, schema=cut(self.schema, fine_cuts(free_columns(self.schema))))
        rows = MemoryRows(
            fine.schema,
            lambda: fine._filled(fine._read(source, fine._codes(), plain.codes)),
            lambda: self._filled(self._numbers(source)),
        )
        return rows if fine.schema == self.schema else rows.cut(self.schema)

    @property
    def _columns(self) -> tuple[Column, ...]:
        """Those that are read."""
        return tuple(column for column in self.schema.columns if column.name in self.positions)

    def _filled(self, read: Arrays) -> Arrays:
        if not read or not self.constant:
            return read
        first = next(iter(read.values()))
        return {**read, **{n: np.full(len(first), c, np.uint16) for n, c in self.constant.items()}}

    def _numbers(self, source: Source) -> Arrays:
        wanted = self._reals()
        return self._read(source, wanted, plain.reals) if wanted else {}

    def _codes(self) -> dict[str, str]:
        """The code of each column as SQL over its parsed cell."""
        found = {}
        for i, column in enumerate(self._columns):
            wide = "UTINYINT" if column.cardinality <= 256 else "USMALLINT"
            code = f"coalesce({_code(f'v{i}', column)}, {missing_code(column)})"
            found[column.name] = f"CAST({code} AS {wide})"
        return found

    def _reals(self) -> dict[str, str]:
        """The clamped number of each numeric column, and the code of any other one beside
        these, as SQL over its parsed cell."""
        if all(column.bounds is None for column in self._columns):
            return {}
        found = {name: f"CAST({code} AS DOUBLE)" for name, code in self._codes().items()}
        for i, column in enumerate(self._columns):
            if column.bounds is not None:
                low, high = column.bounds
                clamped = f"least(greatest(v{i}, {_real(low)}), {_real(high)})"
                absent = _real(fill(column))
                found[column.name] = f"CASE WHEN v{i} IS NULL THEN {absent} ELSE {clamped} END"
        return found

    def _read(self, source: Source, wanted: dict[str, str], plainly: Plainly) -> Arrays:
        """All rows. What fails here is the machine or the file, not a cell; and since a message
        might quote one all the same, there is one constant text."""
        try:
            with ExitStack() as stack:
                item = source.attach()
                if item is not None:
                    return self._select(stack.enter_context(connection()), item, wanted)
                con, parts = None, []
                for block in source.blocks(tuple(self.positions.values())):
                    cells = [block[f"c{self.positions[name]}"] for name in self.positions]
                    if plain.is_plain(self._columns, cells):
                        parts.append(plainly(self._columns, cells))
                        continue
                    con = con or stack.enter_context(connection())
                    con.register("block", {name: spread(each) for name, each in block.items()})
                    parts.append(self._select(con, "block", wanted))
            return {name: _joined([part[name] for part in parts]) for name in wanted}
        except Exception:
            raise DataError(UNREADABLE) from None

    def _select(self, con: Any, item: str, wanted: dict[str, str]) -> Arrays:
        columns = self._columns
        names = [f"c{self.positions[column.name]}" for column in columns]
        kinds = con.execute(f"DESCRIBE SELECT {', '.join(names)} FROM {item}").fetchall()
        cells = [
            f"{cell_sql(con, i, column, name, str(kind[1]))} AS v{i}"
            for i, (column, name, kind) in enumerate(zip(columns, names, kinds, strict=True))
        ]
        kept = [f"v{i} IS NOT NULL" for i, c in enumerate(columns) if c.missing == "drop"]
        picks = [f"{sql} AS k{i}" for i, sql in enumerate(wanted.values())]
        arrays = con.execute(
            f"SELECT {', '.join(picks)} FROM (SELECT {', '.join(cells)} FROM {item}) "
            f"WHERE {' AND '.join(kept) or 'true'}"
        ).fetchnumpy()
        return dict(zip(wanted, map(np.asarray, arrays.values()), strict=True))


def spread(cells: NDArray[Any] | Coded) -> NDArray[Any]:
    return cells.spread() if isinstance(cells, Coded) else cells


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)


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
