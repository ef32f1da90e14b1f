"""A small table with its schema, and a way to run the command line inside this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from privet.cli import main

SCHEMA = """\
name = "people"

[columns.rain]
kind = "categorical"
levels = ["no", "yes"]

[columns.sprinkler]
kind = "categorical"
levels = ["no", "yes"]

[columns.wet]
kind = "categorical"
levels = ["no", "yes"]
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def rows(size: int, seed: int = 0) -> str:
    """A CSV text: rain and sprinkler make it wet."""
    rng = np.random.default_rng(seed)
    rain, sprinkler = rng.random((2, size)) < 0.4
    wet = rng.random(size) < np.where(rain | sprinkler, 0.9, 0.1)
    words = np.array(["no", "yes"])
    cells = np.stack([words[column.astype(int)] for column in (rain, sprinkler, wet)], axis=1)
    return "rain,sprinkler,wet\n" + "".join(",".join(row) + "\n" for row in cells)


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


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file and folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"folder"
        for path in folder.rglob("*")
    }
