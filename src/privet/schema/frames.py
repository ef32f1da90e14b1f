"""Frames in memory as a draft and a builder see them: the names of columns, and distinct cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from privet.errors import DataError

KINDS = "give a DataFrame of pandas or polars, an Arrow table, a dict of columns, or a file"


def is_path(data: object) -> bool:
    return isinstance(data, str | Path)


def is_frame(data: object) -> bool:
    """Whether the cells are in memory: pandas, polars, Arrow, or a dict of columns."""
    if isinstance(data, Mapping) or hasattr(data, "iloc") or hasattr(data, "get_columns"):
        return True
    return hasattr(data, "column_names") and hasattr(data, "column")


def header_of(data: Any) -> tuple[str, ...]:
    """The names of the columns; no cell is looked at."""
    if isinstance(data, Mapping):
        names = list(data)
    elif hasattr(data, "column_names"):  # Arrow
        names = list(data.column_names)
    elif hasattr(data, "columns") and not is_path(data):
        names = list(data.columns)
    else:
        raise DataError(f"the data are a {type(data).__name__}; {KINDS}")
    texts = tuple(str(name) for name in names)
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise DataError(f"two columns are named {twice!r}; give each column its own name")
    return texts


def texts(data: Any, place: int) -> list[str | None]:
    """The cells of a column as texts, row by row; None for a missing one."""
    return [_text(cell) for cell in _cells(data, place)]


def _cells(data: Any, place: int) -> Iterable[Any]:
    if isinstance(data, Mapping):
        column = list(data.values())[place]
        if not hasattr(column, "__iter__") or isinstance(column, str):
            raise DataError(f"column {list(data)[place]!r} is no list; give one value per row")
        return column.tolist() if hasattr(column, "tolist") else list(column)
    if hasattr(data, "iloc"):  # pandas
        column = data.iloc[:, place].astype(object)
        return list(column.where(column.notna(), None))
    if hasattr(data, "get_columns"):  # polars
        return list(data.get_columns()[place].to_list())
    if hasattr(data, "column_names") and hasattr(data, "column"):  # Arrow
        return list(data.column(place).to_pylist())
    raise DataError(f"the data are a {type(data).__name__}, which cannot be drafted; {KINDS}")


def _text(cell: Any) -> str | None:
    """A cell as the text that a schema would declare: 1 for a float 1.0."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float | Decimal):
        return str(cell).removesuffix(".0")
    return str(cell).strip()
