"""What the owner of a table may see of it: exact, paid by nobody, and not to be sent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privet.errors import DataError
from privet.privacy.engines.fit import ColumnFit, Fit, fit
from privet.privacy.engines.layered import METADATA
from privet.privacy.engines.source import ARROW, EXCEL, Source, source_of
from privet.privacy.engines.texts import first_texts
from privet.schema import draft as drafts
from privet.schema.frames import is_frame
from privet.schema.model import Schema
from privet.schema.names import UNNAMED, clean_name

__all__ = ["ColumnFit", "Fit", "draft", "fit"]

MOST_ROWS = 100_000  # of a table that is no single file
SEEN = f"only the first {MOST_ROWS:,} rows were looked at; levels and numbers may lie beyond"


def draft(
    data: object, name: str | None = None, *, missing: str | Mapping[str, Any] | None = None
) -> Schema:
    """A proposal of a schema for a frame (pandas, polars, Arrow), a dict of columns, a CSV or
    Parquet file or a table of an engine, to be corrected by somebody who knows what is public.

    It looks at the rows without paying from any privacy budget. What it reads may tell something
    about the people in the data: all of it is listed in ``unconfirmed``, marked in ``to_toml()``,
    and stands on the certificate until it is confirmed or replaced. A frame has no name; give the
    data set one, since its budget is kept under it.

    A column with missing cells has ``missing = "choose"``, and no run accepts the schema, until
    somebody has chosen what they count as: ``missing="drop"`` or ``"level"`` chooses for all such
    columns, ``missing={"weight": {"value": 70}, "crp": "drop"}`` for some. A column that says whose
    row it is becomes ``person``, with the most rows of one as ``rows_per_person``.

    >>> privet.draft({"sex": ["f", "m", "f"]}, name="clinic")  # doctest: +ELLIPSIS
    Schema 'clinic': 1 columns (1 categorical), add-remove, 1 row(s) per person
      DRAFT: 2 facts were read from the data, which no privacy budget has paid for. ...
    """
    if _is_plain(data):
        return drafts.draft(data, name, missing)
    source = source_of(data)
    read = [i for i in range(len(source.header)) if source.odd_type(i) is None]
    names = [source.header[i] for i in read]
    if not names or len(set(names)) < len(names):
        raise DataError(
            f"{source.label} has no column of numbers, truth values or texts, or two of one name; "
            "rename or convert them"
        )
    parts = first_texts(source, read, MOST_ROWS)
    called = _name(data, source) if name is None else name
    return drafts.draft_texts(
        names, parts, name=called, label=source.label, remarks=(SEEN,), missing=missing
    )


def _is_plain(data: object) -> bool:
    """Whether this is a frame or a file, of which all rows are looked at."""
    if not isinstance(data, str | Path):
        return is_frame(data)
    path = Path(data)
    if os.path.isfile(path):
        return not _holds_tables(path)
    return not (
        os.path.isdir(path) or re.match("[a-z]{2,}:", str(data)) or set("*?") & set(path.name)
    )


def _holds_tables(path: Path) -> bool:
    """Whether this file is more than a table of CSV or Parquet."""
    with path.open("rb") as file:
        start = file.read(12)
    other = start[:6] == ARROW or start[:4] in EXCEL or start[8:] == b"DUCK"
    return other or path.name.endswith(METADATA)


def _name(data: object, source: Source) -> str:
    path = isinstance(data, Path) or (isinstance(data, str) and ":" not in data)
    table = str(getattr(source, "table", Path(str(data)).stem if path else ""))
    return clean_name(table.strip('"').rpartition('"')[2]) or UNNAMED
