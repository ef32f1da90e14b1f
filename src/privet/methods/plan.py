"""What a run will be able to see, from public facts alone: the plan of the method that auto takes.

Its source of evidence says which effects show (``evidence/plan.py``). Touches no data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, log
from typing import Any, get_args

import numpy as np
from scipy.optimize import brentq

from privet.errors import BudgetError, MethodError, SchemaError, expect
from privet.evidence.plan import ALONE, STRONG, Margins, Plan, PlanLine, Reading, Sight
from privet.evidence.plan_table import plan_table
from privet.markup.pieces import notebook, paragraphs, safe
from privet.methods import catalogue
from privet.methods.method import USUAL_DELTA, Method
from privet.privacy.ledger.conversion import Number, check_asked, weak_delta
from privet.schema.missing import check_chosen
from privet.schema.model import LARGEST_TABLE, Schema

LARGEST_EPSILON = 1e4
MOST_SITES = 10_000
FEWEST_TOGETHER = 5  # sites, below which sharing noise saves too little for its trouble


@dataclass(frozen=True, kw_only=True, repr=False)
class SitesPlan:
    """What sites with about ``rows`` rows each will see: the lines of one ``alone``; apart, of an
    effect that all share (``common``) and of effects of the same size that each has for itself
    (``own``); and of all rows in one place (``central``).

    ``together`` is for sites that add up shares of noise, against a coordinator and ``colluders``
    of them, with ``noise_factor`` times the variance of one place; None where there are too few
    sites for it.

    >>> privet.plan_sites(schema, rows=1000, epsilon=1, sites=3)  # doctest: +ELLIPSIS
    SitesPlan: interaction-pc at 3 sites with about 1,000 rows each, epsilon 1, delta 0
      one site alone, given nothing: Cramér's V of ... is found in 8 of 10 runs in a typical pair
      ...
    """

    method: str
    sites: int
    rows: int
    epsilon: float
    delta: float
    alone: tuple[PlanLine, ...]
    common: tuple[PlanLine, ...]
    own: tuple[PlanLine, ...]
    central: tuple[PlanLine, ...]
    together: tuple[PlanLine, ...] | None
    colluders: int
    noise_factor: float
    warnings: tuple[str, ...] = ()

    @property
    def _parts(self) -> dict[str, tuple[PlanLine, ...]]:
        parts = {"one site alone": self.alone, "all sites, one effect": self.common}
        parts |= {"all sites, effects of their own": self.own, "all rows in one": self.central}
        return parts if self.together is None else {**parts, "adding up": self.together}

    def _told(self) -> str:
        return (
            f"{self.method} at {self.sites} sites with about {self.rows:,} rows each, epsilon "
            f"{self.epsilon:g}, delta {self.delta:g}"
        )

    def __repr__(self) -> str:
        lines = [f"{what}, {lines[0]}" for what, lines in self._parts.items()]
        return "\n  ".join((f"SitesPlan: {self._told()}", *lines))

    def _repr_html_(self) -> str:
        tables = (f"<p>{what}</p>{plan_table(lines)}" for what, lines in self._parts.items())
        return notebook(f"<p>{safe(self._told())}</p>", *tables, paragraphs(self.warnings))


def plan_sites(
    schema: Schema,
    rows: int,
    epsilon: Number,
    delta: Number | None = None,
    *,
    sites: int,
    margins: Margins = "even",
) -> SitesPlan:
    """Which effects ``sites`` sites with about ``rows`` rows each detect with 80% power.

    >>> privet.plan_sites(schema, rows=1000, epsilon=1, sites=3).sites
    3
    """
    if not isinstance(sites, int) or isinstance(sites, bool) or not 2 <= sites <= MOST_SITES:
        raise MethodError(
            f"sites = {sites!r:.20}; give a whole number from 2 to {MOST_SITES}, or leave it away "
            "for one table"
        )
    colluders = max(1, (sites - 1) // 3)
    factor = sites / (sites - colluders)
    alone = plan(schema, rows, epsilon, delta, margins=margins)

    def lines(reading: Reading) -> tuple[PlanLine, ...]:
        return plan(schema, rows, epsilon, alone.delta, reading=reading, margins=margins).lines

    shares = Reading(pooled=sites, noise=factor)
    return SitesPlan(
        method=alone.method,
        sites=sites,
        rows=rows,
        epsilon=alone.epsilon,
        delta=alone.delta,
        alone=alone.lines,
        common=lines(common_to(sites)),
        own=lines(Reading(factors=sites, averaged=2)),
        central=lines(Reading(pooled=sites)),
        together=lines(shares) if sites >= FEWEST_TOGETHER else None,
        colluders=colluders,
        noise_factor=factor,
        warnings=weak_delta(alone.delta, rows),
    )


def common_to(sites: int) -> Reading:
    """One effect at all sites: rows add up, and so does the noise."""
    return Reading(pooled=sites, noise=sites, averaged=2)


def plan(
    schema: Schema,
    rows: int,
    epsilon: Number,
    delta: Number | None = None,
    *,
    reading: Reading = ALONE,
    margins: Margins = "even",
) -> Plan:
    """Which effects a run on about ``rows`` rows detects with 80% power at each order. ``margins``
    is how common the levels are guessed to be where the schema has no ``shares``. Without ``delta``
    the plan is that of a run that names none.

    >>> privet.plan(schema, rows=10_000, epsilon=1).method
    'interaction-pc'
    """
    check_asked(epsilon, USUAL_DELTA if delta is None else delta)
    expect(schema, Schema, "schema", "give a privet.Schema", SchemaError)
    check_chosen(schema)
    expect(rows, int, "rows", "give about how many rows there are", MethodError)
    expect(margins, str, "margins", "give even or uneven", MethodError)
    if not 1 <= rows <= LARGEST_TABLE or len(schema.columns) < 2:
        raise MethodError(
            f"a plan for {rows:.6g} rows and {len(schema.columns)} columns makes no sense; it "
            f"needs at least 1 row, at most {LARGEST_TABLE:,}, and 2 columns"
            if rows < 10**300
            else "a plan for so many rows makes no sense; give about how many there are"
        )
    if margins not in get_args(Margins):
        raise MethodError(
            f"margins = {margins!r}; use {' or '.join(get_args(Margins))}, and declare shares in "
            "the schema where you know more"
        )
    delta = catalogue.best_delta(schema, epsilon, most=None if delta is None else float(delta))
    method = catalogue.auto(schema, float(delta), private=True)
    sight = _sight(method, schema, rows, epsilon, delta, reading, margins)
    pairs = zip(combinations(schema.names, 2), sight.smallest[0].tolist(), strict=True)
    invisible = tuple(pair for pair, smallest in pairs if smallest > STRONG)
    few = few_rows(schema, invisible, f"{rows:,}", float(epsilon))
    return Plan(
        method=method.name,
        rows=rows,
        epsilon=float(epsilon),
        delta=float(delta),
        margins=margins,
        lines=sight.lines(),
        effective_rows=sight.effective_rows,
        invisible=invisible,
        warnings=(*weak_delta(float(delta), rows), *few),
    )


@lru_cache(maxsize=8)
def _sight(method: Method, *asked: Any) -> Sight:
    """Kept, since a run needs it for its diagnostics and for its page."""
    assert method.plan is not None  # what auto chooses can be planned
    return method.plan(*asked)


def few_rows(
    schema: Schema, invisible: Sequence[tuple[str, str]], rows: str, epsilon: float
) -> tuple[str, ...]:
    """A warning, if a strong effect would not show in most pairs of columns."""
    pairs = comb(len(schema.columns), 2)
    if 2 * len(invisible) <= pairs:
        return ()
    return (
        f"about {rows} rows are too few for these {len(schema.columns)} columns at epsilon "
        f"{epsilon:g}: in {len(invisible)} of {pairs} pairs of columns an effect of {STRONG:g}, "
        "which is strong, would be missed more often than in 2 of 10 runs, and only larger ones "
        "show. Use fewer columns or fewer levels, a larger epsilon, or more rows",
    )


def epsilon_for(
    schema: Schema,
    rows: int,
    delta: Number,
    effect: float,
    *,
    reading: Reading = ALONE,
    margins: Margins = "even",
) -> float:
    """The smallest ε at which the typical pair shows ``effect`` with 80% power at order 0."""
    if not 0 < effect <= 1:
        raise BudgetError(f"the effect is {effect}; Cramér's V and correlations lie in (0, 1]")

    def gap(log_epsilon: float) -> float:
        epsilon = float(np.exp(log_epsilon))
        made = plan(schema, rows, epsilon, delta, reading=reading, margins=margins)
        return made.lines[0].typical - effect

    low, high = log(1e-6), log(LARGEST_EPSILON)
    if gap(high) > 0:
        raise BudgetError(
            f"an effect of {effect} does not show in {rows} rows at any epsilon; it needs more rows"
        )
    found = low if gap(low) < 0 else brentq(gap, low, high, xtol=1e-4)
    return float(np.exp(found))
