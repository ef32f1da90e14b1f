"""A folder with data and schema, and a way to run the command line inside this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from privet.cli.main import main
from tests.helpers.garden import SCHEMA, Ran, Run, rows


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*argv: object) -> Ran:
        code = main([str(arg) for arg in argv])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data.csv and schema.toml, which is the current one; the default ledger is
    ledger.db in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "data.csv").write_text(rows(3000))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path
