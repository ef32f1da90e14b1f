"""DuckDB's progress bar is off, and is left alone where it cannot be spoken of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

import privet
from privet.files.bar import without_bar


class Notebook:
    """A connection in a notebook without ipywidgets: no bar, and an error for whoever says so."""

    def execute(self, statement: str) -> Any:
        if statement.startswith("SET"):
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
        return duckdb.connect().execute("SELECT false")


def test_the_bar_is_off() -> None:
    setting = "SELECT current_setting('enable_progress_bar')"
    with duckdb.connect() as base:
        base.execute("SET enable_progress_bar = true")
        assert without_bar(base).execute(setting).fetchone() == (False,)
    without_bar(Notebook())


def test_nobody_else_speaks_of_it() -> None:
    source = Path(privet.__file__).parent
    speaks = [p for p in source.rglob("*.py") if "enable_progress_bar" in p.read_text("utf-8")]
    assert speaks == [source / "files" / "bar.py"]
