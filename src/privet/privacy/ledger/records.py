"""What the file of a ledger says of a data set: its balance, and its runs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privet.privacy.ledger.account import Account, Balance, Budget, Charge, Entry, RunRecord
from privet.privacy.ledger.conversion import Accounting, currency_for
from privet.privacy.ledger.store import alike, amount, caps_of, one_cap, people_of, word
from privet.schema.names import name_key

Row = tuple[Any, ...]
STATES = ("open", "closed")
MOST_KNOWN = 10_000  # charges whose meaning is remembered


def balance_in(db: sqlite3.Connection, dataset: str) -> Balance | None:
    names = alike(db).get(name_key(dataset))
    return None if names is None else _balance(db, names)


def account_in(db: sqlite3.Connection, dataset: str) -> Account | None:
    names = alike(db).get(name_key(dataset))
    return None if names is None else _account(db, names)


def accounts_in(db: sqlite3.Connection) -> tuple[Account, ...]:
    return tuple(_account(db, names) for names in sorted(alike(db).values()))


def _account(db: sqlite3.Connection, names: Sequence[str]) -> Account:
    balance = _balance(db, names)
    return Account(**vars(balance), runs=_runs(db, names, balance.accounting))


def _balance(db: sqlite3.Connection, names: Sequence[str]) -> Balance:
    """Of a data set under all of its names; it is shown under the first."""
    epsilon, delta, test_delta, unit, accounting = one_cap(caps_of(db, names))
    return Balance(
        dataset=names[0],
        budget=Budget(
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            accounting=accounting,
            test_delta=Fraction(test_delta),
        ),
        unit=unit,
        people=people_of(db, names[0]),
        charges=tuple(_charges(db, names, accounting)),
    )


def _charges(
    db: sqlite3.Connection, names: Sequence[str], accounting: Accounting
) -> Iterator[Charge]:
    """Every run asks for them, so what is alike is counted, and what it means is worked out once.
    Cells that count for nothing are looked at too, since a file in which one was edited is not
    trusted."""
    these = f"dataset IN ({', '.join('?' * len(names))})"
    runs = db.execute(
        f"SELECT state, budget, test_delta, delta, method, epsilon FROM runs WHERE {these}"
        " ORDER BY rowid",
        tuple(names),
    )
    for (state, *cells), times in Counter(runs).items():
        reserved = _charge(accounting, *cells)
        if word(state, STATES) == "open":
            yield reserved if times == 1 else replace(reserved, times=times)
    entries = db.execute(
        "SELECT cost, entries.test_delta, delta FROM runs JOIN entries ON run = id"
        f" WHERE {these} AND state = 'closed' ORDER BY runs.rowid, position",
        tuple(names),
    )
    for cells, times in Counter(entries).items():
        paid = _charge(accounting, *cells)
        yield paid if times == 1 else replace(paid, times=times)


@lru_cache(maxsize=MOST_KNOWN)
def _charge(
    accounting: Accounting,
    cost: object,
    test_delta: object,
    delta: object,
    method: object = "",
    epsilon: object = "0",
) -> Charge:
    word(method)
    amount(epsilon)
    return Charge(
        cost=amount(cost),
        test_delta=amount(test_delta),
        delta=amount(delta),
        currency=currency_for(amount(delta), accounting),
    )


def _runs(
    db: sqlite3.Connection, names: Sequence[str], accounting: Accounting
) -> tuple[RunRecord, ...]:
    these = f"dataset IN ({', '.join('?' * len(names))})"
    rows = db.execute(
        "SELECT id, started, method, epsilon, delta, budget, state, test_delta FROM runs"
        f" WHERE {these} ORDER BY rowid",
        tuple(names),
    ).fetchall()
    charged: dict[str, list[Row]] = {}
    for run, *cells in db.execute(
        "SELECT run, what, cost, test_delta FROM entries"
        f" WHERE run IN (SELECT id FROM runs WHERE {these}) ORDER BY run, position",
        tuple(names),
    ):
        charged.setdefault(run, []).append(tuple(cells))
    return tuple(record_of(row, charged.get(row[0], ()), accounting) for row in rows)


def record_of(row: Row, charged: Sequence[Row], accounting: Accounting) -> RunRecord:
    identity, when, method, epsilon, delta, budget, state, test_delta = row
    return RunRecord(
        id=word(identity),
        when=word(when),
        method=word(method),
        epsilon=float(amount(epsilon)),
        delta=float(amount(delta)),
        state=word(state, STATES),
        currency=currency_for(amount(delta), accounting),
        reserved=amount(budget),
        test_delta=amount(test_delta),
        entries=tuple(entry_of(cells) for cells in charged),
    )


def entry_of(cells: Row) -> Entry:
    what, cost, test_delta = cells
    return Entry(what=word(what), cost=amount(cost), test_delta=amount(test_delta))


def entries_of(db: sqlite3.Connection, run: str) -> tuple[Entry, ...]:
    found = db.execute(
        "SELECT what, cost, test_delta FROM entries WHERE run = ? ORDER BY position", (run,)
    )
    return tuple(entry_of(cells) for cells in found)
