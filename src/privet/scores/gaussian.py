"""Gaussian BIC, AIC and BGe from moments, exact or noisy.

A null correlation has variance spread / rows from sampling, and noise that is round in the metric
of the rows adds just s² to it (``independence/fisher_z.py``), whichever columns are looked at. So m
= 1 / (spread / rows + s²) rows without noise would know as much, and stand for both: with R the
correlations and l the columns of a set, its worth is

    BIC    -m/2 log |R| - (w/2 log m - log o)  l (l - 1) / 2
           [Schwarz 1978]; w is the penalty discount, o the prior odds of an edge: where there are
           many columns, BIC alone finds too many [Chen, Chen 2008; Foygel, Drton 2010]
    AIC    -m/2 log |R| - l (l - 1) / 2                 [Akaike 1974]
    BGe    log marginal likelihood of m rows of these columns, the others left out
           [Geiger, Heckerman 2002, as corrected by Kuipers, Moffa, Heckerman 2014]

The worth of l columns is c(l) - a(l) log |M|, a linear in l, so the gain of x for y beside P needs
no determinant: with s and ρ the variances and the correlation of x and y given P, |P| = k, it is

    c(k + 2) - 2 c(k + 1) + c(k) - a(k + 2) log(1 - ρ²) - (a(k + 2) - a(k + 1)) (log s_x + log s_y)

BGe has their usual prior: μ ~ N(mean, 1 / (α_μ W)), W ~ Wishart(α_w, t I) with α_μ = 1,
α_w = p + α_μ + 1 and t = α_μ (α_w - p - 1) / (α_μ + 1), for columns scaled to mean 0 and
variance 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import e, log, pi

import numpy as np
from scipy.special import multigammaln

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.independence.fisher_z import fisher_z
from privet.scores.families import Families
from privet.search.protocols import Formula

MEAN_WEIGHT = 1.0  # α_μ: the prior mean weighs as much as so many rows
BLOCK = 1 << 21  # numbers at a time, so that memory stays bounded
NOTHING = 1e-16  # of a variance, so that logarithms stay finite


def gaussian_bic(evidence: MomentEvidence, penalty: float = 1.0, odds: float = 1.0) -> Gaussian:
    """Above 1, ``penalty`` keeps fewer edges; below, more. ``odds`` are those of two columns being
    joined, before looking."""
    # an edge never costs less than half a nat
    return _likelihood(evidence, lambda rows: penalty / 2 * log(max(rows, e)) - log(odds))


def gaussian_aic(evidence: MomentEvidence) -> Gaussian:
    return _likelihood(evidence, lambda rows: 1.0)


def _likelihood(evidence: MomentEvidence, price: Callable[[float], float]) -> Gaussian:
    """Less a price for each edge, which the number of rows sets."""
    rows = _effective_rows(evidence)
    return Gaussian(
        _correlations(evidence),
        lambda size: -price(rows) * size * (size - 1) / 2,
        lambda size: rows / 2,
    )


def bge(evidence: MomentEvidence) -> Gaussian:
    rows, columns = _effective_rows(evidence), len(evidence.names)
    degrees = columns + MEAN_WEIGHT + 1
    prior = MEAN_WEIGHT * (degrees - columns - 1) / (MEAN_WEIGHT + 1)
    posterior = prior * np.eye(columns) + rows * _correlations(evidence)

    def constant(size: int) -> float:
        before = (degrees - columns + size) / 2
        return float(
            size / 2 * log(MEAN_WEIGHT / (MEAN_WEIGHT + rows))
            - size * rows / 2 * log(pi)
            + multigammaln(before + rows / 2, size)
            - multigammaln(before, size)
            + before * size * log(prior)
        )

    return Gaussian(posterior, constant, lambda size: (degrees - columns + size + rows) / 2)


class Gaussian(Families):
    """The worth c(l) - a(l) log |M| of any l columns."""

    def __init__(
        self, matrix: Floats, constant: Callable[[int], float], weight: Callable[[int], float]
    ) -> None:
        self._matrix, self._constant, self._weight = matrix, constant, weight
        super().__init__(self._of_sets)

    def _of_sets(self, sets: Indices) -> Floats:
        size = sets.shape[1]
        constant, weight = self._constant(size), self._weight(size)
        return np.asarray(constant - weight * _log_determinants(self._matrix, sets))

    def gains(self, questions: Indices) -> Floats:
        pairs, given = np.sort(questions[:, :2], axis=1), np.sort(questions[:, 2:], axis=1)
        return self._gains(pairs[:, 1], given, pairs)[:, 0]

    def rows(self, ys: Indices, given: Indices, _asked: Bools) -> Floats:
        """What every column adds to each y beside the set in the same row; what y itself and the
        members of the set would add means nothing."""
        return self._gains(ys, given, None)

    def formula(self) -> Formula:
        terms = [self._terms(width) for width in range(len(self._matrix))]
        return Formula(self._matrix, np.array(terms).T)

    def _terms(self, width: int) -> tuple[float, float, float]:
        """Constant, weight and tilt of a gain beside so many columns."""
        zero = self._constant(width) if width else 0.0
        constant = zero - 2 * self._constant(width + 1) + self._constant(width + 2)
        return constant, self._weight(width + 2), self._weight(width + 2) - self._weight(width + 1)

    def _gains(self, ys: Indices, given: Indices, columns: Indices | None) -> Floats:
        """Of these columns, or all; y is one of them."""
        width, size = given.shape[1], len(self._matrix) if columns is None else 2
        constant, weight, tilt = self._terms(width)
        out = np.empty((len(ys), size))
        step = max(1, BLOCK // (size * (width + 1)))
        for start in range(0, len(ys), step):
            part = slice(start, start + step)
            some = None if columns is None else columns[part]
            xy, xx, yy = _residual(self._matrix, ys[part], given[part], some)
            with np.errstate(divide="ignore", invalid="ignore"):
                both = xx * yy
                out[part] = constant - weight * np.log(np.maximum(1 - xy * xy / both, NOTHING))
                if tilt:
                    out[part] -= tilt * np.log(both)
        return out


def _residual(
    matrix: Floats, ys: Indices, given: Indices, columns: Indices | None
) -> tuple[Floats, Floats, Floats]:
    """Covariances of y with each of these columns (or all) given the sets, and variances."""
    variances = np.diag(matrix)
    xy = matrix[ys] if columns is None else matrix[columns, ys[:, None]]
    xx = variances if columns is None else variances[columns]
    if given.shape[1]:
        above = matrix[given] if columns is None else matrix[given[:, :, None], columns[:, None]]
        solved = np.linalg.solve(matrix[given[:, :, None], given[:, None]], above)
        xy = xy - (matrix[given, ys[:, None]][:, :, None] * solved).sum(axis=1)
        xx = xx - (above * solved).sum(axis=1)
    yy = xy[:, 1] if columns is not None else xy[np.arange(len(ys)), ys]
    return xy, xx, yy[:, None]


def replica(stack: MomentEvidence, at: int) -> MomentEvidence:
    """One replica out of a stack."""
    return replace(stack, covariance=stack.covariance[at])


def _effective_rows(evidence: MomentEvidence) -> float:
    """With noise, p + 3 fewer: as many as Fisher's z loses at most. Where none are left, noise
    drowns everything, and no edge is worth anything.

    The noise is round only if the coordinates were found well, so its mean over all pairs is
    taken, of the variance of z.
    """
    if not evidence.noise:
        return evidence.rows / evidence.spread
    pairs = np.argwhere(np.triu(np.ones_like(evidence.covariance, dtype=bool), k=1))
    variance = float(fisher_z(evidence, pairs).variance.mean())
    return max(1 / variance - len(evidence.names) - 3, 0.0)


def _correlations(evidence: MomentEvidence) -> Floats:
    scale = 1 / np.sqrt(np.diag(evidence.covariance))
    return np.asarray(evidence.covariance * np.outer(scale, scale))


def _log_determinants(matrix: Floats, sets: Indices) -> Floats:
    out = np.empty(len(sets))
    step = max(1, BLOCK // sets.shape[1] ** 2)
    for start in range(0, len(sets), step):
        some = sets[start : start + step]
        out[start : start + step] = np.linalg.slogdet(matrix[some[:, :, None], some[:, None]])[1]
    return out
