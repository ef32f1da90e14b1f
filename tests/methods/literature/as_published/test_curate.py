"""SVT-PC, Priv-PC and CURATE as published: the audit finds what is wrong, and clears ours.

Two neighbouring tables, many tests on each, one event; Clopper and Pearson's limits give a lower
bound on epsilon that is right with probability 1 - 1e-6 (docs/published.md, proofs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import exp, inf, log, nan, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, kendalltau, norm

from privet.methods.literature.as_published.curate import CLAIMED, Band, leakage
from privet.methods.literature.as_published.kendall import claimed_sensitivity, concordance, p_value
from privet.methods.literature.as_published.sieve import (
    SieveAndExamine,
    SieveOnly,
    _sample,
    per_run,
)
from privet.methods.options import Settings
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import AboveThreshold, Laplace
from privet.privacy.queries.dependence import Dependence, bound
from privet.privacy.queries.dependence_counts import STATISTICS
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

EACH = 1e-6 / 8  # false alarms of each of two limits for each of four events
EPSILON = 1.0
Integers = NDArray[np.int64]


def pair(rows: int) -> tuple[Integers, Integers]:
    """Stratum A of 40 records with x like y; stratum B, all others, with x constant, and in the
    neighbour one record of B with another x."""
    half = (rows - 40) // 2
    a = np.array([[16, 4], [4, 16]])
    table = np.stack([a, [[0, 0], [half, half]]], axis=2)
    neighbour = np.stack([a, [[1, 0], [half - 1, half]]], axis=2)
    return table, neighbour


TABLE, NEIGHBOUR = pair(50_000)
ROWS = int(TABLE.sum())


def lower_bound(hits: int, misses: int, runs: int) -> float:
    """An epsilon too small to be true, from how often an event happened on either table."""
    low = beta.ppf(EACH, hits, runs - hits + 1) if hits else 0.0
    high = beta.ppf(1 - EACH, misses + 1, runs - misses) if misses < runs else 1.0
    return log(low / high) if low > 0 else -inf


def audited(decide: Callable[[Integers], bool], runs: int) -> float:
    """The best of the four events that one bit allows."""
    yes = [sum(decide(table) for _ in range(runs)) for table in (TABLE, NEIGHBOUR)]
    no = [runs - count for count in yes]
    return max(lower_bound(a, b, runs) for a, b in (yes, no, yes[::-1], no[::-1]))


# --- the statistic ---------------------------------------------------------------------------


def test_one_record_moves_the_p_value_forty_times_as_far_as_claimed() -> None:
    moved = abs(p_value(TABLE) - p_value(NEIGHBOUR))
    assert moved > 40 * claimed_sensitivity(ROWS)  # row 11
    assert moved > 250 * CLAIMED / sqrt(ROWS)  # row 12
    small, near = pair(10_000)
    assert p_value(small) == pytest.approx(0.003, abs=5e-4)
    assert p_value(near) == pytest.approx(0.427, abs=5e-4)


def test_without_strata_curate_s_claim_is_wrong_and_priv_pc_s_right() -> None:
    """Ranks in order but for one record, which moves from the top to the bottom."""
    rows = 400
    ranks = np.arange(rows)

    def p(x: Integers, y: Integers) -> float:
        table = np.zeros((rows, rows, 1), dtype=np.int64)
        np.add.at(table, (x, y, np.zeros(rows, dtype=int)), 1)
        return p_value(table)

    draw = np.random.default_rng(1)
    most = 0.0
    for _ in range(20):
        y = draw.permutation(rows)
        x = ranks.copy()
        x[np.argmax(np.abs(y - y.mean()))] = 0
        for place in (0, rows - 1):
            z = x.copy()
            z[np.argmax(y)] = place
            w = x.copy()
            w[np.argmax(y)] = rows - 1 - place
            most = max(most, abs(p(z, y) - p(w, y)))
    assert most > 3 * CLAIMED / sqrt(rows)
    assert most <= claimed_sensitivity(rows)


def test_the_p_value_is_the_one_of_the_authors() -> None:
    """Against tau-a and its normal law, written out record by record."""
    draw = np.random.default_rng(2)
    for _ in range(30):
        table = draw.integers(0, 6, (3, 2, 4))
        numerator = weights = 0.0
        for k in range(4):
            cells = [(i, j) for i in range(3) for j in range(2) for _ in range(table[i, j, k])]
            m = len(cells)
            if m <= 2 or len({i for i, _ in cells}) < 2 or len({j for _, j in cells}) < 2:
                continue
            s = sum(np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]) for a, b in combinations(cells, 2))
            assert concordance(table[:, :, k : k + 1])[0] == s
            weight = 9 * m * (m - 1) / (4 * m + 10)
            numerator += weight * s / (m * (m - 1) / 2)
            weights += weight
        if weights:
            assert p_value(table) == pytest.approx(norm.sf(abs(numerator / sqrt(weights))))
    assert np.isnan(p_value(np.array([[[5], [5]], [[0], [0]]])))
    x, y = draw.permutation(50), draw.permutation(50)
    plain = np.zeros((50, 50, 1), dtype=np.int64)
    plain[x, y, 0] = 1
    z = kendalltau(x, y).statistic / sqrt((4 * 50 + 10) / (9 * 50 * 49))
    assert p_value(plain) == pytest.approx(norm.sf(abs(z)))


# --- the published methods are convicted -----------------------------------------------------


def test_svt_pc_as_published_is_convicted() -> None:
    rng = np.random.default_rng(11)

    def decide(table: Integers) -> bool:
        sieve = SieveOnly(
            epsilon=EPSILON, sensitivity=claimed_sensitivity(ROWS), alpha=0.05, rng=rng
        )
        return sieve(table)

    assert audited(decide, 3000) > 2 * EPSILON


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_priv_pc_as_published_is_convicted(rate: float) -> None:
    rng = np.random.default_rng(12)

    def decide(table: Integers) -> bool:
        return SieveAndExamine(
            epsilon=EPSILON, sensitivity=claimed_sensitivity(ROWS), alpha=0.05, rate=rate, rng=rng
        )(table)

    assert audited(decide, 3000) > 2 * EPSILON


def test_curate_as_published_is_convicted() -> None:
    rng = np.random.default_rng(13)
    band = Band(epsilon=EPSILON, rows=ROWS, settings=Settings(), rng=rng)
    assert audited(lambda table: band(table)[0], 3000) > 4 * EPSILON


def test_the_audit_clears_the_same_noise_on_an_honest_statistic() -> None:
    """SVT-PC's first sieve with a p-value that moves as little as claimed is not convicted."""
    rng = np.random.default_rng(14)
    moved = claimed_sensitivity(ROWS)

    def decide(table: Integers) -> bool:
        p = 0.05 + (moved / 2 if table is TABLE else -moved / 2)
        scale = 2 * moved / EPSILON
        return bool(p + rng.laplace(scale=4 * scale) >= 0.05 + rng.laplace(scale=scale))

    assert audited(decide, 20_000) <= EPSILON


# --- ours is cleared, on the same tables -----------------------------------------------------

SCHEMA = Schema(
    name="audited",
    columns=tuple(Column(name=n, kind="categorical", levels=("0", "1")) for n in "xyz"),
    adjacency=Adjacency.REPLACE_ONE,
    rows=ROWS,
)
QUESTION = ("x", "y", "z")


@pytest.mark.parametrize("statistic", [s for s in STATISTICS if s != "g2"])
def test_our_statistics_stay_within_their_bounds_on_these_tables(statistic: str) -> None:
    one, other = STATISTICS[statistic](np.stack([TABLE, NEIGHBOUR])).tolist()
    assert abs(one - other) <= bound(statistic, SCHEMA)


class Ready(Vault):
    """A vault whose rows are encoded already."""

    def __init__(self, rows: MemoryRows) -> None:
        run = Ledger(":memory:").begin(
            "audited", epsilon=EPSILON, delta=0, method="audit", unit=SCHEMA.unit
        )
        self.schema, self._run, self._rows = SCHEMA, run, rows


def rows_of(table: Integers) -> MemoryRows:
    cells = np.argwhere(table >= 0)
    records = np.repeat(cells, table.ravel(), axis=0).astype(np.uint8)
    return MemoryRows(SCHEMA, lambda: {n: records[:, i] for i, n in enumerate("xyz")}, dict)


@pytest.mark.parametrize("door", ["sieve", "examine"])
def test_ours_is_cleared(door: str) -> None:
    """The conditional test of svt-pc (the sieve) and of priv-pc and curate (an examination),
    with the bar half-way between the two tables, where the audit sees most."""
    ready = {id(table): rows_of(table) for table in (TABLE, NEIGHBOUR)}
    one, other = STATISTICS["kendall"](np.stack([TABLE, NEIGHBOUR])).tolist()
    query = Dependence("kendall", (QUESTION,), ((one + other) // 2,))

    def decide(table: Integers) -> bool:
        vault = Ready(ready[id(table)])
        if door == "sieve":
            return next(vault.sieve([query], AboveThreshold(epsilon=Fraction(1)), 0))
        return bool(vault.release(query, Laplace(epsilon=Fraction(1))).values[0] > 0)

    assert audited(decide, 700) <= EPSILON


# --- what they report ------------------------------------------------------------------------


def test_tests_that_keep_an_edge_cost_nothing_in_curate_s_account() -> None:
    """Row 15: a thousand tests at 0.1 that all keep are reported as nothing, though the
    probability of just that differs between neighbours."""
    assert leakage([0], [0.1], 1e-14) == 0.0
    assert leakage([1000], [0.1], 1e-14) == pytest.approx(
        1000 * 0.01 + sqrt(2 * log(1e14) * 1000) * 0.1
    )
    assert leakage([3, 4], [0.1, 0.2], 0.0) == pytest.approx(3 * 0.1 + 4 * 0.2)


def test_the_coin_of_curate_s_code_always_keeps() -> None:
    """Row 17: in doubt means keep, and is charged."""
    band = Band(
        epsilon=1e9,
        rows=100,
        settings=Settings(alpha=0.3, beta1=0.5, beta2=0.5),
        rng=np.random.default_rng(1),
    )
    within = np.array([[[26], [24]], [[24], [26]]])
    assert 0.15 < p_value(within) < 0.45
    assert {band(within) for _ in range(20)} == {(False, True)}


@pytest.mark.parametrize("runs", [1, 20, 500])
@pytest.mark.parametrize("total", [0.1, 1.0, 10.0])
def test_the_epsilon_of_a_run_gives_back_the_reported_total(total: float, runs: int) -> None:
    each = per_run(total, runs, log(1e6))
    reported = sqrt(2 * runs * log(1e6)) * each + runs * each * (exp(each) - 1)
    assert reported == pytest.approx(total) or each == total / runs
    assert per_run(total, runs, inf) == pytest.approx(total / runs)


def test_a_test_without_a_stratum_keeps_its_edge() -> None:
    rng = np.random.default_rng(3)
    empty = np.zeros((2, 2, 3), dtype=np.int64)
    assert p_value(empty) is nan
    sieve = SieveOnly(epsilon=1e-3, sensitivity=1.0, alpha=0.05, rng=rng)
    assert not any(sieve(empty) for _ in range(50))
    assert _sample(TABLE, 0.5, rng).sum() == ROWS // 2
    assert (_sample(TABLE, 0.5, rng) <= TABLE).all()
