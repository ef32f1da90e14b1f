"""What the owner of a table may see of it: exact, paid by nobody, and not to be sent."""

from __future__ import annotations

from pathlib import Path

from privet.errors import DataError
from privet.privacy.engines.fit import ColumnFit, Fit, fit
from privet.privacy.engines.layered import METADATA
from privet.privacy.engines.source import Source, source_of
from privet.privacy.engines.texts import first_texts
from privet.schema import draft as drafts

__all__ = ["ColumnFit", "Fit", "draft", "fit"]

MOST_ROWS = 100_000  # of a table that is no single file
SEEN = f"# Only the first {MOST_ROWS:,} rows were looked at; levels and numbers may lie beyond.\n"


def draft(data: object) -> str:
    """A first schema of a table, as TOML text with comments, for its owner to correct."""
    if isinstance(data, str | Path) and Path(data).is_file() and not _holds_tables(Path(data)):
        return drafts.draft(data)
    source = source_of(data)
    read = [i for i in range(len(source.header)) if source.odd_type(i) is None]
    names = [source.header[i] for i in read]
    if not names or len(set(names)) < len(names):
        raise DataError(
            f"{source.label} has no column of numbers, truth values or texts, or two of one name; "
            "rename or convert them"
        )
    parts = first_texts(source, read, MOST_ROWS)
    name = _name(data, source)
    return drafts.draft_texts(names, parts, name=name, label=source.label, note=SEEN)


def _holds_tables(path: Path) -> bool:
    """Whether this file is more than a table of CSV or Parquet."""
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK" or path.name.endswith(METADATA)


def _name(data: object, source: Source) -> str:
    path = isinstance(data, Path) or (isinstance(data, str) and ":" not in data)
    table = str(getattr(source, "table", Path(str(data)).stem if path else ""))
    return table.strip('"').rpartition('"')[2] or "people"
