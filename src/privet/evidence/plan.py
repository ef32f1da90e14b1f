"""What a run will be able to see, from public facts alone. Touches no data.

For tables with even margins, the test of x ⊥ y | Z is a chi-square test with (r-1)(c-1) degrees
of freedom and noncentrality ``n φ² / (1 + s² r c / n)``: φ² is the squared effect, φ = V sqrt(
min(r, c) - 1) with Cramér's V, and s² the variance of the noise in unit contrasts, which the
schema, ε and δ fix. Uneven margins see less. Order 0 is planned with the first half of the
budget; orders 1 and 2 with what the second half adds if about a dozen triples per column are
measured. Where the table of all columns is measured instead, every order is planned with its
noise. For numeric columns the same is said of correlations, with Fisher's z.

Of several sites, each with rows and noise of its own, both add up where one effect is common to
all; and where each has an effect of its own, Bayes factors are multiplied
(``independence/joint.py``). The judge takes the mean of the two factors, so that either alone must
be twice as large.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import inf, log, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.evidence import unit_noise
from privet.evidence.moments import planned_noise
from privet.evidence.prior import EFFECTS, default_level
from privet.privacy.ledger.conversion import Number, budget_for
from privet.schema.model import Schema

POWER = 0.8
DRAWS = 20_000  # of factors, to find the law of their product


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """The smallest effect that is found with 80% power, over the pairs of columns by their
    numbers of levels: the best, the typical (median) and the worst. Above 1: nothing is."""

    order: int
    what: str
    best: float
    typical: float
    worst: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    method: str
    rows: int
    epsilon: float
    delta: float
    lines: tuple[PlanLine, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How what tables say is put together: the rows of ``pooled`` tables are read as one, with
    ``noise`` times the variance of one table's noise; so many ``factors`` are multiplied, and the
    result is the mean of so many (``averaged``), the others of which may say nothing."""

    pooled: int = 1
    noise: float = 1.0
    factors: int = 1
    averaged: int = 1


ALONE = Reading()


class Lines(Protocol):
    """Which effects show at each order: of a schema, about so many rows, epsilon and delta."""

    def __call__(
        self, schema: Schema, rows: int, epsilon: Number, delta: Number, reading: Reading = ALONE
    ) -> tuple[PlanLine, ...]: ...


def table_lines(
    schema: Schema, rows: int, epsilon: Number, delta: Number, reading: Reading = ALONE
) -> tuple[PlanLine, ...]:
    levels = sorted(column.cardinality for column in schema.columns)
    shapes = Counter(combinations(levels, 2))
    level = default_level(len(levels))
    if delta == 0 and unit_noise.whole_is_quieter(schema):
        whole = [unit_noise.of_whole(schema, r, c, epsilon) for r, c in shapes]
        orders = [whole] * 3
    else:
        first, later = unit_noise.of_interactions(schema, epsilon, delta)
        orders = [[noise] * len(shapes) for noise in (first, later, later)]
    lines = []
    for order, noises in enumerate(orders[: len(schema.columns) - 1]):
        effects = [
            _smallest_v(r, c, rows, noise, level, reading)
            for (r, c), noise in zip(shapes, noises, strict=True)
        ]
        every = np.repeat(effects, list(shapes.values()))
        lines.append(_line(order, "Cramér's V", every))
    return tuple(lines)


def _line(order: int, what: str, effects: NDArray[np.float64]) -> PlanLine:
    return PlanLine(
        order=order,
        what=what,
        best=float(effects.min()),
        typical=float(np.median(effects)),
        worst=float(effects.max()),
    )


def _smallest_v(r: int, c: int, rows: int, noise: float, level: float, reading: Reading) -> float:
    """The smallest Cramér's V of an r x c table that the Bayes-factor test finds."""
    rows = rows * reading.pooled
    spread = 1 + reading.noise * noise * r * c / rows
    gains = np.array(EFFECTS) ** 2 * rows / spread
    needed = _shift((r - 1) * (c - 1), gains, level, reading)
    return sqrt(needed * spread / rows / (min(r, c) - 1))


def moment_lines(
    schema: Schema, rows: int, epsilon: Number, delta: Number, reading: Reading = ALONE
) -> tuple[PlanLine, ...]:
    rows = rows * reading.pooled
    noise = reading.noise * planned_noise(
        schema, rows, budget_for(epsilon, delta, unit_noise.ACCOUNTING)
    )
    spread = 1 + 2 / len(schema.columns)  # moments are taken of directions
    lines = []
    for order in range(min(3, len(schema.columns) - 1)):
        variance = spread / max(rows - order - 3, 1) + noise
        level = default_level(len(schema.columns))
        needed = _shift(1, np.array(EFFECTS) ** 2 / variance, level, reading)
        lines.append(_line(order, "correlation", np.tanh([sqrt(needed * variance)])))
    return tuple(lines)


def _shift(freedom: int, gains: NDArray[np.float64], level: float, reading: Reading) -> float:
    level /= reading.averaged
    if reading.factors == 1:
        return noncentrality(freedom, gains, level)
    return _shift_of_each(freedom, gains, level, reading.factors)


def noncentrality(freedom: int, gains: NDArray[np.float64], level: float) -> float:
    """What a chi-square statistic must be shifted by for 80% of the Bayes factors to exceed
    1/level; ``gains`` are the prior variances over that of the statistic."""
    from scipy.optimize import brentq
    from scipy.special import chndtrinc

    def excess(statistic: float) -> float:
        return float(_log_bayes(np.array(statistic), freedom, gains)) - log(1 / level)

    top = 10.0 * freedom + 100.0
    while excess(top) < 0:
        top *= 4.0
        if top > 1e12:  # noise so large that no statistic convinces
            return inf
    return float(chndtrinc(brentq(excess, 0.0, top), freedom, 1 - POWER))


def _shift_of_each(freedom: int, gains: NDArray[np.float64], level: float, factors: int) -> float:
    """The same for the product of so many independent factors, each with this shift of its own.
    The law of the product is drawn, with the same numbers each time."""
    from scipy.optimize import brentq

    rng = np.random.default_rng(factors)
    size = max(400, DRAWS // factors), factors
    ahead, beside = rng.standard_normal(size), np.zeros(size)
    if freedom > 1:
        beside = rng.chisquare(freedom - 1, size)

    def excess(shift: float) -> float:
        logs = _log_bayes((ahead + sqrt(shift)) ** 2 + beside, freedom, gains).sum(axis=1)
        return float(np.quantile(logs, 1 - POWER)) - log(1 / level)

    top = 1.0
    while excess(top) < 0:
        top *= 4.0
        if top > 1e12:
            return inf
    return float(brentq(excess, 0.0, top, rtol=1e-4))


def _log_bayes(
    statistic: NDArray[np.float64], freedom: int, gains: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of chi-square statistics: the mean over the effects that are thought possible."""
    terms = 0.5 * (statistic[..., None] * gains / (1 + gains) - freedom * np.log1p(gains))
    return np.asarray(np.logaddexp.reduce(terms, axis=-1) - log(len(gains)))
