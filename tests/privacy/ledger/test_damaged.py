"""A ledger that was edited or is damaged: refused with the fix, and left as it was."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from privet.errors import LedgerError
from privet.privacy.ledger.book import Ledger

EDITS = {
    "no number": "UPDATE caps SET epsilon = 'x'",
    "no text": "UPDATE caps SET delta = x'ff'",
    "divided by nothing": "UPDATE runs SET budget = '1/0'",
    "below nothing": "UPDATE entries SET cost = '-1/3'",
    "beyond all": f"UPDATE entries SET cost = '{'9' * 400}'",
    "no name": "UPDATE caps SET dataset = x'ff'",
    "no budget": "UPDATE caps SET epsilon = '0'",
    "no accounting": "UPDATE caps SET accounting = 'x'",
    "no state": "UPDATE runs SET state = ''",
    "no method": "UPDATE runs SET method = x'00'",
    "a table is gone": "DROP TABLE entries",
    "a column is gone": "ALTER TABLE runs RENAME COLUMN test_delta TO other",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    book = Ledger(tmp_path / "ledger.db")
    with book.begin("clinic", epsilon=1, delta=0, method="mine", unit="a row") as run:
        run.spend(run.budget / 2, what="rows")
    return book.path


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_was_edited_is_refused(path: Path, edit: str) -> None:
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute(edit)
    db.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="edited or is damaged"):
        Ledger(path).accounts()
    with pytest.raises(LedgerError, match="edited or is damaged"):
        Ledger(path).begin("clinic", epsilon=0.1, delta=0, method="mine", unit="a row")
    assert path.read_bytes() == before


def test_a_cap_that_could_not_be_read_again_is_not_set(path: Path) -> None:
    """The page of an index is overwritten: caps can be written, but runs not be read."""
    db = sqlite3.connect(path)
    (page,) = db.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'runs_of_dataset'"
    ).fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    text = bytearray(path.read_bytes())
    text[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(text)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).create("other", epsilon=1, delta=0)
    assert path.read_bytes() == bytes(text)


def test_an_index_that_does_not_know_a_name(path: Path) -> None:
    """As after a loss of power on a disk that says it has synced and has not."""
    db = sqlite3.connect(path, isolation_level=None)
    (page,) = db.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_caps_1'"
    ).fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    text = bytearray(path.read_bytes())
    text[(page - 1) * size + 3 : (page - 1) * size + 5] = b"\0\0"  # so many entries
    path.write_bytes(text)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).accounts()


def test_to_close_a_run_makes_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no run"):
        Ledger(tmp_path / "new.db").close("0123456789abcdef")
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_are_no_text_are_refused(path: Path) -> None:
    """SQLite quotes them in its message, which Python then cannot read."""
    content = path.read_bytes()
    at = content.index(b"CREATE TABLE")
    for place in range(at + 7, at + 24):
        path.write_bytes(content[:place] + b"\xff\xfe" + content[place + 2 :])
        with pytest.raises(LedgerError):
            Ledger(path).accounts()
