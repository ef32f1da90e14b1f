"""Tests on weighed rows are those on contrasts where no row is weighed down, also at one of two
sites."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privet.evidence.tables import TableEvidence, components_query
from privet.independence.joint import JointTableJudge
from privet.independence.tables import TableJudge
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.queries.base import Query, Release
from privet.privacy.queries.white import LARGEST_RADIUS, Clip, White
from privet.schema.column import Column
from privet.schema.model import Schema

LEVELS = (2, 3, 3, 3)
SCHEMA = Schema(
    name="t",
    columns=tuple(
        Column(name=f"c{i}", kind="ordinal" if i == 2 else "categorical", levels=tuple("abc"[:k]))
        for i, k in enumerate(LEVELS)
    ),
)
SETS = [s for order in range(4) for s in combinations(range(4), order)]


def rows(seed: int) -> MemoryRows:
    rng = np.random.default_rng(seed)
    first = rng.integers(2, size=3000)
    others = [(first + rng.integers(k + 1, size=3000)) % k for k in LEVELS[1:]]
    codes = {f"c{i}": x.astype(np.uint8) for i, x in enumerate([first, *others])}
    return MemoryRows(SCHEMA, lambda: codes, dict)


def evidence(asked: list[Query], seed: int) -> TableEvidence:
    releases = [
        Release(query=q, values=q.evaluate(rows(seed), SCHEMA), variance=0.0, mechanism="Exact")
        for q in asked
    ]
    return TableEvidence.from_releases(SCHEMA, SCHEMA.names, releases)


def contrasts(seed: int) -> TableEvidence:
    orders = [[s for s in SETS if len(s) == order] for order in range(4)]
    return evidence([components_query(SCHEMA.names, sets) for sets in orders], seed)


def white(seed: int) -> TableEvidence:
    rng = np.random.default_rng(seed + 100)  # features of its own at each site
    features = tuple(
        tuple(tuple(int(x) for x in level) for level in rng.integers(-40, 40, size=(k, k - 1)))
        for k in LEVELS
    )
    sets = tuple(tuple(SCHEMA.names[i] for i in members) for members in SETS)
    clip = Clip(sets=sets, multipliers=(1, 1, 1, 1), radius=LARGEST_RADIUS)
    query = White(columns=SCHEMA.names, features=features, clips=(clip,))
    query.check(SCHEMA)
    return evidence([query], seed)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_answers_are_the_same_in_other_features(order: int) -> None:
    pairs = list(combinations(range(4), 2))
    questions = np.array(
        [
            (*pair, *given)
            for pair in pairs
            for given in combinations([i for i in range(4) if i not in pair], order)
        ]
    )
    wanted = TableJudge(contrasts(1), 0.1).margins(questions)
    assert TableJudge(white(1), 0.1).margins(questions) == pytest.approx(wanted, abs=1e-4)
    both = JointTableJudge((contrasts(1), contrasts(2)), 0.1).margins(questions)
    for sites in ((white(1), contrasts(2)), (contrasts(1), white(2)), (white(1), white(2))):
        assert JointTableJudge(sites, 0.1).margins(questions) == pytest.approx(both, abs=1e-4)
