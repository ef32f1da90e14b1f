"""What a run will be able to see, from public facts alone. Touches no data.

For tables with even margins, the test of x ⊥ y | Z is a chi-square test with (r-1)(c-1) degrees
of freedom and noncentrality ``n φ² / (1 + s² r c / n)``: φ² is the squared effect, φ = V sqrt(
min(r, c) - 1) with Cramér's V, and s² the variance of the noise in unit contrasts, which the
schema, ε and δ fix. Uneven margins see less. Order 0 is planned with the first half of the
budget; orders 1 and 2 with what the second half adds if about a dozen triples per column are
measured. Where the table of all columns is measured instead, every order is planned with its
noise. For numeric columns the same is said of correlations, with Fisher's z.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from privet.evidence import planned_noise as unit_noise
from privet.evidence.moments import planned_noise
from privet.evidence.prior import EFFECTS, default_level
from privet.privacy.ledger.conversion import Number, budget_for
from privet.schema.model import Schema

POWER = 0.8


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


# Which effects show at each order: of a schema, about so many rows, epsilon and delta.
Lines = Callable[[Schema, int, Number, Number], tuple[PlanLine, ...]]


def table_lines(schema: Schema, rows: int, epsilon: Number, delta: Number) -> tuple[PlanLine, ...]:
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
            _smallest_v(r, c, rows, noise, level)
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


def _smallest_v(r: int, c: int, rows: int, noise: float, level: float) -> float:
    """The smallest Cramér's V of an r x c table that the Bayes-factor test finds."""
    spread = 1 + noise * r * c / rows
    gains = np.array(EFFECTS) ** 2 * rows / spread
    needed = noncentrality((r - 1) * (c - 1), gains, level)
    return sqrt(needed * spread / rows / (min(r, c) - 1))


def moment_lines(schema: Schema, rows: int, epsilon: Number, delta: Number) -> tuple[PlanLine, ...]:
    noise = planned_noise(schema, rows, budget_for(epsilon, delta))
    spread = 1 + 2 / len(schema.columns)  # moments are taken of directions
    lines = []
    for order in range(min(3, len(schema.columns) - 1)):
        variance = spread / max(rows - order - 3, 1) + noise
        level = default_level(len(schema.columns))
        needed = noncentrality(1, np.array(EFFECTS) ** 2 / variance, level)
        lines.append(_line(order, "correlation", np.tanh([sqrt(needed * variance)])))
    return tuple(lines)


def noncentrality(freedom: int, gains: NDArray[np.float64], level: float) -> float:
    """What a chi-square statistic must be shifted by for 80% of the Bayes factors to exceed
    1/level; ``gains`` are the prior variances over that of the statistic."""
    from scipy.optimize import brentq  # half a second that only plans need
    from scipy.stats import ncx2

    def excess(statistic: float) -> float:
        terms = 0.5 * (statistic * gains / (1 + gains) - freedom * np.log1p(gains))
        return float(np.logaddexp.reduce(terms) - log(len(gains)) - log(1 / level))

    top = 10.0 * freedom + 100.0
    while excess(top) < 0:
        top *= 4.0
        if top > 1e12:  # noise so large that no statistic convinces
            return inf
    threshold = brentq(excess, 0.0, top)

    def lack(shift: float) -> float:
        return float(ncx2.sf(threshold, freedom, shift)) - POWER

    return float(brentq(lack, 1e-9, 10.0 * threshold + 100.0))
