"""What a run will be able to see, from public facts alone: the plan of the method that auto takes.

Its source of evidence says which effects show (``evidence/plan.py``). Touches no data.
"""

from __future__ import annotations

from math import log

import numpy as np
from scipy.optimize import brentq

from privet.errors import BudgetError, MethodError
from privet.evidence.plan import Plan
from privet.methods import catalogue
from privet.privacy.ledger.conversion import Number, check_asked, weak_delta
from privet.schema.model import Schema

LARGEST_EPSILON = 1e4


def plan(schema: Schema, rows: int, epsilon: Number, delta: Number = 1e-6) -> Plan:
    """Which effects a run on about ``rows`` rows detects with 80% power at each order."""
    check_asked(epsilon, delta)
    if rows < 1 or len(schema.columns) < 2:
        raise MethodError(
            f"a plan for {rows} rows and {len(schema.columns)} columns makes no sense; it needs "
            "at least 1 row and 2 columns"
        )
    method = catalogue.auto(schema, float(delta), private=True)
    assert method.plan is not None  # what auto chooses can be planned
    return Plan(
        method=method.name,
        rows=rows,
        epsilon=float(epsilon),
        delta=float(delta),
        lines=method.plan(schema, rows, epsilon, delta),
        warnings=weak_delta(float(delta), rows),
    )


def epsilon_for(schema: Schema, rows: int, delta: Number, effect: float) -> float:
    """The smallest ε at which the typical pair shows ``effect`` with 80% power at order 0."""
    if not 0 < effect <= 1:
        raise BudgetError(f"the effect is {effect}; Cramér's V and correlations lie in (0, 1]")

    def gap(log_epsilon: float) -> float:
        return plan(schema, rows, float(np.exp(log_epsilon)), delta).lines[0].typical - effect

    low, high = log(1e-6), log(LARGEST_EPSILON)
    if gap(high) > 0:
        raise BudgetError(
            f"an effect of {effect} does not show in {rows} rows at any epsilon; it needs more rows"
        )
    found = low if gap(low) < 0 else brentq(gap, low, high, xtol=1e-4)
    return float(np.exp(found))
