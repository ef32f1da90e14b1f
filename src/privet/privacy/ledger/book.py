"""The budget that outlives the process: a cap per data set, and a filter that refuses.

A run reserves its whole budget on disk before anything is read, and writes each charge to disk
before the charged answer is computed. So two processes cannot spend the same budget, and a
process that is killed loses at most what it had reserved. A charge that does not fit is refused
and leaves everything as it was. What a closed run did not spend goes back to its data set.

Amounts are exact fractions in the currency of the budget (``accounting``); why a running sum with
adaptively chosen summands keeps the promise is in proofs/filter.md. Beside it runs the sum of the
probabilities with which noisy tests mislead, with a cap of its own: proofs/tested.md.
"""

from __future__ import annotations

import secrets
import shlex
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from privet.errors import BudgetError, LedgerError, PrivetError, both, expect
from privet.privacy.ledger.account import Account, Balance, Budget, spell, sufficient_epsilon
from privet.privacy.ledger.conversion import (
    Accounting,
    Number,
    check_budget,
    total_delta,
)
from privet.privacy.ledger.records import account_in, accounts_in, balance_in
from privet.privacy.ledger.run import Run
from privet.privacy.ledger.store import (
    check_format,
    check_name,
    connect,
    default_path,
    explained,
    set_cap,
    unite,
)

MEMORY = ":memory:"


class Ledger:
    """The book of one SQLite file. Opening it writes nothing; the first cap creates the file.
    ":memory:" is a book that is forgotten with the process.

    >>> book = privet.Ledger("budgets.sqlite")
    >>> book.create("clinic", epsilon=2, delta=1e-6)
    >>> book.account("clinic").left_epsilon
    2.0
    """

    def __init__(self, path: str | Path | None = None) -> None:
        expect(path, (str, Path, type(None)), "ledger", "give the path of a file", LedgerError)
        self.path = default_path() if path is None else Path(path)
        self.durable = str(path) != MEMORY
        self._by_default = path is None
        self._memory = None if self.durable else connect(MEMORY)
        self.texts: dict[str, str] = {}  # what a ledger in memory keeps of the evidence of its runs
        if self._memory:
            weakref.finalize(self, self._memory.close)
        if self.durable and self.path.is_dir():
            raise LedgerError(f"the ledger {self.path} is a directory; name a file in it")
        if self._exists():
            with self._transaction(write=False):
                pass

    def create(
        self,
        dataset: str,
        *,
        epsilon: Number,
        delta: Number,
        test_delta: Number = 0,
        accounting: Accounting = "gdp",
    ) -> None:
        """Set the cap of a data set that has none, and how it counts for good.

        >>> privet.Ledger(":memory:").create("clinic", epsilon=1, delta=0)
        """
        check_name(dataset)
        cap = Budget.asked(epsilon, delta, accounting, test_delta)
        with self._transaction() as db:
            unite(db)
            if old := balance_in(db, dataset):
                raised = max(float(cap.epsilon), old.epsilon), max(float(cap.delta), old.delta)
                command = self._grant_command(old, *raised, max(cap.test_delta, old.test_delta))
                raise BudgetError(
                    f"data set {old.dataset!r} has a cap already ({old.budget}); raise it with: "
                    f"{command}"
                )
            set_cap(db, dataset, cap)
            account_in(db, dataset)  # a file in which it could not be read is left as it was

    def grant(
        self,
        dataset: str,
        *,
        epsilon: Number,
        delta: Number | None = None,
        test_delta: Number | None = None,
    ) -> None:
        """Raise the cap of a data set to ``epsilon`` (and ``delta``, and what tests may add to
        it) in total.

        >>> book = privet.Ledger(":memory:")
        >>> book.create("clinic", epsilon=1, delta=0)
        >>> book.grant("clinic", epsilon=3)
        """
        check_name(dataset)
        check_budget(epsilon, 0 if delta is None else delta)
        if self.balance(dataset) is None:
            command = self._command("create", dataset, epsilon=epsilon, delta=delta)
            raise BudgetError(f"data set {dataset!r} has no cap yet; set one with: {command}")
        with self._transaction() as db:
            unite(db)
            old = balance_in(db, dataset)
            assert old is not None  # caps are never removed
            same = delta is None and test_delta is None  # of a ledger of old it may be large
            cap = (Budget.of if same else Budget.asked)(
                epsilon,
                old.budget.delta if delta is None else delta,
                old.accounting,
                old.test_delta if test_delta is None else test_delta,
            )
            if old.budget.exceeds(cap):
                raise BudgetError(
                    f"the cap of data set {old.dataset!r} is {old.budget}, and a cap can only be "
                    f"raised; {cap} would lower it"
                )
            used = old.used(cap.currency)
            if cap.amount < used:
                raise BudgetError(
                    f"epsilon {float(cap.epsilon):g} at delta {float(cap.delta):g} does not cover "
                    f"what data set {old.dataset!r} has already spent; grant at least "
                    f"⟦epsilon={spell(sufficient_epsilon(used, cap.delta, cap.accounting))}⟧"
                )
            set_cap(db, old.dataset, cap)

    def account(self, dataset: str) -> Account | None:
        """The cap of a data set and its runs, if it has a cap.

        >>> privet.Ledger(":memory:").account("clinic") is None
        True
        """
        check_name(dataset)
        if not self._exists():
            return None
        with self._transaction(write=False) as db:
            return account_in(db, dataset)

    def balance(self, dataset: str) -> Balance | None:
        """Its account without the runs: as quick after a thousand of them as at first.

        >>> book = privet.Ledger(":memory:")
        >>> book.create("clinic", epsilon=1, delta=0)
        >>> book.balance("clinic").left_epsilon
        1.0
        """
        check_name(dataset)
        if not self._exists():
            return None
        with self._transaction(write=False) as db:
            return balance_in(db, dataset)

    def accounts(self) -> tuple[Account, ...]:
        """All data sets that have a cap.

        >>> privet.Ledger(":memory:").accounts()
        ()
        """
        if not self._exists():
            return ()
        with self._transaction(write=False) as db:
            return accounts_in(db)

    def begin(
        self,
        dataset: str,
        *,
        epsilon: Number,
        delta: Number,
        method: str,
        unit: str,
        test_delta: Number = 0,
        accounting: Accounting = "gdp",
    ) -> Run:
        """Reserve the whole budget of a run, or refuse. A data set without a cap gets this
        budget and this ``accounting`` as its cap; else the run counts as the cap does, since no
        proof covers a cap that counts now one way and now another. ``unit`` (``Schema.unit``)
        must be that of the runs before."""
        asked = Budget.asked(epsilon, delta, accounting, test_delta)
        identity = secrets.token_hex(8)
        try:
            with self._transaction() as db:
                return self._reserve(db, identity, dataset, asked, method, unit)
        except PrivetError:  # it was refused
            raise
        except BaseException:  # a signal, perhaps when it was on disk already
            self._give_back(identity)
            raise

    def _reserve(
        self,
        db: sqlite3.Connection,
        identity: str,
        dataset: str,
        asked: Budget,
        method: str,
        unit: str,
    ) -> Run:
        unite(db)
        account = balance_in(db, dataset)
        if account is None:
            set_cap(db, dataset, asked)
        else:
            dataset = account.dataset
            asked = replace(asked, accounting=account.accounting)
            account.check_unit(unit)
            if problem := account.refusal(asked):
                command = self._grant_command(account, *account.enough_for(asked))
                raise BudgetError(f"{problem}, or allow it with: {command}")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        amounts = (asked.epsilon, asked.delta, asked.amount, asked.test_delta)
        db.execute("UPDATE caps SET unit = ? WHERE dataset = ?", (unit, dataset))
        db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?)",
            (identity, dataset, now, method, *map(str, amounts)),
        )
        return Run(self, identity, dataset, method, asked, set_cap=account is None)

    def close(self, identity: str) -> Account:
        """End a run that nobody holds any more. What it was charged stays charged; what it had
        reserved beyond that goes back. Should it go on after all, its next charge is refused, since
        every charge looks in its own transaction whether its run is open.

        >>> ledger = privet.Ledger(":memory:")
        >>> run = ledger.begin("clinic", epsilon=1, delta=0, method="mine", unit="a row")
        >>> ledger.close(run.id).left_epsilon
        1.0
        """
        unknown = LedgerError(
            f"there is no run {identity!r} in {self.path}; ⟦`Ledger.account(name)`"
            f"¦`privet ledger show NAME`⟧ has the runs of a data set"
        )
        if not self._exists():
            raise unknown
        with self._transaction() as db:
            found = db.execute(
                "SELECT dataset, state FROM runs WHERE id = ?", (identity,)
            ).fetchone()
            if found is None:
                raise unknown
            if found[1] != "open":
                raise LedgerError(f"run {identity} is closed already; nothing is left to free")
            if db.execute("SELECT 1 FROM studies WHERE run = ?", (identity,)).fetchone():
                raise LedgerError(
                    f"run {identity} belongs to a study with other sites; `privet site close` "
                    f"ends that"
                )
            db.execute("UPDATE runs SET state = 'closed' WHERE id = ?", (identity,))
            account = account_in(db, str(found[0]))
        assert account is not None  # its run was found
        return account

    def _give_back(self, identity: str) -> None:
        """Close a run that nobody holds, if it was begun at all."""
        if self._exists():
            with self._transaction() as db:
                db.execute("UPDATE runs SET state = 'closed' WHERE id = ?", (identity,))

    def _grant_command(
        self, account: Balance, epsilon: float, delta: float, tests: Fraction
    ) -> str:
        return self._command(
            "grant",
            account.dataset,
            epsilon=epsilon,
            delta=None if delta == account.delta else delta,
            test_delta=None if tests == account.test_delta else total_delta(0.0, tests),
        )

    def _command(self, action: str, dataset: str, **amounts: Number | None) -> str:
        """What to call, or to type, so that there is room."""
        given = {key: spell(float(value)) for key, value in amounts.items() if value is not None}
        path = str(self.path) if self.durable and not self._by_default else None
        call = ", ".join([repr(dataset), *(f"{key}={value}" for key, value in given.items())])
        book = f"privet.Ledger({'' if path is None else repr(path)})"
        words = [f"--{key.replace('_', '-')} {value}" for key, value in given.items()]
        words += [] if path is None else [f"--ledger {shlex.quote(path)}"]
        line = f"privet ledger {action} {shlex.quote(dataset)} {' '.join(words)}"
        return both(f"{book if self.durable else 'ledger'}.{action}({call})", line)

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
                check_format(db, self.path, write=write)
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if self.durable:
                    db.close()
