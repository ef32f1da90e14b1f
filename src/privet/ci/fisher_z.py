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

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from privet.evidence.moments import Floats, MomentEvidence

Indices = NDArray[np.intp]

# Effects (as atanh r) that a Bayes factor averages over, from hardly visible to strong.
TAUS = np.array([0.01, 0.03, 0.1, 0.3])
STRONGEST = 1 - 1e-9  # of a correlation, so that z stays finite
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

    @property
    def cost(self) -> Floats:
        """What it costs in log likelihood to call x and y independent given Z."""
        return np.asarray(self.z**2 / (2 * self.variance))


def fisher_z(evidence: MomentEvidence, questions: Indices) -> Tested:
    """Tests of questions (x, y, *Z), all with as many members of Z."""
    parts = [
        _z_and_variance(evidence, questions[start : start + BLOCK])
        for start in range(0, max(len(questions), 1), BLOCK)
    ]
    z, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
    wide = 1 + TAUS[:, None] ** 2 / variance
    logs = z**2 / (2 * variance) * (1 - 1 / wide) - np.log(wide) / 2
    return Tested(
        z=z,
        variance=variance,
        p_value=erfc(np.abs(z) / np.sqrt(2 * variance)),
        log_bayes=np.logaddexp.reduce(logs, axis=0) - np.log(len(TAUS)),
    )


def _z_and_variance(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, Floats]:
    pick = questions[:, :, None], questions[:, None, :]
    precision = np.linalg.inv(evidence.covariance[pick])
    residual = np.linalg.inv(precision[:, :2, :2])  # covariance of x and y given Z
    scale = np.sqrt(np.einsum("tii->ti", residual))
    r = residual[:, 0, 1] / (scale[:, 0] * scale[:, 1])
    r = np.clip(r, -STRONGEST, STRONGEST)
    ab = residual @ precision[:, :2] / scale[:, :, None]
    inner = ab @ evidence.metric[pick] @ ab.transpose(0, 2, 1)
    a, b, c = inner[:, 0, 0], inner[:, 1, 1], inner[:, 0, 1]
    noise = a * b + c**2 - 2 * r * c * (a + b) + r**2 * (a**2 + b**2 + 2 * c**2) / 2
    noise = evidence.noise * np.maximum(noise, 0.0) / (1 - r**2) ** 2
    freedom = np.maximum(evidence.rows / evidence.spread - (questions.shape[1] - 2) - 3, 1e-3)
    return np.arctanh(r), 1 / freedom + noise
