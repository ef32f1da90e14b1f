"""Where numbers are cut into bins: what a schema leaves open may be chosen later, on a public grid.

A column without declared bins or cuts is *free*. Between its bounds there are FINE steps of equal
width on its scale, and only at their edges may it be cut, so that all ways to cut are merged fine
bins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import exp, isinf, log
from operator import lt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privet.schema.column import Column
    from privet.schema.model import Schema

FINE = 256
Cuts = tuple[
    tuple[str, tuple[int, ...]], ...
]  # of each column, the places of its cuts: 1 to FINE - 1


@lru_cache(maxsize=512)  # asked for again whenever a column is made from another
def equal_width(low: float, high: float, bins: int, scale: str = "linear") -> tuple[float, ...]:
    """The inner edges of `bins` bins of equal width, on a scale where they are that."""
    if scale == "log":
        start, width = log(low), log(high) - log(low)
        return tuple(exp(start + width * i / bins) for i in range(1, bins))
    width = high - low
    if isinf(width * bins):
        return tuple([low + width / bins * i for i in range(1, bins)])
    return tuple([low + width * i / bins for i in range(1, bins)])  # twice as fast as a generator


def free_columns(schema: Schema) -> tuple[str, ...]:
    """Those that may be cut elsewhere; not those whose bounds leave no room for the grid."""
    return tuple(column.name for column in schema.columns if column.free and _has_room(column))


def fine_cuts(names: Iterable[str]) -> Cuts:
    """All of the grid."""
    every = tuple(range(1, FINE))
    return tuple((name, every) for name in names)


def cut(schema: Schema, cuts: Cuts) -> Schema:
    """The same table with some free columns cut elsewhere."""
    if not cuts:
        return schema
    places = dict(cuts)
    columns = (
        _cut(column, places[column.name]) if column.name in places else column
        for column in schema.columns
    )
    return replace(schema, columns=tuple(columns))


def _cut(column: Column, places: tuple[int, ...]) -> Column:
    edges = (0.0, *_grid(column))  # of which places count from 1
    return replace(column, cuts=tuple(map(edges.__getitem__, places)), free=False)


def fixed(schema: Schema) -> Schema:
    """The same, to be cut nowhere else: as if the default had been declared."""
    columns = tuple(replace(column, free=False) for column in schema.columns)
    return replace(schema, columns=columns)


def _grid(column: Column) -> tuple[float, ...]:
    low, high = column.bounds or (0.0, 1.0)
    return equal_width(low, high, FINE, column.scale)


def _has_room(column: Column) -> bool:
    low, high = column.bounds or (0.0, 1.0)
    edges = (low, *_grid(column), high)
    return all(map(lt, edges, edges[1:]))
