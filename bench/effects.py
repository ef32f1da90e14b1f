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
    stratum = np.zeros(len(codes[x]), dtype=np.int64)
    for z in given:
        stratum = stratum * levels[z] + codes[z]
    seen, stratum = np.unique(stratum, return_inverse=True)
    cell = (stratum * levels[x] + codes[x]) * levels[y] + codes[y]
    size = len(seen), levels[x], levels[y]
    counts = np.bincount(cell, minlength=int(np.prod(size))).reshape(size).astype(float)
    rows, columns = counts.sum(axis=2), counts.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None, :] / counts.sum(axis=(1, 2))[:, None, None]
    squares = np.where(expected > 0, (counts - expected) ** 2 / np.maximum(expected, 1e-300), 0.0)
    freedom = ((rows > 0).sum(axis=1) - 1) * ((columns > 0).sum(axis=1) - 1)
    excess = (squares.sum(axis=(1, 2)) - freedom)[freedom > 0].sum()
    squared = max(float(excess), 0.0) / counts.sum()
    return float(np.sqrt(squared / (min(levels[x], levels[y]) - 1)))
