"""What a ledger knows of one data set: its cap, its runs, and what is left of it.

No file is touched here; ``ledger`` reads these records from disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction

from privet.errors import BudgetError
from privet.privacy.ledger.conversion import (
    SMALLEST,
    Accounting,
    Currency,
    Number,
    budget_for,
    check_accounting,
    check_budget,
    check_test_delta,
    currency_for,
    epsilon_of,
    exchange,
    refuse_large_delta,
    shorten,
    total_delta,
)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run asks for, or a cap: a promise of (epsilon, delta + test_delta).

    ``delta`` buys the currency, which with a delta is that of the ``accounting``, and
    ``test_delta`` is what noisy tests may add to it.
    """

    epsilon: Fraction
    delta: Fraction
    accounting: Accounting
    test_delta: Fraction = Fraction(0)

    @staticmethod
    def of(
        epsilon: Number, delta: Number, accounting: Accounting, test_delta: Number = 0
    ) -> Budget:
        """The exact budget, or a refusal."""
        eps, dlt = check_budget(epsilon, delta)
        check_accounting(accounting)
        tests = check_test_delta(test_delta, dlt)
        return Budget(epsilon=eps, delta=dlt, accounting=accounting, test_delta=tests)

    @staticmethod
    def asked(
        epsilon: Number, delta: Number, accounting: Accounting, test_delta: Number = 0
    ) -> Budget:
        """``of``, if its whole delta is small enough to be a promise."""
        budget = Budget.of(epsilon, delta, accounting, test_delta)
        refuse_large_delta(budget.delta + budget.test_delta, budget.named_delta)
        return budget

    @property
    def named_delta(self) -> str:
        return "delta, with the delta for tests," if self.test_delta else "delta"

    @property
    def amount(self) -> Fraction:
        return budget_for(self.epsilon, self.delta, self.accounting)

    @property
    def currency(self) -> Currency:
        return currency_for(self.delta, self.accounting)

    def exceeds(self, other: Budget) -> bool:
        """In any of its parts. The three are caps by themselves: to trade one against another
        while answers come in would have no proof (proofs/tested.md)."""
        return (
            float(self.epsilon) > float(other.epsilon)  # as they are shown and typed
            or float(self.delta) > float(other.delta)
            or self.test_delta > other.test_delta
        )

    def __str__(self) -> str:
        tests = f", delta for tests {float(self.test_delta):g}" if self.test_delta else ""
        return f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g}{tests}"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge, in the currency of its run, and with what probability a test that is part of
    it may mislead."""

    what: str
    cost: Fraction
    test_delta: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run as the ledger remembers it. A run that was killed stays open for ever.

    ``delta`` is that of the conversion; what tests may add to it was reserved as ``test_delta``.
    """

    id: str
    when: str
    method: str
    epsilon: float
    delta: float
    state: str
    currency: Currency
    reserved: Fraction
    test_delta: Fraction
    entries: tuple[Entry, ...]

    @property
    def promised_delta(self) -> float:
        return total_delta(self.delta, self.test_delta)

    @property
    def spent(self) -> Fraction:
        return sum((entry.cost for entry in self.entries), Fraction(0))


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What counts against a cap so many times: the reservation of an open run, or an entry of a
    closed one, with the delta of its run."""

    cost: Fraction
    test_delta: Fraction
    delta: Fraction
    currency: Currency
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Balance:
    """A data set's cap and what was charged to it, equal charges as one.

    ``unit`` is what one person can change, as the first run said it; before that it is None.
    ``people`` is a random public number for its people, drawn once.
    """

    dataset: str
    budget: Budget
    unit: str | None
    people: str | None = None
    charges: tuple[Charge, ...]

    @property
    def epsilon(self) -> float:
        return float(self.budget.epsilon)

    @property
    def delta(self) -> float:
        return float(self.budget.delta)

    @property
    def accounting(self) -> Accounting:
        return self.budget.accounting

    @property
    def test_delta(self) -> Fraction:
        return self.budget.test_delta

    @property
    def cap(self) -> Fraction:
        return self.budget.amount

    @property
    def currency(self) -> Currency:
        return self.budget.currency

    @property
    def promised_delta(self) -> float:
        """The delta of the promise: the conversion's and all that tests may add."""
        return total_delta(self.delta, self.test_delta)

    @property
    def tested(self) -> Fraction:
        """The delta of all tests so far, reservations of open runs included."""
        return _total((each.times, each.test_delta) for each in self.charges)

    @property
    def test_delta_left(self) -> Fraction:
        return max(self.test_delta - self.tested, Fraction(0))

    def check_unit(self, unit: str) -> None:
        """Amounts add up only if they promise the same to the same people."""
        if self.unit not in (None, unit):
            raise BudgetError(
                f"this run promises by {unit!r}, but the runs on data set {self.dataset!r} promise "
                f"by {self.unit!r}, and one cap cannot add up the two; use another data set name "
                f"if these are other people; else keep adjacency (with its rows) and "
                f"rows_per_person as they were"
            )

    def refusal(self, asked: Budget) -> str | None:
        """Why a run with this budget does not fit, if it does not."""
        name, delta = self.dataset, float(asked.delta)
        if delta > self.delta:
            return (
                f"this run asks for delta {delta:g}, but the cap of data set {name!r} has delta "
                f"{self.delta:g}; run with a delta of at most {self.delta:g}"
            )
        if (cost := exchange(asked.amount, asked.currency, self.currency)) > self.left:
            rho = f" (rho {float(cost):.4g})" if asked.currency != self.currency else ""
            return (
                f"this run asks for epsilon {float(asked.epsilon):g} at delta {delta:g}{rho}, but "
                f"data set {name!r} has epsilon {shorten(self.left_epsilon, ROUND_FLOOR):g} at "
                f"delta {self.delta:g}{rho and f' (rho {float(self.left):.4g})'} left of its cap "
                f"of epsilon {self.epsilon:g}; ask for less"
            )
        if asked.test_delta > self.test_delta_left:
            return (
                f"this run asks for delta {float(asked.test_delta):g} for tests of stability, but "
                f"data set {name!r} has {float(self.test_delta_left):g} left of its cap of "
                f"{float(self.test_delta):g} on these; use a method without tests"
            )
        return None

    def enough_for(self, asked: Budget) -> tuple[float, float, Fraction]:
        """Epsilon, delta and delta for tests of a cap that has room for such a run besides."""
        delta = max(float(asked.delta), self.delta) or self._charged_delta()
        into = currency_for(delta, self.accounting)
        needed = self.used(into) + exchange(asked.amount, asked.currency, into)
        epsilon = max(sufficient_epsilon(needed, delta, self.accounting), self.epsilon)
        return epsilon, delta, max(self.tested + asked.test_delta, self.test_delta)

    def _charged_delta(self) -> float:
        """The largest delta with which anything was charged."""
        return float(max((each.delta for each in self.charges), default=0))

    def used(self, currency: Currency) -> Fraction:
        """All charges in this currency. With a delta those of a pure run enter one by one, each as
        its square."""
        return _total(
            (each.times, exchange(each.cost, each.currency, currency)) for each in self.charges
        )

    @property
    def spent(self) -> Fraction:
        """All that counts against the cap, reservations of open runs included."""
        return self.used(self.currency)

    @property
    def beyond_price(self) -> bool:
        """Whether something was charged with delta > 0 though the cap has none, as can be where
        two data sets turned out to be one: no epsilon pays for that."""
        return self.currency == "pure" and any(each.currency != "pure" for each in self.charges)

    @property
    def left(self) -> Fraction:
        """Nothing, if more was spent than the cap is, as can be where two data sets became one."""
        return Fraction(0) if self.beyond_price else max(self.cap - self.spent, Fraction(0))

    @property
    def spent_epsilon(self) -> float:
        """``spent`` as epsilon at the cap's delta. The guarantee is the cap, not this figure."""
        if self.beyond_price:
            return math.inf
        return epsilon_of(self.spent, self.delta, self.accounting)

    @property
    def left_epsilon(self) -> float:
        """The largest epsilon that a new run may ask for at the cap's delta."""
        left = self.left
        if left <= 0:
            return 0.0

        def affords(epsilon: float) -> bool:
            if epsilon < SMALLEST:
                return False
            return budget_for(epsilon, self.delta, self.accounting) <= left

        epsilon = epsilon_of(left, self.delta, self.accounting)
        if affords(neat := float(f"{epsilon:.9g}")):  # 1 rather than 0.9999999999995
            epsilon = max(epsilon, neat)
        while epsilon >= SMALLEST and not affords(epsilon):
            epsilon *= 1 - 2**-50
        return epsilon if epsilon >= SMALLEST else 0.0


@dataclass(frozen=True, kw_only=True)
class Account(Balance):
    """The same with every run, for those who read it."""

    runs: tuple[RunRecord, ...]


def _total(amounts: Iterable[tuple[int, Fraction]]) -> Fraction:
    """The exact sum of amounts that occur so many times. Many have the same denominator, so that
    few fractions are left to add."""
    over: dict[int, int] = {}
    for times, amount in amounts:
        below = amount.denominator
        over[below] = over.get(below, 0) + times * amount.numerator
    return sum((Fraction(above, below) for below, above in over.items()), Fraction(0))


def sufficient_epsilon(needed: Fraction, delta: Number, accounting: Accounting) -> float:
    """A short epsilon whose budget at ``delta`` covers ``needed``."""
    epsilon = shorten(max(epsilon_of(needed, delta, accounting), float(SMALLEST)), ROUND_CEILING)
    while budget_for(epsilon, delta, accounting) < needed:
        epsilon = shorten(math.nextafter(epsilon, math.inf), ROUND_CEILING)
    return epsilon


def spell(value: float) -> str:
    return repr(value).removesuffix(".0")  # every digit: the command must be enough
