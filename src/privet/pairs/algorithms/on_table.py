"""Which of two columns causes the other, from one table of their joint distribution.

The table holds probabilities of k × k cells, k bins of equal width on each axis over what the
declared bounds span, here [-1, 1]. It comes from noisy counts, so all of this is post-processing
and costs nothing. Every function takes a stack of tables and treats each one alike, so that many
replicas take little longer than one.

An additive-noise model y = f(x) + noise leaves residuals whose law is the same for every x; a
model in the wrong direction does not. ``collisions``, the default, asks how much oftener the
residuals of two rows fall into one bin if the rows share a bin of x: as often, if the model holds.
It takes conditional means for f, knows no bandwidth and no degree, and depends little on the
number of bins or on bounds that are too wide. ``both`` adds up two other signs of the same: the
entropies of cause and residual have the smaller sum in the right direction [Kpotufe et al. 2014],
and the Hilbert-Schmidt norm of their cross-covariance is smaller [Gretton et al. 2005].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import pi

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats
from privet.errors import MethodError
from privet.pairs.algorithms.score import Scores

Score = Callable[[Floats], Floats]  # tables in, the evidence that rows cause columns out

DEGREE = 5  # of the polynomial that is fitted to conditional means
CUTOFF = 1e-4  # singular values below this share of the largest one do not count
BANDWIDTH = 0.1  # of the Gaussian kernels, in units of [-1, 1]
WEIGHT = 4.0  # of the norm beside the entropies, in ``both``
PERIOD = 5.0  # residuals span at most 4, and the kernel is 0 at half of what is left
FREQUENCIES = 50  # the last one has a weight of e^-20
CUBIC = 3
# From such a strength on, so many bins.
BINS = ((0.0, 8), (300.0, 12), (1500.0, 16), (6000.0, 24), (30_000.0, 32))
DEFAULT = "collisions"
MOST_PER_ROW = 5.0  # beyond, chance in the rows blurs a table more than the noise does


def strength(rows: float, variance: float) -> float:
    """How much a table of so many rows says under noise of this variance.

    Rows × ε if one person is replaced by another, twice that if one comes or goes: both are
    2 rows over the scale of the Laplace noise. Laplace noise of scale b has variance 2b².
    """
    per_row = MOST_PER_ROW if variance <= 0 else min((8 / variance) ** 0.5, MOST_PER_ROW)
    return max(rows, 0.0) * per_row


def bins_for(strength: float) -> int:
    """Bins per axis; to be chosen from what is public."""
    return max(bins for least, bins in BINS if strength >= least)


def project(tables: Floats, totals: float | Floats) -> Floats:
    """The probabilities nearest to noisy counts that should sum up to ``totals``.

    Euclidean projection onto the simplex: all cells are lowered by one number, and what falls
    below zero is zero. Without a positive total nothing is known, and cells are equal.
    """
    flat = np.asarray(tables, dtype=float).reshape(*tables.shape[:-2], -1)
    total = np.broadcast_to(np.asarray(totals, dtype=float), flat.shape[:-1])[..., None]
    flat, total = np.where(total > 0, flat, 0.0), np.where(total > 0, total, 1.0)
    down = -np.sort(-flat, axis=-1)
    excess = (down.cumsum(axis=-1) - total) / np.arange(1, flat.shape[-1] + 1)
    last = (down > excess).sum(axis=-1, keepdims=True) - 1
    level = np.take_along_axis(excess, last, axis=-1)
    return np.asarray((np.maximum(flat - level, 0) / total).reshape(tables.shape))


def score(p: Floats, method: str = DEFAULT) -> Scores:
    """Evidence of one table, x in its rows and y in its columns."""
    forward, backward = both_ways(p[None], method)
    return Scores(forward=float(forward[0]), backward=float(backward[0]))


def both_ways(tables: Floats, method: str = DEFAULT) -> tuple[Floats, Floats]:
    """Evidence that rows cause columns and that columns cause rows, of each table of a stack."""
    if method not in METHODS:
        raise MethodError(f"no table method {method!r}; choose from {', '.join(METHODS)}")
    one_way = METHODS[method]
    return one_way(tables), one_way(np.swapaxes(tables, -1, -2))


def collisions(p: Floats) -> Floats:
    """Minus the log of how much oftener residuals collide within a row than among all: at most 0.

    Two draws from a row's residuals fall into one bin with probability Σ s_i², two from all
    residuals with Σ s̄²; the first, averaged over the rows, is never the smaller one.
    """
    means, weights = _conditional_means(p)
    return -coincidence(_shares(p, _centres(p.shape[-1]) - means[..., None]), weights)


def coincidence(joint: Floats, weights: Floats) -> Floats:
    """log of Σ_i w_i Σ_g s_ig² / Σ_g s̄_g², for joint probabilities w_i s_ig: 0 just if all s_i
    are alike. The numerator less the denominator is that of Goodman and Kruskal's τ."""
    apart = (joint**2).sum(axis=-1)
    within = np.divide(apart, weights, out=np.zeros_like(apart), where=weights > 0).sum(axis=-1)
    return np.asarray(np.log(within / (joint.sum(axis=-2) ** 2).sum(axis=-1)))


def both(p: Floats) -> Floats:
    fitted = _regression(p)
    return -_entropies(p, fitted) - WEIGHT * _cross_covariance(p, fitted)


def entropy(p: Floats) -> Floats:
    return -_entropies(p, _regression(p))


def ghsic(p: Floats) -> Floats:
    return -_cross_covariance(p, _regression(p))


def reci(p: Floats) -> Floats:
    """Regression error [Blöbaum et al. 2018]: a cubic explains the effect better than the cause.

    Both axes are taken as they are, so the declared ranges decide the units of the errors.
    """
    centres = _centres(p.shape[-1])
    means, weights = _conditional_means(p)
    fitted = _fit(means, weights, CUBIC)
    seconds = p.sum(axis=-2) @ centres**2
    explained = (weights * fitted * (2 * means - fitted)).sum(axis=-1)
    return np.asarray(explained - seconds)


def cds(p: Floats) -> Floats:
    """Conditional distributions [Fonollosa 2016]: of the effect they differ in place, not in
    shape. Each row, moved to its mean, is one; rows without mass do not count."""
    k = p.shape[-1]
    means, weights = _conditional_means(p)
    moved = _shares(p, _centres(k) - means[..., None])
    shapes = moved / np.maximum(weights, 1e-300)[..., None]
    used = (weights > 1 / (4 * k))[..., None]
    count = np.maximum(used.sum(axis=-2, keepdims=True), 1)
    centre = (shapes * used).sum(axis=-2, keepdims=True) / count
    squares = ((shapes - centre) ** 2 * used).sum(axis=(-1, -2))
    return -np.asarray(np.sqrt(squares / (count[..., 0, 0] * moved.shape[-1])))


def igci(p: Floats) -> Floats:
    """Information geometry [Janzing et al. 2012], uniform reference: a cause has the larger
    entropy. The declared ranges are the reference, so they decide the answer."""
    return _entropy(p.sum(axis=-1))


METHODS: Mapping[str, Score] = {
    "collisions": collisions,
    "both": both,
    "entropy": entropy,
    "ghsic": ghsic,
    "reci": reci,
    "cds": cds,
    "igci": igci,
}


@lru_cache
def _centres(k: int) -> Floats:
    return (2 * np.arange(k) + 1) / k - 1


def _conditional_means(p: Floats) -> tuple[Floats, Floats]:
    """Mean of the columns in each row, and the rows' probabilities."""
    weights = p.sum(axis=-1)
    sums = p @ _centres(p.shape[-1])
    return np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0), weights


def _regression(p: Floats) -> Floats:
    """f at the centres of the rows, inside the range of the columns."""
    means, weights = _conditional_means(p)
    return np.clip(_fit(means, weights, min(DEGREE, p.shape[-1] - 2)), -1, 1)


def _fit(means: Floats, weights: Floats, degree: int) -> Floats:
    """Weighted least-squares polynomial at the centres."""
    basis = np.polynomial.chebyshev.chebvander(_centres(means.shape[-1]), degree)
    roots = np.sqrt(weights)[..., None]
    inverse = np.linalg.pinv(roots * basis, rcond=CUTOFF)
    return np.asarray((basis @ (inverse @ (roots * means[..., None])))[..., 0])


def _entropies(p: Floats, fitted: Floats) -> Floats:
    """H(rows) + H(residuals)."""
    residuals = _centres(p.shape[-1]) - fitted[..., None]
    return _entropy(p.sum(axis=-1)) + _entropy(_shares(p, residuals).sum(axis=-2))


def _entropy(p: Floats) -> Floats:
    positive = p > 0
    logs = np.log(p, out=np.zeros_like(p), where=positive)
    return -np.asarray((p * logs).sum(axis=-1))


def _shares(p: Floats, places: Floats) -> Floats:
    """Mass of each row at places in [-2, 2], shared by distance between the two nearest of
    2k + 1 bins of the table's width."""
    k = p.shape[-1]
    at = (places + 2) * (k / 2)
    low = np.clip(np.floor(at).astype(int), 0, 2 * k - 1)
    upper = p * (at - low)
    rows = np.arange(low[..., 0].size).reshape(*low.shape[:-1], 1) * (2 * k + 1)
    flat, size = (rows + low).ravel(), low[..., 0].size * (2 * k + 1)
    mass = np.bincount(flat, weights=(p - upper).ravel(), minlength=size).astype(float)
    mass += np.bincount(flat + 1, weights=upper.ravel(), minlength=size)
    return mass.reshape(*low.shape[:-1], 2 * k + 1)


def _cross_covariance(p: Floats, fitted: Floats) -> Floats:
    """Hilbert-Schmidt norm of the cross-covariance of rows and residuals, Gaussian kernels.

    Of the kernel on residuals, its Fourier series: a residual is a column less f(row), so the
    transform of a row's residuals is that of its columns, turned by f(row).
    """
    root, waves, weights, frequencies = _kernels(p.shape[-1])
    joint = (p @ waves) * np.exp(-1j * frequencies * fitted[..., None])
    covariance = joint - p.sum(axis=-1)[..., None] * joint.sum(axis=-2, keepdims=True)
    squares = np.abs(root @ covariance) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=-2) @ weights))


@lru_cache
def _kernels(k: int) -> tuple[Floats, NDArray[np.complex128], Floats, Floats]:
    """A root of the rows' kernel, waves at the columns, and the weights of their frequencies.

    exp(-d²/2b²) = Σ a_m cos(2πmd/P) over all m for |d| well below P, with
    a_m = b √(2π)/P exp(-(2πbm/P)²/2); negative frequencies are as much again.
    """
    centres = _centres(k)
    kernel = np.exp(-((centres[:, None] - centres) ** 2) / (2 * BANDWIDTH**2))
    values, vectors = np.linalg.eigh(kernel)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    frequencies = np.asarray(2 * pi / PERIOD * np.arange(1, FREQUENCIES + 1), dtype=float)
    waves = np.asarray(np.exp(1j * np.outer(centres, frequencies)))
    scale = 2 * BANDWIDTH * np.sqrt(2 * pi) / PERIOD
    weights = np.asarray(scale * np.exp(-((BANDWIDTH * frequencies) ** 2) / 2))
    return root, waves, weights, frequencies
