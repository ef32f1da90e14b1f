"""DAGMA: as NOTEARS, with a log-determinant that says "no circle".

Minimises ½ tr((I - W)' S (I - W)) + sparsity |W|_1 + h(W) / mu with
h(W) = -log det(sI - W ∘ W) + p log s for mu = 1, 0.1, 0.01, …, each from where the last one ended
[Bello, Aragam, Ravikumar 2022]. h is 0 for DAGs, positive otherwise, and endless at the border
of the matrices that it is meant for (all eigenvalues of W ∘ W within s). It sees long circles
where the exponential of NOTEARS hardly does, and costs one inverse.

The authors descend with Adam in small steps; here L-BFGS does, which takes a fraction of them.
What NOTEARS says about units holds here too.
"""

from __future__ import annotations

from math import inf, log

import numpy as np

from privet.arrays import Floats
from privet.search.constraints import Constraints
from privet.search.notears import (
    THRESHOLD,
    Smooth,
    Weighted,
    least_squares,
    minimised,
    of_unit_errors,
    without_circles,
)

# The authors' values: penalty of weights, and the path of mu and s.
SPARSITY = 0.03
PATH = ((1.0, 1.0), (0.1, 0.9), (0.01, 0.8), (0.001, 0.7), (0.0001, 0.6))


def dagma(
    covariance: Floats,
    constraints: Constraints,
    *,
    sparsity: float = SPARSITY,
    threshold: float = THRESHOLD,
) -> Weighted:
    """A DAG that fits a covariance, known up to a factor; weights up to ``threshold`` count as
    none."""
    covariance = of_unit_errors(covariance)
    weights = np.zeros_like(covariance)
    for mu, s in PATH:
        while acyclicity(weights, s) is None:  # the last stop lies outside: widen a little
            s += 0.1
        weights = minimised(_penalised(covariance, mu, s), weights, constraints, sparsity)
    return without_circles(weights, threshold, constraints)


def acyclicity(weights: Floats, s: float) -> tuple[float, Floats] | None:
    """h(W) and its gradient, or None where an eigenvalue of W ∘ W reaches s."""
    from scipy.linalg.lapack import dgesv

    eye = np.eye(len(weights))
    factors, _, inverse, singular = dgesv(s * eye - weights * weights, eye)
    if singular:
        return None
    if inverse.min() < -1e-12:  # a matrix of this kind is inside just if its inverse is >= 0
        return None
    size = sum(log(abs(pivot)) for pivot in factors.diagonal().tolist())
    return len(weights) * log(s) - size, 2 * inverse.T * weights


def _penalised(covariance: Floats, mu: float, s: float) -> Smooth:
    """Loss and h / mu; infinite outside."""

    def smooth(weights: Floats) -> tuple[float, Floats]:
        circles = acyclicity(weights, s)
        if circles is None:
            return inf, weights
        loss, slope = least_squares(weights, covariance)
        return loss + circles[0] / mu, slope + circles[1] / mu

    return smooth
