"""moment-pc: second moments of numeric columns, released once, tested for ever.

A tenth of the budget finds where each column lies between its bounds (so bounds that are ten
times too wide do no harm), a fifth the rough shape of the data, and the rest measures second
moments in coordinates in which that shape is round. Of each row only the direction is used, so
no row weighs more than another and the noise is as small as it can be; and as it is the same in
all directions, it adds the same to every partial correlation. Everything after that is free.

Privacy. Each release is Gaussian noise on exact integers with the sensitivity proved in
``proofs/moments.md``; centres and coordinates are functions of earlier releases and public
facts. So the run is an adaptive composition of at most the run's budget, which the ledger's
filter enforces (``proofs/filter.md``).
"""

from __future__ import annotations

import numpy as np

from privet.ci.fisher_z import MomentJudge
from privet.errors import MethodError
from privet.evidence.moments import (
    FINAL,
    LOCATION,
    SHAPE,
    MomentEvidence,
    locate,
    standardised,
    uncut,
    whitened,
)
from privet.methods.registry import Method, Searched, Settings
from privet.methods.weighed import weighed_search
from privet.moment_queries import Locations
from privet.queries import Release
from privet.schema import Schema
from privet.search.weighed_pc import WIDEST
from privet.trust.central import Curator

MOST_COLUMNS = 400


def check(schema: Schema, settings: Settings) -> None:
    if len(schema.columns) > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {len(schema.columns)} columns; moment-pc serves up to "
            f"{MOST_COLUMNS}, because all pairs are measured; leave some columns out of the schema"
        )
    for column in schema.columns:
        if column.missing == "level":
            raise MethodError(
                f"column {column.name!r} has missing = \"level\", which is no number; moment-pc "
                "needs a value or drop as missing policy; change it, or use interaction-pc"
            )
    if not 0 <= settings.max_order <= WIDEST:
        raise MethodError(
            f"--max-order is {settings.max_order}; moment-pc forms separators of 0 to {WIDEST} "
            "columns; use one of these"
        )


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    names = curator.schema.names
    settings.on_step("locating the columns", 0.0)
    located = curator.release(Locations(columns=names), LOCATION)
    centres, deviations = locate(located, curator.schema)
    settings.on_step("measuring moments", 0.1)
    if located.variance == 0:  # without privacy: nothing to gain from cutting rows
        return located, curator.release(uncut(names, centres, deviations), SHAPE)
    rough = curator.release(standardised(names, centres, deviations), SHAPE)
    settings.on_step("measuring moments where they are round", 0.3)
    return located, rough, curator.release(whitened(rough), FINAL)


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
