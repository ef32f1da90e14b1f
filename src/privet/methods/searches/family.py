"""One search on three kinds of evidence: what its methods share.

A search knows judges and scores only. Here it is set on noisy interactions (``interaction-…``),
on noisy moments (``moment-…``) and, without privacy, on exact ones. Then it is repeated on
replicas of the evidence, which says how sure each edge is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from privet.evidence.exact_tables import CountedTables
from privet.graph.confidence import with_confidence
from privet.graph.graph import Graph
from privet.methods import basis as ground
from privet.methods.basis import Ground, check_parents, check_score
from privet.methods.method import Method, Searched, Settings
from privet.methods.searches.pc_confidence import marked
from privet.methods.sources import moments, tables
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema
from privet.search.protocols import Bools
from privet.trust.central import Curator

ALL = frozenset({"categorical", "ordinal", "numeric"})
NUMERIC = frozenset({"numeric"})


# The search itself: a graph that honours the knowledge in the schema.
Find = Callable[[Ground, Schema, Settings, np.random.Generator], Graph]
Check = Callable[[Schema, Settings], None]


def _nothing(_schema: Schema, _settings: Settings) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Family:
    """A search by name. ``scored`` says that it scores families, so that --score matters;
    ``weighs`` that it fits weights, which needs moments; ``probable`` that it knows itself how
    probable each edge is, where evidence is exact. Else confidence comes from up to
    ``replicas`` of the evidence, on which ``again`` (or the search itself) is repeated.
    ``bounded`` says that --max-parents bounds its families."""

    name: str
    find: Find
    summary: str
    cite: str
    graph: str
    scored: bool = False
    weighs: bool = False
    probable: bool = False
    replicas: int = 20
    again: Find | None = None
    bounded: bool = True
    check: Check = _nothing
    notes: tuple[str, ...] = ()

    def interaction(self) -> Method:
        return Method(
            name=f"interaction-{self.name}",
            summary=f"{self.summary}, on noisy interactions",
            kinds=ALL,
            private=True,
            needs_delta=False,
            cite=self.cite,
            evidence="tables",
            check=self._checked("tables"),
            measure=tables.measure,
            search=partial(self._search, "tables"),
            delta=tables.delta,
            graph=self.graph,
            uses=self._uses(),
        )

    def moment(self) -> Method:
        return Method(
            name=f"moment-{self.name}",
            summary=f"{self.summary}, on noisy moments",
            kinds=NUMERIC,
            private=True,
            needs_delta=True,
            cite=self.cite,
            evidence="moments",
            check=self._checked("moments"),
            measure=moments.measure,
            search=partial(self._search, "moments"),
            graph=self.graph,
            uses=self._uses(),
        )

    def plain(self) -> Method:
        return Method(
            name=self.name,
            summary=f"{self.summary}, without privacy",
            kinds=NUMERIC if self.weighs else ALL,
            private=False,
            needs_delta=False,
            cite=self.cite,
            evidence="exact",
            check=self._checked("exact"),
            measure=self._measure_exactly,
            search=partial(self._search, "exact"),
            graph=self.graph,
            uses=self._uses(),
        )

    def _uses(self) -> frozenset[str]:
        if self.weighs:
            return frozenset({"sparsity", "threshold"})
        if not self.scored:
            return frozenset()
        return frozenset({"score", "penalty", *(["max_parents"] if self.bounded else [])})

    def _kind(self, evidence: str, schema: Schema) -> str:
        if evidence != "exact":
            return evidence
        if schema.has_moments or self.weighs:
            return "moments"
        return "counts" if self.scored else "tables"

    def _checked(self, evidence: str) -> Check:
        def check(schema: Schema, settings: Settings) -> None:
            kind = self._kind(evidence, schema)
            exact = tables.check_exact if evidence == "exact" else tables.check
            (moments.check if kind == "moments" else exact)(schema, settings)
            if self.scored:
                check_score(kind, settings)
                check_parents(schema, settings.max_parents)
            self.check(schema, settings)

        return check

    def _measure_exactly(self, curator: Curator, settings: Settings) -> tuple[Release, ...]:
        """Moments; or interactions and, if families are scored or more columns given than these
        serve, the tables that the search asks for: it is played here once to hear which."""
        schema = curator.schema
        if self._kind("exact", schema) == "moments":
            return moments.measure(curator, settings)
        releases = tables.measure(curator, settings)
        if not self.scored and not tables.needs_counts(settings):
            return releases
        settings.on_step("counting tables", 0.4)
        counted = CountedTables.from_releases(schema, (), curator.exact)
        if self.scored:
            stand = ground.on_counts(schema, releases, counted, settings)
            self.find(stand, schema, settings, np.random.default_rng(settings.seed))
        else:
            stand = ground.on_tables(schema, releases, settings, counted)
            self._searched(stand, schema, settings)
        return releases + counted.releases()

    def _search(
        self, evidence: str, schema: Schema, releases: tuple[Release, ...], settings: Settings
    ) -> Searched:
        return self._searched(self._ground(evidence, schema, releases, settings), schema, settings)

    def _searched(self, stand: Ground, schema: Schema, settings: Settings) -> Searched:
        settings.on_step("searching", 0.5)
        rng = np.random.default_rng(settings.seed)
        graph = self.find(stand, schema, settings, rng)
        tests, stand.heard.found = stand.heard.count, _joined(graph)
        known = self.probable and not stand.noisy
        count = 0 if known else min(self.replicas, settings.replicas)
        again, *rngs = rng.spawn(count + 1)
        replicas = stand.replicas(count, again) if count else ()
        others: list[Graph] = []
        for replica, own in zip(replicas, rngs, strict=False):
            settings.on_step("weighing how sure each edge is", 0.6 + 0.4 * len(others) / count)
            others.append((self.again or self.find)(replica, schema, settings, own))
        graph = marked(with_confidence(graph, others), schema.knowledge)
        return Searched(graph=graph, tests=tests, notes=self.notes)

    def _ground(
        self, evidence: str, schema: Schema, releases: tuple[Release, ...], settings: Settings
    ) -> Ground:
        kind = self._kind(evidence, schema)
        if kind == "moments":
            return ground.on_moments(releases, settings)
        if kind == "counts":
            counted = CountedTables.from_releases(schema, releases)
            return ground.on_counts(schema, releases, counted, settings)
        if evidence == "exact" and tables.needs_counts(settings):
            counted = CountedTables.from_releases(schema, releases)
            return ground.on_tables(schema, releases, settings, counted)
        return ground.on_tables(schema, releases, settings)


def _joined(graph: Graph) -> Bools:
    at = {name: i for i, name in enumerate(graph.nodes)}
    joined = np.zeros((len(at), len(at)), dtype=bool)
    for edge in graph.edges:
        pair = at[edge.source], at[edge.target]
        joined[pair] = joined[pair[::-1]] = True
    return joined
