"""NoLeaks and the score-based CURATE as published: the mean gradient is clipped, entry by entry.

A paper's noise for comparison; nothing here is private (docs/published.md). The loss is quadratic,
so exact second moments stand for all rows. Levels become numbers as in the authors' code: the
middle of a level's share in order of frequency, times 20. The line search, which there looks at
1,000 rows in the clear, has the exact moments here, which can only help. The number of
gradients, there known afterwards, is fixed, and the claimed epsilon and delta are shared out
among them by adding up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import exp, sqrt
from typing import TYPE_CHECKING

import numpy as np

from privet.arrays import Floats
from privet.methods.literature.weights import Weights, as_release
from privet.privacy.queries.base import Release
from privet.privacy.queries.box_moments import BoxMoments, matrix
from privet.privacy.queries.tables import Tables
from privet.search.notears import acyclicity, least_squares

if TYPE_CHECKING:
    from privet.methods.options import Settings
    from privet.trust.curator import Curator


STEPS = 100  # gradients: L-BFGS asks for some hundreds if nobody stops it
CUT = 2.0  # of an entry of the mean gradient
NOLEAKS, CURATE = 2 * CUT, CUT  # how far an entry of the sum is said to move
SPAN = 20.0  # of the numbers that stand for levels
SPARSITY, THRESHOLD = 0.1, 0.3  # the authors take the threshold that fits the true graph best
ACYCLIC, STEEPEST = 1e-8, 1e16
WHY = (
    "the mean gradient is clipped instead of each record's share, and a clipped mean moves as far "
    "as it did before: one record can move it hundreds of times as far as the claimed "
    "sensitivity, and up to n times; and the line search reads 1,000 rows as if they were public "
    "(noleaks in docs/published.md)"
)
WHY_GROWING = (
    "as in NoLeaks the mean gradient is clipped instead of each record's share, so that one "
    "record can move it hundreds of times as far as claimed; and budgets epsilon0^(1+i/I) fall "
    "instead of rising where epsilon0 is below 1 (curate-score in docs/published.md)"
)


def measure(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    steps = settings.steps or STEPS
    return _measure(curator, settings, [epsilon / steps] * steps, delta, NOLEAKS)


def measure_growing(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    epsilons = schedule(settings.schedule, epsilon, settings.steps or STEPS)
    return _measure(curator, settings, epsilons, delta, CURATE)


def schedule(name: str, total: float, steps: int) -> list[float]:
    """The published budgets for the epsilon0 that makes them add up to a total."""
    laws: dict[str, Callable[[float, float], float]] = {
        "additive": lambda first, t: first * (1 + t),
        "exponential": lambda first, t: first * exp(t),
        "multiplicative": lambda first, t: first ** (1 + t),
    }
    low, high = 0.0, total
    for _ in range(200):
        first = (low + high) / 2
        grown = [laws[name](first, i / steps) for i in range(steps)]
        low, high = (first, high) if sum(grown) < total else (low, first)
    return grown


def _measure(
    curator: Curator, settings: Settings, epsilons: Sequence[float], delta: float, reach: float
) -> tuple[Release, ...]:
    settings.on_step("taking exact moments", 0.0)
    moments, rows = second_moments(curator)
    size, each = len(moments), delta / len(epsilons)
    scales = [noise_scale(size, rows, epsilon, each, reach) for epsilon in epsilons]
    rng = np.random.default_rng(settings.seed)
    sparsity = SPARSITY if settings.sparsity is None else settings.sparsity
    weights = fit(moments, scales, rng, sparsity)
    query = Weights(
        columns=curator.schema.names,
        scales=(1.0,) * size,
        floor=THRESHOLD,
        steps=len(scales),
        sparsity=sparsity,
    )
    mechanism = "Gaussian noise on a clipped mean, as published"
    return (as_release(query, weights, np.zeros_like(weights), mechanism),)


def clipped_mean_gradient(
    weights: Floats, moments: Floats, scale: float, rng: np.random.Generator
) -> Floats:
    """What is released: the gradient of the mean loss, clipped, with noise, its diagonal 0."""
    mean = np.clip(least_squares(weights, moments)[1], -CUT, CUT)
    noisy = mean + rng.normal(scale=scale, size=mean.shape)
    np.fill_diagonal(noisy, 0.0)
    return noisy


def noise_scale(columns: int, rows: float, epsilon: float, delta: float, reach: float) -> float:
    """From the claim that a mean of numbers cut to ±CUT moves by reach / n in each entry."""
    claimed = sqrt(columns * (columns - 1)) * reach / rows
    return analytic_gaussian(epsilon, delta) * claimed


def analytic_gaussian(epsilon: float, delta: float) -> float:
    """The smallest scale per sensitivity that is (epsilon, delta)-DP [Balle, Wang 2018]."""
    from scipy.special import log_ndtr, ndtr

    def lost(scale: float) -> float:
        near, far = 1 / (2 * scale) - epsilon * scale, -1 / (2 * scale) - epsilon * scale
        return float(ndtr(near) - np.exp(epsilon + log_ndtr(far)))

    low, high = 1e-6, 1.0
    while lost(high) > delta:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) > delta else (low, middle)
    return high


def fit(
    moments: Floats, scales: Sequence[float], rng: np.random.Generator, sparsity: float
) -> Floats:
    """NOTEARS with L-BFGS on noisy gradients, stopped when there are no more of them."""
    from scipy.optimize import minimize

    size = len(moments)
    waiting, weights = list(scales), np.zeros(2 * size * size)
    rho, alpha, h = 1.0, 0.0, np.inf

    def apart(both: Floats) -> Floats:
        return np.asarray((both[: size**2] - both[size**2 :]).reshape(size, size))

    def value(both: Floats) -> float:
        turn = np.float64(acyclicity(apart(both))[0])
        loss = least_squares(apart(both), moments)[0]
        with np.errstate(over="ignore"):  # noise may lead far away; infinite is far enough
            return float(loss + rho / 2 * turn**2 + alpha * turn + sparsity * both.sum())

    def slope(both: Floats) -> Floats:
        if not waiting:
            raise StopIteration
        turn, turned = acyclicity(apart(both))
        noisy = clipped_mean_gradient(apart(both), moments, waiting.pop(0), rng)
        smooth = noisy + (rho * turn + alpha) * turned
        return np.concatenate([smooth.ravel(), -smooth.ravel()]) + sparsity

    def keep(both: Floats) -> None:
        nonlocal weights
        weights = both.copy()

    free = np.where(np.eye(size, dtype=bool), 0.0, np.inf).ravel()
    bounds = list(zip(np.zeros(2 * size**2), np.tile(free, 2), strict=True))
    try:
        while h > ACYCLIC and rho < STEEPEST:
            found = minimize(
                value, weights, jac=slope, method="L-BFGS-B", bounds=bounds, callback=keep
            )
            left = acyclicity(apart(found.x))[0]
            if left > h / 4:
                rho *= 10
            else:
                weights, h = found.x, left
                alpha += rho * h
    except StopIteration:
        pass
    return apart(weights)


def second_moments(curator: Curator) -> tuple[Floats, float]:
    """The exact covariance of the columns and the number of rows: of numbers in their own units,
    or, if some column has none, of the numbers that stand for levels (or bins)."""
    schema = curator.schema
    if schema.has_moments:
        query = BoxMoments(columns=schema.names)
        sums = matrix(curator.exact(query).values, len(schema.names))
        rows = max(float(sums[0, 0]), 1.0)
        mean = sums[0, 1:] / rows
        half = np.array([(c.range[1] - c.range[0]) / 2 for c in schema.columns if c.range])
        return (sums[1:, 1:] / rows - np.outer(mean, mean)) * np.outer(half, half), rows
    names, sizes = schema.names, [column.cardinality for column in schema.columns]
    pairs = list(combinations(range(len(names)), 2))
    counted = curator.exact(Tables(tuple((names[i], names[j]) for i, j in pairs))).values
    ends = np.cumsum([sizes[i] * sizes[j] for i, j in pairs])[:-1]
    tables = {
        pair: part.reshape(sizes[pair[0]], sizes[pair[1]])
        for pair, part in zip(pairs, np.split(counted, ends), strict=True)
    }
    rows = max(float(tables[pairs[0]].sum()), 1.0)
    shares = [tables[0, 1].sum(axis=1) / rows] + [
        tables[0, j].sum(axis=0) / rows for j in range(1, len(names))
    ]
    numbers = [_numbers(share) for share in shares]
    moments = np.diag([float(share @ x**2) for share, x in zip(shares, numbers, strict=True)])
    for i, j in pairs:
        moments[i, j] = moments[j, i] = numbers[i] @ tables[i, j] @ numbers[j] / rows
    return moments, rows


def _numbers(shares: Floats) -> Floats:
    """The number of each level: the middle of its share, most frequent first, mean 0."""
    order = np.argsort(-shares, kind="stable")
    middle = np.empty_like(shares)
    middle[order] = np.cumsum(shares[order]) - shares[order] / 2
    return np.asarray(SPAN * (middle - shares @ middle))
