"""The probability that noise turns an answer, held against simulated noise.

Each comparison is a binomial interval that misses with probability 1e-6, all taken together.
"""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from scipy.stats import beta

from privet.errors import MethodError
from privet.pairs.flips import flipped_difference, flipped_scores, flipped_sums

FALSE_ALARM, DRAWS = 1e-6, 400_000
GAPS = (0.0, 0.3, 1.0, 4.0, 9.0)
NOISES = {flipped_difference: 1, flipped_scores: 2, flipped_sums: 4}
LEVEL = FALSE_ALARM / (2 * len(GAPS) * len(NOISES))


def interval(hits: int) -> tuple[float, float]:
    """Clopper and Pearson's limits."""
    low = beta.ppf(LEVEL, hits, DRAWS - hits + 1) if hits else 0.0
    high = beta.ppf(1 - LEVEL, hits + 1, DRAWS - hits)
    return float(low), float(high)


def printed(gap: float, scale: float) -> float:
    """Theorem 4 as it was printed."""
    t = gap / scale
    return exp(-1 / t) * (48 + 33 * t + 9 * t**2 + t**3) / 96


@pytest.mark.parametrize("formula", NOISES)
def test_simulated_noise_flips_as_often_as_it_should(formula: object) -> None:
    rng, scale = np.random.default_rng(1), 0.7
    noise = rng.laplace(scale=scale, size=(DRAWS, NOISES[formula])).sum(axis=1)  # type: ignore[index]
    for gap in GAPS:
        low, high = interval(int((noise > gap * scale).sum()))
        assert low <= formula(gap * scale, scale) <= high  # type: ignore[operator]


def test_the_printed_theorem_4_is_caught() -> None:
    noise = np.random.default_rng(2).laplace(size=(DRAWS, 4)).sum(axis=1)
    low, high = interval(int((noise > 4).sum()))
    assert not low <= printed(4, 1) <= high


def test_one_noise_on_the_difference_errs_least() -> None:
    """At the same epsilon in total: 2 bounds / epsilon on the difference or on each score."""
    for gap in GAPS[1:]:
        assert flipped_difference(gap, 1) < flipped_scores(gap, 1) < flipped_sums(gap, 1)
    assert flipped_difference(0, 1) == flipped_scores(0, 1) == flipped_sums(0, 1) == 0.5


def test_the_sign_of_a_gap_does_not_matter_but_noise_must_have_a_scale() -> None:
    assert flipped_scores(-2, 1) == flipped_scores(2, 1)
    assert flipped_sums(1e6, 1) == 0
    with pytest.raises(MethodError, match="above 0"):
        flipped_scores(1, 0)
