"""Questions whose bound holds only where a noisy test has passed: propose-test-release.

The order of residuals, or an interquartile range, can jump when one record changes. Where the
data are far from such a jump, though, they are as tame as any. How far is itself a question that
one person moves by 1; if its noisy answer is large, the jump is out of reach but for a
probability δ, and the tame question may be asked. If not, there is no answer. The δ of each test
is part of the promise and adds up over tests. Proofs: ``proofs/anm.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import asinh, log, sqrt
from typing import Any

import numpy as np

from privet.anm_query import (
    Anm,
    AnmScores,
    Protect,
    Residuals,
    check_pairs,
    check_protect,
    refuse_half,
)
from privet.errors import MethodError
from privet.queries import Integers, Release, Rows
from privet.residual_queries import MOST_STEPS, REACH, IqrDistances, LogIqr, first_break
from privet.schema import Schema


@dataclass(frozen=True, kw_only=True)
class RankStability:
    """How many records can change before one more training record could turn the order of more
    than ``pairs`` pairs of residuals: the least k, up to MOST_STEPS, with B(k) + k (m - 1) >
    pairs, where B(k) is how many pairs of the m test rows with different causes are at most
    2 (k + 1) η apart; the larger B of the two directions.

    For propose-test-release: with Laplace noise at ε and an answer above ln(1 / δ) / ε, the
    scores with these ``pairs`` may be released, and both together are (ε + ε', δ)-private. To
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

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "model": self.model.to_dict()}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> RankStability:
        return RankStability(**{**document, "model": Anm.from_dict(document["model"])})

    def check(self, schema: Schema) -> None:
        self.model.check(schema)
        check_protect(self.protect)
        check_pairs(self.pairs, self.model.test_rows(schema))
        if self.protect == "test":
            raise MethodError("the test half needs no stability; release the scores at once")

    def size(self, schema: Schema) -> int:
        return 1

    def bound(self, schema: Schema) -> int:
        """How far one person in the protected half moves the answer."""
        return schema.rows_per_person

    def l1(self, schema: Schema) -> int:
        return self.linf(schema)

    def l2_squared(self, schema: Schema) -> int:
        return self.linf(schema) ** 2

    def linf(self, schema: Schema) -> int:
        refuse_half(self.protect)
        return self.bound(schema)

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
class Passed:
    """A question together with the test that it has passed at δ: scores by ranks with
    ``RankStability``, or ``LogIqr`` with ``IqrDistances``, on one model and one split.

    Sensitivity: the ``bound`` of the question, which holds wherever the test could have passed
    but for a probability δ (2 δ for the two distances of a range). The ledger does not count
    the δ of a test yet, so the vault's private doors do not sell this: it has no l1, l2_squared
    and linf.
    """

    query: AnmScores | LogIqr
    test: Release
    delta: float

    def __str__(self) -> str:
        return f"{self.query}, found stable"

    def check(self, schema: Schema) -> None:
        self.query.check(schema)
        refuse_half(self.query.protect)
        if not self._fits():
            raise MethodError(
                f"{self.query} was not tested by {self.test.query} with {self.test.mechanism}; "
                "test the same columns, model and limits with Laplace noise first"
            )
        if not passes(self.test, self.delta):
            raise MethodError(
                f"{self.query} did not pass its test of stability, so there is no answer; give "
                "more budget, or choose another score"
            )

    def _fits(self) -> bool:
        test = self.test.query
        if not self.test.mechanism.startswith("Laplace") or not 0 < self.delta < 1:
            return False
        if not isinstance(test, RankStability | IqrDistances):
            return False
        asked: RankStability | IqrDistances
        if isinstance(self.query, LogIqr):
            asked = IqrDistances(
                model=self.query.model, of=self.query.of, width=self.query.width
            )
        else:
            asked = RankStability(model=self.query.model, pairs=self.query.pairs or 0)
        return test == asked and test.model.key == self.query.model.key

    def size(self, schema: Schema) -> int:
        return self.query.size(schema)

    def bound(self, schema: Schema) -> int:
        return self.query.bound(schema)

    def l1(self, schema: Schema) -> int:
        return self.linf(schema)

    def l2_squared(self, schema: Schema) -> int:
        return self.linf(schema)

    def linf(self, schema: Schema) -> int:
        raise MethodError(
            f"{self} would be private but for the delta of its test, which the ledger does not "
            "count; ask for sqrt-hsic, or for quartiles by selection"
        )

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        return self.query.evaluate(rows, schema)


def passes(test: Release, delta: float) -> bool:
    """Whether a noisy distance is so large that a true one that is too small has had this
    answer with probability δ at most."""
    too_small = 1 if isinstance(test.query, IqrDistances) else 0
    # discrete Laplace noise of scale s has the variance 1 / (2 sinh(1 / 2s)²)
    scale = (1 + 1e-9) / (2 * asinh(1 / sqrt(2 * test.variance)))
    return bool(test.values.max() > too_small + scale * log(1 / delta))


def near_pairs(found: Residuals, reach: int) -> int:
    """Pairs of rows with different causes whose residuals are at most so far apart."""
    reach = min(reach, 2 * REACH)
    apart = found.left + found.cause * (8 * REACH)  # rows with other causes are out of reach
    return _within(found.left, reach) - _within(apart, reach)


def _within(values: Integers, reach: int) -> int:
    ordered = np.sort(values)
    upto = np.searchsorted(ordered, ordered + reach, side="right")
    return int((upto - np.arange(len(ordered)) - 1).sum())
