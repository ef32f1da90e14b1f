"""Exact laws and prices. Proofs: proofs/gaussian.md, laplace.md, selection.md, above-threshold.md.

Every statistical test has a false-alarm rate of one in a million, and each law checker is shown to
reject a planted fault.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from privet.errors import BudgetError, MethodError
from privet.privacy import mechanisms
from privet.privacy.laws import gaussian_variance, laplace_variance, smallest_root
from privet.privacy.mechanisms import AboveThreshold, Exact, Gaussian, Laplace, Select

FALSE_ALARM = 1e-6
WIDE = np.arange(-4000, 4001)


def fits(sample: Iterable[Hashable], law: Mapping[Any, float]) -> bool:
    """Pearson's test of a sample against a law; outcomes expected less than 10 times are pooled.
    An outcome that the law (all but) forbids is a misfit."""
    counts = Counter(sample)
    n = counts.total()
    if any(law.get(outcome, 0.0) < 1e-16 for outcome in counts):
        return False
    common = {outcome: n * p for outcome, p in law.items() if n * p >= 10}
    expected = [*common.values(), n - sum(common.values())]
    observed = [*(counts[outcome] for outcome in common)]
    observed.append(n - sum(observed))
    if expected[-1] < 10:  # too rare for a class of its own: it joins the rarest common one
        rarest = min(range(len(common)), key=expected.__getitem__)
        expected[rarest] += expected.pop()
        observed[rarest] += observed.pop()
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return bool(chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM)


def pmf(weights: np.ndarray) -> dict[int, float]:
    return dict(zip(WIDE.tolist(), (weights / weights.sum()).tolist(), strict=True))


def gaussian_law(scale: float) -> dict[int, float]:
    return pmf(np.exp(-((WIDE / scale) ** 2) / 2))


def laplace_law(scale: float) -> dict[int, float]:
    return pmf(np.exp(-np.abs(WIDE) / scale))


def zeros(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


# --- additive noise ---------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "l2_squared"), [("4", 1), ("1/2", 1), ("0.013", 2), ("1/30", 70)])
def test_gaussian_noise_has_the_exact_law(rho: str, l2_squared: int) -> None:
    mechanism = Gaussian(rho=Fraction(rho))
    noisy, variance = mechanism.perturb(zeros(30_000), l2_squared)
    scale = math.sqrt(max(l2_squared / (2 * Fraction(rho)) + Fraction(1, 10), Fraction(3, 5)))
    assert fits(noisy.tolist(), gaussian_law(scale))
    assert variance == pytest.approx(sum(k * k * p for k, p in gaussian_law(scale).items()))


@pytest.mark.parametrize(("epsilon", "l1"), [("3", 1), ("1", 1), ("0.13", 2), ("1/30", 3)])
def test_laplace_noise_has_the_exact_law(epsilon: str, l1: int) -> None:
    mechanism = Laplace(epsilon=Fraction(epsilon))
    noisy, variance = mechanism.perturb(zeros(30_000), l1)
    scale = float(l1 / Fraction(epsilon))
    assert fits(noisy.tolist(), laplace_law(scale))
    assert variance == pytest.approx(sum(k * k * p for k, p in laplace_law(scale).items()))


def test_the_checker_rejects_noise_of_the_wrong_scale_shape_or_centre() -> None:
    noisy, _ = Gaussian(rho=Fraction(5, 249)).perturb(zeros(30_000), 1)  # scale 5
    assert fits(noisy.tolist(), gaussian_law(5))
    assert not fits(noisy.tolist(), gaussian_law(2.5))
    assert not fits(noisy.tolist(), gaussian_law(5.5))
    assert not fits(noisy.tolist(), laplace_law(5 / math.sqrt(2)))
    assert not fits((noisy + 1).tolist(), gaussian_law(5))
    assert not fits([*noisy.tolist(), 5000], gaussian_law(5))


@given(st.fractions(Fraction(1, 10**9), 10**6), st.integers(1, 10**15))
def test_scales_cover_the_price_and_are_the_smallest_floats_that_do(
    price: Fraction, sensitivity: int
) -> None:
    s = Gaussian(rho=price).scale(sensitivity)
    needed = max(sensitivity / (2 * price) + Fraction(1, 10), Fraction(3, 5))
    assert Fraction(s) ** 2 >= needed > Fraction(math.nextafter(s, 0)) ** 2
    s = Select(epsilon=price).scale(sensitivity)
    assert price * Fraction(s) >= 2 * sensitivity > price * Fraction(math.nextafter(s, 0))
    if sensitivity > price * 2**52:
        with pytest.raises(BudgetError, match=r"at most 2\^52"):
            Laplace(epsilon=price).scale(sensitivity)
    else:
        s = Laplace(epsilon=price).scale(sensitivity)
        assert price * Fraction(s) >= sensitivity > price * Fraction(math.nextafter(s, 0))


@given(st.fractions(Fraction(1, 10**6), 100), st.integers(1, 100), st.integers(1, 1000))
def test_threshold_scales_cover_the_price(epsilon: Fraction, positives: int, sens: int) -> None:
    mechanism = AboveThreshold(epsilon=epsilon, positives=positives)
    first, each = map(Fraction, mechanism.scales(sens))
    assert sens / first + 2 * positives * sens / each <= epsilon  # proofs/above-threshold.md


def test_noise_that_would_leave_64_bits_is_refused() -> None:
    tiny, reach = Fraction(1, 10**12), 4096
    for scale in (
        lambda: AboveThreshold(epsilon=tiny, positives=1000).scales(reach),
        lambda: AboveThreshold(epsilon=tiny, positives=1000).start(0, reach),
        lambda: Laplace(epsilon=tiny).scale(2**14),
        lambda: Laplace(epsilon=tiny).perturb(zeros(1), 2**14),
        lambda: Gaussian(rho=tiny**2).scale(2**28),
        lambda: Gaussian(rho=tiny**2).perturb(zeros(1), 2**28),
    ):
        with pytest.raises(BudgetError, match=r"at most 2\^52 .* give a larger budget"):
            scale()
    largest = 2**52
    assert Laplace(epsilon=Fraction(1)).scale(largest) == largest
    assert Gaussian(rho=Fraction(1, 2)).scale(largest**2 - 1) == largest
    with pytest.raises(BudgetError, match=r"at most 2\^52"):
        Gaussian(rho=Fraction(1, 2)).scale(largest**2)
    for mechanism in (Laplace(epsilon=tiny), Gaussian(rho=tiny)):
        assert mechanism.scale(0) == 0
        with pytest.raises(MethodError, match="0 or more"):
            mechanism.scale(-1)


def test_noise_by_itself_has_no_end() -> None:
    """At scale 2^62 nearly one draw in seven lies beyond 64 bits; how many reach k scales is
    known exactly, and their law beyond is that from the start."""
    scale, count = 2.0**62, 20_000
    drawn = mechanisms._noise(scale, count)
    share = Counter(max(-5, min(5, math.floor(value / scale))) for value in drawn)
    law = {k: (math.exp(-k) - (k < 5) * math.exp(-k - 1)) / 2 for k in range(6)}
    law |= {-k - 1: (math.exp(-k) - (k < 4) * math.exp(-k - 1)) / 2 for k in range(5)}
    assert sum(law.values()) == pytest.approx(1) and fits(share.elements(), law)
    saturated = [max(-(2**63), min(2**63 - 1, value)) for value in drawn]
    cut = Counter(max(-5, min(5, math.floor(value / scale))) for value in saturated)
    assert not fits(cut.elements(), law)


@pytest.mark.parametrize("score", [1, -1])
def test_a_sieve_does_not_compare_what_was_saturated(
    score: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of such a scale hides a score of 1 but for one part in 2^60. If it were saturated on
    both sides, the sign of the score would decide about every fourth answer."""
    monkeypatch.setattr(mechanisms, "LARGEST_SCALE", math.inf)
    mechanism = AboveThreshold(epsilon=Fraction(1, 2**63), positives=1)
    yes = sum(mechanism.start(0, 1).above(score) for _ in range(1500))
    assert binomtest(yes, 1500, 0.5).pvalue > FALSE_ALARM


def test_opendp_agrees_with_the_price() -> None:
    price = mechanisms._gaussian(Gaussian(rho=Fraction(1, 8)).scale(4)).map(2.0)
    assert price < 1 / 8 and price == pytest.approx(4 / (2 * 16.1))
    assert mechanisms._laplace(Laplace(epsilon=Fraction(1, 2)).scale(3)).map(3) == 1 / 2
    assert mechanisms._noisy_max(Select(epsilon=Fraction(1)).scale(3)).map(3) == 1 / 8


@given(st.fractions(Fraction(1, 10**12), 10**12))
def test_smallest_root(square: Fraction) -> None:
    root = smallest_root(square)
    assert Fraction(root) ** 2 >= square > Fraction(math.nextafter(root, 0)) ** 2


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.37, 0.7, 1.0, 1.49, 1.5, 2.0, 7.3])
def test_variances_are_those_of_the_discrete_laws(scale: float) -> None:
    for law, variance in (
        (gaussian_law(scale), gaussian_variance(scale)),
        (laplace_law(scale), laplace_variance(scale)),
    ):
        assert variance == pytest.approx(sum(k * k * p for k, p in law.items()), rel=1e-12)


def test_variance_at_absurd_scales_is_finite() -> None:
    assert gaussian_variance(1e-300) == 0.0
    assert laplace_variance(1e-300) == 0.0
    assert laplace_variance(1e6) == pytest.approx(2e12)


def test_noise_is_centred_on_the_exact_values_and_keeps_their_shape() -> None:
    exact = np.arange(-6, 6, dtype=np.int64).reshape(3, 4) * 10**9
    for noisy, _ in (
        Gaussian(rho=Fraction(1)).perturb(exact, 1),
        Laplace(epsilon=Fraction(1)).perturb(exact, 1),
    ):
        assert noisy.shape == (3, 4) and noisy.dtype == np.int64
        assert np.abs(noisy - exact).max() < 100


def test_what_nobody_can_change_is_released_as_it_is() -> None:
    exact = np.array([3, 4], dtype=np.int64)
    for noisy, variance in (
        Gaussian(rho=Fraction(1)).perturb(exact, 0),
        Laplace(epsilon=Fraction(1)).perturb(exact, 0),
        Exact().perturb(exact, 7),
    ):
        assert noisy.tolist() == [3, 4] and variance == 0.0 and noisy is not exact
    assert Gaussian(rho=Fraction(1)).perturb(zeros(0), 1)[0].size == 0


def test_values_saturate_at_64_bits() -> None:
    top = np.full(200, 2**63 - 1, dtype=np.int64)
    noisy, _ = Laplace(epsilon=Fraction(1, 100)).perturb(top, 1)
    assert noisy.max() == 2**63 - 1 and noisy.min() > 2**63 - 10**6


def test_blocks_of_long_vectors_are_independent() -> None:
    noisy, _ = Gaussian(rho=Fraction(1, 50)).perturb(zeros(50_000), 1)
    blocks = noisy.reshape(5, 10_000)
    assert fits(noisy.tolist(), gaussian_law(5))
    correlation = np.asarray(np.corrcoef(blocks))[np.triu_indices(5, 1)]
    assert np.abs(correlation).max() < 5.4 / 100  # 10 normal values, each beyond 5.4 once in 1.5e7


# --- selection --------------------------------------------------------------------------------


def select_law(scores: list[int], scale: float) -> dict[int, float]:
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    return dict(enumerate((weights / weights.sum()).tolist()))


@pytest.mark.parametrize(
    ("scores", "sensitivity"),
    [([0, 1], 1), ([5, 5, 5], 1), ([-7, 0, 2, 3, 3], 2), ([2**62, 2**62 + 3, 2**62 - 2], 2)],
)
def test_selection_is_the_exponential_mechanism(scores: list[int], sensitivity: int) -> None:
    mechanism, array = Select(epsilon=Fraction(3, 2)), np.array(scores, dtype=np.int64)
    sample = [mechanism.pick(array, sensitivity) for _ in range(5_000)]
    small = [score - min(scores) for score in scores]
    assert fits(sample, select_law(small, 2 * sensitivity / 1.5))


def test_the_checker_rejects_halved_noise_and_permute_and_flip() -> None:
    mechanism, scores = Select(epsilon=Fraction(3, 2)), [3, -3, -3, -3, -3]
    array = np.array(scores, dtype=np.int64)
    sample = [mechanism.pick(array, 2) for _ in range(5_000)]
    assert not fits(sample, select_law(scores, 4 / 3))
    assert not fits(sample, permute_and_flip_law(scores, 8 / 3))


def permute_and_flip_law(scores: list[int], scale: float) -> dict[int, float]:
    heads = np.exp((np.array(scores) - max(scores)) / scale)
    law = dict.fromkeys(range(len(scores)), 0.0)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        missed = 1.0
        for i in order:
            law[i] += missed * heads[i] / len(orders)
            missed *= 1 - heads[i]
    return law


def test_selection_has_bounded_range_and_its_zcdp_price() -> None:
    """The law of proofs/selection.md on every neighbour: log ratios span at most epsilon, and
    the Renyi divergence of order alpha is at most alpha epsilon^2 / 8."""
    epsilon, sensitivity, scores = 1.5, 2, [-7, 0, 2, 3]
    scale = Select(epsilon=Fraction(3, 2)).scale(sensitivity)
    law = np.array(list(select_law(scores, scale).values()))
    for moves in itertools.product(range(-sensitivity, sensitivity + 1), repeat=4):
        moved = [s + m for s, m in zip(scores, moves, strict=True)]
        other = np.array(list(select_law(moved, scale).values()))
        ratio = np.log(law / other)
        assert np.ptp(ratio) <= epsilon + 1e-12 and np.abs(ratio).max() <= epsilon + 1e-12
        for alpha in (1.1, 2, 8, 32):
            renyi = math.log((law**alpha * other ** (1 - alpha)).sum()) / (alpha - 1)
            assert renyi <= alpha * epsilon**2 / 8 + 1e-12


# --- above threshold --------------------------------------------------------------------------


def transcript_law(
    scores: list[int], threshold: int, scales: tuple[float, float], positives: int
) -> dict[tuple[int, ...], float]:
    """Probability of every transcript: sum over the threshold's noise of products of tails."""
    span = np.arange(-600, 601)
    noise = np.exp(-np.abs(span) / scales[0])
    noise /= noise.sum()
    yes = [laplace_tail(threshold + span - score, scales[1]) for score in scores]
    law: dict[tuple[int, ...], float] = {}
    for bits in itertools.product((False, True), repeat=len(scores)):
        stop = next((i + 1 for i in range(len(bits)) if sum(bits[: i + 1]) == positives), len(bits))
        if any(bits[stop:]):
            continue  # the same transcript, counted once
        chance = noise.copy()
        for bit, tail in zip(bits[:stop], yes, strict=False):
            chance *= tail if bit else 1 - tail
        law[bits[:stop]] = float(chance.sum())
    return law


def laplace_tail(at_least: np.ndarray, scale: float) -> np.ndarray:
    """P(discrete Laplace >= k): q^k / (1 + q) for k >= 1, by symmetry for the rest."""
    q = math.exp(-1 / scale)
    upper = q ** np.maximum(at_least, 1) / (1 + q)
    lower = 1 - q ** np.maximum(1 - at_least, 1) / (1 + q)
    return np.where(at_least >= 1, upper, lower)


def transcripts(mechanism: AboveThreshold, scores: list[int], n: int) -> list[Hashable]:
    sample: list[Hashable] = []
    for _ in range(n):
        sieve, bits = mechanism.start(10, 2), []
        for score in scores:
            if sieve.exhausted:
                break
            bits.append(sieve.above(score))
        sample.append(tuple(bits))
    return sample


CASES = [(1, [8, 13, 5]), (2, [9, 15, 4, 12])]


@pytest.mark.parametrize(("positives", "scores"), CASES)
def test_short_transcripts_have_the_exact_law(positives: int, scores: list[int]) -> None:
    mechanism = AboveThreshold(epsilon=Fraction(2), positives=positives)
    law = transcript_law(scores, 10, mechanism.scales(2), positives)
    assert sum(law.values()) == pytest.approx(1)
    assert fits(transcripts(mechanism, scores, 5000), law)


@pytest.mark.parametrize("fault", ["scores", "threshold", "redrawn"])
def test_a_planted_fault_in_the_noise_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    positives, scores = CASES[1]
    mechanism = AboveThreshold(epsilon=Fraction(2), positives=positives)
    first, each = mechanism.scales(2)
    law = transcript_law(scores, 10, (first, each), positives)
    draw = mechanisms._laplace
    if fault == "redrawn":  # the threshold is drawn anew for each question

        def above(sieve: mechanisms.Sieve, score: int) -> bool:
            answer = bool(draw(each)([score])[0] >= draw(first)([10])[0])
            sieve._left -= answer
            return answer

        monkeypatch.setattr(mechanisms.Sieve, "above", above)
    else:  # the noise of the scores, or of the threshold, is halved
        wrong = each if fault == "scores" else first
        monkeypatch.setattr(mechanisms, "_laplace", lambda s: draw(s / 2 if s == wrong else s))
    count = 5000 if fault == "threshold" else 2500
    assert not fits(transcripts(mechanism, scores, count), law)


@pytest.mark.parametrize(("positives", "scores"), [*CASES, (1, [10] * 6)])
def test_no_neighbour_moves_a_transcript_by_more_than_epsilon(
    positives: int, scores: list[int]
) -> None:
    """The whole law of proofs/above-threshold.md, silent tail included."""
    mechanism = AboveThreshold(epsilon=Fraction(2), positives=positives)
    assert worst_loss(scores, mechanism.scales(2), positives) <= 2


def test_halved_noise_breaks_the_promise() -> None:
    first, each = AboveThreshold(epsilon=Fraction(2)).scales(2)
    assert worst_loss([10] * 6, (first, each / 2), 1) > 3
    assert worst_loss([10] * 6, (first / 2, each), 1) > 2


def worst_loss(scores: list[int], scales: tuple[float, float], positives: int) -> float:
    law = transcript_law(scores, 10, scales, positives)
    worst = 0.0
    for moves in itertools.product((-2, 2), repeat=len(scores)):
        moved = [s + m for s, m in zip(scores, moves, strict=True)]
        other = transcript_law(moved, 10, scales, positives)
        worst = max(worst, *(abs(math.log(law[t] / other[t])) for t in law))
    return worst


def test_a_run_stops_after_its_positives_and_hides_its_threshold() -> None:
    sieve = AboveThreshold(epsilon=Fraction(1), positives=2).start(0, 1)
    assert [sieve.above(10**6), sieve.above(-(10**6)), sieve.above(10**6)] == [True, False, True]
    assert sieve.exhausted and repr(sieve) == "Sieve(exhausted)"
    with pytest.raises(BudgetError, match="as often as it was paid for"):
        sieve.above(0)


def test_a_run_on_scores_that_nobody_can_change_is_exact() -> None:
    sieve = AboveThreshold(epsilon=Fraction(1, 1000)).start(5, 0)
    assert [sieve.above(4), sieve.above(5)] == [False, True]


# --- prices and refusals ----------------------------------------------------------------------


def test_prices() -> None:
    half = Fraction(1, 2)
    assert Gaussian(rho=half).cost("zcdp") == Gaussian(rho=half).cost("gdp") == half
    assert Laplace(epsilon=half).cost("pure") == half
    assert Laplace(epsilon=half).cost("zcdp") == Fraction(1, 8)
    assert Laplace(epsilon=half).cost("gdp") == Fraction(11, 56)
    assert Select(epsilon=half).cost("pure") == half
    assert Select(epsilon=half).cost("zcdp") == Fraction(1, 32)
    assert Select(epsilon=half).cost("gdp") == Fraction(11, 224)
    assert AboveThreshold(epsilon=half, positives=3).cost("pure") == half
    assert AboveThreshold(epsilon=half, positives=3).cost("zcdp") == Fraction(1, 8)
    assert AboveThreshold(epsilon=half, positives=3).cost("gdp") == Fraction(11, 56)
    assert Exact().cost("pure") == Exact().cost("zcdp") == 0
    assert not Exact.private and Gaussian.private and AboveThreshold(epsilon=half).private
    with pytest.raises(BudgetError, match="needs delta > 0"):
        Gaussian(rho=half).cost("pure")


@pytest.mark.parametrize("price", [Fraction(0), Fraction(-1), 0.1, math.nan, True, "1", None])
def test_a_price_must_be_an_exact_fraction_above_zero(price: object) -> None:
    for make in (
        lambda: Gaussian(rho=price),  # type: ignore[arg-type]
        lambda: Laplace(epsilon=price),  # type: ignore[arg-type]
        lambda: Select(epsilon=price),  # type: ignore[arg-type]
        lambda: AboveThreshold(epsilon=price),  # type: ignore[arg-type]
    ):
        with pytest.raises(BudgetError, match="exact fraction above 0"):
            make()


def test_other_refusals() -> None:
    with pytest.raises(BudgetError, match="1 or more"):
        AboveThreshold(epsilon=Fraction(1), positives=0)
    with pytest.raises(MethodError, match="nothing to select from"):
        Select(epsilon=Fraction(1)).pick(zeros(0), 1)
    with pytest.raises(MethodError, match="integers only"):
        Gaussian(rho=Fraction(1)).perturb(np.array([0.5]), 1)
    with pytest.raises(MethodError, match="0 or more"):
        Laplace(epsilon=Fraction(1)).perturb(zeros(1), -1)


def test_a_copy_of_a_sieve_is_of_no_use_in_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sieve = AboveThreshold(epsilon=Fraction(1), positives=2).start(0, 1)
    sieve.above(-1000)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(BudgetError, match="another process"):
        sieve.above(-1000)
