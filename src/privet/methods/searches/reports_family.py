"""Other searches on randomised reports: FCI, RFCI, GES and MMHC as they are, on a judge that knows
the noise of the reports and on scores that are made from its answers."""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.graph.confidence import with_confidence
from privet.graph.graph import Graph
from privet.local.collector.tables import level
from privet.methods.basis import check_parents, check_score
from privet.methods.method import Method, Searched, Settings
from privet.methods.searches import fci, ges, mmhc
from privet.methods.searches.family import ALL, Family
from privet.methods.searches.pc_confidence import marked
from privet.methods.sources import reports as local
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema
from privet.search.protocols import Bools


def _check(family: Family, schema: Schema, settings: Settings) -> None:
    local.check(schema, settings)
    if family.scored:
        check_score("tables", settings)
        check_parents(schema, settings.max_parents)


def _search(
    family: Family, schema: Schema, releases: tuple[Release, ...], settings: Settings
) -> Searched:
    evidence = local.evidence_of(releases)
    alpha = local.level_of(schema, settings)
    stand = local.ground_on(evidence, alpha)
    within = local.limited(evidence, settings)
    settings.on_step("searching", 0.5)
    rng = np.random.default_rng(settings.seed)
    graph = family.find(stand, schema, within, rng)
    tests, stand.heard.found = stand.heard.count, _joined(graph)
    again, *rngs = rng.spawn(settings.replicas + 1)
    others: list[Graph] = []
    replicas = stand.replicas(settings.replicas, again) if settings.replicas else ()
    for replica, own in zip(replicas, rngs, strict=False):
        share = len(others) / settings.replicas
        settings.on_step("weighing how sure each edge is", 0.6 + 0.4 * share)
        others.append(family.find(replica, schema, within, own))
    return Searched(
        graph=marked(with_confidence(graph, others), schema.knowledge),
        tests=tests,
        notes=(*family.notes, *local.notes(evidence, settings)),
    )


def _joined(graph: Graph) -> Bools:
    pairs = graph.skeleton()
    return np.array([[frozenset((a, b)) in pairs for b in graph.nodes] for a in graph.nodes])


def _method(family: Family) -> Method:
    return Method(
        name=f"local-{family.name}",
        summary=f"{family.summary}, on randomised reports",
        kinds=ALL,
        private=True,
        needs_delta=False,
        cite=family.cite,
        evidence="reports",
        check=partial(_check, family),
        measure=local.measure,
        search=partial(_search, family),
        graph=family.graph,
        uses=frozenset({"max_parents"}) if family.scored and family.bounded else frozenset(),
        alpha=level,
    )


METHODS = tuple(_method(family) for family in (fci.FCI, fci.RFCI, ges.FAMILY, mmhc.FAMILY))
