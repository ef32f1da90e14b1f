"""Evidence that lies beside a ledger, so that whoever asks the same again need not pay again.

What is kept was released and paid for; to hand it out once more tells nobody anything new, however
often. What is "the same" is a key that the front doors make of public facts alone, never of rows:
whether an answer is found here says nothing about the data, and a table that has changed under the
same name, place and label gets the old answer. Who hands one out says so (``results/certificate``).

The ledger has the key, the run that paid, and the digest of the file; a file that was changed is
refused. A run that did not end well has none. The file is there before the ledger speaks of it, and
is moved into place whole, so that two processes at once leave two files and the later entry. A
ledger in memory keeps its evidence in memory.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from privet.errors import EvidenceError, OutputError
from privet.privacy.ledger.book import Ledger

MODE = 0o666  # less the umask, as for the files of results
DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The text that was kept for a key, as it was, the run that paid for it, and the day on which
    that run began, before it read a row (None in a file that does not say so)."""

    text: str
    run: str
    day: str | None


def keep(ledger: Ledger, key: str, run: str, text: str) -> None:
    """From now on this is the answer to that key; an older one is forgotten."""
    if ledger.durable:
        _write(_place(ledger, run), text)
    else:
        ledger.texts[run] = text
    with ledger._transaction() as db:
        db.execute("INSERT OR REPLACE INTO evidence VALUES (?, ?, ?)", (key, run, _digest(text)))


def kept(ledger: Ledger, key: str) -> Kept | None:
    """What was kept for a key; None if there is nothing."""
    if not ledger._exists():
        return None
    with ledger._transaction() as db:
        found = db.execute(
            "SELECT runs.id, digest, started FROM evidence JOIN runs ON runs.id = run"
            " WHERE key = ? AND state = 'closed'",
            (key,),
        ).fetchone()
    if found is None:
        return None
    run, digest, started = found
    text = _read(_place(ledger, run)) if ledger.durable else ledger.texts.get(run)
    if text is None or _digest(text) != digest:
        problem = "is missing or cannot be read" if text is None else "has been changed"
        raise EvidenceError(
            f"an identical run has paid for the evidence {str(_place(ledger, run))!r}, but that "
            f"{problem}; put back the file as it was, or ask anew, and pay, with ⟦reuse=False⟧"
        )
    day = DAY.match(str(started))
    return Kept(text=text, run=run, day=None if day is None else day[0])


def _place(ledger: Ledger, run: str) -> Path:
    return ledger.path.with_name(f"{ledger.path.name}.evidence") / f"{run}.json"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(exist_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise OutputError(
            f"cannot write {str(path)!r} ({error.strerror}); make its folder writable, or run with "
            "⟦reuse=False⟧"
        ) from None
