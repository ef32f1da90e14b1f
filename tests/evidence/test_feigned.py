"""What weights of rows make of independent columns is foreseen, and tests do not believe it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from privet.arrays import Floats
from privet.evidence.feigned import Feigned, MadeUp, bent, kept_share
from privet.evidence.tables import TableEvidence
from privet.evidence.white import Design
from privet.independence.tables import TableJudge
from privet.privacy.queries.base import Query, Release
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import White
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.encoded import encoded

UNEVEN = [np.array([0.9, 0.06, 0.04]), np.array([0.95, 0.05]), np.array([0.8, 0.2])]
# Two causes that have nothing to do with each other, each with three effects.
NAMES = tuple("abcdefgh")
CLUSTERS = ((0, 1, 2, 3), (4, 5, 6, 7))
ACROSS = np.array(list(product(*CLUSTERS)))
SCHEMA = Schema(
    name="t",
    columns=tuple(Column(name=name, kind="categorical", levels=("no", "yes")) for name in NAMES),
)


def exact_curvature(shares: list[Floats], radius: float) -> tuple[float, float]:
    """The share of the rows that is kept, by weight, and κ of the pairs, from all rows."""
    rows = np.array(list(product(*(range(len(share)) for share in shares))))
    often = np.prod([share[rows[:, i]] for i, share in enumerate(shares)], axis=0)
    lengths = np.stack([(1 / share - 1)[rows[:, i]] for i, share in enumerate(shares)])
    total = lengths.sum(axis=0)
    squared = 1 + total + (total**2 - (lengths**2).sum(axis=0)) / 2
    left = often * np.minimum(1.0, radius / np.sqrt(squared))
    made = spread = 0.0
    for i, j in combinations(range(len(shares)), 2):
        table = np.zeros((len(shares[i]), len(shares[j])))
        np.add.at(table, (rows[:, i], rows[:, j]), left / left.sum())
        p, q = table.sum(axis=1), table.sum(axis=0)
        one, other = p / shares[i], q / shares[j]
        one, other = one - p @ one, other - q @ other
        made += one @ (table - np.outer(p, q)) @ other
        spread += (p @ one**2) * (q @ other**2)
    return float(left.sum()), float(made / spread)


@pytest.mark.parametrize("radius", [2.0, 5.0, 12.0])
def test_the_curvature_is_that_of_all_rows(radius: float) -> None:
    shares = [*UNEVEN, *UNEVEN[:2]]
    kept, wanted = exact_curvature(shares, radius)
    assert 0.3 < kept < 0.99
    found = MadeUp.of([1 / share - 1 for share in shares]).curvature(kept)
    assert found == pytest.approx(wanted, rel=0.3, abs=0.1)


@pytest.mark.parametrize("after", [-50.0, 0.0, 300.0, 594.0, 600.0, 900.0, 1e5])
@pytest.mark.parametrize("blur", [0.0, 60.0, 2000.0])
def test_rows_that_noise_has_made_give_no_curvature_without_bounds(
    after: float, blur: float
) -> None:
    """More rows after than before, nearly as many, or fewer than none."""
    for before in (600.0, 0.0, -30.0):
        kept = kept_share(before, blur**2, after, blur**2)
        assert kept <= 0.99
        for shares in (UNEVEN, UNEVEN[:2], [*UNEVEN, np.ones(1)]):
            assert abs(MadeUp.of([1 / share - 1 for share in shares]).curvature(kept)) < 200
    assert kept_share(600.0, 60.0**2, 600.0, 0.0) == pytest.approx(0.9)
    assert kept_share(600.0, 1.0, 300.0, 1.0) == 0.5


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99, 1.0])
def test_levels_that_are_kept_alike_have_no_curvature(kept: float) -> None:
    even = [np.full(k, 1 / k) for k in (2, 3, 4, 5)]
    for some in (even, [*even, UNEVEN[0]], [np.ones(1), np.ones(1)]):
        assert MadeUp.of([1 / share - 1 for share in some]).curvature(kept) == 0.0


def test_how_unevenly_levels_were_kept_is_told_by_margins() -> None:
    before, after, calm = np.array([0.9, 0.1]), np.array([0.96, 0.04]), np.zeros(2)
    assert bent(before, calm, after, calm) == pytest.approx(after / before - 1)
    loud = np.full(2, 0.04**2)  # could have made half of it
    drawn = bent(before, loud, after, calm)
    assert 0 < drawn[0] < after[0] / before[0] - 1 and -0.5 < drawn[1] < -0.2
    assert not bent(before, np.ones(2), after, calm).any()


def in_proportion(rare: float, sure: float) -> list[list[int]]:
    """Rows of both clusters as often as they are expected, in a table of 200,000."""
    out = []
    for row in product(range(2), repeat=len(NAMES)):
        often = 2e5
        for cause, *effects in CLUSTERS:
            often *= (1 - rare, rare)[row[cause]]
            for effect in effects:
                often *= sure if row[effect] == row[cause] else 1 - sure
        out += [list(row)] * round(often)
    return out


def weighed(rows: list[list[int]], radius: float) -> TableEvidence:
    """Released with noise that one would not notice."""
    data = encoded(SCHEMA, rows)
    shares = [np.bincount(column, minlength=2) / len(rows) for column in np.array(rows).T]
    design = Design.of(NAMES, shares, float(len(rows)))
    square = radius * float(design._squared(design.all_pairs).mean())
    clip = design._clip(design.all_pairs, square)
    queries: list[Query] = [Components(((),)), Components(tuple((name,) for name in NAMES))]
    queries.append(White(columns=NAMES, features=design.features, clips=(clip,)))
    releases = [
        Release(query=q, values=q.evaluate(data, SCHEMA), variance=1.0, mechanism="Gaussian")
        for q in queries
    ]
    return TableEvidence.from_releases(SCHEMA, NAMES, releases)


@pytest.mark.parametrize("radius", [0.2, 1.0])
def test_what_weights_feign_is_not_believed(radius: float) -> None:
    evidence = weighed(in_proportion(rare=0.1, sure=0.9), radius)
    found = TableJudge(evidence, 0.2).margins(ACROSS)
    fooled = TableJudge(replace(evidence, feigned=None), 0.2).margins(ACROSS)
    assert (fooled > 0).sum() >= 7 and (found > 0).sum() <= 1  # of 16; the causes are bent most
    assert found.max() < fooled.max() / 5
    within = np.array([pair for each in CLUSTERS for pair in combinations(each, 2)])
    assert TableJudge(evidence, 0.2).margins(within).min() > 50


def test_without_margins_before_nothing_is_known_to_be_feigned() -> None:
    evidence = weighed(in_proportion(rare=0.3, sure=0.7), 1.0)
    assert evidence.feigned is not None and evidence.feigned.bends.any()
    calm = Feigned.of([1 / share - 1 for share in UNEVEN], 0.5, [np.zeros(3)] * 3)
    assert calm.curvature == 0.0 and not calm.bends.any()
