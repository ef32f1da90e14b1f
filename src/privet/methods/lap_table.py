"""lap-table: the whole contingency table with Laplace noise once, then every test for free.

The baseline of Xu, Yuan, Wu 2017 (LapMech). The noise of each cell is the same and known, so
the search reckons with it, as ``interaction-pc`` does: the interactions of a table with
independent noise of variance s² in each of M cells have independent noise of variance s² M / m,
m the cells of the interaction's own table (in unit contrasts, which are orthonormal).

Privacy. One release with the sensitivity of ``queries.Tables`` for one table
(``proofs/counts.md``) and Laplace noise scaled to it, whatever the currency.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from math import prod

import numpy as np

from privet.ci.tables import TableJudge
from privet.contrasts import GRID, contrasts
from privet.errors import MethodError
from privet.evidence.components import TableEvidence, components_query
from privet.evidence.replicas import table_replicas
from privet.methods import tables
from privet.methods.registry import Method, Published, Searched, Settings
from privet.methods.weighed import weighed_search
from privet.published import lap_table as published
from privet.queries import Integers, Release, Tables
from privet.schema import Schema
from privet.trust.central import Curator

# Noise takes 10 microseconds per cell; and few rows per cell leave nothing but noise anyway.
MOST_CELLS = 1 << 20
LARGEST = 3  # columns in an interaction; tests of up to two given columns use no more


def check(schema: Schema, settings: Settings) -> None:
    tables.check(schema, settings)
    cells = prod(column.cardinality for column in schema.columns)
    if cells > MOST_CELLS:
        raise MethodError(
            f"the table of all {len(schema.columns)} columns has {cells} cells; lap-table serves "
            f"up to {MOST_CELLS}, since each cell gets its own noise; leave columns out of the "
            "schema, merge levels, or use interaction-pc"
        )


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    settings.on_step("measuring the whole table", 0.0)
    query = Tables((curator.schema.names,))
    if curator.run is None:
        return (curator.exact(query),)
    return (curator.laplace(query, Fraction(1)),)


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    evidence = reduce(
        TableEvidence.add, _interactions(schema, releases[0]),
        TableEvidence.empty(schema, schema.names),
    )  # fmt: skip
    alpha = settings.level(len(schema.columns))

    def replicas(count: int, rng: np.random.Generator) -> TableJudge:
        return TableJudge(table_replicas(evidence, count, rng), alpha)

    return weighed_search(TableJudge(evidence, alpha), replicas, schema, settings)


def _interactions(schema: Schema, release: Release) -> Iterable[Release]:
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
        yield Release(
            query=components_query(schema.names, sets),
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


METHODS = (
    Method(
        name="lap-table",
        summary="the whole table with Laplace noise once, then a noise-aware PC for free",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        cite="LapMech of Xu, Yuan, Wu 2017",
        evidence="counts",
        check=check,
        measure=measure,
        search=search,
        published=Published(measure=published.measure, why=published.WHY),
    ),
)
