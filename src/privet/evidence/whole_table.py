"""The interactions of small sets of columns, from the noisy table of all columns.

The noise of each cell is the same and independent, so the interactions of a table with noise of
variance s² in each of M cells have independent noise of variance s² M / m, m the cells of the
interaction's own table (in unit contrasts, which are orthonormal).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privet.arrays import Integers
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import GRID, contrasts
from privet.privacy.queries.tables import Components, Tables
from privet.schema.model import Schema

LARGEST = 3  # columns in an interaction; tests of up to two given columns use no more


def is_whole(release: Release, schema: Schema) -> bool:
    """Whether this is the table of all columns."""
    return isinstance(release.query, Tables) and release.query.sets == (schema.names,)


def interactions(schema: Schema, release: Release) -> Iterator[Release]:
    """What the noisy table says of each small set of columns, as if it had been measured: one
    release for all sets of one order with the same noise."""
    shape = [column.cardinality for column in schema.columns]
    small = _margins(release.values.reshape(shape))
    alike: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for members, table in sorted(small.items()):
        if members or not schema.rows_are_public:
            alike.setdefault((len(members), table.size), []).append(members)
    for (order, cells), sets in alike.items():
        parts = [_contrasted(schema, members, small[members]) for members in sets]
        merged = release.values.size // cells
        named = tuple(tuple(schema.names[i] for i in members) for members in sets)
        yield Release(
            query=Components(named),
            values=np.concatenate(parts),
            variance=release.variance * merged * float(GRID) ** (2 * order),
            mechanism=release.mechanism,
        )


def _margins(whole: Integers) -> dict[tuple[int, ...], Integers]:
    """The tables of all sets of up to LARGEST columns: column by column, it is summed out, or
    kept in those sets that have room for it."""
    found: dict[tuple[int, ...], Integers] = {(): whole}
    for i in range(whole.ndim):
        kept = {(*m, i): table for m, table in found.items() if len(m) < LARGEST}
        found = {m: table.sum(axis=len(m)) for m, table in found.items()} | kept
    return {members: np.asarray(table) for members, table in found.items()}


def _contrasted(schema: Schema, members: tuple[int, ...], table: Integers) -> Integers:
    for axis, i in enumerate(members):
        h = contrasts(schema.columns[i].cardinality, schema.columns[i].ordered)
        table = np.moveaxis(np.tensordot(h, table, axes=(1, axis)), 0, axis)
    return table.reshape(-1)
