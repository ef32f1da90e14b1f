"""interaction-pc: measure interactions once, test for ever.

What is measured, and why it is private, is said in ``methods/sources/tables.py``; the rest is free.
"""

from __future__ import annotations

import numpy as np

from privet.evidence.exact_tables import CountedTables
from privet.evidence.replicas import table_replicas
from privet.evidence.tables import TableEvidence
from privet.independence.exact_tables import CountedJudge
from privet.independence.tables import TableJudge
from privet.methods.method import Method, Searched, Settings
from privet.methods.searches.pc_confidence import weighed_search
from privet.methods.sources.tables import check, delta, measure
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    alpha = settings.level(len(schema.columns))

    def replicas(count: int, rng: np.random.Generator) -> TableJudge:
        return TableJudge(table_replicas(evidence, count, rng), alpha)

    return weighed_search(TableJudge(evidence, alpha), replicas, schema, settings)


def search_counted(
    schema: Schema, releases: tuple[Release, ...], counted: CountedTables, settings: Settings
) -> Searched:
    """The same on exact evidence, with tables for tests that interactions do not serve."""
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    alpha = settings.level(len(schema.columns))

    def replicas(count: int, rng: np.random.Generator) -> CountedJudge:
        stack = TableJudge(table_replicas(evidence, count, rng), alpha)
        return CountedJudge(evidence, counted, stack, rng.spawn(1)[0])

    judge = CountedJudge(evidence, counted, TableJudge(evidence, alpha))
    return weighed_search(judge, replicas, schema, settings)


METHODS = (
    Method(
        name="interaction-pc",
        summary="noisy interactions of pairs and triples once, then a noise-aware PC for free",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        cite="this library; residual basis of Xiao, He, Zhang, Kifer 2023",
        evidence="tables",
        check=check,
        measure=measure,
        search=search,
        delta=delta,
    ),
)
