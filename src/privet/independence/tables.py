"""Judgements on table evidence: is this edge explained, is this triple a collider?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.tables import TableEvidence
from privet.independence import chi2

# Full tests with more numbers than this are not tried: they have no power left.
WIDEST_FULL_TEST = 128
# An answer above this, and half of the numbers in its test, has the same sign in every replica
# [found by experiment: none turned that was above a third of it].
FIRM = 100.0


def firm(cardinalities: Sequence[int], questions: Indices) -> Floats:
    """The least answers that replicas need not be asked for."""
    numbers = (np.array(cardinalities)[questions[:, :2]] - 1).prod(axis=1)
    return np.asarray(FIRM + numbers / 2)


@dataclass(frozen=True)
class TableJudge:
    """Answers questions (x, y, *Z) from evidence.

    On a stack of replicas each answer has one row per replica. ``pooled`` gives the log Bayes
    factors of pooled tests on pairs, with at most one column given, if these are kept elsewhere,
    and ``strength`` the squared effects of all pairs, if these are known.
    """

    evidence: TableEvidence
    alpha: float
    pooled: Callable[[Indices], Floats] | None = None
    strength: Floats | None = None

    def strengths(self, pairs: Bools | None = None) -> Floats:
        """Squared effect φ² of each pair, without what noise adds; the least of those not asked."""
        if self.strength is not None and pairs is None:
            return self.strength
        size = len(self.evidence.names)
        x, y = np.nonzero(np.triu(np.ones((size, size), dtype=bool) if pairs is None else pairs, 1))
        out = np.full((*self.evidence.replicas, size, size), 1e-9)
        out[..., x, y] = out[..., y, x] = chi2.effects(self.evidence, np.stack([x, y], axis=1))
        return out

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent.

        Where the whole table is known, the factors of the pooled and the full test are
        averaged, which is again a Bayes factor. A question whose margins were not measured
        cannot speak for independence: its answer is infinite.
        """
        bar = log(1 / self.alpha)
        out = np.full((*self.evidence.replicas, len(questions)), np.inf)
        known = self.margins_known(questions)
        out[..., known] = self._pooled(questions[known]) - bar
        lowest = out if out.ndim == 1 else out.min(axis=0)
        open_ = np.flatnonzero(known & (lowest < log(2)))  # above it, the mean stays positive
        open_ = open_[self.table_known(questions[open_])]
        if not len(open_):
            return out
        freedom, whole = chi2.factors(self.evidence, questions[open_], strata=True)
        both = np.logaddexp(out[..., open_], whole - bar) - log(2)
        asked = (freedom > 0) & (out[..., open_] < log(2))  # as if each replica were alone
        out[..., open_] = np.where(asked, both, out[..., open_])
        return out

    def _pooled(self, questions: Indices) -> Floats:
        if self.pooled is not None and questions.shape[1] <= 3:
            return self.pooled(questions)
        return chi2.factors(self.evidence, questions, strata=False)[1]

    def margins_known(self, questions: Indices) -> Bools:
        """Whether the tables of (x, Z) and (y, Z) were measured (pairs always are)."""
        known = np.ones(len(questions), dtype=bool)
        if questions.shape[1] > 3:
            for end in (0, 1):
                sets = np.delete(questions, 1 - end, axis=1)
                known &= self._subsets_known(sets, 3, sets.shape[1])
        return known

    def table_known(self, questions: Indices) -> Bools:
        if questions.shape[1] == 2:
            return np.zeros(len(questions), dtype=bool)
        k = np.array(self.evidence.cardinalities)[questions]
        narrow: Bools = (k[:, 0] - 1) * (k[:, 1] - 1) * k[:, 2:].prod(axis=1) <= WIDEST_FULL_TEST
        return narrow & self._subsets_known(questions, 3, questions.shape[1])

    def _subsets_known(self, sets: Indices, smallest: int, largest: int) -> Bools:
        known = np.ones(len(sets), dtype=bool)
        for order in range(smallest, largest + 1):
            for subset in combinations(range(sets.shape[1]), order):
                known &= self.evidence.measured(sets[:, subset])
        return known
