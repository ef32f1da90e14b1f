"""Where numbers are cut into bins: what a schema leaves open may be chosen later, on a public grid.

A column without declared bins or cuts is *free*. Between its bounds there are FINE steps of equal
width on its scale, and only at their edges may it be cut, so that all ways to cut are merged fine
bins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privet.schema.column import Column
    from privet.schema.model import Schema

FINE = 256
Cuts = tuple[
    tuple[str, tuple[int, ...]], ...
]  # of each column, the places of its cuts: 1 to FINE - 1


def equal_width(low: float, high: float, bins: int, scale: str = "linear") -> tuple[float, ...]:
    """The inner edges of `bins` bins of equal width, on a scale where they are that."""
    if scale == "log":
        start, width = log(low), log(high) - log(low)
        return tuple(exp(start + width * i / bins) for i in range(1, bins))
    return tuple(low + (high - low) * i / bins for i in range(1, bins))


def free_columns(schema: Schema) -> tuple[str, ...]:
    """Those that may be cut elsewhere; not those whose bounds leave no room for the grid."""
    return tuple(column.name for column in schema.columns if column.free and _has_room(column))


def fine_cuts(names: Iterable[str]) -> Cuts:
    """All of the grid."""
    return tuple((name, tuple(range(1, FINE))) for name in names)


def cut(schema: Schema, cuts: Cuts) -> Schema:
    """The same table with some free columns cut elsewhere."""
    places = dict(cuts)
    columns = (
        _cut(column, places[column.name]) if column.name in places else column
        for column in schema.columns
    )
    return replace(schema, columns=tuple(columns))


def _cut(column: Column, places: tuple[int, ...]) -> Column:
    grid = _grid(column)
    return replace(column, cuts=tuple(grid[i - 1] for i in places), free=False)


def fixed(schema: Schema) -> Schema:
    """The same, to be cut nowhere else: as if the default had been declared."""
    columns = tuple(replace(column, free=False) for column in schema.columns)
    return replace(schema, columns=columns)


def _grid(column: Column) -> tuple[float, ...]:
    low, high = column.bounds or (0.0, 1.0)
    return equal_width(low, high, FINE, column.scale)


def _has_room(column: Column) -> bool:
    low, high = column.bounds or (0.0, 1.0)
    return all(a < b for a, b in pairwise((low, *_grid(column), high)))
