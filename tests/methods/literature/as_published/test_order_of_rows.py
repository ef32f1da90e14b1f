"""What is exact is a function of which rows there are, bit for bit, and not of their order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import privet
from privet.methods import catalogue
from privet.methods.literature.as_published.group_order import Doubts
from privet.methods.literature.as_published.rivals import RIVALS, Choices
from privet.methods.literature.as_published.site_scores import Gram, SplineCovariances
from privet.methods.searches.causal_order import CausalOrder
from privet.pairs.algorithms.on_rows import METHODS
from privet.pairs.ways.row_scores import PairScores
from privet.privacy.queries.base import Query
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.session import without_privacy
from tests.search.test_pc import no_knowledge

NAMES = tuple("abcde")
SCHEMA = Schema(
    name="site",
    columns=tuple(Column(name=name, kind="numeric", bounds=(-30, 30)) for name in NAMES),
)


def table(order: int, rows: int = 3000) -> dict[str, Any]:
    """The same rows each time, in another order: copies of a column but for the last digits, so
    that several graphs are nearly as good as each other."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=rows) ** 3
    each = [x, *(x * (1 + 1e-7 * rng.normal(size=rows)) for _ in range(3)), rng.normal(size=rows)]
    shuffled = np.random.default_rng(order).permutation(rows)
    return {name: column[shuffled] for name, column in zip(NAMES, each, strict=True)}


ASKED: list[Query] = [
    SplineCovariances(),
    Gram(),
    Doubts(before=(0,)),
    CausalOrder(columns=NAMES),
    *(PairScores(x=x, y=y, algorithm=a) for a in METHODS for x, y in permutations("abe", 2)),
]


@pytest.mark.parametrize("query", ASKED, ids=str)
def test_answers_are_the_same_bit_for_bit(query: Query) -> None:
    answers = [without_privacy(table(order, 700), SCHEMA).exact(query).values for order in range(3)]
    assert all(np.array_equal(answers[0], each) for each in answers[1:])


@pytest.mark.parametrize("name", [rival.name for rival in RIVALS])
@pytest.mark.parametrize("score", ["mdl", "bic"])
def test_rivals_find_the_same_graph(name: str, score: str) -> None:
    rival = {rival.name: rival for rival in RIVALS}[name]
    if score == "mdl" and ("score" not in rival.uses or name == "pooled"):
        pytest.skip("it has no such score")
    found = []
    for order in range(3):
        sites = [without_privacy(table(order, rows), SCHEMA) for rows in (600, 900)]
        found.append(rival.run(sites, no_knowledge(len(NAMES)), Choices(score=score)).matrix)
    assert all(np.array_equal(found[0], each) for each in found[1:])


EXACT = sorted(
    method.name
    for method in catalogue.available()
    if not method.private and "numeric" in method.kinds
)


@pytest.mark.parametrize("method", EXACT)
def test_exact_methods_find_the_same_graph(method: str) -> None:
    made = [
        privet.discover(table(order, 500), SCHEMA, private=False, method=method).graph
        for order in range(3)
    ]
    assert made[0] == made[1] == made[2]
