"""The conditional Kendall test of Wang, Pang and Song 2020, as their code has it.

Nothing here is private (docs/published.md). The test skips a stratum with two rows or fewer, or
with a constant column; so one record decides whether a whole stratum counts, and the claimed
sensitivity of the p-value, that of one stratum, is too small.
"""

from __future__ import annotations

from math import erf, nan, sqrt

import numpy as np

from privet.arrays import Floats, Integers


def p_value(table: Integers) -> float:
    """One-sided, at most 1/2, of a table with axes x, y and strata; not a number (which compares
    as false with everything) if no stratum is left."""
    sizes = table.sum(axis=(0, 1))
    varied = ((table.sum(axis=1) > 0).sum(axis=0) > 1) & ((table.sum(axis=0) > 0).sum(axis=0) > 1)
    kept = varied & (sizes > 2)
    if not kept.any():
        return nan
    m = sizes[kept].astype(np.float64)
    weight = 9 * m * (m - 1) / (2 * (2 * m + 5))  # one over the variance of tau without ties
    tau = concordance(table[:, :, kept]) / (m * (m - 1) / 2)
    z = float((weight * tau).sum() / np.sqrt(weight.sum()))
    return (1 - erf(abs(z) / sqrt(2))) / 2


def concordance(table: Integers) -> Floats:
    """Concordant less discordant pairs of each stratum."""
    return _agreeing(table) - _agreeing(table[:, ::-1])


def _agreeing(table: Integers) -> Floats:
    counts = table.astype(np.float64)
    below = counts.cumsum(axis=0).cumsum(axis=1)
    return np.asarray((counts[1:, 1:] * below[:-1, :-1]).sum(axis=(0, 1)))


def claimed_sensitivity(rows: int) -> float:
    """What Priv-PC and SVT-PC take for the most that one record moves the p-value."""
    return erf(6 / sqrt(2 * rows)) / 2
