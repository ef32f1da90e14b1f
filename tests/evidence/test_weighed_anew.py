"""Rows that are weighed anew: what is told of others of these before, and what must not be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import numpy as np
import pytest

from privet.arrays import Floats, Integers
from privet.errors import EvidenceError
from privet.evidence.tables import TableEvidence
from privet.evidence.white import Design
from privet.independence.tables import TableJudge
from privet.privacy.queries.base import Release
from privet.privacy.queries.white import WEIGHT, White
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.encoded import encoded

NAMES = tuple("abcdef")
SCHEMA = Schema(
    name="t",
    columns=tuple(Column(name=name, kind="categorical", levels=("no", "yes")) for name in NAMES),
)
SINGLE = [(), *((i,) for i in range(len(NAMES)))]
FEW = [*SINGLE, (0, 1)]
RARE = 0.1


def table(alike: float, rows: int = 20_000) -> Integers:
    """Rows of columns that are one and the same in so many of them."""
    rng = np.random.default_rng(4)
    own, same = rng.random((rows, len(NAMES))), rng.random((rows, 1))
    return np.asarray((np.where(rng.random(own.shape) < alike, same, own) < RARE).astype(int))


def asked(rows: Integers, shares: float = RARE) -> list[White]:
    """All pairs, of rows that are weighed down; and one pair, of rows that hardly are."""
    design = Design.of(NAMES, [np.array([1 - shares, shares])] * len(NAMES), float(len(rows)))
    out = []
    for sets, radius in ((design.all_pairs, 0.1), (FEW, 6.0)):
        clip = design._clip(sets, radius * float(design._squared(sets).mean()))
        out.append(White(columns=NAMES, features=design.features, clips=(clip,)))
    return out


def released(rows: Integers, queries: Sequence[White]) -> list[Release]:
    data = encoded(SCHEMA, rows.tolist())
    return [
        Release(query=q, values=q.evaluate(data, SCHEMA), variance=1e6, mechanism="Gaussian")
        for q in queries
    ]


def spread(rows: Integers, query: White) -> tuple[float, Floats, Floats]:
    """Of weighed rows: how many, the share of "yes", and how columns vary together."""
    weights = query.weights(dict(zip(NAMES, rows.T.astype(np.uint8), strict=True))) / WEIGHT
    shares = weights @ rows / weights.sum()
    return (
        weights.sum(),
        shares,
        (rows.T * weights) @ rows / weights.sum() - np.outer(shares, shares),
    )


def test_pairs_vary_as_they_did_before_and_margins_are_those_of_the_last_weights() -> None:
    rows = table(0.5)
    queries = asked(rows)
    (before, old, varied), (after, new, last) = (spread(rows, query) for query in queries)
    assert before < 0.8 * after and (new > 1.2 * old).all()  # other rows
    evidence = TableEvidence.from_releases(SCHEMA, NAMES, released(rows, queries))
    assert float(evidence.rows) == pytest.approx(after)
    pairs = np.array(list(combinations(range(len(NAMES)), 2)))
    for (i, j), found in zip(pairs.tolist(), evidence.tables(pairs) / after, strict=True):
        assert [found[1].sum(), found[:, 1].sum()] == pytest.approx(new[[i, j]])
        apart = found[1, 1] - new[i] * new[j]
        if (i, j) == (0, 1):  # measured twice: in between, nearer to what has less noise
            assert min(varied[i, j], last[i, j]) < apart < max(varied[i, j], last[i, j])
        else:
            assert apart == pytest.approx(varied[i, j])


def test_other_margins_do_not_make_columns_dependent() -> None:
    rows = table(0.0)
    releases = released(rows, asked(rows))
    pairs = np.array(list(combinations(range(len(NAMES)), 2)))
    right = TableEvidence.from_releases(SCHEMA, NAMES, releases)
    empty = TableEvidence.empty(SCHEMA, NAMES)
    wrong = reduce(TableEvidence._weighed, releases, empty)  # as if rows had the same weights
    found, fooled = (TableJudge(each, 0.2).margins(pairs[1:]) for each in (right, wrong))
    assert found.max() < 0 < fooled.min()


def test_features_of_another_run_are_refused() -> None:
    rows = table(0.5, 500)
    mixed = [asked(rows)[0], asked(rows, shares=0.2)[1]]
    with pytest.raises(EvidenceError, match="in different features"):
        TableEvidence.from_releases(SCHEMA, NAMES, released(rows, mixed))
