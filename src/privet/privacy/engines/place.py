"""Where a table lies: a fact about the source, not about its rows."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from privet.privacy.engines import duck, postgres, spark
from privet.privacy.engines.duck import DuckTable
from privet.privacy.engines.postgres import PostgresTable
from privet.privacy.engines.source import Source


def place(data: object, source: Source) -> str | None:
    """The resolved path of a file, folder or pattern, or the address of a database (without
    credentials) with the table; None of a table that only this process knows."""
    if isinstance(source, PostgresTable):
        return source.place
    if isinstance(source, DuckTable):
        return f"{source.path.resolve()}?table={source.table}"
    if isinstance(data, str) and data.startswith(spark.SCHEME):
        return data
    return str(Path(data).resolve()) if isinstance(data, str | Path) else None


def files(data: object) -> Sequence[Path] | None:
    """The files that hold the rows, in order: one, those of a folder, or those that a pattern
    names. None of a table that is no file, such as one of a server or a frame."""
    if not isinstance(data, str | Path) or str(data).startswith((*postgres.SCHEMES, spark.SCHEME)):
        return None
    path = Path(str(data).removeprefix(duck.SCHEME).partition("?table=")[0])
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file())
    named = [path] if path.exists() else map(Path, glob.glob(str(path), recursive=True))
    return sorted(each for each in named if each.is_file())
