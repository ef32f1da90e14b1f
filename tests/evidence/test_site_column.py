"""The site as a column: what it would be if all rows were in one place, with noise to match."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from privet.errors import EvidenceError
from privet.evidence.site_column import with_site
from privet.evidence.tables import TableEvidence, components_query
from privet.independence.tables import TableJudge
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import GRID, contrasts
from privet.schema.column import Column
from privet.schema.model import Schema

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
    table: np.ndarray,
    variance: float = 0.0,
    without: tuple[int, ...] | None = None,
    noise: np.random.Generator | None = None,
) -> TableEvidence:
    """Of a table of counts: all its components, but for one set. With ``noise``, it is added, and
    the variance is that of a component in units of its own grid."""
    found = TableEvidence.empty(SCHEMA, NAMES)
    for members in SETS:
        if members == without:
            continue
        part = table.sum(axis=tuple(i for i in range(3) if i not in members))
        for axis, column in enumerate(members):
            h = contrasts(LEVELS[column], ordered=False)
            part = np.moveaxis(np.tensordot(h, part, (1, axis)), 0, axis)
        values, spread = np.asarray(part, dtype=float).reshape(-1), variance
        if noise is not None:
            spread = variance * GRID ** (2 * len(members))
            values = values + noise.normal(scale=np.sqrt(spread), size=len(values))
        release = Release(
            query=components_query(NAMES, [members]),
            values=values,
            variance=spread,
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


def test_sites_that_weighed_their_rows_are_refused() -> None:
    calm, weighed = map(evidence, tables()[:2])
    weighed = replace(weighed, features=tuple(np.eye(k)[:, 1:] for k in LEVELS))
    with pytest.raises(EvidenceError, match="weighed their rows"):
        with_site([calm, weighed])


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


RUNS, ALPHA, FALSE_ALARM = 80, 0.02, 1e-6
ASKED = ([[3, 0], [3, 1]], [[3, 1, 0], [3, 0, 1]])


def above(variance: float, understated: float) -> int:
    """How many of some hundred Bayes factors exceed 1/ALPHA where sites are alike."""
    rng = np.random.default_rng(7)
    shares = rng.dirichlet(np.full(24, 2.0))
    found = 0
    for _ in range(RUNS):
        parts = []
        for _site in range(SITES):
            table = rng.multinomial(2000, shares).reshape(LEVELS)
            noisy = evidence(table, variance, noise=rng)
            layers = {
                order: replace(layer, variances=layer.variances / understated)
                for order, layer in noisy.layers.items()
            }
            parts.append(replace(noisy, layers=layers))
        judge = TableJudge(with_site(parts), alpha=ALPHA)
        found += sum(int((judge.margins(np.array(some)) > 0).sum()) for some in ASKED)
    return found


def test_sites_that_are_alike_are_rarely_called_different() -> None:
    """Four questions a run, each of which errs with probability ALPHA at most; a limit that holds
    whatever they share: as if each run were all of its questions at once."""
    limit = 4 * int(binom.ppf(1 - FALSE_ALARM, RUNS, ALPHA))
    assert above(4000.0, 1.0) <= limit < above(4000.0, 1000.0), "noise understated is found out"
