"""What a cell means, as SQL for DuckDB: its number or the place of its spelling, its code, and a
person's name."""

from __future__ import annotations

from typing import Any

from privet.privacy.engines.database import NUMBERS
from privet.privacy.engines.meaning import SPACES, bin_sql, fill, missing_code, spellings, zeros_sql
from privet.schema.column import Column

FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


def cell_sql(con: Any, i: int, column: Column, name: str, kind: str) -> str:
    """A parsed cell as SQL: its number, or the place of its spelling, or NULL for missing."""
    plain = kind.split("(")[0]
    if column.bounds is not None:
        number = f"TRY_CAST({name} AS DOUBLE)" if plain in NUMBERS else _parsed(name)
        return f"nullif({number}, CAST('NaN' AS DOUBLE))"
    if plain in FRACTIONS:
        name = f"TRY_CAST({name} AS DOUBLE)"  # so that 1.00 is written as 1.0
    text = f"TRY_CAST({name} AS VARCHAR)"
    levels = ", ".join(map(_quoted, spellings(column.levels)))
    con.execute(f"CREATE OR REPLACE TYPE level{i} AS ENUM ({levels})")
    # trimming costs more than matching, so only what does not match is trimmed
    trimmed = f"trim({text}, {_quoted(SPACES)})"
    return f"enum_code(coalesce(TRY_CAST({text} AS level{i}), TRY_CAST({trimmed} AS level{i})))"


def code_sql(cell: str, column: Column) -> str:
    """The code of a column as SQL over its parsed cell."""
    wide = "UTINYINT" if column.cardinality <= 256 else "USMALLINT"
    return f"CAST(coalesce({_code(cell, column)}, {missing_code(column)}) AS {wide})"


def real_sql(cell: str, column: Column) -> str:
    """The clamped number of a column, or its code if it has none."""
    if column.bounds is None:
        return f"CAST({code_sql(cell, column)} AS DOUBLE)"
    low, high = map(_real, column.bounds)
    clamped = f"least(greatest({cell}, {low}), {high})"
    return f"CASE WHEN {cell} IS NULL THEN {_real(fill(column))} ELSE {clamped} END"


def _code(cell: str, column: Column) -> str:
    if column.bounds is not None:  # cuts lie inside the bounds, so clamping changes no code
        code = bin_sql(cell, [_real(cut) for cut in column.cuts])
        return f"CASE WHEN {cell} IS NOT NULL THEN {code} END"
    codes = list(spellings(column.levels).values())
    plain = len(column.levels)
    if len(codes) == plain:
        return cell
    others = " ".join(f"WHEN {place} THEN {codes[place]}" for place in range(plain, len(codes)))
    return f"CASE WHEN {cell} < {plain} THEN {cell} ELSE CASE {cell} {others} END END"


def _parsed(name: str) -> str:
    text = f"TRY_CAST({name} AS VARCHAR)"
    trimmed = f"trim({text}, {_quoted(SPACES)})"
    truth = f"CASE lower({trimmed}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
    number = f"TRY_CAST({text} AS DOUBLE)"
    # in one coalesce DuckDB would take out the common trim, and trim every cell
    rest = f"coalesce(TRY_CAST({trimmed} AS DOUBLE), {truth})"
    return f"CASE WHEN {number} IS NOT NULL THEN {number} ELSE {rest} END"


def _real(value: object) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def person_sql(name: str, kind: str) -> str:
    """The name of a person as text, or NULL where there is none."""
    if kind in ("FLOAT", "DOUBLE"):
        name = f"nullif({name}, CAST('NaN' AS {kind}))"
    text = f"trim(TRY_CAST({name} AS VARCHAR), {_quoted(SPACES)})"
    return f"nullif({zeros_sql(text)}, '')"
