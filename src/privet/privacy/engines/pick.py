"""What is read of a block of rows: codes, numbers or both, and whose row it is."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.privacy.engines import plain
from privet.privacy.engines.cells import Coded
from privet.privacy.engines.people import PERSON, number_of, texts_of
from privet.privacy.engines.rules import cell_sql, code_sql, person_sql, real_sql
from privet.privacy.engines.work import BLOCK_ROWS
from privet.schema.column import Column

Arrays = dict[str, NDArray[Any]]
Cells = NDArray[Any] | Coded


@dataclass(frozen=True, kw_only=True)
class Pick:
    """With ``portion`` = (i, n), only the rows of the i-th of n portions of the people."""

    columns: tuple[Column, ...]
    kind: Literal["codes", "numbers", "both"]
    person: str | None = None
    portion: tuple[int, int] = (0, 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are read."""
        names = tuple(column.name for column in self.columns)
        return names if self.person is None else (*names, self.person)

    @property
    def keys(self) -> tuple[str, ...]:
        """What comes out: a column's name for its codes or its only numbers."""
        names = tuple(column.name for column in self.columns)
        real = [number_of(column.name) for column in self.columns if column.bounds is not None]
        return (*names, *real, PERSON) if self.kind == "both" else names

    def is_plain(self, cells: Sequence[Cells]) -> bool:
        return plain.is_plain(self.columns, cells[: len(self.columns)])

    def plainly(self, cells: Sequence[Cells]) -> Arrays:
        """Without SQL."""
        own = cells[: len(self.columns)]
        if self.kind != "both":
            return (plain.reals if self.kind == "numbers" else plain.codes)(self.columns, own)
        codes, reals = plain.codes(self.columns, own), plain.reals(self.columns, own)
        people = texts_of(cells[-1])[plain.there(self.columns, own)]
        found = codes | {number_of(name): each for name, each in reals.items()} | {PERSON: people}
        mine = np.array([self._is_mine(text) for text in people.tolist()], dtype=bool)
        return {key: found[key][mine] for key in self.keys}

    def _is_mine(self, text: str | None) -> bool:
        portion, portions = self.portion
        return text is not None and zlib.crc32(text.encode()) % portions == portion

    def select(self, con: Any, item: str, at: Sequence[int], stream: bool) -> Iterator[Arrays]:
        """By SQL, from what is attached; column ``i`` is called ``c{i}`` there."""
        names = [f"c{i}" for i in at]
        kinds = con.execute(f"DESCRIBE SELECT {', '.join(names)} FROM {item}").fetchall()
        cells = [
            f"{cell_sql(con, i, column, name, str(kind[1]))} AS v{i}"
            for i, (column, name, kind) in enumerate(zip(self.columns, names, kinds, strict=False))
        ]
        kept = [f"v{i} IS NOT NULL" for i, c in enumerate(self.columns) if c.missing == "drop"]
        if self.person is not None:
            cells.append(f"{person_sql(names[-1], str(kinds[-1][1]))} AS person")
            kept.append("person IS NOT NULL AND hash(person) % {1} = {0}".format(*self.portion))
        picks = [f"{sql} AS k{i}" for i, sql in enumerate(self._picks())]
        query = (
            f"SELECT {', '.join(picks)} FROM (SELECT {', '.join(cells)} FROM {item}) "
            f"WHERE {' AND '.join(kept) or 'true'}"
        )
        if not stream:
            arrays = con.execute(query).fetchnumpy()
            yield dict(zip(self.keys, map(np.asarray, arrays.values()), strict=True))
            return
        for batch in con.sql(query).to_arrow_reader(BLOCK_ROWS):
            columns = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            yield dict(zip(self.keys, columns, strict=True))

    def _picks(self) -> Iterator[str]:
        each = real_sql if self.kind == "numbers" else code_sql
        for i, column in enumerate(self.columns):
            yield each(f"v{i}", column)
        if self.kind == "both":
            for i, column in enumerate(self.columns):
                if column.bounds is not None:
                    yield real_sql(f"v{i}", column)
            yield "person"


def spread(cells: Cells) -> NDArray[Any]:
    return cells.spread() if isinstance(cells, Coded) else cells
