"""A schema as a notebook shows it."""

from __future__ import annotations

from privet.markup.pieces import notebook, safe, table
from privet.schema.column import Column
from privet.schema.missing import CHOOSE
from privet.schema.model import CHOICE, Schema

MOST_LEVELS = 12  # that are shown


def schema_html(schema: Schema) -> str:
    """What is public about each column; what a draft has read from the rows is marked."""
    lines = (
        (safe(c.name), safe(c.kind), safe(_range(c)), safe(_missing(c)), safe(_read(schema, c)))
        for c in schema.columns
    )
    return notebook(
        f"<p><b>{safe(schema.name)}</b>: {safe(schema.told())}</p>",
        f'<p class="bad">{safe(schema.warning())}</p>' if schema.unconfirmed else "",
        table(("column", "kind", "levels or bounds", "missing cells", "to be confirmed"), lines),
        *(f"<p>{safe(line)}</p>" for line in schema.known()),
    )


def _range(column: Column) -> str:
    if column.bounds is not None:
        return f"{column.bounds[0]:g} to {column.bounds[1]:g}"
    shown = ", ".join(column.levels[:MOST_LEVELS])
    more = len(column.levels) - MOST_LEVELS
    return f"{shown} and {more} more" if more > 0 else shown


def _missing(column: Column) -> str:
    if column.missing == "value":
        return f"taken as {column.missing_value}"
    if column.missing == CHOOSE:
        return "still to be chosen"
    return "a level of their own" if column.missing == "level" else "their row is left out"


def _read(schema: Schema, column: Column) -> str:
    facts = [fact.rpartition(".") for fact in schema.unconfirmed if fact != CHOICE]
    return ", ".join(what for name, _, what in facts if name == column.name)
