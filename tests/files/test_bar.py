"""DuckDB's progress bar is off, and is left alone where it cannot be spoken of."""

from __future__ import annotations

from typing import Any

import duckdb

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
