"""The conversions against Proposition 12 of Canonne, Kamath, Steinke 2020 in 50 digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import BudgetError
from privet.privacy.ledger.conversion import (
    budget_for,
    check_budget,
    currency_for,
    epsilon_for,
    epsilon_of,
    exchange,
    float_up,
    rho_for,
)

EPSILONS = st.floats(1e-3, 50).map(lambda x: float(f"{x:.6g}"))
DELTAS = st.floats(-14, -1).map(lambda x: float(f"{10**x:.6g}"))


def least_delta(rho: Fraction, epsilon: Fraction) -> Decimal:
    """inf over alpha of the bound as the paper writes it, by ternary search in 50 digits.

    The upper end is what counts: any alpha gives a valid delta.
    """
    with localcontext() as context:
        context.prec = 50
        r = Decimal(rho.numerator) / rho.denominator
        e = Decimal(epsilon.numerator) / epsilon.denominator

        def log_bound(alpha: Decimal) -> Decimal:
            exponent = (alpha - 1) * (alpha * r - e)
            return exponent - (alpha - 1).ln() + alpha * (1 - 1 / alpha).ln()

        low, high = Decimal(-25), Decimal(25)  # ln(alpha - 1)
        for _ in range(120):
            third = (high - low) / 3
            if log_bound(1 + (low + third).exp()) < log_bound(1 + (high - third).exp()):
                high -= third
            else:
                low += third
        return log_bound(1 + ((low + high) / 2).exp()).exp()


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "3", "20"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-12"])
def test_rho_is_safe_and_within_a_billionth_of_the_best(epsilon: str, delta: str) -> None:
    eps, dlt = Fraction(epsilon), Fraction(delta)
    allowed = Decimal(dlt.numerator) / dlt.denominator
    rho = rho_for(eps, dlt, "zcdp")
    assert least_delta(rho, eps) <= allowed
    assert least_delta(rho * (1 + Fraction(1, 10**9)), eps) > allowed


@pytest.mark.parametrize("rho", ["1e-6", "0.02", "0.5", "10"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-12"])
def test_epsilon_is_safe_and_within_a_billionth_of_the_best(rho: str, delta: str) -> None:
    dlt = Fraction(delta)
    allowed = Decimal(dlt.numerator) / dlt.denominator
    epsilon = Fraction(epsilon_for(Fraction(rho), dlt, "zcdp"))
    assert least_delta(Fraction(rho), epsilon) <= allowed
    if epsilon > 0:  # a large delta alone can cover a small rho
        assert least_delta(Fraction(rho), epsilon * (1 - Fraction(1, 10**9))) > allowed


def test_known_value() -> None:
    assert epsilon_for(Fraction(1, 32), 1e-6, "zcdp") == pytest.approx(
        1.1429, abs=5e-5
    )  # as OpenDP says


def test_tighter_than_the_textbook_formula() -> None:
    for rho in (0.001, 0.02, 0.5, 4.0):
        textbook = rho + 2 * math.sqrt(rho * math.log(1e6))
        assert epsilon_for(Fraction(rho), 1e-6, "zcdp") < 0.97 * textbook


@settings(max_examples=150)
@given(EPSILONS, DELTAS)
def test_there_and_back_never_exceeds_epsilon(epsilon: float, delta: float) -> None:
    rho = rho_for(epsilon, delta, "zcdp")
    assert rho > 0
    assert epsilon * (1 - 1e-6) <= epsilon_for(rho, delta, "zcdp") <= epsilon


@settings(max_examples=100)
@given(EPSILONS, EPSILONS, DELTAS, DELTAS)
def test_more_epsilon_and_more_delta_buy_more(e1: float, e2: float, d1: float, d2: float) -> None:
    low, high = sorted((e1, e2))
    small, large = sorted((d1, d2))
    assert rho_for(low, small, "zcdp") <= rho_for(high, large, "zcdp")
    rho = rho_for(low, small, "zcdp")
    assert (
        epsilon_for(rho, large, "zcdp")
        <= epsilon_for(rho, small, "zcdp")
        <= epsilon_for(2 * rho, small, "zcdp")
    )


def test_the_extremes_of_the_allowed_range() -> None:
    for epsilon in (1e-12, 1e12):
        for delta in (1e-300, 0.5, 1 - 1e-9):
            rho = rho_for(epsilon, delta, "zcdp")
            assert rho > 0 and epsilon_for(rho, delta, "zcdp") <= epsilon


def test_no_charge_is_worth_nothing_and_without_delta_rho_is_worth_no_epsilon() -> None:
    assert epsilon_for(Fraction(0), 1e-6, "zcdp") == 0.0
    assert epsilon_for(Fraction(1), 0, "zcdp") == math.inf
    with pytest.raises(BudgetError):
        epsilon_for(Fraction(-1), 1e-6, "zcdp")
    with pytest.raises(BudgetError, match="delta > 0"):
        rho_for(1, 0, "zcdp")


def test_a_float_means_the_decimal_that_was_typed() -> None:
    assert check_budget(0.1, 1e-6) == (Fraction(1, 10), Fraction(1, 10**6))
    assert check_budget(np.float64(0.1), 0) == (Fraction(1, 10), Fraction(0))
    whole: Any = np.int64(2)  # which is no int
    assert check_budget(whole, Fraction(1, 3)) == (Fraction(2), Fraction(1, 3))
    assert 10 * check_budget(0.1, 0)[0] == check_budget(1, 0)[0]


BAD = [0, 0.0, -1, -0.5, math.nan, math.inf, -math.inf, 1e-13, 1e13, 10**400, True, "1", None, 1j]


@pytest.mark.parametrize("epsilon", BAD)
def test_bad_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(BudgetError, match=r"epsilon is .* must be a number above 0"):
        check_budget(epsilon, 1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.0, 2, math.nan, math.inf, False, "0", None])
def test_bad_delta_is_refused(delta: object) -> None:
    with pytest.raises(BudgetError, match=r"delta is .* must be a number from 0"):
        check_budget(1, delta)  # type: ignore[arg-type]


def test_currencies() -> None:
    assert currency_for(Fraction(0), "gdp") == "pure" and currency_for(1e-9, "gdp") == "gdp"
    assert currency_for(1e-9, "zcdp") == "zcdp"
    assert budget_for(0.3, 0, "gdp") == budget_for(0.3, 0, "pure") == Fraction(3, 10)
    assert budget_for(0.3, 1e-6, "zcdp") == rho_for(0.3, 1e-6, "zcdp")
    assert budget_for(0.3, 1e-6, "gdp") == rho_for(0.3, 1e-6, "gdp")
    assert epsilon_of(Fraction(3, 10), 0, "gdp") == 0.3
    assert epsilon_of(Fraction(1, 50), 1e-6, "gdp") < epsilon_of(Fraction(1, 50), 1e-6, "zcdp")


def test_charges_in_other_currencies() -> None:
    """From pure to GDP to zCDP there is a way, but none back."""
    tenth = Fraction(1, 10)
    assert exchange(tenth, "pure", "zcdp") == Fraction(1, 200)
    assert exchange(tenth, "pure", "gdp") == Fraction(11, 1400)
    for same in ("pure", "zcdp", "gdp"):
        assert exchange(tenth, same, same) == tenth
    assert exchange(tenth, "gdp", "zcdp") == tenth
    for paid, into in (("zcdp", "pure"), ("gdp", "pure"), ("zcdp", "gdp")):
        with pytest.raises(BudgetError, match="no price"):
            exchange(tenth, paid, into)  # type: ignore[arg-type]


@given(st.fractions(min_value=0, max_value=10**6))
def test_float_up_is_the_smallest_float_not_below(value: Fraction) -> None:
    up = float_up(value)
    assert up >= value
    assert up == 0 or math.nextafter(up, -math.inf) < value
