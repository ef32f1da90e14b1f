"""local-pc: a noise-aware PC on randomised reports; nobody is trusted with rows."""

from __future__ import annotations

from dataclasses import replace

from privet.local.collector.tables import level
from privet.methods.method import Method, Searched, Settings
from privet.methods.searches.pc_confidence import weighed_search
from privet.methods.sources import reports as local
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    evidence = local.evidence_of(releases)
    alpha = local.level_of(schema, settings)
    found = weighed_search(
        local.judge_of(evidence, alpha),
        local.replicas_of(evidence, alpha),
        schema,
        local.limited(evidence, settings),
    )
    return replace(found, notes=(*found.notes, *local.notes(evidence, settings)))


METHODS = (
    Method(
        name="local-pc",
        summary="noise-aware PC on reports that devices have randomised",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        cite="this library; reports of Binkyte, Pinzón, Lestyán, Jung, Arcolezi, Palamidessi 2023",
        evidence="reports",
        check=local.check,
        measure=local.measure,
        search=search,
        alpha=level,
    ),
)
