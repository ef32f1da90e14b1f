"""A table of a PostgreSQL server: encoded there, counted here.

    postgresql://user@host:port/database?table=people

The server encodes each row by ``CASE`` expressions (``postgres_rules.py``) and hands over codes and
clamped numbers, a fixed number of bytes for each row. All passes of a run see one snapshot. The
password comes from the environment (PGPASSWORD), a password file or a service file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.errors import DataError
from privet.privacy.engines.postgres_rules import (
    READ,
    TEXT,
    cell_sql,
    code_sql,
    identifier,
    packed_sql,
    packs,
    person_sql,
    plain_sql,
    real_sql,
)
from privet.privacy.engines.source import UNREADABLE, Block, Here, in_blocks
from privet.privacy.engines.work import BLOCK_ROWS, Work, sampled
from privet.schema.column import Column
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.privacy.engines.encode import Encoder

SCHEMES = ("postgresql://", "postgres://")
HEADER, TRAILER = 19, 2  # bytes around the rows of a binary copy
MOST_COLUMNS = 800  # of which a select list holds a cell and a code each
# Attributes of a table, with the names of their types; those of an enum are all called so.
ATTRIBUTES = """
    SELECT attname, CASE WHEN typtype = 'e' THEN 'enum' ELSE format_type(atttypid, NULL) END
    FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


@dataclass(frozen=True)
class PostgresTable(Here):
    """``address`` is what the client library takes; it holds no password. ``place`` is the server
    that it has led to, with the database and the table, whoever asks."""

    engine = "PostgreSQL"

    address: str
    table: str
    header: tuple[str, ...]
    types: tuple[str, ...]
    place: str = ""

    @property
    def label(self) -> str:
        return f"the PostgreSQL table {self.table}"

    def type_of(self, position: int) -> str:
        return self.types[position]

    def odd_type(self, position: int) -> str | None:
        kind = self.types[position]
        return None if kind in READ else kind

    def refuse(self, schema: Schema) -> None:
        if len(schema.columns) > MOST_COLUMNS:
            raise DataError(
                f"the schema has {len(schema.columns)} columns, but a PostgreSQL table is read "
                f"with at most {MOST_COLUMNS}; declare fewer, or export it as Parquet"
            )
        kinds = dict(zip(self.header, self.types, strict=True))
        for column in schema.columns:
            if column.bounds is not None and kinds.get(column.name) in TEXT:
                raise DataError(
                    f"column {column.name!r} of {self.label} has the type {kinds[column.name]}, "
                    "but the schema says that it is numeric; make it a number in a table"
                )

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        each = [plain_sql(identifier(self.header[i]), self.types[i]) for i in positions]
        query = f"COPY (SELECT {', '.join(each)} FROM {self.table}) TO STDOUT"
        with _connected(self.address) as con, con.cursor().copy(query) as copy:
            yield from in_blocks(copy.rows(), positions)

    def parts(self, encoder: Encoder) -> PostgresParts:
        return PostgresParts(encoder, self)


@dataclass(frozen=True)
class PostgresParts:
    encoder: Encoder
    source: PostgresTable
    kinds: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        kinds = dict(zip(self.source.header, self.source.types, strict=True))
        object.__setattr__(self, "kinds", kinds)

    @cached_property
    def _connection(self) -> Any:
        """One for the run, in one transaction: every pass sees the same rows."""
        con = _connected(self.source.address)
        con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return con

    def fold(self, work: Work) -> list[Integers]:
        totals = work.start()
        for part in self.read(work.columns, work.numbers):
            work.add(totals, part)
        return totals

    def read(
        self, columns: tuple[str, ...], numbers: bool, keep: int | None = None
    ) -> Iterator[dict[str, NDArray[Any]]]:
        limited = self.encoder.schema.person is not None
        found = self.encoder.needed(self.encoder.schema.names if limited else columns)
        try:
            for part in self._copied(found, numbers):
                filled = self.encoder.filled(part, columns, numbers)
                yield filled if keep is None else sampled(filled, keep)
        except Exception:  # whose message might quote a cell
            raise DataError(UNREADABLE) from None

    def _copied(
        self, columns: tuple[Column, ...], numbers: bool
    ) -> Iterator[dict[str, NDArray[Any]]]:
        """Blocks of rows from one binary copy, whose rows have all the same length."""
        reals = [column for column in columns if numbers and column.bounds is not None]
        coded = [column for column in columns if column not in reals]
        layout = _layout(coded, reals)
        with self._connection.cursor().copy(self.query(columns, numbers)) as copy:
            waiting = bytes(next(iter(copy)))[HEADER:]
            for block in _blocks(chain([waiting], map(bytes, copy)), layout.itemsize):
                yield _decoded(np.frombuffer(block, dtype=layout), coded, reals)

    def query(self, columns: tuple[Column, ...], numbers: bool) -> str:
        """Codes, several in one number, and then numbers, of those rows that count."""
        schema, kinds = self.encoder.schema, self.kinds
        cells = [
            f"{cell_sql(column, identifier(column.name), kinds[column.name])} AS v{i}"
            for i, column in enumerate(columns)
        ]
        kept = [f"v{i} IS NOT NULL" for i, c in enumerate(columns) if c.missing == "drop"]
        code = {i: code_sql(f"v{i}", column) for i, column in enumerate(columns)}
        real = {i: real_sql(f"v{i}", c) for i, c in enumerate(columns) if c.bounds is not None}
        if schema.person is not None:
            whose = person_sql(identifier(schema.person), kinds[schema.person])
            cells.append(f"{whose} AS person")
            kept.append("person IS NOT NULL")
        # OFFSET 0 keeps a cell from being parsed once for each time that it is named
        rows = f"(SELECT {', '.join(cells)} FROM {self.source.table} OFFSET 0) AS cells"
        rows += f" WHERE {' AND '.join(kept)}" if kept else ""
        if schema.person is not None:
            picks = [f"{sql} AS k{i}" for i, sql in code.items()]
            picks += [f"{sql} AS x{i}" for i, sql in real.items()]
            code, real = {i: f"k{i}" for i in code}, {i: f"x{i}" for i in real}
            order = ", ".join([*code.values(), *real.values()])
            place = f"row_number() OVER (PARTITION BY person ORDER BY {order}) AS place"
            named = f"(SELECT person, {', '.join(picks)} FROM {rows}) AS named"
            ranked = f"(SELECT *, {place} FROM {named}) AS ranked"
            rows = f"{ranked} WHERE place <= {schema.rows_per_person}"
        out = real if numbers else {}
        coded = [i for i in range(len(columns)) if i not in out]
        own = [columns[i] for i in coded]
        keys = [
            packed_sql([code[coded[at]] for at in pack], [own[at] for at in pack])
            for pack in packs(own)
        ]
        picked = ", ".join([*keys, *out.values()])
        return f"COPY (SELECT {picked} FROM {rows}) TO STDOUT (FORMAT binary)"


def opened(address: str) -> PostgresTable:
    """The table that an address names; only its header is looked at."""
    parts = urlsplit(address)
    if parts.password is not None:
        raise DataError(
            "the address of a PostgreSQL table holds a password, which would stand in histories "
            "and logs; leave it away and set PGPASSWORD, or use a password file or service file"
        )
    asked = dict(parse_qsl(parts.query))
    table = asked.pop("table", "")
    if not table:
        raise DataError(
            "the address of a PostgreSQL database names no table; write it as "
            "postgresql://host/database?table=people"
        )
    known = f"postgresql://{parts.netloc}{parts.path}?{urlencode(asked)}"
    name = ".".join(identifier(unquote(each)) for each in table.split("."))
    return found(known, name, table)


def found(known: str, name: str, table: str) -> PostgresTable:
    """The table of this quoted name, in the database of an address without a password."""
    con = _connected(known)
    try:
        (encoding,) = con.execute("SHOW server_encoding").fetchone()
        there = con.execute(ATTRIBUTES, (name,)).fetchall()
        where = f"{con.info.host}:{con.info.port}/{con.info.dbname}?table={name}"
    except Exception:
        raise DataError(
            f"there is no table {table!r} in the PostgreSQL database, or it may not be read; check "
            "its name, which is taken exactly as it is written"
        ) from None
    finally:
        con.close()
    if encoding != "UTF8":
        raise DataError(
            f"the PostgreSQL database has the encoding {encoding}; only UTF8 is read: export the "
            "table as Parquet"
        )
    names, types = zip(*there, strict=True) if there else ((), ())
    return PostgresTable(known, name, names, types, where)


def _connected(address: str) -> Any:
    try:
        import psycopg
    except ImportError:
        raise DataError(
            "PostgreSQL tables need psycopg, which is not installed; pip install 'privet[postgres]'"
        ) from None
    with suppress(psycopg.Error):
        con = psycopg.connect(address, autocommit=True, connect_timeout=20)
        con.execute("SET extra_float_digits = 1")
        con.execute("SET jit = off")  # to compile so many expressions takes longer than they do
        return con
    raise DataError(  # without the library's message, which may name more than it should
        "the PostgreSQL server cannot be reached, or refuses this user or password; check address, "
        "user and database, and PGPASSWORD or the password file"
    )


def _layout(coded: list[Column], reals: list[Column]) -> np.dtype[Any]:
    """A row of a binary copy: the number of fields, and each with its length before it."""
    fields: list[Any] = [("fields", ">i2")]
    for i in range(len(packs(coded))):
        fields += [(f"length of key {i}", ">i4"), (f"key {i}", ">i8")]
    for i in range(len(reals)):
        fields += [(f"length of number {i}", ">i4"), (f"number {i}", ">f8")]
    return np.dtype(fields)


def _blocks(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Whole rows, many at a time; the last two bytes say that there are no more."""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length > BLOCK_ROWS * size:
            whole = b"".join(waiting)
            end = (len(whole) - TRAILER) // size * size
            yield whole[:end]
            waiting, length = [whole[end:]], len(whole) - end
    whole = b"".join(waiting)
    yield whole[: len(whole) // size * size]


def _decoded(
    rows: NDArray[Any], coded: list[Column], reals: list[Column]
) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for at, pack in enumerate(packs(coded)):
        key = rows[f"key {at}"].astype(np.int64)
        for column in (coded[i] for i in reversed(pack)):
            key, code = np.divmod(key, column.cardinality)
            found[column.name] = code.astype(np.uint8 if column.cardinality <= 256 else np.uint16)
    for i, column in enumerate(reals):
        found[column.name] = rows[f"number {i}"].astype(np.float64)
    return found
