"""Where a table comes from. Opening a source reads its header, which is public, and no row.

How a column is read follows from its type alone, which is public, and never from a cell: if one
odd cell could switch to another reader, it would change how everybody else's cells are spelt.
And no cell can raise an error, because an error is an answer that nobody paid for. So Parquet
is left to DuckDB, for the types on which it cannot stumble; all else becomes arrays of numbers
or of texts here, cell by cell.

The data set is the table *as parsed*, and a record is a parsed row. A CSV file is read with the
delimiter that its header line shows and ``"`` for quotes; a short row lacks its last cells, the
surplus of a long one is ignored, an empty line is no row, and bytes that are no UTF-8 are read
as Latin-1.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from privet.errors import DataError
from privet.files.delimited import records
from privet.privacy.engines.cells import TYPES, Coded, as_array, as_texts
from privet.schema.model import Schema, did_you_mean

Block = dict[str, NDArray[Any] | Coded]

BLOCK_ROWS = 100_000
HEADER_LIMIT = 1 << 24
DELIMITERS = (",", "\t", ";", "|")
SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMBERS = (*SIGNED, *(f"U{kind}" for kind in SIGNED), "FLOAT", "DOUBLE", "DECIMAL")
KINDS = "a CSV or Parquet file, a pandas or polars DataFrame, a pyarrow or Ibis table or a dict"


class Source(Protocol):
    """A table with a header. Column ``i`` of the header is called ``c{i}`` in SQL."""

    @property
    def label(self) -> str: ...

    @property
    def header(self) -> tuple[str, ...]: ...

    def odd_type(self, position: int) -> str | None:
        """The type of a column if it is neither number, truth value nor text."""

    def attach(self) -> str | None:
        """What SQL can select the columns from; None if they come in ``blocks``."""

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]: ...


def open_source(
    data: object, schema: Schema, absent: Collection[str] = ()
) -> tuple[Source, dict[str, int]]:
    """The source of the data, and the position of each column of the schema in its header, but for
    those that are known to be ``absent``."""
    names = tuple(name for name in schema.names if name not in absent)
    source = _source(data, names)
    seen: set[str] = set()
    for name in source.header:
        if name in seen and name in names:  # other names may be cells, without a header
            raise DataError(
                f"{source.label} has two columns named {name!r}; rename or remove one of them"
            )
        seen.add(name)
    positions = {name: i for i, name in enumerate(source.header)}
    for name in names:
        if name not in positions:
            raise DataError(
                f"column {name!r} of schema {schema.name!r} is not in the header of "
                f"{source.label}{did_you_mean(name, source.header)}; "
                f"correct the schema or choose other data"
            )
        if kind := source.odd_type(positions[name]):
            raise DataError(
                f"column {name!r} of {source.label} has the type {kind}, which is neither number, "
                f"truth value nor text; turn it into one of these before"
            )
    return source, {name: positions[name] for name in names}


def connection() -> Any:
    """A DuckDB of our own: in memory, no files on the side, nothing fetched from elsewhere."""
    import duckdb

    con = duckdb.connect(
        config={
            "threads": 2,
            "preserve_insertion_order": False,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "pandas_analyze_sample": 0,  # the type of a column of objects is text, not a guess
        }
    )
    con.execute("SET enable_progress_bar = false")  # it would draw into standard output
    # the statistics of a Parquet file overlook NaN: with them, one row group's cells would
    # decide whether NaN is seen in all the others
    con.execute("SET disabled_optimizers = 'statistics_propagation'")
    return con


def _source(data: object, wanted: tuple[str, ...]) -> Source:
    if isinstance(data, str | Path):
        return _file(Path(data), wanted)
    if isinstance(data, Mapping):
        return _columns(data)
    makers = {c.__module__.split(".")[0] + "." + c.__name__ for c in type(data).__mro__}
    if makers & {"pandas.DataFrame", "polars.DataFrame"}:
        return Frame(data, tuple(str(name) for name in data.columns))  # type: ignore[attr-defined]
    if "pyarrow.Table" in makers:
        return Frame(data, tuple(data.column_names))  # type: ignore[attr-defined]
    if "ibis.Table" in makers:
        return IbisTable(data, tuple(data.columns))  # type: ignore[attr-defined]
    raise DataError(f"cannot read rows from a {type(data).__name__}; give {KINDS} of columns")


def _file(path: Path, wanted: tuple[str, ...]) -> Source:
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a directory; name a CSV or Parquet file in it")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise DataError(
            f"cannot read {str(path)!r} ({error.strerror}); check the path of the data file"
        ) from None
    if not start:
        raise DataError(f"{str(path)!r} is empty; a data file needs at least a header line")
    if start == b"PAR1":
        return _parquet(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        raise DataError(f"{str(path)!r} is not a Parquet file; rename it if it is a CSV file")
    return _csv(path, wanted)


def _parquet(path: Path) -> ParquetFile:
    import duckdb

    try:
        with connection() as con:
            item = f"read_parquet({_quoted(path)}, hive_partitioning=false)"
            found = con.execute(f"DESCRIBE SELECT * FROM {item}").fetchall()
    except duckdb.Error:
        raise DataError(f"{str(path)!r} is not a complete Parquet file; write it again") from None
    return ParquetFile(
        path, tuple(str(row[0]) for row in found), tuple(str(row[1]) for row in found)
    )


def _csv(path: Path, wanted: tuple[str, ...]) -> CsvFile:
    try:
        with _text(path) as file:
            line = file.readline(HEADER_LIMIT).removeprefix("\ufeff")
    except (OSError, EOFError, gzip.BadGzipFile):
        raise DataError(f"{str(path)!r} cannot be read; is it a complete file?") from None
    if "\0" in line:
        raise DataError(f"{str(path)!r} is not a text file; save the table as CSV in UTF-8")
    if not line.strip():
        raise DataError(f"the first line of {str(path)!r} is empty; it must name the columns")
    tab_first = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    order = sorted(DELIMITERS, key=lambda d: d != "\t") if tab_first else DELIMITERS
    headers = [(delimiter, _split(line, delimiter)) for delimiter in order]
    delimiter, header = max(headers, key=lambda pair: len(set(pair[1]) & set(wanted)))
    return CsvFile(path, header, delimiter)


def _split(line: str, delimiter: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in next(records([line], delimiter)))


def _columns(data: Mapping[Any, Any]) -> Frame:
    """A dict of columns, looked at no further than their shapes."""
    columns = {str(name): values for name, values in data.items()}
    for name, values in columns.items():
        if getattr(values, "ndim", 1) != 1:
            raise DataError(f"column {name!r} is not one-dimensional; give one value per row")
    names = list(columns)
    for name in names[1:]:
        if len(columns[name]) != len(columns[names[0]]):
            raise DataError(
                f"columns {names[0]!r} and {name!r} differ in length; give one value per row"
            )
    return Frame(columns, tuple(columns))


@dataclass(frozen=True)
class CsvFile:
    path: Path
    header: tuple[str, ...]
    delimiter: str

    @property
    def label(self) -> str:
        return repr(str(self.path))

    def odd_type(self, position: int) -> str | None:
        return None

    def attach(self) -> str | None:
        return None

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        with _text(self.path) as file:
            file.readline()
            rows = records(file, self.delimiter)
            kept = (row for row in rows if row or len(self.header) == 1)
            while block := list(islice(kept, BLOCK_ROWS)):
                yield {
                    f"c{i}": as_texts([row[i] if i < len(row) else None for row in block])
                    for i in positions
                }


@dataclass(frozen=True)
class ParquetFile:
    path: Path
    header: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def label(self) -> str:
        return repr(str(self.path))

    def odd_type(self, position: int) -> str | None:
        kind = self.types[position]
        return None if kind.split("(")[0] in (*NUMBERS, "BOOLEAN", "VARCHAR", "ENUM") else kind

    def attach(self) -> str | None:
        item = (
            f"read_parquet({_quoted(self.path)}, utf8_validation='replace', "
            "hive_partitioning=false)"
        )
        # by position, because SQL does not tell ``a`` from ``A``
        return f"{item} AS source({', '.join(f'c{i}' for i in range(len(self.header)))})"

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        raise NotImplementedError("a Parquet file is attached")


@dataclass(frozen=True)
class Frame:
    """Columns in memory: a dict, a pandas or polars DataFrame, an Arrow or an Ibis table."""

    data: Any
    header: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"the {type(self.data).__name__}"

    def odd_type(self, position: int) -> str | None:
        column = self._column(position)
        kind = str(getattr(column, "type", None) or getattr(column, "dtype", None) or "object")
        known = kind.lower().startswith(TYPES)
        return None if known else kind.partition("(")[0].partition("[")[0]

    def attach(self) -> str | None:
        return None

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        yield {f"c{i}": as_array(self._column(i)) for i in positions}

    def _column(self, i: int) -> Any:
        if isinstance(self.data, dict):
            return self.data[self.header[i]]
        if hasattr(self.data, "iloc"):
            return self.data.iloc[:, i]
        if hasattr(self.data, "get_column"):
            return self.data.get_column(self.header[i])
        return self.data.column(i)


@dataclass(frozen=True)
class IbisTable:
    data: Any
    header: tuple[str, ...]

    @property
    def label(self) -> str:
        return "the Ibis table"

    def odd_type(self, position: int) -> str | None:
        kind = str(self.data.schema()[self.header[position]])
        return None if kind.strip("!").lower().startswith(TYPES) else kind

    def attach(self) -> str | None:
        return None

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        table = self.data.select(*(self.header[i] for i in positions)).to_pyarrow()
        yield {f"c{i}": as_array(table.column(at)) for at, i in enumerate(positions)}


def _quoted(path: Path) -> str:
    """The path as SQL text, read as it stands: for DuckDB *, ? and [ would be patterns."""
    literal = re.sub(r"([*?\[])", r"[\1]", str(path))
    return "'" + literal.replace("'", "''") + "'"


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _text(path: Path) -> io.TextIOWrapper:
    codecs.register_error("privet-latin-1", _as_latin_1)
    opened: Any = (gzip.open if _is_gzip(path) else open)(path, "rb")
    return io.TextIOWrapper(opened, encoding="utf-8", errors="privet-latin-1", newline="")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end
