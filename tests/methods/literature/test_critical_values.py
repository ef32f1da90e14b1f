"""Critical values: how often a statistic exceeds them by chance.

The values are approximations. What is tested is that their real level, over all the tables below,
lies between 0.7 and 1.4 times the nominal one; a sound approximation fails one comparison with a
probability below 1e-6.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.methods.literature.critical_values import Margins, level
from privet.privacy.queries.base import Release
from privet.privacy.queries.dependence_counts import STATISTICS, UNIT
from privet.privacy.queries.tables import Tables
from privet.schema.column import Column, Missing
from privet.schema.model import Adjacency, Schema

Floats = NDArray[np.float64]
Shares = tuple[float, ...]

DRAWS, ALPHA, RARE = 10_000, 0.05, 1e-6
EVEN: dict[int, Shares] = {k: (1 / k,) * k for k in (2, 3, 4, 5)}
# shares of x, of y, and of each given column; number of rows
CASES: dict[str, tuple[Shares, Shares, tuple[Shares, ...], int]] = {
    "2x2": (EVEN[2], EVEN[2], (), 1_000),
    "2x2 skewed": ((0.1, 0.9), (0.05, 0.95), (), 20_000),
    "3x3": (EVEN[3], EVEN[3], (), 1_000),
    "3x3 skewed": ((0.7, 0.25, 0.05), (0.6, 0.35, 0.05), (), 20_000),
    "2x2 in 3": (EVEN[2], (0.4, 0.6), ((0.2, 0.3, 0.5),), 1_000),
    "2x2 in 9 skewed": ((0.2, 0.8), (0.1, 0.9), ((0.2, 0.3, 0.5), (0.05, 0.15, 0.8)), 20_000),
    "3x4 in 9 skewed": ((0.7, 0.2, 0.1), (0.1, 0.3, 0.4, 0.2), (EVEN[3], EVEN[3]), 20_000),
    "4x5 in 5": (EVEN[4], EVEN[5], (EVEN[5],), 5_000),
}


def margins_of(case: str) -> tuple[tuple[str, ...], Margins]:
    x, y, given, rows = CASES[case]
    names = ("x", "y", *(f"z{i}" for i in range(len(given))))
    shares = dict(zip(names, map(np.array, (x, y, *given)), strict=True))
    return names, Margins(rows=rows, shares=shares)


@pytest.fixture(scope="module", params=CASES)
def drawn(request: pytest.FixtureRequest) -> tuple[str, NDArray[np.int64]]:
    """Tables of independent columns."""
    case = request.param
    x, y, given, rows = CASES[case]
    chances = reduce(np.multiply.outer, map(np.array, (x, y, *given)))
    chances = chances.reshape(len(x), len(y), -1)
    rng = np.random.default_rng(sorted(CASES).index(case))
    tables = rng.multinomial(rows, chances.ravel() / chances.sum(), size=DRAWS)
    return case, tables.reshape(DRAWS, *chances.shape).astype(np.int64)


def far_off(exceeded: int) -> bool:
    """Whether so many of DRAWS are hardly possible with a level of 0.7 to 1.4 times ALPHA."""
    from scipy.stats import binom

    rare = RARE / 2
    too_few = binom.cdf(exceeded, DRAWS, 0.7 * ALPHA) < rare
    return bool(too_few or binom.sf(exceeded - 1, DRAWS, 1.4 * ALPHA) < rare)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_real_level_is_near_the_nominal_one(
    statistic: str, drawn: tuple[str, NDArray[np.int64]]
) -> None:
    case, tables = drawn
    if statistic == "cmh" and tables.shape[1:3] != (2, 2):
        return
    names, margins = margins_of(case)
    values = STATISTICS[statistic](tables) / UNIT
    critical = level(statistic, names, margins, ALPHA)
    assert not far_off(int((values > critical).sum()))
    for wrong in (0.8, 1.25):  # a value that is off by a quarter is noticed
        if statistic in ("kendall", "spearman", "cmh"):
            assert far_off(int((values > wrong * critical).sum()))


def test_a_level_that_is_twice_the_nominal_one_is_noticed() -> None:
    assert far_off(int(2 * ALPHA * DRAWS)) and far_off(int(ALPHA * DRAWS / 2))
    assert not far_off(int(ALPHA * DRAWS))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_smaller_alpha_and_more_rows_ask_for_more(statistic: str) -> None:
    names, margins = margins_of("2x2 in 3")
    values = [level(statistic, names, margins, alpha) for alpha in (0.5, 0.05, 1e-3, 1e-12, 1e-30)]
    assert values == sorted(values) and values[0] > 0 and np.isfinite(values[-1])
    larger = Margins(rows=100 * margins.rows, shares=margins.shares)
    grown = level(statistic, names, larger, 0.05) / values[1]
    assert grown == pytest.approx(1 if statistic == "g2" else 10, rel=0.02)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("rows", [1.0, 3.0, 1e9])
def test_no_margins_break_a_level(statistic: str, rows: float) -> None:
    """Hardly any rows, a level that hardly occurs, more strata than rows."""
    shares = {
        "x": np.array([1e-9, 1 - 1e-9]),
        "y": np.array([0.5, 0.5]),
        "z": np.full(500, 0.002),
        "never": np.array([0.0, 1.0]),
    }
    for question in (("x", "y"), ("x", "y", "z"), ("never", "y"), ("x", "y", "never")):
        found = level(statistic, question, Margins(rows=rows, shares=shares), 0.05)
        assert np.isfinite(found) and found >= 0


def test_many_strata_lead_to_a_normal_distribution_without_a_step() -> None:
    """Above some number of strata the chi distribution gives way to the normal one."""
    found = {}
    for k in (106, 107):  # 11236 and 11449 strata: about 9850 and 10030 degrees of freedom
        shares = {name: np.full(k, 1 / k) for name in ("z", "w")}
        shares |= {name: np.full(2, 0.5) for name in ("x", "y")}
        margins = Margins(rows=1e3 * k * k, shares=shares)
        found[k] = level("t1", ("x", "y", "z", "w"), margins, 1e-4) / (k * k)
    assert found[107] == pytest.approx(found[106], rel=0.001)


def test_a_wide_table_has_nearly_the_level_that_a_narrower_one_leads_to() -> None:
    """Above some width correlations between cells are left out, which hardly matters."""
    found = {}
    for k in (22, 23):  # 484 and 529 cells
        shares = {"x": np.full(k, 1 / k), "y": np.full(k, 1 / k)}
        found[k] = level("t1", ("x", "y"), Margins(rows=1e5, shares=shares), 0.05) / (k - 1)
    assert found[23] == pytest.approx(found[22], rel=0.005)


def schema_of(adjacency: Adjacency, missing: Missing = "value") -> Schema:
    return Schema(
        name="s",
        columns=(
            Column(name="a", kind="categorical", levels=("n", "y")),
            Column(name="b", kind="ordinal", levels=("1", "2", "3", "4"), missing=missing),
        ),
        adjacency=adjacency,
        rows=1000 if adjacency is Adjacency.REPLACE_ONE else None,
    )


def released(*values: int) -> Release:
    query = Tables((("b",), ("a",)))
    return Release(query=query, values=np.array(values), variance=4.0, mechanism="noise")


def test_margins_come_from_noisy_tables_of_single_columns() -> None:
    """The number of rows is averaged by noise: a table of 4 levels counts half one of 2."""
    margins = Margins.of(released(100, -3, 500, 403, 600, 430), schema_of(Adjacency.ADD_REMOVE))
    assert margins.rows == pytest.approx((1000 + 2 * 1030) / 3)
    assert margins.shares["a"] == pytest.approx(np.array([600, 430]) / 1030)
    assert margins.shares["b"] == pytest.approx(np.array([100, 0.5, 500, 403]) / 1003.5)


def test_a_public_number_of_rows_is_used_and_a_hopeless_one_is_at_least_one() -> None:
    noisy = released(100, -3, 500, 403, 600, 430)
    assert Margins.of(noisy, schema_of(Adjacency.REPLACE_ONE)).rows == 1000
    assert Margins.of(noisy, schema_of(Adjacency.REPLACE_ONE, "drop")).rows == 1020
    lost = Margins.of(released(-5, -9, 0, 1, -7, -7), schema_of(Adjacency.ADD_REMOVE))
    assert lost.rows == 1 and lost.shares["a"].tolist() == [0.5, 0.5]
