"""The conversion of Gaussian differential privacy against normal probabilities in 300 digits."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.privacy.ledger import gdp
from privet.privacy.ledger.conversion import epsilon_for, rho_for

DELTAS = st.floats(-14, -1).map(lambda x: float(f"{10**x:.6g}"))
EPSILONS = st.floats(1e-3, 50).map(lambda x: float(f"{x:.6g}"))
MANY = Context(prec=300, Emin=-(10**9), Emax=10**9)


def above(x: Decimal) -> Decimal:
    """The probability that a normal variable exceeds x, by its series around 0, which loses
    digits where x is large and has enough of them up to 30."""
    term, total, n = x, x, 1
    while abs(term) > Decimal(10) ** -290 * (1 + abs(total)):
        n += 2
        term *= x * x / n
        total += term
    pi = 4 * (4 * arctangent(5) - arctangent(239))
    return Decimal("0.5") - (-x * x / 2).exp() / (2 * pi).sqrt() * total


def arctangent(inverse: int) -> Decimal:
    """Of 1 / inverse."""
    powers = (Decimal(-1) ** k / (2 * k + 1) / Decimal(inverse) ** (2 * k + 1) for k in range(450))
    return sum(powers, Decimal(0))


def true_delta(rho: Fraction, epsilon: Fraction) -> Decimal:
    with localcontext(MANY):
        mu = (2 * decimal(rho)).sqrt()
        x = decimal(epsilon) / mu - mu / 2
        return above(x) - decimal(epsilon).exp() * above(x + mu)


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


# rho and epsilon on both sides of where the bound changes from a series to a fraction
POINTS = [
    (rho, e) for rho in ("1e-6", "0.003", "0.5", "20") for e in ("0", "1e-4", "0.1", "1", "30")
]


@pytest.mark.parametrize(("rho", "epsilon"), POINTS)
def test_the_bound_is_not_below_the_truth_and_close_to_it(rho: str, epsilon: str) -> None:
    mu_is_exact, e = Fraction(rho), Fraction(epsilon)
    with localcontext(gdp.EXACT):
        mu = (2 * decimal(mu_is_exact)).sqrt()
        x = decimal(e) / mu - mu / 2
        if x > 25:  # where nothing is left, neither here nor there
            return
        bound = gdp.delta_bound(mu, decimal(e))[0]
    truth = true_delta(mu_is_exact, e)
    assert truth <= bound <= truth * (1 + Decimal("1e-20"))


def test_mills_ratio_is_bounded_from_both_sides() -> None:
    for x in ("-10", "-3", "0", "2", "3.99", "4", "4.01", "25"):
        with localcontext(gdp.EXACT):
            low, high = gdp.mills(Decimal(x))
        with localcontext(MANY):
            pi = 4 * (4 * arctangent(5) - arctangent(239))
            density = (-(Decimal(x) ** 2) / 2).exp() / (2 * pi).sqrt()
            assert low < above(Decimal(x)) / density < high < low * (1 + Decimal("1e-28"))


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "3", "20"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-12"])
def test_rho_is_safe_and_within_a_billionth_of_the_best(epsilon: str, delta: str) -> None:
    eps, dlt = Fraction(epsilon), Fraction(delta)
    rho = rho_for(eps, dlt, "gdp")
    assert true_delta(rho, eps) <= decimal(dlt)
    assert true_delta(rho * (1 + Fraction(1, 10**9)), eps) > decimal(dlt)
    assert rho > rho_for(eps, dlt, "zcdp")


@pytest.mark.parametrize("rho", ["1e-6", "0.02", "0.5", "10"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-12"])
def test_epsilon_is_safe_and_within_a_billionth_of_the_best(rho: str, delta: str) -> None:
    spent, dlt = Fraction(rho), Fraction(delta)
    epsilon = Fraction(repr(epsilon_for(spent, dlt, "gdp")))
    assert true_delta(spent, epsilon) <= decimal(dlt)
    if epsilon > 0:  # a large delta alone can cover a small rho
        assert true_delta(spent, epsilon * (1 - Fraction(1, 10**9))) > decimal(dlt)


@settings(max_examples=60)
@given(EPSILONS, EPSILONS, DELTAS, DELTAS)
def test_there_and_back_and_more_buys_more(e1: float, e2: float, d1: float, d2: float) -> None:
    (low, high), (small, large) = sorted((e1, e2)), sorted((d1, d2))
    rho = rho_for(low, small, "gdp")
    assert low * (1 - 1e-6) <= epsilon_for(rho, small, "gdp") <= low
    assert rho_for(low, small, "zcdp") < rho <= rho_for(high, large, "gdp")
    more = [epsilon_for(r, d, "gdp") for r, d in ((rho, large), (rho, small), (2 * rho, small))]
    assert more == sorted(more)


def test_the_extremes_of_the_allowed_range() -> None:
    for epsilon in (1e-12, 1e12):
        for delta in (5e-324, 1e-300, 0.5, 1 - 1e-9):
            rho = rho_for(epsilon, delta, "gdp")
            assert rho > rho_for(epsilon, delta, "zcdp")
            assert epsilon_for(rho, delta, "gdp") <= epsilon


def test_the_table_of_the_proof() -> None:
    wanted = {0.1: 3.7935e-4, 0.3: 2.9620e-3, 1: 2.8014e-2, 2: 0.10050, 4: 0.35100}
    for epsilon, rho in wanted.items():
        assert float(rho_for(epsilon, 1e-6, "gdp")) == pytest.approx(rho, rel=3e-5)


def test_what_newton_cannot_improve_is_left_as_zcdp_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a search that goes astray. What comes out has passed the bound all the same."""
    real = gdp.delta_bound

    def astray(mu: Decimal, epsilon: Decimal) -> tuple[Decimal, Decimal, Decimal]:
        bound, by_mu, by_epsilon = real(mu, epsilon)
        return bound, by_mu / 3, by_epsilon / 3

    monkeypatch.setattr(gdp, "delta_bound", astray)
    monkeypatch.setattr(gdp, "STEPS", 1)
    eps, dlt = Fraction(7, 10), Fraction(1, 10**7)
    start = rho_for(eps, dlt, "zcdp")
    assert gdp.rho_for(eps, dlt, start) == start
    above_it = Fraction(epsilon_for(start, dlt, "zcdp"))
    assert gdp.epsilon_for(start, dlt, above_it) == above_it


def test_gdp_is_worth_it_where_little_is_pure() -> None:
    """The share of a budget from which on zCDP is better, with pure charges 11/7 times as dear."""
    shares = []
    for epsilon in (0.1, 0.3, 0.5, 1, 2, 4):
        gain = float(rho_for(epsilon, 1e-6, "gdp") / rho_for(epsilon, 1e-6, "zcdp"))
        shares.append((gain - 1) / (11 / 7 - 1))
    assert np.round(shares, 2).tolist() == [0.32, 0.29, 0.28, 0.26, 0.25, 0.22]
