"""DuckDB without its progress bar, which would be drawn into our output."""

from __future__ import annotations

from typing import Any


def without_bar(connection: Any) -> Any:
    """In a notebook without ipywidgets there is no bar, and to say so is an error."""
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection
