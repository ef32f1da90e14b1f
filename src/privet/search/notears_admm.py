"""NOTEARS over several sites: each fits its own weights, and all are drawn to one acyclic matrix.

[Ng, Zhang 2022], the linear form. Each site minimises its squared error with a pull towards the
server's weights W, in closed form from its second moments. The server minimises the pulls of all
sites with a penalty on the size of W and on its circles, and the pulls grow from round to round.
What a site sends is its whole matrix of weights. Nothing here is private.

As with NOTEARS, which way the arrows point rests on the scales of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.arrays import Floats
from privet.search.constraints import Constraints
from privet.search.notears import Smooth, Weighted, acyclicity, minimised, without_circles

# The authors' values: penalty of weights, weights that count as none, first strengths of the pulls
# (to no circle, and to each other), and their growth.
SPARSITY, THRESHOLD = 0.01, 0.3
FIRST, CIRCLE_GROWTH, PULL_GROWTH = 1e-3, 1.75, 1.25
STRONGEST, ACYCLIC, AGREED = 1e16, 1e-8, 1e-4
MOST_ROUNDS = 200


def notears_admm(
    covariances: Sequence[Floats],
    constraints: Constraints,
    *,
    sparsity: float = SPARSITY,
    threshold: float = THRESHOLD,
) -> tuple[Weighted, int]:
    """One DAG for all sites, and the number of rounds. Each site sends p² numbers in each."""
    size = len(covariances[0])
    weights = np.zeros((size, size))
    own = np.zeros((len(covariances), size, size))
    slopes, alpha, circle, pull = np.zeros_like(own), 0.0, FIRST, FIRST
    rounds, h, apart = 0, np.inf, np.inf
    while rounds < MOST_ROUNDS and (h > ACYCLIC or apart > AGREED):
        rounds += 1
        for at, covariance in enumerate(covariances):
            own[at] = _fitted(covariance, weights, slopes[at], pull)
        target = (own + slopes / pull).mean(axis=0)
        smooth = _consensus(target, len(own) * pull, circle, alpha)
        weights = minimised(smooth, weights, constraints, sparsity)
        slopes += pull * (own - weights)
        h = acyclicity(weights)[0]
        alpha += circle * h
        apart = float(np.abs(own - weights).max())
        circle = min(circle * CIRCLE_GROWTH, STRONGEST)
        pull = min(pull * PULL_GROWTH, STRONGEST)
    return without_circles(weights, threshold, constraints), rounds


def _fitted(covariance: Floats, weights: Floats, slope: Floats, pull: float) -> Floats:
    """Where ½ tr((I - B)' S (I - B)) + <slope, B - W> + pull/2 |B - W|² is least; the diagonal,
    which would explain every column by itself, is left to the pull."""
    right = covariance + pull * weights - slope
    return np.asarray(np.linalg.solve(covariance + pull * np.eye(len(covariance)), right))


def _consensus(target: Floats, pull: float, circle: float, alpha: float) -> Smooth:
    def smooth(weights: Floats) -> tuple[float, Floats]:
        h, turn = acyclicity(weights)
        apart = weights - target
        value = pull / 2 * float((apart * apart).sum()) + circle / 2 * h * h + alpha * h
        return value, pull * apart + (circle * h + alpha) * turn

    return smooth
