"""Reports in a file or a table, judged one by one, by way of DuckDB.

A report that does not fit the protocol is left out and counted, and so is a second one by the same
person; a file that mixes protocols is refused. Nothing that stands in a file is an error.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError
from privet.files.bar import without_bar
from privet.files.delimited import records
from privet.local.collector.counts import LeftOut
from privet.local.device.protocol import Protocol
from privet.privacy.engines.layered import METADATA
from privet.privacy.engines.source import source_of
from privet.privacy.engines.texts import text_parts
from privet.schema.column import did_you_mean

MIXED = 0.01  # share of reports by another protocol above which it is no accident
MEMORY = "1GB"
PART = 1 << 24  # bytes of a text file that are read at a time
LONGEST = 1 << 20  # characters of a line
SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
INTEGERS = (*SIGNED, *(f"U{kind}" for kind in SIGNED))
WHOLE = "-?[0-9]{1,18}"
ID = "[0-9a-f]{12}"  # of a protocol; what has none is no report at all
# The cells of a line of CSV in which there are quotes.
QUOTED = """regexp_extract_all(line, '(?:^|,)("(?:[^"]|"")*"|[^",]*)', 1)"""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A connection with the view ``kept`` of the reports that count: codes v0, v1, ... of all
    columns; or place (in the protocol's list of blocks), key and cell."""

    con: Any
    people: int
    left_out: LeftOut


@contextmanager
def judged(reports: object, protocol: Protocol) -> Iterator[Judged]:
    """The reports in a file, a table of an engine, a DataFrame or a dict of columns."""
    with _connection() as con:
        source = _attach(con, reports, protocol)
        _judge(con, source, protocol)
        total, ours, other, good = _one(
            con,
            "SELECT count(*), count_if(ours), count_if(other), count_if(ours AND good) FROM judged",
        )
        _check_mixed(total, ours, other, source)
        repeated, further = _repeated(con, source)
        people = good - repeated - further
        if people < 1:
            raise DataError(
                f"none of the {total} reports in {source.label} fits the protocol "
                f"{protocol.name}; are they reports, made by the protocol.json beside them?"
            )
        left_out = LeftOut(
            other_protocol=other, malformed=total - other - good, repeated=repeated, further=further
        )
        yield Judged(con=con, people=people, left_out=left_out)


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Reports in SQL: what to select from (with columns c0, c1, … and the number of the report
    as ``nr``), and the names and types of the columns. What comes in ``parts`` is there one at a
    time, as the table ``part``."""

    label: str
    select: str
    header: tuple[str, ...]
    types: tuple[str, ...]
    parts: Callable[[], Iterator[Mapping[str, NDArray[Any]]]] | None = None


@contextmanager
def _connection() -> Iterator[Any]:
    import duckdb

    with tempfile.TemporaryDirectory(prefix="privet-") as spill, duckdb.connect() as con:
        con.execute(f"SET temp_directory = {_text(spill)}; SET memory_limit = '{MEMORY}'")
        without_bar(con).execute("SET threads = 2")
        con.execute("SET autoinstall_known_extensions = false")
        con.execute("SET pandas_analyze_sample = 0")  # no type is guessed from some of the cells
        try:
            yield con
        except duckdb.OutOfMemoryException:
            raise DataError(
                "the reports need more disk space for temporary files than there is; make room"
            ) from None
        except (duckdb.Error, OSError):
            raise DataError(
                "the reports could not be read to their end; check that they are complete"
            ) from None


def _attach(con: Any, reports: object, protocol: Protocol) -> _Source:
    if not isinstance(reports, str | Path):
        source = _table(con, reports)
    else:
        source = (_file if _is_plain(Path(reports)) else _elsewhere)(con, reports)
    for name in ("protocol", *protocol.report_columns):
        if source.header.count(name) != 1:
            twice = name in source.header
            hint = "" if twice else did_you_mean(name, source.header)
            raise DataError(
                f"column {name!r}, which a report by {protocol.name} has, is "
                f"{'twice' if twice else 'not'} in {source.label}{hint}; give the reports that "
                f"`privet randomize` wrote, and the protocol.json beside them"
            )
    return source


def _is_plain(path: Path) -> bool:
    """Whether this is one file of CSV or Parquet; a path to nothing would be one, too."""
    if not path.is_file():
        return not path.is_dir() and not re.search(r"[:*?\[]", str(path))
    with path.open("rb") as file:
        return file.read(12)[8:] != b"DUCK" and not path.name.endswith(METADATA)


def _elsewhere(con: Any, reports: object) -> _Source:
    """A table of an engine or of several files, as texts."""
    found = source_of(reports)
    read = [i for i in range(len(found.header)) if found.odd_type(i) is None]

    def parts() -> Iterator[Mapping[str, NDArray[Any]]]:
        nr = 0
        for texts in text_parts(found, read):
            columns = {f"c{i}": np.array(each, dtype=object) for i, each in enumerate(texts)}
            yield {**columns, "nr": nr + np.arange(len(texts[0]))}
            nr += len(texts[0])

    header = tuple(found.header[i] for i in read)
    kinds = ("VARCHAR",) * len(header)
    return _Source(label=found.label, select="part", header=header, types=kinds, parts=parts)


def _file(con: Any, reports: str | Path) -> _Source:
    import duckdb

    path = Path(reports)
    label = repr(str(path))
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise DataError(f"cannot read {label} ({error.strerror}); check the path") from None
    try:
        if start == b"PAR1":
            read = (
                f"read_parquet({_text(escape(str(path)))}, file_row_number = true, "
                "hive_partitioning = false, utf8_validation = 'replace')"
            )
            found = con.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()
            header = tuple(str(row[0]) for row in found[:-1])
            names = ", ".join([*(f"c{i}" for i in range(len(header))), "nr"])
            types = tuple(str(row[1]) for row in found[:-1])
            return _Source(label=label, select=f"{read} AS t({names})", header=header, types=types)
    except duckdb.Error:
        raise DataError(
            f"{label} is neither a complete Parquet file nor a CSV file; write it again"
        ) from None
    header = _header(path)
    cells = ", ".join(f"trim(cells[{i + 1}], ' \"') AS c{i}" for i in range(len(header)))
    split = f"CASE WHEN contains(line, '\"') THEN {QUOTED} ELSE string_split(line, ',') END"
    # too many cells are as bad as too few: no more is taken from the line than its protocol
    whole = f"CASE WHEN len(cells) > {len(header)} THEN cells[:1] ELSE cells END AS cells"
    lines = f"SELECT {whole}, nr FROM (SELECT {split} AS cells, nr FROM part WHERE line <> '')"
    return _Source(
        label=label,
        select=f"(SELECT {cells}, nr FROM ({lines}))",
        header=header,
        types=("VARCHAR",) * len(header),
        parts=lambda: _parts(path),
    )


def _parts(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """The lines of a text file after the first and their numbers, some millions of bytes at a
    time, whatever the bytes: one odd line must not swallow the next. What is too long is cut."""
    nr, rest, more = 0, "", True
    with path.open("rb") as file:
        while more:
            read = file.read(PART).decode("latin-1")
            more = bool(read)
            *lines, rest = (rest + read.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
            if not more:
                lines, rest = [*lines, rest], ""
            rest = rest[:LONGEST]
            numbers = nr + np.arange(len(lines))
            yield {"line": np.array(lines, dtype=object)[numbers > 0], "nr": numbers[numbers > 0]}
            nr += len(lines)


def _header(path: Path) -> tuple[str, ...]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return tuple(name.strip() for name in next(records(file, ","), []))
    except OSError:
        raise DataError(
            f"{str(path)!r} is neither a Parquet file nor a CSV file; give the reports "
            f"that `privet randomize` wrote"
        ) from None


def _table(con: Any, reports: Any) -> _Source:
    import duckdb

    try:
        if isinstance(reports, Mapping) or type(reports).__module__.startswith("pandas"):
            reports = {f"{name}": _plain(column) for name, column in reports.items()}
        con.register("reports", reports)
        found = con.execute("DESCRIBE SELECT * FROM reports").fetchall()
    except (duckdb.Error, TypeError, ValueError):
        if not isinstance(reports, Mapping):
            return _elsewhere(con, reports)
        raise DataError("the columns of the reports are no columns; give each as a list") from None
    header = tuple(str(row[0]) for row in found)
    names = ", ".join(f"c{i}" for i in range(len(header)))
    return _Source(
        label="the table of reports",
        select=f"(SELECT *, row_number() OVER () AS nr FROM reports AS t({names}))",
        header=header,
        types=tuple(str(row[1]) for row in found),
    )


def _plain(column: Any) -> NDArray[Any]:
    """A column of numbers as it is, any other as texts: one odd cell is nobody else's trouble."""
    found = np.asarray(column)
    if found.dtype.kind in "biuf" and found.ndim == 1:
        return found
    texts = (str(cell).encode(errors="replace").decode() for cell in column)
    return np.array(list(texts), dtype=object)


def _judge(con: Any, source: _Source, protocol: Protocol) -> None:
    """The table ``judged``: for every report whether it is by this protocol, whether it fits it,
    who sent it, and what it says. In few bytes, since it is gone through many times."""
    at = {name: i for i, name in enumerate(source.header)}
    whole = {n: _whole(f"c{at[n]}", source.types[at[n]]) for n in protocol.report_columns}
    named = f"trim(CAST(c{at['protocol']} AS VARCHAR))"
    ours = f"coalesce({named} = {_text(protocol.id)}, false)"
    other = f"NOT {ours} AND coalesce(regexp_full_match({named}, '{ID}'), false)"
    said = ", ".join(f"{sql} AS v{i}" for i, sql in enumerate(whole.values()))
    shown = "ours, other, good"
    if "person" in at:
        said += f", nr, md5_number(nullif(trim(CAST(c{at['person']} AS VARCHAR)), '')) AS who"
        shown += ", nr, who"
    table = f"(SELECT {ours} AS ours, {other} AS other, {said} FROM {source.select})"
    if protocol.family in ("attributes", "grid"):
        right = " AND ".join(f"v{i} BETWEEN 0 AND {k - 1}" for i, k in enumerate(protocol.sizes))
        kept = [(f"v{i}", f"v{i}", k) for i, k in enumerate(protocol.sizes)]
    else:
        keys, cells = _list_blocks(con, protocol)
        key, cell = ("0", "v1") if protocol.family == "cell" else ("v1", "v2")
        same = "v0 = mask" + (" AND v1 = power" if protocol.family == "product" else "")
        table += f" LEFT JOIN asked ON {same}"
        right = f"{key} BETWEEN 0 AND last_key AND {cell} BETWEEN 0 AND last_cell"
        kept = [("place", "place", len(protocol.blocks)), (key, "key", keys), (cell, "cell", cells)]
    for sql, name, count in kept:
        shown += f", CASE WHEN good THEN {sql} END::{_smallest(count)} AS {name}"
    query = f"SELECT {shown} FROM (SELECT *, coalesce({right}, false) AS good FROM {table})"
    if source.parts is None:
        con.execute(f"CREATE TEMP TABLE judged AS {query}")
        return
    start = "CREATE TEMP TABLE judged AS"
    for part in source.parts():
        con.register("part", part)
        con.execute(f"{start} {query}")
        start = "INSERT INTO judged"


def _smallest(count: int) -> str:
    """The smallest type that holds 0 .. count - 1."""
    types = {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER"}
    return next((name for bits, name in types.items() if count <= 1 << bits), "BIGINT")


def _list_blocks(con: Any, protocol: Protocol) -> tuple[int, int]:
    """The table ``asked``: what people may have been asked, and the largest answers. How many keys
    and cells there are at most."""
    blocks = protocol.blocks
    product = protocol.family == "product"
    keys = [block.power + 1 if product else protocol.keys(block) for block in blocks]
    cells = [protocol.channel(block).outputs for block in blocks]
    columns = {
        "place": range(len(blocks)),
        "mask": [block.mask for block in blocks],
        "power": [block.power for block in blocks],
        "last_key": [count - 1 for count in keys],
        "last_cell": [count - 1 for count in cells],
    }
    con.register("listed", {name: np.array(c, dtype=np.int64) for name, c in columns.items()})
    con.execute("CREATE TEMP TABLE asked AS SELECT * FROM listed")
    return max(keys), max(cells)


def _whole(column: str, kind: str) -> str:
    """A column as whole numbers; what is none is NULL."""
    if kind in INTEGERS:
        return f"TRY_CAST({column} AS BIGINT)"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        return f"CASE WHEN {column} = floor({column}) THEN TRY_CAST({column} AS BIGINT) END"
    text = f"trim(CAST({column} AS VARCHAR))"
    return f"CASE WHEN regexp_full_match({text}, '{WHOLE}') THEN TRY_CAST({text} AS BIGINT) END"


def _check_mixed(total: int, ours: int, other: int, source: _Source) -> None:
    if total == 0:
        raise DataError(f"there are no reports in {source.label}; collect some first")
    if ours == 0 and other:
        raise DataError(
            f"all {other} reports in {source.label} were made by another protocol; give the "
            f"protocol.json that lay beside them"
        )
    if other > MIXED * (ours + other):
        raise DataError(
            f"{other} of the {ours + other} reports in {source.label} were made by another "
            f"protocol; keep the reports of each protocol in a file of their own"
        )


def _repeated(con: Any, source: _Source) -> tuple[int, int]:
    """The view ``kept``, of the reports that are counted: everybody's first one that fits. How
    many copies of these there were, and how many other reports of the same people."""
    fits = "WHERE ours AND good"
    if "person" not in source.header:
        con.execute(f"CREATE TEMP VIEW kept AS SELECT * FROM judged {fits}")
        return 0, 0
    said = "hash(*COLUMNS(* EXCLUDE (ours, other, good, nr, who))) AS said"
    con.execute(
        "CREATE TEMP TABLE again AS SELECT who AS twice, min(nr) AS first, arg_min(said, nr) AS "
        f"same, count(*) AS times FROM (SELECT who, nr, {said} FROM judged {fits} AND who IS NOT "
        "NULL) GROUP BY who HAVING count(*) > 1"
    )
    (further,) = _one(
        con,
        f"SELECT count(*) FROM (SELECT who, {said} FROM judged {fits}) JOIN again ON who = twice "
        "WHERE said <> same",
    )
    later = f"LEFT JOIN again ON who = twice {fits} AND (first IS NULL OR nr = first)"
    con.execute(f"CREATE TEMP TABLE kept AS SELECT judged.* EXCLUDE (nr, who) FROM judged {later}")
    con.execute("DROP TABLE judged")
    (more,) = _one(con, "SELECT sum(times - 1) FROM again")
    return more - further, further


def _one(con: Any, query: str) -> tuple[int, ...]:
    return tuple(int(value or 0) for value in con.execute(query).fetchone())


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
