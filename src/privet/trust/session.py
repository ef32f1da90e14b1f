"""A run on one table, from the reservation of its budget to its statement.

What is public is checked before a session begins. As a context manager it reserves the budget on
disk, gives curators that spend it, and gives back what was not spent, whatever happens.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

from privet.errors import NOTE, LedgerError, SchemaError, expect
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import Accounting, Number
from privet.privacy.ledger.kept import Kept, keep, kept
from privet.privacy.ledger.run import Run
from privet.schema.model import Schema
from privet.schema.names import UNNAMED, same_name
from privet.trust import statement
from privet.trust.central import Central
from privet.trust.statement import Statement

LedgerLike = Ledger | str | Path | None


class Session:
    """``test_delta`` is what noisy tests of stability may use, beside ``delta``; ``accounting`` is
    how a cap counts that this run makes."""

    def __init__(
        self,
        data: object,
        schema: Schema,
        *,
        ledger: LedgerLike,
        epsilon: Number,
        delta: Number,
        test_delta: Number = 0,
        accounting: Accounting,
        method: str,
    ) -> None:
        checked = without_privacy(data, schema)  # the header against the schema; reads no row
        self._engine, self.place = checked.vault.engine, checked.vault.place
        self._data, self._schema, self._book = data, schema, opened(ledger)
        _check_named(schema.name, self._book)
        self._budget = {"epsilon": epsilon, "delta": delta, "test_delta": test_delta}
        self._method, self._accounting = method, accounting
        self._begun: Run | None = None
        self._opened: Central | None = None

    @property
    def _run(self) -> Run:
        assert self._begun is not None  # all below is asked of a session that was entered
        return self._begun

    def curator(self, part: Fraction = Fraction(1)) -> Central:
        """Pays with shares of this part of the budget; all read the rows once."""
        if self._opened is None:
            self._opened = Central.open(self._data, self._schema, self._run)
        return replace(self._opened, part=part)

    def __enter__(self) -> Self:
        """Reserves the budget here, not before: what stops the program from now on finds either
        nothing reserved or somebody who gives it back."""
        name, unit = self._schema.name, self._schema.unit
        try:
            self._begun = self._book.begin(
                name, method=self._method, unit=unit, accounting=self._accounting, **self._budget
            )
            return self
        except BaseException:
            if self._begun is not None:
                self._begun.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run.__exit__(kind, error, trace)
        if error is not None and self._run.entries:
            error.add_note(
                f"{NOTE}epsilon {self._run.spent_epsilon:.6g} of data set {self._run.dataset!r} "
                f"was spent before that (run {self._run.id} in the ledger)"
            )

    def keep(self, key: str, text: str) -> None:
        """What this run has released, for those that are the same."""
        keep(self._book, key, self._run.id, text)

    def kept(self, key: str) -> Kept | None:
        """What an identical run has left beside the ledger."""
        return kept(self._book, key)

    def statement(self) -> Statement:
        """What was promised and spent, once the session is over."""
        account = self._book.balance(self._schema.name)
        assert account is not None  # the run is in it
        return statement.of_run(self._run, account, durable=self._book.durable, engine=self._engine)


def without_privacy(data: object, schema: Schema) -> Central:
    """Exact answers, for nothing; none of them is private."""
    return Central.open(data, schema, None)


def _check_named(name: str, ledger: Ledger) -> None:
    """Refuse a name that is nobody's where it would have a budget: two tables would share it."""
    if ledger.durable and same_name(name, UNNAMED):
        raise SchemaError(
            f"the data set is called {name!r}, as every table is that nobody has named, but its "
            "budget is kept under its name; give it one of its own in the schema, such as "
            "name='clinic', or try with ⟦ledger=':memory:'⟧"
        )


def opened(ledger: LedgerLike) -> Ledger:
    """The ledger, or the one of this file."""
    kinds = (Ledger, str, Path, type(None))
    expect(ledger, kinds, "ledger", "give a privet.Ledger or the path of its file", LedgerError)
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)


def cap_delta(ledger: LedgerLike, schema: Schema) -> float | None:
    """The delta of the cap of this data set, if it has one."""
    account = opened(ledger).balance(schema.name)
    return None if account is None else account.delta
