"""Of each person no more rows than are declared, so that nobody has more.

Which rows of a person count follows from that person's rows alone: the first ones in the order of
their codes and then of their numbers, after rows are dropped that a missing policy drops. Rows
that are equal in all of that are equal to every question, so that it means nothing in which order
they come. A row that does not say whose it is does not count. Proof: ``proofs/people.md``.

Names are compared as texts, code point by code point, without the white space around them and
without the sign of a zero. Decimals, whose equal numbers have several texts, name nobody: columns
of such a type are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.errors import DataError
from privet.privacy.engines.cells import Coded
from privet.privacy.engines.meaning import ZEROS
from privet.schema.column import Column

PERSON = "\0person"  # where the names of people stand beside the codes of columns


# Types whose equal numbers have several texts, in the words of all engines.
UNCLEAR = re.compile(r"(dictionary<values=)?(decimal|numeric)", re.I)


def check_type(name: str, kind: str, label: str) -> None:
    """Refuses, by its type alone, a column that cannot say whose rows these are."""
    if UNCLEAR.match(kind):
        raise DataError(
            f"column {name!r} of {label} says whose rows these are and has the type {kind}, whose "
            "numbers can be equal and written differently; make it whole numbers or text"
        )


def number_of(name: str) -> str:
    """Where the numbers of a column stand beside its codes."""
    return f"\0number of {name}"


def first_rows(part: Mapping[str, NDArray[Any]], columns: Sequence[Column], most: int) -> Integers:
    """The places of the first ``most`` rows of each person."""
    places: dict[str | None, int] = {None: -1}
    texts = part[PERSON].tolist()
    owner = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int64)
    numbers = [part[number_of(column.name)] for column in columns if column.bounds is not None]
    keys = [owner, *(part[column.name] for column in columns), *numbers]
    order = np.lexsort(keys[::-1])  # the last key counts first
    order = order[owner[order] >= 0]
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    kept: Integers = order[rank < most]
    return kept


def texts_of(cells: NDArray[Any] | Coded) -> NDArray[np.object_]:
    """The names of people, without the spaces around them; None where there is none."""
    if isinstance(cells, Coded):
        names = np.array([_name(text) for text in cells.texts], dtype=object)
        return np.asarray(names[cells.places])
    known: dict[Any, str | None] = {}
    if cells.dtype.kind == "f":  # what is equal is met once, and which zero would be by chance
        cells = cells + 0.0
    found = [known[c] if c in known else known.setdefault(c, _name(c)) for c in cells.tolist()]
    return np.array(found, dtype=object)


def _name(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    text = str(cell).strip()
    return ZEROS.get(text, text) or None
