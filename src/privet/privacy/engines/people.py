"""Of each person no more rows than are declared, so that nobody has more.

Which rows of a person count follows from that person's rows alone: the first ones in the order of
their codes and then of their numbers, after rows are dropped that a missing policy drops. Rows
that are equal in all of that are equal to every question, so that it means nothing in which order
they come. A row that does not say whose it is does not count. Proof: ``proofs/people.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.privacy.engines.cells import Coded
from privet.schema.column import Column

PERSON = "\0person"  # where the names of people stand beside the codes of columns


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
    found = [known[c] if c in known else known.setdefault(c, _name(c)) for c in cells.tolist()]
    return np.array(found, dtype=object)


def _name(cell: Any) -> str | None:
    return None if cell is None or cell != cell else str(cell).strip() or None
