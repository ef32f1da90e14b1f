"""Judgements on the evidence of several sites, each with noise of its own.

Mechanisms may differ between sites, so nothing is pooled that was not independent at each. Of a
question (x, y | Z) two Bayes factors are made: *own*, the product of the sites' factors, each
with an effect of its own, and *common*, for one effect that all share, with the sites as strata.
Their mean is again a Bayes factor, so that "dependent where it exceeds 1/alpha" errs with
probability at most alpha. The first sees effects that change their sign from site to site, the
second those that are too weak at every single one.

A site that has not measured what a question needs abstains (its factor is 1). If none has, the
answer is "cannot say" (infinite), never "independent".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence
from privet.independence import chi2
from privet.independence.fisher_z import MomentJudge, fisher_z, log_bayes
from privet.independence.tables import TableJudge


@dataclass(frozen=True)
class JointTableJudge:
    """Answers questions (x, y, *Z) from the tables of several sites. Where whole tables are known,
    the factors of pooled and full tests are averaged, in own and in common."""

    sites: tuple[TableEvidence, ...]
    alpha: float

    @cached_property
    def judges(self) -> tuple[TableJudge, ...]:
        return tuple(TableJudge(site, self.alpha) for site in self.sites)

    def strengths(self, pairs: Bools | None = None) -> Floats:
        """Squared effect of each pair, the mean over all rows of all sites."""
        rows = np.array([np.maximum(site.rows, 1.0) for site in self.sites])
        shares = (rows / rows.sum(axis=0))[..., None, None]
        return np.asarray((shares * [judge.strengths(pairs) for judge in self.judges]).sum(axis=0))

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent.

        Full tests can halve each factor at most: where that would change nothing they are not made.
        """
        bar, d = log(1 / self.alpha), len(self.sites)
        asked = np.array([judge.margins_known(questions) for judge in self.judges])
        tested = chi2.jointly(self.sites, questions, asked, strata=False)
        pooled = np.array([each.log_bayes for each in tested])
        own, common = pooled[:-1].sum(axis=0), pooled[-1]
        out = np.logaddexp(own, common) - log(2)
        least = np.logaddexp(own - d * log(2), common - log(2)) - log(2)
        lowest = least if least.ndim == 1 else least.min(axis=0)
        doubtful = np.flatnonzero(asked.any(axis=0) & (lowest < bar))
        if len(doubtful) and questions.shape[1] > 2:
            out[..., doubtful] = self._in_full(questions[doubtful], pooled[..., doubtful])
        out[..., ~asked.any(axis=0)] = np.inf
        return np.asarray(out - bar)

    def _in_full(self, questions: Indices, pooled: Floats) -> Floats:
        """The same with full tests, where whole tables are known; ``pooled`` are the log Bayes
        factors of the pooled tests, of each site and, last, in common."""
        asked = np.array([judge.table_known(questions) for judge in self.judges])
        tested = chi2.jointly(self.sites, questions, asked, strata=True)
        full = np.array([each.log_bayes for each in tested])
        seen = np.array([each.freedom for each in tested]) > 0
        factors = np.where(seen, np.logaddexp(pooled, full) - log(2), pooled)
        return np.asarray(np.logaddexp(factors[:-1].sum(axis=0), factors[-1]) - log(2))


@dataclass(frozen=True)
class JointMomentJudge:
    """Answers questions (x, y, *Z) from the moments of several sites."""

    sites: tuple[MomentEvidence, ...]
    alpha: float

    @cached_property
    def judges(self) -> tuple[MomentJudge, ...]:
        return tuple(MomentJudge(site, self.alpha) for site in self.sites)

    def strengths(self, pairs: Bools | None = None) -> Floats:
        """Squared z of each pair, the mean over all rows of all sites."""
        rows = np.array([site.rows for site in self.sites])
        found = np.array([judge.strengths(pairs) for judge in self.judges])
        return np.asarray(np.tensordot(rows / rows.sum(), found, 1))

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent."""
        tested = [fisher_z(site, questions) for site in self.sites]
        own = np.sum([each.log_bayes for each in tested], axis=0)
        weights = np.array([1 / each.variance for each in tested])
        variance = 1 / weights.sum(axis=0)
        z = (weights * [each.z for each in tested]).sum(axis=0) * variance
        both = np.logaddexp(own, log_bayes(z, variance)) - log(2)
        return np.asarray(both - log(1 / self.alpha))
