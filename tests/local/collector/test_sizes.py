"""Every test on reports holds its level where shares are skewed, for every protocol.

u --> x, u --> y, and v by itself; of u one person in ten has the second level, of v one in twenty
the third, and x and y are skewed given u. 1,000 collections of reports, their counts drawn from
their law; a size that is right fails once in a million (``reports.sized``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privet.local import plan_protocol
from privet.local.collector import independence as ci
from privet.local.collector.counts import LeftOut, as_release
from privet.local.collector.ibu import views
from privet.local.collector.minimum_chi2 import minimum_chi2
from privet.local.collector.tables import LocalEvidence
from tests.helpers.reports import Floats, releases, schema_of, shares, shown, sized, stack, tallies

COLLECTIONS = 1_000
SIZES = (2, 3, 2, 3)  # of u, v, x, y
QUESTIONS = {0: [[1, 2], [1, 3]], 1: [[2, 3, 0]], 2: [[2, 3, 0, 1]]}


def skewed() -> Floats:
    u, v = np.array([0.9, 0.1]), np.array([0.8, 0.15, 0.05])
    x = np.array([[0.85, 0.15], [0.3, 0.7]])
    y = np.array([[0.7, 0.2, 0.1], [0.15, 0.15, 0.7]])
    return np.asarray(np.einsum("u,v,ux,uy->uvxy", u, v, x, y))


CASES: list[tuple[str, float, int, dict[str, Any]]] = [
    ("planned-block", 2, 400_000, {}),
    ("planned-block", 8, 50_000, {}),
    ("one-pair", 3, 200_000, {}),
    ("one-triple", 4, 200_000, {}),
    ("combined", 3, 200_000, {}),
    ("parity", 1, 400_000, {}),
    ("component-wise", 8, 100_000, {"split": "levels"}),
    ("geometric", 10, 100_000, {}),
    ("geometric", 10, 100_000, {"clamped": True}),
]


@pytest.mark.parametrize(("name", "epsilon", "people", "options"), CASES)
def test_the_level_is_held_where_shares_are_skewed(
    name: str, epsilon: float, people: int, options: dict[str, Any]
) -> None:
    protocol = plan_protocol(schema_of(SIZES), epsilon, name, **options)
    evidence = stack(releases(protocol, skewed(), people, COLLECTIONS, np.random.default_rng(21)))
    for order, questions in QUESTIONS.items():
        asked = np.array(questions)
        if order == 2 and not evidence.known(np.array([[0, 1, 2]])).all():
            continue
        found = ci.tested(evidence, asked)
        sure = found.freedom > 0
        assert sure.mean() > 0.99
        assert sized(found.p_value[sure]) == (True, True), order


@pytest.mark.parametrize(("norm", "clamped"), [(2, True), (math.inf, False)])
def test_the_level_is_held_on_whole_rows(norm: float, clamped: bool) -> None:
    """The law of their errors is read from the reports, so each collection has its own."""
    protocol = plan_protocol(
        schema_of((2, 2, 3)), 4, "geometric-combined", norm=norm, clamped=clamped
    )
    joint = skewed().sum(axis=1)  # of u, x, y
    apart = np.einsum("u,x,y->uxy", *(joint.sum(axis=a) for a in ((1, 2), (0, 2), (0, 1))))
    asked = (0, [[1, 2]], shown(protocol, apart)), (1, [[1, 2, 0]], shown(protocol, joint))
    rng = np.random.default_rng(22)
    p_values: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(COLLECTIONS):
        for order, question, law in asked:
            release = as_release(protocol, tallies(law, [100_000], rng), LeftOut(), 2)
            found = ci.tested(LocalEvidence.from_release(release), np.array(question))
            if found.freedom[0]:
                p_values[order].append(float(found.p_value[0]))
    for order, found_p in p_values.items():
        assert len(found_p) > 0.99 * COLLECTIONS
        assert sized(np.array(found_p)) == (True, True), order


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("combined", 1), ("planned-block", 4), ("parity", 1), ("component-wise", 4)],
)
def test_minimum_chi_square_keeps_its_level_on_every_kind_of_reports(
    name: str, epsilon: float
) -> None:
    protocol = plan_protocol(schema_of((2, 3, 2)), epsilon, name)
    joint = np.einsum("x,y,z->xyz", [0.85, 0.15], [0.7, 0.2, 0.1], [0.5, 0.5])
    people = np.rint(60_000 * shares(protocol)).astype(int).tolist()
    laws, rng = shown(protocol, joint), np.random.default_rng(23)
    found = [
        minimum_chi2(views(protocol, tallies(laws, people, rng), (0, 1)), (2, 3))
        for _ in range(COLLECTIONS)
    ]
    assert {one.freedom for one in found} == {2}
    assert sized(np.array([one.p_value for one in found])) == (True, True)
