"""Regression error [Blöbaum et al. 2018]: a cubic explains the effect with the smaller error.

Errors are compared in units of each column's range, so one outlier can turn the answer, and so can
the choice of units: much of what it says on real pairs is said by the variances alone.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Floats
from privet.pairs.algorithms.score import Scores

DEGREE = 3


def reci(x: Floats, y: Floats, *, monomial: bool = False) -> Scores:
    """``monomial``: a constant and the cube alone, as the Causal Discovery Toolbox has it."""
    powers = (0, DEGREE) if monomial else tuple(range(DEGREE + 1))
    x, y = _between_0_and_1(x), _between_0_and_1(y)
    return Scores(forward=-_error(x, y, powers), backward=-_error(y, x, powers))


def _error(x: Floats, y: Floats, powers: tuple[int, ...]) -> float:
    basis = x[:, None] ** np.array(powers)
    weights = np.linalg.lstsq(basis, y, rcond=None)[0]
    return float(((y - basis @ weights) ** 2).mean())


def _between_0_and_1(x: Floats) -> Floats:
    return np.asarray((x - x.min()) / (x.max() - x.min()))
