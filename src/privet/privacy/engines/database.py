"""A DuckDB of our own, which reads files and the odd cells of everything else."""

from __future__ import annotations

from typing import Any

from privet.files.bar import without_bar

SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMBERS = (*SIGNED, *(f"U{kind}" for kind in SIGNED), "FLOAT", "DOUBLE", "DECIMAL")
READ = (*NUMBERS, "BOOLEAN", "VARCHAR", "ENUM")  # the types on which no cell can make it stumble


def connection() -> Any:
    """In memory, no files on the side, nothing fetched from elsewhere."""
    import duckdb

    con = duckdb.connect(
        config={
            "threads": 2,
            "preserve_insertion_order": False,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "pandas_analyze_sample": 0,  # the type of a column of objects is text, not a guess
        }
    )
    without_bar(con)
    # the statistics of a Parquet file overlook NaN: with them, one row group's cells would
    # decide whether NaN is seen in all the others
    con.execute("SET disabled_optimizers = 'statistics_propagation'")
    return con


def odd(kind: str) -> str | None:
    """A type that is not read."""
    return None if kind.split("(")[0] in READ else kind
