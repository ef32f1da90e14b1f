"""How large an effect is, and what a test could have seen: against scipy's laws and simulation."""

from __future__ import annotations

from itertools import combinations
from math import log

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence, components_query
from privet.independence.effects import (
    STRONG,
    SURELY,
    Effects,
    _decisive,
    _log_ratio,
    of_moments,
    of_tables,
)
from privet.independence.tables import TableJudge
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.queries.base import Release
from privet.schema.column import Column
from privet.schema.model import Schema

SCHEMA = Schema(
    name="t",
    columns=tuple(Column(name=n, kind="categorical", levels=("a", "b", "c")) for n in "xyz"),
)


@pytest.mark.parametrize("freedom", [1, 2, 9, 50, 100])
def test_the_ratio_is_that_of_two_densities(freedom: int) -> None:
    for shift in (0.5, 10.0, 300.0):
        for t in (1e-3, 0.5 * freedom, 3.0 * freedom + shift):
            wanted = ncx2.logpdf(t, freedom, shift) - chi2.logpdf(t, freedom)
            found = float(_log_ratio(np.array(t), np.array(float(freedom)), np.array(shift)))
            assert found == pytest.approx(wanted, abs=0.01, rel=0.01)


@pytest.mark.parametrize("freedom", [1, 4, 20])
def test_what_is_decisive_rules_out_in_8_of_10_cases(freedom: int) -> None:
    shift = np.array(_decisive(freedom))
    t = np.linspace(1e-4, chi2.ppf(0.9999, freedom), 20_000)
    out = _log_ratio(t, np.full(t.shape, float(freedom)), np.full(t.shape, shift))
    largest = t[out <= -log(SURELY)].max()
    assert chi2.cdf(largest, freedom) == pytest.approx(0.8, abs=0.01)


def evidence(noise: float, effect: float, rng: np.random.Generator, rows: int) -> TableEvidence:
    """x and y of V = effect, z beside them; noise of this variance in unit contrasts."""
    x, z = rng.integers(3, size=(2, rows))
    y = np.where(rng.random(rows) < effect, x, rng.integers(3, size=rows))
    codes = {n: c.astype(np.uint8) for n, c in zip("xyz", (x, y, z), strict=True)}
    memory = MemoryRows(SCHEMA, lambda: codes, dict)
    releases = []
    for order in range(3):
        query = components_query(SCHEMA.names, list(combinations(range(3), order)))
        values, scale = query.evaluate(memory, SCHEMA), noise * 2.0 ** (20 * order)
        blurred = np.rint(values + rng.normal(size=values.shape) * np.sqrt(scale))
        releases.append(
            Release(query=query, values=blurred.astype(np.int64), variance=scale, mechanism="g")
        )
    return TableEvidence.from_releases(SCHEMA, SCHEMA.names, releases)


@pytest.mark.parametrize("given", [(), (2,)])
def test_intervals_hold_the_effect_under_noise(given: tuple[int, ...]) -> None:
    """V = 0.15, 4,000 rows, noise as large as sampling noise: 95 of 100 intervals hold it. In 400
    runs fewer than 352 or all 400 would be a chance below 1e-6."""
    rng, inside, ruled = np.random.default_rng(1), 0, 0
    question = np.array([(0, 1, *given)])
    for _ in range(400):
        found = of_tables([TableJudge(evidence(400.0, 0.15, rng, 4000), 0.1)], question)
        low, high = found.intervals()
        inside += bool(low[0] <= 0.15 <= high[0])
        ruled += bool(found.log_ratio(0.15)[0] <= -log(SURELY))
    assert 352 <= inside < 400
    assert ruled <= 46  # 1 in 20 by Markov; more than 46 of 400: below 1e-6


def test_noise_is_worth_rows() -> None:
    rng, question = np.random.default_rng(2), np.array([(0, 1)])
    calm, loud = (
        of_tables([TableJudge(evidence(noise, 0.1, rng, 4000), 0.1)], question)
        for noise in (0.0, 400.0)
    )
    assert calm.worth == pytest.approx([4000.0], rel=1e-6) and calm.rows == pytest.approx([4000.0])
    assert 1000 < loud.worth[0] < 3000  # noise of 400 in a cell that has 444 rows' variance
    both = of_tables([TableJudge(evidence(400.0, 0.1, rng, 4000), 0.1)] * 2, question)
    assert both.worth == pytest.approx(2 * loud.worth, rel=0.1)


def test_correlations_are_effects_too() -> None:
    shape = np.array([[1.0, 0.3], [0.3, 1.0]])
    one = MomentEvidence(names=("x", "y"), covariance=shape, metric=shape, rows=500, noise=0.0)
    found = of_moments([one], np.array([(0, 1)]))
    low, high = found.intervals()
    assert found.sizes()[0] == pytest.approx(0.3, abs=0.02) and low[0] < 0.3 < high[0]
    assert found.worth[0] == pytest.approx(497)


def test_what_would_be_needed() -> None:
    """Rows alone, where there is no noise; else rows or epsilon, by how the noise weighs."""
    wanted = _decisive(1) / STRONG**2
    ones = np.ones(3)
    found = Effects(
        statistic=ones,
        freedom=ones,
        worth=np.array([wanted, wanted / 4, wanted / 4]),
        rows=np.array([wanted, wanted / 4, 10 * wanted]),
        scale=ones,
    )
    rows, epsilon = found.needed()
    assert rows[0] == 1 and epsilon[0] == 1
    assert rows[1] == pytest.approx(4) and epsilon[1] == np.inf
    assert 1.9 < rows[2] < 2.1 and 2 < epsilon[2] < 2.2  # noise rules: twice as much of either


@pytest.mark.parametrize("weights", [(1.0, 0.01), (0.5, 0.05, 0.05, 0.0), (0.9, 0.9, 0.9)])
def test_an_effect_where_noise_is_smallest_is_not_called_larger_than_it_is(
    weights: tuple[float, ...],
) -> None:
    """The whole effect lies in the direction of the largest weight: the mean weight would give a
    lower end above it."""
    rows, size, m = 4000.0, 0.3, len(weights)
    statistic = m + rows * size**2 * max(weights)
    found = Effects(*(np.array([x]) for x in (statistic, m, rows * sum(weights) / m, rows, 1.0)))
    low, high = found.intervals()
    assert low[0] < size < high[0]
    assert low[0] > 0.4 * size * (max(weights) / min(sum(weights), 1.0)) ** 0.5
