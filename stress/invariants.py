"""What must hold at every moment, whatever was killed, full or broken."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.api.verify import verify
from privet.errors import PrivetError
from privet.privacy.ledger.account import Account
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import exchange
from privet.trust.receipt import uncovered

HIDDEN = ".privet-*"


def broken(home: Path) -> list[str]:
    """Which of the promises a folder with ``ledger.db`` does not keep."""
    found = [*_ledger(home / "ledger.db"), *_answers(home)]
    for folder in (path.parent for path in home.rglob("graph.json")):
        if not folder.name.startswith(".privet-"):
            found += _whole(folder)
    return found


def accounts(home: Path) -> tuple[Account, ...]:
    return Ledger(home / "ledger.db").accounts()


def _ledger(path: Path) -> Iterator[str]:
    """It opens, is sound, and no cap is exceeded."""
    if not path.exists():
        return
    try:
        for account in Ledger(path).accounts():
            spent, tested = _added_up(account)
            if spent > account.cap or tested > account.test_delta:
                yield f"the cap of {account.dataset} is exceeded"
    except PrivetError as error:
        yield f"the ledger cannot be opened: {error}"
        return
    try:
        with closing(sqlite3.connect(path)) as db:
            (sound,) = db.execute("PRAGMA integrity_check").fetchone()
    except sqlite3.DatabaseError as error:
        sound = str(error)
    if sound != "ok":
        yield f"the ledger is not sound: {sound}"


def _added_up(account: Account) -> tuple[Fraction, Fraction]:
    """From one run after the other, since the account's own sum is what let them in."""
    spent = tested = Fraction(0)
    for run in account.runs:
        still = run.state == "open"
        for cost in [run.reserved] if still else [entry.cost for entry in run.entries]:
            spent += exchange(cost, run.currency, account.currency)
        tested += run.test_delta if still else sum(entry.test_delta for entry in run.entries)
    return spent, tested


def _answers(home: Path) -> Iterator[str]:
    """Every piece of evidence, wherever it lies, was charged before."""
    for path in home.rglob("*.json*"):
        if "evidence" not in path.name and not path.parent.name.endswith(".evidence"):
            continue
        facts = _certificate(path)
        if facts is None:  # only begun: then some run has been charged for it
            runs = [run for account in accounts(home) for run in account.runs]
            if path.stat().st_size and not any(run.entries for run in runs):
                yield f"{path} without any charge"
        elif facts.get("private") and (missing := uncovered(home / "ledger.db", facts)):
            yield f"{path} without its charge: {missing}"


def _certificate(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())["certificate"]
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _whole(folder: Path) -> Iterator[str]:
    """Results are there as a whole or not at all."""
    try:
        faults = verify(folder).faults
    except PrivetError as error:
        faults = (str(error),)
    if faults:
        yield f"{folder} is not whole: {faults}"


def left(home: Path) -> list[Path]:
    """Hidden folders of runs that did not end well."""
    return sorted(home.rglob(HIDDEN))
