"""Propose, test, release: what the ledger counts, what the door does, how often a test misleads.

Proof: proofs/tested.md. Statistical tests have a false-alarm rate of 1e-6.
"""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from privet.arrays import Integers
from privet.errors import BudgetError, LedgerError, SchemaError
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import budget_for, total_delta
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import Exact, Gaussian, Laplace
from privet.privacy.queries.base import Query, Rows
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central
from tests.helpers.patience import PATIENCE

FALSE_ALARM = 1e-6
TENTH, MILLIONTH = Fraction(1, 10), Fraction(1, 10**6)
UNIT = "add-remove, 1 row(s) per person"
HIGH = 10**6  # what the answer jumps by


def schema_for(adjacency: Adjacency = Adjacency.ADD_REMOVE, rows: int | None = None) -> Schema:
    column = Column(name="a", kind="categorical", levels=("no", "yes"))
    other = Column(name="b", kind="categorical", levels=("no", "yes"))
    return Schema(name="people", columns=(column, other), adjacency=adjacency, rows=rows)


SCHEMA = schema_for()


# -- a question that jumps, and its distance


@dataclass(frozen=True)
class Majority(Query):
    """HIGH if more rows say yes than no, else 0: one row can decide."""

    events: list[str] | None = None

    def __str__(self) -> str:
        return "majority"

    def check(self, schema: Schema) -> None:
        schema.column("a")

    def size(self, schema: Schema) -> int:
        return 1

    def l1(self, schema: Schema) -> int:
        raise AssertionError("it has no bound")

    l2_squared = linf = l1

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        if self.events is not None:
            self.events.append("answer")
        no, yes = rows.counts(("a",))
        return np.array([HIGH if yes > no else 0], dtype=np.int64)


@dataclass(frozen=True)
class Margin(Query):
    """How many rows must come, go or change before one more can turn the majority."""

    events: list[str] | None = None

    def __str__(self) -> str:
        return "margin of the majority"

    def check(self, schema: Schema) -> None:
        schema.column("a")

    def size(self, schema: Schema) -> int:
        return 1

    def l1(self, schema: Schema) -> int:
        return schema.rows_per_person

    l2_squared = linf = l1

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        if self.events is not None:
            self.events.append("distance")
        no, yes = rows.counts(("a",))
        lead = int(yes - no)
        gap = lead - 1 if lead > 0 else -lead
        each = 1 if schema.adjacency is Adjacency.ADD_REMOVE else 2
        return np.array([gap // each], dtype=np.int64)


@dataclass(frozen=True)
class Clear:
    """The majority, where it is clear: then one row changes nothing."""

    query: Query = Majority()
    distance: Query = Margin()
    unstable: ClassVar[int] = 0

    def check(self, schema: Schema) -> None:
        self.query.check(schema)

    def bound(self, schema: Schema) -> int:
        return 1


@dataclass(frozen=True)
class FromOne(Margin):
    """The same distance, counted from 1 on."""

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        return super().evaluate(rows, schema) + 1


@dataclass(frozen=True)
class ClearFromOne(Clear):
    distance: Query = FromOne()
    unstable: ClassVar[int] = 1


def counted(no: int, yes: int, schema: Schema = SCHEMA) -> MemoryRows:
    codes = {name: np.array([0] * no + [1] * yes, np.uint8) for name in "ab"}
    return MemoryRows(schema, lambda: codes, dict)


def value(query: Majority | Margin, no: int, yes: int, schema: Schema) -> int:
    return int(query.evaluate(counted(no, yes, schema), schema)[0])


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_question_of_these_tests_is_one_that_the_proof_covers(adjacency: Adjacency) -> None:
    """All tables of up to 12 rows: the distance moves by 1 at most, and above 0 nothing jumps."""
    jumps = 0
    for no, yes in product(range(7), repeat=2):
        if adjacency is Adjacency.ADD_REMOVE:
            schema, others = SCHEMA, [(no + 1, yes), (no, yes + 1)]
        else:
            if not yes:
                continue
            schema, others = schema_for(adjacency, no + yes), [(no + 1, yes - 1)]
        for other in others:
            here, there = (value(Margin(), *table, schema) for table in ((no, yes), other))
            moved = value(Majority(), no, yes, schema) - value(Majority(), *other, schema)
            assert abs(here - there) <= 1
            assert moved == 0 or here == there == 0
            jumps += moved != 0
    assert jumps > 3


# -- the threshold of a test


@settings(max_examples=150)
@given(
    st.fractions(Fraction(1, 50), 20, max_denominator=1000),
    st.integers(1, 4),
    st.floats(-12, -0.2).map(lambda x: Fraction(repr(float(f"{10**x:.6g}")))),
)
def test_noise_reaches_the_threshold_with_delta_at_most_and_no_lower_one_would_do(
    epsilon: Fraction, l1: int, delta: Fraction
) -> None:
    """The law of discrete Laplace noise, (1 - q) / (1 + q) q^|z|, summed up from k on."""
    test = Laplace(epsilon=epsilon)
    k = test.unlikely(l1, delta)
    with localcontext() as context:
        context.prec = 80
        q = (-1 / Decimal(test.scale(l1))).exp()
        allowed = Decimal(delta.numerator) / delta.denominator

        def beyond(k: int) -> Decimal:
            return q**k / (1 + q)

        assert beyond(k) <= allowed and (k == 1 or beyond(k - 1) > allowed)
        terms = sum((1 - q) / (1 + q) * q**z for z in range(k, k + 50)) + q ** (k + 50) / (1 + q)
        assert abs(terms - beyond(k)) < Decimal("1e-70")


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2)])
def test_a_test_without_delta_is_refused(delta: Fraction) -> None:
    with pytest.raises(BudgetError, match=r"it must lie between 0 and 1; give a delta"):
        Laplace(epsilon=TENTH).unlikely(1, delta)


# -- what the ledger counts


def begin(book: Ledger, epsilon: float = 1, delta: float = 0, tests: Any = 1e-6) -> Run:
    return book.begin(
        "people", epsilon=epsilon, delta=delta, method="test", unit=UNIT, test_delta=tests
    )


PARTS = st.fractions(0, 1, max_denominator=20)


@settings(max_examples=60)
@given(st.lists(st.tuples(PARTS, PARTS), max_size=10), st.sampled_from([0, 1e-6]))
def test_both_sums_are_exact_and_a_charge_must_fit_into_both(
    charges: list[tuple[Fraction, Fraction]], delta: float
) -> None:
    """Price and delta of a test are charged together or not at all, whatever came before."""
    book = Ledger(":memory:")
    with begin(book, delta=delta, tests=Fraction(1, 10**6)) as run:
        left, tests = Fraction(1), Fraction(1)
        for cost, test in charges:
            fits = 0 < cost <= left and test <= tests
            try:
                run.spend(run.budget * cost, what="question", test_delta=MILLIONTH * test)
            except BudgetError:
                assert not fits
            else:
                assert fits
                left, tests = left - cost, tests - test
            assert (run.left, run.test_delta_left) == (run.budget * left, MILLIONTH * tests)
        account = book.account("people")
        assert account is not None and account.test_delta_left == 0  # all of it is reserved
    account = book.account("people")
    assert account is not None
    assert account.tested == MILLIONTH * (1 - tests)
    assert account.test_delta_left == MILLIONTH * tests and account.left == run.left
    assert account.cap == budget_for(1, delta, "gdp")  # tests do not eat into that delta


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), PARTS, PARTS), max_size=8))
def test_runs_add_up_to_the_cap_and_no_more(runs: list[tuple[bool, Fraction, Fraction]]) -> None:
    """Open runs count with what they reserved, closed ones with what their tests used."""
    book = Ledger(":memory:")
    book.create("people", epsilon=100, delta=0, test_delta=MILLIONTH)
    used = Fraction(0)
    for close, reserved, share in runs:
        if reserved * MILLIONTH > MILLIONTH - used:
            with pytest.raises(BudgetError, match="for tests of stability"):
                begin(book, tests=reserved * MILLIONTH)
            continue
        run = begin(book, tests=reserved * MILLIONTH)
        spent = reserved * share * MILLIONTH
        run.spend(TENTH, what="question", test_delta=spent)
        if close:
            run.close()
        used += spent if close else reserved * MILLIONTH
        account = book.account("people")
        assert account is not None and account.tested == used <= account.test_delta


def test_a_copy_of_a_run_sees_the_tests_of_the_other(tmp_path: Path) -> None:
    """As after a fork: what one has used, the other has not any more."""
    run = begin(Ledger(tmp_path / "ledger.sqlite"))
    twin = copy(run)
    run.spend(TENTH, what="first", test_delta=MILLIONTH * Fraction(3, 4))
    with pytest.raises(BudgetError, match="left for tests"):
        twin.spend(TENTH, what="second", test_delta=MILLIONTH / 2)
    twin.spend(TENTH, what="second", test_delta=MILLIONTH / 4)
    with pytest.raises(BudgetError, match="left for tests"):
        run.spend(TENTH, what="third", test_delta=Fraction(1, 10**12))
    run.spend(TENTH, what="third")
    assert run.test_delta_left == twin.test_delta_left == 0


@given(st.floats(0, 0.4), st.fractions(0, Fraction(1, 2)))
def test_the_delta_that_is_shown_is_not_below_the_promise(delta: float, tests: Fraction) -> None:
    """As a decimal, and no float further up than the next."""
    exact = Fraction(repr(delta)) + tests
    shown = total_delta(delta, tests)
    assert Fraction(repr(shown)) >= exact
    assert shown <= np.nextafter(float(exact), 1)
    assert total_delta(delta, Fraction(0)) == delta


def test_what_is_promised_is_the_sum(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite")
    with begin(book, 2, 1e-6, 1e-7) as run:
        run.spend(run.budget / 2, what="question", test_delta=Fraction(1, 10**8))
    assert (run.delta, run.promised_delta, run.currency) == (1e-6, 1.1e-6, "gdp")
    account = Ledger(book.path).account("people")
    assert account is not None and account == book.account("people")
    assert (account.delta, account.promised_delta) == (1e-6, 1.1e-6)
    (record,) = account.runs
    assert record.promised_delta == 1.1e-6 and record.test_delta == Fraction(1, 10**7)
    assert record.entries[0].test_delta == account.tested == Fraction(1, 10**8)
    assert account.left_epsilon > 1  # and less than 2, at the conversion's delta
    pure = begin(Ledger(":memory:"), 1, 0, 1e-6)
    assert (pure.currency, pure.budget, pure.promised_delta) == ("pure", 1, 1e-6)


def test_a_run_without_a_delta_for_tests_refuses_them(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite")
    for delta in (0, 1e-6):
        run = begin(book, 0.5, delta, 0) if not delta else begin(Ledger(":memory:"), 1, delta, 0)
        with pytest.raises(BudgetError, match=r"adds 1e-09 to delta, but 0 of 0 is left"):
            run.spend(run.budget / 9, what="question", test_delta=Fraction(1, 10**9))
        assert run.left == run.budget and run.entries == ()
    for bad in (-1e-9, 1, 1 - 1e-7, "1", None, float("nan")):
        with pytest.raises(BudgetError, match="delta for tests is"):
            begin(book, 1, 1e-6, bad)


def test_a_cap_on_tests_is_raised_by_the_named_command_only(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite")
    with begin(book, 1, 0, Fraction(1, 3 * 10**6)) as run:
        run.spend(TENTH, what="question", test_delta=run.test_delta)
    for tests in (1e-6, Fraction(1, 7 * 10**6)):
        with pytest.raises(BudgetError, match="has 0 left of its cap") as caught:
            begin(book, 0.1, 0, tests)
        words = shlex.split(caught.value.in_shell.split("allow it with: ")[1])
        options = dict(zip(words[4::2], words[5::2], strict=True))
        book.grant(
            "people", epsilon=float(options["--epsilon"]), test_delta=float(options["--test-delta"])
        )
        with begin(book, 0.1, 0, tests) as run:
            run.spend(run.left, what="question", test_delta=run.test_delta)
        account = book.account("people")
        assert account is not None and 0 <= account.test_delta_left < Fraction(1, 10**20)
        with book._transaction() as db:  # as if the rest were used, so that the next is refused
            db.execute("UPDATE caps SET test_delta = ?", (str(account.tested),))
    with pytest.raises(BudgetError, match="can only be raised"):
        book.grant("people", epsilon=5, test_delta=1e-9)
    with pytest.raises(BudgetError, match=r"cap already .*test_delta=0.001"):
        book.create("people", epsilon=1, delta=0, test_delta=1e-3)


# -- files of the format before


OLD_TABLES = (
    "CREATE TABLE caps (dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL,"
    " unit TEXT)",
    "CREATE TABLE runs (id TEXT PRIMARY KEY, dataset TEXT NOT NULL REFERENCES caps (dataset),"
    " started TEXT NOT NULL, method TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,"
    " budget TEXT NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE entries (run TEXT NOT NULL REFERENCES runs (id), position INTEGER NOT NULL,"
    " what TEXT NOT NULL, cost TEXT NOT NULL, PRIMARY KEY (run, position))",
    "CREATE INDEX runs_of_dataset ON runs (dataset)",
    "PRAGMA user_version = 1",
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A ledger of format 1: two closed runs, in an order that is not that of their names."""
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as db:
        for statement in OLD_TABLES:
            db.execute(statement)
        db.execute("INSERT INTO caps VALUES ('people', '1', '0', ?)", (UNIT,))
        for name, cost in (("b", "1/2"), ("a", "1/8")):
            run = (name, "people", "2026-01-01T00:00:00+00:00", "old", "1/2", "0", "1/2", "closed")
            db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", run)
            db.execute("INSERT INTO entries VALUES (?, 0, 'question', ?)", (name, cost))
    return path


def version(path: Path) -> int:
    with sqlite3.connect(path) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_an_old_file_is_read_as_it_is(old: Path) -> None:
    before = old.read_bytes()
    account = Ledger(old).account("people")
    assert account is not None and account.left == Fraction(3, 8)
    assert [run.id for run in account.runs] == ["b", "a"]
    assert account.test_delta == account.tested == 0 and account.promised_delta == 0
    assert Ledger(old).accounts() == (account,) and old.read_bytes() == before


def test_the_first_charge_brings_an_old_file_up_to_date(old: Path) -> None:
    account = Ledger(old).account("people")
    with pytest.raises(BudgetError, match="for tests of stability"):
        begin(Ledger(old), 0.25)
    assert version(old) == 1 and Ledger(old).account("people") == account  # a refusal costs nothing
    with begin(Ledger(old), 0.25, 0, 0) as run:
        run.spend(TENTH, what="question")
    assert version(old) == 6
    book = Ledger(old)
    book.grant("people", epsilon=2, test_delta=1e-6)
    with begin(book) as run:
        run.spend(TENTH, what="question", test_delta=MILLIONTH / 4)
    found = Ledger(old).account("people")
    assert found is not None and account is not None and found.runs[:2] == account.runs
    assert found.tested == MILLIONTH / 4 and found.spent == account.spent + 2 * TENTH


def test_an_old_file_has_the_tables_of_a_new_one_afterwards(old: Path, tmp_path: Path) -> None:
    Ledger(old).grant("people", epsilon=2)
    begin(new := Ledger(tmp_path / "new.sqlite"))
    for table in ("caps", "runs", "entries"):
        columns = []
        for path in (old, new.path):
            with sqlite3.connect(path) as db:
                found = db.execute(f"PRAGMA table_info({table})").fetchall()
                columns.append(sorted((name, kind) for _, name, kind, *_ in found))
        assert columns[0] == columns[1]


# -- a crash between the reservation and the answer


KILLED = """
import os, sys
from fractions import Fraction
from privet.privacy.ledger.book import Ledger
from privet.trust.central import Central
sys.path.insert(0, sys.argv[2])
from tests.privacy.queries.test_tested import Clear, Majority, Margin, SCHEMA, UNIT
class Fatal(Margin):
    def evaluate(self, rows, schema):
        os._exit(9)
run = Ledger(sys.argv[1]).begin(
    "people", epsilon=1, delta=0, method="killed", unit=UNIT, test_delta=1e-6)
curator = Central.open({"a": ["yes"] * 9, "b": ["no"] * 9}, SCHEMA, run)
curator.tested(Clear(distance=Fatal()), Fraction(1, 4))
"""


def test_a_crash_between_charge_and_answer_costs_what_was_reserved(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite")
    book.create("people", epsilon=2, delta=0, test_delta=2e-6)
    here = str(Path(__file__).parents[3])
    done = subprocess.run([sys.executable, "-c", KILLED, str(book.path), here], timeout=PATIENCE)
    assert done.returncode == 9
    account = book.account("people")
    assert account is not None and account.runs[0].state == "open"
    (entry,) = account.runs[0].entries  # the charge was on disk before the distance was computed
    assert (entry.cost, entry.test_delta) == (Fraction(1, 4), MILLIONTH / 4)
    assert account.left == 1 and account.test_delta_left == MILLIONTH
    begin(book).close()
    with pytest.raises(BudgetError, match="for tests of stability"):
        begin(book, 1, 0, 1.1e-6)


# -- the door


class Opened(Vault):
    """A vault whose rows are already encoded."""

    def __init__(self, rows: Rows, run: Run | None) -> None:
        self.schema, self._run, self._rows = SCHEMA, run, rows


def test_price_and_delta_are_charged_before_the_rows_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And all at once, with an answer or without."""
    events: list[str] = []
    spend = Run.spend

    def watched(self: Run, cost: Fraction, **more: Any) -> None:
        spend(self, cost, **more)
        events.append("charge")

    monkeypatch.setattr(Run, "spend", watched)
    question = Clear(query=Majority(events), distance=Margin(events))
    for yes, told in ((10_000, ["distance", "answer"]), (0, ["distance"])):
        run = begin(Ledger(":memory:"), 2)
        vault = Opened(counted(0, yes), run)
        one = Laplace(epsilon=Fraction(1))
        test, found = vault.tested(question, one, one, MILLIONTH)
        assert events == ["charge", *told] and run.left == 0 and run.test_delta_left == 0
        assert (found is not None) == (yes > 0)  # but for noise of 14 scales, 1e-6
        assert test.query is question.distance and test.variance > 0
        events.clear()


def test_a_refused_question_costs_nothing() -> None:
    run = begin(Ledger(":memory:"), 1)
    vault, one = Opened(counted(5, 5), run), Laplace(epsilon=Fraction(1))
    half = Laplace(epsilon=Fraction(1, 2))

    class Wide(Margin):
        def size(self, schema: Schema) -> int:
            return 2

    with pytest.raises(SchemaError, match="distance of size 1"):
        vault.tested(Clear(distance=Wide()), half, half, MILLIONTH)
    with pytest.raises(BudgetError, match="costs epsilon 2"):  # either alone would fit
        vault.tested(Clear(), one, one, MILLIONTH)
    with pytest.raises(BudgetError, match="left for tests"):
        vault.tested(Clear(), half, half, 2 * MILLIONTH)
    with pytest.raises(BudgetError, match="between 0 and 1"):
        vault.tested(Clear(), half, half, Fraction(0))
    tiny = Laplace(epsilon=Fraction(1, 2**53))
    for test, answer in ((tiny, half), (half, tiny)):
        with pytest.raises(BudgetError, match=r"at most 2\^52"):
            vault.tested(Clear(), test, answer, MILLIONTH)
    with pytest.raises(BudgetError, match="needs delta > 0"):
        vault.tested(Clear(), half, Gaussian(rho=TENTH), MILLIONTH)
    with pytest.raises(BudgetError, match="exact answer is not private"):
        vault.tested(Clear(), half, Exact(), MILLIONTH)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="exact answers only"):
        Opened(counted(5, 5), None).tested(Clear(), half, half, MILLIONTH)
    assert run.left == 1 and run.test_delta_left == MILLIONTH and run.entries == ()


def test_no_other_door_sells_what_must_be_tested() -> None:
    vault = Opened(counted(5, 5), begin(Ledger(":memory:"), 1))
    for sell in (vault.release, vault.select):
        with pytest.raises(AssertionError, match="no bound"):
            sell(Majority(), Laplace(epsilon=TENTH))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        vault.release(Clear(), Laplace(epsilon=TENTH))  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_share_pays_for_test_and_answer(delta: float) -> None:
    run = begin(Ledger(":memory:"), 8, delta, 1e-6)
    curator = Central(vault=Opened(counted(0, 5000), run), run=run)
    test, found = curator.tested(Clear(), Fraction(1, 4))
    assert found is not None and run.test_delta_left == Fraction(3, 4) * MILLIONTH
    assert found.mechanism.startswith("Gaussian" if delta else "Laplace")
    assert test.mechanism.startswith("Laplace")
    share = run.spent / run.budget
    assert Fraction(1, 4) * (1 - MILLIONTH) < share <= Fraction(1, 4)
    without = begin(Ledger(":memory:"), 8, delta, 0)
    curator = Central(vault=Opened(counted(0, 5000), without), run=without)
    with pytest.raises(BudgetError, match="between 0 and 1"):
        curator.tested(Clear(), Fraction(1, 4))
    assert without.spent == 0


# -- how often a test misleads


EPSILON, DELTA, RUNS = Fraction(2), Fraction(1, 60), 1000  # the noise reaches 2 with 1 / 62


def given_away(no: int, yes: int, question: Clear) -> int:
    """In how many of the runs the door tells the majority apart from its opposite."""
    one, rows, told = Laplace(epsilon=EPSILON), counted(no, yes), 0
    for _ in range(0, RUNS, 2):
        run = begin(Ledger(":memory:"), 100, 0, 2 * DELTA)
        vault = Opened(rows, run)
        for _ in range(2):
            _, found = vault.tested(question, one, one, DELTA)
            told += found is not None and found.values[0] > HIGH // 2
    return told


def lower(hits: int) -> float:
    """Clopper and Pearson's lower limit for a probability."""
    return float(beta.ppf(FALSE_ALARM, hits, RUNS - hits + 1)) if hits else 0.0


@pytest.mark.parametrize("question", [Clear(), ClearFromOne()], ids=["from 0", "from 1"])
def test_neighbours_that_jump_are_told_apart_with_delta_at_most(question: Clear) -> None:
    """Of two tables, one row apart, only one is ever answered with "yes", so the promise says that
    this answer comes with δ at most. It comes as often as the law of the noise says."""
    assert given_away(5, 5, question) == 0
    hits = given_away(5, 6, question)
    assert lower(hits) <= DELTA
    likely = 1 / (1 + np.exp(-2.0)) * np.exp(-4.0)  # the noise, of scale 1/2, reaches 2
    upper = float(beta.ppf(1 - FALSE_ALARM, hits + 1, RUNS - hits))
    assert lower(hits) <= likely <= upper


@pytest.mark.parametrize("fault", ["unstable", "noise", "threshold"])
def test_a_door_that_is_too_wide_is_convicted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step too early, twice the noise that the threshold is for, or no threshold."""
    if fault == "unstable":
        monkeypatch.setattr(Clear, "unstable", -1)
    if fault == "threshold":
        monkeypatch.setattr(Laplace, "unlikely", lambda self, l1, delta: 0)
    if fault == "noise":
        scale: Callable[[Laplace, int], float] = Laplace.scale
        needed = Laplace(epsilon=EPSILON).unlikely(1, DELTA)
        monkeypatch.setattr(Laplace, "unlikely", lambda self, l1, delta: needed)
        monkeypatch.setattr(Laplace, "scale", lambda self, l1: 2 * scale(self, l1))
    assert lower(given_away(5, 6, Clear())) > DELTA


def test_a_newer_file_is_still_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    begin(Ledger(path))
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(LedgerError, match=r"newer Privet \(format 7, this one reads 6\)"):
        Ledger(path)
