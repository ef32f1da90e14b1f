"""The benchmark of pairs: the same pairs for all, counted rightly, and pages that can be read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import privet
from privet.bench import kusner, pairs, pairs_pages
from privet.bench.kusner import Gap
from privet.bench.pairs import Cell, Grid, Result
from privet.errors import BudgetError, DataError, MethodError, PrivetError
from privet.networks import tuebingen
from privet.networks.pairs import ADDITIVE
from privet.pairs.flips import flipped_difference, flipped_sums
from privet.pairs.way import AUTO

SMALL = Grid(methods=("always", "undecided"), epsilons=(1.0, 0.5), rows=(60,), pairs=8)


@dataclass(frozen=True)
class Answer:
    direction: str


def orient(
    data: Any, schema: Any, *, cause_effect: Any, method: str, **options: Any
) -> tuple[Answer, ...]:
    """Says that the first column is the cause, or nothing; refuses what is not private."""
    assert set(data) == set(schema.names) and set(cause_effect) == set(schema.names)
    assert options == {"private": False} or set(options) == {"epsilon", "delta", "ledger"}
    if method == "rows" and "epsilon" in options:
        raise MethodError("it is not private")
    return (Answer("undecided" if method == "undecided" else "-->"),)


@pytest.fixture(autouse=True)
def front_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privet, "orient", orient, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three real pairs."""
    rng = np.random.default_rng(1)
    place = tmp_path / "pairs"
    place.mkdir()
    for i in range(3):
        pair = tuebingen.RealPair(
            name=f"pair{i + 1:02}", cause=rng.normal(size=50), effect=rng.normal(size=50)
        )
        (place / f"{pair.name}.csv").write_text(pair.to_csv())
    return place


def test_the_cells_of_a_grid(folder: Path) -> None:
    grid = replace(SMALL, runs=2, folder=str(folder))
    cells = list(grid.cells())
    assert len(cells) == len(set(cells)) == 4 * 2 * 2 * 3
    assert {cell.source for cell in cells} == {str(folder), "additive", "other", "gaussian"}
    assert {(c.epsilon is None, c.delta is None) for c in cells} == {(True, True), (False, False)}


def test_no_answer_counts_one_half() -> None:
    found = pairs.scored([1, 1, 0, -1], [1, 1, 1, 1], 0.5)
    assert found == Result(
        right=0.625, weighted=0.625, decided=0.75, right_if_decided=2 / 3, size=4, seconds=0.5
    )
    assert pairs.scored([1, -1], [3, 1], 0.0).weighted == 0.75
    assert pairs.scored([0, 0], [1, 1], 0.0).right_if_decided is None


def test_a_constant_answer_is_right_as_often_as_the_coin_says(folder: Path) -> None:
    always = Cell(source="additive", rows=60, pairs=40, run=1, method="always")
    truths = [q.truth for q in pairs._asked("additive", 60, 40, 1)]
    assert pairs.one(always)[1].right == truths.count(1) / 40
    assert 5 < truths.count(1) < 35
    for run in range(20):
        questions = pairs._asked(str(folder), 0, 0, run)
        for question in questions:
            assert question.truth == (1 if question.first == "A" else -1)
    assert pairs.one(replace(always, method="undecided"))[1].right == 0.5


def test_all_methods_see_the_same_pairs_and_other_runs_see_others() -> None:
    one, again, other = (pairs._asked("other", 60, 4, run) for run in (1, 1, 2))
    assert one is again
    assert not np.array_equal(one[0].data["x"], other[0].data["x"])


def test_a_refusal_is_a_result() -> None:
    rows = Cell(source="additive", rows=60, pairs=2, run=1, method="rows", epsilon=1.0, delta=0.0)
    assert pairs.one(rows)[1] == Result(refused="it is not private")
    assert pairs.one(replace(rows, epsilon=None, delta=None))[1].refused is None


def test_runs_on_file_are_not_done_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor those of real pairs, nor refusals."""
    grid = replace(SMALL, methods=("always", "rows"), folder=str(folder))
    found = pairs.run(grid, tmp_path, processes=1)
    assert list(found) == list(grid.cells())

    def never(_cell: Cell) -> Any:
        raise AssertionError

    monkeypatch.setattr(pairs, "one", never)
    assert pairs.run(grid, tmp_path, processes=1) == found


def test_pages(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kusner, "PAIRS", 2)
    monkeypatch.setattr(kusner, "SPLITS", 2)
    monkeypatch.setattr(kusner, "FIGURE_PAIRS", 1)
    monkeypatch.setattr(kusner, "FIGURE_ROWS", 100)
    grid = replace(SMALL, methods=("undecided", "rows"), folder=str(folder), runs=2)
    found = pairs.run(grid, tmp_path / "out", processes=1)
    files = pairs.publish(grid, found, tmp_path / "out")
    assert [f.name for f in files] == [
        "runs.jsonl",
        "summary.md",
        "pairs.md",
        "pairs.svg",
        "kusner.md",
        "kusner.svg",
        "index.html",
    ]
    text = files[2].read_text()
    assert grid.command("out") in text and "Tübingen pairs" in text and "rank methods" in text
    low, high = pairs_pages.clopper_pearson(8.0, 16)  # fresh pairs in each of two runs
    assert f"| undecided | 0.500 ({low:.2f}-{high:.2f}) |" in text
    low, high = pairs_pages.clopper_pearson(1.5, 3)  # the same pairs in each run
    assert f"| undecided | 0.500 ({low:.2f}-{high:.2f}) |" in text
    assert "| rows | refused | refused | " in text and "Refused by rows: it is not" in text
    assert "With the weights" not in text
    for file in (files[3], files[5]):
        ElementTree.fromstring(file.read_text())
    assert files[4].read_text().count("| Kendall's τ |") == 2 * len(kusner.EPSILONS)


def cell(rows: int, epsilon: float, method: str, source: str = "additive") -> Cell:
    return Cell(source=source, rows=rows, pairs=4, run=1, method=method, epsilon=epsilon, delta=0.0)


def test_a_summary_pools_what_has_the_same_product_of_rows_and_epsilon() -> None:
    found = {
        cell(500, 2.0, AUTO): pairs.scored([1, 1, 1, 1], [1] * 4, 0.0),
        cell(1000, 1.0, AUTO): pairs.scored([1, -1, 0, 0], [1] * 4, 0.0),
        cell(1000, 1.0, AUTO, "gaussian"): pairs.scored([0, 0, 0, 0], [1] * 4, 0.0),
        cell(1000, 1.0, "anm-hsic"): pairs.scored([1, 0, 0, 0], [1] * 4, 0.0),
        cell(1000, 1.0, "anm-sqrt-hsic"): pairs.scored([-1, 0, 0, 0], [1] * 4, 0.0),
    }
    text = pairs_pages.summary(SMALL, found)
    low, high = pairs_pages.clopper_pearson(6.0, 8)
    assert f"| 1,000 | 8 | 0.750 ({low:.2f}-{high:.2f}) / 0.75 / 0.83 |  | 0.500 (" in text
    assert ") / 0.00 / - |" in text
    assert "| 500 |  |  |" in text and "| 1,000 | 0.500 / 0.625 |  |" in text


def test_intervals_of_clopper_and_pearson() -> None:
    from scipy.stats import binomtest

    for right, size in ((0, 10), (3, 10), (10, 10), (60, 99)):
        interval = binomtest(right, size).proportion_ci(0.95, "exact")
        assert np.allclose(pairs_pages.clopper_pearson(right, size), interval)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epsilons": (0.0,)}, BudgetError),
        ({"rows": (0,)}, MethodError),
        ({"pairs": 0}, MethodError),
        ({"methods": ("a", "a")}, MethodError),
        ({"folder": "nowhere"}, DataError),
    ],
)
def test_a_grid_that_cannot_be_is_refused(change: dict[str, Any], error: type[PrivetError]) -> None:
    with pytest.raises(error):
        replace(SMALL, **change)


# Table 2 and Figure 2


def test_the_chance_of_the_right_direction() -> None:
    assert Gap(right=2.0, reach=1.0).chance(None) == 1.0
    assert Gap(right=-2.0, reach=1.0).chance(None) == 0.0
    assert Gap(right=0.0, reach=1.0).chance(1.0) == 0.5
    assert Gap(right=2.0, reach=3.0).chance(0.5) == 1 - flipped_difference(2.0, 6.0)
    assert Gap(right=-2.0, reach=3.0).chance(0.5) == flipped_difference(2.0, 6.0)
    assert Gap(right=2.0, reach=1.0, terms=4).chance(2.0) == 1 - flipped_sums(2.0, 0.5)


def test_exact_gaps_are_positive_where_the_score_is_right() -> None:
    """√HSIC tells nearly all simulated pairs of 2000 rows, and exchanging the columns changes
    nothing."""
    known = kusner._simulated(ADDITIVE, 10, 2000)
    model = kusner._model(0)
    gaps = [kusner.gap(pair, "sqrt-hsic", model, "test") for pair in known]
    assert sum(gap.right > 0 for gap in gaps) >= 8
    turned = replace(
        known[0],
        columns=known[0].columns[:, ::-1],
        forward=not known[0].forward,
        schema=replace(
            known[0].schema,
            columns=tuple(
                replace(c, bounds=o.bounds, missing_value=o.missing_value)
                for c, o in zip(known[0].schema.columns, known[0].schema.columns[::-1], strict=True)
            ),
        ),
    )
    assert kusner.gap(turned, "sqrt-hsic", model, "test") == gaps[0]


def test_protecting_the_training_half_costs_more_with_less_ridge() -> None:
    pair = kusner._simulated(("gp",), 1, 2000)[0]
    reaches = [kusner.gap(pair, "hsic", kusner._model(0, r), "training").reach for r in (1, 10, 99)]
    assert reaches == sorted(reaches, reverse=True) and reaches[0] > 2 * reaches[-1]
