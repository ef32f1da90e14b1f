"""The file of a ledger: where it lies, its tables, and what can be wrong with it."""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from privet.errors import BudgetError, LedgerError, expect
from privet.privacy.ledger.account import Budget
from privet.privacy.ledger.conversion import OF_PURE, Accounting
from privet.schema.names import name_key

FORMAT = 6
BUSY_SECONDS = 5.0
# epsilon, delta, test_delta, unit, accounting
Cap = tuple[str, str, str, str | None, Accounting]
# The run of each study, and the questions that were charged to it with the messages they got.
STUDIES = (
    "CREATE TABLE IF NOT EXISTS studies (study TEXT NOT NULL, dataset TEXT NOT NULL,"
    " run TEXT NOT NULL REFERENCES runs (id), PRIMARY KEY (study, dataset))",
    "CREATE TABLE IF NOT EXISTS contexts (context TEXT NOT NULL,"
    " run TEXT NOT NULL REFERENCES runs (id), message BLOB, PRIMARY KEY (context, run))",
)
# Which evidence answers a run that is the same, and who has paid for it (``kept.py``).
EVIDENCE = (
    "CREATE TABLE IF NOT EXISTS evidence (key TEXT PRIMARY KEY,"
    " run TEXT NOT NULL REFERENCES runs (id), digest TEXT NOT NULL)"
)
TABLES = (
    "CREATE TABLE caps (dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL,"
    " unit TEXT, test_delta TEXT NOT NULL DEFAULT '0', people TEXT,"
    " accounting TEXT NOT NULL DEFAULT 'zcdp')",
    "CREATE TABLE runs (id TEXT PRIMARY KEY, dataset TEXT NOT NULL REFERENCES caps (dataset),"
    " started TEXT NOT NULL, method TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,"
    " budget TEXT NOT NULL, state TEXT NOT NULL, test_delta TEXT NOT NULL DEFAULT '0')",
    "CREATE TABLE entries (run TEXT NOT NULL REFERENCES runs (id), position INTEGER NOT NULL,"
    " what TEXT NOT NULL, cost TEXT NOT NULL, test_delta TEXT NOT NULL DEFAULT '0',"
    " PRIMARY KEY (run, position))",
    "CREATE INDEX runs_of_dataset ON runs (dataset)",
    *STUDIES,
    EVIDENCE,
    f"PRAGMA user_version = {FORMAT}",
)
# What formats of old lack: in which one a column was missing for the last time, and what it is for
# their rows. The first transaction that writes adds it; until then a file is read as it is,
# through views that hide its tables and live in this connection only. Format 1 knew no tests,
# formats 1 to 3 had no number for the people of a data set, which that same transaction draws,
# and up to format 4 all budgets with a delta were counted in zCDP.
# Formats 1 and 2 may have several caps for one data set, under names that look alike. All are
# read as one (``alike``) and made one by the first transaction that writes (``unite``).
# Formats 1 to 4 know no studies and those up to 5 keep no evidence; only transactions that write
# ask for these.
NEW_COLUMNS = (
    (1, "caps", "test_delta", "'0'"),
    (1, "runs", "test_delta", "'0'"),
    (1, "entries", "test_delta", "'0'"),
    (3, "caps", "people", "NULL"),
    (4, "caps", "accounting", "'zcdp'"),
)


# What transactions ask for; a file that lacks any of it is refused before anything is changed.
COLUMNS = {
    "caps": "dataset, epsilon, delta, unit, test_delta, people, accounting",
    "runs": "id, dataset, started, method, epsilon, delta, budget, state, test_delta",
    "entries": "run, position, what, cost, test_delta",
    "studies": "study, dataset, run",
    "contexts": "context, run, message",
    "evidence": "key, run, digest",
}
MOST = Fraction(10) ** 30  # far above every amount that is ever written


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
        _check_whole(db, path)
        return
    if 1 <= version < FORMAT:
        for statement in _added(version) if write else _seen(version):
            db.execute(statement)
        if write:
            _check_whole(db, path)
            unite(db)
            _number_people(db)
            db.execute(f"PRAGMA user_version = {FORMAT}")
        return
    if version > FORMAT:
        raise LedgerError(
            f"the ledger {path} was written by a newer Privet (format {version}, this one reads "
            f"{FORMAT}); update Privet, or name another file with ⟦ledger='FILE'⟧"
        )
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise LedgerError(
            f"{path} is a SQLite file, but not a Privet ledger; name another with ⟦ledger='FILE'⟧"
        )
    for statement in TABLES:
        db.execute(statement)


def _check_whole(db: sqlite3.Connection, path: Path) -> None:
    for table, columns in COLUMNS.items():
        try:
            db.execute(f"SELECT {columns} FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) != sqlite3.SQLITE_ERROR:
                raise  # nothing of what it lacks
            raise LedgerError(
                f"the ledger {path} is not whole ({error}), so it was edited or is damaged; put "
                f"back a copy of it, or name another with ⟦ledger='FILE'⟧"
            ) from None


def amount(cell: object) -> Fraction:
    """An amount as it stands in a file, which anybody may have edited."""
    try:
        if isinstance(cell, str) and 0 <= (found := Fraction(cell)) <= MOST:
            return found
    except (ValueError, ZeroDivisionError):
        pass
    raise _edited(cell, "an amount")


def word(cell: object, among: Sequence[str] = ()) -> str:
    if isinstance(cell, str) and (not among or cell in among):
        return cell
    raise _edited(cell, " or ".join(among) or "a text")


def _edited(cell: object, wanted: str) -> LedgerError:
    shown = repr(cell)[:40]
    return LedgerError(
        f"the ledger has {shown} where {wanted} should be, so it was edited or is damaged; put "
        f"back a copy of it, or name another with ⟦ledger='FILE'⟧"
    )


def _added(version: int) -> Iterator[str]:
    for last, table, column, value in NEW_COLUMNS:
        if version <= last:
            rule = "" if value == "NULL" else f" NOT NULL DEFAULT {value}"
            yield f"ALTER TABLE {table} ADD COLUMN {column} TEXT{rule}"
    yield from (*STUDIES, EVIDENCE)


def _seen(version: int) -> Iterator[str]:
    lacking: dict[str, list[str]] = {}
    for last, table, column, value in NEW_COLUMNS:
        if version <= last:
            lacking.setdefault(table, []).append(f"{value} AS {column}")
    for table, columns in lacking.items():
        yield (
            f"CREATE TEMP VIEW {table} AS SELECT *, rowid, {', '.join(columns)} FROM main.{table}"
        )


def alike(db: sqlite3.Connection) -> dict[str, list[str]]:
    """The names of each data set, by its key and in the order in which they were first written.

    Keys are not on file: they are worked out by the Unicode of the day.
    """
    names: dict[str, list[str]] = {}
    for (name,) in db.execute("SELECT dataset FROM caps ORDER BY rowid"):
        names.setdefault(name_key(word(name)), []).append(name)
    return names


def one_cap(caps: Sequence[Cap]) -> Cap:
    """The cap of a data set that has several: the smallest of each part. A promise by two units
    is a promise by neither, so such a unit fits no further run. What was paid in GDP is worth the
    same in zCDP, but not the other way round."""
    parts = zip(*(cap[:3] for cap in caps), strict=True)
    epsilon, delta, tests = (str(min(map(amount, part))) for part in parts)
    units = dict.fromkeys(cap[3] for cap in caps if cap[3] is not None)
    accounting: Accounting = "gdp" if all(cap[4] == "gdp" for cap in caps) else "zcdp"
    return epsilon, delta, tests, " and ".join(units) or None, accounting


def new_people() -> str:
    """A number for the people of one data set: random, public, and never changed. It says nothing
    about them, but two results that carry it are about the same people."""
    return secrets.token_hex(16)


def people_of(db: sqlite3.Connection, name: str) -> str | None:
    """Their number; None in an old file that nobody has written to since."""
    found = db.execute("SELECT people FROM caps WHERE dataset = ?", (name,)).fetchone()
    return None if found is None else found[0]


def _number_people(db: sqlite3.Connection) -> None:
    for (name,) in db.execute("SELECT dataset FROM caps WHERE people IS NULL").fetchall():
        db.execute("UPDATE caps SET people = ? WHERE dataset = ?", (new_people(), name))


def caps_of(db: sqlite3.Connection, names: Sequence[str]) -> list[Cap]:
    wanted = "SELECT epsilon, delta, test_delta, unit, accounting FROM caps WHERE dataset = ?"
    caps = [db.execute(wanted, (name,)).fetchone() for name in names]
    if None in caps:  # the table has a name that its index does not know
        raise _edited(None, "a cap")
    for epsilon, delta, test_delta, unit, accounting in caps:
        word(accounting, tuple(OF_PURE))
        if unit is not None:
            word(unit)
        try:
            Budget.of(amount(epsilon), amount(delta), accounting, amount(test_delta))
        except BudgetError:
            raise _edited(f"{epsilon}, {delta}, {test_delta}", "a budget") from None
    return caps


def unite(db: sqlite3.Connection) -> None:
    """One cap for each data set, under its first name, with all runs of the others."""
    for first, *others in alike(db).values():
        if not others:
            continue
        cap = one_cap(caps_of(db, [first, *others]))
        changed = "epsilon = ?, delta = ?, test_delta = ?, unit = ?, accounting = ?"
        db.execute(f"UPDATE caps SET {changed} WHERE dataset = ?", (*cap, first))
        for name in others:
            db.execute("UPDATE runs SET dataset = ? WHERE dataset = ?", (first, name))
            db.execute("DELETE FROM caps WHERE dataset = ?", (name,))


def check_name(dataset: str) -> None:
    expect(dataset, str, "the data set", "give its name, as the schema has it", LedgerError)
    if not dataset.isascii() and any("\ud800" <= c <= "\udfff" for c in dataset):
        raise LedgerError(f"the data set is named {dataset!a}, which is no text; give another name")


def set_cap(db: sqlite3.Connection, dataset: str, cap: Budget) -> None:
    if not name_key(dataset):
        raise LedgerError(
            f"the data set is named {dataset!a}, but it needs a name that can be seen to have a "
            f"budget; give one in the schema"
        )
    amounts = str(cap.epsilon), str(cap.delta), str(cap.test_delta)
    values = (dataset, *amounts, new_people(), cap.accounting)
    db.execute(
        "INSERT INTO caps (dataset, epsilon, delta, test_delta, people, accounting)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (dataset) DO UPDATE SET epsilon = excluded.epsilon,"
        " delta = excluded.delta, test_delta = excluded.test_delta",
        values,
    )


def check_open(db: sqlite3.Connection, identity: str) -> None:
    found = db.execute("SELECT state FROM runs WHERE id = ?", (identity,)).fetchone()
    if found != ("open",):
        raise LedgerError(
            f"run {identity} is not open in the ledger any more, so the file was replaced or "
            f"edited meanwhile; begin another run"
        )


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
            problem = "is not a ledger (or is damaged); name another with ⟦ledger='FILE'⟧"
        else:
            problem = (
                f"cannot be used ({error}); make the file and its directory writable, or name "
                f"another with ⟦ledger='FILE'⟧"
            )
        raise LedgerError(f"the ledger {path} {problem}") from None
    except UnicodeError:  # in a message of SQLite, which quotes the file
        raise LedgerError(
            f"the ledger {path} is damaged; name another with ⟦ledger='FILE'⟧"
        ) from None
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be reached ({error.strerror}); name another with "
            f"⟦ledger='FILE'⟧"
        ) from None
