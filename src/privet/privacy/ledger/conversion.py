"""What a budget is worth: (epsilon, delta) against the currency in which charges are added up.

Charges are exact fractions. With delta = 0 the currency is "pure" (epsilon). With delta > 0 there
are two accountings, of which a cap has one for good: "gdp" (Gaussian differential privacy) and
"zcdp" (zero-concentrated differential privacy). Both count in rho, and Gaussian noise costs the
same rho in either; but a budget is worth more of it in GDP, and what is private without a delta
costs less of it in zCDP. So GDP serves a method better that spends less than about a quarter of
its budget on selections, sieves and Laplace noise (proofs/gdp.md). Conversions round towards
privacy: ``rho_for`` down, ``epsilon_for`` up.

A noisy test of stability misleads with a small probability, which no conversion makes up for. Such
probabilities are added up beside the currency, whichever it is, and their sum is added to delta
(proofs/tested.md).

The conversion of GDP is in ``gdp``; that of zCDP, from which it starts, is here. It is Canonne,
Kamath, Steinke 2020, Proposition 12: rho-zCDP implies
(epsilon, delta)-DP as soon as *one* order alpha > 1 satisfies

    delta >= exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)^alpha.

With t = alpha - 1 and h(t) = (1 + t) ln(1 + t) - t ln t this solves to

    rho(t)     = (epsilon + (ln delta + h(t)) / t) / (1 + t)      largest rho for this order
    epsilon(t) = (1 + t) rho - (ln delta + h(t)) / t              least epsilon for this order

Floating point only picks a good order; a poor order costs a little budget, never privacy. The
value at that order is computed with 100 digits and rounded. ln delta(t) is convex in t (its second
derivative is 2 rho + 1/t - 1/(1 + t) > 0), so both curves have one optimum and a golden-section
search finds it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from privet.errors import BudgetError
from privet.privacy.ledger import gdp

Accounting = Literal["gdp", "zcdp"]  # how a budget with delta > 0 is counted
Currency = Literal["gdp", "zcdp", "pure"]
UNITS: dict[Currency, str] = {"gdp": "rho", "zcdp": "rho", "pure": "epsilon"}
NAMES: dict[Currency, str] = {
    "gdp": "Gaussian differential privacy",
    "zcdp": "zero-concentrated differential privacy",
    "pure": "pure differential privacy",
}
# What 1-DP costs; epsilon-DP costs epsilon^2 times that.
OF_PURE: dict[Accounting, Fraction] = {"gdp": Fraction(11, 14), "zcdp": Fraction(1, 2)}
Number = int | float | Fraction

SMALLEST, LARGEST = Fraction(1, 10**12), Fraction(10**12)
LARGEST_DELTA = Fraction(1, 10)  # that anybody may ask for; ledgers of old may hold a larger one
FEW_ROWS = 1000  # so many or more are supposed where their number is not public
DIGITS = 100
ORDERS = (-40.0, 80.0)  # the search for an order runs over ln(alpha - 1) in this range
GOLDEN = (math.sqrt(5) - 1) / 2
SLACK = 1 - Fraction(1, 2**40)  # given up by rho_for, so that epsilon_for never exceeds epsilon


def check_budget(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """The budget as exact fractions, or a refusal.

    A float is read as the decimal that a person typed: 0.1 is 1/10.
    """
    eps, dlt = _as_typed(epsilon), _as_typed(delta)
    if eps is None or not SMALLEST <= eps <= LARGEST:
        raise BudgetError(
            f"epsilon is {epsilon!r}, but it must be a number above 0 (from 1e-12 to 1e12); "
            f"1 is a common choice, smaller is more private"
        )
    if dlt is None or not 0 <= dlt < 1:
        raise BudgetError(
            f"delta is {delta!r}, but it must be a number from 0 up to, not including, 1; "
            f"choose one far below 1 / (number of people), such as 1e-6, or 0 for pure privacy"
        )
    return eps, dlt


def check_accounting(accounting: str) -> None:
    if not isinstance(accounting, str) or accounting not in OF_PURE:
        raise BudgetError(
            f"the accounting is {accounting!r}, but it must be one of {', '.join(OF_PURE)}; leave "
            f"it away for the usual one"
        )


def check_test_delta(test_delta: Number, delta: Fraction) -> Fraction:
    """What noisy tests of stability may add to a promise's delta, beside the conversion's."""
    exact = _as_typed(test_delta)
    if exact is None or not 0 <= exact < 1 - delta:
        raise BudgetError(
            f"the delta for tests is {test_delta!r}, but it must be a number from 0 on that stays "
            f"below 1 together with the delta of {float(delta):g}; choose one such as 1e-6, or 0 "
            f"for no tests"
        )
    return exact


def check_asked(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """``check_budget`` of what somebody asks for: a delta that is no promise is refused, too."""
    budget = check_budget(epsilon, delta)
    refuse_large_delta(budget[1])
    return budget


def refuse_large_delta(delta: Fraction, what: str = "delta") -> None:
    if delta > LARGEST_DELTA:
        raise BudgetError(
            f"{what} is {float(delta):g}, but it must be at most {float(LARGEST_DELTA):g}: with so "
            f"much probability nothing at all is promised; choose one far below 1 / (number of "
            f"people), such as 1e-6, or 0 for pure privacy"
        )


def weak_delta(delta: float, rows: int | None) -> tuple[str, ...]:
    """A warning, if this delta promises nothing to some person among so many rows. Their number
    may be nobody's business (None): the warning then looks at no more than the delta."""
    exact = Fraction(repr(float(delta)))
    if exact * (FEW_ROWS if rows is None else rows) <= 1:
        return ()
    where, digits = f"above 1 / {rows}, one over the number of rows", len(str(rows))
    if rows is None:
        where = f"above one over the number of rows if there are more than {math.floor(1 / exact)}"
        digits = len(str(FEW_ROWS))
    return (
        f"delta {delta:g} is {where}; such a promise is kept even if one row is published as it "
        f"is. Choose a delta far below that, such as 1e-{digits + 2}.",
    )


def _as_typed(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Rational):  # int, Fraction, numpy integers
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return Fraction(repr(float(value)))
    return None


def currency_for(delta: Number, accounting: Accounting) -> Currency:
    return accounting if delta > 0 else "pure"


def budget_for(epsilon: Number, delta: Number, accounting: Currency) -> Fraction:
    """The budget (epsilon, delta) in its own currency, which without a delta is pure."""
    eps, dlt = check_budget(epsilon, delta)
    return eps if accounting == "pure" or dlt == 0 else rho_for(eps, dlt, accounting)


def price_of_pure(epsilon: Fraction, currency: Currency) -> Fraction:
    """Of an answer that is epsilon-DP: it is (epsilon^2 / 2)-zCDP [Bun, Steinke 2016,
    Proposition 1.4], and (11/14) epsilon^2 covers its mu^2 / 2 in GDP (proofs/gdp.md)."""
    return epsilon if currency == "pure" else OF_PURE[currency] * epsilon**2


def exchange(cost: Fraction, paid: Currency, into: Currency) -> Fraction:
    """A charge in another currency. mu-GDP is (mu^2 / 2)-zCDP; there is no way back, since zCDP
    does not imply GDP and neither has a finite pure price."""
    if paid == into or (paid, into) == ("gdp", "zcdp"):
        return cost
    if paid == "pure":
        return price_of_pure(cost, into)
    if into == "gdp":
        raise BudgetError(
            "a charge in zero-concentrated differential privacy has no price in Gaussian "
            "differential privacy; count both in the former"
        )
    raise BudgetError(
        "a charge made with delta > 0 has no price in a budget with delta = 0; "
        "use a budget with delta > 0, or Laplace noise"
    )


def epsilon_of(amount: Fraction, delta: Number, accounting: Accounting) -> float:
    """The epsilon, rounded up, that an amount in the currency of ``delta`` is worth.

    As everywhere, the float stands for its decimal: 3/10 gives 0.3.
    """
    return epsilon_for(amount, delta, accounting) if delta > 0 else decimal_up(amount)


def rho_for(epsilon: Number, delta: Number, accounting: Accounting) -> Fraction:
    """The largest rho that implies (epsilon, delta)-DP, rounded down."""
    eps, dlt = check_budget(epsilon, delta)
    if dlt == 0:
        raise BudgetError("delta is 0, but rho needs delta > 0; choose one such as 1e-6")
    by_zcdp = _rho_for(eps, dlt)
    return by_zcdp if accounting == "zcdp" else gdp.rho_for(eps, dlt, by_zcdp)


@lru_cache(maxsize=1024)
def _rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    eps, log_delta = float(epsilon), float(_ln(delta))
    t = _order(lambda t: -(eps + (log_delta + _h(t)) / t) / (1 + t))
    with localcontext() as context:
        context.prec = DIGITS
        rho = (_decimal(epsilon) + _margin(t, delta)) / (1 + Decimal(t))
    exact = Fraction(rho) * SLACK
    grid = 2 ** max(0, 64 - math.frexp(float(exact))[1])  # 64 significant bits are plenty
    return Fraction(math.floor(exact * grid), grid)


def epsilon_for(rho: Fraction, delta: Number, accounting: Accounting) -> float:
    """The least epsilon such that rho implies (epsilon, delta)-DP, rounded up."""
    dlt = check_budget(1, delta)[1]
    if rho < 0:
        raise BudgetError(f"rho is {float(rho):.6g}, but a charge cannot be negative")
    if rho == 0:
        return 0.0
    if dlt == 0:
        return math.inf
    by_zcdp = _epsilon_for(Fraction(rho), dlt)
    if accounting == "zcdp":
        return by_zcdp
    return decimal_up(gdp.epsilon_for(Fraction(rho), dlt, Fraction(by_zcdp)))


@lru_cache(maxsize=1024)
def _epsilon_for(rho: Fraction, delta: Fraction) -> float:
    r, log_delta = float(rho), float(_ln(delta))
    t = _order(lambda t: (1 + t) * r - (log_delta + _h(t)) / t)
    with localcontext() as context:
        context.prec = DIGITS
        epsilon = (1 + Decimal(t)) * _decimal(rho) - _margin(t, delta)
    return float_up(max(Fraction(0), Fraction(epsilon) * (1 + Fraction(1, 10**30))))


def float_up(value: Fraction) -> float:
    """The smallest float that is not below ``value``."""
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def decimal_up(value: Fraction) -> float:
    """The smallest float whose decimal, for which it stands, is not below ``value``, nearly."""
    nearest = float(value)
    return nearest if Fraction(repr(nearest)) >= value else math.nextafter(nearest, math.inf)


def _h(t: float) -> float:
    return t * math.log1p(1 / t) + math.log1p(t)  # no cancellation at either end


def _margin(t: float, delta: Fraction) -> Decimal:
    """(ln delta + h(t)) / t in the precision of the current decimal context."""
    exact = Decimal(t)
    h = (1 + exact) * (1 + exact).ln() - exact * exact.ln()
    return (_ln(delta) + h) / exact


def _ln(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return _decimal(value).ln()


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _order(curve: Callable[[float], float]) -> float:
    """alpha - 1 at which ``curve``, which falls and then rises, is least."""
    low, high = ORDERS
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = curve(math.exp(left)), curve(math.exp(right))
    while high - low > 1e-9:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = curve(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = curve(math.exp(right))
    return math.exp((low + high) / 2)


def total_delta(delta: float, test_delta: Fraction) -> float:
    """Their sum, rounded up; as everywhere, a float stands for its decimal."""
    return decimal_up(Fraction(repr(delta)) + test_delta)


def shorten(value: float, rounding: str) -> float:
    """Four digits are enough for a person; which way they are rounded is not."""
    return float(Context(prec=4, rounding=rounding).create_decimal(Decimal(repr(value))))
