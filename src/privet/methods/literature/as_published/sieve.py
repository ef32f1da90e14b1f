"""SVT-PC and Priv-PC of Wang, Pang and Song 2020, with the noise of their code.

For comparison only; nothing here is private (docs/published.md). Both add noise to the p-value of
the conditional Kendall test. Their code takes the epsilon of one AboveThreshold run, restarts it
after each positive, and reports a total from the number of positives afterwards. Here the total
is given, so the rule is turned round: epsilon of a run is the one whose total, for as many
positives as the sound methods plan with (or ``cap``), is the given one. Nothing stops a run that
has more.

Priv-PC draws a sample of the rows for each run of its sieve. As only tables are at hand here,
``subsample`` draws one for each test; without it all rows are used, as where CURATE's authors ran
Priv-PC. What overflows in their code, and so drops large strata, does not here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from privet.arrays import Integers
from privet.evidence.exact_tables import ExactTables
from privet.methods.literature.as_published.kendall import claimed_sensitivity, p_value
from privet.methods.literature.decisions import as_release
from privet.methods.literature.walk import Places, Walk
from privet.privacy.queries.base import Release
from privet.search.constraints import Constraints

if TYPE_CHECKING:
    from privet.methods.options import Settings
    from privet.trust.curator import Curator

Judge = Callable[[Integers], bool]  # whether a table says independent, by noisy p-values

ALPHA = 0.05
BIAS = 0.02  # by which Priv-PC's sieve lowers its bar
_STATISTIC = (
    "one record decides whether a whole stratum counts in the conditional Kendall test, so its "
    "p-value moves up to 40 times as far as claimed; epsilon is counted after the run, from a "
    "number that depends on the data, and the last, silent run is left out"
)
WHY_SVT_PC = (
    f"{_STATISTIC}; the threshold is renewed with Gaussian noise (svt-pc in docs/published.md)"
)
WHY_PRIV_PC = f"{_STATISTIC} (priv-pc in docs/published.md)"


class SieveOnly:
    """SVT-PC: one noisy bar until a noisy p-value reaches it, then another."""

    def __init__(
        self, *, epsilon: float, sensitivity: float, alpha: float, rng: np.random.Generator
    ) -> None:
        self._scale, self._alpha, self._rng = 2 * sensitivity / epsilon, alpha, rng
        self._bar = alpha + rng.laplace(scale=self._scale)

    def __call__(self, table: Integers) -> bool:
        if not p_value(table) + self._rng.laplace(scale=4 * self._scale) >= self._bar:
            return False
        self._bar = self._alpha + self._rng.normal(scale=self._scale)  # no longer Laplace's
        return True


class SieveAndExamine:
    """Priv-PC: a sieve with a lower bar, on a sample; what passes is examined on all rows."""

    def __init__(
        self,
        *,
        epsilon: float,
        sensitivity: float,
        alpha: float,
        rate: float,
        rng: np.random.Generator,
    ) -> None:
        sieved = log1p(expm1(epsilon / 2) / rate)
        self._scale = 2 * sensitivity / sqrt(rate) / sieved
        self._examined = sensitivity / (epsilon / 2)
        self._alpha, self._rate, self._rng = alpha, rate, rng
        self._renew()

    def _renew(self) -> None:
        self._bar = self._alpha - BIAS + self._rng.laplace(scale=self._scale)

    def __call__(self, table: Integers) -> bool:
        p = p_value(_sample(table, self._rate, self._rng))
        if not p + self._rng.laplace(scale=2 * self._scale) >= self._bar:
            return False
        self._renew()
        return bool(p_value(table) + self._rng.laplace(scale=self._examined) >= self._alpha)


def svt_pc(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    def judge(rows: int, positives: int, rng: np.random.Generator) -> SieveOnly:
        each = per_run(epsilon, positives, log(1 / delta) if delta else inf)
        return SieveOnly(
            epsilon=each,
            sensitivity=claimed_sensitivity(rows),
            alpha=settings.alpha or ALPHA,
            rng=rng,
        )

    return _walked(curator, settings, judge)


def priv_pc(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    def judge(rows: int, positives: int, rng: np.random.Generator) -> SieveAndExamine:
        half = per_run(epsilon / 2, positives, log(2 / delta) if delta else inf)
        return SieveAndExamine(
            epsilon=2 * half,
            sensitivity=claimed_sensitivity(rows),
            alpha=settings.alpha or ALPHA,
            rate=settings.subsample or 1.0,
            rng=rng,
        )

    return _walked(curator, settings, judge)


def per_run(total: float, runs: int, log_delta: float) -> float:
    """The epsilon of a run with sqrt(2 runs log_delta) e + runs e (exp(e) - 1) = total, the total
    that the code reports; or total / runs, if that is more."""

    def reported(e: float) -> float:
        return sqrt(2 * runs * log_delta) * e + runs * e * expm1(e)

    low, high = 0.0, total
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if reported(middle) <= total else (low, middle)
    return max(low, total / runs)


def _walked(
    curator: Curator, settings: Settings, make: Callable[[int, int, np.random.Generator], Judge]
) -> tuple[Release, ...]:
    """PC with a judge that is made from the number of rows and of planned positives."""
    schema = curator.schema
    counted = ExactTables.from_releases(schema, (), curator.exact)
    walk = Walk(Constraints.of(schema.names, schema.knowledge), settings.order)
    rng = np.random.default_rng(settings.seed)
    judge = make(rows_of(counted), settings.cap or walk.enough, rng)
    for question in walk:
        if judge(table_of(counted, question)):
            walk.separate(*question)
    return (as_release(walk.separations, walk.tests, "noise as published"),)


def rows_of(counted: ExactTables) -> int:
    return max(1, int(counted.tables(np.array([[0]]))[0].sum()))


def table_of(counted: ExactTables, question: Places) -> Integers:
    """Axes x, y and strata."""
    table = counted.tables(np.array([question]))[0]
    return table.reshape(*table.shape[:2], -1)


def _sample(table: Integers, rate: float, rng: np.random.Generator) -> Integers:
    if rate == 1:
        return table
    kept = rng.multivariate_hypergeometric(table.ravel(), int(rate * table.sum()))
    return kept.reshape(table.shape)
