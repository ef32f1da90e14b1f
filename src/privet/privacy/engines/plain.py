"""From cells to codes without SQL: categories that come as texts, and numbers that come as numbers.

Most tables hold nothing else. Starting a DuckDB for them costs more than the whole of a search,
and handing every cell to it as a text more than counting them. Which blocks are plain
follows from the types of their columns; what a cell means is the same as in ``encode.py``, which
reads all others (``tests/privacy/engines/test_engines.py`` holds the two against each other).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.privacy.engines.cells import Coded
from privet.privacy.engines.meaning import fill, missing_code, spellings
from privet.schema.column import Column

Cells = Coded | NDArray[Any]
Arrays = dict[str, NDArray[Any]]
Gone = NDArray[np.bool_] | None  # which cells are missing; None: none is


def is_plain(columns: Sequence[Column], cells: Sequence[Cells]) -> bool:
    return all(_fits(column, each) for column, each in zip(columns, cells, strict=True))


def _fits(column: Column, cells: Cells) -> bool:
    kind = "O" if isinstance(cells, Coded) else cells.dtype.kind
    return kind == "O" if column.bounds is None else kind in "iuf"


def codes(columns: Sequence[Column], cells: Sequence[Cells]) -> Arrays:
    """The codes of the rows that no missing policy drops."""
    return _kept(columns, [_code(*pair) for pair in zip(columns, cells, strict=True)])


def reals(columns: Sequence[Column], cells: Sequence[Cells]) -> Arrays:
    """Clamped numbers; of a column without numbers, its codes. They lie one column after the other,
    so that nobody need put them there (``work.stacked``), and nobody writes there."""
    lines = np.empty((len(columns), _length(cells)))
    gone = [_fill(*each) for each in zip(lines, columns, cells, strict=True)]
    lines.flags.writeable = False
    return _kept(columns, list(zip(lines, gone, strict=True)))


def there(columns: Sequence[Column], cells: Sequence[Cells]) -> NDArray[np.bool_]:
    """The rows that no missing policy drops."""
    pairs = zip(columns, cells, strict=True)
    gone = [_code(column, each)[1] for column, each in pairs if column.missing == "drop"]
    some = [each for each in gone if each is not None]
    return ~np.any(some, axis=0) if some else np.ones(_length(cells), dtype=bool)


def _length(cells: Sequence[Cells]) -> int:
    return len(cells[0].places if isinstance(cells[0], Coded) else cells[0])


def _kept(columns: Sequence[Column], read: Sequence[tuple[NDArray[Any], Gone]]) -> Arrays:
    gone = [
        each for column, (_, each) in zip(columns, read, strict=True) if column.missing == "drop"
    ]
    missing = [each for each in gone if each is not None and each.any()]
    values = {column.name: each for column, (each, _) in zip(columns, read, strict=True)}
    if not missing:
        return values
    there = ~np.any(missing, axis=0)
    return {name: each[there] for name, each in values.items()}


def _code(column: Column, cells: Cells) -> tuple[NDArray[Any], Gone]:
    """Codes, and which cells are missing."""
    wide = np.uint8 if column.cardinality <= 256 else np.uint16
    if column.bounds is None:
        cells = cells if isinstance(cells, Coded) else _coded(cells)
        known = spellings(column.levels)
        found = [_match(text, known) for text in cells.texts.tolist()]
        places = _within(cells.places, len(found))
        if found == [*range(len(found))]:  # the texts are the levels
            return places.astype(wide), None
        gone, absent = np.array([code is None for code in found]), missing_code(column)
        code = np.array([absent if code is None else code for code in found], dtype=wide)
        return code.take(places), gone.take(places)
    assert not isinstance(cells, Coded)
    numbers = cells.astype(np.float64)
    gone = np.isnan(numbers)
    code = np.searchsorted(np.array(column.cuts), numbers, side="right").astype(wide)
    code[gone] = missing_code(column)
    return code, gone


def _within(places: NDArray[np.integer[Any]], count: int) -> NDArray[np.integer[Any]]:
    """Refuses places that no text has: whoever made this dictionary made a mistake."""
    if len(places) and places.view(f"u{places.itemsize}").max() >= count:  # or below 0
        raise IndexError("a place that no text has")
    return places


def _coded(texts: NDArray[np.object_]) -> Coded:
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    at = np.fromiter(map(places.__getitem__, texts), dtype=np.int64, count=len(texts))
    return Coded(np.array(list(places), dtype=object), at)


def _match(text: str | None, known: dict[str, int]) -> int | None:
    return None if text is None else known.get(text, known.get(text.strip()))


def _fill(line: NDArray[np.float64], column: Column, cells: Cells) -> Gone:
    """Puts numbers into a line, and tells which are missing."""
    if column.bounds is None:
        line[:], gone = _code(column, cells)
        return gone
    assert not isinstance(cells, Coded)
    line[:] = cells
    np.clip(line, *column.bounds, out=line)
    gone = np.isnan(line)
    if gone.any():
        line[gone] = fill(column)
    return gone
