"""The durable filter: exact, refusing, and safe among processes. Proof: proofs/filter.md."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import BudgetError, LedgerError
from privet.privacy.ledger import store as ledger_file
from privet.privacy.ledger.account import Account
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import Accounting, Number, budget_for, exchange, rho_for
from privet.privacy.ledger.kept import keep, kept
from privet.privacy.ledger.run import Run
from privet.privacy.ledger.store import default_path
from tests.helpers.patience import PATIENCE

TENTH = Fraction(1, 10)
UNIT = "add-remove, 1 row(s) per person"


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def people(book: Ledger) -> Account:
    found = book.account("people")
    assert found is not None
    return found


def pure(book: Ledger, epsilon: Number = 1, dataset: str = "people") -> Run:
    return book.begin(dataset, epsilon=epsilon, delta=0, method="test", unit=UNIT)


# --- one run ----------------------------------------------------------------------------------


def test_ten_tenths_fit_into_one_and_no_more(book: Ledger) -> None:
    with pure(book, 1.0) as run:
        for i in range(10):
            run.spend(TENTH, what=f"question {i}")
        assert run.left == 0 and run.spent == 1 and run.spent_epsilon == 1.0
        with pytest.raises(BudgetError, match=r"question 10 costs epsilon .* 0 of 1 is left"):
            run.spend(Fraction(1, 10**30), what="question 10")
    assert [entry.what for entry in run.entries] == [f"question {i}" for i in range(10)]


@settings(max_examples=30)
@given(st.lists(st.fractions(0, 1, max_denominator=50), max_size=12))
def test_the_filter_is_exact(costs: list[Fraction]) -> None:
    """Every charge that fits is taken and every other refused, whatever came before."""
    with Ledger(":memory:").begin("people", epsilon=1, delta=0, method="test", unit=UNIT) as run:
        spent = Fraction(0)
        for cost in costs:
            if 0 < cost <= 1 - spent:
                run.spend(cost, what="question")
                spent += cost
            else:
                with pytest.raises(BudgetError):
                    run.spend(cost, what="question")
            assert (run.spent, run.left) == (spent, 1 - spent)


@pytest.mark.parametrize("cost", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_a_refusal_leaves_everything_as_it_was(book: Ledger, cost: Fraction) -> None:
    run = pure(book)
    run.spend(TENTH, what="first")
    before, account = (run.left, run.entries), book.account("people")
    with pytest.raises(BudgetError, match=r"0\.9 of 1 is left"):
        run.spend(cost, what="second")
    assert (run.left, run.entries) == before and book.account("people") == account
    run.spend(run.left, what="third")


def test_a_closed_run_refuses_and_gives_back_what_it_did_not_spend(book: Ledger) -> None:
    book.create("people", epsilon=1, delta=0)
    with pure(book, 0.5) as run:
        run.spend(TENTH, what="question")
        assert people(book).left == Fraction(1, 2)
    assert run.closed and people(book).left == Fraction(9, 10)
    run.close()
    with pytest.raises(BudgetError, match="closed"):
        run.spend(TENTH, what="late")


def test_a_run_closes_itself_after_an_error(book: Ledger) -> None:
    with pytest.raises(ZeroDivisionError), pure(book) as run:
        run.spend(TENTH, what="question")
        _ = 1 / 0
    assert people(book).spent == TENTH


def test_threads_cannot_spend_more_than_there_is(book: Ledger) -> None:
    """Sixteen charges of a quarter: exactly four fit, whoever comes first."""
    run = pure(book)

    def charge(i: int) -> bool:
        try:
            run.spend(Fraction(1, 4), what=f"question {i}")
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(charge, range(16))) == 4
    (record,) = people(book).runs
    assert record.spent == run.spent == 1 and run.left == 0
    assert record.entries == run.entries


def test_the_charges_on_disk_decide_not_those_in_memory(book: Ledger) -> None:
    """As in a forked process: the run is there twice, and neither knows what the other spent."""
    run = pure(book)
    twin = copy(run)
    run.spend(Fraction(3, 4), what="first")
    with pytest.raises(BudgetError, match=r"second costs epsilon 0\.5, but 0\.25 of 1 is left"):
        twin.spend(Fraction(1, 2), what="second")
    twin.spend(Fraction(1, 4), what="third")
    assert twin.left == 0 and [entry.what for entry in twin.entries] == ["first", "third"]
    assert people(book).runs[0].entries == twin.entries


def test_the_first_run_sets_the_cap(book: Ledger) -> None:
    with book.begin("people", epsilon=1, delta=1e-6, method="pc", unit=UNIT) as first:
        assert first.set_cap and first.currency == "gdp"
        assert first.budget == rho_for(1, 1e-6, "gdp")
    with book.begin("people", epsilon=1, delta=1e-6, method="pc", unit=UNIT) as second:
        assert not second.set_cap
    account = people(book)
    assert (account.epsilon, account.delta, account.currency) == (1.0, 1e-6, "gdp")
    assert account.spent == 0 and account.left_epsilon == 1.0 and account.spent_epsilon == 0.0


@settings(deadline=None, max_examples=40)
@given(
    runs=st.lists(
        st.tuples(
            st.sampled_from((0.0, 1e-6, 1e-5)),
            st.lists(st.sampled_from((Fraction(1, 7), Fraction(1, 3), Fraction(1, 2))), max_size=4),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_the_balance_is_the_sum_over_all_runs(
    runs: list[tuple[float, list[Fraction], bool]],
) -> None:
    """The file adds up equal charges; here every entry of every run is one by itself."""
    book = Ledger(":memory:")
    book.create("people", epsilon=100, delta=1e-4, test_delta=1e-4)
    tests = Fraction(1, 10**6)
    for delta, shares, closed in runs:
        run = book.begin(
            "people", epsilon=1, delta=delta, method="mine", unit="a row", test_delta=tests
        )
        for share in shares:
            if share * run.budget <= run.left:
                run.spend(share * run.budget, what="rows", test_delta=tests / 10)
        if closed:
            run.close()
    account, balance = people(book), book.balance("people")
    spent = tested = Fraction(0)
    for record in account.runs:
        still = record.state == "open"
        for cost in [record.reserved] if still else [entry.cost for entry in record.entries]:
            spent += exchange(cost, record.currency, "gdp")
        tested += tests if still else tests / 10 * len(record.entries)
    assert balance is not None and balance.charges == account.charges
    assert (account.spent, account.tested) == (spent, tested)
    assert (balance.left, balance.test_delta_left) == (account.left, account.test_delta_left)


def test_to_begin_reads_no_more_after_many_runs(book: Ledger) -> None:
    """What is alike is one charge, however many runs there were."""
    book.create("people", epsilon=1, delta=0)
    for _ in range(40):
        with pure(book, Fraction(1, 100)) as run:
            run.spend(Fraction(1, 300), what="rows")
            run.spend(Fraction(1, 400), what="pairs")
    pure(book, Fraction(1, 100))
    balance = book.balance("people")
    assert balance is not None
    assert sorted(each.times for each in balance.charges) == [1, 40, 40]
    assert balance.spent == 40 * (Fraction(1, 300) + Fraction(1, 400)) + Fraction(1, 100)


def test_records(book: Ledger) -> None:
    with book.begin("people", epsilon=0.5, delta=1e-6, method="interaction-pc", unit=UNIT) as run:
        run.spend(run.budget / 2, what="pairs")
    (record,) = people(book).runs
    assert record.id == run.id and record.method == "interaction-pc" and record.state == "closed"
    assert (record.epsilon, record.delta) == (0.5, 1e-6)
    assert record.reserved == run.budget and record.spent == run.spent == run.budget / 2
    assert record.entries == run.entries
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record.when)
    assert 0 < run.spent_epsilon < 0.5


# --- caps -------------------------------------------------------------------------------------


def refusal(book: Ledger, **budget: Any) -> str:
    with pytest.raises(BudgetError) as caught:
        book.begin("the people", **budget, method="test", unit=UNIT)
    return caught.value.in_shell


def obey(book: Ledger, message: str) -> None:
    """Do what the message says."""
    words = shlex.split(message.split("allow it with: ")[1])
    assert words[:4] == ["privet", "ledger", "grant", "the people"]
    options = dict(zip(words[4::2], words[5::2], strict=True))
    assert options["--ledger"] == str(book.path)
    delta = options.get("--delta")
    book.grant(
        "the people",
        epsilon=float(options["--epsilon"]),
        delta=None if delta is None else float(delta),
    )


@pytest.mark.parametrize(
    ("cap", "ask"),
    [
        ((1, 0), (0.3, 0)),
        ((1, 1e-6), (0.6, 1e-6)),
        ((1, 1e-6), (0.7, 1e-9)),
        ((1, 1e-6), (1, 0)),
        ((1, 1e-6), (0.1, 1e-5)),
        ((1, 0), (0.5, 1e-6)),
        ((1.2345678, 1e-6), (0.1, 1e-5)),
    ],
)
def test_a_run_beyond_the_cap_is_refused_and_the_named_command_allows_it(
    book: Ledger, cap: tuple[float, float], ask: tuple[float, float]
) -> None:
    with book.begin("the people", epsilon=cap[0], delta=cap[1], method="test", unit=UNIT) as run:
        run.spend(run.budget * Fraction(4, 5), what="most of it")
    before = book.account("the people")
    message = refusal(book, epsilon=ask[0], delta=ask[1])
    assert "'the people'" in message and book.account("the people") == before
    obey(book, message)
    book.begin("the people", epsilon=ask[0], delta=ask[1], method="test", unit=UNIT).close()


def test_the_refusal_says_what_was_asked_and_what_is_left(book: Ledger) -> None:
    with book.begin("the people", epsilon=1, delta=0, method="test", unit=UNIT) as run:
        run.spend(Fraction(3, 4), what="question")
    message = refusal(book, epsilon=0.5, delta=0)
    assert "asks for epsilon 0.5" in message
    assert "has epsilon 0.25 at delta 0 left of its cap of epsilon 1" in message
    assert "--epsilon 1.25" in message


def test_reservations_of_open_runs_count(book: Ledger) -> None:
    book.create("people", epsilon=1, delta=0)
    first, second = pure(book, 0.5), pure(book, 0.5)
    with pytest.raises(BudgetError):
        pure(book, TENTH)
    first.close()
    second.close()
    assert people(book).left == 1


@settings(max_examples=40)
@given(
    st.sampled_from([0, 1e-6, 1e-3]),
    st.integers(1, 40).map(lambda k: k / 10),
    st.fractions(Fraction(1, 1000), Fraction(999, 1000)),
)
def test_what_is_said_to_be_left_can_be_had(delta: float, cap: float, share: Fraction) -> None:
    book = Ledger(":memory:")
    with book.begin("people", epsilon=cap, delta=delta, method="test", unit=UNIT) as run:
        run.spend(run.budget * share, what="question")
    left = people(book).left_epsilon
    with pytest.raises(BudgetError, match="left of its cap"):
        book.begin(
            "people", epsilon=max(left * 1.000001, 1e-12), delta=delta, method="test", unit=UNIT
        )
    if left > 0:  # nothing is left when delta alone is worth more than the rest
        book.begin("people", epsilon=left, delta=delta, method="test", unit=UNIT)


@pytest.mark.parametrize(("accounting", "rate"), [("zcdp", "1/2"), ("gdp", "11/14")])
def test_a_pure_run_on_a_cap_with_a_delta_is_charged_for_its_squares(
    book: Ledger, accounting: Accounting, rate: str
) -> None:
    book.create("people", epsilon=5, delta=1e-6, accounting=accounting)
    with pure(book, 0.2) as run:
        assert run.currency == "pure"
        assert people(book).spent == Fraction(rate) / 25  # of 0.2^2, reserved
        run.spend(TENTH, what="one")
        run.spend(TENTH, what="two")
    assert people(book).spent == Fraction(rate) / 50  # of 2 x 0.1^2, spent


def test_a_cap_can_be_raised_only(book: Ledger) -> None:
    book.create("people", epsilon=1, delta=1e-6)
    with pytest.raises(BudgetError, match=r"has a cap already.*grant\(.people"):
        book.create("people", epsilon=2, delta=1e-6)
    for epsilon, delta in ((0.9, None), (2, 1e-7), (2, 0)):
        with pytest.raises(BudgetError, match="can only be raised"):
            book.grant("people", epsilon=epsilon, delta=delta)
    book.grant("people", epsilon=2)
    assert (people(book).epsilon, people(book).delta) == (2.0, 1e-6)
    book.grant("people", epsilon=2, delta=1e-5)
    assert people(book).cap == budget_for(2, 1e-5, "gdp")


def test_a_grant_must_cover_what_is_spent_in_its_currency(book: Ledger) -> None:
    with pure(book, 1) as run:
        run.spend(Fraction(1), what="all")  # rho 1/2, which is more than (1, 1e-6) allows
    with pytest.raises(BudgetError, match="does not cover") as caught:
        book.grant("people", epsilon=1, delta=1e-6)
    enough = float(caught.value.in_shell.split("--epsilon ")[1])
    book.grant("people", epsilon=enough, delta=1e-6)
    assert 0 <= people(book).left_epsilon < 0.2


def test_an_unknown_data_set_gets_no_grant_and_no_file(book: Ledger) -> None:
    with pytest.raises(BudgetError, match=r"create\(.people., epsilon=1"):
        book.grant("people", epsilon=1)
    assert book.account("people") is None and book.accounts() == ()
    assert not book.path.exists()


def test_bad_budgets_write_nothing(book: Ledger) -> None:
    for epsilon, delta in ((0, 0), (float("nan"), 0), (1, 1), (1, -1), ("1", 0)):
        with pytest.raises(BudgetError):
            book.create("people", epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
        with pytest.raises(BudgetError):
            book.begin("people", epsilon=epsilon, delta=delta, method="test", unit=UNIT)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="needs a name"):
        book.create("", epsilon=1, delta=0)
    assert book.accounts() == ()


OTHER_UNITS = (
    "add-remove, 2 row(s) per person",
    "replace-one of 1000 rows, 1 row(s) per person",
)


@pytest.mark.parametrize("unit", OTHER_UNITS)
@pytest.mark.parametrize("created", [True, False])
def test_a_cap_is_for_one_unit_only(book: Ledger, unit: str, created: bool) -> None:
    if created:
        book.create("people", epsilon=1, delta=0)
        assert people(book).unit is None
    pure(book).close()
    book.grant("people", epsilon=3)
    before = people(book)
    assert before.unit == UNIT
    with pytest.raises(BudgetError) as caught:
        book.begin("people", epsilon=1, delta=0, method="test", unit=unit)
    for said in (unit, UNIT, "'people'", "another data set name", "rows_per_person"):
        assert said in caught.value.in_shell
    assert book.account("people") == before
    book.begin("other people", epsilon=1, delta=0, method="test", unit=unit).close()
    pure(book).close()


def test_a_refused_first_run_sets_no_unit(book: Ledger) -> None:
    book.create("people", epsilon=1, delta=0)
    with pytest.raises(BudgetError):
        pure(book, 2)
    assert people(book).unit is None
    book.begin("people", epsilon=1, delta=0, method="test", unit=OTHER_UNITS[0]).close()
    assert people(book).unit == OTHER_UNITS[0]


def test_accounts_are_separate_and_sorted(book: Ledger) -> None:
    odd = "x'; DROP TABLE caps; --"
    for name in ("b", "a", odd):
        pure(book, dataset=name).close()
    assert [account.dataset for account in book.accounts()] == ["a", "b", odd]


# --- the file ---------------------------------------------------------------------------------


def test_the_budget_outlives_the_ledger_object(book: Ledger) -> None:
    with pure(book) as run:
        run.spend(TENTH, what="question")
    assert Ledger(book.path).account("people") == book.account("people")


def test_a_charge_is_on_disk_when_spend_returns(book: Ledger) -> None:
    run = pure(book)
    run.spend(Fraction(1, 3), what="question")
    rows = sqlite3.connect(book.path).execute("SELECT what, cost FROM entries").fetchall()
    assert rows == [("question", "1/3")]
    assert people(Ledger(book.path)).runs[0].entries == run.entries


def test_a_commit_outlives_a_crash_of_the_system(book: Ledger) -> None:
    """EXTRA (3) syncs the directory too, so that a journal cannot come back and undo a charge."""
    for owner in (book, Ledger(":memory:")):
        with owner._transaction() as db:
            assert db.execute("PRAGMA synchronous").fetchone() == (3,)


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True
    )


RACER = """
import sys
from privet.errors import BudgetError
from privet.privacy.ledger.book import Ledger
book = Ledger(sys.argv[1])
print("ready", flush=True)
while not __import__("os").path.exists(sys.argv[2]):
    pass
try:
    book.begin("people", epsilon=1, delta=1e-6, method="race", unit=sys.argv[-1])
    print("won")
except BudgetError:
    print("lost")
"""


def test_of_processes_that_race_for_one_budget_exactly_one_wins(tmp_path: Path) -> None:
    gun = tmp_path / "go"
    racers = [python(RACER, str(tmp_path / "ledger.sqlite"), str(gun), UNIT) for _ in range(4)]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    gun.touch()
    results = sorted(racer.communicate(timeout=PATIENCE)[0].strip() for racer in racers)
    assert results == ["lost", "lost", "lost", "won"]


KILLED = """
import os, sys
from fractions import Fraction
from privet.privacy.ledger.book import Ledger
run = Ledger(sys.argv[1]).begin("people", epsilon=0.5, delta=0, method="killed", unit=sys.argv[-1])
run.spend(Fraction(1, 10), what="question")
os._exit(9)
"""


def test_a_killed_process_loses_its_reservation_and_no_more(book: Ledger) -> None:
    book.create("people", epsilon=1, delta=0)
    process = python(KILLED, str(book.path), UNIT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 9
    account = people(book)
    assert account.left == Fraction(1, 2) and account.runs[0].state == "open"
    assert [entry.what for entry in account.runs[0].entries] == ["question"]
    pure(book, 0.5).close()


def test_a_locked_ledger_is_an_error_with_the_fix(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = pure(book)
    other = sqlite3.connect(book.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.05)
    for attempt in (
        lambda: run.spend(TENTH, what="question"),
        lambda: pure(book),
        lambda: book.accounts(),
    ):
        with pytest.raises(LedgerError, match="locked by another process"):
            attempt()
    assert run.left == 1 and run.entries == ()
    other.execute("ROLLBACK")
    run.spend(TENTH, what="question")
    other.close()


def test_files_that_are_no_ledger(tmp_path: Path) -> None:
    text, foreign, newer = tmp_path / "text", tmp_path / "foreign", tmp_path / "newer"
    text.write_text("age,smoker\n" * 200)
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (x)")
    with sqlite3.connect(newer) as db:
        db.execute("CREATE TABLE t (x)")
        db.execute("PRAGMA user_version = 99")
    for path, message in (
        (tmp_path, "is a directory"),
        (text, "is not a ledger"),
        (foreign, "not a Privet ledger"),
        (newer, "newer Privet"),
    ):
        with pytest.raises(LedgerError, match=message):
            Ledger(path)
    assert text.read_text() == "age,smoker\n" * 200


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "ledger.sqlite", tmp_path / "file" / "ledger.sqlite"):
        with pytest.raises(LedgerError, match=r"ledger=.FILE"):
            Ledger(path).create("people", epsilon=1, delta=0)


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert Ledger(path).accounts() == ()
    Ledger(path).create("people", epsilon=1, delta=0)
    assert len(Ledger(path).accounts()) == 1


def test_a_ledger_that_is_replaced_under_a_run(book: Ledger) -> None:
    run = pure(book)
    book.path.unlink()
    with pytest.raises(LedgerError, match="not open in the ledger any more"):
        run.spend(TENTH, what="question")


def test_in_memory(tmp_path: Path) -> None:
    book = Ledger(":memory:")
    assert not book.durable and Ledger(tmp_path / "x").durable
    pure(book).spend(TENTH, what="question")
    assert people(book).spent == 1
    with pytest.raises(BudgetError, match=r"grant\(.people., epsilon=2\)$"):
        pure(book)


def test_default_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVET_LEDGER", str(tmp_path / "deep" / "er" / "mine.sqlite"))
    assert default_path() == tmp_path / "deep" / "er" / "mine.sqlite"
    assert Ledger().accounts() == () and not (tmp_path / "deep").exists()
    pure(Ledger()).spend(TENTH, what="question")
    with pytest.raises(BudgetError, match=r"grant\(.people., epsilon=2\)$"):
        pure(Ledger())
    monkeypatch.delenv("PRIVET_LEDGER")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "privet" / "ledger.sqlite"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_path() == Path.home() / ".local/share/privet/ledger.sqlite"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_path() == Path.home() / "Library/Application Support/privet/ledger.sqlite"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", str(tmp_path))
    assert default_path() == tmp_path / "privet" / "ledger.sqlite"


def test_a_copy_of_a_run_in_memory_cannot_spend_in_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Ledger(":memory:").begin("people", epsilon=1, delta=0, method="m", unit="u")
    run.spend(Fraction(1, 4), what="a")
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(BudgetError, match="twice"):
        run.spend(Fraction(1, 4), what="b")


# --- a run that was killed --------------------------------------------------------------------


def test_a_dead_run_is_closed_and_frees_what_it_did_not_charge(book: Ledger) -> None:
    run = pure(book, 1)
    run.spend(TENTH, what="a question")
    with pytest.raises(BudgetError):
        pure(book, Fraction(9, 10))
    account = book.close(run.id)
    assert account.left == Fraction(9, 10) and account.runs[0].state == "closed"
    pure(book, Fraction(9, 10)).close()


def test_a_closed_run_that_lives_after_all_is_charged_nothing_more(book: Ledger) -> None:
    run = pure(book, 1)
    book.close(run.id)
    with pytest.raises(LedgerError, match="not open"):
        run.spend(TENTH, what="a question")
    assert people(book).spent == 0


def test_only_an_open_run_is_closed(book: Ledger) -> None:
    run = pure(book)
    run.close()
    for identity, message in ((run.id, "closed already"), ("nobody", "no run 'nobody'")):
        with pytest.raises(LedgerError, match=message):
            book.close(identity)


def test_what_a_run_keeps_is_there_when_it_has_ended(book: Ledger) -> None:
    """A run that is open may still be stopped, and has no answer then."""
    with pure(book) as run:
        keep(book, "key", run.id, "evidence")
        assert kept(book, "key") is None
    found = kept(book, "key")
    assert found is not None and (found.text, found.run) == ("evidence", run.id)
    account = book.account(run.dataset)
    assert account is not None and found.day == account.runs[0].when[:10]
    with book._transaction() as db:  # a file in which that does not stand
        db.execute("UPDATE runs SET started = 'once'")
    again = kept(book, "key")
    assert again is not None and again.day is None
