"""What a ledger knows of one data set: its cap, its runs, and what is left of it.

No file is touched here; ``ledger`` reads these records from disk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from privet.accounting import (
    SMALLEST,
    Currency,
    Number,
    budget_for,
    currency_for,
    epsilon_of,
    exchange,
)
from privet.errors import BudgetError


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge, in the currency of its run."""

    what: str
    cost: Fraction


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run as the ledger remembers it. A run that was killed stays open for ever."""

    id: str
    when: str
    method: str
    epsilon: float
    delta: float
    state: str
    currency: Currency
    reserved: Fraction
    entries: tuple[Entry, ...]

    @property
    def spent(self) -> Fraction:
        return sum((entry.cost for entry in self.entries), Fraction(0))

    def charge(self, currency: Currency) -> Fraction:
        """What counts against the cap: the reservation of an open run, the charges of a closed
        one. In zCDP the charges of a pure run enter one by one as epsilon^2 / 2."""
        costs = [self.reserved] if self.state == "open" else [e.cost for e in self.entries]
        return sum((exchange(cost, self.currency, currency) for cost in costs), Fraction(0))


@dataclass(frozen=True, kw_only=True)
class Account:
    """A data set's cap and all that was charged to it.

    ``unit`` is what one person can change, as the first run said it; before that it is None.
    """

    dataset: str
    epsilon: float
    delta: float
    unit: str | None
    cap: Fraction
    runs: tuple[RunRecord, ...]

    @property
    def currency(self) -> Currency:
        return currency_for(self.delta)

    def check_unit(self, unit: str) -> None:
        """Amounts add up only if they promise the same to the same people."""
        if self.unit not in (None, unit):
            raise BudgetError(
                f"this run promises by {unit!r}, but the runs on data set {self.dataset!r} promise "
                f"by {self.unit!r}, and one cap cannot add up the two; use another data set name "
                f"if these are other people; else keep adjacency (with its rows) and "
                f"rows_per_person as they were"
            )

    def used(self, currency: Currency) -> Fraction:
        return sum((run.charge(currency) for run in self.runs), Fraction(0))

    @property
    def spent(self) -> Fraction:
        """All that counts against the cap, reservations of open runs included."""
        return self.used(self.currency)

    @property
    def left(self) -> Fraction:
        return self.cap - self.spent

    @property
    def spent_epsilon(self) -> float:
        """``spent`` as epsilon at the cap's delta. The guarantee is the cap, not this figure."""
        return epsilon_of(self.spent, self.delta)

    @property
    def left_epsilon(self) -> float:
        """The largest epsilon that a new run may ask for at the cap's delta."""
        left = self.left
        if left <= 0:
            return 0.0

        def affords(epsilon: float) -> bool:
            return epsilon >= SMALLEST and budget_for(epsilon, self.delta) <= left

        epsilon = epsilon_of(left, self.delta)
        if affords(neat := float(f"{epsilon:.9g}")):  # 1 rather than 0.9999999999995
            epsilon = max(epsilon, neat)
        while epsilon >= SMALLEST and not affords(epsilon):
            epsilon *= 1 - 2**-50
        return epsilon if epsilon >= SMALLEST else 0.0


def sufficient_epsilon(needed: Fraction, delta: Number) -> float:
    """A short epsilon whose budget at ``delta`` covers ``needed``."""
    epsilon = shorten(max(epsilon_of(needed, delta), float(SMALLEST)), ROUND_CEILING)
    while budget_for(epsilon, delta) < needed:
        epsilon = shorten(math.nextafter(epsilon, math.inf), ROUND_CEILING)
    return epsilon


def spell(value: float) -> str:
    return repr(value).removesuffix(".0")  # every digit: the command must be enough


def shorten(value: float, rounding: str) -> float:
    return float(Context(prec=4, rounding=rounding).create_decimal(Decimal(repr(value))))
