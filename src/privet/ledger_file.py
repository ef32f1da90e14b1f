"""The file of a ledger: where it lies, its tables, and what can be wrong with it."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privet.errors import LedgerError

FORMAT = 2
BUSY_SECONDS = 5.0
TABLES = (
    "CREATE TABLE caps (dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL,"
    " unit TEXT, test_delta TEXT NOT NULL DEFAULT '0')",
    "CREATE TABLE runs (id TEXT PRIMARY KEY, dataset TEXT NOT NULL REFERENCES caps (dataset),"
    " started TEXT NOT NULL, method TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,"
    " budget TEXT NOT NULL, state TEXT NOT NULL, test_delta TEXT NOT NULL DEFAULT '0')",
    "CREATE TABLE entries (run TEXT NOT NULL REFERENCES runs (id), position INTEGER NOT NULL,"
    " what TEXT NOT NULL, cost TEXT NOT NULL, test_delta TEXT NOT NULL DEFAULT '0',"
    " PRIMARY KEY (run, position))",
    "CREATE INDEX runs_of_dataset ON runs (dataset)",
    f"PRAGMA user_version = {FORMAT}",
)
# Format 1 knew no tests. The first transaction that writes adds their columns; until then a file
# is read as it is, through views that hide its tables and live in this connection only.
FROM_1 = (
    "ALTER TABLE caps ADD COLUMN test_delta TEXT NOT NULL DEFAULT '0'",
    "ALTER TABLE runs ADD COLUMN test_delta TEXT NOT NULL DEFAULT '0'",
    "ALTER TABLE entries ADD COLUMN test_delta TEXT NOT NULL DEFAULT '0'",
    f"PRAGMA user_version = {FORMAT}",
)
VIEWS_OF_1 = (
    "CREATE TEMP VIEW caps AS SELECT *, '0' AS test_delta FROM main.caps",
    "CREATE TEMP VIEW runs AS SELECT *, rowid, '0' AS test_delta FROM main.runs",
    "CREATE TEMP VIEW entries AS SELECT *, '0' AS test_delta FROM main.entries",
)


def default_path() -> Path:
    """$PRIVET_LEDGER, else a file in the user's data directory."""
    if named := os.environ.get("PRIVET_LEDGER"):
        return Path(named)
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "privet" / "ledger.sqlite"


def connect(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA synchronous = EXTRA")  # the directory too: no commit is undone by a crash
    db.execute("PRAGMA temp_store = MEMORY")
    return db


def check_format(db: sqlite3.Connection, path: Path, *, write: bool) -> None:
    """Makes the tables of a new file, and those of an old one as the others expect them."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT:
        return
    if version == 1:
        for statement in FROM_1 if write else VIEWS_OF_1:
            db.execute(statement)
        return
    if version > FORMAT:
        raise LedgerError(
            f"the ledger {path} was written by a newer Privet (format {version}, this one reads "
            f"{FORMAT}); update Privet, or name another file with --ledger FILE"
        )
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise LedgerError(
            f"{path} is a SQLite file, but not a Privet ledger; name another with --ledger FILE"
        )
    for statement in TABLES:
        db.execute(statement)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Every failure of the file as a LedgerError with the fix."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            problem = "is locked by another process; wait until that is done and try again"
        elif code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            problem = "is not a ledger (or is damaged); name another with --ledger FILE"
        else:
            problem = (
                f"cannot be used ({error}); make the file and its directory writable, or name "
                f"another with --ledger FILE"
            )
        raise LedgerError(f"the ledger {path} {problem}") from None
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be reached ({error.strerror}); name another with "
            f"--ledger FILE"
        ) from None
