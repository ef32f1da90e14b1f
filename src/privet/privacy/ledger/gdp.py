"""(epsilon, delta) against rho = mu^2 / 2 in Gaussian differential privacy; proofs/gdp.md.

All releases together are mu-GDP: they tell neighbours apart no better than one draw from N(mu, 1)
or N(0, 1) would. The delta of that at epsilon is

    delta = phi(x) (m(x) - m(x + mu)),    x = epsilon / mu - mu / 2,

with the normal density phi and Mills' ratio m = (1 - Phi) / phi, which falls. So an upper bound of
m(x) and a lower one of m(x + mu) bound delta from above. They are worked out with 100 digits, and
more is given up than all rounding together can err.

mu-GDP is rho-zCDP, so what zCDP allows is allowed here as well. Newton's method on ln delta starts
from there. It need not be trusted: what comes out has passed the bound, or what zCDP allows is
left.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

DIGITS, TERMS, STEPS = 100, 200, 60
ERROR = Decimal(10) ** -30  # relative; rounding errors stay below 1e-80
CLOSE = Decimal(10) ** -15  # where Newton's method stops
GIVEN_UP = Decimal(2) ** -40  # of mu, so that ``epsilon_for`` never exceeds epsilon
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
EXACT = Context(prec=DIGITS, Emin=-(10**9), Emax=10**9)


@lru_cache(maxsize=1024)
def rho_for(epsilon: Fraction, delta: Fraction, start: Fraction) -> Fraction:
    """The largest rho with (epsilon, delta)-DP, nearly; ``start`` is one that zCDP allows."""
    with localcontext(EXACT):
        e, allowed = _decimal(epsilon), _decimal(delta)
        mu = (2 * _decimal(start)).sqrt()
        for _ in range(STEPS):
            bound, by_mu, _by_epsilon = delta_bound(mu, e)
            step = (allowed / bound).ln() * bound / by_mu
            mu += step
            if abs(step) < mu * CLOSE:
                break
        mu = _short(mu * (1 - GIVEN_UP), ROUND_FLOOR)
        found = Fraction(mu) ** 2 / 2
        safe = delta_bound(mu, e)[0] <= allowed * (1 - ERROR)
    return max(found, start) if safe else start


@lru_cache(maxsize=1024)
def epsilon_for(rho: Fraction, delta: Fraction, start: Fraction) -> Fraction:
    """The least epsilon with (epsilon, delta)-DP, nearly; ``start`` is one that zCDP allows."""
    with localcontext(EXACT):
        mu, allowed = (2 * _decimal(rho)).sqrt(), _decimal(delta)
        if delta_bound(mu, Decimal(0))[0] <= allowed * (1 - ERROR):
            return Fraction(0)
        e = _decimal(start)
        for _ in range(STEPS):
            bound, _by_mu, by_epsilon = delta_bound(mu, e)
            step = (allowed / bound).ln() * bound / by_epsilon
            e += step
            if abs(step) < e * CLOSE:
                break
        e = _short(e * (1 + CLOSE), ROUND_CEILING)
        safe = delta_bound(mu, e)[0] <= allowed * (1 - ERROR)
    return min(Fraction(e), start) if safe else start


def delta_bound(mu: Decimal, epsilon: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """Not below the delta of mu-GDP at epsilon; and nearly how fast it grows with mu, and falls
    with epsilon (as a negative number)."""
    x = epsilon / mu - mu / 2
    if x < -10:
        return Decimal(1), Decimal(1), Decimal(-1)
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    (_, above), (below, _) = mills(x), mills(x + mu)
    return density * (above - below) * (1 + ERROR), density, -density * below


def mills(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds of (1 - Phi(x)) / phi(x) from below and above, for x >= -10.

    Laplace's continued fraction 1 / (x + 1 / (x + 2 / (x + ...))) lies below if it is cut off at
    an odd depth and above at an even one. For small x it is slow, and
    sqrt(pi / 2) exp(x^2 / 2) - (x + x^3 / 3 + x^5 / (3 * 5) + ...) is summed up.
    """
    if x >= 4:
        low, high = (_continued(x, depth) for depth in (TERMS + 1, TERMS))
    else:
        term, total, n = x, x, 1
        while abs(term) > ERROR**2 or n < 250:  # from there on a term is less than half the last
            n += 2
            term *= x * x / n
            total += term
        low = high = (PI / 2).sqrt() * (x * x / 2).exp() - total
    return low * (1 - ERROR), high * (1 + ERROR)


def _continued(x: Decimal, depth: int) -> Decimal:
    rest = Decimal(0)
    for j in range(depth, 0, -1):
        rest = j / (x + rest)
    return 1 / (x + rest)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _short(value: Decimal, rounding: str) -> Decimal:
    """Twenty digits are plenty for a budget."""
    return Context(prec=20, rounding=rounding, Emin=-(10**9), Emax=10**9).plus(value)
