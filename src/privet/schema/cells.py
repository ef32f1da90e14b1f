"""The cells of a table as texts, for a draft alone: what each column holds, and what repeats."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.arrays import Indices
from privet.errors import DataError, expect
from privet.files.bar import without_bar
from privet.files.delimited import records
from privet.schema.frames import header_of, is_path, texts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST = 32  # distinct texts up to which a draft lists them all: what tables serve
FIRST, MOSTLY = 2_000, 0.8  # rows that are looked at first, and the share that shows a fact
MISSING = ("", "na", "nan", "null", "?", "n/a", "#n/a", "<na>", ".")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the draft saw of a column."""

    values: tuple[str, ...]  # some distinct ones
    distinct: int
    rows: int
    missing: int  # cells
    most: int  # rows with the same value
    numeric: bool
    range: tuple[float, float] | None
    median: float | None = None
    ends: tuple[float, ...] = ()  # the two lowest and the two highest numbers
    commas: bool = False  # numbers written with a comma, all of them
    zeros: bool = False  # whole numbers that begin with a zero
    whole: bool = False  # no number has a fraction


class Cells:
    """A table of texts c0, c1, ... in memory, and the names of its columns."""

    def __init__(self, base: DuckDBPyConnection, names: Sequence[str]) -> None:
        self._base, self.names = base, tuple(names)

    def looks(self) -> dict[str, Look]:
        return {name: self._look(i) for i, name in enumerate(self.names)}

    def _look(self, column: int) -> Look:
        """Repeated cells tell nothing new, so that only the distinct ones are looked at."""
        base = self._base
        base.execute(
            "CREATE OR REPLACE TEMP TABLE seen AS SELECT v, times, gone, CASE WHEN gone THEN NULL "
            f"ELSE try_cast(v AS DOUBLE) END AS x FROM (SELECT {_cell(column)} AS v, count(*) AS "
            f"times, {_gone(_cell(column))} AS gone FROM cells GROUP BY ALL)"
        )
        row = base.execute(
            "SELECT coalesce(sum(times) FILTER (gone), 0),"
            " coalesce(bool_and(x IS NOT NULL) FILTER (NOT gone), false),"
            " min(x), max(x), median(x), count(*) FILTER (NOT gone), sum(times),"
            " list_concat(min(x, 2), list_reverse(max(x, 2))),"
            r" coalesce(bool_and(regexp_full_match(v, '[+-]?\d+(,\d+)?')) FILTER (NOT gone)"
            " AND bool_or(contains(v, ',')), false),"
            r" coalesce(bool_and(regexp_full_match(v, '\d+')) FILTER (NOT gone)"
            r" AND bool_or(regexp_full_match(v, '0\d+')), false),"
            " coalesce(bool_and(x = floor(x)), false), coalesce(max(times) FILTER (NOT gone), 0)"
            " FROM seen"
        ).fetchone()
        assert row is not None  # an aggregate always answers
        missing, numeric, low, high, middle, distinct, rows, ends, commas, zeros, whole, most = row
        values = base.execute(f"SELECT v FROM seen WHERE NOT gone LIMIT {MOST + 1}").fetchall()
        return Look(
            values=tuple({str(value).strip() for (value,) in values} - {""}),
            distinct=int(distinct),
            rows=int(rows or 0),
            missing=int(missing),
            most=int(most),
            numeric=bool(numeric),
            range=(low, high) if numeric else None,
            median=middle if numeric else None,
            ends=tuple(ends or ()) if numeric else (),
            commas=bool(commas),
            zeros=bool(zeros),
            whole=bool(numeric and whole),
        )

    def combinations(self, columns: Sequence[int]) -> int:
        """How many rows differ in these columns."""
        cells = ", ".join(map(_cell, columns))
        return self._one(f"SELECT count(*) FROM (SELECT DISTINCT {cells} FROM cells)")

    @cached_property
    def first(self) -> Indices:
        """The cells of the first rows, as codes: rows x columns."""
        cells = ", ".join(f"coalesce({_cell(i)}, '') AS c{i}" for i in range(len(self.names)))
        found = self._base.execute(f"SELECT {cells} FROM cells LIMIT {FIRST}").fetchall()
        columns = zip(*found, strict=True)
        codes = [
            np.unique(np.array(column, dtype=str), return_inverse=True)[1] for column in columns
        ]
        return np.stack(codes, axis=1)

    def mostly_constant(self, column: int) -> list[int]:
        """The other columns that, in the first rows, rarely differ between two rows that are alike
        in ``column``; all, if no two are."""
        rows = self.first[np.argsort(self.first[:, column], kind="stable")]
        alike = rows[1:, column] == rows[:-1, column]
        if not alike.any():
            return [i for i in range(len(self.names)) if i != column]
        share = (rows[1:] == rows[:-1])[alike].mean(axis=0)
        return [i for i in np.flatnonzero(share >= MOSTLY).tolist() if i != column]

    def constant_within(self, column: int, others: Sequence[int]) -> list[float]:
        """Of each other column: in which share of the groups of several rows that ``column``
        makes it is constant."""
        cell = _cell(column)
        same = ", ".join(
            f"coalesce(min({each}) = max({each}), true)::INT AS s{i}"
            for i, each in zip(others, map(_cell, others), strict=True)
        )
        shares = ", ".join(f"coalesce(avg(s{i}), 1)" for i in others)
        found = self._base.execute(
            f"SELECT {shares} FROM (SELECT {same} FROM cells WHERE NOT {_gone(cell)} "
            f"GROUP BY {cell} HAVING count(*) > 1)"
        ).fetchone()
        return [float(share) for share in found or ()]

    def changes(self, column: int, other: int) -> int:
        """How often ``other`` changes from one value of ``column`` to the next, in their order."""
        cell = _cell(column)
        return self._one(
            f"SELECT count(*) FILTER (v IS DISTINCT FROM before) - 1 FROM (SELECT v, lag(v) OVER "
            f"(ORDER BY try_cast(k AS DOUBLE), k) AS before FROM (SELECT {cell} AS k, "
            f"min({_cell(other)}) AS v FROM cells WHERE NOT {_gone(cell)} GROUP BY 1))"
        )

    def agreement(self, column: int) -> float:
        """How likely two rows, drawn at random, have the same cell."""
        row = self._base.execute(
            f"SELECT sum(n * n) / pow(sum(n), 2) FROM (SELECT count(*)::DOUBLE AS n FROM cells "
            f"GROUP BY {_cell(column)})"
        ).fetchone()
        return float(row[0]) if row and row[0] else 1.0

    def _one(self, question: str) -> int:
        row = self._base.execute(question).fetchone()
        return int(row[0]) if row else 0


def _cell(column: int) -> str:
    return f"trim(c{column}, ' \t\r\n')"


def _gone(cell: str) -> str:
    return f"({cell} IS NULL OR lower({cell}) IN {MISSING})"


# -- where the texts come from


@contextmanager
def cells_of(data: Any) -> Iterator[Cells]:
    """Those of a frame, a dict of columns, or a CSV or Parquet file."""
    import duckdb

    if is_path(data):
        with duckdb.connect() as base:
            with readable(Path(data)):
                without_bar(base)
                names = _load(base, Path(data))
            yield Cells(base, names)
        return
    header = header_of(data)
    columns = [texts(data, i) for i in range(len(header))]
    _check_even(header, columns)
    with cells_in(header, [columns]) as made:
        yield made


def _check_even(header: Sequence[str], columns: Sequence[Sequence[str | None]]) -> None:
    if not header:
        raise DataError("the data have no columns; give at least two, with their names")
    for name, column in zip(header, columns, strict=True):
        if len(column) != len(columns[0]):
            raise DataError(
                f"column {name!r} has {len(column)} rows and {header[0]!r} has {len(columns[0])}; "
                "give one cell per row in every column, None for a missing one"
            )


@contextmanager
def cells_in(
    header: Sequence[str], parts: Iterable[Sequence[Sequence[str | None]]]
) -> Iterator[Cells]:
    """Those of a table whose cells come as texts, of each column some rows at a time."""
    import duckdb

    plain = [f"c{i}" for i in range(len(header))]
    with duckdb.connect() as base:
        without_bar(base).execute("SET pandas_analyze_sample = 0")
        base.execute(f"CREATE TABLE cells ({', '.join(f'{c} VARCHAR' for c in plain)})")
        for part in parts:
            columns = (np.array(each, dtype=object) for each in part)
            base.register("part", dict(zip(plain, columns, strict=True)))
            base.execute("INSERT INTO cells SELECT * FROM part")
        yield Cells(base, header)


def header_in(path: Path) -> tuple[str, ...]:
    """The names of the columns of a file."""
    if not _is_parquet(path):
        with readable(path):
            return tuple(_header(path)[0])
    import duckdb

    with readable(path), duckdb.connect() as base:
        return tuple(_parquet(base, path).columns)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file as an error with the fix."""
    import duckdb

    expect(path, Path, "data¦DATA", "give the path of a file", DataError)
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; name a CSV or Parquet file")
    try:
        yield
    except (duckdb.Error, OSError, EOFError, UnicodeError):
        raise DataError(
            f"{str(path)!r} cannot be read as {'Parquet' if _is_parquet(path) else 'CSV'}; "
            f"save it as CSV in UTF-8, or as Parquet"
        ) from None


def _parquet(base: DuckDBPyConnection, path: Path) -> Any:
    return base.read_parquet(_plain(path), hive_partitioning=False)


def _plain(path: Path) -> str:
    return re.sub(r"([*?\[])", r"[\1]", str(path))  # a name is not a pattern


def _load(base: DuckDBPyConnection, path: Path) -> list[str]:
    """Copy the file into a table of texts c0, c1, ...; return the names in its header."""
    if _is_parquet(path):
        source = _parquet(base, path)
        names = list(map(str, source.columns))
        cells = [
            _stored(f'"{n.replace(chr(34), chr(34) * 2)}"', str(t))
            for n, t in zip(names, source.types, strict=True)
        ]
    else:
        names, delimiter = _header(path)
        plain = {f"c{i}": "VARCHAR" for i in range(len(names))}
        source = base.read_csv(
            _plain(path),
            columns=plain,
            header=True,
            delimiter=delimiter,
            quotechar='"',
            escapechar='"',
            auto_detect=False,
            null_padding=True,
            strict_mode=False,
            ignore_errors=True,
            parallel=False,
            hive_partitioning=False,
        )
        cells = list(plain)
    source.project(", ".join(f"{cell} AS c{i}" for i, cell in enumerate(cells))).create("cells")
    return names


def _stored(cell: str, kind: str) -> str:
    """A typed cell as the text that a schema would declare: 1 for a float 1.0."""
    text = f"CAST({cell} AS VARCHAR)"
    return f"regexp_replace({text}, '\\.0$', '')" if kind in ("FLOAT", "DOUBLE") else text


def _header(path: Path) -> tuple[list[str], str]:
    """The names and the delimiter, from the first line alone."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        line = file.readline().rstrip("\r\n")
    if not line.strip():
        raise DataError(f"{str(path)!r} is empty; its first line must name the columns")
    delimiter = max(",\t;|", key=line.count)
    names = [cell.strip() for cell in next(records([line], delimiter))]  # as the vault does
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise DataError(
            f"the header of {str(path)!r} names the column {twice[0]!r} more than once; "
            f"give each column its own name"
        )
    return names, delimiter


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")
