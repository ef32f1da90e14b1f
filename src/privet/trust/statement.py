"""What a run promised and spent, in words and figures for a certificate; nothing can be bought
with it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.privacy.ledger.account import Balance
from privet.privacy.ledger.conversion import Currency, total_delta
from privet.privacy.ledger.run import Run


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One charge, and with what probability a test that is part of it may mislead."""

    what: str
    cost: float
    test_delta: float


@dataclass(frozen=True, kw_only=True)
class Cap:
    """What all runs on a data set may spend together, and what this run has left of it."""

    durable: bool
    epsilon: float
    delta: float
    test_delta: float
    set_by_this_run: bool
    left_epsilon: float


@dataclass(frozen=True, kw_only=True)
class Statement:
    """``delta`` is the whole one of the promise; the spent one is what was used of it, and
    ``spent`` its amount in the currency of the run. ``people`` is a random public number for the
    people of the data set, the same for all its runs. ``engine`` is the program that holds the
    table, if it is another one."""

    run: str
    people: str | None
    method: str
    epsilon: float
    delta: float
    currency: Currency
    spent: Fraction
    spent_epsilon: float
    spent_delta: float
    spent_test_delta: float
    charges: tuple[Charge, ...]
    cap: Cap
    engine: str = ""


def of_run(run: Run, account: Balance, *, durable: bool, engine: str = "") -> Statement:
    """Of a run that has been closed; ``account`` is its data set's after that."""
    tested = run.test_delta - run.test_delta_left
    return Statement(
        run=run.id,
        people=account.people,
        method=run.method,
        epsilon=run.epsilon,
        delta=run.promised_delta,
        currency=run.currency,
        spent=run.spent,
        spent_epsilon=run.spent_epsilon,
        spent_delta=total_delta(run.delta, tested),
        spent_test_delta=total_delta(0.0, tested),
        charges=tuple(
            Charge(
                what=entry.what,
                cost=float(entry.cost),
                test_delta=total_delta(0.0, entry.test_delta),
            )
            for entry in run.entries
        ),
        cap=Cap(
            durable=durable,
            epsilon=account.epsilon,
            delta=account.promised_delta,
            test_delta=float(account.test_delta),
            set_by_this_run=run.set_cap,
            left_epsilon=account.left_epsilon,
        ),
        engine=engine,
    )
