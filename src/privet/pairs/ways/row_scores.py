"""What algorithms that look at rows say of a pair of columns: a question without any privacy.

RECI, IGCI, CDS and the additive-noise model as they were published look at each row, at extremes
or at the order of rows. One row can turn their answers, no bound on that is known, and so only
the exact door can answer. All rows of the pair are held at once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import numpy as np

from privet.errors import MethodError
from privet.pairs.algorithms import on_rows
from privet.privacy.queries.pairs import check_pair
from privet.privacy.queries.tables import Integers, Rows
from privet.schema.model import Schema

UNIT = 1 << 40  # of a score as a whole number
LARGEST = 1 << 20  # of a score; none that means anything is near it


@dataclass(frozen=True, kw_only=True)
class PairScores:
    """The evidence for x as the cause of y and for y as the cause of x, UNIT times each."""

    x: str
    y: str
    algorithm: str

    def __str__(self) -> str:
        return f"{self.algorithm} of {self.x} and {self.y}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(document: dict[str, Any]) -> PairScores:
        return PairScores(**document)

    def check(self, schema: Schema) -> None:
        check_pair(self.x, self.y, None, None, schema)
        if self.algorithm not in on_rows.METHODS:
            raise MethodError(
                f"there is no algorithm {self.algorithm!r} for rows; choose from "
                f"{', '.join(on_rows.METHODS)}"
            )

    def size(self, schema: Schema) -> int:
        return 2

    def l1(self, schema: Schema) -> NoReturn:
        raise MethodError(
            f"{self} has no known bound on what one person can change, so no noise makes it "
            "private; run it with --no-privacy, or use a method that is private"
        )

    def l2_squared(self, schema: Schema) -> NoReturn:
        self.l1(schema)

    def linf(self, schema: Schema) -> NoReturn:
        self.l1(schema)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        x, y = np.concatenate([np.empty((0, 2)), *rows.numbers((self.x, self.y))]).T
        found = on_rows.score(x, y, self.algorithm)
        both = np.nan_to_num([found.forward, found.backward])
        scaled: Integers = np.rint(np.clip(both, -LARGEST, LARGEST) * UNIT).astype(np.int64)
        return scaled
