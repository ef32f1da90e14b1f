"""The local trust model: nobody holds rows, and what arrives was private when it left.

Reports are read from a file or a table, by way of DuckDB, and never held in memory: they are
counted by what they say. A report that does not fit the protocol is left out and counted, and so
is a second one by the same person; a file that mixes protocols is refused.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from math import log2, prod
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import DataError
from privet.evidence.local import ORDERS, order_for, planned_worth
from privet.evidence.local_counts import Heap, LeftOut, Set, largest_set, told
from privet.local.protocol import Protocol
from privet.queries import Release
from privet.schema import did_you_mean

MIXED = 0.01  # share of reports by another protocol above which it is no accident
TOGETHER = 1 << 22  # different reports that are held in memory at a time
COVER_CELLS = 1 << 12  # of a table that is counted in one pass, where everybody reports on all
MEMORY = "1GB"
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
            "UINTEGER", "UBIGINT", "UHUGEINT")  # fmt: skip
WHOLE = "-?[0-9]{1,18}"
# The cells of a line of CSV in which there are quotes.
QUOTED = """regexp_extract_all(line, '(?:^|,)("(?:[^"]|"")*"|[^",]*)', 1)"""


def collect(reports: object, protocol: Protocol) -> Release:
    """What the reports in a CSV or Parquet file (or a DataFrame, an Arrow table or a dict of
    columns) say, as evidence."""
    with _connection() as con:
        source = _attach(con, reports, protocol)
        _judge(con, source, protocol)
        total, ours, good = _one(
            con, "SELECT count(*), count_if(ours), count_if(ours AND good) FROM judged"
        )
        _check_mixed(total, ours, source)
        repeated = _repeated(con, source)
        if good - repeated < 1:
            raise DataError(
                f"none of the {total} reports in {source.label} fits the protocol "
                f"{protocol.name}; are they reports, made by the protocol.json beside them?"
            )
        left_out = LeftOut(
            other_protocol=total - ours, malformed=ours - good, repeated=repeated
        )
        people = good - repeated
        # triples serve separators, for which pairs must be worth enough
        wanted = 3 if order_for(planned_worth(protocol, people), ORDERS) else 2
        largest = largest_set(protocol, wanted)
        if protocol.family == "attributes":
            heaps = _columns(con, protocol, largest)
        elif protocol.family == "grid":
            heaps = _columns(con, protocol, len(protocol.sizes))
        else:
            heaps = _blocks(con, protocol, people)
        return told(protocol, heaps, left_out, largest)


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Reports in SQL: what to select from (with columns c0, c1, … and the number of the report
    as ``nr``), and the names and types of the columns."""

    label: str
    select: str
    header: tuple[str, ...]
    types: tuple[str, ...]


@contextmanager
def _connection() -> Iterator[Any]:
    import duckdb

    with tempfile.TemporaryDirectory(prefix="privet-") as spill, duckdb.connect() as con:
        con.execute(f"SET temp_directory = {_text(spill)}; SET memory_limit = '{MEMORY}'")
        con.execute("SET threads = 2; SET enable_progress_bar = false")
        con.execute("SET autoinstall_known_extensions = false")
        try:
            yield con
        except duckdb.OutOfMemoryException:
            raise DataError(
                "the reports need more disk space for temporary files than there is; make room"
            ) from None


def _attach(con: Any, reports: object, protocol: Protocol) -> _Source:
    file = isinstance(reports, str | Path)
    source = _file(con, Path(str(reports))) if file else _table(con, reports)
    for name in ("protocol", *protocol.report_columns):
        if source.header.count(name) != 1:
            found = "twice" if name in source.header else "not"
            raise DataError(
                f"column {name!r}, which a report by {protocol.name} has, is {found} in "
                f"{source.label}{did_you_mean(name, source.header)}; give the reports that "
                f"`privet randomize` wrote, and the protocol.json beside them"
            )
    return source


def _file(con: Any, path: Path) -> _Source:
    import duckdb

    label = repr(str(path))
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise DataError(f"cannot read {label} ({error.strerror}); check the path") from None
    try:
        if start == b"PAR1":
            read = f"read_parquet({_text(path)}, file_row_number = true, hive_partitioning = false)"
            found = con.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()
            header = tuple(str(row[0]) for row in found[:-1])
            names = ", ".join([*(f"c{i}" for i in range(len(header))), "nr"])
            types = tuple(str(row[1]) for row in found[:-1])
            return _Source(
                label=label, select=f"{read} AS t({names})", header=header, types=types
            )
        con.execute(f"SELECT * FROM {_lines(path)} LIMIT 1")
    except duckdb.Error:
        raise DataError(
            f"{label} is neither a complete Parquet file nor a CSV file; write it again"
        ) from None
    header = _header(path)
    cells = ", ".join(f"trim(cells[{i + 1}], ' \"') AS c{i}" for i in range(len(header)))
    split = f"CASE WHEN contains(line, '\"') THEN {QUOTED} ELSE string_split(line, ',') END"
    lines = f"SELECT {split} AS cells, row_number() OVER () AS nr FROM {_lines(path)}"
    return _Source(
        label=label,
        select=f"(SELECT {cells}, nr FROM ({lines} WHERE line <> ''))",
        header=header,
        types=("VARCHAR",) * len(header),
    )


def _lines(path: Path) -> str:
    """A text file line by line, whatever its bytes: one odd line must not swallow the next."""
    return (
        f"read_csv({_text(path)}, columns = {{'line': 'VARCHAR'}}, header = false, skip = 1, "
        "delim = '\x01', quote = '', escape = '', encoding = 'latin-1', auto_detect = false, "
        "strict_mode = false, ignore_errors = true, null_padding = true)"
    )


def _header(path: Path) -> tuple[str, ...]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return tuple(name.strip() for name in next(csv.reader(file), []))
    except (OSError, csv.Error):
        raise DataError(
            f"{str(path)!r} is neither a Parquet file nor a CSV file; give the reports "
            f"that `privet randomize` wrote"
        ) from None


def _table(con: Any, reports: Any) -> _Source:
    import duckdb

    if isinstance(reports, Mapping):
        reports = {f"{name}": np.asarray(column) for name, column in reports.items()}
    try:
        con.register("reports", reports)
        found = con.execute("DESCRIBE SELECT * FROM reports").fetchall()
    except (duckdb.Error, TypeError):
        raise DataError(
            f"cannot read reports from a {type(reports).__name__}; give a CSV or Parquet file, a "
            f"DataFrame, an Arrow table or a dict of columns"
        ) from None
    header = tuple(str(row[0]) for row in found)
    names = ", ".join(f"c{i}" for i in range(len(header)))
    return _Source(
        label="the table of reports",
        select=f"(SELECT *, row_number() OVER () AS nr FROM reports AS t({names}))",
        header=header,
        types=tuple(str(row[1]) for row in found),
    )


def _judge(con: Any, source: _Source, protocol: Protocol) -> None:
    """The view ``judged``: for every report whether it is by this protocol, whether it fits it,
    who sent it, and what it says."""
    at = {name: i for i, name in enumerate(source.header)}
    whole = {n: _whole(f"c{at[n]}", source.types[at[n]]) for n in protocol.report_columns}
    ours = f"coalesce(trim(CAST(c{at['protocol']} AS VARCHAR)) = {_text(protocol.id)}, false)"
    person = "NULL"
    if "person" in at:
        person = f"nullif(trim(CAST(c{at['person']} AS VARCHAR)), '')"
    said = ", ".join(f"{sql} AS v{i}" for i, sql in enumerate(whole.values()))
    con.execute(
        f"CREATE TEMP VIEW said AS SELECT nr, {ours} AS ours, {person} AS person, {said} "
        f"FROM {source.select}"
    )
    if protocol.family in ("attributes", "grid"):
        fits = " AND ".join(f"v{i} BETWEEN 0 AND {k - 1}" for i, k in enumerate(protocol.sizes))
        good = f"coalesce({fits}, false) AS good"
        con.execute(f"CREATE TEMP VIEW judged AS SELECT *, {good} FROM said")
        return
    _list_blocks(con, protocol)
    key, cell = ("0", "v1") if protocol.family == "cell" else ("v1", "v2")
    same = "v0 = mask" + (" AND v1 = power" if protocol.family == "product" else "")
    right = f"{key} BETWEEN 0 AND last_key AND {cell} BETWEEN 0 AND last_cell"
    con.execute(
        f"CREATE TEMP VIEW judged AS SELECT nr, ours, person, place, {key} AS key, {cell} AS cell, "
        f"coalesce({right}, false) AS good FROM said LEFT JOIN asked ON {same}"
    )


def _list_blocks(con: Any, protocol: Protocol) -> None:
    """The table ``asked``: what people may have been asked, and the largest answers."""
    blocks = protocol.blocks
    product = protocol.family == "product"
    con.register(
        "listed",
        {
            "place": np.arange(len(blocks), dtype=np.int64),
            "mask": np.array([block.mask for block in blocks], dtype=np.int64),
            "power": np.array([block.power for block in blocks], dtype=np.int64),
            "last_key": np.array(
                [b.power if product else protocol.keys(b) - 1 for b in blocks], dtype=np.int64
            ),
            "last_cell": np.array(
                [protocol.channel(b).outputs - 1 for b in blocks], dtype=np.int64
            ),
        },
    )
    con.execute("CREATE TEMP TABLE asked AS SELECT * FROM listed")


def _whole(column: str, kind: str) -> str:
    """A column as whole numbers; what is none is NULL."""
    if kind in INTEGERS:
        return f"TRY_CAST({column} AS BIGINT)"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        return f"CASE WHEN {column} = floor({column}) THEN TRY_CAST({column} AS BIGINT) END"
    text = f"trim(CAST({column} AS VARCHAR))"
    return f"CASE WHEN regexp_full_match({text}, '{WHOLE}') THEN TRY_CAST({text} AS BIGINT) END"


def _check_mixed(total: int, ours: int, source: _Source) -> None:
    if total == 0:
        raise DataError(f"there are no reports in {source.label}; collect some first")
    if ours == 0:
        raise DataError(
            f"all {total} reports in {source.label} were made by another protocol; give the "
            f"protocol.json that lay beside them"
        )
    if total - ours > MIXED * total:
        raise DataError(
            f"{total - ours} of the {total} reports in {source.label} were made by another "
            f"protocol; keep the reports of each protocol in a file of their own"
        )


def _repeated(con: Any, source: _Source) -> int:
    """Note who sent more than one report, and count those beyond the first."""
    fine = "FROM judged WHERE ours AND good"
    con.execute("CREATE TEMP TABLE again (who UHUGEINT, first BIGINT, times BIGINT)")
    if "person" in source.header:
        con.execute(
            f"INSERT INTO again SELECT md5_number(person) AS who, min(nr), count(*) {fine} AND "
            f"person IS NOT NULL GROUP BY who HAVING count(*) > 1"
        )
    (times,) = _one(con, "SELECT sum(times - 1) FROM again")
    if times:
        con.execute(
            "CREATE TEMP VIEW kept AS SELECT judged.* FROM judged LEFT JOIN again "
            "ON md5_number(person) = who WHERE ours AND good AND (first IS NULL OR nr = first)"
        )
    else:
        con.execute(f"CREATE TEMP VIEW kept AS SELECT * {fine}")
    return int(times)


def _one(con: Any, query: str) -> tuple[int, ...]:
    return tuple(int(value or 0) for value in con.execute(query).fetchone())


def _blocks(con: Any, protocol: Protocol, people: int) -> Iterator[Heap]:
    """One heap for each block, in their order; some blocks at a time, so that memory is bounded
    however many people there are."""
    weights = np.array([block.weight for block in protocol.blocks], dtype=float)
    upto = np.cumsum(weights) / weights.sum() * people
    slices = np.minimum(upto // TOGETHER, upto[-1] // TOGETHER).astype(int)
    for one in np.unique(slices):
        places = np.flatnonzero(slices == one)
        found = con.execute(
            f"SELECT place, key, cell, count(*) AS people FROM kept WHERE place BETWEEN "
            f"{places[0]} AND {places[-1]} GROUP BY ALL"
        ).fetchnumpy()
        order = np.argsort(found["place"], kind="stable")
        columns = {name: np.asarray(values)[order] for name, values in found.items()}
        ends = np.searchsorted(columns["place"], [*places, places[-1] + 1])
        for place, start, stop in zip(places.tolist(), ends, ends[1:], strict=False):
            yield Heap(
                attributes=protocol.blocks[place].attributes,
                key=columns["key"][start:stop].astype(np.int64),
                cell=columns["cell"][start:stop].astype(np.int64),
                people=columns["people"][start:stop].astype(np.int64),
            )


def _columns(con: Any, protocol: Protocol, largest: int) -> Iterator[Heap]:
    """Heaps of groups of columns in which all sets of up to so many columns lie."""
    for members in cover(protocol.sizes, largest):
        code = f"v{members[0]}"
        for i in members[1:]:
            code = f"({code}) * {protocol.sizes[i]} + v{i}"
        found = con.execute(
            f"SELECT {code} AS cell, count(*) AS people FROM kept GROUP BY cell"
        ).fetchnumpy()
        cells = np.asarray(found["cell"]).astype(np.int64)
        yield Heap(
            attributes=members,
            key=np.zeros_like(cells),
            cell=cells,
            people=np.asarray(found["people"]).astype(np.int64),
        )


def cover(sizes: tuple[int, ...], largest: int) -> Iterator[Set]:
    """Groups of columns with few cells such that each set of ``largest`` columns lies in one.

    Greedy: a group starts with the first set that is in none, and takes in the column with which
    it has the most such sets, as long as its table stays small.
    """
    count = len(sizes)
    largest = min(largest, count)
    waiting = set(combinations(range(count), largest))
    while waiting:
        group = set(min(waiting))
        while True:
            cells = prod(sizes[i] for i in group)
            room = [i for i in range(count) if i not in group and cells * sizes[i] <= COVER_CELLS]
            if not room:
                break
            won = {
                i: sum(
                    tuple(sorted((*some, i))) in waiting
                    for some in combinations(sorted(group), largest - 1)
                ) / log2(sizes[i] + 1)
                for i in room
            }  # fmt: skip
            best = max(room, key=lambda i: (won[i], -i))
            if not won[best]:
                break
            group.add(best)
        waiting -= set(combinations(sorted(group), largest))
        yield tuple(sorted(group))


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
