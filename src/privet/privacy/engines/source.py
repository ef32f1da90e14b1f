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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from privet.errors import DataError, expect
from privet.files.delimited import records
from privet.privacy.engines.cells import Coded, as_texts
from privet.privacy.engines.people import check_type
from privet.schema.column import did_you_mean
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.privacy.engines.encode import Encoder
    from privet.privacy.engines.work import Parts

UNREADABLE = (
    "the data could not be read to its end; check that the file is still there and complete, "
    "and that there is enough memory. The charge for this answer stays"
)
CHANGED = (
    "the data were changed while they were read, so that answers about them do not fit together; "
    "read a copy that nobody writes to. The charge for this answer stays"
)
Block = dict[str, NDArray[Any] | Coded]

BLOCK_ROWS = 100_000
HEADER_LIMIT = 1 << 24
DELIMITERS = (",", "\t", ";", "|")
# So many bytes of a file are held in memory without thought. How large it is is public, as its name
# is; an error for want of memory would tell something about the rows.
PORTION, PORTION_OF_TEXT = 1 << 26, 1 << 29
UNKNOWN = 8  # portions of a table whose size nobody says
ARROW = b"ARROW1"  # how such files begin
EXCEL = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
KINDS = (
    "a CSV or Parquet file, a DataFrame (pandas, polars, Spark), a table (pyarrow, Ibis, DuckDB, "
    "PostgreSQL, Delta, Iceberg) or a dict"
)


class Source(Protocol):
    """A table with a header. Column ``i`` of the header is called ``c{i}`` in SQL."""

    engine: str  # what holds the table, if it is another program that must be trusted

    @property
    def label(self) -> str: ...

    @property
    def header(self) -> tuple[str, ...]: ...

    def type_of(self, position: int) -> str:
        """The type of a column, in the words of the engine."""

    def odd_type(self, position: int) -> str | None:
        """The type of a column if it is neither number, truth value nor text."""

    def attach(self) -> str | None:
        """What SQL can select the columns from; None if they come in ``blocks``."""

    def prepare(self, con: Any) -> None:
        """Opens for a DuckDB what ``attach`` names."""

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        """All rows, in parts; not if they are attached. No vault asks this of a source that counts
        where it is."""

    def refuse(self, schema: Schema) -> None:
        """Refuses, from public facts, what this source cannot do for a schema."""

    def portions(self) -> int:
        """How many portions of the table, each of which fits in memory, it has; by public facts."""

    def stamp(self) -> object:
        """What tells the table from another one at the same place."""

    def parts(self, encoder: Encoder) -> Parts | None:
        """The table where it is, if it is counted there; None if its rows come here."""


class Here:
    """What holds of a source unless it says otherwise: it is small, and nobody changes it."""

    engine = ""

    def type_of(self, position: int) -> str:
        return "text"

    def attach(self) -> str | None:
        return None

    def prepare(self, con: Any) -> None:
        return

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        raise NotImplementedError("this source is attached")

    def refuse(self, schema: Schema) -> None:
        return

    def portions(self) -> int:
        return 1

    def stamp(self) -> object:
        return None

    def parts(self, encoder: Encoder) -> Parts | None:
        return None


def open_source(
    data: object, schema: Schema, absent: Collection[str] = ()
) -> tuple[Source, dict[str, int]]:
    """The source of the data, and the position of each column of the schema in its header, but for
    those that are known to be ``absent``."""
    names = tuple(name for name in schema.names if name not in absent)
    source = source_of(data, names)
    read = names if schema.person is None else (*names, schema.person)
    seen: set[str] = set()
    for name in source.header:
        if name in seen and name in read:  # other names may be cells, without a header
            raise DataError(
                f"{source.label} has two columns named {name!r}; rename or remove one of them"
            )
        seen.add(name)
    positions = {name: i for i, name in enumerate(source.header)}
    for name in read:
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
    if schema.person is not None:
        check_type(schema.person, source.type_of(positions[schema.person]), source.label)
    source.refuse(schema)
    return source, {name: positions[name] for name in names}


def source_of(data: object, wanted: tuple[str, ...] = ()) -> Source:
    """The table that something is; ``wanted`` helps to read the header of a text file."""
    from privet.privacy.engines import duck, frames, postgres, spark

    if isinstance(data, str) and data.startswith(postgres.SCHEMES):
        return postgres.opened(data)
    if isinstance(data, str) and data.startswith(spark.SCHEME):
        return spark.table(data)
    if isinstance(data, str) and data.startswith(duck.SCHEME):
        return duck.table(data)
    if isinstance(data, str | Path):
        return _file(Path(data), wanted)
    if isinstance(data, Mapping):
        return frames.columns(data)
    makers = {c.__module__.split(".")[0] + "." + c.__name__ for c in type(data).__mro__}
    if found := frames.frame(data, makers):
        return found
    raise DataError(f"cannot read rows from a {type(data).__name__}; give {KINDS} of columns")


def _file(path: Path, wanted: tuple[str, ...]) -> Source:
    from privet.privacy.engines import duck, frames, layered, parquet

    expect(path, Path, "data¦DATA", "give the path of a file", DataError)
    if path.is_dir():
        return layered.folder(path) or parquet.folder(path)
    if not path.exists() and parquet.is_pattern(path):
        return parquet.pattern(path)
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError as error:
        raise DataError(
            f"cannot read {str(path)!r} ({error.strerror}); check the path of the data file"
        ) from None
    if not start:
        raise DataError(f"{str(path)!r} is empty; a data file needs at least a header line")
    if path.name.endswith(layered.METADATA):
        return layered.version(path)
    if start[8:] == b"DUCK":
        return duck.table(str(path))
    if start[:6] == ARROW:
        return frames.arrow_file(path)
    if start[:4] in EXCEL:
        raise DataError(
            f"{str(path)!r} is an Excel workbook, or some other archive; save its sheet as CSV in "
            "UTF-8 (in Excel: Save as, CSV UTF-8) and give that file"
        )
    if start[:4] == b"PAR1":
        return parquet.opened([path], repr(str(path)))
    if path.suffix.lower() in (".parquet", ".pq"):
        raise DataError(f"{str(path)!r} is not a Parquet file; rename it if it is a CSV file")
    return _csv(path, wanted)


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


@dataclass(frozen=True)
class CsvFile(Here):
    path: Path
    header: tuple[str, ...]
    delimiter: str

    @property
    def label(self) -> str:
        return repr(str(self.path))

    def odd_type(self, position: int) -> str | None:
        return None

    def portions(self) -> int:
        packed = self.path.name.lower().endswith(".gz")
        return 1 + size([self.path]) // (PORTION if packed else PORTION_OF_TEXT)

    def stamp(self) -> object:
        return stamps([self.path])

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


def in_blocks(rows: Iterator[Sequence[Any]], positions: Sequence[int]) -> Iterator[Block]:
    """Rows that come one by one, in blocks of columns of texts."""
    while block := list(islice(rows, BLOCK_ROWS)):
        columns = zip(*block, strict=True)
        yield {f"c{i}": as_texts(cells) for i, cells in zip(positions, columns, strict=True)}


def stamps(paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Size and time of each file; a file that has vanished has none."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [(0, 0) if one is None else (one.st_size, one.st_mtime_ns) for one in found]


def size(paths: Sequence[Path]) -> int:
    return sum(size for size, _ in stamps(paths))


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
