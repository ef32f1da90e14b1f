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
from dataclasses import dataclass
from itertools import combinations
from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import ncx2

from privet.errors import BudgetError, MethodError
from privet.evidence import planned_noise as unit_noise
from privet.evidence.moments import planned_noise
from privet.evidence.prior import EFFECTS, default_level
from privet.privacy.ledger.conversion import Number, budget_for, check_asked, weak_delta
from privet.schema.model import Schema

POWER = 0.8
LARGEST_EPSILON = 1e4


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


def plan(schema: Schema, rows: int, epsilon: Number, delta: Number = 1e-6) -> Plan:
    """Which effects a run on about ``rows`` rows detects with 80% power at each order."""
    check_asked(epsilon, delta)
    if rows < 1 or len(schema.columns) < 2:
        raise MethodError(
            f"a plan for {rows} rows and {len(schema.columns)} columns makes no sense; it needs "
            "at least 1 row and 2 columns"
        )
    numeric = delta > 0 and schema.has_moments
    lines = _moment_lines if numeric else _table_lines
    return Plan(
        method="moment-pc" if numeric else "interaction-pc",
        rows=rows,
        epsilon=float(epsilon),
        delta=float(delta),
        lines=lines(schema, rows, epsilon, delta),
        warnings=weak_delta(float(delta), rows),
    )


def epsilon_for(schema: Schema, rows: int, delta: Number, effect: float) -> float:
    """The smallest ε at which the typical pair shows ``effect`` with 80% power at order 0."""
    if not 0 < effect <= 1:
        raise BudgetError(f"the effect is {effect}; Cramér's V and correlations lie in (0, 1]")

    def gap(log_epsilon: float) -> float:
        return plan(schema, rows, float(np.exp(log_epsilon)), delta).lines[0].typical - effect

    low, high = log(1e-6), log(LARGEST_EPSILON)
    if gap(high) > 0:
        raise BudgetError(
            f"an effect of {effect} does not show in {rows} rows at any epsilon; it needs more rows"
        )
    found = low if gap(low) < 0 else brentq(gap, low, high, xtol=1e-4)
    return float(np.exp(found))


def _table_lines(schema: Schema, rows: int, epsilon: Number, delta: Number) -> tuple[PlanLine, ...]:
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
    needed = _noncentrality((r - 1) * (c - 1), gains, level)
    return sqrt(needed * spread / rows / (min(r, c) - 1))


def _moment_lines(
    schema: Schema, rows: int, epsilon: Number, delta: Number
) -> tuple[PlanLine, ...]:
    noise = planned_noise(schema, rows, budget_for(epsilon, delta))
    spread = 1 + 2 / len(schema.columns)  # moments are taken of directions
    lines = []
    for order in range(min(3, len(schema.columns) - 1)):
        variance = spread / max(rows - order - 3, 1) + noise
        level = default_level(len(schema.columns))
        needed = _noncentrality(1, np.array(EFFECTS) ** 2 / variance, level)
        lines.append(_line(order, "correlation", np.tanh([sqrt(needed * variance)])))
    return tuple(lines)


def _noncentrality(freedom: int, gains: NDArray[np.float64], level: float) -> float:
    """What a chi-square statistic must be shifted by for 80% of the Bayes factors to exceed
    1/level; ``gains`` are the prior variances over that of the statistic."""

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
