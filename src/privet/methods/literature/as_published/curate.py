"""CURATE of Bhattacharjee and Tandon 2024, by tests, with the noise of their code.

For comparison only; nothing here is private (docs/published.md). Laplace noise on the p-value of
the conditional Kendall test, by a sensitivity that comes from a product rule; only tests that
delete an edge, or are in doubt, are charged; and the coin for those in doubt always says keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from privet.arrays import Integers
from privet.evidence.exact_tables import ExactTables
from privet.methods.literature.as_published.kendall import p_value
from privet.methods.literature.as_published.sieve import rows_of, table_of
from privet.methods.literature.curate_budgets import allocate
from privet.methods.literature.decisions import as_release
from privet.methods.literature.walk import Walk
from privet.privacy.queries.base import Release
from privet.search.constraints import Constraints

if TYPE_CHECKING:
    from privet.methods.options import Settings
    from privet.trust.curator import Curator


ALPHA = 0.05
CLAIMED = 0.3627  # sensitivity of the p-value times the root of the number of rows
WHY = (
    "its sensitivity of 0.363 / sqrt(n) comes from a product rule that is no bound: the p-value "
    "moves 6 times as far without conditioning, and 100 to 300 times where one record decides "
    "whether a stratum counts; tests that keep an edge are not charged; and the budget is checked "
    "after it is spent (curate in docs/published.md)"
)


class Band:
    """One noisy test: delete, keep, or in doubt, which keeps too."""

    def __init__(
        self, *, epsilon: float, rows: int, settings: Settings, rng: np.random.Generator
    ) -> None:
        bar = settings.alpha or ALPHA
        self._low, self._high = bar * (1 - settings.beta1), bar * (1 + settings.beta2)
        self._scale, self._rng = CLAIMED / sqrt(rows) / epsilon, rng

    def __call__(self, table: Integers) -> tuple[bool, bool]:
        """Whether the edge goes, and whether the test is charged."""
        noisy = p_value(table) + self._rng.laplace(scale=self._scale)
        return bool(noisy > self._high), bool(noisy >= self._low)


def measure(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    schema = curator.schema
    counted = ExactTables.from_releases(schema, (), curator.exact)
    walk = Walk(Constraints.of(schema.names, schema.knowledge), settings.order)
    rows, rng, left = rows_of(counted), np.random.default_rng(settings.seed), epsilon
    for order in range(settings.order + 1):
        each = _budget(walk, order, left, delta, rows, settings)
        test = Band(epsilon=each, rows=rows, settings=settings, rng=rng)
        charged = 0
        for question in walk.of_order(order):
            gone, paid = test(table_of(counted, question))
            charged += paid
            if gone:
                walk.separate(*question)
        left -= leakage([charged], [each], delta)
        if left <= 0:
            break
    return (as_release(walk.separations, walk.tests, "noise as published"),)


def leakage(tests: Sequence[int], epsilons: Sequence[float], delta: float) -> float:
    """The paper's composition: advanced in each order, basic over the orders. Without a delta,
    basic throughout."""
    if not delta:
        return sum(t * e for t, e in zip(tests, epsilons, strict=True))
    return sum(
        t * e * e + sqrt(2 * log(1 / delta) * t) * e for t, e in zip(tests, epsilons, strict=True)
    )


def _budget(
    walk: Walk, order: int, left: float, delta: float, rows: int, settings: Settings
) -> float:
    """Of one test of this order, from the edges that are left."""
    most, columns = len(walk.edges()), len(walk.adjacent)
    tests = [most * comb(columns - 2, j) for j in range(order, settings.order + 1)]
    tests = [count for count in tests if count] or [1]
    bar = (settings.alpha or ALPHA) * sqrt(rows) / CLAIMED
    budgets = allocate(
        lambda each: leakage(tests, each.tolist(), delta),
        left,
        len(tests),
        (bar * settings.beta1, bar * settings.beta2),
    )
    return float(budgets[0])
