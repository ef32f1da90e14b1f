"""PrivPC* as published: Laplace noise on the covariance of standardised columns, its scale from
a bound that takes every record for one with values within ±1 and the means for fixed.

A paper's noise for comparison; nothing here is private (docs/published.md). Rows come clamped to
the schema's bounds, since nothing else is to be had; wide bounds leave them as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privet.arrays import Floats
from privet.privacy.queries.base import Release
from privet.privacy.queries.box_moments import GRID, BoxMoments, matrix

if TYPE_CHECKING:
    from privet.methods.options import Settings
    from privet.trust.curator import Curator


WHY = (
    "its bound p(p+1)/(2(n-1)) on what one record does to the covariance holds for records within "
    "±1 and known means only; records are unbounded, and centring and standardising depend on all "
    "of them, so one record can move a correlation from 0 to 1 (priv-pc-star in docs/published.md)"
)
SHARE = 1 / 16  # of the box that a variance of 1 takes: bounds at four deviations


def measure(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    query = BoxMoments(columns=curator.schema.names)
    sums = matrix(curator.exact(query).values, len(query.columns))
    rows = max(float(sums[0, 0]), 2.0)
    mean = sums[0, 1:] / rows
    covariance = (sums[1:, 1:] - rows * np.outer(mean, mean)) / (rows - 1)
    noisy = noisy_covariance(covariance, rows, epsilon, np.random.default_rng(settings.seed))
    moments = np.zeros_like(sums)
    moments[0, 0], moments[1:, 1:] = 1.0, noisy * SHARE
    unit = rows * GRID**2
    return (
        Release(
            query=query,
            values=np.rint(moments[np.triu_indices(len(sums))] * unit).astype(np.int64),
            variance=2 * (scale(len(mean), rows, epsilon) * SHARE * unit) ** 2,
            mechanism=f"Laplace noise for epsilon {epsilon:g}, as published",
        ),
    )


def noisy_covariance(
    covariance: Floats, rows: float, epsilon: float, rng: np.random.Generator
) -> Floats:
    """The covariance of standardised columns, with the paper's noise on its triangle."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    noise = np.triu(rng.laplace(scale=scale(len(deviation), rows, epsilon), size=covariance.shape))
    noisy: Floats = covariance / np.outer(deviation, deviation) + noise + np.triu(noise, 1).T
    return noisy


def scale(columns: int, rows: float, epsilon: float) -> float:
    """Theorem 2: p (p + 1) / (2 (n - 1)) over epsilon."""
    return columns * (columns + 1) / (2 * (rows - 1) * epsilon)
