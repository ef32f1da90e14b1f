"""NoLeaks and CURATE's gradients as published do not keep their promise; ours, on the same
neighbours, do.

One record of 5,000 is replaced, inside the range [0, 20] that the authors' encoding has. An
attacker who knows both tables looks at one gradient, along the line between the two means, and
says "the second" beyond the middle. If the gradient is (epsilon, delta)-DP, that is right at most
exp(epsilon) times as often as it is wrong, plus delta. Clopper and Pearson's limits make the lower
bound on epsilon right with probability 1 - 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

from privet.methods.literature.as_published.gradient import (
    CURATE,
    CUT,
    NOLEAKS,
    analytic_gaussian,
    clipped_mean_gradient,
    noise_scale,
    schedule,
)
from privet.privacy.ledger.conversion import rho_for
from privet.privacy.mechanisms import Gaussian
from privet.privacy.queries.gradient import FINE, Gradient
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.totals import Totals

Floats = NDArray[np.float64]

FALSE_ALARM = 1e-6
EPSILON, DELTA = 1.0, 1e-6
ROWS, COLUMNS = 5000, 5
WEIGHTS = np.zeros((COLUMNS, COLUMNS))


def neighbours() -> tuple[Floats, Floats]:
    """Independent columns; the last record is moved from one corner of the range to another."""
    rows = np.random.default_rng(4).uniform(0, 20, (ROWS, COLUMNS))
    rows[-1] = [0, 20, 0, 20, 0]
    other = rows.copy()
    other[-1] = 20
    return rows, other


def moments(rows: Floats) -> Floats:
    return np.asarray(np.cov(rows.T, bias=True))


def lower_bound(draw: Callable[[int], Floats], means: tuple[Floats, Floats]) -> float:
    """An epsilon that is too small with probability at least 1 - FALSE_ALARM; ``draw(i)`` is many
    looks at the i-th of two tables, whose answers are ``means`` without noise."""
    line = (means[1] - means[0]).ravel()
    middle = (means[0] + means[1]).ravel() @ line / 2
    seen = [draw(side).reshape(-1, line.size) @ line > middle for side in (0, 1)]
    runs, wrong, right = len(seen[0]), int(seen[0].sum()), int(seen[1].sum())
    low = beta.ppf(FALSE_ALARM / 2, right, runs - right + 1) if right else 0.0
    high = beta.ppf(1 - FALSE_ALARM / 2, wrong + 1, runs - wrong) if wrong < runs else 1.0
    return log((low - DELTA) / high) if low > DELTA else -inf


def plain_gradients() -> tuple[Floats, Floats]:
    """Without noise, and with the diagonal that is not released left out."""
    rng = np.random.default_rng(0)
    first, second = (
        clipped_mean_gradient(WEIGHTS, moments(rows), 0.0, rng) for rows in neighbours()
    )
    return first, second


@pytest.mark.parametrize("reach", [NOLEAKS, CURATE])
def test_one_record_moves_the_clipped_mean_much_further_than_claimed(reach: float) -> None:
    first, second = plain_gradients()
    claimed = np.sqrt(COLUMNS * (COLUMNS - 1)) * reach / ROWS
    assert np.linalg.norm(first - second) > 20 * claimed
    assert np.abs(first).max() < CUT and np.abs(second).max() < CUT  # clipping changes nothing


@pytest.mark.parametrize("reach", [NOLEAKS, CURATE])
def test_gradients_as_published_are_convicted(reach: float) -> None:
    """At four times the promise: with one gradient of epsilon 1 the attacker is hardly wrong."""
    rng = np.random.default_rng(1)
    both = [moments(rows) for rows in neighbours()]
    scale = noise_scale(COLUMNS, ROWS, EPSILON, DELTA, reach)

    def draw(side: int) -> Floats:
        return np.array(
            [clipped_mean_gradient(WEIGHTS, both[side], scale, rng) for _ in range(20_000)]
        )

    assert lower_bound(draw, plain_gradients()) > 4 * EPSILON


class Table(Totals):
    def __init__(self, rows: Floats) -> None:
        self.rows = rows

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        yield self.rows


def sound(runs: int) -> float:
    """The same audit of a gradient with every record cut, at the same epsilon and delta."""
    columns = tuple(Column(name=f"{i}", kind="numeric", bounds=(0, 20)) for i in range(COLUMNS))
    schema = Schema(name="people", columns=columns, adjacency=Adjacency.REPLACE_ONE, rows=ROWS)
    query = Gradient(
        columns=schema.names,
        centres=(10.0,) * COLUMNS,
        reaches=(20.0,) * COLUMNS,
        weights=((0,) * COLUMNS,) * COLUMNS,
        clip=0.2,
        constant=FINE // 8,
    )
    exact = [query.evaluate(Table(rows), schema) for rows in neighbours()]  # type: ignore[arg-type]
    noise = Gaussian(rho=rho_for(EPSILON, DELTA, "gdp"))
    reach = query.l2_squared(schema)
    assert ((exact[0] - exact[1]) ** 2).sum() > reach / 4  # the pair is a hard one here too

    def draw(side: int) -> Floats:
        return noise.perturb(np.tile(exact[side], runs), reach)[0].astype(float)

    return lower_bound(draw, (exact[0].astype(float), exact[1].astype(float)))


def test_the_same_pair_does_not_convict_a_gradient_with_every_record_cut() -> None:
    assert sound(1000) < EPSILON


def test_the_audit_would_convict_it_with_a_twentieth_of_the_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scale = Gaussian.scale
    monkeypatch.setattr(Gaussian, "scale", lambda self, reach: scale(self, reach) / 20)
    assert sound(1000) > EPSILON


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-8), (1.0, 1e-6), (10.0, 1e-3)])
def test_the_analytic_gaussian_is_the_smallest_that_keeps_its_promise(
    epsilon: float, delta: float
) -> None:
    from scipy.stats import norm

    def lost(scale: float) -> float:
        near, far = 1 / (2 * scale) - epsilon * scale, -1 / (2 * scale) - epsilon * scale
        return float(norm.cdf(near) - np.exp(epsilon) * norm.cdf(far))

    found = analytic_gaussian(epsilon, delta)
    assert lost(found) <= delta * (1 + 1e-6) and lost(found * 0.999) > delta


@pytest.mark.parametrize("name", ["additive", "exponential", "multiplicative"])
@pytest.mark.parametrize("total", [0.1, 1.0, 10.0])
def test_published_budgets_add_up(name: str, total: float) -> None:
    shares = schedule(name, total, 50)
    assert sum(shares) == pytest.approx(total)


def test_published_multiplicative_budgets_fall() -> None:
    """They are said to rise; with epsilon0 below 1 they do not."""
    shares = schedule("multiplicative", 1.0, 50)
    assert shares == sorted(shares, reverse=True) and shares[0] > 5 * shares[-1]
