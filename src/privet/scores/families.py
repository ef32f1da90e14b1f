"""Scores of families from the worth of column sets.

Every score here is a function F of column sets: the family of y with parents P scores
F(P ∪ y) - F(P). For a likelihood, F is that of the columns of the set alone. Such a score gives
all DAGs of one equivalence class the same sum [Chickering 1995: two of them are joined by turning
arrows x --> y, one at a time, whose ends share all other parents P; the two families then score
F(P ∪ x ∪ y) - F(P), whichever way the arrow points]. What is cached is F, so each set is worked
out once, whichever of its members is asked for as the child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.rows import spelled


class Families:
    """Local scores and gains from ``worth``, which takes rows of ascending column indices. That
    of the empty set is 0.

    A worth of -inf means that the set is too wide to be had: no arrow may lead there.
    """

    def __init__(self, worth: Callable[[Indices], Floats]) -> None:
        self._function = worth
        self._known: dict[tuple[int, ...], float] = {(): 0.0}

    def local(self, child: int, parents: Indices) -> Floats:
        """The score of each parent set (a row) for this child; -inf: not to be had."""
        whole = self.worth(np.insert(parents, 0, child, axis=1))
        out: Floats = whole - np.where(np.isinf(whole), 0.0, self.worth(parents))
        return out

    def gains(self, questions: Indices) -> Floats:
        """For rows (x, y, *S): what x as a further parent of y beside S adds to the score."""
        whole = self.worth(questions)
        with_x, with_y = (self.worth(np.delete(questions, at, axis=1)) for at in (1, 0))
        rest = self.worth(questions[:, 2:])
        with np.errstate(invalid="ignore"):
            out: Floats = np.where(np.isinf(whole), whole, whole + rest - (with_x + with_y))
        return out

    def rows(self, ys: Indices, given: Indices, asked: Bools) -> Floats:
        """The same by the row: what each x that is asked for adds to y beside a set."""
        at, xs = np.nonzero(asked)
        out = np.zeros(asked.shape)
        out[at, xs] = self.gains(np.column_stack((xs, ys[at], given[at])))
        return out

    def spelled(self, ys: bytes, given: bytes, flags: bytes) -> Any:
        """The same for compiled searches."""
        return spelled(self.rows)(ys, given, flags)

    def worth(self, sets: Indices) -> Floats:
        """F of each set (a row, in any order)."""
        keys = [tuple(row) for row in np.sort(sets, axis=1).tolist()]
        missing = [key for key in dict.fromkeys(keys) if key not in self._known]
        if missing:
            fresh = self._function(np.array(missing, dtype=np.intp))
            self._known.update(zip(missing, fresh.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.float64)
