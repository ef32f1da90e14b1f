"""Gaussian BIC, AIC and BGe from moments, exact or noisy.

A null correlation has variance spread / rows from sampling, and noise that is round in the metric
of the rows adds just s² to it (``independence/fisher_z.py``), whichever columns are looked at. So m
= 1 / (spread / rows + s²) rows without noise would know as much, and stand for both: with R the
correlations and l the columns of a set, its worth is

    BIC    -m/2 log |R| - w/2 log m  l (l - 1) / 2      [Schwarz 1978]; w is the penalty discount
    AIC    -m/2 log |R| - l (l - 1) / 2                 [Akaike 1974]
    BGe    log marginal likelihood of m rows of these columns, the others left out
           [Geiger, Heckerman 2002, as corrected by Kuipers, Moffa, Heckerman 2014]

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

from privet.arrays import Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.independence.fisher_z import fisher_z
from privet.scores.families import Families

MEAN_WEIGHT = 1.0  # α_μ: the prior mean weighs as much as so many rows
BLOCK = 20_000  # sets at a time, so that memory stays bounded


def gaussian_bic(evidence: MomentEvidence, penalty: float = 1.0) -> Families:
    """Above 1, ``penalty`` keeps fewer edges; below, more."""
    # an edge never costs less than half a nat
    return _likelihood(evidence, lambda rows: penalty / 2 * log(max(rows, e)))


def gaussian_aic(evidence: MomentEvidence) -> Families:
    return _likelihood(evidence, lambda rows: 1.0)


def _likelihood(evidence: MomentEvidence, price: Callable[[float], float]) -> Families:
    """Less a price for each edge, which the number of rows sets."""
    rows = _effective_rows(evidence)
    scaled = _correlations(evidence)

    def worth(sets: Indices) -> Floats:
        size = sets.shape[1]
        cost = price(rows) * size * (size - 1) / 2
        return np.asarray(-rows / 2 * _log_determinants(scaled, sets) - cost)

    return Families(_in_blocks(worth))


def bge(evidence: MomentEvidence) -> Families:
    rows, columns = _effective_rows(evidence), len(evidence.names)
    degrees = columns + MEAN_WEIGHT + 1
    prior = MEAN_WEIGHT * (degrees - columns - 1) / (MEAN_WEIGHT + 1)
    posterior = prior * np.eye(columns) + rows * _correlations(evidence)

    def worth(sets: Indices) -> Floats:
        size = sets.shape[1]
        before = (degrees - columns + size) / 2
        after = before + rows / 2
        constant = (
            size / 2 * log(MEAN_WEIGHT / (MEAN_WEIGHT + rows))
            - size * rows / 2 * log(pi)
            + multigammaln(after, size)
            - multigammaln(before, size)
            + before * size * log(prior)
        )
        return np.asarray(constant - after * _log_determinants(posterior, sets))

    return Families(_in_blocks(worth))


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
    return np.asarray(np.linalg.slogdet(matrix[sets[:, :, None], sets[:, None, :]])[1])


def _in_blocks(worth: Callable[[Indices], Floats]) -> Callable[[Indices], Floats]:
    def of(sets: Indices) -> Floats:
        starts = range(0, len(sets), BLOCK)
        return np.concatenate([worth(sets[start : start + BLOCK]) for start in starts])

    return of
