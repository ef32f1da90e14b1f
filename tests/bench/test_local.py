"""The benchmark of local privacy: the same reports for all, both levels told, pages to read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from privet.bench import local, local_data, local_pages, results
from privet.bench.local import AUTO, BY_EPSILON, BY_SUCCESS, NO_NOISE, OURS, Cell, Grid, Result
from privet.bench.local_published import GEO_EACH, KRR_EACH, KRR_ROWS, MECHANISMS
from privet.errors import BudgetError, DataError, MethodError
from privet.networks import tuebingen

SMALL = Grid(
    sources=("synth5",),
    networks=("cancer",),
    successes=(0.1, 0.5),
    paper_epsilons=(8.0,),
    searches=("pc", "fci"),
    epsilons=(4.0,),
    protocols=("planned-block", "parity"),
    runs=1,
    rows=2000,
)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: replace(kind, rows=1500) for name, kind in local_data.SYNTHETIC.items()}
    monkeypatch.setattr(local_data, "SYNTHETIC", few)
    for cached in (local_data.source, local_data.questions, local._noised, local._noised_pairs):
        cached.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three real pairs, of which one has too few values for a success of one half, and heights."""
    rng = np.random.default_rng(1)
    place = tmp_path / tuebingen.FOLDER
    place.mkdir()
    for i in range(3):
        cause = rng.normal(size=200)
        effect = np.round(cause, 0 if i == 2 else 9) + (i < 2) * rng.normal(size=200)
        pair = tuebingen.RealPair(name=f"pair{i + 1:02}", cause=cause, effect=effect)
        (place / f"{pair.name}.csv").write_text(pair.to_csv())
    heights = rng.normal(68, 3, (60, 3)).round(1)
    lines = "\n".join(",".join(map(str, row)) for row in heights)
    (tmp_path / "galton.csv").write_text(f"father,mother,child\n{lines}\n")
    return tmp_path


def test_the_cells_of_a_grid() -> None:
    cells = list(SMALL.cells())
    assert len(cells) == len(set(cells))
    paper = [cell for cell in cells if cell.source == "synth5"]
    # no noise; three levels of four mechanisms; all with both searches; Privet's at the epsilon
    assert len(paper) == 2 + 3 * 4 * 2 + 1
    assert [c for c in paper if c.method == OURS] == [
        Cell(source="synth5", rows=0, run=1, mechanism=AUTO, method=OURS, by=BY_EPSILON, level=8.0)
    ]
    network = [cell for cell in cells if cell.source == "cancer"]
    assert [(c.mechanism, c.method) for c in network] == [
        (NO_NOISE, "pc"),
        (KRR_EACH, "pc"),
        (KRR_ROWS, "pc"),
        ("planned-block", OURS),
        ("parity", OURS),
    ]
    assert len(list(replace(SMALL, runs=3).cells())) == 3 * len(cells)


def test_real_tables_need_their_folder(folder: Path) -> None:
    assert Grid(networks=()).paper == ("synth10", "synth5")
    with pytest.raises(MethodError, match="privet datasets fetch galton"):
        Grid(sources=("galton",))
    with pytest.raises(DataError, match="sachs-cytometry"):
        Grid(folder=str(folder))
    named = Grid(folder=str(folder), sources=("galton", "tuebingen"), networks=())
    assert {cell.source for cell in named.cells()} == {"galton", "tuebingen"}
    assert "anm" in {c.method for c in named.cells() if c.source == "tuebingen"}
    assert OURS not in {c.method for c in named.cells() if c.source == "tuebingen"}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"sources": ("asia",)}, MethodError),
        ({"networks": ("asai",)}, DataError),
        ({"protocols": ("planned",)}, MethodError),
        ({"searches": ("pcc",)}, MethodError),
        ({"successes": (1.5,)}, MethodError),
        ({"epsilons": (0.0,)}, BudgetError),
        ({"paper_epsilons": (1000.0,)}, BudgetError),
        ({"runs": 0}, MethodError),
        ({"rows": 0}, MethodError),
    ],
)
def test_a_grid_that_cannot_be_run(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        replace(SMALL, **wrong)


def test_both_levels_are_told() -> None:
    """At equal success the epsilons differ, and at equal epsilon the successes."""
    cell = Cell(source="synth5", rows=0, run=1, mechanism="", method="pc")
    found = {
        (by, mechanism): local.one(replace(cell, mechanism=mechanism, by=by, level=level))[1]
        for by, level in ((BY_SUCCESS, 0.5), (BY_EPSILON, 8.0))
        for mechanism in MECHANISMS
    }
    for (by, mechanism), result in found.items():
        assert result.refused is None and result.skeleton_f1 is not None, mechanism
        assert result.epsilon is not None and result.success is not None
        if by == BY_SUCCESS:
            assert result.success == pytest.approx(0.5)
        else:
            assert result.epsilon == pytest.approx(8, abs=1e-9)
    krr, geo = found[BY_SUCCESS, KRR_EACH].epsilon, found[BY_SUCCESS, GEO_EACH].epsilon
    assert krr is not None and geo is not None and krr < 7 < 13 < geo
    refused = local.one(replace(cell, mechanism=GEO_EACH, by=BY_SUCCESS, level=0.1))[1]
    assert refused.refused is not None and "impossible" in refused.refused


def test_every_search_of_a_run_sees_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    searched = local._searched

    def spy(cell: Cell, codes: Any, given: Any) -> Any:
        seen.append(codes.tobytes())
        return searched(cell, codes, given)

    monkeypatch.setattr(local, "_searched", spy)
    cell = Cell(
        source="synth5", rows=0, run=1, mechanism=KRR_EACH, method="pc", by=BY_EPSILON, level=8.0
    )
    for other in (
        cell,
        replace(cell, method="fci"),
        replace(cell, mechanism=NO_NOISE, by=None),
        replace(cell, run=2),
    ):
        local.one(other)
    assert seen[0] == seen[1] and len(set(seen)) == 3


def test_a_protocol_of_privet_keeps_its_epsilon_and_finds_the_strongest() -> None:
    cell = Cell(
        source="cancer",
        rows=20_000,
        run=1,
        mechanism="planned-block",
        method=OURS,
        by=BY_EPSILON,
        level=8.0,
    )
    result = local.one(cell)[1]
    assert result.refused is None and result.epsilon == pytest.approx(8, abs=1e-9)
    assert result.skeleton_f1 is not None and result.skeleton_f1 > 0


def test_pairs_count_what_is_right(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "direction", lambda _codes, _schema, _method: 1)
    truths = [question.truth for question in local_data.questions(1, str(folder))]
    cell = Cell(source="tuebingen", rows=0, run=1, mechanism=NO_NOISE, method="reci")
    clear = local.one(cell, str(folder))[1]
    assert clear.right == truths.count(1) / 3 and clear.pairs == 3 and clear.epsilon is None
    noisy = replace(cell, mechanism=KRR_EACH, by=BY_SUCCESS, level=0.5)
    half = local.one(noisy, str(folder))[1]
    assert half.pairs == 2 and half.success == pytest.approx(0.5)  # the third has two bins
    assert half.right == truths[:2].count(1) / 2
    monkeypatch.setattr(local, "direction", lambda _codes, _schema, _method: 0)
    assert local.one(cell, str(folder))[1].weighted == 0.5
    refused = local.one(replace(noisy, level=0.01), str(folder))[1]
    assert refused.refused is not None and "impossible" in refused.refused


def test_questions_are_turned_by_a_coin_and_stay_in_a_run(folder: Path) -> None:
    first = local_data.questions(1, str(folder))
    local_data.questions.cache_clear()
    again = local_data.questions(1, str(folder))
    assert [q.truth for q in first] == [q.truth for q in again]
    for question in first:
        names = question.schema.names
        assert names == (("A", "B") if question.truth == 1 else ("B", "A"))
        assert (question.codes.min(axis=0) == 0).all()
        assert (question.codes.max(axis=0) < [c.cardinality for c in question.schema.columns]).all()


def test_real_rows_are_the_same_in_every_run_and_simulated_ones_are_not(folder: Path) -> None:
    one, two = (local_data.source("galton", 0, run, str(folder)) for run in (1, 2))
    assert (one.data["child"] == two.data["child"]).all() and len(one.data["child"]) == 60
    assert {column.cardinality for column in one.schema.columns} == {10}
    first, second = (local_data.source("synth10", 0, run, None) for run in (1, 2))
    assert not np.array_equal(first.data["x01"], second.data["x01"])
    assert first.schema.columns[0].bounds == (-3, 3) and len(first.graph.nodes) == 10


def test_a_run_goes_on_where_it_stopped_and_makes_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[int, int]] = []
    found = local.run(SMALL, tmp_path / "out", processes=1, on_done=lambda *d: done.append(d))
    assert list(found) == list(SMALL.cells()) and done[-1] == (len(found), len(found))
    refused = {(c.mechanism, c.level) for c, r in found.items() if r.refused}
    assert refused == {(KRR_EACH, 0.1), (GEO_EACH, 0.1)}
    files = local.publish(SMALL, found, tmp_path / "out")
    assert {file.name for file in files} == {
        results.RUNS,
        "local.md",
        "local-paper.svg",
        "local-protocols.svg",
        "index.html",
    }
    for file in files:
        if file.suffix == ".svg":
            ElementTree.fromstring(file.read_text("utf-8"))

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("it is on file")

    monkeypatch.setattr(local, "one", never)
    assert local.run(SMALL, tmp_path / "out", processes=1) == found


def made(cell: Cell) -> Result:
    """Results that one can recognise."""
    if cell.by == BY_SUCCESS and cell.level == 0.1 and "C-wise" in cell.mechanism:
        return Result(refused="a success of 0.1 is impossible for 5 values")
    score = {NO_NOISE: 1.0, AUTO: 0.75}.get(cell.mechanism, 0.25)
    return Result(skeleton_f1=score, directed_f1=score, shd=cell.run, epsilon=12.5, success=0.125)


def test_the_page_says_both_and_what_is_impossible() -> None:
    grid = replace(SMALL, runs=2)
    found = {cell: made(cell) for cell in grid.cells()}
    page = local_pages.page(grid, found, "out")
    assert "`privet bench local --sources synth5 --networks cancer" in page
    for line in (
        "**At equal success: true ε of a report**",
        "| mechanism | p = 0.1 | p = 0.5 |",
        "| Geo C-wise | impossible | 12.5 |",
        "| k-RR Comb | 12.5 | 12.5 |",
        "**At equal epsilon: attacker's success**",
        "| Geo Comb | 0.125 |",
        "| k-RR C-wise | fci | impossible | 0.25 ± 0.00 | 1.00 ± 0.00 |",
        "| Privet's protocol | local-pc | 0.75 ± 0.00 |  |",
        "| Geo Comb | pc | 1.5 ± 0.7 | 1.5 ± 0.7 | 1.5 ± 0.7 |",
        "5 columns, 4 edges. The complete graph, which costs nothing, has skeleton F1 0.57 and "
        "CPDAG F1 0.33.",
        "| k-RR C-wise, taken for answers | 0.25 ± 0.00 |",
        "| planned-block | 0.25 ± 0.00 |",
        "| no noise | 1.00 ± 0.00 |",
    ):
        assert line in page, line
    for picture in (local_pages.paper_picture, local_pages.protocols_picture):
        drawn = picture(grid, found)
        ElementTree.fromstring(drawn)
        assert "no noise" in drawn
    empty = replace(grid, networks=())
    assert local_pages.protocols_picture(empty, found) == ""


def test_pairs_are_told_with_an_interval(folder: Path) -> None:
    grid = Grid(
        folder=str(folder),
        sources=("tuebingen",),
        networks=(),
        successes=(0.5,),
        paper_epsilons=(8.0,),
        runs=1,
    )
    found = {c: Result(right=0.5, weighted=0.6, pairs=99, epsilon=5.5) for c in grid.cells()}
    page = local_pages.page(grid, found, "out")
    assert "| Geo Comb | reci | 0.60 (0.50-0.70; 99 pairs) |" in page
    assert "tuebingen, equal success" in local_pages.paper_picture(grid, found)
    # beside no noise: what is found without any relation
    assert page.count("| no noise | shuffled |") == 2
    assert "shuffled (of pairs)" in local_pages.paper_picture(grid, found)


def test_shuffled_pairs_keep_their_columns_and_lose_their_relation() -> None:
    codes = np.repeat(np.arange(50), 20)[:, None].repeat(2, axis=1)
    cell = Cell(source="tuebingen", rows=0, run=1, mechanism=local.SHUFFLED, method="reci")
    shuffled = local._answers(cell, codes)
    assert (np.sort(shuffled, axis=0) == np.sort(codes, axis=0)).all()
    # 1,000 rows: a correlation of 0.2 comes by chance less than once in a million
    assert abs(np.corrcoef(*shuffled.T)[0, 1]) < 0.2
    assert local._answers(replace(cell, mechanism=NO_NOISE), codes) is codes
