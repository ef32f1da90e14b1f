"""Every method of the central trust model on the same data: which is how good at what epsilon?

The data of a run are drawn with its number as the seed, so all methods and epsilons see the same
ones; noise is fresh. Nothing is chosen by looking at the truth. Beside the private methods stand
the graphs that cost nothing (complete, empty) and the search without privacy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from privet.api.discover import discover
from privet.bench.results import AS_PUBLISHED, Cell, Result, Results
from privet.bench.runner import collect
from privet.errors import MethodError, PrivetError
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.methods import catalogue
from privet.networks import Network, load
from privet.privacy.ledger.conversion import check_asked
from privet.schema.model import Schema

NETWORKS = ("cancer", "earthquake", "survey", "asia", "sachs", "child")
EPSILONS = (0.1, 1.0, 5.0, 10.0)
METHODS = (
    "interaction-pc",
    "em-pc",
    "lap-table",
    "svt-pc",
    "priv-pc",
    "curate",
    "noleaks",
    "curate-score",
)
WITHOUT_PRIVACY = "pc"
COMPLETE, EMPTY = "complete graph", "empty graph"
FREE = (COMPLETE, EMPTY)  # need no data
WARM_ROWS = 200


def known_methods() -> tuple[str, ...]:
    """Those of the usual methods that there are."""
    there = {method.name for method in catalogue.available()}
    return tuple(name for name in METHODS if name in there)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What to run: every combination, ``runs`` times."""

    networks: tuple[str, ...] = NETWORKS
    epsilons: tuple[float, ...] = EPSILONS
    methods: tuple[str, ...]
    runs: int = 10
    rows: int = 100_000
    delta: float = 1e-6
    as_published: bool = False

    def __post_init__(self) -> None:
        for name in self.networks:
            load(name)
        for method in self.methods:
            catalogue.get(method)
        for epsilon in self.epsilons:
            check_asked(epsilon, self.delta)
        for what, value in (("runs", self.runs), ("rows", self.rows)):
            if value < 1:
                raise MethodError(f"{what} is {value!r}; give a whole number of at least 1")
        for what in ("networks", "epsilons", "methods"):
            if len(set(getattr(self, what))) != len(getattr(self, what)):
                raise MethodError(f"the {what} name one of them twice; name each once")

    @property
    def private(self) -> tuple[str, ...]:
        """Methods that have an epsilon, those as published after their own."""
        found: list[str] = []
        for method in map(catalogue.get, self.methods):
            if method.private:
                found.append(method.name)
            if self.as_published and method.published is not None:
                found.append(method.name + AS_PUBLISHED)
        return tuple(found)

    @property
    def open(self) -> tuple[str, ...]:
        """Methods without privacy."""
        asked = (m for m in self.methods if not catalogue.get(m).private)
        return tuple(dict.fromkeys((*asked, WITHOUT_PRIVACY)))

    def cells(self) -> Iterator[Cell]:
        """Networks in their order and run by run, so that the data are drawn once."""
        for network in self.networks:
            for run in range(1, self.runs + 1):
                cell = Cell(network=network, rows=self.rows, run=run, method="")
                if run == 1:
                    yield from (replace(cell, method=method) for method in FREE)
                yield from (replace(cell, method=method) for method in self.open)
                for method in self.private:
                    for epsilon in self.epsilons:
                        delta = self._delta(network, method, epsilon)
                        yield replace(cell, method=method, epsilon=epsilon, delta=delta)

    def _delta(self, network: str, method: str, epsilon: float) -> float:
        """None where that serves the method better, and promises more."""
        if method.endswith(AS_PUBLISHED):
            return self.delta
        return catalogue.best_delta(load(network).schema(), epsilon, method, self.delta)

    def command(self, output: str) -> str:
        """What to type to get this grid."""
        numbers = ",".join(f"{epsilon:g}" for epsilon in self.epsilons)
        return (
            f"privet bench central --networks {','.join(self.networks)} --epsilons {numbers} "
            f"--delta {self.delta:g} --methods {','.join(self.methods)} --runs {self.runs} "
            f"--rows {self.rows}{' --as-published' * self.as_published} --output {output}"
        )


def run(grid: Grid, folder: str | Path, **options: Any) -> Results:
    """All runs of the grid; the options are those of ``runner.collect``."""
    return collect(list(grid.cells()), one, folder, (Cell, Result), **options)


def one(cell: Cell) -> tuple[Cell, Result]:
    """One run; a method that refuses the network has that as its result."""
    network = load(cell.network)
    if cell.method in FREE:
        return cell, _scored(network, _free(network, cell.method), tests=0, seconds=0.0)
    _warm(cell.method)
    data = _data(cell.network, cell.rows, cell.run)
    began = time.perf_counter()
    try:
        graph, tests = _found(cell, data, _schema(network))
        seconds = time.perf_counter() - began
        return cell, _scored(network, graph, tests=tests, seconds=seconds)
    except PrivetError as error:
        return cell, Result(refused=str(error))


def _found(cell: Cell, data: Mapping[str, Any], schema: Schema) -> tuple[Graph, int]:
    name = cell.method.removesuffix(AS_PUBLISHED)
    options: dict[str, Any] = {"method": name, "seed": cell.run}
    if cell.epsilon is None:
        options |= {"private": False}
    else:
        options |= {"epsilon": cell.epsilon, "delta": cell.delta}
        options |= {"as_published": True} if name != cell.method else {"ledger": ":memory:"}
    found = discover(data, schema, **options)
    return found.graph, found.tests


def _scored(network: Network, graph: Graph, *, tests: int, seconds: float) -> Result:
    score = compare(network.graph(), graph.as_shown())
    return Result(
        skeleton_f1=score.skeleton_f1,
        directed_f1=score.directed_f1,
        shd=score.shd,
        tests=tests,
        seconds=round(seconds, 4),
    )


def _free(network: Network, which: str) -> Graph:
    size = len(network.names)
    joined = ~np.eye(size, dtype=bool) if which == COMPLETE else np.zeros((size, size), dtype=bool)
    return Graph.from_matrix(network.names, joined, "cpdag")


@lru_cache(maxsize=2)
def _data(network: str, rows: int, run: int) -> Mapping[str, Any]:
    """The same rows for every method and epsilon of a run, as numbers of levels."""
    return load(network).sample(rows, np.random.default_rng(run))


def _schema(network: Network) -> Schema:
    """That of the network, with the numbers of the levels in place of their names."""
    schema = network.schema()
    columns = tuple(
        replace(column, levels=tuple(map(str, range(len(column.levels)))), missing_value=None)
        for column in schema.columns
    )
    return replace(schema, columns=columns)


@lru_cache
def _warm(method: str) -> None:
    """Run a method once on little, so that no clock counts what Python loads the first time."""
    name = method.removesuffix(AS_PUBLISHED)
    epsilon = 1.0 if catalogue.get(name).private else None
    delta = None if epsilon is None else 1e-6
    cell = Cell(
        network="cancer", rows=WARM_ROWS, run=0, method=method, epsilon=epsilon, delta=delta
    )
    try:
        _found(cell, _data(cell.network, cell.rows, cell.run), _schema(load(cell.network)))
    except PrivetError:
        return  # the run itself will be refused, and say why


def publish(grid: Grid, found: Results, folder: str | Path) -> tuple[Path, ...]:
    """The tables and the picture, beside the runs."""
    from privet.bench import plots, tables
    from privet.bench.publish import publish as written

    place = Path(folder)
    pages = {
        "central.md": tables.page(grid, found, place.name),
        "central.svg": plots.page(grid, found),
    }
    return written(place, pages)
