"""What algorithms that look at rows say of a pair of columns: a question without any privacy.

RECI, IGCI, CDS and the additive-noise model as they were published look at each row, at extremes
or at the order of rows. One row can turn their answers, no bound on that is known, and so only
the exact door can answer. All rows of the pair are held at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.arrays import Integers
from privet.errors import MethodError
from privet.pairs.algorithms import on_rows
from privet.privacy.queries.base import Rows, Unbounded, all_rows, codec
from privet.privacy.queries.pairs import check_pair
from privet.schema.model import Schema

UNIT = 1 << 40  # of a score as a whole number
LARGEST = 1 << 20  # of a score; none that means anything is near it


@codec("PairScores", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class PairScores(Unbounded):
    """The evidence for x as the cause of y and for y as the cause of x, UNIT times each."""

    x: str
    y: str
    algorithm: str

    def __str__(self) -> str:
        return f"{self.algorithm} of {self.x} and {self.y}"

    def check(self, schema: Schema) -> None:
        check_pair(self.x, self.y, None, None, schema)
        if self.algorithm not in on_rows.METHODS:
            raise MethodError(
                f"there is no algorithm {self.algorithm!r} for rows; choose from "
                f"{', '.join(on_rows.METHODS)}"
            )

    def size(self, schema: Schema) -> int:
        return 2

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        x, y = all_rows(rows, (self.x, self.y)).T
        found = on_rows.score(x, y, self.algorithm)
        both = np.nan_to_num([found.forward, found.backward])
        scaled: Integers = np.rint(np.clip(both, -LARGEST, LARGEST) * UNIT).astype(np.int64)
        return scaled
