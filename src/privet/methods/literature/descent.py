"""NOTEARS by noisy gradients: the optimiser of NoLeaks, which never sees a row.

The loss ½ Σ |x - W'x|² is quadratic, so its gradient at W is -S (I - W), S the second moments,
and in a constant it is -m' (I - W), m the means. Each answer, at weights of our choice, is
therefore a noisy look at S and m from one side. All looks so far are put together, each weighed
by its precision, and give at once the gradient anywhere, the curvature and the line search:
nothing of that costs privacy. The first look is at W = 0, where it is S itself; later ones are at
the weights reached so far, where residuals are smaller than rows and so is the noise. Weights
move on in between by the augmented Lagrangian of NOTEARS, its penalty on circles growing by a
plan that is fixed in advance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats, Integers
from privet.privacy.queries.gradient import FINE, WEIGHT
from privet.search.constraints import Constraints
from privet.search.notears import (
    Smooth,
    acyclicity,
    least_squares,
    minimised,
    of_unit_errors,
    without_circles,
)

# Asked at some step for W (in steps of 1 / WEIGHT), with how long y r', y = (CONSTANT, x), usually
# is by present knowledge, the owner of the rows gives the mean of y r' and the variance of the
# noise in each entry.
Ask = Callable[[int, Integers, float], tuple[Floats, float]]

CONSTANT = 0.5  # in deviations of the columns; it finds their means, and more would add noise
# The penalty on circles grows to this in at least so many rounds; what is left of them is cut.
STEEPEST, ROUNDS = 1e10, 12
EXACT = 1e-18  # the variance of an answer without noise
FLATTEST = 1e-3  # smallest eigenvalue of S, compared with the mean one


@dataclass(frozen=True)
class Fitted:
    """Weights of an acyclic linear model in units of the columns' deviations, and how far noise
    (of privacy and of sampling) may have moved each."""

    weights: Floats
    deviations: Floats


class Looks:
    """What noisy gradients say of means and second moments: the least squares of all S A_t = G_t
    with S symmetric, A_t = I - W_t, and of all m'A_t = g_t.

    With M = Σ A_t A_t' / variance, B = Σ G_t A_t' / variance and b likewise, m'M = b' and
    S M + M S = B + B', which is solved where M is diagonal.
    """

    def __init__(self, size: int) -> None:
        self.precision = np.zeros((size, size))
        self._sums = np.zeros((size + 1, size))

    def add(self, kept: Floats, answer: Floats, variance: float) -> None:
        """The mean of y r' at A = ``kept``, with noise."""
        variance = max(variance, EXACT)
        self.precision += kept @ kept.T / variance
        self._sums += answer @ kept.T / variance

    def covariance(self) -> Floats:
        """S - mm', its eigenvalues raised where noise may have pulled them down to nothing."""
        mean = np.linalg.solve(self.precision, self._sums[0]) / CONSTANT
        values, turn = np.linalg.eigh(self.precision)
        sides = turn.T @ (self._sums[1:] + self._sums[1:].T) @ turn
        found = turn @ (sides / (values[:, None] + values)) @ turn.T - np.outer(mean, mean)
        noise = np.sqrt(len(values) / (2 * values[0]))  # about the norm of what noise adds
        own, axes = np.linalg.eigh(found)
        usual = max(float(own.mean()), 1e-9)
        least = max(FLATTEST * usual, min(float(noise), usual / 2))
        return np.asarray(axes * np.maximum(own, least) @ axes.T)


def descend(
    ask: Ask, scales: Floats, constraints: Constraints, *, sparsity: float, steps: int, rows: float
) -> Fitted:
    """The model that a look at W = 0 and so many gradients lead to. ``scales`` are the columns'
    deviations in the units in which errors are compared; rows and answers are in units of these
    deviations."""
    size = len(scales)
    looks, scaled = Looks(size), np.outer(scales, scales)
    weights, covariance, alpha = np.zeros((size, size)), np.eye(size), 0.0
    asked, rounds = 0, max(steps + 1, ROUNDS)
    for turn, rho in enumerate(np.geomspace(1.0, STEEPEST, rounds)):
        if turn * (steps + 1) >= asked * rounds:
            whole = np.rint(np.clip(_own(weights, scales) * WEIGHT, -FINE, FINE)).astype(np.int64)
            kept = np.eye(size) - whole / WEIGHT
            # rows are cut, but by how much r falls short of x shows all the same
            left = np.trace(kept.T @ covariance @ kept) / np.trace(covariance)
            length = np.sqrt((size + CONSTANT**2) * size * left)
            looks.add(kept, *ask(asked, whole, float(length)))
            covariance, asked = looks.covariance(), asked + 1
        smooth = _penalised(of_unit_errors(covariance * scaled), float(rho), alpha)
        with np.errstate(all="ignore"):  # a line search may look far away
            weights = minimised(smooth, weights, constraints, sparsity)
        alpha += rho * acyclicity(weights)[0]
    arrows = without_circles(weights, 0.0, constraints).arrows
    return fitted(arrows, covariance, looks.precision, rows)


def _penalised(covariance: Floats, rho: float, alpha: float) -> Smooth:
    """The loss, with what circles cost at this stage."""

    def smooth(weights: Floats) -> tuple[float, Floats]:
        loss, slope = least_squares(weights, covariance)
        h, turn = acyclicity(weights)
        return loss + rho / 2 * h * h + alpha * h, slope + (rho * h + alpha) * turn

    return smooth


def _own(weights: Floats, scales: Floats) -> Floats:
    """Weights in units of the columns' deviations."""
    return np.asarray(weights * scales[:, None] / scales)


def fitted(arrows: Bools, covariance: Floats, precision: Floats, rows: float) -> Fitted:
    """Least squares along the arrows, without what the penalties took off.

    With S the covariance and P the parents of j, w = S_PP⁻¹ S_Pj. Noise e in (S a)_P, where
    a = (I - W)_j, moves w by S_PP⁻¹ e; e has variance a' M⁻¹ a from privacy, and a' S a S_PP / rows
    from sampling.
    """
    inverse = np.linalg.inv(precision)
    weights, deviations = np.zeros_like(covariance), np.zeros_like(covariance)
    for j, parents in enumerate(map(np.flatnonzero, arrows.T)):
        if len(parents):
            back = np.linalg.inv(covariance[np.ix_(parents, parents)])
            weights[parents, j] = back @ covariance[parents, j]
            kept = -weights[:, j]
            kept[j] += 1
            private = (kept @ inverse @ kept) * (back**2).sum(axis=1)
            sampled = (kept @ covariance @ kept) * np.diag(back) / rows
            deviations[parents, j] = np.sqrt(private + sampled)
    return Fitted(weights, deviations)
