"""The plan against what really happens: 80% power means 80% of runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf, log, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest

import privet
from privet.errors import BudgetError, MethodError
from privet.evidence.plan import table_effects
from privet.evidence.prior import default_level
from privet.evidence.unit_noise import of_interactions
from privet.independence import chi2
from privet.methods.plan import epsilon_for, plan, plan_sites
from privet.networks import load
from privet.privacy.ledger.conversion import budget_for
from privet.privacy.queries.contrasts import GRID
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.stacks import stack

ROWS = 100_000


def schema(columns: int, levels: int = 2, **more: object) -> Schema:
    names = [f"c{i}" for i in range(columns)]
    texts = tuple(str(i) for i in range(levels))
    made = tuple(Column(name=name, kind="categorical", levels=texts) for name in names)
    return Schema(name="t", columns=made, **more)  # type: ignore[arg-type]


def numbers(columns: int) -> Schema:
    made = tuple(Column(name=f"c{i}", kind="numeric", bounds=(-4, 4)) for i in range(columns))
    return Schema(name="t", columns=made)


def test_more_budget_and_more_rows_see_more() -> None:
    for table in (schema(6, 3), numbers(6)):
        seen = [plan(table, ROWS, epsilon).lines[0].typical for epsilon in (0.1, 0.5, 1, 5)]
        assert seen == sorted(seen, reverse=True) and seen[0] > seen[-1]
        seen = [plan(table, rows, 0.5).lines[0].typical for rows in (1_000, 10_000, 100_000)]
        assert seen == sorted(seen, reverse=True) and seen[0] > seen[-1]


SMALL_TABLES = [
    (columns, levels, rare) for columns in (3, 5, 8) for levels in (2, 4) for rare in (None, 0.05)
]


def uneven(columns: int, levels: int, rare: float | None) -> Schema:
    even = schema(columns, levels)
    if rare is None:
        return even
    shares = (1 - rare * (levels - 1), *[rare] * (levels - 1))
    return replace(even, columns=tuple(replace(each, shares=shares) for each in even.columns))


@pytest.mark.parametrize(
    ("table", "deltas"),
    [
        *((uneven(*each), (0, 1e-12, 1e-9, 1e-6, 1e-4)) for each in SMALL_TABLES),
        (numbers(4), (1e-9, 1e-6, 1e-4)),  # without delta numbers are cut, and tables measured
    ],
    ids=str,
)
def test_more_epsilon_delta_and_rows_leave_more_effective_rows(
    table: Schema, deltas: tuple[float, ...]
) -> None:
    """Whatever noise, features and stages a run would choose: on a grid without noise. A delta is
    what the promise may have at most, and 0 may be the better choice."""
    epsilons = (0.03, 0.1, 0.3, 1, 3, 10)
    rows = (100, 1_000, 10_000, 100_000, 1_000_000)
    planned = np.array(
        [plan(table, n, e, d).effective_rows for e, d, n in product(epsilons, deltas, rows)]
    ).reshape(len(epsilons), len(deltas), len(rows))
    for axis in range(3):
        assert (np.diff(np.log(planned), axis=axis) >= -1e-9).all(), axis
    assert (planned <= np.array(rows) * (1 + 1e-9)).all() and planned[-1, -1, -1] > 0.9 * rows[-1]


def test_lines_are_ordered_and_of_the_right_kind() -> None:
    found = plan(load("child").schema(), ROWS, 1.0)
    assert found.method == "interaction-pc" and [line.order for line in found.lines] == [0, 1, 2]
    for line in found.lines:
        assert 0 < line.best <= line.typical <= line.worst
    assert plan(numbers(4), ROWS, 1.0).method == "moment-ges"
    assert plan(numbers(4), ROWS, 1.0, 0).method == "interaction-pc"


@pytest.mark.parametrize("table", [schema(5, 3), schema(9, 4), numbers(4)], ids=str)
def test_a_plan_that_names_no_delta_is_that_of_a_run_that_names_none(table: Schema) -> None:
    rows = {name: ["0"] * 10 for name in table.names}
    for epsilon in (0.1, 1.0):
        run = privet.discover(rows, table, epsilon=epsilon, ledger=":memory:").certificate
        found = plan(table, ROWS, epsilon)
        assert (found.delta, found.method) == (run["delta"], run["method"])
        assert found == plan(table, ROWS, epsilon, run["delta"])
        assert plan_sites(table, ROWS, epsilon, sites=3).delta == run["delta"]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_two_columns_are_planned_too(delta: float) -> None:
    """Of which there are no triples."""
    assert [line.order for line in plan(schema(2), 1000, 1, delta).lines] == [0]


def test_a_wanted_effect_names_its_epsilon() -> None:
    for table in (schema(8, 3), numbers(8)):
        epsilon = epsilon_for(table, ROWS, 1e-6, 0.05)
        assert plan(table, ROWS, epsilon).lines[0].typical == pytest.approx(0.05, rel=1e-2)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BudgetError, match="more rows"):
        epsilon_for(schema(8), 100, 1e-6, 0.01)
    with pytest.raises(BudgetError, match=r"\(0, 1\]"):
        epsilon_for(schema(8), 100, 1e-6, 2.0)
    with pytest.raises(MethodError, match="at least 1 row"):
        plan(schema(8), 0, 1.0)
    with pytest.raises(BudgetError):
        plan(schema(8), 10, -1.0)


def test_replacing_costs_more_than_adding() -> None:
    replaced = schema(8, adjacency=Adjacency.REPLACE_ONE, rows=ROWS)
    assert of_interactions(replaced, 1, 1e-6)[0] > of_interactions(schema(8), 1, 1e-6)[0]


def test_pure_budgets_cost_more() -> None:
    assert of_interactions(schema(8), 1, 0)[0] > of_interactions(schema(8), 1, 1e-6)[0]
    assert budget_for(1, 0, "gdp") == 1


def guessed(*shares: tuple[float, ...]) -> Schema:
    columns = [
        Column(name=f"c{i}", kind="categorical", levels=tuple("abcdef"[: len(p)]), shares=p)
        for i, p in enumerate(shares)
    ]
    return Schema(name="t", columns=tuple(columns))


def test_rare_levels_show_less() -> None:
    even, uneven = (
        plan(schema(8, 4), 20_000, 1.0, 0, margins=guess).lines[0].typical
        for guess in ("even", "uneven")
    )
    assert uneven > 2 * even
    table = guessed((0.999, 0.001), (0.998, 0.002), (0.5, 0.5), (0.5, 0.5))
    line = plan(table, 20_000, 0.1, 1e-6).lines[0]
    assert line.worst > 3 * line.best
    assert line == plan(table, 20_000, 0.1, 1e-6, margins="uneven").lines[0]  # all is declared


def test_pairs_that_would_not_show_are_named() -> None:
    table = guessed((0.999, 0.001), (0.999, 0.001), (0.5, 0.5), (0.5, 0.5))
    assert plan(table, 10_000, 0.2, 1e-6).invisible == (("c0", "c1"),)
    assert len(plan(table, 500, 0.2, 1e-6).invisible) >= 5
    assert not plan(table, 5_000_000, 5.0, 1e-6).invisible


def test_margins_that_are_no_guess_are_refused() -> None:
    with pytest.raises(MethodError, match="even or uneven"):
        plan(schema(4), 100, 1.0, margins="odd")  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("uneven", [(0.9, 0.1), (0.8, 0.15, 0.05)], ids=str)
def test_the_planned_effect_of_uneven_margins_is_found_as_often(
    epsilon: float, uneven: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An effect that lies in any direction alike: the share that is found is 0.8 up to first-order
    theory (0.03) and chance (1e-6), where there is one direction. Of several, noise may hide some
    and not others, and the plan takes their mean: then down to 0.6 are found."""
    monkeypatch.setattr("privet.evidence.white.BETTER", inf)  # measured in contrasts
    table = guessed(*[uneven] * 8)
    noise = of_interactions(table, epsilon, 1e-6)[0]
    shown = table_effects(table, ROWS, epsilon, 1e-6).lines()[0].typical
    rng, runs, size = np.random.default_rng(4), 4000, len(uneven) - 1
    p = np.array(uneven)
    root = np.linalg.qr(np.column_stack([np.sqrt(p), rng.normal(size=(size + 1, size))]))[0]
    way = rng.normal(size=(runs, size, size))
    way *= shown * sqrt(size) / np.linalg.norm(way, axis=(1, 2), keepdims=True)
    sides = np.sqrt(p)[:, None] * root[:, 1:]
    cells = np.maximum(np.outer(p, p) + sides @ way @ sides.T, 0.0)
    cells /= cells.sum(axis=(1, 2), keepdims=True)
    counts = np.array([rng.multinomial(ROWS, each.ravel()) for each in cells])
    counts = counts.reshape(runs, size + 1, size + 1)
    evidence = stack(counts, {order: noise * GRID ** (2 * order) for order in range(3)}, rng)
    found = chi2.pooled(evidence, np.array([[0, 1]])).log_bayes.ravel()
    hits = int((found > log(1 / default_level(8))).sum())
    least = 0.77 if size == 1 else 0.6
    assert binomtest(hits, runs, least, alternative="less").pvalue > 1e-6, hits / runs
    assert binomtest(hits, runs, 0.83, alternative="greater").pvalue > 1e-6, hits / runs


@pytest.mark.parametrize("epsilon", [0.1, 1.0, inf])
@pytest.mark.parametrize("levels", [2, 3])
def test_the_planned_effect_is_found_in_eight_of_ten_runs(epsilon: float, levels: int) -> None:
    """Even margins, the planned Cramér's V on the diagonal: the share that the Bayes factor finds
    is 0.8, up to the first-order theory (0.03) and chance (1e-6)."""
    table = schema(8, levels)
    noise = 0.0 if epsilon == inf else of_interactions(table, epsilon, 1e-6)[0]
    shown = table_effects(table, ROWS, 1e4 if epsilon == inf else epsilon, 1e-6).lines()[0].typical
    rng, runs = np.random.default_rng(3), 4000
    shares = np.full((levels, levels), 1 / levels**2)
    move = np.eye(levels) - 1 / levels
    phi = shown * sqrt(levels - 1)
    shares = shares + move * phi / levels / sqrt((move**2).sum())
    counts = rng.multinomial(ROWS, shares.ravel(), size=runs).reshape(runs, levels, levels)
    evidence = stack(counts, {order: noise * GRID ** (2 * order) for order in range(3)}, rng)
    found = chi2.pooled(evidence, np.array([[0, 1]])).log_bayes.ravel()
    hits = int((found > log(1 / default_level(8))).sum())
    assert binomtest(hits, runs, 0.77, alternative="less").pvalue > 1e-6, hits / runs
    assert binomtest(hits, runs, 0.83, alternative="greater").pvalue > 1e-6, hits / runs


def test_one_site_with_too_few_rows_does_not_warn_of_all() -> None:
    names = ["a", "b", "c"]
    schema = Schema.of(names, levels={name: ["0", "1"] for name in names}, name="few")
    assert any("too few" in text for text in plan(schema, 40, 0.5, 0).warnings)
    assert plan_sites(schema, 40, 0.5, 0, sites=50).warnings == ()
