"""The number of a data set's people: drawn once, kept for ever, and the same for all its runs."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from privet.privacy.ledger.book import Ledger

OLD = Path(__file__).parents[2] / "data"
UNIT = "add-remove, 1 row(s) per person"


def people(book: Ledger, name: str) -> str | None:
    account = book.account(name)
    assert account is not None
    return account.people


def test_every_data_set_has_a_number_of_its_own_for_ever(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "l")
    book.create("a", epsilon=1, delta=0)
    book.begin("b", epsilon=1, delta=0, method="m", unit=UNIT).close()
    numbers = [people(book, name) for name in "ab"]
    assert len(set(numbers)) == 2
    assert all(number is not None and len(bytes.fromhex(number)) == 16 for number in numbers)
    book.grant("a", epsilon=2)
    book.begin("a", epsilon=1, delta=0, method="m", unit=UNIT).close()
    assert [people(Ledger(book.path), name) for name in "AB"] == numbers


def test_two_ledgers_draw_different_numbers() -> None:
    books = [Ledger(":memory:") for _ in range(2)]
    for book in books:
        book.create("a", epsilon=1, delta=0)
    assert people(books[0], "a") != people(books[1], "a")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_first_change_numbers_the_people_of_an_old_file(tmp_path: Path, number: int) -> None:
    shutil.copy(OLD / f"ledger-format-{number}.sqlite", path := tmp_path / "l")
    before = path.read_bytes()
    accounts = Ledger(path).accounts()
    assert len(accounts) > 1 and all(account.people is None for account in accounts)
    assert path.read_bytes() == before  # reading changes nothing
    Ledger(path).create("new", epsilon=1, delta=0)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (5,)
    after = Ledger(path).accounts()
    numbers = [account.people for account in after]
    assert None not in numbers and len(set(numbers)) == len(accounts) + 1
    assert {a.dataset: (a.budget, a.runs) for a in accounts}.items() <= {
        a.dataset: (a.budget, a.runs) for a in after
    }.items()
    Ledger(path).create("newer", epsilon=1, delta=0)
    assert [account.people for account in Ledger(path).accounts() if account in after] == numbers
