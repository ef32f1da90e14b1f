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

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.special import erfc

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.evidence.prior import EFFECTS

# Effects (as atanh r) that a Bayes factor averages over, from weak to strong.
TAUS = np.array(EFFECTS)
STRONGEST = 1 - 1e-9  # of a correlation, so that z stays finite
FAINTEST = 1e-9  # of a squared effect, so that effects can be compared by ratios
LEAST = 1e-12  # of a variance that is left, so that it can be divided by
BLOCK = 1 << 13  # questions at a time: what they need stays in the cache

Entries = dict[tuple[int, int], Any]  # [i, j], i <= j: a number of each question, or of all


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
    z, variance, weighed = _in_blocks(evidence, questions, _tested)
    p_value = erfc(np.abs(z) / np.sqrt(2 * variance))
    return Tested(z=z, variance=variance, p_value=p_value, log_bayes=weighed)


def z_and_variance(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, Floats]:
    """Atanh of the partial correlations of such questions, and its variances."""
    z, variance = _in_blocks(evidence, questions, _even)
    return z, variance


def _even(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, ...]:
    z, variance = _z_and_variance(evidence, questions)
    return z, np.broadcast_to(variance, z.shape)


def _tested(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, ...]:
    z, variance = _z_and_variance(evidence, questions)
    return z, np.broadcast_to(variance, z.shape), log_bayes(z, variance)


def _margin(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, ...]:
    return (log_bayes(*_z_and_variance(evidence, questions)),)


def _in_blocks(
    evidence: MomentEvidence,
    questions: Indices,
    test: Callable[[MomentEvidence, Indices], tuple[Floats, ...]],
) -> list[Floats]:
    """What the test gives, some questions at a time; each answer is its own, whatever the rest."""
    step = max(1, BLOCK // max(1, int(np.prod(evidence.covariance.shape[:-2]))))
    parts = [
        test(evidence, questions[start : start + step])
        for start in range(0, max(len(questions), 1), step)
    ]
    return [np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)]


def log_bayes(z: Floats, variance: Floats | float) -> Floats:
    """For an effect of one of the sizes, against none."""
    square, logs = z * z / (2 * variance), []
    for tau in TAUS.tolist():
        wide = 1 + tau**2 / variance
        logs.append(square * (1 - 1 / wide) - np.log(wide) / 2)
    top = np.maximum.reduce(logs)
    return np.asarray(top + np.log(sum(np.exp(each - top) for each in logs)) - log(len(TAUS)))


def _z_and_variance(evidence: MomentEvidence, questions: Indices) -> tuple[Floats, Floats | float]:
    """The variance is one number where there is no noise."""
    width = questions.shape[1]
    covariance = _entries(evidence.correlations, questions) | {(i, i): 1.0 for i in range(width)}
    freedom = max(evidence.rows / evidence.spread - (width - 2) - 3, 1e-3)
    if evidence.noise == 0:
        _eliminate(covariance, None, width)
        return np.arctanh(_correlation(covariance)), 1 / freedom
    metric = _entries(evidence.scaled_metric, questions, diagonal=True)
    _eliminate(covariance, metric, width)
    xx, yy, r = covariance[0, 0], covariance[1, 1], _correlation(covariance)
    a, b, c = metric[0, 0] / xx, metric[1, 1] / yy, metric[0, 1] / np.sqrt(xx * yy)
    noise = a * b + c**2 - 2 * r * c * (a + b) + r**2 * (a**2 + b**2 + 2 * c**2) / 2
    noise = evidence.noise * np.maximum(noise, 0.0) / (1 - r**2) ** 2
    return np.arctanh(r), 1 / freedom + noise


def _correlation(covariance: Entries) -> Floats:
    left = np.maximum(covariance[0, 0] * covariance[1, 1], LEAST**2)
    return np.asarray(np.clip(covariance[0, 1] / np.sqrt(left), -STRONGEST, STRONGEST))


def _entries(matrix: Floats, questions: Indices, diagonal: bool = False) -> Entries:
    """The entries of each question, its columns numbered from 0."""
    size, width = matrix.shape[-1], questions.shape[1]
    flat, columns = matrix.reshape(*matrix.shape[:-2], -1), np.ascontiguousarray(questions.T)
    return {
        (i, j): flat.take(columns[i] * size + columns[j], axis=-1)
        for i in range(width)
        for j in range(i + (not diagonal), width)
    }


def _eliminate(covariance: Entries, metric: Entries | None, width: int) -> None:
    """Takes out of each column what the members of Z say about it, one member after the other:
    what is left of x and y, the columns 0 and 1, are their residuals."""
    for k in range(width - 1, 1, -1):
        variance = np.maximum(covariance[k, k], LEAST)
        slopes = [covariance[i, k] / variance for i in range(k)]
        for i in range(k):
            for j in range(i, k):
                covariance[i, j] = covariance[i, j] - slopes[i] * covariance[j, k]
                if metric is not None:
                    metric[i, j] = (
                        metric[i, j]
                        - slopes[i] * metric[j, k]
                        - slopes[j] * (metric[i, k] - slopes[i] * metric[k, k])
                    )


@dataclass(frozen=True)
class MomentJudge:
    """Answers questions (x, y, *Z) from evidence."""

    evidence: MomentEvidence
    alpha: float

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        """Squared z of each pair, without what noise and sampling add."""
        x, y = np.triu_indices(len(self.evidence.names), 1)
        z, variance = z_and_variance(self.evidence, np.stack([x, y], axis=1))
        out = np.full(self.evidence.covariance.shape, FAINTEST)
        out[..., x, y] = out[..., y, x] = np.maximum(z**2 - variance, FAINTEST)
        return out

    @property
    def doubt(self) -> tuple[float, float, float]:
        """What a test needs beside the matrices: rows, noise, and log(1/alpha)."""
        return self.evidence.rows / self.evidence.spread, self.evidence.noise, log(1 / self.alpha)

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent."""
        return _in_blocks(self.evidence, questions, _margin)[0] - log(1 / self.alpha)
