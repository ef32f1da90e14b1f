"""moment-pc: second moments of numeric columns, released once, tested for ever.

A tenth of the budget finds where each column lies between its bounds (so bounds that are ten
times too wide do little harm), a fifth the rough shape of the data, and the rest measures the
second moments in coordinates in which that shape is round. There every row is as long as any
other, so a small ball holds them all and the noise is small; and since it is the same in every
direction, it adds about the same to every partial correlation. Everything after that is free.

Privacy. Each release is Gaussian noise on exact integers with the sensitivity proved in
``proofs/moments.md``; centres and coordinates are functions of earlier releases and public
facts. So the run is an adaptive composition of at most the run's budget, which the ledger's
filter enforces (``proofs/filter.md``).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.ci.fisher_z import MomentJudge
from privet.errors import MethodError
from privet.evidence.confidence import with_confidence
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
from privet.graph.orient import apply_knowledge
from privet.methods.registry import Method, Searched, Settings
from privet.moment_queries import Locations
from privet.queries import Release
from privet.schema import Schema
from privet.search.constraints import Constraints
from privet.search.stability import Witness, replicated
from privet.search.weighed_pc import WIDEST, arrows, skeleton
from privet.trust.central import Curator

MOST_COLUMNS = 400


def check(schema: Schema, settings: Settings) -> None:
    if len(schema.columns) > MOST_COLUMNS:
        raise MethodError(
            f"the schema has {len(schema.columns)} columns; moment-pc serves up to "
            f"{MOST_COLUMNS}, because all pairs are measured; leave some columns out of the schema"
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
    constraints = Constraints.of(schema.names, schema.knowledge)
    judge = MomentJudge(evidence, settings.alpha)
    witness = Witness(judge)
    first, *others = np.random.default_rng(settings.seed).spawn(settings.replicas + 1)
    settings.on_step("searching", 0.5)
    joined = skeleton(witness, constraints, settings.max_order)
    found = arrows(witness, joined, constraints, first)
    settings.on_step("weighing how sure each edge is", 0.6)
    stack = MomentJudge(evidence.replicas(len(others), first), settings.alpha)
    seen = replicated(stack, witness, found, constraints, others)
    known = partial(apply_knowledge, names=schema.names, knowledge=schema.knowledge)
    graph = with_confidence(schema.names, known(found), [known(replica) for replica in seen])
    return Searched(graph=graph, tests=judge.tests)


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
