"""The theorems of proofs/gdp.md held against laws that are worked out exactly, and what they would
be without what they ask for: each control must fail."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp

from privet.privacy.ledger.conversion import OF_PURE, rho_for
from privet.privacy.mechanisms import DISCRETE, LEAST_SQUARE, Gaussian, Laplace, Select

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

SCALES = [sqrt(0.6), 0.8, 0.9, 1.0, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 60.0]
GAMMAS = np.exp(np.linspace(-6, 6, 121))
ROUNDING = 1e-12


def h(v: float, gamma: Floats) -> Floats:
    """The largest P(A) - gamma Q(A) of the normal laws of means sqrt(v) and 0."""
    mu, ratio = sqrt(v), np.log(gamma)
    first = ndtr(mu / 2 - ratio / mu)
    return np.asarray(first - np.exp(ratio + log_ndtr(-mu / 2 - ratio / mu)))


def largest(pair: Pair, gamma: Floats) -> Floats:
    """The same of two laws on a finite set."""
    p, q = pair
    return np.asarray(np.maximum(p[:, None] - q[:, None] * gamma, 0).sum(axis=0))


def excess(pair: Pair, v: float, gamma: Floats = GAMMAS) -> float:
    """By how much a pair breaks mu-GDP with mu^2 = v, in either order."""
    return max(float((largest(p, gamma) - h(v, gamma)).max()) for p in (pair, pair[::-1]))


def discrete(scale: float, shift: int = 0) -> Floats:
    """The law of a shifted answer with noise, on a range beyond which there is nothing."""
    reach = int(12 * scale + 12)
    weights = np.exp(-((np.arange(-reach, reach + 1) - shift) ** 2) / (2 * scale**2))
    return np.asarray(weights / weights.sum())


# --- Theorem 1 --------------------------------------------------------------------------------


def steps(scale: float) -> Floats:
    """How long the piece of a normal variable is for each atom; the last is that of 0."""
    atoms = -(np.arange(-int(20 * scale + 20), 1) ** 2) / (2 * scale**2)
    whole = np.logaddexp(logsumexp(atoms), logsumexp(atoms[:-1]))
    cuts = ndtri_exp(np.logaddexp.accumulate(atoms) - whole)[:-1]  # up to -1; 0 is its reflection
    found = np.append(np.diff(cuts), -2 * cuts[-1])
    return np.asarray(found[-int(8 * scale + 1) :])


@pytest.mark.parametrize("scale", SCALES)
def test_no_atom_is_wider_than_a_tenth_less_of_variance_allows(scale: float) -> None:
    found = steps(scale)
    assert (found**2 * (scale**2 - float(DISCRETE))).max() <= 1
    assert found[-1] ** 2 * scale**2 > 1  # the control: the atom at 0, without the tenth
    assert found[-1] ** 2 * (scale**2 - 1 / 12) > 1  # and with less


SHIFTS = [(1,), (2,), (3,), (1, 1), (2, 1, 1), (1, 1, 1, 1), (1,) * 9]


def answers(scale: float, shift: tuple[int, ...]) -> Pair:
    """The laws of sum(shift * answer), which is all that a likelihood ratio asks for, with the
    answers moved by the shift and without."""
    law = np.ones(1)
    for step in shift:
        one = discrete(scale)
        spread = np.zeros(step * (len(one) - 1) + 1)
        spread[::step] = one
        law = np.convolve(law, spread)
    at = np.arange(len(law)) - (len(law) - 1) / 2
    squared = sum(step**2 for step in shift)
    return law * np.exp((2 * at - squared) / (2 * scale**2)), law


@pytest.mark.parametrize("shift", SHIFTS, ids=str)
@pytest.mark.parametrize("scale", [0.7746, 1.0, 2.0, 5.0, 20.0])
def test_vectors_of_any_length_are_covered(scale: float, shift: tuple[int, ...]) -> None:
    pair, squared = answers(scale, shift), sum(step**2 for step in shift)
    v = squared / (scale**2 - float(DISCRETE))
    gamma = np.exp(np.linspace(-6, 6, 241) * sqrt(v))
    assert excess(pair, v, gamma) <= ROUNDING
    if scale <= 5:  # beyond, a difference is there but small
        assert excess(pair, squared / scale**2, gamma) > ROUNDING


def test_what_the_noise_is_promised_to_be() -> None:
    """The mechanism's own scale and price, up to prices at which the least scale holds."""
    for rho in ("1/5000", "1/50", "1/2", "1", "4", "50"):
        mechanism, v = Gaussian(rho=Fraction(rho)), 2 * float(Fraction(rho))
        for sensitivity in (1, 2, 3):
            scale = mechanism.scale(sensitivity**2)
            assert Fraction(scale) ** 2 >= LEAST_SQUARE
            assert excess((discrete(scale, sensitivity), discrete(scale)), v) <= ROUNDING


# --- prices of what is pure -------------------------------------------------------------------


def response(epsilon: float) -> Pair:
    """Randomised response: the truth with odds exp(epsilon)."""
    truth = 1 / (1 + exp(-epsilon))
    return np.array([truth, 1 - truth]), np.array([1 - truth, truth])


def ranged(epsilon: float, first: float) -> Pair:
    """Two outcomes whose log ratios are ``first`` - epsilon and ``first``."""
    low, high = exp(first - epsilon), exp(first)
    q = (1 - low) / (high - low)
    return np.array([q * high, 1 - q * high]), np.array([q, 1 - q])


EPSILONS = [1e-3, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_pure_costs_what_randomised_response_needs(epsilon: float) -> None:
    price = float(Laplace(epsilon=Fraction(repr(epsilon))).cost("gdp"))
    exact = 2 * ndtri(1 / (1 + exp(-epsilon))) ** 2
    assert exact <= price and float(OF_PURE["gdp"]) > pi / 4
    gamma = np.exp(np.linspace(-2 * epsilon, 2 * epsilon, 2001))
    assert excess(response(epsilon), 2 * price, gamma) <= ROUNDING
    assert excess(response(epsilon), 2 * exact, gamma) <= ROUNDING
    assert excess(response(epsilon), 2 * exact * 0.99, gamma) > 0  # no less would do
    noise = np.exp(-epsilon * np.abs(np.arange(-4000, 4001)))
    noise /= noise.sum()
    laplace = noise, np.roll(noise, 1)
    assert epsilon < 0.1 or excess(laplace, 2 * price, gamma) <= ROUNDING


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_selection_costs_a_quarter(epsilon: float) -> None:
    price = float(Select(epsilon=Fraction(repr(epsilon))).cost("gdp"))
    gamma = np.exp(np.linspace(-2 * epsilon, 2 * epsilon, 2001))
    for first in np.linspace(0.02, 0.98, 49) * epsilon:
        assert excess(ranged(epsilon, first), 2 * price, gamma) <= ROUNDING
    assert excess(response(epsilon), 2 * price, gamma) > 0  # whose range is twice as large


def test_a_price_in_zcdp_is_none_in_gdp() -> None:
    """Randomised response is (epsilon^2 / 2)-zCDP, and breaks that amount of GDP by far."""
    assert excess(response(1.0), 1.0) > 0.06


# --- Theorem 2 --------------------------------------------------------------------------------

Choose = Callable[[np.random.Generator, float, float], tuple[str, float]]


def by_chance(rng: np.random.Generator, left: float, _loss: float) -> tuple[str, float]:
    return str(rng.choice(["noise", "response", "range"])), left * rng.choice([0.3, 0.6, 1.0])


def by_loss(_rng: np.random.Generator, left: float, loss: float) -> tuple[str, float]:
    """Spends all where the answers have told much, else little."""
    return ("response", left) if loss > 0.2 else ("noise", left if loss < -0.2 else left / 3)


def step(kind: str, v: float, rate: float) -> Pair:
    """A pair that may be sold for this price."""
    if kind == "noise":
        scale = sqrt(max(1 / v + 0.1, 0.6))
        return discrete(scale, 1), discrete(scale)
    epsilon = sqrt(v / 2 / rate)
    return response(epsilon) if kind == "response" else ranged(2 * epsilon, 0.8 * epsilon)


def transcripts(
    choose: Choose, rng: np.random.Generator, v: float, steps_left: int, rate: float
) -> Pair:
    """The laws of all answers, where each next question and its price follow from those before."""

    def grow(p: float, q: float, left: float, depth: int) -> list[tuple[float, float]]:
        if depth == 0 or left < 1e-9 or p + q < 1e-9:  # stopping is a choice as well
            return [(p, q)]
        kind, price = choose(rng, left, log(p / q) if min(p, q) > 0 else 0.0)
        found = []
        for one, other in zip(*step(kind, price, rate), strict=True):
            if one + other > 1e-9:
                found += grow(p * one, q * other, left - price, depth - 1)
        return found

    p, q = np.array(grow(1.0, 1.0, v, steps_left)).T
    return p, q


RATE = float(OF_PURE["gdp"])


@pytest.mark.parametrize(
    ("choose", "trees"), [(by_chance, 10), (by_loss, 1)], ids=["chance", "loss"]
)
@pytest.mark.parametrize("v", [0.1, 0.5, 1.5])
def test_adaptive_transcripts_stay_within_the_cap(choose: Choose, trees: int, v: float) -> None:
    for seed in range(trees):
        pair = transcripts(choose, np.random.default_rng(seed), v, 3, RATE)
        assert excess(pair, v) <= 1e-6  # atoms below 1e-9 were left out


def test_transcripts_at_the_prices_of_zcdp_exceed_the_cap() -> None:
    pair = transcripts(by_loss, np.random.default_rng(0), 0.5, 3, float(OF_PURE["zcdp"]))
    assert excess(pair, 0.5) > 1e-3


def test_trading_rho_for_epsilon_along_the_way_breaks_the_promise() -> None:
    """Why a cap's parts are caps by themselves: 30% of rho, and then, by the answer, either the
    other 70% or a pure charge, each allowed by itself, is worth 1.58 times the delta."""
    delta, gamma = 1e-6, exp(1.0)
    v = 2 * float(rho_for(1, delta, "gdp"))
    pure = np.linspace(0.4, 0.6, 2001)
    worth = h(0.3 * v, np.exp(1 - pure))
    epsilon = float(pure[worth <= delta].max())
    assert epsilon == pytest.approx(0.476, abs=1e-3)
    x = np.linspace(-12, 12, 200_001)
    density = np.exp(-(x**2) / 2) / sqrt(2 * pi)
    ratio = np.exp(sqrt(0.3 * v) * x - 0.15 * v)
    left = gamma / ratio
    both = h(0.7 * v, left), largest(response(epsilon), left)
    alone = [float((density * ratio * each).sum() * (x[1] - x[0])) for each in both]
    assert max(alone) <= delta * (1 + 1e-6)
    best = float((density * ratio * np.maximum(*both)).sum() * (x[1] - x[0]))
    assert best == pytest.approx(1.58e-6, rel=0.01)
