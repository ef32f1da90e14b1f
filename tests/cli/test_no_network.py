"""No command speaks to the network, but for ``privet datasets fetch``."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.garden import Run

COMMANDS = """\
simulate asia --rows 50 --output asia.csv
schema draft data.csv
schema check data.csv --schema schema.toml
plan schema.toml --rows 1000 --epsilon 1
discover data.csv --schema schema.toml --epsilon 1 --output out
discover --evidence out/evidence.json --output again
discover data.csv --schema schema.toml --no-privacy --output exact
explain out rain wet
verify out
sign key officer --output key
sign results out --key key
verify out --key key/public.json
audit parity --epsilon 1 --runs 40
combine out/evidence.json again/evidence.json --output both
randomize data.csv --schema schema.toml --epsilon 4 --output reports.csv
discover reports.csv --protocol protocol.json --output local
randomize data.csv --schema schema.toml --epsilon 4 --output p/reports.parquet
schema draft p/reports.parquet
convert out/graph.json graph.dot
compare out/graph.json graph.dot
ledger show
methods
datasets list
completion bash
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was asked of the network, which answers nothing."""
    seen: list[object] = []

    def refuse(*args: Any, **_: Any) -> Any:
        seen.append(args)
        raise OSError("there is no network here")

    class Local(socket.socket):
        """Sockets inside this machine only."""

        def __init__(self, family: int = -1, *rest: Any, **more: Any) -> None:
            if family != getattr(socket, "AF_UNIX", None):
                refuse(family)
            super().__init__(family, *rest, **more)

    monkeypatch.setattr(socket, "socket", Local)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return seen


def test_commands_do_without_a_network(home: Path, run: Run, asked: list[object]) -> None:
    for line in COMMANDS.splitlines():
        done = run(*line.split())
        assert done.code in (0, 2) and "network" not in done.err, done.err
        assert done.code == 0 or line.startswith("combine"), f"{line}: {done.err}"
    assert asked == []


def test_to_fetch_needs_one(home: Path, run: Run, asked: list[object]) -> None:
    done = run("datasets", "fetch", "adult", "--output", "adult")
    assert done.code == 2 and asked, done
