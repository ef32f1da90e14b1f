"""Shares of noise: what they add up to, against the exact law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from privet.arrays import Floats
from privet.errors import BudgetError
from privet.privacy.ledger.conversion import epsilon_for
from privet.privacy.mechanisms import SMALLEST_SHARE, GaussianShare
from privet.privacy.together.lock import Lock
from tests.helpers.laws import FALSE_ALARM


def law(square: float, reach: int) -> Floats:
    """The discrete Gaussian on -reach..reach; what is beyond is less than the last digit."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * square))
    return np.asarray(weights / weights.sum())


def added_up(square: float, count: int, reach: int) -> Floats:
    total = law(square, reach)
    for _ in range(count - 1):
        total = np.convolve(total, law(square, reach))
    return total


@pytest.mark.parametrize("square", [0.25, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("count", [2, 5, 10])
def test_a_sum_of_shares_is_nearly_a_discrete_gaussian(square: float, count: int) -> None:
    """The bound of proofs/together.md, number by number, wherever floats can tell."""
    reach = math.ceil(8 * math.sqrt(square))
    total = added_up(square, count, reach)
    wanted = law(count * square, count * reach)
    near = np.abs(np.arange(len(total)) - count * reach) <= 5 * math.sqrt(count * square)
    off = np.abs(np.log(total[near] / wanted[near])).max()
    orders = np.arange(1, count)
    bound = 5 * np.exp(-2 * math.pi**2 * square * orders / (orders + 1)).sum()
    assert off <= bound + 1e-9
    if square == 0.25 and count == 2:
        assert off > 1e-3, "at so small a scale the difference shows, so that the test can fail"


@pytest.mark.parametrize("count", [1, 3, 5])
def test_what_is_drawn_has_that_law(count: int) -> None:
    """Chi-square of the sums of drawn shares; a wrong division of the noise fails."""
    draws, share = 20_000, GaussianShare(rho=Fraction(1, 10_000), honest=5)
    scale = share.scale(1)
    total = sum(share.perturb(np.zeros(draws, dtype=np.int64), 1)[0] for _ in range(count))
    assert_law(np.asarray(total), count * scale**2)
    with pytest.raises(AssertionError):
        assert_law(np.asarray(total), count * scale**2 * 1.2)


def assert_law(drawn: Floats, square: float) -> None:
    reach = math.ceil(10 * math.sqrt(square))
    edges = np.linspace(-2.5, 2.5, 41) * math.sqrt(square)
    places = np.searchsorted(edges, np.arange(-reach, reach + 1))
    expected = len(drawn) * np.bincount(places, law(square, reach), minlength=len(edges) + 1)
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    statistic = float(((seen - expected) ** 2 / expected).sum())
    assert statistic < chi2.isf(FALSE_ALARM, len(edges))


def test_honest_shares_cover_the_price() -> None:
    for honest in (1, 2, 7, 50):
        for bound in (1, 3, 10**9):
            share = GaussianShare(rho=Fraction(1, 300), honest=honest)
            square = Fraction(share.scale(bound)) ** 2
            assert square - Fraction(1, 10) >= Fraction(bound) / (2 * share.rho * honest)


def test_no_share_is_too_small_to_be_gaussian() -> None:
    assert GaussianShare(rho=Fraction(1000), honest=50).scale(1) == SMALLEST_SHARE
    with pytest.raises(BudgetError):
        GaussianShare(rho=Fraction(1), honest=0)


def test_what_is_left_if_all_others_collude(lock: Lock) -> None:
    """One share is Gaussian noise of its own scale: its rho is that of the study times the number
    of honest shares, and no more."""
    rho = Fraction(lock.budget, 1 << 64)
    share = GaussianShare(rho=rho, honest=lock.honest)
    alone = Fraction(1) / (2 * (Fraction(share.scale(1)) ** 2 - Fraction(1, 10)))
    assert epsilon_for(alone, Fraction(lock.delta), "gdp") <= lock.alone_epsilon * (1 + 1e-9)
    assert lock.alone_epsilon == pytest.approx(2.12, abs=0.01)  # 5 sites, 1 tolerated, epsilon 1
