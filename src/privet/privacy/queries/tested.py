"""Questions whose bound holds only where a noisy test has passed: propose-test-release.

The order of residuals, or an interquartile range, can jump when one record changes. Where the
data are far from such a jump, though, they are as tame as any. How far is itself a question that
one person moves by 1; if its noisy answer is large, the jump is out of reach but for a
probability δ, and the tame question may be asked. If not, there is no answer. The vault's door
for this is ``tested``; the δ of each test is part of the promise and adds up over tests in the
ledger. Proofs: ``proofs/anm.md`` for the distances, ``proofs/tested.md`` for the δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privet.arrays import Integers
from privet.errors import MethodError
from privet.privacy.queries.additive_noise import (
    RANKS,
    Anm,
    AnmScores,
    Halved,
    Protect,
    Residuals,
    check_pairs,
    check_protect,
    refuse_half,
)
from privet.privacy.queries.base import Rows, codec
from privet.privacy.queries.residuals import MOST_STEPS, REACH, IqrStability, LogIqr, first_break
from privet.schema.model import Schema


@codec("RankStability", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class RankStability(Halved):
    """How many records can change before one more training record could turn the order of more
    than ``pairs`` pairs of residuals: the least k, up to MOST_STEPS, with B(k) + k (m - 1) >
    pairs, where B(k) is how many pairs of the m test rows with different causes are at most
    2 (k + 1) η apart; the larger B of the two directions.

    Where it is 1 or more, the scores with these ``pairs`` have their bound (``StableRanks``). To
    protect the training half alone, k (m - 1) is left out, and pairs = 0 is what Kusner et al.
    ask for.

    Sensitivity. 1. A training record moves every gap by at most 2 η, so B(k) of a neighbour is at
    most B(k + 1); a test record makes at most m - 1 more pairs near each other.
    """

    model: Anm
    pairs: int
    protect: Protect = "both"

    def __str__(self) -> str:
        return f"stability of the order of residuals of {self.model.x} and {self.model.y}"

    def check(self, schema: Schema) -> None:
        self.model.check(schema)
        check_protect(self.protect)
        check_pairs(self.pairs, self.model.test_rows(schema))
        if self.protect == "test":
            raise MethodError("the test half needs no stability; release the scores at once")

    def size(self, schema: Schema) -> int:
        return 1

    def bound(self, schema: Schema) -> int:
        return schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        m = self.model.test_rows(schema)
        each = max(m - 1, 0) if self.protect == "both" else 0
        both = self.model.residuals(rows, schema)
        reach = 2 * self.model.eta(schema)

        def broken(k: int) -> bool:
            near = max(near_pairs(found, (k + 1) * reach) for found in both)
            return near + k * each > self.pairs

        return np.array([first_break(broken, MOST_STEPS)], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class StableRanks:
    """Scores by ranks, if the order of residuals is stable enough: ``query.pairs`` says how many
    pairs of rows one more training record may turn."""

    query: AnmScores
    unstable: ClassVar[int] = 0

    @property
    def distance(self) -> RankStability:
        return RankStability(
            model=self.query.model, pairs=self.query.pairs or 0, protect=self.query.protect
        )

    def check(self, schema: Schema) -> None:
        self.query.check(schema)
        refuse_half(self.query.protect)
        if self.query.score not in RANKS or self.query.pairs is None:
            raise MethodError(
                f"score = {self.query.score!r} with pairs = {self.query.pairs!r}, but what is "
                f"tested is the order of residuals; choose {' or '.join(RANKS)}, and say how many "
                "pairs may change their order"
            )

    def bound(self, schema: Schema) -> int:
        return self.query.bound(schema)


@dataclass(frozen=True, kw_only=True)
class StableRange:
    """The logarithm of an interquartile range, if one record cannot move it out of its bin."""

    query: LogIqr
    unstable: ClassVar[int] = 1

    @property
    def distance(self) -> IqrStability:
        query = self.query
        return IqrStability(
            model=query.model, of=query.of, width=query.width, protect=query.protect
        )

    def check(self, schema: Schema) -> None:
        self.query.check(schema)
        refuse_half(self.query.protect)

    def bound(self, schema: Schema) -> int:
        return self.query.bound(schema)


def near_pairs(found: Residuals, reach: int) -> int:
    """Pairs of rows with different causes whose residuals are at most so far apart."""
    reach = min(reach, 2 * REACH)
    apart = found.left + found.cause * (8 * REACH)  # rows with other causes are out of reach
    return _within(found.left, reach) - _within(apart, reach)


def _within(values: Integers, reach: int) -> int:
    ordered = np.sort(values)
    upto = np.searchsorted(ordered, ordered + reach, side="right")
    return int((upto - np.arange(len(ordered)) - 1).sum())
