"""Where a table lies: a fact about the source, not about its rows."""

from __future__ import annotations

from pathlib import Path

from privet.privacy.engines.duck import DuckTable
from privet.privacy.engines.postgres import PostgresTable
from privet.privacy.engines.source import Source
from privet.privacy.engines.spark import SCHEME


def place(data: object, source: Source) -> str | None:
    """The resolved path of a file, folder or pattern, or the address of a database (without
    credentials) with the table; None of a table that only this process knows."""
    if isinstance(source, PostgresTable):
        return source.place
    if isinstance(source, DuckTable):
        return f"{source.path.resolve()}?table={source.table}"
    if isinstance(data, str) and data.startswith(SCHEME):
        return data
    return str(Path(data).resolve()) if isinstance(data, str | Path) else None
