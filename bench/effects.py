"""How strongly two columns depend on each other in exact rows, given others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def conditional_v(
    codes: Sequence[NDArray[Any]], levels: Sequence[int], x: int, y: int, given: Sequence[int] = ()
) -> float:
    """Bias-corrected Cramér's V of columns x and y within the strata of others."""
    stratum, strata = np.zeros(len(codes[x]), dtype=np.int64), 1
    for z in given:
        stratum, strata = stratum * levels[z] + codes[z], strata * levels[z]
    cell = (stratum * levels[x] + codes[x]) * levels[y] + codes[y]
    size = strata, levels[x], levels[y]
    counts = np.bincount(cell, minlength=int(np.prod(size))).reshape(size).astype(float)
    rows, columns, total = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=(1, 2))
    expected = rows[:, :, None] * columns[:, None, :] / np.maximum(total, 1.0)[:, None, None]
    squares = np.where(expected > 0, (counts - expected) ** 2 / np.maximum(expected, 1e-300), 0.0)
    freedom = ((rows > 0).sum(axis=1) - 1) * ((columns > 0).sum(axis=1) - 1)
    excess = (squares.sum(axis=(1, 2)) - freedom)[freedom > 0].sum()
    squared = max(float(excess), 0.0) / counts.sum()
    return float(np.sqrt(squared / (min(levels[x], levels[y]) - 1)))


def partial_correlation(
    covariance: NDArray[Any], x: int, y: int, given: Sequence[int] = ()
) -> float:
    """Without its sign."""
    inverse = np.linalg.pinv(covariance[np.ix_([x, y, *given], [x, y, *given])])
    return float(abs(inverse[0, 1]) / np.sqrt(inverse[0, 0] * inverse[1, 1]))
