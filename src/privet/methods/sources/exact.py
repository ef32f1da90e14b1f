"""Exact statistics, without privacy: what the private methods are measured against.

Columns that are numbers throughout give exact moments, others exact tables: of pairs, of triples
for tests and, if families are scored or more than two columns given, of whatever columns the search
asks for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from privet.evidence.copies import guessed
from privet.evidence.counts import Counts
from privet.evidence.cuts import as_cut, chosen
from privet.evidence.exact_tables import ExactTables
from privet.evidence.table_replicas import table_replicas
from privet.evidence.tables import TableEvidence
from privet.independence.exact_tables import MEASURED, ExactTableJudge
from privet.independence.tables import TableJudge
from privet.methods.basis import Basis, on_scores, on_tests
from privet.methods.copies import copies_of
from privet.methods.method import Finding
from privet.methods.options import Settings
from privet.methods.search import Search, check_order, run
from privet.methods.sources import moments, tables
from privet.methods.sources.source import ALL_KINDS, TESTS_AND_SCORES, Measure, Source
from privet.privacy.queries.base import Release
from privet.privacy.queries.cut import Cut
from privet.schema.model import Schema
from privet.scores.families import Families
from privet.scores.tables import bdeu, bic
from privet.trust.curator import Curator


def kind(schema: Schema, search: Search) -> str:
    if schema.has_moments or search.needs == "weights":
        return "moments"
    return "counts" if search.scored else "tables"


def check(schema: Schema, settings: Settings, search: Search) -> None:
    if kind(schema, search) == "moments":
        moments.check(schema, settings)
    else:
        check_order(settings)
        tables.check_size(schema)


def counts_needed(settings: Settings) -> bool:
    """Whether tests ask for more than interactions."""
    return settings.order > MEASURED


def measure_for(search: Search) -> Measure:
    return _measure_moments if search.needs == "weights" else partial(_measure, search)


def _measure_moments(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    return moments.measure(curator, settings)


def _measure(search: Search, curator: Curator, settings: Settings) -> tuple[Release, ...]:
    return _play(search, curator, settings)[0]


def _play(
    search: Search, curator: Curator, settings: Settings
) -> tuple[tuple[Release, ...], Finding | None]:
    """Moments; or interactions, of pairs alone if nothing is tested, and, if families are scored or
    more columns given than these serve, the tables that the search asks for: it is played here once
    to hear which."""
    schema = curator.schema
    if kind(schema, search) == "moments":
        return moments.measure(curator, settings), None
    releases = (tables.measure_pairs if search.untested else tables.measure)(curator, settings)
    if not search.scored and not counts_needed(settings):
        return releases, None
    settings.on_step("counting tables", 0.4)
    cuts = chosen(releases)
    asked = curator.cut(cuts)
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    counted = ExactTables.from_releases(
        asked.schema, (), lambda query: replace(asked.exact(query), query=query), evidence
    )
    found = run(search, on_counts(schema, evidence, counted, settings, search), schema, settings)
    more = counted.releases()
    if cuts:
        more = tuple(replace(one, query=Cut(cuts, one.query)) for one in more)
    return releases + more, found


def on_counts(
    schema: Schema,
    evidence: TableEvidence,
    counted: ExactTables,
    settings: Settings,
    search: Search,
) -> Basis:
    """Exact interactions, and exact tables of any columns: for scores, without replicas, or for
    tests with more columns given than interactions serve."""
    alpha = settings.level(len(schema.columns))
    pairs = (
        (some, Counts(tables=table.astype(np.float64), laws=())) for some, table in counted.pairs
    )
    few, same = TableJudge(evidence, alpha), copies_of(schema, guessed(schema.names, pairs))
    judge = ExactTableJudge(evidence, counted, few) if counts_needed(settings) else few
    if search.scored:
        score: Families = (
            bdeu(counted) if settings.score == "bdeu" else bic(counted, settings.penalty)
        )
        return replace(on_scores(judge, score), copies=same)

    def stack(count: int, rng: np.random.Generator) -> ExactTableJudge:
        together = TableJudge(table_replicas(evidence, count, rng), alpha)
        return ExactTableJudge(evidence, counted, together, rng.spawn(1)[0])

    return replace(on_tests(judge, stack, len(schema.columns)), copies=same)


def basis(
    schema: Schema, releases: tuple[Release, ...], settings: Settings, search: Search
) -> Basis:
    held = kind(schema, search)
    if held == "moments":
        return moments.basis(schema, releases, settings, search)
    if held == "counts" or counts_needed(settings):
        if not search.untested:
            tables.check_triples(schema, releases)
        evidence = TableEvidence.from_releases(schema, schema.names, releases)
        counted = ExactTables.from_releases(*as_cut(schema, releases), pairs=evidence)
        return on_counts(schema, evidence, counted, settings, search)
    return tables.basis(schema, releases, settings, search)


SOURCE = Source(
    prefix="",
    phrase="without privacy",
    evidence="exact",
    kinds=ALL_KINDS,
    private=False,
    gives=TESTS_AND_SCORES | {"weights"},
    check=check,
    measure_for=measure_for,
    play_for=lambda search: None if search.needs == "weights" else partial(_play, search),
    basis=basis,
    kind=kind,
)
