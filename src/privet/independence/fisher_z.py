"""Fisher's z test on noisy moments, thousands of questions at a time.

To test x ⊥ y | Z, let a and b be the residuals of x and y given Z, scaled to variance 1 in the
estimated covariance S, and r their correlation. A small error dS moves r by

    dr = a' dS b - r/2 (a' dS a + b' dS b),

since errors in the coefficients of Z do not matter to first order. Privacy noise is
dS = s M G M', G symmetric with independent entries of variance 1 (2 on the diagonal), MM' the
metric of the evidence. With A, B, C the inner products aa, bb, ab in that metric,

    Var(dr) = s² (AB + C² - 2rC (A + B) + r² (A² + B² + 2C²) / 2),

and z = atanh r has variance 1 / (n - |Z| - 3) + Var(dr) / (1 - r²)². Without noise this is
Fisher's test. If rows were whitened by S before the noise, the metric is S, and the noise adds
just s² whatever x, y and Z are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
from scipy.special import erfc

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.evidence.prior import EFFECTS

# Effects (as atanh r) that a Bayes factor averages over, from weak to strong.
TAUS = np.array(EFFECTS)
STRONGEST = 1 - 1e-9  # of a correlation, so that z stays finite
FAINTEST = 1e-9  # of a squared effect, so that effects can be compared by ratios
BLOCK = 50_000  # questions at a time, so that memory stays bounded


@dataclass(frozen=True)
class Tested:
    """Results of many tests. ``variance`` is that of z; ``log_bayes`` weighs dependence
    against independence: it exceeds log(1/alpha) with probability at most alpha under
    independence, whatever alpha (Markov)."""

    z: Floats
    variance: Floats
    p_value: Floats
    log_bayes: Floats


def fisher_z(evidence: MomentEvidence, questions: Indices) -> Tested:
    """Tests of questions (x, y, *Z), all with as many members of Z.

    On a stack of replicas each result has one row per replica.
    """
    step = max(1, BLOCK // max(1, int(np.prod(evidence.covariance.shape[:-2]))))
    parts = [
        _z_and_variance(evidence, questions[start : start + step])
        for start in range(0, max(len(questions), 1), step)
    ]
    z, variance = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
    return Tested(
        z=z,
        variance=variance,
        p_value=erfc(np.abs(z) / np.sqrt(2 * variance)),
        log_bayes=log_bayes(z, variance),
    )


def log_bayes(z: Floats, variance: Floats) -> Floats:
    """For an effect of one of the sizes, against none."""
    wide = 1 + TAUS**2 / variance[..., None]
    logs = (z**2 / (2 * variance))[..., None] * (1 - 1 / wide) - np.log(wide) / 2
    return np.asarray(np.logaddexp.reduce(logs, axis=-1) - log(len(TAUS)))


def _z_and_variance(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, Floats]:
    pick = ..., questions[:, :, None], questions[:, None, :]
    precision = np.linalg.inv(evidence.covariance[pick])
    residual = np.linalg.inv(precision[..., :2, :2])  # covariance of x and y given Z
    scale = np.sqrt(np.einsum("...ii->...i", residual))
    r = np.clip(residual[..., 0, 1] / scale.prod(axis=-1), -STRONGEST, STRONGEST)
    ab = residual @ precision[..., :2, :] / scale[..., None]
    inner = ab @ evidence.metric[pick] @ ab.swapaxes(-1, -2)
    a, b, c = inner[..., 0, 0], inner[..., 1, 1], inner[..., 0, 1]
    noise = a * b + c**2 - 2 * r * c * (a + b) + r**2 * (a**2 + b**2 + 2 * c**2) / 2
    noise = evidence.noise * np.maximum(noise, 0.0) / (1 - r**2) ** 2
    freedom = max(evidence.rows / evidence.spread - (questions.shape[1] - 2) - 3, 1e-3)
    return np.arctanh(r), 1 / freedom + noise


@dataclass(frozen=True)
class MomentJudge:
    """Answers questions (x, y, *Z) from evidence."""

    evidence: MomentEvidence
    alpha: float

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        """Squared z of each pair, without what noise and sampling add."""
        size = len(self.evidence.names)
        x, y = np.array(list(combinations(range(size), 2)), dtype=np.intp).reshape(-1, 2).T
        tested = fisher_z(self.evidence, np.stack([x, y], axis=1))
        out = np.full(self.evidence.covariance.shape, FAINTEST)
        out[..., x, y] = out[..., y, x] = np.maximum(tested.z**2 - tested.variance, FAINTEST)
        return out

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent."""
        return fisher_z(self.evidence, questions).log_bayes - log(1 / self.alpha)
