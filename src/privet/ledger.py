"""The budget that outlives the process: a cap per data set, and a filter that refuses.

A run reserves its whole budget on disk before anything is read, and writes each charge to disk
before the charged answer is computed. So two processes cannot spend the same budget, and a
process that is killed loses at most what it had reserved. A charge that does not fit is refused
and leaves everything as it was. What a closed run did not spend goes back to its data set.

Amounts are exact fractions in the currency of the budget (``accounting``); why a running sum with
adaptively chosen summands keeps the promise is in proofs/filter.md.
"""

from __future__ import annotations

import os
import secrets
import shlex
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from privet.account import Account, Entry, RunRecord, shorten, spell, sufficient_epsilon
from privet.accounting import (
    Currency,
    Number,
    budget_for,
    check_budget,
    currency_for,
    epsilon_of,
    exchange,
)
from privet.errors import BudgetError, LedgerError
from privet.ledger_file import check_format, connect, default_path, explained

MEMORY = ":memory:"


class Ledger:
    """The book of one SQLite file. Opening it writes nothing; the first cap creates the file."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = default_path() if path is None else Path(path)
        self.durable = str(path) != MEMORY
        self._by_default = path is None
        self._memory = None if self.durable else connect(MEMORY)
        if self._memory:
            weakref.finalize(self, self._memory.close)
        if self.durable and self.path.is_dir():
            raise LedgerError(f"the ledger {self.path} is a directory; name a file in it")
        if self._exists():
            with self._transaction(write=False):
                pass

    def create(self, dataset: str, *, epsilon: Number, delta: Number) -> None:
        """Set the cap of a data set that has none."""
        eps, dlt = check_budget(epsilon, delta)
        with self._transaction() as db:
            if old := _account(db, dataset):
                raised = max(float(eps), old.epsilon), max(float(dlt), old.delta)
                raise BudgetError(
                    f"data set {dataset!r} has a cap already (epsilon {old.epsilon:g}, delta "
                    f"{old.delta:g}); raise it with: {self._grant_command(old, *raised)}"
                )
            _set_cap(db, dataset, eps, dlt)

    def grant(self, dataset: str, *, epsilon: Number, delta: Number | None = None) -> None:
        """Raise the cap of a data set to ``epsilon`` (and ``delta``) in total."""
        if self.account(dataset) is None:
            budget = f"--epsilon {epsilon}" + ("" if delta is None else f" --delta {delta}")
            raise BudgetError(
                f"data set {dataset!r} has no cap yet; set one with: privet ledger create "
                f"{shlex.quote(dataset)} {budget}{self._option()}"
            )
        with self._transaction() as db:
            old = _account(db, dataset)
            assert old is not None  # caps are never removed
            eps, dlt = check_budget(epsilon, old.delta if delta is None else delta)
            if float(eps) < old.epsilon or float(dlt) < old.delta:
                raise BudgetError(
                    f"the cap of data set {dataset!r} is epsilon {old.epsilon:g}, delta "
                    f"{old.delta:g}, and a cap can only be raised; epsilon {float(eps):g}, "
                    f"delta {float(dlt):g} would lower it"
                )
            used = old.used(currency_for(dlt))
            if budget_for(eps, dlt) < used:
                raise BudgetError(
                    f"epsilon {float(eps):g} at delta {float(dlt):g} does not cover what data set "
                    f"{dataset!r} has already spent; grant at least --epsilon "
                    f"{spell(sufficient_epsilon(used, dlt))}"
                )
            _set_cap(db, dataset, eps, dlt)

    def account(self, dataset: str) -> Account | None:
        if not self._exists():
            return None
        with self._transaction(write=False) as db:
            return _account(db, dataset)

    def accounts(self) -> tuple[Account, ...]:
        if not self._exists():
            return ()
        with self._transaction(write=False) as db:
            names = [row[0] for row in db.execute("SELECT dataset FROM caps ORDER BY dataset")]
            return tuple(found for name in names if (found := _account(db, name)))

    def begin(self, dataset: str, *, epsilon: Number, delta: Number, method: str, unit: str) -> Run:
        """Reserve the whole budget of a run, or refuse. A data set without a cap gets this
        budget as its cap. ``unit`` (``Schema.unit``) must be that of the runs before."""
        eps, dlt = check_budget(epsilon, delta)
        budget = budget_for(eps, dlt)
        identity, now = secrets.token_hex(8), datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as db:
            account = _account(db, dataset)
            if account is None:
                _set_cap(db, dataset, eps, dlt)
            else:
                account.check_unit(unit)
                self._check_fits(account, eps, dlt, budget)
            db.execute("UPDATE caps SET unit = ? WHERE dataset = ?", (unit, dataset))
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, 'open')",
                (identity, dataset, now, method, str(eps), str(dlt), str(budget)),
            )
        return Run(self, identity, dataset, method, eps, dlt, budget, set_cap=account is None)

    def _check_fits(self, account: Account, eps: Fraction, dlt: Fraction, ask: Fraction) -> None:
        name, paid, delta = account.dataset, currency_for(dlt), max(float(dlt), account.delta)
        if delta > account.delta:
            problem = (
                f"this run asks for delta {float(dlt):g}, but the cap of data set {name!r} has "
                f"delta {account.delta:g}; run with a delta of at most {account.delta:g}"
            )
        elif (cost := exchange(ask, paid, account.currency)) > account.left:
            rho = f" (rho {float(cost):.4g})" if paid != account.currency else ""
            problem = (
                f"this run asks for epsilon {float(eps):g} at delta {float(dlt):g}{rho}, but data "
                f"set {name!r} has epsilon {shorten(account.left_epsilon, ROUND_FLOOR):g} at delta "
                f"{account.delta:g}{rho and f' (rho {float(account.left):.4g})'} left of its cap "
                f"of epsilon {account.epsilon:g}; ask for less"
            )
        else:
            return
        into = currency_for(delta)
        enough = sufficient_epsilon(account.used(into) + exchange(ask, paid, into), delta)
        command = self._grant_command(account, max(enough, account.epsilon), delta)
        raise BudgetError(f"{problem}, or allow it with: {command}")

    def _grant_command(self, account: Account, epsilon: float, delta: float) -> str:
        words = f"privet ledger grant {shlex.quote(account.dataset)} --epsilon {spell(epsilon)}"
        if delta != account.delta:
            words += f" --delta {spell(delta)}"
        return words + self._option()

    def _option(self) -> str:
        named = self.durable and not self._by_default
        return f" --ledger {shlex.quote(str(self.path))}" if named else ""

    def _exists(self) -> bool:
        with explained(self.path):
            return not self.durable or (self.path.exists() and self.path.stat().st_size > 0)

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing; a file is opened for each, so that no lock outlives it."""
        with explained(self.path):
            if write and self._by_default:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            db = self._memory or connect(str(self.path))
            try:
                db.execute("BEGIN IMMEDIATE" if write or not self.durable else "BEGIN")
                check_format(db, self.path)
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if self.durable:
                    db.close()


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
        epsilon: Fraction,
        delta: Fraction,
        budget: Fraction,
        *,
        set_cap: bool,
    ) -> None:
        self.id, self.dataset, self.method = identity, dataset, method
        self.epsilon, self.delta = float(epsilon), float(delta)
        self.budget, self.left, self.set_cap = budget, budget, set_cap
        self.currency: Currency = currency_for(delta)
        self.closed = False
        self.entries: tuple[Entry, ...] = ()
        self._ledger, self._delta, self._lock = ledger, delta, threading.Lock()
        self._process = os.getpid()

    @property
    def spent(self) -> Fraction:
        return self.budget - self.left

    @property
    def spent_epsilon(self) -> float:
        """``spent`` as epsilon at the run's delta. The guarantee is the budget, not this."""
        return epsilon_of(self.spent, self._delta)

    def spend(self, cost: Fraction, *, what: str) -> None:
        """Charge ``cost`` or refuse; when this returns the charge is on disk. ``what`` is public.

        Called before the rows are looked at. Entries that another thread or a forked process has
        made meanwhile are seen, in the transaction that writes.
        """
        entry = Entry(what=what, cost=Fraction(cost))
        with self._lock:
            if self.closed:
                raise BudgetError(f"{what} was asked of a run that is closed; begin another run")
            if not self._ledger.durable and os.getpid() != self._process:
                raise BudgetError(
                    f"{what} was asked in a process that has a copy of this run, whose ledger is "
                    "in memory; two copies would spend one budget twice: begin a run of its own"
                )
            with self._ledger._transaction() as db:
                _check_open(db, self.id)
                before, left = self._so_far(db)
                self._check_affordable(entry, left)
                values = (self.id, len(before), what, str(entry.cost))
                db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", values)
            self.left, self.entries = left - entry.cost, (*before, entry)

    def _so_far(self, db: sqlite3.Connection) -> tuple[tuple[Entry, ...], Fraction]:
        """The entries on disk and what they leave, summed up anew if they are not all ours."""
        (count,) = db.execute("SELECT count(*) FROM entries WHERE run = ?", (self.id,)).fetchone()
        if count == len(self.entries):
            return self.entries, self.left
        found = _entries(db, self.id)
        return found, self.budget - sum(e.cost for e in found)

    def _check_affordable(self, entry: Entry, left: Fraction) -> None:
        if not 0 < entry.cost <= left:
            raise BudgetError(
                f"{entry.what} costs {'rho' if self.currency == 'zcdp' else 'epsilon'} "
                f"{float(entry.cost):.6g}, but {float(left):.6g} of {float(self.budget):.6g} is "
                f"left in this run; ask fewer or cheaper questions, or begin a run with a larger "
                f"epsilon"
            )

    def close(self) -> None:
        """Give back what was not spent. Closing twice does no harm."""
        with self._lock:
            if self.closed:
                return
            with self._ledger._transaction() as db:
                _check_open(db, self.id)
                db.execute("UPDATE runs SET state = 'closed' WHERE id = ?", (self.id,))
            self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _account(db: sqlite3.Connection, dataset: str) -> Account | None:
    cap = "SELECT epsilon, delta, unit FROM caps WHERE dataset = ?"
    found = db.execute(cap, (dataset,)).fetchone()
    if found is None:
        return None
    eps, dlt, unit = Fraction(found[0]), Fraction(found[1]), found[2]
    rows = db.execute(
        "SELECT id, started, method, epsilon, delta, budget, state FROM runs"
        " WHERE dataset = ? ORDER BY rowid",
        (dataset,),
    ).fetchall()
    return Account(
        dataset=dataset,
        epsilon=float(eps),
        delta=float(dlt),
        unit=unit,
        cap=budget_for(eps, dlt),
        runs=tuple(_record(db, row) for row in rows),
    )


def _record(db: sqlite3.Connection, row: tuple[Any, ...]) -> RunRecord:
    identity, when, method, epsilon, delta, budget, state = row
    return RunRecord(
        id=identity,
        when=when,
        method=method,
        epsilon=float(Fraction(epsilon)),
        delta=float(Fraction(delta)),
        state=state,
        currency=currency_for(Fraction(delta)),
        reserved=Fraction(budget),
        entries=_entries(db, identity),
    )


def _entries(db: sqlite3.Connection, run: str) -> tuple[Entry, ...]:
    found = db.execute("SELECT what, cost FROM entries WHERE run = ? ORDER BY position", (run,))
    return tuple(Entry(what=what, cost=Fraction(cost)) for what, cost in found)


def _set_cap(db: sqlite3.Connection, dataset: str, epsilon: Fraction, delta: Fraction) -> None:
    if not dataset:
        raise LedgerError("a data set needs a name to have a budget; give one in the schema")
    values = (dataset, str(epsilon), str(delta))
    db.execute(
        "INSERT INTO caps (dataset, epsilon, delta) VALUES (?, ?, ?) ON CONFLICT (dataset)"
        " DO UPDATE SET epsilon = excluded.epsilon, delta = excluded.delta",
        values,
    )


def _check_open(db: sqlite3.Connection, identity: str) -> None:
    found = db.execute("SELECT state FROM runs WHERE id = ?", (identity,)).fetchone()
    if found != ("open",):
        raise LedgerError(
            f"run {identity} is not open in the ledger any more, so the file was replaced or "
            f"edited meanwhile; begin another run"
        )
