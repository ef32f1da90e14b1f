"""The site as a column: what it would be if all rows were in one place, with noise to match."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privet.evidence.site_column import with_site
from privet.evidence.tables import TableEvidence, components_query
from privet.independence.tables import TableJudge
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import contrasts
from privet.schema.model import Column, Schema

LEVELS = (2, 3, 4)
NAMES = ("a", "b", "c")
SITES = 3
SCHEMA = Schema(
    name="t",
    columns=tuple(
        Column(name=n, kind="categorical", levels=tuple(map(str, range(k))))
        for n, k in zip(NAMES, LEVELS, strict=True)
    ),
)
SETS = [s for order in range(4) for s in combinations(range(3), order)]


def evidence(
    table: np.ndarray, variance: float = 0.0, without: tuple[int, ...] | None = None
) -> TableEvidence:
    """Of a table of counts: all its components, but for one set."""
    found = TableEvidence.empty(SCHEMA, NAMES)
    for members in SETS:
        if members == without:
            continue
        part = table.sum(axis=tuple(i for i in range(3) if i not in members))
        for axis, column in enumerate(members):
            h = contrasts(LEVELS[column], ordered=False)
            part = np.moveaxis(np.tensordot(h, part, (1, axis)), 0, axis)
        release = Release(
            query=components_query(NAMES, [members]),
            values=np.asarray(part).reshape(-1),
            variance=variance,
            mechanism="made up",
        )
        found = found.add(release)
    return found


def tables(seed: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(1, 200, size=LEVELS) for _ in range(SITES)]


def test_it_is_the_table_of_all_rows_with_their_sites() -> None:
    counts = tables()
    found = with_site([evidence(table) for table in counts])
    whole = np.stack(counts, axis=-1)
    assert found.exact and found.cardinalities == (*LEVELS, SITES)
    for members in [s for order in range(1, 5) for s in combinations(range(4), order)]:
        left = tuple(i for i in range(4) if i not in members)
        assert found.tables(np.array([members]))[0] == pytest.approx(whole.sum(axis=left))


def test_noise_is_that_of_the_loudest_site_and_gaps_stay_gaps() -> None:
    counts = tables()
    parts = [evidence(t, v) for t, v in zip(counts, (1.0, 4.0, 2.0), strict=True)]
    found = with_site(parts)
    assert found.layers[2].variances.max() == pytest.approx(3 * 4.0 * 2**20 / 3, rel=0.01)
    assert found.blocks(np.array([[0, 1]]))[1][0] == 3 * 4.0
    parts[0] = evidence(counts[0], 1.0, without=(0, 1, 2))
    gap = with_site(parts)
    assert not gap.measured(np.array([[0, 1, 2, 3]]))[0]
    assert gap.measured(np.array([[0, 1, 3]]))[0]


def test_alike_and_different_columns_are_told_apart() -> None:
    """a leans at one site; b depends on a in the same way everywhere; c is the same."""
    rows = 20_000
    counts = []
    for share in (0.3, 0.7, 0.5):
        a, c = np.array([share, 1 - share]), np.full(4, 0.25)
        b = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
        counts.append(np.rint(rows * a[:, None, None] * b[:, :, None] * c).astype(int))
    judge = TableJudge(with_site([evidence(t, 1e6) for t in counts]), alpha=1.0)
    a, b, c, given_a, given_b = judge.margins(np.array([[3, 0], [3, 1], [3, 2]])).tolist() + (
        judge.margins(np.array([[3, 1, 0], [3, 0, 1]])).tolist()
    )
    assert min(a, b, given_b) > 100 and max(c, given_a) < -3
