"""Exact statistics, without privacy: what the private methods are measured against.

Columns that are numbers throughout give exact moments, others exact tables: of pairs, of triples
for tests and, if families are scored or more than two columns given, of whatever columns the search
asks for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.copies import counted as guessed
from privet.evidence.counts import PairCounts
from privet.evidence.cuts import as_cut, chosen
from privet.evidence.exact_tables import ExactTables
from privet.evidence.table_replicas import PairNoise, table_replicas
from privet.evidence.tables import TableEvidence
from privet.independence.counted import OfPairs
from privet.independence.effects import of_counted
from privet.independence.exact_tables import MEASURED, ExactTableJudge
from privet.independence.tables import TableJudge
from privet.methods.basis import Basis, on_scores, on_tests
from privet.methods.copies import copies_of
from privet.methods.method import Finding
from privet.methods.options import EXACT_TABLE_ORDER, Settings
from privet.methods.search import OF_MOMENTS, Search, check_order, run
from privet.methods.sources import moments, tables
from privet.methods.sources.source import ALL_KINDS, TESTS_AND_SCORES, Measure, Source
from privet.privacy.queries.base import Release
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.tables import Tables
from privet.schema.model import Schema
from privet.scores.families import Families
from privet.scores.tables import bdeu, bic
from privet.search.memo import Memo
from privet.search.skeleton import Ask
from privet.trust.curator import Curator


def kind(schema: Schema, search: Search) -> str:
    if schema.has_moments or search.needs in OF_MOMENTS:
        return "moments"
    return "counts" if search.scored else "tables"


def check(schema: Schema, settings: Settings, search: Search) -> None:
    if kind(schema, search) == "moments":
        moments.check(schema, settings)
    else:
        check_order(settings)
        tables.check_size(schema)


def counts_needed(settings: Settings, search: Search) -> bool:
    """Whether tests ask for more than interactions."""
    usual = EXACT_TABLE_ORDER if search.wide else settings.order
    return (usual if settings.max_order is None else settings.order) > MEASURED


def measure_for(search: Search) -> Measure:
    return _measure_moments if search.needs in OF_MOMENTS else partial(_measure, search)


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
    releases, counts = tables.measure_pairs(curator, settings)
    cuts, look = chosen(releases), FirstLook(counts)
    asked = curator.cut(cuts)
    if not search.untested:
        settings.on_step("choosing triples", 0.2)
        wanted = look(asked.schema, releases)
        releases += tables.measure_triples(asked, settings, wanted)
    if not search.scored and not counts_needed(settings, search):
        return releases, None
    settings.on_step("counting tables", 0.4)

    def count(query: Tables | Fans) -> Release:
        found = asked.exact(query)
        return replace(found, query=query) if cuts else found

    evidence = None
    if not search.untested:
        evidence = TableEvidence.from_releases(schema, schema.names, releases)
    counted = ExactTables.from_releases(asked.schema, (), count, look.counts)
    basis = on_counts(schema, evidence, counted, settings, search, look)
    found = run(search, basis, schema, settings)
    more = counted.releases()
    if cuts:
        more = tuple(replace(one, query=Cut(cuts, one.query)) for one in more)
    return releases + more, found


class FirstLook:
    """Chooses triples, and keeps what was asked of the pairs for that, and the copies that they
    show: a search asks it again."""

    def __init__(self, counts: PairCounts | None) -> None:
        self.counts = counts
        self.pooled: Ask | None = None
        self.strength: Floats | None = None
        self.same: dict[str, str] | None = None

    def __call__(self, schema: Schema, releases: tuple[Release, ...]) -> list[tuple[int, ...]]:
        evidence = TableEvidence.from_releases(schema, schema.names, releases)
        self.same = {}
        if self.counts is not None:
            self.same = copies_of(schema, guessed(schema.names, self.counts))
            self.pooled = Memo(OfPairs(evidence, self.counts), len(schema.columns))
        found, self.strength = tables.first_look(schema, evidence, self.pooled, self.same)
        return tables.triples_in(found, self.strength)


class Untested:
    """The judge of a search that asks for no tests."""

    def strengths(self, pairs: Bools | None = None, /) -> Floats:
        raise NotImplementedError

    def margins(self, questions: Indices) -> Floats:
        raise NotImplementedError


def on_counts(
    schema: Schema,
    evidence: TableEvidence | None,
    counted: ExactTables,
    settings: Settings,
    search: Search,
    look: FirstLook | None = None,
) -> Basis:
    """Exact interactions, and exact tables of any columns: for scores, without replicas, or for
    tests with more columns given than interactions serve. Without evidence nothing is tested."""
    same = None if look is None else look.same
    if same is None:
        pairs = counted.pairs
        same = copies_of(schema, () if pairs is None else guessed(schema.names, pairs))
    score: Families = bdeu(counted) if settings.score == "bdeu" else bic(counted, settings.penalty)
    if evidence is None:
        return on_scores(Untested(), score, same, only_counts=True)
    alpha = settings.level(len(schema.columns))
    few = TableJudge(evidence, alpha)
    if look is not None:
        few = replace(few, pooled=look.pooled, strength=look.strength)
    told = settings.max_order is not None
    wide = ExactTableJudge(evidence, counted, few, all_known=told)
    judge = wide if counts_needed(settings, search) else few
    if search.scored:
        return on_scores(judge, score, same, only_counts=search.needs == "families")

    def stack(count: int, rng: np.random.Generator) -> ExactTableJudge:
        copies = table_replicas(evidence, count, rng)
        few, noise = TableJudge(copies, alpha), PairNoise(evidence, copies)
        return ExactTableJudge(evidence, counted, few, noise, all_known=False)

    made = on_tests(judge, stack, len(schema.columns))
    sizes = partial(of_counted, wide)
    return replace(made, effects=sizes, copies=same, usual=EXACT_TABLE_ORDER)


def basis(
    schema: Schema, releases: tuple[Release, ...], settings: Settings, search: Search
) -> Basis:
    held = kind(schema, search)
    if held == "moments":
        return moments.basis(schema, releases, settings, search)
    if held == "counts" or counts_needed(settings, search):
        if not search.untested:
            tables.check_triples(schema, releases)
        evidence = TableEvidence.from_releases(schema, schema.names, releases)
        pairs = PairCounts.of(evidence)
        counted = ExactTables.from_releases(*as_cut(schema, releases), pairs=pairs)
        return on_counts(schema, evidence, counted, settings, search)
    return tables.basis(schema, releases, settings, search)


SOURCE = Source(
    prefix="",
    phrase="without privacy",
    evidence="exact",
    kinds=ALL_KINDS,
    private=False,
    gives=TESTS_AND_SCORES | {"wide", "weights"},
    check=check,
    measure_for=measure_for,
    play_for=lambda search: None if search.needs == "weights" else partial(_play, search),
    basis=basis,
    kind=kind,
)
