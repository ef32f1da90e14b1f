"""What a run will be able to see, from public facts alone. Touches no data.

For tables with even margins, the test of x ⊥ y | Z is a chi-square test with (r-1)(c-1) degrees
of freedom and noncentrality ``n φ² / (1 + s² r c / n)``: φ² is the squared effect, φ = V sqrt(
min(r, c) - 1) with Cramér's V, and s² the variance of the noise in unit contrasts, which the
schema, ε and δ fix. Uneven margins see less. Order 0 is planned with the first half of the
budget; orders 1 and 2 with what the second half adds if about a dozen triples per column are
measured. For numeric columns the same is said of correlations, with Fisher's z.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, log, prod, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import ncx2

from privet.accounting import Number, budget_for, check_budget
from privet.ci.chi2 import EFFECTS
from privet.contrasts import GRID
from privet.errors import BudgetError, MethodError
from privet.mechanisms import Gaussian, Laplace
from privet.queries import Components
from privet.schema import Adjacency, Schema

POWER = 0.8
ALPHA = 0.1
TRIPLES_PER_COLUMN = 12
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


def plan(schema: Schema, rows: int, epsilon: Number, delta: Number = 1e-6) -> Plan:
    """Which effects a run on about ``rows`` rows detects with 80% power at each order."""
    check_budget(epsilon, delta)
    if rows < 1 or len(schema.columns) < 2:
        raise MethodError(
            f"a plan for {rows} rows and {len(schema.columns)} columns makes no sense; it needs "
            "at least 1 row and 2 columns"
        )
    numeric = delta > 0 and all(column.kind == "numeric" for column in schema.columns)
    lines = _moment_lines if numeric else _table_lines
    return Plan(
        method="moment-pc" if numeric else "interaction-pc",
        rows=rows,
        epsilon=float(epsilon),
        delta=float(delta),
        lines=lines(schema, rows, epsilon, delta),
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
            f"an effect of {effect} does not show in {rows} rows at any epsilon; "
            "it needs more rows"
        )
    found = low if gap(low) < 0 else brentq(gap, low, high, xtol=1e-4)
    return float(np.exp(found))


def _table_lines(
    schema: Schema, rows: int, epsilon: Number, delta: Number
) -> tuple[PlanLine, ...]:
    first, later = _unit_noise(schema, epsilon, delta)
    shapes = sorted(
        {tuple(sorted((a.cardinality, b.cardinality))): 0 for a, b in _pairs(schema)}
    )
    weight = {shape: 0 for shape in shapes}
    for a, b in _pairs(schema):
        weight[tuple(sorted((a.cardinality, b.cardinality)))] += 1
    lines = []
    for order, noise in enumerate((first, later, later)[: len(schema.columns) - 1]):
        effects = np.array([_smallest_v(r, c, rows, noise) for r, c in shapes])
        every = np.repeat(effects, [weight[shape] for shape in shapes])
        lines.append(
            PlanLine(
                order=order,
                what="Cramér's V",
                best=float(every.min()),
                typical=float(np.median(every)),
                worst=float(every.max()),
            )
        )
    return tuple(lines)


def _pairs(schema: Schema) -> combinations[tuple[object, object]]:
    return combinations(schema.columns, 2)


def _unit_noise(schema: Schema, epsilon: Number, delta: Number) -> tuple[float, float]:
    """Variance of a pair's component in unit contrasts: after the first half of the budget, and
    after both."""
    half = budget_for(epsilon, delta) / 2
    names = schema.names
    singles = [(name,) for name in names]
    pairs = list(combinations(names, 2))
    triples = list(combinations(names[:40], 3))
    few = triples[: min(comb(len(names), 3), TRIPLES_PER_COLUMN * len(names))]
    rows = [()] if schema.adjacency is Adjacency.ADD_REMOVE else []
    first = _variance(schema, [rows, singles, pairs], half, pure=delta == 0)
    again = {pair for triple in few for pair in combinations(triple, 2)}
    second = _variance(schema, [singles, sorted(again) or pairs, few], half, pure=delta == 0)
    return first, 1 / (1 / first + 1 / second)


def _variance(
    schema: Schema, groups: list[list[tuple[str, ...]]], budget: Fraction, *, pure: bool
) -> float:
    """Noise of one batch whose orders share the budget so that all have the same unit noise."""
    queries = [Components(tuple(group)) for group in groups if group]
    if pure:
        reach = sum(Fraction(q.l1(schema), GRID ** len(q.sets[0])) for q in queries)
        return float(2 * (reach / budget) ** 2)
    squared = sum(Fraction(q.l2_squared(schema), GRID ** (2 * len(q.sets[0]))) for q in queries)
    return float(squared / (2 * budget))


def _smallest_v(r: int, c: int, rows: int, noise: float) -> float:
    """The smallest Cramér's V of an r x c table that the Bayes-factor test finds."""
    freedom = (r - 1) * (c - 1)
    spread = 1 + noise * r * c / rows
    gains = EFFECTS**2 * rows / spread

    def excess(statistic: float) -> float:
        terms = 0.5 * (statistic * gains / (1 + gains) - freedom * np.log1p(gains))
        return float(np.logaddexp.reduce(terms) - log(len(EFFECTS)) - log(1 / ALPHA))

    top = 10.0 * freedom + 100.0
    while excess(top) < 0:
        top *= 4.0
        if top > 1e12:
            return float("inf")
    threshold = brentq(excess, 0.0, top)

    def lack(noncentrality: float) -> float:
        return float(ncx2.sf(threshold, freedom, noncentrality)) - POWER

    ceiling = 10.0 * threshold + 100.0
    needed = brentq(lack, 1e-9, ceiling)
    return sqrt(needed * spread / rows / (min(r, c) - 1))
