"""Pairs of columns without privacy: the algorithms say what their papers say, and find causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2, kstest, norm

from privet.errors import DataError, MethodError
from privet.networks.pairs import ADDITIVE, OTHER, Pair, random_pair
from privet.pairs.algorithms import anm as anm_module
from privet.pairs.algorithms.anm import regression
from privet.pairs.algorithms.cds import variability
from privet.pairs.algorithms.hsic import factor, hsic, median_distance
from privet.pairs.algorithms.igci import entropy, igci
from privet.pairs.algorithms.on_rows import METHODS, TIE, score
from privet.pairs.algorithms.reci import reci
from privet.pairs.algorithms.score import Scores

Floats = NDArray[np.float64]
FALSE_ALARM = 1e-6


def rng_of(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def standard(x: Floats) -> Floats:
    return np.asarray((x - x.mean()) / x.std())


def noisy_square(rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    x = rng.normal(size=rows)
    return x, x**2 + 0.3 * rng.normal(size=rows)


# What an algorithm says


def test_the_larger_score_wins_and_ties_are_ties() -> None:
    scores = Scores(forward=-1.0, backward=-1.5)
    assert scores.difference == 0.5 and scores.direction() == 1
    assert Scores(forward=-1.5, backward=-1.0).direction() == -1
    assert scores.direction(ties=0.5) == 0 and Scores(forward=2.0, backward=2.0).direction() == 0


@pytest.mark.parametrize("method", METHODS)
def test_exchanging_the_columns_exchanges_the_scores(method: str) -> None:
    x, y = noisy_square(300, rng_of(1))
    there, back = score(x, y, method), score(y, x, method)
    assert np.allclose((there.forward, there.backward), (back.backward, back.forward))


@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method: str) -> None:
    x, y = noisy_square(300, rng_of(2))
    here, there = score(x, y, method), score(1000 * x - 7, 0.01 * y + 3, method)
    assert np.allclose((here.forward, here.backward), (there.forward, there.backward))


@pytest.mark.parametrize("method", METHODS)
def test_constant_columns_and_hardly_any_rows_are_ties(method: str) -> None:
    x = rng_of(3).normal(size=50)
    for pair in ((x, np.ones(50)), (np.zeros(50), x), (x[:3], x[:3] ** 2), (x[:0], x[:0])):
        assert score(*pair, method) == TIE


@pytest.mark.parametrize("method", METHODS)
def test_few_values_are_no_trouble(method: str) -> None:
    rng = rng_of(4)
    x = rng.integers(0, 3, 200).astype(float)
    for y in (x, x + rng.integers(0, 2, 200).astype(float), (x > 1).astype(float)):
        found = score(x, y, method)
        assert np.isfinite(found.forward) and np.isfinite(found.backward)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(MethodError, match=r"'amn'.*anm"):
        score(np.zeros(9), np.zeros(9), "amn")


# HSIC


def by_definition(x: Floats, y: Floats, h: float, g: float) -> float:
    n = len(x)
    k = np.exp(-((x[:, None] - x) ** 2) / (2 * h * h))
    m = np.exp(-((y[:, None] - y) ** 2) / (2 * g * g))
    centre = np.eye(n) - 1 / n
    return float(np.trace(k @ centre @ m @ centre) / n**2)


@pytest.mark.parametrize("rows", [2, 17, 200])
def test_hsic_is_its_definition(rows: int) -> None:
    x, y = noisy_square(rows, rng_of(5, rows))
    assert np.isclose(hsic(x, y, bandwidths=(0.3, 0.7)), by_definition(x, y, 0.3, 0.7))
    own = median_distance(x), median_distance(y)
    assert np.isclose(hsic(x, y), by_definition(x, y, *own))


@pytest.mark.parametrize("law", ["normal", "tails", "few values"])
def test_thin_factors_give_the_same_hsic(law: str) -> None:
    rng = rng_of(6)
    x = {
        "normal": rng.normal(size=1500),
        "tails": rng.standard_t(1.5, size=1500),
        "few values": rng.integers(0, 5, 1500).astype(float),
    }[law]
    y = np.sin(x) + 0.2 * rng.normal(size=1500)
    h, g = median_distance(x), median_distance(y)
    exact = by_definition(x, y, h, g)
    assert abs(hsic(x, y) - exact) < 1e-5 * exact
    thin = factor(x / h)
    assert np.abs(thin @ thin.T - np.exp(-((x[:, None] - x) ** 2) / (2 * h * h))).max() < 2e-6
    assert thin.shape[1] == 5 or law != "few values"


def test_hsic_of_ten_thousand_rows() -> None:
    """It tells dependent columns from others. A row moves its root by √6 / n at most
    (proofs/anm.md), and without dependence the root's mean is 1 / √n at most; so by McDiarmid's
    inequality it is above the limit once in a million times."""
    x, y = noisy_square(10_000, rng_of(7))
    dependent, independent = hsic(x, y), hsic(x, rng_of(8).normal(size=10_000))
    limit = (1 + sqrt(3 * log(1 / FALSE_ALARM))) ** 2 / 10_000
    assert dependent > limit > independent


def test_the_median_distance_passes_over_equal_values() -> None:
    assert median_distance(np.array([0.0] * 9 + [2.0])) == 2.0
    assert median_distance(np.zeros(4)) == 1.0


# The additive-noise model


def test_the_regression_is_that_of_the_gaussian_process() -> None:
    """Sines in place of the kernel: the same mean, at the likeliest width and height."""
    rng = rng_of(9)
    x = standard(rng.uniform(-1, 1, 60))
    y = standard(np.sin(2 * x) + 0.3 * rng.normal(size=60))
    best, mean = np.inf, y
    for width in anm_module.WIDTHS:
        kernel = np.exp(-((x[:, None] - x) ** 2) / (2 * width**2))
        for height in anm_module.HEIGHTS:
            whole = np.eye(60) + height * kernel
            solved = np.linalg.solve(whole, y)
            loss = 30 * np.log(y @ solved / 60) + np.linalg.slogdet(whole)[1] / 2
            if loss < best:
                best, mean = loss, height * kernel @ solved
    assert np.abs(regression(x, y) - mean).max() < 1e-3


def test_pure_noise_is_not_fitted() -> None:
    """No more of it than a fit with four free numbers would take, once in a million times. (The
    likeliest width takes less: 0.007 of the deviation is the median, 0.083 one in a hundred.)"""
    x, y = (standard(v) for v in rng_of(10).normal(size=(2, 1000)))
    assert regression(x, y).std() < sqrt(chi2.isf(FALSE_ALARM, 4) / 1000)


def hits(kinds: tuple[str, ...], method: str, rows: int, count: int, seed: int) -> int:
    rng = rng_of(seed)
    right = 0
    for i in range(count):
        pair = random_pair(kinds[i % len(kinds)], rows, rng)
        right += score(pair.x, pair.y, method).direction() == (1 if pair.forward else -1)
    return right


def test_it_finds_causes_of_additive_pairs() -> None:
    """Nine in ten at 500 rows; a worse method would be one with less."""
    found = hits(ADDITIVE, "anm", 500, 60, 11)
    assert binomtest(found, 60, 0.9, alternative="less").pvalue > FALSE_ALARM


def test_on_pairs_that_are_no_additive_models_it_is_still_of_some_use() -> None:
    """In the long run 0.65 of them; a worse method would be one with less than 0.62."""
    found = hits(OTHER, "anm", 500, 120, 12)
    assert binomtest(found, 120, 0.62, alternative="less").pvalue > FALSE_ALARM


# Regression error


def test_regression_errors_by_hand() -> None:
    x = np.linspace(0, 1, 200)
    found = reci(x, x**3)
    assert abs(found.forward) < 1e-12 and found.backward < -1e-4
    alone = reci(x, x, monomial=True)
    basis = np.stack([np.ones(200), x**3], axis=1)
    rest = x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
    assert np.isclose(alone.forward, -(rest**2).mean()) and alone.forward == alone.backward


# Information geometry


def test_the_entropy_of_evenly_spaced_and_of_random_points() -> None:
    """That of [0, 1] is 0 and that of a normal law ½ log 2πe. Gaps between n random points tell it
    with a variance of (π²/6 - 1) / n, to which a normal law's own logarithm adds ½ / n; either
    misses once in two million times (0.001 is granted for the bias)."""
    rng, sure = rng_of(13), norm.isf(FALSE_ALARM / 4) / sqrt(20_000)
    gaps, normal = np.pi**2 / 6 - 1, 0.5 * np.log(2 * np.pi * np.e)
    assert abs(entropy(rng.random(20_000))) < sure * sqrt(gaps) + 0.001
    assert abs(entropy(rng.normal(size=20_000)) - normal) < sure * sqrt(gaps + 0.5) + 0.001


def test_for_a_rising_function_slope_and_entropy_are_one() -> None:
    x = rng_of(14).random(500)
    for reference in ("uniform", "gaussian"):
        by_entropy = igci(x, np.exp(3 * x), reference=reference)
        by_slope = igci(x, np.exp(3 * x), reference=reference, estimator="slope")
        assert np.isclose(by_slope.forward, by_entropy.difference)
        assert np.isclose(by_slope.backward, -by_entropy.difference)


@pytest.mark.parametrize("function", [np.sqrt, np.square, lambda x: np.exp(3 * x), np.tanh])
def test_an_effect_without_noise_has_less_entropy(function: Callable[[Floats], Floats]) -> None:
    x = rng_of(15).random(2000)
    for estimator in ("entropy", "slope"):
        assert igci(x, function(x), estimator=estimator).direction() == 1


def test_unknown_references_are_refused() -> None:
    with pytest.raises(MethodError, match="reference 'normal'"):
        igci(np.arange(9.0), np.arange(9.0), reference="normal")
    with pytest.raises(MethodError, match="estimator 'spacing'"):
        igci(np.arange(9.0), np.arange(9.0), estimator="spacing")


# Conditional distributions


def plainly(x: Floats, y: Floats) -> float:
    """Row by row: y of many values, in bins of x of half a standard deviation."""

    def bins(v: Floats) -> list[int]:
        return [max(-6, min(6, round(2 * e))) for e in v]

    scaled = (x - x.mean()) / x.std()
    near = scaled[np.abs(scaled) < 3]
    at = bins((scaled - near.mean()) / near.std())
    shapes = []
    for b, count in Counter(at).items():
        if count > 12:
            inside = y[[i for i, other in enumerate(at) if other == b]]
            places = Counter(bins((inside - inside.mean()) / y.std()))
            shapes.append([places[g] / count for g in range(-6, 7)])
    return float(np.std(np.array(shapes) - np.mean(shapes, axis=0)))


@pytest.mark.parametrize("seed", range(3))
def test_similarity_of_conditional_distributions_row_by_row(seed: int) -> None:
    x, y = noisy_square(400, rng_of(16, seed))
    assert np.isclose(variability(x, y), plainly(x, y))
    assert np.isclose(variability(y, x), plainly(y, x))


def test_conditional_distributions_of_few_values_are_moved_to_match() -> None:
    """y = x + noise on few values: given x, all shapes are alike but for their place."""
    x = np.repeat([0.0, 1.0, 2.0], 40)
    y = x + np.tile([0.0, 0.0, 0.0, 1.0], 30)
    assert variability(x, y) == 0.0
    assert variability(y, x) > 0.05


# The simulator


def test_every_kind_of_pair_is_made_and_seeds_decide() -> None:
    for kind in (*ADDITIVE, *OTHER):
        one, two = (random_pair(kind, 300, rng_of(17)) for _ in range(2))
        assert one.kind == kind and one.forward == two.forward
        assert np.array_equal(one.x, two.x) and np.array_equal(one.y, two.y)
        assert len(one.x) == len(one.y) == 300 and np.isfinite([one.x, one.y]).all()
        assert one.x.std() > 0 and one.y.std() > 0
        for values, (low, high) in zip((one.x, one.y), one.bounds(), strict=True):
            assert np.isclose((low + high) / 2, values.mean())
            assert np.isclose(high - low, 6 * values.std())


def test_a_coin_decides_which_column_is_the_cause() -> None:
    rng = rng_of(18)
    forward = sum(random_pair("linear", 2, rng).forward for _ in range(400))
    assert binomtest(forward, 400, 0.5).pvalue > FALSE_ALARM


def test_residuals_of_straight_lines_do_not_depend_on_the_cause_and_of_others_they_may() -> None:
    """Of heteroscedastic pairs, none of 300 had a ratio of spreads below 1.2; were it one in
    twenty, half of twenty would be below it with 10^-8."""
    rng = rng_of(19)
    for _ in range(5):
        pair = random_pair("linear", 4000, rng)
        cause, effect = (pair.x, pair.y) if pair.forward else (pair.y, pair.x)
        rest = standard(effect - np.polyval(np.polyfit(cause, effect, 1), cause))
        low, high = rest[cause < np.median(cause)], rest[cause >= np.median(cause)]
        assert kstest(low, high).pvalue > FALSE_ALARM
    spreads = []
    for _ in range(20):
        pair = random_pair("heteroscedastic", 4000, rng)
        cause, effect = (pair.x, pair.y) if pair.forward else (pair.y, pair.x)
        rest = effect - regression(standard(cause), standard(effect)) * effect.std()
        low, high = rest[cause < np.median(cause)].std(), rest[cause >= np.median(cause)].std()
        spreads.append(max(low, high) / min(low, high))
    assert np.median(spreads) > 1.2


def test_a_pair_that_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match=r"'cubic'.*poly"):
        random_pair("cubic", 100, rng_of(20))
    with pytest.raises(DataError, match="1 rows"):
        random_pair("gp", 1, rng_of(20))


def test_a_pair_knows_its_bounds_even_if_it_is_flat() -> None:
    pair = Pair(kind="gp", x=np.ones(5), y=np.ones(5), forward=True)
    assert pair.bounds() == ((1.0, 1.0), (1.0, 1.0))
