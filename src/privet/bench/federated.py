"""One graph from several sites: PERI and its rivals on rows, and our own ways on evidence.

The tables of Mian et al. (2023) in form: random graphs by columns and sites; the arrows of asia and
waste with a hundred sites, some of them asked at a time, and with noise on regrets; cytometry as
nine sites. Nothing of that is private. Beside it what sites find with privacy: *apart* (evidence
of each, combined; with PERI too), in *one place* (one run that has all rows), each *alone*.

Rows of a run are drawn with its number as the seed, so all methods see the same ones; noise of
private runs is fresh.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from privet.api.combine import combine
from privet.api.discover import discover
from privet.api.rehearse import rehearse
from privet.arrays import Bools, Floats
from privet.bench import federated_data as data
from privet.bench.federated_methods import METHODS, NUMBER, found_by
from privet.bench.runner import OnDone, collect
from privet.errors import MethodError
from privet.graph.graph import Graph
from privet.graph.meek import cpdag
from privet.graph.metrics import compare, structural_intervention_distance
from privet.networks import load
from privet.networks.sites import check_sites, columns_of
from privet.networks.sites import sites_of as simulated_sites
from privet.privacy.ledger.conversion import check_asked
from privet.results.discovery import Discovery

TABLES = ("synthetic", "unlike", "many", "noise", "cytometry", "private")
PERIS = ("PERI-MDL", "PERI-BIC", "PERI-AIC", "SUM-MDL")
UNLIKE = ("PERI-MDL", "SUM-MDL", "union-MDL", "pooled-MDL")
MANY = (*PERIS, "union-MDL", "union-BIC")
UNLIKE_SIZE = (10, 5)  # columns and sites
DELTA = 1e-6


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run. ``graph`` is what the arrows come from, ``share`` the part of the sites that is
    asked at a time, ``noise`` the scale of Laplace noise on each regret."""

    table: str
    graph: str
    columns: int
    sites: int
    rows: int
    differ: str
    method: str
    run: int
    share: float = 1.0
    noise: float = 0.0
    epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """``shd`` is a share of all pairs, ``sid`` of all ordered ones (of DAGs only)."""

    shd: float
    f1: float
    skeleton_f1: float
    sid: float | None = None
    iterations: int | None = None
    bytes_up: int | None = None
    seconds: float = 0.0


Results = dict[Cell, Result]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What to run, ``runs`` times; with many sites, ``many_runs`` times. ``folder`` is that of
    sachs-cytometry; without it there is no such table."""

    tables: tuple[str, ...] = TABLES
    columns: tuple[int, ...] = (5, 10, 15)
    sites: tuple[int, ...] = (3, 5, 7, 9)
    rows: int = 5000
    many: int = 100
    many_rows: int = 1000
    many_runs: int = 3
    shares: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)
    noises: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)
    networks: tuple[str, ...] = ("sachs", "survey", "asia")
    differ: tuple[str, ...] = ("none", "root", "tilt", "all")
    private_sites: int = 5
    private_rows: int = 20_000
    epsilon: float = 1.0
    runs: int = 5
    folder: str | None = None

    def __post_init__(self) -> None:
        check_asked(self.epsilon, DELTA)
        for name in self.tables:
            if name not in TABLES:
                raise MethodError(f"there is no table {name!r}; choose from {', '.join(TABLES)}")
        whole = {"runs": self.runs, "rows": self.rows, "private-rows": self.private_rows}
        whole |= {"many-rows": self.many_rows, "many-runs": self.many_runs}
        for what, value in whole.items():
            if value < 1:
                raise MethodError(f"{what} is {value!r}; give a whole number of at least 1")
        for count in (*self.sites, self.many, self.private_sites):
            check_sites(count, "none")
        for how in self.differ:
            check_sites(2, how)
        if any(columns < 5 for columns in self.columns):
            raise MethodError(f"columns are {self.columns}; 1.5 arrows for each need at least 5")
        if not all(0 < share <= 1 for share in self.shares):
            raise MethodError(f"shares are {self.shares}; each must be above 0 and at most 1")
        if any(noise <= 0 for noise in self.noises):
            raise MethodError(f"noises are {self.noises}; each must be above 0 (0 is always run)")
        for name in self.networks:
            load(name)
        if self.folder is not None:
            data.cytometry(self.folder)

    def cells(self) -> Iterator[Cell]:
        """Run by run, so that rows are drawn once."""
        makers = {
            "synthetic": self._synthetic,
            "unlike": self._unlike,
            "many": self._many,
            "noise": self._noise,
            "cytometry": self._cytometry,
            "private": self._private,
        }
        for name in self.tables:
            yield from makers[name]()

    def _each(self, methods: Sequence[str], runs: int, **what: Any) -> Iterator[Cell]:
        for run in range(1, runs + 1):
            for method in methods:
                yield Cell(**{"differ": "alike", "method": method, "run": run, **what})

    def _synthetic(self) -> Iterator[Cell]:
        for columns in self.columns:
            for sites in self.sites:
                what: dict[str, Any] = {"columns": columns, "sites": sites, "rows": self.rows}
                what |= {"table": "synthetic", "graph": "random"}
                yield from self._each(tuple(METHODS), self.runs, **what)

    def _unlike(self) -> Iterator[Cell]:
        columns, sites = UNLIKE_SIZE
        what: dict[str, Any] = {"columns": columns, "sites": sites, "rows": self.rows}
        what |= {"table": "unlike", "graph": "random"}
        for differ in data.UNLIKE:
            yield from self._each(UNLIKE, self.runs, differ=differ, **what)

    def _many(self) -> Iterator[Cell]:
        for cell in self._hundred("many", MANY):
            shares = self.shares if cell.method in PERIS else (1.0,)
            yield from (replace(cell, share=share) for share in shares)

    def _noise(self) -> Iterator[Cell]:
        for cell in self._hundred("noise", PERIS):
            yield from (replace(cell, noise=noise) for noise in (0.0, *self.noises))

    def _hundred(self, table: str, methods: Sequence[str]) -> Iterator[Cell]:
        what: dict[str, Any] = {"sites": self.many, "rows": self.many_rows, "table": table}
        for graph in data.STRUCTURES:
            columns = len(data.structure(graph))
            yield from self._each(methods, self.many_runs, graph=graph, columns=columns, **what)

    def _cytometry(self) -> Iterator[Cell]:
        if self.folder is None:
            return
        size = {"columns": 11, "sites": len(data.CYTOMETRY_ROWS), "rows": sum(data.CYTOMETRY_ROWS)}
        for method in METHODS:
            yield Cell(
                table="cytometry", graph=self.folder, differ="alike", method=method, run=1, **size
            )

    def _private(self) -> Iterator[Cell]:
        size: dict[str, Any] = {"sites": self.private_sites, "rows": self.private_rows}
        size |= {"epsilon": self.epsilon, "table": "private"}
        for name in self.networks:
            for differ in self.differ:
                what = {"graph": name, "columns": len(load(name).names), "differ": differ}
                yield from self._each(tuple(WAYS), self.runs, **what, **size)

    def command(self, output: str) -> str:
        """What to type to get this grid."""
        lists = {
            "tables": self.tables,
            "columns": self.columns,
            "sites": self.sites,
            "shares": [f"{share:g}" for share in self.shares],
            "noises": [f"{noise:g}" for noise in self.noises],
            "networks": self.networks,
            "differ": self.differ,
        }
        words = [f"--{name} {','.join(map(str, values))}" for name, values in lists.items()]
        whole = {
            "rows": self.rows,
            "many": self.many,
            "many-rows": self.many_rows,
            "many-runs": self.many_runs,
            "private-sites": self.private_sites,
            "private-rows": self.private_rows,
            "runs": self.runs,
        }
        words += [f"--{name} {value}" for name, value in whole.items()]
        words += [] if self.folder is None else [f"--sachs {self.folder}"]
        return (
            f"privet bench federated {' '.join(words)} --epsilon {self.epsilon:g} --output {output}"
        )


def run(
    grid: Grid, folder: str | Path, *, processes: int | None = None, on_done: OnDone | None = None
) -> Results:
    """All runs of the grid: those on file in the folder, and those still to do, which are added."""
    cells = list(grid.cells())
    return collect(cells, one, folder, (Cell, Result), processes=processes, on_done=on_done)


def one(cell: Cell) -> tuple[Cell, Result]:
    if cell.table == "private":
        return cell, _private(cell)
    truth, sites = _rows(
        cell.graph, cell.columns, cell.sites, cell.rows, cell.differ, cell.run, cell.table
    )
    began = time.process_time()
    noise = (cell.noise, cell.run) if cell.noise else None
    found = found_by(cell.method, sites, share=cell.share, seed=cell.run, noise=noise)
    scores = scored(cpdag(truth), found.matrix)
    if cell.table == "cytometry":  # as the paper does: a line in place of an arrow is wrong
        scores = scored(truth, found.matrix if found.dag is None else found.dag)
    sid = None
    if found.dag is not None:
        names = [str(v) for v in range(len(truth))]
        both = (Graph.from_matrix(names, each, "dag") for each in (truth, found.dag))
        sid = structural_intervention_distance(*both) / (len(truth) * (len(truth) - 1))
    return cell, Result(
        **scores,
        sid=sid,
        iterations=found.iterations,
        bytes_up=found.bytes_up,
        seconds=round(time.process_time() - began, 3),
    )


def scored(truth: Bools, found: Bools) -> dict[str, float]:
    """A union of classes may have circles, so it is no graph of ours, and matrices are compared; a
    line counts as two arcs."""
    differ, joined = truth != found, (truth | truth.T, found | found.T)
    pairs = len(truth) * (len(truth) - 1) / 2
    return {
        "shd": round(float(np.triu(differ | differ.T).sum() / pairs), 4),
        "f1": round(_f1(truth, found), 4),
        "skeleton_f1": round(_f1(*joined), 4),
    }


def _f1(truth: Bools, found: Bools) -> float:
    total = truth.sum() + found.sum()
    return float(2 * (truth & found).sum() / total) if total else 1.0


@lru_cache(maxsize=2)
def _rows(
    graph: str, columns: int, sites: int, rows: int, differ: str, run: int, table: str
) -> tuple[Bools, tuple[Floats, ...]]:
    """The same graph and rows for all methods of a run."""
    if table == "cytometry":
        truth, parts = data.cytometry(graph)
        return truth, tuple(parts)
    rng = np.random.default_rng([columns, sites, run])
    dag = data.random_dag(columns, rng) if graph == "random" else data.structure(graph)
    return dag, tuple(data.sites_of(dag, sites, rows, differ, rng))


# -- with privacy


@lru_cache(maxsize=2)
def _alone(name: str, sites: int, rows: int, differ: str, run: int, epsilon: float) -> Any:
    """What each site finds by itself, and all rows."""
    model = load(name)
    made = simulated_sites(model, sites, differ=differ, seed=run)
    tables = [columns_of(model, site.sample(rows)) for site in made]
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "ledger": ":memory:"}
    found = [
        discover(table, model.schema(), site=site.name, **budget)
        for site, table in zip(made, tables, strict=True)
    ]
    pooled = {name: np.concatenate([table[name] for table in tables]) for name in model.names}
    return found, pooled


def _private(cell: Cell) -> Result:
    assert cell.epsilon is not None
    alone, pooled = _alone(cell.graph, cell.sites, cell.rows, cell.differ, cell.run, cell.epsilon)
    began = time.process_time()
    graphs = WAYS[cell.method](cell, alone, pooled)
    seconds = time.process_time() - began
    truth, size = load(cell.graph).graph(), cell.columns
    scores = [compare(truth, graph.as_shown()) for graph in graphs]
    return Result(
        shd=round(fmean(score.shd for score in scores) / (size * (size - 1) / 2), 4),
        f1=round(fmean(score.directed_f1 or 0.0 for score in scores), 4),
        skeleton_f1=round(fmean(score.skeleton_f1 for score in scores), 4),
        bytes_up=_sent(alone) if cell.method.startswith("apart") else None,
        seconds=round(seconds, 3),
    )


def _sent(alone: Sequence[Discovery]) -> int:
    """Bytes of the noisy numbers that leave the sites."""
    return sum(NUMBER * len(release.values) for one in alone for release in one.evidence.releases)


Way = Callable[[Cell, Sequence[Discovery], Any], list[Graph]]


def _apart(_cell: Cell, alone: Sequence[Discovery], _pooled: Any, **search: Any) -> list[Graph]:
    return [combine(*(found.evidence for found in alone), **search).graph]


def _together(cell: Cell, _alone: Sequence[Discovery], _pooled: Any) -> list[Graph]:
    """Sites that add up, with keys, ledgers and masks; the same rows as the others see."""
    assert cell.epsilon is not None
    with TemporaryDirectory() as folder:
        played = rehearse(
            cell.graph,
            rows=cell.rows,
            sites=cell.sites,
            differ=cell.differ,
            epsilon=cell.epsilon,
            delta=DELTA,
            together=True,
            seed=cell.run,
            output=Path(folder) / "played",
        )
    return [played.joint.graph]


def _one_place(cell: Cell, _alone: Sequence[Discovery], pooled: Any) -> list[Graph]:
    schema = load(cell.graph).schema()
    found = discover(pooled, schema, epsilon=cell.epsilon, delta=DELTA, ledger=":memory:")
    return [found.graph]


def _each_alone(_cell: Cell, alone: Sequence[Discovery], _pooled: Any) -> list[Graph]:
    return [found.graph for found in alone]


# Ways to find one graph with privacy; another way is another line.
WAYS: dict[str, Way] = {
    "apart": _apart,
    "apart, PERI": partial(_apart, method="interaction-peri"),
    "apart, sum of regrets": partial(_apart, method="interaction-peri", objective="sum"),
    "together": _together,
    "one place": _one_place,
    "alone": _each_alone,
}


def publish(grid: Grid, found: Results, folder: str | Path) -> tuple[Path, ...]:
    """The tables and the picture, beside the runs."""
    from privet.bench import federated_pages, federated_plots
    from privet.bench.publish import publish as written

    place = Path(folder)
    pages = {
        "federated.md": federated_pages.page(grid, found, place.name),
        "federated.svg": federated_plots.page(grid, found),
    }
    return written(place, pages)
