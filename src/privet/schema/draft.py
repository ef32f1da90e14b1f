"""A first draft of a schema, for a person to correct: the one place that looks without paying.

What it reads from the rows is marked as such, line by line, and stays on the certificate
until somebody confirms that it is public knowledge.
"""

from __future__ import annotations

import gzip
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import DataError, expect
from privet.files.bar import without_bar
from privet.files.delimited import records
from privet.schema.build import default_name
from privet.schema.column import Column
from privet.schema.frames import distinct, header_of, is_path
from privet.schema.model import CHOICE, Schema
from privet.schema.suspects import Look, is_row, no_model, skew
from privet.schema.toml import READ, toml_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FEW = 12  # distinct values up to which a column of numbers is taken for one of levels
MOST = 32  # distinct texts up to which a draft lists them all: what tables serve
MISSING = ("", "na", "nan", "null", "?")


def draft(data: Any, name: str | None = None) -> Schema:
    """A proposal of a schema for a frame (pandas, polars, Arrow), a dict of columns, or a CSV or
    Parquet file, to be corrected by somebody who knows what is public."""
    label = repr(str(data)) if is_path(data) else f"the {type(data).__name__}"
    unnamed = name is None and not is_path(data)
    remarks = ["the name was not given: give the data set one of its own"] if unnamed else []
    return _drafted(_looks(data), default_name(data) if name is None else name, label, remarks)


def draft_texts(
    header: Sequence[str],
    parts: Iterable[Sequence[Sequence[str | None]]],
    *,
    name: str,
    label: str,
    remarks: Sequence[str] = (),
) -> Schema:
    """The same for a table whose cells come as texts, of each column some rows at a time."""
    import duckdb

    plain = [f"c{i}" for i in range(len(header))]
    with duckdb.connect() as base:
        without_bar(base).execute("SET pandas_analyze_sample = 0")
        base.execute(f"CREATE TABLE cells ({', '.join(f'{c} VARCHAR' for c in plain)})")
        for part in parts:
            columns = (np.array(texts, dtype=object) for texts in part)
            base.register("part", dict(zip(plain, columns, strict=True)))
            base.execute("INSERT INTO cells SELECT * FROM part")
        looks = {column: _look(base, i) for i, column in enumerate(header)}
    return _drafted(looks, name, label, remarks)


def _drafted(looks: dict[str, Look], name: str, label: str, remarks: Sequence[str]) -> Schema:
    if is_row(list(looks), looks):
        raise DataError(
            f"the first line of {label} looks like a row and not like names of columns "
            f"({', '.join(list(looks)[:4])}); put a line of names above it"
        )
    columns, unconfirmed, left_out, notes = [], [], [], []
    for column_name, look in looks.items():
        column = no_model(column_name, look) or _propose(column_name, look)
        if isinstance(column, str):
            left_out.append(f"left out: {toml_text(column_name)} ({column}; {READ})")
            continue
        columns.append(column)
        crowded = skew(column_name, look) if column.bounds else None
        notes += [f"{crowded} ({READ})"] if crowded else []
        read = ("kind", "bounds" if column.bounds else "levels", "missing")
        facts = read[: 3 if column.missing == "level" else 2]
        unconfirmed += [f"{column_name}.{fact}" for fact in facts]
    if left_out:
        unconfirmed.append(CHOICE)
    if not columns:
        raise DataError(
            f"{label} has no column that varies over numbers or over at most {MOST} texts; "
            f"write a schema by hand"
        )
    return Schema(
        name=name,
        columns=tuple(columns),
        unconfirmed=tuple(unconfirmed),
        remarks=(*remarks, *notes, *left_out),
    )


def _propose(name: str, look: Look) -> Column | str:
    """A column, or why there is none."""
    if not name.strip():
        return "it has no name"
    if len(look.values) < 2:
        return "it has fewer than two values"
    if look.numeric and len(look.values) > FEW:
        bounds = _round_outward(*look.range) if look.range else None
        if bounds is None:
            return "its numbers have no finite range"
        return Column(name=name, kind="numeric", bounds=bounds)
    if len(look.values) > MOST:
        return f"it has more than {MOST} different texts"
    whole = all(re.fullmatch(r"[+-]?\d{1,18}", value) for value in look.values)
    return Column(
        name=name,
        kind="ordinal" if whole and len(look.values) > 2 else "categorical",
        levels=tuple(sorted(look.values, key=lambda v: (int(v) if whole else 0, v))),
        missing="level" if look.missing else "value",
    )


def _round_outward(low: float, high: float) -> tuple[float, float] | None:
    """The range, widened to multiples of the power of ten next below its width."""
    if not math.isfinite(high - low) or low >= high:
        return None
    width = Decimal(high) - Decimal(low)
    step = Decimal(10) ** width.adjusted()
    first = (Decimal(low) / step).to_integral_value(ROUND_FLOOR) * step
    last = (Decimal(high) / step).to_integral_value(ROUND_CEILING) * step
    bounds = float(first), float(last)
    return bounds if math.isfinite(bounds[1] - bounds[0]) else (low, high)


def _looks(data: Any) -> dict[str, Look]:
    """What each column holds, by the name in the header."""
    if is_path(data):
        return _looks_at_file(Path(data))
    return {name: _look_at_frame(data, i) for i, name in enumerate(header_of(data))}


def _look_at_frame(data: Any, place: int) -> Look:
    texts, missing = distinct(data, place)
    values = [text for text in texts if text.lower() not in MISSING]
    numbers = [_number(value) for value in values]
    known = [number for number in numbers if number is not None]
    numeric = bool(values) and len(known) == len(values)
    return Look(
        values=tuple(values[: MOST + 1]),
        distinct=len(values),
        rows=len(data) if not isinstance(data, Mapping) else len(next(iter(data.values()))),
        missing=missing or len(values) < len(texts),
        numeric=numeric,
        range=(min(known), max(known)) if numeric else None,
        median=median(known) if numeric else None,
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def header_in(path: Path) -> tuple[str, ...]:
    """The names of the columns of a file."""
    if not _is_parquet(path):
        with _readable(path):
            return tuple(_header(path)[0])
    import duckdb

    with _readable(path), duckdb.connect() as base:
        return tuple(_parquet(base, path).columns)


def _looks_at_file(path: Path) -> dict[str, Look]:
    import duckdb

    with _readable(path), duckdb.connect() as base:
        without_bar(base)
        names = _load(base, path)
        return {name: _look(base, i) for i, name in enumerate(names)}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
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


def _look(base: DuckDBPyConnection, column: int) -> Look:
    """Repeated cells tell nothing new, so that only the distinct ones are looked at."""
    base.execute(
        "CREATE OR REPLACE TEMP TABLE seen AS"
        f" SELECT trim(c{column}, ' \t\r\n') AS v, count(*) AS times FROM cells GROUP BY ALL"
    )
    gone = f"(v IS NULL OR lower(v) IN {MISSING})"
    number = "try_cast(v AS DOUBLE)"
    row = base.execute(
        f"SELECT coalesce(bool_or({gone}), false),"
        f" coalesce(bool_and({number} IS NOT NULL) FILTER (NOT {gone}), false),"
        f" min({number}) FILTER (NOT {gone}), max({number}) FILTER (NOT {gone}),"
        f" median({number}) FILTER (NOT {gone}), count(*) FILTER (NOT {gone}), sum(times)"
        " FROM seen"
    ).fetchone()
    assert row is not None  # an aggregate always answers
    missing, numeric, low, high, middle, distinct, rows = row
    values = base.execute(f"SELECT v FROM seen WHERE NOT {gone} LIMIT {MOST + 1}").fetchall()
    return Look(
        values=tuple({str(value).strip() for (value,) in values} - {""}),
        distinct=int(distinct),
        rows=int(rows or 0),
        missing=bool(missing),
        numeric=bool(numeric),
        range=(low, high) if numeric else None,
        median=middle if numeric else None,
    )


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")
