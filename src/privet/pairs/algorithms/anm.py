"""The additive-noise model [Hoyer et al. 2009]: regress each column on the other, and believe the
direction in which the residuals depend less on the cause.

The regression is a Gaussian process with a Gaussian kernel, whose width, height and noise are
those of the largest marginal likelihood among some; the kernel is factored as for HSIC, so that
time grows as the rows. Dependence is measured by HSIC with median bandwidths, which look at the
rows: fine without privacy, and not with it.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Floats
from privet.pairs.algorithms.hsic import factor, hsic
from privet.pairs.algorithms.score import Scores

WIDTHS = np.geomspace(0.2, 10, 10)  # of the kernel, for a column of standard deviation 1
HEIGHTS = np.geomspace(1e-3, 1e6, 40)  # variance of the function over that of the noise


def anm(x: Floats, y: Floats) -> Scores:
    x, y = _standard(x), _standard(y)
    return Scores(forward=-hsic(x, y - regression(x, y)), backward=-hsic(y, x - regression(y, x)))


def regression(x: Floats, y: Floats) -> Floats:
    """The mean of y given x, at x, for two columns of mean 0 and standard deviation 1."""
    best, mean = np.inf, np.zeros_like(y)
    for width in WIDTHS:
        thin = factor(x / width)
        values, vectors = np.linalg.eigh(thin.T @ thin)
        turned = vectors.T @ (thin.T @ y)
        loss, height = _likeliest(np.maximum(values, 0), turned, float(y @ y), len(y))
        if loss < best:
            best, mean = loss, thin @ (vectors @ (height * turned / (1 + height * values)))
    return np.asarray(mean)


def _likeliest(values: Floats, turned: Floats, total: float, rows: int) -> tuple[float, float]:
    """Least negative log marginal likelihood over the heights, and its height.

    The noise's variance is set to its likeliest value, (total - explained) / rows.
    """
    grown = 1 + HEIGHTS[:, None] * values
    explained = (HEIGHTS[:, None] * turned**2 / grown).sum(axis=1)
    noise = np.maximum(total - explained, 1e-12 * total) / rows
    losses = rows / 2 * np.log(noise) + np.log(grown).sum(axis=1) / 2
    at = int(losses.argmin())
    return float(losses[at]), float(HEIGHTS[at])


def _standard(x: Floats) -> Floats:
    return np.asarray((x - x.mean()) / x.std())
