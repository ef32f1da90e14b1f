"""How CURATE spreads a budget over the orders of PC's tests.

Bhattacharjee and Tandon 2024, objective (2): an edge that should go is kept if every order errs,
and one that should stay is lost if any order errs. With epsilon_j for each test of order j, both
errors are bounded by c/2 + exp(-s epsilon_j)/2, s being how far the band of doubt reaches from
the bar, over the sensitivity. This decides about accuracy only, never about privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from privet.arrays import Floats

COIN = 0.1  # the paper's c1 and c2: how often the band is hit; it gives no value for them
LEAST = 1e-6  # of the even budget, so that no order is left without any


def allocate(
    cost: Callable[[Floats], float], total: float, orders: int, sharpness: tuple[float, float]
) -> Floats:
    """The budgets of one test of each order, falling, whose joint cost is the total.

    ``cost`` rises with each budget; ``sharpness`` is s for edges that are wrongly kept and for
    those wrongly lost. Where the solver finds nothing better, budgets are even.
    """
    even = np.ones(orders)
    unit = _scale(cost, even, total)
    if orders == 1:
        return unit * even
    from scipy.optimize import minimize

    rules = [{"type": "ineq", "fun": lambda x: 1 - cost(np.maximum(x, 0) * unit) / total}]
    rules += [{"type": "ineq", "fun": lambda x, j=j: x[j] - x[j + 1]} for j in range(orders - 1)]
    found = [even]
    for start in (even, 0.5 ** np.arange(orders)):
        solved = minimize(
            lambda x: _error(x * unit, sharpness),
            start,
            method="SLSQP",
            bounds=[(LEAST, None)] * orders,
            constraints=rules,
        )
        if np.isfinite(solved.x).all():
            falling = np.maximum.accumulate(np.maximum(solved.x, LEAST)[::-1])[::-1]
            found.append(falling * _scale(cost, falling * unit, total))
    best: Floats = unit * min(found, key=lambda x: _error(x * unit, sharpness))
    return best


def _error(budgets: Floats, sharpness: Sequence[float]) -> float:
    kept, lost = (COIN / 2 + np.exp(-s * budgets) / 2 for s in sharpness)
    return float(kept.prod() + 1 - (1 - lost).prod())


def _scale(cost: Callable[[Floats], float], budgets: Floats, total: float) -> float:
    """By what to multiply budgets so that they cost the total, and no more."""
    low, high = 0.0, 1.0
    while cost(budgets * high) <= total:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(budgets * middle) <= total else (low, middle)
    return low
