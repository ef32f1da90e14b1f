"""Tables of a DuckDB database file, and relations of somebody else's DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.errors import DataError
from privet.privacy.engines.database import connection, odd
from privet.privacy.engines.frames import Stream
from privet.privacy.engines.source import PORTION, Here, size, stamps
from privet.privacy.engines.work import BLOCK_ROWS
from privet.schema.column import did_you_mean

SCHEME = "duckdb:"
TABLES = """
    SELECT table_name FROM information_schema.tables
    WHERE table_catalog = 'base' AND table_schema = 'main' AND table_type = 'BASE TABLE'
"""
# What may give other rows when it is asked again, in the words of a query.
UNSTEADY = re.compile(r"\b(random|setseed|uuid|gen_random_uuid)\s*\(|\b(LIMIT|SAMPLE)\b", re.I)


@dataclass(frozen=True)
class DuckTable(Here):
    """A table of a file, which is opened for reading only."""

    path: Path
    table: str
    header: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"table {self.table!r} of {str(self.path)!r}"

    def type_of(self, position: int) -> str:
        return self.types[position]

    def odd_type(self, position: int) -> str | None:
        return odd(self.types[position])

    def attach(self) -> str | None:
        names = ", ".join(f"c{i}" for i in range(len(self.header)))
        return f"base.main.{_identifier(self.table)} AS source({names})"

    def prepare(self, con: Any) -> None:
        _open(con, self.path)

    def portions(self) -> int:
        return 1 + size([self.path]) // PORTION

    def stamp(self) -> object:
        return stamps([self.path])


def table(address: str) -> DuckTable:
    """The table that ``duckdb:FILE?table=NAME`` names; its only one, if no name is given."""
    import duckdb

    file, _, name = address.removeprefix(SCHEME).partition("?table=")
    path = Path(file)
    if not path.is_file():
        raise DataError(f"there is no DuckDB file {file!r}; check the path of the data file")
    try:
        with connection() as con:
            _open(con, path)
            there = [str(found) for (found,) in con.execute(TABLES).fetchall()]
            if not name and len(there) == 1:
                name = there[0]
            if name not in there:
                raise DataError(
                    f"{file!r} has the tables {', '.join(map(repr, there)) or 'none'}; name one as "
                    f"{SCHEME}{file}?table=NAME{did_you_mean(name, there)}. Views are not read"
                )
            item = f"base.main.{_identifier(name)}"
            found = con.execute(f"DESCRIBE SELECT * FROM {item}").fetchall()
    except duckdb.Error:
        raise DataError(
            f"{file!r} cannot be opened as a DuckDB file; check that it is one, that this version "
            "of DuckDB reads it and that nobody is writing to it"
        ) from None
    header, types = zip(*((str(row[0]), str(row[1])) for row in found), strict=True)
    return DuckTable(path, name, header, types)


def relation(data: Any) -> Stream:
    """A query or table of a connection that is somebody else's; each pass asks it again."""
    if UNSTEADY.search(data.sql_query()):
        raise DataError(
            "the DuckDB relation has a limit, a sample or random numbers in it, so that it may "
            "have other rows each time that it is read; write it to a table first, and give that"
        )
    kinds = tuple(map(str, data.types))

    def read(names: list[str]) -> Iterator[Any]:
        import pyarrow

        for batch in data.project(", ".join(map(_identifier, names))).to_arrow_reader(BLOCK_ROWS):
            yield pyarrow.Table.from_batches([batch]).columns

    return Stream("the DuckDB relation", tuple(data.columns), kinds, read, odd=odd)


def _open(con: Any, path: Path) -> None:
    quoted = str(path).replace("'", "''")
    con.execute(f"ATTACH '{quoted}' AS base (TYPE duckdb, READ_ONLY)")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
