"""A session that is stopped, at whatever line, leaves no budget reserved."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from privet.errors import DataError
from privet.privacy.ledger import book, store
from privet.privacy.ledger.book import Ledger
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust import session as sessions
from privet.trust.session import Session

SCHEMA = Schema(
    name="people", columns=(Column(name="a", kind="categorical", levels=("no", "yes")),)
)
WATCHED = {module.__file__ for module in (book, store, sessions, contextlib)}


def session(ledger: Ledger, data: object = None) -> Session:
    data = {"a": ["no", "yes"]} if data is None else data
    return Session(data, SCHEMA, ledger=ledger, epsilon=1, delta=0, accounting="gdp", method="test")


def states(ledger: Ledger) -> list[str]:
    account = ledger.account("people")
    return [] if account is None else [run.state for run in account.runs]


class Stop:
    """Raises KeyboardInterrupt before a line, counted over all lines that begin a session."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: Any) -> Stop | None:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self


def enter(ledger: Ledger, at: int) -> bool:
    """Whether the session was entered before it came to this line."""
    one, before = session(ledger), sys.gettrace()
    sys.settrace(Stop(at))
    try:
        with one:
            sys.settrace(before)
            assert states(ledger)[-1] == "open"
            return True
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)


def test_a_signal_at_any_line_of_the_beginning_leaves_no_run_open(tmp_path: Path) -> None:
    """Python hears of a signal between two of its own steps, so it may come after any of them."""
    path, at, seen = tmp_path / "ledger.db", 0, []
    while not enter(Ledger(path), at):
        seen.append(tuple(states(Ledger(path))))
        path.unlink(missing_ok=True)
        at += 1
    assert set(seen) == {(), ("closed",)}  # stopped before it was on disk, and after
    assert states(Ledger(path)) == ["closed"]


def test_a_signal_while_the_reservation_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes the longest: it is heard of when the file is written, before anybody has the
    run."""
    ledger, written = Ledger(tmp_path / "ledger.db"), Ledger._transaction

    @contextlib.contextmanager
    def stopped(self: Ledger, **options: Any) -> Iterator[Any]:
        with written(self, **options) as db:
            yield db
        monkeypatch.undo()
        raise KeyboardInterrupt

    one = session(ledger)
    monkeypatch.setattr(Ledger, "_transaction", stopped)
    with pytest.raises(KeyboardInterrupt), one:
        raise AssertionError("it was entered")
    assert states(ledger) == ["closed"]


def test_nothing_is_reserved_before_it_is_entered(tmp_path: Path) -> None:
    """And the header is held against the schema before that."""
    ledger = Ledger(tmp_path / "ledger.db")
    with pytest.raises(DataError):
        session(ledger, {"b": ["no"]})
    one = session(ledger)
    assert not ledger.path.exists()
    with one:
        assert states(ledger) == ["open"]
    assert states(ledger) == ["closed"]
