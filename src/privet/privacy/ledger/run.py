"""One run's filter over its reserved budget."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from privet.errors import BudgetError
from privet.privacy.ledger.account import Budget, Entry
from privet.privacy.ledger.conversion import UNITS, epsilon_of, total_delta
from privet.privacy.ledger.records import entries_of
from privet.privacy.ledger.store import check_open

if TYPE_CHECKING:
    from privet.privacy.ledger.book import Ledger

Claim = Callable[[sqlite3.Connection], None]
NO_TEST = Fraction(0)


class Run:
    """One run's filter: refuses what exceeds the run's own budget, records the rest on disk.

    As a context manager it closes itself, also after an error. Threads may share it.
    """

    def __init__(
        self,
        ledger: Ledger,
        identity: str,
        dataset: str,
        method: str,
        asked: Budget,
        *,
        set_cap: bool,
    ) -> None:
        self.id, self.dataset, self.method = identity, dataset, method
        self.epsilon, self.delta = float(asked.epsilon), float(asked.delta)
        self.budget = self.left = asked.amount
        self.test_delta = self.test_delta_left = asked.test_delta
        self.accounting, self.currency = asked.accounting, asked.currency
        self.set_cap = set_cap
        self.closed = False
        self.entries: tuple[Entry, ...] = ()
        self._ledger, self._delta, self._lock = ledger, asked.delta, threading.Lock()
        self._process = os.getpid()

    @property
    def spent(self) -> Fraction:
        return self.budget - self.left

    @property
    def spent_epsilon(self) -> float:
        """``spent`` as epsilon at the run's delta. The guarantee is the budget, not this."""
        return epsilon_of(self.spent, self._delta, self.accounting)

    @property
    def promised_delta(self) -> float:
        return total_delta(self.delta, self.test_delta)

    def spend(
        self,
        cost: Fraction,
        *,
        what: str,
        test_delta: Fraction = NO_TEST,
        claim: Claim | None = None,
    ) -> None:
        """Charge ``cost`` or refuse; when this returns the charge is on disk. ``what`` is public.
        With a test the charge is for the answer too, whether there will be one or not. ``claim``
        is written with the charge or not at all, and may refuse.

        Called before the rows are looked at. Entries that another thread or a forked process has
        made meanwhile are seen, in the transaction that writes.
        """
        entry = Entry(what=what, cost=Fraction(cost), test_delta=Fraction(test_delta))
        with self._lock:
            if self.closed:
                raise BudgetError(f"{what} was asked of a run that is closed; begin another run")
            if not self._ledger.durable and os.getpid() != self._process:
                raise BudgetError(
                    f"{what} was asked in a process that has a copy of this run, whose ledger is "
                    "in memory; two copies would spend one budget twice: begin a run of its own"
                )
            with self._ledger._transaction() as db:
                check_open(db, self.id)
                before, left, tests = self._so_far(db)
                self._check_affordable(entry, left, tests)
                values = (self.id, len(before), what, str(entry.cost), str(entry.test_delta))
                db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", values)
                if claim is not None:
                    claim(db)
            self.left, self.entries = left - entry.cost, (*before, entry)
            self.test_delta_left = tests - entry.test_delta

    def _so_far(self, db: sqlite3.Connection) -> tuple[tuple[Entry, ...], Fraction, Fraction]:
        """The entries on disk and what they leave, summed up anew if they are not all ours."""
        (count,) = db.execute("SELECT count(*) FROM entries WHERE run = ?", (self.id,)).fetchone()
        if count == len(self.entries):
            return self.entries, self.left, self.test_delta_left
        found = entries_of(db, self.id)
        left = self.budget - sum(e.cost for e in found)
        return found, left, self.test_delta - sum(e.test_delta for e in found)

    def _check_affordable(self, entry: Entry, left: Fraction, tests: Fraction) -> None:
        if not 0 < entry.cost <= left:
            raise BudgetError(
                f"{entry.what} costs {UNITS[self.currency]} "
                f"{float(entry.cost):.6g}, but {float(left):.6g} of {float(self.budget):.6g} is "
                f"left in this run; ask fewer or cheaper questions, or begin a run with a larger "
                f"epsilon"
            )
        if not 0 <= entry.test_delta <= tests:
            raise BudgetError(
                f"{entry.what} is tested first, which adds {float(entry.test_delta):.6g} to delta, "
                f"but {float(tests):.6g} of {float(self.test_delta):.6g} is left for tests in this "
                f"run; begin a run with a larger delta for tests, or ask what needs none"
            )

    def close(self) -> None:
        """Give back what was not spent. Closing twice does no harm."""
        with self._lock:
            if self.closed:
                return
            with self._ledger._transaction() as db:
                check_open(db, self.id)
                db.execute("UPDATE runs SET state = 'closed' WHERE id = ?", (self.id,))
            self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
