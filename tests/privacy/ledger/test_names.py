"""One data set, one budget: names that look alike, and files from before that was so."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.api.evidence import same_table
from privet.errors import BudgetError, EvidenceError, LedgerError, SchemaError
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import rho_for
from privet.privacy.ledger.run import Run
from privet.privacy.ledger.store import FORMAT
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.schema.names import name_key, same_name
from tests.helpers.patience import PATIENCE

UNIT = "add-remove, 1 row(s) per person"
OLD = Path(__file__).parents[2] / "data"
ALIKE = (
    "Clinic",
    "CLINIC",
    "\uff43linic",
    "cl\u00adinic",
    "cl\u200binic",
    "cl\u200dinic",
    "clinic\ufe0f",
    "\u2060clinic",
    " clinic\t",
    "clini\u034fc",
    "c\U000e0001linic",
)


def begin(book: Ledger, name: str, epsilon: float = 0.5, delta: float = 0, unit: str = UNIT) -> Run:
    return book.begin(name, epsilon=epsilon, delta=delta, method="test", unit=unit)


# -- names


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_look_alike_share_one_budget(name: str) -> None:
    book = Ledger(":memory:")
    book.create("clinic", epsilon=1, delta=0)
    with begin(book, name, 0.75) as run:
        run.spend(Fraction(3, 4), what="question")
    assert run.dataset == "clinic" and not run.set_cap
    for again in ("clinic", name):
        with pytest.raises(BudgetError, match=r"'clinic' has epsilon 0\.25 .*grant\(.clinic"):
            begin(book, again)
    with pytest.raises(BudgetError, match="'clinic' has a cap already"):
        book.create(name, epsilon=1, delta=0)
    book.grant(name, epsilon=2)
    (account,) = book.accounts()
    assert account == book.account(name) == book.account("clinic")
    assert (account.dataset, account.epsilon, account.left) == ("clinic", 2, Fraction(5, 4))


@pytest.mark.parametrize(
    ("a", "b"), [("clinic", "clinic 2"), ("clinic", "klinic"), ("a b", "ab"), ("é", "e")]
)
def test_other_names_are_other_data_sets(a: str, b: str) -> None:
    assert not same_name(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [("straße", "STRASSE"), ("İ", "i̇"), ("ﬁn", "FIN"), ("a\u00a0 b", "a b"), ("ΰ", "ΰ".upper())],
)
def test_folding_is_that_of_unicode(a: str, b: str) -> None:
    assert same_name(a, b)


@given(st.text(), st.sampled_from("\u00ad\u200b\u200d\u2060\ufeff\u202e\ufe0f\x00"), st.integers(0))
def test_the_key_is_stable_and_blind(name: str, unseen: str, at: int) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert name_key(name.upper()) == name_key(name.upper().lower())
    place = at % (len(name) + 1)
    with_it = key[: place % (len(key) + 1)] + unseen + key[place % (len(key) + 1) :]
    assert name_key(with_it) == key


@pytest.mark.parametrize("name", ["\u200b", "\u00ad \u2060", "\ufe0f", "\x00"])
def test_a_name_that_cannot_be_seen_is_refused(name: str) -> None:
    book = Ledger(":memory:")
    with pytest.raises(LedgerError, match="can be seen"):
        book.create(name, epsilon=1, delta=0)
    with pytest.raises(LedgerError, match="can be seen"):
        begin(book, name)
    assert book.accounts() == ()
    with pytest.raises(SchemaError, match="nothing can be seen"):
        Schema(name=name, columns=(COLUMN,))


COLUMN = Column(name="a", kind="categorical", levels=("x", "y"))
SCHEMA = Schema(name="clinic", columns=(COLUMN,))


def test_the_vault_and_saved_evidence_compare_names_in_the_same_way() -> None:
    alike, other = replace(SCHEMA, name="Clin\u00adic"), replace(SCHEMA, name="harbour")
    run = begin(Ledger(":memory:"), "CLINIC")
    Vault({"a": ["x"]}, alike, run)
    with pytest.raises(BudgetError, match="begin a run on 'harbour'"):
        Vault({"a": ["x"]}, other, run)
    assert same_table(SCHEMA, alike) == SCHEMA
    with pytest.raises(EvidenceError, match="'harbour' is not the one"):
        same_table(SCHEMA, other)


# -- files of the formats before, written by the Privets of then


@pytest.fixture(params=(1, 2))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Three names of one data set, each with a cap and a run, and one more data set."""
    path = tmp_path / f"{request.param}.sqlite"
    shutil.copy(OLD / f"ledger-format-{request.param}.sqlite", path)
    return path


def version(path: Path) -> int:
    with sqlite3.connect(path) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def check(book: Ledger) -> None:
    """What old names have in common: the smallest cap, and all that was spent and reserved."""
    clinic, harbour = book.accounts()
    assert (clinic.dataset, clinic.unit, harbour.dataset) == ("Clinic", UNIT, "harbour")
    assert (clinic.epsilon, clinic.delta, clinic.test_delta) == (1.0, 1e-6, 0)
    assert [run.method for run in clinic.runs] == [
        "method-clinic",
        "method-Clinic",
        "method-cl\u00adinic",
    ]
    assert [run.state for run in clinic.runs] == ["closed", "closed", "open"]
    assert clinic.spent == Fraction(1, 200) + Fraction(1, 400) + clinic.runs[2].reserved
    assert clinic.left == rho_for(1, 1e-6, "zcdp") - clinic.spent and clinic.test_delta_left == 0
    assert harbour.left == Fraction(7, 8)
    for name in ("clinic", "Clinic", "cl\u00adinic", "CLINIC"):
        assert book.account(name) == clinic


def test_an_old_file_is_read_as_if_its_names_had_always_been_one(old: Path) -> None:
    before, number = old.read_bytes(), version(old)
    check(Ledger(old))
    with pytest.raises(BudgetError, match="data set 'Clinic' has"):
        begin(Ledger(old), "clinic", 0.9, 1e-6)
    assert old.read_bytes() == before and version(old) == number


def test_the_first_change_unites_the_names_of_an_old_file(old: Path) -> None:
    account = Ledger(old).account("clinic")
    Ledger(old).grant("harbour", epsilon=2)
    assert version(old) == FORMAT
    with sqlite3.connect(old) as db:
        assert db.execute("SELECT dataset FROM caps").fetchall() == [("Clinic",), ("harbour",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    united = Ledger(old).account("clinic")
    assert account is not None and united is not None and replace(united, people=None) == account
    with begin(Ledger(old), "clinic", 0.25, 1e-6) as run:
        run.spend(run.budget, what="question")
    found = Ledger(old).account("Clinic")
    assert found is not None and found.spent == account.spent + run.budget
    assert found.runs[:3] == account.runs


KILLED = """
import os, sys
from privet.privacy.ledger import store as ledger_file
from privet.privacy.ledger.book import Ledger
unite = ledger_file.unite
def killed(db):
    unite(db)
    os.kill(os.getpid(), 9)
ledger_file.unite = killed
Ledger(sys.argv[1]).grant("harbour", epsilon=2)
"""


def test_a_process_killed_while_it_unites_leaves_the_file_as_it_was(old: Path) -> None:
    number = version(old)
    done = subprocess.run([sys.executable, "-c", KILLED, str(old)], timeout=PATIENCE)
    assert done.returncode == -9
    check(Ledger(old))
    assert version(old) == number
    Ledger(old).grant("harbour", epsilon=2)
    assert version(old) == FORMAT and Ledger(old).account("clinic") is not None


SPENDER = """
import sys
from privet.errors import BudgetError
from privet.privacy.ledger.book import Ledger
sys.stdin.readline()
try:
    Ledger(sys.argv[1]).begin(sys.argv[2], epsilon=0.5, delta=1e-6, method="m", unit=sys.argv[3])
except BudgetError:
    print("refused")
else:
    print("taken")
"""


def test_processes_that_open_an_old_file_at_once_spend_one_budget(old: Path) -> None:
    """Each asks for a half under another name of the data set; what is left has room for one."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(old), name, UNIT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("clinic", "Clinic", "cl\u00adinic", "CLINIC")
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=PATIENCE)[0].strip() for process in processes]
    account = Ledger(old).account("clinic")
    assert account is not None and account.spent <= account.cap
    room = (account.cap - Fraction(3, 400) - account.runs[2].reserved) // rho_for(0.5, 1e-6, "zcdp")
    assert said.count("taken") == room and len(account.runs) == 3 + room


def two_names(
    path: Path, *, caps: tuple[tuple[str, str], ...], units: tuple[str | None, ...]
) -> None:
    """A file of format 2 with 'a' and 'A', each with a closed run that has spent its budget."""
    Ledger(path).create("z", epsilon=1, delta=0)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM caps")
        db.execute("ALTER TABLE caps DROP COLUMN people")
        db.execute("ALTER TABLE caps DROP COLUMN accounting")
        for name, (epsilon, delta), unit in zip("aA", caps, units, strict=True):
            db.execute("INSERT INTO caps VALUES (?, ?, ?, ?, '0')", (name, epsilon, delta, unit))
            run = (name, name, "2026", "m", epsilon, delta, epsilon, "closed", "0")
            db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", run)
            db.execute("INSERT INTO entries VALUES (?, 0, 'q', ?, '0')", (name, epsilon))
        db.execute("PRAGMA user_version = 2")


def test_a_cap_that_two_names_have_exceeded_has_nothing_left(tmp_path: Path) -> None:
    two_names(path := tmp_path / "l", caps=(("1", "0"), ("2", "0")), units=(UNIT, None))
    for number in (2, FORMAT):
        account = Ledger(path).account("A")
        assert account is not None and account.dataset == "a" and version(path) == number
        assert (account.epsilon, account.spent, account.left) == (1, 3, 0)
        assert account.left_epsilon == 0.0 and account.unit == UNIT
        with pytest.raises(BudgetError, match=r"has epsilon 0 .*epsilon=3\.1"):
            begin(Ledger(path), "a", 0.1)
        Ledger(path).create(f"other {number}", epsilon=1, delta=0)
    with pytest.raises(BudgetError, match=r"grant at least epsilon=3"):
        Ledger(path).grant("a", epsilon=2)
    Ledger(path).grant("a", epsilon=4)
    begin(Ledger(path), "A", 1).close()


def test_what_was_spent_with_a_delta_is_beyond_a_cap_without(tmp_path: Path) -> None:
    two_names(path := tmp_path / "l", caps=(("1", "0"), ("1/100", "1/1000000")), units=(UNIT, UNIT))
    (account,) = Ledger(path).accounts()
    assert (account.epsilon, account.delta) == (0.01, 0) and account.beyond_price
    assert account.left == 0 and account.left_epsilon == 0 and account.spent_epsilon == float("inf")
    with pytest.raises(BudgetError, match=r"grant\(.a., epsilon=\S+, delta=1e-06") as refused:
        begin(Ledger(path), "A", 0.001)
    words = refused.value.in_shell.rpartition("grant a ")[2].split()
    with pytest.raises(BudgetError, match="delta > 0"):
        Ledger(path).grant("a", epsilon=10)
    Ledger(path).grant("a", epsilon=float(words[1]), delta=float(words[3]))
    begin(Ledger(path), "A", 0.001).close()


def test_names_with_different_units_can_pay_for_nothing_more(tmp_path: Path) -> None:
    other = "replace-one of 10 rows, 1 row(s) per person"
    two_names(path := tmp_path / "l", caps=(("8", "0"), ("8", "0")), units=(UNIT, other))
    for unit in (UNIT, other):
        with pytest.raises(BudgetError, match="one cap cannot add up the two"):
            begin(Ledger(path), "a", 0.1, unit=unit)
