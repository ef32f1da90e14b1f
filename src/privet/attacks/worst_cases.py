"""Neighbouring tables that are made up: on them one person's row is the one that matters.

Nobody's rows are used. A given schema says what columns, bounds and neighbours there are, and the
tables follow from it; where a paper's promise is known to break, there are tables that show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

Row = Sequence[Any]
Data = dict[str, list[Any]]

NAME = "made up for an audit"
ROWS = 12  # of a table that says nothing about it
MOST_ROWS = 400  # of one that does; more would cost time and show nothing else
WORDS = tuple(Column(name=name, kind="categorical", levels=("no", "yes")) for name in "abc")
NUMBERS = tuple(Column(name=name, kind="numeric", bounds=(-1.0, 1.0)) for name in "ab")


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two tables, and in words what the second has that the first has not."""

    schema: Schema
    tables: tuple[Data, Data]
    words: str


def made_up(schema: Schema) -> Neighbours:
    """Most people are alike and near the middle, and one is as far out as the schema allows, with
    all rows that a person may have."""
    rows = None if schema.rows is None else min(schema.rows, MOST_ROWS)
    known = replace(schema, name=NAME, rows=rows, person=None)
    size, each = rows or ROWS, known.rows_per_person
    others = [tuple(_usual(c, i, k) for k, c in enumerate(known.columns)) for i in range(size)]
    far = [tuple(_last(column) for column in known.columns)] * each
    count = f"{each} row{'s' * (each > 1)}"
    if known.adjacency is Adjacency.REPLACE_ONE:
        words = f"{size} rows, of which one person's {count} are replaced by rows at the far end"
        rest = others[each:]
        return neighbours(known, others[:1] * each + rest, far + rest, words)
    words = f"{size} rows, and one person more with {count} at the far end"
    return neighbours(known, others, others + far, words)


def built_in(numeric: bool, replaced: bool) -> Neighbours:
    """Small tables of two columns, on which a row reaches nearly every bound."""
    columns = NUMBERS if numeric else WORDS[:2]
    schema = Schema(name=NAME, columns=columns)
    if replaced:
        schema = replace(schema, adjacency=Adjacency.REPLACE_ONE, rows=40)
    return made_up(schema)


def rare_levels(columns: int = 7, rows: int = 60) -> Neighbours:
    """Columns whose second level is rare, and a row of all of these: the longest in white features,
    which are the better ones here, so that they are what a run with a delta asks about."""
    names = tuple(f"c{i}" for i in range(columns))
    known = tuple(Column(name=name, kind="categorical", levels=("no", "yes")) for name in names)
    usual = [["yes" if row == place else "no" for place in range(columns)] for row in range(rows)]
    words = f"{rows} rows with few rare levels, and one person more with nothing else"
    schema = Schema(name=NAME, columns=known)
    return neighbours(schema, usual, [*usual, ["yes"] * columns], words)


def published_flaw(method: str, numeric: bool) -> Neighbours:
    """Where the promise of a paper breaks; docs/published.md says why."""
    if method in ("svt-pc", "priv-pc", "curate"):
        return _skipped_stratum()
    if method == "em-pc":
        return _constant_columns()
    return built_in(numeric or method in ("noleaks", "curate-score"), replaced=True)


def _skipped_stratum(rows: int = 50_000) -> Neighbours:
    """Where c is no, a and b go together a little. Elsewhere, which is nearly everywhere, a is
    constant, so the test skips that stratum, until one record has another a. The test of a and b
    without c finds them dependent, so that it comes to this."""
    counts = {"nnn": 260, "nyn": 190, "ynn": 190, "yyn": 260}
    left = rows - sum(counts.values()) - 2
    table, neighbour = {"yny": 2, "yyy": left}, {"nny": 1, "yny": 1, "yyy": left}
    words = f"{rows:,} rows, one of which decides whether a stratum counts"
    schema = _replaced(WORDS, rows)
    return neighbours(schema, _spelt(counts | table), _spelt(counts | neighbour), words)


def _constant_columns(rows: int = 300) -> Neighbours:
    words = f"{rows} rows that are all alike, and one of them replaced by another"
    table, neighbour = {"yy": rows}, {"yy": rows - 1, "nn": 1}
    return neighbours(_replaced(WORDS[:2], rows), _spelt(table), _spelt(neighbour), words)


def neighbours(
    schema: Schema, first: Sequence[Row], second: Sequence[Row], words: str
) -> Neighbours:
    tables = [
        {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
        for rows in (first, second)
    ]
    return Neighbours(schema=schema, tables=(tables[0], tables[1]), words=words)


def _replaced(columns: tuple[Column, ...], rows: int) -> Schema:
    return Schema(name=NAME, columns=columns, adjacency=Adjacency.REPLACE_ONE, rows=rows)


def _spelt(counts: dict[str, int]) -> list[Row]:
    """Rows written as letters, each so often."""
    letters = {"n": "no", "y": "yes"}
    return [[letters[x] for x in text] for text, count in counts.items() for _ in range(count)]


def _usual(column: Column, row: int, place: int) -> Any:
    """Of somebody like many: one of the first two levels, or a number near the middle. Columns do
    not go together."""
    turn = (row >> place) % 2
    if column.bounds is None:
        return column.levels[turn]
    low, high = column.bounds
    return low + (high - low) * (0.49 + 0.02 * turn)


def _last(column: Column) -> Any:
    return column.levels[-1] if column.bounds is None else column.bounds[1]
