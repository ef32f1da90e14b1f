"""Partial correlations from reports, with errors that come from devices and from sampling.

With P the inverse of the correlations of (x, y, *Z), r = -P_01 / sqrt(P_00 P_11) moves with the
correlation of columns a and b by

    (P_0a P_1b + P_0b P_1a) / sqrt(P_00 P_11) + r (P_0a P_0b / P_00 + P_1a P_1b / P_11),

since dP = -P dR P. With the covariance of the correlations this gives the variance of r, and so
of z = atanh r.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
from scipy.special import erfc

from privet.arrays import Bools, Floats, Indices
from privet.evidence.prior import EFFECTS
from privet.local.collector.correlations import STRONGEST, LocalCorrelations

FAINTEST = 1e-9  # of a squared effect, so that effects can be compared by ratios
SMALLEST = 0.05  # eigenvalue of correlations that is believed at least


@dataclass(frozen=True)
class Tested:
    """Many tests: z and its variance, p-value, log Bayes factor for dependence."""

    z: Floats
    variance: Floats
    p_value: Floats
    log_bayes: Floats


def tested(evidence: LocalCorrelations, questions: Indices) -> Tested:
    """Tests of questions (x, y, *Z), all with as many members of Z; on a stack of replicas each
    result has one row per replica."""
    pick = ..., questions[:, :, None], questions[:, None, :]
    values, vectors = np.linalg.eigh(evidence.correlation[pick])
    values = np.maximum(values, SMALLEST)
    p = vectors / values[..., None, :] @ vectors.swapaxes(-1, -2)
    first, second = p[..., 0, :], p[..., 1, :]
    scale = np.sqrt(first[..., 0] * second[..., 1])
    r = np.clip(-first[..., 1] / scale, -STRONGEST, STRONGEST)
    a, b = np.array(list(combinations(range(questions.shape[1]), 2))).T
    slopes = (first[..., a] * second[..., b] + first[..., b] * second[..., a]) / scale[..., None]
    own = first[..., a] * first[..., b] / first[..., :1]
    own = own + second[..., a] * second[..., b] / second[..., 1:2]
    slopes = slopes + r[..., None] * own
    covariance = evidence.covariance(questions)
    spread = np.einsum("...ta,tab,...tb->...t", slopes, covariance, slopes)
    variance = np.maximum(spread, 1e-12) / (1 - r**2) ** 2
    z = np.arctanh(r)
    wide = 1 + np.array(EFFECTS) ** 2 / variance[..., None]
    logs = (z**2 / (2 * variance))[..., None] * (1 - 1 / wide) - np.log(wide) / 2
    return Tested(
        z=z,
        variance=variance,
        p_value=erfc(np.abs(z) / np.sqrt(2 * variance)),
        log_bayes=np.logaddexp.reduce(logs, axis=-1) - log(len(EFFECTS)),
    )


@dataclass(frozen=True)
class LocalNumberJudge:
    """Answers questions (x, y, *Z) from reports of numbers."""

    evidence: LocalCorrelations
    alpha: float

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        """Squared z of each pair, without what noise adds."""
        x, y = np.array(list(combinations(range(len(self.evidence.names)), 2)), dtype=np.intp).T
        sure = self.evidence.sure[x] & self.evidence.sure[y]
        x, y = x[sure], y[sure]
        found = tested(self.evidence, np.stack([x, y], axis=1))
        out = np.full(self.evidence.correlation.shape, FAINTEST)
        out[..., x, y] = out[..., y, x] = np.maximum(found.z**2 - found.variance, FAINTEST)
        return out

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent.

        A column that tells nothing is not joined to others; but given to a test, it does not
        speak for independence: the answer is infinite.
        """
        bar, given = log(1 / self.alpha), questions.shape[1] > 2
        out = np.full((*self.evidence.replicas, len(questions)), np.inf if given else -bar)
        sure = self.evidence.sure[questions].all(axis=1)
        out[..., sure] = tested(self.evidence, questions[sure]).log_bayes - bar
        return out
