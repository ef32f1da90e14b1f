"""moment-pc: second moments of numeric columns, released once, tested for ever.

What is measured, and why it is private, is said in ``methods/moments.py``; the rest is free.
"""

from __future__ import annotations

import numpy as np

from privet.ci.fisher_z import MomentJudge
from privet.evidence.moments import MomentEvidence
from privet.methods.moments import check, measure
from privet.methods.registry import Method, Searched, Settings
from privet.methods.weighed import weighed_search
from privet.queries import Release
from privet.schema import Schema


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
