"""What reports will be able to tell, before anybody has sent one. Touches no data.

For every protocol: how many reports tell as much about a pair of columns as one person without
noise (``cost``), how many people without noise all reports are worth (``worth``, n_eff), and the
smallest effect that shows. With even margins the test of two columns has noncentrality
worth φ², φ = V sqrt(min(r, c) - 1) with Cramér's V; where the schema declares ``shares``, the
noise of reports counts by them, direction by direction, as that of a vault does
(``evidence/plan.py``). Of numbers, worth is one over the variance of a correlation near 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import ceil, inf, log, prod, sqrt, tanh

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from privet.arrays import Floats
from privet.errors import BudgetError, MethodError, PrivetError
from privet.evidence.plan import Shares, noncentrality, pair_weights, shares
from privet.evidence.prior import EFFECTS
from privet.local.collector.correlations import NUMBER_ORDERS
from privet.local.collector.tables import ORDERS, level, order_for, planned_law
from privet.local.device.blocks import GRID, HALF
from privet.local.device.channel import check_epsilon
from privet.local.device.protocol import FAMILIES, NUMERIC, Protocol
from privet.local.device.recipes import best_name, plan_protocol, worth_it
from privet.privacy.ledger.conversion import Number
from privet.schema.model import Schema

LEVEL, CORRELATION = "Cramér's V", "correlation"
LARGEST_GRID = 1 << 10  # cells of geometric-combined, beyond which a plan would take minutes
REACH = 3.0  # standard deviations from the middle of a numeric column to its bounds
MOST_PEOPLE = 1e15
USUAL = 1000.0  # people without noise by whom pairs are ranked
FEWEST = 2.0  # people without noise from whom no effect shows, however large


@dataclass(frozen=True, kw_only=True)
class LocalLine:
    """One protocol. ``effect`` is the smallest that the typical pair shows in 8 of 10 runs
    (infinite: none); ``order`` the size of the largest separators for which there is evidence;
    ``people`` how many would show the effect that was asked for. ``refused`` says why it cannot be
    used."""

    protocol: str
    what: str = LEVEL
    cost: float = inf
    worth: float = 0.0
    effect: float = inf
    order: int = 0
    people: int | None = None
    refused: str | None = None


@dataclass(frozen=True, kw_only=True)
class LocalPlan:
    people: int
    epsilon: float
    best: str
    lines: tuple[LocalLine, ...]


def plan_local(
    schema: Schema, people: int, epsilon: Number, *, effect: float | None = None
) -> LocalPlan:
    """What each protocol would tell of so many people; and how many it would take to show an
    effect of a given size."""
    loss = check_epsilon(epsilon)
    if people < 1 or len(schema.columns) < 2:
        raise MethodError(
            f"a plan for {people} people and {len(schema.columns)} columns makes no sense; it "
            "needs at least 1 person and 2 columns"
        )
    if effect is not None and not 0 < effect < 1:
        raise BudgetError(f"the effect is {effect}; Cramér's V and correlations lie in (0, 1)")
    lines = [_line(name, schema, people, loss, effect) for name in _served(schema)]
    known = sorted(lines, key=lambda line: (line.refused is not None, line.cost))
    if known[0].refused is not None:
        raise MethodError(known[0].refused)
    return LocalPlan(
        people=people, epsilon=float(loss), best=best_name(schema, loss), lines=tuple(known)
    )


def _served(schema: Schema) -> list[str]:
    return [name for name in FAMILIES if schema.has_moments or name not in NUMERIC]


def _line(
    name: str, schema: Schema, people: int, epsilon: Fraction, effect: float | None
) -> LocalLine:
    try:
        if name == "geometric-combined":
            _check_grid(schema)
        return line_of(worth_it(plan_protocol(schema, epsilon, name)), people, effect)
    except PrivetError as error:
        return LocalLine(protocol=name, refused=str(error))


def line_of(protocol: Protocol, people: int, effect: float | None = None) -> LocalLine:
    """What so many reports by this protocol tell."""
    each = worth_of_one(protocol)
    typical = 1 / people_per_one(protocol)
    numbers = protocol.name in NUMERIC
    bar = level(len(protocol.sizes))
    smallest = _smallest_correlation if numbers else _smallest_v
    kinds = _kinds(protocol, each)
    ranked = sorted(kinds, key=lambda kind: smallest(*kind, USUAL / typical, bar))
    middle = ranked[len(ranked) // 2]

    def shown(count: float) -> float:
        found = smallest(*middle, count, bar)
        return found if found < 1 else inf

    order = order_for(people * typical, NUMBER_ORDERS if numbers else ORDERS)
    return LocalLine(
        protocol=protocol.name,
        what=CORRELATION if numbers else LEVEL,
        cost=1 / typical,
        worth=people * typical,
        effect=shown(people),
        order=order if numbers else min(order, _widest(protocol) - 1),
        people=None if effect is None else _people(shown, effect),
    )


def _kinds(protocol: Protocol, each: Floats) -> list[tuple[Shares, Shares, float]]:
    """For each pair of columns how common their levels are guessed to be and the worth of a
    report, rounded so that few kinds differ."""
    guessed = [shares(column, "even") for column in protocol.schema.columns]
    return [
        (min(pair), max(pair), float(f"{one:.2g}"))
        for pair, one in zip(combinations(guessed, 2), each.tolist(), strict=True)
    ]


def _widest(protocol: Protocol) -> int:
    """The size of the largest sets on which there are reports."""
    return max((len(block.attributes) for block in protocol.blocks), default=len(protocol.sizes))


def _check_grid(schema: Schema) -> None:
    cells = prod(column.cardinality for column in schema.columns)
    if cells > LARGEST_GRID:
        raise MethodError(
            f"a channel on all {cells} cells together is too large to plan for; at most "
            f"{LARGEST_GRID} are: choose a protocol that asks about fewer columns at once"
        )


def worth_of_one(protocol: Protocol) -> Floats:
    """How many people without noise one report is worth, for each pair of columns."""
    columns = len(protocol.sizes)
    pairs = np.array(list(combinations(range(columns), 2)), dtype=np.intp)
    if protocol.family == "product":
        return np.full(len(pairs), 1 / _product_variance(protocol))
    found = np.maximum(planned_law(protocol, 1).worth(pairs), 1e-300)
    return found * (2 / np.pi) ** 2 if protocol.name in NUMERIC else found


def people_per_one(protocol: Protocol) -> float:
    """How many people who report are worth one without noise, on average over the pairs."""
    return float(np.mean(1 / worth_of_one(protocol)))


def _product_variance(protocol: Protocol) -> float:
    """Variance of a correlation near 0 from one report, for normal columns whose bounds lie
    REACH deviations from the middle."""
    steps = (np.arange(GRID) - HALF) / HALF
    edges = (
        REACH
        * float(protocol.clip)
        * np.concatenate([[-np.inf], (steps[1:] + steps[:-1]) / 2, [np.inf]])
    )
    spread = float(np.diff(ndtr(edges)) @ steps**2)
    blocks = [block for block in protocol.blocks if len(block.attributes) == 2]
    channel = protocol.channel(blocks[0])
    left = float(channel.attenuation)
    cells = np.arange(channel.cells) - (channel.cells - 1) / 2
    window = np.arange(channel.width) - (channel.width - 1) / 2
    noise = (1 - left) * np.mean(cells**2) + left * np.mean(window**2)
    one = noise / (left * HALF) ** 2 / spread**2 + 1 / left
    share = blocks[0].weight / sum(block.weight for block in protocol.blocks)
    return float(one / share)


@lru_cache(maxsize=1 << 12)
def _smallest_v(a: Shares, b: Shares, worth: float, people: float, level: float) -> float:
    noise = max(1 / worth - 1, 0.0) / (len(a) * len(b))  # so that even margins have this worth
    mean, freedom, gain = pair_weights((a, b), noise)
    if people * mean < FEWEST:
        return inf
    needed = noncentrality(freedom, np.array(EFFECTS) ** 2 * people * gain, level)
    return sqrt(needed / (people * mean) / (min(len(a), len(b)) - 1))


@lru_cache(maxsize=1 << 12)
def _smallest_correlation(
    _a: Shares, _b: Shares, worth: float, people: float, level: float
) -> float:
    if (all_worth := people * worth) < FEWEST:
        return inf
    return tanh(sqrt(noncentrality(1, np.array(EFFECTS) ** 2 * all_worth, level) / all_worth))


def _people(shown: Callable[[float], float], effect: float) -> int | None:
    """The fewest people whose reports show the effect; None if all the people there are do not."""

    def gap(log_people: float) -> float:
        return min(shown(float(np.exp(log_people))), 1e6) - effect

    if gap(log(MOST_PEOPLE)) > 0:
        return None
    return 1 if gap(0.0) <= 0 else ceil(np.exp(brentq(gap, 0.0, log(MOST_PEOPLE), xtol=1e-3)))
