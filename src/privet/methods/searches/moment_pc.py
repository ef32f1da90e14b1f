"""moment-pc: second moments of numeric columns, released once, tested for ever.

What is measured, and why it is private, is said in ``methods/sources/moments.py``; the rest is
free.
"""

from __future__ import annotations

import numpy as np

from privet.evidence.moments import MomentEvidence
from privet.independence.fisher_z import MomentJudge
from privet.methods.method import Method, Searched, Settings
from privet.methods.searches.pc_confidence import weighed_search
from privet.methods.sources.moments import check, measure
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    evidence = MomentEvidence.from_releases(releases)
    alpha = settings.level(len(schema.columns))

    def replicas(count: int, rng: np.random.Generator) -> MomentJudge:
        return MomentJudge(evidence.replicas(count, rng), alpha)

    return weighed_search(MomentJudge(evidence, alpha), replicas, schema, settings)


METHODS = (
    Method(
        name="moment-pc",
        summary="noisy second moments in round coordinates once, then a noise-aware PC for free",
        kinds=frozenset({"numeric"}),
        private=True,
        needs_delta=True,
        cite="this library; second moments of Dwork, Talwar, Thakurta, Zhang 2014",
        evidence="moments",
        check=check,
        measure=measure,
        search=search,
    ),
)
