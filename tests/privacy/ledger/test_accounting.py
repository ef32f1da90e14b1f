"""A cap has one accounting for good, whoever is charged to it, and files of old keep theirs."""

from __future__ import annotations

import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privet.errors import BudgetError
from privet.privacy.ledger.account import Account
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import Accounting, epsilon_for, rho_for
from privet.privacy.ledger.run import Run
from privet.privacy.ledger.store import FORMAT
from privet.privacy.mechanisms import Gaussian, Laplace, Select
from privet.privacy.queries.tables import Tables
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.central import Central

UNIT = "add-remove, 1 row(s) per person"
OLD = Path(__file__).parents[2] / "data" / "ledger-format-4.sqlite"
SMALLEST = Fraction(1, 2**64)
ACCOUNTINGS = pytest.mark.parametrize("accounting", ["gdp", "zcdp"])


def begin(
    book: Ledger, epsilon: float = 1, delta: float = 1e-6, *, accounting: Accounting = "gdp"
) -> Run:
    return book.begin(
        "people", epsilon=epsilon, delta=delta, method="m", unit=UNIT, accounting=accounting
    )


def people(book: Ledger, name: str = "people") -> Account:
    account = book.account(name)
    assert account is not None
    return account


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


# -- one accounting


@ACCOUNTINGS
def test_the_cap_counts_as_its_first_run_does_and_so_do_all_others(
    book: Ledger, accounting: Accounting
) -> None:
    other: Accounting = "zcdp" if accounting == "gdp" else "gdp"
    with begin(book, 0.5, accounting=accounting) as run:
        assert (run.currency, run.budget) == (accounting, rho_for(0.5, 1e-6, accounting))
        run.spend(run.budget / 3, what="question")
    book.grant("people", epsilon=1)
    with begin(Ledger(book.path), 0.5, accounting=other) as again:
        assert (again.currency, again.budget) == (accounting, rho_for(0.5, 1e-6, accounting))
        again.spend(again.budget, what="question")
    account = people(book)
    assert account.cap == rho_for(1, 1e-6, accounting)
    assert account.spent == Fraction(4, 3) * rho_for(0.5, 1e-6, accounting)
    assert account.spent_epsilon == epsilon_for(account.spent, 1e-6, accounting)
    assert {run.currency for run in account.runs} == {accounting}


@ACCOUNTINGS
def test_a_cap_is_made_with_an_accounting(book: Ledger, accounting: Accounting) -> None:
    book.create("people", epsilon=1, delta=1e-6, accounting=accounting)
    other: Accounting = "zcdp" if accounting == "gdp" else "gdp"
    assert begin(book, accounting=other).budget == people(book).cap
    with pytest.raises(BudgetError, match="must be one of gdp, zcdp"):
        book.create("more", epsilon=1, delta=1e-6, accounting="pure")  # type: ignore[arg-type]


@ACCOUNTINGS
def test_the_last_of_a_cap_can_be_spent_and_no_more(book: Ledger, accounting: Accounting) -> None:
    run = begin(book, accounting=accounting)
    run.spend(run.budget - SMALLEST, what="question")
    with pytest.raises(BudgetError, match="costs rho"):
        run.spend(2 * SMALLEST, what="more")
    run.spend(SMALLEST, what="the last")
    with pytest.raises(BudgetError, match="left"):
        run.spend(SMALLEST, what="beyond")
    run.close()
    assert people(book).left == 0 and people(book).left_epsilon == 0


@ACCOUNTINGS
def test_what_is_said_to_be_left_can_be_had(book: Ledger, accounting: Accounting) -> None:
    book.create("people", epsilon=1, delta=1e-6, accounting=accounting)
    with begin(book, 0.3) as run:
        run.spend(run.budget, what="question")
    left = people(book).left_epsilon
    assert 0.7 < left < 1
    with pytest.raises(BudgetError, match="or allow it with") as refused:
        begin(book, left * (1 + 1e-9))
    command = refused.value.in_shell.rpartition("--epsilon ")[2].split()[0]
    begin(book, left).close()
    book.grant("people", epsilon=float(command))
    begin(book, left * (1 + 1e-9)).close()


def test_a_pure_cap_that_gets_a_delta_counts_as_it_was_made(book: Ledger) -> None:
    with begin(book, 0.1, 0) as run:
        run.spend(Fraction(1, 10), what="question")
    assert people(book).currency == "pure" and people(book).accounting == "gdp"
    with pytest.raises(BudgetError, match="has delta 0"):
        begin(book, 0.1)
    book.grant("people", epsilon=1, delta=1e-6)
    assert people(book).currency == "gdp"
    assert people(book).left == rho_for(1, 1e-6, "gdp") - Fraction(11, 1400)


# -- files of old


def test_old_caps_stay_in_zcdp(tmp_path: Path) -> None:
    shutil.copy(OLD, path := tmp_path / "l")
    before = path.read_bytes()
    clinic, harbour = Ledger(path).accounts()
    assert path.read_bytes() == before  # reading changes nothing
    assert (clinic.accounting, clinic.cap) == ("zcdp", rho_for(1, 1e-6, "zcdp"))
    first, pure, still_open = clinic.runs
    assert first.spent == rho_for(0.5, 1e-6, "zcdp") / 2 and first.currency == "zcdp"
    charged = first.spent + Fraction(1, 800) + rho_for(0.1, 1e-6, "zcdp")
    assert clinic.spent == charged and (pure.currency, still_open.state) == ("pure", "open")
    assert harbour.currency == "pure" and harbour.left == Fraction(7, 8)
    with Ledger(path).begin("clinic", epsilon=0.1, delta=1e-6, method="m", unit=UNIT) as run:
        assert (run.currency, run.budget) == ("zcdp", rho_for(0.1, 1e-6, "zcdp"))
    begin(Ledger(path), 0.1).close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT,)
        counted = db.execute("SELECT dataset, accounting FROM caps").fetchall()
    assert counted == [("clinic", "zcdp"), ("harbour", "zcdp"), ("people", "gdp")]
    after = Ledger(path).accounts()
    assert [a.runs for a in after[:2]] == [(*clinic.runs, after[0].runs[-1]), harbour.runs]
    assert [a.people for a in after[:2]] == [clinic.people, harbour.people]


def test_two_caps_that_become_one_count_in_zcdp_if_either_does(tmp_path: Path) -> None:
    """What was paid in GDP is worth as much in zCDP; the other way round it is not."""
    for caps in (("gdp", "zcdp"), ("zcdp", "gdp"), ("gdp", "gdp")):
        path = tmp_path / "-".join(caps)
        book = Ledger(path)
        for name, accounting in zip("ab", caps, strict=True):
            book.create(name, epsilon=1, delta=1e-6, accounting=accounting)  # type: ignore[arg-type]
            with book.begin(name, epsilon=0.5, delta=1e-6, method="m", unit=UNIT) as run:
                run.spend(run.budget, what="question")
        spent = people(book, "a").spent + people(book, "b").spent
        with sqlite3.connect(path) as db:  # as if names were alike that are not
            for column, table in (("dataset", "runs"), ("dataset", "caps")):
                db.execute(f"UPDATE {table} SET {column} = 'A' WHERE {column} = 'b'")
        united = people(Ledger(path), "a")
        wanted = "zcdp" if "zcdp" in caps else "gdp"
        assert united.accounting == wanted and united.spent == spent
        Ledger(path).create("c", epsilon=1, delta=1e-6)
        assert people(Ledger(path), "a") == united


# -- prices through the doors

SCHEMA = Schema(name="people", columns=(Column(name="a", kind="categorical", levels=("x", "y")),))
DATA = {"a": ["x"] * 30 + ["y"] * 5}
QUERY = Tables((("a",),))


@pytest.mark.parametrize(("accounting", "rate"), [("gdp", "11/14"), ("zcdp", "1/2")])
def test_each_kind_of_charge_has_its_price(accounting: Accounting, rate: str) -> None:
    run = begin(Ledger(":memory:"), 4, accounting=accounting)
    vault, each = Vault(DATA, SCHEMA, run), Fraction(1, 20)
    vault.release(QUERY, Gaussian(rho=each))
    vault.release(QUERY, Laplace(epsilon=each))
    vault.select(QUERY, Select(epsilon=each))
    costs = [entry.cost for entry in run.entries]
    assert costs == [each, Fraction(rate) * each**2, Fraction(rate) * each**2 / 4]


@ACCOUNTINGS
def test_a_share_buys_all_that_it_pays_for(accounting: Accounting) -> None:
    """Whatever the door: the price is the share, but for the grid."""
    run = begin(Ledger(":memory:"), 4, accounting=accounting)
    curator, share = Central.open(DATA, SCHEMA, run), Fraction(1, 8)
    curator.release(QUERY, share)
    curator.laplace(QUERY, share)
    curator.select(QUERY, share)
    assert curator.selection_epsilon(share) == pytest.approx(
        np.sqrt(4 * float(run.budget * share) / (11 / 14 if accounting == "gdp" else 0.5))
    )
    for entry in run.entries:
        assert 0 <= run.budget * share - entry.cost < Fraction(1, 2**60)
