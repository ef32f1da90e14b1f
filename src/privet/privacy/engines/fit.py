"""How well a table fits its schema, exactly: for the eyes of its owner, and for nobody else's.

A run never says that a cell does not fit, since that would tell something about a person; such a
cell silently follows the missing policy. So a site whose spellings differ from the schema's would
not notice. This looks, cell by cell, with the same reading of cells as a run (``encode.py``). What
it finds is not private, and no method sees it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from privet.errors import DataError
from privet.privacy.engines.database import connection
from privet.privacy.engines.meaning import SPACES
from privet.privacy.engines.pick import spread
from privet.privacy.engines.rules import cell_sql
from privet.privacy.engines.source import open_source
from privet.schema.column import Column
from privet.schema.model import Schema

# Texts that mean that there is nothing.
MISSING = ("", "na", "nan", "null", "none", "?", "n/a", "#n/a", "<na>", ".")
MOST_NAMED = 20  # texts of a column that are listed
UNREADABLE = (
    "the data could not be read to its end; check that the file is still there and complete, and "
    "that there is enough memory"
)


@dataclass(kw_only=True)
class ColumnFit:
    """How many cells of a column are missing, are no declared level (or no number), and are
    numbers beyond the bounds; and which texts these undeclared ones are, the commonest first."""

    name: str
    missing: int = 0
    undeclared: int = 0
    outside: int = 0
    texts: Counter[str] = field(default_factory=Counter)

    @property
    def named(self) -> list[str]:
        return [text for text, _ in self.texts.most_common(MOST_NAMED)]


@dataclass(frozen=True, kw_only=True)
class Fit:
    rows: int
    columns: tuple[ColumnFit, ...]

    @property
    def fits(self) -> bool:
        """Whether every cell is missing or within what the schema declares."""
        return not any(column.undeclared or column.outside for column in self.columns)


def fit(data: object, schema: Schema) -> Fit:
    """Every row is read, and nothing is charged."""
    source, positions = open_source(data, schema)
    if source.engine:
        raise DataError(
            f"{source.label} is counted where it is, and its cells do not come here to be looked "
            "at; export it as Parquet to check it"
        )
    found = {column.name: ColumnFit(name=column.name) for column in schema.columns}
    rows = 0
    names = {column.name: f"c{positions[column.name]}" for column in schema.columns}
    try:
        with ExitStack() as stack:
            con = stack.enter_context(connection())
            item = source.attach()
            if item is not None:
                source.prepare(con)
                rows = _look(con, item, schema, names, found)
            else:
                for block in source.blocks(tuple(positions.values())):
                    con.register("block", {name: spread(each) for name, each in block.items()})
                    rows += _look(con, "block", schema, names, found)
    except Exception:
        raise DataError(UNREADABLE) from None
    return Fit(rows=rows, columns=tuple(found.values()))


def _look(
    con: Any, item: str, schema: Schema, names: dict[str, str], found: dict[str, ColumnFit]
) -> int:
    """Adds what one part of the table holds; returns its number of rows."""
    for i, column in enumerate(schema.columns):
        _look_at(con, item, i, column, names[column.name], found[column.name])
    return int(con.execute(f"SELECT count(*) FROM {item}").fetchone()[0])


def _look_at(con: Any, item: str, i: int, column: Column, name: str, seen: ColumnFit) -> None:
    (_, kind, *_), *_ = con.execute(f"DESCRIBE SELECT {name} FROM {item}").fetchall()
    cell = cell_sql(con, i, column, name, str(kind))
    text = f"trim(TRY_CAST({name} AS VARCHAR), '{SPACES}')"
    gone = f"({text} IS NULL OR lower({text}) IN {MISSING})"
    outside = "false"
    if column.bounds is not None:
        low, high = (f"CAST('{bound!r}' AS DOUBLE)" for bound in column.bounds)
        outside = f"v < {low} OR v > {high}"
    cells = f"(SELECT {cell} AS v, {text} AS t, {gone} AS gone FROM {item})"
    missing, odd, beyond = con.execute(
        f"SELECT count(*) FILTER (v IS NULL AND gone), count(*) FILTER (v IS NULL AND NOT gone), "
        f"count(*) FILTER (v IS NOT NULL AND ({outside})) FROM {cells}"
    ).fetchone()
    seen.missing += missing
    seen.undeclared += odd
    seen.outside += beyond
    if odd:
        listed = f"SELECT t, count(*) FROM {cells} WHERE v IS NULL AND NOT gone GROUP BY t"
        seen.texts.update(dict(con.execute(listed).fetchall()))
