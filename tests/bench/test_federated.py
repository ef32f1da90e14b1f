"""The benchmark of several sites: what is run, how it is scored, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from privet.bench import federated, federated_data, federated_pages, federated_plots
from privet.bench.federated import Cell, Grid, Result, one, scored
from privet.bench.federated_methods import METHODS, found_by
from privet.errors import DataError, MethodError, PrivetError
from privet.graph.meek import is_acyclic
from privet.networks.measured import CYTOMETRY

SMALL = Grid(
    columns=(5,),
    sites=(2,),
    rows=200,
    many=3,
    many_rows=100,
    many_runs=1,
    shares=(0.5, 1.0),
    noises=(1.0,),
    networks=("cancer",),
    differ=("none",),
    private_sites=2,
    private_rows=500,
    runs=1,
)


@pytest.fixture
def cytometry(tmp_path: Path) -> str:
    """As many cells as were measured, of another law."""
    rows = np.random.default_rng(1).uniform(0, 4, size=(sum(federated_data.CYTOMETRY_ROWS), 11))
    lines = [",".join(f"{cell:.3f}" for cell in row) for row in rows]
    header = ",".join(CYTOMETRY.names.values())
    (tmp_path / "sachs-cytometry.csv").write_text("\n".join([header, *lines]) + "\n")
    return str(tmp_path)


# -- data


def test_the_structures_are_those_of_the_paper() -> None:
    asia, waste = map(federated_data.structure, federated_data.STRUCTURES)
    assert (len(asia), asia.sum(), len(waste), waste.sum()) == (8, 8, 9, 10)
    assert is_acyclic(asia) and is_acyclic(waste)


def test_sites_are_alike_or_not() -> None:
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[1, 2] = True

    def correlations(differ: str) -> list[float]:
        rng = np.random.default_rng(5)
        sites = federated_data.sites_of(dag, 4, 4000, differ, rng)
        counts = [len(site) for site in sites]
        assert counts == [4000] * 3 + [20_000 if differ == "odd" else 4000]
        assert all(np.allclose(site.std(axis=0), 1) for site in sites)
        return [float(np.mean(site[:, 0] * site[:, 1])) for site in sites]

    alike, mechanisms, odd = map(correlations, federated_data.UNLIKE)
    limit = 6 / np.sqrt(4000)  # six deviations of a difference, at most
    assert np.ptp(alike) < 2 * limit < np.ptp(mechanisms)
    assert np.ptp(odd[:3]) < 2 * limit and abs(odd[3]) < limit < abs(odd[0])


def test_the_nine_experiments(cytometry: str) -> None:
    truth, sites = federated_data.cytometry(cytometry)
    assert truth.shape == (11, 11) and truth.sum() == 17
    assert tuple(map(len, sites)) == federated_data.CYTOMETRY_ROWS


# -- methods and scores


def test_every_method_finds_what_is_plain() -> None:
    """Two causes of one effect; those whose arrows rest on other assumptions join it to both."""
    rng = np.random.default_rng(2)
    dag = np.zeros((3, 3), dtype=bool)
    dag[[0, 1], 2] = True
    sites = []
    for _ in range(3):
        a, b, noise = rng.normal(size=(3, 3000))
        rows = np.stack([a, b, a + b + 0.5 * noise], axis=1)
        sites.append(federated_data.standardised(rows))
    for method in METHODS:
        found = found_by(method, sites)
        assert (found.dag is None) == (method not in ("RFCD-M", "RFCD-B", "NT-ADMM", "LINGAM"))
        if method not in ("NT-ADMM", "LINGAM", "PERI-AIC"):
            assert scored(dag, found.matrix) == {"shd": 0.0, "f1": 1.0, "skeleton_f1": 1.0}


def test_scores() -> None:
    truth, found = np.zeros((2, 4, 4), dtype=bool)
    truth[0, 1] = truth[1, 0] = truth[2, 3] = True
    found[0, 1] = found[3, 2] = found[0, 3] = True
    assert scored(truth, found) == {"shd": 0.5, "f1": round(2 / 6, 4), "skeleton_f1": 0.8}
    assert scored(np.zeros_like(truth), np.zeros_like(truth))["f1"] == 1.0


def test_all_methods_of_a_run_see_the_same_rows_and_runs_differ() -> None:
    first = federated._rows("random", 5, 2, 50, "alike", 1, "synthetic")
    assert federated._rows("random", 5, 2, 50, "alike", 1, "synthetic") is first
    other = federated._rows("random", 5, 2, 50, "alike", 2, "synthetic")
    assert not np.allclose(first[1][0], other[1][0])


def test_noise_and_shares_reach_the_search() -> None:
    cell = Cell(
        table="noise",
        graph="asia",
        columns=8,
        sites=4,
        rows=200,
        differ="alike",
        method="PERI-BIC",
        run=1,
    )
    exact, loud, some = (
        one(each)[1] for each in (cell, replace(cell, noise=1e6), replace(cell, share=0.25))
    )
    assert exact.f1 > loud.f1
    assert exact.bytes_up is not None and some.bytes_up is not None and exact.iterations is not None
    assert some.bytes_up / (some.iterations or 1) < exact.bytes_up / exact.iterations / 2


# -- the whole


def test_it_runs_and_goes_on(tmp_path: Path) -> None:
    grid = replace(SMALL, tables=("many",))
    found = federated.run(grid, tmp_path / "out", processes=1)
    assert set(found) == set(grid.cells())
    assert all(0 <= result.shd <= 1 and 0 <= result.f1 <= 1 for result in found.values())
    lines = (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    assert federated.run(grid, tmp_path / "out", processes=1) == found
    assert (tmp_path / "out" / "runs.jsonl").read_text().splitlines() == lines


def test_a_run_of_each_kind(cytometry: str) -> None:
    cells = list(replace(SMALL, folder=cytometry).cells())
    assert {cell.table for cell in cells} == set(federated.TABLES)
    for table in federated.TABLES:
        cell = next(cell for cell in cells if cell.table == table)
        same, result = one(cell)
        assert same == cell and 0 <= result.f1 <= 1 and result.bytes_up


def test_the_pages(cytometry: str, tmp_path: Path) -> None:
    grid = replace(SMALL, folder=cytometry, runs=2, many_runs=2)
    made_up = {
        cell: Result(shd=0.25, f1=0.5 + 0.1 * cell.run, skeleton_f1=0.5, bytes_up=80, iterations=9)
        for cell in grid.cells()
    }
    files = federated.publish(grid, made_up, tmp_path)
    assert [file.name for file in files] == [
        "runs.jsonl",
        "federated.md",
        "federated.svg",
        "index.html",
    ]
    page = files[1].read_text()
    for text in (
        "REGED cannot be",
        "| PERI-MDL | 0.250 / 0.65 ± 0.05 [0.20 / 0.74] | 9 | 80 |",
        "| PERI-MDL | 14 / 0.60 | 18 / 0.38 |",
        "apart, PERI",
    ):
        assert text in page
    ElementTree.fromstring(files[2].read_text())


def test_without_the_cells_there_is_no_such_table() -> None:
    assert not [cell for cell in SMALL.cells() if cell.table == "cytometry"]
    grid = replace(SMALL, tables=("private",))
    cells = list(grid.cells())
    assert {cell.method for cell in cells} == set(federated.WAYS)
    made_up = {cell: Result(shd=0.0, f1=1.0, skeleton_f1=1.0, bytes_up=80) for cell in cells}
    page = federated_pages.page(grid, made_up, "out")
    assert "| cancer | none | 1.00, 1.00 |" in page and "SACHS" not in page
    assert federated_plots.page(grid, made_up) == ""


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"tables": ("synthetik",)}, MethodError, "no table 'synthetik'"),
        ({"columns": (3,)}, MethodError, "at least 5"),
        ({"sites": (1,)}, DataError, "from 2 to"),
        ({"shares": (0.0,)}, MethodError, "above 0 and at most 1"),
        ({"noises": (0.0,)}, MethodError, "above 0"),
        ({"networks": ("cancre",)}, DataError, "did you mean 'cancer'"),
        ({"differ": ("some",)}, DataError, "choose one of"),
        ({"runs": 0}, MethodError, "runs is 0"),
        ({"epsilon": 0.0}, PrivetError, "epsilon is 0"),
        ({"folder": "nowhere"}, DataError, "privet datasets fetch"),
    ],
)
def test_a_bad_grid_is_refused(change: Any, error: type[PrivetError], said: str) -> None:
    with pytest.raises(error, match=said):
        replace(SMALL, **change)
