"""The benchmark: what it runs, that it can be stopped and go on, and what it makes of the runs."""

from __future__ import annotations

import builtins
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from privet.api.discover import discover as real
from privet.bench import central, plots, results, tables
from privet.bench.central import Grid
from privet.bench.results import AS_PUBLISHED, Cell, Result, Results
from privet.errors import BudgetError, DataError, MethodError, OutputError, PrivetError
from privet.graph.metrics import compare
from privet.methods import catalogue
from privet.methods.method import Published
from privet.networks import load

SMALL = Grid(
    networks=("cancer",), epsilons=(1.0, 5.0), methods=("interaction-pc",), runs=2, rows=2000
)


def made_up(grid: Grid) -> Results:
    """Results without running anything: each method one tenth better than the one before."""
    order = list(dict.fromkeys(cell.method for cell in grid.cells()))
    return {
        cell: Result(
            skeleton_f1=order.index(cell.method) / 10,
            directed_f1=0.25,
            shd=cell.run,
            tests=40,
            seconds=0.5,
        )
        for cell in grid.cells()
    }


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """interaction-pc as if some paper had it; the list is what discover is asked for."""
    asked: list[str] = []

    def measure(*_: object) -> Any:
        raise AssertionError("discover is replaced")

    own = catalogue.get("interaction-pc")
    pair = (replace(own, published=Published(measure=measure, why="made up")), catalogue.get("pc"))
    monkeypatch.setattr(catalogue, "available", lambda: pair)

    def discover(data: Any, schema: Any, *, as_published: bool = False, **options: Any) -> Any:
        asked.append(f"{options['method']} {as_published} {options.get('ledger')}")
        if as_published:
            assert "ledger" not in options
            options["ledger"] = ":memory:"
        return real(data, schema, **options)

    monkeypatch.setattr(central, "discover", discover)
    return asked


# -- the grid


def test_the_grid_is_every_combination() -> None:
    cells = list(SMALL.cells())
    assert len(cells) == len(set(cells)) == 2 + 2 * (1 + 2)
    private = [c for c in cells if c.epsilon is not None]
    assert {(c.run, c.epsilon) for c in private} == {(r, e) for r in (1, 2) for e in (1.0, 5.0)}
    assert {c.method for c in cells if c.epsilon is None} == {"pc", *central.FREE}
    assert all((c.delta is None) == (c.epsilon is None) for c in cells)


def test_usual_methods_are_those_that_there_are() -> None:
    assert "interaction-pc" in central.known_methods()
    assert set(central.known_methods()) <= {method.name for method in catalogue.available()}


def test_as_published_adds_a_method_only_where_there_is_one(published: list[str]) -> None:
    wide = replace(SMALL, as_published=True)
    assert wide.private == ("interaction-pc", "interaction-pc (as published)")
    assert SMALL.private == ("interaction-pc",)
    cell = Cell(network="cancer", rows=500, run=1, method=wide.private[1], epsilon=1.0, delta=1e-6)
    assert central.one(cell)[1].refused is None
    assert set(published) == {"interaction-pc True None"}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"networks": ("cancre",)}, DataError, "did you mean 'cancer'"),
        ({"methods": ("interaction-cp",)}, MethodError, "interaction-cp"),
        ({"epsilons": (0.0,)}, BudgetError, "epsilon is 0.0"),
        ({"delta": 1.0}, BudgetError, "delta is 1.0"),
        ({"runs": 0}, MethodError, "runs is 0"),
        ({"rows": 0}, MethodError, "rows is 0"),
        ({"epsilons": (1.0, 1.0)}, MethodError, "epsilons"),
    ],
)
def test_a_bad_grid_is_refused(change: Any, error: type[PrivetError], says: str) -> None:
    with pytest.raises(error, match=says):
        replace(SMALL, **change)


# -- runs


def test_a_run_is_scored_against_the_network() -> None:
    cell = Cell(network="earthquake", rows=50_000, run=1, method="pc")
    same, result = central.one(cell)
    assert same == cell and result.refused is None
    assert result.skeleton_f1 == 1.0 and result.shd == 0
    assert result.tests is not None and result.tests > 10
    assert result.seconds is not None and result.seconds > 0


def test_graphs_that_cost_nothing() -> None:
    truth = load("asia").graph()
    for method, edges in ((central.COMPLETE, 28), (central.EMPTY, 0)):
        graph = central._free(load("asia"), method)
        assert len(graph.edges) == edges
        result = central.one(Cell(network="asia", rows=1, run=1, method=method))[1]
        assert result.skeleton_f1 == compare(truth, graph).skeleton_f1
        assert result.shd == compare(truth, graph).shd


def test_all_methods_of_a_run_see_the_same_data_and_runs_differ() -> None:
    first, again, other = (central._data("asia", 100, run) for run in (1, 1, 2))
    assert first is again
    assert any((first[name] != other[name]).any() for name in first)
    schema = central._schema(load("asia"))
    assert schema.columns[0].levels == ("0", "1")


def test_a_refusal_is_a_result_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any, **options: Any) -> Any:
        if options["method"] == "interaction-pc":
            raise MethodError("the table has 12 cells; too many")
        return real(*_, **options)

    monkeypatch.setattr(central, "discover", refuses)
    found = central.run(SMALL, tmp_path, processes=1)
    refused = [result for cell, result in found.items() if cell.method == "interaction-pc"]
    assert len(refused) == 4
    assert {result.refused for result in refused} == {"the table has 12 cells; too many"}
    assert all(r.refused is None for c, r in found.items() if c.method != "interaction-pc")
    page = tables.page(SMALL, found, "out")
    assert page.count("| interaction-pc | refused | refused |") == 4  # one in each table
    assert "interaction-pc refused: the table has 12 cells; too many" in page
    ElementTree.fromstring(plots.page(SMALL, found))


# -- stopping and going on


def test_a_stopped_benchmark_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception):
        pass

    done: list[Cell] = []

    def stops(cell: Cell) -> tuple[Cell, Result]:
        if len(done) == 5:
            raise Stop
        done.append(cell)
        return cell, Result(skeleton_f1=0.5, directed_f1=0.5, shd=1, tests=1, seconds=0.1)

    monkeypatch.setattr(central, "one", stops)
    with pytest.raises(Stop) as stopped:
        central.run(SMALL, tmp_path, processes=1)
    assert "5 of 8 runs" in stopped.value.__notes__[0]
    path = tmp_path / results.RUNS
    assert len(path.read_text().splitlines()) == 5
    with path.open("a") as file:
        file.write('{"network": "cancer", "ro')  # the line that was being written
    first = list(done)
    done.clear()
    told: list[tuple[int, int]] = []
    found = central.run(SMALL, tmp_path, processes=1, on_done=lambda *at: told.append(at))
    assert not set(first) & set(done) and len(done) == 3
    assert told == [(6, 8), (7, 8), (8, 8)]
    assert list(found) == list(SMALL.cells())
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 8
    done.clear()
    assert central.run(SMALL, tmp_path, processes=1) == found and not done


def test_other_rows_or_another_delta_are_other_runs(tmp_path: Path) -> None:
    results.make_folder(tmp_path)
    for cell, result in made_up(SMALL).items():
        results.append(tmp_path, cell, result)
    found = results.read(tmp_path)
    assert found == made_up(SMALL)
    assert not set(replace(SMALL, rows=2001).cells()) & set(found)
    large = replace(SMALL, networks=("sachs",))  # on small tables there is no delta
    stricter = set(replace(large, delta=1e-7).cells()) - set(large.cells())
    assert stricter and all(cell.epsilon is not None for cell in stricter)


@pytest.mark.parametrize("half", ["", '{"a', '{"network": "cancer"}'])
def test_only_a_last_line_without_end_is_forgiven(tmp_path: Path, half: str) -> None:
    path = tmp_path / results.RUNS
    path.write_text(half)
    assert results.read(tmp_path) == {} and path.read_text() == ""
    if half:
        path.write_text(half + "\n")
        with pytest.raises(DataError, match=r"line 1 of .*runs\.jsonl"):
            results.read(tmp_path)


def test_a_folder_that_cannot_be_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="choose a folder"):
        central.run(SMALL, tmp_path / "file" / "out", processes=1)


def test_without_joblib_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "joblib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MethodError, match=r"pip install 'privet\[bench\]'"):
        central.run(SMALL, tmp_path, processes=1)
    assert not list(tmp_path.iterdir())


def test_the_backend_is_the_users_if_no_processes_are_named(tmp_path: Path) -> None:
    """As with a cluster: whatever joblib is told to use gets the work."""
    from joblib import parallel_config, register_parallel_backend
    from joblib.parallel import ThreadingBackend

    asked: list[int] = []

    class Cluster(ThreadingBackend):  # type: ignore[misc]
        def configure(self, n_jobs: int = 1, **rest: Any) -> Any:
            asked.append(n_jobs)
            return super().configure(n_jobs=n_jobs, **rest)

    register_parallel_backend("cluster", Cluster)
    with parallel_config("cluster", n_jobs=2):
        found = central.run(replace(SMALL, runs=1), tmp_path)
    assert asked == [2] and len(found) == 5


# -- what is made of the runs


def test_mean_and_deviation() -> None:
    runs = [Result(skeleton_f1=value) for value in (0.0, 1.0)] + [Result(refused="no")]
    found = results.average(runs, lambda run: run.skeleton_f1)
    assert found == results.Average(mean=0.5, deviation=0.5, runs=2)
    assert results.average(runs[2:], lambda run: run.skeleton_f1) is None


def test_the_page_of_tables(published: list[str]) -> None:
    grid = replace(SMALL, as_published=True)
    page = tables.page(grid, made_up(grid), "out")
    assert grid.command("out") in page and "--as-published" in page
    assert "not\nprivate" in page
    lines = page.splitlines()
    f1 = [line for line in lines if line.startswith("| interaction-pc (as published, not private)")]
    assert f1[0].endswith("| 0.400 ± 0.000 | 0.400 ± 0.000 |  |")
    assert f1[2].endswith("| 1.5 ± 0.5 | 1.5 ± 0.5 |  |")
    assert f1[3].endswith("| 40 / 0.50 | 40 / 0.50 |  |")
    assert "| complete graph |  |  | 0.000 |" in lines
    assert "not private" not in tables.page(SMALL, made_up(SMALL), "out")


def test_the_command_of_a_grid_is_that_grid() -> None:
    from privet.cli.commands.bench import _grid
    from privet.cli.main import build_parser

    for grid in (SMALL, replace(SMALL, as_published=True, delta=1e-9, epsilons=(0.01, 10.0))):
        assert _grid(build_parser().parse_args(grid.command("out").split()[1:])) == grid


def test_the_picture_has_a_panel_per_network_and_a_line_per_method(published: list[str]) -> None:
    grid = replace(SMALL, networks=("cancer", "asia", "child", "sachs"), as_published=True)
    page = plots.page(grid, made_up(grid))
    root = ElementTree.fromstring(page)
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    for name in grid.networks:
        assert texts.count(name) == 1
    for name in (*grid.private, "pc", central.COMPLETE):  # in the legend
        assert any((text or "").startswith(name.removesuffix(")")) for text in texts)
    assert "interaction-pc (as published, not private)" in texts
    assert page == plots.page(grid, made_up(grid))
    assert not re.search(r"(href|src)=\"http", page)


def test_a_suffix_marks_what_is_not_private() -> None:
    assert not any(AS_PUBLISHED in method.name for method in catalogue.available())
