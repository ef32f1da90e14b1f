"""Columns in memory as arrays of numbers or of texts, cell by cell and without errors.

Which of the two follows from the type of a column alone, never from its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

# the types of numpy, pandas, polars, Arrow and Ibis, by the start of their names, that are read
TYPES = (
    "bool",
    "int",
    "uint",
    "float",
    "double",
    "halffloat",
    "decimal",
    "<u",
    ">u",
    "str",
    "string",
    "large_string",
    "object",
    "categor",
    "enum",
    "dictionary",
    "null",
    "utf8",
    "large_utf8",
    "|s",
    "bytes",
)
FLOATS = ("float", "double", "Float32", "Float64")  # of Arrow and polars; missing becomes NaN


@dataclass(frozen=True)
class Coded:
    """A column of texts: some texts (None: missing), and of each cell its place among them."""

    texts: NDArray[np.object_]
    places: NDArray[np.integer[Any]]

    def spread(self) -> NDArray[np.object_]:
        out: NDArray[np.object_] = self.texts[self.places]
        return out


def as_array(column: Any) -> NDArray[Any] | Coded:
    """Numbers as they are where the type has no missing cells but NaN; else texts."""
    kind = getattr(column, "dtype", None)
    if isinstance(kind, np.dtype):  # numpy, and pandas where it rests on numpy
        plain = kind.kind in "biu" or kind in (np.float32, np.float64)
        return np.asarray(column) if plain else as_texts(_cells(column))
    foreign = not type(column).__module__.startswith("pandas")
    if foreign and str(getattr(column, "type", kind)) in FLOATS:
        return np.asarray(column.to_numpy())
    if hasattr(column, "chunks") and hasattr(column, "type"):
        return _arrow_texts(column.chunks)
    return as_texts(_cells(column))


def _arrow_texts(chunks: Sequence[Any]) -> Coded:
    """The texts of an Arrow column, each different one of a chunk looked at once."""
    parts = [each if hasattr(each, "dictionary") else each.dictionary_encode() for each in chunks]
    if len(parts) == 1 and not (at := parts[0].indices).null_count:
        return Coded(as_texts(_cells(parts[0].dictionary)), at.to_numpy(zero_copy_only=False))
    texts: list[Any] = [None]
    places = [np.empty(0, dtype=np.int64)]
    for coded in parts:
        at = coded.indices
        if at.null_count:
            at = at.cast("int64").fill_null(-len(texts))
        places.append(at.to_numpy(zero_copy_only=False).astype(np.int64) + len(texts))
        texts += as_texts(_cells(coded.dictionary)).tolist()
    return Coded(np.array(texts, dtype=object), np.concatenate(places))


def _cells(column: Any) -> list[Any]:
    """The cells of a column of any library as Python objects; a broken one is None."""
    for name in ("to_pylist", "to_list", "tolist"):
        try:
            if hasattr(column, name):
                return list(getattr(column, name)())
        except Exception:  # a cell that cannot be decoded; take them one by one
            break
    return [_cell(column, i) for i in range(len(column))]


def _cell(column: Any, i: int) -> Any:
    try:
        cell = column[i]
        return cell.as_py() if hasattr(cell, "as_py") else cell
    except Exception:
        return None


def as_texts(cells: Sequence[Any]) -> NDArray[np.object_]:
    known = _Known()

    def text(cell: Any) -> str | None:
        return known[cell] if type(cell) is str else _as_text(cell)

    plain = set(map(type, cells)) <= {str, type(None)}  # other cells can be equal and differ
    each = known.__getitem__ if plain else text
    return np.fromiter(map(each, cells), dtype=object, count=len(cells))


class _Known(dict[str | None, str | None]):
    """The texts of cells that were met; columns repeat few of them many times."""

    def __missing__(self, cell: str | None) -> str | None:
        if len(self) > 10_000:
            self.clear()
        self[cell] = found = _as_text(cell)
        return found


def _as_text(cell: Any) -> str | None:
    """The text of a cell, or None for a missing one; never an error."""
    try:
        if cell is None or cell != cell:  # NaN and NaT are not themselves; pandas.NA is an error
            return None
        if isinstance(cell, Decimal):  # so that 1.00 is written as 1.0, as in a file
            cell = float(cell)  # the nearest one; Arrow's own cast is not always
            return None if cell != cell else repr(cell)
        text = cell.decode("utf-8") if isinstance(cell, bytes) else str(cell)
        return text if text.encode("utf-8") else None  # half a surrogate pair has no encoding
    except Exception:
        return None
