"""A balance is what its file says now, to the last charge, and is quick to have."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from privet.errors import BudgetError, LedgerError
from privet.privacy.ledger import records
from privet.privacy.ledger.account import Balance
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import price_of_pure
from privet.privacy.ledger.run import Run

UNIT = "add-remove, 1 row(s) per person"
COST = Fraction(1, 10**4)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.sqlite")
    book.create("people", epsilon=10, delta=1e-4)
    return book


def begin(book: Ledger, epsilon: float = 1, delta: float = 0) -> Run:
    return book.begin("people", epsilon=epsilon, delta=delta, method="test", unit=UNIT)


def balance(book: Ledger) -> Balance:
    found = book.balance("people")
    assert found is not None
    return found


def edit(book: Ledger, statement: str) -> None:
    with sqlite3.connect(book.path) as db:
        db.execute(statement)
    db.close()


def test_equal_costs_of_runs_with_and_without_a_delta_are_not_alike(book: Ledger) -> None:
    """The one is paid as it is, the other as its square."""
    for delta in (0, 1e-6, 0):
        with begin(book, delta=delta) as run:
            run.spend(COST, what="rows")
    assert balance(book).spent == COST + 2 * price_of_pure(COST, "gdp")


@pytest.mark.parametrize("cell", ["budget", "delta", "test_delta"])
def test_open_runs_that_differ_in_one_cell_are_not_alike(book: Ledger, cell: str) -> None:
    first, second = begin(book, delta=1e-6), begin(book, delta=1e-6)
    (whole,) = balance(book).charges
    assert whole.times == 2
    edit(book, f"UPDATE runs SET {cell} = '1/7' WHERE id = '{first.id}'")
    found = {(each.cost, each.delta, each.test_delta) for each in balance(book).charges}
    other = {"budget": whole.cost, "delta": whole.delta, "test_delta": whole.test_delta}
    assert found == {tuple(other.values()), tuple((other | {cell: Fraction(1, 7)}).values())}
    assert second.budget == whole.cost


def test_what_is_remembered_is_what_the_file_says(book: Ledger) -> None:
    """Between two looks at it the file was edited."""
    with begin(book) as run:
        run.spend(COST, what="rows")
    assert balance(book).spent == price_of_pure(COST, "gdp")
    edit(book, "UPDATE entries SET cost = '3'")
    assert balance(book).spent == price_of_pure(Fraction(3), "gdp")
    edit(book, "UPDATE entries SET cost = '-3'")
    with pytest.raises(LedgerError, match="edited or is damaged"):
        balance(book)
    edit(book, f"UPDATE entries SET cost = '{COST}'")
    edit(book, "UPDATE runs SET epsilon = 'much'")
    with pytest.raises(LedgerError, match="edited or is damaged"):
        balance(book)


def test_what_is_not_alike_is_worked_out_once(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand runs may ask for a thousand budgets, and each looks at all before it."""
    spent = Fraction(0)
    for k in range(1, 31):
        with begin(book, epsilon=k / 1000) as run:
            run.spend(Fraction(k, 7000), what="rows")
            spent += price_of_pure(Fraction(k, 7000), "gdp")
    assert balance(book).spent == spent and len(balance(book).charges) == 30
    read: list[object] = []
    monkeypatch.setattr(records, "amount", lambda cell: read.append(cell) or Fraction(str(cell)))
    assert balance(book).spent == spent and read == []


def test_what_is_alike_is_remembered_as_one(book: Ledger) -> None:
    """How often it was there is no part of what it means, or memory would grow with each run."""
    with begin(book) as run:
        run.spend(COST, what="rows")
    balance(book)
    before = records._charge.cache_info().currsize
    for _ in range(10):
        with begin(book) as run:
            run.spend(COST, what="rows")
    assert balance(book).spent == 11 * price_of_pure(COST, "gdp")
    assert records._charge.cache_info().currsize == before


def test_a_cap_is_met_to_the_last_fraction(tmp_path: Path) -> None:
    """Sums that floating point would round, from charges of many denominators."""
    book = Ledger(tmp_path / "ledger.sqlite")
    book.create("people", epsilon=1, delta=0)
    left = Fraction(1)
    for k in (3, 7, 11, 13, 17, 10**15 + 37):
        with book.begin("people", epsilon=0.1, delta=0, method="test", unit=UNIT) as run:
            run.spend(run.budget / k, what="rows")
            left -= Fraction(1, 10 * k)
    assert balance(book).left == left
    with pytest.raises(BudgetError, match="has epsilon"):
        book.begin("people", epsilon=left + Fraction(1, 10**40), delta=0, method="test", unit=UNIT)
    book.begin("people", epsilon=left, delta=0, method="test", unit=UNIT)
    assert balance(book).left == 0
