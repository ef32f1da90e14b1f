"""NOTEARS: the weights of a linear model, with acyclicity as a smooth equation.

Minimises ½ tr((I - W)' S (I - W)) + sparsity |W|_1 over matrices W (``W[i, j]``: i --> j) under
h(W) = tr(exp(W ∘ W)) - p = 0, which says that W has no circle [Zheng, Aragam, Ravikumar, Xing
2018]. Loss and gradient need the second moments S alone.

Which way the arrows point rests on the scales of the columns: least squares finds causes among
columns of small variance [Reisach, Seiler, Weichwald 2021]. It is right where all errors have
the same variance in the units of S, and not otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, frexp

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.constraints import Constraints

Smooth = Callable[[Floats], tuple[float, Floats]]

# The authors' values: penalty of weights, weights that count as none, and when h counts as 0.
SPARSITY, THRESHOLD, ACYCLIC = 0.1, 0.3, 1e-8
# Eigenvalues below this share of the largest are taken for rounding.
FLATTEST = 1e-9
# The multiplier is raised tenfold while a round does not shrink h to a quarter, up to this.
STEEPEST, MOST_ROUNDS = 1e16, 100
# How exactly each smooth problem is solved: a slope below SLACK is none.
SLACK = 1e-4
PRECISION = {"ftol": 3e-8, "gtol": SLACK, "maxiter": 5000, "maxfun": 10_000}


@dataclass(frozen=True)
class Weighted:
    """A DAG over columns and the weights of its arrows; a required arrow may weigh nothing."""

    arrows: Bools
    weights: Floats


def notears(
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
    rho, alpha, h = 1.0, 0.0, np.inf
    while h > ACYCLIC and rho < STEEPEST:
        weights = minimised(_lagrangian(covariance, rho, alpha), weights, constraints, sparsity)
        left = acyclicity(weights)[0]
        if left <= h / 4:
            h = left
            alpha += rho * h
        else:
            rho *= 10
    return without_circles(weights, threshold, constraints)


def of_unit_errors(covariance: Floats) -> Floats:
    """The covariance, as a whole scaled such that the errors have variance 1 (geometric mean).

    In every linear model without circles the product of the errors' variances is det S, so this
    needs no graph. It gives ``sparsity`` the meaning that it has in the authors' experiments.
    """
    values = np.linalg.eigvalsh(covariance)
    values = np.maximum(values, max(FLATTEST * values[-1], 1e-300))
    return np.asarray(covariance / np.exp(np.log(values).mean()))


def _lagrangian(covariance: Floats, rho: float, alpha: float) -> Smooth:
    def smooth(weights: Floats) -> tuple[float, Floats]:
        loss, slope = least_squares(weights, covariance)
        h, turn = acyclicity(weights)
        return loss + rho / 2 * h * h + alpha * h, slope + (rho * h + alpha) * turn

    return smooth


def least_squares(weights: Floats, covariance: Floats) -> tuple[float, Floats]:
    """½ tr((I - W)' S (I - W)) and its gradient."""
    rest = np.eye(len(weights)) - weights
    slope = -covariance @ rest
    return -0.5 * float((rest * slope).sum()), slope


def acyclicity(weights: Floats) -> tuple[float, Floats]:
    """h(W) = tr(exp(W ∘ W)) - p and its gradient."""
    powers = exponential(weights * weights)
    return float(np.trace(powers)) - len(weights), powers.T * weights * 2


def exponential(matrix: Floats) -> Floats:
    """exp of a matrix without negative entries: a Taylor series of a 2^k-th part, squared k times.

    As no term is negative nothing cancels, so this is exact to rounding and needs no inverse.
    """
    norm = float(matrix.sum(axis=0).max())
    halvings = max(0, frexp(norm)[1] + 1)  # leaves a norm below 1/2: the series ends below 2e-14
    first = matrix / 2.0**halvings
    second = first @ first
    third = second @ first
    eye = np.eye(len(matrix))
    total = third / factorial(12)
    for k in (9, 6, 3, 0):
        total += eye / factorial(k) + first / factorial(k + 1) + second / factorial(k + 2)
        total = total @ third if k else total
    for _ in range(halvings):
        total = total @ total
    return total


def minimised(smooth: Smooth, start: Floats, constraints: Constraints, sparsity: float) -> Floats:
    """The weights where smooth(W) + sparsity |W|_1 is least near ``start``.

    Only the weights that are not 0, or want to leave it, take part in each round, each with the
    sign that it has or wants, which makes the penalty smooth; rounds end when no other weight
    wants to leave 0. Forbidden arrows stay at 0 and required ones go without penalty.
    """
    from scipy.optimize import minimize

    smooth = _Finite(smooth, start)
    price = np.where(constraints.required, 0.0, sparsity)
    weights = start
    for _ in range(MOST_ROUNDS):
        slope = smooth(weights)[1]
        fresh = (weights == 0) & constraints.allowed & (np.abs(slope) > price + SLACK)
        active = np.flatnonzero(fresh | (weights != 0))
        if not len(active) or (not fresh.any() and weights is not start):
            break
        sign = np.where(fresh, -np.sign(slope), np.sign(weights)).take(active)
        own = price.take(active)

        def penalised(
            sizes: Floats,
            active: Indices = active,
            sign: Floats = sign,
            own: Floats = own,
        ) -> tuple[float, Floats]:
            value, inner = smooth(_spread(sizes * sign, active, len(price)))
            return value + float(own @ sizes), inner.take(active) * sign + own

        found = minimize(
            penalised,
            np.abs(weights.take(active)),
            method="L-BFGS-B",
            jac=True,
            bounds=[(0, None)] * len(sign),
            options=PRECISION,
        )
        weights = _spread(found.x * sign, active, len(price))
    return weights


class _Finite:
    """A smooth function, also where it is infinite or its terms are too large to be written.

    Such a point looks as bad as the step to it looked good from the last finite one, and no better
    than the start, so that a line search turns back and never ends there.
    """

    def __init__(self, smooth: Smooth, start: Floats) -> None:
        self.smooth, self.last = smooth, start
        self.worst, self.slope = smooth(start)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        with np.errstate(over="ignore", invalid="ignore"):
            value, slope = self.smooth(weights)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            hoped = abs(float((self.slope * (weights - self.last)).sum()))
            return self.worst + hoped, -self.slope
        self.last, self.slope = weights, slope
        return value, slope


def _spread(values: Floats, places: Indices, size: int) -> Floats:
    out = np.zeros(size * size)
    out[places] = values
    return out.reshape(size, size)


def without_circles(weights: Floats, threshold: float, constraints: Constraints) -> Weighted:
    """The arrows above the threshold and the required ones; where they run in circles, the
    weakest arrow on any circle goes, until there is none."""
    required = constraints.required & constraints.allowed
    arrows = (np.abs(weights) > threshold) & constraints.allowed | required
    while True:
        reach = arrows.copy()
        for _ in range(len(arrows).bit_length()):
            reach |= (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        circling = arrows & reach.T & ~required
        if not circling.any():
            return Weighted(arrows, np.where(arrows, weights, 0.0))
        weakest = np.where(circling, np.abs(weights), np.inf).argmin()
        arrows[np.unravel_index(weakest, arrows.shape)] = False
