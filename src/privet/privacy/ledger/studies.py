"""The run of a study in a site's ledger: begun once, gone on with after a restart, and with at most
one charge and one message for each question.

Nothing here sets a cap. What names a question is written in the transaction of its charge; so there
is never a message without a charge, and never a second charge or message under one name.
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from fractions import Fraction

from privet.errors import BudgetError
from privet.privacy.ledger.account import Account, Budget, sufficient_epsilon
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import Accounting, Number, budget_for
from privet.privacy.ledger.records import account_in
from privet.privacy.ledger.run import Run


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a study asks of a site's people, under the name that the site gives them: all that
    ``rho`` of Gaussian noise may tell, which is what epsilon and delta are worth to the study."""

    study: str
    dataset: str
    epsilon: Number
    delta: Number
    rho: Fraction
    method: str
    unit: str

    def budget(self, accounting: Accounting) -> Budget:
        """In the accounting of the site's cap. One that counts otherwise than the study may need a
        larger epsilon for the same rho."""
        epsilon = self.epsilon
        if budget_for(epsilon, self.delta, accounting) < self.rho:
            epsilon = sufficient_epsilon(self.rho, self.delta, accounting)
        return Budget.asked(epsilon, self.delta, accounting)


def enter(ledger: Ledger, terms: Terms) -> Run:
    """The run of a study: the one that is there, or a new one that reserves its whole budget."""
    with ledger._transaction() as db:
        account = _account(ledger, db, terms)
        asked = terms.budget(account.accounting)
        found = _run_of(db, terms.study, account.dataset)
        if found is None:
            identity = secrets.token_hex(8)
            run = ledger._reserve(db, identity, account.dataset, asked, terms.method, terms.unit)
            db.execute(
                "INSERT INTO studies VALUES (?, ?, ?)", (terms.study, account.dataset, run.id)
            )
        else:
            state = next(run.state for run in account.runs if run.id == found)
            if state != "open":
                raise BudgetError("this study is closed at this site; a new study needs a new lock")
            run = Run(ledger, found, account.dataset, terms.method, asked, set_cap=False)
        # a cap that counts otherwise may have reserved more; the study gets no more than it said
        run.budget = run.left = min(asked.amount, terms.rho)
        return run


def leave(ledger: Ledger, terms: Terms) -> None:
    """Gives back what the study has not spent; it cannot be entered again."""
    with ledger._transaction() as db:
        account = _account(ledger, db, terms)
        found = _run_of(db, terms.study, account.dataset)
        db.execute("UPDATE runs SET state = 'closed' WHERE id = ?", (found,))


def check_room(ledger: Ledger, terms: Terms) -> None:
    """Refuses what ``enter`` would refuse, and reserves nothing."""
    with ledger._transaction() as db:
        account = _account(ledger, db, terms)
        account.check_unit(terms.unit)
        asked = terms.budget(account.accounting)
        if _run_of(db, terms.study, account.dataset) is None and (why := account.refusal(asked)):
            raise BudgetError(why)


def _account(ledger: Ledger, db: sqlite3.Connection, terms: Terms) -> Account:
    account = account_in(db, terms.dataset)
    if account is None:
        raise BudgetError(
            f"data set {terms.dataset!r} has no cap in the ledger {ledger.path}, and no study sets "
            f"one; set it with: "
            + ledger._command("create", terms.dataset, epsilon=terms.epsilon, delta=terms.delta)
        )
    return account


def _run_of(db: sqlite3.Connection, study: str, dataset: str) -> str | None:
    wanted = "SELECT run FROM studies WHERE study = ? AND dataset = ?"
    found = db.execute(wanted, (study, dataset)).fetchone()
    return None if found is None else str(found[0])


def claim(db: sqlite3.Connection, run: str, context: str) -> None:
    """Part of the transaction that charges for a question."""
    if db.execute(
        "SELECT 1 FROM contexts WHERE run = ? AND context = ?", (run, context)
    ).fetchone():
        raise BudgetError(
            "this question was charged before and its answer was lost; the coordinator must ask "
            "in a new attempt, since one question never gets two answers"
        )
    db.execute("INSERT INTO contexts VALUES (?, ?, NULL)", (context, run))


def message_of(ledger: Ledger, run: Run, context: str) -> bytes | None:
    """The message that a question got; None if there is none (yet)."""
    with ledger._transaction() as db:
        wanted = "SELECT message FROM contexts WHERE run = ? AND context = ?"
        found = db.execute(wanted, (run.id, context)).fetchone()
    return None if found is None else found[0]


def keep(ledger: Ledger, run: Run, context: str, message: bytes) -> None:
    """Before it is sent: from now on this is the answer to that question."""
    with ledger._transaction() as db:
        changed = (
            "UPDATE contexts SET message = ? WHERE run = ? AND context = ? AND message IS NULL"
        )
        if db.execute(changed, (message, run.id, context)).rowcount != 1:
            raise BudgetError(
                "the ledger does not know this question any more, so the file was replaced or "
                "edited meanwhile; nothing is sent"
            )


def charged(ledger: Ledger, run: Run) -> int:
    """How many questions of the study were charged."""
    with ledger._transaction() as db:
        wanted = "SELECT count(*) FROM contexts WHERE run = ?"
        return int(db.execute(wanted, (run.id,)).fetchone()[0])
